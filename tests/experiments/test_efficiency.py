"""Efficiency: what users ask for as a multiple of what they use, by hand and job by job."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simmodels as sm
from experiments.efficiency import USERS, efficiency

H = 3600


def test_each_user_has_a_multiple_weighted_by_core_hours() -> None:
    """User 7: 2 cores x 1 h of 4 h, and 1 core x 2 h of 2 h; user 3 has no limit; of two jobs nothing is known."""
    log = sm.Workload.of(
        {
            "submit_s": [0] * 5, "runtime_s": [H, 2 * H, 3 * H, -1, H], "estimate_s": [4 * H, 2 * H, 9 * H, H, H],
            "cores": [2, 1, 2, 1, -1], "user_id": [7, 7, 3, 7, 3], "requested_s": [4 * H, 2 * H, -1, H, H],
            "requested_memory_kb": [400, 100, -1, 50, 50], "used_memory_kb": [100, 50, 10, 1, 1],
        }
    )  # fmt: skip
    table = efficiency(log)
    assert table["user"].tolist() == ["all", "3", "7"]
    assert table["jobs"].tolist() == [3, 1, 2]
    assert table["core-hours"].tolist() == [10, 6, 4]
    assert table["share (%)"].tolist() == [100, 60, 40]
    assert table["time asked for / used"].tolist() == pytest.approx([10 / 4, np.nan, 10 / 4], nan_ok=True)
    memory = (400 * 2 + 100 * 2) / (100 * 2 + 50 * 2)
    assert table["memory asked for / used"].tolist() == pytest.approx([memory, np.nan, memory], nan_ok=True)


def test_a_log_without_limits_or_memory_has_no_such_column_and_users_have_their_names() -> None:
    columns: dict[str, Any] = {"submit_s": [0, 0], "runtime_s": [H, H], "cores": [1, 2], "user_id": [1, 2]}
    table = efficiency(sm.Workload.of({**columns, "requested_s": [-1, -1], "user": ["ada", "bob"]}))
    assert table["user"].tolist() == ["all", "bob", "ada"]
    assert list(table.columns) == ["user", "jobs", "core-hours", "share (%)"]
    unused = sm.Workload.of({**columns, "requested_memory_kb": [0, 9], "used_memory_kb": [9, -1]})
    assert "memory asked for / used" not in efficiency(unused)
    assert efficiency(unused)["time asked for / used"].tolist() == [1, 1, 1]
    assert efficiency(sm.Workload.of({**columns, "runtime_s": [0, 0]})).empty


@example([(8, 1, 2, 6), (28, 1, 7, 0), (30, 1, 6, 6)])  # as many core-seconds, which hours round otherwise
@given(
    st.lists(st.tuples(st.integers(-1, 30), st.integers(1, 50), st.integers(1, 9), st.integers(-1, 14)), max_size=40)
)
def test_it_is_what_adding_up_job_by_job_gives(rows: list[tuple[int, int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    named = dict(zip(("runtime_s", "estimate_s", "cores", "user_id"), columns, strict=True))
    log = sm.Workload.of({"submit_s": np.zeros(len(rows)), **named})
    used: dict[int, int] = {}
    asked: dict[int, int] = {}
    for runtime, estimate, cores, user in rows:
        if runtime > 0:
            used[user] = used.get(user, 0) + runtime * cores
            asked[user] = asked.get(user, 0) + estimate * cores
    table = efficiency(log)
    if not used:
        assert table.empty
        return
    users = sorted((user for user in used if user >= 0), key=lambda user: (-used[user], user))[:USERS]
    assert table["user"].tolist() == ["all", *map(str, users)]
    expected = [sum(asked.values()) / sum(used.values()), *(asked[user] / used[user] for user in users)]
    assert table["time asked for / used"].tolist() == pytest.approx(expected)
    assert table["share (%)"].tolist() == pytest.approx(
        [100, *(100 * used[user] / sum(used.values()) for user in users)]
    )
