"""Tampering: every kind of change to a legal schedule, of every kind of model, is refused by a rule that has a name."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import simmodels as sm
from simmodels.clusters.capacity import Mode
from simmodels.policies.queue_options import Overrun
from simmodels.results.legality import RULES

TRIES = 2
"""In how many places each change is made to each schedule, at most."""
SAVING = sm.Checkpoints(interval_s=40, cost_s=2, restart_s=3)
UNEQUAL = [sm.Machines(1, 4, 2.0), sm.Machines(2, 4, 0.5), sm.Machines(1, 2)]


def log(cores: int = 4) -> sm.Workload:
    draw = np.random.default_rng(4)
    runtime_s = draw.integers(20, 150, 24)
    estimate_s = runtime_s + draw.integers(-15, 40, 24)
    submit_s = np.sort(draw.integers(0, 300, 24))
    return sm.Workload(range(24), submit_s, runtime_s, estimate_s, draw.integers(1, cores, 24))


def flows(*kinds: str) -> list[sm.Workflow]:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    of = tuple(kinds) or None
    return [sm.Workflow(100 + n, 40.0 * n, [30.0, 50.0 + n, 20.0, 40.0], [1, 3, 2, 3], edges, of) for n in range(5)]


Chosen = pd.Series | NDArray[np.bool_]
Build = Callable[[sm.Environment, list[sm.Cluster]], Any]


def run(
    work: sm.Workload | list[sm.Workflow], build: Build, *clusters: dict[str, Any], change: Build | None = None
) -> sm.Schedule:
    """Return the schedule of work on clusters, by who decides and what switches machines."""
    env = sm.Environment(seed=5)
    made = [sm.Cluster(env, name, **options) for name, options in zip("abc", clusters, strict=False)]
    if change is not None:
        change(env, made)
    sm.Source(env, work, into=build(env, made))
    recorder = sm.Recorder(env)
    env.run(until=sm.all_done(env))
    return recorder.schedule()


MACHINES = {"machines": 4, "cores_per_machine": 4}
TABLE = [(0, 4), sm.CapacityChange(70, 2, 20, "checkpoint"), (130, 4), (200, 1), (260, 4)]


def queue(overrun: Overrun = "run") -> Build:
    return lambda env, clusters: sm.QueueScheduler(env, clusters[0], overrun=overrun)


def queues(env: sm.Environment, clusters: list[sm.Cluster]) -> list[sm.QueueScheduler]:
    return [sm.QueueScheduler(env, cluster) for cluster in clusters]


def walk(mode: Mode = "kill", notice_s: float = 0.0) -> Build:
    def change(env: sm.Environment, clusters: list[sm.Cluster]) -> None:
        for each in clusters:
            sm.MarkovCapacity(env, each, low=1, high=4, step=1, period_s=50, mode=mode, notice_s=notice_s)

    return change


def outages(env: sm.Environment, clusters: list[sm.Cluster]) -> None:
    sm.Failures(env, clusters[0], mtbf_s=300, repair_s=40)
    sm.Maintenance(env, clusters[0], start_s=100, duration_s=50, machines=[1], notice_s=30, mode="checkpoint")
    sm.SleepWhenIdle(env, clusters[0], after_s=20, boot_s=5)


class Slow(sm.Cluster):
    def runtime_s(self, job: sm.Job) -> float:
        return 1.5 * job.runtime_s


def beside(env: sm.Environment, clusters: list[sm.Cluster]) -> sm.RoundRobin:
    """A second cluster, on which another law says how long jobs run; jobs come in turn."""
    first = clusters[0]
    sizes = {"cores": 8} if not first.machines else MACHINES
    return sm.RoundRobin(env, queues(env, [first, Slow(env, "own", checkpoints=first.checkpoints, **sizes)]))


MODELS: dict[str, Callable[[], sm.Schedule]] = {
    "pool": lambda: sm.simulate(log(), cores=8, backfilling="easy", overrun="kill"),
    "fast pool": lambda: run(log(), queue(overrun="kill"), {"cores": 8, "speed": 2.0}),
    "pool with checkpoints": lambda: run(log(), queue(), {"cores": 8, "checkpoints": SAVING}),
    "walk, kill": lambda: run(log(9), queue(overrun="kill"), MACHINES, change=walk()),
    "walk, checkpoints": lambda: run(
        log(9), queue(overrun="kill"), MACHINES | {"checkpoints": SAVING}, change=walk("checkpoint", 25.0)
    ),
    "unequal machines": lambda: run(
        log(9), queue(), {"machines": UNEQUAL, "checkpoints": SAVING}, change=walk("checkpoint", 25.0)
    ),
    "compiled queue": lambda: sm.simulate(log(9), capacity=TABLE, cores_per_machine=4, checkpoints=SAVING),
    "first fit": lambda: sm.simulate_on_machines(log(), TABLE, cores_per_machine=4, window_s=(40, 900)),
    "targets": lambda: sm.simulate_on_machines(
        log(), TABLE, cores_per_machine=4, window_s=(0, 900), heuristic="TargetAsap", reference=log()
    ),
    "auction": lambda: sm.simulate_workflows(
        flows("A", "B", "A", "B"), clusters=[("a", 6, "A"), ("b", 6, "B")], ccr=0.5
    ),
    "auction, compiled, on machines": lambda: sm.simulate(
        flows(), on=sm.Site(cores_per_machine=4, capacity=TABLE, checkpoints=SAVING), bid="SRTF", ccr=0.2
    ),
    "auction on machines": lambda: run(
        flows(), lambda env, made: sm.Auctioneer(env, made, bid="SRTF", ccr=0.5), MACHINES, MACHINES, change=walk()
    ),
    "router": lambda: run(
        log(), lambda env, made: sm.EarliestStart(env, queues(env, made)), MACHINES, {"cores": 4, "speed": 2.0},
        change=lambda env, made: walk()(env, made[:1]),
    ),
    "auction before queues": lambda: run(
        log(), lambda env, made: sm.Auctioneer(env, queues(env, made), bid="SRTF", forward=True, rebalance_s=50),
        MACHINES | {"checkpoints": SAVING}, MACHINES | {"speed": 2.0}, change=walk(),
    ),
    "dependencies": lambda: run(
        flows(), lambda env, made: sm.Dependencies(env, sm.RoundRobin(env, queues(env, made)), ccr=0.5),
        MACHINES, MACHINES, change=walk(),
    ),
    "beside a law of its own": lambda: run(log(), beside, {"cores": 8, "speed": 2.0}),
    "machines beside a law of its own": lambda: run(log(), beside, MACHINES | {"checkpoints": SAVING}, change=walk()),
    "outages": lambda: run(log(), queue(), MACHINES | {"checkpoints": SAVING}, change=outages),
}  # fmt: skip


# -- changes ---------------------------------------------------------------------------------------------


def attempts(schedule: sm.Schedule, chosen: Callable[[pd.DataFrame], Chosen] | None = None) -> list[pd.Series]:
    """Return the attempts that started, each a row with `row`, `last` and `index`, its place in the table (or -1).

    Not those of which only a cluster of the user's says how long they ran.
    """
    table = schedule.all_attempts()
    table["last"] = np.arange(len(table)) < len(schedule)
    table["index"] = -1
    if schedule.attempts is not None:
        given = schedule.attempts.reset_index()[["row", "attempt", "index"]]
        table = table.drop(columns="index").merge(given, on=["row", "attempt"], how="left").fillna({"index": -1})
        changed = schedule.attempts.get("changed", pd.Series(False, schedule.attempts.index))
        table = table[~table["index"].isin(changed.index[changed])]
    table = table[table["start_s"].notna()]
    kept = table if chosen is None else table[chosen(table)]
    return [each for _, each in kept.iterrows()]


def edited(schedule: sm.Schedule, run: pd.Series, **values: float) -> sm.Schedule:
    """Return the schedule with other values of an attempt, wherever it says them."""
    new: dict[str, Any] = {}
    if schedule.attempts is not None and run["index"] >= 0:
        table = schedule.attempts.copy()
        for name, value in values.items():
            if name in table:
                table[name] = table[name].astype(float)
                table.loc[int(run["index"]), name] = value
        new["attempts"] = table.astype(schedule.attempts.dtypes)
    for name, value in values.items() if run["last"] else ():
        if name in {"start_s", "end_s", "outcome", "cluster", "executed_s"}:
            column = np.array(getattr(schedule, name))
            column[int(run["row"])] = value
            new[name] = column
    made = replace(schedule, **new)
    if "executed_s" in values or not schedule.terms.modelled:
        return made
    return replace(made, executed_s=np.where(made.outcome == 2, np.nan, made.end_s - made.start_s))


def work_edited(schedule: sm.Schedule, name: str, row: int, value: float) -> sm.Schedule:
    column = np.array(getattr(schedule.workload, name))
    column[row] = value
    return replace(schedule, workload=replace(schedule.workload, **{name: column}))


Change = Callable[[sm.Schedule], Iterator[sm.Schedule]]


def of_attempts(
    values: Callable[[pd.Series], dict[str, float]] | dict[str, float], chosen: Callable[[pd.DataFrame], Chosen]
) -> Change:
    """Return the change that gives chosen attempts other values."""
    of = values if callable(values) else lambda _: values
    return lambda schedule: (edited(schedule, each, **of(each)) for each in attempts(schedule, chosen))


def done(table: pd.DataFrame) -> Chosen:
    return (table["outcome"] == 0) & (table["end_s"] - table["start_s"] > 3)


def lost(table: pd.DataFrame) -> Chosen:
    return (table["outcome"] == 2) & table["end_s"].notna() & (table["end_s"] - table["start_s"] > 3)


def first_of_several(table: pd.DataFrame) -> Chosen:
    return ~table["last"] & (table["attempt"] == 1)


def on_machines(change: Change) -> Change:
    return lambda schedule: change(schedule) if schedule.off_spans is not None else iter(())


def credited_from_nothing(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """A lost attempt keeps 2 s more of its work, and the next one ends 2 s sooner."""
    runs = attempts(schedule)
    for each in attempts(schedule, lambda table: lost(table) & ~table["last"]):
        after = [run for run in runs if run["row"] == each["row"] and run["attempt"] == each["attempt"] + 1]
        if after and after[0]["outcome"] == 0 and each["work_s"] + 2 <= each["end_s"] - each["start_s"]:
            more = edited(schedule, each, work_s=each["work_s"] + 2)
            yield edited(more, after[0], end_s=after[0]["end_s"] - 2, work_s=after[0]["work_s"] - 2)


def swapped(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """Two attempts of a job follow each other the other way round."""
    for each in attempts(schedule, first_of_several):
        table = schedule.attempts
        number, others = table["attempt"], table["row"] != each["row"]
        yield replace(schedule, attempts=table.assign(attempt=number.where(others, number.max() + 1 - number)))


def left_out(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    for each in attempts(schedule, first_of_several):
        yield replace(schedule, attempts=schedule.attempts.drop(index=int(each["index"])))


def run_again(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """A job that was done runs once more."""
    for each in attempts(schedule, lambda table: done(table) & (table["index"] >= 0)):
        table = schedule.attempts
        more = table.loc[[int(each["index"])]].assign(attempt=each["attempt"] + 1, start_s=1e6, end_s=1e6 + 1)
        yield replace(schedule, attempts=pd.concat([table, more], ignore_index=True))


def crowded(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """All clusters have too few cores, and their machines, too."""
    used = int(schedule.cores_used()["cores_used"].max())
    clusters = [each._replace(cores=1, machines=1, sizes=(), speeds=each.speeds[:1]) for each in schedule.clusters]
    if used > len(clusters):
        yield replace(schedule, clusters=clusters, cores=len(clusters))


def on_machines_in_use(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """All that runs on one of a cluster's machines of one size runs on its first."""
    if schedule.off_spans is not None and schedule.attempts is not None:
        parts = None if schedule.parts is None else schedule.parts.assign(machine=0)
        yield replace(schedule, attempts=schedule.attempts.assign(machine=0), parts=parts)


def parts_changed(**by: int) -> Change:
    def change(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
        parts = schedule.parts
        for place in range(0 if parts is None else len(parts)):
            others = {name: parts[name].where(parts.index != place, parts[name] + more) for name, more in by.items()}
            yield replace(schedule, parts=parts.assign(**others))

    return change


def spans_changed(how: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    """Change the off spans of a schedule in which some attempts were lost."""

    def change(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
        if schedule.off_spans is not None and attempts(schedule, lost):
            yield replace(schedule, off_spans=how(schedule.off_spans))

    return change


def off_while_in_use(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    if schedule.off_spans is None:
        return
    for each in attempts(schedule, done):
        at_s = (each["start_s"] + each["end_s"]) / 2
        where = {"cluster": [each["cluster"]], "machine": [each["machine"]]}
        span = pd.DataFrame({**where, "start_s": at_s, "end_s": at_s + 1}).astype(schedule.off_spans.dtypes)
        spans = pd.concat([schedule.off_spans, span], ignore_index=True)
        yield replace(schedule, off_spans=spans.sort_values(["cluster", "machine", "start_s"], ignore_index=True))


def clusters_changed(how: Callable[[sm.ClusterSpec], sm.ClusterSpec]) -> Change:
    """Change what is known of clusters, if the model says how long jobs run there."""

    def change(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
        if schedule.terms.modelled and tuple(clusters := [*map(how, schedule.clusters)]) != schedule.clusters:
            yield replace(schedule, clusters=clusters)

    return change


def faster(spec: sm.ClusterSpec) -> sm.ClusterSpec:
    return spec._replace(speeds=tuple(2 * each for each in spec.speeds or (1.0,) * spec.machines))


def other_checkpoints(spec: sm.ClusterSpec) -> sm.ClusterSpec:
    interval_s, cost_s, restart_s = spec.checkpoints
    return spec if interval_s == np.inf else spec._replace(checkpoints=(interval_s, cost_s + 1, restart_s))


def own_speed(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """An attempt is said to have run at three times the speed of its machine."""
    for each in attempts(schedule, done):
        if schedule.attempts is not None and schedule.terms.modelled:
            known = schedule.attempts.index == each["index"]
            yield replace(schedule, attempts=schedule.attempts.assign(speed=np.where(known, 3.0, np.nan)))


def never_warned(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    """A job was credited with what it did until its machine went, and nobody had asked for that checkpoint."""
    table = schedule.attempts
    if table is not None and "warned_s" in table and (table["work_s"][table["warned_s"].notna()] > 0).any():
        yield replace(schedule, attempts=table.drop(columns="warned_s"))


def edges(schedule: sm.Schedule) -> Iterator[tuple[int, int]]:
    if schedule.workload.tasks is not None:
        yield from schedule.workload.tasks.edges.tolist()


def before_its_predecessor(schedule: sm.Schedule, early_s: float = 1.0) -> Iterator[sm.Schedule]:
    """A task starts before the one that it waits for ends, or as it ends, though its data travel."""
    last = {int(each["row"]): each for each in attempts(schedule) if each["last"]}
    for sender, receiver in edges(schedule):
        waits = schedule.terms.network != "none" and schedule.cluster[sender] != schedule.cluster[receiver]
        if receiver in last and (early_s or waits):
            run, start_s = last[receiver], schedule.end_s[sender] - early_s
            yield edited(schedule, run, start_s=start_s, end_s=start_s + (run["end_s"] - run["start_s"]))


def slower_network(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    if schedule.terms.network != "none" and any(edges(schedule)) and len(schedule.clusters) > 1:
        yield replace(schedule, terms=replace(schedule.terms, ccr=50.0))


def of_the_other_kind(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    if len({spec.kind for spec in schedule.clusters}) > 1:
        yield from (edited(schedule, each, cluster=1 - each["cluster"]) for each in attempts(schedule))


def rejected(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    if schedule.workflow_outcome is not None:
        yield replace(schedule, workflow_outcome=np.full(len(schedule.workflow_outcome), 2))


def longer_jobs(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    if schedule.workload.is_rigid:  # those of workflows say it once more
        for row in (int(each["row"]) for each in attempts(schedule, done) if each["last"]):
            yield work_edited(schedule, "runtime_s", row, schedule.workload.runtime_s[row] + 1)


def longer_estimates(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    rows = np.flatnonzero(schedule.outcome == 1)
    yield from (work_edited(schedule, "estimate_s", row, schedule.workload.estimate_s[row] + 1) for row in rows)


def wider_jobs(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    rows = np.flatnonzero(schedule.outcome == 0)
    yield from (work_edited(schedule, "cores", row, schedule.cores + 1) for row in rows)


def later_jobs(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    for each in attempts(schedule):
        yield work_edited(schedule, "submit_s", int(each["row"]), each["start_s"] + 1)


def never_killed(schedule: sm.Schedule) -> Iterator[sm.Schedule]:
    if (schedule.outcome == 1).any():
        yield replace(schedule, terms=replace(schedule.terms, overrun="run"))


def moved(name: str, by_s: float) -> Change:
    return of_attempts(lambda run: {name: run[name] + by_s}, done)


CHANGES: dict[str, tuple[Change, str]] = {
    "starts sooner": (moved("start_s", -1.0), "end submit attempts"),
    "starts later": (moved("start_s", 1.0), "end"),
    "ends sooner": (moved("end_s", -1.0), "end"),
    "ends later": (moved("end_s", 1.0), "end"),
    "is done after a second": (
        of_attempts(lambda run: {"end_s": run["start_s"] + 1, "executed_s": 1.0, "work_s": 1.0}, done), "end",
    ),
    "never ends": (of_attempts({"end_s": np.nan}, done), "outcome"),
    "runs before it is submitted": (
        of_attempts(lambda run: {"start_s": run["start_s"] - 1e4, "end_s": run["end_s"] - 1e4}, done),
        "submit attempts",
    ),
    "is killed": (of_attempts({"outcome": 1}, done), "end overrun"),
    "came to nothing": (
        of_attempts({"outcome": 2}, done), "outcome",
    ),
    "was not lost": (of_attempts({"outcome": 0}, lambda table: lost(table) & ~table["last"]), "attempts"),
    "runs to the end": (
        on_machines(of_attempts({"outcome": 2, "end_s": np.nan, "work_s": 0.0}, done)), "end outcome",
    ),
    "did less work": (on_machines(of_attempts(lambda run: {"work_s": run["work_s"] - 1}, done)), "work"),
    "did more work": (on_machines(of_attempts(lambda run: {"work_s": run["work_s"] + 1}, done)), "work"),
    "is credited with all it did": (
        on_machines(of_attempts(lambda run: {"work_s": run["end_s"] - run["start_s"]},
            lambda table: lost(table) & (table["end_s"] - table["start_s"] > table["work_s"] + 1))), "work",
    ),
    "is credited from nothing": (credited_from_nothing, "end work"),
    "was asked for no checkpoint": (never_warned, "end work"),
    "is on no machine": (on_machines(of_attempts({"machine": 99}, done)), "machines end"),
    "is on a machine in use": (on_machines_in_use, "capacity offline end machines"),
    "has fewer cores": (parts_changed(cores=-1), "machines"),
    "has another machine": (parts_changed(machines=1), "machines"),
    "has cores elsewhere": (parts_changed(machine=9), "machines end"),
    "has too many cores": (wider_jobs, "width"),
    "too few cores": (crowded, "width capacity machines end"),
    "is on no cluster": (of_attempts({"cluster": 7}, done), "outcome attempts"),
    "is of another kind": (of_the_other_kind, "kind"),
    "the other way round": (swapped, "attempts"),
    "an attempt left out": (left_out, "attempts"),
    "runs again": (run_again, "attempts"),
    "always on": (spans_changed(lambda spans: spans[:0]), "offline"),
    "off a second later": (spans_changed(lambda spans: spans.assign(start_s=spans["start_s"] + 1)), "offline"),
    "off while in use": (off_while_in_use, "offline"),
    "faster machines": (clusters_changed(faster), "end"),
    "a faster attempt": (own_speed, "end"),
    "dearer checkpoints": (clusters_changed(other_checkpoints), "end work"),
    "longer jobs": (longer_jobs, "end"),
    "longer estimates": (longer_estimates, "end overrun"),
    "submitted later": (later_jobs, "submit attempts"),
    "jobs are not killed": (never_killed, "overrun"),
    "before its predecessor": (before_its_predecessor, "data submit attempts"),
    "before its data": (partial(before_its_predecessor, early_s=0.0), "data attempts"),
    "a slower network": (slower_network, "data"),
    "rejected": (rejected, "outcome"),
}  # fmt: skip
"""What is changed, and the rules of which one must refuse it."""


@pytest.fixture(scope="module")
def legal() -> dict[str, sm.Schedule]:
    """Schedules of every kind of model."""
    made = {name: make().validate() for name, make in MODELS.items()}
    parts = {f"{name}, part": made[name].on(0).validate() for name in ("auction before queues", "auction on machines")}
    assert all(each.elsewhere is not None for each in parts.values())
    parts |= {f"{name}, part": made[name].on(0).validate() for name in made if "law of its own" in name}
    return made | parts


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_to_a_legal_schedule_is_refused_by_a_rule_that_has_a_name(
    name: str, legal: dict[str, sm.Schedule]
) -> None:
    change, rules = CHANGES[name]
    made = 0
    for model, schedule in legal.items():
        for tampered in islice(change(schedule), TRIES):
            with pytest.raises(sm.IllegalScheduleError) as refused:
                pytest.fail(f"{model}: {tampered.validate()} is not refused")
            assert refused.value.rule in rules.split(), (model, str(refused.value))
            made += 1
    assert made, "there is a model that can be changed so"


def test_every_model_loses_attempts_or_need_not(legal: dict[str, sm.Schedule]) -> None:
    with_losses = {name for name, each in legal.items() if attempts(each, lost)}
    assert with_losses == {name for name, each in legal.items() if each.off_spans is not None} - {"dependencies"}
    assert len(RULES) == 14


def test_a_part_knows_of_which_attempts_only_a_cluster_of_yours_says_how_long_they_run(
    legal: dict[str, sm.Schedule],
) -> None:
    own = legal["beside a law of its own"].on("own").validate()
    with pytest.raises(sm.errors.IllegalScheduleError, match=r"\(end\): .* what was left of it takes"):
        replace(own, attempts=own.attempts.drop(columns="changed")).validate()


def test_what_takes_no_time_runs_on_a_machine_that_there_is() -> None:
    schedule = sm.simulate(
        sm.Workload([1], [4.0], [0.0], [0.0], [1]), on=sm.Site(name="a", machines=2, cores_per_machine=4)
    )
    assert schedule.validate().attempts is not None
    with pytest.raises(sm.errors.IllegalScheduleError, match=r"\(machines\): .* on machine 5; there are 0 to 1"):
        replace(schedule, attempts=schedule.attempts.assign(machine=5)).validate()


def test_what_takes_no_time_needs_cores_of_its_machine_that_are_free() -> None:
    log = {"submit_s": [0, 5, 5], "runtime_s": [10, 0, 0], "estimate_s": [10, 5, 5], "cores": [4, 3, 4]}
    schedule = sm.simulate(log, on=sm.Site(machines=2, cores_per_machine=4)).validate()
    assert schedule.attempts is not None
    with pytest.raises(sm.errors.IllegalScheduleError, match=r"\(capacity\): job 2 .* makes 7 in use; machine 0 has 4"):
        replace(schedule, attempts=schedule.attempts.assign(machine=[0, 0, 1])).validate()
