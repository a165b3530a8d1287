"""What both clocks do with what cannot be scheduled: unknown jobs, orders that fail."""

import numpy as np
import pandas as pd
import pytest

import simmodels as sm

ENGINES = ["compiled", "simpy"]


def log(**columns: object) -> sm.Workload:
    return sm.Workload.from_frame(pd.DataFrame(columns), max_cores=4)


@pytest.mark.parametrize("engine", ENGINES)
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


@pytest.mark.parametrize("engine", ENGINES)
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
    raised = error.value if engine == "compiled" else error.value.__cause__  # SimPy raises a copy of what it was
    assert raised.__notes__ == ["raised by order 'fails for wide jobs' for job 2"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_order_that_gives_no_number_is_refused_with_the_job(engine: str) -> None:
    order = sm.Order("nothing", lambda estimate: (estimate - estimate) * np.inf)
    jobs = log(submit_s=[0, 1], runtime_s=[10, 20], cores=[1, 4])
    with pytest.raises(sm.RequestError, match=r"'nothing' gives no number \(NaN\) for job 1 at 0 s"):
        sm.simulate(jobs, order=order, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", ["RANDOM", "SEXP"])
def test_a_log_longer_than_the_first_room_of_the_process_clock_is_scheduled_alike(engine: str, order: str) -> None:
    generator = np.random.default_rng(3)
    jobs = log(
        submit_s=np.cumsum(generator.integers(0, 4, 5000)),
        runtime_s=generator.integers(0, 9, 5000),
        cores=generator.integers(1, 5, 5000),
    )
    schedule = sm.simulate(jobs, order=order, engine=engine, seed=5).validate()
    assert np.array_equal(schedule.start_s, sm.simulate(jobs, order=order, seed=5).start_s)
