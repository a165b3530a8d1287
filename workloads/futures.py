"""Futures: how long jobs may run, and which may come, drawn from what the users of a log did before an instant.

A runtime is drawn as a part of the limit, from the jobs that began last: of the same user with the same limit and
cores, with the same limit, of the same user, of any user with a limit of this order of size, and of all; the fewer
there are of one group, the more the next one counts. Jobs that still run count, too: their runtimes are longer than
their age. A job that has outlived its limit is drawn from those that went on for as long; often hardly any is left,
and a law without a scale counts as ten more. What comes is drawn as in `workloads.resampling`: of each user, what one
of the last weeks had from this hour of the week on.

References
----------
D. Tsafrir, Y. Etsion, D. Feitelson, "Backfilling using system-generated predictions rather than user runtime
estimates", 2007: what a user's last jobs did says most about the next.

E. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", 1958,
https://doi.org/10.1080/01621459.1958.10501452: jobs that still run are right-censored.

M. Harchol-Balter, A. Downey, "Exploiting process lifetime distributions for dynamic load balancing", 1997,
https://doi.org/10.1145/263326.263344: of processes that have run for a time t, half run for another t.

V. Susarla, J. Van Ryzin, "Nonparametric Bayesian estimation of survival curves from incomplete observations", 1976,
https://doi.org/10.1080/01621459.1976.10480966: the same, given a prior. The prior of a group is the next larger one.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import Floats, Ints
from simmodels.units import WEEK
from simmodels.work.workload import Workload

_LAST: Final = 200
"""Of each group of a user the last jobs that began; habits change."""
_LAST_OF_ALL: Final = 3_000
"""The same of all users."""
_DOUBT: Final = 10.0
"""The next larger group counts as this many jobs."""
_NONE: Final = 1e-9
"""As good as no job."""
_OUTLIVED: Final = 1.0 / (1.0 - (np.arange(64) + 0.5) / 64)
"""Equally likely multiples of the age that a job reaches which has outlived its limit."""
_ALIKE: Final = 0.9
"""The probability that a job goes as the others of its user do in a future: what users run together is alike."""
_WEEKS: Final = 8
"""Which weeks are drawn from: the last ones."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of lengths.

    Parameters
    ----------
    length, weight
        float64[values], rising, and how likely each is, > 0, up to a common factor.
    """

    length: Floats
    weight: Floats

    def given(self, seen: Floats, ended: NDArray[np.bool_], *, trust: float, counts: Floats | None = None) -> "Lengths":
        """Return the distribution that follows from this one and lengths that were seen.

        Parameters
        ----------
        seen, ended
            Lengths so far, and which of them are whole; those of others are longer (right-censored).
        trust
            As how many lengths this distribution counts, > 0. If it is tiny, what follows is the estimate of Kaplan and
            Meier (1958), and this distribution where that is open: beyond the longest seen, if that has not ended.
        counts
            float64[seen], as how many each length counts, > 0; None for one each.

        Notes
        -----
        The mean of a Dirichlet process given censored lengths (Susarla, Van Ryzin 1976): at each length, the share of
        those at risk that end there. Of equal lengths, those that ended come first. It takes O(v + s log s)
        for v values of this distribution and s lengths.
        """
        by_length = np.lexsort((seen, ~ended))
        counted = np.ones(len(seen)) if counts is None else counts[by_length]
        length = np.concatenate((self.length, seen[by_length]))
        weight = np.concatenate((self.weight * (trust / self.weight.sum()), counted))
        order = np.argsort(length, kind="stable")  # runs that rise are merged
        ends = order < len(self.length) + int(ended.sum())
        length, weight = length[order], weight[order]
        at_risk = np.cumsum(weight[::-1])[::-1]
        ends[-1] = True  # nobody knows better than that the longest ends just now
        hazard = np.where(ends, weight / at_risk, 0.0)
        reached = np.concatenate(([1.0], np.cumprod(1.0 - hazard[:-1])))
        likely = reached * hazard
        kept = likely > 0
        return Lengths(length[kept], likely[kept])

    def drawn(self, level: Floats, longer_than: float) -> Floats:
        """Return quantiles of the lengths beyond one, which is returned itself if there are none.

        Parameters
        ----------
        level
            float64[n], from 0 to 1.
        longer_than
            The length.
        """
        first = int(np.searchsorted(self.length, longer_than, side="right"))
        if first == len(self.length):
            return np.full(len(level), longer_than)
        below = np.cumsum(self.weight[first:])
        place = np.minimum(np.searchsorted(below, level * below[-1]), len(below) - 1)
        found: Floats = self.length[first:][place]
        return found


class Past:
    """What was known at an instant: jobs that had begun, jobs that had ended, and jobs that had come.

    Parameters
    ----------
    log
        The jobs, in order of submission; what it says of later instants is not used.
    start_s, end_s
        float64[n], when each began and ended; NaN if never.
    at_s
        The instant, in seconds.

    Attributes
    ----------
    weeks
        How many whole weeks before the instant arrivals are drawn from.

    Raises
    ------
    RequestError
        There is no start or end for each job, or the log is not in order of submission.
    """

    def __init__(self, log: Workload, start_s: Floats, end_s: Floats, at_s: float) -> None:
        for name, given in (("start_s", start_s), ("end_s", end_s)):
            if len(given) != len(log):
                raise RequestError(must_be(name, f"{len(log)} instants, one per job", len(given)))
        if (np.diff(log.submit_s) < 0).any():
            raise RequestError(f"jobs of {log.name!r} are not in order of submission", "sort them first")
        self.log = log
        self.at_s = at_s
        self._has_ended = end_s <= at_s
        begun = np.flatnonzero((start_s <= at_s) & log.known())
        self._begun: Ints = begun[np.argsort(start_s[begun], kind="stable")]
        seen_s = np.where(self._has_ended, log.runtime_s, at_s - start_s)
        self._part = np.maximum(seen_s, 1.0) / np.maximum(log.estimate_s, 1.0)
        self._class = np.floor(np.log2(np.maximum(log.estimate_s, 1.0))).astype(np.int64)
        self._begun_of: dict[int, Ints] = {}
        self._found: dict[tuple[float, ...], Lengths] = {}

        # Of these whole weeks before the instant, arrivals are drawn.
        weeks = min(_WEEKS, int((at_s - log.submit_s[0]) // WEEK)) if len(log) else 0
        first, last = np.searchsorted(log.submit_s, (at_s - weeks * WEEK, at_s))
        self.weeks = weeks
        self._came = np.arange(first, last)[log.known()[first:last]]
        self._week = np.ceil((at_s - log.submit_s[self._came]) / WEEK).astype(np.int64)  # 1: the last one
        self._comers, self._comer = np.unique(log.user_id[self._came], return_inverse=True)

    def _parts(self, beyond: float, *group: float) -> Lengths:
        """Return the distribution of the part of its limit for which a job runs.

        Parameters
        ----------
        beyond
            The part for which it has run if that is beyond the limit, or 0.
        *group
            What the job has in common with those that it is drawn from: nothing, or the class of its limit, or in
            place of that its user, or also the limit, or also the cores.
        """
        key = (beyond, *group)
        if key not in self._found:
            rows, last = self._begun, _LAST if len(group) > 1 else _LAST_OF_ALL
            if len(group) == 1:
                rows = rows[self._class[rows] == group[0]]
            elif group:
                rows = self._of_user(int(group[1]))
                for column, value in zip((self.log.estimate_s, self.log.cores), group[2:], strict=False):
                    rows = rows[column[rows] == value]
            if group:
                prior, trust = self._parts(beyond, *group[:-1]), _DOUBT
            elif beyond:
                prior, trust = Lengths(beyond * _OUTLIVED, np.ones(len(_OUTLIVED))), _DOUBT
            else:
                prior, trust = Lengths(np.ones(1), np.ones(1)), _NONE
            rows = rows[-last:]
            rows = rows[self._part[rows] > beyond]
            self._found[key] = prior.given(self._part[rows], self._has_ended[rows], trust=trust)
        return self._found[key]

    def _of_user(self, user: int) -> Ints:
        """Return the rows of the jobs of a user that have begun, in this order."""
        if user not in self._begun_of:
            self._begun_of[user] = self._begun[self.log.user_id[self._begun] == user]
        return self._begun_of[user]

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
            limit_s = max(float(jobs.estimate_s[k]), 1.0)
            size = float(np.floor(np.log2(limit_s)))
            part = ran_s[k] / limit_s
            beyond = part if part > 1.0 else 0.0
            lengths = self._parts(beyond, size, int(jobs.user_id[k]), float(jobs.estimate_s[k]), int(jobs.cores[k]))
            found[:, k] = np.maximum(lengths.drawn(level[:, k], part) * limit_s, ran_s[k])
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
