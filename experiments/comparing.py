"""Comparing: a workload under several orders, as tables, figures and a note of where they come from."""

import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import pandas as pd

from experiments.answering import plain
from experiments.cells import FIRST, Cell, Setup
from experiments.inputs import named_order
from experiments.outputs import made_folder, write_json
from simmodels.errors import RequestError
from simmodels.ground.files import replacing, write_csv
from simmodels.policies.priority import Priority
from simmodels.version import __version__
from simmodels.workload import Workload

PROVENANCE: Final = "provenance.json"
JOBS: Final = "jobs/"
_QUANTITIES: Final = ("wait_s", "bounded_slowdown")
_FORMATS: Final = ("svg", "png")
_PACKAGES: Final = ("numpy", "numba", "pandas", "pyarrow", "simpy", "matplotlib")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a comparison.

    Parameters
    ----------
    cells
        What came of each order, in the order given.
    out
        The folder of its files.
    files
        Their names, as paths within the folder.
    """

    cells: tuple[Cell, ...]
    out: Path
    files: tuple[str, ...]

    @property
    def failed(self) -> dict[str, str]:
        """Return what went wrong, by the order's name."""
        return {cell.order.name: cell.error for cell in self.cells if cell.error is not None}


def chosen_orders(orders: Sequence[str | Priority]) -> tuple[Priority, ...]:
    """Return the orders of these names (see `experiments.inputs.named_order`), each once.

    Raises
    ------
    UnknownNameError, RequestError
        A name is unknown, there is none, or two orders have the same name.
    """
    found = tuple(order if isinstance(order, Priority) else named_order(order) for order in orders)
    if not found:
        raise RequestError("a comparison of no orders", "at least one is needed")
    files: dict[str, str] = {}
    for order in found:
        other = files.setdefault(_file_name(order).lower(), order.name)
        if list(found).index(order) != found.index(order) or sum(o.name == order.name for o in found) > 1:
            raise RequestError(f"order {order.name!r} is given twice", "each order once is allowed")
        if other != order.name:
            raise RequestError(f"orders {other!r} and {order.name!r} would be written to the same file")
    return found


def steps(orders: Sequence[Priority]) -> int:
    """Return of how many steps `compare` will tell."""
    return len(orders) + 1


def compare(
    workload: Workload,
    orders: Sequence[str | Priority],
    *,
    out: str | os.PathLike[str],
    setup: Setup | None = None,
    provenance: Mapping[str, object] | None = None,
    begin: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Run a workload under each of the orders, and write what came of it to a folder.

    The folder gets ``jobs/ORDER.parquet`` (`Schedule.to_parquet`) for each order; ``metrics.parquet``
    and ``metrics.csv``, one row per order; ``wait_s`` and ``bounded_slowdown`` as SVG and PNG; and last
    ``provenance.json``, which names these files and says how to make them again. The same request
    makes the same files, byte for byte. Files of an earlier comparison in the same folder go first.

    An order that fails (a user's function that raises, a schedule that is not legal) does not stop the
    others: its cell says what went wrong, and so does the provenance.

    Parameters
    ----------
    workload
        The jobs, able to run on its ``max_cores``.
    orders
        Orders or names of orders, in the order in which they are shown.
    out
        The folder; it is made if it is not there.
    setup
        How each is run; None for the defaults of `Setup`.
    provenance
        More that the provenance shall say, such as the command line.
    begin
        Is told of each of the `steps` when it begins.

    Raises
    ------
    RequestError
        The request cannot be served, see `chosen_orders`, `Setup` and `made_folder`.
    ImpossibleJobError
        A job can never run on the machine.
    """
    chosen, setup = chosen_orders(orders), setup or Setup()
    if workload.max_cores is None:
        raise RequestError(
            f"the size of the machine of {workload.name!r} is unknown", "max_cores of the workload says it"
        )
    workload.require_runnable(workload.max_cores)
    setup.check(workload)
    folder = made_folder(Path(out))
    _clear(folder)
    files: list[str] = []
    cells: list[Cell] = []
    for order in chosen:
        begin(order.name if cells else f"{order.name} ({FIRST})")
        cell = setup.run(workload, order)
        cells.append(cell)
        if cell.schedule is not None:
            made_folder(folder / JOBS)
            files.append(JOBS + _file_name(order))
            cell.schedule.to_parquet(folder / files[-1])
    begin("tables and figures")
    done = [cell for cell in cells if cell.schedule is not None]
    if done:
        files += _write_metrics(folder, workload, setup, done)
        files += _write_figures(folder, setup, done)
    comparison = Comparison(tuple(cells), folder, (*files, PROVENANCE))
    about = {
        "schedlab": __version__,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        **(provenance or {}),
        "workload": summary(workload),
        "setup": {**setup.table(), "engine": setup.engine, "validate": setup.validate},
        "orders": {order.name: order.formula for order in chosen},
        "failed": comparison.failed,
        "files": list(comparison.files),
    }
    write_json(plain(about), folder / PROVENANCE)
    return comparison


def summary(workload: Workload) -> dict[str, object]:
    """Return what there is to know of a workload, but its jobs."""
    return {
        "name": workload.name,
        "jobs": len(workload),
        "cores": workload.max_cores,
        "counts": dict(workload.counts),
    }


def _file_name(order: Priority) -> str:
    """Return the name of an order's file, of characters that all file systems take."""
    return re.sub(r"[^\w.+-]", "_", order.name).lstrip(".") + ".parquet"


def _clear(folder: Path) -> None:
    """Remove what an earlier comparison wrote to the folder, as its provenance names it."""
    try:
        listed = json.loads((folder / PROVENANCE).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in listed if isinstance(listed, list) else ():
        path = folder / str(name)
        if path.resolve().is_relative_to(folder.resolve()) and path.is_file():
            path.unlink()


def _write_metrics(folder: Path, workload: Workload, setup: Setup, cells: Sequence[Cell]) -> list[str]:
    """Write the table of metrics, one row per order; return the files' names."""
    about = {"workload": workload.name, "cores": workload.max_cores}
    table = pd.DataFrame([{**about, "order": cell.order.name, **setup.table(), **cell.metrics} for cell in cells])
    # Columns of None alone have their type all the same, so that tables of several comparisons go together.
    kinds = {"backfill_order": "string", "threshold_s": "float64", "queue_depth": "Int64"}
    table = table.astype(kinds)
    with replacing(folder / "metrics.parquet") as temporary:
        table.to_parquet(temporary, engine="pyarrow", index=False)
    write_csv(table, folder / "metrics.csv")
    return ["metrics.parquet", "metrics.csv"]


def _write_figures(folder: Path, setup: Setup, cells: Sequence[Cell]) -> list[str]:
    """Draw how waits and slowdowns are distributed, order beside order; return the files' names."""
    from experiments.figures import distributions, save  # noqa: PLC0415  matplotlib is slow to import

    schedules = {cell.order.name: cell.schedule for cell in cells if cell.schedule is not None}
    files = []
    for what in _QUANTITIES:
        figure = distributions(schedules, what=what, tau_s=setup.tau_s)
        for kind in _FORMATS:
            files.append(f"{what}.{kind}")
            save(figure, folder / files[-1])
    return files
