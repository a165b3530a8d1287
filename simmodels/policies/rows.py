"""Rows: what the orders of a queue know of a job beyond the numbers that a queue keeps by itself.

Each order of a queue has a matrix: a row for each slot, a column for each further characteristic that it names.
Compiled code hands the order the address of the row (0 columns cost nothing), and the order reads what it names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError
from simmodels.ground.numbers import Floats
from simmodels.passes.reading import area_of, factor_of, number_at, share_at, slr_at
from simmodels.policies.associations import Associations
from simmodels.work.curve import FOREVER, ValueCurve, tails
from simmodels.work.vocabulary import IN_QUEUES, REGISTERS
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Workload

_SINCE: Final = "job's submission"  # no name that a function can have: of a task, its job's
_CURVE: Final = "value curve"  # the address of its points, which is exact as a float
_CELL, _NODE = "factors of users", "node of a user"  # likewise, of a tree of shares
_OF_SLR: Final = ("rank", "critical_path", _SINCE)
_COMPUTED: Final = {
    "slr": _OF_SLR,
    "factor": (*_OF_SLR, _CURVE),
    "area": (*_OF_SLR, _CURVE),
    "fairshare": (_CELL, _NODE),
}


def columns_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the row of a function that names these characteristics."""
    named = (_COMPUTED.get(word, (word,)) for word in words if word not in REGISTERS)
    return tuple(dict.fromkeys(column for columns in named for column in columns))


def arguments_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the characteristics as expressions of the parameters of a queue's C function."""
    at = {column: f"number_at(row, {place})" for place, column in enumerate(columns_of(words))}
    made = dict(at)
    if not {"slr", "factor", "area"}.isdisjoint(words):
        made["slr"] = f"slr_at({', '.join(at[column] for column in _OF_SLR)}, now)"
        made["factor"] = f"factor_of({at.get(_CURVE)}, {made['slr']})"
        made["area"] = f"area_of({at.get(_CURVE)}, {made['slr']})"
    if "fairshare" in words:
        made["fairshare"] = f"share_at({at[_CELL]}, {at[_NODE]})"
    return tuple(word if word in REGISTERS else made[word] for word in words)


def _table(curve: ValueCurve) -> Floats:
    """Return the points of a value curve in one block: how many, their SLRs, their factors, the areas from them on."""
    points = np.array(curve.points)
    slr, factor = points[:, 0].copy(), points[:, 1].copy()
    return np.concatenate(([float(len(points))], slr, factor, tails(slr, factor, np.array([0, len(points)]))))


READERS: Final = {each.__name__: each for each in (number_at, slr_at, factor_of, area_of, share_at)}
"""The functions that `arguments_of` names."""

# -- what is in a row -----------------------------------------------------------------------------------


@cache
def _forever() -> Floats:
    return _table(FOREVER)


_ALL: Final = np.ones(1)  # the factor of a user who has not used anything
_OF_ALL: Final = np.array([float(_ALL.ctypes.data)])


_OF_RIGID: Final[dict[str, Callable[[Any], Any]]] = {  # of a Job, or of the columns of a Workload
    "user": lambda of: of.user_id,
    "rank": lambda of: of.estimate_s,
    "critical_path": lambda of: of.estimate_s,
    "successor_work": lambda of: of.estimate_s * of.cores,
    "value": lambda of: of.estimate_s * of.cores,
    "deadline": lambda _: np.inf,
    "soft_deadline": lambda _: np.inf,
    _SINCE: lambda of: of.submit_s,
    _CURVE: lambda _: float(_forever().ctypes.data),
    _CELL: lambda _: float(_OF_ALL.ctypes.data),
    _NODE: lambda _: 0.0,
}
assert set(IN_QUEUES) == {*_OF_RIGID, *REGISTERS, *_COMPUTED} - {_SINCE, _CURVE, _CELL, _NODE}  # noqa: S101

_known: WeakKeyDictionary[Workflow, dict[str, Floats]] = WeakKeyDictionary()  # what tasks need, once for each workflow


def _of_tasks(flow: Workflow) -> dict[str, Floats]:
    """Return what is known of the tasks of a workflow, by column: of each task, or one number of all."""
    found = _known.get(flow)
    if found is None:
        rank_s, curve = flow.upward_rank_s(), _table(flow.curve)
        path_s = rank_s.max(keepdims=True)
        found = _known[flow] = {
            "rank": rank_s,
            "critical_path": path_s,
            "successor_work": flow.successor_sum_core_s(),
            "value": np.array([flow.most_value]),
            "deadline": flow.submit_s + flow.curve.final * path_s,
            "soft_deadline": flow.submit_s + flow.curve.initial * path_s,
            _CURVE: np.array([float(curve.ctypes.data)]),
            "": curve,  # kept, for its address is
        }
    return found


def row_of(columns: Sequence[str], job: Job) -> list[float]:
    """Return the row of a job, or of a task of a workflow; refuse one that has no number for a column."""
    flow: Workflow | None = getattr(job, "workflow", None)
    extras = job.extras or {}
    row = []
    for column in columns:
        if flow is not None and column in (of := _of_tasks(flow)):
            row.append(of[column][getattr(job, "task", 0) if len(of[column]) > 1 else 0])
        elif column in _OF_RIGID:
            row.append(_OF_RIGID[column](job))
        elif column in extras:
            row.append(extras[column])
        else:
            _refuse(column, job.job_id, tuple(extras))
    return row


def require_columns(columns: Sequence[str], workload: Workload) -> None:
    """Refuse a workload that has no numbers for a column."""
    for column in columns:
        if column not in _OF_RIGID and column not in workload.numbers and len(workload):
            _refuse(column, int(workload.job_id[0]), tuple(workload.numbers))


def _refuse(column: str, job_id: int, extras: Sequence[str]) -> None:
    what = f"an order names {column}, and job {job_id} has no such number"
    raise RequestError(what, f"it has {', '.join((*IN_QUEUES, *extras))}")


class Rows:
    """The rows of the jobs of a queue, for its order and its backfill order.

    Parameters
    ----------
    columns
        Those of the order, and those of the backfill order.
    slots
        How many there are.
    associations
        Whose usage they count to, if there are shares.

    Attributes
    ----------
    matrices
        Two float64[slots, columns], which a queue is given.
    names
        All columns.
    """

    def __init__(
        self, columns: tuple[Sequence[str], Sequence[str]], slots: int, associations: Associations | None = None
    ) -> None:
        self.columns = columns
        self.associations = associations
        self.names = tuple(dict.fromkeys((*columns[0], *columns[1])))
        self.matrices: tuple[Floats, Floats] = (_empty(slots, columns[0]), _empty(slots, columns[1]))

    def grow(self, slots: int) -> None:
        """Grow to at least `slots` slots."""
        first, second = (_empty(slots, columns) for columns in self.columns)
        for longer, matrix in zip((first, second), self.matrices, strict=True):
            longer[: len(matrix)] = matrix
        self.matrices = first, second

    def with_jobs(self, jobs: Mapping[int, Job], coming: Iterable[Job]) -> Self:
        """Return it with the rows of jobs, by slot; refuse one of them, or of those to come, without a number."""
        if self.names:
            for slot, job in jobs.items():
                self.fill(slot, job)
            for job in coming:
                row_of(self.names, job)
        return self

    def fill(self, slot: int, job: Job) -> None:
        """Write the rows of a job, whose user is known to the associations."""
        for columns, matrix in zip(self.columns, self.matrices, strict=True):
            matrix[slot] = self.row_of(columns, job)

    def row_of(self, columns: Sequence[str], job: Job) -> list[float]:
        """Return the row of a job."""
        row = row_of(columns, job)
        if self.associations is not None and _NODE in columns:
            at = columns.index(_CELL), columns.index(_NODE)
            row[at[0]], row[at[1]] = self.associations.of_job(job)
        return row

    def fill_all(self, workload: Workload, rows: NDArray[np.intp] | slice) -> None:
        """Write the rows of the rigid jobs in these rows of a workload, which must have numbers for each column."""
        require_columns(self.names, workload)
        if not len(workload):  # it may lack the columns
            return
        for columns, matrix in zip(self.columns, self.matrices, strict=True):
            for place, column in enumerate(columns):
                of_rigid = _OF_RIGID.get(column)
                numbers = workload.numbers[column] if of_rigid is None else of_rigid(workload)
                if self.associations is not None and column in {_CELL, _NODE}:
                    matrix[:, place] = self.associations.columns[column == _NODE]
                    continue
                matrix[:, place] = numbers if np.ndim(numbers) == 0 else numbers[rows]


def _empty(slots: int, columns: Sequence[str]) -> Floats:
    return np.empty((slots, len(columns)))
