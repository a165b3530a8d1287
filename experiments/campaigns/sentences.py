"""Sentences: what a paper says, as rows of a table: in words, and as data what is compared.

`read_sentences` reads them from a CSV file, and `experiments.campaigns.judging` judges them on a study's results.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from experiments.campaigns.cell import Value
from experiments.campaigns.paper import read_table
from simmodels.errors import RequestError, must_be, require_known

Point: TypeAlias = Mapping[str, Value]
"""Values of factors that are moved away from the centre; none is the centre."""
How: TypeAlias = Literal["less", "over", "quotient", "increase"]
Change: TypeAlias = Literal["", "rise", "drop"]
Between: TypeAlias = Literal["next", "first", "ends"]
Judged: TypeAlias = Literal["each", "largest", "least", "share"]
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
    change: Change = ""
    between: Between = "next"
    mean: Sequence[Side] = ()
    judge: Judged = "each"
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
        """Return who is compared with whom, of those that are there; "" where there is nobody, or no alternatives."""
        of, against = there(names_of(self.of or "")), there(names_of(self.against))
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


# -- a table of sentences ---------------------------------------------------------------------------

Names: TypeAlias = Mapping[str, Any]
"""What a table calls a number, a text, several alternatives, or levels and points, without the ``@`` before it."""
AnySentence = TypeVar("AnySentence", bound=Sentence)

_SIGNS: Final = {">": "more_than", ">=": "at_least", "<": "less_than", "<=": "at_most", "within": "within"}
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("chain", "together", "ours"), ("yes",)),
    "how": get_args(How),
    "change": get_args(Change),
    "between": get_args(Between),
    "judge": get_args(Judged),
    "mean": get_args(Side),
}
"""What a cell may have in columns that are no flowing text."""
_COMPARED: Final = {each.name for each in fields(Compared)}


def read_sentences(
    path: Path, kind: type[AnySentence], groups: Sequence[str], names: Names
) -> dict[str, tuple[AnySentence, ...]]:
    """Return the sentences of a table in CSV, one row each, by what its column ``group`` says.

    The other columns are fields of `Sentence` and of `Compared`, and ``bounds``; an empty cell is the field's default.
    A flag is ``yes``. Several stand between semicolons: names, numbers, bounds as in ``>= 0.1; < @FEW``, and points as
    in ``machines=20; radius=16``. Levels of a factor are ``machines=20; 28``. ``@NAME`` is what the study calls so,
    and ``@TEN but PV; PVD`` all of these except some.

    Parameters
    ----------
    path
        The file.
    kind
        The class of a sentence.
    groups
        What ``group`` may say.
    names
        What the study calls so.

    Raises
    ------
    FileFormatError
        A column is unknown or missing, or a cell is not as said; with the number of the row's last line.
    """
    columns = sorted((_COMPARED | {each.name for each in fields(kind)} | {"bounds"}) - {"compared", *_SIGNS.values()})

    def made(row: dict[str, str]) -> tuple[str, AnySentence]:
        group = row.pop("group", "")
        require_known("group", group, groups)
        return group, _sentence(row, names, kind, columns)

    rows = read_table(path, made)
    return {group: tuple(said for own, said in rows if own == group) for group in groups}


def _sentence(row: Mapping[str, str], names: Names, kind: type[AnySentence], columns: Sequence[str]) -> AnySentence:
    """Return the sentence of a row."""
    for column in ("text", "source", "values", "bounds"):
        if not row.get(column):
            raise RequestError(must_be(column, "a text", row.get(column)))
    bounds = [_bound(each, names) for each in _parts(row["bounds"])]
    parts: dict[str, Any] = dict(bounds)
    if len(parts) < len(bounds) or ("within" in parts and len(parts) > 1):
        raise RequestError(must_be("bounds", "at most one of a kind, and nothing beside within", row["bounds"]))
    for column, text in row.items():
        require_known("column", column, columns)
        if text and column != "bounds":
            parts[column] = _value(column, text, names)
    compared = {name: parts.pop(name) for name in _COMPARED & parts.keys()}
    return kind(compared=Compared(**compared), **parts)


def _value(column: str, text: str, names: Names) -> Any:  # noqa: ANN401  of the field
    """Return the value of a field."""
    for each in _parts(text) if column in _CHOICES else ():
        require_known(column, each, _CHOICES[column])
    if _CHOICES.get(column) == ("yes",):
        return True
    if column == "times":
        return _number(text, names)
    if column == "printed":
        said, *numbers = _parts(text)
        return (said, *(_number(each, names) for each in numbers))
    if column in {"values", "of", "against", "mean", "on"}:
        found = _several(text, names)
        return names_of(found) if column in {"mean", "on"} else found
    if text.startswith("@"):
        return _named(text, names)
    if column == "at":
        return tuple({name: _level(level) for name, level in map(_halves, point.split(", "))} for point in _parts(text))
    if column in {"along", "given"}:
        factor, levels = _halves(text)
        return {factor: tuple(map(_level, _parts(levels))) if column == "along" else _level(levels)}
    return text


def _parts(text: str) -> list[str]:
    """Return what stands between semicolons."""
    found = text.split("; ")
    if not all(part.strip("; ") for part in found):
        raise RequestError(must_be("a list", "parts between semicolons, none of them empty", text))
    return found


def _halves(text: str) -> tuple[str, str]:
    """Return what stands before and after an equals sign."""
    name, equals, level = text.partition("=")
    if not equals:
        raise RequestError(must_be("a level", "of the form factor=level", text))
    return name, level


def _level(text: str) -> Value:
    """Return a level: a whole number, a number, or a text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _named(text: str, names: Names) -> Any:  # noqa: ANN401  what has the name
    """Return what a text stands for: what the study calls so, or itself."""
    if not text.startswith("@"):
        return text
    require_known("name", text[1:], names)
    return names[text[1:]]


def _several(text: str, names: Names) -> str | tuple[str, ...]:
    """Return one name, or several."""
    if text.startswith("@"):
        whole, _, others = text.partition(" but ")
        if others:
            found, left_out = names_of(_named(whole, names)), _parts(others)
            for name in left_out:
                require_known(f"name among {whole}", name, found)
            return tuple(name for name in found if name not in left_out)
    parts = [_named(part, names) for part in _parts(text)]
    return parts[0] if len(parts) == 1 else tuple(name for each in parts for name in names_of(each))


def _number(text: str, names: Names) -> float:
    """Return a number, or what the study calls so, with its sign."""
    minus = text.startswith("-@")
    found = _named(text[minus:], names)
    try:
        return -float(found) if minus else float(found)
    except (TypeError, ValueError):
        raise RequestError(must_be("a number", "a number, or @NAME of one", text)) from None


def _bound(text: str, names: Names) -> tuple[str, float]:
    """Return a bound, with its name."""
    sign, _, number = text.partition(" ")
    require_known("sign of a bound", sign, _SIGNS)
    return _SIGNS[sign], _number(number, names)
