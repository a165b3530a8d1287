"""The workload model of Lublin and Feitelson: rigid jobs that arrive by a daily cycle.

References
----------
U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003, pp. 1105-1122, doi:10.1016/S0743-7315(03)00108-4. The
parameters are those of the paper, as the authors' own generator (m_lublin99) has them.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import as_flag, as_integer, as_number
from simmodels.ground.streams import stream
from simmodels.units import DAY
from simmodels.work.workload import Workload
from workloads.submissions import as_load

SLOTS: Final = 48
"""Slots of half an hour, into which the model divides a day."""
SLOT_S: Final = DAY / SLOTS
"""The length of a slot in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LublinParameters:
    """The parameters of one class of jobs; the defaults are those for all jobs together.

    The names in brackets are the paper's.

    Parameters
    ----------
    serial_probability
        How likely a job needs one core.
    power_of_two_probability
        How likely it needs a power of two above one; the others need any number.
    size_low
        log2 of the least size of a parallel job, moved a little to give the least size its share (uLow).
    size_middle_below
        By how much the middle of the two-stage uniform distribution of log2(cores) is below its upper
        end (uHi - uMed); the paper advises 1.5 to 3.5.
    size_high_below
        By how much that upper end is below log2 of the machine's cores.
    size_low_probability
        How likely log2(cores) is below the middle (uProb); the paper advises 0.7 to 0.95.
    runtime_shape_1, runtime_scale_1, runtime_shape_2, runtime_scale_2
        The two gamma distributions that ln(runtime in seconds) is a mixture of (a1, b1, a2, b2).
    runtime_slope, runtime_offset
        A job of q cores is of the first gamma distribution with probability slope * q + offset, kept
        within 0 and 1 (pa, pb): the slope is what makes wide jobs longer.
    gap_shape, gap_scale
        The gamma distribution of ln(time between arrivals in seconds) in the rush hours (aArr, bArr).
    gap_ratio
        By what the shape is multiplied to hold for all hours and not for the rush hours only (ARAR).
    day_shape, day_scale
        The gamma distribution of the slot in which a job arrives (aNum, bNum), in slots from midnight.
    day_start_slot
        The slot (1 to 48) with which the cycle begins; those before it are of the next day.
    longest_log_runtime, longest_log_gap
        ln of the runtime, and of the time between arrivals, beyond which a value is drawn again: 12 is
        45 hours, 13 is 5 days.

    Examples
    --------
    >>> import workloads as wl
    >>> powers = wl.LublinParameters(power_of_two_probability=0.756)  # the rest are serial
    >>> sorted(set(wl.lublin(jobs=100, cores=64, seed=1, parameters=powers).cores.tolist()))
    [1, 2, 4, 8, 16, 32, 64]
    """

    serial_probability: float = 0.244
    power_of_two_probability: float = 0.576
    size_low: float = 0.8
    size_middle_below: float = 2.5
    size_high_below: float = 0.0
    size_low_probability: float = 0.86
    runtime_shape_1: float = 4.2
    runtime_scale_1: float = 0.94
    runtime_shape_2: float = 312.0
    runtime_scale_2: float = 0.03
    runtime_slope: float = -0.0054
    runtime_offset: float = 0.78
    gap_shape: float = 10.2303
    gap_scale: float = 0.4871
    gap_ratio: float = 1.0225
    day_shape: float = 8.1737
    day_scale: float = 3.9631
    day_start_slot: int = 11
    longest_log_runtime: float = 12.0
    longest_log_gap: float = 13.0

    def __post_init__(self) -> None:
        """Refuse parameters that make no distribution."""
        for name in ("serial_probability", "power_of_two_probability", "size_low_probability"):
            as_number(name, getattr(self, name), least=0, most=1)
        total = self.serial_probability + self.power_of_two_probability
        as_number("serial_probability + power_of_two_probability", total, least=0, most=1)
        positive = [f"{what}_{kind}" for what in ("gap", "day") for kind in ("shape", "scale")]
        positive += [f"runtime_{kind}_{part}" for kind in ("shape", "scale") for part in (1, 2)]
        for name in (*positive, "gap_ratio", "longest_log_runtime", "longest_log_gap"):
            as_number(name, getattr(self, name), above=0)
        for name in ("size_low", "size_middle_below", "size_high_below", "runtime_slope", "runtime_offset"):
            as_number(name, getattr(self, name))
        as_integer("day_start_slot", self.day_start_slot, 1, SLOTS)


ALL_JOBS: Final = LublinParameters()
"""Published parameters: all jobs, whatever their type."""

BATCH: Final = LublinParameters(
    serial_probability=0.2927,
    power_of_two_probability=0.6686,
    size_low=1.2,
    size_middle_below=2.0,
    size_low_probability=0.875,
    runtime_shape_1=6.57,
    runtime_scale_1=0.823,
    runtime_shape_2=639.1,
    runtime_scale_2=0.0156,
    runtime_slope=-0.003,
    runtime_offset=0.6986,
    gap_shape=6.0415,
    gap_scale=0.8531,
    gap_ratio=1.0519,
    day_shape=6.1271,
    day_scale=5.2740,
)
"""Published parameters: batch jobs."""

INTERACTIVE: Final = LublinParameters(
    serial_probability=0.1541,
    power_of_two_probability=0.625,
    size_low=1.0,
    size_middle_below=2.5,
    size_high_below=1.5,
    size_low_probability=0.705,
    runtime_shape_1=3.8351,
    runtime_scale_1=0.6605,
    runtime_shape_2=7.073,
    runtime_scale_2=0.6856,
    runtime_slope=-0.0118,
    runtime_offset=0.9156,
    gap_shape=6.5510,
    gap_scale=0.6621,
    gap_ratio=0.9797,
    day_shape=8.9186,
    day_scale=3.6680,
)
"""Published parameters: interactive jobs."""


def lublin(
    jobs: int,
    cores: int,
    *,
    seed: int = 0,
    interactive: bool = False,
    load: float | None = None,
    parameters: LublinParameters | None = None,
    name: str = "lublin",
) -> Workload:
    """Return a workload of the model of Lublin and Feitelson (2003).

    A job is serial, of a power of two of cores, or of any number; log2 of the cores is two-stage
    uniform. ln of its runtime is of a mixture of two gamma distributions, and the wider the job, the
    more likely of the longer one. ln of the time between arrivals is gamma distributed, on a clock that
    runs faster in slots of the day in which more jobs arrive. The trace begins at midnight; times are
    whole seconds; the estimate is the runtime, because the model has none (see `tsafrir_estimates`).

    Parameters
    ----------
    jobs
        How many jobs, >= 1.
    cores
        The cores of the machine, >= 2. The published parameters were fitted to logs of machines of 100
        to 512 cores; on a much larger one nearly all wide jobs are of the longer runtimes.
    seed
        The seed, an integer >= 0: the same arguments give the same jobs.
    interactive
        Whether there are batch jobs and interactive jobs, two streams of arrivals with parameters of their
        own, distinguished by the extra ``queue`` (0 interactive, 1 batch). False: one class of jobs, with the
        parameters for all.
    load
        The offered load wanted: cores x runtime of all jobs, over the machine's cores x the last
        arrival. The clock of the arrivals is sped up or slowed down to reach it; the daily cycle stays
        a day. None: as published, and whatever load follows from `cores`.
    parameters
        Others than the published ones, for one class of jobs (`interactive` must be False then).
    name
        Its name in figures and tables.

    Returns
    -------
    Workload
        Jobs in order of submission; times in whole seconds, `max_cores` the size of the machine.

    Raises
    ------
    RequestError
        An argument out of its range, or parameters that leave no size between `size_low` and the
        machine's.

    Notes
    -----
    O(jobs log jobs) time. Deviations from the authors' generator, which takes a machine of 2**uHi
    cores: on another machine a power of two beyond it becomes the largest that fits; arrivals are
    rounded down to whole seconds once, not at each job, so the fractions do not add up.

    Examples
    --------
    >>> import workloads as wl
    >>> wl.lublin(jobs=500, cores=64, load=0.9, seed=1)
    <Workload 'lublin': 500 jobs, max_cores=64>
    """
    jobs = as_integer("jobs", jobs, 1)
    cores = as_integer("cores", cores, 2)
    if load is not None:
        load = as_load(load, also="None")
    if not isinstance(parameters, LublinParameters | None):
        raise RequestError(must_be("parameters", "a LublinParameters, or None", parameters))
    if parameters is not None and as_flag("interactive", interactive):
        raise RequestError("parameters have no effect with interactive=True", "omit one of them")
    classes = {"interactive": INTERACTIVE, "batch": BATCH} if interactive else {"all": parameters or ALL_JOBS}
    clocks = [_gaps(jobs, chosen, seed, kind).cumsum() for kind, chosen in classes.items()]
    arrival_s = np.concatenate([_at(clock, chosen) for clock, chosen in zip(clocks, classes.values(), strict=True)])
    drawn = np.argsort(arrival_s, kind="stable")[:jobs]  # those that come first, of whichever class
    which = drawn // jobs
    size = np.empty(jobs, dtype=np.int64)
    runtime_s = np.empty(jobs)
    for number, (kind, chosen) in enumerate(classes.items()):
        mine = which == number
        size[mine] = _sizes(int(mine.sum()), cores, chosen, seed, kind)
        runtime_s[mine] = _runtimes(size[mine], chosen, seed, kind)
    submit_s = arrival_s[drawn]
    if load is not None:
        span_s = float((size * runtime_s).sum()) / (cores * load)
        turns = [clocks[number][drawn[which == number] - number * jobs] for number in range(len(clocks))]
        speed = min(
            float(_turned(span_s, chosen) / clock[-1])
            for clock, chosen in zip(turns, classes.values(), strict=True)
            if len(clock)
        )
        for number, (clock, chosen) in enumerate(zip(turns, classes.values(), strict=True)):
            submit_s[which == number] = _at(speed * clock, chosen)
    order = np.argsort(submit_s, kind="stable")
    return Workload(
        job_id=np.arange(1, jobs + 1),
        submit_s=np.floor(submit_s[order]),
        runtime_s=runtime_s[order],
        estimate_s=runtime_s[order],
        cores=size[order],
        name=name,
        max_cores=cores,
        header=(
            "; Version: 2.2",
            f"; MaxJobs: {jobs}",
            f"; MaxRecords: {jobs}",
            f"; MaxProcs: {cores}",
            f"; Note: jobs of the workload model of Lublin and Feitelson (2003), seed {seed}",
            *(f"; Queue: {number} {kind}" for number, kind in enumerate(classes) if interactive),
        ),
        counts={"jobs": jobs, "estimates taken from runtimes": jobs},
        extras={"queue": which[order]} if interactive else {},
    )


def _gaps(jobs: int, chosen: LublinParameters, seed: int, kind: str) -> NDArray[np.float64]:
    """Return how far the clock of arrivals turns from job to job, in slots of average rush."""
    rng = stream(seed, "lublin", kind, "gaps")
    logs = _gamma_below(
        rng, np.full(jobs, chosen.gap_shape * chosen.gap_ratio), np.full(jobs, chosen.gap_scale), chosen.longest_log_gap
    )
    return np.exp(logs) / SLOT_S


def _weights(chosen: LublinParameters) -> NDArray[np.float64]:
    """Return float64[48], how many jobs arrive in each slot of the day, against the average slot.

    Slot i of the day that begins with `day_start_slot` has the gamma distribution's share of i - 1/2 to
    i + 1/2; the generator counts slots from 1 there, and from 0 here.
    """
    from scipy.special import gammainc  # noqa: PLC0415  only who generates jobs waits for scipy

    slots = np.arange(chosen.day_start_slot, chosen.day_start_slot + SLOTS)
    shares = np.diff(gammainc(chosen.day_shape, np.append(slots - 0.5, slots[-1] + 0.5) / chosen.day_scale))
    weights = np.empty(SLOTS)
    weights[(slots - 1) % SLOTS] = shares
    return np.asarray(weights / weights.mean())


def _turned(time_s: float | NDArray[np.float64], chosen: LublinParameters) -> NDArray[np.float64]:
    """Return how far the clock of arrivals has turned since midnight of the first day."""
    knots = np.append(0.0, _weights(chosen).cumsum())
    days, rest = np.divmod(np.asarray(time_s, dtype=np.float64) / SLOT_S, SLOTS)
    return np.asarray(days * SLOTS + np.interp(rest, np.arange(SLOTS + 1), knots))


def _at(turned: NDArray[np.float64], chosen: LublinParameters) -> NDArray[np.float64]:
    """Return when the clock of arrivals has turned so far, in seconds: the inverse of `_turned`."""
    knots = np.append(0.0, _weights(chosen).cumsum())
    days, rest = np.divmod(turned, SLOTS)
    return np.asarray(SLOT_S * (days * SLOTS + np.interp(rest, knots, np.arange(SLOTS + 1))))


def _sizes(jobs: int, cores: int, chosen: LublinParameters, seed: int, kind: str) -> NDArray[np.int64]:
    """Return int64[jobs], how many cores each job needs."""
    high = math.log2(cores) - chosen.size_high_below
    low = chosen.size_low
    middle = max(high - chosen.size_middle_below, low)
    if high <= low:
        expected = f"greater than 2**{low + chosen.size_high_below:g}, with these parameters"
        raise RequestError(must_be("cores", expected, cores))
    rng = stream(seed, "lublin", kind, "sizes")
    sort, stage, place = rng.random((3, jobs))
    below = stage <= chosen.size_low_probability
    log2 = np.where(below, low + place * (middle - low), middle + place * (high - middle))
    power = np.minimum(np.floor(log2 + 0.5), math.floor(math.log2(cores)))
    is_power = sort <= chosen.serial_probability + chosen.power_of_two_probability
    size = np.floor(np.exp2(np.where(is_power, power, log2)) + 0.5)
    return np.where(sort <= chosen.serial_probability, 1, np.minimum(size, cores)).astype(np.int64)


def _runtimes(size: NDArray[np.int64], chosen: LublinParameters, seed: int, kind: str) -> NDArray[np.float64]:
    """Return float64[n], the runtime of each job in whole seconds, given its cores."""
    rng = stream(seed, "lublin", kind, "runtimes")
    first = rng.random(len(size)) <= np.clip(chosen.runtime_slope * size + chosen.runtime_offset, 0, 1)
    shape = np.where(first, chosen.runtime_shape_1, chosen.runtime_shape_2)
    scale = np.where(first, chosen.runtime_scale_1, chosen.runtime_scale_2)
    return np.floor(np.exp(_gamma_below(rng, shape, scale, chosen.longest_log_runtime)))


def _gamma_below(
    rng: np.random.Generator, shape: NDArray[np.float64], scale: NDArray[np.float64], limit: float
) -> NDArray[np.float64]:
    """Return gamma variates of these shapes and scales, each drawn again until it is at most `limit`."""
    values = rng.gamma(shape, scale)
    while (beyond := np.flatnonzero(values > limit)).size:
        values[beyond] = rng.gamma(shape[beyond], scale[beyond])
    return values
