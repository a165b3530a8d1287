"""Files in the standard workload format: one drawn by hand, lines, and any that hypothesis draws."""

from collections import Counter
from typing import Final

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from simmodels.work.workload import COLUMNS, Workload
from workloads.swf_lines import FIELDS

DRAWN: Final = """\
; Version: 2.2
;Computer: drawn by hand
; UnixStartTime: 843480031
; MaxNodes: 64
; MaxProcs: 128

  1   0   12  100   4  95.5  -1   8   3600  -1  1  7  3  -1  2 -1 -1 -1
\t2\t5\t-1\t50\t16\t-1\t-1\t-1\t-1\t-1\t0\t8\t-1\t-1\t-1\t-1\t1\t60
; a comment among the jobs
  3   2   -1  -1  -1  -1    -1  -1   -1   -1  5  7 -1  -1 -1 -1 -1 -1
"""


def line(*fields: object) -> str:
    """Return a line that begins with these fields, all others unknown."""
    return " ".join(map(str, (*fields, *[-1] * (18 - len(fields)))))


def by_hand(text: bytes) -> tuple[list[list[float]], dict[str, int]]:
    """Return rows of 18 numbers, and what lines are counted: the format read in the most simple way."""
    rows, counts = [], Counter[str]()
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    for one in lines if lines[-1] else lines[:-1]:
        if not one.split():
            counts["blank lines"] += 1
        elif one.split()[0].startswith(b";"):
            counts["comment lines"] += 1
        else:
            numbers = [float(field) for field in one.split()[:18]]
            rows.append(numbers + [-1.0] * (18 - len(numbers)))
            counts["lines with missing fields"] += len(numbers) < 18
            counts["lines with extra fields"] += len(one.split()) > 18
    return rows, counts


def assert_as_by_hand(jobs: Workload, rows: NDArray[np.float64]) -> None:
    """Check that each field of a log is what was read by hand, and the cores what the two fields of cores say."""
    found = {**jobs.extras, **{name: getattr(jobs, name) for name in COLUMNS}}
    for at, name in enumerate(FIELDS):
        np.testing.assert_array_equal(found[name].astype(float), rows[:, at], err_msg=name)
    np.testing.assert_array_equal(jobs.cores, np.where(rows[:, 7] > 0, rows[:, 7], rows[:, 4]))


WHOLE_NUMBERS = st.integers(-(2**62), 2**62).map(str) | st.integers(-1, 9).map(str)
NUMBERS = (
    WHOLE_NUMBERS
    | st.floats(-1e15, 1e15).map(repr)
    | st.decimals(-1000, 1000, places=3).map(str)
    | st.sampled_from(["1.", ".5", "+3", "00", "-0", "1e3", "2E-2", "-7.25e+1", "1" * 18, "-0.0", "0e0"])
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines_with_jobs(draw: st.DrawFn, fields: int) -> str:
    """Return a line of `fields` fields; those that must be whole are."""
    whole = {0, 4, 7, 11}
    tokens = [draw(st.integers(-1, 9).map(str) if at in whole else NUMBERS) for at in range(min(fields, 18))]
    tokens += draw(st.lists(NUMBERS | st.just("word"), min_size=fields - len(tokens), max_size=fields - len(tokens)))
    blanks = draw(st.lists(BLANKS, min_size=fields, max_size=fields))
    edge = st.sampled_from(["", " ", "\t "])
    return draw(edge) + "".join(map("".join, zip(blanks, tokens, strict=True))).strip() + draw(edge)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Return a good log: regular ones, ragged ones, comments and blank lines anywhere."""
    common = draw(st.integers(5, 20))
    job = lines_with_jobs(common)
    odd = st.integers(5, 20).flatmap(lines_with_jobs)
    other = st.sampled_from(["", "   ", "; note", ";", "  ; MaxProcs: 4", ";;1 2 3 4 5"])
    kinds = [job, job | other, job | odd | other]
    lines = draw(st.lists(draw(st.sampled_from(kinds)), max_size=12))
    lines.insert(draw(st.integers(0, len(lines))), draw(job))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()
