"""Random models of many parts: clusters, what changes them, who schedules, who sends jobs there, logs and workflows.

Each schedule is gone through by a checker that shares no code with the proof (`tests.checker`), beside a record of what
was seen to start and end; the proof must accept it, and refuse it once it was tampered with. What the compiled engine
covers runs on both. The text of a broken case has the smallest model found that still breaks, as a call that repeats
it: ``from tests.attacks.models import *; inf = math.inf`` and then the call.
"""

import copy
import math
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

import simmodels as sm
from simmodels.errors import IllegalScheduleError, ImpossibleJobError, RequestError
from tests import checker
from tests.attacks.attack import Broken, Case
from tests.checker import COMPLETED, KILLED, NEVER, UNFINISHED, Fault, Place, Travel
from tests.own_schedulers import AsTheyCome, ShortestThatFits

CASES = 5_000

# Faults that are known and not yet mended: a model that shows one is counted, and breaks nothing. `= {}` checks all.
KNOWN: Final[dict[str, str]] = {}

Described = dict[str, Any]
Taker = sm.Scheduler | sm.Router | sm.Dependencies

HORIZON_S: Final = 4_000.0
_ORDERS: Final = ("FCFS", "LCFS", "SPF", "LPF", "SQF", "SAF", "LAF", "WFP3", "UNICEF", "F1", "RANDOM")
_BIDS: Final = ("FIFO", "SRTF", "LRTF", "P-SLR", "PV", "PVD", "PVDSQ", "EDF", "PVR", "Random")
_TARGETED: Final = ("TargetStretch", "TargetAsap", "PackedTargetAsap")
_PLAIN: Final = {"order": "FCFS", "threshold_s": None, "queue_depth": None, "max_starts": None}
"""Options of a queue by which the first that waits stays the first, and starts as soon as it fits."""
_REFERENCE: Final = {"submit_s": [0, 0, 0], "runtime_s": [3, 9, 20], "cores": [1, 2, 1]}


def cases(seed: int) -> Iterator[Case]:
    """Hand out one model after the other."""
    number = 0
    while True:
        yield _case(f"{seed}/{number}")
        number += 1


def _case(drawn: str) -> Case:
    return lambda: attack(drawn)


# -- what is drawn ----------------------------------------------------------------------------------------


def a_model(draw: random.Random) -> Described:
    """Draw a model, as plain values, at one of some magnitudes of time."""
    unit = draw.choice((1.0, 1.0, 1.0, 0.1, 1 / 3))
    return {**_scaled(_drawn(draw), unit), "unit": unit}


_TIMES: Final = {"rebalance_s", "threshold_s", "repair_s", "mtbf_s"} | {
    *("submit_s", "runtime_s", "notice_s", "period_s", "start_s", "duration_s", "after_s", "boot_s", "off_s", "on_s"),
    *("tick_s", "checkpoints"),
}


def _scaled(given: Any, unit: float, name: str = "") -> Any:  # noqa: ANN401  plain values of any depth
    """Return a model with all times multiplied."""
    if unit == 1.0:
        return given
    if isinstance(given, dict):
        return {key: _scaled(value, unit, key) for key, value in given.items()}
    if name == "jobs":
        return [(submit * unit, runtime * unit, estimate * unit, cores) for submit, runtime, estimate, cores in given]
    if name == "table":
        return [(at * unit, machines, notice * unit, mode) for at, machines, notice, mode in given]
    if name == "script":
        return [
            (at * unit, part, number, _scaled(change, unit, "checkpoints" if part == "checkpoints" else ""))
            for at, part, number, change in given
        ]
    if isinstance(given, list | tuple):
        return type(given)(_scaled(each, unit, name) for each in given)
    return given * unit if name in _TIMES and given is not None else given


def _drawn(draw: random.Random) -> Described:
    """Draw a model, all of whose times are whole."""
    fronts = ("one", "one", "one", "router", "router", "nested", "auction", "auction", "forwarding", "before auctions")
    front = draw.choice((*fronts, "sites", "sites", "sites"))
    if front == "sites":
        return _sites(draw)
    many = 1 if front == "one" else draw.randint(1, 3) if front == "auction" else draw.randint(2, 3)
    auctioned = front in {"auction", "before auctions"}
    kinds = front == "auction" and draw.random() < 0.3
    clusters = [_cluster(draw, auctioned=auctioned, kinds=kinds) for _ in range(many)]
    model: Described = {
        "front": front,
        "router": draw.choice(("RoundRobin", "LeastLoaded", "RoundRobin" if auctioned else "EarliestStart")),
        "clusters": clusters,
        "jobs": [],
        "flows": [],
        "auctions": [
            _rules(draw, forward=front == "forwarding", placers=any(map(_places, clusters))) for _ in range(2)
        ],
        "dependencies": None,
        "script": [],
        "seed": draw.randint(0, 99),
    }
    shared = {name: model["auctions"][0][name] for name in ("ccr", "network", "tick_s")}
    if draw.random() < 0.8:  # who releases tasks, and who takes them, may disagree: that is refused
        model["auctions"][1] |= shared
    if front != "forwarding" and draw.random() < (0.1 if front == "auction" else 0.3):
        own = {"ccr": draw.choice((0.0, 0.2, 0.5)), "network": draw.choice(("cluster", "none")), "tick_s": 1.0}
        model["dependencies"] = shared if auctioned and draw.random() < 0.8 else own
    promised = front == "one" and draw.random() < 0.3
    if promised:  # EASY's promise holds
        options = {**_options(draw, "queue"), "backfilling": "easy", **_PLAIN}
        changed = {"checkpoints": None, "changes": [], "scheduler": ("queue", options)}
        clusters[0] |= changed
    work = "log" if promised else draw.choice(("log", "flows", "both"))
    _add_work(draw, model, kinds=kinds, work=work, hold=promised)
    if promised:
        return model
    for _ in range(draw.choice((0, 0, 1, 3))):
        part, number, change = _turn(draw, model)
        beside = 0.37 if part == "checkpoints" else draw.choice((0, 0, 0.37))  # no job starts at that very instant
        model["script"].append((draw.randint(0, 80) + beside, part, number, change))
    return model


def _sites(draw: random.Random) -> Described:
    """Draw what `simulate` runs on both engines: one cluster with a queue or a placer, or an auction before some."""
    what = draw.choice(("queue", "queue", "FirstFit", draw.choice(_TARGETED), "auction", "auction"))
    clusters = [
        _cluster(draw, auctioned=True, kinds=False) for _ in range(draw.randint(1, 3) if what == "auction" else 1)
    ]
    for each in clusters:
        size = draw.randint(1, 4)
        each |= {"speed": 1.0, "machines": each["machines"] and [(draw.randint(1, 4), size, 1.0)]}
        if what in {"FirstFit", *_TARGETED}:
            each |= {"cores": None, "machines": [(draw.randint(1, 4), size, 1.0)]}
        each["changes"], each["scheduler"] = [], (what, {})
        if each["machines"] is None:
            each["checkpoints"] = None
        elif draw.random() < 0.7:
            table = _change(draw, each["machines"][0][0], "TraceCapacity")
            each["changes"].append(table)
    options = _rules(draw, forward=False) if what == "auction" else _options(draw, what)
    if what == "queue":
        clusters[0]["scheduler"] = ("queue", options)
        options["decide"] = draw.choice(("instant", "instant", "event"))
    model: Described = {
        "front": "sites",
        "clusters": clusters,
        "jobs": [],
        "flows": [],
        "auctions": [options],
        "dependencies": None,
        "script": [],
        "seed": draw.randint(0, 99),
    }
    _add_work(draw, model, kinds=False, work="flows" if what == "auction" else "log", hold=False)
    return model


def _add_work(draw: random.Random, model: Described, *, kinds: bool, work: str, hold: bool) -> None:
    """Draw a log, workflows, or both; `hold` is whether all estimates do."""
    clusters = model["clusters"]
    widest = (min if kinds else max)(map(_widest, clusters))
    span, hold = draw.choice((0, 20, 60)), hold or draw.random() < 0.5
    if work != "flows":
        for _ in range(draw.randint(1, 10)):
            runtime = draw.choice((draw.randint(1, 30), draw.randint(1, 9), 0 if draw.random() < 0.2 else 4))
            runtime = max(runtime, 1) if any(_places(each) for each in clusters) else runtime
            estimate = runtime + draw.choice((0, 0, draw.randint(0, 10)))
            estimate = estimate if hold or draw.random() < 0.7 else draw.randint(0, 12)
            width = draw.choice((1, widest, draw.randint(1, widest)))
            model["jobs"].append((draw.randint(0, span), runtime, estimate, width))
    if work != "log":
        named = [each["kind"] for each in clusters if each["kind"] is not None]
        for _ in range(draw.randint(1, 3)):
            tasks = draw.randint(1, 5)
            pairs = [(a, b) for b in range(tasks) for a in range(b)]
            model["flows"].append(
                {
                    "submit_s": draw.randint(0, span),
                    "runtime_s": [draw.randint(1, 12) for _ in range(tasks)],
                    "cores": [draw.randint(1, widest) for _ in range(tasks)],
                    "edges": draw.sample(pairs, draw.randint(0, len(pairs))),
                    "kind": tuple(draw.choice((None, *named)) for _ in range(tasks)) if kinds else None,
                }
            )


def _widest(cluster: Described) -> int:
    """Return the most cores that a job may need on a cluster."""
    if cluster["cores"] is not None:
        return cluster["cores"]
    sizes = [cores for count, cores, _ in cluster["machines"] for _ in range(count)]
    return sizes[0] if _places(cluster) else sum(sizes)


def _places(cluster: Described) -> bool:
    return cluster["scheduler"][0] in {"FirstFit", *_TARGETED}


def _cluster(draw: random.Random, *, auctioned: bool, kinds: bool) -> Described:
    """Draw a cluster, what changes its machines, and its scheduler."""
    speeds = draw.choice(((1.0,), (1.0,), (1.0, 2.0, 0.5)))
    named = draw.choice((("queue",), ("queue",), ("queue",), ("FirstFit",), _TARGETED, ("own",)))
    scheduler = draw.choice(named)
    pool = draw.random() < 0.2 and scheduler in {"queue", "own"}
    groups = [(draw.randint(1, 3), draw.randint(1, 4), draw.choice(speeds)) for _ in range(draw.choice((1, 1, 2)))]
    if scheduler in {"FirstFit", *_TARGETED}:
        groups = [(count, groups[0][1], 1.0 if scheduler != "FirstFit" else speed) for count, _, speed in groups]
    machines = sum(count for count, _, _ in groups)
    writing = (draw.choice((3.0, 5.0, 8.0, math.inf)), draw.choice((0.0, 1.0)), draw.choice((0.0, 2.0)))
    return {
        "cores": draw.randint(2, 8) if pool else None,
        "machines": None if pool else groups,
        "speed": draw.choice(speeds) if pool else 1.0,
        "kind": draw.choice((None, "A", "B")) if kinds else None,
        "checkpoints": writing if draw.random() < 0.4 else None,
        "changes": [] if pool else [_change(draw, machines) for _ in range(draw.choice((0, 0, 1, 1, 2)))],
        "scheduler": (scheduler, {} if auctioned else _options(draw, scheduler)),
    }


def _options(draw: random.Random, scheduler: str) -> Described:
    """Draw the options of a scheduler."""
    if scheduler == "own":
        return {"class": draw.choice(("AsTheyCome", "ShortestThatFits"))}
    if scheduler == "FirstFit":
        return {
            "order": draw.choice(("FCFS", draw.choice(_ORDERS))),
            "fit": draw.choice(("first", "best")),
            "dispatch": draw.choice(("event", "instant")),
        }
    if scheduler != "queue":
        return {}
    backfilling = draw.choice(("none", "greedy", "easy", "easy", "easy", "conservative"))
    depth = draw.choice((None, None, None, 1, 3))
    return {
        "order": draw.choice(("FCFS", draw.choice(_ORDERS))),
        "backfilling": backfilling,
        "backfill_order": draw.choice((None, draw.choice(_ORDERS))) if backfilling == "easy" else None,
        "threshold_s": draw.choice((None, None, 0.0, 10.0)),
        "overrun": draw.choice(("run", "kill")),
        "queue_depth": depth,
        "max_starts": draw.choice((None, None, None, 1)),
    }


def _change(draw: random.Random, machines: int, what: str | None = None) -> tuple[str, Described]:
    """Draw something that switches machines."""
    notice_s = draw.choice((0.0, 0.0, 5.0, 20.0))
    mode = draw.choice(("kill", "drain", "checkpoint"))
    said = {"notice_s": notice_s, "mode": mode}
    kinds = ("MarkovCapacity", "TraceCapacity", "Failures", "Maintenance", "SleepWhenIdle", "script")
    what = draw.choice(kinds) if what is None else what
    if what == "MarkovCapacity":
        low = draw.randint(0, machines)
        more = {"low": low, "high": machines, "step": 1, "period_s": draw.choice((7.0, 20.0)), **said}
        return what, {**more, "removes": draw.choice(("highest", "random"))}
    if what == "TraceCapacity":
        times = sorted(draw.sample(range(1, 100), draw.randint(1, 4)))
        table = [(0.0, draw.randint(0, machines), 0.0, "kill")]
        table += [(float(at), draw.randint(0, machines), draw.choice((0.0, notice_s)), mode) for at in times]
        return what, {"table": [*table[:-1], (times[-1], machines, 0.0, "kill")]}
    if what == "Failures":
        return what, {"mtbf_s": draw.choice((40.0, 200.0)), "repair_s": draw.choice((5.0, 30.0)), "shape": 0.7}
    if what == "Maintenance":
        chosen = draw.choice((None, sorted(draw.sample(range(machines), draw.randint(1, machines)))))
        return what, {"start_s": float(draw.randint(0, 60)), "duration_s": 15.0, "machines": chosen, **said}
    if what == "SleepWhenIdle":
        awake = draw.randint(0, machines)
        return what, {"after_s": draw.choice((0.0, 5.0)), "boot_s": draw.choice((0.0, 4.0)), "awake": awake}
    begin = draw.randint(0, 50)
    return what, {"machine": draw.randrange(machines), "off_s": begin, "on_s": begin + draw.randint(1, 30)}


def _rules(draw: random.Random, *, forward: bool, placers: bool = False) -> Described:
    """Draw the rules of an auction."""
    rules: Described = {
        "bid": draw.choice(_BIDS),
        "ccr": draw.choice((0.2, 0.2, 0.0, 1.0)),
        "network": draw.choice(("cluster", "cluster", "kind", "none")),
        "blocking": draw.choice(("kind", "all")),
        "plus_one": draw.random() < 0.3,
        "tick_s": draw.choice((1.0, 1.0, 2.0)),
    }
    if forward:
        sends = placers or draw.random() < 0.7
        return {**rules, "forward": sends, "rebalance_s": draw.choice((None, 15.0)) if sends else None}
    more = {"backfilling": draw.choice(("none", "greedy", "easy")), "cluster_fit": draw.choice(("freest", "best"))}
    return {**rules, **more, "prices": draw.random() < 0.2}


def _turn(draw: random.Random, model: Described) -> tuple[str, int, Described | tuple[float, float, float]]:
    """Draw an option that a script changes: of which part, of which of these, and to what."""
    number = draw.randrange(len(model["clusters"]))
    scheduler = model["clusters"][number]["scheduler"][0]
    if draw.random() < 0.2:
        return "checkpoints", number, (draw.choice((3.0, 6.0, math.inf)), draw.choice((0.0, 1.0)), 1.0)
    if model["front"] == "auction":
        return "auction", 0, draw.choice(({"bid": draw.choice(_BIDS)}, {"blocking": "all"}, {"plus_one": True}))
    if model["front"] == "before auctions" or scheduler not in {"queue", "FirstFit"}:
        return "nothing", number, {}
    if scheduler == "FirstFit":
        return (
            "scheduler",
            number,
            draw.choice(({"order": draw.choice(_ORDERS)}, {"fit": "best"}, {"dispatch": "instant"})),
        )
    backfilling = draw.choice(("none", "greedy", "easy", "conservative"))
    changes = (
        {"order": draw.choice(_ORDERS)},
        {"backfilling": backfilling, "backfill_order": None},
        {"threshold_s": draw.choice((None, 5.0))},
        {"overrun": draw.choice(("run", "kill"))},
        {"queue_depth": draw.choice((None, 2))},
    )
    return "scheduler", number, draw.choice(changes)


# -- how it is run ----------------------------------------------------------------------------------------


@dataclass
class Ran:
    """A model that was run, and what was seen of it."""

    env: sm.Environment
    clusters: list[sm.Cluster]
    seen: Counter[tuple[object, ...]] = field(default_factory=Counter)
    done: bool = False
    recorders: list[sm.Recorder] = field(default_factory=list)

    def see(self, event: sm.Ended) -> None:
        """Take note of an attempt that has ended."""
        attempt = event.attempt
        job, task = attempt.submitted.job_id, getattr(attempt.submitted, "task", 0)
        code = {"COMPLETED": COMPLETED, "KILLED": KILLED}.get(attempt.outcome.name, UNFINISHED)
        parts = tuple(sorted((machine.index, cores) for machine, cores in attempt.places)) or ((0, attempt.job.cores),)
        self.seen[job, task, attempt.start_s, attempt.end_s, code, attempt.cluster.number, parts] += 1


def _made(env: sm.Environment, number: int, given: Described) -> sm.Cluster:
    """Make a cluster, and what changes it."""
    machines = given["machines"] and [sm.Machines(*group) for group in given["machines"]]
    writing = given["checkpoints"] and sm.Checkpoints(*given["checkpoints"])
    sizes: Described = (
        {"cores": given["cores"], "speed": given["speed"]} if machines is None else {"machines": machines}
    )
    cluster = sm.Cluster(env, "abc"[number], **sizes, kind=given["kind"], checkpoints=writing)
    for what, how in given["changes"]:
        if what == "script":
            env.process(_switched(env, cluster.machines[how["machine"]], how["off_s"], how["on_s"]))
        elif what == "TraceCapacity":
            sm.TraceCapacity(env, cluster, [sm.CapacityChange(*change) for change in how["table"]])
        else:
            getattr(sm, what)(env, cluster, **how)
    return cluster


def _switched(env: sm.Environment, machine: sm.Machine, off_s: float, on_s: float) -> Iterator[Any]:
    yield env.timeout(off_s)
    machine.power_off()
    yield env.timeout(on_s - off_s)
    machine.power_on()


def _scheduler(env: sm.Environment, cluster: sm.Cluster, given: tuple[str, Described]) -> sm.Scheduler:
    name, options = given
    if name == "queue":
        return sm.QueueScheduler(env, cluster, **options)
    if name == "own":
        return {"AsTheyCome": AsTheyCome, "ShortestThatFits": ShortestThatFits}[options["class"]](env, cluster)
    made: sm.Scheduler = getattr(sm, name)(env, cluster, **options, **({} if name == "FirstFit" else _targets()))
    return made


def _targets() -> Described:
    return {"reference": sm.Workload.of(_REFERENCE)}


def _front(env: sm.Environment, model: Described, clusters: Sequence[sm.Cluster]) -> tuple[Taker, dict[str, list[Any]]]:
    """Make who decides; return where jobs are put, and what a script may change."""
    front, rules = model["front"], model["auctions"]
    router: Callable[..., sm.Router] = getattr(sm, model["router"])
    if front == "auction":
        auctioneer = sm.Auctioneer(env, clusters, **rules[0])
        return auctioneer, {"auction": [auctioneer]}
    if front == "before auctions":
        auctions = [sm.Auctioneer(env, clusters[:1], **rules[0]), sm.Auctioneer(env, clusters[1:], **rules[1])]
        return router(env, auctions), {"auction": auctions}
    schedulers = [
        _scheduler(env, cluster, each["scheduler"]) for cluster, each in zip(clusters, model["clusters"], strict=True)
    ]
    parts = {"scheduler": schedulers}
    if front == "one":
        return schedulers[0], parts
    if front == "forwarding":
        return sm.Auctioneer(env, schedulers, **rules[0]), parts
    into: list[Any] = list(schedulers)
    if front == "nested":
        into = [schedulers[0], router(env, schedulers[1:])]
    return router(env, into), parts


def _scripted(env: sm.Environment, at_s: float, change: Callable[[], None]) -> Iterator[Any]:
    yield env.timeout(at_s)
    change()


def _log(model: Described) -> Described:
    names = ("submit_s", "runtime_s", "estimate_s", "cores")
    return dict(zip(names, map(list, zip(*model["jobs"], strict=True)), strict=True))


def _flows(model: Described) -> list[sm.Workflow]:
    return [
        sm.Workflow(100 + number, **{name: value for name, value in each.items() if value is not None})
        for number, each in enumerate(model["flows"])
    ]


def run_model(model: Described) -> Ran:
    """Run a model until it is done, or the horizon."""
    env = sm.Environment(seed=model["seed"])
    clusters = [_made(env, number, each) for number, each in enumerate(model["clusters"])]
    into, parts = _front(env, model, clusters)
    if model["dependencies"] is not None:
        into = sm.Dependencies(env, into, **model["dependencies"])
    for at_s, part, number, change in model["script"]:
        if part == "checkpoints":
            turn = _setter(clusters[number], sm.Checkpoints(*change))
        elif part in parts:
            turn = _turner(parts[part][number], change)
        else:
            continue
        env.process(_scripted(env, at_s, turn))
    if model["jobs"]:
        sm.Source(env, _log(model), into=into)
    if model["flows"]:
        sm.Source(env, _flows(model), into=into)
    ran = Ran(env, clusters)
    ran.recorders = [sm.Recorder(env), *(sm.Recorder(env, cluster) for cluster in clusters)]
    env.on(sm.Ended, ran.see)
    done = sm.all_done(env)
    env.run(until=done | env.timeout(HORIZON_S))
    ran.done = bool(done.triggered)
    return ran


def run_on_both(model: Described) -> tuple[sm.Schedule, sm.Schedule]:
    """Run what `simulate` takes on both engines."""
    what, options = model["clusters"][0]["scheduler"][0], dict(model["auctions"][0])
    sites = []
    for number, each in enumerate(model["clusters"]):
        size: Described = {"cores": each["cores"]}
        if each["machines"] is not None:
            [(machines, cores, _)] = each["machines"]
            size = {"machines": machines, "cores_per_machine": cores}
        if each["changes"]:
            size["capacity"] = [sm.CapacityChange(*change) for change in each["changes"][0][1]["table"]]
        writing = each["checkpoints"] and sm.Checkpoints(*each["checkpoints"])
        sites.append(sm.Site(name="abc"[number], checkpoints=writing, **size))
    if what in {"FirstFit", *_TARGETED}:
        options |= {"heuristic": what, **({} if what == "FirstFit" else _targets())}
    work: Any = _flows(model) if model["flows"] else _log(model)
    compiled, simpy = (
        sm.simulate(work, on=sites, seed=model["seed"], engine=engine, **options) for engine in ("compiled", "simpy")
    )
    return compiled, simpy


def _require_same(one: sm.Schedule, other: sm.Schedule) -> None:
    """Check that two schedules are the same to the last bit."""
    for name in ("start_s", "end_s", "outcome", "cluster", "counted", "workflow_outcome", "price"):
        a, b = getattr(one, name), getattr(other, name)
        if (a is None) != (b is None) or (a is not None and a.tobytes() != b.tobytes()):
            raise Fault("engines", f"{name} is {a} (compiled) and {b} (simpy)")
    for name in ("attempts", "parts", "off_spans"):
        tables = [getattr(each, name) for each in (one, other)]
        if any(table is None for table in tables):
            rows = [0 if table is None else len(table) for table in tables]
            if name != "attempts" and rows != [0, 0]:
                raise Fault("engines", f"{name} has {rows} rows")
            continue
        if name == "parts":
            tables = [table.sort_values(["row", "attempt", "machine"]) for table in tables]
        a, b = (table.reset_index(drop=True) for table in tables)
        columns = [column for column in a if column in b]
        if not a[columns].equals(b[columns]):
            raise Fault("engines", f"{name}:\n{a[columns]}\n{b[columns]}")


def _setter(cluster: sm.Cluster, writing: sm.Checkpoints) -> Callable[[], None]:
    return lambda: setattr(cluster, "checkpoints", writing)


def _turner(decider: Any, change: Described) -> Callable[[], None]:  # noqa: ANN401  whoever has options
    return lambda: decider.reconfigure(**change)


# -- what must hold ---------------------------------------------------------------------------------------


def _place(model: Described, number: int) -> Place:
    """Return a cluster as the checker knows it."""
    given = model["clusters"][number]
    machines = given["machines"]
    each = ((given["cores"], given["speed"]),)
    if machines is not None:
        each = tuple((cores, speed) for count, cores, speed in machines for _ in range(count))
    writing = [(0.0, given["checkpoints"] or NEVER)]
    overruns = {given["scheduler"][1].get("overrun", "run")}
    for at_s, part, of, change in sorted(model["script"], key=lambda turn: turn[0]):
        if part == "checkpoints" and of == number:
            writing.append((at_s, change))
        if part == "scheduler" and of == number and "overrun" in change:
            overruns.add(change["overrun"])
    tables = [how.get("mode") for _, how in given["changes"]]
    tables += [change[3] for _, how in given["changes"] for change in how.get("table", ())]
    kills = frozenset(overrun == "kill" for overrun in overruns)
    return Place("abc"[number], each, given["kind"], tuple(writing), "checkpoint" in tables, kills)


def _owners(model: Described) -> list[Travel]:
    """Return how data travel by all who may say it."""
    front, before = model["front"], model["dependencies"]
    auctions = {"auction": 1, "forwarding": 1, "before auctions": 2}.get(front, 0)
    if front == "sites" and model["clusters"][0]["scheduler"][0] == "auction":
        auctions = 1
    said = [*model["auctions"][:auctions], *([] if before is None else [before])]
    return [Travel(*(each[name] for name in ("network", "ccr", "tick_s"))) for each in said] or [Travel()]


def _travel(model: Described, terms: sm.Terms) -> Travel:
    """Return how data travel: as all say who release or take tasks; if they disagree, as the schedule says."""
    first, *others = _owners(model)
    same = all(other == first for other in others)
    return first if same else Travel(terms.network, terms.ccr, terms.tick_s)


def hold(model: Described) -> str:
    """Run a model, and raise the first fault."""
    ran, done = None, True
    try:
        if model["front"] == "sites":
            schedule, other = run_on_both(model)
            _require_same(schedule, other)
        else:
            ran = run_model(model)
            schedule, done = ran.recorders[0].schedule(), ran.done
    except (RequestError, ImpossibleJobError) as error:
        return f"refused: {type(error).__name__}"
    places = [_place(model, each) for each in range(len(model["clusters"]))]
    travel = _travel(model, schedule.terms)
    if ran is not None:
        _require_seen(schedule, ran)
    _legal(model, schedule, places, travel)
    if done and not model["script"]:
        _require_all(model, schedule)
    if _promises(model):
        checker.easy(schedule, places[0])
    _require_proof(model, schedule, places, travel)
    if done:
        _add_up(schedule, places, ran)
    return f"{model['front']}, {'done' if done else 'cut at the horizon'}"


def _legal(model: Described, schedule: sm.Schedule, places: Sequence[Place], travel: Travel) -> None:
    """Check a schedule, by the checker and by the proof, which must agree."""
    several = len(_owners(model)) > 1 or model["front"] == "before auctions"
    try:
        checker.check(schedule, places, travel)
    except Fault as fault:
        changed = any(part == "checkpoints" for _, part, _, _ in model["script"])
        writes = changed or any(cluster["checkpoints"] is not None for cluster in model["clusters"])
        if fault.rule in {"end", "work"} and writes and (changed or model["unit"] != 1.0):
            raise Fault("checkpoints" if changed else "fractions", str(fault)) from fault
        raise Fault("transfers", str(fault)) if several and fault.rule == "precedence" else fault from None
    terms = schedule.terms
    if (
        travel.ccr
        and model["flows"]
        and (terms.network, terms.ccr, terms.tick_s) != (travel.network, travel.ccr, travel.tick_s)
    ):
        raise Fault("transfers", f"the terms are {terms}, and data travel by {travel}")
    try:
        schedule.validate()
    except IllegalScheduleError as error:
        raise Fault("transfers" if several else "validate", f"it refuses what is legal: {error}") from error


def _require_seen(schedule: sm.Schedule, ran: Ran) -> None:
    """Check that the schedule has each attempt that was seen to end, once, and no other."""
    workload, found = schedule.workload, Counter[tuple[object, ...]]()
    task = [0] * len(workload) if workload.tasks is None else workload.tasks.task.tolist()
    for run in checker.runs_of(schedule):
        if not math.isnan(run.end_s):
            cluster = ran.clusters.index(
                next(each for each in ran.clusters if each.name == schedule.places[run.cluster].name)
            )
            named = (int(workload.job_id[run.row]), task[run.row], run.start_s, run.end_s, run.outcome, cluster)
            found[*named, run.parts] += 1
    wrong = (found - ran.seen) + (ran.seen - found)
    if wrong:
        raise Fault("seen", f"attempts of the schedule, or seen to end, are not among the others: {dict(wrong)}")


def _require_all(model: Described, schedule: sm.Schedule) -> None:
    """Check that each job came to an end, where nothing starves."""
    rigid = schedule.workload.rigid()
    undone = np.flatnonzero((schedule.outcome == UNFINISHED) & rigid)
    if len(schedule) != len(model["jobs"]) + sum(len(flow["cores"]) for flow in model["flows"]):
        raise Fault("rows", f"there are {len(schedule)} rows")
    if len(undone):
        raise Fault("undone", f"rows {undone.tolist()} have not ended, and the model is done")


def _promises(model: Described) -> bool:
    """Return whether EASY's promise can be checked."""
    cluster = model["clusters"][0]
    name, options = cluster["scheduler"]
    plain = model["front"] in {"one", "sites"} and not (model["flows"] or model["script"] or cluster["changes"])
    plain &= options.get("decide", "instant") == "instant"
    holds = all(runtime <= estimate for _, runtime, estimate, _ in model["jobs"]) and cluster["checkpoints"] is None
    return plain and holds and name == "queue" and {"backfilling": "easy", **_PLAIN}.items() <= options.items()


def _add_up(schedule: sm.Schedule, places: Sequence[Place], ran: Ran | None) -> None:
    """Check the figures of machines, in all and by cluster."""
    if schedule.off_spans is None or schedule.window is None or schedule.window[0] == schedule.window[1]:
        return
    if any(math.isnan(run.end_s) for run in checker.runs_of(schedule)):
        return  # what runs on at the window's end is counted in part
    found = schedule.metrics()
    wrong = _unlike(checker.figures(schedule, places), found)
    if wrong:
        raise Fault("figures", wrong)
    for number, place in enumerate(places if len(places) > 1 else ()):
        should = checker.figures(schedule, places, number)
        recorded = [] if ran is None else [ran.recorders[1 + number]]
        for recorder in (None, *recorded):
            what = f"on({place.name!r})" if recorder is None else f"Recorder(env, {place.name})"
            try:
                part = schedule.on(place.name) if recorder is None else recorder.schedule()
                wrong = _unlike(should, part.metrics()) if part.window == schedule.window else ""
                part.validate()
            except Exception as error:  # whatever it is, it is no answer
                raise Fault("parts", f"{what}: {type(error).__name__}: {error}") from error
            if wrong:
                raise Fault("parts", f"{what}: {wrong}")


def _unlike(should: Any, found: Any) -> str:  # noqa: ANN401  mappings of figures
    for name, value in should.items():
        given = found.get(name, math.nan)
        if not (math.isclose(value, given, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(value) and math.isnan(given))):
            return f"{name} is {given}, and should be {value}"
    return ""


# -- tampering --------------------------------------------------------------------------------------------


def _require_proof(model: Described, schedule: sm.Schedule, places: Sequence[Place], travel: Travel) -> None:
    """Check that the proof refuses a schedule with one attempt changed, if the checker does."""
    if schedule.attempts is None or schedule.attempts.empty or schedule.off_spans is None:
        return
    draw = random.Random(model["seed"])
    at = draw.randrange(len(schedule.attempts))
    what = draw.choice(("shorter", "later", "machine", "work"))
    if what == "later" and any(step[1] == "checkpoints" for step in model["script"]):
        what = "shorter"  # an attempt says its checkpoints: later, it is one of another script
    changed = _tampered(schedule, at, what, draw.randrange(6))
    try:
        checker.check(changed, places, travel)
    except Fault as fault:
        try:
            changed.validate()
        except IllegalScheduleError:
            return
        raise Fault("tampered", f"{what} of attempt {at} is accepted, though {fault}") from fault


def _tampered(schedule: sm.Schedule, at: int, what: str, other: int) -> sm.Schedule:
    """Return a schedule with one attempt changed, in all tables that say it."""
    table = schedule.attempts
    assert table is not None
    table = table.copy()
    row = (
        int(table["row"].iloc[at])
        if "row" in table
        else int(np.flatnonzero(schedule.workload.job_id == table["job_id"].iloc[at])[0])
    )
    start_s, end_s, executed_s = schedule.start_s.copy(), schedule.end_s.copy(), schedule.executed_s.copy()
    low_s, high_s = float(table["start_s"].iloc[at]), float(table["end_s"].iloc[at])
    if what == "shorter":
        high_s = low_s + (high_s - low_s) / 2
        if other % 2:  # as if it were a shorter job
            table.iloc[at, table.columns.get_loc("work_s")] /= 2
    if what == "later":
        low_s, high_s = low_s + 3, high_s + 3
    if what == "machine":
        table.iloc[at, table.columns.get_loc("machine")] = other
    if what == "work":
        table.iloc[at, table.columns.get_loc("work_s")] += 1 + other
    last = schedule.start_s[row] == table["start_s"].iloc[at]
    table.iloc[at, table.columns.get_loc("start_s")] = low_s
    table.iloc[at, table.columns.get_loc("end_s")] = high_s
    if last:
        start_s[row] = low_s
        if not math.isnan(end_s[row]):
            end_s[row], executed_s[row] = high_s, high_s - low_s
    return replace(schedule, start_s=start_s, end_s=end_s, executed_s=executed_s, attempts=table)


# -- a case, and the smallest one that still breaks -------------------------------------------------------


def attack(drawn: str) -> str:
    """Run the model that these words draw, and break with the smallest one that was found."""
    model = a_model(random.Random(drawn))
    fault = _fault(model)
    if isinstance(fault, str):
        return fault
    if fault.rule in KNOWN:
        return f"known: {fault.rule}"
    smallest = shrunk(model, fault.rule)
    raise Broken(f"model {drawn!r}: {fault}\n  hold({smallest}): {_fault(smallest)}")


def _fault(model: Described) -> str | Fault:
    """Return what is wrong with a model, or what became of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return hold(copy.deepcopy(model))
        except Fault as fault:
            return fault
        except Exception as error:  # noqa: BLE001  whatever the project raises is its failure
            return Fault(type(error).__name__, str(error))


def shrunk(model: Described, rule: str, tries: int = 150) -> Described:
    """Return a smaller model that breaks the same rule: parts are left out while it does."""
    left = tries
    again = True
    while again and left > 0:
        again = False
        for smaller in _smaller(model):
            left -= 1
            fault = _fault(smaller)
            if isinstance(fault, Fault) and fault.rule == rule:
                model, again = smaller, True
                break
            if left <= 0:
                break
    return model


def _smaller(model: Described) -> Iterator[Described]:
    """Yield models with one part left out."""
    for name in ("script", "flows", "jobs"):
        for number in range(len(model[name])):
            if len(model["jobs"]) + len(model["flows"]) > 1 or name == "script":
                yield {**model, name: model[name][:number] + model[name][number + 1 :]}
    if model["dependencies"] is not None:
        yield {**model, "dependencies": None}
    for number, cluster in enumerate(model["clusters"]):
        found = [
            {**cluster, "changes": cluster["changes"][:k] + cluster["changes"][k + 1 :]}
            for k in range(len(cluster["changes"]))
        ]
        if cluster["checkpoints"] is not None:
            found.append({**cluster, "checkpoints": None})
        for each in found:
            yield {**model, "clusters": [*model["clusters"][:number], each, *model["clusters"][number + 1 :]]}
    for number, flow in enumerate(model["flows"]):
        for edge in range(len(flow["edges"])):
            fewer = {**flow, "edges": flow["edges"][:edge] + flow["edges"][edge + 1 :]}
            yield {**model, "flows": [*model["flows"][:number], fewer, *model["flows"][number + 1 :]]}
