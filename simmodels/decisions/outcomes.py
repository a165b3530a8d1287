"""From the state of an auction to the schedule that it made; for both clocks."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.decisions.auction_options import AuctionOptions
from simmodels.decisions.market import ACTIVE, EXPECTED, FINISHED, REJECTED, STARVED, Market
from simmodels.decisions.trading import found
from simmodels.workflow import Workflow
from simmodels.workflow_schedule import OUTCOMES, Place, WorkflowSchedule

_OUTCOME: Final = np.empty(5, np.int8)
for _state, _name in (
    (EXPECTED, "unfinished"),
    (ACTIVE, "unfinished"),
    (FINISHED, "finished"),
    (STARVED, "starved"),
    (REJECTED, "rejected"),
):
    _OUTCOME[_state] = OUTCOMES.index(_name)


def schedule_of(
    market: Market,
    workflows: Sequence[Workflow],
    clusters: Sequence[Place],
    critical_path_s: NDArray[np.float64],
    options: AuctionOptions,
    about: Mapping[str, object],
) -> WorkflowSchedule:
    """Return the schedule so far."""
    start_s, end_s, cluster, price, state = found(market)
    return WorkflowSchedule(
        workflows,
        clusters,
        start_s,
        end_s,
        cluster,
        outcome=_OUTCOME[state],
        critical_path_s=critical_path_s,
        price=price if options.prices else None,
        about={**options.about(), **about},
    )
