from typing import Any

import numpy as np
import pytest
from hypothesis import given

import simmodels as sm
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
    late = pair_of((0, 60, 3), (0, 40, 1), (9, 1, 1), initial_jobs=2, cores=4)
    assert late.state(dispatch_delay_s=0.5) == State(1.0, (41.0, 60.5), (1, 3), 0)
    with refused("unknown initial state 'begun'; known: started, submitted", sm.UnknownNameError):
        pair.state(initial_state="begun")  # type: ignore[arg-type]
    with refused("dispatch_delay_s must be a finite number of seconds >= 0 (got inf)"):
        pair.state(dispatch_delay_s=float("inf"))


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


# -- pairs of a workload ------------------------------------------------------------------------------


def test_a_pair_at_a_row_counts_its_time_from_there() -> None:
    pair = Pair.at(log(), 5)
    assert (pair.number, pair.initial_jobs, pair.cores, len(pair.jobs)) == (5, 16, 8, 48)
    assert pair.jobs.submit_s.tolist() == (np.arange(48) * 10.0).tolist()
    assert pair.jobs.job_id.tolist() == list(range(6, 54))
    assert len(Pair.at(log(), 12).jobs) == 48, "the last row that has all jobs after it"
    for row in (13, -1):
        with refused(f"row must be one of the 60 rows of ... with 48 jobs from it on (got {row})"):
            Pair.at(log(), row)


def test_starts_are_drawn_over_the_whole_workload_and_do_not_depend_on_their_number() -> None:
    def first(number: int, **more: int) -> list[int]:
        drawn = draw_pairs(log(), number, initial_jobs=4, trial_jobs=7, **more)
        assert [pair.number for pair in drawn] == list(range(number))
        return [int(pair.jobs.job_id[0]) for pair in drawn]

    assert set(first(400, seed=3)) == set(range(1, 51))  # each of 50 rows, 400 draws: one is missed once in 70 seeds
    assert first(9, seed=3) == first(400, seed=3)[:9] != first(9)


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


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"pairs": 0}, "pairs must be an integer from 1 to 2**53 (got 0)"),
        ({"initial_jobs": 0}, "initial_jobs must be an integer from 1 to 2**53 (got 0)"),
        ({"trial_jobs": 65}, "trial_jobs must be an integer from 1 to 64 (got 65)"),
        ({"cores": 0}, "cores must be an integer from 1 to 2**53 (got 0)"),
        ({"trial_jobs": 50}, "60 of 60 jobs of 'workload' have runtime, estimate and cores that take part; give..."),
        ({"seed": -3}, "seed must be an integer >= 0 (got -3)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked: dict[str, Any], text: str) -> None:
    with refused(text):
        draw_pairs(log(), **{"pairs": 2, **asked})
    with refused("the size of the machine of 'workload' is unknown; give cores=..."):
        draw_pairs(sm.Workload([1, 2], [0, 0], [1, 1], [1, 1], [1, 1]), 1, initial_jobs=1, trial_jobs=1)


# -- pairs of one's own --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "initial_jobs", "text"),
    [
        ([(0, 1, 1)] * 2, 0, "0 of 2 jobs are S, and 2 Q; put at least 1 into S and 1 to 64 into Q"),
        ([(0, 1, 1)] * 2, 2, "2 of 2 jobs are S, and 0 Q; put at least 1 into S and 1 to 64 into Q"),
        ([(0, 1, 1)] * 66, 1, "1 of 66 jobs are S, and 65 Q; put at least 1 into S and 1 to 64 into Q"),
        ([(0, 1, 1), (1, 0, 1)], 1, "runtime_s of job 2 must be a number of seconds > 0 (got 0.0)"),
        ([(1, 1, 1), (0, 1, 1)], 1, "the jobs of pair 0 are not sorted by submit; sort them"),
        ([(0, 1, 1), (1, 1, 3)], 1, "job 2: needs 3 cores, and the machine has 2..."),
    ],
)
def test_a_pair_of_ones_own_is_checked(rows: list[tuple[int, int, int]], initial_jobs: int, text: str) -> None:
    with refused(text, sm.SimModelsError):
        pair_of(*rows, initial_jobs=initial_jobs, cores=2)
