"""How a random model is run: in SimPy, part by part, or by `simulate` on both engines."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import simmodels as sm
from tests.attacks.model_drawing import TARGETED, Described
from tests.checker import COMPLETED, KILLED, UNFINISHED
from tests.own_schedulers import AsTheyCome, ShortestThatFits

Taker = sm.Scheduler | sm.Router | sm.Dependencies

HORIZON_S: Final = 4_000.0
_REFERENCE: Final = {"submit_s": [0, 0, 0], "runtime_s": [3, 9, 20], "cores": [1, 2, 1]}


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
    columns = dict(zip(names, map(list, zip(*model["jobs"], strict=True)), strict=True))
    return {**columns, "user_id": [number % 3 for number in range(len(model["jobs"]))]}


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
        size: Described = {"cores": each["cores"], "speed": each["speed"]}
        if each["machines"] is not None:
            size = {"machines": [sm.Machines(*group) for group in each["machines"]]}
        for kind, how in each["changes"]:
            if kind == "TraceCapacity":
                size["capacity"] = [sm.CapacityChange(*change) for change in how["table"]]
                size["removes"] = each["removes"]
            elif kind == "Failures":
                size["failures"] = sm.FailureLaw(**how)
            elif kind == "SleepWhenIdle":
                size["sleep"] = sm.SleepPolicy(**how)
            else:
                first_s = min(submit_s for submit_s, *_ in model["jobs"])  # when the simulation begins
                window = sm.MaintenanceWindow(**{**how, "start_s": max(how["start_s"], first_s)})
                size["maintenance"] = [*size.get("maintenance", ()), window]
        writing = each["checkpoints"] and sm.Checkpoints(*each["checkpoints"])
        sites.append(sm.Site(name="abc"[number], checkpoints=writing, **size))
    if options.get("shares") is not None:
        options["shares"] = sm.Shares(**options["shares"])
    if what in {"FirstFit", *TARGETED}:
        options |= {"heuristic": what, **({} if what == "FirstFit" else _targets())}
    work: Any = _flows(model) if model["flows"] else _log(model)
    compiled, simpy = (
        sm.simulate(work, on=sites, seed=model["seed"], engine=engine, **options) for engine in ("compiled", "simpy")
    )
    return compiled, simpy


def _setter(cluster: sm.Cluster, writing: sm.Checkpoints) -> Callable[[], None]:
    return lambda: setattr(cluster, "checkpoints", writing)


def _turner(decider: Any, change: Described) -> Callable[[], None]:  # noqa: ANN401  whoever has options
    return lambda: decider.reconfigure(**change)
