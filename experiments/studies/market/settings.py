"""What the market study varies, as the paper has it: loads, and the tenths of the jobs by size."""

from typing import Final

from experiments.campaigns.claims import Levels

PLAIN: Final = "plain"
ALONE: Final = "alone"
TENTHS: Final = tuple(range(1, 11))
LOADS: Final = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
"""The loads of the paper's figures 3 to 6."""
LOWEST_LOAD: Final = LOADS[0]
HIGHEST_LOAD: Final = LOADS[-1]
FIGURE_7: Final = 1.2
"""The load of figure 7."""
LEADING: Final = ("PVR", "SRTF", "PVDSQ", "PVD")
"""The policies that the paper compares at very high load."""


def at(load: float) -> str:
    """Return a load as it is named."""
    return f"load {100.0 * load:g} %"


def loads(low: float = 0.0, high: float = HIGHEST_LOAD) -> Levels:
    """Return the paper's loads from one to another, as what sentences are along."""
    return {"load": tuple(load for load in LOADS if low <= load <= high)}
