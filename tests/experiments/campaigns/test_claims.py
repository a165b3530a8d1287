import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Claim, Effect
from simmodels.errors import RequestError

NAMES = ("more_than", "at_least", "less_than", "at_most")


def claim(effect: Effect | None = None, **more: object) -> Claim:
    return Claim(text="it is", source="section 1", measure="x", effect=effect, **more)


def effect(low: float | None, high: float | None) -> Effect:
    return Effect(0.0 if low is None or high is None else (low + high) / 2, low, high, 10)


@pytest.mark.parametrize(
    ("bounds", "low", "high", "verdict"),
    [
        ({"more_than": 0}, 0.1, 1, "holds"),
        ({"more_than": 0}, 0, 1, "undecided"),
        ({"more_than": 0}, -1, 0, "fails"),
        ({"at_least": 0}, 0, 1, "holds"),
        ({"at_least": 0}, -1, 0, "undecided"),
        ({"at_least": 0}, -1, -0.1, "fails"),
        ({"less_than": 0}, -1, -0.1, "holds"),
        ({"less_than": 0}, -1, 0, "undecided"),
        ({"less_than": 0}, 0, 1, "fails"),
        ({"at_most": 0}, -1, 0, "holds"),
        ({"at_most": 0}, 0, 1, "undecided"),
        ({"at_most": 0}, 0.1, 1, "fails"),
        ({"at_least": 0, "at_most": 2}, 0, 2, "holds"),
        ({"at_least": 0, "at_most": 2}, 1, 3, "undecided"),
        ({"at_least": 0, "at_most": 2}, 2.5, 3, "fails"),
        ({"at_least": 0, "at_most": 2}, -2, -1, "fails"),
        ({"at_least": 0, "at_most": 2}, -2, 3, "undecided"),
        ({"at_least": 1, "at_most": 1}, 1, 1, "holds"),
        ({"more_than": 1, "at_least": 2}, 1.5, 3, "undecided"),
    ],
)
def test_the_verdict_follows_from_interval_and_bounds(
    bounds: dict[str, float], low: float, high: float, verdict: str
) -> None:
    assert claim(effect(low, high), **bounds).verdict == verdict


VALUES = st.integers(-4, 4).map(lambda n: n / 2)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1), VALUES, VALUES)
def test_a_claim_holds_fails_or_is_undecided_as_the_definition_says(
    bounds: dict[str, float], one: float, other: float
) -> None:
    def keeps(value: float, name: str) -> bool:
        bound = bounds[name]
        return {"more_than": value > bound, "at_least": value >= bound, "less_than": value < bound}.get(
            name, value <= bound
        )

    low, high = min(one, other), max(one, other)
    # Values and bounds lie on a grid of halves: quarters show what is between them.
    grid = [n / 4 for n in range(-12, 13)]
    room = [value for value in grid if all(keeps(value, name) for name in bounds)]
    if not room:
        with pytest.raises(RequestError, match="holds for no value"):
            claim(**bounds)
        return
    within = [value for value in grid if low <= value <= high]
    if all(keeps(value, name) for value in within for name in bounds):
        expected = "holds"
    elif any(not any(keeps(value, name) for value in within) for name in bounds):
        expected = "fails"
    else:
        expected = "undecided"
    assert claim(effect(low, high), **bounds).verdict == expected


@pytest.mark.parametrize("found", [None, Effect.exact(math.nan)])
def test_what_could_not_be_measured_is_undecided(found: Effect | None) -> None:
    assert claim(found, more_than=0).verdict == "undecided"


def test_without_an_interval_there_were_too_few() -> None:
    assert claim(effect(None, None), more_than=0).verdict == "too few"


@pytest.mark.parametrize("found", [None, effect(None, None), effect(1, 2), effect(-2, -1), Effect.exact(1)])
def test_nothing_is_judged_at_a_scale_that_only_shows_that_everything_runs(found: Effect | None) -> None:
    assert claim(found, more_than=0, judged=False).verdict == "not judged"


def test_a_claim_says_whose_it_is_and_by_which_number() -> None:
    assert claim(more_than=0).place == "section 1"
    assert claim(more_than=0, number="V9").place == "section 1 (V9)"
    assert claim(more_than=0, number="V9", ours=True).place == "ours, on section 1 (V9)"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({}, "claim 'it is' has no bound; add more_than, less_than, at_least or at_most"),
        ({"more_than": math.nan}, "the bounds of claim 'it is' must be finite numbers (got {'more_than': nan})"),
        (
            {"at_least": 1, "more_than": math.inf},
            "the bounds of claim 'it is' must be finite numbers (got {'at_least': 1, 'more_than': inf})",
        ),
        ({"more_than": 1, "at_most": 1}, "claim 'it is' holds for no value; choose bounds that leave room"),
        ({"at_least": 2, "at_most": 1}, "claim 'it is' holds for no value; choose bounds that leave room"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused(bounds: dict[str, float], text: str) -> None:
    with pytest.raises(RequestError) as caught:
        claim(**bounds)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.123456, "", "0.123"),
        (0.123456, "%", "12.3 %"),
        (1234.5, "s", "1,234 s"),
        (999.7, "", "1,000"),
        (-999.7, "", "-1,000"),
        (999.4, "", "999"),
        (0, "%", "0 %"),
        (1e-9, "", "1e-09"),
    ],
)
def test_values_are_shown_to_three_digits_in_their_unit(value: float, unit: str, text: str) -> None:
    assert claim(more_than=0, unit=unit).shown(value) == text


def test_what_is_expected_and_found_is_shown_in_a_line() -> None:
    shown = claim(Effect(0.5, 0.25, 0.75, 10), at_least=0, less_than=1, unit="%")
    assert (shown.expected(), shown.found()) == ("≥ 0 %, < 100 %", "50 % [25 %, 75 %]")
    assert claim(None, more_than=0).found() == "not measured"
    assert (
        claim(Effect(2, None, None, 3), more_than=0).found() == "2 (no interval: 3 replications, of 10 that are needed)"
    )
    assert claim(Effect.exact(2), more_than=0).found() == "2"
    assert claim(Effect(2, 1, 3, 12, 0.975), more_than=0).found() == "2 [1, 3] at 97.5 %"
    assert claim(Effect(2, 1, None, 30), more_than=0).found() == "2 (no interval: 30 replications are too few for one)"
