"""No time reaches the engines at which a float could not represent a second."""

import pytest

import simmodels as sm
from simmodels.errors import ImpossibleJobError
from simmodels.work.workload import Workload


@pytest.mark.parametrize("decide", ["instant", "event"])
def test_an_end_beyond_what_floats_represent_is_refused_by_job(engine: str, decide: str) -> None:
    log = Workload([1, 2], [0, 0], [9.0, 1.7e308], [9.0, 1.7e308], [1, 1])
    with pytest.raises(ImpossibleJobError, match=r"job 2: submit_s \+ runtime_s must be between .* \(got 1.7e\+308\)"):
        sm.simulate(log, cores=1, decide=decide, engine=engine)  # type: ignore[arg-type]


def test_the_largest_times_that_are_allowed_are_exact() -> None:
    far = 2.0**53 - 3
    schedule = sm.simulate(Workload([1, 2], [0, far], [5.0, 1.0], [5.0, 1.0], [1, 1]), cores=1)
    assert schedule.validate().end_s.tolist() == [5, far + 1]
