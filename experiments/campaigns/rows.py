"""Rows: what cells return, as plain values, as the file of a batch, and as the table of a campaign.

A batch's file has a line for each row of each cell: the cell's name (`CELL`), the row's number within the cell (`ROW`,
none if the cell has no rows), how long the cell took (`SECONDS`), and the row's values.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.campaigns.cell import REPLICATION, Cell, Rows, Value, is_text, plain_value
from simmodels.errors import RequestError, must_be

CELL: Final = "_cell"
ROW: Final = "_row"
SECONDS: Final = "_seconds"
OURS: Final = {CELL: pa.string(), ROW: pa.int32(), SECONDS: pa.float64()}
"""The columns of a batch's file that are ours, with their types."""
_KINDS: Final = {"bool": "a bool", "int64": "a whole number", "double": "a float", "string": "a text"}
_NUMBERS: Final = {"int64", "double"}

Done = tuple[str, float, list[dict[str, Any]]]
"""A cell that is done: its name, how many seconds it took, its rows."""
T = TypeVar("T")

# -- what a cell returns ----------------------------------------------------------------------------


def plain_rows(rows: Rows, factors: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return the rows that a study returned, as plain values; None stands for absence, and so is left out.

    Where some rows have whole numbers and others floats, all are floats.

    Raises
    ------
    RequestError
        They are no rows, a column has the name of a factor or one of ours, or a value is none that a table can hold.
    """
    several: object = rows
    if isinstance(rows, pd.DataFrame):
        several = _records(rows)
    elif isinstance(rows, Mapping):
        several = [rows]
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise RequestError(must_be("what run_cell returns", "a mapping, several of them, or a DataFrame", rows))
    plain = [_plain_row(row, factors) for row in several]
    floats = [name for name, kind in _kinds(plain).items() if kind is float]
    return [row | {name: float(row[name]) for name in floats if name in row} for row in plain]


def _records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a table; refuse one that would lose something."""
    if any(name is not None for name in table.index.names):
        names = ", ".join(map(str, table.index.names))
        raise RequestError(f"the DataFrame has the index {names}, which no column holds", "call its reset_index()")
    if not table.columns.is_unique:
        twice = ", ".join(map(str, table.columns[table.columns.duplicated()].unique()))
        raise RequestError(f"the DataFrame has several columns named {twice}", "keep one of each")
    # Where a text or an object is missing, pandas has NaN, which as a value is a number.
    others = {name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)}
    return [
        {name: None if name in others and isinstance(value, float) and math.isnan(value) else value
         for name, value in row.items()}
        for row in table.to_dict("records")
    ]  # fmt: skip


def _kinds(rows: Sequence[Mapping[str, Any]]) -> dict[str, type]:
    """Return the kind of each column's values: bool, int, float or str."""
    kinds: dict[str, type] = {}
    for row in rows:
        for name, value in row.items():
            kind = type(value)
            old = kinds.setdefault(name, kind)
            if old is not kind:
                if {old, kind} != {int, float}:
                    what = f"{name} is {old.__name__} in one row and {kind.__name__} in another"
                    raise RequestError(what, "give a column values of one kind")
                kinds[name] = float
    return kinds


def _plain_row(row: object, factors: Mapping[str, Value]) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise RequestError(must_be("a row", "a mapping", row))
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if not isinstance(name, str) or not name or not is_text(name):
            raise RequestError(must_be("the name of a column", "a text that UTF-8 can hold", name))
        if name in factors or name in OURS or name == REPLICATION:
            raise RequestError(f"a column is named {name!r}, as a factor or a column of the campaign is", "rename it")
        if value is pd.NA or value is pd.NaT:
            continue
        found = plain_value(name, value)
        if found is not None:
            plain[name] = found
    return plain


# -- the file of a batch ----------------------------------------------------------------------------


def group_by_kind(several: Iterable[tuple[T, Mapping[str, Any]]]) -> list[list[T]]:
    """Return things in groups within which each column is of one kind.

    Parameters
    ----------
    several
        Each with the kind of each of its columns, by name.
    """
    found: list[tuple[dict[str, Any], list[T]]] = []
    for one, kinds in several:
        for known, group in found:
            if all(known.get(name, kind) == kind for name, kind in kinds.items()):
                known.update(kinds)
                group.append(one)
                break
        else:
            found.append((dict(kinds), [one]))
    return [group for _, group in found]


def groups(done: Sequence[Done]) -> list[list[Done]]:
    """Return cells that are done in groups within which each column is of one kind."""
    return group_by_kind((one, _kinds(one[2])) for one in done)


def table_of(done: Sequence[Done]) -> pa.Table:
    """Return the table of cells that are done; each of its columns is of one kind."""
    lines = [
        (row, (key, number if rows else None, seconds))
        for key, seconds, rows in done
        for number, row in enumerate(rows or [{}])
    ]
    names = dict.fromkeys(name for row, _ in lines for name in row)
    ours = {name: pa.array([of[place] for _, of in lines], kind) for place, (name, kind) in enumerate(OURS.items())}
    return pa.table(ours | {name: pa.array([row.get(name) for row, _ in lines], from_pandas=False) for name in names})


def parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


# -- the table of a campaign ------------------------------------------------------------------------


def table_of_cells(parts: Sequence[pa.Table], cells: Sequence[Cell], keys: Sequence[str]) -> pd.DataFrame:
    """Return the rows of cells in their order: factors, replication, then what the cells returned, by name.

    Parameters
    ----------
    parts
        Tables as of `table_of`, in which a cell may be more than once.
    cells, keys
        The cells and their names.

    Raises
    ------
    RequestError
        Cells returned values of different kinds in a column.
    """
    wanted = pa.array(keys)
    parts = [_of(part, wanted) for part in parts]
    try:
        table = together(parts)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        what = _conflict(parts, dict(zip(keys, cells, strict=True)))
        raise RequestError(what, "give a column values of one kind") from None
    return _in_order(table, cells, keys)


def _of(part: pa.Table, wanted: pa.Array) -> pa.Table:
    """Return the rows of some cells, without columns that only others have."""
    part = part.filter(pc.is_in(part[CELL], wanted))
    return part.select([name for name in part.column_names if name in OURS or part[name].null_count < len(part)])


def together(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of several tables, each cell once."""
    parts = [table_of([]), *parts]
    table = pa.concat_tables(parts, promote_options="permissive")
    origin = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    cell = table[CELL].combine_chunks().dictionary_encode().indices.to_numpy()
    first = np.full(int(cell.max(initial=-1)) + 1, len(parts))
    np.minimum.at(first, cell, origin)
    return table.take(np.flatnonzero(origin == first[cell]))


def _conflict(parts: Sequence[pa.Table], cells: Mapping[str, Cell]) -> str:
    """Return which column has values of two kinds, and where."""
    kinds: dict[str, dict[str, Cell]] = {}
    for part in parts:
        for column in part.schema:
            if column.name not in OURS:
                key = part.filter(part[column.name].is_valid())[CELL][0].as_py()
                kinds.setdefault(column.name, {}).setdefault(str(column.type), cells[key])
    for name, found in sorted(kinds.items()):
        if len(found) > 1 and set(found) != _NUMBERS:
            where = [f"{_KINDS.get(kind, kind)} in the cell ({cell})" for kind, cell in found.items()]
            return f"column {name!r} is {' and '.join(where)}"
    return "the cells' columns do not go together"


def _in_order(rows: pa.Table, cells: Sequence[Cell], keys: Sequence[str]) -> pd.DataFrame:
    """Return the rows of these cells, in their order, with their factors before what was measured."""
    place = pd.Index(keys).get_indexer(rows[CELL].to_pandas())
    number = rows[ROW].fill_null(-1).to_numpy()
    order = np.lexsort((number, place))
    order = order[(place[order] >= 0) & (number[order] >= 0)]
    rows, place = rows.take(order), place[order]
    names = list(dict.fromkeys(name for cell in cells for name in cell.factors))
    columns = {name: _factor([cell.factors.get(name) for cell in cells], place) for name in names}
    columns[REPLICATION] = _factor([cell.replication for cell in cells], place)
    for name in sorted(set(rows.column_names) - set(OURS)):
        columns[name] = rows[name]
    table: pd.DataFrame = pa.table(columns).to_pandas()
    return table


def _factor(values: Sequence[Any], place: NDArray[np.intp]) -> pa.Array:
    """Return the values of a factor, a value a row."""
    return pa.array(values).take(pa.array(place))
