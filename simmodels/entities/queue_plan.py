"""QueuePlan: when the jobs of a queue are planned to start, kept between predictions."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from simmodels.errors import RequestError
from simmodels.ground.numbers import Floats
from simmodels.passes.queue_prediction import Asked, Coming, predicted_in_queue
from simmodels.policies.queue_options import QueueOptions
from simmodels.structures.line_plan import new_line_plan
from simmodels.structures.structure import address_of
from simmodels.work.workload import Job

NO_ROW: Final = np.empty(0)
_NO_SLOTS: Final = np.empty(0, np.int64)


def require_predictable(options: QueueOptions) -> None:
    """Refuse to predict starts at a queue with limits, where a job that is over one delays nobody."""
    if options.limits is not None:
        what = "a start is asked for at a queue with limits, which predictions of starts do not know"
        raise RequestError(what, "leave the limits out, or choose a router that predicts none")


class QueuePlan:
    """The plan of an EASY queue on a pool, and what was submitted there since its last decision.

    See `simmodels.passes.queue_prediction` for what is planned.

    Parameters
    ----------
    lengths_s
        Returns how long a job takes at the cluster, and how long it does by its estimate.
    """

    def __init__(self, lengths_s: Callable[[Job], tuple[float, float]]) -> None:
        self._at_cluster_s = lengths_s
        self._plan = new_line_plan()
        self._address = int(address_of(self._plan))
        self._seen: tuple[float, int] | None = None  # the instant, and how many had ended, when it was last up to date
        self._new: dict[int, int] = {}  # the number of each that was submitted since the last decision, by id
        self._count = 0  # how many they are
        self._lengths_s, self._cores = np.empty(64), np.empty(64, np.int64)
        self.is_used = False
        """Whether a start was asked for since the last change."""

    def note_change(self) -> None:
        """Take note that something was decided, or withdrawn."""
        self._seen = None
        self._new.clear()
        self._count = 0
        self.is_used = False

    def number_of(self, job: Job, submitted: Sequence[Job]) -> int:
        """Take note of those that were submitted since the last decision; return the number of a job among them.

        -1 if it is none of them, and -2 if one of them was submitted twice.
        """
        self.is_used = True
        for number in range(self._count, len(submitted)):
            each = submitted[number]
            if number == len(self._cores):
                self._lengths_s = np.resize(self._lengths_s, 2 * number)
                self._cores = np.resize(self._cores, 2 * number)
            self._lengths_s[number], self._cores[number] = self._at_cluster_s(each)[1], each.cores
            self._new[id(each)] = number
        self._count = len(submitted)
        return self._new.get(id(job), -1) if len(self._new) == self._count else -2

    def start_s(
        self, queue: int, now: float, free: int, ended: Sequence[int], job: Job, slot: int, row: Floats
    ) -> float:
        """Return when a job would start; NaN if something runs there that is not of the queue.

        Parameters
        ----------
        queue
            The address of the queue.
        now
            The instant, in seconds.
        free
            How many cores are free.
        ended
            The slots that have ended since the last decision.
        job, slot
            The job, and its slot: what it has in the queue, or will have; -1 if it was not submitted there.
        row
            What the order asks beyond its numbers.
        """
        gone = np.array(ended, np.int64) if ended else _NO_SLOTS
        seen = now, len(ended)
        coming = Coming(self._lengths_s, self._cores, self._count)
        runtime_s, estimate_s = self._at_cluster_s(job)
        asked = Asked(slot, estimate_s, runtime_s, job.cores)
        settled = seen == self._seen
        start_s = float(predicted_in_queue(queue, self._address, settled, now, free, gone, coming, asked, row))
        self._seen = None if math.isnan(start_s) else seen
        return start_s
