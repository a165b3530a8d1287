"""What is asked of the results of the cross study: values by window, claims, tables, and what to know of them."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from experiments.campaigns import Claim, Effect, bootstrap
from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.families import Evidence
from experiments.campaigns.judging import NOTHING, StudyResults, Values, judge
from experiments.campaigns.sentences import Compared, Point, Sentence, read_sentences
from experiments.campaigns.statistics import bootstrap_rows
from experiments.studies.cross import settings
from simmodels.ground.numbers import Floats

SLOWDOWN: Final = "mean_bounded_slowdown"
RANKED: Final = (*settings.QUEUES, settings.AWARE)
"""The deciders under which orders are ranked."""
_SHOWN: Final = ("mean_wait_s", "goodput", "lost", "utilisation", "mean_slr")


SENTENCES: Final = read_sentences(Path(__file__).with_name("claims.csv"), Sentence, ("ranking", "risk", "routing"), {})
"""On the orders, at each capacity that changes (``ranking``); and on each workload on knowing the ``risk``, and on the
auction before queues (``routing``). The ranking of orders is kept from a Kendall's tau of 0.8 on: of four orders, one
swap of neighbours leaves 0.67."""


# -- measures: how far rankings agree, and what knowing the risk changes ------------------------------


def ranks(means: Floats) -> Floats:
    """Return float64[..., k], the rank of each value among the last axis, from 1 for the least."""
    found: Floats = (means[..., None] > means[..., None, :]).sum(axis=-1) + 1.0
    return found


def tau(rows: Floats, cases: int, orders: int) -> Floats:
    """Return Kendall's tau between two rankings of orders by their means over replications, mean of several cases.

    Parameters
    ----------
    rows
        float64[..., replications, cases x 2 x orders]: for each case the values of the orders on steady machines, then
        those on changing ones.
    cases, orders
        Their numbers.

    References
    ----------
    M. G. Kendall, "A new measure of rank correlation", Biometrika 30, 1938, doi:10.1093/biomet/30.1-2.81 (tau a).
    """
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], cases, 2, orders)
    pairs = np.array(list(combinations(range(orders), 2)))
    signs = np.sign(means[..., pairs[:, 0]] - means[..., pairs[:, 1]])
    agreed: Floats = (signs[..., 0, :] * signs[..., 1, :]).mean(axis=(-2, -1))
    return agreed


def rank_change(rows: Floats, cases: int, orders: int, place: int) -> Floats:
    """Return how far an order's rank rises from steady to changing machines, mean of several cases; as for `tau`."""
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], cases, 2, orders)
    placed = ranks(means)[..., place]
    change: Floats = (placed[..., 1] - placed[..., 0]).mean(axis=-1)
    return change


def risk_over_order(rows: Floats, orders: int, capacities: int) -> Floats:
    """Return what knowing the risk changes over what the order does.

    Parameters
    ----------
    rows
        float64[..., replications, 3 x capacities x orders]: values without and with knowledge of the risk: their
        mean difference is what knowing changes; and those of which the largest mean less the least is what the order
        does.
    orders, capacities
        Their numbers.
    """
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], 3, capacities, orders).mean(axis=-2)
    risk = (means[..., 0, :] - means[..., 1, :]).mean(axis=-1)
    ratio: Floats = risk / np.maximum(np.ptp(means[..., 2, :], axis=-1), 1e-12)
    return ratio


# -- values ----------------------------------------------------------------------------------------


class Key(NamedTuple):
    """A policy, and where it was run."""

    workload: str
    capacity: str
    decider: str
    order: str


class CrossResults(StudyResults):
    """The results of the study, as they are asked for: a subject is a workload, or a capacity that changes."""

    order = (*settings.FIXED, *settings.DECIDERS, *settings.ROUTED)
    decide = "--scale paper, or more windows (--set replications=N)"
    replications = "windows"

    @cached_property
    def changing(self) -> list[str]:
        """The capacities other than the steady one, from the slowest walk to the fastest, as the design has them."""
        return [name for name in self.results.texts("capacity") if name != settings.STEADY]

    @cached_property
    def fixed(self) -> list[str]:
        """The orders that stay the same."""
        return [name for name in self.results.texts("order") if name in settings.FIXED]

    @property
    def places(self) -> Iterator[tuple[str, str]]:
        """Each workload at each capacity."""
        return product(self.results.texts("workload"), self.results.texts("capacity"))

    @cached_property
    def groups(self) -> dict[Key, pd.DataFrame]:
        """The rows of each policy on each workload and capacity, by replication."""
        table = self.results.table
        if table.empty:
            return {}
        parts: Any = table.set_index(REPLICATION).groupby(list(Key._fields), sort=False)
        return {Key(*map(str, key)): part for key, part in parts}

    def values(self, measure: str, key: Key) -> Values:
        """Return a measure of one policy on one workload and capacity, by replication."""
        part = self.groups.get(key)
        return NOTHING if part is None or measure not in part else part[measure].dropna().astype(float)

    def rows(self, measure: str, keys: Iterable[Key], *, log: bool = True) -> Floats | None:
        """Return float64[replications, keys], a measure or its logarithm; None if a key, or all windows, are missing.

        Replications that lack one of the keys are left out: what is compared met the same jobs.
        """
        columns = [self.values(measure, key) for key in keys]
        if not columns or any(column.empty for column in columns):
            return None
        table = pd.concat(columns, axis=1, join="inner").to_numpy(np.float64)
        if not len(table):
            return None
        return np.log(table) if log else table

    def keys(self, workload: str, capacity: str, decider: str) -> list[Key]:
        """Return the fixed orders under a decider."""
        return [Key(workload, capacity, decider, order) for order in self.fixed]

    def ordered(self, workload: str, capacity: str, decider: str) -> Floats | None:
        """Return float64[replications, fixed orders], the logarithms of the slowdowns under a decider."""
        return self.rows(SLOWDOWN, self.keys(workload, capacity, decider))

    def times(self, of: Sequence[Key], against: Sequence[Key] = ()) -> Effect | None:
        """Return the geometric mean of slowdowns over policies and windows, or that of their ratios to others."""
        rows = self.rows(SLOWDOWN, [*of, *against])
        if rows is None:
            return None
        mean = rows[:, : len(of)].mean(axis=1) - (rows[:, len(of) :].mean(axis=1) if against else 0.0)
        return bootstrap(mean, seed=self.results.seed).through(math.exp)

    def rankings(self, capacity: str, pairs: Iterable[tuple[str, str]]) -> list[Key]:
        """Return, for each pair of workload and decider, the fixed orders on steady machines, then at a capacity."""
        return [
            key
            for workload, decider in pairs
            for at in (settings.STEADY, capacity)
            for key in self.keys(workload, at, decider)
        ]

    def ranked(self, capacity: str) -> list[tuple[str, str]]:
        """Return the pairs of workload and decider of which both rankings were run."""
        pairs = product(self.results.texts("workload"), RANKED) if len(self.fixed) > 1 else ()
        return [pair for pair in pairs if self.rows(SLOWDOWN, self.rankings(capacity, [pair])) is not None]

    # -- as sentences ask for them ------------------------------------------------------------------

    @property
    def subjects(self) -> list[str]:
        """The capacities that change, and the workloads."""
        return [*self.changing, *self.results.texts("workload")]

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401
        """Return a column under an order on the machines of a subject, or under a decider on its workload."""
        at = {"capacity" if subject in self.changing else "workload": subject, **moved}
        return self.values(column, Key(*(str(at.get(name, alternative)) for name in Key._fields)))

    def points(self, compared: Compared, subject: str) -> list[Point]:  # noqa: ARG002  the same for all rows
        """Return where orders are compared at a capacity, or routers on a workload: wherever all of them were run."""
        if subject in self.changing:
            return [{"workload": workload, "decider": decider} for workload, decider in self.ranked(subject)]
        return [
            {"capacity": capacity, "order": order}
            for capacity, order in product(self.results.texts("capacity"), settings.ROUTED_ORDERS)
            if len(self.values(SLOWDOWN, Key(subject, capacity, settings.ONE_QUEUE, order)))
        ]

    def text(self, said: Sentence, on: Sequence[str]) -> str:
        """Return a sentence with its workload, or with its capacity in words."""
        return said.text.format(on=_in_words(on[0]) if on[0] in self.changing else on[0])

    def shown(self, found: Evidence) -> tuple[str, str]:
        """Return of how many pairs what is measured is the mean."""
        return f", mean of {found.members} {found.member}" if found.members > 1 else "", ""

    # -- measures that no column has ------------------------------------------------------------------

    def _of_rankings(
        self,
        said: Sentence,  # noqa: ARG002  of all of them
        on: Sequence[str],
        *,
        statistic: Callable[[Floats, int, int], Floats],
    ) -> Evidence | None:
        """Return a statistic of the rankings on steady machines and at a capacity, of all pairs that were run."""
        pairs = self.ranked(on[0])
        rows = self.rows(SLOWDOWN, self.rankings(on[0], pairs))
        if rows is None:
            return None
        count, of = len(pairs), len(self.fixed)
        effect = bootstrap_rows(rows, lambda some: statistic(some, count, of), seed=self.results.seed)
        return Evidence(effect, member="pairs of workload and decider", members=count)

    def _moved(self, said: Sentence, on: Sequence[str]) -> Evidence | None:
        """Return how far the rank of an order rises."""
        place = self.fixed.index(str(said.compared.of))
        return self._of_rankings(said, on, statistic=partial(rank_change, place=place))

    def _risk(self, said: Sentence, on: Sequence[str], *, column: str) -> Evidence | None:
        """Return what knowing the risk changes in a column, over what the order does where there is one."""
        knows, without = said.compared.alternatives
        orders, capacities = self.fixed, self.changing
        # Where an order means nothing for a decider, both stand under first come, first served.
        stand = ["FCFS"] * len(orders) if knows == settings.TARGETED else orders
        judged = without if knows == settings.TARGETED else knows
        keys = [
            Key(on[0], capacity, decider, order)
            for decider, under in ((without, stand), (knows, stand), (judged, orders))
            for capacity in capacities
            for order in under
        ]
        rows = self.rows(column, keys, log=column == SLOWDOWN) if len(orders) > 1 else None
        if rows is None:
            return None
        sizes = len(orders), len(capacities)
        return Evidence(bootstrap_rows(rows, lambda some: risk_over_order(some, *sizes), seed=self.results.seed))

    measures = MappingProxyType(
        {
            "rankings": partial(_of_rankings, statistic=tau),
            "rank": _moved,
            "risk in slowdown": partial(_risk, column=SLOWDOWN),
            "risk in lost work": partial(_risk, column="lost"),
        }
    )


def _in_words(capacity: str) -> str:
    period_s = settings.period_of(capacity)
    if period_s is not None:
        return f"with a change of the machines each {period_s:g} s"
    return "on machines that follow the series" if capacity == settings.SERIES else "on steady machines"


def halves_agree(found: CrossResults) -> float | None:
    """Return Kendall's tau of the rankings of the fixed orders by every second window, and by the others, if steady.

    It says how much of a change of the ranking is chance: the machines are the same.
    """
    taus = []
    for workload, decider in product(found.results.texts("workload"), RANKED):
        rows = found.ordered(workload, settings.STEADY, decider)
        if rows is not None and min(rows.shape) > 1:
            means = np.concatenate((rows[::2].mean(axis=0), rows[1::2].mean(axis=0)))
            taus.append(float(tau(means[None], 1, len(found.fixed))))
    return float(np.mean(taus)) if taus else None


def findings_of(found: CrossResults) -> list[str]:
    """Return what the windows are, what was left out, and whether all jobs were done."""
    table = found.results.table
    if table.empty:
        return []
    said = []
    for workload in found.results.texts("workload"):
        part = table[table["workload"] == workload]
        if len(part):
            jobs, load = part["measured_jobs"], part["offered_load"]
            said.append(
                f"{workload}: {jobs.min():,.0f} to {jobs.max():,.0f} jobs measured in a window, at an offered load of "
                f"{load.min():.2f} to {load.max():.2f}; {part['left_out'].max():,.0f} jobs wider than a machine, or "
                f"without a runtime, were left out of all."
            )
    agreed = halves_agree(found)
    if agreed is not None:
        said.append(
            f"On steady machines, the rankings of the fixed orders by one half of the windows and by the other agree to"
            f" a Kendall's tau of {agreed:.2f}: what a change of the machines changes must be judged against that."
        )
    undone = int((table["completed_share"] < 1).sum())
    if undone:
        said.append(f"In {undone:,} cells some jobs were never done; these are not in the means.")
    return said


def make_claims(found: CrossResults) -> Iterator[Claim]:
    """Hand out the claims for which the design has cells."""
    known = [said for said in SENTENCES["ranking"] if set(said.compared.alternatives) <= set(found.fixed)]
    for capacity in found.changing:
        yield from judge(found, known, capacity)
    for rows in (SENTENCES["risk"], SENTENCES["routing"]):
        for workload in found.results.texts("workload"):
            yield from judge(found, rows, workload)


# -- tables -----------------------------------------------------------------------------------------


def make_tables(found: CrossResults) -> dict[str, pd.DataFrame]:
    """Return the tables of the report that have rows."""
    tables = {
        "all policies": pd.DataFrame(_policies(found)),
        "ranks of the orders": pd.DataFrame(_ranks(found)),
        "risk and order": pd.DataFrame(_risk(found)),
        "routers against one queue": pd.DataFrame(_routers(found)),
        "all measures": found.results.summary(),
    }
    return {name: table for name, table in tables.items() if len(table)}


def _policies(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload, capacity, decider and order: geometric mean slowdown, and means of the others."""
    for key, part in found.groups.items():
        effect = found.times([key])
        if effect is not None:
            means = {name: part[name].mean() if name in part else None for name in _SHOWN}
            yield key._asdict() | effect.columns("bounded slowdown, geometric mean") | means


def _ranks(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload, capacity and decider: the rank of each fixed order by geometric mean slowdown."""
    for (workload, capacity), decider in product(found.places, settings.DECIDERS):
        rows = found.ordered(workload, capacity, decider) if len(found.fixed) > 1 else None
        if rows is not None:
            placed = ranks(rows.mean(axis=0)).astype(int).tolist()
            named = dict(zip(found.fixed, placed, strict=True))
            yield {"workload": workload, "capacity": capacity, "decider": decider, **named}


def spread(found: CrossResults, workload: str, capacity: str, decider: str) -> float | None:
    """Return how many times as large the slowdown of the worst fixed order is as that of the best."""
    rows = found.ordered(workload, capacity, decider)
    return None if rows is None else float(np.exp(np.ptp(rows.mean(axis=0))))


def awareness(found: CrossResults, workload: str, capacity: str) -> Effect | None:
    """Return how many times as large the slowdown of first fit is without knowledge of the risk, over the orders."""
    return found.times(*(found.keys(workload, capacity, decider) for decider in (settings.UNAWARE, settings.AWARE)))


def _risk(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload and capacity: what knowing the risk, and what the order, changes."""
    for workload, capacity in found.places:
        effect = awareness(found, workload, capacity)
        if effect is not None:
            worst = {
                f"worst over best order, {name}": spread(found, workload, capacity, decider)
                for name, decider in (("first fit", settings.AWARE), *((name, name) for name in settings.QUEUES))
            }
            lost = {
                f"lost, {name}": float(
                    np.mean([found.values("lost", key).mean() for key in found.keys(workload, capacity, decider)])
                )
                for name, decider in (("unaware", settings.UNAWARE), ("aware", settings.AWARE))
            }
            named = {"workload": workload, "capacity": capacity}
            yield {**named, **effect.columns("unaware over aware"), **worst, **lost}


def _routers(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload, capacity, router and order: its slowdown over that of one queue."""
    for (workload, capacity), router, order in product(found.places, settings.ROUTERS, settings.ROUTED_ORDERS):
        of, against = (Key(workload, capacity, each, order) for each in (router, settings.ONE_QUEUE))
        effect = found.times([of], [against])
        if effect is not None:
            named = {"workload": workload, "capacity": capacity, "router": router, "order": order}
            lost, alone = (float(found.values("lost", key).mean()) for key in (of, against))
            yield {**named, **effect.columns("times one queue"), "lost": lost, "lost, one queue": alone}
