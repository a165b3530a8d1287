"""What is asked of the results of the selection study: waits by strategy and resample, on a log and on several."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns import Claim, Effect, Results, Scope, in_scope
from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.judging import NOTHING, StudyResults, Values, judge
from experiments.campaigns.sentences import Sentence, names_of, read_sentences
from experiments.campaigns.statistics import ENOUGH, ENOUGH_FOR_TAILS, bootstrap_rows
from experiments.studies.naming import log_name
from experiments.studies.selection import paper, statistics
from experiments.studies.selection.settings import LOGGED, NOISES, PERIODS, SEVEN, TUNERS
from simmodels import TWELVE_ORDERS
from simmodels.ground.numbers import Floats

BASE: Final = "FCFS"
TOTAL: Final = "total_wait_s"
LONGEST: Final = "max_wait_s"
NOISY, BANDIT = (tuple(f"{kind} {period}" for period in PERIODS) for kind in ("noisy", "bandit"))
SOON: Final = 13
"""The weeks of a quarter of a year."""
_SOON_WEEKS: Final = (1, 2, 4, 8, SOON, 26, 52, 104)
"""After how many weeks of learning it is looked at what a strategy has chosen."""
_MONTH_WEEKS: Final = 4
"""Consecutive weeks are alike: the bootstrap draws this many together."""
_OF_THE_TEXT: Final[Mapping[str, object]] = {
    "weeks": 104, "threshold_h": 40, "epsilon": 0.5, "epsilon_decay": 1.0, "decay": 1.0, "noise": paper.NOISE,
    "cores": None,
}  # fmt: skip
"""The settings of the paper's text; of those that may be none, none stands for the same."""


def fixed_in(totals: pd.DataFrame) -> list[str]:
    """Return which of the twelve orders were run."""
    return [name for name in TWELVE_ORDERS if name in totals]


def best_of(totals: pd.DataFrame) -> str | None:
    """Return the order with the least waits over all resamples; None without two to choose from."""
    fixed = fixed_in(totals)
    return None if len(fixed) < 2 or totals.empty else str(totals[fixed].sum().idxmin())


class SelectionResults(StudyResults):
    """The results of the study by a variant, as they are asked for: the waits on a log, by strategy and resample."""

    order = (*TWELVE_ORDERS, *TUNERS)

    def __init__(self, results: Results, variant: str = "text") -> None:
        super().__init__(results)
        self.variant = variant
        with_sums = TOTAL in results.table
        self.last = replace(results, table=results.table.dropna(subset=[TOTAL])) if with_sums else results
        """Without the rows of the weeks: one row per cell."""
        self._totals: dict[tuple[str, str, str], pd.DataFrame] = {}

    def by(self, variant: str) -> "SelectionResults":
        """Return the same by a variant."""
        found = copy(self)
        found.variant = variant
        return found

    @property
    def by_variant(self) -> Iterator["SelectionResults"]:
        """The results by each variant."""
        return map(self.by, self.results.texts("variant"))

    @property
    def each(self) -> Iterator[tuple["SelectionResults", str]]:
        """The results by each variant, with each log."""
        return product(self.by_variant, self.subjects)

    @property
    def ours(self) -> bool:  # type: ignore[override]  # it depends on the variant
        """Whether the settings are not those of the paper's text: another variant, or a setting that was chosen."""
        of = self.results.parameters
        return self.variant != "text" or any(of.get(name) not in {None, value} for name, value in _OF_THE_TEXT.items())

    @property
    def noise(self) -> float:
        """How far a simulated wait may be wrong, as a part of it: what was chosen, or what the variant has."""
        chosen = self.results.parameters.get("noise")
        return NOISES[self.variant] if chosen is None else float(chosen)

    # -- as sentences ask for them ------------------------------------------------------------------

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401, ARG002
        """Return what the orders cost that a strategy uses in a week; no other column is asked for."""
        costs: Values = self.chosen(subject, alternative).get(moved["week"], NOTHING)
        return costs

    def text(self, said: Sentence, on: Sequence[str]) -> str:
        """Return a sentence with its log and variant, and with the noise that there is."""
        where = f"({self.variant})" if said.together else f"on {log_name(on[0])} ({self.variant})"
        return said.text.format(on=where, noise=100.0 * self.noise)

    def measure(self, said: Sentence) -> str:
        """Return what is measured, with what was chosen of it."""
        return said.measure.format(half_life_weeks=self.results.parameters.get("epsilon_half_life_weeks", SOON))

    def is_ours(self, said: Sentence, on: Sequence[str]) -> bool:
        """Return whether a sentence is ours, or what it is judged on: the settings, the log, or that of its figure."""
        if said.together or super().is_ours(said, on):
            return super().is_ours(said, on)
        log = paper.log_of(on[0])
        return log is None or any(figure in said.source and log != shown for figure, shown in paper.SHOWN_ON.items())

    def scope(self, said: Sentence, on: Sequence[str]) -> Scope | None:
        """Return what of the paper's design a sentence needs that is about all orders or all logs; None of others."""
        strategies = self.named(said.compared)
        if not said.together and not set(TWELVE_ORDERS) <= set(strategies):
            return None
        logs = tuple(paper.TABLE_1) if said.together else (paper.name_of(on[0]),)
        where = {"variant": (self.variant,), "workload": logs}
        return Scope(at_each=where, along={"strategy": strategies}, a_part_may=said.compared.a_part_may)

    # -- waits on a log -----------------------------------------------------------------------------

    def totals(self, workload: str, column: str = TOTAL) -> pd.DataFrame:
        """Return a column of the resamples: a row per replication that lacks nothing, a column per strategy."""
        key = (self.variant, workload, column)
        if key not in self._totals:
            if column not in self.last.table:
                return pd.DataFrame()
            table = self.last.where(variant=self.variant, workload=workload)
            table = table[~table["strategy"].str.endswith(LOGGED)]
            self._totals[key] = table.pivot_table(index=REPLICATION, columns="strategy", values=column).dropna()
        return self._totals[key]

    def waits(self, workload: str) -> bool:
        """Return whether anybody waits under FCFS, as far as that was run."""
        totals = self.totals(workload)
        return BASE in totals and bool(totals[BASE].sum() > 0.0)

    def change(self, workload: str, strategy: str, against: str = BASE, column: str = TOTAL) -> Effect | None:
        """Return how much longer all waits are than under another strategy, as a fraction (equation 11).

        It is the sum of the differences over the resamples, divided by the sum of the others. None if one of the two is
        missing, or nobody waits in any resample.
        """
        return self.compare(workload, statistics.best_gain, against, [strategy], column=column)

    def compare(
        self,
        workload: str,
        statistic: Callable[[Floats], Floats],
        first: str,
        others: Sequence[str],
        *,
        column: str = TOTAL,
        each: bool = False,
        least: int = 1,
        needed: int = ENOUGH,
    ) -> Effect | None:
        """Return a statistic of the waits under a strategy, and under others of those that were run.

        None if too little was run, or nobody waits.

        Parameters
        ----------
        statistic
            Given float64[..., resamples, 1 + others], what is measured.
        column
            What the waits are.
        each
            Whether somebody has to wait under the first in each resample, and not just in one.
        least
            How many others there have to be.
        needed
            How many resamples an interval takes.
        """
        totals = self.totals(workload, column)
        there = [name for name in others if name in totals]
        if first not in totals or len(there) < least:
            return None
        rows = totals[[first, *there]].to_numpy()
        if (rows[:, 0].min(initial=np.inf) if each else rows[:, 0].sum()) <= 0.0 or not len(rows):
            return None
        return bootstrap_rows(rows, statistic, seed=self.results.seed, needed=needed)

    def regret(self, workload: str, strategy: str) -> Effect | None:
        """Return how much longer all waits are than under the best order, which each bootstrap sample finds itself."""
        totals = self.totals(workload)
        others = [name for name in fixed_in(totals) if name != strategy]
        if strategy in totals and others and totals[others].sum().min() <= 0.0:
            return None
        return self.compare(workload, statistics.regret, strategy, others, least=2)

    def likeness(self, workload: str, name: str) -> Effect | None:
        """Return how like the printed row of table 2 ours is, by a measure of `LIKENESS`; None without the two."""
        printed = paper.published_of(workload)
        if printed is None:
            return None

        def like(rows: Floats) -> Floats:
            return statistics.LIKENESS[name](
                100.0 * statistics.against_first(rows), np.array(printed, dtype=np.float64)
            )

        return self.compare(workload, like, BASE, paper.OTHERS, least=len(paper.OTHERS))

    def chosen(self, workload: str, strategy: str) -> pd.DataFrame:
        """Return what the orders chosen in some weeks cost, had they been kept: a row per replication, a week a column.

        It is the waits of a whole resample under the order that the strategy uses in that week, over the least of any
        order, less 1; of several orders in a week, the mean. Left out are resamples in which nobody waits under some
        order.
        """
        totals = self.totals(workload)
        fixed = fixed_in(totals)
        if len(fixed) < len(TWELVE_ORDERS) or strategy not in totals:
            return pd.DataFrame()
        least = totals[fixed].min(axis=1)
        longer = totals[fixed].div(least, axis=0)[least > 0.0] - 1.0
        if longer.empty:
            return pd.DataFrame()
        shares = self.results.where(variant=self.variant, workload=workload, strategy=strategy)
        shares = shares.set_index([REPLICATION, "week"])[[f"share_{name}" for name in TWELVE_ORDERS]]
        last_week = int(shares.index.get_level_values("week").max())
        columns = {}
        for week in [*(week for week in _SOON_WEEKS if week < last_week), last_week]:
            used = shares.xs(week, level="week").reindex(longer.index)
            columns[week] = pd.Series((used.to_numpy() * longer.to_numpy()).sum(axis=1), index=longer.index)
        return pd.DataFrame(columns)

    # -- waits on several logs ----------------------------------------------------------------------

    @property
    def note(self) -> str:
        """On how many of the paper's logs it is, if not on all."""
        there = len(paper.TABLE_1) - len(paper.missing_from(self._logs))
        return "" if there == len(paper.TABLE_1) else f"on {there} of the {len(paper.TABLE_1)} logs of table 1"

    @property
    def _logs(self) -> list[str]:
        """The paper's logs on which somebody waits under FCFS."""
        return [name for name in self.subjects if paper.log_of(name) is not None and self.waits(name)]

    def over_logs(self, statistic: Callable[[Floats, Floats], Floats], *sides: Sequence[str]) -> Effect | None:
        """Return a statistic of the waits over those under FCFS, float64[..., logs, strategies], of one side and other.

        Bootstrap samples are of replications: those of different logs are independent anyway.
        """
        strategies = [name for side in sides for name in side]
        parts = [self.totals(name) for name in self._logs]
        if not parts or not all(set(strategies) <= set(each) for each in parts):
            return None
        both = [each[[BASE, *strategies]].set_axis(range(1 + len(strategies)), axis=1) for each in parts]
        rows = pd.concat(both, axis=1, join="inner")
        if rows.empty:
            return None

        def measured(rows: Floats) -> Floats:
            waits = np.moveaxis(rows.reshape((*rows.shape[:-1], len(both), -1)), -3, -2)
            over_base = 1.0 + statistics.against_first(waits)
            return statistic(over_base[..., : len(sides[0])], over_base[..., len(sides[0]) :])

        return bootstrap_rows(rows.to_numpy(), measured, seed=self.results.seed)

    # -- measures that no column has ------------------------------------------------------------------

    def _of_others(
        self,
        said: Sentence,
        on: Sequence[str],
        *,
        statistic: Callable[[Floats], Floats],
        **how: Any,  # noqa: ANN401
    ) -> Effect | None:
        """Return a statistic of the waits against those under one strategy."""
        (against,) = names_of(said.compared.against)
        return self.compare(on[0], statistic, against, names_of(said.compared.of), **how)

    def _regret(self, said: Sentence, on: Sequence[str]) -> Effect | None:
        return self.regret(on[0], str(said.compared.of))

    def _like(self, said: Sentence, on: Sequence[str]) -> Effect | None:
        return self.likeness(on[0], str(said.compared.values))

    def _antagonistic(self, said: Sentence, on: Sequence[str]) -> Effect | None:
        """Return how much longer the longest waits are than under FCFS, or how much less all waits: the lesser."""
        both = [self.totals(on[0], column) for column in (LONGEST, TOTAL)]
        pair = [BASE, str(said.compared.of)]
        if not set(pair) <= set(both[0]) or not self.waits(on[0]):
            return None
        rows = pd.concat([each[pair] for each in both], axis=1).to_numpy()
        return bootstrap_rows(rows, statistics.antagonistic, seed=self.results.seed)

    def _weekly_variation(self, said: Sentence, on: Sequence[str]) -> Effect | None:
        """Return the standard deviation of weekly means on the log itself over their mean: the least of all orders."""
        names = {f"{order}{LOGGED}" for order in names_of(said.compared.of)}
        if not {"jobs", "wait_s", "week"} <= set(self.results.table):
            return None
        table = self.results.where(variant=self.variant, workload=on[0])
        table = table[table["strategy"].isin(names) & (table["jobs"] > 0)]
        means = table.assign(mean_s=table["wait_s"] / table["jobs"])
        means = means.pivot_table(index="week", columns="strategy", values="mean_s").dropna()
        if not names <= set(means) or means.empty or means.mean().min() <= 0.0:
            return None
        return bootstrap_rows(means.to_numpy(), statistics.variation, seed=self.results.seed, block=_MONTH_WEEKS)

    def _over_logs(
        self,
        said: Sentence,
        on: Sequence[str],  # noqa: ARG002  the paper's logs
        *,
        statistic: Callable[[Floats, Floats], Floats],
        least: int = 1,
    ) -> Effect | None:
        """Return a statistic of the waits on the paper's logs; None if it takes more logs than there are."""
        if len(self._logs) < least:
            return None
        return self.over_logs(statistic, names_of(said.compared.of), names_of(said.compared.against))

    measures = MappingProxyType(
        {
            "waits": partial(_of_others, statistic=statistics.best_gain),
            "longest waits": partial(_of_others, statistic=statistics.best_gain, column=LONGEST),
            "spread": partial(_of_others, statistic=statistics.spread),
            "band": partial(_of_others, statistic=statistics.band, each=True, needed=ENOUGH_FOR_TAILS),
            "clear": partial(_of_others, statistic=statistics.clear, each=True, needed=ENOUGH_FOR_TAILS),
            "regret": _regret,
            "antagonistic": _antagonistic,
            "weekly variation": _weekly_variation,
            **dict.fromkeys(statistics.LIKENESS, _like),
            "most divided": partial(_over_logs, statistic=statistics.most_divided),
            "least remaining": partial(_over_logs, statistic=statistics.least_remaining),
            "rank": partial(_over_logs, statistic=statistics.rank),
            "worst regret": partial(_over_logs, statistic=statistics.worst_regret),
            "least worst regret": partial(_over_logs, statistic=statistics.least_worst_regret, least=2),
        }
    )


# -- claims -----------------------------------------------------------------------------------------

SENTENCES: Final = read_sentences(
    Path(__file__).with_name("claims.csv"),
    Sentence,
    ("printed", "orders", "strategies", "beside", "together"),
    {"TWELVE_ORDERS": TWELVE_ORDERS, "SEVEN": SEVEN, "NOISY": NOISY, "BANDIT": BANDIT},
)
"""On each log: how like the printed table 2 ours is (``printed``, of logs that it has); on fixed orders; on strategies
that choose an order a period; and on what runs ``beside`` tables 2 and 3, with the settings of the text. On all logs
``together``: the abstract's, and those on table 2 as a whole.

The margins of "close to", "little", "slightly" and the like are ours: the paper gives none. Waits are close to the
least, or little lies between two, up to 5 %; "slightly" is up to 10 %, and "considerable" from there on; an improvement
of 2 % or less is no benefit. Weekly means vary a lot where their standard deviation is half of their mean or more."""


def make_claims(results: Results) -> list[Claim]:
    """Return all claims: log by log, then those about all logs; what a part of the logs or orders decides."""
    found, claims = SelectionResults(results), list[Claim]()
    for by, workload in found.each:
        claims += judge(by, SENTENCES["printed"] if paper.published_of(workload) else (), workload)
        claims += judge(by, (*SENTENCES["orders"], *SENTENCES["strategies"]), workload)
        claims += judge(by, SENTENCES["beside"] if by.variant == "text" else (), workload)
    for by in found.by_variant:
        claims += judge(by, [replace(said, note=by.note) for said in SENTENCES["together"]])
    return in_scope(claims, found.last, names={"workload": paper.name_of}, given={"workload": paper.FILE_OF})
