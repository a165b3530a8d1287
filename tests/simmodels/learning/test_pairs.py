from typing import Any

import numpy as np
import pytest
from hypothesis import given

import simmodels as sm
import workloads as wl
from simmodels.learning.pairs import Pair, State, draw_pairs
from tests.refused import refused
from tests.slow_trial import pair_of, pairs


def log(jobs: int = 60, **changed: object) -> sm.Workload:
    columns = {
        "job_id": np.arange(1, jobs + 1),
        "submit_s": np.arange(jobs) * 10.0 + 500.0,
        "runtime_s": np.full(jobs, 20.0),
        "estimate_s": np.full(jobs, 30.0),
        "cores": np.ones(jobs, dtype=np.int64),
    }
    return sm.Workload(**{**columns, **changed}, max_cores=8)


# -- the state in which Q finds the machine ----------------------------------------------------------


def test_a_state_drawn_by_hand() -> None:
    # On 4 cores: A 0-60 with 3, B 0-40 with 1; C (2 cores, submitted at 5) waits for A until 60, D (1 core, submitted
    # at 7) waits behind it although a core is free from 40 on: first come first served is strict.
    pair = pair_of((0, 60, 3), (0, 40, 1), (5, 50, 2), (7, 10, 1), (9, 1, 1), initial_jobs=4, cores=4)
    assert pair.state() == State(60.0, (70.0, 110.0), (1, 2), 1)
    assert pair.state(initial_state="submitted") == State(7.0, (40.0, 60.0), (1, 3), 0)


def test_a_delay_counts_at_each_start_of_s() -> None:
    pair = pair_of((0, 60, 3), (0, 40, 1), (9, 1, 1), initial_jobs=2, cores=4)
    assert pair.state(dispatch_delay_s=0.5) == State(1.0, (41.0, 60.5), (1, 3), 0)


def test_jobs_that_end_as_the_last_starts_hold_no_cores() -> None:
    pair = pair_of((0, 10, 2), (10, 5, 2), (11, 1, 1), initial_jobs=2, cores=2)
    assert pair.state() == State(10.0, (15.0,), (2,), 0)


@given(pair=pairs())
def test_the_started_state_is_that_of_first_come_first_served(pair: Pair) -> None:
    first = pair.jobs.take(slice(0, pair.initial_jobs))
    schedule = sm.simulate(first, cores=pair.cores, order="FCFS", backfilling="none")
    state = pair.state()
    assert state.time_s == schedule.start_s[-1]
    runs = schedule.end_s > state.time_s
    assert sorted(zip(state.end_s, state.cores, strict=True)) == sorted(
        zip(schedule.end_s[runs].tolist(), first.cores[runs].tolist(), strict=True)
    )
    assert state.free == pair.cores - first.cores[runs].sum()


@given(pair=pairs())
def test_the_states_differ_only_if_the_last_job_of_s_waits(pair: Pair) -> None:
    started, submitted = pair.state(), pair.state(initial_state="submitted")
    assert submitted.time_s == pair.jobs.submit_s[pair.initial_jobs - 1]
    assert (started == submitted) == (started.time_s == submitted.time_s)


def test_an_unknown_state_and_a_bad_delay_are_refused() -> None:
    pair = pair_of((0, 10, 2), (10, 5, 2), initial_jobs=1, cores=2)
    with pytest.raises(sm.UnknownNameError, match="unknown initial state 'begun'; known: started, submitted"):
        pair.state(initial_state="begun")  # type: ignore[arg-type]
    with pytest.raises(sm.RequestError, match=r"dispatch_delay_s must be a finite number of seconds >= 0 \(got inf\)"):
        pair.state(dispatch_delay_s=float("inf"))


# -- pairs of a workload ------------------------------------------------------------------------------


def test_a_pair_at_a_row_counts_its_time_from_there() -> None:
    pair = Pair.at(log(), 5)
    assert (pair.number, pair.initial_jobs, pair.cores, len(pair.jobs)) == (5, 16, 8, 48)
    assert pair.jobs.submit_s.tolist() == (np.arange(48) * 10.0).tolist()
    assert pair.jobs.job_id.tolist() == list(range(6, 54))


def test_the_last_row_is_the_last_that_has_all_jobs_after_it() -> None:
    assert len(Pair.at(log(), 12).jobs) == 48
    for row in (13, -1):
        with refused(f"row must be one of the 60 rows of ... with 48 jobs from it on (got {row})"):
            Pair.at(log(), row)


def test_starts_are_drawn_over_the_whole_workload_and_do_not_depend_on_their_number() -> None:
    drawn = draw_pairs(log(), 400, initial_jobs=4, trial_jobs=7, seed=3)
    first = [int(pair.jobs.job_id[0]) for pair in drawn]
    assert [pair.number for pair in drawn] == list(range(400))
    assert set(first) == set(range(1, 51))  # each of 50 rows, 400 draws: one is missed once in 70 seeds
    assert [int(pair.jobs.job_id[0]) for pair in draw_pairs(log(), 9, initial_jobs=4, trial_jobs=7, seed=3)] == first[
        :9
    ]
    assert [int(pair.jobs.job_id[0]) for pair in draw_pairs(log(), 9, initial_jobs=4, trial_jobs=7)] != first[:9]


def test_only_jobs_that_can_run_take_part_sorted_by_submit() -> None:
    runtime_s, estimate_s, cores = np.full(60, 20.0), np.full(60, 30.0), np.ones(60, dtype=np.int64)
    runtime_s[3], runtime_s[4], estimate_s[5], estimate_s[6], cores[7], cores[8], cores[9] = 0, -1, 0, -1, 0, 9, 8
    backwards = np.arange(60)[::-1] * 10.0
    jobs = log(runtime_s=runtime_s, estimate_s=estimate_s, cores=cores, submit_s=backwards)
    (pair,) = draw_pairs(jobs, 1, initial_jobs=20, trial_jobs=34)
    assert pair.jobs.job_id.tolist() == [*range(60, 9, -1), 3, 2, 1]


@pytest.mark.parametrize("unknown", [0.0, -1.0])
def test_estimates_are_not_asked_for_if_no_job_has_one(unknown: float) -> None:
    (pair,) = draw_pairs(log(48, estimate_s=np.full(48, max(unknown, 0.0))), 1)
    assert len(pair.jobs) == 48
    if unknown < 0:
        with pytest.raises(sm.RequestError, match="0 of 48 jobs"):
            draw_pairs(log(48, runtime_s=np.full(48, unknown)), 1)


def test_a_generated_workload_gives_pairs() -> None:
    drawn = draw_pairs(wl.lublin(jobs=300, cores=64, seed=1), 5, trial_jobs=16)
    assert {len(pair.jobs) for pair in drawn} == {32}
    assert {pair.cores for pair in drawn} == {64}
    assert all(pair.jobs.submit_s[0] == 0 for pair in drawn)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"pairs": 0}, "pairs must be an integer from 1 to 2**53 (got 0)"),
        ({"initial_jobs": 0}, "initial_jobs must be an integer from 1 to 2**53 (got 0)"),
        ({"trial_jobs": 65}, "trial_jobs must be an integer from 1 to 64 (got 65)"),
        ({"trial_jobs": "32"}, "trial_jobs must be an integer from 1 to 64 (got '32')"),
        ({"cores": 0}, "cores must be an integer from 1 to 2**53 (got 0)"),
        (
            {"trial_jobs": 50},
            "60 of 60 jobs of 'workload' have runtime, estimate and cores that take part; give a log with at least 66",
        ),
        ({"seed": -3}, "seed must be an integer >= 0 (got -3)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked: dict[str, Any], text: str) -> None:
    with refused(f"{text}..."):
        draw_pairs(log(), **{"pairs": 2, **asked})


def test_a_machine_of_unknown_size_is_refused() -> None:
    jobs = sm.Workload([1, 2], [0, 0], [1, 1], [1, 1], [1, 1])
    with pytest.raises(sm.RequestError, match="the size of the machine of 'workload' is unknown; give cores="):
        draw_pairs(jobs, 1, initial_jobs=1, trial_jobs=1)


# -- pairs of one's own --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "initial_jobs", "text"),
    [
        ([(0, 1, 1), (1, 1, 1)], 0, "0 of 2 jobs are S, and 2 Q; put at least 1 into S and 1 to 64 into Q"),
        ([(0, 1, 1), (1, 1, 1)], 2, "2 of 2 jobs are S, and 0 Q; put at least 1 into S and 1 to 64 into Q"),
        (
            [(i, 1, 1) for i in range(66)],
            1,
            "1 of 66 jobs are S, and 65 Q; put at least 1 into S and 1 to 64 into Q",
        ),
        ([(0, 1, 1), (1, 0, 1)], 1, "runtime_s of job 2 must be a number of seconds > 0 (got 0.0)"),
        ([(1, 1, 1), (0, 1, 1)], 1, "the jobs of pair 0 are not sorted by submit; sort them"),
    ],
)
def test_a_pair_of_ones_own_is_checked(rows: list[tuple[int, int, int]], initial_jobs: int, text: str) -> None:
    with refused(text):
        pair_of(*rows, initial_jobs=initial_jobs, cores=2)


def test_a_job_wider_than_the_machine_is_refused_by_name() -> None:
    with pytest.raises(sm.ImpossibleJobError, match="job 2: needs 3 cores, and the machine has 2"):
        pair_of((0, 1, 1), (1, 1, 3), initial_jobs=1, cores=2)
