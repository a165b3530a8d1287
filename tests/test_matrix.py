"""Every part combines with every other: work x who decides x capacity, each cell run, proved, and added up."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simmodels as sm
from experiments.viewer.trace import write_trace
from simmodels.clusters.capacity import Mode
from simmodels.clusters.site import Removes
from simmodels.policies.queue_options import Backfilling
from tests.experiments.viewer.test_trace import assert_attempts, read_binary
from tests.on_machines import assert_identical
from tests.own_schedulers import ShortestThatFits

CLUSTERS, MACHINES, CORES = 2, 4, 4
Taker = sm.Scheduler | sm.Router


def queue(backfilling: Backfilling) -> Callable[[sm.Environment, list[sm.Cluster]], Taker]:
    return lambda env, clusters: sm.QueueScheduler(env, clusters[0], order="SAF", backfilling=backfilling)


LIMITS: list[dict[str, Any]] = [
    {"by": "user", "jobs": 1},
    {"by": "user", "value": 0, "jobs": 2, "submitted": 3},
    {"group": "some", "members": [1, 2], "cores": 5},
]


def limited_queue(env: sm.Environment, clusters: list[sm.Cluster]) -> Taker:
    return sm.QueueScheduler(env, clusters[0], order="SAF", limits=LIMITS)


SHARED = {"1": 7, "2": 12}  # cores of partitions that share one cluster


def shared_queue(env: sm.Environment, clusters: list[sm.Cluster]) -> Taker:
    caps = {int(name): {"cores": cores} for name, cores in SHARED.items()}
    return sm.QueueScheduler(env, clusters[0], order="SAF", limits=sm.Limits.by_value("partition", caps))


def by_column(env: sm.Environment, clusters: list[sm.Cluster]) -> Taker:
    return sm.ByColumn(env, [sm.QueueScheduler(env, cluster, order="SAF") for cluster in clusters])


def auction_before_queues(env: sm.Environment, clusters: list[sm.Cluster]) -> Taker:
    queues = [sm.QueueScheduler(env, cluster) for cluster in clusters]
    return sm.Auctioneer(env, queues, bid="SRTF", forward=True, rebalance_s=100)


def earliest_start(env: sm.Environment, clusters: list[sm.Cluster]) -> Taker:
    first, second = clusters
    return sm.EarliestStart(env, [sm.QueueScheduler(env, first), sm.FirstFit(env, second)])


DECIDERS: dict[str, tuple[int, Callable[[sm.Environment, list[sm.Cluster]], Taker]]] = {
    "queue, none": (1, queue("none")),
    "queue, greedy": (1, queue("greedy")),
    "queue, EASY": (1, queue("easy")),
    "queue, conservative": (1, queue("conservative")),
    "queue, limits": (1, limited_queue),
    "partitions that share cores": (1, shared_queue),
    "partitions with cores of their own": (2, by_column),
    "first fit": (1, lambda env, clusters: sm.FirstFit(env, clusters[0])),
    "target ASAP": (1, lambda env, clusters: sm.TargetAsap(env, clusters[0], reference=log())),
    "target stretch": (1, lambda env, clusters: sm.TargetStretch(env, clusters[0], reference=log())),
    "own decide": (1, lambda env, clusters: ShortestThatFits(env, clusters[0])),
    "auction": (2, lambda env, clusters: sm.Auctioneer(env, clusters, bid="SRTF")),
    "auction before queues": (2, auction_before_queues),
    "earliest start": (2, earliest_start),
}


def walk(mode: Mode, notice_s: float = 0.0) -> Callable[[sm.Environment, sm.Cluster], object]:
    return lambda env, cluster: sm.MarkovCapacity(
        env, cluster, low=1, high=MACHINES, step=1, period_s=60, notice_s=notice_s, mode=mode
    )


def failures_and_walk(env: sm.Environment, cluster: sm.Cluster) -> object:
    return walk("kill")(env, cluster), sm.Failures(env, cluster, mtbf_s=900, repair_s=100)


CAPACITIES: dict[str, Callable[[sm.Environment, sm.Cluster], object]] = {
    "fixed": lambda _, __: None,
    "walk, kill": walk("kill"),
    "walk, notice": walk("kill", 45.0),
    "walk, drain": walk("drain", 45.0),
    "walk, checkpoint": walk("checkpoint", 45.0),
    "failures and walk": failures_and_walk,
}


def log() -> sm.Workload:
    draw = np.random.default_rng(1)
    jobs = 30
    runtime_s = draw.integers(5, 120, jobs)
    estimate_s = runtime_s + draw.integers(0, 40, jobs)
    submit_s = np.sort(draw.integers(0, 400, jobs))
    cores, users = draw.integers(1, CORES + 1, jobs), np.arange(jobs) % 3
    extras = {"partition": draw.integers(1, 3, jobs)}
    return sm.Workload(np.arange(jobs), submit_s, runtime_s, estimate_s, cores, users, extras=extras)


def flows() -> list[sm.Workflow]:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    return [sm.Workflow(100 + n, 60.0 * n, [30.0, 50.0 + n, 20.0, 40.0], [1, 4, 2, 3], edges) for n in range(6)]


WORK: dict[str, list[sm.Workload | list[sm.Workflow]]] = {
    "log": [log()],
    "workflows": [flows()],
    "both": [log(), flows()],
}
CELLS = [(work, decider) for work in WORK for decider in DECIDERS if work == "log" or "partitions" not in decider]
"""What runs under what: tasks are in no partition."""


class Meter:
    """Adds up, at every event, how many core-seconds were idle on machines that are on, and how many were off."""

    def __init__(self, env: sm.Environment, clusters: list[sm.Cluster]) -> None:
        self.env = env
        self.clusters = clusters
        self.since_s, self.idle, self.off = 0.0, 0.0, 0.0
        self.state = self.count()
        for kind in (sm.Started, sm.Ended, sm.Powered):
            env.on(kind, lambda _: self.look())

    def count(self) -> tuple[int, int]:
        machines = [machine for cluster in self.clusters for machine in cluster.machines]
        return (
            sum(machine.free_cores for machine in machines if machine.is_on),
            # What ran on a machine that goes ends at the instant at which it goes.
            sum(machine.free_cores for machine in machines if not machine.is_on),
        )

    def look(self) -> None:
        lasted_s = self.env.now - self.since_s
        self.idle += lasted_s * self.state[0]
        self.off += lasted_s * self.state[1]
        self.since_s, self.state = self.env.now, self.count()


def waited_s(schedule: sm.Schedule) -> float:
    """How long rigid jobs waited, all of them together; none waits at the end."""
    queue = schedule.queue_length()
    return float(np.sum(np.diff(queue["time_s"]) * queue["queue_length"][:-1]))


def totals(schedule: sm.Schedule) -> dict[str, float]:
    """What adds up over the clusters of a schedule: numbers, core-seconds, energy."""
    runs, metrics = schedule.runs, schedule.metrics()
    low, high = schedule.simulated_s
    clusters = [schedule.on(spec.name) for spec in schedule.clusters]
    offered = sum(each.cores_per_machine * each.capacity.machine_seconds(low, high) for each in clusters)
    return {
        "attempts": len(runs),
        "lost_s": float((runs["cores"] * runs["lost_s"]).sum()),
        "kills": metrics["kills"],
        **{name: metrics[name] * offered for name in ("goodput", "aborted", "idle")},
        "completed": int((schedule.outcome == 0).sum()),
        "counted": int(schedule.counted.sum()),
        "energy_kwh": schedule.energy(sm.Power(machine_w=100.0, core_w=10.0))["energy_kwh"],
    }


def assert_parts_add_up(
    schedule: sm.Schedule, whole: dict[str, float], parts: list[sm.Schedule], *, rigid: bool
) -> None:
    found = [totals(part.validate()) for part in parts]
    added = {name: sum(each[name] for each in found) for name in found[0]}
    assert added == pytest.approx(whole, rel=1e-9, abs=1e-6)
    if rigid:
        assert sum(map(waited_s, parts)) == pytest.approx(waited_s(schedule), abs=1e-6)


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize(("work", "decider"), CELLS)
def test_every_part_combines_with_every_other(work: str, decider: str, capacity: str, tmp_path: Path) -> None:
    env = sm.Environment(seed=5)
    many, make = DECIDERS[decider]
    saving = sm.Checkpoints(interval_s=40, cost_s=2, restart_s=3) if "checkpoint" in capacity else None
    clusters = [
        sm.Cluster(env, name, machines=MACHINES, cores_per_machine=CORES, checkpoints=saving) for name in "12"[:many]
    ]
    for cluster in clusters:
        CAPACITIES[capacity](env, cluster)
    taker = make(env, clusters)
    for each in WORK[work]:
        sm.Source(env, each, into=taker)
    recorder, meter = sm.Recorder(env), Meter(env, clusters)
    of_clusters = [sm.Recorder(env, cluster) for cluster in clusters]
    env.run(until=sm.all_done(env))
    meter.look()
    schedule = recorder.schedule(window_s=(0.0, float(env.now))).validate()

    assert (schedule.outcome == 0).all(), "no job is lost"
    rows = sum(len(each) if isinstance(each, sm.Workload) else sum(map(len, each)) for each in WORK[work])
    assert len(schedule) == rows
    runs = schedule.runs
    worked = float((runs["cores"] * runs["work_s"]).sum())
    lost = float((runs["cores"] * runs["lost_s"]).sum())
    total = many * MACHINES * CORES * float(env.now)
    assert worked + lost + meter.idle + meter.off == pytest.approx(total, rel=1e-9)
    # All the work is done, once.
    assert worked == pytest.approx(float(schedule.workload.runtime_s @ schedule.workload.cores), rel=1e-9)
    metrics = schedule.metrics()
    assert metrics["goodput"] + metrics["aborted"] + metrics["idle"] == pytest.approx(1, rel=1e-9)
    assert metrics["goodput"] * (total - meter.off) == pytest.approx(worked, rel=1e-9)
    if capacity in {"fixed", "walk, drain"}:
        assert lost == pytest.approx(0, abs=1e-6)
    if capacity in {"walk, kill", "failures and walk"} and work != "workflows":  # which may have safe machines only
        assert lost > 0
    assert (meter.off == 0) == (capacity == "fixed")
    window_s = (0.0, float(env.now))
    whole, rigid = totals(schedule), work == "log"
    assert_parts_add_up(schedule, whole, [each.schedule(window_s=window_s) for each in of_clusters], rigid=rigid)
    if many > 1:
        assert_parts_add_up(schedule, whole, [schedule.on(each.name) for each in clusters], rigid=rigid)
    write_trace(schedule, tmp_path / "out.pftrace")
    assert_attempts(schedule, read_binary(tmp_path / "out.pftrace"))


def on_processes(decider: str, work: str) -> sm.Schedule:
    """Return the schedule of a cell with fixed machines."""
    env = sm.Environment(seed=5)
    many, make = DECIDERS[decider]
    clusters = [sm.Cluster(env, name, machines=MACHINES, cores_per_machine=CORES) for name in "12"[:many]]
    taker = make(env, clusters)
    for each in WORK[work]:
        sm.Source(env, each, into=taker)
    recorder = sm.Recorder(env)
    env.run()
    return recorder.schedule(window_s=(0.0, 5000.0))


def plain_queue(decider: str) -> sm.Schedule:
    how = decider.removeprefix("queue, ")
    options: dict[str, Any] = {"limits": LIMITS} if how == "limits" else {"backfilling": how.lower()}
    return sm.simulate(log(), cores=MACHINES * CORES, order="SAF", **options)


def plain_placer(heuristic: str, **options: sm.Workload) -> sm.Schedule:
    table = [(0, MACHINES)]
    return sm.simulate_on_machines(
        log(), table, cores_per_machine=CORES, heuristic=heuristic, window_s=(0, 5000), seed=5, **options
    )


def partitions(sizes: dict[str, int], **cores: int) -> sm.Schedule:
    return sm.simulate(log(), on=list(sizes.items()), router="ByPartition", order="SAF", engine="compiled", **cores)


COMPILED: dict[tuple[str, str], Callable[[], sm.Schedule]] = {
    **{(name, "log"): partial(plain_queue, name) for name in DECIDERS if name.startswith("queue")},
    ("partitions that share cores", "log"): partial(partitions, SHARED, cores=MACHINES * CORES),
    ("partitions with cores of their own", "log"): partial(partitions, dict.fromkeys("12", MACHINES * CORES)),
    ("first fit", "log"): partial(plain_placer, "FirstFit"),
    ("target ASAP", "log"): partial(plain_placer, "TargetAsap", reference=log()),
    ("target stretch", "log"): partial(plain_placer, "TargetStretch", reference=log()),
    ("auction", "workflows"): lambda: sm.simulate_workflows(
        flows(), clusters=[("a", MACHINES * CORES), ("b", MACHINES * CORES)], bid="SRTF", seed=5
    ),
}


@pytest.mark.parametrize(("decider", "work"), COMPILED)
def test_both_engines_are_identical_where_a_compiled_path_covers_a_cell(decider: str, work: str) -> None:
    compiled, processes = COMPILED[decider, work](), on_processes(decider, work)
    assert compiled.start_s.tolist() == processes.start_s.tolist()
    assert compiled.end_s.tolist() == processes.end_s.tolist()


MIXED = [sm.Machines(2, cores=4, speed=2.0), sm.Machines(1, cores=2), sm.Machines(2, cores=3, speed=0.5)]
FAST_AND_SLOW = [sm.Machines(2, cores=CORES, speed=2.0), sm.Machines(3, cores=CORES, speed=0.7)]
ON_MACHINES: dict[str, dict[str, Any]] = {
    **{f"queue, {each}": {"backfilling": each} for each in ("none", "greedy", "easy", "conservative")},
    "queue, limits": {"limits": LIMITS},
    "queue, limits of submitted jobs": {"limits": [{"by": "user", "submitted": 2}], "order": "SAF"},
    "queue, fair share": {"order": "FairShare", "shares": sm.Shares(period_s=20, half_life_s=40)},
    "killed at estimates": {"overrun": "kill"},
    "first fit": {"heuristic": "FirstFit"},
    "auction": {"bid": "SRTF"},
}


OUTAGES: dict[str, dict[str, Any]] = {
    "none": {},
    "sleep": {"sleep": sm.SleepPolicy(after_s=3, boot_s=2, awake=1)},
    "failures": {"failures": sm.FailureLaw(mtbf_s=400, repair_s=20)},
    "maintenance": {"maintenance": [sm.MaintenanceWindow(start_s=100, duration_s=50, machines=[1, 3], notice_s=30)]},
}
OUTAGES["all"] = {name: value for each in OUTAGES.values() for name, value in each.items()}


NOTICES: list[tuple[Removes, float]] = [("highest", 0.0), ("highest", 45.0), ("random", 45.0)]
UNEQUAL = [
    (decider, outages, *NOTICES[(row + column) % 3])
    for row, decider in enumerate(ON_MACHINES)
    for column, outages in enumerate(OUTAGES)
]
"""Each decider with all outages, and both with all notices: a Latin square; random models draw the rest."""


@pytest.mark.parametrize("mode", ["kill", "drain", "checkpoint"])
@pytest.mark.parametrize(("decider", "outages", "removes", "notice_s"), UNEQUAL)
def test_unequal_machines_are_the_same_on_both_engines(
    decider: str, outages: str, removes: Removes, notice_s: float, mode: Mode
) -> None:
    wanted = zip((0, 60, 150, 200, 300, 380, 470), (5, 2, 4, 1, 5, 3, 5), strict=True)
    site = sm.Site(
        name="a",
        machines=FAST_AND_SLOW if decider == "first fit" else MIXED,
        capacity=[sm.CapacityChange(at, machines, notice_s if at else 0.0, mode) for at, machines in wanted],
        removes=removes,
        checkpoints=sm.Checkpoints(interval_s=40, cost_s=2, restart_s=3),
        **OUTAGES[outages],
    )
    work = flows() if decider == "auction" else log()
    compiled, simpy = (
        sm.simulate(work, on=site, engine=engine, seed=5, **ON_MACHINES[decider]) for engine in ("compiled", "simpy")
    )
    assert (compiled.validate().outcome < 2).all(), "no job is lost"
    assert_identical(compiled, simpy)
    metrics = compiled.metrics()
    assert metrics["goodput"] + metrics["aborted"] + metrics["idle"] == pytest.approx(1, rel=1e-9)
