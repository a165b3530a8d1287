"""Outages: how machines fail, and when they are maintained, as descriptions that both engines read."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from simmodels.clusters.capacity import Mode
from simmodels.errors import RequestError, StoppedError, must_be, require_known
from simmodels.ground.arguments import as_tuple
from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import as_integer, as_number
from simmodels.units import DAY

MAX_REQUEUES: Final = 10_000
"""How often in succession a job may lose all its work: of jobs that end at one attempt in 1,000, one in 22,000 does."""
_LEAST_SHAPE: Final = 0.05
"""Below, one time in a million is 10^100 times as long as the mean: no clock gets there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLaw:
    """How machines fail, each by itself, without notice, and are repaired; see `simmodels.Failures`.

    Parameters
    ----------
    mtbf_s
        The mean time from a repair to the machine's next failure, in seconds.
    repair_s
        How long a repair takes, in seconds.
    shape
        The shape of the Weibull distribution of the times between failures: 1 for an exponential one; below 1 a machine
        fails more often shortly after a repair, as logs of clusters show (about 0.7).

    Raises
    ------
    RequestError
        A number is out of its range.

    References
    ----------
    Schroeder, Gibson 2006, A large-scale study of failures in high-performance computing systems,
    doi 10.1109/DSN.2006.5, for the shape.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0], "runtime_s": [100], "cores": [4]}
    >>> law = sm.FailureLaw(mtbf_s=60, repair_s=5)
    >>> site = sm.Site(machines=1, cores_per_machine=4, failures=law)
    >>> sm.simulate(jobs, on=site, seed=5).metrics()["kills"]
    3
    """

    mtbf_s: float
    repair_s: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what no machine does."""
        for name in ("mtbf_s", "repair_s"):
            object.__setattr__(self, name, as_seconds(name, getattr(self, name), above=0))
        object.__setattr__(self, "shape", as_number("shape", self.shape, least=_LEAST_SHAPE))

    @property
    def scale_s(self) -> float:
        """Return the scale of the Weibull distribution."""
        return self.mtbf_s / math.gamma(1 + 1 / self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """Machines are off for a time that is known before; see `simmodels.Maintenance`.

    Parameters
    ----------
    start_s, duration_s
        When it begins, and how long it takes, in seconds.
    machines
        The numbers of the machines; None for all.
    notice_s
        How long before it notice is given, in seconds. From then on a queue starts on these machines only what ends,
        by its estimate, before they go; placers start nothing there.
    mode
        What happens to jobs that still run there when it begins: see `simmodels.CapacityChange`.

    Raises
    ------
    RequestError, UnknownNameError
        A number is out of its range, or there is no such mode.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0, 1], "runtime_s": [10, 10], "cores": [4, 8]}
    >>> off = sm.MaintenanceWindow(start_s=5, duration_s=20, machines=[1])
    >>> sm.simulate(jobs, on=sm.Site(machines=2, cores_per_machine=4, maintenance=[off])).start_s.tolist()
    [0.0, 25.0]
    """

    start_s: float
    duration_s: float
    machines: Iterable[int] | None = None
    notice_s: float = DAY
    mode: Mode = "kill"

    def __post_init__(self) -> None:
        """Check the times, and keep the machines in order."""
        object.__setattr__(self, "start_s", as_seconds("start_s", self.start_s))
        object.__setattr__(self, "duration_s", as_seconds("duration_s", self.duration_s, above=0))
        object.__setattr__(self, "notice_s", as_seconds("notice_s", self.notice_s, least=0))
        require_known("mode", self.mode, get_args(Mode))
        if self.machines is None:
            return
        chosen = as_tuple("machines", self.machines, "the numbers of at least one machine, or None")
        if not chosen:
            raise RequestError(must_be("machines", "the numbers of at least one machine, or None", self.machines))
        numbers = sorted({as_integer("a machine of a maintenance", each, 0) for each in chosen})
        object.__setattr__(self, "machines", tuple(numbers))

    @property
    def end_s(self) -> float:
        """Return when it is over, in seconds."""
        return self.start_s + self.duration_s

    def of(self, count: int) -> list[int]:
        """Return the numbers of its machines on a cluster with `count` machines."""
        return list(range(count)) if self.machines is None else list(self.machines)


def as_max_requeues(given: int | None) -> int | None:
    """Return how often in succession a job may lose all its work; refuse what is no whole number >= 1, or None."""
    return None if given is None else as_integer("max_requeues", given, 1, also="None")


def waits_too_long(waiting: Sequence[tuple[int, int]], times: int, now: float) -> StoppedError:
    """Return the error about jobs, each with its number and cores, that wait while machines fail and are repaired."""
    job_id, cores = min(waiting, key=lambda job: (-job[1], job[0]))
    wait = f"and {len(waiting) - 1} more wait" if len(waiting) > 1 else "waits"
    return StoppedError(
        f"job {job_id} of {cores} cores {wait} at {now:g} s, and machines were repaired {times:,} times since any ran",
        "let machines fail less often, leave the job out, simulate a window of time, or allow more max_requeues",
    )


def lost_too_often(job_id: int, times: int, now: float) -> StoppedError:
    """Return the error about a job that was lost too often in a row, and lost all its work."""
    return StoppedError(
        f"job {job_id} was lost {times:,} times in a row by {now:g} s, each time with all its work",
        "write checkpoints, let machines go less often, simulate a window of time, or allow more max_requeues",
    )
