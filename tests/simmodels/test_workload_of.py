"""What stands for a workload: tables, rows, jobs and workflows, with limits and users that may be missing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simmodels.errors import RequestError
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Workload
from tests.simmodels.work.test_workload import same, small

COLUMNS_OF_JOBS = "a table of jobs must have the columns submit_s, runtime_s and cores"
TABLE = {"submit_s": [0.0, 5.0], "runtime_s": [10.0, 3.0], "cores": [2, 1]}


@pytest.mark.parametrize(
    "given",
    [
        TABLE,
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype("Int64"),
        pd.DataFrame(TABLE).to_records(index=False),
        pd.DataFrame(TABLE).to_dict("records"),
        (row for row in pd.DataFrame(TABLE).to_dict("records")),
        [Job(1, 0.0, 10.0, 10.0, 2), Job(2, 5.0, 3.0, 3.0, 1)],
    ],
    ids=["columns", "frame", "nullable", "records", "mappings", "generator", "jobs"],
)
def test_what_stands_for_a_workload_becomes_one(given: object) -> None:
    assert same(Workload.of(given), Workload.from_frame(pd.DataFrame(TABLE)))


def test_a_workload_is_itself_and_workflows_become_tasks() -> None:
    log = small()
    assert Workload.of(log) is log
    flow = Workflow(1, 0.0, [10.0], 2)
    assert (
        Workload.of(flow).workflows == Workload.of([flow]).workflows == Workload.of(iter([flow])).workflows == (flow,)
    )


def test_numbers_of_jobs_beyond_the_six_become_extras() -> None:
    jobs = [Job(1, 0.0, 10.0, 10.0, 2, extras={"priority": 3.0}), Job(2, 5.0, 3.0, 3.0, 1, extras={"priority": 4.0})]
    assert Workload.of(jobs).extras["priority"].tolist() == [3.0, 4.0]


WANTED = "workload must be a Workload, a path, a table of jobs, or workflows"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, f"{WANTED} (got None)"),
        ([1, 2], f"{WANTED} (got [1, 2])"),
        (Workload, f"{WANTED} (got the class Workload)"),
        ([small()], f"{WANTED} (got [a Workload]); Workload.concat puts several together"),
        ({}, f"{COLUMNS_OF_JOBS} (got no columns)"),
        ([{"submit_s": 1}, {"cores": 2}], f"{COLUMNS_OF_JOBS} (got submit_s and cores; runtime_s missing)"),
        ({**TABLE, "cores": [1.0, float("nan")]}, "column cores, row 1, must be a finite number (got nan)"),
        (
            pd.DataFrame({"submit_s": [1.0], "queue": [1]}),
            f"{COLUMNS_OF_JOBS} (got submit_s and queue; runtime_s and cores missing)",
        ),
        (
            pd.DataFrame([[1.0, 1.0, 1, 2]], columns=["submit_s", "runtime_s", "cores", "cores"]),
            "column cores has 2 dimensions; a column has one",
        ),
    ],
)  # fmt: skip
def test_what_stands_for_no_workload_is_refused_in_one_sentence(value: object, text: str) -> None:
    with pytest.raises(RequestError) as raised:
        Workload.of(value)
    assert str(raised.value) == text


@pytest.mark.parametrize("column", ["user", "user_id"])
@pytest.mark.parametrize("kind", [list, np.array, pd.Categorical])
def test_users_who_are_texts_are_numbered_by_name_and_keep_it(column: str, kind: Callable[..., Any]) -> None:
    users = kind(["bob", "alice", "", "bob"])
    log = Workload.of(pd.DataFrame({"submit_s": range(4), "runtime_s": 10, "cores": 1, column: users}))
    assert log.user_id.tolist() == [2, 1, -1, 2]
    assert list(log.extras["user"]) == ["bob", "alice", "", "bob"]
    jobs = [{"submit_s": 0, "runtime_s": 1, "cores": 1, column: "alice"}, {"submit_s": 1, "runtime_s": 1, "cores": 1}]
    assert Workload.of(jobs).user_id.tolist() == [1, -1]


def test_users_who_are_numbers_are_the_users_beside_their_names_if_there_are_any() -> None:
    jobs = {"submit_s": [0, 1], "runtime_s": [5, 5], "cores": [1, 1]}
    assert Workload.of({**jobs, "user": [12, 7]}).user_id.tolist() == [12, 7]
    log = Workload.of({**jobs, "user_id": [7, 8], "user": ["a", "b"]})
    assert (log.user_id.tolist(), log.extras["user"].tolist()) == ([7, 8], ["a", "b"])


def test_a_table_may_leave_out_what_can_be_filled_in_and_bring_more() -> None:
    table = pd.DataFrame(
        {"cores": [2, 3], "runtime_s": [5, 6], "submit_s": [0.5, 1.0], "queue": ["a", "b"]}, index=[7, 7]
    )
    made = Workload.from_frame(table, name="mine", max_cores=4)
    assert made.job(1) == Job(job_id=2, submit_s=1.0, runtime_s=6.0, estimate_s=6.0, cores=3, user_id=-1)
    assert made.extras["queue"].tolist() == ["a", "b"]
    assert (made.name, made.max_cores) == ("mine", 4)


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "Float64", "int16"])
def test_a_table_may_have_the_types_of_pandas(dtype: str) -> None:
    table = pd.DataFrame({"submit_s": [0, 1], "runtime_s": [5, 6], "cores": [2, 3]}).astype(dtype)
    assert Workload.from_frame(table).cores.tolist() == [2, 3]


@pytest.mark.parametrize("missing", [np.nan, None, pd.NaT, pd.NA])
def test_what_is_missing_among_the_limits_of_a_table_is_no_limit(missing: object) -> None:
    jobs = {"submit_s": [0, 1, 2], "runtime_s": [5, 6, 7], "cores": [1, 1, 1]}
    for limits in ([9, missing, 8.5], pd.array([9, None, 8.5], "Float64")):
        made = Workload.from_frame({**jobs, "estimate_s": limits})
        assert (made.estimate_s.tolist(), made.unlimited().tolist()) == ([9, 9, 8.5], [False, True, False])
    assert Workload.from_frame({**jobs, "estimate_s": [missing] * 3}).unlimited().all()


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
@pytest.mark.parametrize("limit", [-1, 0, -0.5])
def test_a_table_marks_jobs_without_a_limit_in_one_way(limit: float, kind: Callable[..., Any]) -> None:
    """Alone, -1 and 0 are what a log says, which a simulation refuses, or runs; beside a missing one, who knows."""
    jobs = {"submit_s": [0, 1, 2], "runtime_s": [5, 6, 7], "cores": [1, 1, 1]}
    assert not Workload.from_frame({**jobs, "estimate_s": kind([9, limit, 8])}).unlimited().any()
    what = r"column estimate_s, row 1, must be a number of seconds > 0, or missing for a job without a limit, as others"
    with pytest.raises(RequestError, match=rf"{what} are \(got {limit}"):
        Workload.from_frame({**jobs, "estimate_s": kind([9, limit, np.nan])})
