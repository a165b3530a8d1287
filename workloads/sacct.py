"""Slurm's accounting, as `sacct` prints it, read into a `Workload`: to replay one's own cluster.

References
----------
SchedMD, "sacct", manual of Slurm 24.11, https://slurm.schedmd.com/sacct.html (fields, states, formats). That the
elapsed time leaves out the suspended one, and that a job that never started may be given its end as its start, is in
Slurm's source: ``src/plugins/accounting_storage/mysql/as_mysql_jobacct_process.c``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import FileFormatError, RequestError, must_be, require_known
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.files import as_path
from simmodels.ground.numbers import Floats
from simmodels.work.time_limits import NO_LIMIT, estimates
from simmodels.work.workload import Workload
from workloads.files import read_start, read_whole, stem
from workloads.sacct_lines import COMMAND, Faults, Header, Numbers, Rows, find_header
from workloads.sacct_records import (
    UNKNOWN,
    Keep,
    Records,
    codes_of,
    count_holding,
    kept_records,
    read_records,
    texts_of,
)
from workloads.sacct_values import (
    UNLIMITED,
)

Submit = Literal["submit", "eligible"]
Cores = Literal["allocated", "requested"]

# States by their first word; any other is that of a job that ended.
_WAITING: Final = ("PENDING", "CONFIGURING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_STILL_THERE: Final = ("RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT")
_TAKEN_OUT: Final = ("CANCELLED", "DEADLINE", "REVOKED")
_STATUS: Final = {"COMPLETED": 1, "CANCELLED": 5, "REVOKED": 5}
"""The status that the Standard Workload Format gives a state; 0, failed, for others that ended."""


def read_sacct(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    keep: Keep = "last",
    submit: Submit = "submit",
    cores: Cores = "allocated",
    unlimited_s: Duration | None = None,
    timezone: str | None = None,
    strict: bool = False,
) -> Workload:
    """Return the workload of a file that Slurm's ``sacct --parsable2`` (or ``--parsable``) wrote.

    The first line names the columns, in any order and of any case. Needed are JobID or JobIDRaw; Submit;
    Start; ElapsedRaw, Elapsed or End; AllocCPUS, NCPUS, ReqCPUS, AllocTRES or ReqTRES; State. Every record of
    a job gives one job, in the order of the file. Steps (``123.batch``) are left out, and counted.

    - ``runtime_s`` is the elapsed time, in which Slurm does not count the time suspended; without it, end less start
      less Suspended. It is unknown (-1) for a job that never started, or is still there, or has no known end.
    - ``cores`` are those allocated if that is > 0, else those requested: a job that has nodes to itself occupies all
      of them, whatever it asked for.
    - ``estimate_s`` is the time limit. A job without one (``UNLIMITED``, or not known, as ``Partition_Limit`` or empty)
      has the longest of its partition, or of the file where that has none; `Workload.unlimited` says which.
    - ``submit_s`` counts from the first submit; ``start_unix_s`` is the instant of that.
    - ``job_id`` is JobIDRaw, else JobID; if that is no number (an array's ``123_4``) or comes twice, jobs are
      numbered 1, 2, ... The text is kept as the extra ``slurm_id``.
    - ``user_id`` numbers the users 1, 2, ... by name; without User, it is UID.

    Parameters
    ----------
    path
        The file: plain or compressed by gzip, bzip2 or xz. Its lines may end in LF, CRLF or CR.
    name
        Its name in figures and tables; None for the file's name without suffixes.
    keep
        Which records of one JobID (of one cluster) become jobs: requeued jobs have several if sacct was called with
        ``--duplicates``. ``"last"`` is the one submitted last, and Slurm says that a job is submitted again when it
        is requeued. ``"all"`` makes a job of each attempt.
    submit
        What counts as the submit: ``"submit"``, or ``"eligible"``, from which on a job may start that was held,
        depended on others or asked for a later begin. Its Submit is taken where Eligible is unknown.
    cores
        Which number of cores counts, where both are known and > 0.
    unlimited_s
        The estimate of jobs without a time limit, in seconds; None for the longest limit of their partition, or of the
        file. Where no job has a limit, it is the longest runtime if jobs are ``UNLIMITED``, else each one's runtime.
    timezone
        Where the times were printed, as ``"Europe/Berlin"``: sacct prints local time. None takes them as UTC, so
        that what spans a change of the clock is an hour wrong; with a zone, a time that the clock showed twice is
        taken as the first, and counted. Times that sacct printed as seconds or with a zone are exact
        anyway.
    strict
        Whether a line that cannot be read raises, instead of being left out and counted.

    Returns
    -------
    Workload
        Its `extras` have ``wait_s``, ``requested_s`` (the limit), ``status`` as in the Standard Workload Format and
        ``state``, ``slurm_id`` as text. If the file says them, also: ``allocated_cores``, ``requested_cores``,
        ``requested_memory_mb`` of the whole job, ``requested_memory_kb`` a core, ``suspended_s``, ``nodes``, ``gpus``,
        ``priority``, ``restarts``, ``group_id``, and as text ``user``, ``cluster`` and ``job_name``. ``partition``,
        ``account`` and ``qos`` are numbers, as ``user_id`` is; ``partition_name``, ``account_name`` and ``qos_name``
        are their names. What is unknown is -1.

        Its `counts` say what became of each line: lines are header lines, blank lines, job steps, bad lines,
        repeated records, earlier attempts left out, and jobs. The bad lines are counted by reason, with the
        number of the first. The others say what was filled in.

    Raises
    ------
    FileFormatError
        The file cannot be read, is truncated or empty, has no header, lacks a column, or holds no job; `strict`, and
        a line cannot be read. The text names the first such line.
    RequestError
        An option has a value that it cannot have.

    Notes
    -----
    A file of n bytes takes O(n) time; compiled code reads pieces of it (see benchmarks/). A ``|`` within a job's name
    does no harm if JobName is the last column; else the line has too many fields, and is counted as bad.

    Examples
    --------
    >>> from pathlib import Path
    >>> import workloads as wl
    >>> text = '''JobID|User|State|Submit|Start|ElapsedRaw|Timelimit|AllocCPUS
    ... 7|ann|COMPLETED|2024-05-01T08:00:00|2024-05-01T08:10:00|3600|02:00:00|16
    ... '''
    >>> _ = Path("sacct.txt").write_text(text)
    >>> wl.read_sacct("sacct.txt").job(0)
    Job(job_id=7, submit_s=0.0, runtime_s=3600.0, estimate_s=7200.0, cores=16, user_id=1)
    """
    if unlimited_s is not None:
        unlimited_s = as_seconds("unlimited_s", unlimited_s, above=0, also="None")
    zone = _checked(keep, submit, cores, timezone)
    where = as_path(path)
    data = read_whole(where)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = find_header(data)
    if header is None:
        what = (
            f"the first line must name columns with | between them, JobID among them; this makes such a file: {COMMAND}"
        )
        raise FileFormatError(str(where), 1, what)
    _require_columns(where, header, submit)
    counts = dict.fromkeys(("lines", "header lines", "blank lines", "job steps"), 0) | {
        "header lines": 1,
        "blank lines": header.number - 1,
    }
    clock = {"times that the clock showed twice": 0, "times that the clock skipped": 0}
    faults = Faults(where)
    records = read_records(data, header, zone, counts, clock, faults, strict=strict)
    del data  # twice the file's size is enough
    if records is None:
        fault = f"; the first that cannot be read: {faults.first()}" if faults.found else ""
        raise FileFormatError(str(where), None, f"no line holds a job{fault}")
    records, dropped = kept_records(records, keep)
    counts |= faults.counts() | dropped
    log = _workload(records, counts | clock, stem(where) if name is None else name, submit, cores, unlimited_s)
    return log if timezone is None else replace(log, header=(f"; TimeZoneString: {timezone}",))


def is_sacct(path: Path) -> bool:
    """Return whether a file begins with the header of sacct's output."""
    header = find_header(read_start(path).replace(b"\r", b"\n"))
    return header is not None


# -- what is asked ------------------------------------------------------------------------------------


def _checked(keep: str, submit: str, cores: str, timezone: str | None) -> ZoneInfo | None:
    """Return the zone; refuse other options."""
    for option, value, choices in (("keep", keep, Keep), ("submit", submit, Submit), ("cores", cores, Cores)):
        require_known(option, value, get_args(choices))
    if timezone is None:
        return None
    try:
        return ZoneInfo(timezone)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise RequestError(must_be("timezone", "a name such as 'Europe/Berlin'", timezone)) from error


def _require_columns(path: Path, header: Header, submit: Submit) -> None:
    """Refuse a file that lacks a column."""
    needs = [("Submit",), ("Start",), ("ElapsedRaw", "Elapsed", "End"), ("State",)]
    needs += [("AllocCPUS", "NCPUS", "ReqCPUS", "AllocTRES", "ReqTRES")]
    needs += [("Eligible",)] if submit == "eligible" else []
    missing = [" or ".join(names) for names in needs if not any(name.lower() in header.columns for name in names)]
    if missing:
        what = f"the header lacks {', '.join(missing)}; this makes a file with all columns: {COMMAND}"
        raise FileFormatError(str(path), header.number, what)


# -- the workload -------------------------------------------------------------------------------------


def _workload(
    records: Records, counts: dict[str, int], name: str, submit: Submit, cores: Cores, unlimited_s: float | None
) -> Workload:
    """Return the workload of the records."""
    jobs = len(records["line"])
    states = [text.partition(" ")[0].rstrip("+").upper() for text in records["state"].dictionary.to_pylist()]
    submitted = records["submit"]
    if submit == "eligible":
        submitted = np.where(np.isnan(records["eligible"]), submitted, records["eligible"])
    zero = float(np.floor(submitted.min()))
    runtime, started, why = _runtimes(records, states)
    user_id, texts = _users(records, jobs)
    estimate, asked, filled = _estimates(records, runtime, unlimited_s, texts.get("partition"))
    taken, sizes = _cores(records, jobs, cores)
    number = records["number"]
    own = bool((number >= 0).all() and (np.diff(np.sort(number)) > 0).all())
    ids = texts_of(records["id"])
    extras: dict[str, NDArray[Any]] = {
        "wait_s": np.where(started, np.nan_to_num(records["start"]) - submitted, UNKNOWN),
        "requested_s": asked,
        **sizes,
        **_memory(records, taken),
        "status": _by_state(records, [_status(state) for state in states]),
        "slurm_id": ids,
        **texts,
    }
    for extra, column in (("suspended_s", "suspended"), ("nodes", "nodes"), ("gpus", "gpus"), ("priority", "priority")):
        if column in records:
            extras[extra] = _known(records[column])
    for column in ("restarts", "group_id"):
        if column in records:
            extras[column] = _known(records[column])
    unknown = {"eligible times unknown": int(np.isnan(records["eligible"]).sum())} if submit == "eligible" else {}
    return Workload(
        job_id=number if own else np.arange(1, jobs + 1),
        submit_s=submitted - zero,
        runtime_s=runtime,
        estimate_s=estimate,
        cores=taken,
        user_id=user_id,
        name=name,
        start_unix_s=int(zero),
        counts={
            **{key: counts.pop(key) for key in ("lines", "header lines", "blank lines", "job steps")},
            **counts,
            "jobs": jobs,
            **unknown,
            "jobs renumbered": 0 if own else jobs,
            "array records that stand for several tasks": count_holding(records["id"], "["),
            "components of heterogeneous jobs": count_holding(records["id"], "+"),
            **why,
            **filled,
            "cores taken from requested cores": _filled(sizes, "allocated_cores", "requested_cores"),
            "cores unknown": int((taken < 0).sum()),
            "jobs out of submit order": int((np.diff(submitted) < 0).sum()),
            "starts before submit": int((started & (records["start"] < submitted)).sum()),
        },
        extras=extras,
    )


def _by_state(records: Records, values: Sequence[Any]) -> NDArray[Any]:
    """Return the value that the state of each record has."""
    return np.array(values)[codes_of(records["state"])]


def _status(state: str) -> int:
    """Return the status of a state in the Standard Workload Format."""
    return UNKNOWN if state in _WAITING or state in _STILL_THERE else _STATUS.get(state, 0)


def _known(values: Floats) -> Floats:
    """Return the values with -1 for what is unknown."""
    known: Floats = np.where(np.isnan(values), float(UNKNOWN), values)
    return known


def _runtimes(records: Records, states: Sequence[str]) -> tuple[Floats, Rows, dict[str, int]]:
    """Return the runtimes, which jobs have started, and how many runtimes are unknown why."""
    start = records["start"]
    length = records.get("elapsed", np.full(len(start), np.nan))
    ended = ~np.isnan(records["end"]) if "end" in records else np.ones(len(start), dtype=np.bool_)
    if "end" in records:
        span = records["end"] - start - np.nan_to_num(records.get("suspended", np.zeros(len(start))))
        length = np.where(np.isnan(length), span, length)
    taken_out = _by_state(records, [state in _TAKEN_OUT for state in states])
    # Slurm gives a job that never started its end as its start, depending on the version.
    nothing = (np.nan_to_num(length) <= 0) & (taken_out | (records.get("allocated", np.ones(len(start))) == 0))
    never = np.isnan(start) | _by_state(records, [state in _WAITING for state in states]) | nothing
    there = ~never & _by_state(records, [state in _STILL_THERE for state in states])
    no_end = ~never & ~there & (~ended | np.isnan(length))
    unknown = never | there | no_end
    why = {
        "runtimes unknown": int(unknown.sum()),
        "runtimes unknown: never started": int(never.sum()),
        "runtimes unknown: still running": int(there.sum()),
        "runtimes unknown: end unknown": int(no_end.sum()),
        "runtimes below 0 taken as 0": int((~unknown & (length < 0)).sum()),
    }
    return np.where(unknown, float(UNKNOWN), np.maximum(length, 0)), ~never, why


def _estimates(
    records: Records, runtime: Floats, unlimited_s: float | None, partition: NDArray[Any] | None
) -> tuple[Floats, Floats, dict[str, int]]:
    """Return the estimates, the limits that were asked for, and what was filled in how often."""
    limits = records.get("limit", np.full(len(runtime), np.nan))
    unlimited = limits == UNLIMITED
    asked = np.where(np.isnan(limits) | unlimited, NO_LIMIT, limits)
    if unlimited_s is None and unlimited.any() and not (asked > 0).any():
        unlimited_s = float(runtime.max())
    estimate, filled = estimates(asked, runtime, partition)
    if unlimited_s is not None:
        estimate = np.where(asked > 0, asked, unlimited_s)
        filled |= {"estimates taken from runtimes": 0, "estimates unknown": int((estimate < 0).sum())}
    return estimate, asked, filled


def _cores(records: Records, jobs: int, cores: Cores) -> tuple[Numbers, dict[str, Numbers]]:
    """Return the cores that count, and both numbers as far as the file says them."""
    sizes = {
        f"{what}_cores": _known(records[what]).astype(np.int64)
        for what in ("allocated", "requested")
        if what in records
    }
    none = np.full(jobs, UNKNOWN, dtype=np.int64)
    first, second = sizes.get("allocated_cores", none), sizes.get("requested_cores", none)
    if cores == "requested":
        first, second = second, first
    taken = np.where(first > 0, first, second)
    return np.where(taken > 0, taken, UNKNOWN), sizes


def _filled(sizes: Mapping[str, Numbers], wanted: str, other: str) -> int:
    """Return of how many jobs one number of cores is not there, and the other is."""
    if other not in sizes:
        return 0
    return int(((sizes[other] > 0) & ~(sizes[wanted] > 0 if wanted in sizes else False)).sum())


def _memory(records: Records, cores: Numbers) -> dict[str, Floats]:
    """Return the memory asked for: in MiB for the whole job, in KiB a core; -1 where unknown."""
    if "memory" not in records:
        return {}
    per = np.nan_to_num(records.get("memory_is_per", np.zeros(len(cores))))
    requested = records.get("requested", np.full(len(cores), np.nan))
    cpus = np.where(records.get("allocated", requested) > 0, records.get("allocated", requested), requested)
    nodes = records.get("nodes", np.full(len(cores), np.nan))
    total = records["memory"] * np.choose(per.astype(np.int64), [np.ones(len(cores)), nodes, cpus])
    return {
        "requested_memory_mb": _known(total),
        "requested_memory_kb": _known(np.where(cores > 0, total * 1024 / np.maximum(cores, 1), np.nan)),
    }


def _users(records: Records, jobs: int) -> tuple[Numbers, dict[str, NDArray[Any]]]:
    """Return the numbers of the users, and the extras that name things."""
    extras: dict[str, NDArray[Any]] = {}
    named = {column: f"{column}_name" for column in ("account", "partition", "qos")}
    texts = {"user": "user", "cluster": "cluster", "jobname": "job_name", "state": "state"}
    for column, extra in (named | texts).items():
        if column in records:
            extras[extra] = texts_of(records[column])
            if column in named:
                extras[column] = _numbered(records[column])
    if "user" in records:
        return _numbered(records["user"]), extras
    return _known(records["uid"]).astype(np.int64) if "uid" in records else np.full(jobs, UNKNOWN), extras


def _numbered(column: Any) -> Numbers:  # noqa: ANN401  (pyarrow has no types)
    """Return the texts as numbers from 1 on, in their sorted order; -1 for an empty one."""
    texts, codes = column.dictionary.to_pylist(), codes_of(column)
    used = sorted({texts[code] for code in np.unique(codes)} - {""})
    number = {text: at for at, text in enumerate(used, start=1)}
    return np.array([number.get(text, UNKNOWN) for text in texts], dtype=np.int64)[codes]
