"""simulate_many: the figures of merit of many small simulations, made side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError
from simmodels.ground.arguments import as_tuple, by_name, listed
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer, as_seed
from simmodels.ground.threads import as_threads, in_threads
from simmodels.policies.naming import Given
from simmodels.policies.options import takes_options
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.batch import Batch
from simmodels.results.job_figures import OF_JOBS
from simmodels.simulate import simulate
from simmodels.work.workload import Workload, WorkloadLike

if TYPE_CHECKING:
    from simmodels.policies.option_types import SimulateManyOptions

_ELSEWHERE: Final = ("limits", "shares")
_PARTS: Final = 4
"""In how many parts each thread's share of the logs is cut, since some take longer than others."""


@by_name("for example simulate_many(logs, ['FCFS', 'SAF'], cores=64)")
@takes_options(QueueOptions, only=lambda name: name not in {"order", *_ELSEWHERE})
def simulate_many(
    logs: Iterable[WorkloadLike],
    orders: Sequence[Given | Mapping[str, Any]],
    *,
    cores: int | None = None,
    tau_s: Duration = 10.0,
    seed: int = 0,
    workers: int | None = None,
    **options: "Unpack[SimulateManyOptions]",
) -> dict[str, NDArray[np.float64]]:
    """Return the figures of merit of each log under each order, as ``simulate(log, order=order).metrics()`` has them.

    Parameters
    ----------
    logs
        Workloads of rigid jobs, or what stands for them (see `Workload.of`); each has a pool of cores of its own.
    orders
        Orders, or options of a queue by name, ``{"order": "SAF", "backfilling": "none"}``, which go before those that
        all have.
    cores
        The size of each pool; by default the log's ``max_cores``.
    tau_s
        As in `Schedule.metrics`.
    seed
        Of what is drawn; each log draws as it would alone.
    workers
        How many threads; by default one for each processor. The results do not depend on it.
    options
        What all have: those of `simmodels.policies.queue_options.QueueOptions` but limits and shares.

    Returns
    -------
    dict
        float64[logs, orders] by the name of the metric (see `Schedule.metrics`), equal to those of the single
        simulations to the last bit.

    Raises
    ------
    ImpossibleJobError, UnknownNameError, RequestError
        As in `simulate`; and if a log has workflows, or an option needs machines, routers, limits, shares, or, for an
        order that cannot be compiled, the interpreter.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> logs = [wl.lublin(jobs=200, cores=64, seed=seed) for seed in range(3)]
    >>> found = sm.simulate_many(logs, ["FCFS", "SAF", {"order": "SAF", "backfilling": "none"}], cores=64)
    >>> found["mean_wait_s"].shape
    (3, 3)
    >>> alone = sm.simulate(logs[2], cores=64, order="SAF").metrics()
    >>> all(alone[name] == column[2, 1] for name, column in found.items())
    True
    """
    work = [Workload.of(each) for each in as_tuple("logs", logs, "a list of workloads")]
    given = as_tuple("orders", orders, "a list of orders, or of options")
    policies: list[dict[str, Any]] = [
        {**options, **(each if isinstance(each, Mapping) else {"order": each})} for each in given
    ]
    kinds = [_checked(each) for each in policies]
    sizes = [_size(each, cores) for each in work]
    batch = Batch(work, sizes, seed=as_seed(seed), tau_s=as_seconds("tau_s", tau_s, above=0))
    threads = as_threads(workers)
    cuts = np.linspace(0, len(work), min(len(work), _PARTS * threads) + 1).astype(int).tolist()
    tasks = [batch.task(each) for each in kinds]
    parts = [(number, range(*cut)) for number in range(len(tasks)) for cut in pairwise(cuts)]
    refused = in_threads(lambda part, stop: tasks[part[0]].run(part[1], stop), parts, threads)
    for log, (number, _) in zip(refused, parts, strict=True):
        if log >= 0:  # alone, it says why
            simulate(work[log], cores=sizes[log], seed=seed, **policies[number])
    found = np.array([task.found for task in tasks]).reshape(len(tasks), len(work), len(OF_JOBS))
    return dict(zip(OF_JOBS, np.ascontiguousarray(found.transpose(2, 1, 0)), strict=True))


def _checked(policy: Mapping[str, Any]) -> QueueOptions:
    """Return the options of a queue; refuse what a batch cannot do."""
    names = [name for name in policy if name in _others()]
    if names:
        what = f"simulate_many with {listed(names)}"
        raise RequestError(what, "it knows a queue on a pool of cores; call simulate for each log")
    kind = QueueOptions.checked(**policy)
    for each in kind.both:
        if kind.shares is not None or not each.compiled:
            why = "asks what users have used" if kind.shares is not None else "cannot be compiled"
            raise RequestError(f"simulate_many with order {each.name!r}, which {why}", "call simulate for each log")
    return kind


@cache
def _others() -> frozenset[str]:
    """Return the names of what `simulate` takes, and a batch does not."""
    own = {each.name for each in fields(QueueOptions)} - {*_ELSEWHERE}
    return frozenset(signature(simulate).parameters.keys() - own)


def _size(log: Workload, cores: int | None) -> int:
    """Return the size of the pool of a log."""
    if not log.is_rigid:
        raise RequestError(f"simulate_many of {log.name!r}, which has workflows", "call simulate for each log")
    size = log.max_cores if cores is None else cores
    if size is None:
        raise RequestError(f"the size of the machine of {log.name!r} is unknown", "give cores=")
    return as_integer("cores", size, 1)
