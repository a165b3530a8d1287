"""The cases of the conformance suite `simmodels.testing`: tiny schedules drawn by hand, as a table.

Each case says what it shows; all times are small whole numbers, so that it can be drawn on paper.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal

import numpy as np

from simmodels.work.workload import Workload

_Row = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One small workload with the schedule that the rules demand.

    The fields from `order` on mean what the options of `simmodels.simulate` mean.

    Parameters
    ----------
    name
        The backfilling, a slash, and what it is about; no two cases have the same.
    why
        What a scheduler that passes has understood.
    jobs
        The jobs, in input order (not always sorted by submit).
    start_s
        When each must start, by input row.
    cores
        The cores of the machine.
    order, backfilling, backfill_order, threshold_s, decide, overrun, queue_depth, warm_jobs
        The rules to schedule by.

    Notes
    -----
    Where the literature leaves a rule open, `why` says which one is meant: jobs past their estimates count as ending
    now, and conservative reservations are made again, in the queue's order, while such a job runs.
    """

    name: str
    why: str
    jobs: Workload
    start_s: tuple[float, ...]
    _: KW_ONLY
    cores: int
    order: str = "FCFS"
    backfilling: Literal["none", "greedy", "easy", "conservative"]
    backfill_order: str | None = None
    threshold_s: float | None = None
    decide: Literal["instant", "event"] = "instant"
    overrun: Literal["run", "kill"] = "run"
    queue_depth: int | None = None
    warm_jobs: int = 0

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Case {self.name!r}: {len(self.jobs)} jobs on {self.cores} cores>"

    @property
    def options(self) -> dict[str, object]:
        """The rules by name, as `simmodels.simulate` takes them."""
        return {name: getattr(self, name) for name in ("cores", "order", "backfilling", *_SPECIAL)}

    @property
    def special(self) -> tuple[str, ...]:
        """The names of the options that this case needs beyond order and backfilling.

        A scheduler without them can be checked with the other cases:
        ``check(mine, [case for case in CASES if not case.special])``.
        """
        return tuple(name for name, usual in _SPECIAL.items() if getattr(self, name) != usual)


_SPECIAL: Final[dict[str, object]] = {
    "backfill_order": None,
    "threshold_s": None,
    "decide": "instant",
    "overrun": "run",
    "queue_depth": None,
    "warm_jobs": 0,
}


def _case(name: str, why: str, rows: list[_Row], **options: Any) -> Case:  # noqa: ANN401  the fields of a case
    """Return a case of rows of (submit, runtime, estimate, cores, start); its name says the backfilling."""
    submit_s, runtime_s, estimate_s, cores, start_s = np.array(rows).T
    jobs = Workload(np.arange(1, len(rows) + 1), submit_s, runtime_s, estimate_s, cores, name=name)
    starts = tuple(float(start) for start in start_s)
    return Case(name, why, jobs, starts, backfilling=name.partition("/")[0], **options)  # type: ignore[arg-type]


CASES: Final = (
    _case(
        "easy/head-is-not-delayed",
        "a job behind the head starts only if it ends by the head's reservation, or leaves it enough cores",
        [(0, 10, 10, 1, 0), (1, 10, 10, 2, 10), (2, 100, 100, 1, 20)],
        cores=2,
    ),
    _case(
        "easy/early-end",
        "the head starts as soon as it fits: a reservation is a latest start, and an early end pulls it in",
        [(0, 10, 100, 1, 0), (1, 10, 10, 2, 10), (2, 5, 5, 1, 2)],
        cores=2,
    ),
    _case(
        "easy/extra-core",
        "a core that the head leaves over may be used beyond its reservation",
        [(0, 100, 100, 2, 0), (1, 10, 10, 3, 100), (2, 1000, 1000, 1, 2)],
        cores=4,
    ),
    _case(
        "easy/estimate-decides",
        "the estimate decides, not the runtime, which nobody knows yet",
        [(0, 10, 10, 1, 0), (1, 10, 10, 2, 10), (2, 5, 100, 1, 20)],
        cores=2,
    ),
    _case(
        "easy/reservation-from-starts",
        "a running job is expected to end at its start + estimate, not at now + estimate",
        [(0, 100, 100, 1, 0), (90, 50, 50, 1, 90), (91, 10, 10, 2, 100), (92, 40, 40, 1, 110)],
        cores=3,
    ),
    # -- none
    _case(
        "none/head-blocks",
        "a job that fits waits while the head does not fit",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 10), (2, 1, 1, 1, 15)],
        cores=2,
    ),
    _case(
        "none/ties",
        "equal keys: the earlier submit first, then the earlier input row; the input is not sorted by submit",
        [(2, 3, 3, 1, 10), (1, 3, 3, 1, 4), (1, 3, 3, 1, 7), (0, 4, 4, 1, 0)],
        cores=1,
        order="SPF",
    ),
    _case(
        "none/zero-runtime",
        "a job of no runtime starts, ends and lets the next in, all within its instant",
        [(0, 0, 0, 1, 0), (0, 5, 5, 1, 0), (0, 0, 0, 1, 5), (5, 1, 1, 1, 5)],
        cores=1,
    ),
    _case(
        "none/wide",
        "a job as wide as the machine runs alone",
        [(0, 3, 3, 4, 0), (0, 2, 2, 4, 3), (1, 1, 1, 1, 5), (1, 1, 1, 4, 6)],
        cores=4,
    ),
    _case(
        "none/once-an-instant",
        "all that is submitted at an instant is there before it is decided who is first",
        [(0, 5, 5, 1, 2), (0, 2, 2, 1, 0)],
        cores=1,
        order="SPF",
    ),
    _case(
        "none/once-an-event",
        "decided after each event, the first of two jobs submitted at once starts before the second is there",
        [(0, 5, 5, 1, 0), (0, 2, 2, 1, 5)],
        cores=1,
        order="SPF",
        decide="event",
    ),
    _case(
        "none/threshold",
        "who has waited longer than the threshold goes first; who has waited just as long does not",
        [(0, 11, 11, 1, 0), (1, 20, 20, 1, 14), (2, 3, 3, 1, 11), (12, 1, 1, 1, 34)],
        cores=1,
        order="SPF",
        threshold_s=10.0,
    ),
    _case(
        "none/queue-depth",
        "only the two earliest-submitted waiting jobs are seen, and the shortest job is the third",
        [(0, 10, 10, 1, 0), (1, 6, 6, 1, 15), (2, 4, 4, 1, 10), (3, 1, 1, 1, 14)],
        cores=1,
        order="SPF",
        queue_depth=2,
    ),
    _case(
        "none/queue-depth-slides",
        "as soon as a job starts the next is seen, within the same instant",
        [(0, 5, 5, 3, 0), (1, 9, 9, 1, 6), (2, 8, 8, 1, 5), (3, 1, 1, 2, 5), (4, 2, 2, 1, 6)],
        cores=3,
        order="SPF",
        queue_depth=2,
    ),
    # -- greedy
    _case(
        "greedy/wide-job-waits",
        "what fits starts, and nothing is kept free for the head",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 22), (2, 9, 9, 1, 2), (9, 12, 12, 1, 10)],
        cores=2,
    ),
    _case(
        "greedy/in-order",
        "the queue is tried in its order (most cores first), not in that of arrival",
        [(0, 10, 10, 4, 0), (1, 5, 5, 2, 15), (2, 5, 5, 3, 10), (3, 5, 5, 1, 10)],
        cores=4,
        order="LQF",
    ),
    _case(
        "greedy/zero-runtime",
        "two jobs of no runtime start and end within the first instant, and others start beside and after them",
        [(0, 0, 0, 2, 0), (0, 4, 4, 1, 0), (0, 4, 4, 2, 4), (0, 0, 0, 1, 0)],
        cores=2,
    ),
    _case(
        "greedy/overrun-kill",
        "a job is stopped when its estimate is over, and its cores are free",
        [(0, 10, 4, 1, 0), (0, 3, 3, 2, 4), (1, 2, 2, 1, 1)],
        cores=2,
        overrun="kill",
    ),
    _case(
        "greedy/queue-depth",
        "a job that would fit is not seen while two earlier ones wait",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 10), (2, 4, 4, 2, 15), (3, 1, 1, 1, 19)],
        cores=2,
        queue_depth=2,
    ),
    _case(
        "greedy/warm-jobs",
        "the first two jobs run first come, first served, and no other starts before both have started",
        [(0, 10, 10, 1, 0), (0, 5, 5, 2, 10), (1, 1, 1, 1, 15)],
        cores=2,
        warm_jobs=2,
    ),
    # -- EASY
    _case(
        "easy/extra-cores-are-used-up",
        "one core is left over: the first long job takes it, the next must wait, a short one need not",
        [(0, 100, 100, 3, 0), (1, 10, 10, 4, 100), (2, 200, 200, 1, 2), (3, 200, 200, 1, 110), (4, 96, 96, 1, 4)],
        cores=5,
    ),
    _case(
        "easy/all-releases-of-an-instant",
        "extra cores are counted after all that is released at the reservation's instant",
        [(0, 10, 10, 1, 0), (0, 10, 10, 2, 0), (1, 5, 5, 2, 10), (2, 50, 50, 1, 2)],
        cores=4,
    ),
    _case(
        "easy/third-job-may-be-delayed",
        "only the head has a reservation: the last job delays the third (compare conservative/no-job-is-delayed)",
        [(0, 10, 10, 3, 0), (1, 10, 10, 2, 10), (2, 10, 10, 4, 23), (3, 20, 20, 1, 3)],
        cores=4,
    ),
    _case(
        "easy/backfill-order",
        "heads first come, first served; what is backfilled, shortest first",
        [(0, 20, 20, 2, 0), (1, 10, 10, 3, 20), (2, 18, 18, 1, 30), (2, 5, 5, 1, 2)],
        cores=3,
        backfill_order="SPF",
    ),
    _case(
        "easy/threshold",
        "who has waited longer than the threshold goes before a shorter job; among these, first come first",
        [(0, 12, 12, 2, 0), (1, 20, 20, 2, 12), (2, 3, 3, 2, 32), (13, 1, 1, 1, 35)],
        cores=2,
        order="SPF",
        threshold_s=10.0,
    ),
    _case(
        "easy/threshold-in-backfilling",
        "the threshold holds in the backfill order too: at 19 a job that has waited 17 goes before a shorter one",
        [(0, 30, 30, 2, 0), (1, 5, 5, 3, 30), (2, 11, 11, 1, 19), (1, 18, 18, 1, 1), (9, 4, 4, 1, 35)],
        cores=3,
        backfill_order="SPF",
        threshold_s=15.0,
    ),
    _case(
        "easy/overrun-run",
        "a job past its estimate counts as ending now: nothing but a job of estimate 0 may be backfilled",
        [(0, 20, 5, 1, 0), (6, 10, 10, 2, 20), (7, 1, 1, 1, 30), (8, 0, 0, 1, 8)],
        cores=2,
    ),
    _case(
        "easy/overrun-kill",
        "a job is stopped when its estimate is over, as the reservation said",
        [(0, 20, 5, 1, 0), (1, 10, 10, 2, 5), (2, 3, 3, 1, 2)],
        cores=2,
        overrun="kill",
    ),
    _case(
        "easy/queue-depth",
        "the last job could be backfilled at 3, but it is not among the two earliest-submitted waiting jobs",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 10), (2, 20, 20, 1, 15), (3, 2, 2, 1, 15)],
        cores=2,
        queue_depth=2,
    ),
    _case(
        "easy/warm-jobs",
        "nothing is backfilled before the first two jobs have started",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 10), (2, 3, 3, 1, 15)],
        cores=2,
        warm_jobs=2,
    ),
    _case(
        "easy/completion-then-decision",
        "at 10 the first job ends early and the last is submitted; decided once, the head has its cores",
        [(0, 10, 20, 1, 0), (1, 5, 5, 2, 10), (10, 10, 10, 1, 15)],
        cores=2,
    ),
    _case(
        "easy/submission-before-completion",
        "the same by event: at 10 the submission comes first, and its job is backfilled before the early end is known",
        [(0, 10, 20, 1, 0), (1, 5, 5, 2, 20), (10, 10, 10, 1, 10)],
        cores=2,
        decide="event",
    ),
    _case(
        "easy/expected-end-by-event",
        "by event, but the first job ends when expected: its cores count as free from the instant's first event on",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 10), (10, 10, 10, 1, 15)],
        cores=2,
        decide="event",
    ),
    # -- conservative
    _case(
        "conservative/no-job-is-delayed",
        "the last job fits at once, but would delay the third (compare easy/third-job-may-be-delayed)",
        [(0, 10, 10, 3, 0), (1, 10, 10, 2, 10), (2, 10, 10, 4, 20), (3, 20, 20, 1, 30)],
        cores=4,
    ),
    _case(
        "conservative/fills-holes",
        "a job starts in any hole that is long enough, before the head or beside it",
        [(0, 10, 10, 2, 0), (1, 10, 10, 2, 10), (2, 8, 8, 1, 2), (3, 30, 30, 1, 10)],
        cores=3,
    ),
    _case(
        "conservative/promise-is-kept",
        "a shorter job that comes later does not go before a job that has its reservation",
        [(0, 10, 10, 1, 0), (1, 8, 8, 1, 10), (2, 1, 1, 1, 18)],
        cores=1,
        order="SPF",
    ),
    _case(
        "conservative/compression",
        "after the early end at 4 the third job moves to 15, and once the fourth has moved, to 10",
        [(0, 4, 10, 2, 0), (1, 6, 6, 1, 4), (2, 3, 3, 2, 10), (3, 5, 5, 1, 4)],
        cores=2,
    ),
    _case(
        "conservative/compression-in-order",
        "after the early end at 10 the shorter job moves first",
        [(0, 10, 20, 1, 0), (1, 9, 9, 1, 12), (8, 2, 2, 1, 10)],
        cores=1,
        order="SPF",
    ),
    _case(
        "conservative/threshold",
        "after the early end at 10 the job that has waited longer than the threshold moves first",
        [(0, 10, 20, 1, 0), (1, 9, 9, 1, 10), (8, 2, 2, 1, 19)],
        cores=1,
        order="SPF",
        threshold_s=5.0,
    ),
    _case(
        "conservative/zero-runtime",
        "a job of estimate 0 has a reservation too, as wide as the machine here, and takes no time from the next",
        [(0, 5, 5, 2, 0), (0, 0, 0, 2, 5), (0, 3, 3, 2, 5), (1, 2, 2, 1, 8)],
        cores=2,
    ),
    _case(
        "conservative/overrun-run",
        "while the first job is past its estimate all is planned as if it ended now: the last job may not go before",
        [(0, 20, 5, 1, 0), (1, 10, 10, 2, 20), (6, 3, 3, 1, 30)],
        cores=2,
    ),
    _case(
        "conservative/overrun-kill",
        "a job is stopped when its estimate is over, as the reservations said",
        [(0, 9, 4, 1, 0), (1, 2, 2, 1, 4), (2, 3, 3, 1, 6)],
        cores=1,
        overrun="kill",
    ),
    _case(
        "conservative/queue-depth",
        "the last job could run at 2, but gets its reservation only when the head has started",
        [(0, 10, 10, 1, 0), (1, 5, 5, 2, 10), (2, 3, 3, 1, 15)],
        cores=2,
        queue_depth=1,
    ),
)
"""The cases: five of EASY that everybody should pass, then each backfilling with ties, jobs of no runtime, overruns,
jobs as wide as the machine, and each option."""
