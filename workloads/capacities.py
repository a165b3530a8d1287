"""How many machines there are over time: a random walk, or a series read from a file (power, nodes alive)."""

import re
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.clusters.capacity import Capacity, Law, Mode, Walk
from simmodels.errors import FileFormatError, RequestError, must_be, require_known
from simmodels.ground.durations import as_seconds
from simmodels.ground.files import as_path
from simmodels.ground.numbers import MOST, as_integer, as_number
from simmodels.ground.streams import stream
from workloads.files import read_whole

_NUMBER: Final = re.compile(
    r"\s*[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf(?:inity)?)\s*", re.IGNORECASE
)
"""A plain number: Python's own reading would take ``1_000`` for one, too."""
_INSTANT: Final = re.compile(r"\s*[0-9].*")
"""What may be an instant: pandas would take ``now`` for one, too."""
_MOST_NAMED: Final = 20
_ROUNDED: Final = 1 + 1e-15
"""A quotient of floats may be as many times too low: that of 0.3 and 0.1 is below 3."""
_PARTS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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
    """Return the bounded random walk of the number of machines; the same walk as `MarkovCapacity` of the same seed.

    Targeted schedulers ask how many machines there will be at least (M-), unless ``least_machines`` says it: of the
    process they learn the walk's bound, `mean` - `radius`; of this table the least that there is in it.

    Parameters
    ----------
    mean, radius
        It begins at `mean` and stays within `radius` of it.
    step
        How many machines come or go at once; None for a quarter of the radius, rounded down, which a radius of 1 to 3
        does not have.
    period_s
        The time between two changes, in seconds.
    until_s
        No change is made at or after this instant.
    begin_s
        The instant at which it begins.
    law
        ``"three_way"``: -step, 0 or +step, each as likely as the others that stay within the bounds; ``"two_way"``:
        -step or +step, cut at the bounds.
    notice_s, mode
        See `simmodels.CapacityChange`.
    seed
        The seed, an integer >= 0.

    Returns
    -------
    Capacity
        One change per period in which the number of machines changes.

    Raises
    ------
    RequestError, UnknownNameError
        An argument is out of its range, there is no such law, or the walk could never move (a step beyond the radius).

    References
    ----------
    Perotin et al. (2023), section 5.1, doi 10.1145/3624062.3624194.

    Examples
    --------
    >>> import workloads as wl
    >>> walk = wl.capacity_walk(mean=24, radius=8, period_s=1200, until_s=86_400, seed=1)
    >>> int(walk.machines.min()), int(walk.machines.max())
    (22, 32)
    """
    period_s = as_seconds("period_s", period_s, above=0)
    begin_s, until_s = as_seconds("begin_s", begin_s), as_seconds("until_s", until_s)
    mean, radius = as_integer("mean", mean, 0), as_integer("radius", radius, 0)
    if step is None and 0 < radius < 4:
        raise RequestError(must_be("radius", "0 or at least 4, unless step= is given", radius))
    by = radius // 4 if step is None else step
    walk = Walk(mean - radius, mean + radius, by, law)
    walk.require_moves(mean)
    times, machines = [float(begin_s)], [mean]
    for number, there in walk.moves(mean, stream(seed, "capacity", "walk")):
        if begin_s + number * period_s >= until_s:
            break
        times.append(begin_s + number * period_s)
        machines.append(there)
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
        Its ``attrs`` say ``start_unix_s``, the second in which the first row is, taken for UTC; and ``counts``: the
        lines of the file, those that were blank and are left out, and the rows.

    Raises
    ------
    FileFormatError
        The file cannot be read or holds no row, or a column wanted is there twice; or a line has another number of
        fields than the first, an instant that is none or that does not increase, or a value that is no finite
        number >= 0. The text names the line.
    RequestError
        The table has no such column, or none was named and it has several.

    Examples
    --------
    >>> from pathlib import Path
    >>> import workloads as wl
    >>> _ = Path("wind.csv").write_text('''time,kW
    ... 2024-05-01 00:00,9
    ... 2024-05-01 01:00,4
    ... ''')
    >>> wl.read_series("wind.csv").to_numpy().tolist()
    [[0.0, 9.0], [3600.0, 4.0]]
    """
    where = as_path(path)
    try:
        lines = read_whole(where).decode().splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(str(where), None, f"it is not UTF-8: {error.reason}") from error
    head = lines[0].split(",") if lines else []
    if len(head) < 2:
        raise FileFormatError(str(where), 1, "the head must have at least two columns, separated by commas")
    wanted = _columns(head, column, where)
    read = _rows(where, lines, len(head), wanted)
    seconds, parts = _seconds(where, read)
    late = np.flatnonzero((np.diff(seconds) < 0) | ((np.diff(seconds) == 0) & (np.diff(parts) <= 0)))
    if len(late):
        row = int(late[0]) + 1
        what = f"{read.times[row]} after {read.times[row - 1]}: instants must increase"
        raise FileFormatError(str(where), read.lines[row], what)
    carried, parts = np.divmod(parts - parts[0], _PARTS["ns"])
    time_s = (seconds - seconds[0] + carried) + parts / _PARTS["ns"]
    table = pd.DataFrame({"time_s": time_s, "value": read.numbers})
    table.attrs["start_unix_s"] = int(seconds[0])
    rows = len(read.lines)
    table.attrs["counts"] = {"lines": len(lines), "blank lines": len(lines) - 1 - rows, "rows": rows}
    return table


class _Read(NamedTuple):
    """The rows of a table: the line, the instant and the value of each."""

    lines: list[int]
    times: list[str]
    numbers: list[float]


def _rows(where: Path, lines: list[str], width: int, wanted: list[int]) -> _Read:
    """Return what the rows say."""
    read = _Read([], [], [])
    for line_number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        fields = line.split(",")
        if len(fields) != width:
            raise FileFormatError(
                str(where), line_number, must_be("the number of fields", f"{width}, as in the head", len(fields))
            )
        if not all(_NUMBER.fullmatch(fields[i]) for i in wanted):
            given = ", ".join(fields[i][:40] for i in wanted)
            raise FileFormatError(str(where), line_number, must_be("the value", "a number", given))
        value = sum(float(fields[i]) for i in wanted)
        if not 0 <= value < np.inf:
            raise FileFormatError(str(where), line_number, must_be("the value", "a finite number >= 0", value))
        read.lines.append(line_number)
        read.times.append(fields[0])
        read.numbers.append(value)
    if not read.lines:
        raise FileFormatError(str(where), None, "it holds no row")
    return read


def _seconds(where: Path, read: _Read) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the instants as whole seconds since 1970 and billionths: as one float they would not be exact."""
    given = pd.Series([text if _INSTANT.fullmatch(text) else None for text in read.times], dtype="str")
    instants = pd.to_datetime(given, format="ISO8601", errors="coerce", utc=True)
    bad = np.flatnonzero(instants.isna())
    if len(bad):
        what = must_be("the first field", "an instant such as 2020-01-31 23:30:00", read.times[bad[0]][:40])
        raise FileFormatError(str(where), read.lines[bad[0]], what)
    ticks = instants.dt.tz_localize(None).to_numpy()
    per_s = _PARTS[np.datetime_data(ticks.dtype)[0]]  # pandas takes the unit that the years and the digits need
    seconds, parts = np.divmod(ticks.astype(np.int64), per_s)
    return seconds, parts * (_PARTS["ns"] // per_s)


def _columns(head: list[str], column: str | None, where: Path) -> list[int]:
    """Return the places of the columns wanted."""
    if column is None:
        if len(head) > 2:
            raise RequestError(f"{where} has several columns: {_named(head[1:])}", "choose one with column=")
        return [1]
    if not isinstance(column, str):
        raise RequestError(must_be("column", "a name of a column, or None", column))
    names = column.split("+")
    for name in names:
        if name not in head[1:]:
            require_known(f"column of {where}", name, [each[:40] for each in head[1:][:_MOST_NAMED]])
        if head[1:].count(name) > 1:
            raise FileFormatError(str(where), 1, f"{head[1:].count(name)} columns are called {name!r}")
        if names.count(name) > 1:
            raise RequestError(must_be("column", "names without repetition", column))
    return [head.index(name, 1) for name in names]


def _named(names: list[str]) -> str:
    """Return names of columns, not all of very many."""
    shown = ", ".join(name[:40] for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


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
        Offset into the series, in seconds, at which to begin.
    until_s
        No change is made at or after this instant; None for the series' end (needed to repeat).
    repeat
        Whether the series starts again where it ends.
    begin_s
        The instant at which the capacity begins.
    notice_s, mode
        See `simmodels.CapacityChange`.

    Returns
    -------
    Capacity
        Changes of the number of machines at the instants of the series.

    Raises
    ------
    RequestError
        A number is out of its range, a row of the series is not of finite numbers or its instants do not increase,
        or the series is empty there.

    Examples
    --------
    >>> import pandas as pd
    >>> import workloads as wl
    >>> power_kw = pd.DataFrame({"time_s": [0, 3600, 7200], "value": [9.0, 4.0, 12.0]})
    >>> wl.capacity_from(power_kw, per_machine=2.5, least=2).machines.tolist()
    [3, 2, 4]
    """
    per_machine = as_number("per_machine", per_machine, above=0)
    if repeat and until_s is None:
        raise RequestError("a series that repeats has no end", "add until_s=")
    start_s, begin_s = as_seconds("start_s", start_s), as_seconds("begin_s", begin_s)
    if until_s is not None:
        until_s = as_seconds("until_s", until_s, also="None")
    table: Any = series
    if not isinstance(table, pd.DataFrame) or not {"time_s", "value"} <= {*table.columns}:
        raise RequestError(must_be("series", "a DataFrame with columns time_s and value (see read_series)", table))
    least = as_integer("least", least, 0)
    if most is not None:
        most = as_integer("most", most, least, also="None")
    time_s, value = series["time_s"].to_numpy(np.float64), series["value"].to_numpy(np.float64)
    _require_rows(time_s, value)
    if not len(time_s) or not time_s[0] <= start_s <= time_s[-1]:
        span = f"from {time_s[0]:.10g} to {time_s[-1]:.10g}, within the series" if len(time_s) else "within the series"
        raise RequestError(must_be("start_s", span, start_s))
    whole = np.floor(value / per_machine * _ROUNDED)
    machines = whole.clip(least, MOST if most is None else most).astype(np.int64)
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


def _require_rows(time_s: NDArray[Any], value: NDArray[Any]) -> None:
    """Refuse a series that does not say at each of its instants how many machines there are."""
    for name, column in (("time_s", time_s), ("value", value)):
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise RequestError(must_be(f"{name} in row {bad[0]} of the series", "a finite number", column[bad[0]]))
    late = np.flatnonzero(np.diff(time_s) <= 0)
    if len(late):
        row = int(late[0]) + 1
        expected = f"greater than {time_s[row - 1]:.10g}, of the row before"
        raise RequestError(must_be(f"time_s in row {row} of the series", expected, time_s[row]))
