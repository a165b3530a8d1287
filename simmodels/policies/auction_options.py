"""AuctionOptions: the rules of an auction, checked once for both engines; and how its state is made of them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Final, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import Terms
from simmodels.errors import RequestError
from simmodels.ground.durations import as_seconds
from simmodels.ground.instants import LIMIT_S
from simmodels.ground.numbers import as_flag, as_number
from simmodels.ground.streams import entropy
from simmodels.policies.naming import as_bid
from simmodels.policies.options import Options
from simmodels.policies.priority import Priority
from simmodels.structures.auction_state import (
    BACKFILLINGS,
    NETWORKS,
    TRENDS,
    AuctionRules,
    AuctionState,
    append,
    new_auction_state,
)
from simmodels.work import graph
from simmodels.work.curve import tails
from simmodels.work.vocabulary import CHARACTERISTICS, LONGEST, OF_A_PLACE, plain_word
from simmodels.work.workflow import Workflow, delays
from simmodels.work.workload import Job

Network = Literal["cluster", "kind", "none"]
Blocking = Literal["kind", "all"]
SuccessorSum = Literal["recursive", "unique"]
Backfilling = Literal["none", "greedy", "easy"]
End = Literal["drain", "submit"]
Instants = Literal["deadlines", "starvation"]

TRAVEL: Final = ("ccr", "network", "tick_s")
"""The rules that say how the data of workflows travel: `simmodels.Dependencies` has them, too."""
_PVR: Final = as_bid("PVR")


@dataclass(frozen=True, slots=True)
class AuctionOptions(Options):
    """The rules of an auction.

    Parameters
    ----------
    bid
        What tasks offer: a name of the registry (`simmodels.bids`), or a bid of yours (`simmodels.bid`). An order is
        accepted, too, such as a `simmodels.Polynomial`: the task with the smallest value wins, and times are in
        seconds.
    ccr
        How long data transfers take, as a share of the runtime of the task that sends them; rounded up to whole ticks.
    network
        Which transfers take time: all those to another ``"cluster"``; only those between a ``"kind"`` and another that
        no cluster offers both (a task waits until all its data are there); or ``"none"``.
    blocking
        Which tasks a blocked bidder holds back: those of its ``"kind"`` (kinds that no cluster has count as one, and
        tasks without a kind as another), or ``"all"``.
    successor_sum
        Whether work that can be reached on several paths counts once per path (``"recursive"``) or once (``"unique"``).
    plus_one
        Whether bids other than P-SLR, too, take projected SLRs one tick ahead.
    tick_s
        The unit of the auction's times, in seconds: data arrive, and deadlines pass, at whole ticks.
    backfilling
        Which tasks behind a bidder that does not fit may start: ``"none"``, ``"greedy"`` (all that fit), ``"easy"``
        (those that do not delay the first that did not fit).
    cluster_fit
        Which cluster a task is matched with, of those that can take it: the ``"freest"``, with the most free cores, or
        the ``"best"`` fit, with the fewest (ties go to the first).
    admission
        Reject a job at its arrival if it can expect less than this share of its value, behind all the work accepted
        before; by default none is rejected.
    prices
        Whether each task that starts pays the best other bid at that moment (second price), which is recorded.
    budgets
        Whether a job can bid no more than what is left of its largest value after its tasks have paid.
    end
        When the auctions end: ``"drain"`` (when every job is done), ``"submit"`` (with the last submission announced
        to it).
    instants
        Whether an auction is held at each job's deadline (``"deadlines"``), or only if the job starves then
        (``"starvation"``).
    forward
        Whether tasks are forwarded to the queues of schedulers, which the auction stands in front of.
    """

    refuses: ClassVar = {"limits": ("an auction obeys no limits", "leave the bid out, for a queue")}
    changeable: ClassVar = ("bid", "backfilling", "cluster_fit", "blocking", "plus_one", "admission")

    bid: Priority = _PVR
    ccr: float = 0.2
    network: Network = "cluster"
    blocking: Blocking = "kind"
    successor_sum: SuccessorSum = "recursive"
    plus_one: bool = False
    tick_s: float = 1.0
    backfilling: Backfilling = "none"
    cluster_fit: Literal["freest", "best"] = "freest"
    admission: float | None = None
    prices: bool = False
    budgets: bool = False
    end: End = "drain"
    instants: Instants = "deadlines"
    forward: bool = False

    def _verified(self, given: Collection[str]) -> Self:  # noqa: ARG002  all are checked
        flags: dict[str, Any] = {
            name: as_flag(name, getattr(self, name)) for name in ("plus_one", "prices", "budgets", "forward")
        }
        admission = self.admission
        bid, paid = self._checked_bid(), flags["prices"] or flags["budgets"]
        if self.budgets and bid.wins != "high":
            what = f"budgets with bid {bid.name!r}, of which the lowest wins"
            raise RequestError(what, "give a bid of which the highest wins")
        own = (paid, self.backfilling != "none", self.cluster_fit != "freest", self.admission is not None)
        if self.forward and any(own):
            what = f"forward=True with prices={paid}, backfilling={self.backfilling!r}, admission={self.admission}"
            what += f", cluster_fit={self.cluster_fit!r}"
            raise RequestError(what, "leave these out: tasks wait in queues, not for the auction")
        return replace(
            self,
            bid=bid,
            ccr=as_number("ccr", self.ccr, least=0),
            tick_s=as_seconds("tick_s", self.tick_s, above=0),
            admission=None if admission is None else as_number("admission", admission, least=0, most=1, also="None"),
            **{**flags, "prices": paid},
        )

    def _checked_bid(self) -> Priority:
        """Return the bid, if it names only what the auction knows."""
        found = as_bid(self.bid)
        unknown = [name for name in found.needs if plain_word(name) not in CHARACTERISTICS]
        if unknown:
            what = f"bid {found.name!r} names {', '.join(unknown)}"
            raise RequestError(what, f"a bid may name {', '.join(CHARACTERISTICS)}")
        of_a_place = ", ".join(sorted(OF_A_PLACE.intersection(found.needs)))
        if of_a_place and not self.forward:
            what = f"bid {found.name!r} names {of_a_place}"
            raise RequestError(what, "use it with forward=True, of an Auctioneer before schedulers")
        longest = sorted(LONGEST.intersection(found.needs))
        if len(longest) > 1:
            raise RequestError(f"bid {found.name!r} names {' and '.join(longest)}", "name the one or the other")
        if of_a_place and longest:
            what = f"bid {found.name!r} names {longest[0]} and {of_a_place}"
            raise RequestError(what, "name the one or the other: forwarded tasks are in no common queue")
        return found

    def about(self) -> dict[str, object]:
        """Return the rules by name, as a schedule keeps them."""
        return {name: rule for name, rule in self.by_name().items() if name != "forward"} | {"bid": self.bid.name}

    def terms(self, *, modelled: bool = False) -> Terms:
        """Return what a schedule made under these rules is proved by."""
        return Terms(modelled=modelled, network=self.network, ccr=self.ccr, tick_s=self.tick_s)


class _Numbers(dict[str | None, int]):
    """The numbers of kinds, by kind; those that the platform has not have one in common."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__({name: i for i, name in enumerate(names)})
        self._other = len(names)
        self[None] = len(names) + 1

    def __missing__(self, kind: str | None) -> int:
        """Return the number of a kind that the platform has not."""
        return self._other


class Kinds:
    """The kinds that a platform has, by number: the named ones by name, those that it has not, and any.

    Parameters
    ----------
    clusters
        Cores and kind of each cluster; a kind of None takes any task.

    Attributes
    ----------
    of_any
        The number of tasks that any cluster takes, such as rigid jobs.
    """

    def __init__(self, clusters: Sequence[tuple[int, str | None]]) -> None:
        if not clusters:
            raise RequestError("an auction without clusters", "give at least one")
        self.clusters = tuple(clusters)
        self.names = sorted({kind for _, kind in clusters if kind is not None})
        self._number = _Numbers(self.names)
        self.of_any = self._number[None]
        self.largest: dict[str | None, int] = {}
        for cores, kind in clusters:
            self.largest[kind] = max(self.largest.get(kind, 0), cores)

    def numbers(self, kinds: Iterable[str | None], count: int) -> NDArray[np.int64]:
        """Return int64[count], the number of each of these kinds."""
        return np.fromiter(map(self._number.__getitem__, kinds), np.int64, count)

    def widest(self) -> NDArray[np.int64]:
        """Return int64[kinds], the cores of the largest cluster that takes tasks of a kind."""
        widest: NDArray[np.int64] = (self.offers() * np.array([cores for cores, _ in self.clusters])).max(axis=1)
        return widest

    def offers(self) -> NDArray[np.bool_]:
        """Return bool[kinds, clusters], whether a cluster takes tasks of a kind."""
        wanted = [*self.names, object(), None]
        return np.array([[w is None or kind is None or kind == w for _, kind in self.clusters] for w in wanted])

    def apart(self) -> NDArray[np.bool_]:
        """Return bool[kinds, kinds], whether no cluster takes both, so that data between them must travel."""
        offers = self.offers()
        return np.asarray(~(offers[:, None, :] & offers[None, :, :]).any(axis=2))


def rules_of(options: AuctionOptions, kinds: Kinds, *, seed: int) -> AuctionRules:
    """Return the rules as compiled code takes them; parameters as for `open_auction`."""
    bid, needs = options.bid, set(options.bid.needs)
    groups = 1 if options.blocking == "all" else len(kinds.offers())
    return AuctionRules(
        group=np.zeros(len(kinds.offers()), np.int64) if groups == 1 else np.arange(groups),
        groups=groups,
        bid=bid.bid_function,
        high=bid.wins == "high",
        needs_slr=not needs.isdisjoint({"slr", "factor", "area"}),
        needs_factor="factor" in needs,
        needs_area="area" in needs,
        needs_longest=not LONGEST.isdisjoint(needs),
        queues=groups if "longest_of_kind" in needs else 1,
        needs_draw="draw" in needs,
        prices=options.prices,
        budgets=options.budgets,
        every_deadline=options.instants == "deadlines",
        plus=float(options.plus_one),
        admission=float(options.admission or 0.0),
        tick=options.tick_s,
        unit=1.0 if bid.in_seconds else options.tick_s,
        trend=TRENDS["any" if options.budgets else bid.trend],  # what is paid changes the bids of a job at once
        network=NETWORKS[options.network],
        backfilling=BACKFILLINGS[options.backfilling],
        best_fit=options.cluster_fit == "best",
        forward=options.forward,
        seed=entropy(seed, "bid", "draw") >> 65,  # 63 bits
    )


def open_auction(options: AuctionOptions, kinds: Kinds, *, speeds: Sequence[float] = (), seed: int) -> AuctionState:
    """Return the state of an auction that knows no job yet.

    Parameters
    ----------
    options, kinds
        The rules, and the platform.
    speeds
        That of the slowest machine of each cluster; without, 1.
    seed
        For bids that draw.
    """
    offers = kinds.offers()
    free = np.array([cores for cores, _ in kinds.clusters], np.int64)
    size = np.maximum(offers @ free, 1)
    speed, rules = np.array(speeds or [1.0] * len(free)), rules_of(options, kinds, seed=seed)
    pace = offers @ (free * speed) / size
    made: AuctionState = new_auction_state(free, speed, offers, kinds.apart(), size, pace, rules)
    return made


def as_bids(job: Job, tick_s: float, kinds: Kinds, widest: int) -> tuple[float, float, int]:
    """Return when a rigid job was submitted, how long it may run, and its cores, as it bids: a workflow of one task.

    It refuses what a workflow would. Most jobs are found in order without one, in a tenth of the time.
    """
    submit_s, length_s, cores = job.submit_s, max(job.estimate_s, tick_s), job.cores
    plain = type(submit_s) is float and type(length_s) is float and type(cores) is int
    if plain and 0 < cores <= widest and length_s > 0 and -LIMIT_S < submit_s < submit_s + length_s < LIMIT_S:
        return submit_s, length_s, cores
    flow = Workflow(job.job_id, job.submit_s, np.array([length_s]), np.array([job.cores]))
    flow.require_runnable(kinds.largest)
    return flow.submit_s, flow.runtime_s.item(), flow.cores.item()


class WorkflowColumns:
    """What an auction has to know of workflows, as columns over all of them; tasks and jobs numbered from 0.

    Parameters
    ----------
    workflows
        In input order.
    options, kinds
        The rules, and the platform; each task must be able to run there.

    Attributes
    ----------
    first_task
        int64[jobs + 1], where each job's tasks begin.
    critical_path_s, deadline_s, value
        float64[jobs]; the deadline is the instant at which the job starves.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the platform.
    """

    def __init__(self, workflows: Sequence[Workflow], options: AuctionOptions, kinds: Kinds) -> None:
        tick = options.tick_s
        self.first_task = _offsets([len(workflow) for workflow in workflows])
        jobs = np.repeat(np.arange(len(workflows)), np.diff(self.first_task))
        runtime_s = _joined([workflow.runtime_s for workflow in workflows], np.float64)
        cores = _joined([workflow.cores for workflow in workflows], np.int64)
        kind = kinds.numbers(chain.from_iterable(workflow.kind for workflow in workflows), len(cores))
        for job in jobs[cores > kinds.widest()[kind]]:
            workflows[job].require_runnable(kinds.largest)  # it says which task, and why
        target = _joined([workflow.successor for workflow in workflows], np.int64)
        degree = _differences([workflow.first for workflow in workflows])
        edges = [len(workflow.successor) for workflow in workflows]
        successor = target + np.repeat(self.first_task[:-1], edges)
        source = np.repeat(np.arange(len(runtime_s)), degree)
        first = _offsets(degree)
        first_predecessor, predecessor = graph.rows_of(len(runtime_s), successor, source)
        order = graph.topological(first, successor)
        runtime = runtime_s / tick
        delay = delays(runtime, options.ccr)
        apart = kinds.apart() if options.network != "none" else np.zeros((len(kinds.names) + 2,) * 2, np.bool_)
        rank = graph.upward_ranks(order, first, successor, runtime, delay, kind, apart)
        volume = runtime * cores
        if options.successor_sum == "unique":
            total = graph.unique_successor_sums(first, successor, volume)
        else:
            total = graph.successor_sums(order, first, successor, volume)
        path = np.maximum.reduceat(rank, self.first_task[:-1]) if len(workflows) else np.empty(0)
        points = [workflow.curve.points for workflow in workflows]
        first_point = _offsets([len(each) for each in points])
        flat = np.array([pair for each in points for pair in each]).reshape(-1, 2)
        slr, factor = flat[:, 0].copy(), flat[:, 1].copy()
        submit_s = np.array([workflow.submit_s for workflow in workflows], np.float64)
        deadline = submit_s / tick + slr[first_point[1:] - 1] * path
        self.value = np.array([workflow.most_value for workflow in workflows], np.float64)
        self.critical_path_s = path * tick
        self.deadline_s = np.ceil(deadline) * tick
        self._columns = (
            (runtime_s, cores, kind, rank, total, delay * tick, jobs),
            (first, successor, first_predecessor, predecessor),
            (self.first_task, submit_s, path, self.value / tick, deadline, first_point),
            (slr, factor, tails(slr, factor, first_point)),
        )

    def into(self, state: AuctionState) -> None:
        """Make the workflows known to an auction, after those that it knows."""
        append(state, *self._columns)


def _joined(columns: list[Any], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(columns).astype(dtype, copy=False) if columns else np.empty(0, dtype)


def _differences(columns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the differences within each column, one column after the other."""
    lengths = np.array([len(column) for column in columns], np.int64)
    within = np.ones(lengths.sum(), np.bool_)
    within[lengths.cumsum() - 1] = False  # from the end of a column to the begin of the next
    return np.diff(_joined(columns, np.int64), append=0)[within]


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each run of rows begins, and the end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def raise_refused_bid(bid: Priority, job_id: int, task: str, now: float) -> NoReturn:
    """Raise what a bid's function raised, or that it gave no number for a task, with the names of both."""
    raised = bid.take_raised()
    if raised is not None:
        raised.add_note(f"raised by bid {bid.name!r} for task {task} of job {job_id}")
        raise raised
    what = f"bid {bid.name!r} gives no number (NaN) for task {task} of job {job_id} at {now:g} s"
    raise RequestError(what, "make it return a number, or infinity")
