"""What the capacity study varies: heuristics, points of its sweeps, readings of the paper; and what it refuses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from experiments.campaigns.study import Design
from experiments.policy import FIRST_FIT, FIVE, QUEUES, policy_of
from simmodels import DAY, WEEK, Checkpoints, RequestError, Workload
from simmodels.clusters.capacity import Law
from simmodels.engine import Engine
from simmodels.errors import must_be, require_known
from simmodels.policies.placement_options import PlacementOptions, has_option
from workloads import RISKY_FAMILIES, variable_capacity_jobs

BORG: Final = "Borg"
WORKLOADS: Final = ("Uniform", "LogScale", "3types", BORG)
"""Those of the paper's figures."""
CHANGES: Final = ("kill", "notice", "drain", "checkpoint", "periodic")

CENTRE: Final[Mapping[str, Any]] = {
    "machines": 24,
    "radius": 8,
    "period_s": 1200,
    "cores_per_machine": 24,
    "jobs_per_week": 20_000,
    "change": "kill",
    "variant": "default",
}
"""The point that all sweeps have in common, if its value is among those of a factor; else the factor's first one is."""
SWEPT: Final[Mapping[str, tuple[int, ...]]] = {
    "machines": (20, 22, 24, 26, 28),
    "period_s": (400, 1200, 3600, 10_800, 32_400),
    "radius": (4, 6, 8, 12, 16),
}
"""The values of the paper's figures, by the factor along the axis."""
_EQUIVALENT: Final = {48: (12, 4), 32: (18, 6), 24: (24, 8), 16: (36, 12), 8: (72, 16)}
"""Machines and radius by cores per machine, as printed."""
_LEAST_CORES: Final = 8  # of the widest job


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """One way to read the paper where it is silent, or its program has it otherwise.

    Parameters
    ----------
    options
        Options of placement, see `simmodels.policies.placement_options.PlacementOptions`; each heuristic gets those
        that are its own.
    law
        That of the walk.
    warm_credit
        See `simmodels.Schedule.metrics`.
    jobs
        Options of `workloads.variable_capacity_jobs`, for the families; slices of Borg are what they are.
    days
        How long jobs are released before the window, and how long the window is; None for the study's parameters.
    per_trace
        Whether the number of jobs is that of a whole trace, lead and window, and not that of a week.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    law: Law = "three_way"
    warm_credit: Literal["whole", "partial"] = "whole"
    jobs: Mapping[str, Any] = field(default_factory=dict)
    days: tuple[float, float] | None = None
    per_trace: bool = False

    def of(self, heuristic: str) -> dict[str, Any]:
        """Return the options that are the heuristic's own."""
        made = policy_of("heuristic", heuristic).options
        own = {name: value for name, value in self.options.items() if has_option(made["heuristic"], name)}
        return own if not made.get("aware") else {name: value for name, value in own.items() if name != "unaware"}

    def applies_to(self, heuristic: str) -> bool:
        """Return whether the heuristic is another one by this reading."""
        changes_all = (
            self.law != "three_way" or self.warm_credit != "whole" or self.days is not None or not self.options
        )
        return heuristic in FIVE and (changes_all or bool(self.of(heuristic)))

    def changes_jobs_of(self, workload: str) -> bool:
        """Return whether jobs of this kind, or what becomes of them, are others by this reading."""
        if self.options:
            return True
        if self.per_trace:
            return workload != BORG
        return not self.jobs or workload == "LogScale"  # its shares

    def windows(self, parameters: Mapping[str, Any]) -> tuple[float, float]:
        """Return how many days jobs are released before the window, and how long the window is."""
        return self.days or (parameters["lead_days"], parameters["window_days"])

    def jobs_per_week(self, jobs: int, weeks: float) -> int:
        """Return how many jobs are released per week, given the number asked for and the length of the trace."""
        return max(round(jobs / weeks), 1) if self.per_trace else jobs


PRINTED_LOAD: Final = 182 / 3
"""How many machines the printed lengths keep busy: 209,664 h of 3.5 cores each, on 24 cores, in three weeks."""
_TEXT_DAYS: Final = (7.0, 14.0)


INTERPRETATIONS: Final[Mapping[str, Interpretation]] = {
    "default": Interpretation(),
    "random_kill": Interpretation(options={"unaware": "random_kill"}),
    "stay_on_target": Interpretation(options={"stay_on_target": True}),
    "distance_3": Interpretation(options={"distance": 3}),
    "distance_5": Interpretation(options={"distance": 5}),
    "distance_10": Interpretation(options={"distance": 10}),
    "distance_20": Interpretation(options={"distance": 20}),
    "nearest_pack": Interpretation(options={"packing": "nearest"}),
    "floor_pack": Interpretation(options={"packing": "floor"}),
    "two_way": Interpretation(law="two_way"),
    "printed_shares": Interpretation(jobs={"shares": (4.0, 1.0, 1.0, 1.0)}),
    "printed_length": Interpretation(jobs={"load": PRINTED_LOAD}, days=_TEXT_DAYS, per_trace=True),
    "printed_windows": Interpretation(days=_TEXT_DAYS),
    "printed_jobs": Interpretation(days=_TEXT_DAYS, per_trace=True),
    "longer_only": Interpretation(options={"category": "gt"}),
    "thousandths": Interpretation(options={"category": "thousandths"}),
    "instant": Interpretation(options={"dispatch": "instant"}),
    "middle_at_first": Interpretation(options={"initial_use": "middle"}),
    "stretch_completed": Interpretation(options={"longest_stretch": "completed"}),
    "search_open": Interpretation(options={"search": "open"}),
    "left_first": Interpretation(options={"nearer_first": "left"}),
    "replan_if_full": Interpretation(options={"replan_on_add": "util"}),
    "no_immediate_again": Interpretation(options={"requeue_immediate": False}),
    "first_below": Interpretation(options={"alternative": "first"}),
    "partial_credit": Interpretation(warm_credit="partial"),
    "program": Interpretation(
        options={"category": "gt", "alternative": "first", "initial_use": "middle", "requeue_immediate": False},
        law="two_way",
        warm_credit="partial",
    ),
    "text": Interpretation(
        options={"stay_on_target": True, "packing": "nearest", "replan_on_add": "util",
                 "longest_stretch": "completed", "unaware": "random_kill"},
        days=_TEXT_DAYS,
        per_trace=True,
    ),
}  # fmt: skip
"""The readings by name. ``program`` is what the authors' published program is known to do otherwise, together, except
for its rounding (``thousandths``); ``text`` is the paper's text where the two differ, except that the printed mean
length is taken per core. There, of first fit that is unaware, a random machine is removed, as section 4.2 says; by the
other readings it fills the machines in a random order, as the program does."""
JUDGED: Final = frozenset({"default", "text"})
"""The readings by which the claims of the paper are judged."""


def heuristic_options(heuristic: str, of: Mapping[str, Any], reading: Interpretation) -> dict[str, Any]:
    """Return the options of one of `FIVE`, given the parameters of the study and how the paper is read."""
    if heuristic in FIRST_FIT:
        return reading.of(heuristic)
    options = {name: of[name] for name in ("distance", "raise_above", "lower_below")}
    if heuristic == "PackedTargetAsap":
        options["pack_size"] = of["pack_size"]
    return {**options, **reading.of(heuristic)}


def points(factors: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Hand out the points of the sweeps: the centre, then those that differ from it in one factor.

    With other cores a machine come other numbers of machines: those printed, else as many as have the same cores.
    """
    centre = {name: value if value in factors[name] else factors[name][0] for name, value in CENTRE.items()}
    yield centre
    for name in CENTRE:
        for value in factors[name]:
            if value == centre[name]:
                continue
            point = {**centre, name: value}
            if name == "cores_per_machine":
                point["machines"], point["radius"] = equivalent_platform(value, centre)
            yield point


def equivalent_platform(cores: int, centre: Mapping[str, Any]) -> tuple[int, int]:
    """Return the machines and the radius that go with this many cores per machine."""
    if (
        all(centre[name] == CENTRE[name] for name in ("machines", "radius", "cores_per_machine"))
        and cores in _EQUIVALENT
    ):
        return _EQUIVALENT[cores]
    times = centre["cores_per_machine"] / cores
    return max(round(centre["machines"] * times), 1), round(centre["radius"] * times)


def heuristics_for(point: Mapping[str, Any], heuristics: Sequence[str]) -> Iterator[str]:
    """Hand out the heuristics that are run at a point: the queue orders only at the centre's changes and readings."""
    reading = INTERPRETATIONS[point["variant"]]
    for heuristic in heuristics:
        if heuristic in QUEUES:
            if all(point[name] == CENTRE[name] for name in ("change", "variant")):
                yield heuristic
        elif point["variant"] == "default" or reading.applies_to(heuristic):
            yield heuristic


def slices_of(workloads: Sequence[object]) -> list[str]:
    """Return those of the workloads that are files: slices of Borg."""
    return [str(name) for name in workloads if name not in RISKY_FAMILIES]


def require_settings(design: Design) -> None:
    """Refuse settings that are out of range, before anything is run."""
    of, values = design.parameters, design.factors
    design.require_known(
        engine=get_args(Engine), heuristic=(*FIVE, *QUEUES), change=CHANGES, variant=tuple(INTERPRETATIONS)
    )
    _require_workloads(values["workload"])
    design.require_integers(0, "trace", "radius", "distance")
    design.require_integers(1, "machines", "jobs_per_week", "pack_size")
    design.require_integers(_LEAST_CORES, "cores_per_machine")
    design.require_numbers("period_s", "window_days", "checkpoint_s", above=0)
    design.require_numbers("lead_days", "raise_above", "lower_below", "notice_s", "restart_s", least=0)
    for point in points(values):
        machines, radius = point["machines"], point["radius"]
        if radius >= machines:
            raise RequestError(must_be("radius", f"less than the {machines} machines", radius))
        if 0 < radius < 4:
            raise RequestError(must_be("radius", "0 or at least 4", radius))
    for variant in values["variant"]:
        for heuristic in values["heuristic"]:
            if heuristic in FIVE:
                made = policy_of("heuristic", str(heuristic)).options
                options = {**made, **heuristic_options(str(heuristic), of, INTERPRETATIONS[str(variant)])}
                if made["heuristic"] != "FirstFit":
                    options["reference"] = variable_capacity_jobs("Uniform", weeks=DAY / WEEK)
                PlacementOptions.checked(**options, checkpoints=Checkpoints())


def _require_workloads(workloads: Sequence[object]) -> None:
    slices = slices_of(workloads)
    for name in slices:
        if not Path(name).is_file():
            require_known("family of jobs, or file of a Borg slice,", name, RISKY_FAMILIES)
    if len(slices) == 1:
        what = f"{slices[0]} is the only slice of Borg"
        raise RequestError(what, "add the slice of the week before, from which risks are estimated")


def first_submit_s(log: Workload) -> float:
    """Return the instant at which a slice of Borg begins: the first submit of a job that did not run before."""
    return float(log.submit_s[~log.extras["running"].astype(bool)].min())
