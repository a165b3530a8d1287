"""Batches: cells run one after the other in a worker, and the Parquet file that their rows become.

A batch's file has a line for each row of each cell: the cell's name (`CELL`), the row's number within the cell (`ROW`,
none if the cell has no rows), how long the cell took (`SECONDS`), and the row's values.
"""

import math
import os
import pickle
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.campaigns.cell import REPLICATION, Cell, Rows, Value
from experiments.campaigns.finding import find_study
from experiments.campaigns.fingerprint import code_digest
from experiments.campaigns.plan import Shipment
from experiments.campaigns.study import Study, is_text, used_inputs
from experiments.inputs import describe_error
from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import MOST

CELL: Final = "_cell"
ROW: Final = "_row"
SECONDS: Final = "_seconds"
OURS: Final = (CELL, ROW, SECONDS)

Job = tuple[str, Mapping[str, Value], int]
"""A cell as it is sent to a worker: its name, its factors, its replication."""

Done = tuple[str, float, list[dict[str, Any]]]
"""A cell that is done: its name, how many seconds it took, its rows."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that failed.

    Parameters
    ----------
    key
        The cell's name.
    error
        What went wrong, in a line.
    traceback
        Where, from the study on; empty if the worker died.
    worker
        The machine and process that ran it.
    """

    key: str
    error: str
    traceback: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a batch.

    Parameters
    ----------
    files
        Parquet files, as bytes, with the names of the cells in each: one, unless the values of a column are of two
        kinds. A file never mixes kinds, so that what is read of some cells does not depend on others.
    failures
        The cells that failed.
    seconds
        How long the cells took, together.
    """

    files: list[tuple[tuple[str, ...], bytes]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    def __len__(self) -> int:
        """Return the number of cells."""
        return sum(len(keys) for keys, _ in self.files) + len(self.failures)


# -- in the worker ----------------------------------------------------------------------------------

_opened: list[tuple[Shipment, Study, dict[str, Any]]] = []
"""The shipment that this process works on, with its study and inputs; there is one at a time."""


def run_batch(shipment: Shipment, jobs: Sequence[Job], *, begun: Callable[[str | None], None] | None = None) -> Outcome:
    """Run cells one after the other, and return their results: a cell's failure is reported and does not stop others.

    Parameters
    ----------
    shipment
        What the cells share.
    jobs
        The cells.
    begun
        Is given the name of each cell before it is run, and None after the last one.

    Raises
    ------
    RequestError
        The study cannot be found here, or its code differs.
    """
    study, inputs = _open(shipment)
    worker = f"{platform.node()}, process {os.getpid()}"
    outcome = Outcome()
    done: list[Done] = []
    total = 0.0
    for key, factors, replication in jobs:
        cell = Cell(factors, replication, shipment.seed, shipment.parameters)
        if begun is not None:
            begun(key)
        start = time.perf_counter()
        try:
            used = {name: inputs[name] for name in used_inputs(study, cell, shipment.inputs)}
            rows = plain_rows(study.run_cell(replace(cell, inputs=used)), factors)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the study raises
            trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
            shown = "".join(traceback.format_exception(type(error), error, trace))
            outcome.failures.append(Failure(key, describe_error(error), shown, worker))
            rows = None
        seconds = time.perf_counter() - start
        total += seconds
        if rows is not None:
            done.append((key, seconds, rows))
    if begun is not None:
        begun(None)
    outcome.files.extend((tuple(key for key, _, _ in group), parquet(table_of(group))) for group in groups(done))
    return Outcome(outcome.files, outcome.failures, total)


class _Inputs(dict[str, Any]):
    """Inputs by name, each unpacked when it is first used."""

    def __init__(self, pickled: Mapping[str, bytes]) -> None:
        super().__init__()
        self.pickled = pickled

    def __missing__(self, name: str) -> object:
        """Unpack an input."""
        self[name] = pickle.loads(self.pickled[name])  # noqa: S301  our own, sent by the runner
        return self[name]


def _open(shipment: Shipment) -> tuple[Study, dict[str, Any]]:
    """Return study and inputs of a shipment; they are looked up and unpacked once."""
    if not _opened or _opened[0][0] is not shipment:
        study = find_study(shipment.study, shipment.chosen)
        if code_digest(study) != shipment.code:
            what = f"the worker on {platform.node()} has other code of schedlab or of study {shipment.study}"
            raise RequestError(what, "install there the code that the campaign was started with")
        _opened[:] = [(shipment, study, _Inputs(shipment.inputs))]
    return _opened[0][1:]


# -- rows -------------------------------------------------------------------------------------------


def plain_rows(rows: Rows, factors: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return the rows that a study returned, as plain values; None stands for absence, and so is left out.

    Where some rows have whole numbers and others floats, all are floats.

    Raises
    ------
    TypeError, ValueError
        They are no rows, a column has the name of a factor or one of ours, or a value is none that a table can hold.
    """
    several: object = rows
    if isinstance(rows, pd.DataFrame):
        several = _records(rows)
    elif isinstance(rows, Mapping):
        several = [rows]
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise TypeError(must_be("what run_cell returns", "a mapping, several of them, or a DataFrame", rows))
    plain = [_plain_row(row, factors) for row in several]
    kinds = _kinds(plain)
    for name, kind in kinds.items():
        if kind is float:
            for row in plain:
                if name in row:
                    row[name] = float(row[name])
    return plain


def _records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a table; refuse one that would lose something."""
    if any(name is not None for name in table.index.names):
        names = ", ".join(map(str, table.index.names))
        raise ValueError(
            f"the DataFrame has the index {names}, which no column holds; make it columns with reset_index()"
        )
    if not table.columns.is_unique:
        twice = ", ".join(map(str, table.columns[table.columns.duplicated()].unique()))
        raise ValueError(f"the DataFrame has several columns named {twice}; keep one of each")
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
                    raise TypeError(f"{name} is {old.__name__} in one row and {kind.__name__} in another")
                kinds[name] = float
    return kinds


def groups(done: Sequence[Done]) -> list[list[Done]]:
    """Return cells that are done in groups within which each column is of one kind."""
    found: list[tuple[dict[str, type], list[Done]]] = []
    for one in done:
        kinds = _kinds(one[2])
        for known, group in found:
            if all(known.get(name, kind) is kind for name, kind in kinds.items()):
                known.update(kinds)
                group.append(one)
                break
        else:
            found.append((kinds, [one]))
    return [group for _, group in found]


def _plain_row(row: object, factors: Mapping[str, Value]) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise TypeError(must_be("a row", "a mapping", row))
    plain: dict[str, Any] = {}
    for name, given in row.items():
        if not isinstance(name, str) or not name or not is_text(name):
            raise TypeError(must_be("the name of a column", "a text that UTF-8 can hold", name))
        if name in factors or name in OURS or name == REPLICATION:
            raise ValueError(f"a column is named {name!r}, as a factor or a column of the campaign is")
        value = given.item() if isinstance(given, np.generic) else given
        if value is None or value is pd.NA or value is pd.NaT:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST:
            raise ValueError(must_be(name, "an integer from -2**53 to 2**53", value))
        if not isinstance(value, bool | int | float | str):
            raise TypeError(must_be(name, "None, a bool, a number or a text", value))
        if isinstance(value, str):
            value = str.__str__(value)  # of a member of an enumeration its value, where str() would give its name
            if not is_text(value):
                raise ValueError(must_be(name, "a text that UTF-8 can hold", value))
        # Of a subclass the plain value.
        plain[name] = next(kind for kind in (bool, int, float, str) if isinstance(value, kind))(value)
    return plain


def table_of(done: Sequence[Done]) -> pa.Table:
    """Return the table of cells that are done; each of its columns is of one kind."""
    ours: dict[str, list[Any]] = {name: [] for name in OURS}
    values: dict[str, list[Any]] = {}
    length = 0
    for key, seconds, rows in done:
        for number, row in enumerate(rows or [{}]):
            ours[CELL].append(key)
            ours[ROW].append(number if rows else None)
            ours[SECONDS].append(seconds)
            for name, value in row.items():
                column = values.get(name)
                if column is None:
                    column = values[name] = [None] * length
                column.append(value)
            length += 1
            if len(row) < len(values):
                for column in values.values():
                    if len(column) < length:
                        column.append(None)
    types = {CELL: pa.string(), ROW: pa.int32(), SECONDS: pa.float64()}
    arrays = {name: pa.array(ours[name], types[name]) for name in OURS}
    return pa.table(arrays | {name: pa.array(column, from_pandas=False) for name, column in values.items()})


def parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())
