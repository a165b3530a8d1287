"""What became of the workflows of an auction, by its state; for both engines."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.passes.auction_events import export_results
from simmodels.results.attempts import WORKFLOW_OUTCOMES
from simmodels.structures.auction_state import ACTIVE, EXPECTED, FINISHED, REJECTED, STARVED, AuctionState

_OUTCOME: Final[NDArray[np.int8]] = np.empty(5, np.int8)
for _state, _name in (
    (EXPECTED, "unfinished"),
    (ACTIVE, "unfinished"),
    (FINISHED, "finished"),
    (STARVED, "starved"),
    (REJECTED, "rejected"),
):
    _OUTCOME[_state] = WORKFLOW_OUTCOMES.index(_name)


def workflow_outcomes(state: AuctionState) -> NDArray[np.int8]:
    """Return int8[workflows], what became of each so far; see `WORKFLOW_OUTCOMES`."""
    outcomes: NDArray[np.int8] = _OUTCOME[export_results(state)[-1]]
    return outcomes
