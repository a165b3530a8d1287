"""Random cases on both engines, and on the naive simulators where these know the rules: queues, auctions, machines.

Each case is small, of plain values, and drawn so that times coincide: equal submits, jobs of no runtime, changes,
notices and windows that begin and end at one instant, tenths and thirds of seconds, Unix times. A schedule must be the
same to the last bit on both engines, that of the naive simulator, and legal. The text of a broken case is a call that
repeats it: ``from tests.attacks.differential import *; inf = math.inf`` and then the call.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

import simmodels as sm
from simmodels.errors import SimModelsError
from simmodels.ground.streams import stream
from simmodels.policies.bids import BUILT_IN as BIDS
from simmodels.policies.bids import Bid
from simmodels.policies.order import Order
from simmodels.policies.orders import BUILT_IN as ORDERS
from simmodels.results.attempts import FINISHED, STARVED
from simmodels.results.schedule import Schedule
from simmodels.work.curve import FOREVER, ValueCurve
from tests import naive, naive_capacity
from tests.attacks.attack import Broken, Case
from tests.naive_market import BIDS as NAIVE_BIDS
from tests.naive_market import NaiveAuction
from tests.on_machines import CHOICES, for_the_slow, workload

CASES = 100_000

Described = dict[str, Any]
Column = Sequence[Any] | np.ndarray

_ZEROS: Final = (0.0, 0.0, 0.0, 0.0, -50.0, 1e9, 1.7e9, 1e12)
_UNITS: Final = (1.0, 1.0, 1.0, 0.25, 0.1, 0.1, 1 / 3, 3600.0)


def cases(seed: int) -> Iterator[Case]:
    """Hand out a queue, an auction, machines, and again."""
    for number, (draw, run) in enumerate(itertools.cycle(((a_queue, queue), (an_auction, auction), (some, machines)))):
        yield _case(run, draw(random.Random(f"{seed}/{number}")))


def _case(run: Callable[[Described], str], case: Described) -> Case:
    return lambda: run(case)


class _Differs(Exception):  # noqa: N818  it becomes `Broken`, with the case
    """Two schedules of a case are not the same."""


def _repeatable(run: Callable[[Described], str]) -> Callable[[Described], str]:
    """Say with which call a case can be repeated, whatever it was that broke."""

    def checked(case: Described) -> str:
        try:
            return run(case)
        except (_Differs, SimModelsError) as error:
            raise Broken(f"{run.__name__}({case}): {error}") from error
        except Exception as error:  # whatever the project raises is its failure, and reported with its type
            raise Broken(f"{run.__name__}({case}): {type(error).__name__}: {error}") from error

    checked.__name__ = run.__name__
    return checked


def _same(what: str, names: tuple[str, str], one: Mapping[str, Column], other: Mapping[str, Column]) -> None:
    """Refuse two tables that differ, with the first difference."""
    for column, values in one.items():
        a, b = np.asarray(values), np.asarray(other[column])
        if len(a) != len(b):
            raise _Differs(f"{what}: {column} has {len(a)} rows ({names[0]}) and {len(b)} ({names[1]})")
        unlike = (a != b) & ~(pd.isna(a) & pd.isna(b))
        if unlike.any():
            row = int(np.argmax(unlike))
            raise _Differs(f"{what}: {column}, row {row} is {a[row]!r} ({names[0]}) and {b[row]!r} ({names[1]})")


_ENGINES: Final = ("compiled", "simpy")


# -- queues -------------------------------------------------------------------------------------------


def _decaying(estimate: float, cores: float, wait: float) -> float:
    return estimate * cores / (1.0 + wait)


def _stepped(cores: float, wait: float, submit: float) -> float:
    return -cores if wait > 3.0 else submit


def _as_it_is_called(now: float, runtime: float) -> float:
    return float(str(now % 7.0)) - runtime  # what numba does not know, so that Python is called


OWN_ORDERS: Final = {each.__name__: Order(each.__name__, each) for each in (_decaying, _stepped, _as_it_is_called)}
_ORDERS: Final = (*ORDERS, *naive.FORMULAS, *OWN_ORDERS)  # those that the naive simulator knows count twice


def a_queue(draw: random.Random) -> Described:
    """Draw jobs, a machine, and a way to schedule them."""
    zero, unit = draw.choice(_ZEROS), draw.choice(_UNITS)
    cores, span = draw.randint(1, 6), draw.choice((0, 4, 16))
    jobs = []
    for _ in range(draw.randint(1, 9)):
        runtime = draw.randint(0, 8)
        estimate = runtime if draw.random() < 0.5 else draw.randint(0, 12)
        width = draw.choice((1, cores, draw.randint(1, cores)))
        if draw.random() < 0.01:
            runtime, width = draw.choice(((-1 / unit, width), (runtime, -1)))  # unknown
        jobs.append((zero + draw.randint(0, span) * unit, runtime * unit, estimate * unit, width))
    backfilling = draw.choice(("none", "greedy", "easy", "easy", "conservative"))
    depth = draw.choice((None, None, 1, 2, 4))
    return {
        "jobs": jobs,
        "cores": cores,
        "order": draw.choice(_ORDERS),
        "backfilling": backfilling,
        "backfill_order": draw.choice((None, draw.choice(_ORDERS))) if backfilling == "easy" else None,
        "threshold_s": draw.choice((None, None, 0.0, 0.5 * unit, 3 * unit, 8 * unit)),
        "decide": draw.choice(("instant", "event")),
        "overrun": draw.choice(("run", "kill")),
        "queue_depth": depth,
        "warm_jobs": draw.choice((0, 0, 1, 3)) if depth is None else 0,
        "max_starts": draw.choice((None, None, 1, 2)),
        "max_backfills": draw.choice((None, None, 1, 2)) if backfilling != "none" else None,
        "seed": draw.randint(0, 9),
    }


@_repeatable
def queue(case: Described) -> str:
    """Run a queue on both engines, and naively."""
    submit_s, runtime_s, estimate_s, cores = (np.array(column) for column in zip(*case["jobs"], strict=True))
    jobs = sm.Workload(np.arange(1, len(submit_s) + 1), submit_s, runtime_s, estimate_s, cores)
    how = {name: value for name, value in case.items() if name != "jobs"}
    named = {name: how[name] for name in ("order", "backfill_order")}
    own = {name: OWN_ORDERS.get(order, order) for name, order in named.items()}
    found = [sm.simulate(jobs, **{**how, **own}, engine=engine) for engine in _ENGINES]
    columns = [{n: getattr(each, n) for n in ("start_s", "end_s", "outcome", "counted")} for each in found]
    _same("engines", _ENGINES, *columns)
    found[0].validate()
    if any(order is not None and order not in naive.FORMULAS for order in named.values()):
        return "queue, two engines"
    rows = np.flatnonzero(jobs.known())
    known, seed = jobs.take(rows), how.pop("seed")
    drawn = stream(seed, "order", "draw").random(len(known))
    start_s, end_s = naive.simulate(known, drawn=drawn, **how)
    clear = {"start_s": columns[0]["start_s"][rows], "end_s": columns[0]["end_s"][rows]}
    _same("rules", ("compiled", "naive"), clear, {"start_s": start_s, "end_s": end_s})
    return "queue, two engines and naive"


# -- auctions -----------------------------------------------------------------------------------------

_CURVES: Final[dict[str, ValueCurve]] = {
    "line": ValueCurve.linear(2, 6),
    "steep": ValueCurve.linear(1.5, 3),
    "steps": ValueCurve([(1, 1), (2, 0.5), (2, 0.25), (4, 0)]),
    "long": ValueCurve.linear(2, 60),
    "forever": FOREVER,
}
_PLATFORMS: Final = (
    (("a", 4, "A"), ("b", 4, "A"), ("c", 4, "B")),
    (("a", 5, "A"), ("b", 4, "B")),
    (("a", 4, None), ("b", 5, "A")),
    (("a", 4, None),),
)


def _rising(wait: float, cores: float) -> float:
    return wait / cores


OWN_BIDS: Final = {each.__name__: Bid(each.__name__, each) for each in (_rising,)}
_EVERY: Final = {name: replace(bid, trend="any") for name, bid in BIDS.items() if bid.trend != "any"}
"""Bids of which all are computed at each auction, not only those that could win."""


def an_auction(draw: random.Random) -> Described:
    """Draw workflows, a platform, and the rules of an auction."""
    zero, unit = draw.choice((0.0, 0.0, 0.0, 1e9)), draw.choice((1.0, 1.0, 1.0, 1.0, 0.5, 0.1))
    flows = []
    for _ in range(draw.randint(1, 6)):
        tasks = draw.randint(1, 5)
        pairs = [(a, b) for b in range(tasks) for a in range(b)]
        flows.append(
            {
                "submit_s": zero + draw.randint(0, draw.choice((1, 40))) * unit,
                "runtime_s": [draw.randint(1, 12) * unit for _ in range(tasks)],
                "cores": [draw.randint(1, 4) for _ in range(tasks)],
                "edges": draw.sample(pairs, draw.randint(0, len(pairs))),
                "kind": tuple(draw.choice(("A", "B", "B", None)) for _ in range(tasks)),
                "curve": draw.choice(tuple(_CURVES)),
                "max_value": draw.choice((None, None, 7.0)),
            }
        )
    rules: Described = {
        "network": draw.choice(("cluster", "kind", "none")),
        "blocking": draw.choice(("kind", "all")),
        "successor_sum": draw.choice(("recursive", "unique")),
        "plus_one": draw.random() < 0.5,
        "backfilling": draw.choice(("none", "none", "greedy", "easy")),
        "cluster_fit": draw.choice(("freest", "best")),
        "end": draw.choice(("drain", "submit")),
        "instants": draw.choice(("deadlines", "starvation")),
        "ccr": draw.choice((0.2, 0.2, 0.0, 1.0, 0.37)),
        "tick_s": draw.choice((1.0, 1.0, 1.0, 1.0, unit, 3 * unit)),
        "admission": 0.3 if draw.random() < 0.1 else None,
        "bid": draw.choice((*BIDS, *NAIVE_BIDS, *NAIVE_BIDS, *OWN_BIDS)),
        "prices": draw.random() < 0.2,
        "seed": draw.randint(0, 9),
    }
    rules["budgets"] = rules["bid"] in BIDS and BIDS[rules["bid"]].wins == "high" and draw.random() < 0.1
    return {"flows": flows, "clusters": draw.choice(_PLATFORMS), "rules": rules}


@_repeatable
def auction(case: Described) -> str:
    """Run an auction on both engines, and naively."""
    flows, clusters, rules = case["flows"], case["clusters"], case["rules"]
    jobs = [
        sm.Workflow(number, **{**flow, "curve": _CURVES[flow["curve"]]}) for number, flow in enumerate(flows, start=1)
    ]
    ran = {**rules, "bid": OWN_BIDS.get(rules["bid"], rules["bid"])}
    found = [sm.simulate_workflows(jobs, clusters=clusters, engine=engine, **ran) for engine in _ENGINES]
    columns = [{n: getattr(each, n) for n in ("start_s", "end_s", "cluster", "workflow_outcome")} for each in found]
    prices = [each.price if each.price is not None else [] for each in found]
    _same("engines", _ENGINES, *({**each, "price": price} for each, price in zip(columns, prices, strict=True)))
    found[0].validate()
    if rules["bid"] in _EVERY:
        every = sm.simulate_workflows(jobs, clusters=clusters, **{**rules, "bid": _EVERY[rules["bid"]]})
        _same("bids", ("those that could win", "all"), columns[0], {n: getattr(every, n) for n in columns[0]})
    beyond = rules["tick_s"] != 1 or rules["admission"] is not None or rules["budgets"]
    whole = all(x.is_integer() for flow in flows for x in (flow["submit_s"], *flow["runtime_s"]))  # as the rules are
    if beyond or not whole or rules["bid"] not in NAIVE_BIDS:
        return "auction, two engines"
    names = ("network", "blocking", "successor_sum", "plus_one", "backfilling", "cluster_fit", "end", "instants", "ccr")
    known = {name: rules[name] for name in names}
    plain = NaiveAuction(jobs, [(cores, kind) for _, cores, kind in clusters], rules["bid"], **known)
    states = {"finished": FINISHED, "starved": STARVED}
    slow = {**plain.columns(), "workflow_outcome": [states.get(state, 3) for state in plain.state]}
    _same("rules", ("compiled", "naive"), columns[0], slow)
    return "auction, two engines and naive"


# -- machines that are switched on and off ------------------------------------------------------------------------

_HEURISTICS: Final = ("FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap")
_MORE: Final[dict[str, list[Any]]] = {
    "ties": [None, None, None, None, "index", "window"],
    "raise_above": [0.95, 0.95, 0.85],
    "lower_below": [0.8, 0.8, 0.5, 0.0],
    "length_cap_s": [604_800.0, 9.0],
    "least_machines": [None, 0, 1, 2],
}
_MOST: Final = 5


def some(draw: random.Random) -> Described:
    """Draw jobs, machines that are switched on and off, a window that may begin and end just then, and a heuristic."""
    zero, unit = draw.choice(_ZEROS), draw.choice(_UNITS)
    span = draw.choice((10, 60, 120))
    jobs = sorted((draw.randint(0, span), draw.randint(1, 50), draw.randint(1, 4)) for _ in range(draw.randint(1, 9)))
    times = sorted(draw.sample(range(1, 160), draw.randint(0, 5)))
    edges = sorted({0, 20, *times, *(submit for submit, _, _ in jobs)})
    begin = draw.choice((0, 20, draw.choice(edges)))
    end = draw.choice((draw.randint(begin + 1, 250), draw.choice([edge for edge in edges if edge > begin] or [250])))
    announced = draw.random() < 0.4
    changes = []
    for at, time in enumerate((draw.choice((0, 0, begin)), *times)):
        if changes and changes[-1][0] >= zero + time * unit:
            continue
        number = draw.randint(1 if at == 0 else 0, _MOST)
        notices = (0, 0, 3, 10, 40, 1000, *(time - edge + by for edge in (begin, end) for by in (-1, 0, 1)))
        notice = max(draw.choice(notices), 0) * unit if announced else 0.0
        mode = draw.choice(("kill", "drain", "checkpoint")) if announced else "kill"
        changes.append((zero + time * unit, number, notice, mode))
    heuristic = draw.choice(_HEURISTICS)
    if heuristic == "FirstFit":
        options: Described = {"dispatch": draw.choice(("event", "instant")), "fit": draw.choice(("first", "best"))}
        options |= draw.choice(
            (
                {"fill_order": draw.choice((None, tuple(draw.sample(range(_MOST), _MOST))))},
                {"aware": False, "unaware": "shuffled_fill"},
                {"aware": False, "unaware": "random_kill"},
            )
        )
    else:
        options = {name: draw.choice(values) for name, values in (CHOICES[heuristic] | _MORE).items()}
    saved = tuple(draw.choice(values) for values in ((math.inf, 4 * unit, 7.5 * unit), (0, unit, 5 * unit), (0, 2)))
    window = (zero + begin * unit, zero + end * unit)
    return {
        "jobs": [(zero + submit * unit, runtime * unit, cores) for submit, runtime, cores in jobs],
        "changes": changes,
        "heuristic": heuristic,
        "options": options,
        "checkpoints": draw.choice((None, saved)) if announced else None,
        "window": draw.choice((window, window, window, window, window, window, (window[0], math.inf), None)),
        "reference": [(draw.randint(1, 50), draw.randint(1, 4)) for _ in range(draw.randint(1, 4))],
        "seed": draw.randint(0, 9),
    }


def _columns_of(schedule: Schedule) -> dict[str, Column]:
    assert schedule.attempts is not None
    return {
        **{name: schedule.attempts[name].to_numpy() for name in schedule.attempts},
        **{f"off {name}": schedule.off_spans[name].to_numpy() for name in schedule.off_spans},
        "capacity time_s": schedule.capacity.time_s,
        "capacity machines": schedule.capacity.machines,
        "window": schedule.window,
        "mean machines used": [schedule.about.get("mean_machines_used", math.nan)],
        "left out": [schedule.about["left_out"]],
    }


@_repeatable
def machines(case: Described) -> str:
    """Run jobs on machines that are switched on and off on both engines, and naively."""
    options = dict(case["options"])
    if case["heuristic"] != "FirstFit":
        options["reference"] = workload([(0.0, float(runtime), cores) for runtime, cores in case["reference"]])
    changes = [sm.CapacityChange(*change) for change in case["changes"]]
    found = [
        sm.simulate_on_machines(
            workload(case["jobs"]),
            changes,
            cores_per_machine=4,
            machines=_MOST,
            heuristic=case["heuristic"],
            window_s=case["window"],
            engine=engine,
            seed=case["seed"],
            checkpoints=None if case["checkpoints"] is None else sm.Checkpoints(*case["checkpoints"]),
            **options,
        )
        for engine in _ENGINES
    ]
    _same("engines", _ENGINES, *map(_columns_of, found))
    found[0].validate()
    plain = all(not change.notice_s and change.mode == "kill" for change in changes)
    beyond = case["window"] is None or case["window"][1] == math.inf or options.get("ties") is not None
    if not plain or beyond or case["checkpoints"] is not None or options.get("unaware") == "random_kill":
        return "machines, two engines"
    _same("rules", ("compiled", "naive"), _runs(found[0]), _slowly(case))
    return "machines, two engines and naive"


def _runs(schedule: Schedule) -> dict[str, Column]:
    assert schedule.attempts is not None
    return {n: schedule.attempts[n].to_numpy() for n in ("job_id", "machine", "start_s", "end_s", "outcome")}


def _slowly(case: Described) -> dict[str, Column]:
    """Return the runs of the naive simulator, in order of start."""
    taken = {name: value for name, value in case["options"].items() if name not in {"aware", "unaware", "ties"}}
    options = for_the_slow(taken)
    begin, end = case["window"]
    steps = [(time_s, number) for time_s, number, _, _ in case["changes"]]
    steps[0] = (min(steps[0][0], begin), steps[0][1])  # before the first change there are as many as from it on
    least = options.pop("least_machines", None)
    if least is None:
        at_begin = [number for time_s, number in steps if time_s <= begin][-1]
        least = min([at_begin, *(number for time_s, number in steps if begin < time_s <= end)])
    filled = options.pop("fill_order", None)
    if case["options"].get("unaware") == "shuffled_fill":
        filled = stream(case["seed"], "capacity", "fill").permutation(_MOST).tolist()
    slow = naive_capacity.Naive(
        case["jobs"],
        steps,
        4,
        case["heuristic"],
        begin,
        end,
        least,
        [(float(runtime), cores) for runtime, cores in case["reference"]],
        options,
        list(filled or range(_MOST)),
    ).simulate()
    runs = sorted(slow.attempts, key=lambda run: (run.start, run.job))
    return {
        "job_id": [run.job + 1 for run in runs],
        "machine": [run.machine for run in runs],
        "start_s": [run.start for run in runs],
        "end_s": [math.nan if run.outcome == "running" else run.end for run in runs],
        "outcome": [0 if run.outcome == "done" else 2 for run in runs],
    }
