"""The compiled engines: which one a model runs on."""

from simmodels.model import Model
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.placement_options import PlacementOptions
from simmodels.replay.auction import replay_auction
from simmodels.replay.run import Replay
from simmodels.replay.run_on_machines import replay_placer, replay_queue_on_machines
from simmodels.results.schedule import Schedule


def run_compiled(model: Model) -> Schedule:
    """Return the schedule of a model of which nothing is `uncovered`, by the compiled engine."""
    model.work.require_unchanged()
    options = model.options
    if isinstance(options, AuctionOptions):
        return replay_auction(model, options)
    if isinstance(options, PlacementOptions):
        return replay_placer(model, options)
    if model.on_machines:
        return replay_queue_on_machines(model, options)
    replay = Replay(model.work, cores=model.site.size, options=options, seed=model.seed)
    replay.run()
    return replay.schedule()
