"""Batsim workloads: the JSON files of that simulator, read into a `Workload`.

References
----------
P.-F. Dutot, M. Mercier, M. Poquet and O. Richard, "Batsim: a realistic language-independent resources and jobs
management systems simulator", JSSPP 2015/2016, LNCS 10353, pp. 178-197, doi:10.1007/978-3-319-61756-5_10; the format is
that of Batsim's documentation, page "Workload".
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from simmodels.errors import FileFormatError, must_be
from simmodels.ground.files import as_path
from simmodels.ground.numbers import MOST, as_number
from simmodels.work.time_limits import estimates
from simmodels.work.workload import Workload
from workloads.files import read_json, stem

_TYPES: Final = ("delay", "parallel_homogeneous")


def read_batsim(path: str | PathLike[str], *, flops_per_s: float | None = None, name: str | None = None) -> Workload:
    """Return the workload of a Batsim JSON file.

    A job's runtime is the ``delay`` of its profile. A profile of type ``parallel_homogeneous`` that has
    no delay gives what each core computes instead: its ``cpu`` over `flops_per_s`, if it sends nothing
    (``com`` 0). Cores are the job's ``res``, the estimate is its ``walltime`` (the longest of the file if
    it has none; the runtime if no job has any), the size of the machine is ``nb_res``. Jobs are in the order of the
    file.

    Parameters
    ----------
    path
        The file: plain or compressed by gzip, bzip2 or xz.
    flops_per_s
        What a core computes per second, for profiles that need it; None refuses these.
    name
        Its name in figures and tables; None for the file's name without suffixes.

    Returns
    -------
    Workload
        Its extras are ``requested_s`` (the walltime; -1 for none), and as text ``batsim_id`` and ``profile``. A
        job with the id ``7`` or ``w0!7`` is job 7; if an id is no such number or one comes twice, the jobs are
        numbered 1, 2, ... Its `counts` say: jobs, jobs without a time limit, estimates taken from runtimes,
        estimates unknown, jobs renumbered.

    Raises
    ------
    FileFormatError
        The file cannot be read or is no such JSON; a job lacks a value, has one out of its range, or
        has a profile that is missing, of another type, or not computable. The text names job and
        profile.
    RequestError
        `flops_per_s` is not a finite number > 0.

    Examples
    --------
    >>> from pathlib import Path
    >>> import workloads as wl
    >>> text = '''{"nb_res": 4, "jobs": [{"id": "1", "subtime": 0, "walltime": 100, "res": 2, "profile": "p"}],
    ...           "profiles": {"p": {"type": "delay", "delay": 60}}}'''
    >>> _ = Path("jobs.json").write_text(text)
    >>> wl.read_batsim("jobs.json").job(0)
    Job(job_id=1, submit_s=0.0, runtime_s=60.0, estimate_s=100.0, cores=2, user_id=-1)
    """
    if flops_per_s is not None:
        flops_per_s = as_number("flops_per_s", flops_per_s, above=0, also="None")
    where = as_path(path)
    jobs, profiles, size = _loaded(where)
    rows = [_job(where, at, job, profiles, flops_per_s) for at, job in enumerate(jobs)]
    ids = [row[0] for row in rows]
    numbers = [_own_number(job_id) for job_id in ids]
    own = -1 not in numbers and len(set(numbers)) == len(numbers)
    submit_s, runtime_s, requested_s, cores = np.array([row[2:] for row in rows]).T
    estimate_s, filled_in = estimates(requested_s, runtime_s)
    return Workload(
        job_id=np.array(numbers if own else range(1, len(rows) + 1), dtype=np.int64),
        submit_s=submit_s,
        runtime_s=runtime_s,
        estimate_s=estimate_s,
        cores=cores,
        name=stem(where) if name is None else name,
        max_cores=size,
        counts={
            "jobs": len(rows),
            **filled_in,
            "jobs renumbered": 0 if own else len(rows),
        },
        extras={"requested_s": requested_s, "batsim_id": np.array(ids), "profile": np.array([row[1] for row in rows])},
    )


def _loaded(path: Path) -> tuple[list[object], dict[str, object], int | None]:
    """Return the jobs, the profiles and the machine's size that the file gives."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise FileFormatError(str(path), None, must_be("the file", "a JSON object with jobs and profiles", content))
    jobs, profiles = content.get("jobs"), content.get("profiles")
    if not (isinstance(jobs, list) and jobs and isinstance(profiles, dict)):
        raise FileFormatError(str(path), None, "jobs must be a list of at least one job, and profiles an object")
    size = content.get("nb_res")
    if size is not None and not _fits(size, least=1, whole=True):
        raise FileFormatError(str(path), None, must_be("nb_res", "an integer >= 1", size))
    return jobs, profiles, None if size is None else int(size)


def _job(
    path: Path, at: int, job: object, profiles: Mapping[str, object], flops_per_s: float | None
) -> tuple[str, str, float, float, float, float]:
    """Return a job's id, its profile's name, submit, runtime, limit (-1 without one) and cores."""
    if not isinstance(job, dict) or not isinstance(job.get("id"), str | int):
        raise FileFormatError(str(path), None, f"jobs[{at}] is no object with an id")
    who = f"job {str(job['id'])!r}"
    for key, least in (("subtime", 0.0), ("res", 1.0)):
        if not _fits(job.get(key), least=least, whole=key == "res"):
            kind = "an integer" if key == "res" else "a finite number"
            what = must_be(f"{key} of {who}", f"{kind} >= {least:g}", job.get(key, "missing"))
            raise FileFormatError(str(path), None, what)
    walltime = job.get("walltime", -1)
    if walltime is not None and not _fits(walltime, least=-1.0):
        what = must_be(f"walltime of {who}", "a finite number > 0, or -1 for none", walltime)
        raise FileFormatError(str(path), None, what)
    if isinstance(job.get("profile"), list | dict):
        raise FileFormatError(str(path), None, must_be(f"profile of {who}", "a text", job["profile"]))
    name = str(job.get("profile"))
    runtime = _runtime(path, f"{who}, profile {name!r}", profiles.get(name), flops_per_s)
    asked = -1.0 if walltime is None else float(walltime)
    return str(job["id"]), name, float(job["subtime"]), runtime, asked, float(job["res"])


def _runtime(path: Path, who: str, profile: object, flops_per_s: float | None) -> float:
    """Return how long a job of this profile runs."""
    if not isinstance(profile, dict):
        raise FileFormatError(str(path), None, f"{who}: there is no such profile")
    kind = profile.get("type")
    if kind not in _TYPES:
        what = must_be(f"type of {who}", f"one of {', '.join(_TYPES)}", kind)
        raise FileFormatError(str(path), None, what)
    if kind == "delay" or "delay" in profile:
        key, speed = "delay", 1.0
    elif flops_per_s is None:
        what = f"the runtime of {who} depends on the cores' speed; give flops_per_s, or use profiles with a delay"
        raise FileFormatError(str(path), None, what)
    elif profile.get("com", 0) != 0:
        what = must_be(f"com of {who}", "0, because no network is modelled,", profile["com"])
        raise FileFormatError(str(path), None, what)
    else:
        key, speed = "cpu", flops_per_s
    if not _fits(profile.get(key), least=0.0):
        what = must_be(f"{key} of {who}", "a finite number >= 0", profile.get(key, "missing"))
        raise FileFormatError(str(path), None, what)
    return float(profile[key]) / speed


def _fits(value: object, *, least: float, whole: bool = False) -> bool:
    """Return whether a value is a finite number, at least so large, and whole if it must be."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < MOST:
        return False
    return not whole or value == int(value)


def _own_number(job_id: str) -> int:
    """Return the number in an id such as ``7`` or ``w0!7``, -1 if it is none."""
    digits = job_id.rpartition("!")[2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else -1
