"""The claims of the regression study: the sentences of ``claims.csv``, and on how many workloads each holds, by method.

Sections and figures are those of the version with three training sets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd

from experiments.campaigns import Claim, Effect, Results, Scope, in_scope
from experiments.campaigns.judging import claim_on, judge
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.campaigns.statistics import compared
from experiments.studies.naming import log_name
from experiments.studies.regression import paper, settings
from experiments.studies.regression.results import RegressionResults
from simmodels.policies.polynomial import FORMS

Share = Literal["all", "nearly all", "most"]
LEAST: Final[Mapping[Share, float]] = {"all": 1.0, "nearly all": 0.8, "most": 0.5}
"""Of what part of the workloads a sentence must hold: all; at least four fifths; more than a half."""
MARGIN: Final = 2.0
""""As", "comparable" and "close" are within this factor; the paper states none."""

_LEARNED_FROM: Final = ({"mode": "actual", "train": settings.OWN},)
_MORE_WINDOWS: Final = "--scale paper, or logs with more windows"
_WAITING: Final = "the orders that were left out, or logs on which jobs wait"
_MOST_NOTED: Final = 3


@dataclass(frozen=True, slots=True)
class OnWorkloads(Sentence):
    """A sentence, and on what part of the workloads it is said to hold if it is about their windows."""

    share: Share = "all"


SENTENCES: Final = read_sentences(
    Path(__file__).with_name("claims.csv"),
    OnWorkloads,
    ("inflated", "fitted", "windows"),
    {
        "FORMS": tuple(FORMS),
        "SEVEN": settings.SEVEN,
        "POOR": ("FCFS", "SPT", "WFP3", "UNICEF"),
        "SETS": paper.SETS,
        "FIGURE_3": _LEARNED_FROM,
        "TWICE": float(np.log10(MARGIN)),
        "5_TIMES": float(np.log10(5.0)),
        "MORE_LOGS": f"the logs of {paper.CTC} and {paper.BLUE}: --workload generated,...",
        "MORE_DRAWS": "more draws of pairs: --set draws=N",
        "MORE_PAIRS": "more pairs: --set pairs=N",
    },
)
"""What is said of the inflation of variances (``inflated``); of signs and errors, each way of scoring for itself
(``fitted``); and of ``windows``, in the order of the text: of the forms on the workloads that they were learned from
(figure 3), of estimates without backfilling and with it (figures 4 and 5), of many years without learning again. An
order does well throughout if it is among the three lowest in 9 of 10 windows (the paper states no share); of Mustang
the paper says that orders do well in all."""

# -- on how many workloads --------------------------------------------------------------------------


class Group(NamedTuple):
    """Workloads that are judged together: their name in words, those that were run, and of the paper's, all."""

    name: str
    workloads: Sequence[str]
    of: Sequence[str] = ()


class OverAll(NamedTuple):
    """A sentence on workloads together, by a method: in words, the claim, and those on each that it is made of."""

    said: OnWorkloads
    method: settings.Method
    text: str
    claim: Claim
    parts: Sequence[tuple[str, Claim]]


def fit_claims(results: Results) -> Iterator[Claim]:
    """Hand out the claims about fits: on draws of pairs, and by each way of scoring."""
    found = RegressionResults(results)
    yield from judge(found, SENTENCES["inflated"])
    for way in settings.WAYS:
        yield from judge(found.by(way), SENTENCES["fitted"])


@lru_cache(maxsize=1)
def over_workloads(results: Results) -> tuple[OverAll, ...]:
    """Return the claims on windows: by the methods of the text, by those of its program, and by corrected ones.

    They are made once for tables and claims: they take thousands of resamples for each window.
    """
    found, over_all = RegressionResults(results), list[OverAll]()
    for method, said in product(settings.METHODS, SENTENCES["windows"]):
        if method.scores is not None and not _is_of_forms(said):
            continue  # the same orders as with printed forms
        waiting = [name for name in results.texts("workload") if found.by(method).waits(name, _waiting_in(said))]
        over_all += [
            _over_all(found.by(method, len(group.workloads)), said, group) for group in _grouped(said, method, waiting)
        ]
    claims = in_scope(
        [each.claim for each in over_all], results, names={"workload": paper.name_of}, given={"workload": paper.FILE_OF}
    )
    return tuple(each._replace(claim=claim) for each, claim in zip(over_all, claims, strict=True))


def _is_of_forms(said: Sentence) -> bool:
    """Return whether a sentence is about an order that is learned."""
    return any(map(settings.is_learned, said.compared.alternatives))


def _waiting_in(said: Sentence) -> str:
    """Return in which mode jobs must wait for a sentence to say anything: of two, without backfilling."""
    (point,) = said.compared.at or ({},)
    (mode, *_) = said.compared.along.get("mode", [point.get("mode", "backfilling")])
    return str(mode)


def _grouped(said: Sentence, method: settings.Method, workloads: Sequence[str]) -> Iterator[Group]:
    """Hand out the groups of workloads that are judged together.

    Of figure 3, the paper has the three that it learns from. Of figures 4 and 5 it has logs of real machines; what is
    generated is ours, and other logs are.
    """
    if said.on:
        yield Group(said.on[0], [name for name in workloads if paper.name_of(name) in said.on], said.on)
        return
    own = said.compared.at == _LEARNED_FROM
    kind, of = ("workloads", paper.SETS) if own else ("logs", tuple(paper.LOGS))
    yield Group(kind, [name for name in workloads if paper.name_of(name) in of], of)
    generated = [name for name in workloads if paper.set_of(name) == paper.SYNTHETIC]
    others = [name for name in workloads if paper.name_of(name) not in of and name not in generated]
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


def _scope(said: OnWorkloads, method: settings.Method, group: Group) -> Scope:
    """Return what of the paper's workloads a sentence is about, by a method."""
    along = {"mode": (_waiting_in(said),), "queue_depth": (method.depth,)}
    return Scope(
        at_each={"part": (settings.ONLINE,), "workload": group.of},
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
