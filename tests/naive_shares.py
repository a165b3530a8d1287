"""Fair share, written from the rules alone: what users have used by the last tick, and the factors that follow.

The slow simulators ask it at each look; it shares no code with `simmodels.clusters.shares`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Level = tuple[float, str, Any]  # of a user or an account, and which


class Tree(NamedTuple):
    """Accounts (their parent and shares) and users (their account and shares); "parent" stands for no shares."""

    accounts: Mapping[str, tuple[str, Any]]
    users: Mapping[int, tuple[str, Any]]

    def account_of(self, name: str) -> str:
        """An account, or the first above it that has shares."""
        return self.account_of(self.accounts[name][0]) if name != "root" and self.shares(name) == "parent" else name

    def shares(self, name: str) -> Any:  # noqa: ANN401  a number, or "parent"
        return self.accounts[name][1]

    def used(self, name: str, usage: Mapping[int, float]) -> float:
        """What an account has used, with all that is in it."""
        own = sum(usage[user] for user, (account, _) in self.users.items() if account == name)
        parts = [part for part, (parent, _) in self.accounts.items() if parent == name]
        return own + sum(self.used(part, usage) for part in parts)

    def children(self, name: str, usage: Mapping[int, float]) -> list[Level]:
        """The users and accounts that are judged in an account, with their levels."""
        users = [
            (shares, usage[user], "user", user)
            for user, (account, shares) in self.users.items()
            if self.account_of(account) == name
        ]
        accounts = [
            (shares, self.used(part, usage), "account", part)
            for part, (parent, shares) in self.accounts.items()
            if shares != "parent" and self.account_of(parent) == name
        ]
        both = [*users, *accounts]
        of_all, used = sum(shares for shares, *_ in both if shares != "parent"), self.used(name, usage)
        levels = []
        for shares, has, kind, which in both:
            level = math.inf
            if shares != "parent" and has > 0:
                level = (shares / of_all if of_all else 0.0) / (has / used)
            levels.append((level, kind, which))
        return levels


def fair_tree(tree: Tree, usage: Mapping[int, float]) -> dict[int, float]:
    """The factor of each user: accounts are gone through by level, and those of one level as one."""
    ranks: dict[int, int] = {}

    def walk(accounts: Sequence[str], tied: int | None) -> None:
        children = [child for account in accounts for child in tree.children(account, usage)]
        for level in sorted({level for level, _, _ in children}, reverse=True):
            users = [which for each, kind, which in children if each == level and kind == "user"]
            rank = len(tree.users) - len(ranks) if tied is None else tied
            ranks.update(dict.fromkeys(users, rank))
            inside = [which for each, kind, which in children if each == level and kind == "account"]
            if inside:
                walk(inside, rank if users or tied is not None else None)
            tied = None

    walk(["root"], None)
    return {user: rank / len(tree.users) for user, rank in ranks.items()}


def classic(tree: Tree, usage: Mapping[int, float]) -> dict[int, float]:
    """The factor of each user: 2^(- effective usage / shares)."""
    all_used = tree.used("root", usage)

    def part(account: str, shares: int) -> float:
        beside = [each for of, each in tree.users.values() if of == account]
        beside += [each for of, each in tree.accounts.values() if of == account]
        return shares / sum(beside) if sum(beside) else 0.0

    def judged(account: str, shares: int, has: float) -> tuple[float, float]:
        own = has / all_used if all_used else 0.0
        if account == "root":
            return part(account, shares), own
        above, effective = judged(*tree.accounts[account], tree.used(account, usage))
        return above * part(account, shares), own + (effective - own) * part(account, shares)

    found = {}
    for user, (account, shares) in tree.users.items():
        norm, effective = judged(account, shares, usage[user])
        found[user] = 2.0 ** (-effective / norm) if norm > 0 else 0.0
    return found


class Rules(NamedTuple):
    """A tree without the users whom it does not name, and how usage is forgotten."""

    tree: Tree
    period_s: float
    half_life_s: float
    algorithm: str
    names: Sequence[str] = ()  # of the accounts that jobs have, from number 1 on

    def party(self, of: Mapping[str, int]) -> int:
        """For whom a job counts: its user, whom no row names as another one in each account that the tree has."""
        user, account = of["user"], of.get("account", -1)
        known = account > 0 and self.names[account - 1] in self.tree.accounts
        return user + 1000 * account if known and user not in self.tree.users else user

    def factors(self, ran: Sequence[tuple[int, int, float, float]], users: set[int], now: float) -> dict[int, float]:
        """The factors at an instant; `ran` are user, cores, start and end of what ran, `users` all who came."""
        others = {user: (self.names[user // 1000 - 1] if user >= 1000 else "root", 1) for user in sorted(users)}
        tree = Tree(self.tree.accounts, {**others, **self.tree.users})
        last = math.floor(now / self.period_s)
        first = min([math.floor(start / self.period_s) for *_, start, _ in ran], default=last)
        usage = dict.fromkeys(tree.users, 0.0)
        for tick in range(first, last):
            low, high = tick * self.period_s, (tick + 1) * self.period_s
            for user in usage:
                usage[user] *= 0.5 ** (self.period_s / self.half_life_s)
            for user, cores, start, end in ran:
                usage[user] += cores * max(min(end, high) - max(start, low), 0.0)
        return (classic if self.algorithm == "classic" else fair_tree)(tree, usage)
