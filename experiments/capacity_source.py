"""Capacity source: how many machines there are over time, as the options say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from experiments.option import SUPPLY, Option, flag_of
from simmodels.clusters.capacity import CAPACITY_MODES, Capacity, Mode
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.durations import seconds
from simmodels.ground.numbers import MOST, as_integer
from workloads.capacities import capacity_from, capacity_walk, read_series

_WALK: Final = re.compile(r"\s*([0-9]{1,6})\s*:\s*([0-9]{1,6})\s*:([^:]+)")
_OF_SERIES: Final = ("column", "per_machine", "min_machines", "max_machines", "series_from_s", "repeat")
"""What goes with a series only."""
_MOST: Final = 1_000_000  # machines: a series of more is one with a forgotten unit


class Walk(NamedTuple):
    """A random walk of the number of machines: its mean, how far it goes from there, and how often it changes."""

    mean: int
    radius: int
    period_s: float


def parse_walk(text: str) -> Walk:
    """Return the walk of a text such as ``24:8:20min``.

    Raises
    ------
    RequestError
        The text is none, or a number is out of its range.
    """
    found = _WALK.fullmatch(text)
    if found is None:
        raise RequestError(must_be("--walk", "MEAN:RADIUS:PERIOD, such as 24:8:20min", text))
    mean, radius = int(found[1]), int(found[2])
    period_s = seconds(found[3], "period of --walk")
    if not (radius <= mean and mean >= 1 and period_s > 0 and (radius == 0 or radius >= 4)):
        expected = "a radius of 0, or from 4 (one step is a quarter of it) to the mean, and a period > 0"
        raise RequestError(must_be("--walk", f"MEAN:RADIUS:PERIOD with {expected}", text))
    return Walk(mean, radius, period_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySource:
    """How many machines there are over time, as the options say: a walk, or a series.

    Parameters
    ----------
    walk
        The number of machines is a random walk, such as 24:8:20min; each cluster has one of its own.
    series
        Or it follows a table in CSV: times, then power or numbers of nodes.
    column
        The column of the table; several are added: A+B.
    per_machine
        What a machine needs, in the unit of the series.
    min_machines
        Lower limit of the number of machines.
    max_machines
        Upper limit of the number of machines.
    series_from_s
        Offset into the series at which the simulated interval begins.
    repeat
        Start the series again at its end.
    notice_s
        Advance notice given of each change; after it, machines to be switched off accept no new jobs.
    mode
        What happens to jobs on machines that are switched off: they are killed, end first, or write a checkpoint, for
        which the notice must be long enough.

    Raises
    ------
    RequestError, UnknownNameError
        Both a walk and a series are given, or none; or an option is out of range.
    """

    walk: Annotated[Walk | None, Option(SUPPLY, "MEAN:RADIUS:PERIOD", parse=parse_walk)] = None
    series: Annotated[Path | None, Option(SUPPLY)] = None
    column: Annotated[str | None, Option(SUPPLY, "NAME", "the only one there is")] = None
    per_machine: Annotated[float, Option(SUPPLY)] = 1.0
    min_machines: Annotated[int, Option(SUPPLY)] = 0
    max_machines: Annotated[int | None, Option(SUPPLY, default="what the series allows")] = None
    series_from_s: Annotated[float, Option(SUPPLY)] = 0.0
    repeat: Annotated[bool, Option(SUPPLY)] = False
    notice_s: Annotated[float, Option(SUPPLY)] = 0.0
    mode: Annotated[Mode, Option(SUPPLY)] = "kill"

    def __post_init__(self) -> None:
        """Check the options, before anything is read."""
        if (self.walk is None) == (self.series is None):
            what = "no capacity is given" if self.walk is None else "--walk and --series exclude each other"
            raise RequestError(what, "give --walk or --series")
        require_known("mode", self.mode, CAPACITY_MODES)
        most = MOST if self.max_machines is None else as_integer("--max-machines", self.max_machines, 0)
        as_integer("--min-machines", self.min_machines, 0, most)
        chosen = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        without = [name for name in _OF_SERIES if name in chosen]
        if self.walk is not None and without:
            raise RequestError(f"{flag_of(without[0])} has no effect on --walk", "give --series instead, or omit it")

    @property
    def mean(self) -> int | None:
        """Return the mean number of machines of a walk; None of a series."""
        return None if self.walk is None else self.walk.mean

    def over(
        self, window_s: tuple[float, float], *, seed: int, whole: bool = True
    ) -> tuple[Capacity, Mapping[str, int]]:
        """Return how many machines there are in a window, and what was left out of the series, each with its count.

        Parameters
        ----------
        window_s
            From when to when.
        seed
            Of the walk.
        whole
            Whether a series must last as long as the window; else what it says at its end holds from then on.

        Raises
        ------
        FileFormatError, RequestError
            The series cannot be read, does not keep to its format, or is over before the window is.
        """
        begin, end = window_s
        known_s = end + self.notice_s  # what is announced by the end is known
        announced: dict[str, Any] = {"notice_s": self.notice_s, "mode": self.mode, "until_s": known_s, "begin_s": begin}
        if self.walk is not None:
            return capacity_walk(**self.walk._asdict(), **announced, seed=seed), {}
        assert self.series is not None  # noqa: S101  one of the two is there
        table = read_series(self.series, column=self.column)
        lasts_s = float(table["time_s"].iloc[-1]) - self.series_from_s
        if whole and not self.repeat and lasts_s < end - begin:
            what = f"{self.series} lasts {max(lasts_s, 0):g} s after --series-from, the window {end - begin:g} s"
            raise RequestError(what, "add --repeat, or shorten the window with --until")
        made = capacity_from(
            table,
            per_machine=self.per_machine,
            most=self.max_machines,
            least=self.min_machines,
            start_s=self.series_from_s,
            repeat=self.repeat,
            **announced,
        )
        if made.machines.max() > _MOST:
            what = must_be(f"the machines of {self.series}", f"at most {_MOST}", made.machines.max())
            raise RequestError(what, "use --per-machine X or --max-machines N")
        return made, {"blank lines": table.attrs["counts"]["blank lines"]}
