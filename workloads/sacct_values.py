"""The values of Slurm's accounting, as numbers: moments, durations, limits, counts and memory.

In what these functions return, `UNKNOWN` is what Slurm says it does not know, and `BAD` what it cannot have printed.
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from simmodels.ground.numbers import Floats
from simmodels.units import DAY, HOUR, MINUTE

UNKNOWN: Final = math.nan
BAD: Final = -math.inf
_EARLIEST_S: Final = 631_152_000.0
"""1990: no batch system of today has an older job; what says so is a clock that was not set."""
_LATEST_S: Final = 4_102_444_800.0
"""2100."""
UNLIMITED: Final = math.inf

_NO_TIME: Final = ("", "Unknown", "None", "NONE", "N/A", "0")
_NO_LIMIT: Final = ("", "partition_limit", "invalid", "not_set", "none", "unknown")
_ISO: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$"
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")
_ZONE: Final = re.compile(r"Z|[+-][0-9]{2}:?[0-9]{2}")
_UNIX: Final = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?")
_DURATION: Final = re.compile(
    r"(?:(?:([0-9]{1,6})-)?([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]{1,9})?)", re.ASCII
)
_DIGITS: Final = r"^[0-9]{1,15}$"
_WHOLE: Final = re.compile(_DIGITS)
_MEMORY: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMGTPE]?)B?([cn]?)", re.IGNORECASE)
_MEBIBYTES: Final = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30, "E": 2.0**40}
_GPUS, _TYPED_GPUS = "gres/gpu", "gres/gpu:[^=,]+"
_TRES: Final = {what: re.compile(rf"(?:^|,){what}=([^,]*)") for what in ("cpu", "mem", _GPUS, _TYPED_GPUS)}

# -- one value --------------------------------------------------------------------------------------


def duration(text: str) -> float:
    """Return the seconds of ``[[days-]hours:]minutes:seconds[.fraction]``."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return BAD if text else UNKNOWN
    days, hours, minutes, seconds = found.groups()
    return int(days or 0) * DAY + int(hours or 0) * HOUR + int(minutes) * MINUTE + float(seconds)


def whole(text: str) -> float:
    """Return a whole number >= 0."""
    if _WHOLE.fullmatch(text):
        return float(text)
    return BAD if text and text != "Unknown" else UNKNOWN


def limit(text: str) -> float:
    """Return the seconds of a time limit, `UNLIMITED` if it is none; one of 0 or of the partition is unknown."""
    if text.upper() == "UNLIMITED":
        return UNLIMITED
    return UNKNOWN if text.lower() in _NO_LIMIT else duration(text) or UNKNOWN


def limit_in_minutes(text: str) -> float:
    """Return the seconds of a time limit in whole minutes, as ``TimelimitRaw`` has it."""
    number = whole(text)
    return number * MINUTE or UNKNOWN if number >= 0 else limit(text)


def tres_cpus(text: str) -> float:
    """Return the CPUs in a list of trackable resources such as ``cpu=4,mem=8G,node=1``."""
    found = _TRES["cpu"].search(text)
    return whole(found.group(1)) if found else UNKNOWN


def memory_mb(text: str) -> float:
    """Return a size of memory in MiB, of whatever it is asked for: the job, a node or a CPU."""
    found = _MEMORY.fullmatch(text)
    return float(found.group(1)) * _MEBIBYTES[found.group(2).upper()] if found else UNKNOWN


def memory_is_per(text: str) -> float:
    """Return 0 for memory of the whole job, 1 for that of a node (``4Gn``), 2 for that of a CPU (``4Gc``)."""
    found = _MEMORY.fullmatch(text)
    return float(" nc".index(found.group(3).lower() or " ")) if found else UNKNOWN


def tres_memory_mb(text: str) -> float:
    """Return the memory in a list of trackable resources, in MiB."""
    found = _TRES["mem"].search(text)
    return memory_mb(found.group(1)) if found else UNKNOWN


def tres_gpus(text: str) -> float:
    """Return the GPUs in a list of trackable resources such as ``cpu=4,gres/gpu=2``; 0 if it has none.

    Without a sum, as where ``AccountingStorageTRES`` names types only, they are those of all: ``gres/gpu:a100=2``.
    """
    found = _TRES[_GPUS].findall(text) or _TRES[_TYPED_GPUS].findall(text)
    return float(sum(map(whole, found))) if text else UNKNOWN


# -- columns ----------------------------------------------------------------------------------------


def by_value(column: Any, read: Callable[[str], float], memo: dict[str, float]) -> Floats:  # noqa: ANN401  (pyarrow has no types)
    """Return what `read` makes of each text of a dictionary-encoded column, reading each different text once.

    Parameters
    ----------
    column
        The texts.
    read
        What makes a number of one.
    memo
        What was read before; it grows.
    """
    if read is whole and pc.all(pc.match_substring_regex(column.dictionary, _DIGITS)).as_py():  # most texts differ
        numbers = column.dictionary.cast(pa.int64()).to_numpy().astype(np.float64)
    else:
        values = column.dictionary.to_pylist()
        memo |= {text: read(text) for text in values if text not in memo}
        numbers = np.array([memo[text] for text in values], dtype=np.float64)
    result: Floats = numbers[column.indices.to_numpy(zero_copy_only=False)]
    return result


def moments(column: Any, zone: ZoneInfo | None, counts: dict[str, int]) -> Floats:  # noqa: ANN401  (pyarrow has no types)
    """Return times as seconds since 1970-01-01 UTC; those before 1990 or after 2099 are `BAD`.

    Parameters
    ----------
    column
        The texts: ``2024-03-01T12:34:56``, the same with a zone, or seconds since 1970.
    zone
        Where times without a zone were taken; None to take them as UTC.
    counts
        Where to add the times that a change of the clock makes doubtful.
    """
    plain = pc.match_substring_regex(column, _ISO)
    try:
        local = pc.if_else(plain, column, None).cast(pa.timestamp("s"))
    except pa.ArrowInvalid:  # a 30th of February somewhere: one by one
        plain = pa.array(np.zeros(len(column), dtype=np.bool_))
        local = pa.nulls(len(column), pa.timestamp("s"))
    at = local.to_numpy(zero_copy_only=False).astype("datetime64[s]")
    naive = ~np.isnat(at)
    seconds = np.where(naive, at.astype(np.int64), UNKNOWN).astype(np.float64)
    rest = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    memo: dict[str, tuple[float, bool]] = {}
    for row, text in zip(rest.tolist(), column.take(pa.array(rest)).to_pylist(), strict=True):
        if text not in memo:
            memo[text] = _moment(text)
        seconds[row], naive[row] = memo[text]
    impossible = (np.abs(seconds) < math.inf) & ((seconds < _EARLIEST_S) | (seconds >= _LATEST_S))
    seconds[impossible] = BAD
    naive &= ~impossible
    if zone is not None:
        seconds[naive] = _in_utc(seconds[naive], zone, counts)
    return seconds


def _moment(text: str) -> tuple[float, bool]:
    """Return seconds since 1970 and whether they are those of a local clock."""
    if text in _NO_TIME:
        return UNKNOWN, False
    if _UNIX.fullmatch(text):
        return float(text), False
    found = _MOMENT.match(text)
    rest = text[found.end() :] if found else text
    if found is None or (rest and not _ZONE.fullmatch(rest)):
        return BAD, False
    try:
        when = datetime.fromisoformat(text)
        return when.replace(tzinfo=when.tzinfo or UTC).timestamp(), not rest
    except (ValueError, OverflowError):
        return BAD, False


def _in_utc(seconds: Floats, zone: ZoneInfo, counts: dict[str, int]) -> Floats:
    """Return the UTC of times on the clocks of a zone: the first of two, the next one where there was none."""
    whole_seconds = np.floor(seconds)
    clock = pd.DatetimeIndex(whole_seconds.astype(np.int64).astype("datetime64[s]"))
    first = np.ones(len(clock), dtype=np.bool_)
    utc = clock.tz_localize(zone, ambiguous=first, nonexistent="shift_forward").as_unit("s").asi8
    later = clock.tz_localize(zone, ambiguous=~first, nonexistent="NaT")
    skipped = np.asarray(later.isna())
    counts["times that the clock showed twice"] += int((~skipped & (later.as_unit("s").asi8 != utc)).sum())
    counts["times that the clock skipped"] += int(skipped.sum())
    result: Floats = utc + (seconds - whole_seconds)
    return result
