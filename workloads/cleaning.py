"""Cleaning: named filters that take out of a log, or mend, what a study cannot use, and count it by reason.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017 (`strong`,
`program`).

L. de Sousa Rosa, D. Carastan-Santos and A. Goldman, "An experimental analysis of regression-obtained HPC scheduling
heuristics", JSSPP 2023 (`regression`).

E. Gaussier, D. Glesser, V. Reis and D. Trystram, "Improving backfilling by using machine learning to predict running
times", SC 2015, doi:10.1145/2807591.2807646 (`published`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, require_known
from simmodels.ground.arguments import as_tuple
from simmodels.ground.instants import too_far
from simmodels.ground.numbers import as_integer
from simmodels.units import WEEK
from simmodels.work.workload import Workload, WorkloadLike

Rows = NDArray[np.bool_]
_HARDLY: Final = 0.05


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a filter looks for.

    Parameters
    ----------
    reason
        The fault that a job has, in words.
    hits
        Given the workload and the cores of the machine, bool[n]: which jobs have it.
    mend
        What makes a workload of the jobs that have it good again; None: they are dropped.
    """

    reason: str
    hits: Callable[[Workload, int], Rows]
    mend: Callable[[Workload], Workload] | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A named way to clean a log: its steps are taken in order, each on what the ones before left.

    Parameters
    ----------
    name
        What it is called in `clean`.
    about
        What it does, in words, and where it comes from.
    steps
        What it looks for. A job is counted under the first reason for which it is dropped; what is
        mended comes last, so that only jobs that stay are counted there.
    """

    name: str
    about: str
    steps: tuple[Step, ...]


def clean(workload: WorkloadLike, filters: str | Sequence[str] = "strong", *, cores: int | None = None) -> Workload:
    """Return the workload without the jobs that the filters drop, and with those that they mend.

    Parameters
    ----------
    workload
        The jobs as the log has them.
    filters
        The name of a filter, or several that are applied one after the other; see `FILTERS`.
    cores
        The size of the machine; None for the workload's `max_cores`.

    Returns
    -------
    Workload
        Its `counts` have, besides those it came with, ``"dropped: <reason>"`` and ``"mended: <reason>"``
        for each reason that was looked for, 0 where no job had it. No job is dropped without one. Its
        `max_cores` is the size of the machine if that was given.

    Raises
    ------
    UnknownNameError
        A filter that `FILTERS` does not have.
    RequestError
        The size of the machine is needed, and neither `cores` nor the workload says it; or `cores` is
        below 1.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> log = sm.Workload(job_id=[1, 2], submit_s=[0, 0], runtime_s=[5, -1], estimate_s=[9, 9], cores=[1, 1])
    >>> wl.clean(log, "strong", cores=4).counts["dropped: runtime < 0"]
    1
    """
    workload = Workload.of(workload)
    if cores is not None:
        cores = as_integer("cores", cores, 1, also="None")
    size = workload.max_cores if cores is None else cores
    counts = dict(workload.counts)
    named = (filters,) if isinstance(filters, str) else as_tuple("filters", filters, "a filter or a list of them")
    for name in named:
        require_known("filter", name, FILTERS)
        chosen = FILTERS[name]
        if size is None:
            what = f"filter {name!r} depends on the machine's cores, which workload {workload.name!r} does not have"
            raise RequestError(what, "add cores=")
        for step in chosen.steps:
            hits = step.hits(workload, size)
            key = f"{'dropped' if step.mend is None else 'mended'}: {step.reason}"
            counts[key] = counts.get(key, 0) + int(hits.sum())
            if hits.any():
                workload = workload.take(~hits) if step.mend is None else step.mend(workload)
    return replace(workload, counts=counts, max_cores=size)


def _sizes(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return allocated and requested cores; of a workload that has one number only, that number twice."""
    allocated = workload.extras.get("allocated_cores", workload.cores)
    requested = workload.extras.get("requested_cores", workload.cores)
    return np.asarray(allocated, dtype=np.int64), np.asarray(requested, dtype=np.int64)


def _no_request(workload: Workload, _: int) -> Rows:
    """Return which jobs come without an estimate: in a log, without a requested time > 0."""
    return workload.unlimited() | (workload.estimate_s <= 0)


def _no_request_but_others(workload: Workload, _: int) -> Rows:
    """Return which jobs come without an estimate, if others of the workload have one."""
    missing = _no_request(workload, _)
    return missing & ~missing.all()


def _use_the_size_that_is_there(workload: Workload) -> Workload:
    """Return the workload with the number of cores that is positive, where only one of the two is."""
    sizes = _sizes(workload)
    return replace(workload, cores=np.where(np.minimum(*sizes) < 1, np.maximum(*sizes), workload.cores))


def _beyond_limit(workload: Workload, _: int) -> Rows:
    """Return which jobs ran beyond their limit, if they had one."""
    return (workload.estimate_s < workload.runtime_s) & ~workload.unlimited()


def _cut_at_estimate(workload: Workload) -> Workload:
    """Return the workload with no runtime beyond its estimate."""
    return replace(workload, runtime_s=np.minimum(workload.runtime_s, workload.estimate_s))


def _estimate_by_runtime(workload: Workload) -> Workload:
    """Return the workload, in which no job has an estimate, with the runtimes for estimates."""
    return replace(workload, estimate_s=workload.runtime_s)


def _thin_ends(workload: Workload, _: int) -> Rows:
    """Return which jobs were submitted in the weeks at either end of the log in which hardly any was."""
    submit_s = workload.submit_s
    if not len(submit_s):
        return np.zeros(0, dtype=np.bool_)
    weeks, week = np.unique((submit_s - submit_s.min()) // WEEK, return_inverse=True)
    jobs = np.bincount(week, minlength=len(weeks))
    busy = np.flatnonzero(jobs >= _HARDLY * np.median(jobs))
    thin: Rows = (week < busy[0]) | (week > busy[-1])
    return thin


_TOO_WIDE: Final = Step("cores exceed the machine", lambda w, m: w.cores > m)
_NO_CORES: Final = Step("cores < 1", lambda w, _: w.cores < 1)
_STRONG: Final = (
    Step("allocated or requested cores exceed the machine", lambda w, m: np.maximum(*_sizes(w)) > m),
    Step("neither allocated nor requested cores are positive", lambda w, _: np.maximum(*_sizes(w)) < 1),
    Step("runtime < 0", lambda w, _: w.runtime_s < 0),
    Step("submit < 0", lambda w, _: w.submit_s < 0),
)
_OTHER_SIZE: Final = Step(
    "one of allocated and requested cores is not positive, the other is used",
    lambda w, _: np.minimum(*_sizes(w)) < 1,
    _use_the_size_that_is_there,
)

_ALL: Final = (
    Filter(
        "runnable",
        "drop what cannot be simulated, and nothing else",
        (
            _NO_CORES,
            _TOO_WIDE,
            Step("runtime < 0", lambda w, _: w.runtime_s < 0),
            Step("estimate < 0", lambda w, _: w.estimate_s < 0),
            Step("times beyond 2**53 s", lambda w, _: too_far(w.submit_s, w.submit_s + w.runtime_s)),
        ),
    ),
    Filter(
        "strong",
        "drop impossible jobs as Reis et al. (2017) do; if one of two numbers of cores is missing, use the other",
        (*_STRONG, _OTHER_SIZE),
    ),
    Filter(
        "program",
        "as strong, and drop jobs that ran beyond their limit, as the program of Reis et al. does",
        (*_STRONG, Step("estimate < runtime", _beyond_limit), _OTHER_SIZE),
    ),
    Filter(
        "regression",
        "drop jobs without cores, runtime or limit, as Rosa, Carastan-Santos and Goldman (JSSPP 2023) do",
        (
            Step("runtime <= 0", lambda w, _: w.runtime_s <= 0),
            _NO_CORES,
            _TOO_WIDE,
            Step("estimate <= 0", _no_request_but_others),
            Step("no job has an estimate, the runtime is used", _no_request, _estimate_by_runtime),
        ),
    ),
    Filter(
        "published",
        "as regression, and cut runs at their limit, as Gaussier, Glesser, Reis and Trystram (SC 2015) do",
        (
            Step("runtime <= 0", lambda w, _: w.runtime_s <= 0),
            Step("estimate <= 0", _no_request),
            _NO_CORES,
            _TOO_WIDE,
            Step("runtime cut at the estimate", lambda w, _: w.runtime_s > w.estimate_s, _cut_at_estimate),
        ),
    ),
    Filter(
        "ends",
        "drop the weeks at either end of the log with hardly a job: below 5 % of those of the median week",
        (Step("in a week at an end of the log with hardly a job", _thin_ends),),
    ),
)

FILTERS: Final[Mapping[str, Filter]] = MappingProxyType({chosen.name: chosen for chosen in _ALL})
"""The filters by name."""
