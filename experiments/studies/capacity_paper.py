"""What the paper on variable capacity shows and prints: its figures, the numbers of its text, and how near is near."""

from dataclasses import dataclass
from typing import Final, Literal

from experiments.campaigns.paper import Element, Paper
from experiments.studies.capacity_settings import BORG

PAPER: Final = Paper(
    authors="L. Perotin, C. Zhang, R. Wijayawardana, A. Benoit, Y. Robert and A. A. Chien",
    year=2023,
    title="Risk-Aware Scheduling Algorithms for Variable Capacity Resources",
    venue="SC-W 2023, pp. 1306-1315",
    url="https://doi.org/10.1145/3624062.3624194",
)

SLICES: Final = "--workload Uniform,LogScale,LogScaleU,3types,SLICE,SLICE,..."
"""How slices of Borg's trace are passed beside the families: seven for the paper's six job traces."""

FIGURES: Final = {
    "machines": "figure 1: goodput by average machines",
    "period_s": "figure 2: goodput by period of change",
    "radius": "figure 3: goodput by range of machines",
}
"""The names of the figures of goodput, by the factor along the axis."""
METRICS_FIGURE: Final = "figure 4: four metrics on Borg by range of machines"

ELEMENTS: Final = (
    Element(
        number="fig. 1",
        shows="goodput of five heuristics against the average number of machines (20 to 28), a panel per workload",
        file="figures/figure-1-goodput-by-average-machines.svg",
        needs=SLICES,
        alike="partly",
        why="Boxes, whiskers (10 to 90 %) and stars as printed. The two ASAP lead, TargetStretch falls behind as "
        "machines become more, and goodput falls from 26 to 28. It peaks at 24 machines or before, not at 26.",
    ),
    Element(
        number="fig. 2",
        shows="goodput against the period of the changes (400 to 32,400 s), a panel per workload",
        file="figures/figure-2-goodput-by-period-of-change.svg",
        needs=SLICES,
        alike="partly",
        why="Goodput and its spread grow with the period, and TargetStretch stands best where it is short. First fit "
        "does not fall below 75 % on Uniform, and falls below 84 % on Borg; fewer and longer jobs would lose more.",
    ),
    Element(
        number="fig. 3",
        shows="goodput against the range of the number of machines (4 to 16), a panel per workload",
        file="figures/figure-3-goodput-by-range-of-machines.svg",
        needs=SLICES,
        alike="yes",
        why="Goodput falls with the range on each workload under each heuristic; TargetStretch gains on the others.",
    ),
    Element(
        number="fig. 4",
        shows="goodput, longest stretch, aborted volume and mean aborted time on Borg against the range of machines",
        file="figures/figure-4-four-metrics-on-borg-by-range-of-machines.svg",
        needs=SLICES,
        alike="partly",
        why="Goodput and aborted volume get worse with the range under each heuristic, and TargetStretch aborts least. "
        "Its longest stretch is the shortest at narrow ranges only: at the widest one the two ASAP are level with it "
        "or ahead, and that of first fit is not twice as long.",
    ),
)

# -- margins: how near is near ----------------------------------------------------------------------

SIMILAR: Final = 0.015
"""Goodputs that differ by at most 1.5 points are called alike; "much", "clearly" and "well" is more than that."""
FULL: Final = 0.98
"""Of goodput and aborted share together: what "close to 1" is."""
NEARLY_ALL: Final = 0.95
"""The share of jobs, or of settings, that is nearly all of them."""
COMPARABLE: Final = 1.5
"""The ratio of two stretches up to which they are comparable: well below the 2 to 3 that is called not negligible."""

# -- numbers of the text ----------------------------------------------------------------------------

Quantity = Literal["gain", "relative gain", "machines gain", "whisker", "stretches"]

MEASURES: Final[dict[Quantity, str]] = {
    "gain": "goodput of TargetASAP or PackedTargetASAP less that of FirstFitAware, largest of all settings",
    "relative gain": "goodput of TargetASAP or PackedTargetASAP over that of FirstFitAware, less 1, largest of all "
    "settings",
    "machines gain": "goodput of TargetASAP or PackedTargetASAP less that of FirstFitAware, largest along figure 1",
    "whisker": "10th percentile of the goodput of first fit, aware or not, at the period where it is least",
    "stretches": "max_stretch of FirstFitAware over that of each targeted heuristic, geometric mean of all settings "
    "and of the three",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A number that the text prints, and the claim that it makes.

    Parameters
    ----------
    text
        The claim, in our words.
    place, number
        Where it stands in the paper, and the number that our specification gives it.
    quantity
        What is measured, see `MEASURES`.
    workload
        That of which it is said; empty if it is said of all of them together.
    printed
        The number as it is printed.
    values
        The same as one number, or the two ends of a range.
    at_least, at_most, less_than
        The bounds within which the claim holds.
    unit
        That of `values` and bounds when they are shown.
    """

    text: str
    place: str
    number: str
    quantity: Quantity
    workload: str
    printed: str
    values: tuple[float, ...]
    at_least: float | None = None
    at_most: float | None = None
    less_than: float | None = None
    unit: str = "%"

    def bounds(self) -> dict[str, float]:
        """Return the bounds that there are, by name."""
        each = {"at_least": self.at_least, "at_most": self.at_most, "less_than": self.less_than}
        return {name: value for name, value in each.items() if value is not None}

    def difference(self, found: float) -> float:
        """Return what was found less the nearest value that is printed: 0 within a printed range."""
        nearest = min(max(found, min(self.values)), max(self.values))
        return found - nearest


def _around_two(workload: str) -> Printed:
    return Printed(
        text="The gain in goodput is around 2 points", place="section 6.1", number="V3", quantity="machines gain",
        workload=workload, printed="around 2 %", values=(0.02,), at_least=0.01, at_most=0.03,
    )  # fmt: skip


def _above_84(workload: str) -> Printed:
    return Printed(
        text="First fit stays above 84 % whatever the period", place="section 6.2", number="V14", quantity="whisker",
        workload=workload, printed="above 84 %", values=(0.84, 1.0), at_least=0.84,
    )  # fmt: skip


PRINTED: Final = (
    Printed(
        text="Goodput increases by up to 10 % over that of first fit", place="abstract, sections 6.4 and 7",
        number="V3", quantity="relative gain", workload="", printed="up to 10 %", values=(0.10,), at_least=0.08,
        at_most=0.12,
    ),
    Printed(
        text="The gain in goodput is up to 10 points", place="abstract, sections 6.4 and 7", number="V3",
        quantity="gain", workload="", printed="up to 10 %", values=(0.10,), at_least=0.08, at_most=0.12,
    ),
    _around_two("Uniform"),
    _around_two("3types"),
    Printed(
        text="The gain in goodput is up to almost 10 points", place="section 6.1", number="V3",
        quantity="machines gain", workload=BORG, printed="up to almost 10 %", values=(0.10,), at_least=0.08,
        at_most=0.10,
    ),
    Printed(
        text="First fit can fall below 75 %", place="section 6.2", number="V14", quantity="whisker",
        workload="Uniform", printed="lower than 75 %", values=(0.0, 0.75), less_than=0.75,
    ),
    _above_84("3types"),
    _above_84(BORG),
    *(
        Printed(
            text="The longest stretch of first fit is 2 to 3 times that of the targeted heuristics",
            place="section 6.4", number="V9", quantity="stretches", workload=workload, printed="a factor of 2 to 3",
            values=(2.0, 3.0), at_least=2.0, at_most=3.0, unit="",
        )
        for workload in (BORG, "Uniform", "LogScale", "3types")
    ),
)  # fmt: skip
"""Each number that the text prints of results; it has no table."""
