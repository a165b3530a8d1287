"""The compiled engines: which one a model runs on."""

from typing import TYPE_CHECKING

import numpy as np

from simmodels.clusters.cluster_spec import Terms
from simmodels.model import Model
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay
from simmodels.results.schedule import UNFINISHED, Schedule

if TYPE_CHECKING:
    from simmodels.replay.run_on_machines import ReplayOnMachines


def run_compiled(model: Model) -> Schedule:
    """Return the schedule of a model of which nothing is `uncovered`, by the compiled engine."""
    model.work.require_unchanged()
    if len(model.sites) > 1 and isinstance(model.options, QueueOptions):
        return _side_by_side(model, model.options)
    replay = replay_of(model)
    replay.run()
    return replay.schedule()


def replay_of(model: Model) -> "Replay | ReplayOnMachines":
    """Return the replay of a model of one queue, placer or auction, of which nothing is `uncovered`."""
    options = model.options
    if isinstance(options, QueueOptions) and not model.on_machines:
        return Replay(model.work, cores=model.site.size, options=options, seed=model.seed)
    # Most models have no machines.
    from simmodels.replay.auction_on_machines import Auction  # noqa: PLC0415
    from simmodels.replay.rigid_on_machines import Placer, Queue  # noqa: PLC0415

    if isinstance(options, AuctionOptions):
        return Auction(model, options)
    return Queue(model, options) if isinstance(options, QueueOptions) else Placer(model, options)


def _side_by_side(model: Model, options: QueueOptions) -> Schedule:
    """Return the schedule of queues that share nothing, each replayed with its own jobs."""
    work, lanes = model.work, model.lanes
    start_s, end_s = np.full((2, len(work)), np.nan)
    outcome = np.full(len(work), UNFINISHED, np.int8)
    counted = np.zeros(len(work), np.bool_)
    for number, site in enumerate(model.sites):
        rows = np.flatnonzero(lanes == number)
        replay = Replay(work.take(rows), cores=site.size, options=options, seed=model.seed)
        replay.run()
        part = replay.schedule()
        start_s[rows], end_s[rows] = part.start_s, part.end_s
        outcome[rows], counted[rows] = part.outcome, part.counted
    return Schedule(
        work,
        sum(site.size for site in model.sites),
        start_s,
        end_s,
        outcome=outcome,
        counted=counted,
        clusters=[site.spec for site in model.sites],
        cluster=np.where(np.isnan(start_s), -1, lanes),
        terms=Terms(overrun=options.overrun, limits=options.limits),
        about={
            "engine": "compiled",
            "seed": model.seed,
            "schedulers": [options.about() for _ in model.sites],
            "left_out": int((~work.known()).sum()),
        },
    )
