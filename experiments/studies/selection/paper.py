"""The paper of the selection study: what it is, what it prints, and where the report shows each figure and table.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from experiments.campaigns.paper import Element, Paper
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
FACTOR: Final = 2.0
"""By how much noisy feedback divides the mean wait, at most (abstract)."""
REMAINS: Final = 0.4
"""How much of the mean wait the bandit leaves, at least (abstract)."""
HALF: Final = 0.5
"""The width of the 10th to 90th percentile, as a part of the best improvement, roughly (section 6.2, figure 2)."""
SIMULATIONS: Final = 12_600
YEARS: Final = 25_200
"""How many simulations, and of how many years together (section 6.1.4)."""
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
_ALL: Final = f"--workload {FILES}"
_KTH: Final = "--workload KTH-SP2-1996-2.1-cln.swf.gz"
_GAIA: Final = "--workload UniLu-Gaia.swf.gz"

ELEMENTS: Final = (
    Element(
        number="fig. 1",
        shows="mean wait of each week of a year, under seven orders, on the trace of KTH-SP2 itself",
        file="figures/figure-1-kth-sp2*.svg",
        needs=_KTH,
        why="The wait varies a lot from week to week under each order. Which seven orders the paper shows, its text "
        "does not say: ours are FCFS and the six that begin with the newest or the smallest.",
    ),
    Element(
        number="fig. 2",
        shows="improvement on EASY-FCFS over two years, eleven orders, UniLu-Gaia: mean, 10th and 90th percentile",
        file="figures/figure-2-unilu-gaia-text*.svg",
        needs=_GAIA,
        why="The curves lie in the order of the printed table 2 with its labels in their places (in 100 resamples, "
        "ranks correlate by 0.97), 11 points from the printed values on average; SRF has the other sign. The "
        "percentiles are 0.58 of the best improvement apart, about half as the text says.",
    ),
    Element(
        number="fig. 3",
        shows="the same of full, noisy and bandit feedback and of random choice, an order a day, for six logs",
        file="figures/figure-3-*-text*.svg",
        needs=_ALL,
        why="The text says of the curves only that simulation is close to the best and the bandit less efficient. On "
        "KTH-SP2, CTC-SP2, SDSC-BLUE and CEA-Curie full and noisy feedback lie on each other, below the bandit, and "
        "that below random choice; on SDSC-SP2 no strategy gains, on ANL-Intrepid only the bandit surely does.",
    ),
    Element(
        number="fig. 4",
        shows="figure 3 for UniLu-Gaia",
        file="figures/figure-4-unilu-gaia-text*.svg",
        needs=_GAIA,
        why="As figure 3, but the bandit is far from full feedback, and hardly better than random choice.",
    ),
    Element(
        number="fig. 5",
        shows="share of the orders that noisy feedback chooses, over time",
        file="figures/figure-5-*-text*.svg",
        why="The captions of figures 5 and 6 are exchanged against the text, which is followed here. On which log they "
        "are is not said: ours are of each.",
    ),
    Element(
        number="fig. 6",
        shows="share of the orders that the bandit chooses, over time",
        file="figures/figure-6-*-text*.svg",
        why="See figure 5.",
    ),
    Element(
        number="table 1",
        shows="the logs: cores, jobs, months",
        file="tables/table-1*.csv",
        needs=_ALL,
        why="Cores are the printed ones, jobs are counted after the filter; the log of UniLu-Gaia has 2.9 "
        "months, and 4 are printed.",
    ),
    Element(
        number="table 2",
        shows="improvement of eleven orders on EASY-FCFS, by equation 11",
        file="tables/table-2*.csv",
        needs=_ALL,
        why="Its labels of length, cores and area are inverted. With the settings of the authors' program the rows "
        "agree closely, with those of the text less.",
    ),
    Element(
        number="table 3",
        shows="improvement of the strategies on EASY-FCFS",
        file="tables/table-3*.csv",
        needs=_ALL,
        why="The printed table is a placeholder: it holds names of orders and no numbers.",
    ),
)
