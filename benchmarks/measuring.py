"""What all cases share: figures, the shared data, and peak memory."""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

Figures = dict[str, float]
Cases = dict[str, Callable[[], Figures]]

SHARED: Final = Path(os.environ.get("SCHEDLAB_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    """Return the peak memory so far of this process, or of the largest of its children, in MB (10^6 bytes)."""
    peak = resource.getrusage(who).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
