"""Columns: arrays of a workload, of the types that they must have, which nobody can change."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from simmodels.errors import ColumnError, RequestError, brief
from simmodels.ground.later import pd

COLUMNS: Final = ("job_id", "submit_s", "runtime_s", "estimate_s", "cores", "user_id")
UNKNOWN: Final = -1
_OF_TIME: Final = {
    "M": ("dates", "(t - t.min()).dt.total_seconds() makes seconds of dates"),
    "m": ("durations", "t.dt.total_seconds() makes seconds of durations"),
}
_FLOATS: Final = ("submit_s", "runtime_s", "estimate_s")


def frozen(given: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return the values as a read-only array that nobody else can change: a copy, unless that is so already."""
    column = np.ascontiguousarray(given, dtype=dtype)
    part = column if column is given or column.base is not None else None  # None: this memory is new
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            column = column.copy()
            break
        part = part.base
    column.flags.writeable = False
    return column


def as_job_column(name: str, values: ArrayLike) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return a column as a read-only array of its type; refuse what does not fit."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise RequestError(f"column {name} has {given.ndim} dimensions", "a column has one")
    if not len(given):
        return frozen(empty(name))
    if given.dtype.kind in "OUS":
        given = _numbers(name, given)
    if given.dtype.kind not in "iufb":
        kind, hint = _OF_TIME.get(given.dtype.kind, (given.dtype, ""))
        raise RequestError(f"column {name} must be numbers (got {kind})", hint)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        where = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ColumnError(name, where, "a finite number", given[where])
    if name in _FLOATS:
        return frozen(given, np.float64)
    if given.dtype.kind in "ib":
        return frozen(given, np.int64)
    with np.errstate(invalid="ignore"):  # a number beyond int64 is refused below, in our words
        column = frozen(given, np.int64)
    if (column != given).any():
        where = int(np.flatnonzero(column != given)[0])
        raise ColumnError(name, where, "an integer of 64 bits", given[where])
    return column


def _numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return a column of objects or texts as an array of numbers, if each is one."""
    given = values.tolist()
    others = [row for row, value in enumerate(given) if not isinstance(value, Real)]
    if others:
        # One text makes texts of all the numbers of a column: the first that is no number is meant.
        no_number = pd.isna(pd.to_numeric(values[others].astype(object), errors="coerce"))
        row = others[int(np.argmax(no_number))]
        raise ColumnError(name, row, "a number", given[row])
    return np.array(given)


def as_extras(given: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return further columns as read-only arrays; refuse what is none, and the names of the six."""
    extras = {name: frozen(np.asarray(column)) for name, column in given.items()}
    for name, column in extras.items():
        if name in COLUMNS:
            raise RequestError(f"a further column is named {name}", "give it a name other than those of the six")
        if column.ndim != 1:
            raise RequestError(f"column {name} has {column.ndim} dimensions", "a column has one")
    return extras


def empty(name: str) -> NDArray[Any]:
    """Return no values, of the type of a column."""
    return np.empty(0, np.float64 if name in _FLOATS else np.int64)


def taken(column: NDArray[Any], rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> NDArray[Any]:
    """Return these rows of a column of ours, read-only."""
    taken = column[rows]
    taken.flags.writeable = False
    return taken


def names_of(numbers: NDArray[Any], texts: NDArray[Any]) -> dict[str, int]:
    """Return the numbers of names, of each that stands for one number which has no other name.

    Parameters
    ----------
    numbers, texts
        Of each job; -1 and an empty text are unknown.
    """
    if numbers.dtype.kind not in "iuf" or texts.dtype.kind not in "OU":
        return {}
    pairs = pd.DataFrame({"number": np.where(np.isfinite(numbers), numbers, UNKNOWN), "name": texts}).drop_duplicates()
    pairs = pairs[(pairs["number"] >= 0) & (pairs["name"] != "") & pairs["name"].notna()]
    twice = pairs["number"].duplicated(keep=False) | pairs["name"].duplicated(keep=False)
    return {str(name): int(number) for number, name in pairs[~twice].itertuples(index=False)}


def require_alike(column: str, whole: Mapping[str, int], parts: Iterable[Mapping[str, int]]) -> None:
    """Refuse names of a part that are none of the whole, since others have their numbers there, or they have others."""
    for part in parts:
        for name in (each for each in part if each not in whole):
            what = f"{column} {brief(name)} is number {part[name]} of one part, and another name or number of another"
            raise RequestError(what, "read the files as one, or pass alike=False for the numbers as they are")


def numbered(names: NDArray[Any]) -> NDArray[np.int64]:
    """Return texts as numbers from 1 on, in their sorted order; -1 where there is none."""
    texts = ["" if each is None or each != each else str(each) for each in names.tolist()]  # noqa: PLR0124  NaN is not
    number = {text: at for at, text in enumerate(sorted({*texts} - {""}), start=1)}
    return np.array([number.get(text, UNKNOWN) for text in texts], np.int64)
