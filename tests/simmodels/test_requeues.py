# ruff: noqa: ANN401  options of any type are handed through
"""A job that loses its machines and all its work again and again ends the simulation with an error."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.engine import Engine
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, rigid
from tests.refused import refused

ENGINES: list[Engine] = ["simpy", "compiled"]
Rows = list[tuple[int, int, int]]
ON_AND_OFF = [(0, 1), (10, 0), (20, 1), (30, 0), (40, 1), (50, 0), (60, 1)]
DECIDERS: list[dict[str, Any]] = [{}, {"heuristic": "FirstFit"}, {"backfilling": "conservative"}, {"bid": "FIFO"}]


def simulated(options: dict[str, Any], **more: Any) -> sm.Schedule:
    """Run job 7, of 15 s, on one machine of four cores: it is lost at 10, 30 and 50, and done from 60 on."""
    flow = sm.Workflow(7, 0.0, [15.0], 4)
    work: Any = flow if "bid" in options else sm.Workload([7], [0.0], [15.0], [15.0], [4])
    return sm.simulate(work, on=sm.Site(cores_per_machine=4, capacity=ON_AND_OFF), **options, **more)


@pytest.mark.parametrize("options", DECIDERS)
def test_a_job_may_lose_all_its_work_so_often_and_no_more(options: dict[str, Any], engine: Engine) -> None:
    for most in (3, None, 10_000):
        schedule = simulated(options, max_requeues=most, engine=engine).validate()
        assert schedule.end_s.tolist() == [75]
    with refused(
        "job 7 was lost 3 times in a row by 50 s, each time with all its work; write checkpoints, ...", sm.StoppedError
    ):
        simulated(options, max_requeues=2, engine=engine)


@pytest.mark.parametrize("options", DECIDERS[:3])
def test_what_a_checkpoint_saves_is_headway(options: dict[str, Any], engine: Engine) -> None:
    # 3 s, of which nothing is saved; 6 s, of which 4 are; 3 s, of which nothing is; and the 4 s that are left
    capacity = [(0, 1), (3, 0), (10, 1), (16, 0), (20, 1), (23, 0), (30, 1)]
    site = sm.Site(cores_per_machine=4, capacity=capacity, checkpoints=sm.Checkpoints(interval_s=4))
    schedule = sm.simulate(rigid((0, 8, 4)), on=site, max_requeues=1, engine=engine, **options).validate()
    assert schedule.end_s.tolist() == [34]
    assert schedule.runs["work_s"].tolist() == [0, 4, 0, 4]


def test_a_window_ends_whatever_is_lost(engine: Engine) -> None:
    schedule = simulated({}, max_requeues=1, window_s=(0, 55), engine=engine).validate()
    assert np.isnan(schedule.end_s).all()


@pytest.mark.parametrize("options", DECIDERS)
def test_a_job_that_never_ends_on_machines_that_fail_ends_with_an_error(
    options: dict[str, Any], engine: Engine
) -> None:
    """At one attempt in 10^14 it would end."""
    site = sm.Site(machines=1, cores_per_machine=4, failures=sm.FailureLaw(mtbf_s=3, repair_s=1))
    work: Any = sm.Workflow(7, 0.0, [100.0], 4) if "bid" in options else rigid((0, 100, 4))
    with pytest.raises(sm.StoppedError, match=r"was lost 10,001 times in a row by \d+(\.\d+)? s"):
        sm.simulate(work, on=site, engine=engine, **options)


@pytest.mark.parametrize("most", [0, -1, 1.5, "often"])
def test_a_number_that_is_none_is_refused(most: Any) -> None:
    with pytest.raises(sm.RequestError, match="max_requeues must be an integer from 1"):
        simulated({}, max_requeues=most)
    with pytest.raises(sm.RequestError, match="max_requeues must be an integer from 1"):
        sm.all_done(sm.Environment(), max_requeues=most)


# -- the naive twin ---------------------------------------------------------------------------------


def first_beyond(runs: Any, most: int) -> tuple[float, int] | None:
    """Return when the first job was lost more often in a row than it may be, and which, by a table of attempts."""
    found = []
    for job_id, attempts in runs.groupby("job_id"):
        times = 0
        for each in attempts.sort_values("attempt").itertuples():
            lost = each.outcome == 2 and not np.isnan(each.end_s)
            times = times + 1 if lost and each.work_s == 0.0 else 0
            if times > most:
                found.append((each.end_s, int(job_id)))
                break
    return min(found, default=None)


@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(1, 4)), min_size=1, max_size=5),
    spans=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 2)), max_size=12),
    interval_s=st.sampled_from([np.inf, 3.0, 7.0]),
    most=st.integers(1, 3),
    options=st.sampled_from(DECIDERS[:3]),
)
def test_both_engines_stop_where_the_attempts_say_so(
    rows: Rows, spans: list[tuple[int, int]], interval_s: float, most: int, options: dict[str, Any]
) -> None:
    changes, at_s = [(0, 2)], 0
    for length_s, machines in spans:
        at_s += length_s
        changes.append((at_s, machines))
    saving = sm.Checkpoints(interval_s)
    site = sm.Site(cores_per_machine=4, machines=2, capacity=[*changes, (at_s + 1, 2)], checkpoints=saving)
    said = []
    for engine in ENGINES:
        given_: Any = {"on": site, "engine": engine, **options}
        beyond = first_beyond(sm.simulate(rigid(*sorted(rows)), **given_, max_requeues=None).runs, most)
        try:
            sm.simulate(rigid(*sorted(rows)), **given_, max_requeues=most)
            said.append("")
        except sm.StoppedError as error:
            said.append(str(error))
        assert (beyond is None) == (not said[-1])
        assert beyond is None or f"lost {most + 1} times in a row by {beyond[0]:g} s" in said[-1]
    assert said[0] == said[1]


# -- jobs for which there are never machines enough -------------------------------------------------

LAW = sm.FailureLaw(mtbf_s=10, repair_s=20)


def repaired_s(seed: int, until_s: float) -> tuple[list[float], float]:
    """Return when one of two machines is repaired after `until_s`, up to when both are on; and when that is."""
    env, cluster = machines_on(2, 1, seed=seed)
    sm.Failures(env, cluster, mtbf_s=LAW.mtbf_s, repair_s=LAW.repair_s)
    on, repairs = [True, True], list[float]()
    both_s = [0.0]

    def see(event: sm.Powered) -> None:
        on[event.machine.index] = event.machine.is_on
        if env.now > until_s and not both_s[1:]:
            repairs.extend([env.now] * event.machine.is_on)
            both_s.extend([env.now] * all(on))

    env.on(sm.Powered, see)
    env.run(until=until_s)
    if all(on):
        return [], until_s
    env.run(until=5_000)
    return repairs, both_s[1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"backfilling": "none"}, {"bid": "FIFO"}])
def test_a_job_waits_while_machines_are_repaired_so_often_and_no_more(options: dict[str, Any], seed: int) -> None:
    repairs_s, start_s = repaired_s(seed, 100.0)
    work: Any = rigid((0, 0.001, 1), (100, 0.001, 2))
    if "bid" in options:
        work = [sm.Workflow(1, 0.0, [0.001], 1), sm.Workflow(2, 100.0, [0.001], 2)]
    site = sm.Site(machines=2, cores_per_machine=1, failures=LAW)
    for engine in ENGINES:
        given_: Any = {"on": site, "seed": seed, "engine": engine, **options}
        for most in {1, 2, 3, max(len(repairs_s), 1)}:
            if len(repairs_s) <= most + 1:  # the last one has both on
                assert sm.simulate(work, **given_, max_requeues=most).start_s.tolist() == [0, start_s]
                continue
            when = f"job 2 of 2 cores waits at {repairs_s[most]:g} s, and machines were repaired {most + 1} times ..."
            with refused(when, sm.StoppedError):
                sm.simulate(work, **given_, max_requeues=most)


def test_a_cluster_that_is_repaired_often_says_nothing_of_another(engine: Engine) -> None:
    """The machine of b fails at 62 s, and is repaired 500 s later; those of a are repaired every second meanwhile."""
    a = sm.Site(name="a", kind="A", machines=2, cores_per_machine=1, failures=sm.FailureLaw(mtbf_s=1, repair_s=1))
    b = sm.Site(name="b", kind="B", machines=1, cores_per_machine=1, failures=sm.FailureLaw(mtbf_s=60, repair_s=500))
    flows = [sm.Workflow(1, 0.0, [0.001], 1, kind=["A"]), sm.Workflow(2, 100.0, [5.0], 1, kind=["B"])]
    schedule = sm.simulate(flows, on=[a, b], bid="FIFO", engine=engine, seed=2, max_requeues=50).validate()
    assert schedule.start_s[1] == pytest.approx(562.13, abs=0.01)


@example(  # two jobs of one machine, lost at one instant
    rows=[(0, 1, 1), (1, 4, 2), (4, 6, 1), (4, 6, 1)], most=1, seed=74, options={"heuristic": "FirstFit"}, sleep=False
)
@given(
    rows=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=6),
    most=st.integers(1, 4),
    seed=st.integers(0, 99),
    options=st.sampled_from(DECIDERS[:3]),
    sleep=st.booleans(),
)
def test_both_engines_stop_at_the_same_instant_for_the_same_job(
    rows: Rows, most: int, seed: int, options: dict[str, Any], *, sleep: bool
) -> None:
    saving = sm.SleepPolicy(after_s=3.0, boot_s=2.0) if sleep else None
    site = sm.Site(machines=3, cores_per_machine=2, failures=sm.FailureLaw(mtbf_s=12, repair_s=9), sleep=saving)
    most_cores = 2 if options.get("heuristic") else 6
    work = rigid(*sorted((submit, runtime, min(cores, most_cores)) for submit, runtime, cores in rows))
    said = []
    for engine in ENGINES:
        try:
            schedule = sm.simulate(work, on=site, seed=seed, engine=engine, max_requeues=most, **options)
            said.append(str(schedule.end_s.tolist()))
        except sm.StoppedError as error:
            said.append(str(error))
    assert said[0] == said[1]


# -- model scripts ----------------------------------------------------------------------------------


def blinking(cluster_class: type[sm.Cluster] = sm.Cluster) -> tuple[sm.Environment, sm.Recorder]:
    """Job 1 of 15 s on a machine that is on for 10 s, and off for 10 s, again and again."""
    env = sm.Environment()
    cluster = cluster_class(env, "c", machines=1, cores_per_machine=4)
    sm.TraceCapacity(env, cluster, [(0, 1), (10, 0)], repeat_s=20)
    sm.Source(env, rigid((0, 15, 4)), into=sm.QueueScheduler(env, cluster))
    return env, sm.Recorder(env)


def test_a_script_that_waits_until_all_is_done_ends_and_has_a_schedule() -> None:
    env, recorder = blinking()
    with refused("job 1 was lost 6 times in a row by 110 s, each time with all its work; ...", sm.StoppedError):
        env.run(until=sm.all_done(env, max_requeues=5))
    assert recorder.schedule().validate().runs["end_s"].tolist() == [10, 30, 50, 70, 90, 110]


def test_a_script_that_runs_until_an_instant_gets_there() -> None:
    env, _ = blinking()
    env.run(until=300_000)
    assert env.now == 300_000


class OwnWork(sm.Cluster):
    """Saves what it does."""

    done_s = 0.0

    def execute(self, attempt: sm.Attempt) -> Process:
        began_s = self.env.now
        try:
            yield self.env.timeout(attempt.job.runtime_s - self.done_s)
        finally:
            self.done_s += self.env.now - began_s


def test_what_a_cluster_of_ones_own_saves_is_not_known() -> None:
    env, recorder = blinking(OwnWork)
    env.run(until=sm.all_done(env, max_requeues=1))
    assert recorder.schedule().end_s.tolist() == [25]
