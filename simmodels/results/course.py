"""Course: how long each attempt takes, and how much of its work is kept, by its job, its machines and its checkpoints.

It follows each job from attempt to attempt, by the rules of `simmodels.passes.checkpointing`; the proof holds against
it what a schedule says.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import ClusterSpec
from simmodels.ground.later import pd
from simmodels.passes.checkpointing import followed
from simmodels.results.attempts import RULE_COLUMNS, Attempts, parts_of


class Course(NamedTuple):
    """What attempts come to; one entry per attempt."""

    lasts_s: NDArray[np.float64]  # how long it takes if nothing comes between
    limit_s: NDArray[np.float64]  # how long it may take by the estimate of its job
    # For how long it does work that is not lost, by its outcome and its end; of one that still runs, by the end of the
    # window.
    work_s: NDArray[np.float64]
    # whether that is what must be: not of one that is changed, and of those of its job that follow it
    known: NDArray[np.bool_]


def with_conditions(
    attempts: Attempts, clusters: Sequence[ClusterSpec], parts: "Callable[[], pd.DataFrame | None]"
) -> Attempts:
    """Return attempts with the speeds and checkpoints of their clusters, where they do not say their own.

    Parameters
    ----------
    attempts
        The attempts.
    clusters
        The clusters.
    parts
        Called for those of the attempts on several machines, see `Schedule`, or None, where machines differ in speed:
        these run as fast as the slowest of them.
    """
    own = {name: np.array(getattr(attempts, name)) for name in ("speed", *RULE_COLUMNS)}
    for name, said in own.items():
        said[:] = np.where(np.isnan(said), _said_by(clusters, name, attempts.cluster, attempts.machine), said)
    table = parts() if any(spec.speeds for spec in clusters) else None
    if table is not None and len(table):
        found = parts_of(attempts, np.isnan(attempts.speed), table)
        slowest = _said_by(clusters, "speed", found["cluster"].to_numpy(), found["machine"].to_numpy())
        np.minimum.at(own["speed"], found["at"].to_numpy(), slowest)
    return attempts._replace(**own)


def _said_by(
    clusters: Sequence[ClusterSpec], name: str, cluster: NDArray[np.int64], machine: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what clusters say of these machines of theirs, by the name of a column of attempts."""
    said = np.ones(len(cluster))
    for number, spec in enumerate(clusters):
        values = np.array((spec.speeds or (1.0,)) if name == "speed" else [spec.checkpoints[RULE_COLUMNS.index(name)]])
        here = cluster == number
        said[here] = values[np.clip(machine[here], 0, len(values) - 1)]
    return said


def course(attempts: Attempts, runtime_s: NDArray[np.float64], estimate_s: NDArray[np.float64], now_s: float) -> Course:
    """Return what attempts come to that are in order: by row, and attempt.

    Parameters
    ----------
    attempts
        The attempts, with their speeds and checkpoints.
    runtime_s, estimate_s
        float64[n], of the jobs.
    now_s
        The end of the window, for those that still run; NaN if it is not known.
    """
    a = attempts
    given = (a.start_s, a.end_s, a.outcome, a.speed, a.interval_s, a.cost_s, a.restart_s, a.warned_s, a.earlier_s)
    plain = [np.ascontiguousarray(each) for each in given]
    lasts_s, limit_s, work_s = followed(a.row, *plain, runtime_s, estimate_s, float(now_s))
    changed = pd.Series(a.changed).groupby(a.row).cummax().to_numpy(np.bool_)
    return Course(lasts_s, limit_s, work_s, known=~changed)
