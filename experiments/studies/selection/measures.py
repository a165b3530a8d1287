"""The claims of the selection study about all logs together: the abstract's, and those on table 2 as a whole.

References
----------
See `experiments.studies.selection.paper`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim, Scope
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap_rows
from experiments.studies.selection import results as tables
from experiments.studies.selection.paper import FACTOR, FIG_2_ON, HALF, OTHERS, REMAINS, TABLE_1, log_of, missing_from
from experiments.studies.selection.settings import KINDS, PERIODS, YEAR_WEEKS
from simmodels.ground.numbers import Floats
from simmodels.policies.orders import TWELVE_ORDERS

_SEVEN_LOGS: Final = "--scale paper, with the seven logs of table 1"
_COUNTED: Final = (*TWELVE_ORDERS, *(f"{kind} {period}" for kind in KINDS if kind != "random" for period in PERIODS))
"""What the paper counts as simulations: the orders, full and noisy feedback and the bandit, not random choice."""
_NOISY: Final = tuple(f"noisy {period}" for period in PERIODS)
_BANDIT: Final = tuple(f"bandit {period}" for period in PERIODS)
_SIMULATIONS: Final = 12_600
_YEARS: Final = 25_200
"""How many simulations, and of how many years together (section 6.1.4)."""


def claims_over_logs(last: Results, variant: str) -> Iterator[Claim]:
    """Hand out what is said of all logs together, of a variant."""
    ours, logs = tables.is_ours(last, variant), _Logs.of(last, variant)
    of_all = partial(Claim, to_decide=_SEVEN_LOGS, note=logs.note)

    def scope(strategies: Sequence[str], a_part_may: Literal["fail", "hold", "neither"]) -> Scope:
        where = {"variant": (variant,), "workload": tuple(TABLE_1)}
        return Scope(at_each=where, along={"strategy": strategies}, a_part_may=a_part_may)

    orders = ("FCFS", *OTHERS)
    divided = partial(
        of_all,
        source="abstract",
        measure="waits under FCFS over those with noisy feedback, where that is most (log and period)",
        effect=_divided(logs),
    )
    noisy = (tables.BASE, *_NOISY)
    text = f"Noisy feedback divides the mean wait by up to a factor of 2 ({variant})"
    yield divided(text=text, ours=ours, at_least=FACTOR, scope=scope(noisy, "hold"))
    text = f"Noisy feedback nowhere divides the mean wait by more than a factor of 2 ({variant})"
    yield divided(text=text, ours=True, at_most=FACTOR, scope=scope(noisy, "fail"))
    remains = _remaining(logs)
    for text, least, is_ours in (
        ("The bandit decreases the mean wait down to 40 % of that of FCFS", REMAINS, ours),
        ("The bandit decreases the mean wait by up to 40 %", 1.0 - REMAINS, True),
    ):
        yield of_all(
            text=f"{text} ({variant})",
            source="abstract",
            ours=is_ours,
            measure="waits with the bandit over those under FCFS, where that is least (log and period)",
            effect=remains,
            at_most=least,
            unit="%",
            scope=scope((tables.BASE, *_BANDIT), "hold"),
        )
    for order, printed, text, bound in (
        ("SQF", "LQF", "works very well: it is among the best three", {"at_most": 3.0}),
        ("LAF", "SAF", "is remarkably inefficient: it is the last", {"at_least": 12.0}),
    ):
        rank = logs.measured(orders, partial(_rank, orders.index(order)))
        yield of_all(
            text=f"{order} (printed: {printed}) {text} ({variant})",
            source="section 6.2, table 2",
            ours=ours,
            measure="rank among the twelve orders, by the waits against FCFS (equation 11), mean over the seven logs; "
            f"{'the best three' if order == 'SQF' else 'the last'}: a margin of ours",
            effect=rank,
            scope=scope(orders, "neither"),
            **bound,  # type: ignore[arg-type]  # a name of a bound
        )
    yield of_all(
        text=f"SQF (printed: LQF) is not the best on all logs ({variant})",
        source="section 6.2, table 2",
        ours=ours,
        measure="waits under SQF against the best of the others, on the log where that is most",
        effect=logs.measured(orders, _worst_of_sqf),
        more_than=0.0,
        unit="%",
        scope=scope(orders, "hold"),
    )
    yield of_all(
        text=f"Which order is best differs between logs: none is close to the best on all ({variant})",
        source="section 6.1.4, table 2",
        number="claim 1",
        ours=True,
        measure="waits under an order against the best of the log, on the log where that is most, for the order "
        "of which it is least; not close: 1 %, a margin of ours",
        effect=logs.measured(orders, _least_regret) if len(logs.parts) > 1 else None,
        more_than=0.01,
        unit="%",
        scope=scope(orders, "hold"),
    )


def numbers_in_text(last: Results) -> pd.DataFrame:
    """Return the numbers that the paper's sentences have, beside ours: a row per variant and number."""
    rows = []
    for variant in map(str, last.factors["variant"]):
        logs = _Logs.of(last, variant)
        gaia = [str(each) for each in last.factors["workload"] if log_of(str(each)) == FIG_2_ON]
        totals = tables.totals_of(last, variant, gaia[0]) if gaia else pd.DataFrame()
        count = _simulations(last, variant)
        years = None if count is None else Effect.exact(count.estimate * _weeks(last) / YEAR_WEEKS)
        for place, what, printed, effect in (
            ("abstract", "mean wait divided by, with noisy feedback, at most", FACTOR, _divided(logs)),
            ("abstract", "mean wait that the bandit leaves, at least", REMAINS, _remaining(logs)),
            (
                "section 6.2, fig. 2",
                f"width of the percentiles over the best improvement, {FIG_2_ON}",
                HALF,
                tables.by_percentiles(totals, tables.band, seed=last.seed),
            ),
            ("section 6.1.4", "simulations, of orders and of three kinds of strategies", _SIMULATIONS, count),
            ("section 6.1.4", "simulated years, without those that strategies simulate", _YEARS, years),
        ):
            if effect is not None:
                row = {"variant": variant, "place": place, "number": what, "ours": effect.estimate}
                row |= {"low": effect.low, "high": effect.high, "printed": printed}
                rows.append(row | {"difference": effect.estimate - printed, "logs": logs.note or "all"})
    return pd.DataFrame(rows)


def _simulations(last: Results, variant: str) -> Effect | None:
    """Return how many resamples of the paper's logs were run under what the paper counts; None if none was."""
    rows = last.where(variant=variant) if len(last.table) else last.table
    if rows.empty:
        return None
    of_the_paper = rows["workload"].map(lambda name: log_of(str(name)) is not None).astype(bool)
    count = int((of_the_paper & rows["strategy"].isin(_COUNTED)).sum())
    return Effect.exact(count) if count else None


def _weeks(last: Results) -> float:
    return float(str(last.parameters.get("weeks", 2 * YEAR_WEEKS)))


def _divided(logs: "_Logs") -> Effect | None:
    return logs.measured(_NOISY, lambda part: 1.0 / part.min(axis=(-1, -2)))


def _remaining(logs: "_Logs") -> Effect | None:
    return logs.measured(_BANDIT, lambda part: part.min(axis=(-1, -2)))


def _rank(place: int, part: Floats) -> Floats:
    mean = part.mean(axis=-2)
    rank: Floats = 1.0 + (mean < mean[..., place : place + 1]).sum(axis=-1)
    return rank


def _worst_of_sqf(part: Floats) -> Floats:
    place = ("FCFS", *OTHERS).index("SQF")
    others = np.delete(part, place, axis=-1).min(axis=-1)
    worst: Floats = (part[..., place] / others - 1.0).max(axis=-1)
    return worst


def _least_regret(part: Floats) -> Floats:
    regret = part / part.min(axis=-1, keepdims=True) - 1.0
    least: Floats = regret.max(axis=-2).min(axis=-1)
    return least


@dataclass(frozen=True)
class _Logs:
    """The waits on the paper's logs, replication by replication."""

    parts: Sequence[pd.DataFrame]
    missing: Sequence[str]
    seed: int

    @classmethod
    def of(cls, last: Results, variant: str) -> "_Logs":
        logs = [str(workload) for workload in last.factors["workload"] if log_of(str(workload)) is not None]
        totals = {workload: tables.totals_of(last, variant, workload) for workload in logs}
        there = {name: each for name, each in totals.items() if tables.BASE in each and each[tables.BASE].sum() > 0.0}
        return cls(list(there.values()), missing_from(list(there)), last.seed)

    @property
    def note(self) -> str:
        """On how many of the paper's logs it is."""
        return f"on {len(TABLE_1) - len(self.missing)} of the {len(TABLE_1)} logs of table 1" if self.missing else ""

    def measured(self, strategies: Sequence[str], statistic: Callable[[Floats], Floats]) -> Effect | None:
        """Return a statistic of float64[..., logs, strategies], the waits over those under FCFS.

        Bootstrap samples are of replications: those of different logs are independent anyway.
        """
        if not self.parts or not all(set(strategies) <= set(each) for each in self.parts):
            return None
        both = [each[[tables.BASE, *strategies]] for each in self.parts]
        rows = pd.concat([each.set_axis(range(each.shape[1]), axis=1) for each in both], axis=1, join="inner")
        if rows.empty:
            return None

        def part(rows: Floats) -> Floats:
            waits = rows.reshape((*rows.shape[:-1], len(both), len(strategies) + 1))
            measured: Floats = statistic(1.0 + tables.against_first(np.moveaxis(waits, -3, -2)))
            return measured

        return bootstrap_rows(rows.to_numpy(), part, seed=self.seed)
