"""Weights: the multifactor priority of a batch system that is most like an order.

References
----------
Slurm's priority/multifactor plugin: a job's priority is a weighted sum of factors between 0 and 1.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from simmodels.errors import RequestError
from simmodels.policies.order import Order
from simmodels.policies.orders import find_order
from simmodels.schedule import Schedule
from simmodels.streams import stream
from simmodels.units import DAY
from simmodels.workload import Workload

_PAIRS: Final = 20_000
_NEIGHBOURS: Final = 100
_MAX_AGE_S: Final = 7 * DAY
"""Slurm's PriorityMaxAge, by default: beyond it, age adds nothing."""
_LARGEST_WEIGHT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a multifactor priority: the job with the larger sum goes first.

    Parameters
    ----------
    age, size, limit
        The weights of the age (waited so long, as a part of seven days, at most 1), the size (cores, as a part of the
        machine) and the time limit (as a part of `longest_s`); whole numbers.
    cores, longest_s
        The machine, and the longest limit of a job.
    alike
        Which part of the pairs of jobs that waited together they put in the same order as the order they are fitted to.
    """

    age: int
    size: int
    limit: int
    cores: int
    longest_s: float
    alike: float

    def order(self) -> Order:
        """Return the order by these weights."""
        age, size, limit = float(self.age), float(self.size) / self.cores, float(self.limit) / self.longest_s
        oldest = _MAX_AGE_S

        def by_weights(estimate: float, cores: float, wait: float) -> float:
            return -(age * min(wait / oldest, 1.0) + size * cores + limit * estimate)

        return Order("weights", by_weights)

    def row(self) -> dict[str, Any]:
        """Return what a table shows of them."""
        return {"weight_age": self.age, "weight_size": self.size, "weight_limit": self.limit, "alike": self.alike}


def fit_weights(schedule: Schedule, like: str) -> Weights:
    """Return the weights of a multifactor priority that put jobs most like an order does.

    Pairs of jobs are drawn that waited at the same time; of each it is known which one the order puts first. The
    weights are those of a logistic regression on the differences of the factors (without a constant, and with a small
    penalty so that there always is one solution), scaled to whole numbers.

    Parameters
    ----------
    schedule
        Who waited when.
    like
        The order.

    Raises
    ------
    RequestError
        No two jobs waited at the same time.
    """
    workload, cores = schedule.workload, schedule.cores
    first, second, when_s = _waited_together(schedule)
    longest_s = float(workload.estimate_s.max(initial=1.0))

    def factors(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        age = np.minimum((when_s - workload.submit_s[rows]) / _MAX_AGE_S, 1.0)
        return np.column_stack((age, workload.cores[rows] / cores, workload.estimate_s[rows] / longest_s))

    order = find_order(like)
    keys = [_keys(order, workload, rows, when_s) for rows in (first, second)]
    differences = factors(first) - factors(second)
    ahead = np.where(keys[0] == keys[1], first < second, keys[0] < keys[1])  # ties by submit: the smaller row
    signed = differences * np.where(ahead, 1.0, -1.0)[:, None]
    scale = np.maximum(signed.std(axis=0), 1e-12)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = signed / scale @ weights
        value = np.logaddexp(0.0, -margin).mean() + 1e-4 * float(weights @ weights)
        slope = -(signed / scale * (1.0 / (1.0 + np.exp(np.clip(margin, -500, 500))))[:, None]).mean(axis=0)
        return float(value), slope + 2e-4 * weights

    found = minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x / scale
    whole = np.round(found / max(np.abs(found).max(), 1e-300) * _LARGEST_WEIGHT).astype(int)
    alike = float(((signed @ whole) > 0).mean())
    return Weights(int(whole[0]), int(whole[1]), int(whole[2]), cores, longest_s, alike)


def _keys(
    order: Order, workload: Workload, rows: NDArray[np.int64], when_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the keys of jobs in an order at an instant each."""
    known = {
        "submit": workload.submit_s[rows],
        "estimate": workload.estimate_s[rows],
        "runtime": workload.runtime_s[rows],
        "cores": workload.cores[rows].astype(np.float64),
        "wait": when_s - workload.submit_s[rows],
        "now": when_s,
    }
    asked = [known[name] for name in order.needs]
    return np.array([order.function(*values) for values in zip(*asked, strict=True)], dtype=np.float64)


def _waited_together(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of jobs that waited at the same time, drawn by chance, and an instant at which both did."""
    submit_s, start_s = schedule.workload.submit_s, schedule.start_s
    waited = np.flatnonzero(start_s > submit_s)
    waited = waited[np.argsort(submit_s[waited], kind="stable")]
    draws = stream(0, "pairs")
    if len(waited) < 2:
        raise RequestError("no two jobs of the log waited at the same time", "a log with a queue is needed")
    one = draws.integers(len(waited), size=8 * _PAIRS)
    other = one + draws.integers(1, _NEIGHBOURS, size=len(one))
    inside = other < len(waited)
    first, second = waited[one[inside]], waited[other[inside]]
    begin_s = np.maximum(submit_s[first], submit_s[second])
    end_s = np.minimum(start_s[first], start_s[second])
    both = np.flatnonzero(begin_s < end_s)[:_PAIRS]
    if not len(both):
        raise RequestError("no two jobs of the log waited at the same time", "a log with a queue is needed")
    when_s = begin_s[both] + draws.random(len(both)) * (end_s[both] - begin_s[both])
    return first[both], second[both], when_s
