"""Machine commands: what ``machines`` does, once its options are read."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.answering import DONE, Steps, print_json, remark, show
from experiments.inputs import WorkloadFile, remarks, seconds
from experiments.on_machines import FIVE, QUEUES, TARGETED, run_on_machines
from experiments.outputs import drawn_window, require_figure, require_writable, table_writer
from experiments.tables import machines_table
from simmodels.capacity import CAPACITY_MODES, Capacity, Mode
from simmodels.engine import require_engine
from simmodels.errors import RequestError, UnknownNameError, require_known
from simmodels.ground.numbers import MOST
from simmodels.policies.checkpoints import Checkpoints
from simmodels.schedule import Schedule
from simmodels.units import WEEK
from simmodels.workload import Workload
from workloads.capacities import capacity_from, capacity_walk, read_series

Schedules = Mapping[str, Schedule]

_WALK: Final = re.compile(r"\s*([0-9]{1,6})\s*:\s*([0-9]{1,6})\s*:([^:]+)")
_OF_SERIES: Final = {
    "column": None, "per_machine": 1.0, "least": 0, "most": None, "series_from_s": 0.0, "repeat": False
}  # fmt: skip
"""What goes with a series only, and what it is by default."""
_MOST: Final = 1_000_000  # machines: more are those of a series whose unit was forgotten
NO_LENGTH: Final = "left out: they ran for no time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """How many machines there are over time, as the options say: a walk, or a series.

    Parameters
    ----------
    walk
        ``MEAN:RADIUS:PERIOD``, or None.
    series, column
        The file of a series, or None; and which column of it.
    per_machine, least, most
        As in `workloads.capacity_from`.
    series_from_s
        The window begins with what the series says so long after its begin.
    repeat
        Whether the series starts again where it ends.
    notice_s, mode
        As in `simmodels.CapacityChange`.
    seed
        Of the walk.

    Raises
    ------
    RequestError, UnknownNameError
        Both a walk and a series are given, or none; or an option is not what is allowed.
    """

    walk: str | None = None
    series: Path | None = None
    column: str | None = None
    per_machine: float = 1.0
    least: int = 0
    most: int | None = None
    series_from_s: float = 0.0
    repeat: bool = False
    notice_s: float = 0.0
    mode: str = "kill"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the options, before anything is read."""
        if (self.walk is None) == (self.series is None):
            given = "neither --walk nor --series" if self.walk is None else "--walk with --series"
            raise RequestError(given, "one of them is needed")
        if self.mode not in CAPACITY_MODES:
            raise UnknownNameError("mode", self.mode, (), CAPACITY_MODES)
        if not 0 <= self.least <= (self.least if self.most is None else self.most):
            raise RequestError(f"--least {self.least} and --most {self.most}", "0 <= least <= most is allowed")
        without = [name for name, default in _OF_SERIES.items() if getattr(self, name) != default]
        if self.walk is not None and without:
            raise RequestError(f"--{without[0].removesuffix('_s').replace('_', '-')} with --walk", "--series is needed")
        self._walk()

    def _walk(self) -> tuple[int, int, float] | None:
        """Return mean, radius and period of the walk."""
        if self.walk is None:
            return None
        found = _WALK.fullmatch(self.walk)
        if found is None:
            raise RequestError(f"--walk {self.walk!r}", "MEAN:RADIUS:PERIOD is allowed, such as 24:8:20min")
        mean, radius = int(found[1]), int(found[2])
        period_s = seconds(found[3], "period of --walk")
        if not (radius <= mean and mean >= 1 and period_s > 0 and (radius == 0 or radius >= 4)):
            allowed = "a radius of 0 or from 4 (a step is a quarter of it) to the mean, and a period > 0 are allowed"
            raise RequestError(f"--walk {self.walk!r}", allowed)
        return mean, radius, period_s

    def over(self, window_s: tuple[float, float]) -> tuple[Capacity, Mapping[str, int]]:
        """Return how many machines there are in a window, and what was left out of the series, each with how often.

        Raises
        ------
        FileFormatError, RequestError
            The series cannot be read, does not keep to its format, or is over before the window is.
        """
        begin, end = window_s
        known_s = end + self.notice_s  # what is announced by the end is known
        mode: Mode = self.mode  # type: ignore[assignment]  # checked above
        walk = self._walk()
        if walk is not None:
            mean, radius, period_s = walk
            drawn = capacity_walk(
                mean=mean,
                radius=radius,
                period_s=period_s,
                begin_s=begin,
                until_s=known_s,
                notice_s=self.notice_s,
                mode=mode,
                seed=self.seed,
            )
            return drawn, {}
        assert self.series is not None  # noqa: S101  one of the two is there
        table = read_series(self.series, column=self.column)
        lasts_s = float(table["time_s"].iloc[-1]) - self.series_from_s
        if not self.repeat and lasts_s < end - begin:
            what = (
                f"{self.series} goes on for {max(lasts_s, 0):g} s after --series-from, the window for {end - begin:g} s"
            )
            raise RequestError(what, "--repeat, or a shorter window (--until) is allowed")
        made = capacity_from(
            table,
            per_machine=self.per_machine,
            most=self.most,
            least=self.least,
            start_s=self.series_from_s,
            until_s=known_s,
            repeat=self.repeat,
            begin_s=begin,
            notice_s=self.notice_s,
            mode=mode,
        )
        if made.machines.max() > _MOST:
            what = f"{made.machines.max():,} machines by {self.series}"
            raise RequestError(what, f"--per-machine X, --most N, or a series of up to {_MOST:,} is allowed")
        return made, {"blank lines": table.attrs["counts"]["blank lines"]}


def made_checkpoints(cost: str | None, every: str | None, restart: str) -> Checkpoints | None:
    """Return how jobs write checkpoints, as the options say; None if they say nothing.

    Raises
    ------
    RequestError
        A time is none, or checkpoints are asked for and their cost is not.
    """
    restart_s = seconds(restart, "--restart")
    if cost is None:
        if every is not None or restart_s:
            raise RequestError("--checkpoint-every or --restart", "--checkpoint-cost TIME is needed too")
        return None
    every_s = math.inf if every is None else seconds(every, "--checkpoint-every")
    return Checkpoints(interval_s=every_s, cost_s=seconds(cost, "--checkpoint-cost"), restart_s=restart_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How jobs are placed: the heuristics, and what they share.

    Parameters
    ----------
    names
        Those of `FIVE` and `QUEUES`.
    cores_per_machine
        The cores of each machine.
    distance
        How far from its target a job may go, in machines.
    checkpoints
        How jobs write them, or None.
    engine, seed
        As in `simmodels.simulate_on_machines`.
    validate
        Whether each schedule is proved legal.

    Raises
    ------
    UnknownNameError, RequestError
        A name is none, or is there twice; or an option is not what is allowed.
    """

    names: Sequence[str]
    cores_per_machine: int
    distance: int = 11
    checkpoints: Checkpoints | None = None
    engine: str = "auto"
    seed: int = 0
    validate: bool = False

    def __post_init__(self) -> None:
        """Check the options, before anything is read."""
        known = (*FIVE, *QUEUES)
        for name in self.names:
            require_known("heuristic", name, known)
        if not self.names or len(set(self.names)) < len(self.names):
            raise RequestError(f"heuristics {','.join(self.names)!r}", "one or more, each once, are allowed")
        if not 1 <= self.cores_per_machine <= MOST:
            raise RequestError(f"--cores-per-machine {self.cores_per_machine}", f"1 to {MOST} are allowed")
        if self.distance < 0:
            raise RequestError(f"--distance {self.distance}", "an integer >= 0 is allowed")
        require_engine(self.engine, self.seed)

    def run(
        self, name: str, log: Workload, reference: Workload, capacity: Capacity, window_s: tuple[float, float]
    ) -> Schedule:
        """Return the schedule of one heuristic."""
        options: dict[str, Any] = {"checkpoints": self.checkpoints, "engine": self.engine, "seed": self.seed}
        if name in TARGETED:
            options |= {"reference": reference, "distance": self.distance}
        schedule = run_on_machines(
            name,
            log,
            capacity,
            cores_per_machine=self.cores_per_machine,
            window_s=window_s,
            **options,
        )
        return schedule.validate() if self.validate else schedule


def compare_on_machines(
    log: WorkloadFile,
    supply: Supply,
    fleet: Fleet,
    *,
    reference: Path | None,
    window: tuple[str | None, str | None],
    attempts_out: Path | None,
    gantt: Path | None,
    draw: tuple[str | None, str | None],
    json: bool,
) -> int:
    """Run a workload under each heuristic, write the files asked for, print the metrics; return the exit status."""
    targeted = bool(set(fleet.names) & set(TARGETED))
    if reference is not None and not targeted:
        raise RequestError(f"--reference with {','.join(fleet.names)}", f"it is allowed with {', '.join(TARGETED)}")
    times = [None if text is None else seconds(text, option) for text, option in zip(window, _WINDOW, strict=True)]
    drawn = drawn_window(*draw)
    outputs = _outputs(log.path, attempts_out, gantt, drawn)
    with Steps(2 + len(fleet.names) + len(outputs)) as shown:
        shown.begin("reading the workload")
        workload = _with_lengths(log.read())
        begin, end = window_s = _window(workload, times[0], times[1])
        _require_drawn(drawn, window_s)
        alike = _alike(workload, begin, reference, log) if targeted else workload
        shown.begin("reading the capacity")
        capacity, left_out_of_series = supply.over(window_s)
        shown.remark(f"{workload.name}: {len(workload):,} jobs for machines of {fleet.cores_per_machine:,} cores")
        for line in remarks(workload.counts):
            shown.remark(f"  {line}")
        there = capacity.machines[capacity.time_s < end]
        low, high, mean = int(there.min()), int(there.max()), capacity.machine_seconds(begin, end) / (end - begin)
        shown.remark(f"machines: {low:,} to {high:,}, {mean:.1f} in the mean, {len(there) - 1:,} changes")
        for what, count in left_out_of_series.items():
            if count:
                shown.remark(f"  {what}: {count:,}")
        schedules: dict[str, Schedule] = {}
        for name in fleet.names:
            shown.begin(name)
            schedules[name] = fleet.run(name, workload, alike, capacity, window_s)
        left_out = {name: int(str(schedule.about["left_out"])) for name, schedule in schedules.items()}
        for count in sorted(set(left_out.values()) - {0}):
            whose = (
                ""
                if len(set(left_out.values())) == 1
                else f" ({', '.join(n for n in left_out if left_out[n] == count)})"
            )
            shown.remark(f"{count:,} jobs did not take part from {begin:,.10g} s to {end:,.10g} s{whose}")
        for path, write in outputs.items():
            shown.begin(f"writing {path.name}")
            write(schedules, path)
    metrics = {name: schedule.metrics() for name, schedule in schedules.items()}
    if json:
        print_json(
            {
                "workload": {"name": workload.name, "jobs": len(workload)},
                "left_out": left_out,
                "window_s": window_s,
                "machines": {"least": low, "most": high, "mean": mean, "cores": fleet.cores_per_machine},
                "metrics": metrics,
                "files": [str(path) for path in outputs],
            }
        )
    else:
        show(
            f"{workload.name}, {low:,} to {high:,} machines of {fleet.cores_per_machine} cores", machines_table(metrics)
        )
    for path in outputs:
        remark(f"wrote {path}")
    return DONE


_WINDOW: Final = ("--from", "--until")


def _with_lengths(log: Workload) -> Workload:
    """Return the jobs but those of no length, which take no machine and no time, and are counted."""
    none = log.known() & (log.runtime_s == 0)
    return replace(log.take(~none), counts={**log.counts, NO_LENGTH: int(none.sum())})


def _window(log: Workload, begin: float | None, end: float | None) -> tuple[float, float]:
    """Return the window: by default from the first submission (but of jobs that ran before) to the last one."""
    ran = log.extras["running"].astype(bool) if "running" in log.extras else np.zeros(len(log), np.bool_)
    submit_s = log.submit_s if ran.all() else log.submit_s[~ran]
    found = (float(submit_s.min()) if begin is None else begin, float(submit_s.max()) + 1 if end is None else end)
    if not found[0] < found[1]:
        raise RequestError(f"a window from {found[0]:g} s to {found[1]:g} s", "--from before --until is allowed")
    if not ((log.submit_s < found[1]) & (log.submit_s + log.runtime_s > found[0])).any():
        raise RequestError(f"no job from {found[0]:g} s to {found[1]:g} s", "a window with jobs is needed")
    return found


def _require_drawn(drawn: tuple[float | None, float | None], window_s: tuple[float, float]) -> None:
    """Refuse figures of nothing."""
    start_s, end_s = drawn
    if (start_s is not None and start_s >= window_s[1]) or (end_s is not None and end_s <= window_s[0]):
        what = "a chart of what is not in the window"
        raise RequestError(
            what, f"--draw-from and --draw-to from {window_s[0]:.10g} s to {window_s[1]:.10g} s are allowed"
        )


def _alike(log: Workload, begin: float, reference: Path | None, asked: WorkloadFile) -> Workload:
    """Return jobs like those to come, which say risks: a file's, or those of the week before the window."""
    if reference is not None:
        return _with_lengths(replace(asked, path=reference).read())
    before = log.known() & (log.submit_s < begin) & (log.submit_s >= begin - WEEK)
    if not before.any():
        what = f"targets without jobs of the week before {begin:g} s, which say risks"
        raise RequestError(what, "--reference FILE, or --from a week later, is allowed")
    return log.take(before)


def _outputs(
    source: Path,
    attempts_out: Path | None,
    gantt: Path | None,
    drawn: tuple[float | None, float | None],
) -> dict[Path, Callable[[Schedules, Path], None]]:
    """Return what writes each of the files asked for; refuse them if they cannot be written."""
    require_writable([path for path in (attempts_out, gantt) if path is not None], source=source)
    outputs: dict[Path, Callable[[Schedules, Path], None]] = {}
    if attempts_out is not None:
        outputs[attempts_out] = table_writer(attempts_out, _attempts)
    if gantt is not None:
        require_figure(gantt)

        def write(schedules: Schedules, path: Path) -> None:
            from experiments import figures  # noqa: PLC0415  matplotlib is slow to import

            figures.save(figures.gantt(schedules, start_s=drawn[0], end_s=drawn[1]), path)

        outputs[gantt] = write
    return outputs


def _attempts(schedules: Schedules) -> pd.DataFrame:
    """Return the table of all attempts, heuristic by heuristic."""
    return pd.concat([each.runs.assign(heuristic=name) for name, each in schedules.items()], ignore_index=True)
