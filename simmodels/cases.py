"""The cases of the conformance suite `simmodels.testing`, from their table: ``cases.toml`` beside this file."""

import tomllib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from simmodels.work.workload import Workload


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


def _case(name: str, why: str, jobs: Sequence[Sequence[int]], **options: Any) -> Case:  # noqa: ANN401  as in the table
    """Return a case of the table; its name says the backfilling."""
    submit_s, runtime_s, estimate_s, cores, start_s = np.array(jobs).T
    work = Workload(np.arange(1, len(jobs) + 1), submit_s, runtime_s, estimate_s, cores, name=name)
    starts = tuple(float(start) for start in start_s)
    return Case(name, why, work, starts, backfilling=name.partition("/")[0], **options)  # type: ignore[arg-type]


_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CASES: Final = tuple(_case(**row) for row in _TABLE["case"])
"""The cases: five of EASY that everybody should pass, then each backfilling with ties, jobs of no runtime, overruns,
jobs as wide as the machine, and each option."""
