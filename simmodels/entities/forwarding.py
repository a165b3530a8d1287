"""Forwarding: how an auctioneer sends tasks to the queues of schedulers, and moves those that have not started."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.events import Routed
from simmodels.errors import RequestError
from simmodels.ground.durations import Duration, as_seconds
from simmodels.passes import auction_events
from simmodels.policies.auction_options import AuctionOptions
from simmodels.structures.auction_state import ACTIVE, AuctionState
from simmodels.work.vocabulary import OF_A_PLACE
from simmodels.work.workload import Job

Offer = tuple[float, float, int]


class Sent(NamedTuple):
    """A task that was sent to a place, and is not done."""

    number: int
    run: Job
    place: int


class Asks(Protocol):
    """Who sends: what `Routed` names, and by which rules."""

    env: Environment
    options: AuctionOptions


class Forwarding:
    """The tasks of an auction that were sent to schedulers.

    Parameters
    ----------
    router
        The auctioneer.
    into
        The schedulers.
    state
        The state of the auction.

    Notes
    -----
    With ``forward=True`` tasks may wait in the queues of schedulers. Then the auction counts no cores: it hands over
    all that wait, in the order of their bids; each place that has a task's data, and is wide enough, accepts it.
    Without, each task goes only where nothing waits and its cores are free.
    """

    def __init__(self, router: Asks, into: Sequence[Scheduler], state: AuctionState) -> None:
        self.router = router
        self.into = into
        self.forward = router.options.forward
        self._state = state
        self._sent: dict[int, Sent] = {}  # by id of what was submitted

    @property
    def _by_place(self) -> bool:
        """Return whether what a task bids depends on the place."""
        return not OF_A_PLACE.isdisjoint(self.router.options.bid.needs)

    def ended(self, attempt: Attempt) -> int | None:
        """Return the number of a task that is done; None for one that waits again where it is, or is another's."""
        sent = self._sent.get(id(attempt.submitted))
        if sent is None or attempt.outcome is Outcome.LOST:
            return None
        del self._sent[id(attempt.submitted)]
        return sent.number

    def count_free(self, ended: Sequence[int]) -> None:
        """Report to the auction the cores of each place for a task that starts now; `ended` it will free itself."""
        if self.forward:
            return
        tasks, freed = np.array(ended, np.int64), np.zeros(len(self.into), np.int64)
        np.add.at(freed, self._state.cluster[tasks], self._state.cores[tasks])
        for place, (scheduler, counted) in enumerate(zip(self.into, self._state.free.tolist(), strict=True)):
            now_free = 0 if scheduler.waiting else scheduler.cluster.free_cores
            auction_events.add_free(self._state, place, int(now_free - counted - freed[place]))

    def send(self, runs: Sequence[tuple[int, Job]], now: float) -> None:
        """Send tasks that won, given in the order of their bids, each to the place that it prefers."""
        if not self.forward:
            cluster = self._state.cluster
            for number, run in runs:
                self._send(number, run, int(cluster[number]))
            return
        if self._by_place:
            self._send_by_place(dict(runs), now)
            return
        for number, run in runs:
            offers = self._offers(number, run, now)
            if offers:
                self._send(number, run, min(offers)[-1])
            else:  # its data have not arrived where it fits
                auction_events.take_back(self._state, number, now)

    def _send_by_place(self, runs: dict[int, Job], now: float) -> None:
        """Send the task with the best offer of all again and again; what is offered by the place changes by it."""
        offers = {}  # by number, then by place
        for number, run in runs.items():
            made = {offer[-1]: offer for offer in self._offers(number, run, now)}
            if made:
                offers[number] = made
            else:  # its data have not arrived where it fits
                auction_events.take_back(self._state, number, now)
        while offers:
            number = min(offers, key=lambda each: (min(offers[each].values()), each))
            place = min(offers.pop(number).values())[-1]
            self._send(number, runs[number], place)
            for other, made in offers.items():
                if place in made:
                    made[place] = self._offer(other, runs[other], place, now)

    def _offers(self, number: int, run: Job, now: float) -> list[Offer]:
        """Return what a task makes of each place that can take it."""
        takes = auction_events.takes(self._state, number, now)
        return [
            self._offer(number, run, place, now)
            for place, scheduler in enumerate(self.into)
            if takes[place] and run.cores <= scheduler.widest
        ]

    def _offer(self, number: int, run: Job, place: int, now: float) -> Offer:
        """Return what a task makes of a place: key (less wins), predicted start, and the place."""
        scheduler = self.into[place]
        start_s, key = scheduler.predict_start(run), 0.0
        if self._by_place:
            others = sum(each is not run for each in scheduler.waiting)
            key = auction_events.offer(self._state, number, now, start_s, float(others), scheduler.cluster.speed)
        return key, start_s, place

    def _send(self, number: int, run: Job, place: int) -> None:
        self._state.cluster[number] = place  # its data will be there
        self._sent[id(run)] = Sent(number, run, place)
        self.router.env.publish(Routed, run, self.router, self.into[place])
        self.into[place].enqueue(run)

    def waiting(self) -> list[Sent]:
        """Return the tasks that have been sent and have not started, in the order in which they were sent."""
        waiting = {id(job) for scheduler in self.into for job in scheduler.waiting}
        return [sent for key, sent in self._sent.items() if key in waiting]

    def may_move(self, most: Mapping[Cluster, int], now: float) -> bool:
        """Return whether a task that waits fits into another place, though clusters have that many cores at most."""
        return any(
            has_data and place != sent.place and scheduler.may_start(sent.run, most)
            for sent in self.waiting()
            for place, (scheduler, has_data) in enumerate(
                zip(self.into, auction_events.takes(self._state, sent.number, now), strict=True)
            )
        )

    def move(self, now: float) -> None:
        """Move each task that waits to a place with a better offer than where it is, if there is one."""
        for sent in self.waiting():
            offers = self._offers(sent.number, sent.run, now)
            here = next(offer for offer in offers if offer[-1] == sent.place)
            best = min(offers)
            if best[:-1] < here[:-1]:
                self.into[sent.place].withdraw(sent.run)
                self._send(sent.number, sent.run, best[-1])

    def drop_starved(self, now: float) -> None:
        """Take tasks out of the queues whose jobs have starved."""
        for sent in self.waiting():
            if self._state.state[self._state.job[sent.number]] != ACTIVE:
                self.into[sent.place].withdraw(sent.run)
                auction_events.take_back(self._state, sent.number, now)
                del self._sent[id(sent.run)]


def schedulers_of(given: Sequence[Cluster] | Sequence[Scheduler]) -> tuple[Scheduler, ...]:
    """Return the schedulers that an auctioneer stands in front of: none, if it is given clusters; refuse others."""
    for each in given:
        if not isinstance(each, Cluster | Scheduler):
            what = f"an Auctioneer in front of {type(each).__name__}"
            raise RequestError(what, "give it clusters or schedulers")
    found = tuple(each for each in given if isinstance(each, Scheduler))
    if found and len(found) < len(given):
        raise RequestError(
            "an Auctioneer in front of clusters and schedulers", "give it clusters only, or schedulers only"
        )
    return found


def require_forwarding(places: Sequence[Scheduler], *, forward: bool, rebalance_s: Duration | None) -> float | None:
    """Return how often tasks move; refuse options that do not go together with where tasks are sent."""
    if forward and not places:
        raise RequestError("forward=True in front of clusters", "give it schedulers: a cluster has no queue")
    if not forward and any(each.widest < each.cluster.cores for each in places):
        raise RequestError("forward=False in front of a placer", "use forward=True: the placer chooses the machine")
    if rebalance_s is None:
        return None
    period_s = as_seconds("rebalance_s", rebalance_s, above=0, also="None")
    if not forward:
        raise RequestError("rebalance_s without forward=True", "add forward=True, or leave rebalance_s out")
    return period_s
