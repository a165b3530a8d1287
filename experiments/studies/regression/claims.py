"""The claims of the regression study: of each sentence, on how many workloads it holds, by each method.

References
----------
See `experiments.studies.regression.paper`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from experiments.campaigns.claims import Claim, Scope, in_scope
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, compared
from experiments.studies.naming import log_name
from experiments.studies.regression.fit_claims import fit_claims
from experiments.studies.regression.measures import Windows
from experiments.studies.regression.methods import METHODS, Method, is_ours
from experiments.studies.regression.paper import FILE_OF, LOGS, SETS, SYNTHETIC, name_of, set_of
from experiments.studies.regression.sentences import LEAST, Sentence, least_of, sentences
from experiments.studies.regression.settings import ONLINE, OWN

_DECIDE: Final = "--scale paper, or logs with more windows"
_MISSING: Final = "the orders that were left out, or logs on which jobs wait"
_MOST_NOTED: Final = 3


class Group(NamedTuple):
    """Workloads that are judged together.

    Parameters
    ----------
    name
        Their name in words.
    workloads
        Which they are, of those that were run.
    of
        Which the paper has, by its names; none if they are not the paper's.
    """

    name: str
    workloads: Sequence[str]
    of: Sequence[str] = ()

    @property
    def ours(self) -> bool:
        """Whether they are not the paper's."""
        return not self.of


class OnWorkload(NamedTuple):
    """A sentence, checked on one workload by one method."""

    sentence: Sentence
    method: Method
    workload: str
    claim: Claim


class OverAll(NamedTuple):
    """A sentence on a group of workloads, in words; the method; and the claim."""

    text: str
    method: Method
    claim: Claim


class Judged(NamedTuple):
    """What the claims are.

    Parameters
    ----------
    fits
        Those about the fits.
    over_all
        Those about windows, over the workloads of a group.
    by_workload
        What these are made of.
    untested
        The workloads left out because hardly any job waits, each with the mode in which that is so.
    """

    fits: tuple[Claim, ...]
    over_all: tuple[OverAll, ...]
    by_workload: tuple[OnWorkload, ...]
    untested: tuple[tuple[str, str], ...]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims."""
        return (*self.fits, *(each.claim for each in self.over_all))


def judged(results: Results) -> Judged:
    """Return the claims: by the methods of the paper's text, by those of its program, and by the corrected ones."""
    workloads = [str(name) for name in results.factors["workload"] if name is not None]
    over_all: list[OverAll] = []
    parts: list[OnWorkload] = []
    untested: dict[tuple[str, str], None] = {}
    for method in METHODS:
        windows = {name: Windows.of(results.table, name, method.scores, method.depth, results.seed)
                   for name in workloads}  # fmt: skip
        for sentence in sentences():
            if method.scores is not None and not sentence.learned:
                continue  # the same orders as with printed forms
            waiting = [name for name in workloads if windows[name].waits(sentence.mode)]
            untested |= dict.fromkeys((log_name(name), sentence.mode) for name in workloads if name not in waiting)
            for group in _grouped(sentence, method, waiting):
                found = list(_on_each(sentence, method, {name: windows[name] for name in group.workloads}))
                parts += found
                over_all.append(_over_all(sentence, method, group, found, ours=is_ours(method, results)))
    claims = in_scope(
        [each.claim for each in over_all], results, names={"workload": name_of}, given={"workload": FILE_OF}
    )
    found_over_all = tuple(each._replace(claim=claim) for each, claim in zip(over_all, claims, strict=True))
    return Judged(tuple(fit_claims(results)), found_over_all, tuple(parts), tuple(untested))


def _grouped(sentence: Sentence, method: Method, workloads: Sequence[str]) -> Iterator[Group]:
    """Hand out the groups of workloads that are judged together.

    Of figure 3, the paper has the three that it learns from. Of figures 4 and 5 it has logs of real machines; what is
    generated is ours, and other logs are.
    """
    if sentence.only:
        yield Group(sentence.only, [name for name in workloads if name_of(name) == sentence.only], (sentence.only,))
        return
    own = sentence.training == OWN
    kind, of = ("workloads", SETS) if own else ("logs", tuple(LOGS))
    yield Group(kind, [name for name in workloads if name_of(name) in of], of)
    generated = [name for name in workloads if set_of(name) == SYNTHETIC]
    others = [name for name in workloads if name_of(name) not in of and name not in generated]
    if others and not (own and method.scores is None):  # no form is printed for them
        yield Group(f"{kind} beside the paper's", others)
    if generated and not own:
        yield Group("generated workloads", generated)


def _on_each(sentence: Sentence, method: Method, windows: Mapping[str, Windows]) -> Iterator[OnWorkload]:
    """Hand out the sentence on each workload where it can be measured; all intervals together have 95 % confidence."""
    confidence = 1.0 - 0.05 / max(len(windows), 1)
    for workload, of in windows.items():
        effect = sentence.measured(of, confidence)
        if effect is not None:
            claim = Claim(
                text=f"{sentence.text} on {log_name(workload)}",
                source=sentence.source,
                number=sentence.number,
                ours=sentence.ours,
                measure=sentence.measure,
                effect=effect,
                **sentence.bounds,  # type: ignore[arg-type]  # names of bounds
            )
            yield OnWorkload(sentence, method, log_name(workload), claim)


def _over_all(sentence: Sentence, method: Method, group: Group, found: Sequence[OnWorkload], *, ours: bool) -> OverAll:
    """Return the sentence on all workloads of a group: on how many it holds, at the least and at the most."""
    verdicts = [part.claim.verdict for part in found]
    estimates = [part.claim.effect.estimate for part in found if part.claim.effect is not None]
    held, failed = verdicts.count("holds"), verdicts.count("fails")
    effect = None
    if found:
        decidable = any(verdict != "too few" for verdict in verdicts)
        effect = Effect(
            float(sum(compared(Effect.exact(value), sentence.bounds)[0] for value in estimates)),
            float(held) if decidable else None,
            float(len(found) - failed) if decidable else None,
            max(part.claim.effect.replications for part in found if part.claim.effect is not None),
        )
    each = Claim(text="", source="", measure="", effect=None, **sentence.bounds)  # type: ignore[arg-type]
    text = f"{sentence.text}, on {group.name if sentence.only else f'{sentence.on} {group.name}'}"
    part = f"; {sentence.on}: {LEAST[sentence.on]:.0%} of them, a margin of ours" if sentence.on == "nearly all" else ""
    claim = Claim(
        text=f"{text} ({method.name})",
        source=sentence.source,
        number=sentence.number,
        ours=ours or sentence.ours or group.ours,
        measure=f"on how many of {len(found)} workloads it holds, with {each.expected()} on each: "
        f"{sentence.measure}{part}",
        effect=effect,
        to_decide=_DECIDE if found else _MISSING,
        note=_noted(found),
        scope=_scope_of(sentence, method, group),
        **least_of(sentence.on, len(found)),  # type: ignore[arg-type]  # names of bounds
    )
    return OverAll(text, method, claim)


def _scope_of(sentence: Sentence, method: Method, group: Group) -> Scope | None:
    """Return what of the paper's workloads a sentence is about, by a method; None if they are not the paper's."""
    if group.ours:
        return None
    how = {"mode": (sentence.mode,), "queue_depth": (method.depth,)}
    if sentence.learned:
        how |= {"scores": (method.scores,)}
    return Scope(
        at_each={"part": (ONLINE,), "workload": group.of},
        along=how,
        a_part_may="fail" if sentence.on == "all" else "neither",
    )


def _noted(found: Sequence[OnWorkload]) -> str:
    """Return what was found on each workload, or where there are many, on those on which it does not hold."""
    shown = [part for part in found if len(found) <= _MOST_NOTED or part.claim.verdict != "holds"]
    notes = [f"{part.workload}: {part.claim.found()} ({part.claim.verdict})" for part in shown]
    return "; ".join(notes) + ("." if notes else "")
