"""Attempts: every run of a job or task, as columns; their tables, and that of the spans in which machines were off."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.capacity import Capacity
from simmodels.errors import RequestError, must_be
from simmodels.ground.compiled import compilable
from simmodels.ground.later import pd
from simmodels.ground.numbers import Floats, ranges, same
from simmodels.results import metrics
from simmodels.work.workload import Workload

COMPLETED: Final = 0
KILLED: Final = 1
UNFINISHED: Final = 2
OUTCOMES: Final = ("completed", "killed", "unfinished")
FINISHED, STARVED, REJECTED, OPEN = range(4)
WORKFLOW_OUTCOMES: Final = ("finished", "starved", "rejected", "unfinished")
Done = Literal["finished", "starved", "rejected"]
ATTEMPT_COLUMNS: Final = ("job_id", "attempt", "start_s", "end_s", "outcome")
MACHINE_COLUMNS: Final = ("machine", "work_s")
RULE_COLUMNS: Final = ("interval_s", "cost_s", "restart_s")
PART_TYPES: Final[dict[str, type[np.generic]]] = {  # a log has millions of parts
    "row": np.int32,
    "attempt": np.int32,
    "machine": np.int32,
    "machines": np.int32,
    "cores": np.int64,
}
PART_COLUMNS: Final = tuple(PART_TYPES)
_ATTEMPT_TYPES: Final[dict[str, type[np.generic]]] = {
    "attempt": np.int64,
    "start_s": np.float64,
    "end_s": np.float64,
    "outcome": np.int8,
    "cluster": np.int64,
    "machine": np.int64,
    "work_s": np.float64,
    "warned_s": np.float64,
    "earlier_s": np.float64,
    "stopped": np.bool_,
    "changed": np.bool_,
    "speed": np.float64,
    "interval_s": np.float64,
    "cost_s": np.float64,
    "restart_s": np.float64,
}
_UNKNOWN: Final[dict[str, float]] = dict.fromkeys(_ATTEMPT_TYPES, np.nan) | {
    "attempt": 1,
    "outcome": UNFINISHED,
    "cluster": 0,
    "machine": -1,
    "earlier_s": 0.0,
    "stopped": False,
    "changed": False,
}


class Attempts(NamedTuple):
    """Attempts at running jobs, one a row: first each job's last one, in input order, then the earlier ones."""

    row: NDArray[np.int64]  # the input row of the job
    attempt: NDArray[np.int64]  # its number, growing with time within a job
    start_s: NDArray[np.float64]  # in seconds since the trace's zero; NaN where it did not start
    end_s: NDArray[np.float64]  # likewise; NaN where it did not start, or still runs
    outcome: NDArray[np.int8]  # 0 completed, 1 killed, 2 came to nothing or still runs
    cluster: NDArray[np.int64]  # the number of the cluster that it ran on; -1 where it did not start
    machine: NDArray[np.int64]  # the number of its (lowest) machine there; -1 where that is not known
    work_s: NDArray[np.float64]  # for how long it did work that was not lost; NaN where that is not known
    warned_s: NDArray[np.float64]  # how long before it was lost a checkpoint was asked for; NaN if it was not
    earlier_s: NDArray[np.float64]  # how long it ran before the simulation began
    stopped: NDArray[np.bool_]  # whether it was lost though its machines stayed on
    # Whether only a cluster or a scheduler of the user's says how long it ran, by a law, another job or a limit of its
    # own.
    changed: NDArray[np.bool_]
    speed: NDArray[np.float64]  # how many seconds of the job it did in a second; NaN: as its cluster says
    # how it wrote checkpoints; NaN: as its cluster says, see `ClusterSpec`
    interval_s: NDArray[np.float64]
    cost_s: NDArray[np.float64]
    restart_s: NDArray[np.float64]

    @classmethod
    def of(cls, **known: NDArray[Any]) -> "Attempts":
        """Return attempts of which these columns are known, `row` among them; the others take no memory."""
        return cls(**{**_unknown(len(known["row"])), **known})

    def shown(self) -> dict[str, NDArray[Any]]:
        """Return the columns that a table of attempts always has, by name."""
        return {name: getattr(self, name) for name in self._fields[:8]}

    def take(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> "Attempts":
        """Return the attempts at these places."""
        return Attempts(*(column[chosen] for column in self))  # type: ignore[arg-type]  # each of its type

    def with_earlier(self, given: "Attempts") -> "Attempts":
        """Return these, the last of each job in input order, as the given ones say, and then the earlier ones.

        Parameters
        ----------
        given
            Attempts in any order; their numbers distinguish those of a job.
        """
        order = np.lexsort((given.attempt, given.row))
        last = np.append(np.diff(given.row[order]) != 0, True)
        final, earlier = order[last], order[~last]
        columns: list[NDArray[Any]] = [np.concatenate((self.row, given.row[earlier]))]
        for name in self._fields[1:]:
            column, theirs = getattr(self, name).copy(), getattr(given, name)
            column[given.row[final]] = theirs[final]
            columns.append(np.concatenate((column, theirs[earlier])))
        return Attempts(*columns)


@lru_cache(maxsize=8)
def _unknown(rows: int) -> Mapping[str, NDArray[Any]]:
    """Return the columns of attempts of which nothing is known, which are read-only and take no memory."""
    return {name: same(dtype(_UNKNOWN[name]), rows) for name, dtype in _ATTEMPT_TYPES.items()}


@compilable
def executed_by(outcome: NDArray[np.int8], runtime_s: Floats, estimate_s: Floats) -> Floats:
    """Return float64[n], how long each job that ended ran: its runtime, or its estimate if it was killed; else NaN."""
    ran_s = np.where(outcome == KILLED, estimate_s, runtime_s)
    ran_s[outcome == UNFINISHED] = np.nan
    return ran_s


def rows_of(table: "pd.DataFrame", workload: Workload) -> NDArray[np.int64]:
    """Return the input row of each row of a table of attempts, by its ``row``, or else its ``job_id``.

    It refuses a table that lacks a column, or names a job that is not in the workload, or is there twice.
    """
    key = next((name for name in ("row", "job_id") if name in table), "job_id")
    missing = [name for name in (key, *ATTEMPT_COLUMNS[1:]) if name not in table]
    if missing:
        raise RequestError(f"attempts without {', '.join(missing)}", f"give {', '.join(ATTEMPT_COLUMNS)}")
    if key == "row":
        row = table["row"].to_numpy().astype(np.int64)
        strange = row[(row < 0) | (row >= len(workload))]
        if len(strange):
            raise RequestError(must_be("column row", f"integers from 0 to {len(workload) - 1}", strange[0]))
        return row
    order = np.argsort(workload.job_id, kind="stable")
    known, wanted = workload.job_id[order], table["job_id"].to_numpy()
    at = np.searchsorted(known, wanted)
    found = np.searchsorted(known, wanted, side="right") - at
    strange = np.flatnonzero(found != 1)
    if len(strange):
        what, times = f"attempts of job {wanted[strange[0]]}", found[strange[0]]
        raise RequestError(what, f"the workload has {times} jobs of this number, and not 1")
    return order[at]


def from_table(table: "pd.DataFrame", row: NDArray[np.int64], cluster: NDArray[np.int64]) -> Attempts:
    """Return a table of attempts as columns, in its own order.

    Parameters
    ----------
    table
        The attempts; see `simmodels.results.schedule.Schedule`.
    row
        int64[k], the input row of each.
    cluster
        int64[n], the cluster of each row of the workload, for a table that does not say it.
    """
    known = {name: table[name].to_numpy().astype(dtype) for name, dtype in _ATTEMPT_TYPES.items() if name in table}
    return Attempts.of(**{"row": row, "cluster": cluster[row], **known})


def unexpected(**columns: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return those of some columns of attempts that do not say of all what would be taken without them."""
    usual = {name: np.broadcast_to(_UNKNOWN[name], len(column)) for name, column in columns.items()}
    return {
        name: column
        for name, column in columns.items()
        if not np.array_equal(column, usual[name], equal_nan=column.dtype != np.bool_)
    }


def numbered(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return of each attempt which of its job's it is, from 1 on, in the order given."""
    if np.bincount(rows).max(initial=0) <= 1:  # none was lost
        return np.ones(len(rows), np.int64)
    return np.asarray(pd.Series(rows).groupby(rows, sort=False).cumcount(), np.int64) + 1


def part_table(parts: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per machine of a table of parts, whose rows are runs of machines."""
    machines = parts["machines"].to_numpy(np.int64)
    table = parts.loc[parts.index.repeat(machines)].reset_index(drop=True)
    return table.assign(machine=ranges(parts["machine"].to_numpy(np.int64), machines)).drop(columns="machines")


def parts_of(attempts: Attempts, chosen: NDArray[np.bool_], parts: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per machine of the chosen attempts: ``at`` (which attempt), ``cluster, machine, cores``."""
    of = {name: getattr(attempts, name) for name in ("row", "attempt", "cluster")}
    where = pd.DataFrame({**of, "at": np.arange(len(chosen))})[chosen]
    return part_table(parts.merge(where, on=["row", "attempt"]))


def off_table(
    cluster: NDArray[np.int64],
    machine: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    window: tuple[float, float],
) -> "pd.DataFrame":
    """Return the spans within a window, by cluster, machine and time; those that touch are one."""
    seen = (high > window[0]) & (low <= window[1])  # one that goes off at the last instant has a span of no length
    cluster, machine = cluster[seen], machine[seen]
    low, high = np.clip(low[seen], *window), np.clip(high[seen], *window)
    kept = np.lexsort((low, machine, cluster))
    cluster, machine, low, high = cluster[kept], machine[kept], low[kept], high[kept]
    apart = (cluster[1:] != cluster[:-1]) | (machine[1:] != machine[:-1]) | (low[1:] != high[:-1])
    first = np.append(True, apart)[: len(kept)]
    last = np.append(first[1:], True)[: len(kept)]
    return pd.DataFrame(
        {"cluster": cluster[first], "machine": machine[first], "start_s": low[first], "end_s": high[last]}
    )


def machines_on(off_spans: "pd.DataFrame | None", cluster: int, machines: int, window: tuple[float, float]) -> Capacity:
    """Return how many of the machines of a cluster were on over a window; without spans, all always were."""
    low = high = np.empty(0)
    if off_spans is not None:
        spans = off_spans[off_spans["cluster"] == cluster]
        low, high = spans["start_s"].to_numpy(np.float64), spans["end_s"].to_numpy(np.float64)
        high = np.where(high < window[1], high, np.nan)  # it has not ended
    time_s, off = metrics.step_function(low, high, np.ones(len(low), np.int64))
    if not len(time_s) or time_s[0] > window[0]:
        time_s, off = np.append(window[0], time_s), np.append(0, off)
    return Capacity(time_s, machines - off)
