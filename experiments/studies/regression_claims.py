"""The claims of the regression study: of each sentence, on how many workloads it holds, by each method.

References
----------
See `experiments.studies.regression_paper`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect
from experiments.studies.regression_fit_claims import fit_claims
from experiments.studies.regression_paper import set_of
from experiments.studies.regression_sentences import Sentence, inside, least_of, sentences
from experiments.studies.regression_settings import METHODS, OWN, PRINTED, name_of
from experiments.studies.regression_windows import Windows

HOW: Final[Mapping[str, str]] = {
    PRINTED: "forms as printed",
    "published": "learned again, as published",
    "corrected": "corrected method",
}
_DECIDE: Final = "--scale paper, or logs with more windows"
_MISSING: Final = "a log: --workload generated,LOG.swf.gz; or the orders that were left out"
_MOST_NOTED: Final = 3


class OnWorkload(NamedTuple):
    """A sentence, checked on one workload by one method."""

    sentence: Sentence
    method: str
    workload: str
    claim: Claim


class Judged(NamedTuple):
    """All claims; what they are made of, by workload; and the workloads left out because hardly any job waits."""

    claims: tuple[Claim, ...]
    by_workload: tuple[OnWorkload, ...]
    untested: tuple[str, ...]


def judged(results: Results) -> Judged:
    """Return the claims of the paper, for its printed forms, for forms learned again, and by the corrected method."""
    workloads = [str(name) for name in results.factors["workload"] if name is not None]
    claims, parts = list(fit_claims(results)), []
    untested: dict[str, None] = {}
    for method, (scores, depth) in METHODS.items():
        windows = {name: Windows.of(results.table, name, scores, depth, results.seed) for name in workloads}
        for sentence in sentences():
            if method == "published" and not sentence.learned:
                continue  # the same orders as with printed forms
            waiting = [name for name in workloads if windows[name].waits(sentence.mode)]
            untested |= dict.fromkeys(name_of(name) for name in workloads if name not in waiting)
            for names, ours in _grouped(sentence, method, waiting):
                found = list(_on_each(sentence, method, {name: windows[name] for name in names}))
                parts += found
                claims.append(_over_all(sentence, method, found, ours=ours))
    return Judged(tuple(claims), tuple(parts), tuple(untested))


def _grouped(sentence: Sentence, method: str, workloads: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Hand out workloads that are judged together, and whether they are ours: the paper learns from three sets only."""
    if sentence.training != OWN:
        yield list(workloads), False
        return
    of_the_paper = [name for name in workloads if set_of(name) is not None]
    yield of_the_paper, False
    others = [name for name in workloads if name not in of_the_paper]
    if others and method != PRINTED:  # no form is printed for them
        yield others, True


def _on_each(sentence: Sentence, method: str, windows: Mapping[str, Windows]) -> Iterator[OnWorkload]:
    """Hand out the sentence on each workload where it can be measured; all intervals together have 95 % confidence."""
    confidence = 1.0 - 0.05 / max(len(windows), 1)
    for workload, of in windows.items():
        effect = sentence.measured(of, confidence)
        if effect is not None:
            claim = Claim(
                text=f"{sentence.text} on {name_of(workload)}",
                source=sentence.source,
                number=sentence.number,
                ours=sentence.ours,
                measure=sentence.measure,
                effect=effect,
                **sentence.bounds,  # type: ignore[arg-type]  # names of bounds
            )
            yield OnWorkload(sentence, method, name_of(workload), claim)


def _over_all(sentence: Sentence, method: str, found: Sequence[OnWorkload], *, ours: bool) -> Claim:
    """Return the sentence on all workloads: on how many it holds, at the least and at the most."""
    verdicts = [part.claim.verdict for part in found]
    estimates = [part.claim.effect.estimate for part in found if part.claim.effect is not None]
    held, failed = verdicts.count("holds"), verdicts.count("fails")
    effect = None
    if found:
        decidable = any(verdict != "too few" for verdict in verdicts)
        effect = Effect(
            float(sum(inside(sentence.bounds, value) for value in estimates)),
            float(held) if decidable else None,
            float(len(found) - failed) if decidable else None,
            max(part.claim.effect.replications for part in found if part.claim.effect is not None),
        )
    each = Claim(text="", source="", measure="", effect=None, **sentence.bounds)  # type: ignore[arg-type]
    where = "on all workloads" if sentence.on == "all" else f"on {sentence.on} workloads"
    if ours:
        where += " beside the paper's"
    return Claim(
        text=f"{sentence.text}, {where} ({HOW[method]})",
        source=sentence.source,
        number=sentence.number,
        ours=ours or sentence.ours or method == "corrected",
        measure=f"on how many of {len(found)} workloads it holds; on each: {sentence.measure}, {each.expected()}",
        effect=effect,
        to_decide=_DECIDE if found else _MISSING,
        note=_noted(sentence, found),
        **least_of(sentence.on, len(found)),  # type: ignore[arg-type]  # names of bounds
    )


def _noted(sentence: Sentence, found: Sequence[OnWorkload]) -> str:
    """Return what was found on each workload, or where there are many, on those on which it does not hold."""
    shown = [part for part in found if len(found) <= _MOST_NOTED or part.claim.verdict != "holds"]
    notes = [f"{part.workload}: {part.claim.found()} ({part.claim.verdict})" for part in shown]
    fails = any(part.claim.verdict == "fails" for part in found)
    text = "; ".join(notes) + ("." if notes else "")
    return f"{text} {sentence.cause}".strip() if fails and sentence.cause else text
