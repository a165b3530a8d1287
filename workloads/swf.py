"""Logs in the Standard Workload Format, read into a `Workload` and written from one.

References
----------
S. J. Chapin, W. Cirne, D. G. Feitelson, J. P. Jones, S. T. Leutenegger, U. Schwiegelshohn, W. Smith and D. Talby,
"Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999, LNCS 1659, pp. 67-90,
doi:10.1007/3-540-47954-6_4 (the format; its version 2.2 is the one read and written here).
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from os import PathLike
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.files import as_path
from simmodels.ground.numbers import MOST
from simmodels.results.schedule import COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.work.time_limits import estimates
from simmodels.work.workload import Workload
from workloads.files import read_whole, stem, write_whole
from workloads.swf_lines import FIELDS, UNKNOWN, Column, parse_lines

_LINE_WITHOUT_JOB: Final = re.compile(rb"[ \t\v\f]*(?:;[^\n]*)?\n")
_COMMENT_LINE: Final = re.compile(rb"^[ \t\v\f]*;[^\n]*\n?", re.MULTILINE)
_TIME_ZONE: Final = re.compile(r";?\s*TimeZone(|String):\s*(\S+)")
_LAST_UNIX_S: Final = 253_402_300_799
"""The last second of the year 9999; a later one is no date."""

# -- reading ----------------------------------------------------------------------------------------


def read_swf(path: str | PathLike[str], *, name: str | None = None) -> Workload:
    """Return the workload of a log in the Standard Workload Format (SWF 2.2).

    Every line with a job gives one job, in the order of the file; nothing is left out. A job that
    cannot run (runtime or cores unknown, which the format writes as -1) stays in: `workloads.clean`
    takes such jobs out, and counts them.

    - ``cores`` is what was requested if that is > 0, else what was allocated.
    - ``estimate_s`` is the time requested if that is > 0; else the longest that a job of its partition requested, or a
      job of the log where none of its partition did; in a log without any, the runtime. `Workload.unlimited` says
      which jobs requested none.
    - ``max_cores`` is the header's MaxProcs, else its MaxNodes; ``start_unix_s`` its UnixStartTime.
    - The other fields are `extras`, named as in `FIELDS`.
    - Lines that begin with ``;`` are comments wherever they stand, and are kept in `header`.
    - A line may stop after any field from the 5th on: the missing ones are unknown (-1). Whatever
      follows the 18th field is ignored. Both are counted.

    Parameters
    ----------
    path
        The log: plain or compressed by gzip, bzip2 or xz. Its lines may end in LF, CRLF or CR.
    name
        Its name in figures and tables; None for the file's name without suffixes.

    Returns
    -------
    Workload
        Its `counts` say: lines, comment lines, blank lines, jobs, lines with missing fields, lines with
        extra fields, jobs without a time limit, estimates taken from runtimes, estimates unknown, cores
        taken from allocated cores, cores unknown, runtimes unknown, duplicate job numbers, jobs out of submit
        order, starts before submit (waits below 0 other than -1, as a clock that was set back leaves them).

    Raises
    ------
    FileFormatError
        The file cannot be read (a missing one too), is truncated, or holds no job; or a line has
        fewer than 5 fields, or a field that is no finite number below 2**63, or a fraction of a job
        number, core or user number. The text names the line.

    Notes
    -----
    A log of n bytes takes O(n) time: lines of numbers are parsed by compiled code (see benchmarks/),
    and only what that refuses is gone through line by line, to mend it or to name the line at fault.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> wl.write_swf(sm.Workload.of({"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [1, 2]}), "log.swf.gz")
    >>> wl.read_swf("log.swf.gz")
    <Workload 'log': 2 jobs>
    """
    where = as_path(path)
    data = read_whole(where)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header, body, start = _split_comments(data)
    columns, counts = parse_lines(where, data, body, start)
    jobs = len(columns["job_id"])
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    requested, allocated = columns["requested_cores"], columns["allocated_cores"]
    runtime = columns["runtime_s"]
    estimate_s, filled_in = estimates(columns["requested_s"], runtime, columns["partition"])
    counts = {
        "lines": lines,
        "comment lines": len(header),
        "blank lines": lines - len(header) - jobs,
        "jobs": jobs,
        **counts,
        **filled_in,
        "cores taken from allocated cores": int(((requested <= 0) & (allocated > 0)).sum()),
        "cores unknown": int(((requested <= 0) & (allocated <= 0)).sum()),
        "runtimes unknown": int((runtime < 0).sum()),
        "duplicate job numbers": jobs - len(np.unique(columns["job_id"])),
        "jobs out of submit order": int((np.diff(columns["submit_s"]) < 0).sum()),
        "starts before submit": int(((columns["wait_s"] < 0) & (columns["wait_s"] != UNKNOWN)).sum()),
    }
    return Workload(
        job_id=columns.pop("job_id"),
        submit_s=columns.pop("submit_s"),
        runtime_s=columns.pop("runtime_s"),
        estimate_s=estimate_s,
        cores=np.where(requested > 0, requested, allocated),
        user_id=columns.pop("user_id"),
        name=stem(where) if name is None else name,
        max_cores=_said(header, "MaxProcs", least=1) or _said(header, "MaxNodes", least=1),
        start_unix_s=_zero(header),
        header=header,
        counts=counts,
        extras=columns,
    )


def _split_comments(data: bytes) -> tuple[tuple[str, ...], bytes, int]:
    """Return the comment lines without their line ends, and data free of comments from a position on."""
    start = 0
    while found := _LINE_WITHOUT_JOB.match(data, start):
        start = found.end()
    comments = _COMMENT_LINE.findall(data, 0, start)
    if data.find(b";", start) >= 0:  # one search through memory spares most logs the slower way
        comments += _COMMENT_LINE.findall(data, start)
        data, start = _COMMENT_LINE.sub(b"", data[start:]), 0
    return tuple(_text(line.removesuffix(b"\n")) for line in comments), data, start


def _text(line: bytes) -> str:
    """Return a comment as text: UTF-8 if it is, else Latin-1, which takes any bytes."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _said(header: Sequence[str], key: str, *, least: int) -> int | None:
    """Return the number that the first comment ``; key: number`` gives, None without one >= `least`."""
    for line in header:
        if found := re.fullmatch(rf"\s*;\s*{key}\s*:\s*(-?[0-9]{{1,18}})(?:\s.*)?", line, re.IGNORECASE | re.DOTALL):
            number = int(found.group(1))
            return number if number >= least else None
    return None


def _zero(header: Sequence[str]) -> int | None:
    """Return the header's UnixStartTime; None without one, or if it is later than the year 9999."""
    zero = _said(header, "UnixStartTime", least=0)
    return zero if zero is not None and zero <= _LAST_UNIX_S else None


def zone_of(log: Workload) -> tzinfo:
    """Return the time zone of a log, by its header: TimeZoneString, else the seconds of TimeZone; without them UTC."""
    said = {found[1]: found[2] for line in log.header if (found := _TIME_ZONE.match(line))}
    with suppress(OSError, ValueError, KeyError):  # no zone that anybody knows
        return ZoneInfo(said["String"])
    with suppress(ValueError, OverflowError, KeyError):
        return timezone(timedelta(seconds=float(said[""])))
    return UTC


def ahead_of_utc_s(log: Workload, time_s: float) -> float:
    """Return how far the clocks of the place are ahead of UTC at a time of a log; 0 where no date of it is known."""
    try:
        ahead = datetime.fromtimestamp((log.start_unix_s or 0) + time_s, zone_of(log)).utcoffset()
    except (ValueError, OverflowError, OSError):  # beyond the years 1 to 9999
        return 0.0
    return 0.0 if ahead is None else ahead.total_seconds()


# -- writing ----------------------------------------------------------------------------------------


def write_swf(log: Workload | Schedule, path: str | PathLike[str]) -> None:
    """Write a workload, or a schedule with its waits filled in, in the Standard Workload Format (SWF 2.2).

    Whole numbers are written as such, all others with the fewest digits that give the same float back.
    What `read_swf` has read is read again as it was, its header and its extras too. The format has no
    place for an estimate of 0 (it reads as none) nor for extras that are not in `FIELDS`.

    Of a workload that did not come from such a log, cores are written as requested and as allocated,
    estimates as requested time, and what is not known as -1.

    Of a schedule, each job has the wait and the run that the schedule gave it, and the status says what
    became of it: 1 completed, 0 killed at its estimate (its run is as long as it was let), 5 unfinished
    (its run is -1, and its wait and allocated cores too if it never started). MaxProcs is the machine
    of the schedule.

    Parameters
    ----------
    log
        What to write.
    path
        Where to; a name that ends in ``.gz``, ``.bz2`` or ``.xz`` is compressed so. The file appears at
        once and whole, in the place of one of that name.

    Raises
    ------
    RequestError
        The workload is empty, an extra that the format has a field for is not of finite numbers, or
        the file cannot be written.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> log = sm.Workload.of({"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [1, 2]})
    >>> wl.write_swf(sm.simulate(log, cores=2), "scheduled.swf")
    >>> wl.read_swf("scheduled.swf").extras["wait_s"].tolist()
    [0, 5]
    """
    workload = log.workload if isinstance(log, Schedule) else as_instance("log", log, Workload, also="a Schedule")
    where = as_path(path)
    if not len(workload):
        raise RequestError(f"cannot write {where}: the workload is empty", "give at least one job")
    columns, max_cores = _fields(workload), workload.max_cores
    if isinstance(log, Schedule):
        columns, max_cores = columns | _executed(log), log.cores
    header = "".join(f"{line}\n" for line in _header(workload, max_cores)).encode(errors="replace")
    table = pa.table({field: pa.array(_printed(columns[field])) for field in FIELDS})
    lines = pa.BufferOutputStream()
    style = arrow_csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    arrow_csv.write_csv(table, lines, style)
    write_whole(where, header + lines.getvalue().to_pybytes())


def _fields(workload: Workload) -> dict[str, Column]:
    """Return the 18 fields: the extras where they agree with the workload's columns, else what these say."""
    extras = {name: _numbers(name, np.asarray(column)) for name, column in workload.extras.items() if name in FIELDS}
    cores, estimate, runtime = workload.cores, workload.estimate_s, workload.runtime_s
    unknown = np.full(len(workload), UNKNOWN, dtype=np.int64)
    allocated = extras.get("allocated_cores", cores)
    requested = extras.get("requested_cores", cores)
    asked = extras.get("requested_s", estimate)
    partition = extras.get("partition")
    asked = np.where(estimates(asked, runtime, partition)[0] == estimate, asked, estimate)
    if (estimates(asked, runtime, partition)[0] != estimate).any():  # what was written out is the longest limit now
        asked = estimate
    same_cores = np.where(requested > 0, requested, allocated) == cores
    return {
        **dict.fromkeys(FIELDS, unknown),
        **extras,
        **{name: getattr(workload, name) for name in ("job_id", "submit_s", "runtime_s", "user_id")},
        "allocated_cores": np.where(same_cores, allocated, cores),
        "requested_cores": np.where(same_cores, requested, cores),
        "requested_s": asked,
    }


def _executed(schedule: Schedule) -> dict[str, Column]:
    """Return the fields that a schedule decides."""
    workload, outcome = schedule.workload, schedule.outcome
    started = ~np.isnan(schedule.start_s)
    return {
        "wait_s": np.where(started, schedule.began_s - workload.submit_s, UNKNOWN),
        "runtime_s": np.where(outcome == UNFINISHED, UNKNOWN, schedule.executed_s + schedule.earlier_s),
        "allocated_cores": np.where(started, workload.cores, UNKNOWN),
        "requested_cores": workload.cores,
        "status": np.select([outcome == COMPLETED, outcome == KILLED], [1, 0], 5),
    }


def _header(workload: Workload, max_cores: int | None) -> list[str]:
    """Return the comment lines, so mended that they give this size and the workload's start."""
    given = [piece for line in workload.header for piece in re.split(r"[\r\n]+", line)]
    lines = [line if line.lstrip(" \t\v\f").startswith(";") else f"; {line}" for line in given]
    if (_said(lines, "MaxProcs", least=1) or _said(lines, "MaxNodes", least=1)) != max_cores:
        lines = _with_number(lines, ("MaxProcs",) if max_cores else ("MaxProcs", "MaxNodes"), max_cores)
    if _zero(lines) != workload.start_unix_s:
        lines = _with_number(lines, ("UnixStartTime",), workload.start_unix_s)
    return lines


def _with_number(lines: Sequence[str], keys: Sequence[str], number: int | None) -> list[str]:
    """Return the comment lines without those of these keys, and with one that gives the first key this number."""
    known = re.compile(rf"\s*;\s*(?:{'|'.join(keys)})\s*:.*", re.IGNORECASE | re.DOTALL)
    at = next((row for row, line in enumerate(lines) if known.fullmatch(line)), len(lines))
    kept = [line for line in lines if not known.fullmatch(line)]
    return kept if number is None else [*kept[:at], f"; {keys[0]}: {number}", *kept[at:]]


def _numbers(field: str, column: Column) -> Column:
    """Return an extra with what is not known as -1; refuse what is no column of numbers."""
    if column.dtype.kind not in "iuf" or np.isinf(column).any():
        raise RequestError(must_be(f"the values of column {field}", "finite numbers", column))
    return np.where(np.isnan(column), UNKNOWN, column) if column.dtype.kind == "f" else column


def _printed(column: Column) -> Column | list[str]:
    """Return a column as it is to be printed."""
    if column.dtype.kind != "f":
        return column
    whole = (column == np.floor(column)) & (np.abs(column) < MOST)
    if whole.all():
        return column.astype(np.int64)
    return [str(int(x)) if is_whole else repr(x) for x, is_whole in zip(column.tolist(), whole.tolist(), strict=True)]
