import pytest

from experiments.campaigns.pages import in_words


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "none"), ("", "none"), (True, "yes"), (40.0, "40"), ([0.7, None], "0.7, none")]
)
def test_values_are_shown_as_a_reader_writes_them(value: object, shown: str) -> None:
    assert in_words(value) == shown
