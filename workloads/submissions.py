"""When workflows are submitted: at an exact offered load, on a clock that follows the habits of the week.

References
----------
A. Burkimsher and L. Soares Indrusiak, "Bidding policies for market-based HPC workflow scheduling", arXiv:1601.07047,
2016. The weights of the hours and days were measured on an industrial grid; they are those of the authors' simulator,
rounded to hours.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final

from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance, as_tuple
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer, as_number
from simmodels.units import MINUTE, WEEK
from simmodels.work.workflow import Workflow

_HOURS: Final = (
    *(210, 233, 189, 232, 289, 332, 524, 946, 1442, 1759, 1794, 1674),
    *(1632, 1794, 2061, 2191, 2004, 1545, 1039, 693, 521, 402, 289, 207),
)
_DAYS: Final = (1190, 1339, 1349, 1386, 1309, 291, 136)
_MOST_LOAD: Final = 10  # a load beyond it is a percentage

WEEK_WEIGHTS: Final = tuple(day * hour / 1e6 for day in _DAYS for hour in _HOURS)
"""How much arrives in each of the 168 hours of a week from Monday 00:00 on, each relative to the others."""


def exact(value: float | Fraction) -> Fraction:
    """Return a number as the decimal fraction that it is written as: 0.7 is seven tenths."""
    return value if isinstance(value, Fraction) else Fraction(str(float(value)))


class WeekClock:
    """A clock that runs fast in the busy slices of the week and slowly in the others.

    A week of P ticks is cut into equal slices, each with its weight; the weights' mean counts as 1. The clock
    turns by its slice's weight each tick: so a week of it is a week, and what is spread evenly over the clock's
    turns (its *profile time*) follows the weights. All arithmetic is on whole numbers, so nothing is lost however
    long it runs.

    Parameters
    ----------
    weights
        The weight of each slice, from Monday 00:00 on; None for a clock that runs evenly.
    tick_s
        The length of a tick in seconds.

    Raises
    ------
    RequestError
        A weight is no finite number >= 0, or all are 0; the tick is no finite number > 0.
    """

    def __init__(self, weights: Sequence[float] | None = WEEK_WEIGHTS, *, tick_s: Duration = MINUTE) -> None:
        given: Any = (1.0,) if weights is None else weights
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise RequestError(must_be("the weights of the week", "a list of numbers, or None", given))
        for slot, weight in enumerate(given):
            as_number(f"weight {slot} of the week", weight, least=0)
        if not sum(given) > 0:
            raise RequestError(must_be("the sum of the weights of the week", "> 0", sum(given)))
        tick_s = as_seconds("tick_s", tick_s, above=0)
        fractions = [exact(weight) for weight in given]
        scale = math.lcm(*(fraction.denominator for fraction in fractions))
        self._weights = [int(fraction * scale) for fraction in fractions]
        self._knots = [0, *accumulate(self._weights)]
        self.tick_s = exact(tick_s)
        self._week = Fraction(int(WEEK)) / self.tick_s

    def ticks(self, turns: Iterable[int], per_tick: int = 1) -> list[int]:
        """Return the tick nearest to when the clock has turned so far, for each of the turns; of two, the later.

        Parameters
        ----------
        turns
            How far the clock is to have turned, in parts of a tick.
        per_tick
            How many of these parts make a tick.
        """
        total, slices = self._knots[-1], len(self._weights)
        long, short = self._week.numerator, self._week.denominator
        unit = per_tick * long  # a turn of the week is total * unit, in whole numbers
        knots = [knot * unit for knot in self._knots]
        found = []
        for turn in turns:
            week, rest = divmod(turn * short * total, total * unit)
            slot = bisect_right(knots, rest) - 1  # after all slices of weight 0, in which the clock stands still
            share = self._weights[slot] * unit
            below = short * slices * share
            found.append((2 * long * ((week * slices + slot) * share + rest - knots[slot]) + below) // (2 * below))
        return found


def as_load(load: float, *, also: str = "") -> float:
    """Return an offered load, as a share of all cores; refuse a percentage.

    Raises
    ------
    RequestError
        It is no finite number > 0, or above 10.
    """
    found = as_number("load", load, above=0, also=also)
    if found > _MOST_LOAD:
        raise RequestError(must_be("load", f"a share of all cores, at most {_MOST_LOAD}: 0.9 for 90 %", load))
    return found


def load_seconds(volumes_core_s: Sequence[float], *, load: float, cores: int, clock: WeekClock) -> list[float]:
    """Return when each workflow is submitted, in seconds, so that the load is exact at all times.

    The first is submitted at 0 (or at the end of the slices of weight 0 there). A workflow of v core-seconds is
    followed by the next after v / (load * cores) seconds of profile time. These are summed up exactly, as fractions,
    and each instant is rounded to the nearest tick once: so no rounding adds up.

    Parameters
    ----------
    volumes_core_s
        The core-seconds of each workflow, in the order of submission.
    load
        The offered load, a share of all cores; it counts as the decimal that it is written as.
    cores
        All the cores of the platform.
    clock
        The clock of the week.

    Raises
    ------
    RequestError
        The load is no finite number > 0, or there is no core.
    """
    as_load(load)
    cores = as_integer("cores", cores, 1)
    ratios = [volume.as_integer_ratio() for volume in volumes_core_s]
    parts = math.lcm(*(below for _, below in ratios))
    rate = exact(load) * cores * clock.tick_s * parts
    works = [0, *(above * (parts // below) for above, below in ratios)]
    turns = (done * rate.denominator for done in accumulate(works[: len(ratios)]))
    return [float(tick * clock.tick_s) for tick in clock.ticks(turns, rate.numerator)]


def as_workflows(given: Iterable[Workflow]) -> list[Workflow]:
    """Return workflows as a list: one alone is a list of itself.

    Raises
    ------
    RequestError
        Some are no workflows.
    """
    several = [given] if isinstance(given, Workflow) else as_tuple("workflows", given, "a list of workflows")
    return [as_instance("workflows", each, Workflow) for each in several]


def at_load(
    workflows: Iterable[Workflow],
    *,
    load: float,
    cores: int,
    week: Sequence[float] | None = WEEK_WEIGHTS,
    tick_s: Duration = MINUTE,
) -> list[Workflow]:
    """Return the same workflows, submitted in the order given so that they offer this load at all times.

    The first is submitted at 0, a Monday at 00:00; each is followed by the next after its volume / (load * cores) of
    profile time (see `load_seconds`). So loads are compared on the same jobs.

    Parameters
    ----------
    workflows
        What is submitted; when it was before does not matter.
    load
        The offered load, a share of all cores; it counts as the decimal that it is written as.
    cores
        All the cores of the platform.
    week
        The weights of equal slices of the week, from Monday 00:00 on; None: the same load at all hours.
    tick_s
        Submissions are at whole multiples of this, in seconds.

    Returns
    -------
    list of Workflow
        The workflows in the order given, with another ``submit_s``.

    Raises
    ------
    RequestError
        The load, the cores, a weight or the tick is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> jobs = [sm.Workflow(number, 0.0, [3600.0], cores=8) for number in range(4)]
    >>> [job.submit_s for job in wl.at_load(jobs, load=0.5, cores=16, week=None)]
    [0.0, 3600.0, 7200.0, 10800.0]
    """
    clock = WeekClock(week, tick_s=tick_s)
    given = as_workflows(workflows)
    instants = load_seconds([job.volume_core_s for job in given], load=load, cores=cores, clock=clock)
    return [replace(job, submit_s=submit_s) for job, submit_s in zip(given, instants, strict=True)]
