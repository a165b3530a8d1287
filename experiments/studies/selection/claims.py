"""The claims of the selection study, one row per sentence: what the paper asserts, and what we add to it.

The margins of "close to", "little", "slightly" and the like are ours: the paper gives none.

References
----------
See `experiments.studies.selection.paper`.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from experiments.campaigns.claims import Claim, in_scope
from experiments.campaigns.judging import judge
from experiments.campaigns.results import Results
from experiments.campaigns.sentences import Compared, Sentence
from experiments.studies.selection.paper import FACTOR, FILE_OF, HALF, REMAINS, name_of, published_of
from experiments.studies.selection.results import BANDIT, BASE, CHOSEN, NOISY, SOON, SelectionResults
from experiments.studies.selection.settings import PERIODS, SEVEN, UNBOUNDED
from simmodels.policies.orders import TWELVE_ORDERS

CLOSE: Final = 0.05
"""How much longer waits may be that are close to the least, or how far two may be apart between which little lies."""
SLIGHTLY: Final = 0.1
NOTHING: Final = 0.02
"""An improvement of no more than this is no benefit."""
CONSIDERABLE: Final = 0.1
MUCH: Final = 0.5
"""Weekly means vary a lot from here on: their standard deviation over the weeks, as a part of their mean."""
_LOGGED: Final = "the seven orders on the log itself: --set strategy= with 'FCFS logged' and so on"
_REST: Final = TWELVE_ORDERS[1:]
"""All orders but FCFS."""
_ratio: Final = partial(Sentence, unit="%")

PRINTED: Final = tuple(
    Sentence(
        f"The eleven orders stand against FCFS as printed: {measure}, {{on}}",
        "table 2 (claim 0)",
        Compared(measure, at_least=least),
        f"{measure} of ours, by equation 11, and the printed row with its labels in their places{more}",
        ours=True,
    )
    for measure, least, more in (
        ("equal signs", 0.9, "; a change that rounds to 0 % has either sign"),
        ("rank correlation", 0.8, ""),
    )
)
"""On each log that table 2 has, whether ours is like it."""

ORDERS: Final = (
    _ratio(
        "Another order than FCFS gains considerably {on}",
        "section 7",
        Compared("waits", _REST, BASE, judge="least", at_most=-CONSIDERABLE),
        "waits under the best of the orders against FCFS (equation 11); considerable: 10 %, a margin of ours",
    ),
    _ratio(
        "Orders differ by tens of per cent {on}",
        "table 2 (claim 1)",
        Compared("spread", _REST, BASE, judge="largest", at_least=0.2),
        "waits under the worst order less those under the best, as a part of those under FCFS",
        ours=True,
    ),
    Sentence(
        "The percentiles of an order's improvement lie about half the best improvement apart {on}",
        "section 6.2, fig. 2",
        Compared("band", _REST, BASE, judge="share", at_least=HALF / 2.0, at_most=HALF * 2.0),
        "width from the 10th to the 90th percentile, mean over the orders, over the best improvement; "
        "about: up to a factor of 2, a margin of ours",
    ),
    *(
        _ratio(
            f"The percentiles of {which} lie on one side of FCFS {{on}}",
            "section 6.2, fig. 2",
            comparison,
            "share of the orders of which the 10th and the 90th percentile of the improvement have one sign",
            ours=comparison.judge == "share",
        )
        for which, comparison in (
            ("each order", Compared("clear", _REST, BASE, at_least=1.0)),
            ("most orders", Compared("clear", _REST, BASE, judge="share", more_than=0.5)),
        )
    ),
)
"""On fixed orders, on each log."""

STRATEGIES: Final = tuple(
    sentence
    for period in PERIODS
    for full, noisy, bandit in ((f"full {period}", f"noisy {period}", f"bandit {period}"),)
    for sentence in (
        *(
            _ratio(
                f"{kind} feedback comes close to the best order, an order a {period}, {{on}}",
                source,
                Compared("regret", strategy, TWELVE_ORDERS, at_most=CLOSE),
                "waits against those under the best order; close: 5 %, a margin of ours",
            )
            for kind, strategy, source in (("Full", full, "section 1.2 (claim 2)"), ("Noisy", noisy, "abstract"))
        ),
        _ratio(
            f"Noise of {{noise:g}} % makes little difference to full feedback, an order a {period}, {{on}}",
            "section 5.2 (claim 3)",
            Compared("waits", noisy, full, within=CLOSE),
            "waits with noise against those without; little: 5 % either way, a margin of ours",
        ),
        _ratio(
            f"The bandit improves on FCFS without a simulator, an order a {period}, {{on}}",
            "section 7 (claim 4)",
            Compared("waits", bandit, BASE, less_than=0.0),
            "waits against those under FCFS",
        ),
        _ratio(
            f"The bandit is slightly less efficient than full feedback, an order a {period}, {{on}}",
            "section 7 (claim 4)",
            Compared("waits", bandit, full, more_than=0.0, at_most=SLIGHTLY),
            "waits against those with full feedback; slightly: up to 10 %, a margin of ours",
        ),
        _ratio(
            f"The bandit improves less than full feedback, an order a {period}, {{on}}",
            "section 7 (claim 4)",
            Compared("waits", bandit, full, more_than=0.0),
            "waits against those with full feedback",
            ours=True,
        ),
        _ratio(
            f"Random selection is worse than the bandit, an order a {period}, {{on}}",
            "section 6.2, fig. 3 (claim 5)",
            Compared("waits", f"random {period}", bandit, more_than=0.0),
            "waits against those of the bandit",
            ours=True,
        ),
    )
)
"""On the strategies that choose an order a period, on each log."""

BESIDE: Final = (
    *(
        _ratio(
            f"A day or a week makes little difference to {kind} feedback {{on}}",
            source,
            Compared("waits", f"{kind} day", f"{kind} week", within=CLOSE),
            "waits with an order a day against an order a week; little: 5 % either way, a margin of ours",
        )
        for kind, source in (("full", "section 5.1"), ("noisy", "section 5.2"))
    ),
    *(
        sentence
        for period in PERIODS
        for sentence in (
            _ratio(
                f"A quarter of a year is sample enough to select an order, an order a {period}, {{on}}",
                "section 1.2",
                Compared(CHOSEN, f"full {period}", at=[{"week": SOON}], at_most=CLOSE),
                f"waits of a whole resample under the order that full feedback uses in week {SOON + 1}, against "
                "those under the best order of the resample; a quarter of a year, and enough: 5 %, margins of ours",
                ours=True,
            ),
            _ratio(
                f"It is not beneficial to let epsilon decay, an order a {period}, {{on}}",
                "section 5.3",
                Compared("waits", f"decaying {period}", f"bandit {period}", at_least=-NOTHING),
                "waits with an epsilon that halves each {half_life_weeks:g} weeks against a constant one; "
                "beneficial: 2 % less, a margin of ours",
            ),
        )
    ),
    _ratio(
        "Mean and longest wait are antagonistic: SPF without threshold shortens the one and lengthens the other {on}",
        "section 3.3",
        Compared("antagonistic", f"SPF{UNBOUNDED}", BASE, more_than=0.0),
        "how much longer the longest waits of the resamples are than under FCFS, or how much shorter the mean: "
        "the lesser of the two",
    ),
    *(
        _ratio(
            f"The threshold shortens the longest waits of {order} {{on}}",
            "section 4.2",
            Compared("longest waits", order, f"{order}{UNBOUNDED}", less_than=0.0),
            "longest waits, summed over the resamples, against the same order without threshold",
        )
        for order in ("SPF", "SQF", "SAF")
    ),
    Sentence(
        "The mean wait varies a lot from week to week under each of seven orders {on}",
        "section 5, fig. 1",
        Compared("weekly variation", SEVEN, at_least=MUCH),
        "standard deviation of the weekly means of the log's own first year over their mean, least of the seven, by "
        "bootstrap over blocks of 4 weeks; a lot: 0.5, a margin of ours",
        decide=_LOGGED,
    ),
)
"""On periods, thresholds and weeks, on each log: what runs beside table 2 and 3, with the settings of the text."""

_of_all: Final = partial(Sentence, together=True, decide="--scale paper, with the seven logs of table 1")
_BESIDE_SQF, _BESIDE_LAF = (tuple(name for name in TWELVE_ORDERS if name != order) for order in ("SQF", "LAF"))
_WHERE_MOST: Final = "waits under FCFS over those with noisy feedback, where that is most (log and period)"

OF_ALL: Final = (
    _of_all(
        "Noisy feedback divides the mean wait by up to a factor of 2 {on}",
        "abstract",
        Compared("most divided", NOISY, BASE, judge="largest", at_least=FACTOR),
        _WHERE_MOST,
    ),
    _of_all(
        "Noisy feedback nowhere divides the mean wait by more than a factor of 2 {on}",
        "abstract",
        Compared("most divided", NOISY, BASE, judge="largest", at_most=FACTOR),
        _WHERE_MOST,
        ours=True,
    ),
    *(
        _of_all(
            f"The bandit decreases the mean wait {down} {{on}}",
            "abstract",
            Compared("least remaining", BANDIT, BASE, judge="least", at_most=least),
            "waits with the bandit over those under FCFS, where that is least (log and period)",
            ours=least != REMAINS,
            unit="%",
        )
        for down, least in (("down to 40 % of that of FCFS", REMAINS), ("by up to 40 %", 1.0 - REMAINS))
    ),
    *(
        _of_all(
            f"{text} {{on}}",
            "section 6.2, table 2",
            comparison,
            "rank among the twelve orders, by the waits against FCFS (equation 11), mean over the seven logs; "
            f"{margin}: a margin of ours",
        )
        for text, comparison, margin in (
            (
                "SQF (printed: LQF) works very well: it is among the best three",
                Compared("rank", "SQF", _BESIDE_SQF, mean=["subjects"], at_most=3.0),
                "the best three",
            ),
            (
                "LAF (printed: SAF) is remarkably inefficient: it is the last",
                Compared("rank", "LAF", _BESIDE_LAF, mean=["subjects"], at_least=12.0),
                "the last",
            ),
        )
    ),
    _of_all(
        "SQF (printed: LQF) is not the best on all logs {on}",
        "section 6.2, table 2",
        Compared("worst regret", "SQF", _BESIDE_SQF, judge="largest", more_than=0.0),
        "waits under SQF against the best of the others, on the log where that is most",
        unit="%",
    ),
    _of_all(
        "Which order is best differs between logs: none is close to the best on all {on}",
        "section 6.1.4, table 2 (claim 1)",
        Compared("least worst regret", TWELVE_ORDERS, TWELVE_ORDERS, judge="largest", more_than=0.01),
        "waits under an order against the best of the log, on the log where that is most, for the order of which it "
        "is least; not close: 1 %, a margin of ours",
        ours=True,
        unit="%",
    ),
)
"""On all logs together: the abstract's, and those on table 2 as a whole."""


def make_claims(results: Results) -> list[Claim]:
    """Return all claims: log by log, then those about all logs; what a part of the logs or orders decides."""
    found, claims = SelectionResults(results), list[Claim]()
    for by, workload in found.each:
        claims += judge(by, PRINTED if published_of(workload) else (), workload)
        claims += judge(by, (*ORDERS, *STRATEGIES), workload)
        claims += judge(by, BESIDE if by.variant == "text" else (), workload)
    for by in found.by_variant:
        claims += judge(by, [replace(said, note=by.note) for said in OF_ALL])
    return in_scope(claims, found.last, names={"workload": name_of}, given={"workload": FILE_OF})
