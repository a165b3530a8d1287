"""What is asked of the results of the capacity study: values at points of its sweeps, and tables of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd

from experiments.campaigns import Effect, Scope, bootstrap
from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.judging import StudyResults, Values, logarithms
from experiments.campaigns.paper import read_numbers
from experiments.campaigns.sentences import Sentence
from experiments.policy import FIVE, QUEUES
from experiments.studies.capacity.measures import MEASURES
from experiments.studies.capacity.settings import CENTRE, SWEPT, WORKLOADS, equivalent_platform

SWEEPS: Final = {
    "machines": "average number of machines",
    "period_s": "period of change (s)",
    "radius": "range of the number of machines (±)",
    "cores_per_machine": "cores per machine",
    "jobs_per_week": "jobs per week",
}

PROGRAMS: Final[Mapping[tuple[str, ...], float]] = read_numbers(Path(__file__).with_name("programs.csv"), 5)
"""What other programs have, by program, workload, sweep, its value (both empty at the centre), measure and heuristic.

An independent one's are means over three walks. The authors' published program is that of which the variant ``program``
is an imitation.
"""

_NOTHING: Final = pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["trace", REPLICATION]))


class CapacityResults(StudyResults):
    """The results of the study, as they are asked for: values at a point, a value a job trace and walk."""

    order = FIVE
    planned = CENTRE
    replications = "walks"
    measures = MEASURES

    @cached_property
    def centre(self) -> dict[str, Any]:
        """The point that all sweeps have in common: cells begin with it."""
        return {name: self.results.factors[name][0] for name in CENTRE}

    @cached_property
    def usual(self) -> list[str]:
        """Those of the paper's figures."""
        return [name for name in self.subjects if name in WORKLOADS]

    @cached_property
    def heuristics(self) -> list[str]:
        """The heuristics, in the order in which they are shown."""
        there = set(self.results.factors["heuristic"])
        return [name for name in (*FIVE, *QUEUES) if name in there]

    @cached_property
    def _groups(self) -> dict[tuple[Any, ...], pd.DataFrame]:
        table = self.results.table
        if table.empty:
            return {}
        keys = ["workload", "heuristic", *CENTRE]
        found: dict[tuple[Any, ...], pd.DataFrame] = {}
        walks: pd.Index[Any] = _NOTHING.index
        for key, part in table.set_index(["trace", REPLICATION]).groupby(keys, sort=False):
            # Values of which the walks are one object are compared without a look at these.
            walks = walks if walks.equals(part.index) else part.index
            found[key] = part.set_axis(walks)
        return found

    def swept(self, name: str, workload: str = "") -> list[Any]:
        """Return the values of a sweep for which there are cells, in increasing order; one or none: it is no sweep."""
        values: list[Any] = list(self.results.factors[name])
        return [
            value
            for value in sorted(values)
            if any(self._key(one, heuristic, {name: value}) in self._groups
                   for one in ([workload] if workload else self.subjects) for heuristic in self.heuristics)
        ]  # fmt: skip

    def _key(self, workload: str, heuristic: str, moved: Mapping[str, Any]) -> tuple[Any, ...]:
        point = {**self.centre, **moved}
        cores = moved.get("cores_per_machine", self.centre["cores_per_machine"])
        if cores != self.centre["cores_per_machine"]:
            point["machines"], point["radius"] = equivalent_platform(cores, self.centre)
        return (workload, heuristic, *(point[name] for name in CENTRE))

    def levels(self, factor: str, subject: str) -> list[Any]:
        """Return those of the paper's values of a sweep that were run on a workload; none if there is one only."""
        values = [value for value in self.swept(factor, subject) if value in SWEPT[factor]]
        return values if len(values) > 1 else []

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401
        """Return a measure at a point that differs from the centre in what is moved, a value a job trace and walk."""
        if column == "used":
            return self.value("goodput", alternative, subject, **moved) + self.value(
                "aborted", alternative, subject, **moved
            )
        part = self._groups.get(self._key(subject, alternative, moved))
        return _NOTHING if part is None or column not in part else part[column]

    def scope(self, said: Sentence, on: Sequence[str]) -> Scope:
        """Return what of the paper's design a sentence is about: the centre, except for what its row moves."""
        of = WORKLOADS if said.together else (said.than_on, *on) if said.than_on else on
        held = {name: (CENTRE[name],) for name in ("change", "cores_per_machine", "jobs_per_week")}
        swept = {name: (CENTRE[name],) for name in SWEPT} | self.moved(said.compared)
        return Scope(
            at_each={"workload": of, **held},
            along={**swept, "heuristic": self.named(said.compared)},
            a_part_may=said.compared.a_part_may,
        )

    def text(self, said: Sentence, on: Sequence[str]) -> str:
        """Return a sentence with its workload, if it is about one."""
        return said.text if said.together else f"{said.text}, on {on[0]}"

    def effect(self, values: "pd.Series[float] | None") -> Effect | None:
        """Return the mean of values over the walks, with its interval; None if there are none.

        The job traces of a walk are averaged first: they met the same walk, and are not independent of each other.
        """
        there = None if values is None else values.dropna()
        if there is None or there.empty:
            return None
        return bootstrap(there.groupby(level=REPLICATION).mean().to_numpy(), seed=self.results.seed)


def make_tables(found: CapacityResults) -> dict[str, pd.DataFrame]:
    """Return the tables of the report that have rows."""
    centre, sweeps = pd.DataFrame(_centre(found)), pd.DataFrame(_sweeps(found))
    if "default" not in found.results.factors["variant"]:  # the independent program's reading is the default
        centre = sweeps = pd.DataFrame()
    tables = {
        "the centre, beside an independent program": centre,
        "the sweeps: goodput, beside an independent program": sweeps,
        "figures 1 to 4 against first fit, walk by walk": pd.DataFrame(_paired(found)),
        "notice, drain and checkpoints, against being killed": pd.DataFrame(_against(found, "change", _COMPARED)),
        "what each reading changes": pd.DataFrame(_against(found, "variant", _COMPARED[:2])),
        "the readings of the program, beside the authors' own": pd.DataFrame(_program(found)),
        "all measures": found.results.summary(),
    }
    return {name: table for name, table in tables.items() if len(table)}


_COMPARED: Final = ("goodput", "aborted", "max_stretch")
_BESIDE: Final = ("idle", "mean_aborted_s", "kills", "mean_stretch", "completed_share", "mean_machines_used")


def _centre(found: CapacityResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload and heuristic."""
    for workload, heuristic in product(found.subjects, found.heuristics):
        effects = {name: found.effect(found.value(name, heuristic, workload)) for name in (*_COMPARED, *_BESIDE)}
        row: dict[str, Any] = {"workload": workload, "heuristic": heuristic}
        for measure in _COMPARED:
            effect, their = effects.pop(measure), PROGRAMS.get(("independent", workload, "", "", measure, heuristic))
            if effect is None:
                break
            row |= effect.columns(measure) if measure == "goodput" else {measure: effect.estimate}
            row |= {f"{measure}, theirs": their, f"{measure}, difference": _less(effect, their)}
        else:
            yield row | {name: None if effect is None else effect.estimate for name, effect in effects.items()}


def _less(effect: Effect, their: float | None) -> float | None:
    return None if their is None else effect.estimate - their


_ALONG: Final = ("workload", "sweep", "value", "heuristic")


def _along(found: CapacityResults) -> Iterator[tuple[str, str, Any, str]]:
    """Hand out each heuristic at each point of the sweeps, on each workload."""
    for workload, name in product(found.subjects, SWEEPS):
        values = found.swept(name, workload)
        yield from product([workload], [name], values if len(values) > 1 else (), found.heuristics)


def _sweeps(found: CapacityResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per point of the sweeps and heuristic."""
    for key in _along(found):
        workload, name, value, heuristic = key
        effect = found.effect(found.value("goodput", heuristic, workload, **{name: value}))
        if effect is not None:
            their = PROGRAMS.get(("independent", workload, name, f"{value:g}", "goodput", heuristic))
            row = dict(zip(_ALONG, key, strict=True)) | effect.columns("goodput")
            yield row | {"theirs": their, "difference": _less(effect, their)}


_PAIRED: Final = (("goodput", False), ("aborted", False), ("mean_aborted_s", True), ("max_stretch", True),
                  ("mean_stretch", True))  # fmt: skip


def _paired(found: CapacityResults) -> Iterator[dict[str, Any]]:
    """Hand out each heuristic against FirstFitAware at each point: differences, and geometric means of ratios."""
    for key in _along(found):
        workload, name, value, heuristic = key
        row: dict[str, Any] = {}
        for measure, ratio in _PAIRED if heuristic != "FirstFitAware" else ():
            one, other = (
                found.value(measure, each, workload, **{name: value}) for each in (heuristic, "FirstFitAware")
            )
            effect = found.effect(logarithms(one) - logarithms(other) if ratio else one - other)
            if effect is not None:
                said = f"{measure}, {'times' if ratio else 'less'}"
                row |= (effect.through(math.exp) if ratio else effect).columns(said, prefix=f"{measure} ")
        if row:
            yield dict(zip(_ALONG, key, strict=True)) | row


def _against(found: CapacityResults, name: str, measures: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Hand out what each other value of a factor changes against the centre's, walk by walk."""
    others = [value for value in found.results.factors[name] if value != found.centre[name]]
    for workload, value, heuristic in product(found.subjects, others, found.heuristics):
        row: dict[str, Any] = {}
        for measure in measures:
            there = found.value(measure, heuristic, workload, **{name: value})
            effect = found.effect(there - found.value(measure, heuristic, workload))
            if effect is not None:
                row |= effect.columns(f"{measure}, difference", prefix=f"{measure} ")
        if row:
            yield {"workload": workload, name: value, "heuristic": heuristic, **row}


def _program(found: CapacityResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload and heuristic of which the authors' program's goodput is known."""
    for workload, heuristic in product(found.subjects, found.heuristics):
        their = PROGRAMS.get(("authors", workload, "", "", "goodput", heuristic))
        effect = found.effect(found.value("goodput", heuristic, workload, variant="program"))
        if effect is not None and their is not None:
            row = {"workload": workload, "heuristic": heuristic, **effect.columns("goodput")}
            yield row | {"theirs": their, "difference": effect.estimate - their}
