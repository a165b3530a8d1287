"""AuctionJobs: the workflows and rigid jobs that an auction knows, and their tasks, by number."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np

from simmodels.entities.decider import Judged
from simmodels.entities.job import TaskRun
from simmodels.errors import RequestError
from simmodels.passes import auction_events
from simmodels.policies.auction_options import AuctionOptions, Kinds, WorkflowColumns, as_bids, raise_refused_bid
from simmodels.results.attempts import FINISHED, Done
from simmodels.results.auction_results import done_as, workflow_outcomes
from simmodels.structures.auction_state import AuctionState
from simmodels.structures.structure import address_of
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job


class AuctionJobs:
    """What an auction knows; jobs are numbered as they became known, and so are all their tasks, job after job.

    Parameters
    ----------
    state, kinds
        The state of the auction, and its platform.
    """

    def __init__(self, state: AuctionState, kinds: Kinds) -> None:
        self._state, self._kinds = state, kinds
        self.address = int(address_of(state))
        self._known: list[Workflow | Job] = []  # by number
        self._critical_path_s: list[float] = []  # by number
        self._first_task = [0]  # by number, and the end
        self._number: dict[int, int] = {}  # of each workflow, by id
        self._first_open = 0  # those before it are finished, starved or rejected

    @property
    def workflows(self) -> list[Workflow]:
        """Return the workflows, in the order in which they became known."""
        return [each for each in self._known if isinstance(each, Workflow)]

    @property
    def are_done(self) -> bool:
        """Whether each is finished, starved or rejected."""
        self._first_open = auction_events.first_open(self._state, self._first_open)
        return self._first_open == len(self._known)

    # -- what becomes known ---------------------------------------------------------------------------

    def know(self, workflows: Sequence[Workflow], options: AuctionOptions) -> None:
        """Make workflows known; refuse one that is known, or can never run."""
        for workflow in workflows:
            if workflow in self:
                raise RequestError(
                    f"job {workflow.job_id} is to be submitted twice", "submit a copy (dataclasses.replace)"
                )
        known = WorkflowColumns(workflows, options, self._kinds)
        known.into(self._state)
        self._critical_path_s += known.critical_path_s.tolist()
        self._first_task.extend((known.first_task[1:] + self._first_task[-1]).tolist())
        for workflow in workflows:
            self._number[id(workflow)] = len(self._known)
            self._known.append(workflow)

    def know_rigid(self, job: Job, options: AuctionOptions, widest: int) -> int:
        """Make a rigid job known, which has at most `widest` cores; return its number."""
        submit_s, length_s, cores = as_bids(job, options.tick_s, self._kinds, widest)
        auction_events.know_rigid(self.address, submit_s, length_s, cores, self._kinds.of_any, options.ccr)
        self._critical_path_s.append(math.nan)  # only workflows are judged
        self._first_task.append(self._first_task[-1] + 1)
        self._known.append(job)
        return len(self._known) - 1

    # -- who is meant by a number ---------------------------------------------------------------------

    def __contains__(self, workflow: Workflow) -> bool:
        """Return whether a workflow is known."""
        return id(workflow) in self._number

    def number_of(self, workflow: Workflow) -> int:
        """Return the number of a workflow that is known."""
        return self._number[id(workflow)]

    def run_of(self, task: int) -> Job:
        """Return a task as it runs; a rigid job is itself."""
        job = bisect_right(self._first_task, task) - 1
        known = self._known[job]
        return TaskRun.of(known, task - self._first_task[job]) if isinstance(known, Workflow) else known

    def first_tasks(self, job: int) -> list[int]:
        """Return the numbers of the tasks of a job that have no predecessor."""
        flow = self._known[job]
        if not isinstance(flow, Workflow):
            return [self._first_task[job]]
        first = np.flatnonzero(np.bincount(flow.successor, minlength=len(flow)) == 0)
        return (first + self._first_task[job]).tolist()

    def refuse(self, options: AuctionOptions) -> NoReturn:
        """Refuse the bid, which gave no number for a task."""
        number, now = self._state.refused, self._state.refused_at
        job = bisect_right(self._first_task, number) - 1
        of, task = self._known[job], number - self._first_task[job]
        raise_refused_bid(options.bid, of.job_id, of.label(task) if isinstance(of, Workflow) else str(task), now)

    # -- what came of it ------------------------------------------------------------------------------

    def may_be_done(self, ended: Sequence[int], arrived: Sequence[int], now: float) -> Sequence[int]:
        """Return the jobs that an instant can finish, starve or reject: those that are not done before it.

        Parameters
        ----------
        ended, arrived
            The tasks that end at it, and the jobs that arrive.
        now
            The instant, in seconds.
        """
        of_tasks = [bisect_right(self._first_task, task) - 1 for task in ended]
        due = sorted(auction_events.due_by(self._state, now).tolist())
        jobs = list(dict.fromkeys([*of_tasks, *due, *arrived]))
        return [job for job, done in zip(jobs, done_as(self._state, jobs), strict=True) if done is None]

    def done(self, jobs: Sequence[int]) -> list[tuple[Workflow, Done]]:
        """Return the workflows among some jobs that are done, and what became of each."""
        known = [self._known[job] for job in jobs]
        states = done_as(self._state, jobs) if jobs else []
        return [
            (each, outcome)
            for each, outcome in zip(known, states, strict=True)
            if outcome is not None and isinstance(each, Workflow)
        ]

    def judged(self, *, prices: bool) -> Iterable[Judged]:
        """Return what became of each workflow; `prices` is whether tasks pay."""
        price = self._state.price.copy() if prices else None
        first, finish_s = self._first_task, self._state.finish.copy()
        for number, outcome in enumerate(workflow_outcomes(self._state).tolist()):
            workflow = self._known[number]
            if not isinstance(workflow, Workflow):
                continue
            paid = None if price is None else price[first[number] : first[number + 1]]
            finished_s = float(finish_s[number]) if outcome == FINISHED else math.nan
            yield Judged(workflow, outcome, self._critical_path_s[number], paid, finished_s)
