"""The compiled engines: which one a model runs on."""

from simmodels.model import Model
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay
from simmodels.replay.run_on_machines import replay_on_machines
from simmodels.results.schedule import Schedule


def run_compiled(model: Model) -> Schedule:
    """Return the schedule of a model of which nothing is `uncovered`, by the compiled engine."""
    model.work.require_unchanged()
    if not isinstance(model.options, QueueOptions) or model.on_machines:
        return replay_on_machines(model)
    replay = Replay(model.work, cores=model.site.size, options=model.options, seed=model.seed)
    replay.run()
    return replay.schedule()
