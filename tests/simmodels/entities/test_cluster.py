import math
from typing import TYPE_CHECKING, Any

import pytest
from simpy.events import Event, Timeout

import simmodels as sm
from simmodels.entities.environment import Environment, Process
from tests.model_scripts import machines_on, scheduled
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
        ({"cores": 4, "machines": 2, "cores_per_machine": 2}, EITHER),
        ({"machines": 2}, EITHER),
        ({"cores_per_machine": 2}, EITHER),
        ({"cores": 4, "cores_per_machine": 2}, EITHER),
        ({"machines": [sm.Machines(1, 2)], "cores_per_machine": 2}, f"{EITHER}, or a list of Machines"),
        ({"machines": []}, LIST),
        ({"machines": [4]}, LIST),
        ({"machines": [sm.Machines(1, 2)], "speed": 2.0}, f"{LIST}, which say their speeds"),
        ({"cores": 4, "speed": 0.0}, r"speed must be a finite number > 0 \(got 0.0\)"),
        ({"cores": 0}, WHOLE),
        ({"cores": -3}, WHOLE),
        ({"machines": 0, "cores_per_machine": 2}, WHOLE),
        ({"machines": -2, "cores_per_machine": -2}, WHOLE),
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


def test_a_job_gets_the_free_cores_of_the_lowest_machines() -> None:
    env, cluster = machines_on(3, 4)
    places = []
    for needs, runs in ((3, 10.0), (3, 20.0), (4, 20.0)):
        attempt = cluster.start(job(needs, runs))
        places.append([(machine.index, cores) for machine, cores in attempt.places])
    assert places == [[(0, 3)], [(0, 1), (1, 2)], [(1, 2), (2, 2)]]
    env.run(until=15)
    assert [machine.free_cores for machine in cluster.machines] == [3, 0, 2]
    assert [(m.index, c) for m, c in cluster.start(job(4)).places] == [(0, 3), (2, 1)]
    env.run()
    assert [machine.free_cores for machine in cluster.machines] == [4, 4, 4]
    assert not cluster.running
    assert not any(machine.running for machine in cluster.machines)


def test_a_pool_has_no_places() -> None:
    assert sm.Cluster(Environment(), "pool", cores=4).start(job(3)).places == []


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
    log = sm.Workload([1, 2, 3], [0, 1, 2], [10, 10, 4], [10, 10, 4], [1, 2, 1])
    sm.Source(env, log, into=scheduler)
    attempts: list[sm.Attempt] = []
    env.on(sm.Ended, lambda event: attempts.append(event.attempt))
    env.run()
    attempts.sort(key=lambda attempt: attempt.job.job_id)
    return [attempt.start_s for attempt in attempts], [attempt.end_s for attempt in attempts]


def test_a_cluster_may_say_how_long_a_job_runs_there() -> None:
    assert starts(sm.Cluster) == ([0, 10, 2], [10, 20, 6])
    assert starts(Twice) == ([0, 20, 2], [20, 40, 10])
    assert starts(Twice, overrun="kill") == ([0, 10, 2], [10, 20, 6])


def test_a_cluster_may_say_what_a_job_does() -> None:
    assert starts(WithSetup) == ([0, 13, 2], [13, 26, 9])


def test_a_job_lost_during_what_it_does_runs_again_from_the_start() -> None:
    env = sm.Environment()
    cluster = WithSetup(env, "mine", machines=1, cores_per_machine=2)
    scheduler = sm.QueueScheduler(env, cluster)
    sm.Source(env, sm.Workload([1], [0], [10], [10], [2]), into=scheduler)
    recorder = sm.Recorder(env)
    env.process(switch(env, cluster, [(2, 0, False), (4, 0, True), (9, 0, False), (20, 0, True)]))
    env.run()
    assert recorder.schedule().runs[["attempt", "start_s", "end_s", "outcome"]].to_numpy().tolist() == [
        [1, 0, 2, 2],
        [2, 4, 9, 2],
        [3, 20, 33, 0],
    ]


def switch(env: Environment, cluster: sm.Cluster, plan: list[tuple[float, int, bool]]) -> Process:
    """Power machines: (instant, machine, on)."""
    for instant, index, on in plan:
        yield env.at(instant)
        machine = cluster.machines[index]
        machine.power_on() if on else machine.power_off()


# -- power ---------------------------------------------------------------------------------------------


def model(
    plan: list[tuple[float, int, bool]], jobs: list[tuple[float, float, int]], machines: int = 2, **options: object
) -> tuple[sm.Schedule, list[list[float]]]:
    """Run jobs (submit, runtime, cores) on machines of 2 cores; attempts are (job, start, end, outcome)."""
    env, cluster = machines_on(machines, 2)
    scheduler = sm.QueueScheduler(env, cluster, **options)
    submit_s, runtime_s, cores = zip(*jobs, strict=True)
    log = sm.Workload(range(1, len(jobs) + 1), submit_s, runtime_s, runtime_s, cores)
    sm.Source(env, log, into=scheduler)
    recorder = sm.Recorder(env)
    env.process(switch(env, cluster, plan))
    env.run()
    assert cluster.free_cores == sum(machine.cores for machine in cluster.machines if machine.is_on)
    return recorder.schedule(), recorder.schedule().runs[["job_id", "start_s", "end_s", "outcome"]].to_numpy().tolist()


def test_what_runs_on_a_machine_that_goes_off_is_lost_and_runs_again_elsewhere() -> None:
    schedule, attempts = model([(4, 0, False)], [(0, 10, 2), (0, 6, 2), (1, 5, 2)])
    # jobs 1 and 2 run on machines 0 and 1; at 4 job 1 is lost, and waits at its old place for machine 1
    assert attempts == [[1, 0, 4, 2], [2, 0, 6, 0], [1, 6, 16, 0], [3, 16, 21, 0]]
    assert schedule.validate().start_s.tolist() == [6, 0, 16]
    assert schedule.outcome.tolist() == [0, 0, 0]
    assert schedule.jobs["attempts"].tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("plan", "jobs", "expected"),
    [
        ([(4, 0, False), (8, 0, True)], [(0, 10, 3)], [[1, 0, 4, 2], [1, 8, 18, 0]]),
        ([(4, 1, False), (8, 1, True)], [(0, 10, 3)], [[1, 0, 4, 2], [1, 8, 18, 0]]),
        (
            [(4, 0, False), (4, 1, False), (8, 1, True), (9, 0, True)],
            [(0, 10, 4), (0, 3, 1)],
            [[1, 0, 4, 2], [2, 8, 11, 0], [1, 11, 21, 0]],
        ),
        ([(5, 0, False), (7, 0, True)], [(5, 10, 4)], [[1, 7, 17, 0]]),
        ([(0, 0, False), (5, 0, True)], [(5, 10, 4)], [[1, 5, 15, 0]]),
    ],
    ids=["lost with the first", "lost with the second", "lost once with both", "off at its begin", "on at its begin"],
)
def test_a_job_runs_on_machines_that_are_on_and_is_lost_with_any_of_its_own(
    plan: list[tuple[float, int, bool]], jobs: list[tuple[float, float, int]], expected: list[list[float]]
) -> None:
    schedule, attempts = model(plan, jobs)
    assert attempts == expected
    schedule.validate()


def test_a_job_that_ends_when_its_machine_goes_off_has_ended() -> None:
    schedule, _ = model([(10, 0, False)], [(0, 10, 2)])
    assert schedule.outcome.tolist() == [0]
    assert schedule.validate().attempts is not None
    assert schedule.attempts["outcome"].tolist() == [0]


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
def test_a_machine_may_go_off_and_on_within_an_instant(decide: str, backfilling: str) -> None:
    plan = [(4, 0, False), (4, 0, True)]
    schedule, attempts = model(plan, [(0, 10, 4), (1, 5, 1)], decide=decide, backfilling=backfilling)
    assert attempts == [[1, 0, 4, 2], [1, 4, 14, 0], [2, 14, 19, 0]]
    schedule.validate()


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


def test_a_job_that_would_have_been_killed_is_lost_with_its_machine() -> None:
    env, cluster = machines_on(1, 2)
    attempt = cluster.start(job(2), limit_s=5.0)
    env.process(switch(env, cluster, [(3, 0, False)]))
    env.run()
    assert attempt.outcome is sm.Outcome.LOST


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
    workload = sm.Workload(
        range(9), [0, 0, 1, 1, 2, 5, 5, 6, 9], [3, 0, 4, 1, 0, 3, 3, 2, 1], [3] * 9, [1, 2] * 4 + [2]
    )

    def run(kind: type[sm.Cluster]) -> sm.Schedule:
        env = sm.Environment()
        cluster = kind(env, "green", machines=2, cores_per_machine=1)
        env.process(switch(env, cluster, [(2, 1, False), (5, 1, True)]))
        return scheduled(sm.QueueScheduler(env, cluster, overrun="kill"), workload)

    plain, working = run(sm.Cluster), run(Working)
    assert plain.start_s.tolist() == working.start_s.tolist()
    assert plain.end_s.tolist() == working.end_s.tolist()
    assert plain.all_attempts().equals(working.all_attempts())
