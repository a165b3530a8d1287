"""The paper of the regression study: where its figures and tables are in the report, and the numbers that it prints.

There are two versions of the text. One learns from a generated workload only, and runs fifty experiments in figure 3
(HAL hal-03979237v2). The other also learns from two logs. Numbers of sections, figures and tables are those of the
second, which has all that the first has; ``elements.csv`` says what has another number in the first.

References
----------
See `PAPER`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from experiments.campaigns.paper import Paper, read_elements
from simmodels.policies.polynomial import FORMS

PAPER: Final = Paper(
    authors="L. Rosa, D. Carastan-Santos and A. Goldman",
    year=2023,
    title="An experimental analysis of regression-obtained HPC scheduling heuristics",
    venue="Job Scheduling Strategies for Parallel Processing (JSSPP), pp. 116-136",
    url="https://doi.org/10.1007/978-3-031-43943-8_6",
)

SYNTHETIC: Final = "synthetic"
CTC: Final = "CTC-SP2"
BLUE: Final = "SDSC-BLUE"
SETS: Final = (SYNTHETIC, CTC, BLUE)
"""The three workloads that the paper learns from, each with a table of coefficients."""
TABLE_OF: Final[Mapping[str, str]] = {SYNTHETIC: "table 3", CTC: "table 4", BLUE: "table 5"}

# One row per term: the coefficients of LIN, QDR, CUB and QUA, and then their variance inflation factors.
_SYNTHETIC: Final = """
1 3.24e-2 3.70e-2 3.33e-2 4.83e-2 - - - -
p 1.15e-7 2.65e-7 2.83e-7 -6.42e-7 1.3 3.7 12.1 36.1
q 2.61e-5 -3.05e-5 8.71e-5 -2.40e-4 1.3 9.6 35.5 99.0
r -1.57e-7 -3.96e-7 -5.83e-7 -6.50e-7 1.2 6.0 21.8 58.6
p2 - -3.04e-12 -6.33e-14 1.66e-11 - 2.6 41.8 338.5
q2 - 1.17e-7 -5.06e-7 2.41e-6 - 8.3 275.0 2835.5
r2 - 2.75e-12 6.78e-12 8.81e-12 - 4.8 82.1 620.8
pq - 6.77e-10 -6.02e-10 1.14e-8 - 3.9 49.4 295.3
p3 - - -7.55e-18 -2.03e-16 - - 20.8 961.6
q3 - - 7.05e-10 -9.52e-9 - - 147.3 10491.8
r3 - - -2.14e-17 -4.67e-17 - - 34.6 1387.1
p2q - - -2.72e-14 9.29e-15 - - 9.8 393.1
pq2 - - 9.52e-12 -7.94e-11 - - 30.1 1032.9
p4 - - - 9.34e-22 - - - 322.7
q4 - - - 1.36e-11 - - - 3572.5
r4 - - - 9.84e-23 - - - 373.6
p3q - - - -9.07e-19 - - - 63.8
p2q2 - - - 1.89e-16 - - - 125.0
pq3 - - - 1.55e-13 - - - 457.2
"""
_CTC: Final = """
1 3.11e-2 2.86e-2 2.42e-2 6.09e-2 - - - -
p 3.00e-8 2.00e-7 1.18e-6 -3.13e-6 1.3 17.2 85.7 282.4
q 5.42e-5 2.27e-5 -1.72e-4 8.73e-5 1.1 5.5 18.6 43.2
r -6.41e-8 1.81e-7 -1.37e-8 -2.40e-6 1.4 9.2 31.6 79.4
p2 - -3.14e-12 -3.50e-11 1.42e-10 - 15.2 483.3 5148.2
q2 - -2.08e-8 1.66e-6 -8.57e-6 - 4.1 114.1 709.1
r2 - -4.19e-12 4.57e-12 1.86e-10 - 7.2 141.9 972.4
pq - 8.50e-10 3.89e-9 1.49e-8 - 1.5 23.7 215.7
p3 - - 2.97e-16 -2.46e-15 - - 201.3 11733.9
q3 - - -3.91e-9 6.03e-8 - - 60.4 2059.7
r3 - - -1.02e-16 -4.92e-15 - - 62.4 2016.0
p2q - - -3.33e-14 -6.88e-13 - - 16.6 844.4
pq2 - - -6.33e-12 2.37e-10 - - 9.1 339.8
p4 - - - 1.47e-20 - - - 2784.2
q4 - - - -1.12e-10 - - - 617.3
r4 - - - 4.07e-20 - - - 474.2
p3q - - - 6.11e-18 - - - 378.6
p2q2 - - - -7.14e-16 - - - 99.5
pq3 - - - -9.75e-13 - - - 69.9
"""
# The constant of QDR is printed as 1.39e-2, which is its mean absolute error; the authors' scores give 5.09e-2. No
# order depends on it.
_BLUE: Final = """
1 1.83e-2 1.39e-2 3.34e-2 2.27e-2 - - - -
p 8.88e-8 -1.47e-7 5.97e-8 1.58e-6 1.1 8.1 32.3 81.2
q 3.05e-5 -8.40e-5 3.09e-5 1.07e-4 1.1 5.3 22.9 53.1
r -6.87e-8 -4.02e-7 -4.79e-7 -1.77e-6 1.2 5.4 15.3 39.6
p2 - 5.59e-14 1.79e-12 -4.00e-11 - 6.7 175.1 1479.2
q2 - 6.92e-8 -1.02e-7 -1.91e-7 - 4.6 140.6 1109.7
r2 - 5.77e-12 1.12e-11 1.04e-10 - 4.6 59.1 393.1
pq - 5.50e-10 -6.67e-10 -6.55e-9 - 1.7 28.2 164.2
p3 - - -1.51e-17 3.93e-16 - - 79.7 3719.5
q3 - - 7.15e-11 1.21e-10 - - 73.6 4177.1
r3 - - -9.27e-17 -2.26e-15 - - 26.3 704.1
p2q - - -6.38e-16 1.25e-13 - - 13.1 465.1
pq2 - - 1.08e-12 4.03e-12 - - 8.2 453.6
p4 - - - -1.28e-21 - - - 987.8
q4 - - - -1.49e-14 - - - 1462.3
r4 - - - 1.50e-20 - - - 156.1
p3q - - - -6.68e-19 - - - 129.6
p2q2 - - - -4.72e-17 - - - 63.7
pq3 - - - 3.65e-16 - - - 192.9
"""


class Printed(NamedTuple):
    """What a table of coefficients prints of one term of one form; there is no factor of a constant."""

    theta: float
    vif: float | None


def _parsed(text: str) -> dict[str, dict[str, Printed]]:
    """Return by form and term what a table prints."""
    rows = [line.split() for line in text.split("\n") if line]
    return {
        form: {
            row[0]: Printed(float(row[1 + place]), None if row[5 + place] == "-" else float(row[5 + place]))
            for row in rows
            if row[0] in terms
        }
        for place, (form, terms) in enumerate(FORMS.items())
    }


COEFFICIENTS: Final[Mapping[str, Mapping[str, Mapping[str, Printed]]]] = {
    SYNTHETIC: _parsed(_SYNTHETIC),
    CTC: _parsed(_CTC),
    BLUE: _parsed(_BLUE),
}
"""Tables 3 to 5: by training set, form and term."""
LARGEST_VIF: Final[Mapping[tuple[str | None, str], float]] = {
    (training, form): max(term.vif or 0.0 for term in terms.values())
    for training, forms in COEFFICIENTS.items()
    for form, terms in forms.items()
}
"""The largest factor that these print, by training set and form."""
MAE: Final[Mapping[str, Mapping[str, float]]] = {
    SYNTHETIC: {"LIN": 4.5e-3, "QDR": 4.5e-3, "CUB": 5.4e-3, "QUA": 7.2e-3},
    CTC: {"LIN": 3.6e-3, "QDR": 3.7e-3, "CUB": 5.9e-3, "QUA": 36.2e-3},
    BLUE: {"LIN": 12.1e-3, "QDR": 13.9e-3, "CUB": 3.3e-3, "QUA": 14.8e-3},
}
"""Table 2. Those of QUA come of powers that overflow 64 bits: the authors' scores give 6.8e-3, 14.4e-3 and 11.4e-3."""
MAE_HAL: Final[Mapping[str, float]] = {"LIN": 4.48e-3, "QDR": 4.66e-3, "CUB": 10.5e-3, "QUA": 6.42e-3}
"""Section 5.1 of the HAL version, for the coefficients that both versions print: those of other fits."""
SCORES: Final[Mapping[str, int]] = {SYNTHETIC: 14_081, CTC: 3_745, BLUE: 3_201}
"""How many scores each set has, in words of section 5.2; the authors' files have one less: 32 for each pair."""
PAIRS: Final[Mapping[str, int]] = {SYNTHETIC: 440, CTC: 117, BLUE: 100}
"""How many pairs the authors' scores are of."""


def set_of(name: str) -> str | None:
    """Return which of the paper's training sets a workload is, or a file of scores is of: None if it is none.

    Parameters
    ----------
    name
        ``generated``, or the name of a file: of the log that the set was drawn from, or of the authors' scores.
    """
    file = Path(name).name.lower().replace("_", "-").removeprefix("published-")
    if file == "generated" or file.startswith("lublin"):
        return SYNTHETIC
    return next((known for known in (CTC, BLUE) if file.startswith(known.lower())), None)


LOGS: Final[Mapping[str, str]] = {
    CTC: "CTC-SP2-1996-3.1-cln.swf.gz",
    BLUE: "SDSC-BLUE-2000-4.2-cln.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "HPC2N": "HPC2N-2002-2.2-cln.swf.gz",
    "ANL-Intrepid": "ANL-Intrepid-2009-1.swf.gz",
    "CEA-Curie": "CEA-Curie-2011-2.1-cln.swf.gz",
    "Mustang": "mustang.swf.gz",
}
"""The logs of figures 4 and 5, each with its file.

Mustang is of the ALAS repository, the others of the Parallel Workloads Archive. The text names the two that are
learned from, HPC2N and Mustang; the others are those of our specification.
"""
FILE_OF: Final[Mapping[str, str]] = {SYNTHETIC: "generated", **LOGS}
"""What is passed for each workload of the paper."""


def name_of(workload: object) -> str:
    """Return the paper's name of a workload: of a training set, or of a log; its own if it has none."""
    known = set_of(str(workload))
    if known is not None:
        return known
    file = Path(str(workload)).name.lower().replace("_", "-")
    return next((name for name in LOGS if file.startswith(name.lower())), str(workload))


ELEMENTS: Final = read_elements(
    Path(__file__).with_name("elements.csv"),
    {
        "THREE": f"--workload generated,{LOGS[CTC]},{LOGS[BLUE]}",
        "LOGS": f"--workload generated,{','.join(LOGS.values())}",
    },
)
"""In the HAL version, its sections 5.1 and 5.2 are our 5.2 and 5.3; what has another number there, says so."""
