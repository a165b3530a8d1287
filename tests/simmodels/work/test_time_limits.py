"""Limits: what stands for the limit of a job that has none says nothing of its runtime."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.work.time_limits import estimates

JOBS = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 5.0, 9.0, 20.0]), st.sampled_from("ab"), st.integers(-1, 99)))


@given(JOBS)
def test_no_estimate_depends_on_a_runtime_if_any_job_has_a_limit(jobs: list[tuple[float, str, int]]) -> None:
    asked, runtime = (np.array([job[place] for job in jobs], float) for place in (0, 2))
    partition = np.array([job[1] for job in jobs], dtype=object)
    found, counts = estimates(asked, runtime, partition)
    limited = asked > 0
    assert found[limited].tolist() == asked[limited].tolist()
    assert counts["jobs without a time limit"] == (~limited).sum()
    if not limited.any():
        assert found.tolist() == runtime.tolist()
        return
    assert found.tolist() == estimates(asked, runtime[::-1], partition)[0].tolist()
    assert counts["estimates taken from runtimes"] == counts["estimates unknown"] == 0
    for place in np.flatnonzero(~limited):
        beside = asked[limited & (partition == partition[place])]
        assert found[place] == (beside if len(beside) else asked).max()


@pytest.mark.parametrize("partition", [None, [-1, -1, -1], ["", "-1", ""], [np.nan, np.nan, np.nan]])
def test_a_partition_that_is_not_known_is_none(partition: list[object] | None) -> None:
    asked = np.array([7.0, -1.0, 9.0])
    found = estimates(asked, np.ones(3), None if partition is None else np.array(partition))[0]
    assert found.tolist() == [7, 9, 9]
