"""The claims of the regression study: its sentences as rows, and on how many workloads each holds, by each method.

Sections and figures are those of the version with three training sets.

References
----------
See `experiments.studies.regression.paper`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim, Scope, in_scope
from experiments.campaigns.judging import claim_on, judge
from experiments.campaigns.results import Results
from experiments.campaigns.sentences import Compared, Sentence
from experiments.campaigns.statistics import Effect, compared
from experiments.studies.naming import log_name
from experiments.studies.regression.measures import INFLATION, TIMES
from experiments.studies.regression.paper import (
    BLUE,
    CTC,
    FILE_OF,
    LOGS,
    MAE,
    SETS,
    SYNTHETIC,
    TABLE_OF,
    name_of,
    set_of,
)
from experiments.studies.regression.results import ANY, RegressionResults
from experiments.studies.regression.settings import (
    GENERATED,
    METHODS,
    ONLINE,
    OWN,
    SEVEN,
    WAYS,
    Method,
    is_learned,
)
from simmodels.policies.polynomial import FORMS

Share = Literal["all", "nearly all", "most"]
LEAST: Final[Mapping[Share, float]] = {"all": 1.0, "nearly all": 0.8, "most": 0.5}
"""Of what part of the workloads a sentence must hold: all; at least four fifths; more than a half."""
MARGIN: Final = 2.0
""""As", "comparable" and "close" are within this factor; the paper states none."""
NEARLY: Final = 0.9
"""An order does well throughout if it is among the three lowest in this share of the windows; the paper states none."""
MUSTANG: Final = "Mustang"
"""The log of which the paper says that orders do well in all its windows."""

_LOG: Final = float(np.log10(MARGIN))
_COMPLEX: Final = ("QDR", "CUB", "QUA")
_POOR: Final = ("FCFS", "SPT", "WFP3", "UNICEF")
_TABLE_3: Final = "section 5.2, table 3 (claim 3)"
_HAL: Final = "section 5.1 of the HAL version, table 3 (claim 3)"
_FIG_3: Final = "section 5.2, fig. 3"
_FIG_5: Final = "section 5.3, fig. 5"
_MORE_LOGS: Final = f"the logs of {CTC} and {BLUE}: --workload generated,..."
_MORE_DRAWS: Final = "more draws of pairs: --set draws=N"
_MORE_PAIRS: Final = "more pairs: --set pairs=N"
_MORE_WINDOWS: Final = "--scale paper, or logs with more windows"
_WAITING: Final = "the orders that were left out, or logs on which jobs wait"
_MOST_NOTED: Final = 3

INFLATED: Final = (
    *(
        Sentence(
            f"The largest variance inflation factor of {large} is above that of {small}, on the generated set",
            _TABLE_3,
            Compared(INFLATION, large, small, more_than=0.0),
            decide=_MORE_DRAWS,
        )
        for small, large in pairwise(FORMS)
    ),
    *(
        Sentence(
            f"The largest variance inflation factor of {form} is {said}, on the generated set",
            source,
            Compared(INFLATION, form, more_than=above, less_than=below),
            ours=source == _TABLE_3,
            decide=_MORE_DRAWS,
        )
        for form, said, source, above, below in (
            ("LIN", "below 5", _TABLE_3, None, np.log10(5.0)),
            ("QDR", "above 5", _HAL, np.log10(5.0), None),
            ("QUA", "above 10,000", _HAL, 4.0, None),
            ("QUA", "above 1,000", _TABLE_3, 3.0, None),
        )
    ),
    *(
        sentence
        for training in (CTC, BLUE)
        for sentence in (
            Sentence(
                f"Some form has a variance inflation factor above 10,000, on {training}",
                f"section 5.2, {TABLE_OF[training]} (claim 3)",
                Compared(INFLATION, ANY, more_than=4.0),
                on=(training,),
                decide=_MORE_LOGS,
                note="the printed table has 4,177 at the most" if training == BLUE else "",
            ),
            Sentence(
                f"The largest variance inflation factor of QUA is above that of the generated set, on {training}",
                f"section 5.2, {TABLE_OF[training]} (claim 3)",
                Compared(INFLATION, "QUA", more_than=0.0),
                on=(training,),
                than_on=SYNTHETIC,
                decide=_MORE_LOGS,
                note="the printed tables say otherwise: 4,177 (table 5), and 10,492 (table 3)"
                if training == BLUE
                else "",
            ),
        )
    ),
)
"""What is said of the inflation of variances."""

FITTED: Final = (
    Sentence(
        "The coefficient of q is positive in LIN, learned from the generated set",
        "section 5.2, table 3 (claim 4)",
        Compared("coefficient of q", "LIN", more_than=0.0),
        decide=_MORE_PAIRS,
    ),
    Sentence(
        "The coefficient of q is negative in QDR, learned from the generated set",
        "section 5.2, table 3 (claim 4)",
        Compared("coefficient of q", "QDR", less_than=0.0),
        decide=_MORE_PAIRS,
        note="The coefficient depends on the pairs that were drawn: with the jobs of a pair taken together its "
        "standard error is several times the usual one.",
    ),
    *(
        Sentence(
            f"The mean absolute errors of {form} on the three training sets are within a factor of 2",
            "section 5.2, table 2",
            Compared("errors apart", form, at_most=_LOG),
            on=SETS,
            together=True,
            decide=_MORE_LOGS,
            note=f"The printed ones are {max(printed) / min(printed):.1f} times apart.",
        )
        for form in FORMS
        for printed in ([MAE[training][form] for training in SETS],)
    ),
    Sentence(
        "The mean absolute errors of all forms but one are within a factor of 2, on the generated set",
        "section 5.1 of the HAL version",
        Compared("errors but one apart", tuple(FORMS), at_most=_LOG),
        decide=_MORE_PAIRS,
    ),
)
"""What is said of signs and errors, each way of scoring for itself."""


@dataclass(frozen=True, slots=True)
class OnWorkloads(Sentence):
    """A sentence about the windows of each workload, and on what part of the workloads it is said to hold."""

    share: Share = "all"


_LEARNED_FROM: Final = ({"mode": "actual", "train": OWN},)
_ESTIMATES: Final = ({"mode": "estimates"},)
_BACKFILLED: Final = {"mode": ("estimates", "backfilling")}

FIGURE_3: Final = (
    *(
        OnWorkloads(f"{said}, with actual runtimes", source, comparison)
        for form in _COMPLEX
        for said, source, comparison in (
            (
                f"{form} is worse than LIN",
                f"{_FIG_3} (claim 2)",
                Compared(TIMES, form, "LIN", at=_LEARNED_FROM, more_than=0.0),
            ),
            (
                f"{form} is as inefficient as FCFS, within a factor of 2",
                f"{_FIG_3} (claim 2)",
                Compared(TIMES, form, "FCFS", at=_LEARNED_FROM, within=_LOG),
            ),
            (
                f"The median of {form} is above that of each established order but FCFS",
                _FIG_3,
                Compared("median", form, SEVEN[1:-1], at=_LEARNED_FROM, at_least=6.0),
            ),
        )
    ),
    OnWorkloads(
        "LIN is comparable to SAF, within a factor of 2, with actual runtimes",
        _FIG_3,
        Compared(TIMES, "LIN", "SAF", at=_LEARNED_FROM, within=_LOG),
    ),
    *(
        OnWorkloads(f"{said}, with estimates", f"{_FIG_3} (claim 2)", comparison, ours=True)
        for form in _COMPLEX
        for said, comparison in (
            (f"{form} is worse than LIN", Compared(TIMES, form, "LIN", at=_ESTIMATES, more_than=0.0)),
            (f"{form} is no better than FCFS", Compared(TIMES, form, "FCFS", at=_ESTIMATES, at_least=0.0)),
        )
    ),
)
"""What is said of the forms on the workloads that they were learned from."""

FIGURE_4: Final = (
    OnWorkloads(
        "LIN's median is among the three lowest of seven, with estimates",
        "section 5.3, fig. 4 (claim 1)",
        Compared("median", "LIN", at=_ESTIMATES, at_most=3.0),
    ),
    OnWorkloads(
        "LIN's slowdowns vary little: its interquartile range is among the three lowest of seven, with estimates",
        "section 5.3, fig. 4",
        Compared("interquartile range", "LIN", at=_ESTIMATES, at_most=3.0),
        "little: a margin of ours",
        share="nearly all",
    ),
    OnWorkloads(
        "F2 is slightly better than LIN, by less than a factor of 2, with estimates",
        "section 6, fig. 4",
        Compared(TIMES, "F2", "LIN", at=_ESTIMATES, more_than=-_LOG, less_than=0.0),
        share="most",
    ),
)
"""What is said of estimates without backfilling."""

FIGURE_5: Final = (
    *(
        OnWorkloads(
            f"Backfilling improves {order}",
            f"{_FIG_5} (claim 5)",
            Compared(TIMES, order, along=_BACKFILLED, change="rise", less_than=0.0),
            f"noticeably: by any factor, a margin of ours{more}",
        )
        for order in _POOR
        for more in ("" if order == "FCFS" else "; which orders are poor besides FCFS: a reading of ours",)
    ),
    OnWorkloads(
        "Backfilling improves FCFS to less than a half",
        f"{_FIG_5} (claim 5)",
        Compared(TIMES, "FCFS", along=_BACKFILLED, change="rise", less_than=-_LOG),
        ours=True,
    ),
    *(
        OnWorkloads(
            f"FCFS with backfilling does not pass {order} with it",
            f"{_FIG_5} (claim 5)",
            Compared(TIMES, "FCFS", order, more_than=0.0),
        )
        for order in ("SAF", "F2", "LIN")
    ),
    *(
        OnWorkloads(
            f"LIN is worse than {order}, with backfilling",
            _FIG_5,
            Compared(TIMES, "LIN", order, more_than=0.0),
            share="most",
        )
        for order in ("SAF", "F2")
    ),
    *(
        OnWorkloads(
            f"LIN's {what} is below that of FCFS, SPT, WFP3 and UNICEF, with backfilling",
            _FIG_5,
            Compared(what, "LIN", _POOR, at_most=1.0),
            "below which orders: a reading of ours",
            share="most",
        )
        for what in ("median", "interquartile range")
    ),
    OnWorkloads(
        "LIN's median is among the three lowest of seven, with backfilling",
        _FIG_5,
        Compared("median", "LIN", at_most=3.0),
        ours=True,
    ),
    OnWorkloads(
        "F2 is slightly better than LIN, by less than a factor of 2, with backfilling",
        "section 6, fig. 5",
        Compared(TIMES, "F2", "LIN", more_than=-_LOG, less_than=0.0),
        share="most",
    ),
)
"""What is said of estimates with backfilling."""

LONG_TERM: Final = (
    *(
        OnWorkloads(f"{order} {said}, with backfilling", f"{_FIG_5} (claim 6)", comparison, on=on, ours=not on)
        for order in ("F2", "LIN")
        for said, comparison, on in (
            (
                "does well throughout: among the three lowest of seven in each window",
                Compared("share of all windows", order, at_least=1.0),
                (MUSTANG,),
            ),
            (
                "does well throughout: among the three lowest of seven in 9 of 10 windows",
                Compared("share of windows", order, at_least=NEARLY),
                (),
            ),
            (
                "is still among the three lowest of seven in the last third of the windows",
                Compared("median of the last third", order, at_most=3.0),
                (),
            ),
        )
    ),
    OnWorkloads(
        "LIN need not be learned again: from the generated set, it is at most twice as bad as from the log itself",
        f"{_FIG_5} (claim 6)",
        Compared(TIMES, "LIN", along={"train": (OWN, GENERATED)}, change="rise", at_most=_LOG),
        ours=True,
    ),
)
"""What is said of many years without learning again."""

ON_WORKLOADS: Final = (*FIGURE_3, *FIGURE_4, *FIGURE_5, *LONG_TERM)
"""What is said of windows, in the order of the text."""

# -- on how many workloads --------------------------------------------------------------------------


class Group(NamedTuple):
    """Workloads that are judged together: their name in words, those that were run, and of the paper's, all."""

    name: str
    workloads: Sequence[str]
    of: Sequence[str] = ()


class OverAll(NamedTuple):
    """A sentence on workloads together, by a method: in words, the claim, and those on each that it is made of."""

    said: OnWorkloads
    method: Method
    text: str
    claim: Claim
    parts: Sequence[tuple[str, Claim]]


def fit_claims(results: Results) -> Iterator[Claim]:
    """Hand out the claims about fits: on draws of pairs, and by each way of scoring."""
    found = RegressionResults(results)
    yield from judge(found, INFLATED)
    for way in WAYS:
        yield from judge(found.by(way), FITTED)


def over_workloads(results: Results) -> Iterator[OverAll]:
    """Hand out the claims on windows: by the methods of the text, by those of its program, and by corrected ones."""
    found, over_all = RegressionResults(results), list[OverAll]()
    for method, said in product(METHODS, ON_WORKLOADS):
        if method.scores is not None and not _is_of_forms(said):
            continue  # the same orders as with printed forms
        waiting = [name for name in found.workloads if found.by(method).waits(name, _waiting_in(said))]
        over_all += [
            _over_all(found.by(method, len(group.workloads)), said, group) for group in _grouped(said, method, waiting)
        ]
    claims = in_scope(
        [each.claim for each in over_all], results, names={"workload": name_of}, given={"workload": FILE_OF}
    )
    for each, claim in zip(over_all, claims, strict=True):
        yield each._replace(claim=claim)


def _is_of_forms(said: Sentence) -> bool:
    """Return whether a sentence is about an order that is learned."""
    return any(map(is_learned, said.compared.alternatives))


def _waiting_in(said: Sentence) -> str:
    """Return in which mode jobs must wait for a sentence to say anything: of two, without backfilling."""
    (point,) = said.compared.at or ({},)
    (mode, *_) = said.compared.along.get("mode", [point.get("mode", "backfilling")])
    return str(mode)


def _grouped(said: Sentence, method: Method, workloads: Sequence[str]) -> Iterator[Group]:
    """Hand out the groups of workloads that are judged together.

    Of figure 3, the paper has the three that it learns from. Of figures 4 and 5 it has logs of real machines; what is
    generated is ours, and other logs are.
    """
    if said.on:
        yield Group(said.on[0], [name for name in workloads if name_of(name) in said.on], said.on)
        return
    own = said.compared.at == _LEARNED_FROM
    kind, of = ("workloads", SETS) if own else ("logs", tuple(LOGS))
    yield Group(kind, [name for name in workloads if name_of(name) in of], of)
    generated = [name for name in workloads if set_of(name) == SYNTHETIC]
    others = [name for name in workloads if name_of(name) not in of and name not in generated]
    if others and not (own and method.scores is None):  # no form is printed for them
        yield Group(f"{kind} beside the paper's", others)
    if generated and not own:
        yield Group("generated workloads", generated)


def _over_all(by: RegressionResults, said: OnWorkloads, group: Group) -> OverAll:
    """Return the sentence on all workloads of a group: on how many it holds, at the least and at the most."""
    each = [(log_name(name), claim_on(by, said, (name,))) for name in group.workloads]
    found = [(name, claim) for name, claim in each if claim.effect is not None]
    verdicts = [claim.verdict for _, claim in found]
    effects = [claim.effect for _, claim in found if claim.effect is not None]
    on_how_many = None
    if effects:
        decidable = any(verdict != "too few" for verdict in verdicts)
        on_how_many = Effect(
            float(sum(compared(Effect.exact(effect.estimate), said.compared.bounds)[0] for effect in effects)),
            float(verdicts.count("holds")) if decidable else None,
            float(len(found) - verdicts.count("fails")) if decidable else None,
            max(effect.replications for effect in effects),
        )
    expected = Claim(text="", source="", measure="", effect=None, **said.compared.bounds).expected()  # type: ignore[arg-type]
    text = f"{said.text}, on {group.name if said.on else f'{said.share} {group.name}'}"
    part = f"; {said.share}: {LEAST[said.share]:.0%} of them, a margin of ours" if said.share == "nearly all" else ""
    source, number = said.place
    claim = Claim(
        text=f"{text} ({by.method.name})",
        source=source,
        number=number,
        ours=by.ours or said.ours or not group.of,
        measure=f"on how many of {len(found)} workloads it holds, with {expected} on each: {by.measure(said)}{part}",
        effect=on_how_many,
        to_decide=_MORE_WINDOWS if found else _WAITING,
        note=_noted(found),
        scope=_scope(said, by.method, group) if group.of else None,
        **least_of(said.share, len(found)),  # type: ignore[arg-type]  # names of bounds
    )
    return OverAll(said, by.method, text, claim, found)


def least_of(share: Share, workloads: int) -> dict[str, float]:
    """Return the bound on the number of workloads on which a sentence must hold."""
    part = LEAST[share] * max(workloads, 1)
    return {"more_than": part} if share == "most" else {"at_least": part}


def _scope(said: OnWorkloads, method: Method, group: Group) -> Scope:
    """Return what of the paper's workloads a sentence is about, by a method."""
    along = {"mode": (_waiting_in(said),), "queue_depth": (method.depth,)}
    return Scope(
        at_each={"part": (ONLINE,), "workload": group.of},
        along=along | ({"scores": (method.scores,)} if _is_of_forms(said) else {}),
        a_part_may="fail" if said.share == "all" else "neither",
    )


def _noted(found: Sequence[tuple[str, Claim]]) -> str:
    """Return what was found on each workload, or where there are many, on those on which it does not hold."""
    notes = [
        f"{workload}: {claim.found()} ({claim.verdict})"
        for workload, claim in found
        if len(found) <= _MOST_NOTED or claim.verdict != "holds"
    ]
    return "; ".join(notes) + ("." if notes else "")


# -- tables -----------------------------------------------------------------------------------------


def claim_tables(over_all: Sequence[OverAll]) -> dict[str, pd.DataFrame]:
    """Return what became of each claim about windows, and of each sentence on each workload: one column per method."""
    together: dict[tuple[str, str], dict[str, str]] = {}
    apart: dict[tuple[str, str], dict[str, str]] = {}
    for said, method, text, claim, parts in over_all:
        shown = together.setdefault((text, claim.source), {"claim": text, "source": claim.source})
        shown[method.name] = f"{claim.verdict}: {claim.found()}, {claim.expected()}"
        for workload, part in parts:
            row = {"claim": said.text, "workload": workload, "expected": part.expected()}
            apart.setdefault((said.text, workload), row)[method.name] = f"{part.verdict}: {part.found()}"
    return {
        "which claims survive": pd.DataFrame(together.values()),
        "claims by workload": pd.DataFrame(apart.values()),
    }
