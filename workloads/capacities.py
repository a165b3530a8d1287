"""How many machines there are over time: a random walk, or a series read from a file (power, nodes alive)."""

from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from simmodels.capacity import Capacity, Law, Mode, next_machines
from simmodels.errors import FileFormatError, RequestError
from simmodels.streams import stream
from workloads.files import read_whole


def capacity_walk(
    *,
    mean: int = 24,
    radius: int = 8,
    step: int | None = None,
    period_s: float = 1200.0,
    until_s: float,
    begin_s: float = 0.0,
    law: Law = "three_way",
    notice_s: float = 0.0,
    mode: Mode = "kill",
    seed: int = 0,
) -> Capacity:
    """Return the bounded random walk of the number of machines; the same as `MarkovCapacity` of the same seed.

    Parameters
    ----------
    mean, radius
        It begins at `mean` and stays within `radius` of it.
    step
        How many machines come or go at once; None for a quarter of the radius, rounded down.
    period_s
        The time between two changes, in seconds.
    until_s, begin_s
        No change is made at or after the one; it begins at the other.
    law
        See `simmodels.capacity.next_machines`.
    notice_s, mode
        See `simmodels.CapacityChange`.
    seed
        The seed, an integer >= 0.

    Raises
    ------
    RequestError, UnknownNameError
        An argument is out of its range, or there is no such law.

    References
    ----------
    Perotin et al. (2023), section 5.1, doi 10.1145/3624062.3624194.
    """
    if not (0 < period_s < np.inf and np.isfinite(begin_s) and np.isfinite(until_s)):
        raise RequestError(f"a walk each {period_s} s from {begin_s} to {until_s} s", "finite numbers are allowed")
    by = radius // 4 if step is None else step
    walk = stream(seed, "capacity", "walk")
    times, machines = [float(begin_s)], [mean]
    turn = 1
    while begin_s + turn * period_s < until_s:
        after = next_machines(
            machines[-1], float(walk.random()), low=mean - radius, high=mean + radius, step=by, law=law
        )
        if after != machines[-1]:  # where it stays nothing happens
            times.append(begin_s + turn * period_s)
            machines.append(after)
        turn += 1
    next_machines(mean, 0.0, low=mean - radius, high=mean + radius, step=by, law=law)  # refuses what is not allowed
    return Capacity(np.array(times), np.array(machines), notice_s, mode)  # type: ignore[arg-type]  # one for all


def read_series(path: str | PathLike[str], *, column: str | None = None) -> pd.DataFrame:
    """Return a series of a table in CSV: columns ``time_s`` (since its first row) and ``value``.

    Parameters
    ----------
    path
        A table with a head line, plain or compressed by gzip, bzip2 or xz. Its first column are instants, such as
        ``2020-01-31 23:30:00``, increasing.
    column
        The name of the column of numbers; several, joined by ``+``, are added. None for the only one.

    Returns
    -------
    DataFrame
        Its ``attrs`` say ``start_unix_s``, the instant of the first row taken for UTC.

    Raises
    ------
    FileFormatError
        The file cannot be read or holds no row; or a line has another number of fields than the first, an instant
        that is none or that does not increase, or a value that is no finite number >= 0. The text names the line.
    RequestError
        The table has no such column, or none was named and it has several.
    """
    where = Path(path)
    try:
        lines = read_whole(where).decode().splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(str(where), None, f"it is not UTF-8: {error.reason}") from error
    head = lines[0].split(",") if lines else []
    if len(head) < 2:
        raise FileFormatError(str(where), 1, "a head of at least two columns is needed, separated by commas")
    wanted = _columns(head, column, where)
    rows, times, values = _rows(where, lines, len(head), wanted)
    instants = pd.to_datetime(pd.Series(times), format="ISO8601", errors="coerce", utc=True)
    bad = np.flatnonzero(instants.isna())
    if len(bad):
        raise FileFormatError(str(where), rows[bad[0]], f"{times[bad[0]][:40]!r}: an instant is needed")
    unix_s = (instants - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    late = np.flatnonzero(np.diff(unix_s) <= 0)
    if len(late):
        row = int(late[0]) + 1
        raise FileFormatError(str(where), rows[row], f"{times[row]} after {times[row - 1]}: increasing is allowed")
    table = pd.DataFrame({"time_s": unix_s - unix_s.iloc[0], "value": values})
    table.attrs["start_unix_s"] = int(unix_s.iloc[0])
    return table


def _rows(where: Path, lines: list[str], width: int, wanted: list[int]) -> tuple[list[int], list[str], list[float]]:
    """Return the line number, the instant and the value of each row."""
    times: list[str] = []
    values: list[float] = []
    rows: list[int] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        fields = line.split(",")
        if len(fields) != width:
            raise FileFormatError(str(where), number, f"{len(fields)} fields; the head has {width}")
        try:
            value = sum(float(fields[i]) for i in wanted)
        except ValueError:
            shown = ", ".join(repr(fields[i][:40]) for i in wanted)
            raise FileFormatError(str(where), number, f"{shown}: a number is needed") from None
        if not 0 <= value < np.inf:
            raise FileFormatError(str(where), number, f"{value}: a finite number >= 0 is allowed")
        times.append(fields[0])
        values.append(value)
        rows.append(number)
    if not rows:
        raise FileFormatError(str(where), None, "it holds no row")
    return rows, times, values


def _columns(head: list[str], column: str | None, where: Path) -> list[int]:
    """Return the places of the columns wanted."""
    if column is None:
        if len(head) > 2:
            raise RequestError(f"which column of {where}", f"column= names one of {', '.join(head[1:])}")
        return [1]
    missing = [name for name in column.split("+") if name not in head[1:]]
    if missing:
        raise RequestError(f"{where} has no column {missing[0]!r}", f"{', '.join(head[1:])} are allowed")
    return [head.index(name, 1) for name in column.split("+")]


def capacity_from(
    series: pd.DataFrame,
    *,
    per_machine: float = 1.0,
    most: int | None = None,
    least: int = 0,
    start_s: float = 0.0,
    until_s: float | None = None,
    repeat: bool = False,
    begin_s: float = 0.0,
    notice_s: float = 0.0,
    mode: Mode = "kill",
) -> Capacity:
    """Return how many machines a series lets run: its value over what each needs, rounded down.

    Parameters
    ----------
    series
        Columns ``time_s`` and ``value``, see `read_series`: power, generation, nodes alive.
    per_machine
        What a machine needs, in the unit of the values (a machine of c cores of p watts: c x p); 1 for numbers of
        nodes.
    most, least
        No more, and no fewer, machines than these.
    start_s
        Begin with what the series says so many seconds after its begin.
    until_s
        No change is made at or after this instant; None for the series' end (needed to repeat).
    repeat
        Whether the series begins anew where it ends.
    begin_s
        The instant at which the capacity begins.
    notice_s, mode
        See `simmodels.CapacityChange`.

    Raises
    ------
    RequestError
        A number is out of its range, or the series is empty there.
    """
    if not 0 < per_machine < np.inf:
        raise RequestError(f"per_machine is {per_machine}", "a finite number > 0 is allowed")
    if repeat and until_s is None:
        raise RequestError("a series that repeats for ever", "until_s= says when it ends")
    time_s, value = series["time_s"].to_numpy(np.float64), series["value"].to_numpy(np.float64)
    if not len(time_s) or not time_s[0] <= start_s <= time_s[-1]:
        raise RequestError(f"start_s is {start_s}", f"the series has {len(time_s)} rows, and this is not within them")
    machines = np.floor(value / per_machine).clip(least, most).astype(np.int64)
    first = int(np.searchsorted(time_s, start_s, side="right")) - 1
    length_s = float(time_s[-1] - time_s[0]) + (float(np.median(np.diff(time_s))) if len(time_s) > 1 else 1.0)
    at = np.append(start_s, time_s[first + 1 :]) - start_s
    number = machines[first:]
    if repeat:  # once around, from the start on
        at = np.append(at, time_s[: first + 1] - time_s[0] + time_s[0] + length_s - start_s)
        number = np.append(number, machines[: first + 1])
        keep = np.append(True, np.diff(at) > 0)
        table = Capacity(at[keep], number[keep]).repeat(length_s=length_s, until_s=float(until_s or 0.0) - begin_s)
        at, number = np.array(table.time_s), np.array(table.machines)
    at = at + begin_s
    changed = np.append(True, np.diff(number) != 0)
    if until_s is not None:
        changed &= np.append(True, at[1:] < until_s)
    return Capacity(at[changed], number[changed], notice_s, mode)  # type: ignore[arg-type]  # one for all
