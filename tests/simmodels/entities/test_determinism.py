"""The same seed gives the same bits: twice, in another process, and under another hash seed."""

import hashlib
from collections.abc import Callable

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from simmodels.entities.environment import Process
from tests.model_scripts import rigid
from tests.processes import printed_elsewhere


def model(seed: int) -> sm.Schedule:
    """A model in which all that can be random is: jobs, machines that fail, the order, and another order later."""
    env = sm.Environment(seed=seed)
    rng = env.stream("jobs")
    runtime_s, over = rng.exponential(30.0, 300), rng.uniform(0.5, 2.0, 300)
    log = sm.Workload(np.arange(300), rng.uniform(0, 900, 300), runtime_s, runtime_s * over, rng.integers(1, 9, 300))
    cluster = sm.Cluster(env, "green", machines=6, cores_per_machine=4)
    scheduler = sm.QueueScheduler(env, cluster, order="RANDOM", backfilling="easy", backfill_order="SAF")
    sm.Source(env, log, into=scheduler)
    recorder = sm.Recorder(env)

    def fails(machine: sm.Machine) -> Process:
        dice = env.stream("failures", machine.index)
        for _ in range(10):
            yield env.timeout(dice.exponential(100.0))
            machine.power_off()
            yield env.timeout(dice.exponential(20.0))
            machine.power_on()

    def tunes() -> Process:
        dice = env.stream("tuner")
        for day in range(1, 10):
            yield env.at(100.0 * day)
            scheduler.reconfigure(order=str(dice.choice(sm.TWELVE_ORDERS)))

    for machine in cluster.machines:
        env.process(fails(machine))
    env.process(tunes())
    env.run()
    schedule = recorder.schedule()
    assert len(schedule.runs) > 300  # some were lost
    assert (schedule.start_s > log.submit_s).sum() > 50
    return schedule


def digest(seed: int) -> str:
    """Return the digest of the tables of that model, and of what both engines make of an auction and of machines."""
    schedule = model(seed)
    tables = [schedule.jobs, schedule.runs]
    flows = [sm.Workflow(i, i // 2, [3 + i % 5, 2], 1 + i % 4, [(0, 1)], ("A", "B")) for i in range(60)]
    log, walk = (
        wl.variable_capacity_jobs("LogScale", weeks=0.01, seed=3),
        wl.capacity_walk(until_s=7000, period_s=100, seed=3),
    )
    for engine in ("compiled", "simpy"):
        for bid in ("Random", "PVR", "P-SLR"):
            clusters = [("a", 4, "A"), ("b", 4, "B")]
            tables.append(sm.simulate_workflows(flows, clusters=clusters, bid=bid, seed=seed, engine=engine).tasks)
        tables.append(
            sm.simulate_on_machines(log, walk, cores_per_machine=24, aware=False, seed=seed, engine=engine).attempts
        )
    assert all(one.equals(other) for one, other in zip(tables[2:6], tables[6:], strict=True))
    return hashlib.sha256("".join(table.to_csv(index=False) for table in tables).encode()).hexdigest()


def test_the_same_seed_gives_the_same_tables_here_and_in_other_processes_and_another_seed_others() -> None:
    script = "from tests.simmodels.entities.test_determinism import digest; print(digest(7))"
    here = digest(7)
    assert here == digest(7) == printed_elsewhere(script, hash_seed=4242) == printed_elsewhere(script, hash_seed=0)
    assert here != digest(8)


# -- two of a kind ----------------------------------------------------------------------------------


def on_clusters(clusters: int) -> tuple[sm.Environment, list[sm.Cluster]]:
    env = sm.Environment(seed=3)
    return env, [sm.Cluster(env, f"c{i}", machines=16, cores_per_machine=1) for i in range(clusters)]


def hourly(env: sm.Environment, made: list[sm.Cluster]) -> list[list[int]]:
    """How many machines of each cluster are on at each hour of two days."""
    counts: list[list[int]] = [[] for _ in made]
    for hour in range(48):
        env.run(until=env.end_of(hour * sm.HOUR))
        for count, cluster in zip(counts, made, strict=True):
            count.append(sum(machine.is_on for machine in cluster.machines))
    return counts


def walked(clusters: int) -> list[list[int]]:
    """How many machines are on at each hour."""
    env, made = on_clusters(clusters)
    for cluster in made:
        sm.MarkovCapacity(env, cluster, low=0, high=16, step=2, period_s=sm.HOUR)
    return hourly(env, made)


def removed(clusters: int) -> list[list[bool]]:
    """Which machines are on after some have gone."""
    env, made = on_clusters(clusters)
    for cluster in made:
        sm.TraceCapacity(env, cluster, [sm.CapacityChange(0, 16), sm.CapacityChange(5, 8)], removes="random")
    env.run()
    return [[machine.is_on for machine in cluster.machines] for cluster in made]


def started(env: sm.Environment, made: list[sm.Cluster], what: Callable[[sm.Attempt], int]) -> list[list[int]]:
    """Run the model, and return something of each attempt in the order of their starts, by cluster."""
    seen: list[list[int]] = [[] for _ in made]
    env.on(sm.Started, lambda event: seen[event.attempt.cluster.number].append(what(event.attempt)))
    env.run()
    return seen


def filled(clusters: int) -> list[list[int]]:
    """On which machines jobs start, in their order."""
    env, made = on_clusters(clusters)
    log = rigid(*[(0, 1, 1)] * 16)
    for cluster in made:
        sm.Source(env, log, into=sm.FirstFit(env, cluster, aware=False, unaware="shuffled_fill"))
    return started(env, made, lambda attempt: attempt.places[0][0].index)


def queued(clusters: int) -> list[list[int]]:
    """The order in which jobs of equal size start."""
    env, made = on_clusters(clusters)
    log = rigid(*[(0, 1, 16)] * 16)
    for cluster in made:
        sm.Source(env, log, into=sm.QueueScheduler(env, cluster, order="RANDOM"))
    return started(env, made, lambda attempt: attempt.job.job_id)


def auctioned(clusters: int) -> list[list[int]]:
    """The order in which tasks of equal size start."""
    env, made = on_clusters(clusters)
    for cluster in made:
        tasks = [sm.Workflow(job, 0.0, [1.0], [16]) for job in range(16)]
        sm.Source(env, tasks, into=sm.Auctioneer(env, [cluster], bid="Random"))
    return started(env, made, lambda attempt: attempt.job.job_id)


def used(*names: str) -> list[list[int]]:
    """Which orders tuners of these names choose, day by day."""
    env, made = on_clusters(len(names))
    tuners = []
    for name, cluster in zip(names, made, strict=True):
        queue = sm.QueueScheduler(env, cluster)
        sm.Source(env, sm.Workload([1], [30 * sm.DAY], [1.0], [1.0], [1]), into=queue)
        tuners.append(sm.Tuner(env, queue, sm.RandomOrder(), name=name))
    env.run()
    return [tuner.tuning_run.used for tuner in tuners]


def tuned(clusters: int) -> list[list[int]]:
    """Which orders are chosen by tuners of one name."""
    return used(*["tuner"] * clusters)


@pytest.mark.parametrize("drawn", [walked, removed, filled, queued, auctioned, tuned])
def test_no_two_of_a_kind_draw_alike_and_the_first_draws_as_if_alone(drawn: Callable[[int], list[list[int]]]) -> None:
    (alone,) = drawn(1)
    first, second, third = drawn(3)
    assert first == alone
    assert len({tuple(alone), tuple(second), tuple(third)}) == 3


def test_what_draws_nothing_and_what_else_there_is_change_no_draws() -> None:
    def walk(*before: str) -> list[int]:
        env = sm.Environment(seed=3)
        for name in (*before, "b"):
            cluster = sm.Cluster(env, name, machines=16, cores_per_machine=1)
            if name == "table":
                sm.TraceCapacity(env, cluster, [sm.CapacityChange(0, 16)])
            elif name == "queue":
                sm.QueueScheduler(env, cluster, order="RANDOM")
            else:
                sm.MarkovCapacity(env, cluster, low=0, high=16, step=2, period_s=sm.HOUR)
        return hourly(env, [cluster])[0]

    assert walk() == walk("table") == walk("queue")
    assert walk("a") == walk("a", "c") == walk("a", "queue", "c", "d")
    assert len({tuple(walk()), tuple(walk("a")), tuple(walk("a", "b"))}) == 3


def test_tuners_of_other_names_draw_as_if_alone() -> None:
    assert used("b")[-1] == used("a", "b")[-1] != used("b", "b")[-1]
