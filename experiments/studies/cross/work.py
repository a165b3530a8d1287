"""The work of the cross study: windows of a log, of a slice of Borg and of workflows at one load; what is learned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import workloads as wl
from experiments.inputs import WorkloadFile
from experiments.learning import LearningSettings
from experiments.studies.cross.settings import Platform
from simmodels import DAY, FOREVER, Polynomial, RequestError, Workflow, Workload
from simmodels.ground.streams import entropy

_WIDTHS: Final = (1, 2, 4, 8, 12, 16)
_SIZE: Final = (0.569, 4.5)
_LEARNED_FROM: Final = 3.0
"""Workflows of this many windows are learned from."""


class Work(NamedTuple):
    """What is run of a workload, window by window, and what is known of it before.

    Parameters
    ----------
    windows
        The jobs of each replication, the first of each submitted at 0.
    reference
        The jobs that come before all of them: they say risks, and are learned from.
    theta, terms
        The order that was learned.
    left_out
        How many jobs are wider than a machine, or have no runtime.
    """

    windows: tuple[Workload, ...]
    reference: Workload
    theta: tuple[float, ...]
    terms: tuple[str, ...]
    left_out: int

    @property
    def learned(self) -> Polynomial:
        """The order that was learned."""
        return Polynomial(self.theta, self.terms, name="learned")


class _Part(NamedTuple):
    """Jobs, or workflows, of a workload: those before all windows, those of each, and how many were left out."""

    before: Workload
    windows: list[Workload]
    left_out: int


def work_of(name: str, of: Mapping[str, Any], replications: int, seed: int) -> Work:
    """Return what is run of a workload, given the parameters of the study: as many windows as there are replications.

    Raises
    ------
    FileFormatError, RequestError
        A file cannot be read, or has not enough work for as many windows.
    """
    share = 0.5 if name == "mixed" else 1.0
    parts = [] if name == "workflows" else [_jobs("Borg" if name == "Borg" else "log", of, share, replications, seed)]
    if name in {"workflows", "mixed"}:
        parts.append(_workflows(of, share * of["load"], replications, seed))
    reference = _numbered([part.before for part in parts], name)
    windows = tuple(_numbered(each, name) for each in zip(*(part.windows for part in parts), strict=True))
    lesson = LearningSettings(form="LIN", pairs=of["pairs"], trials=of["trials"], tau_s=of["tau_s"], seed=seed)
    # On a machine that the first 16 jobs of a trial fill: of all the cores they would leave most free.
    fit = lesson.fit(replace(reference, max_cores=of["trial_cores"]))
    # As many digits as are sure to be the same wherever it is fitted.
    theta = tuple(float(f"{value:.9g}") for value in fit.theta)
    return Work(windows, reference, theta, fit.terms, sum(part.left_out for part in parts))


def _numbered(parts: Sequence[Workload], name: str) -> Workload:
    """Return parts as one workload, in which each job has a number of its own."""
    numbered, count = [], 0
    for part in parts:
        if part.tasks is None:
            numbered.append(replace(part, job_id=count + np.arange(len(part)), extras={}, counts={}, header=()))
            count += len(part)
            continue
        flows = [replace(flow, job_id=count + number) for number, flow in enumerate(part.workflows)]
        numbered.append(Workload.of_workflows(flows))
        count += len(flows)
    return Workload.concat(numbered, name=name)


# -- logs -------------------------------------------------------------------------------------------


def _jobs(kind: str, of: Mapping[str, Any], share: float, replications: int, seed: int) -> _Part:
    """Return windows of a log, each with this share of the load of the machines; they have no job in common."""
    platform = Platform.of(of)
    path = of["log"] if kind == "log" else of["borg"]
    if path:
        size = None if kind == "log" else platform.mean_cores  # a slice does not say it
        log = WorkloadFile(path=Path(path), drop_oversized=True, cores=size).read()
        return _cut(log, of, share, replications)
    jobs = 500 * (replications + 2)
    while True:
        try:
            return _cut(_generated(kind, jobs, platform, seed), of, share, replications)
        except RequestError:
            jobs *= 2


def _generated(kind: str, jobs: int, platform: Platform, seed: int) -> Workload:
    """Return a substitute for a log, or for a slice of Borg."""
    if kind == "log":
        made = wl.lublin(jobs=jobs, cores=4 * platform.cores, load=0.8, seed=entropy(seed, "cross", "log"))
        return wl.tsafrir_estimates(made, seed=entropy(seed, "cross", "estimates"))
    per_week = 2_000
    return wl.variable_capacity_jobs(
        "LogScale", weeks=jobs / per_week, jobs_per_week=per_week, load=platform.machines,
        cores_per_machine=max(platform.cores, 8), seed=entropy(seed, "cross", "Borg"),
    )  # fmt: skip


def _cut(log: Workload, of: Mapping[str, Any], share: float, replications: int) -> _Part:
    """Return the windows of a log: of the jobs that run, inside one machine, by submission."""
    platform = Platform.of(of)
    kept = np.flatnonzero(log.runnable(platform.cores) & (log.runtime_s > 0) & (log.estimate_s > 0))
    kept = kept[np.argsort(log.submit_s[kept], kind="stable")]
    jobs = replace(log.take(kept), extras={}, counts={}, header=())
    work = of["load"] * platform.mean_cores * of["window_days"] * DAY
    done = np.cumsum(jobs.runtime_s * jobs.cores)
    total = float(done[-1]) if len(done) else 0.0
    begins = [int(np.searchsorted(done, of["learn_on"] * total))]
    for _ in range(replications):
        before = float(done[begins[-1] - 1]) if begins[-1] else 0.0
        begins.append(int(np.searchsorted(done, before + work)) + 1)
        if begins[-1] > len(jobs):
            what = f"{jobs.name} has work for {len(begins) - 2} windows, not for {replications}"
            raise RequestError(what, f"set replications={max(len(begins) - 2, 1)}, or fewer window_days or machines")
    windows = [_filled(jobs, begin, share * work, of["window_days"] * DAY) for begin in begins[:-1]]
    return _Part(jobs.take(slice(0, begins[0])), windows, len(log) - len(jobs))


def _filled(jobs: Workload, begin: int, work: float, length_s: float) -> Workload:
    """Return the jobs from one on that make up some work, their submissions stretched to fill a window."""
    done = np.cumsum((jobs.runtime_s * jobs.cores)[begin:])
    count = min(int(np.searchsorted(done, work)) + 1, len(done))
    part = jobs.take(slice(begin, begin + count))
    since_s = part.submit_s - part.submit_s[0]
    span_s = float(since_s[-1])
    by = length_s * (count - 1) / count / span_s if span_s > 0 else 0.0
    return replace(part, submit_s=since_s * by)


# -- workflows --------------------------------------------------------------------------------------


def _workflows(of: Mapping[str, Any], load: float, replications: int, seed: int) -> _Part:
    """Return windows of workflows, of a folder or generated ones, at a load; those before are jobs that wait for none.

    Workflows of a folder that cannot run inside one machine are left out.
    """
    platform, days = Platform.of(of), of["window_days"]
    kept, left_out = None, 0
    if of["workflow_files"]:
        given = wl.read_workflows(of["workflow_files"])
        kept = [flow for flow in given if int(flow.cores.max()) <= platform.cores]
        left_out = len(given) - len(kept)
        if not kept:
            raise RequestError(f"no workflow of {of['workflow_files']} runs on machines of {platform.cores} cores")

    def drawn(length_s: float, which: int | str) -> Workload:
        draws = entropy(seed, "cross", "workflows", which)
        return Workload.of_workflows(_flows(kept, platform, load, length_s, draws))

    windows = [drawn(days * DAY, number) for number in range(replications)]
    before = drawn(_LEARNED_FROM * days * DAY, "before")
    return _Part(before.take(slice(0, len(before))), windows, left_out)


def _flows(
    instances: list[Workflow] | None, platform: Platform, load: float, length_s: float, seed: int
) -> list[Workflow]:
    """Return workflows submitted in a window, at a load; each is followed by the next after its own work."""
    jobs = 64
    while True:
        if instances is None:
            widths = tuple(width for width in _WIDTHS if width <= platform.cores)
            sizes = wl.MarketParameters(core_sizes=widths, log10_volume=_SIZE)
            made = wl.market_workload(
                jobs, load=load, cores=platform.mean_cores, seed=seed, week=None, parameters=sizes
            )
        else:
            made = wl.arrivals(instances, jobs, load=load, cores=platform.mean_cores, seed=seed)
        if made[-1].submit_s >= length_s:
            # An auction drops a workflow that is worth nothing any more, and other deciders do not: none loses value.
            return [replace(flow, curve=FOREVER) for flow in made if flow.submit_s < length_s]
        jobs *= 2
