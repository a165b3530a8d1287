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


@pytest.mark.parametrize("tau_s", [0, -1, math.inf, math.nan])
def test_a_tau_that_bounds_nothing_is_refused(tau_s: float) -> None:
    one = floats(1)
    with pytest.raises(RequestError, match="tau_s must be a finite number of seconds > 0"):
        metrics.bounded_slowdown(one, one, tau_s)
    with pytest.raises(RequestError, match="tau_s must be a finite number of seconds > 0"):
        metrics.per_processor_bounded_slowdown(one, one, np.array([1]), tau_s)


def test_describe_names_the_unit_and_interpolates_the_percentile() -> None:
    found = metrics.describe(floats(0, 10, 9, 0), "wait_s")
    assert found == {
        "mean_wait_s": 4.75,
        "median_wait_s": 4.5,
        "p95_wait_s": pytest.approx(9.85, rel=1e-15),  # 0.95 x 3 steps along 0, 0, 9, 10
        "max_wait_s": 10,
    }
    assert all(type(value) is float for value in found.values())


def test_a_step_function_has_one_step_an_instant_and_none_for_intervals_without_length() -> None:
    # [0, 10) twice, [10, 20) three times, [10, 10), never, from 30 on
    from_s = floats(0, 10, 10, math.nan, 30)
    to_s = floats(10, 20, 10, math.nan, math.nan)
    time_s, total = metrics.step_function(from_s, to_s, np.array([2, 3, 9, 7, 1]))
    assert time_s.tolist() == [0, 10, 20, 30]
    assert total.tolist() == [2, 3, 0, 1]


def test_a_step_function_leaves_out_instants_at_which_the_sum_stays() -> None:
    time_s, total = metrics.step_function(floats(0, 5), floats(5, 9), np.array([2, 2]))
    assert (time_s.tolist(), total.tolist()) == ([0, 9], [2, 0])


def test_utilisation_cuts_at_the_window() -> None:
    # of 4 cores from 10 to 20: 2 cores for 5 s, 1 core all along, 4 cores after the window
    start_s, end_s = floats(0, 5, 20), floats(15, math.nan, 30)
    assert metrics.utilisation(start_s, end_s, np.array([2, 1, 4]), 4, (10, 20)) == 20 / 40


def test_the_queue_within_a_window_is_what_waits_in_it() -> None:
    # waits [0, 10), [5, 12), [5, 5), and from 30 on; [6, 11) is none
    from_s, to_s, waits = floats(0, 5, 5, 30, 6), floats(10, 12, 5, math.nan, 11), np.array([1, 1, 1, 1, 0])
    assert metrics.queue_length(from_s, to_s, waits, (0, 40)) == (27 / 40, 2)
    assert metrics.queue_length(from_s, to_s, waits, (10, 40)) == (12 / 30, 1)
    assert metrics.queue_length(from_s, to_s, waits, (13, 30)) == (0, 0)
    assert metrics.queue_length(from_s, to_s, waits, (31, 32)) == (1, 1)


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


def test_a_value_that_is_nan_leaves_no_statistic() -> None:
    assert np.isnan(metrics.summary(floats(1, math.nan, 3))).all()
