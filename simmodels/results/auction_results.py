"""From the state of an auction to the schedule that it made; for both engines."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import ClusterSpec
from simmodels.passes.auction_events import export_results
from simmodels.policies.auction_options import AuctionOptions
from simmodels.results.attempts import WORKFLOW_OUTCOMES
from simmodels.results.schedule import Schedule
from simmodels.structures.auction_state import ACTIVE, EXPECTED, FINISHED, REJECTED, STARVED, AuctionState
from simmodels.work.workload import Workload

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


def schedule_of(
    state: AuctionState,
    workload: Workload,
    clusters: Sequence[ClusterSpec],
    critical_path_s: NDArray[np.float64],
    options: AuctionOptions,
    about: Mapping[str, object],
    *,
    attempts: pd.DataFrame | None = None,
) -> Schedule:
    """Return the schedule of the workflows of a workload so far; `attempts` of which it does not say how long."""
    start_s, end_s, cluster, price, _ = export_results(state)
    return Schedule(
        workload,
        sum(spec.cores for spec in clusters),
        start_s,
        end_s,
        executed_s=end_s - start_s,
        clusters=clusters,
        cluster=cluster,
        workflow_outcome=workflow_outcomes(state),
        critical_path_s=critical_path_s,
        attempts=attempts,
        price=price if options.prices else None,
        terms=options.terms(modelled=attempts is not None),
        about={**options.about(), **about},
    )
