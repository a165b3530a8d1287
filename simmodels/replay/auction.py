"""Replay of an auction: workflows through the compiled clock."""

from collections.abc import Sequence

import numpy as np

from simmodels.outcomes import schedule_of
from simmodels.passes.trading import refused_task
from simmodels.policies.auction_options import AuctionOptions, Kinds, Known, open_market, raise_refused_bid
from simmodels.replay.trade import trade
from simmodels.results.place import Place
from simmodels.schedule import Schedule
from simmodels.workflow import Workflow
from simmodels.workload import Workload


def replay_auction(
    workflows: Sequence[Workflow], clusters: Sequence[Place], options: AuctionOptions, *, seed: int = 0
) -> Schedule:
    """Return the schedule of workflows under an auction, by the compiled clock.

    Parameters
    ----------
    workflows, clusters
        The jobs, and the platform.
    options
        The rules of the auction.
    seed
        For bids that draw.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the platform.
    RequestError
        The bid gave no number for a task; what a Python function raised is raised again.
    """
    kinds = Kinds([(place.cores, place.kind) for place in clusters])
    market = open_market(options, kinds, seed=seed)
    known = Known(workflows, options, kinds)
    known.into(market)
    submit_s = np.array([workflow.submit_s for workflow in workflows], np.float64)
    arrivals = np.argsort(submit_s, kind="stable")
    until = float(submit_s.max(initial=-np.inf)) if options.end == "submit" else np.inf
    if not trade(market, arrivals, submit_s[arrivals], until):
        task, now = refused_task(market)
        job = int(np.searchsorted(known.first_task, task, side="right")) - 1
        label = workflows[job].label(int(task - known.first_task[job]))
        raise_refused_bid(options.bid, workflows[job].job_id, label, now)
    workload = Workload.of_workflows(workflows)
    about = {"engine": "compiled", "seed": seed}
    return schedule_of(market, workload, clusters, known.critical_path_s, options, about)
