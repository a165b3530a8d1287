"""Auctioneer: one queue of tasks in front of many clusters; it wakes once per instant and holds an auction."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from simpy.events import Event

from simmodels.decisions import trading
from simmodels.decisions.auction_options import (
    AuctionOptions,
    Backfilling,
    End,
    HeadOfLine,
    Instants,
    Kinds,
    Known,
    Network,
    SuccessorSum,
    open_market,
    raise_refused_bid,
)
from simmodels.decisions.bid import Bid
from simmodels.decisions.outcomes import judged, schedule_of
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import LAST, Environment
from simmodels.entities.events import Priced, Submitted
from simmodels.entities.job import TaskRun
from simmodels.entities.machine import Machine
from simmodels.entities.router import Judged, Router
from simmodels.errors import RequestError
from simmodels.place import Terms
from simmodels.schedule import Schedule
from simmodels.workflow import Workflow
from simmodels.workload import Workload


class Auctioneer(Router):
    """A central router that auctions cores among the tasks of workflows.

    It is a process: at the end of each instant at which a job arrived, a task ended, data arrived or a deadline was
    reached, it holds the auction (`simmodels.decisions.bidding`), and starts what it answers. Extend it by
    overriding `submit`, `start` or `ended`.

    Parameters
    ----------
    env, clusters
        The environment, and the clusters; those of no kind take any task.
    bid
        What tasks offer: a name of the registry (`simmodels.bids`), or a bid of yours (`simmodels.bid`).
    ccr
        How long data travel, as a share of the runtime of the task that sends them; rounded up to whole ticks.
    network
        Where data must travel: ``"cluster"`` (to any other cluster), ``"kind"`` (only between kinds that no cluster
        offers both; a task waits until all are there), ``"none"``.
    hol
        Whom a bidder that does not fit keeps from starting: those of its ``"kind"`` (kinds that no cluster is of count
        as one, and tasks of no kind as another), or all (``"global"``).
    successor_sum
        Whether work that can be reached in many ways counts for each (``"recursive"``) or once (``"unique"``).
    plus_one
        Whether projected SLRs look one tick ahead also in bids other than P-SLR.
    tick_s
        The unit of the auction's times, in seconds: data and deadlines come at whole ticks.
    backfilling
        Whether those behind a bidder that does not fit may start: ``"none"``, ``"greedy"`` (all that fit), ``"easy"``
        (those that do not delay the first that did not fit).
    admission
        Reject a job at its arrival if it may hope for less than this share of its value, behind all the work that
        was promised before; None rejects none.
    prices
        Whether each task that starts pays the best other bid at that moment (second price); recorded.
    budgets
        Whether a job can bid no more than is left of its most value once its tasks have paid.
    end
        When the auctions end: ``"drain"`` (when every job is done), ``"submit"`` (with the last submission of what
        was made known by `accept`).
    instants
        Whether an auction is held at each job's deadline (``"deadlines"``), or only if it starves (``"starvation"``).

    Raises
    ------
    RequestError, UnknownNameError
        An option is not what is allowed.

    References
    ----------
    Burkimsher, Soares Indrusiak 2016, "Bidding policies for market-based HPC workflow scheduling", arXiv 1601.07047.
    """

    takes_jobs = False  # but workflows, and their tasks go to clusters
    _priority = LAST

    def __init__(
        self,
        env: Environment,
        clusters: Sequence[Cluster],
        *,
        bid: str | Bid = "PVR",
        ccr: float = 0.2,
        network: Network = "cluster",
        hol: HeadOfLine = "kind",
        successor_sum: SuccessorSum = "recursive",
        plus_one: bool = False,
        tick_s: float = 1.0,
        backfilling: Backfilling = "none",
        admission: float | None = None,
        prices: bool = False,
        budgets: bool = False,
        end: End = "drain",
        instants: Instants = "deadlines",
    ) -> None:
        self.env = env
        self.clusters = tuple(clusters)
        self.options = AuctionOptions.checked(
            bid=bid,
            ccr=ccr,
            network=network,
            hol=hol,
            successor_sum=successor_sum,
            plus_one=plus_one,
            tick_s=tick_s,
            backfilling=backfilling,
            admission=admission,
            prices=prices,
            budgets=budgets,
            end=end,
            instants=instants,
        )
        self._serve(*self.clusters)
        self._kinds = Kinds([(cluster.cores, cluster.kind) for cluster in self.clusters])
        self._market = open_market(self.options, self._kinds, seed=self._seed())
        self.workflows: list[Workflow] = []  # all that are known, in the order in which they became known
        self._critical_path_s: list[np.ndarray] = []
        self._first_task = [0]
        self._number: dict[int, int] = {}  # by id
        self._to_come = 0  # how many are known and not submitted
        self._arrived: list[int] = []  # since the last auction
        self._ended: list[Attempt] = []
        self._powered = [0] * len(self.clusters)
        self._place = {cluster: place for place, cluster in enumerate(self.clusters)}
        self._alarm = np.inf  # the instant of the earliest timer that is set
        for i, cluster in enumerate(self.clusters):
            if cluster.free_cores != cluster.cores:
                trading.add_free(self._market, i, cluster.free_cores - cluster.cores)
        self._join()

    def _seed(self) -> int:
        """Return the seed of what the bid draws."""
        if "draw" not in self.options.bid.needs:
            return self.env.seed
        return self.env.seed_of("bid", *(cluster.name for cluster in self.clusters))

    # -- what happens to it -------------------------------------------------------------------------

    def accept(self, workflows: Sequence[Workflow] | Workload) -> None:
        """Take note of workflows that are to be submitted; ties of bids fall in this order.

        Raises
        ------
        ImpossibleJobError
            A task can never run on the clusters.
        RequestError
            One of them is known already.
        """
        if isinstance(workflows, Workload):
            if workflows.tasks is None or (workflows.tasks.workflow < 0).any():
                raise RequestError(f"an Auctioneer got rigid jobs ({workflows.name!r})", "it takes workflows")
            workflows = workflows.tasks.workflows
        for workflow in workflows:
            if id(workflow) in self._number:
                what = f"job {workflow.job_id} is to be submitted twice"
                raise RequestError(what, "a copy is allowed (dataclasses.replace)")
        known = Known(workflows, self.options, self._kinds)
        known.into(self._market)
        self._critical_path_s.append(known.critical_path_s)
        self._first_task.extend((known.first_task[1:] + self._first_task[-1]).tolist())
        for workflow in workflows:
            self._number[id(workflow)] = len(self.workflows)
            self.workflows.append(workflow)
        self._to_come += len(workflows)

    def submit(self, workflow: Workflow) -> None:  # type: ignore[override]  # as it says
        """Take a job that is submitted now (its `submit_s`); its first tasks bid at the end of this instant.

        Raises
        ------
        ImpossibleJobError
            A task can never run on the clusters.
        RequestError
            It is not now that it is to be submitted.
        """
        if not isinstance(workflow, Workflow):
            what = f"an Auctioneer got {type(workflow).__name__} {getattr(workflow, 'job_id', '')}".rstrip()
            raise RequestError(what, "it takes workflows")
        if workflow.submit_s != self.env.now:
            what = f"job {workflow.job_id} of {workflow.submit_s:g} s is submitted at {self.env.now:g} s"
            raise RequestError(what, "it is submitted at its submit_s")
        if id(workflow) not in self._number:
            self.accept([workflow])
        self.env.publish(Submitted, workflow, self)
        self._arrived.append(self._number[id(workflow)])
        self._to_come -= 1
        self._ring()

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that a task has ended; one that was lost waits again, whatever `ended` does."""
        self._ended.append(attempt)
        self._ring()

    def wait_again(self, _: Attempt) -> None:
        """Let a lost task wait again: it does."""

    def note_power(self, machine: Machine, more: int) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""
        self._powered[self._place[machine.cluster]] += more
        self._ring()

    # -- the process ----------------------------------------------------------------------------------

    def _wake(self, _: Event) -> None:
        """Ring, if it is the timer that was set last."""
        if self.env.now == self._alarm:
            self._alarm = np.inf
            if trading.next_wake(self._market) <= self.env.now:
                self._ring()
            else:
                self._set_alarm()

    def _set_alarm(self) -> None:
        """Have a timer set for the next instant at which data arrive or a deadline is reached."""
        alarm = trading.next_wake(self._market)
        if alarm < self._alarm:
            self._alarm = alarm
            self.env.at(max(alarm, self.env.now)).callbacks.append(self._wake)

    def _instant(self) -> None:
        """Hold the auction after all events of the instant."""
        now, market = float(self.env.now), self._market
        for i, cores in enumerate(self._powered):
            if cores:
                trading.add_free(market, i, cores)
                self._powered[i] = 0
        ended = []
        for attempt in self._ended:
            if attempt.outcome is Outcome.LOST:
                trading.lose(market, attempt.slot, now)
            else:
                ended.append(attempt.slot)
        arrived = np.array(self._arrived, np.int64)
        self._ended, self._arrived = [], []
        started = trading.instant(market, now, np.array(ended, np.int64), arrived).copy()
        self._may_refuse()
        for number, cluster in zip(started.tolist(), trading.met(market, started).tolist(), strict=True):
            job = bisect_right(self._first_task, number) - 1
            self._start(number, job, self.clusters[cluster])
        self._set_alarm()
        self.closed = self.options.end == "submit" and not self._to_come

    def _may_refuse(self) -> None:
        number, now = trading.refused_task(self._market)
        if number >= 0:
            job = bisect_right(self._first_task, number) - 1
            workflow = self.workflows[job]
            raise_refused_bid(self.options.bid, workflow.job_id, workflow.label(number - self._first_task[job]), now)

    def _start(self, number: int, job: int, cluster: Cluster) -> None:
        workflow = self.workflows[job]
        task = number - self._first_task[job]
        runtime_s, cores = float(workflow.runtime_s[task]), int(workflow.cores[task])
        run = TaskRun(workflow.job_id, workflow.submit_s, runtime_s, runtime_s, cores, -1, workflow, task)
        attempt = self.start(run, cluster)
        attempt.decider = self
        attempt.slot = number
        if self.options.prices and self.env.has_observer(Priced):
            self.env.publish(Priced, attempt, float(trading.found(self._market)[3][number]))

    def start(self, run: TaskRun, cluster: Cluster) -> Attempt:
        """Start a task on the cluster that it met; if overridden, with as many cores as it bid for."""
        return cluster.start(run, then=self.ended)

    # -- what came of it ------------------------------------------------------------------------------

    def about(self) -> dict[str, object]:
        """Return the rules by name, as a schedule keeps them."""
        return self.options.about()

    def terms(self) -> Terms:
        """Return what a schedule of this auction is proved by."""
        return self.options.terms(modelled=not all(cluster.runs_as_logged for cluster in self.clusters))

    def _paths_s(self) -> np.ndarray:
        """Return float64[workflows], the critical path of each workflow that is known, in seconds."""
        return np.concatenate([np.empty(0), *self._critical_path_s])

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow that is known."""
        paths_s = self._paths_s()
        price = trading.found(self._market)[3] if self.options.prices else None
        first = self._first_task
        for number, outcome in enumerate(judged(self._market).tolist()):
            paid = None if price is None else price[first[number] : first[number + 1]]
            yield Judged(self.workflows[number], outcome, float(paths_s[number]), paid)

    def schedule(self) -> Schedule:
        """Return the schedule so far, of all that is known; a workflow that is not done is unfinished.

        It has each task's last attempt; a `Recorder` keeps them all.
        """
        terms = self.terms()
        about: dict[str, object] = {"engine": "simpy", "seed": self.env.seed}
        if terms.modelled:
            about["runtimes"] = "modelled"
        places = [cluster.place for cluster in self.clusters]
        path_s = self._paths_s()
        work = Workload.of_workflows(self.workflows)
        return schedule_of(self._market, work, places, path_s, self.options, about, modelled=terms.modelled)
