"""The claims of the selection study: what the paper asserts, and what we add to it.

The margins of "close to", "little", "slightly" and the like are ours: the paper gives none.

References
----------
See `experiments.studies.selection.paper`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Literal

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim, Scope, in_scope
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap, bootstrap_rows
from experiments.studies.naming import log_name
from experiments.studies.selection import results as tables
from experiments.studies.selection.measures import claims_over_logs
from experiments.studies.selection.paper import (
    FIG_1_ON,
    FIG_2_ON,
    FILE_OF,
    HALF,
    log_of,
    name_of,
    published_of,
)
from experiments.studies.selection.settings import LOGGED, PERIODS, SEVEN, UNBOUNDED
from simmodels.ground.numbers import Floats
from simmodels.policies.orders import TWELVE_ORDERS

CLOSE: Final = 0.05
"""How much longer waits may be that are close to the least, or how far two may be apart between which little lies."""
SLIGHTLY: Final = 0.1
NOTHING: Final = 0.02
"""An improvement of no more than this is no benefit."""
CONSIDERABLE: Final = 0.1
MUCH: Final = 0.5
"""Weekly means vary a lot from here on: their standard deviation over the weeks, as a part of their mean."""
_SOON: Final = 13
_MONTH_WEEKS: Final = 4
"""Consecutive weeks are alike: the bootstrap draws this many together."""
_DECIDE: Final = "--scale paper"


@dataclass(frozen=True)
class About:
    """What the claims about a log, or all logs, of a variant are checked on."""

    results: Results
    last: Results
    variant: str
    workload: str

    @cached_property
    def totals(self) -> pd.DataFrame:
        """The waits of each resample, under each strategy."""
        return tables.totals_of(self.last, self.variant, self.workload)

    @property
    def ours(self) -> bool:
        """Whether the log is none of the paper's, or the settings are not those of its text."""
        return log_of(self.workload) is None or tables.is_ours(self.results, self.variant)

    @property
    def where(self) -> str:
        """Of which log and variant it is."""
        return f"on {log_name(self.workload)} ({self.variant})"

    def scope(self, a_part_may: Literal["fail", "hold", "neither"], *more: str) -> Scope:
        """Return as the scope of a claim all twelve orders on the log, and more strategies."""
        where = {"variant": (self.variant,), "workload": (name_of(self.workload),)}
        return Scope(at_each=where, along={"strategy": (*TWELVE_ORDERS, *more)}, a_part_may=a_part_may)

    def change(self, strategy: str, against: str) -> Effect | None:
        """Return how much longer the waits are than under another strategy."""
        return tables.change(self.totals, strategy, against, seed=self.last.seed)


def make_claims(results: Results) -> list[Claim]:
    """Return all claims: log by log, then those about all logs; what a part of the logs or orders decides."""
    last = tables.last_of(results)
    claims: list[Claim] = []
    for variant, workload in tables.settings_of(last):
        about = About(results, last, variant, workload)
        claims += _as_printed(about)
        claims += _about_orders(about)
        for period in PERIODS:
            claims += _about_strategies(about, period)
        if variant == "text":  # what runs beside table 2 and 3 runs with the text's settings
            claims += _about_periods(about)
            claims += _about_waits(about)
    for variant in map(str, last.factors["variant"]):
        claims += claims_over_logs(last, variant)
    return in_scope(claims, last, names={"workload": name_of}, given={"workload": FILE_OF})


def _as_printed(about: About) -> Iterator[Claim]:
    """Hand out whether our table 2 is like the printed one."""
    if published_of(about.workload) is None:
        return
    likeness = tables.likeness(about.last, about.variant, about.workload)
    for measure, least in (("equal signs", 0.9), ("rank correlation", 0.8)):
        yield Claim(
            text=f"The eleven orders stand against FCFS as printed: {measure}, {about.where}",
            source="table 2",
            number="claim 0",
            ours=True,
            measure=f"{measure} of ours, by equation 11, and the printed row with its labels in their places"
            f"{'; a change that rounds to 0 % has either sign' if measure == 'equal signs' else ''}",
            effect=None if likeness is None else likeness[measure],
            at_least=least,
            to_decide=_DECIDE,
        )


def _about_orders(about: About) -> Iterator[Claim]:
    """Hand out what is said of fixed orders."""
    seed = about.last.seed
    gains = spread = None
    rows = tables.rows_against_base(about.totals)
    if rows is not None:
        gains = bootstrap_rows(rows, tables.best_gain, seed=seed)
        spread = bootstrap_rows(rows, tables.spread, seed=seed)
    drawn = log_of(about.workload) == FIG_2_ON
    yield Claim(
        text=f"Another order than FCFS gains considerably {about.where}",
        source="section 7",
        ours=about.ours,
        measure="waits under the best of the orders against FCFS (equation 11); considerable: 10 %, a margin of ours",
        effect=gains,
        scope=about.scope("hold"),
        at_most=-CONSIDERABLE,
        unit="%",
        to_decide=_DECIDE,
    )
    yield Claim(
        text=f"Orders differ by tens of per cent {about.where}",
        source="table 2",
        number="claim 1",
        ours=True,
        measure="waits under the worst order less those under the best, as a part of those under FCFS",
        effect=spread,
        scope=about.scope("hold"),
        at_least=0.2,
        unit="%",
        to_decide=_DECIDE,
    )
    yield Claim(
        text=f"The percentiles of an order's improvement lie about half the best improvement apart {about.where}",
        source="section 6.2, fig. 2",
        ours=about.ours or not drawn,
        measure="width from the 10th to the 90th percentile, mean over the orders, over the best improvement; "
        "about: up to a factor of 2, a margin of ours",
        effect=tables.by_percentiles(about.totals, tables.band, seed=seed),
        scope=about.scope("neither"),
        at_least=HALF / 2.0,
        at_most=HALF * 2.0,
        to_decide=_DECIDE,
    )
    clear = tables.by_percentiles(about.totals, tables.clear, seed=seed)
    of_share = partial(
        Claim,
        source="section 6.2, fig. 2",
        measure="share of the orders of which the 10th and the 90th percentile of the improvement have one sign",
        effect=clear,
        unit="%",
        to_decide=_DECIDE,
    )
    text = f"The percentiles of each order lie on one side of FCFS {about.where}"
    yield of_share(text=text, ours=about.ours or not drawn, at_least=1.0, scope=about.scope("fail"))
    text = f"The percentiles of most orders lie on one side of FCFS {about.where}"
    yield of_share(text=text, ours=True, more_than=0.5, scope=about.scope("neither"))


def _about_strategies(about: About, period: str) -> Iterator[Claim]:
    """Hand out what is said of the strategies that choose an order a period."""
    full, noisy, bandit = (f"{kind} {period}" for kind in ("full", "noisy", "bandit"))
    noise = 100.0 * tables.noise_of(about.last, about.variant)
    after = f", an order a {period}, {about.where}"
    claim = partial(Claim, unit="%", to_decide=_DECIDE)
    best = "waits against those under the best order; close: 5 %, a margin of ours"
    for kind, strategy, source in (("Full", full, "section 1.2"), ("Noisy", noisy, "abstract")):
        yield claim(
            text=f"{kind} feedback comes close to the best order{after}",
            source=source,
            number="claim 2" if strategy == full else "",
            ours=about.ours,
            measure=best,
            effect=tables.against_best(about.totals, strategy, seed=about.last.seed),
            scope=about.scope("fail", strategy),
            at_most=CLOSE,
        )
    yield claim(
        text=f"Noise of {noise:g} % makes little difference to full feedback{after}",
        source="section 5.2",
        number="claim 3",
        ours=about.ours,
        measure="waits with noise against those without; little: 5 % either way, a margin of ours",
        effect=about.change(noisy, full),
        at_least=-CLOSE,
        at_most=CLOSE,
    )
    yield claim(
        text=f"The bandit improves on FCFS without a simulator{after}",
        source="section 7",
        number="claim 4",
        ours=about.ours,
        measure="waits against those under FCFS",
        effect=about.change(bandit, tables.BASE),
        less_than=0.0,
    )
    yield claim(
        text=f"The bandit is slightly less efficient than full feedback{after}",
        source="section 7",
        number="claim 4",
        ours=about.ours,
        measure="waits against those with full feedback; slightly: up to 10 %, a margin of ours",
        effect=about.change(bandit, full),
        more_than=0.0,
        at_most=SLIGHTLY,
    )
    yield claim(
        text=f"The bandit improves less than full feedback{after}",
        source="section 7",
        number="claim 4",
        ours=True,
        measure="waits against those with full feedback",
        effect=about.change(bandit, full),
        more_than=0.0,
    )
    yield claim(
        text=f"Random selection is worse than the bandit{after}",
        source="section 6.2, fig. 3",
        number="claim 5",
        ours=True,
        measure="waits against those of the bandit",
        effect=about.change(f"random {period}", bandit),
        more_than=0.0,
    )


def _about_periods(about: About) -> Iterator[Claim]:
    """Hand out what is said of how long periods are, how soon it is learned, and how exploration fades."""
    claim = partial(Claim, unit="%", to_decide=_DECIDE)
    for kind, section in (("full", "section 5.1"), ("noisy", "section 5.2")):
        yield claim(
            text=f"A day or a week makes little difference to {kind} feedback {about.where}",
            source=section,
            ours=about.ours,
            measure="waits with an order a day against an order a week; little: 5 % either way, a margin of ours",
            effect=about.change(f"{kind} day", f"{kind} week"),
            at_least=-CLOSE,
            at_most=CLOSE,
        )
    for period in PERIODS:
        chosen = tables.chosen_after(about.results, about.last, about.variant, about.workload, f"full {period}")
        yield claim(
            text=f"A quarter of a year is sample enough to select an order, an order a {period}, {about.where}",
            source="section 1.2",
            ours=True,
            measure=f"waits of a whole resample under the order that full feedback uses in week {_SOON + 1}, against "
            "those under the best order of the resample; a quarter of a year, and enough: 5 %, margins of ours",
            effect=bootstrap(chosen[_SOON].to_numpy(), seed=about.last.seed) if _SOON in chosen else None,
            at_most=CLOSE,
        )
        yield claim(
            text=f"It is not beneficial to let epsilon decay, an order a {period}, {about.where}",
            source="section 5.3",
            ours=about.ours,
            measure="waits with an epsilon that halves each "
            f"{about.last.parameters.get('epsilon_half_life_weeks', _SOON):g} weeks against a constant one; "
            "beneficial: 2 % less, a margin of ours",
            effect=about.change(f"decaying {period}", f"bandit {period}"),
            at_least=-NOTHING,
        )


def _about_waits(about: About) -> Iterator[Claim]:
    """Hand out what is said of the longest wait, and of the weeks of the log itself."""
    longest = tables.totals_of(about.last, about.variant, about.workload, "max_wait_s")
    claim = partial(Claim, unit="%", to_decide=_DECIDE)
    free, antagonistic = f"SPF{UNBOUNDED}", None
    if {free, tables.BASE} <= set(longest) and about.totals[tables.BASE].sum() > 0.0:
        pairs = [each[[tables.BASE, free]] for each in (longest, about.totals)]
        antagonistic = bootstrap_rows(pd.concat(pairs, axis=1).to_numpy(), _antagonistic, seed=about.last.seed)
    yield claim(
        text="Mean and longest wait are antagonistic: SPF without threshold shortens the one and lengthens the other "
        f"{about.where}",
        source="section 3.3",
        ours=about.ours,
        measure="how much longer the longest waits of the resamples are than under FCFS, or how much shorter the mean: "
        "the lesser of the two",
        effect=antagonistic,
        more_than=0.0,
    )
    for order in ("SPF", "SQF", "SAF"):
        yield claim(
            text=f"The threshold shortens the longest waits of {order} {about.where}",
            source="section 4.2",
            ours=about.ours,
            measure="longest waits, summed over the resamples, against the same order without threshold",
            effect=tables.change(longest, order, f"{order}{UNBOUNDED}", seed=about.last.seed),
            less_than=0.0,
        )
    yield Claim(
        text=f"The mean wait varies a lot from week to week under each of seven orders {about.where}",
        source="section 5, fig. 1",
        ours=about.ours or log_of(about.workload) != FIG_1_ON,
        measure="standard deviation of the weekly means of the log's own first year over their mean, least of the "
        f"seven, by bootstrap over blocks of {_MONTH_WEEKS} weeks; a lot: 0.5, a margin of ours",
        effect=_weekly_variation(about),
        at_least=MUCH,
        to_decide="the seven orders on the log itself: --set strategy= with 'FCFS logged' and so on",
    )


def _antagonistic(rows: Floats) -> Floats:
    """Return the lesser of a lengthening (of the second column against the first) and a shortening (of the others)."""
    longer, shorter = tables.best_gain(rows[..., :2]), -tables.best_gain(rows[..., 2:])
    lesser: Floats = np.minimum(longer, shorter)
    return lesser


def _weekly_variation(about: About) -> Effect | None:
    """Return the standard deviation of the weekly means over their mean, least of the seven; None if one is missing."""
    names = [f"{order}{LOGGED}" for order in SEVEN]
    if not {"jobs", "wait_s", "week"} <= set(about.results.table):
        return None
    table = about.results.where(variant=about.variant, workload=about.workload)
    table = table[table["strategy"].isin(names) & (table["jobs"] > 0)]
    if set(names) > set(table["strategy"]):
        return None
    means = table.assign(mean_s=table["wait_s"] / table["jobs"])
    means = means.pivot_table(index="week", columns="strategy", values="mean_s").dropna()
    if means.empty or means.mean().min() <= 0.0:
        return None

    def variation(rows: Floats) -> Floats:
        mean = rows.mean(axis=-2)
        parts: Floats = np.divide(rows.std(axis=-2), mean, out=np.zeros_like(mean), where=mean > 0.0).min(axis=-1)
        return parts

    return bootstrap_rows(means.to_numpy(), variation, seed=about.last.seed, block=_MONTH_WEEKS)
