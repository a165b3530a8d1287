"""Durations: a number of seconds, or a text with a unit."""

import pytest

from simmodels.errors import RequestError
from simmodels.ground.durations import in_seconds, seconds


@pytest.mark.parametrize(
    ("text", "wanted_s"),
    [
        ("144000", 144_000.0),
        ("90s", 90.0),
        ("30min", 1800.0),
        ("30 m", 1800.0),
        ("40h", 144_000.0),
        ("1.5D", 129_600.0),
        (".5w", 302_400.0),
        ("0", 0.0),
    ],
)
def test_a_duration_may_have_a_unit(text: str, wanted_s: float) -> None:
    assert seconds(text) == wanted_s


@pytest.mark.parametrize("text", ["", "h", "-1", "1y", "1h30", "nan", "inf", "1e3", "1_0", "\u0661"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RequestError) as error:
        seconds(text)
    assert str(error.value).startswith(f"duration {text!r}; a number of seconds")


def test_what_is_no_text_is_left_to_whoever_checks_it() -> None:
    assert in_seconds("threshold_s", "40h") == 144_000.0
    assert in_seconds("threshold_s", None) is None
    assert in_seconds("threshold_s", -3) == -3
    with pytest.raises(RequestError, match="threshold_s 'soon'"):
        in_seconds("threshold_s", "soon")
