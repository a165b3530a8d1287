# ruff: noqa: ANN401  options of any type are handed through
"""Machines that are switched on and off by tables, walks and scripts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, scheduled
from tests.refused import refused

MACHINES, CORES = 3, 2

jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(0, 12), st.integers(1, MACHINES * CORES)), max_size=9
)
options = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["FCFS", "SPF", "LCFS", "SEXP", "RANDOM"]),
        "backfilling": st.sampled_from(["none", "greedy", "easy", "conservative"]),
        "decide": st.sampled_from(["instant", "event"]),
        "overrun": st.sampled_from(["run", "kill"]),
        "queue_depth": st.sampled_from([None, 1, 3]),
        "threshold_s": st.sampled_from([None, 5.0]),
    }
)


@given(jobs, options)
def test_machines_that_are_never_switched_are_a_pool(rows, how) -> None:  # noqa: ANN001
    log = sm.Workload(np.arange(len(rows)), *np.array(rows, np.int64).reshape(-1, 4).T)
    env, cluster = machines_on(MACHINES, CORES, seed=1)
    found = scheduled(sm.QueueScheduler(env, cluster, **how), log)
    assert found.start_s.tolist() == sm.simulate(log, cores=MACHINES * CORES, seed=1, **how).start_s.tolist()


def switched_by(table: sm.Capacity, until: float, *, start: float = 0.0, **how: float) -> list[tuple[float, int]]:
    """Return when how many machines were on, of a cluster of 5."""
    env, cluster = machines_on(5, 1, name="five", start_s=start)
    sm.TraceCapacity(env, cluster, table, **how)
    on = [(start, sum(machine.is_on for machine in cluster.machines))]
    env.on(sm.Powered, lambda _: on.append((env.now, sum(machine.is_on for machine in cluster.machines))))
    env.run(until=until)
    return sorted(dict(on).items())


def test_a_table_that_repeats_begins_again_wherever_the_clock_starts() -> None:
    table = sm.Capacity([10.0, 14.0, 17.0], [2, 4, 1])
    once = [(0.0, 2), (14.0, 4), (17.0, 1)]
    assert switched_by(table, 60) == once
    again = [(20.0, 2), (24.0, 4), (27.0, 1), (30.0, 2), (34.0, 4), (37.0, 1)]
    assert switched_by(table, 39, repeat_s=10) == once + again
    assert switched_by(table, 39, repeat_s=10, start=25) == [(25.0, 4), *again[2:]]
    pairs = [(time + 5 * k, machines) for k in range(5) for time, machines in [(14.0, 4), (15.0, 2)]]
    assert switched_by(table, 39, repeat_s=5) == [(0.0, 2), *pairs]
    assert switched_by(table, 39, start_s=3) == [(0.0, 2), (7.0, 4), (10.0, 1)]
    same = table.repeat(length_s=10, until_s=39)
    assert [(t, n) for t, n in switched_by(same, 39)] == once + again


def test_a_table_that_cannot_be_or_repeat_is_refused() -> None:
    with pytest.raises(sm.RequestError, match=r"repeat_s must be a number of seconds > 0, or None \(got 0\)"):
        switched_by(sm.Capacity([0.0], [1]), 5, repeat_s=0)
    with pytest.raises(sm.RequestError, match=r"machines of cluster 'five' must be an integer from 0 to 5 \(got 6\)"):
        switched_by(sm.Capacity([0.0, 4.0], [1, 6]), 5)


def walks(**how: object) -> list[tuple[float, int]]:
    env, cluster = machines_on(5, 1, seed=3)
    sm.MarkovCapacity(env, cluster, period_s=10, **how)
    on: list[tuple[float, int]] = []
    env.on(sm.Powered, lambda _: on.append((env.now, sum(machine.is_on for machine in cluster.machines))))
    env.run(until=200)
    return on


@pytest.mark.parametrize(
    ("bounds", "reached"),
    [
        ({"low": 3, "high": 3, "step": 1}, set()),
        ({"low": 1, "high": 5, "step": 0}, set()),
        ({"low": 3, "high": 5, "step": 2}, {3, 5}),  # from 4, the middle, no step stays within the bounds
        ({"low": 1, "high": 5, "step": 3}, {1, 4}),
        ({"low": 1, "high": 5, "step": 3, "law": "two_way"}, {1, 4, 2, 5}),  # cut at the bounds
        ({"low": 1, "high": 5, "step": 3, "start": 5}, {2, 5}),
    ],
)
def test_a_walk_with_a_step_and_a_range_moves_and_without_stands_still(bounds: Any, reached: set[int]) -> None:
    seen = set(dict(walks(**bounds)).values())  # the last of each instant: machines go one by one
    assert len(seen) > 1 or seen == reached
    assert seen <= reached


NEVER = r"a walk from \d machines in steps of \d between 1 and 5 never moves"


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"step": 5}, NEVER),
        ({"step": 3, "start": 3}, NEVER),
        ({"mode": "x"}, "unknown mode 'x'"),
        ({"notice_s": -1.0}, r"notice_s must be a finite number of seconds >= 0 \(got -1.0\)"),
        ({"step": 0.5}, r"step must be an integer from 0 to 2\*\*53 \(got 0.5\)"),
        ({"law": "x"}, "unknown law 'x'"),
    ],
)
def test_a_walk_that_cannot_be_is_refused_at_once(how: dict[str, object], what: str) -> None:
    with pytest.raises(sm.RequestError, match=what):
        walks(**{"low": 1, "high": 5, "step": 1, **how})


def test_jobs_that_ran_before_need_a_scheduler_that_resumes_them() -> None:
    class Router:
        def accept(self, workload: sm.Workload) -> None:
            pass

        def submit(self, _: sm.Job) -> None:
            raise AssertionError

    env = sm.Environment(start_s=100)
    jobs = sm.Workload([1], [50.0], [100.0], [100.0], [1])
    sm.Source(env, jobs, into=Router(), window_s=(100, 200))
    with pytest.raises(sm.RequestError, match="1 jobs that run when the window begins, and Router"):
        env.run()


class TwoTimeouts(sm.Cluster):
    """A cluster whose jobs wait twice, so that their ends come after whatever was planned before."""

    def execute(self, attempt: sm.Attempt) -> Process:
        yield self.env.timeout(attempt.job.runtime_s / 2)
        yield self.env.timeout(attempt.job.runtime_s / 2)


@pytest.mark.parametrize("kind", [sm.Cluster, TwoTimeouts])
def test_a_machine_that_is_called_back_as_its_last_job_ends_stays(kind: type[sm.Cluster]) -> None:
    env = sm.Environment()
    cluster = kind(env, "two", machines=2, cores_per_machine=1)
    sm.TraceCapacity(env, cluster, [(0, 2), sm.CapacityChange(5, 1, 0, "drain"), sm.CapacityChange(20, 2)])
    jobs = sm.Workload([1, 2], [0.0, 0.0], [20.0, 20.0], [20.0, 20.0], [1, 1])
    sm.Source(env, jobs, into=sm.FirstFit(env, cluster))
    env.run(until=50)
    assert [machine.takes_jobs for machine in cluster.machines] == [True, True]


class Slow(sm.Machine):
    """A machine that takes 30 s to come."""

    def set_power(self, *, on: bool, warned_s: float | None = None) -> None:
        if on and not self.is_on:
            self.cluster.env.process(self.come())
        else:
            super().set_power(on=on, warned_s=warned_s)

    def come(self) -> Process:
        yield self.cluster.env.timeout(30)
        if self.wanted:
            self.power_on()


class Slowly(sm.Cluster):
    machine_class = Slow


@pytest.mark.parametrize(
    ("changes", "on", "open_"),
    [
        ([(0, 2), (100, 8), (120, 4)], 4, 4),  # it is notified that it is no longer wanted
        ([(0, 8), (100, 2), (200, 8), (210, 2)], 2, 2),
        ([(0, 2), (100, 8), sm.CapacityChange(900, 3, notice_s=790)], 8, 3),  # those that come later are under notice
    ],
)
def test_machines_that_take_time_to_come_follow_the_table(changes: list[Any], on: int, open_: int) -> None:
    env = sm.Environment()
    cluster = Slowly(env, "eight", machines=8, cores_per_machine=1)
    sm.TraceCapacity(env, cluster, changes)
    env.run(until=500)
    assert sum(machine.is_on for machine in cluster.machines) == on
    assert sum(machine.takes_jobs for machine in cluster.machines) == open_


def test_a_recorder_refuses_what_it_has_not_seen() -> None:
    env, cluster = machines_on(2, 1)
    scheduler = sm.FirstFit(env, cluster)
    jobs = sm.Workload([1, 2], [0.0, 0.0], [20.0, 20.0], [20.0, 20.0], [1, 1])
    sm.Source(env, jobs, into=scheduler)
    recorder = sm.Recorder(env)
    env.timeout(500)
    env.run(until=40)
    for window in ((-5, 20), (0, 100)):
        with refused("...window_s must be an interval within 0 s to 40 s, which the recorder has seen..."):
            recorder.schedule(window_s=window)
    scheduler.submit(sm.Job(77, 40.0, 5.0, 5.0, 1))
    env.run(until=60)
    schedule = recorder.schedule().validate()  # jobs of the source, and one submitted by hand
    assert schedule.workload.job_id.tolist() == [1, 2, 77]
    assert schedule.end_s.tolist() == [20, 20, 45]


def test_a_table_that_repeats_has_at_the_begin_what_its_changes_say() -> None:
    table = sm.Capacity([10.2, 12.3], [4, 3])
    assert switched_by(table, 60, repeat_s=6.9, start=33.0)[0] == (33.0, 3), "12.3 + 3 x 6.9 is rounded to 33.0"
    for start in np.arange(10, 40, 0.1).round(1).tolist():
        whole = table.repeat(length_s=6.9, until_s=60)
        assert switched_by(table, 60, repeat_s=6.9, start=start)[0][1] == whole.machines_at(start), start
