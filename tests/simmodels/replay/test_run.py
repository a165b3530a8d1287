"""The compiled engine's schedules, and what both engines do with unknown jobs and orders that fail."""

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay
from simmodels.results.schedule import COMPLETED, KILLED, UNFINISHED, Schedule


def log(**columns: object) -> sm.Workload:
    return sm.Workload.from_frame(pd.DataFrame(columns), max_cores=4)


def test_a_job_of_unknown_cores_or_runtime_is_left_out_and_counted(engine: str) -> None:
    jobs = log(submit_s=[5, 0, 1, 2], runtime_s=[10, 10, -1, 10], cores=[4, -1, 2, 3])
    schedule = sm.simulate(jobs, engine=engine).validate()
    assert np.array_equal(schedule.start_s, [12, np.nan, np.nan, 2], equal_nan=True)
    assert schedule.outcome.tolist() == [0, 2, 2, 0]
    assert schedule.counted.tolist() == [True, False, False, True]
    assert schedule.about["left_out"] == 2
    figures = schedule.metrics()
    assert (figures["jobs"], figures["unfinished"]) == (2, 0)
    assert figures["max_queue_length"] == 1  # who was left out never waited
    assert figures["mean_queue_length"] == pytest.approx(7 / 20)
    assert schedule.queue_length()["queue_length"].tolist() == [1, 0]


def test_what_a_compiled_order_raises_is_raised_for_the_job(engine: str) -> None:
    @sm.order(name="fails for wide jobs")
    def fails(cores: float) -> float:
        if cores > 3:
            raise ValueError("too wide for me")
        return cores

    assert fails.compiled
    jobs = log(submit_s=[0, 1], runtime_s=[10, 10], cores=[1, 4])
    with pytest.raises(ValueError, match="too wide for me") as error:
        sm.simulate(jobs, order=fails, engine=engine)
    assert error.value.__notes__ == ["raised by order 'fails for wide jobs' for job 2"]


# -- the compiled engine alone ------------------------------------------------------------------------


def run(workload: sm.Workload, *, cores: int = 2, seed: int = 0, **options: object) -> Schedule:
    replay = Replay(workload, cores=cores, options=QueueOptions.checked(**options), seed=seed)
    replay.run()
    return replay.schedule()


SORTED = sm.Workload([1, 2, 3], [0, 1, 2], [10, 10, 5], [10, 4, 5], [1, 2, 1])


def test_rows_are_those_of_the_log_sorted_or_not() -> None:
    assert run(SORTED).validate().start_s.tolist() == [0, 10, 2]
    for rows in ([2, 1, 0], [1, 0, 2]):
        schedule = run(SORTED.take(np.array(rows)), overrun="kill", warm_jobs=1).validate()
        assert schedule.start_s[np.argsort(rows)].tolist() == [0, 10, 2]
        assert schedule.end_s[np.argsort(rows)].tolist() == [10, 14, 7]
        assert schedule.outcome[np.argsort(rows)].tolist() == [COMPLETED, KILLED, COMPLETED]
        assert schedule.counted[np.argsort(rows)].tolist() == [False, True, True]


def test_jobs_left_out_take_part_in_nothing() -> None:
    log = sm.Workload([1, 9, 2, 8, 3], [0, 0, 1, 1, 2], [10, -1, 10, 3, 5], [10, 5, 4, 3, 5], [1, 1, 2, -1, 1])
    schedule = run(log, order="RANDOM", warm_jobs=1, seed=4).validate()
    expected = run(SORTED, order="RANDOM", warm_jobs=1, seed=4)
    assert schedule.start_s[[0, 2, 4]].tolist() == expected.start_s.tolist()
    assert schedule.counted.tolist() == [False, False, True, False, True]
    assert schedule.outcome[[1, 3]].tolist() == [UNFINISHED] * 2
    assert schedule.about["left_out"] == 2
