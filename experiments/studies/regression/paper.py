"""The paper of the regression study: where its figures and tables are in the report, and the numbers that it prints.

There are two versions of the text. One learns from a generated workload only, and runs fifty experiments in figure 3
(HAL hal-03979237v2). The other also learns from two logs. Numbers of sections, figures and tables are those of the
second, which has all that the first has; ``elements.csv`` says what has another number in the first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from experiments.campaigns import Paper
from experiments.campaigns.paper import read_elements, read_numbers
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


class Printed(NamedTuple):
    """What a table of coefficients prints of one term of one form; there is no factor of a constant."""

    theta: float
    vif: float | None


_PRINTED: Final = read_numbers(Path(__file__).with_name("coefficients.csv"), 3)
COEFFICIENTS: Final[Mapping[str, Mapping[str, Mapping[str, Printed]]]] = {
    training: {
        form: {
            term: Printed(_PRINTED[training, form, term, "theta"], _PRINTED.get((training, form, term, "vif")))
            for term in terms
        }
        for form, terms in FORMS.items()
    }
    for training in SETS
}
"""Tables 3 to 5: by training set, form and term.

The constant of QDR of the second log is printed as 1.39e-2, which is its mean absolute error; the authors' scores give
5.09e-2. No order depends on it.
"""
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


THREE: Final = f"--workload generated,{LOGS[CTC]},{LOGS[BLUE]}"
"""How the three that it learns from are passed."""
ELEMENTS: Final = read_elements(
    Path(__file__).with_name("elements.csv"),
    {"THREE": THREE, "LOGS": f"--workload generated,{','.join(LOGS.values())}"},
)
"""In the HAL version, its sections 5.1 and 5.2 are our 5.2 and 5.3; what has another number there, says so."""
