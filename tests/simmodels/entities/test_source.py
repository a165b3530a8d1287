import numpy as np
import pytest

import simmodels as sm
from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.work.workload import Job, Workload
from tests.model_scripts import machines_on, queue_on, scheduled


class Bin:
    """Takes jobs and keeps when each came."""

    def __init__(self, env: sm.Environment) -> None:
        self.env = env
        self.came: list[tuple[float, int]] = []

    def accept(self, workload: Workload) -> None:
        pass

    def submit(self, job: Job) -> None:
        self.came.append((self.env.now, job.job_id))


def log(*submit_s: float, cores: int = 1) -> Workload:
    ones = np.ones(len(submit_s))
    return Workload(np.arange(1, len(submit_s) + 1), submit_s, ones, ones, np.full(len(submit_s), cores))


def test_jobs_come_at_their_instants_by_submit_and_input_position() -> None:
    env = sm.Environment()
    into = Bin(env)
    source = sm.Source(env, log(7.25, 0, 7.25, 3, 0.1), into=into)
    assert source.submitted == 0
    env.run()
    assert into.came == [(0.0, 2), (0.1, 5), (3.0, 4), (7.25, 1), (7.25, 3)]
    assert source.submitted == 5


def test_it_stops_with_the_clock_and_an_empty_log_is_no_work() -> None:
    env = sm.Environment()
    source = sm.Source(env, log(0, 3, 7), into=Bin(env))
    sm.Source(env, log(), into=Bin(env))
    env.run(until=3)  # before the events at 3
    assert source.submitted == 1
    env.run(until=7.5)
    assert source.submitted == 3


def test_a_log_longer_than_what_it_holds_in_memory_at_a_time_comes_whole() -> None:
    submit_s = np.sort(np.random.default_rng(0).integers(0, 4000, 20_000)).astype(float)
    env = sm.Environment()
    into = Bin(env)
    sm.Source(env, log(*submit_s), into=into)
    env.run()
    assert [job_id for _, job_id in into.came] == list(range(1, 20_001))
    assert [instant for instant, _ in into.came] == submit_s.tolist()


def test_a_job_submitted_before_now_is_refused() -> None:
    env = sm.Environment(start_s=5.0)
    sm.Source(env, log(5, 6), into=Bin(env))
    with pytest.raises(RequestError, match=r"job 2 is submitted at 4.5 s; the clock is at 5 s; shift\(\) the workload"):
        sm.Source(env, log(6, 4.5, 5), into=Bin(env))


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("cores", 9, "job 2: needs 9 cores, and the machine has 8"),
        ("cores", 0, r"job 2: cores must be an integer >= 1 \(got 0\)"),
        ("runtime_s", -3.0, r"job 2: runtime_s must be a number of seconds >= 0 \(got -3.0\)"),
    ],
)
def test_a_job_that_can_never_run_is_refused_before_the_clock_runs(column: str, value: float, text: str) -> None:
    env, scheduler = queue_on(8)
    frame = log(0, 1, 2).to_frame()
    frame[column] = [1, value, 1]
    with pytest.raises(ImpossibleJobError, match=text):
        sm.Source(env, Workload.from_frame(frame), into=scheduler)
    assert env.all(sm.Source) == []


def test_a_job_wider_than_the_machines_that_are_on_is_accepted_and_waits() -> None:
    env, cluster = machines_on(2, 4)
    cluster.machines[1].power_off()
    env.run(until=1)
    scheduler = sm.QueueScheduler(env, cluster)
    sm.Source(env, log(2, cores=8), into=scheduler)
    env.run(until=10)
    assert [job.job_id for job in scheduler.waiting] == [1]
    cluster.machines[1].power_on()
    env.run()
    assert scheduler.waiting == []
    assert env.now == 11.0


def test_two_sources_share_a_scheduler() -> None:
    _, scheduler = queue_on(1)
    first, second = log(0, 2), log(1, 2)
    schedule = scheduled(
        scheduler, first, Workload([8, 9], second.submit_s, second.runtime_s, second.estimate_s, second.cores)
    )
    assert schedule.workload.job_id.tolist() == [1, 8, 2, 9]  # in order of submission
    assert schedule.start_s.tolist() == [0, 1, 2, 3]
