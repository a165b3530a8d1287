"""The work of the cross study: windows of a log, of a slice of Borg and of workflows at one load; what is learned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from experiments.inputs import WorkloadFile
from experiments.learning import LearningSettings
from experiments.studies.cross.settings import Platform
from simmodels.errors import RequestError
from simmodels.ground.streams import entropy
from simmodels.policies.polynomial import Polynomial
from simmodels.units import DAY
from simmodels.work.curve import FOREVER
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Workload
from workloads.arrivals import arrivals, read_workflows
from workloads.lublin import lublin
from workloads.perotin import variable_capacity_jobs
from workloads.tsafrir import tsafrir_estimates
from workloads.workflow_mix import MarketParameters, market_workload

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


class _Log(NamedTuple):
    """A log, cut: what is learned from, where each window begins, and what was left out."""

    jobs: Workload
    first: Workload
    begins: tuple[int, ...]
    left_out: int


def work_of(name: str, of: Mapping[str, Any], replications: int, seed: int) -> Work:
    """Return what is run of a workload.

    Parameters
    ----------
    name
        One of `experiments.studies.cross.settings.WORKLOADS`.
    of
        The parameters of the study.
    replications
        How many windows are needed.
    seed
        The campaign's seed.

    Raises
    ------
    FileFormatError, RequestError
        A file cannot be read, or has not enough work for as many windows.
    """
    platform = Platform.of(of)
    share = 0.5 if name == "mixed" else 1.0
    wanted = share * of["load"] * platform.mean_cores * of["window_days"] * DAY
    windows: list[list[Workload]] = [[] for _ in range(replications)]
    before, left_out = [], 0
    if name != "workflows":
        log = _cut("Borg" if name == "Borg" else "log", of, replications, seed)
        left_out = log.left_out
        before.append(log.first)
        for window, begin in zip(windows, log.begins, strict=True):
            window.append(_filled(log.jobs, begin, wanted, of["window_days"] * DAY))
    if name in {"workflows", "mixed"}:
        instances, dropped = _instances(of, platform)
        left_out += dropped
        load = share * of["load"]
        made = [
            _flows(instances, platform, load, of["window_days"] * DAY, entropy(seed, "cross", "workflows", number))
            for number in range(replications)
        ]
        for window, flows in zip(windows, made, strict=True):
            window.append(Workload.of_workflows(flows))
        length_s = _LEARNED_FROM * of["window_days"] * DAY
        first = _flows(instances, platform, load, length_s, entropy(seed, "cross", "workflows", "before"))
        tasks = Workload.of_workflows(first)
        before.append(tasks.take(slice(0, len(tasks))))  # as jobs that wait for no other
    reference = _numbered(before, name)
    lesson = LearningSettings(form="LIN", pairs=of["pairs"], trials=of["trials"], tau_s=of["tau_s"], seed=seed)
    # On a machine that the first 16 jobs of a trial fill: of all the cores they would leave most free.
    fit = lesson.fit(replace(reference, max_cores=of["trial_cores"]))
    # As many digits as are sure to be the same wherever it is fitted.
    theta = tuple(float(f"{value:.9g}") for value in fit.theta)
    return Work(tuple(_numbered(parts, name) for parts in windows), reference, theta, fit.terms, left_out)


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


def _cut(kind: str, of: Mapping[str, Any], replications: int, seed: int) -> _Log:
    """Return a log with the begins of its windows: each has the same work, and they have no job in common."""
    platform = Platform.of(of)
    work = of["load"] * platform.mean_cores * of["window_days"] * DAY
    path = of["log"] if kind == "log" else of["borg"]
    if path:
        size = None if kind == "log" else platform.mean_cores  # a slice does not say it
        log = WorkloadFile(path=Path(path), drop_oversized=True, cores=size).read()
        return _cut_at(_narrow(log, platform.cores), of, work, replications)
    jobs = 500 * (replications + 2)
    while True:
        try:
            return _cut_at(_narrow(_generated(kind, jobs, platform, seed), platform.cores), of, work, replications)
        except RequestError:
            jobs *= 2


def _generated(kind: str, jobs: int, platform: Platform, seed: int) -> Workload:
    """Return a substitute for a log, or for a slice of Borg."""
    if kind == "log":
        made = lublin(jobs=jobs, cores=4 * platform.cores, load=0.8, seed=entropy(seed, "cross", "log"))
        return tsafrir_estimates(made, seed=entropy(seed, "cross", "estimates"))
    per_week = 2_000
    return variable_capacity_jobs(
        "LogScale", weeks=jobs / per_week, jobs_per_week=per_week, load=platform.machines,
        cores_per_machine=max(platform.cores, 8), seed=entropy(seed, "cross", "Borg"),
    )  # fmt: skip


def _narrow(log: Workload, cores: int) -> tuple[Workload, int]:
    """Return the jobs that run, inside one machine, by submission; and how many others there are."""
    kept = np.flatnonzero(log.runnable(cores) & (log.runtime_s > 0) & (log.estimate_s > 0))
    kept = kept[np.argsort(log.submit_s[kept], kind="stable")]
    return replace(log.take(kept), extras={}, counts={}, header=()), len(log) - len(kept)


def _cut_at(found: tuple[Workload, int], of: Mapping[str, Any], work: float, replications: int) -> _Log:
    jobs, left_out = found
    done = np.cumsum(jobs.runtime_s * jobs.cores)
    total = float(done[-1]) if len(done) else 0.0
    first = int(np.searchsorted(done, of["learn_on"] * total))
    begins = [first]
    for _ in range(replications):
        before = float(done[begins[-1] - 1]) if begins[-1] else 0.0
        begins.append(int(np.searchsorted(done, before + work)) + 1)
        if begins[-1] > len(jobs):
            what = f"{jobs.name} has work for {len(begins) - 2} windows, not for {replications}"
            raise RequestError(what, f"set replications={max(len(begins) - 2, 1)}, or fewer window_days or machines")
    return _Log(jobs, jobs.take(slice(0, first)), tuple(begins[:-1]), left_out)


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


def _instances(of: Mapping[str, Any], platform: Platform) -> tuple[list[Workflow] | None, int]:
    """Return the workflows of a folder that can run inside one machine, and how many cannot; None: generated ones."""
    if not of["workflow_files"]:
        return None, 0
    given = read_workflows(of["workflow_files"])
    kept = [flow for flow in given if int(flow.cores.max()) <= platform.cores]
    if not kept:
        raise RequestError(f"no workflow of {of['workflow_files']} runs on machines of {platform.cores} cores")
    return kept, len(given) - len(kept)


def _flows(
    instances: list[Workflow] | None, platform: Platform, load: float, length_s: float, seed: int
) -> list[Workflow]:
    """Return workflows submitted in a window, at a load; each is followed by the next after its own work."""
    jobs = 64
    while True:
        if instances is None:
            widths = tuple(width for width in _WIDTHS if width <= platform.cores)
            sizes = MarketParameters(core_sizes=widths, log10_volume=_SIZE)
            made = market_workload(jobs, load=load, cores=platform.mean_cores, seed=seed, week=None, parameters=sizes)
        else:
            made = arrivals(instances, jobs, load=load, cores=platform.mean_cores, seed=seed)
        if made[-1].submit_s >= length_s:
            # An auction drops a workflow that is worth nothing any more, and other deciders do not: none loses value.
            return [replace(flow, curve=FOREVER) for flow in made if flow.submit_s < length_s]
        jobs *= 2
