# ruff: noqa: ANN401  options of any type are handed through
"""Partitions with cores of their own: a router by column, against a simulation of each partition alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from tests.simmodels.test_properties import Machine, machines, options

LOG = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [2, 2, 1], "partition": [4, 9, 4]}
WITHOUT = {name: column for name, column in LOG.items() if name != "partition"}
TWO = [("9", 2), ("4", 3)]


@st.composite
def parted(draw: st.DrawFn) -> tuple[int, sm.Workload]:
    """A number of cores of each partition, and jobs of up to three of them, some of unknown length."""
    cores, jobs = draw(machines(most=16))
    lengths = st.lists(st.booleans(), min_size=len(jobs), max_size=len(jobs))
    runtime_s = np.where(draw(lengths), jobs.runtime_s, -1) if draw(st.booleans()) else jobs.runtime_s
    of = draw(st.lists(st.integers(0, 2), min_size=len(jobs), max_size=len(jobs)))
    return cores, replace(jobs, runtime_s=runtime_s, extras={"queue": np.array(of, np.int64)})


@given(parted(), options())
def test_each_partition_runs_as_if_it_were_alone(machine: Machine, how: dict[str, object]) -> None:
    cores, jobs = machine
    chosen: dict[str, Any] = dict(how)
    if len(jobs) % 2:  # a row of a user who has jobs in some of the partitions only is no error in the others
        chosen["limits"] = [{"by": "user", "jobs": 2}]
        named = jobs.user_id[jobs.known() & (jobs.user_id >= 0)]
        chosen["limits"] += [{"by": "user", "value": int(value), "jobs": 1} for value in named[:1]]
    on = [(str(number), cores + number) for number in (2, 0, 1)]
    found = [
        sm.simulate(jobs, on=on, router="ByQueue", engine=engine, seed=3, **chosen) for engine in ("simpy", "auto")
    ]
    for place, (name, size) in enumerate(on):
        rows = np.flatnonzero(jobs.extras["queue"] == int(name))
        part = jobs.take(rows)
        mine = part.take(part.known()).numbers_by_name
        own = {"limits": sm.Limits(chosen["limits"]).within(mine)} if "limits" in chosen else {}
        alone = sm.simulate(part, cores=size, seed=3, **{**chosen, **own})
        for schedule in found:
            if "RANDOM" not in str(how):  # a queue behind a router draws from a stream of its own
                assert schedule.start_s[rows].tobytes() == alone.start_s.tobytes()
                assert schedule.end_s[rows].tobytes() == alone.end_s.tobytes()
            assert set(schedule.cluster[rows].tolist()) <= {place, -1}
    simpy, auto = found
    for column in ("start_s", "end_s", "outcome", "counted", "cluster", "executed_s"):
        assert getattr(simpy, column).tobytes() == getattr(auto, column).tobytes(), column
    assert simpy.terms == auto.terms
    assert {**simpy.about, "engine": None} == {**auto.about, "engine": None}
    assert simpy.clusters == auto.clusters
    assert simpy.metrics() == pytest.approx(auto.metrics(), nan_ok=True)
    auto.validate()


def test_one_partition_with_a_job_that_is_left_out_is_the_same_on_both_engines() -> None:
    log = {**LOG, "runtime_s": [10, -1, 5], "partition": [4, 4, 4]}
    simpy, auto = (sm.simulate(log, on=[("4", 3)], router="ByPartition", engine=each) for each in ("simpy", "auto"))
    assert simpy.cluster.tolist() == auto.cluster.tolist()
    assert {**simpy.about, "engine": "compiled"} == auto.about


@given(parted(), options(), st.integers(0, 2))
def test_partitions_that_share_cores_are_one_queue_under_limits(machine: Machine, how: Any, fewer: int) -> None:
    cores, jobs = machine
    chosen = dict(how)
    mine = [{"by": "user", "jobs": 2}, {"by": "queue", "jobs": 3}] if len(jobs) % 2 else None
    on = [(str(number), cores + number) for number in (2, 0, 1)]
    there = sorted({int(value) for value in jobs.extras["queue"][jobs.known()]})
    caps = [{"by": "queue", "value": value, "cores": cores + value} for value in there]
    by_hand = [*(mine or []), *caps]
    for engine in ("simpy", "auto"):
        same: dict[str, Any] = {"engine": engine, "seed": 3, "cores": cores + 2 + fewer, **chosen}
        found = sm.simulate(jobs, on=on, router="ByQueue", **same, **({"limits": mine} if mine else {}))
        expected = sm.simulate(jobs, **same, **({"limits": by_hand} if by_hand else {}))
        for column in ("start_s", "end_s", "outcome", "counted", "cluster"):
            assert getattr(found, column).tobytes() == getattr(expected, column).tobytes(), column
        assert found.clusters == expected.clusters
        found.validate()


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_partitions_share_cores_only_if_they_have_more_than_the_machine(engine: Any) -> None:
    def found(cores: int, **how: Any) -> sm.Schedule:
        return sm.simulate(LOG, on=TWO, cores=cores, router="ByPartition", engine=engine, **how)

    assert found(5).cluster.tolist() == [1, 0, 1]
    shared = found(4, limits=[{"by": "partition", "value": 9, "jobs": 1}]).validate()
    assert shared.start_s.tolist() == [0.0, 1.0, 10.0]  # partition 4 has 3 cores, of which the machine has none left
    assert shared.terms.limits == sm.Limits(
        [{"by": "partition", "value": 9, "jobs": 1, "cores": 2}, {"by": "partition", "value": 4, "cores": 3}]
    )
    for how, text in (
        ({"cores": 4, "heuristic": "FirstFit"}, "a placer needs machines"),
        ({"cores": 4, "cores_per_machine": 2}, "cores, cores_per_machine beside on"),
        ({"cores": 0}, "cores must be an integer from 1"),
        ({"cores": 4, "on": [("9", 2), sm.Site(name="4", machines=3, cores_per_machine=2)]}, "let each be a queue of"),
        ({"cores": 4, "on": [("9", 2), ("5", 3)]}, r"job 1: its partition is 4, and no cluster has that name \(1 more"),
        ({"cores": 2, "on": [("9", 2), ("4", 1)]}, "job 1: .*2 cores.*1"),
        ({"cores": 1}, "job 1: .*2 cores.*1"),
        ({"cores": 4, "limits": [{"by": "partition", "cores": 1}]}, "job 1: needs 2 cores, and partition 4 may have 1"),
    ):
        with pytest.raises((sm.ImpossibleJobError, sm.RequestError), match=text):
            sm.simulate(LOG, **{"on": TWO, "router": "ByPartition", "engine": engine, **how})


@pytest.mark.parametrize(
    ("limits", "start_s"),
    [
        ([], [0, 0, 10]),
        ([{"by": "partition", "cores": 9}], [0, 0, 10]),
        ([{"by": "partition", "value": 4, "cores": 9}], [0, 0, 10]),
        ([{"by": "partition", "cores": 2}], [0, 10, 20]),
        ([{"by": "partition", "cores": 2}, {"by": "partition", "value": 4, "cores": 5}], [0, 0, 10]),
        ([{"by": "partition", "value": 4, "cores": 3}, {"by": "user", "cores": 9}], [0, 10, 20]),
    ],
)
def test_of_the_cores_of_a_partition_and_its_limit_the_lower_count(limits: Any, start_s: list[float]) -> None:
    log = {**LOG, "submit_s": [0, 0, 0], "runtime_s": [10, 10, 10], "cores": [2, 2, 2], "partition": [4, 4, 4]}
    on = [("04", 9), ("4", 4), ("9", 9), ("12345678901234567890", 9)]  # only one of these is the partition
    schedule = sm.simulate(log, on=on, cores=9, router="ByPartition", **({"limits": limits} if limits else {}))
    assert schedule.start_s.tolist() == start_s


def test_what_no_limit_counts_is_in_no_partition_that_shares_cores() -> None:
    log = {**LOG, "partition": [4, -1, 4]}
    with pytest.raises(sm.RequestError, match=r"jobs of an unknown partition \(-1\) on clusters that share 4 cores"):
        sm.simulate(log, on=[("4", 3), ("-1", 3)], cores=4, router="ByPartition")


def test_a_job_of_a_partition_that_shares_cores_says_what_it_waits_for() -> None:
    table = sm.simulate(LOG, on=TWO, cores=3, router="ByPartition").terms.limits
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "machine", cores=9), limits=table)
    jobs = {**LOG, "submit_s": [0, 0, 0], "cores": [3, 1, 1]}
    sm.Source(env, jobs, into=queue)
    env.run(until=1)
    assert [queue.waits_for(job) for job in queue.waiting] == ["partition 4 may have 3 cores"]


def test_partitions_are_replayed_by_the_compiled_engine_where_they_share_nothing() -> None:
    assert sm.simulate(LOG, on=TWO, router="ByPartition", engine="compiled").cluster.tolist() == [1, 0, 1]
    for how in ({"order": "RANDOM"}, {"decide": "event"}, {"order": "FairShare"}):
        with pytest.raises(sm.RequestError, match="does not cover ByPartition before 2 schedulers"):
            sm.simulate(LOG, on=TWO, router="ByPartition", engine="compiled", **how)


@pytest.mark.parametrize("engine", ["simpy", "auto"])
@pytest.mark.parametrize(
    ("log", "on", "text"),
    [
        (LOG, [("9", 2), ("5", 3)], r"job 1: its partition is 4, and no cluster has that name \(1 more"),
        (LOG, [("9", 1), ("4", 3)], "job 2: .*2 cores.*1"),
        ({**LOG, "partition": [4, 9, -1]}, TWO, "job 3: its partition is -1, and no cluster has that name"),
        (WITHOUT, TWO, "ByPartition goes by partition, of which the workload"),
    ],
)
def test_jobs_without_a_place_are_refused_in_one_sentence(engine: Any, log: Any, on: Any, text: str) -> None:
    with pytest.raises((sm.ImpossibleJobError, sm.RequestError), match=text):
        sm.simulate(log, on=on, router="ByPartition", engine=engine)


def test_a_script_names_its_clusters_too() -> None:
    env = sm.Environment()
    router = sm.ByColumn(env, [sm.QueueScheduler(env, sm.Cluster(env, name, cores=cores)) for name, cores in TWO])
    sm.Source(env, {**LOG, "partition": [4, 9, 5]}, into=router)
    with pytest.raises(sm.RequestError, match="partition of job 3 is 5, and no cluster has that name"):
        env.run()
