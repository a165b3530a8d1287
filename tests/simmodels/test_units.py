"""Units of time are what they say, as floats."""

from simmodels import units


def test_each_unit_is_made_of_the_one_below() -> None:
    assert units.MINUTE == 60 * units.SECOND
    assert units.HOUR == 60 * units.MINUTE
    assert units.DAY == 24 * units.HOUR
    assert units.WEEK == 7 * units.DAY


def test_every_unit_is_a_whole_float_so_that_sums_stay_exact() -> None:
    for name in ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK"):
        value = getattr(units, name)
        assert isinstance(value, float)
        assert value.is_integer()
