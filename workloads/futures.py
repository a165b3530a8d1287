"""Futures: how long jobs may run, and which may come, drawn from what the users of a log did before an instant.

A runtime is drawn as a part of the limit, from jobs that had ended: of the same user with the same limit and cores, or
with the same limit, or of the same user, or of any user with a limit of this order of size; the fewer there are, the
likelier is the next group. What comes is drawn as in `workloads.resampling`: of each user, what one of the last weeks
had from this hour of the week on.

References
----------
D. Tsafrir, Y. Etsion, D. Feitelson, "Backfilling using system-generated predictions rather than user runtime
estimates", 2007: what a user's last jobs did says most about the next. The chain of groups, each left with a
probability that falls with its size, is that of hierarchical Dirichlet processes.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import Floats, Ints
from simmodels.units import WEEK
from simmodels.workload import Workload

_LAST: Final = 200
"""Of each group of a user the last jobs that ended; habits change."""
_LAST_OF_ALL: Final = 3_000
"""The same of all users."""
_DOUBT: Final = 10.0
"""A group of this many jobs is left for the next one with a probability of one half."""
_ALIKE: Final = 0.9
"""The probability that a job goes as the others of its user do in a future: what users run together is alike."""
_WEEKS: Final = 8
"""Which weeks are drawn from: the last ones."""


class Past:
    """What was known at an instant: jobs that had ended, and jobs that had come.

    Parameters
    ----------
    log
        The jobs, in order of submission; what it says of later instants is not used.
    end_s
        float64[n], when each ended; NaN if never.
    at_s
        The instant, in seconds.

    Attributes
    ----------
    weeks
        How many whole weeks before the instant arrivals are drawn from.

    Notes
    -----
    Jobs that still run say nothing of runtimes but their own: where many of a user's jobs began together, those that
    ended first count as all.

    Raises
    ------
    RequestError
        There is no end for each job, or the log is not in order of submission.
    """

    def __init__(self, log: Workload, end_s: Floats, at_s: float) -> None:
        if len(end_s) != len(log):
            raise RequestError(must_be("end_s", f"{len(log)} instants, one per job", len(end_s)))
        if (np.diff(log.submit_s) < 0).any():
            raise RequestError(f"jobs of {log.name!r} are not in order of submission", "sort them first")
        self.log = log
        self.at_s = at_s
        ended = np.flatnonzero((end_s <= at_s) & log.known())
        self._ended: Ints = ended[np.argsort(end_s[ended], kind="stable")]
        self._part = np.maximum(log.runtime_s, 1.0) / np.maximum(log.estimate_s, 1.0)
        self._class = np.floor(np.log2(np.maximum(log.estimate_s, 1.0))).astype(np.int64)
        self._users = log.user_id[self._ended]
        self._drawn: dict[tuple[float, ...], tuple[Ints, ...]] = {}
        self._whole: dict[tuple[float, ...], tuple[Floats, Floats]] = {}  # runtimes of jobs that have not begun

        # Of these whole weeks before the instant, arrivals are drawn.
        weeks = min(_WEEKS, int((at_s - log.submit_s[0]) // WEEK)) if len(log) else 0
        first, last = np.searchsorted(log.submit_s, (at_s - weeks * WEEK, at_s))
        self.weeks = weeks
        self._came = np.arange(first, last)[log.known()[first:last]]
        self._week = np.ceil((at_s - log.submit_s[self._came]) / WEEK).astype(np.int64)  # 1: the last one
        self._comers, self._comer = np.unique(log.user_id[self._came], return_inverse=True)
        self._has_ended = end_s <= at_s

    def _groups(self, user: int, estimate_s: float, cores: int) -> tuple[Ints, ...]:
        """Return the rows of the groups that a job is in, the narrowest first."""
        key = (user, estimate_s, cores)
        if key not in self._drawn:
            log, ended = self.log, self._ended
            mine = ended[self._users == user]
            same_limit = mine[log.estimate_s[mine] == estimate_s]
            narrowest = same_limit[log.cores[same_limit] == cores]
            size = int(np.floor(np.log2(max(estimate_s, 1.0))))
            alike = ended[self._class[ended] == size]
            groups = (narrowest[-_LAST:], same_limit[-_LAST:], mine[-_LAST:], alike[-_LAST_OF_ALL:])
            self._drawn[key] = (*groups, ended[-_LAST_OF_ALL:])
        return self._drawn[key]

    def _runtimes_of(self, user: int, estimate_s: float, cores: int, ran_s: float) -> tuple[Floats, Floats]:
        """Return the runtimes that a job may have, increasing, and the probability of at most each."""
        key = (user, estimate_s, cores)
        if not ran_s and key in self._whole:
            return self._whole[key]
        values, weights, left = [], [], 1.0
        groups = self._groups(user, estimate_s, cores)
        for number, rows in enumerate(groups):
            runtime_s = self._part[rows] * max(estimate_s, 1.0)
            runtime_s = runtime_s[runtime_s > ran_s]
            if not len(runtime_s):
                continue
            stays = 1.0 if number == len(groups) - 1 else len(runtime_s) / (len(runtime_s) + _DOUBT)
            values.append(runtime_s)
            weights.append(np.full(len(runtime_s), left * stays / len(runtime_s)))
            left *= 1.0 - stays
        if not values:  # nobody knows better than the limit, or than that it ends just now
            return np.array([max(estimate_s, ran_s)]), np.ones(1)
        value_s, weight = np.concatenate(values), np.concatenate(weights)
        order = np.argsort(value_s, kind="stable")
        below = np.cumsum(weight[order])
        found = value_s[order], below / below[-1]
        if not ran_s:
            self._whole[key] = found
        return found

    def runtimes_s(self, jobs: Workload, ran_s: Floats, *, futures: int, draws: np.random.Generator) -> Floats:
        """Return float64[futures, jobs], the runtimes of jobs in as many futures.

        Parameters
        ----------
        jobs, ran_s
            The jobs, and for how long each has run: its runtime is longer.
        futures
            How many.
        draws
            Where chance is from.
        """
        users, user = np.unique(jobs.user_id, return_inverse=True)
        shared, own = draws.random((futures, len(users))), draws.random((futures, len(jobs)))
        level = np.where(draws.random((futures, len(jobs))) < _ALIKE, shared[:, user], own)
        found = np.empty((futures, len(jobs)))
        for k in range(len(jobs)):
            each = int(jobs.user_id[k]), float(jobs.estimate_s[k]), int(jobs.cores[k])
            value_s, below = self._runtimes_of(*each, float(ran_s[k]))
            place = np.minimum(np.searchsorted(below, level[:, k]), len(value_s) - 1)
            found[:, k] = np.maximum(value_s[place], ran_s[k])
        return found

    def arrivals(self, jobs: Workload, runtime_s: Floats, *, draws: np.random.Generator) -> Workload:
        """Return what may come in the week from the instant on.

        Parameters
        ----------
        jobs, runtime_s
            The jobs that wait or run at the instant, and their runtimes in this future: the past does not know them.
        draws
            Where chance is from.

        Returns
        -------
        Workload
            Jobs in order of submission, numbered after those of the log; none if the log is shorter than a week.
        """
        log = self.log
        chosen = draws.integers(1, self.weeks + 1, len(self._comers)) if self.weeks else np.empty(0, np.int64)
        taken = np.flatnonzero(chosen[self._comer] == self._week) if self.weeks else np.empty(0, np.int64)
        rows, week = self._came[taken], self._week[taken]
        submit_s = np.maximum(log.submit_s[rows] + week * WEEK, self.at_s)  # the sum may be rounded below it
        order = np.argsort(submit_s, kind="stable")
        rows, submit_s = rows[order], submit_s[order]
        runs_s = log.runtime_s[rows].copy()
        open_ = np.flatnonzero(~self._has_ended[rows])
        place = {job: k for k, job in enumerate(jobs.job_id.tolist())}
        for k in open_:
            here = place.get(int(log.job_id[rows[k]]))
            runs_s[k] = log.estimate_s[rows[k]] if here is None else runtime_s[here]
        number = int(log.job_id.max(initial=0)) + 2 + np.arange(len(rows))
        return replace(log.take(rows), job_id=number, submit_s=submit_s, runtime_s=runs_s)
