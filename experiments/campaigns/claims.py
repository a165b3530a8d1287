"""Claims: sentences of a paper, checked on the results of a campaign; and what a part of its design can decide."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from experiments.campaigns.cell import Value
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, compared
from simmodels.errors import RequestError, must_be, require_known

Verdict = Literal["holds", "fails", "undecided", "too few", "not judged"]

OPEN: Final[tuple[Verdict, ...]] = ("undecided", "too few", "not judged")
"""The verdicts that more replications, or a larger scale, may change."""
_USUAL: Final = 0.95
_PERCENT: Final = "%"
_COUNTED: Final = {"holds": "hold", "fails": "fail"}
_SIGNS: Final = {"more_than": ">", "at_least": "≥", "less_than": "<", "at_most": "≤"}

Levels: TypeAlias = Mapping[str, Sequence[Value]]
"""Values of factors, by the factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of a paper's design a sentence is about, and what a part of that can decide.

    A sentence on all, always, nowhere, up to, or along a figure holds only if all of it was run. See `in_scope`.

    Parameters
    ----------
    at_each
        By factor, the values of which each combination is needed.
    along
        By factor, the values that are needed beside, at each of these combinations; with values of other factors only
        as far as the design has them.
    a_part_may
        What a part of the values may show. ``"fail"``: of a sentence on each of them, one counterexample shows that
        it fails. ``"hold"``: of a sentence on some of them, one example shows that it holds. ``"neither"``: it is about
        all of them together, as a mean is, or "up to".

    Raises
    ------
    RequestError
        A factor has no values, is named twice, or `a_part_may` is none of those.

    Examples
    --------
    >>> from experiments.campaigns import Scope
    >>> Scope(at_each={"workload": ["Borg"]}, along={"machines": [20, 24, 28]}).a_part_may
    'fail'
    """

    at_each: Levels = field(default_factory=dict)
    along: Levels = field(default_factory=dict)
    a_part_may: Literal["fail", "hold", "neither"] = "fail"

    def __post_init__(self) -> None:
        """Check the factors."""
        both = (*self.at_each.items(), *self.along.items())
        if not all(len(values) for _, values in both) or self.at_each.keys() & self.along.keys():
            raise RequestError(must_be("a scope", "values of factors, each factor once", dict(both)))
        if self.a_part_may not in {"fail", "hold", "neither"}:
            raise RequestError(must_be("a_part_may", "'fail', 'hold' or 'neither'", self.a_part_may))


def rounded(value: float) -> str:
    """Return a number as claims show it: to three digits, or to a whole number."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence, what is measured to check it, what was found, and what it takes for it to hold.

    The interval is shown with its confidence where that is not 95 %.

    The verdict follows from the effect and the bounds, and is never given: it *holds* if the whole confidence interval
    of the effect keeps to the bounds, *fails* if the whole interval is outside one of them, and is *undecided*
    otherwise. There were *too few* replications if they give no interval (see
    `experiments.campaigns.statistics.ENOUGH`). A bound below and one above are an equivalence test with that margin.

    Parameters
    ----------
    text
        The sentence, in words of our own.
    source
        Where it stands: the section or figure of the paper, by the paper's own number.
    number
        The number that a specification gives it; empty if there is none.
    ours
        Whether it is a sentence of ours, weaker or sharper than the paper's, and not what the paper says.
    measure
        What is measured, in words.
    effect
        What was found; None if it could not be measured.
    more_than, less_than, at_least, at_most
        The bounds within which the claim holds: at least one; the first two exclude the bound itself.
    unit
        The unit of effect and bounds, empty for plain numbers; ``%`` shows fractions in per cent.
    to_decide
        What to run to decide it, if it is undecided.
    note
        More to say: why it fails, or why it could not be measured.
    judged
        Whether there is a verdict at all: there is none at a scale that is not `Scale.judged`.
    scope
        What of the paper's design it is about; None if what was run, whatever that is. `in_scope` applies it.

    Raises
    ------
    RequestError
        There is no bound, one is not finite, or no value keeps to them.

    Examples
    --------
    >>> from experiments.campaigns import Claim, Effect
    >>> effect = Effect(estimate=0.12, low=0.08, high=0.16, replications=30)
    >>> claim = Claim(text="SAF waits less", source="section 4", measure="mean wait saved", effect=effect, more_than=0)
    >>> claim.verdict
    'holds'
    """

    text: str
    source: str
    measure: str
    effect: Effect | None
    number: str = ""
    ours: bool = False
    more_than: float | None = None
    less_than: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""
    to_decide: str = ""
    note: str = ""
    judged: bool = True
    scope: Scope | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not all(map(math.isfinite, self.bounds().values())):
            raise RequestError(must_be(f"the bounds of claim {self.text!r}", "finite numbers", self.bounds()))
        low, high, open_ = self._bounds()
        if low == -math.inf and high == math.inf:
            raise RequestError(f"claim {self.text!r} has no bound", "add more_than, less_than, at_least or at_most")
        if not low <= high or (low == high and open_):
            raise RequestError(f"claim {self.text!r} holds for no value", "choose bounds that leave room")

    @property
    def place(self) -> str:
        """Where the sentence stands, as it is shown: ``section 6.4 (V9)``, or ``ours, on section 6.4``."""
        text = f"{self.source} ({self.number})" if self.number else self.source
        return f"ours, on {text}" if self.ours else text

    def _bounds(self) -> tuple[float, float, bool]:
        """Return the least and the largest value allowed, and whether one of these is itself excluded."""
        low = max((bound for bound in (self.more_than, self.at_least) if bound is not None), default=-math.inf)
        high = min((bound for bound in (self.less_than, self.at_most) if bound is not None), default=math.inf)
        return low, high, low == self.more_than or high == self.less_than

    @property
    def verdict(self) -> Verdict:
        """Whether the sentence holds."""
        if not self.judged:
            return "not judged"
        if self.effect is None:
            return "undecided"
        if self.effect.low is None or self.effect.high is None:
            return "too few"
        inside, outside = compared(self.effect, self.bounds())
        return "holds" if inside else "fails" if outside else "undecided"

    @property
    def outcome(self) -> str:
        """The verdict as it is shown: ``holds``, or ``undecided: needs --scale paper``."""
        needs = self.verdict == "undecided" and self.to_decide
        return f"{self.verdict}: needs {self.to_decide}" if needs else self.verdict

    def bounds(self) -> dict[str, float]:
        """Return the bounds that there are, by name."""
        return {name: getattr(self, name) for name in _SIGNS if getattr(self, name) is not None}

    def expected(self) -> str:
        """Return the bounds as they are shown, such as ``> 0``."""
        return ", ".join(f"{_SIGNS[name]} {self.shown(bound)}" for name, bound in self.bounds().items())

    def found(self) -> str:
        """Return the effect with its interval as it is shown, such as ``-0.12 [-0.2, -0.05]``."""
        if self.effect is None:
            return "not measured"
        text = self.shown(self.effect.estimate)
        if self.effect.confidence == 1.0:
            return text
        if self.effect.low is None or self.effect.high is None:
            few = self.effect.replications < self.effect.needed
            needed = f", of {self.effect.needed} that are needed" if few else " are too few for one"
            return f"{text} (no interval: {self.effect.replications} replications{needed})"
        interval = f"{text} [{self.shown(self.effect.low)}, {self.shown(self.effect.high)}]"
        return interval if self.effect.confidence == _USUAL else f"{interval} at {100 * self.effect.confidence:.4g} %"

    @property
    def unit_of_effect(self) -> str:
        """The unit of the effect's numbers: ``fraction`` where they are shown in per cent; empty for plain numbers."""
        return "fraction" if self.unit == _PERCENT else self.unit

    def shown(self, value: float) -> str:
        """Return a value in the claim's unit, to three digits or to the unit.

        It stands in a sentence beside its interval, whose width is what matters: fewer digits than in the cells of
        tables (`simmodels.ground.cards.number`), or at the ticks of axes (`experiments.drawing.grouped`).
        """
        return f"{rounded(value * 100 if self.unit == _PERCENT else value)} {self.unit}".rstrip()


def verdicts_on(places: Iterable[str], claims: Iterable[Claim]) -> str:
    """Return how many of the paper's sentences have each verdict, of those that are at some places of the text.

    Parameters
    ----------
    places
        Numbers of figures, tables or sections, as ``fig. 1``; empty ones are none.
    claims
        The claims; those that are ours do not count.

    Returns
    -------
    str
        As ``3 hold, 1 undecided``; empty if there is none.
    """
    named = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, filter(None, places)))})(?!\d)")
    counted = Counter(claim.verdict for claim in claims if not claim.ours and named.search(claim.source))
    return ", ".join(f"{count} {_COUNTED.get(verdict, verdict)}" for verdict, count in sorted(counted.items()))


# -- verdicts of a part of the design -----------------------------------------------------------------

Names: TypeAlias = Mapping[str, Callable[[Value], Value]]
"""By factor, what scopes call a value of it: a log by the name that the paper has for it."""


def in_scope(
    claims: Iterable[Claim],
    results: Results,
    *,
    names: Names | None = None,
    given: Mapping[str, Mapping[Any, str]] | None = None,
) -> list[Claim]:
    """Return claims whose verdicts a part of the paper's design does not decide as undecided ones.

    If not all of a claim's scope was run, it can only fail, or only hold, or neither, as the scope says; of nothing of
    it, nothing is known. `to_decide` then names the options that add what is missing to what was run.

    Parameters
    ----------
    claims
        The claims.
    results
        What was run.
    names
        By factor, what scopes call a value of it; without one, what the design calls it.
    given
        By factor, what is passed on the command line for a value, where it is not the value itself.

    Returns
    -------
    list of Claim
        The claims, in their order.

    Raises
    ------
    UnknownNameError
        A scope names what is no factor, and no column of the results.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.campaigns import Claim, Effect, Results, Scope, in_scope
    >>> results = Results(table=pd.DataFrame({"load": [0.7, 0.9], "value": [1.0, 0.9]}), factors={"load": [0.7, 0.9]})
    >>> scope = Scope(along={"load": [0.7, 0.9, 1.1]})
    >>> claim = Claim(text="it falls", source="fig. 1", measure="x", effect=Effect.exact(1), more_than=0, scope=scope)
    >>> in_scope([claim], results)[0].outcome
    'undecided: needs --set load=0.7,0.9,1.1'
    """
    known, found = names or {}, list(claims)
    scopes = [claim.scope for claim in found if claim.scope is not None]
    factors = list(dict.fromkeys(factor for scope in scopes for factor in (*scope.at_each, *scope.along)))
    for factor in factors:
        require_known("factor", factor, dict.fromkeys((*results.factors, *results.table)))
    rows = _distinct(results, factors, known)
    return [_within(claim, rows, results, known, given or {}) for claim in found]


def _distinct(results: Results, factors: Collection[str], names: Names) -> list[dict[str, Value]]:
    """Return the combinations of factors that were run, as scopes call them."""
    columns = [name for name in results.table if name in factors]
    distinct = results.table[columns].drop_duplicates().astype(object)
    rows = distinct.where(distinct.notna(), None).to_dict("records") if columns else []
    return [{str(name): names.get(str(name), _same)(value) for name, value in row.items()} for row in rows]


def _same(value: Value) -> Value:
    return value


def _within(
    claim: Claim,
    rows: Sequence[Mapping[str, Value]],
    results: Results,
    names: Names,
    given: Mapping[str, Mapping[Any, str]],
) -> Claim:
    """Return a claim as `in_scope` does."""
    if claim.scope is None:
        return claim
    missing, any_there = _missing(rows, claim.scope)
    if not missing:
        return claim
    may = {"fail": "fails", "hold": "holds"}.get(claim.scope.a_part_may) if any_there else None
    if claim.verdict not in {"holds", "fails", "undecided"} or claim.verdict == may:
        return claim
    options = _options(missing, results, names, given)
    if claim.verdict == "undecided":
        return replace(claim, to_decide=options)
    there = "; there" if claim.note[-1:] != "." else " There"
    note = f"{claim.note}{there} it is" if claim.note else "of the part that was run, it is"
    return replace(claim, effect=None, to_decide=options, note=f"{note} {claim.found()}")


def _missing(rows: Sequence[Mapping[str, Value]], scope: Scope) -> tuple[dict[str, list[Value]], bool]:
    """Return which values were not run, by factor; and whether anything was run that the scope is about."""
    missing: dict[str, dict[Value, None]] = {}
    any_there = False
    for combination in product(*scope.at_each.values()):
        found = rows
        for factor, value in zip(scope.at_each, combination, strict=True):
            found = [row for row in found if row.get(factor) == value]
            if not found:
                missing.setdefault(factor, {})[value] = None
                break
        if not found:
            continue
        lacking = {
            factor: [value for value in values if value not in {row.get(factor) for row in found}]
            for factor, values in scope.along.items()
        }
        any_there |= all(len(lacking[factor]) < len(values) for factor, values in scope.along.items())
        for factor, values in lacking.items():
            if values:
                missing.setdefault(factor, {}).update(dict.fromkeys(values))
    return {factor: list(values) for factor, values in missing.items()}, any_there


def _options(
    missing: Mapping[str, Sequence[Value]],
    results: Results,
    names: Names,
    given: Mapping[str, Mapping[Any, str]],
) -> str:
    """Return the options that add what is missing to what was run."""
    options = []
    for factor, values in missing.items():
        planned = list(results.factors.get(factor, ()))
        more = [value for value in values if value not in {names.get(factor, _same)(value) for value in planned}]
        shown = [*planned, *(given.get(factor, {}).get(value, value) for value in more)]
        if all(map(pd.api.types.is_number, shown)):
            shown.sort(key=lambda value: float(str(value)))
        if more:
            text = ",".join("none" if value is None else str(value) for value in shown)
            options.append(f"--workload {text}" if factor == "workload" else f"--set {factor}={text}")
    return " ".join(options) or "the cells that are not done: the same command goes on"
