"""Capacity: how many machines there are over time, as an immutable table of changes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import Guided, as_tuple
from simmodels.ground.cards import card, line_chart, sliced
from simmodels.ground.durations import Duration, as_seconds, duration
from simmodels.ground.instants import too_far, too_far_text
from simmodels.ground.later import pd
from simmodels.ground.numbers import MOST, Floats, Ints, as_column, as_integer, is_number

Mode = Literal["kill", "drain", "checkpoint"]
CAPACITY_MODES: Final[tuple[str, ...]] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class CapacityChange:
    """A step change in the number of available machines.

    Parameters
    ----------
    time_s
        The instant, in seconds since the trace's zero.
    machines
        How many machines there are from then on (>= 0).
    notice_s
        Advance notice given to schedulers. From then on the machines to be removed accept no new jobs. With several
        pending notices, the smallest announced count is the limit.
    mode
        What happens to jobs that run on a machine that goes. ``"kill"``: they are lost, and run again from the
        start (or from their last periodic checkpoint); ``"drain"``: they run to their end, and the machine goes
        then; ``"checkpoint"``: what they have done by the instant (less the time that writing it takes, which the
        notice must cover) is saved.

    Raises
    ------
    RequestError, UnknownNameError
        A number is out of its range, or there is no such mode.

    Examples
    --------
    >>> import simmodels as sm
    >>> sm.CapacityChange(time_s=3600, machines=2, notice_s=600, mode="drain")
    CapacityChange(time_s=3600, machines=2, notice_s=600, mode='drain')
    """

    time_s: float
    machines: int
    notice_s: float = 0.0
    mode: Mode = "kill"

    def __post_init__(self) -> None:
        """Refuse a change that cannot be."""
        for name, least in (("time_s", -np.inf), ("notice_s", 0.0)):
            given = getattr(self, name)
            seconds = as_seconds(name, given, least=least)
            if not is_number(given):  # a number stays as it was given
                object.__setattr__(self, name, seconds)
        if too_far(self.time_s):
            raise RequestError(too_far_text("time_s", self.time_s))
        as_integer("machines", self.machines, 0)
        require_known("mode", self.mode, CAPACITY_MODES)


_TABLE: Final = "a Capacity, a table with columns time_s and machines, or a list of (time_s, machines)"


def _change(given: object) -> CapacityChange:
    """Return a change of a list: as it is, or of its fields in order."""
    if isinstance(given, CapacityChange):
        return given
    if isinstance(given, Sequence) and not isinstance(given, str | bytes) and len(given) in range(2, 5):
        return CapacityChange(*given)
    raise RequestError(must_be("a change of capacity", "a CapacityChange, or (time_s, machines)", given))


def _frozen(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a read-only copy."""
    column = np.array(values, dtype)
    column.flags.writeable = False
    return column


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Capacity(Guided):
    """How many machines there are over time: piecewise constant, from each change to the next.

    Before the first change there are as many as from the first on.

    Parameters
    ----------
    time_s
        float64[k], k >= 1, strictly increasing, in seconds since the trace's zero.
    machines
        int64[k], how many there are from each instant on (>= 0).
    notice_s, mode
        float64[k] and k names, or one for all; see `CapacityChange`.

    Raises
    ------
    RequestError, UnknownNameError
        The table is empty, not sorted or not of one length, or a value of a change is out of range.

    Examples
    --------
    >>> import simmodels as sm
    >>> day = sm.Capacity.of([(0, 4), (8 * sm.HOUR, 2), (20 * sm.HOUR, 4)])
    >>> day.machines_at(12 * sm.HOUR)
    2
    >>> day.machine_seconds(0, sm.DAY) / sm.HOUR
    72.0
    """

    _instead: ClassVar = {
        "[]": "its columns are arrays (.time_s, .machines); machines_at(time_s) is how many there are at an instant",
        **dict.fromkeys(("from_csv", "read", "from_file"), "workloads.read_series reads a series, for capacity_from"),
    }

    time_s: Floats
    machines: Ints
    notice_s: Floats = 0.0  # type: ignore[assignment]  # one for all is filled in below
    mode: tuple[Mode, ...] = "kill"  # type: ignore[assignment]  # the same

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check them."""
        as_column("machines", self.machines)
        time_s, machines = as_column("time_s", self.time_s), np.asarray(self.machines)
        rows = len(time_s) if time_s.ndim == 1 else 0
        if not rows:
            raise RequestError(f"a capacity of {rows} changes", "give at least 1")
        given: object = self.mode
        mode = (given,) * rows if isinstance(given, str) else as_tuple("mode", self.mode, "a mode, or one per change")
        notice_s = as_column("notice_s", self.notice_s)
        notice_s = np.full(rows, notice_s) if notice_s.ndim == 0 else notice_s
        if not (machines.shape == notice_s.shape == (rows,) and len(mode) == rows):
            raise RequestError(
                f"columns of {rows}, {machines.size}, {notice_s.size}, {len(mode)} rows",
                "give all the same length",
            )
        bad = ~np.isfinite(time_s) | ~((machines >= 0) & (machines <= MOST) & (machines == np.floor(machines)))
        bad |= ~((notice_s >= 0) & np.isfinite(notice_s)) | too_far(time_s)
        bad |= np.array([each not in CAPACITY_MODES for each in map(str, mode)])
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            CapacityChange(time_s[row], machines[row], notice_s[row], mode[row])  # type: ignore[arg-type]  # it refuses
        if (np.diff(time_s) <= 0).any():
            row = int(np.flatnonzero(np.diff(time_s) <= 0)[0]) + 1
            raise RequestError(f"row {row}: time_s {time_s[row]:g} after {time_s[row - 1]:g}", "sort the table")
        object.__setattr__(self, "time_s", _frozen(time_s, np.float64))
        object.__setattr__(self, "machines", _frozen(machines, np.int64))
        object.__setattr__(self, "notice_s", _frozen(notice_s, np.float64))
        object.__setattr__(self, "mode", mode)

    @classmethod
    def of(cls, table: "Capacity | pd.DataFrame | Iterable[CapacityChange | tuple[float, int]]") -> Self:
        """Return the capacity of a table: a `Capacity`, a frame with its columns, changes, or pairs (time_s, machines).

        It raises `RequestError` if that is no table of changes.
        """
        if isinstance(table, cls):
            return table
        if isinstance(table, pd.DataFrame):
            missing = [name for name in ("time_s", "machines") if name not in table]
            if missing:
                raise RequestError(f"table without {', '.join(missing)}", f"it has {', '.join(map(str, table))}")
            return cls(
                table["time_s"].to_numpy(),
                table["machines"].to_numpy(),
                table["notice_s"].to_numpy() if "notice_s" in table else 0.0,  # type: ignore[arg-type]
                tuple(table["mode"]) if "mode" in table else "kill",  # type: ignore[arg-type]
            )
        rows = [_change(each) for each in as_tuple("capacity", cast("Iterable[object]", table), _TABLE)]
        return cls(
            np.array([each.time_s for each in rows]),
            np.array([each.machines for each in rows], np.int64),
            np.array([each.notice_s for each in rows]),
            tuple(each.mode for each in rows),
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments, so that the columns stay read-only."""
        return type(self), (self.time_s, self.machines, self.notice_s, self.mode)

    def __eq__(self, other: object) -> bool:
        """Return whether it is a capacity with the same changes."""
        return isinstance(other, Capacity) and self._values() == other._values()

    def __hash__(self) -> int:
        """Return the same number for equal ones."""
        return hash(self._values())

    def _values(self) -> tuple[tuple[object, ...], ...]:
        """Return the columns as tuples."""
        return *(tuple(column.tolist()) for column in (self.time_s, self.machines, self.notice_s)), self.mode

    def __len__(self) -> int:
        """Return the number of changes."""
        return len(self.time_s)

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Capacity: {len(self)} changes, {self.machines.min()} to {self.machines.max()} machines>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the number of machines over time."""
        first_s, last_s = float(self.time_s[0]), float(self.time_s[-1])
        end_s = last_s + max((last_s - first_s) / 8, 1.0)  # so that the last change is seen
        values = sliced(self.time_s, self.machines.astype(np.float64), (first_s, end_s))
        chart = line_chart(values, "machines", ends=("0 s", duration(end_s - first_s)))
        return card(repr(self).strip("<>"), {"first to last change": duration(last_s - first_s)}, chart)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table: one row per change."""
        columns = {"time_s": self.time_s, "machines": self.machines, "notice_s": self.notice_s}
        return pd.DataFrame({**columns, "mode": self.mode})

    def machines_at(self, time_s: Duration) -> int:
        """Return how many machines there are from an instant on."""
        time_s = as_seconds("time_s", time_s, finite=False)
        return int(self.machines[max(int(np.searchsorted(self.time_s, time_s, side="right")) - 1, 0)])

    def machine_seconds(self, from_s: Duration, to_s: Duration) -> float:
        """Return the integral of the number of machines over a window, in seconds."""
        from_s, to_s = as_seconds("from_s", from_s, finite=False), as_seconds("to_s", to_s, finite=False)
        edges = np.clip(np.append(self.time_s, to_s), from_s, to_s)
        edges[0] = from_s
        return float(np.sum(np.diff(edges) * self.machines))

    def known_by(self, end_s: Duration) -> Self:
        """Return the changes that take effect, or of which notice is given, up to an instant; at least the first."""
        end_s = as_seconds("end_s", end_s, finite=False)
        known = self.time_s - self.notice_s <= end_s
        known[0] = True
        mode = tuple(each for each, kept in zip(self.mode, known, strict=True) if kept)
        return type(self)(self.time_s[known], self.machines[known], self.notice_s[known], mode)

    def shift(self, by_s: Duration) -> Self:
        """Return the same changes `by_s` seconds later."""
        by_s = as_seconds("by_s", by_s)
        return type(self)(self.time_s + by_s, self.machines, self.notice_s, self.mode)

    def repeat(self, *, length_s: Duration, until_s: Duration) -> Self:
        """Return the capacity that starts again every `length_s` seconds from its first change on, up to an instant.

        Parameters
        ----------
        length_s
            Changes at or after the first one's instant + `length_s` are left out, and it starts again there.
        until_s
            No change is made at or after this instant.
        """
        length_s, until_s = as_seconds("length_s", length_s, above=0), as_seconds("until_s", until_s)
        first = self.time_s[0]
        kept = np.flatnonzero(self.time_s < first + length_s)
        times = max(int(np.ceil((until_s - first) / length_s)), 1)
        row = np.tile(kept, times)
        time_s = self.time_s[row] + np.repeat(np.arange(times) * length_s, len(kept))
        there = np.append(True, time_s[1:] < until_s)
        row, mode = row[there], np.array(self.mode, object)
        return type(self)(time_s[there], self.machines[row], self.notice_s[row], tuple(mode[row]))


Law = Literal["three_way", "two_way"]


@dataclass(frozen=True, slots=True)
class Walk:
    """The bounded walk of a number of machines.

    Parameters
    ----------
    low, high, step
        The bounds, and how many come or go.
    law
        ``"three_way"``: -step, 0 or +step, each as likely as the others that stay within the bounds;
        ``"two_way"``: -step or +step, cut at the bounds.

    Raises
    ------
    RequestError, UnknownNameError
        A number is out of its range, or there is no such law.

    References
    ----------
    Perotin et al. (2023), section 5.1, doi 10.1145/3624062.3624194; ``"two_way"`` is their program's.
    """

    low: int
    high: int
    step: int
    law: Law = "three_way"

    def __post_init__(self) -> None:
        """Check the values."""
        require_known("law", self.law, get_args(Law))
        as_integer("low", self.low, 0)
        as_integer("high", self.high, self.low)
        as_integer("step", self.step, 0)

    def after(self, machines: int, uniform: float) -> int:
        """Return how many machines there are after one step, by a number drawn from [0, 1)."""
        low, high, step = self.low, self.high, self.step
        if self.law == "two_way":
            return min(max(machines + (step if uniform >= 0.5 else -step), low), high)
        ways = [way for way in (-step, 0, step) if low <= machines + way <= high]
        return machines + ways[int(uniform * len(ways))]

    def can_move(self, machines: int) -> bool:
        """Return whether the walk can go on from a number of machines."""
        low, high, step = self.low, self.high, self.step
        within = low < high if self.law == "two_way" else machines - step >= low or machines + step <= high
        return within and step > 0

    def require_moves(self, machines: int) -> None:
        """Refuse a start out of bounds, or one from which the walk never moves, though it has a step and a range."""
        as_integer("machines", machines, self.low, self.high)
        if self.low < self.high and self.step > 0 and not self.can_move(machines):
            what = f"a walk from {machines} machines in steps of {self.step} between {self.low} and {self.high}"
            raise RequestError(f"{what} never moves", "choose start and step so that one step stays within the bounds")

    def moves(self, machines: int, draws: np.random.Generator) -> Iterator[tuple[int, int]]:
        """Hand out the steps (1, 2, ...) at which the walk moves, and how many machines there are then.

        Forever; nothing if it can never move from `machines`.
        """
        number = 0
        while self.can_move(machines):
            number += 1
            after = self.after(machines, float(draws.random()))
            if after != machines:
                machines = after
                yield number, machines
