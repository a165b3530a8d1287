import dataclasses
import itertools
import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Claim, Effect, Results, Scope, in_scope
from experiments.campaigns.claims import verdicts_on
from simmodels.errors import RequestError, UnknownNameError
from tests.refused import refused

NAMES = ("more_than", "at_least", "less_than", "at_most")


def claim(effect: Effect | None = None, **more: object) -> Claim:
    return Claim(text="it is", source="section 1", measure="x", effect=effect, **more)


def effect(low: float | None, high: float | None) -> Effect:
    return Effect(0.0 if low is None or high is None else (low + high) / 2, low, high, 10)


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


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (None, "undecided"),
        (Effect.exact(math.nan), "undecided"),
        (effect(None, None), "too few"),
        (effect(1, 2), "holds"),
        (effect(-2, -1), "fails"),
    ],
)
def test_what_was_not_measured_is_undecided_and_nothing_is_judged_where_only_is_shown_that_all_runs(
    found: Effect | None, verdict: str
) -> None:
    assert claim(found, more_than=0).verdict == verdict
    assert claim(found, more_than=0, judged=False).verdict == "not judged"


def test_a_claim_says_whose_it_is_and_by_which_number() -> None:
    assert claim(more_than=0).place == "section 1"
    assert claim(more_than=0, number="V9").place == "section 1 (V9)"
    assert claim(more_than=0, number="V9", ours=True).place == "ours, on section 1 (V9)"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({}, "claim 'it is' has no bound; add more_than, less_than, at_least or at_most"),
        (
            {"at_least": 1, "more_than": math.inf},
            "the bounds of claim 'it is' must be finite numbers (got {'at_...': inf})",
        ),
        ({"more_than": math.nan}, "the bounds of claim 'it is' must be finite numbers (got {'more_than': nan})"),
        ({"more_than": 1, "at_most": 1}, "claim 'it is' holds for no value; choose bounds that leave room"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused(bounds: dict[str, float], text: str) -> None:
    with refused(text):
        claim(**bounds)


def test_what_is_expected_and_found_is_shown_in_a_line_to_three_digits() -> None:
    shown = claim(Effect(0.5, 0.25, 0.75, 10), at_least=0, less_than=1, unit="%")
    assert (shown.expected(), shown.found()) == ("≥ 0 %, < 100 %", "50 % [25 %, 75 %]")
    assert claim(more_than=0).found() == "not measured"
    few = "2 (no interval: 3 replications, of 10 that are needed)"
    assert claim(Effect(2, None, None, 3), more_than=0).found() == few
    assert claim(Effect.exact(2), more_than=0).found() == "2"
    assert claim(Effect(2, 1, 3, 12, 0.975), more_than=0).found() == "2 [1, 3] at 97.5 %"
    assert claim(Effect(2, 1, None, 30), more_than=0).found() == "2 (no interval: 30 replications are too few for one)"
    values = {0.123456: "0.123", 1234.5: "1,234", 999.7: "1,000", -999.7: "-1,000", 999.4: "999", 1e-9: "1e-09"}
    assert {value: claim(more_than=0).shown(value) for value in values} == values
    assert claim(more_than=0, unit="s").shown(1234.5) == "1,234 s"


# -- a part of the design -------------------------------------------------------------------------------

DESIGN = {"workload": ("a", "b"), "load": (1, 2, 3)}


def run_of(*cells: tuple[str, int], **planned: tuple) -> Results:
    table = pd.DataFrame(cells, columns=["workload", "load"])
    factors = {name: tuple(pd.unique(table[name])) for name in table} | planned
    return Results(table=table.assign(value=1.0), factors=factors)


def judged(results: Results, low: float, high: float, a_part_may: Any) -> Claim:  # noqa: ANN401  one of three
    where = Scope(at_each={"workload": ("a", "b")}, along={"load": (1, 2, 3)}, a_part_may=a_part_may)
    (found,) = in_scope([claim(effect(low, high), more_than=0, scope=where)], results)
    return found


ALL = run_of(*itertools.product(*DESIGN.values()))
PARTS = {
    "a workload": run_of(*itertools.product(("a",), (1, 2, 3))),
    "some loads": run_of(*itertools.product(("a", "b"), (1, 3))),
    "a hole": run_of(*[cell for cell in itertools.product(*DESIGN.values()) if cell != ("b", 2)]),
}


@pytest.mark.parametrize("a_part_may", ["fail", "hold", "neither"])
def test_of_the_whole_design_each_sentence_is_decided(a_part_may: str) -> None:
    assert judged(ALL, 1, 2, a_part_may).verdict == "holds"
    assert judged(ALL, -2, -1, a_part_may).verdict == "fails"
    more = run_of(*itertools.product(("a", "b", "c"), (0, 1, 2, 3)))
    assert judged(more, 1, 2, a_part_may).verdict == "holds", "others do not matter"


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize(
    ("a_part_may", "good", "bad"),
    [("fail", "undecided", "fails"), ("hold", "holds", "undecided"), ("neither", "undecided", "undecided")],
)
def test_a_part_of_the_design_may_break_a_sentence_on_all_and_bear_out_one_on_some(
    part: Results, a_part_may: str, good: str, bad: str
) -> None:
    for low, high, verdict in ((1, 2, good), (-2, -1, bad)):
        found = judged(part, low, high, a_part_may)
        assert found.verdict == verdict
        if verdict == "undecided":
            assert found.effect is None
            assert found.note == f"of the part that was run, it is {(low + high) / 2:.3g} [{low}, {high}]"
    assert judged(part, -1, 1, a_part_may).effect is not None, "it is undecided by its interval"


ALL_NOTHING = Results(table=pd.DataFrame(), factors=DESIGN)


@pytest.mark.parametrize("a_part_may", ["fail", "hold"])
def test_what_is_not_in_the_design_decides_nothing(a_part_may: str) -> None:
    for elsewhere in (run_of(("c", 1)), run_of(("a", 7), ("b", 8)), ALL_NOTHING):
        assert {judged(elsewhere, *ends, a_part_may).verdict for ends in ((1, 2), (-2, -1))} == {"undecided"}


def test_a_verdict_that_a_part_cannot_give_names_the_options_that_add_the_rest() -> None:
    assert judged(PARTS["a workload"], 1, 2, "fail").outcome == "undecided: needs --workload a,b"
    assert judged(PARTS["some loads"], 1, 2, "fail").outcome == "undecided: needs --set load=1,2,3"
    assert judged(run_of(("a", 1)), -1, 1, "fail").to_decide == "--set load=1,2,3 --workload a,b"
    assert judged(ALL_NOTHING, 1, 2, "fail").to_decide == "the cells that are not done: the same command goes on"
    files = run_of(("x/a.swf", 1), ("x/a.swf", 2), ("x/a.swf", 3))
    where = claim(effect(1, 2), more_than=0, scope=Scope(at_each={"workload": ("A", "B")}, a_part_may="neither"))
    names = {"workload": lambda value: {"x/a.swf": "A"}.get(str(value), value)}
    (found,) = in_scope([where], files, names=names, given={"workload": {"A": "a.swf", "B": "b.swf"}})
    assert found.to_decide == "--workload x/a.swf,b.swf"


def test_none_is_a_value_as_others_and_too_few_and_not_judged_stay_so() -> None:
    table = pd.DataFrame({"depth": [math.nan, 32.0]})
    said = claim(effect(1, 2), more_than=0, scope=Scope(at_each={"depth": (None, 32)}))
    (found,) = in_scope([said], Results(table=table, factors={"depth": (None, 32)}))
    assert found.verdict == "holds"
    scope = Scope(at_each={"workload": ("a", "b")})
    few = claim(effect(None, None), more_than=0, scope=scope)
    quick = claim(effect(1, 2), more_than=0, scope=scope, judged=False)
    assert in_scope([few, quick], run_of(("a", 1))) == [few, quick]


def test_the_verdicts_on_a_figure_are_counted_by_where_sentences_are() -> None:
    held, failed = claim(effect(1, 2), more_than=0), claim(effect(-2, -1), more_than=0)
    at = ("section 2, fig. 1", "fig. 12", "section 6.1", "fig. 1")
    found = [dataclasses.replace(held, source=source) for source in at]
    found += [dataclasses.replace(failed, source="section VI, fig. 1 and 2"), dataclasses.replace(found[0], ours=True)]
    assert verdicts_on(("fig. 1", ""), found) == "1 fail, 2 hold"
    assert verdicts_on(("fig. 1", "section 6.1"), found) == "1 fail, 3 hold"
    assert not verdicts_on(("fig. 2", ""), found)


def test_a_scope_that_cannot_be_is_refused() -> None:
    with refused(
        "unknown factor 'loads'; did you mean load or workload? known: workload, load, value", UnknownNameError
    ):
        in_scope([claim(more_than=0, scope=Scope(along={"loads": (1,)}))], ALL)
    for scope in ({"along": {"load": ()}}, {"at_each": {"load": (1,)}, "along": {"load": (1,)}}):
        with refused("a scope must be values of factors, each factor once..."):
            Scope(**scope)
    with refused("a_part_may must be 'fail', 'hold' or 'neither' (got 'guess')"):
        Scope(a_part_may="guess")  # type: ignore[arg-type]
