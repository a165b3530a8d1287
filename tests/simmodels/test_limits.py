# ruff: noqa: ANN401  options of any type are handed through
"""Queues with limits: both engines, every option, and a second simulator that knows the rules alone."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from tests import naive
from tests.simmodels.replay.test_snapshot import assert_forks_go_on
from tests.simmodels.test_properties import Machine, machines, options, same_on_both_engines, simulated

many = settings(max_examples=4 * settings.default.max_examples)
Rules = list[dict[str, Any]]


@st.composite
def limited(draw: st.DrawFn, most: int = 14, *, submitted: bool = False) -> tuple[Machine, Rules]:
    """A machine, jobs of a few users and queues, and limits under which each of them can start."""
    cores, jobs = draw(machines(most=most))
    number = st.lists(st.integers(-1, 3), min_size=len(jobs), max_size=len(jobs))
    jobs = replace(jobs, user_id=np.array(draw(number), np.int64), extras={"queue": np.array(draw(number), np.int64)})
    widest = int(jobs.cores.max(initial=1))
    longest = float(np.ceil(jobs.cores * jobs.estimate_s).max(initial=1)) / 60
    caps: dict[str, st.SearchStrategy[float]] = {
        "jobs": st.integers(1, 3),
        "cores": st.integers(widest, widest + cores),
        "core_minutes": st.sampled_from([longest, 1.5 * longest, 3 * longest]).map(lambda most: max(most, 1 / 60)),
        **({"submitted": st.integers(1, 4)} if submitted else {}),
    }

    def row(**fixed: object) -> dict[str, Any]:
        names = draw(st.lists(st.sampled_from(sorted(caps)), min_size=1, max_size=2, unique=True))
        return {**fixed, **{name: draw(caps[name]) for name in names}}

    rules = []
    for by, known in (("user", jobs.user_id), ("queue", jobs.extras["queue"])):
        present = sorted(set(known[known >= 0].tolist()))
        if draw(st.booleans()):
            rules.append(row(by=by))
        if present and draw(st.booleans()):
            rules.append(row(by=by, value=draw(st.sampled_from(present))))
        if present and draw(st.booleans()):
            part, other = draw(st.lists(st.sampled_from(present), min_size=2, max_size=2))
            rules.append(row(by=by, group=f"{by}s", members=(other,)))
            inner = {"by": by, "group": f"{by}s below", "members": (part,), "parent": f"{by}s"}
            rules.append(row(**inner) if draw(st.booleans()) else inner)
    return (cores, jobs), rules or [{"by": "user", "jobs": 1}]


WITHOUT_A_WINDOW = options().map(lambda how: {**how, "queue_depth": None, "warm_jobs": 0})


@many
@given(limited(), options())
def test_both_engines_give_the_same_bits_and_those_of_the_naive_simulator(
    model: tuple[Machine, Rules], how: dict[str, Any]
) -> None:
    machine, rules = model
    for schedule in same_on_both_engines(machine, how, limits=rules):
        assert schedule.terms.limits == sm.Limits(rules)
        schedule.validate()


@many
@given(limited(submitted=True), WITHOUT_A_WINDOW)
def test_so_they_do_with_limits_of_submitted_jobs(model: tuple[Machine, Rules], how: dict[str, Any]) -> None:
    machine, rules = model
    for schedule in same_on_both_engines(machine, how, limits=rules):
        schedule.validate()


@many
@given(limited(submitted=True), WITHOUT_A_WINDOW, st.integers(0, 60))
def test_a_fork_knows_what_is_outside_the_queue(model: tuple[Machine, Rules], how: dict[str, Any], at_s: int) -> None:
    (cores, jobs), rules = model
    assert_forks_go_on(jobs, cores, float(at_s), **how, limits=rules)


# -- drawn by hand ------------------------------------------------------------------------------------


def log(*rows: tuple[float, float, int, int]) -> sm.Workload:
    """Jobs of (submit, runtime, cores, user), whose estimates are right."""
    submit_s, runtime_s, cores, users = zip(*rows, strict=True)
    return sm.Workload(range(1, len(rows) + 1), submit_s, runtime_s, runtime_s, cores, users)


def test_core_minutes_that_come_to_the_limit_are_no_more_than_it() -> None:
    """8.2 minutes are 492 s, and 8.2 * 60 is a little less."""
    jobs = log((0, 21, 7, 1), (0, 23, 15, 1))
    assert sm.simulate(jobs, cores=32, limits=[{"core_minutes": 8.2}]).start_s.tolist() == [0, 0]
    assert sm.simulate(jobs, cores=32, limits=[{"core_minutes": 8.19}]).start_s.tolist() == [0, 21]


def test_each_user_may_have_caps_of_its_own() -> None:
    limits = sm.Limits.by_value("user", {1: {"jobs": 2}, 2: {"jobs": 3, "cores": 4}}, others={"jobs": 1})
    assert limits == sm.Limits(
        [{"jobs": 1}, {"value": 1, "jobs": 2}, {"by": "user", "value": 2, "jobs": 3, "cores": 4}]
    )
    assert sm.Limits.by_value("queue", {5: {"cores": 8}}).table() == [{"by": "queue", "value": 5, "cores": 8}]
    with pytest.raises(sm.RequestError, match="unknown column of limits 'core'"):
        sm.Limits.by_value("user", {1: {"core": 2}})
    with pytest.raises(sm.RequestError, match="a table of limits without rows"):
        sm.Limits.by_value("user", {})


def test_starts_are_not_predicted_under_limits(engine: Any) -> None:
    if engine == "simpy":
        env = sm.Environment()
        queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4), limits=[{"by": "user", "jobs": 1}])
        with pytest.raises(sm.RequestError, match="which predictions of starts do not know; leave the limits out"):
            queue.predict_start(sm.Job(1, 0.0, 10.0, 10.0, 1, 7))
    with pytest.raises(sm.RequestError, match="choose a router that predicts none"):
        sm.simulate(log((0, 10, 4, 1)), on=[8, 8], router="EarliestStart", limits=[{"by": "user", "jobs": 1}])


def test_a_job_outside_the_queue_says_so_and_may_be_withdrawn() -> None:
    env = sm.Environment()
    limits = [{"by": "user", "submitted": 2}, {"group": "all", "members": [7], "jobs": 1}]
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4), limits=limits)
    jobs = [sm.Job(number, 0.0, 10.0, 10.0, 1, 7) for number in range(5)]
    wide = sm.Job(9, 1.0, 10.0, 10.0, 4, 8)
    for job in [*jobs, wide]:
        queue.submit(job)
    env.run(until=5)
    assert queue.waits_for(wide) is None
    queue.withdraw(wide)
    outside = "user 7 may have 2 jobs submitted"
    assert [queue.waits_for(job) for job in jobs] == [None, "group 'all' may run 1 jobs", outside, outside, outside]
    assert queue.queued == jobs[1:2]
    assert queue.waiting == jobs[1:]
    queue.withdraw(jobs[3])  # from outside
    queue.withdraw(jobs[1])  # out of the queue: the next may enter
    env.run(until=6)
    assert queue.queued == [jobs[2]]
    assert queue.waiting == [jobs[2], jobs[4]]
    queue.reconfigure(backfilling="none", overrun="kill")
    env.run(until=11)
    assert [attempt.job for attempt in queue.running] == [jobs[2]]
    env.run()
    assert env.now == 30
    assert queue.is_idle


def test_jobs_that_run_when_a_window_begins_are_submitted_whatever_the_limit(engine: Any) -> None:
    jobs = log((0, 30, 1, 1), (1, 40, 1, 1), (11, 10, 1, 1), (12, 10, 1, 2))
    chosen: dict[str, Any] = {"cores": 8, "engine": engine, "window_s": (10, 99)}
    schedule = sm.simulate(jobs, limits=[{"by": "user", "submitted": 1}], **chosen).validate()
    assert schedule.start_s[2:].tolist() == [41, 12]
    chosen["on"] = sm.Site(cores_per_machine=8, capacity=[(0, 1), (15, 0), (20, 1)])
    chosen["cores"] = None
    schedule = sm.simulate(jobs, limits=[{"by": "user", "submitted": 1}], **chosen).validate()
    assert schedule.start_s.tolist() == [20, 20, 60, 20]  # what was lost is submitted still


def test_jobs_that_run_on_let_no_others_into_the_queue() -> None:
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=8), limits=[{"by": "user", "submitted": 1}])
    for number in range(3):
        queue.submit(sm.Job(number, 0.0, 10.0, 10.0, 1, 7))
    env.run(until=10)
    queue.resume([sm.Job(3, 2.0, 20.0, 20.0, 1, 7), sm.Job(4, 3.0, 9.0, 9.0, 1, 8)])
    env.run(until=11)
    assert [attempt.job.job_id for attempt in queue.running] == [3, 4]
    assert [job.job_id for job in queue.waiting] == [1, 2]
    env.run(until=23)
    assert [attempt.job.job_id for attempt in queue.running] == [1]


REFUSED: list[tuple[Any, str]] = [
    ([], "a table of limits without rows; leave limits out"),
    ([{"by": "user", "jobs": 0}], "jobs of each user must be an integer from 1"),
    ([{"by": "user", "core_minutes": 0}], "core_minutes of each user must be a finite number > 0|core_minutes"),
    ([{"by": "user", "walltime_s": "0s"}], "walltime_s of each user must be"),
    ([{"by": "user"}], "a limit of each user limits nothing; give one of jobs, cores, core_minutes, walltime_s and s"),
    ([{"by": "user", "value": 99, "jobs": 1}], "limits name user 99, and no job of workload 'workload' is of it"),
    ([{"by": "queue", "jobs": 1}], "limits are by queue, of which the workload has no numbers"),
    ([{"by": "user", "jobs": 1}, {"by": "user", "jobs": 2}], "two rows limit each user; put them into one"),
    ([{"group": "a", "members": [1], "parent": "b", "jobs": 1}], "unknown parent of group 'a' 'b'"),
    (
        [{"group": "a", "members": [1], "parent": "b", "jobs": 1}, {"group": "b", "parent": "a"}],
        "group 'a' is a part of itself; let its parents form a tree",
    ),
    ([{"by": "user", "members": [1], "jobs": 1}], "has members or a parent; give its group a name"),
    ([{"user": 1, "jobs": 1}], "unknown column of limits 'user'"),
    ([{"by": "user", "cores": 2}], "job 1: needs 4 cores, and user 1 may have 2"),
    ([{"by": "user", "value": 1, "walltime_s": 9}], "job 1: may run for 10 s, and a job of user 1 for 9 s"),
    ([{"group": "all", "members": [1], "core_minutes": 0.5}], "job 1: may take 0.66.* core-minutes, and group 'all'"),
    ({"by": "user", "jobs": 1}, "limits must be a list of rows"),
]


@pytest.mark.parametrize(("given_", "text"), REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_limits_that_make_no_sense_are_refused_in_one_sentence(engine: Any, given_: Any, text: str) -> None:
    with pytest.raises(sm.SimModelsError, match=text):
        sm.simulate(log((0, 10, 4, 1)), cores=8, limits=given_, engine=engine)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"queue_depth": 5}, "a limit of submitted jobs beside queue_depth; leave one of them out"),
        ({"warm_jobs": 5}, "a limit of submitted jobs beside warm_jobs; leave one of them out"),
        ({"heuristic": "FirstFit", "cores_per_machine": 4, "machines": 2}, "a placer obeys no limits; leave the heuri"),
        ({"bid": "SRTF"}, "an auction obeys no limits; leave the bid out, for a queue$"),
        ({"bid": "SRTF", "forward": True}, "a start is asked for at a queue with limits, which predictions of starts "),
    ],
)
def test_what_obeys_no_limits_refuses_them(other: dict[str, Any], text: str) -> None:
    sizes = {} if "heuristic" in other else {"on": [8]}
    with pytest.raises(sm.RequestError, match=text):
        sm.simulate(log((0, 10, 4, 1)), **sizes, **other, limits=[{"by": "user", "submitted": 1}])


@many
@given(limited(), st.data())
def test_some_of_the_jobs_run_under_the_limits_of_all(model: tuple[Machine, Rules], data: st.DataObject) -> None:
    (cores, jobs), rules = model
    limits = sm.Limits(rules)
    assert limits.within(jobs.numbers_by_name) == limits
    some = jobs.take(np.array(data.draw(st.lists(st.booleans(), min_size=len(jobs), max_size=len(jobs))), np.bool_))
    found = simulated((cores, some), limits=limits.within(some.numbers_by_name))
    assert found.start_s.tolist() == naive.simulate(some, cores=cores, limits=rules)[0]


@pytest.mark.parametrize("length", [10, 0])
def test_a_schedule_that_breaks_a_limit_is_not_valid(length: int) -> None:
    jobs = log((0, 10, 1, 1), (5, length, 1, 1), (5, 10, 1, 2))
    free = sm.simulate(jobs, cores=4)
    two = "2 jobs of user 1; it may have 1"
    for caps, text in (({"jobs": 1}, two), ({"submitted": 1}, two), ({"cores": 1}, "2 cores of user 1")):
        broken = replace(free, terms=sm.Terms(limits=sm.Limits([{"by": "user", **caps}])))
        with pytest.raises(sm.IllegalScheduleError, match=f"job 2 starts at 5.0 s, which makes {text}"):
            broken.validate()
    replace(free, terms=sm.Terms(limits=sm.Limits([{"by": "user", "jobs": 2}]))).validate()


def test_limits_are_read_from_a_table_and_from_a_file(tmp_path: Path) -> None:
    rows = [
        {"by": "user", "cores": 64, "walltime_s": 86_400.0},
        {"by": "user", "value": 17, "jobs": 2},
        {"by": "user", "group": "physics", "members": [1, 2], "cores": 100},
    ]
    limits = sm.Limits(rows)
    assert limits.table() == rows
    assert sm.Limits(pd.DataFrame(rows)) == limits
    table = tmp_path / "limits.csv"
    table.write_text(
        "by,value,group,members,jobs,cores,walltime_s\nuser,,,,,64,24h\nuser,17,,,2,,\nuser,,physics,1 2,,100,\n"
    )
    assert sm.Limits.of(table) == limits
    toml = tmp_path / "limits.toml"
    toml.write_text(
        '[[limit]]\ncores = 64\nwalltime_s = "1d"\n[[limit]]\nvalue = 17\njobs = 2\n'
        '[[limit]]\ngroup = "physics"\nmembers = [1, 2]\ncores = 100\n'
    )
    assert sm.Limits.of(toml) == limits
    assert pickle.loads(pickle.dumps(limits)) == limits
    (tmp_path / "bad.csv").write_text("by,jobs\nuser,0\n")
    with pytest.raises(sm.FileFormatError, match=r"bad.csv.*jobs of each user must be an integer"):
        sm.Limits.of(tmp_path / "bad.csv")
    (tmp_path / "bad.csv").write_text("by,value,jobs\nuser,1,2\nuser,2,x\n")
    with pytest.raises(sm.FileFormatError, match=r"bad.csv: jobs of user 2 must be .*got 'x'"):
        sm.Limits.of(tmp_path / "bad.csv")
    with pytest.raises(sm.FileFormatError, match="cannot be read: no such file"):
        sm.Limits.of(tmp_path / "none.csv")
    for text, error in (
        ("", "without rows"),
        ("[[limits]]\njobs = 2\n", "unknown entry of limits 'limits'; did you mean limit"),
        ("[[limit]]\njobs = 2\n[more]\njobs = 3\n", "unknown entry of limits 'more'"),
    ):
        toml.write_text(text)
        with pytest.raises(sm.FileFormatError, match=error):
            sm.Limits.of(toml)
