"""An auction on the compiled engine: workflows on pools of cores, or on machines that are switched on and off."""

import numpy as np

from simmodels.clusters.checkpoints import checkpoint_numbers
from simmodels.ground.streams import Seeds
from simmodels.model import Model
from simmodels.passes.auction_events import add_free, export_results, refused_task
from simmodels.policies.auction_options import AuctionOptions, Kinds, WorkflowColumns, open_auction, raise_refused_bid
from simmodels.replay.auction_loop import run_auction
from simmodels.replay.auction_on_machines import run_auction_on_machines
from simmodels.replay.occupancy import new_occupancy, parts_of
from simmodels.replay.run_on_machines import spread
from simmodels.replay.runs import new_runs, record
from simmodels.replay.site_machines import SiteMachines
from simmodels.results.attempts import unexpected
from simmodels.results.auction_results import workflow_outcomes
from simmodels.results.schedule import Schedule
from simmodels.structures.structure import address_of


class _Auction:
    """An auction that knows all workflows of a model."""

    def __init__(self, model: Model, options: AuctionOptions) -> None:
        self.model, self.options = model, options
        self.specs = [site.spec for site in model.sites]
        self.workflows = model.work.workflows
        kinds = Kinds([(spec.cores, spec.kind) for spec in self.specs])
        self.state = open_auction(options, kinds, seed=model.seed)
        self.known = WorkflowColumns(self.workflows, options, kinds)
        self.known.into(self.state)
        submit_s = np.array([workflow.submit_s for workflow in self.workflows], np.float64)
        self.arrivals = np.argsort(submit_s, kind="stable")
        self.submit_s = submit_s[self.arrivals]
        self.until_s = float(submit_s.max(initial=-np.inf)) if options.end == "submit" else np.inf
        self.about = {"engine": "compiled", "seed": model.seed}

    def refuse(self) -> None:
        """Raise the error of the bid that gave no number."""
        task, now = refused_task(self.state)
        job = int(np.searchsorted(self.known.first_task, task, side="right")) - 1
        label = self.workflows[job].label(int(task - self.known.first_task[job]))
        raise_refused_bid(self.options.bid, self.workflows[job].job_id, label, now)


def replay_auction(model: Model, options: AuctionOptions) -> Schedule:
    """Return the schedule of workflows under an auction, by the compiled engine.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the platform.
    RequestError
        The bid gave no number for a task; what a Python function raised is raised again.
    """
    auction = _Auction(model, options)
    if model.on_machines:
        return _on_machines(auction)
    if not run_auction(auction.state, auction.arrivals, auction.submit_s, auction.until_s):
        auction.refuse()
    start_s, end_s, cluster, price, _ = export_results(auction.state)
    return Schedule(
        model.work,
        sum(spec.cores for spec in auction.specs),
        start_s,
        end_s,
        executed_s=end_s - start_s,
        clusters=auction.specs,
        cluster=cluster,
        workflow_outcome=workflow_outcomes(auction.state),
        critical_path_s=auction.known.critical_path_s,
        price=price if options.prices else None,
        terms=options.terms(),
        about={**options.about(), **auction.about},
    )


def _on_machines(auction: _Auction) -> Schedule:
    """Return the schedule of workflows under an auction on machines."""
    model, state, known = auction.model, auction.state, auction.known
    seeds = Seeds(model.seed)
    switched = [
        SiteMachines(
            site, model.begin_s, seed=seeds.of("capacity", site.name) if site.removes == "random" else model.seed
        )
        for site in model.sites
    ]
    first = np.cumsum([0, *(each.machines for each in switched)])
    states = np.concatenate([each.states for each in switched])
    size, speed = (np.concatenate(each) for each in zip(*((each.size, each.speed) for each in switched), strict=True))
    occupancy = new_occupancy(states, size, speed, first)
    powers = [
        None if each.site.capacity is None else each.power(states[low:high])
        for each, low, high in zip(switched, first[:-1], first[1:], strict=True)
    ]
    for cluster, each in enumerate(switched):
        add_free(state, cluster, each.free - each.site.size)
    length_s, tasks = model.work.runtime_s, len(model.work)
    runs = new_runs(length_s, length_s, np.zeros(tasks), len(states), checkpoint_numbers(model.sites[0].checkpoints))
    addresses = np.array([0 if power is None else address_of(power) for power in powers], np.int64)
    given = (state, occupancy, runs, addresses, auction.arrivals, auction.submit_s, auction.until_s)
    fine, last_s = run_auction_on_machines(*given)
    if not fine:
        auction.refuse()
    (task, machine, start_s, end_s, work_s, warned_s, outcome), (off, off_from, off_to) = record(runs)
    order = np.lexsort((task, model.work.submit_s[task], start_s))  # as a recorder has them
    rows, machine = task[order], machine[order]
    cluster, off_of = (np.searchsorted(first, each, side="right") - 1 for each in (machine, off))
    attempts = {"start_s": start_s[order], "end_s": end_s[order], "outcome": outcome[order]}
    if len(switched) > 1:
        attempts["cluster"] = cluster
    attempts |= {"machine": machine - first[cluster], "work_s": work_s[order], **unexpected(warned_s=warned_s[order])}
    parts = parts_of(occupancy)
    parts[:, 1] -= first[np.searchsorted(first, parts[:, 1], side="right") - 1]
    price = {"price": export_results(state)[3]} if auction.options.prices else {}
    return Schedule.from_attempts(
        model.work,
        auction.specs,
        rows,
        attempts,
        off=(off_of, off - first[off_of], off_from, off_to),
        window=(model.begin_s, last_s),
        workflow_outcome=workflow_outcomes(state),
        critical_path_s=known.critical_path_s,
        terms=auction.options.terms(modelled=True),
        about={**auction.options.about(), **auction.about, "left_out": 0},
        parts=spread(rows, order, parts),
        **price,
    )
