"""Many workflows over time: instances from a folder, drawn at random and submitted one after the other."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from simmodels.errors import FileFormatError, RequestError, brief, must_be
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.files import as_path
from simmodels.ground.numbers import as_flag, as_integer
from simmodels.ground.streams import stream
from simmodels.units import SECOND
from simmodels.work.curve import ValueCurve
from simmodels.work.workflow import Workflow
from workloads.dax import read_dax
from workloads.files import COMPRESSIONS
from workloads.submissions import WeekClock, as_workflows, exact, load_seconds
from workloads.wfformat import read_wfformat
from workloads.workflow_builder import Choice

_READERS: Final = {".json": read_wfformat, ".xml": read_dax, ".dax": read_dax}
_PARTS: Final = 2**20  # of a tick: as finely are random gaps measured


def read_workflows(
    folder: str | PathLike[str],
    *,
    tick_s: float | None = SECOND,
    kind: Choice[str] = None,
    cores: Choice[int] = None,
    curve: ValueCurve | None = None,
) -> list[Workflow]:
    """Return the workflows of a folder, in the order of their files' names; they are numbered from 0.

    Files named ``.json`` are read as WfFormat, those named ``.xml`` or ``.dax`` as Pegasus DAX, each plain or
    compressed (``.gz``, ``.bz2``, ``.xz``). Others are passed over, and so are folders in it.

    Parameters
    ----------
    folder
        Where the files are.
    tick_s, kind, cores, curve
        As for `read_wfformat`.

    Returns
    -------
    list of Workflow
        One per file.

    Raises
    ------
    FileFormatError
        The folder cannot be read or has no such file; or as for `read_wfformat` and `read_dax`, with the file.
    RequestError
        As for these.

    Examples
    --------
    >>> from pathlib import Path
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> Path("flows").mkdir()
    >>> for width in (2, 3):
    ...     wl.write_wfformat(sm.Workflow.from_graph(wl.fork_join(width, seed=1)), f"flows/{width}.json")
    >>> [len(job) for job in wl.read_workflows("flows")]
    [4, 5]
    """
    where = as_path(folder)
    try:
        paths = sorted(path for path in where.iterdir() if _suffix(path) in _READERS and path.is_file())
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise FileFormatError(str(where), None, f"the folder cannot be read: {reason.lower()}") from error
    if not paths:
        what = f"the folder has no workflow: no file name ends in {', '.join(_READERS)}, compressed or not"
        raise FileFormatError(str(where), None, what)
    return [
        _READERS[_suffix(path)](path, tick_s=tick_s, kind=kind, cores=cores, curve=curve, job_id=number)
        for number, path in enumerate(paths)
    ]


def _suffix(path: Path) -> str:
    """Return what a file's name ends in, without that of its compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSIONS else suffix


def arrivals(
    instances: str | PathLike[str] | Iterable[Workflow],
    jobs: int | None = None,
    *,
    load: float | None = None,
    cores: int | None = None,
    gap_s: Duration | None = None,
    poisson: bool = False,
    replacement: bool = True,
    week: Sequence[float] | None = None,
    seed: int = 0,
    tick_s: float = SECOND,
) -> list[Workflow]:
    """Return workflows drawn from the instances, in the order of their submission; job k has number k, from 0.

    How fast they come is asked for in one of two ways. By `load` and `cores`: each is followed by the next after its
    own work / (load * cores), so that the load is exact at all times (see `market_workload`); or, if `poisson`,
    after a random gap with the mean that offers this load. By `gap_s`: at equal gaps; or, if `poisson`, at random
    gaps of this mean. The first is submitted at 0, a Monday at 00:00 where `week` has weights.

    Parameters
    ----------
    instances
        Workflows, or a folder of them (see `read_workflows`, also for options).
    jobs
        How many are drawn, >= 1; None for as many as there are instances.
    load
        The offered load as a share of `cores`.
    cores
        All the cores of the platform, of whatever kind.
    gap_s
        The (mean) time from one submission to the next, in seconds, where `load` is not given.
    poisson
        Whether gaps are exponentially distributed: a Poisson process.
    replacement
        Whether each draw is from all instances. False: each instance comes at most once, in random order.
    week
        The weights of equal slices of the week, from Monday 00:00 on, such as `WEEK_WEIGHTS`: gaps are shorter in
        busy slices. None: all hours are the same.
    seed
        The seed, an integer >= 0: the same arguments give the same jobs; another rate or week, the same jobs at other
        times.
    tick_s
        Submissions are at whole multiples of this, in seconds: instants are rounded to the nearest, once each.

    Returns
    -------
    list of Workflow
        In the order of their submission, numbered from 0.

    Raises
    ------
    RequestError
        Not one of `load` (with `cores`) and `gap_s`; no instances; more jobs than instances without replacement; a
        value out of its range.
    FileFormatError
        As for `read_workflows`.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> kinds = [sm.Workflow(0, 0.0, [30.0, 10.0], [2, 1], [(0, 1)]), sm.Workflow(1, 0.0, [60.0])]
    >>> [job.submit_s for job in wl.arrivals(kinds, 4, gap_s=90)]
    [0.0, 90.0, 180.0, 270.0]
    """
    given = read_workflows(instances) if isinstance(instances, str | PathLike) else as_workflows(instances)
    if not given:
        raise RequestError(must_be("instances", "at least one workflow", given))
    count = len(given) if jobs is None else as_integer("jobs", jobs, 1, also="None")
    if not replacement and count > len(given):
        raise RequestError(must_be("jobs", f"at most {len(given)}, the instances, without replacement", count))
    rng = stream(seed, "arrivals", "instances")
    as_flag("poisson", poisson)
    as_flag("replacement", replacement)
    turns = (rng.random(count) * len(given)).astype(np.int64) if replacement else rng.permutation(len(given))
    drawn = [given[row] for row in turns[:count].tolist()]
    instants = _instants(
        drawn,
        mean_core_s=math.fsum(job.volume_core_s for job in given) / len(given),
        load=load,
        cores=cores,
        gap_s=gap_s,
        poisson=poisson,
        seed=seed,
        clock=WeekClock(week, tick_s=tick_s),
    )
    return [
        replace(job, job_id=at, submit_s=submit_s)
        for at, (job, submit_s) in enumerate(zip(drawn, instants, strict=True))
    ]


def _instants(
    drawn: Sequence[Workflow],
    *,
    mean_core_s: float,
    load: float | None,
    cores: int | None,
    gap_s: Duration | None,
    poisson: bool,
    seed: int,
    clock: WeekClock,
) -> list[float]:
    """Return when each of the workflows is submitted, in seconds."""
    if load is not None and cores is not None and gap_s is None:
        exactly = load_seconds([job.volume_core_s for job in drawn], load=load, cores=cores, clock=clock)
        if not poisson:
            return exactly
        mean_s = mean_core_s / (load * cores)  # both are numbers > 0, as load_seconds has checked
    elif gap_s is not None and load is None and cores is None:
        mean_s = as_seconds("gap_s", gap_s, above=0)
    else:
        given = f"load={brief(load)}, cores={brief(cores)}, gap_s={brief(gap_s)}"
        raise RequestError(f"the arrivals are not determined by {given}", "give load and cores, or gap_s alone")
    if poisson:
        gaps_s = stream(seed, "arrivals", "gaps").exponential(size=len(drawn) - 1)
        turned = np.append(0.0, gaps_s.cumsum()) * (mean_s / float(clock.tick_s) * _PARTS)
        ticks = clock.ticks(map(round, turned.tolist()), _PARTS)
    else:
        gap = exact(mean_s) / clock.tick_s
        ticks = clock.ticks((row * gap.numerator for row in range(len(drawn))), gap.denominator)
    return [float(tick * clock.tick_s) for tick in ticks]
