"""Read: a workload from a file of any format that is known here, by its name and by how it begins."""

import csv
from io import BytesIO, TextIOWrapper
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa

from simmodels.errors import ColumnError, FileFormatError, RequestError
from simmodels.ground.files import as_path
from simmodels.work.time_limits import NO_LIMIT, REQUESTED
from simmodels.work.workload import Workload
from workloads.arrivals import read_workflows
from workloads.batsim import read_batsim
from workloads.borg import is_borg_slice, read_borg_slice
from workloads.dax import read_dax
from workloads.files import COMPRESSIONS, arrow_buffer, read_json, read_start, read_whole, stem
from workloads.sacct import is_sacct, read_sacct
from workloads.swf import read_swf
from workloads.wfformat import read_wfformat

_NEEDED: Final = frozenset({b"submit_s", b"runtime_s", b"cores"})


def read(
    path: str | PathLike[str],
    *,
    flops_per_s: float | None = None,
    timezone: str | None = None,
    name: str | None = None,
) -> Workload:
    r"""Return the workload of a file, plain or compressed, whatever its format.

    ==============================================  ==============================================================
    file                                            read as
    ==============================================  ==============================================================
    ``.json`` with an object ``workflow``           one workflow, by `read_wfformat`
    ``.json``                                       a Batsim workload, by `read_batsim`
    ``.xml``, ``.dax``                              one workflow, by `read_dax`
    ``.parquet``                                    a table, by `simmodels.Workload.from_frame`
    ``.csv``                                        a table of comma-separated values, the same
    first line names ``submit_s,runtime_s,cores``   the same
    ``.sacct``, or begins like it                   Slurm's accounting, by `read_sacct`
    begins as a slice of Borg's trace               by `read_borg_slice`
    any other                                       a log in the Standard Workload Format, by `read_swf`
    a folder                                        its workflows, by `read_workflows`
    ==============================================  ==============================================================

    Parameters
    ----------
    path
        The file, or the folder.
    flops_per_s
        As for `read_batsim`.
    timezone
        As for `read_sacct`; the times of other formats are in seconds.
    name
        Its name in figures and tables; None for the file's name without suffixes.

    Returns
    -------
    Workload
        Its `counts` say what was read, and what of it was changed or left out.

    Raises
    ------
    FileFormatError
        The file cannot be read, or does not keep to its format.
    RequestError
        A time zone is given for a file without dates, a speed for one without profiles, or a value is out of its range.

    Examples
    --------
    >>> from pathlib import Path
    >>> import workloads as wl
    >>> table = '''submit_s,runtime_s,cores
    ... 0,10,1
    ... 5,10,2
    ... '''
    >>> _ = Path("mine.csv").write_text(table)
    >>> wl.read("mine.csv")
    <Workload 'mine': 2 jobs>
    """
    where = as_path(path)
    plain = where.name.lower()
    for suffix in COMPRESSIONS:
        plain = plain.removesuffix(suffix)
    if flops_per_s is not None and not plain.endswith(".json"):
        raise RequestError(f"flops_per_s with {where}", "it is for profiles of Batsim's jobs")
    if plain.endswith(".sacct") or is_sacct(where):
        return read_sacct(where, timezone=timezone, name=name)
    if timezone is not None:
        raise RequestError(f"timezone with {where}", "it is for what sacct printed; other files have times in seconds")
    if where.is_dir():
        return Workload.of_workflows(read_workflows(where), name=name or where.name)
    if plain.endswith((".xml", ".dax")):
        return Workload.of_workflows([read_dax(where)], name=name or stem(where))
    if plain.endswith(".json"):
        content = read_json(where)
        if isinstance(content, dict) and "workflow" in content and "jobs" not in content:
            return Workload.of_workflows([read_wfformat(where)], name=name or stem(where))
        return read_batsim(where, flops_per_s=flops_per_s, name=name)
    if plain.endswith((".parquet", ".csv")) or _is_table(where):
        return _table(where, name or stem(where), parquet=plain.endswith(".parquet"))
    return (read_borg_slice if is_borg_slice(where) else read_swf)(where, name=name)


def _is_table(path: Path) -> bool:
    """Return whether a file begins with the names of the columns that a workload needs, with commas between them."""
    first, *_ = read_start(path).splitlines() or [b""]
    return {field.strip(b' "') for field in first.split(b",")} >= _NEEDED


def _of_csv(data: bytes) -> pd.DataFrame:
    """Return a table; refuse a column that stands twice, and more fields than names, which pandas would shift."""
    names = pd.read_csv(BytesIO(data), header=None, nrows=1, dtype=str).iloc[0].str.strip()
    if names.duplicated().any():
        raise RequestError(f"column {names[names.duplicated()].iloc[0]} stands twice", "name each column once")
    frame = pd.read_csv(BytesIO(data))
    if not isinstance(frame.index, pd.RangeIndex):
        raise RequestError("lines have more fields than there are names of columns", "give each field a name")
    if texts := [str(each) for each in frame if not pd.api.types.is_numeric_dtype(frame[each])]:
        written = pd.read_csv(BytesIO(data), usecols=texts, dtype=str, keep_default_na=False)
        frame[texts] = written[texts].where(written[texts] != "")  # beside other texts NA and null are names
    return frame.rename(columns=str.strip)


def _line_of(data: bytes, row: int) -> int | None:
    """Return the number of the line at which a row of a table ends: empty lines are no rows, and names may have two."""
    lines = csv.reader(TextIOWrapper(BytesIO(data), encoding="utf-8", newline=""))
    return next(islice((lines.line_num for fields in lines if fields), row + 1, None))


def _table(path: Path, name: str, *, parquet: bool) -> Workload:
    """Return the workload of a table; of a Parquet file that a schedule wrote, with the cores of its clusters."""
    data = read_whole(path)
    try:
        frame = pd.read_parquet(pa.BufferReader(arrow_buffer(data))) if parquet else _of_csv(data)
        if "runtime_s" in frame and "estimate_s" not in frame and REQUESTED not in frame:
            frame[REQUESTED] = NO_LIMIT  # runtimes stand for limits that nobody gave
        return Workload.from_frame(frame, name=name, max_cores=frame.attrs.get("cores"))
    except ColumnError as error:
        line, what = (None, error.what) if parquet else (_line_of(data, error.row), error.in_row)
        raise FileFormatError(str(path), line, what) from error
    except (ValueError, OSError) as error:  # an error of ours, of pandas or of Arrow
        raise FileFormatError(str(path), None, " ".join(str(error).split())) from error
