"""AuctionState: the state of an auction of cores, one structure that compiled code reads and changes.

Tasks and jobs are numbered in the order in which they were made known (input order), so that ties fall to the smaller
number. Times are in seconds where they are instants and durations of the clock, and in ticks where bids are made of
them; a *group* is a queue of its own: the tasks of a kind, or all tasks if a blocked head blocks every kind.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Ints
from simmodels.structures.arrays import put
from simmodels.structures.signatures import BID_FUNCTION
from simmodels.structures.structure import B2, C1, F1, I1, I2, Handle, Structure, columns_by, found_at
from simmodels.work.curve import FOREVER

# What a task is doing.
COMING: Final = 0  # its job has not arrived, or a predecessor has not ended
TRAVELLING: Final = 1  # its data are on their way
WAITING: Final = 2
RUNNING: Final = 3
ENDED: Final = 4
REMOVED: Final = 5  # its job starved or was rejected

# What a job is doing.
EXPECTED: Final = 0
ACTIVE: Final = 1
FINISHED: Final = 2
STARVED: Final = 3
REJECTED: Final = 4

NETWORKS: Final = {"cluster": 0, "kind": 1, "none": 2}
TRENDS: Final = {"fixed": 0, "worsens": 1, "improves": 2, "any": 3}
BACKFILLINGS: Final = {"none": 0, "greedy": 1, "easy": 2}
FIXED, WORSENS, IMPROVES, ANY = TRENDS.values()
BY_CLUSTER, BY_KIND, _ = NETWORKS.values()
_FOREVER: Final = FOREVER.points
_, _, EASY = BACKFILLINGS.values()


class AuctionState(Handle):
    """A Python handle on the state of an auction; made by `new_auction_state`."""


AUCTION_STATE: Final = Structure(
    AuctionState,
    [
        ("job", I1, "task"),
        ("runtime", F1, "task"),  # seconds
        ("cores", I1, "task"),
        ("kind", I1, "task"),
        ("rank", F1, "task"),  # ticks
        ("successor_sum", F1, "task"),  # core-ticks
        ("delay", F1, "task"),  # seconds that its data travel
        ("missing", I1, "task"),  # predecessors that have not ended
        ("undone", F1, "task"),  # of the runtime: what no checkpoint saved
        ("restart", F1, "task", 0.0),  # seconds that coming back to that takes
        ("phase", C1, "task", COMING),
        ("start", F1, "task", np.nan),
        ("until", F1, "task", np.nan),  # when it ends that runs, as far as is known
        ("end", F1, "task", np.nan),
        ("cluster", I1, "task", -1),
        ("price", F1, "task", np.nan),
        ("ready", F1, "task", -np.inf),  # when its data are wherever it could run
        ("bound", F1, "task", 0.0),  # what its key is at least, until `expiry`
        ("expiry", F1, "task", np.inf),
        ("ahead", F1, "task", 1.0),  # how many ticks after the bound was set it expires
        ("key", F1, "task", 0.0),  # at the present auction; the least wins
        ("place", I1, "task", -1),  # in the heap of its group, by bound
        ("fresh_place", I1, "task", -1),  # in the heap of the auction, by key
        ("turn", I1, "task", -1),  # in the heap by expiry
        ("first_successor", I1, "task", 0),
        ("successor", I1, "edge"),
        ("first_predecessor", I1, "task", 0),
        ("predecessor", I1, "edge"),
        ("first_task", I1, "job", 0),
        ("submit", F1, "job"),  # seconds
        ("critical_path", F1, "job"),  # ticks
        ("value", F1, "job"),
        ("deadline", F1, "job"),  # ticks
        ("first_point", I1, "job", 0),
        ("state", C1, "job", EXPECTED),
        ("left", I1, "job"),  # tasks that have not ended
        # the place of a job in a queue is job x queues + queue, if the bid asks for the longest critical path there
        ("queued", I1, "place", 0),  # tasks that wait
        ("by_length", I1, "place", -1),  # place in the heap of jobs with waiting tasks, longest critical path first
        ("shortness", F1, "place"),  # - critical path
        ("finish", F1, "job", np.nan),  # when it was done, starved or was rejected
        ("purse", F1, "job"),  # what it has left to pay with
        # a point of a value curve
        ("slr", F1, "point"),
        ("factor", F1, "point"),
        ("tail", F1, "point"),
        # how many there are
        ("tasks", types.int64),
        ("jobs", types.int64),
        # the clusters
        ("free", I1),
        ("speed", F1),  # of the slowest machine
        ("interval", F1),  # how checkpoints are written, see `simmodels.passes.checkpointing`
        ("cost", F1),
        ("offers", B2),  # [kind, cluster]
        ("apart", B2),  # [kind, kind]
        ("size", I1),  # cores that a kind can have, of all its clusters
        ("pace", F1),  # the speed of these on average
        # the queues
        ("group", I1),  # by kind
        ("heap", I2),  # [group, entry]
        ("waiting", I1),  # how many entries
        ("least", I1),  # no task of the group needs fewer cores
        ("fresh", I1),
        ("fresh_size", types.int64),
        ("timetable", I1),  # waiting tasks by expiry
        ("timetable_size", types.int64),
        ("lengths", I2),  # [queue, entry]: jobs by critical path; of each group, or of all of them together
        ("lengths_size", I1),
        ("longest", F1),  # by queue: the longest critical path at the auctions of an instant
        ("longest_at", types.float64),  # the instant
        ("longest_bound", F1),  # by group: the bounds hold while the longest critical path is no shorter
        # what is to come
        ("data_time", F1),  # a heap of (instant, task)
        ("data_task", I1),
        ("data_size", types.int64),
        ("due_time", F1),  # a heap of (instant, job)
        ("due_job", I1),
        ("due_size", types.int64),
        # when what runs ends, for EASY alone: a heap of (instant, task); -1 for what was lost
        ("ends_time", F1),
        ("ends_task", I1),
        ("ends_size", types.int64),
        # the options
        ("bid", BID_FUNCTION),
        ("high", types.boolean),
        ("trend", types.int64),
        ("needs_slr", types.boolean),
        ("needs_factor", types.boolean),
        ("needs_area", types.boolean),
        ("needs_longest", types.boolean),
        ("needs_draw", types.boolean),
        ("plus", types.float64),
        ("network", types.int64),
        ("backfilling", types.int64),
        ("best_fit", types.boolean),
        ("forward", types.boolean),  # tasks wait in the queues of places: no cores are counted here
        ("admission", types.float64),
        ("prices", types.boolean),
        ("budgets", types.boolean),
        ("every_deadline", types.boolean),  # an auction is held also at the deadlines of jobs that are done
        ("seed", types.int64),
        ("tick", types.float64),
        ("unit", types.float64),  # of the bid's times, in seconds
        # the work that is promised, by kind: for admission
        ("promised", F1),  # core-seconds that have not started
        ("promised_cores", F1),  # of these tasks
        ("busy_cores", F1),
        ("busy_until", F1),  # sum of cores x end of what runs
        # what happened
        ("placed", I1),
        ("placed_size", types.int64),
        ("refused", types.int64),  # the task for which the bid gave no number; -1 when none
        ("refused_at", types.float64),
    ],
)
_lengthen_tasks, _lengthen_edges = columns_by(AUCTION_STATE, "task"), columns_by(AUCTION_STATE, "edge")
_lengthen_jobs, _lengthen_points = columns_by(AUCTION_STATE, "job"), columns_by(AUCTION_STATE, "point")
_lengthen_places = columns_by(AUCTION_STATE, "place")


auction_state_at = found_at(AUCTION_STATE)


class AuctionRules(NamedTuple):
    """The rules of an auction, as compiled code takes them."""

    group: Ints  # int64[kinds], the queue in which tasks of each kind wait
    groups: int  # how many queues there are
    bid: object  # the C function, of the type `BID_FUNCTION`
    high: bool  # whether the highest bid wins
    # these four, and `needs_draw`: what the bid names
    needs_slr: bool
    needs_factor: bool
    needs_area: bool
    needs_longest: bool
    # over how many queues the longest critical path is taken: 1 for all groups together, else each by itself
    queues: int
    needs_draw: bool
    prices: bool  # whether who starts pays
    budgets: bool  # whether who bids can bid no more than it has
    every_deadline: bool  # whether an auction is held at each deadline
    plus: float  # how many ticks ahead projected SLRs look
    admission: float  # the least share of its value that a job must hope for
    tick: float  # the tick, in seconds
    unit: float  # the unit of the times that the bid gets, in seconds
    trend: int  # a code of `TRENDS`
    network: int  # a code of `NETWORKS`
    backfilling: int  # a code of `BACKFILLINGS`
    best_fit: bool  # whether a task meets the cluster with the fewest free cores of those on which it fits
    forward: bool  # whether places take tasks into queues of theirs, so that all that wait are taken, whatever is free
    seed: int  # of bids that draw


@compiled
def new_auction_state(free, speed, offers, apart, size, pace, rules):
    """Return the state of an auction that knows no job yet; see `simmodels.passes.auction_events` for who calls it."""
    made = structref.new(AUCTION_STATE)
    _lengthen_tasks(made, 1)
    _lengthen_jobs(made, 1)
    made.free = free
    made.speed = speed
    made.interval, made.cost = np.full(speed.size, np.inf), np.zeros(speed.size)
    made.offers = offers
    made.apart = apart
    made.size, made.pace = size, pace
    made.fresh = np.empty(64, np.int64)
    made.data_time = np.empty(64)
    made.data_task = np.empty(64, np.int64)
    made.due_time = np.empty(64)
    made.due_job = np.empty(64, np.int64)
    made.ends_time = np.empty(64)
    made.ends_task = np.empty(64, np.int64)
    made.promised = np.zeros(size.size)
    made.promised_cores = np.zeros(size.size)
    made.busy_cores = np.zeros(size.size)
    made.busy_until = np.zeros(size.size)
    made.placed = np.empty(64, np.int64)
    set_rules(made, rules)
    return made


@compiled
def set_rules(auction, rules):
    """Set the rules of an auction in which no task waits, or all that do will enter again."""
    groups = rules.groups
    auction.bid, auction.high, auction.trend = rules.bid, rules.high, rules.trend
    auction.needs_slr, auction.needs_factor, auction.needs_area = rules.needs_slr, rules.needs_factor, rules.needs_area
    auction.needs_longest, auction.needs_draw, auction.seed = rules.needs_longest, rules.needs_draw, rules.seed
    auction.prices, auction.budgets, auction.every_deadline = rules.prices, rules.budgets, rules.every_deadline
    auction.plus, auction.admission, auction.tick, auction.unit = rules.plus, rules.admission, rules.tick, rules.unit
    auction.network, auction.backfilling, auction.group = rules.network, rules.backfilling, rules.group
    auction.best_fit, auction.forward = rules.best_fit, rules.forward
    auction.heap = np.empty((groups, 64), np.int64)
    auction.waiting = np.zeros(groups, np.int64)
    auction.least = np.zeros(groups, np.int64)
    auction.timetable = np.empty(64, np.int64)
    auction.timetable_size = 0
    auction.lengths = np.empty((rules.queues, 64), np.int64)
    auction.lengths_size = np.zeros(rules.queues, np.int64)
    auction.longest = np.zeros(rules.queues)
    auction.longest_at = np.nan
    auction.longest_bound = np.zeros(groups)
    rows = auction.jobs if auction.needs_longest else 0
    auction.queued = np.zeros(rows * rules.queues, np.int64)
    auction.by_length = np.full(rows * rules.queues, -1)
    auction.shortness = np.repeat(-auction.critical_path[:rows], rules.queues)
    auction.refused = -1


@compiled
def _longer(size, entries):
    """Return how long columns of a size become to have this many entries: at first just as long."""
    return entries if size < 2 else max(2 * size, entries)


@compiled
def _make_room(auction, tasks, edges, jobs, points):
    """Let there be room for as many more tasks, edges, jobs, and points of their value curves."""
    tasks, edges = auction.tasks + tasks + 1, auction.first_successor[auction.tasks] + edges
    jobs, points = auction.jobs + jobs + 1, auction.first_point[auction.jobs] + points
    if tasks > auction.job.size:
        _lengthen_tasks(auction, _longer(auction.job.size, tasks))
    if edges > auction.successor.size:
        _lengthen_edges(auction, _longer(auction.successor.size, edges))
    if jobs > auction.submit.size:
        _lengthen_jobs(auction, _longer(auction.submit.size, jobs))
    if points > auction.slr.size:
        _lengthen_points(auction, _longer(auction.slr.size, points))


@compiled
def _count_in(auction, tasks, jobs):
    """Count in tasks and jobs whose columns are there."""
    first = auction.jobs
    auction.tasks += tasks
    auction.jobs += jobs
    put(auction.purse, first, auction.value[first:], jobs)
    if auction.needs_longest:
        queues = auction.lengths_size.size
        places = auction.jobs * queues
        if places > auction.queued.size:
            _lengthen_places(auction, _longer(auction.queued.size, places))
        for place in range(first * queues, places):
            auction.shortness[place] = -auction.critical_path[place // queues]


@compiled
def append(auction, tasks, edges, jobs, points):
    """Make jobs known; the columns are those of `simmodels.policies.auction_options.WorkflowColumns`."""
    runtime, cores, kind, rank, successor_sum, delay, job = tasks
    first_successor, successor, first_predecessor, predecessor = edges
    first_task, submit, critical_path, value, deadline, first_point = jobs
    slr, factor, tail = points
    n, rows, k, more = auction.tasks, runtime.size, auction.jobs, submit.size
    edge, edges, point, points = auction.first_successor[n], successor.size, auction.first_point[k], slr.size
    _make_room(auction, rows, edges, more, points)
    put(auction.runtime, n, runtime, rows)
    put(auction.undone, n, runtime, rows)
    put(auction.cores, n, cores, rows)
    put(auction.kind, n, kind, rows)
    put(auction.rank, n, rank, rows)
    put(auction.successor_sum, n, successor_sum, rows)
    put(auction.delay, n, delay, rows)
    put(auction.job, n, job + k, rows)
    put(auction.missing, n, first_predecessor[1:] - first_predecessor[:-1], rows)
    put(auction.first_successor, n, first_successor + edge, rows + 1)
    put(auction.successor, edge, successor + n, edges)
    put(auction.first_predecessor, n, first_predecessor + edge, rows + 1)
    put(auction.predecessor, edge, predecessor + n, edges)
    put(auction.first_task, k, first_task + n, more + 1)
    put(auction.submit, k, submit, more)
    put(auction.critical_path, k, critical_path, more)
    put(auction.value, k, value, more)
    put(auction.deadline, k, deadline, more)
    put(auction.first_point, k, first_point + point, more + 1)
    put(auction.left, k, first_task[1:] - first_task[:-1], more)
    put(auction.slr, point, slr, points)
    put(auction.factor, point, factor, points)
    put(auction.tail, point, tail, points)
    _count_in(auction, rows, more)


@compiled
def append_rigid(auction, submit, length, cores, kind, ccr):
    """Make a rigid job known: as `append` does a workflow of one task whose worth never falls.

    Parameters
    ----------
    submit, length
        When it is submitted, and how long it may run, in seconds.
    cores, kind
        Its cores, and the number of its kind.
    ccr
        How long data travel, as a share of the time in which they are made.
    """
    n, k, point = auction.tasks, auction.jobs, auction.first_point[auction.jobs]
    runtime = length / auction.tick
    _make_room(auction, 1, 0, 1, len(_FOREVER))
    auction.runtime[n], auction.undone[n], auction.cores[n], auction.kind[n] = length, length, cores, kind
    auction.rank[n], auction.successor_sum[n] = runtime, runtime * cores
    auction.delay[n] = np.ceil(ccr * runtime) * auction.tick
    auction.job[n], auction.missing[n] = k, 0
    auction.first_successor[n + 1] = auction.first_successor[n]
    auction.first_predecessor[n + 1] = auction.first_predecessor[n]
    auction.first_task[k + 1], auction.left[k] = n + 1, 1
    auction.submit[k], auction.critical_path[k] = submit, runtime
    auction.value[k], auction.deadline[k] = length * cores / auction.tick, np.inf
    auction.first_point[k + 1] = point + len(_FOREVER)
    for slr, factor in _FOREVER:
        auction.slr[point], auction.factor[point] = slr, factor
        auction.tail[point] = 0.0  # no area follows a point at infinity
        point += 1
    _count_in(auction, 1, 1)
