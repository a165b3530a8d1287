"""Slices of Borg's trace as published with the study of variable capacity: five columns a line.

References
----------
Perotin, Zhang, Wijayawardana, Benoit, Robert, Chien, "Risk-aware scheduling algorithms for variable capacity
resources", SC-W 2023, doi:10.1145/3624062.3624194, section 5.1; the jobs are from the trace of Tirmazi et al.,
"Borg: the next generation", EuroSys 2020, doi:10.1145/3342195.3387517.
"""

import re
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from simmodels.errors import FileFormatError, must_be
from simmodels.ground.files import as_path
from simmodels.work.workload import Workload
from workloads.files import read_start, read_whole, stem

_LINE: Final = re.compile(rb"\s*([0-9]{1,15})\s+([0-9]{1,15})\s+([0-9]{1,15})\s+([0-9]{1,9})\s+(release|running)\s*")


def is_borg_slice(path: Path) -> bool:
    """Return whether a file begins with a line of such a slice."""
    first = next((line for line in read_start(path).splitlines() if line.strip()), b"")
    return _LINE.fullmatch(first) is not None


def read_borg_slice(path: str | PathLike[str], *, name: str | None = None) -> Workload:
    """Return the workload of a slice of Borg's trace: ``id release length cores type`` a line.

    Every line gives one job, in the order of the file. A job of type ``running`` was released before the slice
    begins, and runs when it does; ``extras["running"]`` says which do. Lengths are known exactly, so estimates
    are the lengths.

    Parameters
    ----------
    path
        The slice: plain or compressed by gzip, bzip2 or xz.
    name
        Its name in figures and tables; None for the file's name without suffixes.

    Returns
    -------
    Workload
        One job per line; release and length in seconds.

    Raises
    ------
    FileFormatError
        The file cannot be read, or holds no job; or a line is not of five fields (four whole numbers, then
        ``release`` or ``running``), or has a length or cores of 0. The text names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> import workloads as wl
    >>> _ = Path("slice.txt").write_text('''188166 881100 2100 4 release
    ... 804769 854700 11700 2 running
    ... ''')
    >>> wl.read_borg_slice("slice.txt").cores.tolist()
    [4, 2]
    """
    where = as_path(path)
    rows: list[tuple[int, int, int, int]] = []
    running: list[bool] = []
    blank = 0
    for number, line in enumerate(read_whole(where).splitlines(), start=1):
        if not line.strip():
            blank += 1
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            expected = "`id release length cores type`, four integers and release or running"
            what = must_be("the line", expected, line[:60].decode(errors="replace"))
            raise FileFormatError(str(where), number, what)
        job, release, length, cores = (int(field) for field in found.groups()[:4])
        if not (length and cores):
            raise FileFormatError(str(where), number, must_be("length and cores", "at least 1", (length, cores)))
        rows.append((job, release, length, cores))
        running.append(found.group(5) == b"running")
    if not rows:
        raise FileFormatError(str(where), None, "it holds no job")
    job_id, submit_s, length_s, cores_ = np.array(rows, np.int64).T
    return Workload(
        job_id=job_id,
        submit_s=submit_s.astype(np.float64),
        runtime_s=length_s.astype(np.float64),
        estimate_s=length_s.astype(np.float64),
        cores=cores_,
        name=stem(where) if name is None else name,
        counts={
            "lines": len(rows) + blank,
            "blank lines": blank,
            "jobs": len(rows),
            "jobs running at the begin": sum(running),
            "duplicate job numbers": len(rows) - len(np.unique(job_id)),
        },
        extras={"running": np.array(running)},
    )
