"""The lines of a log in the Standard Workload Format, as columns: read at once if they are regular, else one by one."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from simmodels.errors import FileFormatError, must_be
from workloads.files import arrow_buffer

Column = NDArray[Any]
"""int64 or float64: a log may hold fractions in nearly every field."""

FIELDS: Final = (
    "job_id",
    "submit_s",
    "wait_s",
    "runtime_s",
    "allocated_cores",
    "average_cpu_s",
    "used_memory_kb",
    "requested_cores",
    "requested_s",
    "requested_memory_kb",
    "status",
    "user_id",
    "group_id",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_time_s",
)
"""The 18 fields of a line, in order; those that are no columns of a `Workload` become its extras."""

WHOLE: Final = ("job_id", "allocated_cores", "requested_cores", "user_id")
"""The fields in which a fraction is refused."""
LEAST: Final = 5
"""How many fields a line must have."""
UNKNOWN: Final = -1
"""What the format writes for what is not known."""

_LIMIT: Final = 2**63
_INT64_DIGITS: Final = 19
_PIECE: Final = 1 << 22
_SPACE, _NEWLINE, _SEMICOLON = b" \n;"
_PLAIN_BYTES: Final = b"0123456789+-.eE \t\n"
_NUMBER: Final = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = rb"-?[0-9]{1,18}(?:\.[0-9]{1,18})?"
_PLAIN_LINE: Final = re.compile(_PLAIN + rb"(?: " + _PLAIN + rb"){17}")


def parse_lines(path: Path, data: bytes, body: bytes, start: int) -> tuple[dict[str, Column], dict[str, int]]:
    """Return the 18 columns of the lines with jobs, and how many lines had missing or extra fields.

    Parameters
    ----------
    path
        The log, for the texts of errors.
    data
        The whole log, its lines ended by LF.
    body, start
        The same lines in the same order, free of comments from position `start` on.

    Raises
    ------
    FileFormatError
        No line holds a job, or one cannot be read; the first such line is named.
    """
    arrays = _parse_regular(body, start)
    counts = {"lines with missing fields": 0, "lines with extra fields": 0}
    if arrays is None or len(arrays) < LEAST:
        mended = _mend(path, data, counts)
        if not mended:
            raise FileFormatError(str(path), None, "no line holds a job")
        arrays = _parse_regular(mended, 0)
        assert arrays is not None, "mended lines are regular"  # noqa: S101  # our own invariant
    elif len(arrays) != len(FIELDS):
        kind = "missing" if len(arrays) < len(FIELDS) else "extra"
        counts[f"lines with {kind} fields"] = len(arrays[0])
    given = dict(zip(FIELDS, arrays, strict=False))
    unknown = np.full(len(arrays[0]), UNKNOWN, dtype=np.int64)
    return {field: _checked(path, data, field, given.get(field, unknown)) for field in FIELDS}, counts


def _parse_regular(body: bytes, start: int) -> list[Column] | None:
    """Return the columns of lines that all have the same number of plain numbers; None if they do not."""
    pieces = []
    while start < len(body):  # pieces of a few megabytes, each to the end of a line, bound the memory used
        end = body.find(b"\n", start + _PIECE) + 1 or len(body)
        piece = body[start:end]
        if piece.translate(None, _PLAIN_BYTES):
            return None
        pieces.append(_squeezed(np.frombuffer(piece, dtype=np.uint8)))
        start = end
    table = b"".join([*pieces, b"\n"]).lstrip(b"\n")  # the parser wants a line to begin with, and its end
    del pieces
    if not table:
        return None
    try:
        parsed = arrow_csv.read_csv(
            arrow_buffer(table),
            read_options=arrow_csv.ReadOptions(autogenerate_column_names=True),
            parse_options=arrow_csv.ParseOptions(delimiter=" ", quote_char=False, double_quote=False),
            convert_options=arrow_csv.ConvertOptions(null_values=[], true_values=[], false_values=[]),
        )
    except pa.ArrowInvalid:  # not the same number of fields in all lines
        return None
    if not all(pa.types.is_int64(kind) or pa.types.is_float64(kind) for kind in parsed.schema.types):
        return None
    return [column.to_numpy() for column in parsed.columns]


def _squeezed(text: NDArray[np.uint8]) -> bytes:
    """Return whole lines with one space between fields, and none at their beginnings and ends."""
    blank = text <= _SPACE
    keep = ~blank | (text == _NEWLINE)
    keep[1:] |= blank[1:] & ~blank[:-1]  # the first blank of each run
    kept = text[keep]
    kept[kept == ord("\t")] = _SPACE
    inner = np.ones(len(kept), dtype=np.bool_)
    inner[:-1] = (kept[:-1] != _SPACE) | (kept[1:] != _NEWLINE)
    return bytes(kept[inner])


def _mend(path: Path, data: bytes, counts: dict[str, int]) -> bytes:
    """Return the lines with jobs, each as 18 plain numbers; refuse the first line that cannot be read."""
    mended = []
    for line, fields in _lines_with_jobs(data):
        missing = len(FIELDS) - len(fields)
        counts["lines with missing fields"] += missing > 0
        counts["lines with extra fields"] += missing < 0
        plain = b" ".join(fields[: len(FIELDS)] + [b"-1"] * missing)
        if not _PLAIN_LINE.fullmatch(plain):
            for field, token in zip(FIELDS, fields, strict=False):
                if not _NUMBER.fullmatch(token):
                    raise FileFormatError(str(path), line, must_be(_place(field), "a number", _text(token)))
            if len(fields) >= LEAST:
                plain = b" ".join(map(_plain, plain.split()))
        if len(fields) < LEAST:
            what = must_be("the number of fields", f"{len(FIELDS)}, or at least {LEAST}", len(fields))
            raise FileFormatError(str(path), line, what)
        mended.append(plain)
    return b"\n".join(mended)


def _lines_with_jobs(data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number and the fields of each line that is neither blank nor a comment."""
    for line, text in enumerate(data.split(b"\n"), start=1):
        fields = text.split()
        if fields and fields[0][0] != _SEMICOLON:
            yield line, fields


def _plain(token: bytes) -> bytes:
    """Return a number in a way of writing that every parser reads alike."""
    digits = token.lstrip(b"+-").lstrip(b"0")
    if not digits or (digits.isdigit() and len(digits) <= _INT64_DIGITS):
        whole = int(digits or b"0") * (-1 if token.startswith(b"-") else 1)
        if -_LIMIT <= whole < _LIMIT:
            return b"%d" % whole
    number = float(token)
    return repr(number).encode() if np.isfinite(number) else b"1e300"  # refused later, as all beyond the limit


def _checked(path: Path, data: bytes, field: str, column: Column) -> Column:
    """Return a column, read-only and of whole numbers if it must be; refuse numbers that do not fit."""
    if column.dtype.kind == "f":
        bad = ~(np.abs(column) < _LIMIT)
        expected = "a number between -2**63 and 2**63"
        if field in WHOLE and not bad.any():
            bad = column != np.floor(column)
            expected = "an integer"
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            line, fields = next(found for at, found in enumerate(_lines_with_jobs(data)) if at == row)
            token = fields[FIELDS.index(field)]
            raise FileFormatError(str(path), line, must_be(_place(field), expected, _text(token)))
        if field in WHOLE:
            column = column.astype(np.int64)
    column.flags.writeable = False
    return column


def _place(field: str) -> str:
    """Return the field's number and name."""
    return f"field {FIELDS.index(field) + 1} ({field})"


def _text(token: bytes) -> str:
    """Return a field as a text, whatever its bytes."""
    return token.decode("latin-1")
