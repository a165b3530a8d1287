"""Durations: a number of seconds, or a text with a unit."""

import math
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from simmodels.errors import RequestError
from simmodels.ground.durations import as_hours, as_seconds, as_window, duration, seconds, span
from simmodels.ground.numbers import as_integer
from tests.refused import refused

AN_EXAMPLE = "a number of seconds, or one with a unit (s, min, h, d, w) such as 90s, 30min, 40h or 2d"


def test_a_duration_may_have_a_unit() -> None:
    texts = {
        "144000": 144_000.0, "90s": 90.0, "30min": 1800.0, "30 m": 1800.0, "40h": 144_000.0, "1.5D": 129_600.0,
        ".5w": 302_400.0, "0": 0.0, "1d12h": 129_600.0, "1w 2d 3h 4min 5.5s": 788_645.5,
    }  # fmt: skip
    assert {text: seconds(text) for text in texts} == texts
    for text in ("", "h", "-1", "1y", "1h30", "12h1d", "1h1h", "1h,5s", "nan", "inf", "1e3", "1_0", "\u0661"):
        with refused(f"duration must be {AN_EXAMPLE} (got {text!r})"):
            seconds(text)


def test_a_number_of_seconds_may_be_a_text_with_a_unit() -> None:
    assert as_seconds("threshold_s", -3) == -3.0
    for given in ("40h", timedelta(hours=40), np.timedelta64(40, "h"), pd.Timedelta("40h")):
        assert as_seconds("threshold_s", given) == 144_000.0
    with refused("threshold_s must be a number of seconds, or one with a unit ...'soon'..."):
        as_seconds("threshold_s", "soon")
    with refused("threshold_s must be a finite number of seconds > 0 (got [1])"):
        as_seconds("threshold_s", [1], above=0)
    with refused("threshold_s must be a number of seconds >= 0 (got -86400.0)"):
        as_seconds("threshold_s", timedelta(days=-1), least=0, finite=False)
    with refused("queue_depth must be an integer from 1..."):
        as_integer("queue_depth", np.timedelta64(5, "s"), 1)


def test_a_window_is_two_durations() -> None:
    assert as_window("window_s", (0, "1d12h")) == (0.0, 129_600.0)
    assert as_window("window_s", [timedelta(hours=1), np.inf]) == (3600.0, np.inf)
    for given in (5, "ab", (1,), (1, 2, 3)):
        with pytest.raises(RequestError, match="window_s must be two numbers of seconds"):
            as_window("window_s", given)


def test_durations_are_written_in_the_largest_unit_that_they_hold_one_of_waits_in_hours_at_most() -> None:
    of_seconds = {
        0.25: "0.25 s", 0.5: "0.5 s", 59.0: "59 s", 60.0: "1 min", 3600.0: "1 h", -5400.0: "-1.5 h",
        863_999.0: "10 d", 999.7 * 86_400.0: "1,000 d", 1e9: "11,574 d", math.inf: "inf", math.nan: "none",
    }  # fmt: skip
    assert {value_s: duration(value_s) for value_s in of_seconds} == of_seconds
    waits = {1000.0: "1,000 h", 48.0: "48 h", 1.0: "1 h", 0.25: "15 min", 0.001: "3.6 s"}
    assert {hours: span(hours) for hours in waits} == waits
    of_hours = {
        0.0: "0 h", 0.0099: "less than 0.01 h", 0.01: "0.01 h", 0.0167: "0.02 h", 0.999: "1 h", 1.3456: "1.35 h",
        999.4: "999 h", 999.6: "1,000 h", 5147.3: "5,147 h",
    }  # fmt: skip
    assert {hours: as_hours(hours) for hours in of_hours} == of_hours
