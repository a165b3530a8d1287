"""Cells whose rows tests put into the store of a campaign."""

from pathlib import Path
from typing import Any, Final

import pandas as pd

from experiments.campaigns.cell import Cell
from experiments.campaigns.rows import groups, parquet, plain_rows, table_of
from experiments.campaigns.store import Store

CELLS: Final = [Cell({"kind": kind}, replication) for replication in range(20) for kind in "ab"]
KEYS: Final = [f"{number:032x}" for number in range(len(CELLS))]


def add(store: Store, rows: dict[int, Any], *, together: bool = True) -> None:
    """Add rows of cells, as a batch does, or each in a file of its own."""
    done = [(KEYS[place], 0.5, plain_rows(given, CELLS[place].factors)) for place, given in rows.items()]
    for batch in [done] if together else [[one] for one in done]:
        for group in groups(batch):
            store.add([key for key, _, _ in group], parquet(table_of(group)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def table(store: Store) -> pd.DataFrame:
    return store.table(CELLS, KEYS)
