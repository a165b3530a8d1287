import pytest

from experiments.campaigns.pages import in_words, lasted


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "none"), ("", "none"), (True, "yes"), (40.0, "40"), ([0.7, None], "0.7, none")]
)
def test_values_are_shown_as_a_reader_writes_them(value: object, shown: str) -> None:
    assert in_words(value) == shown


def test_times_are_shown_in_the_unit_that_fits() -> None:
    assert [lasted(value_s) for value_s in (0.04, 59.0, 90.0, 7200.0)] == ["0.0 s", "59.0 s", "1.5 min", "2.0 h"]
