import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import RequestError
from simmodels.results import metrics


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_wait_and_response_are_counted_from_the_submit_stretch_is_of_the_work_and_throughput_by_the_hour() -> None:
    assert metrics.wait_s(floats(5, 0), floats(7, math.nan)).tolist()[0] == 2
    assert metrics.response_s(floats(5), floats(17)).tolist() == [12]
    assert metrics.stretch(floats(60), floats(100)).tolist() == [0.6]
    assert metrics.throughput_jobs_per_hour(4, 80) == 180


def test_slowdown_is_not_defined_without_execution_nor_a_mean_of_nothing() -> None:
    found = metrics.slowdown(floats(30, 7), floats(10, 0))
    assert found[0] == 3
    assert np.isnan(found[1])
    assert all(np.isnan(value) for value in metrics.describe(floats(), "wait_s").values())
    assert np.isnan(metrics.summary(floats(1, math.nan, 3))).all()


@pytest.mark.parametrize("tau_s", [0, -1, math.inf, math.nan])
def test_a_tau_that_bounds_nothing_is_refused(tau_s: float) -> None:
    one = floats(1)
    with pytest.raises(RequestError, match="tau_s must be a finite number of seconds > 0"):
        metrics.bounded_slowdown(one, one, tau_s)
    with pytest.raises(RequestError, match="tau_s must be a finite number of seconds > 0"):
        metrics.per_processor_bounded_slowdown(one, one, np.array([1]), tau_s)


def test_what_never_ends_counts_up_to_the_end_of_the_window() -> None:
    # waits [0, 10), [5, 12), [5, 5), and from 30 on; [6, 11) is none
    from_s, to_s, waits = floats(0, 5, 5, 30, 6), floats(10, 12, 5, math.nan, 11), np.array([1, 1, 1, 1, 0])
    assert metrics.queue_length(from_s, to_s, waits, (0, 40)) == (27 / 40, 2)
    assert metrics.queue_length(from_s, to_s, waits, (31, 32)) == (1, 1)
    # of 4 cores from 10 to 20: 2 cores for 5 s, 1 core all along, 4 cores after the window
    assert metrics.utilisation(floats(0, 5, 20), floats(15, math.nan, 30), np.array([2, 1, 4]), 4, (10, 20)) == 20 / 40
    time_s, total = metrics.step_function(floats(0, math.nan, 30), floats(10, 20, math.nan), np.array([2, 7, 1]))
    assert (time_s.tolist(), total.tolist()) == ([0, 10, 30], [2, 0, 1])


def test_a_window_without_length_has_no_means() -> None:
    assert np.isnan(metrics.utilisation(floats(0), floats(1), np.array([1]), 1, (5, 5)))
    assert np.isnan(metrics.utilisation(floats(0), floats(1), np.array([1]), 1, (np.nan, np.nan)))
    mean, most = metrics.queue_length(floats(0), floats(1), np.array([1]), (5, 5))
    assert np.isnan(mean)
    assert most == 0
    assert np.isnan(metrics.throughput_jobs_per_hour(1, 0))


whole = st.integers(0, 60)


@given(st.lists(st.tuples(whole, whole, st.integers(1, 9)), max_size=30), st.integers(1, 30))
def test_job_metrics_equal_their_formulas_one_job_at_a_time(jobs: list[tuple[int, int, int]], tau_s: int) -> None:
    wait, ran = floats(*(job[0] for job in jobs)), floats(*(job[1] for job in jobs))
    cores = np.array([job[2] for job in jobs], dtype=np.int64)
    bounded = [max((w + p) / max(p, tau_s), 1.0) for w, p, _ in jobs]
    shared = [max((w + p) / (q * max(p, tau_s)), 1.0) for w, p, q in jobs]
    assert metrics.bounded_slowdown(wait, ran, tau_s).tolist() == bounded
    assert metrics.per_processor_bounded_slowdown(wait, ran, cores, tau_s).tolist() == shared
    if jobs:
        found = metrics.describe(floats(*bounded), "x")
        assert found["mean_x"] == np.mean(bounded)
        assert found["mean_x"] == pytest.approx(statistics.fmean(bounded))
        assert found["median_x"] == pytest.approx(statistics.median(bounded))
        assert found["max_x"] == max(bounded)


@given(st.lists(st.tuples(whole, whole, st.integers(1, 9)), max_size=30), whole, whole)
def test_sums_over_time_equal_a_count_at_each_second(spans: list[tuple[int, int, int]], low: int, length: int) -> None:
    high = low + length
    from_s, to_s = floats(*(a for a, _, _ in spans)), floats(*(a + d for a, d, _ in spans))
    weight = np.array([w for _, _, w in spans], dtype=np.int64)
    present = [sum(w for a, d, w in spans if a <= second < a + d) for second in range(130)]
    time_s, total = metrics.step_function(from_s, to_s, weight)
    at = np.searchsorted(time_s, np.arange(130), side="right") - 1
    assert np.where(at >= 0, np.append(total, 0)[at], 0).tolist() == present
    assert (np.diff(time_s) > 0).all()
    assert metrics.time_sum(from_s, to_s, weight, (low, high)) == sum(present[low:high])
    waiting = [sum(1 for a, d, _ in spans if a <= second < a + d) for second in range(130)]
    mean, most = metrics.queue_length(from_s, to_s, np.ones(len(spans), np.int64), (low, high))
    if length:
        assert mean == pytest.approx(sum(waiting[low:high]) / length)
        assert most == max(waiting[low:high])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300))
def test_percentiles_are_those_of_numpy_to_the_last_bit(values: list[float]) -> None:
    column = np.array(values)
    expected = [column.mean(), *np.percentile(column, (50, 95)), column.max()]
    assert list(metrics.summary(column)) == expected
