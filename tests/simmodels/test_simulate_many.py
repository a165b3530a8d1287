from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl

CORES = 8
LOG = sm.Workload([1, 2, 3], [0, 1, 2], [10, 10, 5], [10, 10, 5], [1, 2, 1], max_cores=2)

# A slowdown is a number: 300 s by the least that there is above 0 is more than the largest.
times = st.floats(1e-300, 300) | st.integers(0, 30).map(float)
jobs = st.tuples(times, st.just(0.0) | st.just(-1.0) | times, times, st.integers(1, CORES))
policies = st.fixed_dictionaries(
    {"order": st.sampled_from(["FCFS", "SAF", "LPF", "WFP3", "RANDOM", "SPF"])},
    optional={
        "backfilling": st.sampled_from(["none", "greedy", "easy", "conservative"]),
        "threshold_s": st.floats(0, 100),
        "decide": st.sampled_from(["instant", "event"]),
        "overrun": st.sampled_from(["run", "kill"]),
        "queue_depth": st.integers(1, 4),
        "warm_jobs": st.integers(0, 4),
        "max_starts": st.integers(1, 3),
    },
)


def log_of(rows: list[tuple[float, float, float, int]]) -> sm.Workload:
    submit_s, runtime_s, estimate_s, cores = np.array(rows, np.float64).reshape(-1, 4).T
    return sm.Workload(np.arange(len(rows)), submit_s, runtime_s, estimate_s, cores.astype(np.int64))


def alone(log: sm.Workload, tau_s: float = 10.0, **options: Any) -> dict[str, float]:  # noqa: ANN401  those of simulate
    return sm.simulate(log, **options).metrics(tau_s=tau_s)


@settings(max_examples=60)
@given(
    st.lists(st.lists(jobs, max_size=25), min_size=1, max_size=4),
    st.lists(policies, min_size=1, max_size=3),
    st.integers(0, 3),
    st.sampled_from([1.0, 10.0, 33.3]),
)
def test_each_figure_equals_that_of_the_single_simulation_to_the_last_bit(
    rows: list[list[tuple[float, float, float, int]]], given: list[dict[str, Any]], seed: int, tau_s: float
) -> None:
    logs = [log_of(each) for each in rows]
    found = sm.simulate_many(logs, given, cores=CORES, seed=seed, tau_s=tau_s, workers=2)
    for i, log in enumerate(logs):
        for j, policy in enumerate(given):
            expected = alone(log, tau_s, cores=CORES, seed=seed, **policy)
            assert list(found) == list(expected)
            here = [found[name][i, j] for name in expected]
            assert np.array_equal(here, list(expected.values()), equal_nan=True)


def test_it_has_a_row_for_each_log_and_a_column_for_each_order_however_many_threads_there_are() -> None:
    logs = [wl.tsafrir_estimates(wl.lublin(jobs=150 + 10 * k, cores=64, seed=k), seed=k) for k in range(9)]
    given = ["FCFS", {"order": "SAF", "backfilling": "none"}, {"backfill_order": "SPF"}]
    one, four = (sm.simulate_many(logs, given, cores=64, workers=workers) for workers in (1, 4))
    assert one["mean_wait_s"].shape == (9, 3)
    assert all(np.array_equal(one[name], four[name], equal_nan=True) for name in one)
    for k, log in enumerate(logs):
        assert one["mean_wait_s"][k, 1] == alone(log, cores=64, order="SAF", backfilling="none")["mean_wait_s"]
        assert one["p95_wait_s"][k, 2] == alone(log, cores=64, backfill_order="SPF")["p95_wait_s"]


def test_each_log_has_the_machine_that_it_names() -> None:
    found = sm.simulate_many([LOG, replace(LOG, max_cores=4)], ["FCFS"])
    assert found["mean_wait_s"][:, 0].tolist() == [3.0, 0.0]
    assert sm.simulate_many([], ["FCFS", "RANDOM", sm.Ahead("queue", {1: 9.0})])["mean_wait_s"].shape == (0, 3)
    assert sm.simulate_many([LOG], [])["mean_wait_s"].shape == (1, 0)


def test_an_order_of_ones_own_may_name_columns_of_the_log() -> None:
    own = sm.Order("own", lambda nice, wait: nice - wait)
    logs = [replace(LOG, extras={"nice": np.array(ranks)}) for ranks in ([0, 2, 1], [0, 1, 2])]
    found = sm.simulate_many(logs, [own], backfilling="none")
    assert found["max_wait_s"][:, 0].tolist() == [
        alone(log, order=own, backfilling="none")["max_wait_s"] for log in logs
    ]
    assert sm.simulate_many([logs[0], log_of([])], [own], cores=2)["jobs"].tolist() == [[3.0], [0.0]]
    with pytest.raises(sm.RequestError, match="an order names nice, and job 1 has no such number"):
        sm.simulate_many([logs[0], LOG], [own])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"capacity": [(0, 2)]}, "simulate_many with capacity; it knows a queue on a pool of cores"),
        ({"router": "LeastLoaded"}, "simulate_many with router; it knows a queue"),
        ({"bid": "SRTF"}, "simulate_many with bid; it knows a queue"),
        ({"limits": [("user", "any", 3)]}, "simulate_many with limits; it knows a queue"),
        ({"order": "FairShare"}, "order 'FairShare', which asks what users have used; call simulate for each log"),
        ({"order": "SAFF"}, "SAFF"),
        ({"backfillin": "easy"}, "backfillin"),
        ({"order": lambda cores: float(str(cores))}, "'<lambda>', which cannot be compiled; call simulate for each"),
    ],
)
def test_what_needs_more_than_a_queue_in_compiled_code_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(sm.SimModelsError, match=error):
        sm.simulate_many([LOG], [options])


def test_what_a_log_cannot_have_is_refused_as_it_is_alone() -> None:
    flows = [sm.Workflow(1, 0.0, [10, 20], 2, [(0, 1)])]
    with pytest.raises(sm.RequestError, match="has workflows; call simulate for each log"):
        sm.simulate_many([LOG, flows], ["FCFS"], cores=2)
    with pytest.raises(sm.RequestError, match="the size of the machine of 'workload' is unknown; give cores="):
        sm.simulate_many([replace(LOG, max_cores=None)], ["FCFS"])
    with pytest.raises(sm.ImpossibleJobError, match="job 2: needs 2 cores, and the machine has 1"):
        sm.simulate_many([LOG, LOG], ["FCFS"], cores=1)
    with pytest.raises(sm.RequestError, match="logs must be a list of workloads"):
        sm.simulate_many(LOG, ["FCFS"])
    with pytest.raises(sm.RequestError, match="orders must be a list of orders"):
        sm.simulate_many([LOG], "FCFS")


def test_an_order_that_gives_no_number_is_named_with_the_job() -> None:
    odd = sm.Order("odd", lambda cores: np.nan if cores == 2 else cores)
    with pytest.raises(sm.RequestError, match=r"order 'odd' gives no number \(NaN\) for job 2"):
        sm.simulate_many([LOG.head(1), LOG], ["FCFS", odd], cores=2)
