import enum
import io
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns.rows import CELL, OURS, ROW, SECONDS, groups, parquet, plain_rows, table_of
from simmodels.errors import RequestError
from tests.refused import refused


class Colour(str, enum.Enum):  # noqa: UP042  the older kind, whose str() is its name
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Loud(float):
    """A float of its own kind."""


VALUES = [
    (np.int32(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("x"), "x"), (Colour.RED, "red"),
    (Level.HIGH, 3), (Loud(0.5), 0.5), (2**53, 2**53), (math.inf, math.inf), ("", ""),
]  # fmt: skip


def plain(rows: object) -> list[dict[str, Any]]:
    return plain_rows(rows, {"size": 1})  # type: ignore[arg-type]


# -- rows -------------------------------------------------------------------------------------------


def test_a_row_several_rows_and_a_table_are_rows() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert plain(rows) == plain(iter(rows)) == plain(tuple(rows)) == plain(pd.DataFrame(rows)) == rows
    assert plain(rows[0]) == plain([rows[0]]) == rows[:1]
    assert plain([]) == plain(pd.DataFrame()) == []
    assert plain({}) == [{}]


def test_a_value_becomes_a_plain_one_and_what_is_absent_is_left_out() -> None:
    for value, expected in VALUES:
        [row] = plain({"x": value})
        assert (row, type(row["x"])) == ({"x": expected}, type(expected))
    [row] = plain({"a": None, "b": pd.NA, "c": pd.NaT, "d": math.nan})
    assert list(row) == ["d"]
    assert math.isnan(row["d"])


def test_whole_numbers_beside_floats_become_floats() -> None:
    rows = plain([{"a": 1, "b": 1}, {"a": 0.5}, {"a": None, "b": 2}])
    assert rows == [{"a": 1.0, "b": 1}, {"a": 0.5}, {"b": 2}]
    assert [type(value) for row in rows for value in row.values()] == [float, int, float, int]


def test_what_is_missing_in_a_table_is_absent_but_for_numbers() -> None:
    table = pd.DataFrame({
        "text": ["x", None],
        "object": pd.Series([True, None], dtype=object),
        "nullable": pd.Series([1, None], dtype="Int64"),
        "number": [1.0, None],
    })  # fmt: skip
    first, second = plain(table)
    assert first == {"text": "x", "object": True, "nullable": 1, "number": 1.0}
    assert list(second) == ["number"]


RETURNED = "what run_cell returns must be a mapping, several of them, or a DataFrame"
NAME = "the name of a column must be a text that UTF-8 can hold"
PLAIN = "x must be None, a bool, a number or a text"


OURS_TOO = "as a factor or a column of the campaign is; rename it"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (None, f"{RETURNED} (got None)"),
        ("abc", f"{RETURNED} (got 'abc')"),
        ([1], "a row must be a mapping (got 1)"),
        ({1: 2}, f"{NAME} (got 1)"),
        ({"": 2}, f"{NAME} (got '')"),
        ({"\udcff": 2}, f"{NAME} (got '\\udcff')"),
        ({"size": 2}, f"a column is named 'size', {OURS_TOO}"),
        ({"replication": 2}, f"a column is named 'replication', {OURS_TOO}"),
        ({CELL: 2}, f"a column is named '_cell', {OURS_TOO}"),
        ({"x": [1]}, f"{PLAIN} (got [1])"),
        ({"x": np.zeros(2)}, f"{PLAIN} (got array([0., 0.]))"),
        ({"x": np.datetime64("2020-01-01")}, f"{PLAIN} (got datetime.date(2020, 1, 1))"),
        ({"x": -(2**53) - 1}, "x must be an integer from -2**53 to 2**53 (got -9007199254740993)"),
        ({"x": "a\udcff"}, "x must be a text that UTF-8 can hold (got 'a\\udcff')"),
        ([{"x": 1}, {"x": True}], "x is int in one row and bool in another; ..."),
        ([{"x": 0.5}, {"x": 1}, {"x": "1"}], "x is float in one row and str in another; ..."),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the DataFrame has several columns named a; keep..."),
        (pd.DataFrame({"a": [1]}, pd.Index([3], name="job")), "the DataFrame has the index job, which no..."),
    ],
)
def test_what_is_no_row_is_refused(rows: object, text: str) -> None:
    with refused(text):
        plain(rows)


def test_an_error_met_while_rows_are_made_is_the_study_s_own() -> None:
    with pytest.raises(ZeroDivisionError):
        plain({"a": 1 / number} for number in (1, 0))


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=3) | st.binary()
    | st.floats(width=32).map(np.float32) | st.integers(-9, 9).map(np.int8) | st.datetimes() | st.just([])
)  # fmt: skip
NAMES = st.sampled_from(["a", "b", "size", "", "_row"]) | st.text(max_size=2) | st.integers(0, 1)
ROWS = st.lists(st.dictionaries(NAMES, SCALARS, max_size=3), max_size=3)


@given(ROWS | SCALARS | st.lists(SCALARS, max_size=2) | st.lists(st.fixed_dictionaries({"a": SCALARS}), max_size=3))
def test_whatever_a_cell_returns_is_a_file_that_can_be_read_or_one_clear_error(rows: object) -> None:
    try:
        found = plain(rows)
    except RequestError:
        return
    [group] = groups([("key", 0.5, found)])
    table = pq.read_table(io.BytesIO(parquet(table_of(group))))
    read = table.drop_columns(list(OURS)).to_pylist()
    assert len(read) == max(len(found), 1)
    for row, expected in zip(read, found or [{}], strict=True):
        kept = {name: value for name, value in row.items() if value is not None}
        assert repr(kept) == repr({name: expected[name] for name in kept})
        assert set(expected) == set(kept)


@given(ROWS)
def test_a_table_is_read_as_its_rows_are(rows: list[dict[Any, Any]]) -> None:
    try:
        found = plain(rows)
        table = pd.DataFrame(found)
    except RequestError:
        return
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    again = plain(table)
    assert [{name: row.get(name) for name in texts} for row in again] == [
        {name: row.get(name) for name in texts} for row in found
    ]


# -- files ------------------------------------------------------------------------------------------


def test_a_file_has_a_line_a_row_and_one_for_a_cell_without_rows() -> None:
    table = table_of([("k", 0.5, [{"a": 1}, {"b": "x"}]), ("l", 0.25, []), ("m", 1.0, [{"a": 3, "b": "y"}])])
    assert table.to_pydict() == {
        CELL: ["k", "k", "l", "m"],
        ROW: [0, 1, None, 0],
        SECONDS: [0.5, 0.5, 0.25, 1.0],
        "a": [1, None, None, 3],
        "b": [None, "x", None, "y"],
    }
    assert [column.type for column in table.schema] == [pa.string(), pa.int32(), pa.float64(), pa.int64(), pa.string()]
    assert table_of([]).num_rows == 0


KINDS = st.sampled_from([1, 0.5, True, "x"])


@given(st.lists(st.dictionaries(st.sampled_from("abc"), KINDS), max_size=6))
def test_in_a_group_each_column_is_of_one_kind_and_no_cell_is_lost(rows: list[dict[str, Any]]) -> None:
    found = groups([(str(number), 0.0, [row]) for number, row in enumerate(rows)])
    assert sorted(int(key) for group in found for key, _, _ in group) == list(range(len(rows)))
    for group in found:
        for name in "abc":
            assert len({type(row[name]) for _, _, [row] in group if name in row}) <= 1
