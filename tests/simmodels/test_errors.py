"""Each error class survives SimPy, pickling and copying, and says what must hold, what was given, and where."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

from simmodels import errors
from simmodels.errors import (
    ColumnError,
    FileFormatError,
    IllegalScheduleError,
    ImpossibleJobError,
    RequestError,
    SimModelsError,
    StoppedError,
    UnknownNameError,
    brief,
    must_be,
    near_names,
    printable,
    require_known,
)

CASES = [
    (StoppedError("the disk is full", "what was finished is kept"), "the disk is full; what was finished is kept"),
    (StoppedError("the disk is full"), "the disk is full"),
    (SimModelsError("something"), "something"),
    (RequestError(must_be("cores", "an integer from 1", 0)), "cores must be an integer from 1 (got 0)"),
    (RequestError("two workloads of one name"), "two workloads of one name"),
    (ColumnError("cores", 4, "an integer from 1", 0), "column cores, row 4, must be an integer from 1 (got 0)"),
    (
        UnknownNameError("order", "FCSF", ("FCFS", "LCFS")),
        "unknown order 'FCSF'; did you mean FCFS? known: FCFS, LCFS",
    ),
    (
        UnknownNameError("order", "SRPF", ("FCFS", "SRF", "SPF")),
        "unknown order 'SRPF'; did you mean SRF or SPF? known: FCFS, SRF, SPF",
    ),
    (UnknownNameError("order", "???", ("FCFS",)), "unknown order '???'; known: FCFS"),
    (UnknownNameError("column", "queue", ()), "unknown column 'queue'; there is none"),
    (
        FileFormatError("a.swf", 7, must_be("the line", "18 fields", "1 2 3")),
        "a.swf, line 7: the line must be 18 fields (got '1 2 3')",
    ),
    (FileFormatError("a.swf", None, "no jobs"), "a.swf: no jobs"),
    (
        ImpossibleJobError(12, "needs 101 cores, and the machine has 100"),
        "job 12: needs 101 cores, and the machine has 100",
    ),
    (ImpossibleJobError(12, "needs 0", 3), "job 12: needs 0 (3 more jobs of this input are refused too)"),
    (ImpossibleJobError(12, "needs 0", 1), "job 12: needs 0 (1 more job of this input is refused too)"),
    (
        IllegalScheduleError("capacity", "at 5 s: 12 cores run, and the machine has 10"),
        "illegal schedule (capacity): at 5 s: 12 cores run, and the machine has 10",
    ),
]
IDS = [f"{type(error).__name__}-{number}" for number, (error, _) in enumerate(CASES)]


def same(one: Exception, other: Exception) -> bool:
    """Return whether two errors are of one class, with equal arguments, fields and text."""
    return (type(one), one.args, vars(one), str(one)) == (type(other), other.args, vars(other), str(other))


@pytest.mark.parametrize(("error", "text"), CASES, ids=IDS)
def test_its_text_is_one_line(error: SimModelsError, text: str) -> None:
    assert str(error) == text
    assert "\n" not in text


@pytest.mark.parametrize(
    "error",
    [
        RequestError(f"unknown study {'x' * 100_000!r}", "give its name"),
        UnknownNameError("scale", "x" * 100_000, ("smoke", "full")),
        FileFormatError("a.swf", 3, f"field 4 is {'x' * 100_000}"),
        ImpossibleJobError(3, f"kind {'x' * 100_000!r} has no cluster"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_it_was_given_is_shown_by_its_begin_and_end_if_it_is_long(error: SimModelsError) -> None:
    assert len(str(error)) < 1_000
    assert "xxx ... xxx" in str(error)
    assert len(error.what) > 100_000  # type: ignore[attr-defined]  # for whoever catches it


@pytest.mark.parametrize("error", [error for error, _ in CASES], ids=IDS)
def test_it_is_rebuilt_from_its_arguments_as_simpy_does_it_pickled_and_copied_whole(error: SimModelsError) -> None:
    assert same(type(error)(*error.args), error)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert same(pickle.loads(pickle.dumps(error, protocol)), error)
    assert same(copy.deepcopy(error), error)


def test_every_error_class_of_the_module_is_tried_here() -> None:
    classes = {cls for _, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__}
    assert {cls for cls in classes if issubclass(cls, Exception)} == {type(error) for error, _ in CASES}


def test_every_error_is_ours_and_those_with_a_builtin_of_its_kind_are_that_too() -> None:
    for error, _ in CASES:
        assert isinstance(error, SimModelsError)
        assert type(error) is SimModelsError or isinstance(error, ValueError | RuntimeError)
    assert issubclass(UnknownNameError, RequestError)


def test_the_fields_can_be_read() -> None:
    error = UnknownNameError("order", "FCSF", ("FCFS", "LCFS"))
    assert (error.kind, error.name, error.known) == error.args
    assert (error.what, error.remedy) == ("unknown order 'FCSF'", "known: FCFS, LCFS")
    assert ImpossibleJobError(1, "x").others == 0


@pytest.mark.parametrize("kind", [SimModelsError, RequestError, StoppedError])
def test_the_text_of_an_error_is_one_line_that_no_terminal_obeys(kind: type[Exception]) -> None:
    assert str(kind("order '\x1b[31m\nred\u202e'")) == "order '\\x1b[31m\\nred\\u202e'"


def test_a_path_with_control_characters_is_escaped_in_errors_and_kept_as_a_field() -> None:
    error = FileFormatError("\x1b[2J.swf", 7, "no\rjob")
    assert str(error) == "\\x1b[2J.swf, line 7: no\\rjob"
    assert error.path == "\x1b[2J.swf"


def test_what_a_terminal_would_obey_is_escaped_and_all_else_is_left() -> None:
    for kept in ("plain", "é 日本 \u2009thin", "back\\slash"):
        assert printable(kept, keep="\n") == kept
    for text, expected in (
        ("a\x00b\x7f\x9b", "a\\x00b\\x7f\\x9b"),
        ("a\nb\u2028", "a\nb\\u2028"),
        ("\ud800", "\\ud800"),
    ):
        assert printable(text, keep="\n") == expected


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("40h", "'40h'"),
        (np.float64(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.str_("easy"), "'easy'"),
        (np.zeros((2, 3)), "an array of shape (2, 3)"),
        (RequestError, "the class RequestError"),
        (object(), "an object"),
        (None, "None"),
    ],
    ids=["text", "float64", "int64", "str_", "array", "class", "object", "None"],
)
def test_a_value_is_shown_as_it_would_be_written_in_python(given: object, text: str) -> None:
    assert must_be("cores", "an integer >= 1", given) == f"cores must be an integer >= 1 (got {text})"


def test_near_names_differ_by_the_order_of_letters_by_capitals_or_by_little() -> None:
    known = ("FCFS", "LCFS", "SAF", "SPF", "SRF")
    assert near_names("SFA", known) == ("SAF",)
    assert near_names("spf", known) == ("SPF",)
    assert near_names("FCFSS", known) == ("FCFS", "LCFS")
    assert near_names("", known) == ()


def test_a_name_that_is_no_text_is_refused_as_one() -> None:
    with pytest.raises(RequestError, match=r"^engine must be one of auto, simpy \(got \['auto'\]\)$"):
        require_known("engine", ["auto"], ("auto", "simpy"))


def test_a_long_value_is_shown_in_brief() -> None:
    for number in (16**5000, {"a": [16**5000]}):
        assert brief(number) == f"{type(number).__name__} with a number of thousands of digits"
    assert brief("short") == "'short'"
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for value in ("x" * 10**6, 10**4_000, list(range(10**6)), nested, {str(key): "y" * 999 for key in range(999)}):
        assert len(brief(value)) < 500


def test_an_object_of_several_lines_is_shown_as_its_type() -> None:
    table = pd.DataFrame({"a": range(3)})
    assert brief({"x": [table, object()]}) == "{'x': [a DataFrame of shape (3, 1), an object]}"
