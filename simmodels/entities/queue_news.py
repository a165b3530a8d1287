"""QueueNews: what is published of the decisions of a queue beside its starts."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from simmodels.entities.attempt import Attempt
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.events import Backfilled, Reason, Reserved
from simmodels.ground.numbers import Floats
from simmodels.passes import queue_events as queue
from simmodels.policies.parties import Parties
from simmodels.policies.queue_options import Backfilling, QueueOptions
from simmodels.structures.queue_state import QueueState, waiting_slots
from simmodels.work.workload import Job

_REASONS: Final[dict[Backfilling, Reason]] = {
    "greedy": "fits",
    "easy": "ends in time",
    "conservative": "delays no reservation",
}


class QueueNews:
    """Why jobs were backfilled, and what was reserved; a reservation is published when it is new.

    Parameters
    ----------
    scheduler
        Who decides.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._env = scheduler.env
        self._reserved_s: dict[int, float] = {}  # by slot, as last published
        self.of_backfilled, self.of_reserved = self._env.observers_of(Backfilled), self._env.observers_of(Reserved)
        """Who observes it."""

    def publish(
        self,
        decided: QueueState,
        options: QueueOptions,
        attempts: Sequence[Attempt],
        *,
        jobs: Mapping[int, Job],
        estimate_s: Floats,
        parties: Parties | None,
    ) -> None:
        """Publish what follows from a decision.

        Parameters
        ----------
        decided, options
            The queue after it, and its options.
        attempts
            What it started.
        jobs, estimate_s
            The jobs by slot, and float64[slots], how long they may run.
        parties
            Whose they are, if there are limits.
        """
        now, backfilling = float(self._env.now), options.backfilling
        waiting = waiting_slots(decided).tolist()
        if parties is not None:  # nothing is promised to a job that is over a limit
            waiting = [slot for slot in waiting if not parties.waits_for(slot, jobs[slot].cores)]
        # Without a pass since the keys were computed, who is first by an order that moves is not known.
        known = not options.order.moving or bool(attempts) or queue.has_fitting(decided)
        if not waiting or backfilling == "none" or not (known or backfilling == "conservative"):
            return
        promised = {"greedy": [], "easy": waiting[:1], "conservative": waiting}[backfilling]
        starts_s = [float(queue.reserved_start(decided, slot, now)) for slot in promised]
        held = {slot: start_s for slot, start_s in zip(promised, starts_s, strict=True) if not math.isnan(start_s)}
        news = [(jobs[slot], start_s) for slot, start_s in held.items() if self._reserved_s.get(slot) != start_s]
        self._reserved_s = held
        started = np.array([attempt.slot for attempt in attempts], np.int64)
        behind = queue.behind_first(decided, started, waiting[0])
        ahead = jobs[waiting[0]]
        for job, start_s in news:  # an observer may withdraw a job: all that is published is known by now
            self._env.publish(Reserved, job, start_s, self._scheduler)
        for attempt, is_behind in zip(attempts, behind.tolist(), strict=True):
            if is_behind:
                reason = _REASONS[backfilling]
                if backfilling == "easy" and now + estimate_s[attempt.slot] > held[waiting[0]]:
                    reason = "extra cores"
                self._env.publish(Backfilled, attempt, ahead, reason)
