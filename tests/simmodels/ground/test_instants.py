import math

import numpy as np

from simmodels.ground.instants import LIMIT_S, rounding_s, too_far


def test_rounding_grows_with_the_largest_time() -> None:
    for largest in (1e-3, 1.0, 1e5, 1.7e9, 1e12):
        assert rounding_s(largest / 3, -largest, math.nan) == rounding_s(largest) == 8 * math.ulp(largest)


def test_rounding_covers_what_differences_of_unix_times_lose() -> None:
    start_s = 1.7e9 + np.arange(1000) / 10
    length_s = np.arange(1, 1001) / 10
    lost_s = np.abs((start_s + length_s) - start_s - length_s)
    assert 0 < lost_s.max() <= rounding_s(start_s).min()


def test_a_time_is_too_far_where_the_next_second_may_be_the_same_float() -> None:
    assert LIMIT_S + 1 == LIMIT_S
    before = np.nextafter(LIMIT_S, 0)
    assert before + 1 > before
    assert too_far([before, LIMIT_S, -LIMIT_S, 1e17, np.nan]).tolist() == [False, True, True, True, False]
