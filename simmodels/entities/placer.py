"""Placer: a scheduler that gives each job one machine of a cluster whose machines are switched on and off."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.entities.alarm import Alarm
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.capacity_process import CapacityProcess
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import ENDED, Environment
from simmodels.entities.events import Submitted
from simmodels.entities.machine import Machine
from simmodels.entities.outages import require_machines
from simmodels.errors import ImpossibleJobError, RequestError, must_be
from simmodels.ground.numbers import Floats
from simmodels.passes import placement_events
from simmodels.policies.options import takes_options
from simmodels.policies.placement_options import Heuristic, PlacementOptions, require_lengths
from simmodels.policies.queue_options import raise_refused
from simmodels.policies.rows import Rows, require_columns, row_of
from simmodels.structures.placement_state import grow, job_columns, mean_machines_used, set_known
from simmodels.work.workload import Job, Workload

_ROOM = 1024  # slots at first


class Placer(Scheduler):
    """A scheduler of jobs that run inside one machine each; the base of `FirstFit` and of the targeted ones.

    It is a process: at each instant at which something ended, was powered or submitted, or a planned start has come,
    it asks the compiled passes (`simmodels.passes.placement_events`) what starts where, and starts it.

    Parameters
    ----------
    env, cluster
        The environment, and the cluster, made of machines.
    options
        As in `simmodels.policies.placement_options.PlacementOptions`, those of the heuristic.
    """

    heuristic: ClassVar[Heuristic]

    def __init__(self, env: Environment, cluster: Cluster, **options: Any) -> None:  # noqa: ANN401  see above
        self.options = PlacementOptions.checked(heuristic=self.heuristic, **options)
        require_machines(env, cluster)
        self._require_cluster(cluster, self.options)
        self.size = cluster.machines[0].cores
        super().__init__(env, cluster)
        self._by = self.options  # which the state is made by
        self._fill_seed: int | None = None
        self._draw_seed()
        self.changes = 0
        self._state: Any = None  # made at the first instant, of the machines that are on before notice is given then
        self._seen_s = float(env.now)
        self._jobs: dict[int, Job] = {}  # by slot, those not yet done
        self._resumed: list[Job] = []
        self._lost: list[Attempt] = []
        self._starting: set[int] = set()
        self._powered = True
        self._replan = False  # since the last decision, a job was withdrawn, or takes another time
        self._planned = Alarm(env, self._ring)  # at the next planned start
        if self.options.checkpoints is not None:
            cluster.checkpoints = self.options.checkpoints
        env.call(self._begin_alone, ENDED)
        self._ring()

    @staticmethod
    def _require_cluster(cluster: Cluster, options: PlacementOptions) -> None:
        """Refuse a cluster on which jobs cannot be placed so."""
        options.require_cluster(cluster.spec, as_logged=cluster.runs_as_logged)
        if options.checkpoints is not None and cluster.checkpoints not in (Checkpoints(), options.checkpoints):
            what = f"{options.checkpoints} for cluster {cluster.name!r}, which has {cluster.checkpoints}"
            raise RequestError(what, "give one of them, or the same")

    # -- what happens to it -------------------------------------------------------------------------

    @takes_options(PlacementOptions, changed=True)
    def reconfigure(self, **options: object) -> None:
        """Change options by name; at the end of this instant, all jobs that wait are placed again.

        Parameters
        ----------
        options
            ``heuristic`` and any other but ``checkpoints``; others stay. Where targets follow targets, the machines
            used (M_use) and the longest stretch stay as they are; after first fit they begin as at first.

        Raises
        ------
        UnknownNameError
            No such option, or one that cannot be changed, or no such choice.
        RequestError
            As when it is made.
        """
        changed = self.options.with_changes(options)
        self._require_cluster(self.cluster, changed)
        changed.filled(len(self.cluster.machines), 0)  # refuses an order that is none of these machines
        for job in (*self._jobs.values(), *self._submitted) if changed.order_of_queue.columns else ():
            row_of(changed.order_of_queue.columns, job)  # refuses an order that names a number that they do not have
        if changed != self.options:
            self.options = self._by if changed == self._by else changed
            self.changes += 1
            self._draw_seed()
            self._ring()

    def _drawn(self, room: int) -> Floats:
        """Return a uniform number for each slot, if the order asks for it."""
        return self._drawn_for(room, asked=self.options.order_of_queue.draws)

    def _draw_seed(self) -> None:
        """Make the seed of the fill order when one is first drawn."""
        if self.options.shuffles and self._fill_seed is None:
            self._fill_seed = self.env.seed_of("fill order", self.cluster.name)

    def accept(self, workload: Workload) -> None:
        """Refuse a workload with a job that can never run on a machine, or without a column that the order names."""
        jobs = self.as_jobs(workload)
        require_lengths(jobs, self.size)
        require_columns(self.options.order_of_queue.columns, jobs)

    def resume(self, jobs: Sequence[Job]) -> None:
        """Let jobs that ran since their submission run on now, before anything else; those that do not fit are dropped.

        One that loses its machine runs again from its start.
        """
        for job in jobs:
            self._require(job)
            self.env.publish(Submitted, job, self)
            self._resumed.append(job)
        self._begin()

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted already, to a router."""
        if not (1 <= job.cores <= self.size and job.runtime_s > 0):  # by a router; `submit` has looked
            self._require(job)
        if self.options.order_of_queue.columns:
            row_of(self.options.order_of_queue.columns, job)  # refuses a job without a number that the order names
        super().enqueue(job)

    _by_machine = True

    @property
    def widest(self) -> int:
        """Return the most cores that a job may need here: those of a machine."""
        return self.size

    def _require(self, job: Job) -> None:
        super()._require(job)
        if not job.runtime_s > 0:
            raise ImpossibleJobError(job.job_id, must_be("runtime_s", "a number of seconds > 0", job.runtime_s))

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended."""
        if attempt.outcome is Outcome.LOST:
            self._lost.append(attempt)
            self._ring()
            return
        if not self._ended:
            self.env.call(self._completions, ENDED)
        self._ended.append(attempt)

    def note_power(self, machine: Machine, more: int) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""
        self._powered = True
        super().note_power(machine, more)

    def note_lengths(self) -> None:
        """Take note that what waits takes another time than it did: it is planned again at the end of this instant."""
        waiting = {id(job) for job in self.waiting}
        for slot, job in self._jobs.items():
            if id(job) in waiting:
                self._columns[2][slot], self._columns[3][slot] = self.cluster.lengths_s(job)
                self._replan = True
        if self._replan:
            self._ring()

    @property
    def waiting(self) -> list[Job]:
        """Return the jobs that wait, planned or not, in order of arrival."""
        others = {attempt.slot for attempt in (*self.cluster.running, *self._ended)}
        others |= {attempt.slot for attempt in self._lost if attempt not in self._again} | self._starting
        return [job for slot, job in self._jobs.items() if slot not in others] + self._submitted

    def _places(self) -> tuple[list[int], Callable[[Attempt], int]]:
        """Return the cores that are free on each machine that takes jobs, and on which of these an attempt runs."""
        machines = [machine for machine in self.cluster.machines if machine.takes_jobs]
        number = {machine: i for i, machine in enumerate(machines)}
        return [machine.free_cores for machine in machines], lambda attempt: number.get(attempt.places[0][0], -1)

    def _expected_s(self, job: Job) -> float:
        """Return how long a job runs from now on, which is known here."""
        return self.cluster.takes_s(job, job.runtime_s)

    def _ahead_of(self, job: Job) -> Sequence[Job]:
        """Return the jobs in the order in which a prediction lets them start, this one among them."""
        now, waiting = float(self.env.now), self.waiting
        line = waiting if any(each is job for each in waiting) else [*waiting, job]
        if self.options.by_submission:
            return line
        order = self.options.order_of_queue
        return sorted(line, key=lambda each: order.key(each, now, plainly=False))

    def _withdraw(self, job: Job) -> None:
        slot = next((slot for slot, each in self._jobs.items() if each is job), -1)
        if slot < 0 or not any(each is job for each in self.waiting):
            self._refuse_withdrawal(job)
        placement_events.withdraw(self._state, slot)
        self._replan = True
        del self._jobs[slot]

    @property
    def jobs_not_done(self) -> list[Job]:
        """Return the jobs that were submitted and are not done: about to enter the queue, in it, or running."""
        done = {attempt.slot for attempt in self._ended}
        done |= {attempt.slot for attempt in self._lost if attempt not in self._again}
        return [job for slot, job in self._jobs.items() if slot not in done] + self._submitted

    @property
    def is_idle(self) -> bool:
        """Whether no job runs or waits that was submitted."""
        return not self._jobs and not self._submitted

    @property
    def will_act(self) -> bool:
        """Whether a start is planned."""
        return self._state is not None and bool(placement_events.next_planned_start(self._state) < np.inf)

    # -- the process --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Make the state, and let those run on that ran before."""
        if self._state is not None:
            raise RequestError("jobs that ran before", "put them in before anything else happens")
        now = float(self.env.now)
        self._seen_s = now
        room = max(_ROOM, 2 * len(self._resumed))
        self._open((np.empty(room), np.empty(room), np.empty(room)), np.empty(room, np.int64))
        for job in self._resumed:
            self._enter(job, self._seen_s - job.submit_s)
        placement_events.begin(self._state, len(self._resumed), now)
        self._resumed.clear()
        self._start_all()
        for slot in set(self._jobs) - {attempt.slot for attempt in self.cluster.running}:
            self.cluster.forget(self._jobs.pop(slot))  # it did not fit
        self._powered = False

    def _open(self, lengths: tuple[Floats, Floats, Floats], cores: np.ndarray) -> None:
        """Make the state of the machines that take jobs, by the options, with nothing running."""
        self._by = self.options
        self._may_refuse = self.options.may_refuse  # asked at every decision, so kept
        self._rows = Rows((self.options.order_of_queue.columns, ()), len(cores))
        if self._rows.names:
            for slot, job in self._jobs.items():
                self._rows.fill(slot, job)
        self._state = self.options.open(
            lengths,
            cores,
            known=(self._drawn(len(cores)), self._rows.matrices[0]),
            size=self.size,
            is_open=[machine.takes_jobs for machine in self.cluster.machines],
            least=self._least(),
            now=float(self.env.now),
            seed=self.env.seed if self._fill_seed is None else self._fill_seed,
        )
        self._columns = job_columns(self._state)  # kept, since to ask for them takes longer than to fill in a job

    def _take_over(self, now: float) -> None:
        """Go on with other options."""
        if self._by.heuristic == "FirstFit":
            self._seen_s = now  # the use of machines is seen from here on
        old = self._state
        submit, length, _, estimate, cores = self._columns
        self._open((submit, length, estimate), cores)
        placement_events.take_over(self._state, old, now)
        self._columns = job_columns(self._state)  # some are those of the old one
        self._start_all()

    def _begin_alone(self) -> None:
        """Make the state before the machines change at the first instant, if no job that ran before had it made."""
        if self._state is None:
            self._begin()

    def _least(self) -> int:
        """Return the least number of machines that a capacity process of the cluster says there will be; else all."""
        said = [
            least
            for each in self.env.all(CapacityProcess)
            if each.cluster is self.cluster and (least := each.least_machines()) is not None
        ]
        return min(said, default=len(self.cluster.machines))

    def _enter(self, job: Job, earlier: float = 0.0) -> None:
        """Give a job the next slot."""
        slot = self._arrived
        if slot == len(self._columns[0]):
            self._columns = grow(self._state, 2 * slot)
            self._rows.grow(2 * slot)
            set_known(self._state, self._drawn(2 * slot), self._rows.matrices[0])
        if earlier > 0.0:
            self.cluster.ran_before(job, earlier)
        if self._rows.names:
            self._rows.fill(slot, job)
        submit, length, lefts, estimates, cores = self._columns
        submit[slot], length[slot], cores[slot] = job.submit_s, job.runtime_s, job.cores
        lefts[slot], estimates[slot] = self.cluster.lengths_s(job)
        self._jobs[slot] = job
        self._arrived += 1

    def _completions(self) -> None:
        """Take what has ended at this instant out, and start what takes its place at once."""
        slots = np.array([attempt.slot for attempt in self._ended], np.int64)
        for slot in slots.tolist():
            del self._jobs[slot]
        self._ended.clear()
        placement_events.complete(self._state, slots, len(slots), float(self.env.now))
        self._start_all()
        self._ring()

    def _instant(self) -> None:
        now = float(self.env.now)
        if self._powered or self._lost:
            self._change(now)
        if self._by is not self.options:
            self._take_over(now)
        if self._replan:
            placement_events.plan_again(self._state, now)
            self._start_all()
            self._replan = False
        for job in self._submitted:
            self._enter(job)
        arrivals = len(self._submitted)
        self._submitted.clear()
        placement_events.admit_arrivals(self._state, arrivals, now)
        self._start_all()
        self._planned.set(placement_events.next_planned_start(self._state))

    def _change(self, now: float) -> None:
        """Take note of which machines are open, and let those that were lost wait again, unless they went elsewhere."""
        lefts, estimates = self._columns[2:4]
        again = [attempt.slot for attempt in self._lost if attempt in self._again]
        gone = [attempt.slot for attempt in self._lost if attempt not in self._again]
        self._again.clear()
        lost = np.array(again + gone, np.int64)
        for slot in again:
            lefts[slot], estimates[slot] = self.cluster.lengths_s(self._jobs[slot])
        for slot in gone:
            del self._jobs[slot]
        is_open = np.array([machine.takes_jobs for machine in self.cluster.machines], np.bool_)
        if len(lost) or placement_events.differs(self._state, is_open):
            placement_events.change(self._state, is_open, lost, len(again), len(lost), now)
            self._start_all()
        self._lost.clear()
        self._powered = False

    def _start_all(self) -> None:
        if self._may_refuse:
            slot, now = self._state.refused, self._state.refused_at
            if slot >= 0:
                raise_refused(self._jobs[slot], now, self.options.order_of_queue, None)
        slots, machines = placement_events.started(self._state)
        self._starting = set(slots.tolist())  # they wait no more, whatever an observer of a start asks
        for slot, machine in zip(slots.tolist(), machines.tolist(), strict=True):
            attempt = self.start(self._jobs[slot], self.cluster.machines[machine])
            attempt.decider = self
            attempt.slot = slot
        self._starting = set()

    def start(self, job: Job, machine: Machine) -> Attempt:  # type: ignore[override]  # the pass says which
        """Start a job on the machine that the pass chose."""
        return self.cluster.start(job, then=self.ended, machine=machine)

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them, and the mean of the machines used."""
        kept = self.options.about()
        now = float(self.env.now)
        if self._state is not None and self.options.heuristic != "FirstFit" and now > self._seen_s:
            kept["mean_machines_used"] = float(mean_machines_used(self._state, self._seen_s, now))
        if self.changes:
            kept["changes"] = self.changes
        return kept
