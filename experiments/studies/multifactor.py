"""Multifactor: a priority that batch systems have, what it makes of the order of a queue, and how it is entered.

References
----------
Slurm 22.05, plugin priority/multifactor: a job's priority is a sum of weights, whole numbers >= 0, times factors from 0
to 1, less its nice value. There is a factor of the age and one of the size, none of the time limit. PBS Professional,
``job_sort_formula``: the job with the larger value goes first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from simmodels import DAY, HOUR, MINUTE, Limits, Order, Schedule, Workload, simulate
from simmodels.errors import printable
from simmodels.ground.numbers import Floats

By = Literal["cores", "cores per minute", "limit classes", "area classes"]

_NEARLY: Final = 0.99
"""Relative to its limit, a wide job of a minute is hundreds of times as large as others: it does not set the scale."""
BY_IN_WORDS: Final[Mapping[By, str]] = {
    "cores": "fewest cores first",
    "cores per minute": "most cores per minute of the limit first",
    "limit classes": "shortest limit first, in classes",
    "area classes": "smallest limit x cores first, in classes",
}
"""What can be entered into Slurm: its two factors of the size, and classes of jobs, by nice values or by QOS."""
_CLASSES: Final = 8
_LARGEST_WEIGHT: Final = 2**31
"""Weights are unsigned numbers of 32 bits, and so is their sum."""
_LEAST_AGE_S: Final = 7 * DAY
_HANDICAP: Final = "handicap_s"


ORDER: Final = Order(
    "handicap", lambda submit, handicap_s: submit + handicap_s, "r + handicap", "Slurm's priority/multifactor"
)
"""The order by submit and handicap: where age counts alike for all, priorities grow, and who is ahead stays ahead."""


def _filled(name: str, values: Mapping[str, object]) -> str:
    """Return the text of a file, filled in; root installs it, so what is from a file's name must remain in its line."""
    from jinja2 import Template  # noqa: PLC0415  slow to import: only where files are written

    text = Path(__file__).with_name(f"{name}.j2").read_text("utf-8")
    filled = Template(text, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return str(filled.render(values))


def made_up_for(by: By, span_s: float) -> str:
    """Return what a priority goes by, in words."""
    any_ = "nearly any" if by == "cores per minute" else "any"
    return f"{BY_IN_WORDS[by]}; {span_s / HOUR:.4g} h of waiting make up for {any_}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Multifactor:
    """A priority: a point for each second of waiting, less a handicap by a job's size or limit.

    Parameters
    ----------
    by
        What the handicap depends on.
    span_s
        How much longer than any other a job has to wait to be ahead of it whatever its size or limit: the difference
        between the largest handicap and the smallest one, in seconds. Of cores per minute, the 99th percentile is the
        largest.
    cores, node_cores
        The cores of the machine, and of a node: relative to the limit, Slurm takes a smaller job for one of a node.
    weight
        What the size factor of Slurm is multiplied with; 0 if the handicap is by classes.
    bounds
        Up to which limits (minutes), or limits x cores (minutes x cores), the classes but the last one go; rising.
    """

    by: By
    span_s: float
    cores: int
    node_cores: int = 1
    weight: int = 0
    bounds: tuple[int, ...] = ()

    @classmethod
    def fitted(cls, by: By, span_s: float, log: Workload, cores: int, *, node_cores: int = 1) -> "Multifactor":
        """Return the priority by which no job of a log is put behind one that was submitted more than a span later.

        Classes are equally large groups of its jobs, as far as many jobs do not have the same limit; jobs without a
        limit are in the last class, as the submit filter and the formula of PBS have it.
        """
        empty = cls(by=by, span_s=span_s, cores=cores, node_cores=node_cores)
        asked = empty._asked(log)
        if by.endswith("classes"):
            asked = asked[np.isfinite(asked)]
            if not len(asked):
                return empty
            inner = np.quantile(asked, np.arange(1, _CLASSES) / _CLASSES, method="higher")
            bounds = np.unique(inner[inner < asked.max()]).astype(np.int64)
            return replace(empty, bounds=tuple(map(int, bounds)))
        width = float((asked.max() if by == "cores" else np.quantile(asked, _NEARLY)) - asked.min())
        weight = min(round(span_s / width), _LARGEST_WEIGHT) if width else 0
        return replace(empty, weight=weight, span_s=min(span_s, weight * width) if width else span_s)

    def _asked(self, log: Workload) -> Floats:
        """Return what the handicap of each job depends on: a factor as in Slurm, or what classes are made of."""
        if self.by == "cores":
            # Of a job that asks for cores, not for nodes, half of the factor is of its cores.
            return log.cores / (2.0 * self.cores)
        minutes = np.maximum(np.ceil(log.estimate_s / MINUTE), 1.0)  # limits are whole minutes
        if self.by.endswith("classes"):
            size = minutes if self.by == "limit classes" else minutes * log.cores
            return np.where(log.unlimited(), np.inf, size)
        # Of a job without a limit, Slurm takes that of its partition, which is its estimate here.
        return np.maximum(log.cores, self.node_cores) / minutes / self.cores

    def handicaps_s(self, log: Workload) -> Floats:
        """Return float64[n], the handicap of each job: the one with less submit time and handicap goes first."""
        asked = self._asked(log)
        if not self.by.endswith("classes"):
            return self.weight * (asked if self.by == "cores" else -asked)
        nice = np.array([points for _, points in self.classes()], dtype=np.float64)
        return nice[np.searchsorted(self.bounds, asked, side="left")]

    def classes(self) -> Iterator[tuple[int | None, int]]:
        """Hand out the classes: up to which value each goes (None: the last one), and its nice value."""
        ends = (*self.bounds, None)
        for number, end in enumerate(ends):
            yield end, round(self.span_s * number / max(len(ends) - 1, 1))

    def simulate(self, log: Workload, *, limits: Limits | None = None) -> Schedule:
        """Return the schedule of a log under this priority, with EASY backfilling, and under limits."""
        extras = {**log.extras, _HANDICAP: self.handicaps_s(log)}
        return simulate(replace(log, extras=extras), order=ORDER, limits=limits)

    def table(self) -> dict[str, object]:
        """Return it by name, as JSON has it."""
        classes = [{"up_to": end, "nice": nice} for end, nice in self.classes()] if self.bounds else []
        return {
            "by": self.by,
            "span_h": self.span_s / HOUR,
            "size_weight": self.weight,
            "node_cores": self.node_cores,
            "classes": classes,
        }

    def __str__(self) -> str:
        """Return it in words."""
        return made_up_for(self.by, self.span_s)

    # -- how it is entered --------------------------------------------------------------------------

    def files(self, longest_wait_s: float, about: str) -> Mapping[str, str]:
        """Return what is to be entered, by the name of the file: for Slurm, with a submit filter if need be, and PBS.

        Parameters
        ----------
        longest_wait_s
            The longest wait that is expected: the age counts for at least twice as long.
        about
            A line on where it is from, which becomes a comment: a line end in it is escaped.
        """
        days = int(np.ceil(max(_LEAST_AGE_S, 2 * longest_wait_s) / DAY))
        lua = ["job_submit.lua"] if self.by.endswith("classes") else []
        values = {"priority": self, "about": printable(about), "days": days, "span": round(self.span_s)}
        return {name: _filled(name, values) for name in ("slurm.conf.txt", *lua, "pbs.txt")}

    def formula(self) -> str:
        """Return the formula by which PBS orders jobs: Python, of ``eligible_time``, ``ncpus`` and ``walltime``."""
        if self.by == "cores":
            return f"eligible_time - {self.weight / (2 * self.cores):.6g} * ncpus"
        if self.by == "cores per minute":
            size = f"({self.node_cores} if ncpus < {self.node_cores} else ncpus)" if self.node_cores > 1 else "ncpus"
            return f"eligible_time + ({60 * self.weight / self.cores:.6g} * {size} / walltime if walltime > 0 else 0)"
        asked = "walltime" if self.by == "limit classes" else "walltime * ncpus"
        *classes, (_, last) = self.classes()
        nested = str(last)
        for end, nice in reversed(classes):
            nested = f"({nice} if {asked} <= {60 * (end or 0)} else {nested})"
        return f"eligible_time - ({nested} if walltime > 0 else {last})"
