"""Associations: whose usage the jobs of a queue count to, by slot, as compiled code counts it."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.shares import ROOT, Share, Shares
from simmodels.ground.later import pd
from simmodels.ground.numbers import Ints, as_integers
from simmodels.passes.fair_share import refresh
from simmodels.structures import fair_state as state
from simmodels.work.workload import Job, Workload

_ROOM: Final = 64  # nodes at first
_ACCOUNT: Final = "account"


class Associations:
    """The users of the jobs of a queue in a tree of shares, and what is counted of them.

    Parameters
    ----------
    shares
        The tree.
    slots
        How many jobs there is room for.

    Attributes
    ----------
    state
        What a queue is given.
    """

    def __init__(self, shares: Shares, slots: int) -> None:
        self.shares = shares
        decay = 0.5 ** (shares.period_s / shares.half_life_s)
        classic = shares.algorithm == "classic"
        self.state: state.FairState = state.new_fair(slots, _ROOM, shares.period_s, decay, classic, shares.damping)
        self._number: dict[tuple[int, int], int] = {}  # the node of each user whom no row names, by the node above it
        self._rows: list[Share] = []  # of the nodes, from the second on
        accounts = {ROOT: 0}
        for row in shares.in_order:
            if row.user is None:
                accounts[row.account] = self._added(row, accounts[row.parent])
            else:
                self._added(row, accounts[row.account])
        self.know(shares)
        self._read_columns()

    def know(self, shares: Shares) -> None:
        """Take the same shares, with the numbers of more names."""
        self.shares = shares
        self._nodes: tuple[dict[int | None, int], ...] = {}, {}  # of accounts, and of users whom rows name, by number
        for node, row in enumerate(shares.in_order, start=1):
            self._nodes[row.user is not None][shares.number(row)] = node

    def _added(self, row: Share, parent: int, *, counted: bool = True) -> int:
        """Add a node, and return its number."""
        self._rows.append(row)
        given = state.PARENT if row.shares == "parent" else float(row.shares)
        made: int = state.add_node(self.state, parent, given, row.user is not None, counted, row.raw_usage)
        return made

    def _read_columns(self) -> None:
        self._node, self.cell = self.state.node, self.state.cell

    def grow(self, slots: int) -> None:
        """Grow to at least `slots` slots."""
        state.grow_nodes(self.state, slots)
        self._read_columns()

    def node(self, user: int, account: int) -> int:
        """Return the node of a user for jobs of an account, a new one if it was not known."""
        accounts, users = self._nodes
        key = user, accounts.get(account, 0)
        number = users.get(user, self._number.get(key))
        if number is None:
            above = self._rows[key[1] - 1].account if key[1] else ROOT
            row = Share(account=above, user=max(user, 0), shares=self.shares.others)
            number = self._number[key] = self._added(row, key[1], counted=False)
        return number

    def fill(self, slot: int, job: Job) -> None:
        """Write the node of the user of a job."""
        self.shares.require_names()
        self._node[slot] = self.node(job.user_id, _account(job))

    def fill_all(self, workload: Workload, rows: NDArray[np.intp] | slice) -> None:
        """Write the nodes of the users of jobs, one slot each; new ones are numbered in this order, as jobs come."""
        self.shares.require_names()
        users, accounts = workload.user_id[rows], workload.numbers.get(_ACCOUNT)
        of = np.full(len(users), -1) if accounts is None else as_integers(accounts[rows])
        (at, values), (by, known) = pd.factorize(users), pd.factorize(of)
        at, pairs = pd.factorize(at * max(len(known), 1) + by)
        both = [(values[pair // len(known)], known[pair % len(known)]) for pair in pairs.tolist()]
        self._node[:] = np.array([self.node(int(user), int(account)) for user, account in both], np.int64)[at]

    @property
    def columns(self) -> tuple[float, Ints]:
        """Return what an order reads of the jobs: where the address of the factors is, and the node of each slot."""
        return float(self.cell.ctypes.data), self._node

    def of_job(self, job: Job) -> tuple[float, float]:
        """Return what an order reads of a job; of a user who is not known yet what it reads of the root."""
        accounts, users = self._nodes
        number = users.get(job.user_id, self._number.get((job.user_id, accounts.get(_account(job), 0)), 0))
        return float(self.cell.ctypes.data), float(number)

    def carried(self, slots: int) -> "Associations":
        """Return others that are where these are, for other slots."""
        made = Associations(self.shares, slots)
        made.state = state.copied_fair(self.state, slots)
        made._number, made._rows = dict(self._number), list(self._rows)
        made._read_columns()
        return made

    def table(self, now: float) -> "pd.DataFrame":
        """Return what each account and user has, used and is due at an instant, as Slurm's `sshare` prints it.

        Columns: account, user, raw_shares, norm_shares, raw_usage (core-seconds), norm_usage, effective_usage,
        fairshare and level_fs; accounts have no fairshare, and who has shares ``"parent"`` no level.
        """
        refresh(self.state, now)
        used, users_and_accounts = state.used_with_parts(self.state), slice(1, self.state.nodes)  # less the root
        rows = self._rows
        users = np.array([row.user is not None for row in rows])
        named = [self.shares.user(row) for row in rows]
        of_parent = np.array([row.shares == "parent" for row in rows])
        table = {
            "account": [row.account for row in rows],
            "user": pd.Series(named, dtype="object" if any(isinstance(each, str) for each in named) else "Int64"),
            "raw_shares": [row.shares for row in rows],
            "norm_shares": self.state.norm[users_and_accounts],
            "raw_usage": used[1:],
            "norm_usage": used[1:] / used[0] if used[0] > 0.0 else 0.0,
            "effective_usage": self.state.effective[users_and_accounts],
            "fairshare": np.where(users, self.state.factor[users_and_accounts], np.nan),
            "level_fs": np.where(of_parent, np.nan, self.state.level[users_and_accounts]),
        }
        return pd.DataFrame(table)


def _account(job: Job) -> int:
    """Return the number of the account of a job; -1 if it is unknown."""
    return int(as_integers(np.array((job.extras or {}).get(_ACCOUNT, -1))))
