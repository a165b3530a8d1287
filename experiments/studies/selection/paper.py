"""The paper of the selection study: what it is, what it prints, and where the report shows each figure and table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from experiments.campaigns import Paper
from experiments.campaigns.paper import read_elements, read_numbers
from experiments.studies.naming import log_name

PAPER: Final = Paper(
    authors="V. Reis, D. Trystram and others",
    year=2017,
    title="Online (bandit) policy selection for EASY-backfilling",
    venue="Anonymous draft; what is given is the archive of its simulator",
    url="https://zenodo.org/record/437873",
)

OTHERS: Final = ("LCFS", "SPF", "LPF", "SQF", "LQF", "SEXP", "LEXP", "LRF", "SRF", "SAF", "LAF")
"""The columns of table 2, by what was run."""
LABELS: Final = {"SPF": "LPF", "LPF": "SPF", "SQF": "LQF", "LQF": "SQF", "SAF": "LAF", "LAF": "SAF"}
"""Under which label table 2 prints an order, where it is another: those of length, cores and area are inverted."""


@dataclass(frozen=True, slots=True)
class Log:
    """A row of table 1: the cores of the machine, thousands of jobs, months."""

    cores: int
    kilojobs: int
    months: int


_HERE: Final = Path(__file__).parent
_PRINTED: Final = read_numbers(_HERE / "logs.csv", 2)
FILE_OF: Final = {log: file for log, file, _ in _PRINTED}
"""The logs of the paper, each with its file in the Parallel Workloads Archive."""
FILES: Final = ",".join(FILE_OF.values())
"""How they are passed."""
TABLE_1: Final[Mapping[str, Log]] = {
    log: Log(*(int(_PRINTED[log, file, column]) for column in ("cores", "kilojobs", "months")))
    for log, file in FILE_OF.items()
}
TABLE_2: Final[Mapping[str, Sequence[float]]] = {
    log: tuple(_PRINTED[log, file, order] for order in OTHERS) for log, file in FILE_OF.items()
}
"""Table 2: total waits of `OTHERS` against EASY-FCFS, in per cent."""
NOISE: Final = 0.15
"""How far a simulated wait may be wrong, as a part of it (equation 6)."""

FIG_1_ON: Final = "KTH-SP2"
FIG_2_ON: Final = "UniLu-Gaia"
SHOWN_ON: Final = {"fig. 1": FIG_1_ON, "fig. 2": FIG_2_ON}
"""The only log that a figure is of."""


def log_of(workload: str) -> str | None:
    """Return under which name the paper has a log; None if it has not."""
    return next((name for name in TABLE_1 if log_name(workload).startswith(name)), None)


def name_of(workload: object) -> str:
    """Return the paper's name of a log; its own if the paper has it not."""
    return log_of(str(workload)) or str(workload)


def published_of(workload: str) -> Sequence[float] | None:
    """Return the printed row of a log in table 2, if there is one."""
    return TABLE_2.get(log_of(workload) or "")


def missing_from(workloads: Sequence[str]) -> list[str]:
    """Return the logs of table 1 that are not among these."""
    there = {log_of(workload) for workload in workloads}
    return [name for name in TABLE_1 if name not in there]


ELEMENTS: Final = read_elements(_HERE / "elements.csv", {"ALL": f"--workload {FILES}"})
