"""What the compiled clock does at the end of time."""

import math

import simmodels as sm
from simmodels.workload import Workload


def test_an_end_beyond_the_greatest_float_is_infinite_by_event_too() -> None:
    log = Workload([1, 2], [0, 0], [1.7e308, 1.7e308], [1.7e308, 1.7e308], [1, 1])
    assert sm.simulate(log, cores=1, decide="event").end_s.tolist() == [1.7e308, math.inf]
