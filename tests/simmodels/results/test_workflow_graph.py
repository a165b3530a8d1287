"""The results of a schedule on the graph of a workflow, held against schedules drawn by hand."""

import pickle
from dataclasses import replace
from typing import Any, Literal

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from tests.model_scripts import machines_on
from tests.refused import refused

FORK = [(0, 1), (0, 2), (1, 3), (2, 3)]


def of(drawn: "nx.DiGraph[Any]", name: str) -> list[object]:
    return [value for _, value in drawn.nodes(data=name)]


def fork(job_id: int = 7, submit_s: float = 5.0, **about: object) -> sm.Workflow:
    return sm.Workflow(job_id, submit_s, [10, 20, 5, 30], [2, 1, 4, 3], FORK, **about)


def test_an_auction_shows_starts_clusters_and_waits_for_cores() -> None:
    # Data of task a travel 2 s to the lab. While d waits, job 8 has two of the four cores in the east.
    job = fork(kind=("A", "A", "B", "A"), task_names=tuple("abcd"))
    other = sm.Workflow(8, 30.0, [25], 2, kind="A")
    schedule = sm.simulate_workflows([job, other], clusters=[("east", 4, "A"), ("lab", 4, "B")], bid="FIFO").validate()
    drawn = schedule.graph(7)
    assert of(drawn, "start_s") == [5, 15, 17, 55]
    assert of(drawn, "end_s") == [15, 35, 22, 85]
    assert of(drawn, "ready_s") == [5, 15, 17, 35]
    assert of(drawn, "wait_s") == [0, 0, 0, 20]
    assert of(drawn, "cluster") == ["east", "east", "lab", "east"]
    assert of(drawn, "attempts") == [1, 1, 1, 1]
    assert drawn.graph["outcome"] == "finished"
    assert drawn.graph["critical_path_s"] == schedule.workflows["critical_path_s"][0] == 60
    assert list(drawn) == list("abcd")
    assert nx.utils.graphs_equal(schedule.graph(job), drawn)
    assert nx.utils.graphs_equal(pickle.loads(pickle.dumps(schedule)).graph(7), drawn)


@given(st.integers(0, 10**6), st.sampled_from(["cluster", "kind", "none"]))
def test_a_task_is_ready_when_its_job_and_the_data_of_its_predecessors_are_there(
    seed: int, network: Literal["cluster", "kind", "none"]
) -> None:
    laws: dict[str, Any] = {"runtime_s": lambda rng: float(rng.integers(1, 60)), "cores": (1, 4)}
    jobs = [
        sm.Workflow.from_graph(wl.erdos_renyi_levels([2, 4, 3], 0.4, seed=seed + job_id, **laws), job_id=job_id)
        for job_id in range(3)
    ]
    jobs = [replace(job, kind=("A", "B") * 4 + ("A",), submit_s=7.0 * job.job_id) for job in jobs]
    platform = [("a", 4, "A"), ("b", 4, "B"), ("c", 4, "A")]
    schedule = sm.simulate_workflows(jobs, clusters=platform, bid="LRTF", network=network).validate()
    for job in jobs:
        drawn = schedule.graph(job)
        delay_s = job.delay_s()
        for task, of in drawn.nodes.items():
            ready_s = [job.submit_s]
            for before in drawn.predecessors(task):
                apart = {"cluster": "cluster", "kind": "kind", "none": "on_no_account"}[network]
                travels = drawn.nodes[before].get(apart) != of.get(apart)
                ready_s.append(drawn.nodes[before]["end_s"] + (delay_s[before] if travels else 0))
            assert of["ready_s"] == max(ready_s)
            assert of["wait_s"] == of["start_s"] - max(ready_s) >= 0


def test_a_lost_attempt_counts_and_what_never_started_has_no_times() -> None:
    env, cluster = machines_on(1, 4)
    queue = sm.QueueScheduler(env, cluster)
    sm.Source(env, [fork(submit_s=0.0)], into=queue)
    sm.Source(env, sm.Workload([1], [10.0], [2.0], [2.0], [4]), into=queue)  # beside rigid jobs
    sm.TraceCapacity(env, cluster, sm.Capacity([0.0, 6.0, 8.0], [1, 0, 1]))
    recorder = sm.Recorder(env)
    env.run(until=30)
    schedule = recorder.schedule().validate()
    drawn = schedule.graph(7)
    assert of(drawn, "attempts") == [2, 1, 0, 0]
    assert of(drawn, "start_s") == [8, 20, None, None]
    assert of(drawn, "end_s") == [18, None, None, None]
    assert of(drawn, "wait_s") == [8, 2, None, None]
    assert of(drawn, "cluster") == ["c", "c", None, None]
    assert drawn.graph["outcome"] == "unfinished"
    with refused("...no workflow of the schedule of 'workload' has job_id 1; it has 1 workflows..."):
        schedule.graph(1)
    with pytest.raises(sm.RequestError, match="no workflow of the schedule"):
        schedule.on("c").graph(7)


def test_a_workflow_that_is_not_in_the_schedule_is_refused() -> None:
    job = fork()
    schedule = sm.simulate_workflows([job, fork()], clusters=[("a", 4)])
    for wanted, text in (
        (7, "2 workflows of the schedule of 'workload' have job_id 7; pass the Workflow itself"),
        (fork(), "<Workflow 7: 4 tasks, submitted at 5 s> is not of the schedule of 'workload'"),
        ("a", "workflow must be a Workflow or a job_id \\(got 'a'\\)"),
    ):
        with pytest.raises(sm.RequestError, match=text):
            schedule.graph(wanted)
    assert of(schedule.graph(job), "start_s")[0] == 5
