"""Rectangles of Gantt charts: the cores of each attempt, cluster by cluster."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import ClusterSpec
from simmodels.ground.numbers import Floats, Ints
from simmodels.results.allocation import allocate_on
from simmodels.results.schedule import KILLED, UNFINISHED, Schedule

Flags = NDArray[np.bool_]

MOST_PANELS: Final = 24
"""Of a chart."""
GAP: Final = 0.08  # of a row, between machines
KINDS: Final = ("completed", "killed at its estimate", "lost its machine, work lost", "lost its machine, work saved")
"""What became of an attempt that ended, by number."""


class Panel(NamedTuple):
    """One cluster of one schedule."""

    name: str
    schedule: Schedule
    cluster: int

    @property
    def spec(self) -> ClusterSpec:
        """Return the cluster."""
        return self.schedule.clusters[self.cluster]

    @property
    def by_machine(self) -> bool:
        """Whether a row is a machine; else it is a core."""
        return self.spec.machines > 1

    @property
    def top(self) -> int:
        """Return how many rows it has."""
        return self.spec.machines if self.by_machine else self.spec.cores

    def __hash__(self) -> int:
        """Return a hash by name and cluster: schedules have none."""
        return hash((self.name, self.cluster))


def heights_of(panels: Sequence[Panel]) -> Floats:
    """Return how high panels are, as shares of the highest of their schedule."""
    most: dict[str, int] = {}
    for panel in panels:
        most[panel.name] = max(most.get(panel.name, 0), panel.spec.cores)
    return np.array([panel.spec.cores / most[panel.name] for panel in panels])


class Boxes(NamedTuple):
    """The rectangles of a panel, cut to its window; one entry per rectangle."""

    row: Ints  # input row of the job
    attempt: Ints  # which of the job's, from 1 on
    kind: Ints  # the number in `KINDS` of its attempt; 0, too, if that still runs at the end
    brief: Flags  # whether it has no length
    ends: Flags  # whether it ends in the window, or with it
    left_s: Floats
    right_s: Floats
    bottom: Floats
    top: Floats

    def area(self) -> Floats:
        """Return the size of each rectangle."""
        area: Floats = (self.right_s - self.left_s) * (self.top - self.bottom)
        return area

    def corners(self, chosen: Flags, unit_s: float) -> Floats:
        """Return float64[k, 4, 2], the corners of some rectangles."""
        left, right = self.left_s[chosen] / unit_s, self.right_s[chosen] / unit_s
        return corners_of(left, right, self.bottom[chosen], self.top[chosen])


def corners_of(left: Floats, right: Floats, low: Floats, high: Floats) -> Floats:
    """Return float64[k, 4, 2], the corners of rectangles."""
    x, y = np.column_stack((left, left, right, right)), np.column_stack((low, high, high, low))
    return np.stack((x, y), axis=-1)


def boxes_of(panel: Panel, window_s: tuple[float, float]) -> Boxes:
    """Return the rectangles of a panel within a window."""
    (low_s, high_s), spec = window_s, panel.spec
    runs = panel.schedule.all_attempts()
    runs = runs[(runs["cluster"] == panel.cluster) & runs["start_s"].notna()]
    if panel.by_machine:  # a pool gives out its cores by what ran before, as tables of cores do
        runs = runs[(runs["start_s"] <= high_s) & ~(runs["end_s"] < low_s)]
    line, machine, first, last = allocate_on(panel.schedule, panel.cluster, runs)
    scale = np.array([(1 - GAP) / spec.cores_of(each) for each in range(spec.machines)] if panel.by_machine else [1.0])
    bottom, top = machine + first * scale[machine], machine + (last + 1.0) * scale[machine]
    row, start_s, end_s = (runs[name].to_numpy()[line] for name in ("row", "start_s", "end_s"))
    outcome = runs["outcome"].to_numpy()[line]
    brief, ended = start_s == end_s, ~np.isnan(end_s)
    saved = runs["work_s"].to_numpy()[line] > 0
    last_s = np.inf if panel.schedule.window is None else panel.schedule.window[1]
    end_s = np.where(ended, end_s, last_s)
    seen = (start_s < high_s) & (end_s > low_s) | brief & (start_s >= low_s) & (start_s <= high_s)
    boxes = Boxes(
        row,
        runs["attempt"].to_numpy()[line],
        np.select([outcome == KILLED, (outcome == UNFINISHED) & ended], [1, 2 + saved]),
        brief,
        ended & (end_s <= high_s),
        np.maximum(start_s, low_s),
        np.minimum(end_s, high_s),
        bottom,
        top,
    )
    return Boxes(*(column[seen] for column in boxes))
