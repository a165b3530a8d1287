# ruff: noqa: ANN401  options of any type are handed through
"""Names of users, accounts and so on in limits: as what is written with their numbers, and in all that is shown."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.ground.files import write_csv

NAMED: dict[str, Any] = {
    "submit_s": [0] * 4,
    "runtime_s": [10] * 4,
    "cores": [2] * 4,
    "user": ["ann", "ben", "ann", "cem"],
    "account": [2, 2, 1, -1],
    "account_name": ["physics", "physics", "=1+1", ""],
    "qos": [1, 2, 1, 1],
    "qos_name": ["high", "7", "high", "high"],
}


@pytest.mark.parametrize(
    ("by", "name", "number", "start_s"),
    [
        ("account", "physics", 2, [0, 10, 0, 0]),
        ("account", "=1+1", 1, [0, 0, 0, 0]),
        ("qos", "high", 1, [0, 0, 10, 20]),
        ("user", "ann", 1, [0, 0, 10, 0]),
    ],
)
def test_limits_by_a_name_are_those_by_its_number(
    engine: Any, tmp_path: Path, by: str, name: str, number: int, start_s: list[float]
) -> None:
    """A file that is written keeps the name, which no program for tables takes for a formula."""
    how: dict[str, Any] = {"cores": 8, "engine": engine}
    schedule = sm.simulate(NAMED, **how, limits=[{"by": by, "value": number, "jobs": 1}]).validate()
    assert schedule.start_s.tolist() == start_s
    assert schedule.about["limits"] == [{"by": by, "value": name, "jobs": 1}]
    path = tmp_path / "limits.csv"
    write_csv(pd.DataFrame(schedule.terms.limits.table()), path)
    assert ",=" not in path.read_text()
    grouped = [{"by": by, "group": "g", "members": [name], "jobs": 1}]
    for given_ in ([{"by": by, "value": name, "jobs": 1}], path, grouped):
        named = sm.simulate(NAMED, **how, limits=given_).validate()
        assert named.start_s.tolist() == start_s
    assert sm.simulate(NAMED, **how, limits=path).about == schedule.about


def test_errors_show_names(engine: Any) -> None:
    how: dict[str, Any] = {"cores": 8, "engine": engine}
    for row, text in (
        (
            {"by": "account", "value": "fysics"},
            r"name account 'fysics', and no job is of it; there are '=1\+1' and 'p",
        ),
        ({"by": "account", "value": 3}, "limits name account 3, and no job of workload 'workload' is of it"),
        ({"by": "qos", "value": "5"}, "limits name qos '5', and no job is of it; there are '7' and 'high'"),
        ({"by": "account", "cores": 1}, r"job 1: needs 2 cores, and account 'physics' may have 1 \(2 more"),
        ({"group": "g", "members": "ann dan"}, "limits name user 'dan', and no job is of it; there are 'ann', 'ben' a"),
    ):
        with pytest.raises(sm.SimModelsError, match=text):
            sm.simulate(NAMED, **how, limits=[{"jobs": 1, **row}])
    with pytest.raises(sm.RequestError, match="two rows limit account 2; put them into one"):
        sm.simulate(NAMED, **how, limits=[{"by": "account", "value": each, "jobs": 1} for each in (2, "physics")])
    with pytest.raises(sm.RequestError, match=r"limits name user 'ann', .* the jobs have no names by user: give n"):
        sm.simulate({"submit_s": [0], "runtime_s": [1], "cores": [1]}, **how, limits=[{"value": "ann", "jobs": 1}])


def test_names_that_look_like_numbers_are_names_where_the_log_has_them(tmp_path: Path) -> None:
    path = tmp_path / "limits.csv"
    path.write_text("by,value,jobs\nqos,7,1\nuser,1.0,1\n")
    limits = sm.simulate(NAMED, cores=8, limits=path).about["limits"]
    assert limits == [{"by": "qos", "value": "7", "jobs": 1}, {"by": "user", "value": "ann", "jobs": 1}]
    path.write_text("by,value,jobs\naccount,NA,1\n")
    log = {**NAMED, "account_name": ["NA", "NA", "b", ""]}
    assert sm.simulate(log, cores=8, limits=path).start_s.tolist() == [0, 10, 0, 0]


def test_a_queue_learns_names_from_what_it_accepts() -> None:
    env = sm.Environment()
    rules = [{"by": "account", "jobs": 1}, {"by": "account", "value": "physics", "jobs": 1}]
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=8), limits=rules)
    with pytest.raises(sm.RequestError, match="limits name account 'physics', and no job is of it; the jobs have no"):
        queue.submit(sm.Job(9, 0.0, 1.0, 1.0, 1, extras={"account": 2}))
    sm.Source(env, NAMED, into=queue)
    env.run(until=5)
    assert [queue.waits_for(job) for job in queue.waiting] == ["account 'physics' may run 1 jobs"]
    other = {**NAMED, "account": [1, 1, 2, -1]}
    with pytest.raises(sm.RequestError, match="account 'physics' has the number 2, and in another workload 1"):
        sm.Source(env, other, into=queue)


def test_parts_of_a_log_have_its_numbers() -> None:
    jobs = sm.Workload.of(NAMED)
    assert jobs.names("account") == {"physics": 2, "=1+1": 1}
    assert jobs.names("user") == {"ann": 1, "ben": 2, "cem": 3}
    assert jobs.names("queue") == {}
    assert replace(jobs, extras={**jobs.extras, "qos": np.array([1, 2, 3, 1])}).names("qos") == {"7": 2}
    limits = sm.Limits([{"by": "account", "value": each, "jobs": 1} for each in ("physics", "=1+1")]).for_jobs(
        jobs.names
    )
    part = replace(jobs.take([0, 1]), extras={"account": jobs.extras["account"][:2]})
    assert limits.within(part.numbers_by_name) == sm.Limits([{"by": "account", "value": "physics", "jobs": 1}])
    for each in (limits, pickle.loads(pickle.dumps(limits))):
        found = sm.simulate(part, cores=8, limits=each.within(part.numbers_by_name))
        assert found.start_s.tolist() == [0, 10]
