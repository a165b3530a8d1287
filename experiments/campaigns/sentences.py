"""Sentences: what a paper says, as rows of a table: in words, and as data what is compared.

`experiments.campaigns.judging` judges them on a study's results.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise, product
from typing import Any, Final, Literal, TypeAlias

from experiments.campaigns.cell import Value

Point: TypeAlias = Mapping[str, Value]
"""Values of factors that are moved away from the centre; none is the centre."""
How: TypeAlias = Literal["less", "over", "quotient", "increase"]
Side: TypeAlias = Literal["of", "against", "along", "subjects"]
_BELOW: Final = ("less_than", "at_most")


def names_of(one_or_several: str | Sequence[str]) -> tuple[str, ...]:
    """Return one name or several as several."""
    return (one_or_several,) if isinstance(one_or_several, str) else tuple(one_or_several)


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared, and the bounds to which it keeps.

    Parameters
    ----------
    values
        A column of the results, or several, each a member of its own; or the name of one of the study's own measures.
    of, against
        The alternatives: each of the one is compared with each other of the others; without any, the value is judged.
    along
        By factor, the levels of a sweep: of these, the centre and those that were run.
    at
        Points instead of sweeps; all of them are needed.
    how
        ``less``: the difference; ``over``: the ratio, of which geometric means are taken; ``quotient``: the ratio, and
        ``increase``: the ratio less 1, of which plain ones are.
    times
        How many times the second value is taken from the first.
    chain
        Each of the alternatives is compared with the next one.
    change, between
        What is judged is how much it rises, or drops, from one level to the ``next``, from the ``first`` to each other,
        or between the ``ends`` of those that were run.
    mean
        Over what the mean is taken; what is left are members.
    judge
        ``each`` of the members, or the ``largest``; by a measure of the study's own also the ``least``, or a ``share``.
    more_than, at_least, less_than, at_most
        The bounds; of ``over``, of ratios.
    within
        Instead of these, how far it may be from 0 on either side.
    """

    values: str | Sequence[str]
    of: str | Sequence[str] = ()
    against: str | Sequence[str] = ()
    along: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    _: KW_ONLY
    at: Sequence[Point] = ()
    how: How = "less"
    times: float = 1.0
    chain: bool = False
    change: Literal["", "rise", "drop"] = ""
    between: Literal["next", "first", "ends"] = "next"
    mean: Sequence[Side] = ()
    judge: Literal["each", "largest", "least", "share"] = "each"
    more_than: float | None = None
    at_least: float | None = None
    less_than: float | None = None
    at_most: float | None = None
    within: float | None = None

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds that there are, by name."""
        if self.within is not None:
            return {"at_least": -self.within, "at_most": self.within}
        named = {name: getattr(self, name) for name in ("more_than", "at_least", *_BELOW)}
        return {name: bound for name, bound in named.items() if bound is not None}

    @property
    def alternatives(self) -> tuple[str, ...]:
        """All alternatives that it is about."""
        return tuple(dict.fromkeys((*names_of(self.of), *names_of(self.against))))

    @property
    def a_part_may(self) -> Literal["fail", "hold", "neither"]:
        """What a part of the design can show, see `experiments.campaigns.Scope`."""
        if self.judge == "share" or self.between == "ends" or {"along", "subjects"} & set(self.mean):
            return "neither"
        below, above = (any(name in self.bounds for name in side) for side in (_BELOW, ("more_than", "at_least")))
        if self.judge == "each" or (below, above) == ((True, False) if self.judge == "largest" else (False, True)):
            return "fail"
        return "neither" if below and above else "hold"  # a largest value that is large is one example

    def pairs(self, there: Callable[[Sequence[str]], Sequence[str]]) -> list[tuple[str, str]]:
        """Return who is compared with whom, of those that are there; with "" where there is nobody to compare with."""
        of, against = there(names_of(self.of)), there(names_of(self.against))
        if self.chain:
            return list(pairwise(of))
        if not self.against:
            return [(one, "") for one in of]
        own = "against" in self.mean  # a mean of several is also of oneself
        return [(one, other) for one, other in product(of, against) if own or one != other]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A row: what a paper says, or we do, and how it is judged.

    Parameters
    ----------
    text
        What is said, without the subject of which it is said.
    source
        Where, with the number that a specification gives it in brackets: ``section 6.4 (V9)``.
    compared
        What is compared.
    measure
        That in words; what the study says if empty.
    on
        The subjects (workloads, ends of runs) of which it is said, each a claim; those of the study if there are none.
    together
        Whether it is one claim about all of these.
    than_on
        The subject on which the same is taken off.
    given
        Levels of other factors by which alone it is judged: by others it is undecided if it is the paper's, and left
        out if it is ours.
    printed
        A number as the paper prints it, in words, and what it is; of a range, both ends.
    decide
        What to run to decide it, where that is not what the study says.
    ours, unit, note
        See `experiments.campaigns.claims.Claim`.
    """

    text: str
    source: str
    compared: Compared
    measure: str = ""
    _: KW_ONLY
    on: Sequence[str] = ()
    together: bool = False
    than_on: str = ""
    given: Mapping[str, Value] = field(default_factory=dict)
    printed: Sequence[Any] = ()
    decide: str = ""
    ours: bool = False
    unit: str = ""
    note: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands, and the number that a specification gives it."""
        where, _, number = self.source.removesuffix(")").partition(" (")
        return where, number
