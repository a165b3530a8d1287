"""Formats of traces: slices and counters on tracks, as Chrome's JSON or as Perfetto's protocol buffers.

References
----------
Chrome: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Perfetto: "Synthetic Track Event", https://perfetto.dev/docs/reference/synthetic-track-event; the numbers of fields are
those of ``protos/perfetto/trace/perfetto_trace.proto``.
"""

import gzip
import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from simmodels.errors import RequestError, printable
from simmodels.ground.files import ending_of, replacing
from simmodels.version import __version__

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that begins and ends on a track; those of one track follow each other and do not overlap."""

    name: str
    category: Literal["job", "off"]
    start_s: float
    end_s: float
    about: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Track:
    """Slices, or the values of a counter over time, of a group of tracks."""

    group: int
    name: str
    slices: Iterable[Slice] = ()
    values: Iterable[tuple[float, float]] | None = None
    """Pairs of an instant and the value from then on; None for a track of slices."""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class EventTrace:
    """Tracks by group, and facts about the whole schedule.

    Parameters
    ----------
    groups
        The groups' names.
    tracks
        The tracks, in the order in which they are shown.
    zero_s
        The instant that is the trace's zero, at or before all others.
    about
        Facts about the whole schedule, by name.
    """

    groups: tuple[str, ...]
    tracks: tuple[Track, ...]
    zero_s: float
    about: Mapping[str, Any]


def trace_writer(path: str | os.PathLike[str]) -> Callable[[EventTrace, Path], None]:
    """Return what writes a trace, by the name's ending.

    Raises
    ------
    RequestError
        The name ends otherwise than in .json, .json.gz, .pftrace or .pftrace.gz.
    """
    endings = [f"{ending}{packed}" for ending in _FORMATS for packed in ("", ".gz")]
    made = _FORMATS[ending_of(path, endings, "the trace's name").removesuffix(".gz")]

    def write(trace: EventTrace, path: Path) -> None:
        with _opened(path) as file:
            for part in made(trace):
                file.write(part)

    return write


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears whole or not at all; compressed if its name ends in .gz."""
    with replacing(path) as temporary, temporary.open("wb") as raw:
        if path.suffix.lower() != ".gz":
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as file:
            yield file  # type: ignore[misc]  # it is only written to


# -- Chrome -----------------------------------------------------------------------------------------


def _json(trace: EventTrace) -> Iterator[bytes]:
    """Yield the parts of a JSON object: times in microseconds, a process for each group, a thread for each track.

    Times are integers. As fractions they would be read as rounded floats, of which neighbours could overlap.
    """
    head = {
        "displayTimeUnit": "ms",
        "otherData": {"generator": f"schedlab {__version__}", "zero_s": trace.zero_s, **trace.about},
    }
    yield json.dumps(head, allow_nan=False)[:-1].encode() + b', "traceEvents": [\n'
    first = True
    for event in _events(trace):
        yield (b"" if first else b",\n") + json.dumps(event, allow_nan=False, separators=(",", ":")).encode()
        first = False
    yield b"\n]}\n"


def _events(trace: EventTrace) -> Iterator[dict[str, Any]]:
    """Yield the events of JSON."""
    for pid, group in enumerate(trace.groups):
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": printable(group)}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    for tid, track in enumerate(trace.tracks, start=1):
        place = {"pid": track.group, "tid": tid}
        if track.values is not None:
            for time_s, value in track.values:
                yield {
                    "ph": "C",
                    "name": track.name,
                    "ts": round(1e6 * (time_s - trace.zero_s)),
                    **place,
                    "args": {track.unit: value},
                }
            continue
        yield {"ph": "M", "name": "thread_name", **place, "args": {"name": track.name}}
        yield {"ph": "M", "name": "thread_sort_index", **place, "args": {"sort_index": tid}}
        for each in track.slices:
            begin, end = (round(1e6 * (time_s - trace.zero_s)) for time_s in (each.start_s, each.end_s))
            span = {"ts": begin, "dur": end - begin}
            yield {"ph": "X", "name": each.name, "cat": each.category, **span, **place, "args": dict(each.about)}


# -- Perfetto ---------------------------------------------------------------------------------------

_PACKET: Final = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _DESCRIPTOR, _FLAGS = 8, 10, 11, 60, 13  # of a packet
_UUID, _NAME, _PARENT, _COUNTER, _ORDERING, _RANK = 1, 2, 5, 8, 11, 12  # of a track
_EXPLICIT: Final = 3
_TYPE, _TRACK, _TITLE, _CATEGORY, _VALUE, _NOTE = 9, 11, 23, 22, 44, 4  # of an event
_BEGIN, _END, _COUNT = 1, 2, 4
_NOTE_NAME, _NOTE_INT, _NOTE_DOUBLE, _NOTE_TEXT = 10, 4, 5, 6
_UNIT: Final = 6


def _pftrace(trace: EventTrace) -> Iterator[bytes]:
    """Yield the packets of a Perfetto trace: times in nanoseconds, a parent track for each group."""
    for number, group in enumerate(trace.groups):
        about = _whole(_UUID, number + 1) + _text(_NAME, printable(group)) + _whole(_ORDERING, _EXPLICIT)
        first = _whole(_FLAGS, 1) if number == 0 else b""  # the sequence begins here: nothing before it was lost
        yield _packet(first + _part(_DESCRIPTOR, about + _whole(_RANK, number)))
    for number, track in enumerate(trace.tracks):
        uuid = len(trace.groups) + 1 + number
        about = (
            _whole(_UUID, uuid) + _text(_NAME, track.name) + _whole(_PARENT, track.group + 1) + _whole(_RANK, number)
        )
        if track.values is not None:
            about += _part(_COUNTER, _text(_UNIT, track.unit))
        yield _packet(_part(_DESCRIPTOR, about))
        begin, end, count = (_whole(_TYPE, kind) + _whole(_TRACK, uuid) for kind in (_BEGIN, _END, _COUNT))
        for time_s, value in track.values or ():
            yield _packet(_at(time_s - trace.zero_s) + _part(_EVENT, count + _double(_VALUE, value)))
        for each in track.slices:
            notes = b"".join(_note(name, value) for name, value in each.about.items())
            event = begin + _text(_CATEGORY, each.category) + _text(_TITLE, each.name) + notes
            yield _packet(_at(each.start_s - trace.zero_s) + _part(_EVENT, event))
            yield _packet(_at(each.end_s - trace.zero_s) + _part(_EVENT, end))


def _packet(content: bytes) -> bytes:
    """Return a packet of a trace, of the one sequence that there is."""
    return _part(_PACKET, content + _whole(_SEQUENCE, 1))


def _at(time_s: float) -> bytes:
    time_ns = round(1e9 * time_s)
    if time_ns >= 2**63:
        raise RequestError(f"Perfetto's format has no instant {time_s:g} s", "write a .json, or begin the log near 0 s")
    return _whole(_TIMESTAMP, time_ns)


def _note(name: str, value: Value) -> bytes:
    """Return an argument of a slice, as a part of its event."""
    if isinstance(value, str):
        said = _text(_NOTE_TEXT, value)
    elif isinstance(value, int):
        said = _whole(_NOTE_INT, value)
    else:
        said = _double(_NOTE_DOUBLE, value)
    return _part(_NOTE, _text(_NOTE_NAME, name) + said)


def _varint(value: int) -> bytes:
    """Return an integer, seven bits per byte; below 0 as 64 bits of two's complement."""
    value &= 2**64 - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _whole(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _part(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _part(number, text.encode())


_FORMATS: Final[Mapping[str, Callable[[EventTrace], Iterator[bytes]]]] = {".json": _json, ".pftrace": _pftrace}
