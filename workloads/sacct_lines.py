"""The lines of Slurm's accounting as tables of text: piece by piece, with every line accounted for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from simmodels.errors import FileFormatError
from workloads.files import arrow_buffer

Numbers = NDArray[np.int64]
Rows = NDArray[np.bool_]

COMMAND: Final = (
    "sacct --allusers --allocations --duplicates --parsable2 --starttime 2024-01-01 --endtime 2025-01-01 "
    "--format JobID,JobIDRaw,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,Suspended,"
    "TimelimitRaw,ReqCPUS,AllocCPUS,NNodes,ReqMem,Priority,Restarts,JobName"
)
"""What makes a good file."""

_FREE_TEXT: Final = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "extra", "reason")
_PIECE: Final = 1 << 23
_NEWLINE, _PIPE = b"\n|"
_TEXT: Final = pa.string()
_JOB_ID: Final = b"JobID"
_FEW_TEXTS: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Header:
    """The line that names the columns.

    Parameters
    ----------
    line
        It, as it stands.
    at
        The position after its end.
    number
        Its line number.
    columns
        Where each column stands, by its name in lower case; of two of one name, the first.
    names
        The names as they stand.
    trailing
        Whether each line ends in a ``|``, as ``--parsable`` makes it.
    """

    line: bytes
    at: int
    number: int
    columns: Mapping[str, int]
    names: tuple[str, ...]
    trailing: bool

    @property
    def pipes(self) -> int:
        """How many ``|`` a line has."""
        return len(self.names) - (not self.trailing)

    @property
    def open_ended(self) -> bool:
        """Whether the last column is free text, which may hold a ``|`` of its own."""
        return self.names[-1].lower() in _FREE_TEXT


def find_header(data: bytes) -> Header | None:
    """Return the header, which is the first line that is not blank; None if that names no jobs."""
    at, number = 0, 1
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[at:end]
        if line.strip():
            names = [name.strip() for name in line.decode(errors="replace").split("|")]
            trailing = len(names) > 1 and not names[-1]
            names = names[:-1] if trailing else names
            columns = {name.lower(): place for place, name in reversed(list(enumerate(names)))}
            if len(names) < 2 or not columns.keys() & {"jobid", "jobidraw"}:
                return None
            return Header(line, min(end + 1, len(data)), number, columns, tuple(names), trailing)
        at, number = end + 1, number + 1
    return None


@dataclass(slots=True)
class Faults:
    """The lines that cannot be read, by what is wrong with them.

    Parameters
    ----------
    path
        The file.
    found
        For each reason: how many lines, the first of them, and the text at fault there.
    """

    path: Path
    found: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    def add(self, reason: str, lines: Sequence[int] | Numbers, first_text: str = "") -> None:
        """Note lines, in the order of the file."""
        count, first, shown = self.found.get(reason, (0, int(lines[0]), first_text))
        self.found[reason] = (count + len(lines), first, shown)

    def first(self) -> FileFormatError:
        """Return the error of the first line."""
        reason, (_, line, text) = min(self.found.items(), key=lambda fault: fault[1][1])
        shown = f": {text[:60]!r}{'...' if len(text) > 60 else ''}" if text else ""
        return FileFormatError(str(self.path), line, f"{reason}{shown}")

    def counts(self) -> dict[str, int]:
        """Return how many lines there are of each reason, and the first of them."""
        counts: dict[str, int] = {"bad lines": sum(count for count, _, _ in self.found.values())}
        for reason, (count, line, _) in self.found.items():
            counts |= {f"bad lines: {reason}": count, f"first line at fault: {reason}": line}
        return counts


def tables(
    data: bytes, header: Header, wanted: Mapping[str, bool], counts: dict[str, int], faults: Faults
) -> Iterator[tuple[Numbers, dict[str, Any]]]:
    """Yield, piece by piece, the numbers of the lines with the right number of fields, and their columns as text.

    Parameters
    ----------
    data
        The file, its lines ended by LF.
    header
        Its header.
    wanted
        The columns to return, and whether their texts are to be encoded by a dictionary.
    counts
        Where lines that are no record are counted.
    faults
        Where lines at fault are noted.
    """
    at, number = header.at, header.number + 1
    while at < len(data):  # pieces of a few megabytes, each to the end of a line, bound the memory used
        end = data.find(b"\n", at + _PIECE) + 1 or len(data)
        piece = data[at:end]
        piece = piece if piece.endswith(b"\n") else piece + b"\n"
        _refuse_other_header(piece, number, header, faults.path)
        lines, columns, seen = _piece(piece, number, header, wanted, counts, faults)
        if len(lines):
            yield lines, columns
        at, number = end, number + seen
    counts["lines"] = number - 1


def _refuse_other_header(piece: bytes, number: int, header: Header, path: Path) -> None:
    """Refuse a later line that names columns in another way: what follows would be read by the first."""
    at = piece.find(_JOB_ID)
    while at >= 0:
        begin, end = piece.rfind(b"\n", 0, at) + 1, piece.find(b"\n", at)
        line = piece[begin:end]
        other = find_header(line) or header
        shared = other.columns.keys() & header.columns.keys()
        if other.names != header.names and len(shared) > 2:  # else a job has such a name
            what = f"other columns than in line {header.number}; read what follows as a file of its own"
            raise FileFormatError(str(path), number + piece.count(b"\n", 0, begin), what)
        at = piece.find(_JOB_ID, end)


def _piece(
    piece: bytes, number: int, header: Header, wanted: Mapping[str, bool], counts: dict[str, int], faults: Faults
) -> tuple[Numbers, dict[str, Any], int]:
    """Return the numbers of the good lines of a piece, their columns, and how many lines it has."""
    text = np.frombuffer(piece, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    found = np.diff(np.searchsorted(np.flatnonzero(text == _PIPE), ends), prepend=0)
    good = found == header.pipes
    alike = np.flatnonzero(good & (ends - starts == len(header.line)) & (text[starts] == header.line[0]))
    for row in alike.tolist():
        if piece[starts[row] : ends[row]] == header.line:  # files that were put together have one header each
            counts["header lines"] += 1
            good[row], found[row] = False, -1
    mended: dict[int, list[str]] = {}
    for row in np.flatnonzero(~good & (found >= 0)).tolist():
        line = piece[starts[row] : ends[row]]
        if not line.strip():
            counts["blank lines"] += 1
        elif found[row] > header.pipes and header.open_ended:
            whole = line.removesuffix(b"|") if header.trailing else line
            mended[row] = whole.decode(errors="replace").split("|", len(header.names) - 1)
        else:
            amount = "few" if found[row] < header.pipes else "many"
            faults.add(f"too {amount} fields", [number + row], line.decode(errors="replace"))
    rows = np.flatnonzero(good)
    kept = piece if good.all() else text[np.repeat(good, np.diff(ends, prepend=-1))].tobytes()
    columns = _columns(kept, header, wanted) if len(rows) else None
    if mended:
        rows, columns = _with_mended(rows, columns, mended, header, wanted)
    return rows + number, columns or {}, len(ends)


def _columns(text: bytes, header: Header, wanted: Mapping[str, bool]) -> dict[str, Any]:
    """Return columns of lines that all have the right number of fields."""
    if not text.isascii():
        text = text.decode(errors="replace").encode()
    places = {name: str(header.columns[name]) for name in wanted}
    table = arrow_csv.read_csv(
        arrow_buffer(text),
        read_options=arrow_csv.ReadOptions(
            column_names=[str(place) for place in range(header.pipes + 1)], block_size=len(text) + 1
        ),
        parse_options=arrow_csv.ParseOptions(delimiter="|", quote_char=False, double_quote=False),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=sorted(set(places.values())),
            column_types={places[name]: _FEW_TEXTS if encoded else _TEXT for name, encoded in wanted.items()},
            strings_can_be_null=False,
            null_values=[],
            check_utf8=False,  # it is ASCII, or has just been encoded
        ),
    )
    return {name: table.column(place).combine_chunks() for name, place in places.items()}


def _with_mended(
    rows: Numbers,
    columns: Mapping[str, Any] | None,
    mended: Mapping[int, Sequence[str]],
    header: Header,
    wanted: Mapping[str, bool],
) -> tuple[Numbers, dict[str, Any]]:
    """Return the lines of both kinds, in the order of the file."""
    all_rows = np.concatenate((rows, np.fromiter(mended, dtype=np.int64)))
    order = np.argsort(all_rows)
    both = {}
    for name, encoded in wanted.items():
        column = pa.array([fields[header.columns[name]] for fields in mended.values()], _TEXT)
        column = column.dictionary_encode() if encoded else column
        parts = [column] if columns is None else [columns[name], column]
        both[name] = joined(parts).take(pa.array(order))
    return all_rows[order], both


def joined(columns: Sequence[Any]) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return parts of a column of texts as one; in a dictionary, a text stands once."""
    return pa.chunked_array(columns).unify_dictionaries().combine_chunks()
