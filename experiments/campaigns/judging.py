"""Judging: the evaluator that makes claims of sentences and a study's results.

A study says by a subclass of `StudyResults` what a value is, and adds what no column has. The scope of a claim
follows from its row, and is written nowhere else.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.claims import Claim, Scope
from experiments.campaigns.families import Evidence, Measured, everywhere, largest, mean_among
from experiments.campaigns.results import Results
from experiments.campaigns.sentences import Compared, Point, Sentence, names_of
from experiments.campaigns.statistics import Effect
from simmodels.ground.numbers import Floats

Values: TypeAlias = "pd.Series[float]"
Family: TypeAlias = Mapping[str, "Values | Measured"]
"""What is judged together, by name: values by replication and by what else differs within one, or what is measured."""


NOTHING: Final = pd.Series(dtype=float, index=pd.Index([], name=REPLICATION))
"""The values of what was not run."""


OwnMeasure: TypeAlias = Callable[[Any, Sentence, Sequence[str]], "Family | Evidence | Effect | None"]
"""What no column of a study has: given its results, a sentence and the subjects; None if it was not run."""


class Member(NamedTuple):
    """One of what is judged together: of what it is, and where; empty is that over which it is the mean."""

    of: str
    against: str
    column: str
    along: str
    subjects: str


class StudyResults(ABC):
    """The results of a study, as sentences ask for them.

    Parameters
    ----------
    results
        The results of a campaign of the study.
    """

    order: ClassVar[Sequence[str]]
    """The alternatives, in the order in which they are named."""
    planned: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """The centre as the paper has it, from which scopes follow."""
    measures: ClassVar[Mapping[str, OwnMeasure]]
    """What no column has, by name."""
    decide: ClassVar[str] = "--scale paper"
    """What decides a claim that is undecided."""
    leave_out: ClassVar[bool] = True
    """Whether replications that lack a value are left out; else nothing is measured then."""
    replications: ClassVar[str] = "replications"
    """What replications are called in notes."""
    missing: ClassVar[str] = ""
    """What is noted where nothing is measured, instead of the sentence's own note."""
    judged: bool = True
    """Whether claims get a verdict."""
    ours: bool = False
    """Whether what was run is not what the paper has, so that no claim on it is the paper's."""

    def __init__(self, results: Results) -> None:
        self.results = results

    @property
    def centre(self) -> Mapping[str, Any]:
        """The point that all sweeps of a campaign have in common, by factor; nothing if there is none."""
        return {}

    @property
    def subjects(self) -> Sequence[str]:
        """The subjects that claims are made about: by default the workloads."""
        return self.results.texts("workload")

    @property
    def usual(self) -> Sequence[str]:
        """Those of the subjects that a sentence is about if it names none."""
        return self.subjects

    @abstractmethod
    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401
        """Return a column at a point, by replication and what else differs within one; empty if it was not run."""

    def levels(self, factor: str, subject: str) -> Sequence[Any]:  # noqa: ARG002  none without sweeps
        """Return the levels of a factor that were run on a subject, in increasing order; none if nothing is swept."""
        return ()

    def scope(self, said: Sentence, on: Sequence[str]) -> Scope | None:  # noqa: ARG002  none without a paper
        """Return what of the paper's design a sentence is about; `moved` and `named` have it from the row.

        None: without a paper, it is about what was run, whatever that is.
        """
        return None

    def is_ours(self, said: Sentence, on: Sequence[str]) -> bool:  # noqa: ARG002  for those who look at subjects
        """Return whether a claim is ours and not the paper's: what is said, or what it is judged on."""
        return said.ours or self.ours

    @abstractmethod
    def text(self, said: Sentence, on: Sequence[str]) -> str:
        """Return what is said, with its subject."""

    def measure(self, said: Sentence) -> str:
        """Return what is measured, in words."""
        return said.measure

    def average(self, values: Floats, members: int) -> Effect:
        """Return what is judged of the values of replications: their mean, as one of n members."""
        return mean_among(values, members, seed=self.results.seed)

    def there(self, alternatives: Sequence[str], subject: str) -> Sequence[str]:  # noqa: ARG002  those who leave some out
        """Return those of the alternatives that are compared: by default all, so that each is needed."""
        return alternatives

    def at(self, point: Point) -> str:
        """Return a point as it is named."""
        return ", ".join(f"{name} {value}" for name, value in point.items()) or "the centre"

    def step(self, factor: str, one: Any, other: Any) -> str:  # noqa: ANN401, ARG002  any level
        """Return a step from one level of a factor to another as it is named."""
        return f"from {one} to {other}"

    def called(self, compared: Compared, member: Member, several: frozenset[str]) -> str:
        """Return the name of a member.

        Parameters
        ----------
        compared
            What is compared.
        member
            The member.
        several
            The fields in which members differ.
        """
        whole = compared.against and not compared.mean and not compared.change
        pair = " against ".join(getattr(member, side) for side in ("of", "against") if whole or side in several)
        more = [getattr(member, field) for field in ("column", "along", "subjects") if field in several]
        return f"{pair} at {member.along}" if whole and "subjects" not in several else " ".join((pair, *more)).strip()

    def shown(self, found: Evidence) -> tuple[str, str]:
        """Return which member decides: as it is added to what is measured, and as it is noted."""
        return "", f"{found.member}, of {found.members} comparisons: the one that decides" if found.members > 1 else ""

    def named(self, compared: Compared) -> tuple[str, ...]:
        """Return the alternatives of a row, in the order of the study."""
        ranks = {name: place for place, name in enumerate(self.order)}
        return tuple(sorted(compared.alternatives, key=lambda name: ranks.get(name, len(ranks))))

    def moved(self, compared: Compared) -> dict[str, tuple[Any, ...]]:
        """Return the levels that a row is about, by factor; of both ends of a sweep also the centre."""
        if compared.at:
            factors = dict.fromkeys(name for point in compared.at for name in point)
            each = {name: [point.get(name, self.planned.get(name)) for point in compared.at] for name in factors}
            return {name: tuple(dict.fromkeys(levels)) for name, levels in each.items()}
        if compared.between == "ends":
            return {name: (levels[0], self.planned[name], levels[-1]) for name, levels in compared.along.items()}
        return {name: tuple(levels) for name, levels in compared.along.items()}

    def run_along(self, compared: Compared, factor: str, subject: str) -> list[Any]:
        """Return those levels of a sweep that were run on a subject."""
        return [level for level in self.levels(factor, subject) if level in compared.along[factor]]

    def points(self, compared: Compared, subject: str) -> list[Point]:
        """Return the points of a row: those that it names, or the centre and the levels of its sweeps."""
        if compared.at:
            return list(compared.at)
        moved: list[Point] = [
            {name: level}
            for name in compared.along
            for level in self.run_along(compared, name, subject)
            if level != self.centre.get(name)
        ]
        return [{}, *moved] if self.centre or not compared.along else moved


def logarithms(values: Values) -> Values:
    """Return the natural logarithms of values; NaN where there is none, as of nothing lost in a short window."""
    plain = values.to_numpy(dtype=float)
    return pd.Series(np.log(np.where(plain > 0.0, plain, np.nan)), index=values.index)


# -- families ---------------------------------------------------------------------------------------


def by_replication(family: Mapping[Any, Values]) -> pd.DataFrame:
    """Return one column per member and one row per replication: the mean within it, NaN where it lacks a value."""
    several = list(family.values())
    if several and all(each.index.equals(several[0].index) for each in several):  # grouped at once
        return _by_replication(pd.DataFrame(dict(family)))
    return pd.DataFrame({name: _by_replication(each.to_frame()).iloc[:, 0] for name, each in family.items()})


def _by_replication(table: pd.DataFrame) -> pd.DataFrame:
    if table.index.nlevels == 1 and table.index.is_unique:  # one value each is its mean
        return table.astype(float).sort_index()
    grouped = table.groupby(level=REPLICATION)
    return grouped.mean().where(grouped.count().eq(grouped.size(), axis="index"))


def mean_of(several: Sequence[Values]) -> Values:
    """Return the mean of several, replication by replication; NaN of those that lack one."""
    found = by_replication(dict(enumerate(several)))
    return found.mean(axis="columns", skipna=False).rename_axis(REPLICATION)


def members_of(found: StudyResults, family: Family, *, ratio: bool = False) -> tuple[dict[str, Measured], str]:
    """Return what is measured of each member, and what is to be said of replications that were left out.

    What was not run says nothing of all: there are no members if one has no values.

    Parameters
    ----------
    found
        The results.
    family
        The members; of ratios, their logarithms.
    ratio
        Whether the values are logarithms: the effects are geometric means of ratios then.
    """
    known = {name: each for name, each in family.items() if not isinstance(each, pd.Series)}
    if known:
        return known, ""
    run = {name: each for name, each in family.items() if isinstance(each, pd.Series)}
    if not all(map(len, run.values())):
        return {}, ""
    table = by_replication(run)
    rows = table.dropna()
    gone = len(table) - len(rows)
    if rows.empty or (gone and not found.leave_out):
        return {}, ""

    def measured(name: object) -> Measured:
        values = rows[name].to_numpy(dtype=float)
        if ratio:
            return lambda members: found.average(values, members).through(math.exp)
        return lambda members: found.average(values, members)

    note = f"{gone} of {len(table)} {found.replications} lack a value and are left out" if gone else ""
    return {str(name): measured(name) for name in rows}, note


def family_of(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the members of a sentence on some subjects: all that is compared, and the means that are asked for."""
    compared, parts = said.compared, dict[Member, list[Values]]()
    up_to = compared.judge == "largest" and compared.a_part_may == "neither"
    if up_to and not all(found.run_along(compared, name, subject) for subject in on for name in compared.along):
        return {}  # of all sweeps, or of nothing
    for subject in on:
        pairs = compared.pairs(partial(found.there, subject=subject))
        for along, first, second in _places(found, compared, subject):
            for (one, other), column in product(pairs, names_of(compared.values)):
                values = _compared(found, said, column, (one, other), subject, first)
                if second is not None:
                    values = values - _compared(found, said, column, (one, other), subject, second)
                whole = Member(one, other, column, along, subject)
                parts.setdefault(whole._replace(**dict.fromkeys(compared.mean, "")), []).append(values)
    several = {field for field in Member._fields if len({getattr(member, field) for member in parts}) > 1}
    if compared.between != "ends" and sum(map(len, found.moved(compared).values())) > 1 + bool(compared.change):
        several |= {"along"}
    names = [found.called(compared, member, frozenset(several)) for member in parts]
    if len(set(names)) < len(names):  # none is lost for want of a name of its own
        names = [" ".join(filter(None, member)) for member in parts]
    means = [mean_of(each) if compared.mean else each[0] for each in parts.values()]
    return dict(zip(names, means, strict=True))


def _places(found: StudyResults, compared: Compared, subject: str) -> Iterator[tuple[str, Point, Point | None]]:
    """Hand out where values are compared: points, or two of a sweep of which the second is taken from the first."""
    if not compared.change:
        for point in found.points(compared, subject):
            yield found.at(point), point, None
        return
    for factor in compared.along:
        levels = found.run_along(compared, factor, subject)
        later = levels[1:] if compared.between == "first" else levels[1:][-1:]
        steps = pairwise(levels) if compared.between == "next" else product(levels[:1], later)
        for one, other in steps:
            first, second = (one, other) if compared.change == "drop" else (other, one)
            yield found.step(factor, one, other), {factor: first}, {factor: second}


def _compared(
    found: StudyResults, said: Sentence, column: str, pair: tuple[str, str], subject: str, point: Point
) -> Values:
    """Return the values of one alternative, compared with those of another if there is one."""
    compared = said.compared
    one = found.value(column, pair[0], subject, **point)
    if compared.how == "over":
        one = logarithms(one)
    if not pair[1] and not said.than_on:
        return one
    other = found.value(column, pair[1] or pair[0], said.than_on or subject, **point)
    if compared.how == "over":
        return one - logarithms(other)
    if compared.how == "less":
        return one - compared.times * other
    return one / other - (1.0 if compared.how == "increase" else 0.0)


# -- claims -----------------------------------------------------------------------------------------


def deciding(found: StudyResults, family: Family, compared: Compared) -> Evidence | None:
    """Return what decides whether the members of a family keep to bounds; None if not all of it was measured."""
    members, note = members_of(found, family, ratio=compared.how == "over")
    if not members:
        return None
    if compared.judge == "largest":
        return Evidence(largest(members), note)
    return everywhere(members, compared.bounds)._replace(note=note)


def evidence_on(found: StudyResults, said: Sentence, on: Sequence[str]) -> Evidence | None:
    """Return what decides a sentence on some subjects; None if not all that it takes was measured."""
    own = found.measures.get(str(said.compared.values))
    family = family_of(found, said, on) if own is None else own(found, said, on)
    if isinstance(family, Effect):
        return Evidence(family)
    return family if family is None or isinstance(family, Evidence) else deciding(found, family, said.compared)


def claim_on(found: StudyResults, said: Sentence, on: Sequence[str]) -> Claim:
    """Return the claim that a sentence makes about some subjects, with the evidence on it."""
    given = {name: level for name, level in said.given.items() if found.centre[name] != level}
    evidence = None if given else evidence_on(found, said, on)
    added, decider = ("", "") if evidence is None else found.shown(evidence)
    notes = (said.note,) if evidence is None else (decider, evidence.note, said.note)
    source, number = said.place
    return Claim(
        text=found.text(said, on),
        source=source,
        number=number,
        ours=found.is_ours(said, on),
        measure=f"{found.measure(said)}{added}",
        effect=None if evidence is None else evidence.effect,
        unit=said.unit,
        to_decide=" ".join(f"--{name} {level}" for name, level in given.items()) or said.decide or found.decide,
        note=(found.missing if evidence is None else "") or "; ".join(filter(None, notes)),
        judged=found.judged,
        scope=None if given else found.scope(said, on),
        **said.compared.bounds,
    )


def judge(found: StudyResults, sentences: Iterable[Sentence], *subjects: str) -> Iterator[Claim]:
    """Hand out the claims that sentences make.

    Parameters
    ----------
    found
        The results.
    sentences
        The rows. One of ours that is given other levels than those of the results is left out.
    subjects
        The subjects that there are to be claims about; by default all of the study's.
    """
    for said in sentences:
        if said.ours and any(found.centre[name] != level for name, level in said.given.items()):
            continue
        there = tuple(name for name in said.on or found.usual if name in (subjects or found.subjects))
        for on in (there,) if said.together else product(there):
            yield claim_on(found, said, on)
