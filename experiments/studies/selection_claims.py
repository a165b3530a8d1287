"""The claims of the selection study: what the paper asserts, and what we add to it.

The margins of "close to", "little", "slightly" and the like are ours: the paper gives none.

References
----------
See `experiments.studies.selection_paper`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap, bootstrap_rows
from experiments.studies import selection_results as found
from experiments.studies.selection_over_logs import claims_over_logs
from experiments.studies.selection_paper import (
    FIG_1_ON,
    FIG_2_ON,
    HALF,
    log_of,
    name_of,
    published_of,
)
from experiments.studies.selection_run import LOGGED, PERIODS, SEVEN, UNBOUNDED

Floats = NDArray[np.float64]

CLOSE: Final = 0.05
"""How much longer waits may be that are close to the least, or how far two may be apart between which little lies."""
SLIGHTLY: Final = 0.1
NOTHING: Final = 0.02
"""An improvement of no more than this is no benefit."""
CONSIDERABLE: Final = 0.1
MUCH: Final = 0.5
"""Weekly means vary a lot from here on: their standard deviation over the weeks, as a part of their mean."""
_SOON: Final = 13
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
        return found.totals_of(self.last, self.variant, self.workload)

    @property
    def ours(self) -> bool:
        """Whether the settings are those of the authors' program, which their text does not have."""
        return self.variant != "text"

    @property
    def where(self) -> str:
        """Of which log and variant it is."""
        return f"on {name_of(self.workload)} ({self.variant})"

    def change(self, strategy: str, against: str) -> Effect | None:
        """Return how much longer the waits are than under another strategy."""
        return found.change(self.totals, strategy, against, seed=self.last.seed)


def claims_of(results: Results) -> list[Claim]:
    """Return all claims: log by log, then those about all logs."""
    last = found.last_of(results)
    claims: list[Claim] = []
    for variant, workload in found.settings_of(last):
        about = About(results, last, variant, workload)
        claims += _as_printed(about)
        claims += _about_orders(about)
        for period in PERIODS:
            claims += _about_strategies(about, period)
        if not about.ours:
            claims += _about_periods(about)
            claims += _about_waits(about)
    for variant in map(str, last.factors["variant"]):
        claims += claims_over_logs(last, variant)
    return claims


def _as_printed(about: About) -> Iterator[Claim]:
    """Hand out whether our table 2 is like the printed one."""
    if published_of(about.workload) is None:
        return
    likeness = found.likeness(about.last, about.variant, about.workload)
    for measure, least in (("equal signs", 0.9), ("rank correlation", 0.8)):
        yield Claim(
            text=f"The eleven orders stand against FCFS as printed: {measure}, {about.where}",
            source="table 2",
            number="claim 0",
            ours=True,
            measure=f"{measure} of ours, by equation 11, and the printed row with its labels in their places",
            effect=None if likeness is None else likeness[measure],
            at_least=least,
            to_decide=_DECIDE,
        )


def _about_orders(about: About) -> Iterator[Claim]:
    """Hand out what is said of fixed orders."""
    seed = about.last.seed
    gains = band = clear = spread = None
    rows = found.rows_against_base(about.totals)
    if rows is not None:
        gains = bootstrap_rows(rows, found.best_gain, seed=seed)
        band = bootstrap_rows(rows, found.band, seed=seed)
        clear = bootstrap_rows(rows, found.clear, seed=seed)
        spread = bootstrap_rows(rows, found.spread, seed=seed)
    drawn = log_of(about.workload) == FIG_2_ON
    yield Claim(
        text=f"Another order than FCFS gains considerably {about.where}",
        source="section 7",
        ours=about.ours,
        measure="waits under the best of the orders against FCFS (equation 11); considerable: 10 %, a margin of ours",
        effect=gains,
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
        effect=band,
        at_least=HALF / 2.0,
        at_most=HALF * 2.0,
        to_decide=_DECIDE,
    )
    yield Claim(
        text=f"Most orders can be told from FCFS by their percentiles {about.where}",
        source="section 6.2, fig. 2",
        ours=about.ours or not drawn,
        measure="share of the orders of which the 10th and the 90th percentile of the improvement have one sign",
        effect=clear,
        at_least=0.5,
        unit="%",
        to_decide=_DECIDE,
    )


def _about_strategies(about: About, period: str) -> Iterator[Claim]:
    """Hand out what is said of the strategies that choose an order a period."""
    full, noisy, bandit = (f"{kind} {period}" for kind in ("full", "noisy", "bandit"))
    noise = 100.0 * found.noise_of(about.last, about.variant)
    after = f", an order a {period}, {about.where}"
    claim = partial(Claim, unit="%", to_decide=_DECIDE)
    best = "waits against those under the best order; close: 5 %, a margin of ours"
    for kind, strategy in (("Full", full), ("Noisy", noisy)):
        yield claim(
            text=f"{kind} feedback comes close to the best order{after}",
            source="section 1.2",
            number="claim 2" if strategy == full else "",
            ours=about.ours,
            measure=best,
            effect=found.against_best(about.totals, strategy, seed=about.last.seed),
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
        effect=about.change(bandit, found.BASE),
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
            text=f"The length of the period has little impact on {kind} feedback {about.where}",
            source=section,
            measure="waits with an order a day against an order a week; little: 5 % either way, a margin of ours",
            effect=about.change(f"{kind} day", f"{kind} week"),
            at_least=-CLOSE,
            at_most=CLOSE,
        )
    for period in PERIODS:
        chosen = found.chosen_after(about.results, about.last, about.variant, about.workload, f"full {period}")
        effect = None
        if _SOON in chosen:
            learned = (chosen[_SOON] - chosen[chosen.columns[-1]]).to_numpy()
            effect = bootstrap(learned, seed=about.last.seed)
        yield claim(
            text=f"A quarter of a year is sample enough to select an order, an order a {period}, {about.where}",
            source="section 1.2",
            measure=f"waits of a whole resample under the order that full feedback uses in week {_SOON + 1}, less "
            "those under the one that it uses in the last week, as a part of the least; enough: 5 %, a margin of ours",
            effect=effect,
            at_most=CLOSE,
        )
        yield claim(
            text=f"It is not beneficial to let epsilon decay, an order a {period}, {about.where}",
            source="section 5.3",
            measure="waits with an epsilon that halves each "
            f"{about.last.parameters.get('epsilon_half_life_weeks', _SOON):g} weeks against a constant one; "
            "beneficial: 2 % less, a margin of ours",
            effect=about.change(f"decaying {period}", f"bandit {period}"),
            at_least=-NOTHING,
        )


def _about_waits(about: About) -> Iterator[Claim]:
    """Hand out what is said of the longest wait, and of the weeks of the log itself."""
    longest = found.totals_of(about.last, about.variant, about.workload, "max_wait_s")
    claim = partial(Claim, unit="%", to_decide=_DECIDE)
    free, antagonistic = f"SPF{UNBOUNDED}", None
    if {free, found.BASE} <= set(longest) and about.totals[found.BASE].min() > 0.0:
        pairs = [each[[free, found.BASE]] for each in (longest, about.totals)]
        antagonistic = bootstrap_rows(pd.concat(pairs, axis=1).to_numpy(), _antagonistic, seed=about.last.seed)
    yield claim(
        text="Mean and longest wait are antagonistic: SPF without threshold shortens the one and lengthens the other "
        f"{about.where}",
        source="section 3.3",
        measure="how much longer the longest waits of the resamples are than under FCFS, or how much shorter the mean: "
        "the lesser of the two",
        effect=antagonistic,
        more_than=0.0,
    )
    for order in ("SPF", "SQF", "SAF"):
        yield claim(
            text=f"The threshold shortens the longest waits of {order} {about.where}",
            source="section 4.2",
            measure="longest waits, summed over the resamples, against the same order without threshold",
            effect=found.change(longest, order, f"{order}{UNBOUNDED}", seed=about.last.seed),
            less_than=0.0,
        )
    yield Claim(
        text=f"The mean wait varies a lot from week to week under each of seven orders {about.where}",
        source="section 5, fig. 1",
        ours=log_of(about.workload) != FIG_1_ON,
        measure="standard deviation of the weekly means of the log's own first year over their mean, least of the "
        "seven, by bootstrap over the weeks; a lot: 0.5, a margin of ours",
        effect=_weekly_variation(about),
        at_least=MUCH,
        to_decide="the seven orders on the log itself: --set strategy= with 'FCFS logged' and so on",
    )


def _antagonistic(rows: Floats) -> Floats:
    """Return the lesser of a lengthening (the first two columns) and a shortening (the others)."""
    sums = rows.sum(axis=-2)
    longer, shorter = sums[..., 0] / sums[..., 1] - 1.0, 1.0 - sums[..., 2] / sums[..., 3]
    lesser: Floats = np.minimum(longer, shorter)
    return lesser


def _weekly_variation(about: About) -> Effect | None:
    table = about.results.where(variant=about.variant, workload=about.workload)
    names = [f"{order}{LOGGED}" for order in SEVEN]
    table = table[table["strategy"].isin(names) & (table.get("jobs", pd.Series(dtype=float)) > 0)]
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

    return bootstrap_rows(means.to_numpy(), variation, seed=about.last.seed)
