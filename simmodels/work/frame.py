"""Frame: what may stand for a workload, above all a table of jobs, read into its columns."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import ColumnError, RequestError, must_be
from simmodels.ground.arguments import listed
from simmodels.ground.later import pd
from simmodels.ground.plugins import plugin
from simmodels.work.columns import as_job_column, numbered
from simmodels.work.time_limits import NO_LIMIT, REQUESTED, estimates

_NEEDED: Final = ("submit_s", "runtime_s", "cores")


def read_file(path: str | PathLike[str]) -> Any:  # noqa: ANN401  a workload, which is above
    """Return the workload of a file, by the reader that is installed."""
    read = plugin("read_workload")
    if read is None:
        what = f"no package that reads workloads is installed, and {str(path)!r} is a path"
        raise RequestError(what, "install schedlab (pip install .), or hand over workloads.read(path)")
    return read(path)


def hint(given: object, *, several: bool) -> str:
    """Return what helps whoever gave something that does not stand for a workload; or several workloads."""
    if hasattr(given, "workload"):
        return "its .workload is one"
    if isinstance(given, np.ndarray):
        return "name its columns: pd.DataFrame(array, columns=[...])"
    return "Workload.concat puts several together" if several else ""


def columns_of(frame: object) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the columns of a table, as `Workload.from_frame` takes it, by name; and what was filled in how often.

    Columns that may be omitted are among them.
    """
    table: Any = frame
    if not (isinstance(table, Mapping) or hasattr(table, "columns")):
        raise RequestError(must_be("frame", "a DataFrame, or columns by name", table))
    columns: dict[str, Any] = {str(each): np.asarray(table[each]) for each in getattr(table, "columns", table)}
    missing = [each for each in _NEEDED if each not in columns]
    if missing:
        has = f"{listed(columns)}; {listed(missing)} missing" if columns else "no columns"
        raise RequestError(f"a table of jobs must have the columns {listed(_NEEDED)} (got {has})")
    rows, counts = np.size(columns["submit_s"]), dict[str, int]()
    given = columns.get("estimate_s")
    if given is not None and given.dtype.kind in {"f", "O"} and (none := pd.isna(given)).any():
        asked, runtime_s = _limits(given, none), as_job_column("runtime_s", columns["runtime_s"])
        found, counts = estimates(asked, runtime_s, columns.get("partition"))
        columns |= {"estimate_s": np.where(none, found, asked), REQUESTED: asked}
    named = next((each for each in ("user_id", "user") if each in columns), None)
    if named is not None and columns[named].dtype.kind in "OUS":
        names = np.asarray(table[named], object)  # NaN beside texts would become one
        if any(isinstance(each, str) for each in names.flat):
            columns = {"user": names, **columns, "user_id": numbered(names)}
    elif named == "user":
        columns["user_id"] = columns["user"]
    filled: dict[str, Any] = {
        "job_id": np.arange(1, rows + 1),
        "estimate_s": columns["runtime_s"],
        "user_id": np.full(rows, -1),
        **columns,
    }
    return filled, counts


def _limits(given: NDArray[Any], none: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the limits of a table that says by missing values which jobs have none: those of the others are > 0."""
    asked = as_job_column("estimate_s", np.where(none, NO_LIMIT, given))
    bad = np.flatnonzero(~none & ~(asked > 0))
    if len(bad):
        expected = "a number of seconds > 0, or missing for a job without a limit, as others are"
        raise ColumnError("estimate_s", int(bad[0]), expected, given[bad[0]])
    return asked
