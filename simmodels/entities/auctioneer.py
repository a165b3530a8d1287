"""Auctioneer: one queue of tasks in front of many clusters, or schedulers; once per instant it holds an auction."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from simmodels.clusters.checkpoints import checkpoint_numbers
from simmodels.clusters.cluster_spec import Terms
from simmodels.entities.alarm import Alarm
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.auction_jobs import AuctionJobs
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster
from simmodels.entities.decider import Hears, Judged
from simmodels.entities.environment import LAST, ROUTE, Environment
from simmodels.entities.events import Priced, Submitted, WorkflowDone
from simmodels.entities.forwarding import Forwarding, require_forwarding, schedulers_of
from simmodels.entities.machine import Machine
from simmodels.entities.router import Router
from simmodels.errors import RequestError
from simmodels.ground.arguments import as_instance, as_tuple
from simmodels.ground.durations import Duration
from simmodels.passes import auction_events
from simmodels.policies.auction_options import AuctionOptions, Kinds, open_auction, rules_of
from simmodels.policies.options import takes_options
from simmodels.policies.priority import Priority
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Workload

if TYPE_CHECKING:
    from simmodels.policies.option_types import AuctioneerOptions


@takes_options(AuctionOptions)
class Auctioneer(Router):
    """A central router that auctions cores among jobs and the tasks of workflows.

    In front of clusters a task goes only where it starts now. In front of schedulers with ``forward=True`` it goes to
    the queue with the best offer, and is scheduled there; without, only where nothing waits and its cores are free.
    A rigid job bids as a workflow of one task whose runtime is its estimate (at least a tick).

    It is a process: at the end of each instant at which a job arrived, a task ended, data arrived or a deadline was
    reached, it holds the auction (`simmodels.passes.bidding`), and starts what it answers. Extend it by
    overriding `submit` or, in front of clusters, `start` or `ended`.

    Parameters
    ----------
    env, clusters
        The environment, and the clusters, or schedulers instead; those of no kind take any task.
    forward
        Whether tasks may wait in the queues of schedulers. The highest bidder chooses first: the place where it is
        predicted to start first, of several the first; or, if the bid names ``start``, ``queue`` or ``speed``, where
        its bid is best. Only places that have its data are considered.
    rebalance_s
        How often tasks that have been forwarded and have not started move to a place with a better offer, in seconds;
        None for never.
    rules
        As in `simmodels.policies.auction_options.AuctionOptions`.

    Raises
    ------
    RequestError, UnknownNameError
        An option is out of range.

    Notes
    -----
    Workflows that are submitted into a router before it come as bare tasks: `Dependencies` send each when its data have
    come, by the `ccr`, `network` and `tick_s` of the auctions behind, and it bids as a rigid job does.

    A task that loses its machine waits again where it was sent. If its job starves before it starts, it leaves the
    queue.

    References
    ----------
    Burkimsher, Soares Indrusiak 2016, "Bidding policies for market-based HPC workflow scheduling", arXiv 1601.07047.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> auctioneer = sm.Auctioneer(env, [sm.Cluster(env, "ours", cores=4)], bid="SRTF")
    >>> job = sm.Workflow(1, 0.0, [10, 20], cores=2, edges=[(0, 1)])
    >>> source = sm.Source(env, job, into=auctioneer)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().start_s.tolist()
    [0.0, 10.0]
    """

    takes_workflows = True

    def __init__(
        self,
        env: Environment,
        clusters: Sequence[Cluster] | Sequence[Scheduler],
        *,
        forward: bool = False,
        rebalance_s: Duration | None = None,
        **rules: "Unpack[AuctioneerOptions]",
    ) -> None:
        self.env = as_instance("env", env, Environment)
        given: Any = as_tuple("clusters", clusters, "a list of clusters, or of schedulers")
        places = self.into = schedulers_of(given)
        self.clusters = tuple(each.cluster if isinstance(each, Scheduler) else each for each in given)
        self.forward = forward
        self._priority = ROUTE if self.into else LAST
        self.options = AuctionOptions.checked(**rules, forward=forward)
        self.rebalance_s = require_forwarding(places, forward=forward, rebalance_s=rebalance_s)
        if not places:
            self._serve(*self.clusters)
        for each in places:
            each.add_router(self)
        sizes = [each.widest for each in places] or [cluster.cores for cluster in self.clusters]
        self._kinds = Kinds([(size, each.kind) for size, each in zip(sizes, self.clusters, strict=True)])
        self._draw_seed: int | None = None  # made when a bid first asks for it
        speeds, seed = [cluster.speed for cluster in self.clusters], self._seed(self.options.bid)
        self._state = open_auction(self.options, self._kinds, speeds=speeds, seed=seed)
        self.note_lengths()
        self._jobs = AuctionJobs(self._state, self._kinds)
        self._events = np.empty((2, 64), np.int64)  # what ended and what came, then what starts and where
        self.changes = 0
        self._to_come = 0  # how many are known and not submitted
        self._arrived: list[int] = []  # since the last auction
        self._ended: list[int] = []
        self._lost: list[int] = []
        self._powered = [0] * len(self.clusters)
        self._place: dict[object, int] = {cluster: place for place, cluster in enumerate(self.clusters)}
        self._due = Alarm(env, self._note_due)  # when data arrive, or a deadline is reached
        self._moves_s = np.inf  # when tasks move next
        self._starve = False  # whether a deadline has been reached
        self._came_back = False  # whether a task lost its machine, and waits again where it was sent
        self._forwarding = Forwarding(self, places, self._state) if places else None
        for i, cluster in enumerate(self.clusters):
            if not places and cluster.free_cores != cluster.cores:
                auction_events.add_free(self._state, i, cluster.free_cores - cluster.cores)
        self._observers_of_done, self._observers_of_prices = env.observers_of(WorkflowDone), env.observers_of(Priced)
        self._join()

    def _seed(self, bid: Priority) -> int:
        """Return the seed of what a bid draws."""
        if self._draw_seed is None and "draw" in bid.needs:
            self._draw_seed = self.env.seed_of("bid", *(cluster.name for cluster in self.clusters))
        return self.env.seed if self._draw_seed is None else self._draw_seed

    # -- what happens to it -------------------------------------------------------------------------

    @property
    def workflows(self) -> list[Workflow]:
        """Return the workflows that are known, in the order in which they became known."""
        return self._jobs.workflows

    @cached_property
    def widest(self) -> int:  # kept, for it is asked for each job
        """The most cores that a rigid job may need, wherever it goes."""
        return max(self._kinds.largest.values())

    def accept(self, workflows: Sequence[Workflow] | Workload) -> None:
        """Take note of workflows that are to be submitted; ties of bids fall in this order. And of rigid jobs.

        Raises
        ------
        ImpossibleJobError
            A task can never run on the clusters.
        RequestError
            One of them is known already, or data travel differently elsewhere in the environment.
        """
        if isinstance(workflows, Workload):
            if (rigid := workflows.rigid()).any():  # they become known when they are submitted
                self._require_drain()
                workflows.take(rigid).require_runnable(self.widest)
            workflows = workflows.workflows
        if workflows:
            self._own_transfers()
        self._jobs.know(workflows, self.options)
        self._to_come += len(workflows)

    def submit(self, workflow: Job | Workflow) -> None:
        """Take a workflow that is submitted now (its `submit_s`), or a job; it bids at the end of this instant.

        Raises
        ------
        ImpossibleJobError
            A task can never run on the clusters.
        RequestError
            It is not now that it is to be submitted.
        """
        if not isinstance(workflow, Workflow):
            super().submit(workflow)
            return
        if workflow.submit_s != self.env.now:
            what = f"job {workflow.job_id} of {workflow.submit_s:g} s is submitted at {self.env.now:g} s"
            raise RequestError(what, "submit it at its submit_s")
        if workflow not in self._jobs:
            self.accept([workflow])
        self.env.publish(Submitted, workflow, self)
        self._arrived.append(self._jobs.number_of(workflow))
        self._to_come -= 1
        self._ring()

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted already, to another router."""
        self._require_drain()
        self._arrived.append(self._jobs.know_rigid(job, self.options, self.widest))
        self._ring()

    @takes_options(AuctionOptions, changed=True)
    def reconfigure(self, **options: object) -> None:
        """Change rules by name, from the next auction on; for an auction at this instant, call `wake` too.

        Parameters
        ----------
        options
            ``bid``, ``backfilling``, ``cluster_fit``, ``blocking``, ``plus_one``, ``admission``; others stay. All tasks
            that wait for an auction bid again; those in the queues of schedulers stay there until they move
            (``rebalance_s``).

        Raises
        ------
        UnknownNameError
            No such rule, or one that cannot be changed, or no such bid or treatment.
        RequestError
            A number is out of its range, or rules do not go together.
        """
        changed = self.options.with_changes(options)
        if not options:
            return
        self.options = changed
        self.changes += 1
        rules = rules_of(changed, self._kinds, seed=self._seed(changed.bid))
        auction_events.change_rules(self._state, rules, float(self.env.now))

    def add_router(self, router: Hears) -> None:
        """Take jobs from a router; raise `RequestError` if the auctions end with the last submission."""
        self._require_drain("jobs that a router sends into")
        super().add_router(router)

    def _require_drain(self, jobs: str = "rigid jobs in") -> None:
        """Refuse rigid jobs if auctions end with the last submission: how many are to come is not known."""
        if self.options.end == "submit":
            raise RequestError(f"{jobs} an auction with end='submit'", "use end='drain'")

    def predict_start(self, job: Job) -> float:
        """Return when a job would start, wherever that is earliest; refuse clusters, which predict nothing."""
        self.require_predictions()
        return super().predict_start(job)

    def require_predictions(self) -> None:
        """Refuse to stand where starts are to be predicted, if it stands in front of clusters."""
        if not self.into:
            raise RequestError("an Auctioneer of clusters predicts no start", "put schedulers behind it")

    @property
    def waiting(self) -> list[Job]:
        """Return the tasks, and rigid jobs, that wait for an auction."""
        numbers = [number for group in self._waiting_by_group() for number in group]
        arrived = [first for job in self._arrived for first in self._jobs.first_tasks(job)]  # they bid at this instant
        return [self._jobs.run_of(number) for number in sorted([*numbers, *arrived])]

    def _waiting_by_group(self) -> list[list[int]]:
        """Return the numbers of the tasks that wait for an auction; those of a group hold each other back."""
        groups = 1 if self.options.blocking == "all" else len(self._kinds.names) + 2
        heap, waiting = self._state.heap, self._state.waiting
        return [sorted(heap[group, : waiting[group]].tolist()) for group in range(groups)]

    def stuck(self, most: Mapping[Cluster, int]) -> Sequence[Job]:
        """Return the tasks that wait here and never start: too wide ones, and all that these hold back for good."""
        room = np.array([most[cluster] for cluster in self.clusters])
        if not self.forward:  # a task goes only where nothing waits
            room[[place for place, each in enumerate(self.into) if each.stuck(most)]] = 0
        state, now, held = self._state, float(self.env.now), list[int]()
        for tasks in self._waiting_by_group():
            cores = state.cores[np.array(tasks, np.int64)].tolist()
            needs = dict(zip(tasks, cores, strict=True))
            wide = [
                task for task in tasks if needs[task] > max(room[auction_events.takes(state, task, now)], default=0)
            ]
            if wide and self._ranks_for_good:
                bids = [(auction_events.offer(state, task, now, math.nan, 0.0, 1.0), task) for task in tasks]
                if min(bids)[1] in wide:
                    wide = tasks
            held += wide
        return [self._jobs.run_of(task) for task in held]

    @property
    def _ranks_for_good(self) -> bool:
        """Whether what bids best goes on to hold others back, if no deadline is to come: no bid changes then."""
        return self.options.backfilling == "none" and not self.options.bid.moves_without_deadlines

    @property
    def is_idle(self) -> bool:
        """Whether each job that is known is finished, starved or rejected, and no task runs."""
        return self._jobs.are_done and not any(cluster.running for cluster in self.clusters)

    @property
    def will_act(self) -> bool:
        """Whether data arrive, or a deadline is reached, at an instant to come."""
        return not self.closed and self._due.due_s < np.inf

    def may_move(self, most: Mapping[Cluster, int]) -> bool:
        """Whether tasks move at an instant to come, and one of them may go where it can start."""
        if self._forwarding is None or self.closed or self._moves_s == np.inf:
            return False
        return self._forwarding.may_move(most, float(self.env.now))

    def note_room(self) -> None:
        """Take note that, somewhere behind, jobs may find cores that they did not before."""
        self.note_decision()
        super(Router, self).note_room()  # it knows which of its tasks are ready

    def note_decision(self) -> None:
        """Take note that a scheduler behind has decided: it may have cores for a task that waits for an auction."""
        if not self.closed and auction_events.any_waits(self._state):
            self._ring()

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that a task has ended; one that was lost waits again, whatever `ended` does."""
        if self._forwarding is not None:
            number = self._forwarding.ended(attempt)
            if number is not None:
                self._ended.append(number)
            elif attempt.outcome is Outcome.LOST:
                self._starve = self._came_back = True  # its job may have starved while it ran
        elif attempt.outcome is Outcome.LOST:
            self._lost.append(attempt.slot)
        else:
            self._ended.append(attempt.slot)
        self._ring()

    def wait_again(self, _: Attempt) -> None:
        """Let a lost task wait again: it does."""

    def note_power(self, machine: Machine, more: int) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""
        self._powered[self._place[machine.cluster]] += more
        self._ring()

    def note_lengths(self) -> None:
        """Take note of how checkpoints are written: what waits takes as long."""
        for place, cluster in enumerate(self.clusters):
            self._state.interval[place], self._state.cost[place], _ = checkpoint_numbers(cluster.checkpoints)

    # -- the process ----------------------------------------------------------------------------------

    def _note_due(self) -> None:
        """Take note that data arrive, or a deadline is reached."""
        self._starve = True
        self._ring()

    def _instant(self) -> None:
        """Hold the auction after all events of the instant."""
        now, state = float(self.env.now), self._state
        if any(self._powered):
            for place, cores in enumerate(self._powered):
                auction_events.add_free(state, place, cores)
            self._powered = [0] * len(self.clusters)
        for number in self._lost:
            left = self.clusters[0].left_of(self._jobs.run_of(number), state.runtime[number])  # on whichever it ran
            auction_events.lose(state, number, float(left.work_s), float(left.restart_s), now)
        if self._forwarding is not None:
            self._forwarding.count_free(self._ended)
        undone = self._jobs.may_be_done(self._ended, self._arrived, now) if self._observers_of_done else ()
        tasks, places, alarm = self._step(now)
        runs = [(number, self._jobs.run_of(number)) for number in tasks]
        if self._forwarding is not None:
            self._forward(self._forwarding, runs, now)
            alarm = auction_events.next_wake(state)
        else:
            for (number, run), place in zip(runs, places, strict=True):
                self._start(number, run, self.clusters[place])
        self._due.set(alarm)
        self.closed = self.options.end == "submit" and not self._to_come
        for workflow, outcome in self._jobs.done(undone):  # last: an observer may submit another, or change the rules
            self.env.publish(WorkflowDone, workflow, outcome, self)

    def _step(self, now: float) -> tuple[list[int], list[int], float]:
        """Let tasks end and jobs arrive; return the tasks that start, where, and when data arrive or a deadline is."""
        ends, arrivals = len(self._ended), len(self._arrived)
        if ends + arrivals > self._events.shape[1]:
            self._events = np.empty((2, 2 * (ends + arrivals)), np.int64)
        self._events[0, : ends + arrivals] = self._ended + self._arrived
        self._lost, self._ended, self._arrived = [], [], []
        starts, alarm, refused = auction_events.step(self._jobs.address, now, self._events, ends, arrivals)
        if refused >= 0:
            self._jobs.refuse(self.options)
        if starts > self._events.shape[1]:
            self._events = auction_events.started(self._state, 2 * starts)
        tasks, places = self._events[:, :starts].tolist()
        return tasks, places, alarm

    def _forward(self, forwarding: Forwarding, runs: Sequence[tuple[int, Job]], now: float) -> None:
        """Send tasks to the schedulers, after those that were sent have moved or starved."""
        if self._starve:
            forwarding.drop_starved(now)
            self._starve = False
        news = bool(runs) or self._came_back
        self._came_back = False
        if self._moves_s <= now:
            self._moves_s = np.inf
            forwarding.move(now)
            # What waits when nothing is to come will wait for good.
            news |= self.env.peek() < np.inf and bool(forwarding.waiting())
        forwarding.send(runs, now)
        if self._state.refused >= 0:
            self._jobs.refuse(self.options)
        if self.rebalance_s is not None and self._moves_s == np.inf and news:
            periods = math.floor(now / self.rebalance_s) + 1
            while (at_s := periods * self.rebalance_s) <= now:  # by rounding
                periods += 1
            self._moves_s = at_s
            self.env.at(at_s).callbacks.append(lambda _: self._ring())

    def _start(self, number: int, run: Job, cluster: Cluster) -> None:
        attempt = self.start(run, cluster)
        attempt.decider = self
        attempt.slot = number
        if self.options.prices and self._observers_of_prices:
            self.env.publish(Priced, attempt, float(self._state.price[number]))

    def start(self, run: Job, cluster: Cluster) -> Attempt:
        """Start a task, or a rigid job, on the cluster that it met; if overridden, with as many cores as it bid for."""
        return cluster.start(run, then=self.ended)

    # -- what came of it ------------------------------------------------------------------------------

    def about(self) -> dict[str, object]:
        """Return the rules by name, as a schedule keeps them."""
        sent = {"forward": self.forward, "rebalance_s": self.rebalance_s} if self.into else {}
        return {**self.options.about(), **sent, **({"changes": self.changes} if self.changes else {})}

    def terms(self) -> Terms:
        """Return what a schedule of this auction is proved by."""
        return self.options.terms()

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow that is known."""
        return self._jobs.judged(prices=self.options.prices)
