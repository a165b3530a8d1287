"""Mutations of files: of bytes, lines, numbers, nesting, encodings, and what is compressed."""

import random
import re
from collections.abc import Callable
from typing import Final

Mutation = Callable[[random.Random, bytes], bytes]

_EXTREMES: Final = (
    b"9" * 400,
    b"-" + b"9" * 400,
    b"9" * 5000,
    *b"NaN nan inf -inf Infinity -0 -0.0 1e308 -1e308 1e-320 1e400 9223372036854775807 9223372036854775808".split(),
    *b"-9223372036854775808 18446744073709551616 9007199254740993 2147483648 0 -1 1.5 1_000 0x10 1e5".split(),
    "١٢".encode(),
    b"",
)
_ODD: Final = (
    *(b"\0", b"\x1b[31m", b"\x07", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xff\xfe"),
    *(b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(), b"\\ud800"),
    *(b"\\u0000", b"&#27;", b"&bomb;", b"<!DOCTYPE adag [<!ENTITY a 'x'>]>"),
    *(b"=1+1", b"'", b'"', b"|", b";", b"#", b","),
)
_NESTS: Final = (b"[", b"{", b'{"a":', b"<job>", b"<a>", b"(", b"a.", b"[[", b'"')
_VALUES: Final = (b"null", b"true", b"false", b"[]", b"{}", b'""', b'"x"', b"-1", b"1.5", b"[[1]]", b'{"a": 1}')
_NUMBER: Final = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")
_VALUE: Final = re.compile(rb'"[^"\n]*"|-?[0-9]+(?:\.[0-9]+)?')


def _somewhere(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = _somewhere(rng, data)
    return data[:at] + rng.randbytes(rng.randint(1, 20)) + data[at:]


def _remove(rng: random.Random, data: bytes) -> bytes:
    at = _somewhere(rng, data)
    return data[:at] + data[at + rng.choice((1, 3, 30, 300)) :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: _somewhere(rng, data)]


def _move_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(4)
    if what == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 1:
        lines.insert(other, lines[one])
    elif what == 2:
        del lines[one]
    else:
        lines[one] = lines[one][: _somewhere(rng, lines[one])] + b"\n"
    return b"".join(lines)


def _in_place(pattern: re.Pattern[bytes], texts: tuple[bytes, ...]) -> Mutation:
    def put(rng: random.Random, data: bytes) -> bytes:
        places = [found.span() for found in pattern.finditer(data)]
        if not places:
            return data
        start, end = rng.choice(places)
        return data[:start] + rng.choice(texts) + data[end:]

    return put


def _odd(rng: random.Random, data: bytes) -> bytes:
    at = rng.choice((0, len(data), _somewhere(rng, data)))
    return data[:at] + rng.choice(_ODD) + data[at:]


def _huge(rng: random.Random, data: bytes) -> bytes:
    at = _somewhere(rng, data)
    return (
        data[:at]
        + rng.choice((b"x", b"9", b" ", b"\n", b"\0", b"|", b",", b"-")) * rng.choice((1000, 100_000))
        + data[at:]
    )


def _nest(rng: random.Random, data: bytes) -> bytes:
    at = _somewhere(rng, data)
    return data[:at] + rng.choice(_NESTS) * rng.choice((3, 900, 1500, 50_000)) + data[at:]


def _line_ends(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n\r", b"\x0b\n", b"\xe2\x80\xa8")))


def _encode(rng: random.Random, data: bytes) -> bytes:
    return data.decode(errors="replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig")))


def _separate(rng: random.Random, data: bytes) -> bytes:
    one = rng.choice((b" ", b"|", b",", b":", b"=", b"\n", b'"', b"/", b"]", b"}", b">"))
    return data.replace(one, rng.choice((b"\t", one * 2, b"", b" ", b";")), rng.choice((1, 5, -1)))


MUTATIONS: Final[tuple[Mutation, ...]] = (
    flip,
    _insert,
    _remove,
    truncate,
    _move_lines,
    _in_place(_NUMBER, _EXTREMES),
    _in_place(_NUMBER, _EXTREMES),
    _in_place(_VALUE, _VALUES),
    _in_place(_VALUE, _VALUES),
    _odd,
    _odd,
    _huge,
    _nest,
    _line_ends,
    _encode,
    _separate,
)
