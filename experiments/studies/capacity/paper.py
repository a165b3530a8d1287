"""What the paper on variable capacity shows and prints: its figures, the numbers of its text, and how near is near."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from experiments.campaigns.paper import Element, Paper, PrintedNumber
from experiments.studies.capacity.settings import BORG

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
        said_in="section 6.1",
        shows="goodput of five heuristics against the average number of machines (20 to 28), a panel per workload",
        file="figures/figure-1-goodput-by-average-machines.svg",
        needs=SLICES,
        why="Boxes, whiskers (10 to 90 %) and stars as printed. The two ASAP lead, TargetStretch falls behind as "
        "machines become more, and goodput falls from 26 to 28. It peaks at 24 machines or before, not at 26, but that "
        "of first fit on LogScale.",
    ),
    Element(
        number="fig. 2",
        said_in="section 6.2",
        shows="goodput against the period of the changes (400 to 32,400 s), a panel per workload",
        file="figures/figure-2-goodput-by-period-of-change.svg",
        needs=SLICES,
        why="Goodput and its spread grow with the period, and TargetStretch stands best where it is short. First fit "
        "does not fall below 75 % on Uniform, and falls below 84 % on Borg; fewer and longer jobs would lose more.",
    ),
    Element(
        number="fig. 3",
        said_in="section 6.3",
        shows="goodput against the range of the number of machines (4 to 16), a panel per workload",
        file="figures/figure-3-goodput-by-range-of-machines.svg",
        needs=SLICES,
        why="Goodput falls with the range on each workload under each heuristic; TargetStretch gains on the others.",
    ),
    Element(
        number="fig. 4",
        shows="goodput, maximum stretch, aborted volume and mean aborted time on Borg against the range of machines",
        file="figures/figure-4-four-metrics-on-borg-by-range-of-machines.svg",
        needs=SLICES,
        why="Goodput and aborted volume get worse with the range under each heuristic, and TargetStretch aborts least. "
        "Its maximum stretch is the least but at a range of 8; at the widest one that of first fit is 1.3 times as "
        "large, not twice. The mean aborted time grows with the range under all but first fit.",
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

Quantity = Literal[
    "gain", "relative gain", "machines gain", "spread", "whisker", "stretches", "stretches of the two ASAP"
]

_GAIN: Final = "goodput of TargetASAP or PackedTargetASAP less that of first fit, aware or not, largest"
MEASURES: Final[dict[Quantity, str]] = {
    "gain": f"{_GAIN} of all settings",
    "relative gain": "goodput of TargetASAP or PackedTargetASAP over that of first fit, aware or not, less 1, mean of "
    "the walks, largest of all settings",
    "machines gain": f"{_GAIN} along figure 1",
    "spread": "largest less least mean goodput of the five heuristics, at the number of machines of figure 1 where it "
    "is largest",
    "whisker": "10th percentile of the goodput of first fit, aware or not, at the period where it is least (the "
    "interval is between values of single walks)",
    "stretches": "max_stretch of each first fit over that of each targeted heuristic, geometric mean of all settings",
    "stretches of the two ASAP": "max_stretch of each first fit over that of each of the two, geometric mean of all "
    "settings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberClaim(PrintedNumber):
    """A number that the text prints, and the claim that it makes.

    Parameters
    ----------
    text
        The claim, in our words.
    number
        The number that our specification gives it.
    quantity
        What is measured, see `MEASURES`.
    workload
        That of which it is said; empty if it is said of all of them together.
    at_least, at_most, less_than
        The bounds within which the claim holds.
    unit
        That of `numbers` and bounds when they are shown.
    ours
        Whether it is another quantity than that of which the paper prints the number.
    """

    text: str
    number: str
    quantity: Quantity
    workload: str
    at_least: float | None = None
    at_most: float | None = None
    less_than: float | None = None
    unit: str = "%"
    ours: bool = False

    def bounds(self) -> dict[str, float]:
        """Return the bounds that there are, by name."""
        each = {"at_least": self.at_least, "at_most": self.at_most, "less_than": self.less_than}
        return {name: value for name, value in each.items() if value is not None}


def _claim(
    quantity: Quantity, workload: str, said: str, numbers: tuple[float, ...], text: str, place: str, number: str,
    *, unit: str = "%", ours: bool = False, **bounds: float,
) -> NumberClaim:  # fmt: skip
    return NumberClaim(
        quantity=quantity, workload=workload, said=said, numbers=numbers, text=text, place=place, number=number,
        what=MEASURES[quantity], unit=unit, ours=ours, **bounds,
    )  # fmt: skip


def _differences(
    workload: str, said: str, number: float, bounds: tuple[float, float], text: str
) -> Iterator[NumberClaim]:
    """Hand out what section 6.1 says of the differences between the heuristics, and the same of the gain."""
    quantities: tuple[tuple[Quantity, str], ...] = (
        ("spread", "The goodputs of the heuristics differ by"),
        ("machines gain", "The gain in goodput on first fit is"),
    )  # fmt: skip
    for quantity, what in quantities:
        yield _claim(
            quantity, workload, said, (number,), f"{what} {text}", "section 6.1", "V3",
            ours=quantity == "machines gain", at_least=bounds[0], at_most=bounds[1],
        )  # fmt: skip


def _above_84(workload: str) -> NumberClaim:
    text = "First fit stays above 84 % whatever the period"
    return _claim("whisker", workload, "above 84 %", (0.84, 1.0), text, "section 6.2", "V14", at_least=0.84)


def _stretches(workload: str) -> Iterator[NumberClaim]:
    quantities: tuple[tuple[Quantity, str], ...] = (
        ("stretches", "each targeted heuristic"), ("stretches of the two ASAP", "each of the two ASAP"),
    )  # fmt: skip
    for quantity, others in quantities:
        yield _claim(
            quantity, workload, "a factor of 2 to 3", (2.0, 3.0), f"The maximum stretch of each first fit is 2 to 3 "
            f"times that of {others}", "section 6.4", "V9", unit="", at_least=2.0, at_most=3.0,
        )  # fmt: skip


_ALL: Final = "abstract, sections 6.4 and 7"
PRINTED: Final = (
    _claim("relative gain", "", "up to 10 %", (0.10,), "Goodput increases by up to 10 % over that of first fit", _ALL,
           "V3", at_least=0.08, at_most=0.12),
    _claim("gain", "", "up to 10 %", (0.10,), "The gain in goodput is up to 10 points", _ALL, "V3", at_least=0.08,
           at_most=0.12),
    *_differences("Uniform", "around 2 %", 0.02, (0.01, 0.03), "around 2 points"),
    *_differences("3types", "around 2 %", 0.02, (0.01, 0.03), "around 2 points"),
    *_differences(BORG, "up to almost 10 %", 0.10, (0.08, 0.10), "up to almost 10 points"),
    _claim("whisker", "Uniform", "lower than 75 %", (0.0, 0.75), "First fit can fall below 75 %", "section 6.2", "V14",
           less_than=0.75),
    _above_84("3types"),
    _above_84(BORG),
    *(each for workload in (BORG, "Uniform", "LogScale", "3types") for each in _stretches(workload)),
)  # fmt: skip
"""Each number that the text prints of results; it has no table."""
