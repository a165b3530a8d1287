"""What became of the workflows of an auction, by its state; for both engines."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.results.attempts import WORKFLOW_OUTCOMES, Done
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
_DONE: Final[dict[int, Done]] = {FINISHED: "finished", STARVED: "starved", REJECTED: "rejected"}


def workflow_outcomes(state: AuctionState) -> NDArray[np.int8]:
    """Return int8[workflows], what became of each so far; see `WORKFLOW_OUTCOMES`."""
    outcomes: NDArray[np.int8] = _OUTCOME[state.state[: state.jobs]]
    return outcomes


def done_as(state: AuctionState, numbers: Sequence[int]) -> list[Done | None]:
    """Return what became of some workflows for good, by number; None for one that is not done."""
    return [_DONE.get(each) for each in state.state[np.array(numbers, np.int64)].tolist()]
