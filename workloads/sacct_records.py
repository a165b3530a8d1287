"""Records of sacct's output: its lines as columns of numbers and texts; which of them become jobs.

References
----------
As in `workloads.sacct`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workloads.sacct_lines import Faults, Header, Numbers, Rows, joined, tables
from workloads.sacct_values import (
    BAD,
    by_value,
    duration,
    limit,
    limit_in_minutes,
    memory_is_per,
    memory_mb,
    moments,
    tres_cpus,
    tres_gpus,
    tres_memory_mb,
    whole,
)

Keep = Literal["last", "all"]

UNKNOWN: Final = -1
_JOB: Final = r"^[0-9]{1,18}(_[0-9]{1,10}|_[\[*].*|\+[0-9]{1,10})?$"
_STEP: Final = r"^[0-9]{1,18}(_[0-9]{1,10}|_[\[*][^.]*|\+[0-9]{1,10})?\.[^.]+$"
_RAW: Final = r"^[0-9]{1,18}$"

# What is read, each from the first of these columns that the file has and that knows it.
_VALUES: Final[dict[str, tuple[tuple[str, Callable[[str], float]], ...]]] = {
    "elapsed": (("elapsedraw", whole), ("elapsed", duration)),
    "suspended": (("suspended", duration),),
    "limit": (("timelimitraw", limit_in_minutes), ("timelimit", limit)),
    "allocated": (("alloccpus", whole), ("ncpus", whole), ("alloctres", tres_cpus)),
    "requested": (("reqcpus", whole), ("reqtres", tres_cpus)),
}
# The same, for what no job needs: what cannot be read there is unknown.
_OPTIONAL: Final[dict[str, tuple[tuple[str, Callable[[str], float]], ...]]] = {
    "memory": (("reqmem", memory_mb), ("reqtres", tres_memory_mb)),
    "memory_is_per": (("reqmem", memory_is_per),),
    "gpus": (("reqtres", tres_gpus), ("alloctres", tres_gpus)),
    "nodes": (("nnodes", whole),),
    "priority": (("priority", whole),),
    "restarts": (("restarts", whole),),
    "uid": (("uid", whole),),
    "group_id": (("gid", whole),),
}
_SHOWN: Final = {
    name.lower(): name
    for name in (
        *("ElapsedRaw", "Elapsed", "Suspended", "TimelimitRaw", "Timelimit"),
        *("AllocCPUS", "NCPUS", "AllocTRES", "ReqCPUS", "ReqTRES"),
    )
}
_TIMES: Final = ("submit", "eligible", "start", "end")
_TEXTS: Final = ("state", "user", "account", "partition", "qos", "cluster", "jobname")

Records = dict[str, Any]
"""Columns of equal length: arrays of numbers, and dictionary-encoded texts."""


def read_records(
    data: bytes,
    header: Header,
    zone: ZoneInfo | None,
    counts: dict[str, int],
    clock: dict[str, int],
    faults: Faults,
    *,
    strict: bool,
) -> Records | None:
    """Return the records of jobs, None if there are none.

    Parameters
    ----------
    data, header
        The file, and its first line.
    zone
        That of its times; None if they are to be taken as they are.
    counts, clock, faults
        What was counted, which times are doubtful, and which lines cannot be read; all are added to.
    strict
        Whether the first line that cannot be read is raised.

    Raises
    ------
    FileFormatError
        With `strict`, a line cannot be read.
    """
    there = header.columns.keys()
    encoded = {name for sources in (_VALUES | _OPTIONAL).values() for name, _ in sources} | set(_TEXTS)
    wanted = dict.fromkeys(("jobid", "jobidraw", *_TIMES), False) | dict.fromkeys(sorted(encoded), True)
    wanted = {name: is_encoded for name, is_encoded in wanted.items() if name in there}
    memos: dict[str, dict[str, float]] = {}
    parts = []
    for lines, columns in tables(data, header, wanted, counts, faults):
        part = _read(lines, columns, zone, counts, clock, faults, memos)
        if strict and faults.found:
            raise faults.first()
        if len(part["line"]):
            parts.append(part)
    if strict and faults.found:
        raise faults.first()
    if not parts:
        return None
    records = {name: _joined([part.pop(name) for part in parts]) for name in list(parts[0])}
    return records | {"id": records["id"].dictionary_encode()}


def _joined(columns: Sequence[Any]) -> Any:  # noqa: ANN401  (numbers or texts)
    """Return parts of a column as one."""
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return joined(columns)


def _read(
    lines: Numbers,
    columns: Mapping[str, Any],
    zone: ZoneInfo | None,
    counts: dict[str, int],
    clock: dict[str, int],
    faults: Faults,
    memos: dict[str, dict[str, float]],
) -> Records:
    """Return the records of a piece of the file."""
    ids = columns["jobid" if "jobid" in columns else "jobidraw"]
    step = _mask(pc.match_substring_regex(ids, _STEP))
    counts["job steps"] += int(step.sum())
    if step.any():
        columns = {name: column.filter(pa.array(~step)) for name, column in columns.items()}
        lines = lines[~step]
    good = np.ones(len(lines), dtype=np.bool_)

    def refuse(bad: Rows, reason: str, column: str) -> None:
        rows = np.flatnonzero(bad & good)
        if len(rows):
            faults.add(reason, lines[rows], str(columns[column][int(rows[0])].as_py()))
            good[rows] = False

    for name, pattern, shown in (("jobid", _JOB, "JobID"), ("jobidraw", _RAW, "JobIDRaw")):
        if name in columns:
            refuse(~_mask(pc.match_substring_regex(columns[name], pattern)), f"{shown} is no job's", name)
    record: Records = {"line": lines}
    for name in _TIMES:
        if name in columns:
            record[name] = moments(columns[name], zone, clock)
            refuse(record[name] == BAD, f"{name.capitalize()} is no time", name)
    refuse(np.isnan(record["submit"]), "Submit is unknown", "submit")
    record |= _numbers(columns, memos, refuse)
    refuse(_mask(pc.equal(columns["state"].cast(pa.string()), "")), "State is empty", "state")
    ids = columns["jobid" if "jobid" in columns else "jobidraw"]
    numbers = columns.get("jobidraw", ids)
    plain = _mask(pc.match_substring_regex(numbers, _RAW))
    record["number"] = pc.fill_null(pc.if_else(plain, numbers, None).cast(pa.int64()), UNKNOWN).to_numpy()
    record["id"] = ids
    record |= {name: columns[name] for name in _TEXTS if name in columns}
    return record if good.all() else _taken(record, good)


def _numbers(
    columns: Mapping[str, Any], memos: dict[str, dict[str, float]], refuse: Callable[[Rows, str, str], None]
) -> Records:
    """Return the columns of numbers; what of them a job needs and cannot be read is refused."""
    record: Records = {}
    for what, sources in (_VALUES | _OPTIONAL).items():
        for name, read in sources:
            if name not in columns:
                continue
            values = by_value(columns[name], read, memos.setdefault(f"{what} {name}", {}))
            if what in _VALUES:
                refuse(values == BAD, f"{_SHOWN[name]} cannot be read", name)
            values[values == BAD] = np.nan
            record[what] = np.where(np.isnan(record[what]), values, record[what]) if what in record else values
    return record


def _mask(found: Any) -> Rows:  # noqa: ANN401  (pyarrow has no types)
    """Return what pyarrow found as an array."""
    mask: Rows = found.to_numpy(zero_copy_only=False)
    return mask


def _taken(records: Records, rows: Rows) -> Records:
    """Return these rows."""
    return {
        name: column[rows] if isinstance(column, np.ndarray) else column.filter(pa.array(rows))
        for name, column in records.items()
    }


def codes_of(column: Any) -> Numbers:  # noqa: ANN401  (pyarrow has no types)
    """Return the place of each text in the dictionary, in which a text stands once."""
    codes: Numbers = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def texts_of(column: Any) -> NDArray[Any]:  # noqa: ANN401  (pyarrow has no types)
    """Return the texts of a column; equal ones are one object."""
    texts: NDArray[Any] = column.dictionary.to_numpy(zero_copy_only=False)[codes_of(column)]
    return texts


def count_holding(column: Any, part: str) -> int:  # noqa: ANN401  (pyarrow has no types)
    """Return how many texts of a column hold a part."""
    return int(_mask(pc.match_substring(column.dictionary, part))[codes_of(column)].sum())


def kept_records(records: Records, keep: Keep) -> tuple[Records, dict[str, int]]:
    """Return the records that become jobs, and how many were left out why.

    Parameters
    ----------
    records
        All of them.
    keep
        Of a job that ran several times, its ``"last"`` record, or ``"all"``.
    """
    who = pd.DataFrame({"id": codes_of(records["id"])})
    if "cluster" in records:  # one number may be in use on several clusters
        who["cluster"] = codes_of(records["cluster"])
    frame = who[who.duplicated(keep=False)]
    rows = frame.index.to_numpy()
    same = {name: records[name][rows] for name in ("submit", "start", "end", "elapsed") if name in records}
    frame = frame.assign(**same, state=codes_of(records["state"])[rows])
    repeated = frame.duplicated(keep="last")
    attempts = frame[~repeated].sort_values("submit", kind="stable")
    earlier = attempts.index[attempts.duplicated(list(who), keep="last")]
    counts = {
        "repeated records": int(repeated.sum()),
        "earlier attempts left out": len(earlier) if keep == "last" else 0,
        "earlier attempts that are jobs": len(earlier) if keep == "all" else 0,
    }
    left_out = frame.index[repeated].union(earlier) if keep == "last" else frame.index[repeated]
    if not len(left_out):
        return records, counts
    kept = np.ones(len(who), dtype=np.bool_)
    kept[left_out] = False
    return _taken(records, kept), counts
