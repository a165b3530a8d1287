"""What random models are made of: clusters, what changes them, who schedules, who sends jobs there, logs and workflows.

A model is drawn as plain values, so that the text of a broken one is a call that repeats it.
"""

import math
import random
from typing import Any, Final

Described = dict[str, Any]

_ORDERS: Final = ("FCFS", "LCFS", "SPF", "LPF", "SQF", "SAF", "LAF", "WFP3", "UNICEF", "F1", "RANDOM")
_SPEEDS: Final = (1.0, 2.0, 0.5)
_BIDS: Final = ("FIFO", "SRTF", "LRTF", "P-SLR", "PV", "PVD", "PVDSQ", "EDF", "PVR", "Random")
TARGETED: Final = ("TargetStretch", "TargetAsap", "PackedTargetAsap")
PLAIN: Final = {"order": "FCFS", "threshold_s": None, "queue_depth": None, "max_starts": None, "max_backfills": None}
"""Options of a queue by which the first that waits stays the first, and starts as soon as it fits."""


def a_model(draw: random.Random) -> Described:
    """Draw a model, as plain values, at one of some magnitudes of time."""
    unit = draw.choice((1.0, 1.0, 1.0, 0.1, 1 / 3))
    return {**_scaled(_drawn(draw), unit), "unit": unit}


_TIMES: Final = {"rebalance_s", "threshold_s", "repair_s", "mtbf_s"} | {
    *("submit_s", "runtime_s", "notice_s", "period_s", "start_s", "duration_s", "after_s", "boot_s", "off_s", "on_s"),
    *("tick_s", "checkpoints", "half_life_s"),
}


def _scaled(given: Any, unit: float, name: str = "") -> Any:  # noqa: ANN401  plain values of any depth
    """Return a model with all times multiplied."""
    if unit == 1.0 or name == "limits":  # in which there is no time
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
    kinds = front in {"auction", "forwarding"} and draw.random() < 0.3
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
        options = {**_options(draw, "queue"), "backfilling": "easy", **PLAIN}
        changed = {"checkpoints": None, "changes": [], "scheduler": ("queue", options)}
        clusters[0] |= changed
    elif front == "one" and clusters[0]["scheduler"][0] == "queue":
        clusters[0]["scheduler"][1]["limits"] = _limits(draw, clusters[0])
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
    what = draw.choice(("queue", "queue", "FirstFit", draw.choice(TARGETED), "auction", "auction"))
    clusters = [
        _cluster(draw, auctioned=True, kinds=False) for _ in range(draw.randint(1, 3) if what == "auction" else 1)
    ]
    for each in clusters:
        if what in {"FirstFit", *TARGETED}:
            speeds, size = (1.0,) if what in TARGETED else _SPEEDS, draw.randint(1, 4)
            groups = [(draw.randint(1, 3), size, draw.choice(speeds)) for _ in range(draw.choice((1, 2)))]
            each |= {"cores": None, "speed": 1.0, "machines": groups}
        each["changes"], each["scheduler"] = [], (what, {})
        if each["machines"] is None:
            each["checkpoints"] = None
        elif draw.random() < 0.7:
            table = _change(draw, sum(count for count, _, _ in each["machines"]), "TraceCapacity")
            each["changes"].append(table)
            each["removes"] = draw.choice(("highest", "random"))
        if each["machines"] is not None and what == "queue":
            machines = sum(count for count, _, _ in each["machines"])
            some = ((), (), ("Failures",), ("Maintenance",), ("Failures", "Maintenance", "Maintenance"))
            outages = [*draw.choice(some), *draw.choice(((), (), ("SleepWhenIdle",)))]
            each["changes"] += [_change(draw, machines, outage) for outage in outages]
    options = _rules(draw, forward=False) if what == "auction" else _options(draw, what)
    if what == "queue":
        clusters[0]["scheduler"] = ("queue", options)
        options["decide"] = draw.choice(("instant", "instant", "event"))
        options["limits"] = _limits(draw, clusters[0])
        options["shares"] = draw.choice((None, None, {"period_s": 10.0, "half_life_s": 20.0}))
        if options["shares"] is not None:
            options["order"] = draw.choice((options["order"], "FairShare"))
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
    return cluster["scheduler"][0] in {"FirstFit", *TARGETED}


def _cluster(draw: random.Random, *, auctioned: bool, kinds: bool) -> Described:
    """Draw a cluster, what changes its machines, and its scheduler."""
    speeds = draw.choice(((1.0,), (1.0,), _SPEEDS))
    named = draw.choice((("queue",), ("queue",), ("queue",), ("FirstFit",), TARGETED, ("own",)))
    scheduler = draw.choice(named)
    pool = draw.random() < 0.2 and scheduler in {"queue", "own"}
    groups = [(draw.randint(1, 3), draw.randint(1, 4), draw.choice(speeds)) for _ in range(draw.choice((1, 1, 2)))]
    if scheduler in {"FirstFit", *TARGETED}:
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


def _limits(draw: random.Random, cluster: Described) -> list[Described] | None:
    """Draw limits under which each job can start that fits the cluster; most often none."""
    each = {"by": "user", **draw.choice(({"jobs": 1}, {"jobs": 2}, {"cores": _widest(cluster)}))}
    both = {"by": "user", "group": "both", "members": (0, 1), "jobs": draw.randint(1, 3)}
    if cluster["scheduler"][1]["queue_depth"] is None and draw.random() < 0.5:
        each["submitted"] = draw.randint(1, 3)
        both |= draw.choice(({}, {"submitted": draw.randint(1, 3)}))
    return draw.choice((None, None, [each], [each, both]))


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
        "max_backfills": draw.choice((None, None, None, 1)) if backfilling != "none" else None,
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
    counted = any("submitted" in row for row in model["clusters"][number]["scheduler"][1].get("limits") or ())
    changes = (
        {"order": draw.choice(_ORDERS)},
        {"backfilling": backfilling, "backfill_order": None},
        {"threshold_s": draw.choice((None, 5.0))},
        {"overrun": draw.choice(("run", "kill"))},
        {"queue_depth": None if counted else draw.choice((None, 2))},
    )
    return "scheduler", number, draw.choice(changes)
