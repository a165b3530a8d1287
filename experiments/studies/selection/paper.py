"""The paper of the selection study: what it is, what it prints, and where the report shows each figure and table.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from experiments.campaigns import Paper
from experiments.campaigns.paper import read_elements
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
TABLE_2: Final[Mapping[str, Sequence[int]]] = {
    "ANL-Intrepid": (-25, -9, -3, -28, -2, -21, -24, -21, -10, -19, 5),
    "KTH-SP2": (-13, -16, 5, -16, 3, -8, -15, -8, -13, -12, 15),
    "CTC-SP2": (-40, -19, -14, -47, 15, -36, -19, -38, -12, -44, 22),
    "SDSC-SP2": (-8, -15, 4, -8, 4, -3, -15, -3, -10, -11, 18),
    "SDSC-BLUE": (-26, -29, 0, -29, 17, -17, -26, -15, -15, -32, 23),
    "CEA-Curie": (-46, -23, -45, -57, -19, -51, -23, -57, -24, -40, -17),
    "UniLu-Gaia": (-58, -33, -10, -62, 16, -49, -27, -56, -16, -62, 20),
}
"""Table 2: total waits of `OTHERS` against EASY-FCFS, in per cent."""


@dataclass(frozen=True, slots=True)
class Log:
    """A row of table 1: the cores of the machine, thousands of jobs, months."""

    cores: int
    kilojobs: int
    months: int


TABLE_1: Final[Mapping[str, Log]] = {
    "KTH-SP2": Log(100, 28, 11),
    "CTC-SP2": Log(338, 77, 11),
    "SDSC-SP2": Log(128, 59, 24),
    "SDSC-BLUE": Log(1_152, 243, 32),
    "ANL-Intrepid": Log(163_840, 68, 9),
    "CEA-Curie": Log(80_640, 312, 3),
    "UniLu-Gaia": Log(2_004, 51, 4),
}
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


def published_of(workload: str) -> Sequence[int] | None:
    """Return the printed row of a log in table 2, if there is one."""
    return TABLE_2.get(log_of(workload) or "")


def missing_from(workloads: Sequence[str]) -> list[str]:
    """Return the logs of table 1 that are not among these."""
    there = {log_of(workload) for workload in workloads}
    return [name for name in TABLE_1 if name not in there]


FILES: Final = (
    "KTH-SP2-1996-2.1-cln.swf.gz,CTC-SP2-1996-3.1-cln.swf.gz,SDSC-SP2-1998-4.2-cln.swf.gz,"
    "SDSC-BLUE-2000-4.2-cln.swf.gz,ANL-Intrepid-2009-1.swf.gz,CEA-Curie-2011-2.1-cln.swf.gz,UniLu-Gaia.swf.gz"
)
"""The seven logs, as the Parallel Workloads Archive names its files."""
FILE_OF: Final = {log_of(file): file for file in FILES.split(",")}
"""The file of each log of table 1."""
ELEMENTS: Final = read_elements(Path(__file__).with_name("elements.csv"), {"ALL": f"--workload {FILES}"})
