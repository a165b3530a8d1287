import math
from typing import TYPE_CHECKING, Any

import pytest
from simpy.events import Event, Timeout

import simmodels as sm
from simmodels.entities.environment import Environment, Process
from tests.model_scripts import machines_on, rigid, scheduled
from tests.own_schedulers import Twice

if TYPE_CHECKING:
    from simmodels.entities.machine import Machine


def job(cores: int, runtime_s: float = 10.0, job_id: int = 1) -> sm.Job:
    return sm.Job(job_id, 0.0, runtime_s, runtime_s, cores)


# -- making one ----------------------------------------------------------------------------------------


EITHER = "give either cores, or machines and cores_per_machine"
LIST = "give a list of Machines"
WHOLE = r"of cluster 'odd' must be an integer from 1 to 2\*\*53 \(got .*\)"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ({}, rf"cluster 'odd' with cores=.*{EITHER}"),
        ({"machines": 2}, EITHER),
        ({"cores_per_machine": 2}, EITHER),
        ({"cores": 4, "cores_per_machine": 2}, EITHER),
        ({"machines": [sm.Machines(1, 2)], "cores_per_machine": 2}, f"{EITHER}, or a list of Machines"),
        ({"machines": []}, LIST),
        ({"machines": [4]}, LIST),
        ({"machines": [sm.Machines(1, 2)], "speed": 2.0}, f"{LIST}, which say their speeds"),
        ({"cores": 4, "speed": 0.0}, r"speed must be a finite number > 0 \(got 0.0\)"),
        ({"cores": -3}, WHOLE),
        ({"machines": 0, "cores_per_machine": 2}, WHOLE),
        ({"machines": 2, "cores_per_machine": 0.5}, WHOLE),
        ({"cores": math.nan}, WHOLE),
    ],
)
def test_a_cluster_is_a_pool_or_machines_of_whole_cores_and_nothing_else(size: dict[str, Any], text: str) -> None:
    with pytest.raises(sm.RequestError, match=text):
        sm.Cluster(Environment(), "odd", **size)


def test_its_size_and_what_is_free() -> None:
    cluster = sm.Cluster(Environment(), "green", machines=3, cores_per_machine=4, kind="gpu")
    assert (cluster.cores, cluster.free_cores, cluster.kind) == (12, 12, "gpu")
    assert [machine.index for machine in cluster.machines] == [0, 1, 2]
    cluster.start(job(5))
    assert repr(cluster) == "<Cluster 'green': 7 of 12 cores free>"
    assert repr(cluster.machines[1]) == "<Machine 1 of 'green': on>"


# -- running jobs --------------------------------------------------------------------------------------


def test_too_wide_a_job_cannot_be_started() -> None:
    cluster = sm.Cluster(Environment(), "pool", cores=4)
    cluster.start(job(3))
    with pytest.raises(sm.ImpossibleJobError, match="job 9: needs 2 cores, and 1 of cluster 'pool' are free"):
        cluster.start(job(2, job_id=9))
    assert cluster.free_cores == 1


def test_an_attempt_says_how_it_went_and_then_is_called_when_its_cores_are_free() -> None:
    env = Environment(start_s=3.0)
    cluster = sm.Cluster(env, "pool", cores=4)
    seen: list[tuple[sm.Attempt, int]] = []
    attempt = cluster.start(job(3), then=lambda done: seen.append((done, cluster.free_cores)))
    assert (attempt.end_s, attempt.outcome) == (None, None)
    assert repr(attempt) == "<Attempt of job 1 from 3 s>"
    env.run()
    assert (attempt.start_s, attempt.end_s, attempt.outcome) == (3.0, 13.0, sm.Outcome.COMPLETED)
    assert seen == [(attempt, 4)]


@pytest.mark.parametrize(
    ("limit_s", "end_s", "outcome"), [(4.0, 4.0, "KILLED"), (10.0, 10.0, "COMPLETED"), (0.0, 0.0, "KILLED")]
)
def test_a_job_is_stopped_at_its_limit(limit_s: float, end_s: float, outcome: str) -> None:
    env = Environment()
    attempt = sm.Cluster(env, "pool", cores=4).start(job(1), limit_s=limit_s)
    env.run()
    assert (attempt.end_s, attempt.outcome) == (end_s, sm.Outcome[outcome])


# -- extending it --------------------------------------------------------------------------------------


class WithSetup(sm.Cluster):
    """Each job first waits 3 s for its files."""

    def execute(self, attempt: sm.Attempt) -> Process:
        yield Timeout(self.env, 3.0)
        yield from super().execute(attempt)


def starts(cluster_class: type[sm.Cluster], **options: object) -> tuple[list[float], list[float]]:
    env = sm.Environment()
    cluster = cluster_class(env, "mine", cores=2)
    scheduler = sm.QueueScheduler(env, cluster, **options)
    schedule = scheduled(scheduler, rigid((0, 10, 1), (1, 10, 2), (2, 4, 1)))
    return schedule.start_s.tolist(), schedule.end_s.tolist()


def test_a_cluster_may_say_how_long_a_job_runs_there_and_what_it_does() -> None:
    assert starts(sm.Cluster) == ([0, 10, 2], [10, 20, 6])
    assert starts(Twice) == ([0, 20, 2], [20, 40, 10])
    assert starts(Twice, overrun="kill") == ([0, 10, 2], [10, 20, 6])
    assert starts(WithSetup) == ([0, 13, 2], [13, 26, 9])


def test_a_job_lost_during_what_it_does_runs_again_from_the_start() -> None:
    env = sm.Environment()
    cluster = WithSetup(env, "mine", machines=1, cores_per_machine=2)
    scheduler = sm.QueueScheduler(env, cluster)
    env.process(switch(env, cluster, [(2, 0, False), (4, 0, True), (9, 0, False), (20, 0, True)]))
    runs = scheduled(scheduler, rigid((0, 10, 2))).runs[["attempt", "start_s", "end_s", "outcome"]]
    assert runs.to_numpy().tolist() == [[1, 0, 2, 2], [2, 4, 9, 2], [3, 20, 33, 0]]


def switch(env: Environment, cluster: sm.Cluster, plan: list[tuple[float, int, bool]]) -> Process:
    """Power machines: (instant, machine, on)."""
    for instant, index, on in plan:
        yield env.at(instant)
        machine = cluster.machines[index]
        machine.power_on() if on else machine.power_off()


# -- power ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
def test_a_machine_may_go_off_and_on_within_an_instant(decide: str, backfilling: str) -> None:
    env, cluster = machines_on(2, 2)
    env.process(switch(env, cluster, [(4, 0, False), (4, 0, True)]))
    scheduler = sm.QueueScheduler(env, cluster, decide=decide, backfilling=backfilling)
    schedule = scheduled(scheduler, rigid((0, 10, 4), (1, 5, 1)))
    attempts = schedule.runs[["job_id", "start_s", "end_s", "outcome"]].to_numpy().tolist()
    assert attempts == [[1, 0, 4, 2], [1, 4, 14, 0], [2, 14, 19, 0]]


def test_switching_twice_is_switching_once() -> None:
    seen: list[tuple[float, bool]] = []
    env, cluster = machines_on(2, 2)
    env.on(sm.Powered, lambda event: seen.append((env.now, event.machine.is_on)))
    env.process(switch(env, cluster, [(1, 0, True), (2, 0, False), (2, 0, False), (3, 0, False), (4, 0, True)]))
    env.run()
    assert seen == [(2.0, False), (4.0, True)]
    assert cluster.free_cores == 4


def test_power_off_says_when_it_is_done() -> None:
    env, cluster = machines_on(1, 2)
    attempt = cluster.start(job(2))
    seen: list[object] = []

    def operator() -> Process:
        yield env.timeout(3.0)
        machine: Machine = cluster.machines[0]
        done: Event = machine.power_off()
        assert machine.is_on
        yield done
        seen.extend([env.now, machine.is_on, cluster.free_cores])

    env.process(operator())
    env.run()
    assert seen == [3.0, False, 0]
    assert (attempt.outcome, attempt.end_s) == (sm.Outcome.LOST, 3.0)


class Working(sm.Cluster):
    """A cluster whose attempts are processes."""

    def execute(self, attempt: sm.Attempt) -> Process:
        yield from super().execute(attempt)


@pytest.mark.parametrize("kind", [sm.Cluster, Working])
def test_an_attempt_is_stopped_once_and_one_that_has_ended_stays_as_it_is(kind: type[sm.Cluster]) -> None:
    env = sm.Environment()
    cluster = kind(env, "pool", cores=2)
    ended: list[tuple[float, sm.Outcome | None]] = []
    env.on(sm.Ended, lambda event: ended.append((env.now, event.attempt.outcome)))
    attempt = cluster.start(job(1))
    other = cluster.start(job(1))
    env.run(until=3)
    attempt.interrupt()
    attempt.interrupt()
    env.run()
    other.interrupt()
    env.run()
    assert ended == [(3.0, sm.Outcome.LOST), (10.0, sm.Outcome.COMPLETED)]
    assert cluster.free_cores == 2
    assert not cluster.running


def test_attempts_that_are_processes_make_the_same_schedule() -> None:
    submit_s, runtime_s = [0, 0, 1, 1, 2, 5, 5, 6, 9], [3, 0, 4, 1, 0, 3, 3, 2, 1]
    workload = sm.Workload(range(9), submit_s, runtime_s, [3] * 9, [1, 2] * 4 + [2])

    def run(kind: type[sm.Cluster]) -> sm.Schedule:
        env = sm.Environment()
        cluster = kind(env, "green", machines=2, cores_per_machine=1)
        env.process(switch(env, cluster, [(2, 1, False), (5, 1, True)]))
        return scheduled(sm.QueueScheduler(env, cluster, overrun="kill"), workload)

    plain, working = run(sm.Cluster), run(Working)
    assert plain.start_s.tolist() == working.start_s.tolist()
    assert plain.end_s.tolist() == working.end_s.tolist()
    assert plain.all_attempts().equals(working.all_attempts())
