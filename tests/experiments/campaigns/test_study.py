import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Cell, Scale, Study
from experiments.campaigns.cell import is_text
from experiments.campaigns.study import factor_values, require_integer
from simmodels.errors import RequestError, SimModelsError, UnknownNameError
from tests.refused import refused


class TwoByTwo(Study):
    """How two sizes of two kinds differ.

    More is said below.
    """

    parameters: ClassVar = {"base": 10}
    factors: ClassVar = {"kind": ("a", "b"), "size": (1, 2)}
    scales: ClassVar = {
        "smoke": Scale(replications=2),
        "wide": Scale(replications=1, parameters={"base": 20}, factors={"size": (1, 2, 3)}),
    }

    def run_cell(self, cell: Cell) -> Mapping[str, Any]:
        return {"found": cell["base"] * cell["size"]}


def study(**parts: object) -> type[Study]:
    return type("Mine", (TwoByTwo,), {"factors": {}, "parameters": {}, "scales": {"smoke": Scale()}, **parts})


# -- cells ------------------------------------------------------------------------------------------


def test_the_design_is_the_product_of_the_factors_a_replication_after_the_other() -> None:
    cells = list(TwoByTwo().cells("smoke", 3))
    assert [(c.replication, c["kind"], c["size"]) for c in cells] == [
        (replication, kind, size) for replication in (0, 1) for kind in "ab" for size in (1, 2)
    ]
    assert {(cell.seed, cell["base"]) for cell in cells} == {(3, 10)}


def test_a_scale_may_change_parameters_and_factors_and_what_is_chosen_stands_at_any() -> None:
    assert [cell.factors for cell in study()().cells("smoke", 0)] == [{}]
    design = TwoByTwo().design("wide")
    assert (design.parameters, design.factors["size"], design.replications) == ({"base": 20}, (1, 2, 3), 1)
    chosen = TwoByTwo(base=1, size=5, kind=["b"], replications=3)
    for scale in TwoByTwo.scales:
        design = chosen.design(scale)
        assert (design.parameters, design.factors) == ({"base": 1}, {"kind": ("b",), "size": (5,)})
        assert design.replications == 3


def test_a_cell_has_the_values_of_its_factors_and_parameters_and_no_others() -> None:
    cell = Cell({"kind": "a"}, 1, 0, {"base": 10})
    assert (cell["kind"], cell["base"], str(cell)) == ("a", 10, "kind a, replication 1")
    with pytest.raises(UnknownNameError, match="unknown factor or parameter 'bsae'; did you mean base"):
        cell["bsae"]


@given(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.text()),
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.text()),
)
def test_what_is_compared_meets_the_same_random_numbers_and_other_replications_seeds_and_names_others(
    a: tuple[int, int, str], b: tuple[int, int, str]
) -> None:
    seeds = [
        Cell({"kind": name}, replication, seed).seed_for(name if b[2] == a[2] else "x", name)
        for replication, seed, name in (a, b)
    ]
    assert (seeds[0] == seeds[1]) == (a == b)
    one, other = (Cell({"kind": kind}, *a[:2]) for kind in "ab")
    assert one.seed_for(a[2]) == other.seed_for(a[2])
    assert one.stream(a[2]).random() == other.stream(a[2]).random()


# -- names ------------------------------------------------------------------------------------------


def test_a_study_is_named_after_its_class_and_described_by_its_first_line() -> None:
    assert TwoByTwo.name == "two_by_two"
    assert TwoByTwo().title == "How two sizes of two kinds differ"
    assert type("HPC2Study", (TwoByTwo,), {}).name == "hpc2_study"
    assert type("X", (TwoByTwo,), {"name": "my-own.1", "__doc__": None})().title == ""


@pytest.mark.parametrize("name", ["", ".", "a/b", "../a", "a b", "-x", "é"])
def test_a_name_that_makes_no_folder_is_refused(name: str) -> None:
    with refused("the name of a study must be of ASCII letters, digits, _, - and ., with no - or . first..."):
        study(name=name)()


# -- what is refused --------------------------------------------------------------------------------


NAME = "the name of a parameter or factor must be of letters, digits and _, and no replication"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"factors": {"a": ()}}, "factor 'a' has no values; give at least one"),
        ({"factors": {"a": (1, 1.0)}}, "factor 'a' has a value twice: 1, 1.0; give each once"),
        ({"factors": {"a": (1, "x")}}, "factor 'a' has values that are numbers and texts; give values of one kind"),
        ({"factors": {"a": (1, True)}}, "factor 'a' has values that are bools and numbers; give values of one kind"),
        ({"factors": {"a": (math.inf,)}}, "a must be a finite number, or None (got inf)"),
        ({"factors": {"a": {"x": 1}}}, "a must be None, a bool, a number or a text (got {'x': 1})"),
        ({"factors": ["a"]}, "factors of study mine must be a mapping from names (got ['a'])"),
        ({"parameters": None}, "parameters of study mine must be a mapping from names (got None)"),
        ({"parameters": {"a": [1, 2]}}, "a must be None, a bool, a number or a text (got [1, 2])"),
        ({"parameters": {"a b": 1}}, f"{NAME} (got 'a b')"),
        ({"parameters": {"replication": 1}}, f"{NAME} (got 'replication')"),
        ({"factors": {"replications": [1]}}, f"{NAME} (got 'replications')"),
        ({"parameters": {"a": 1}, "factors": {"a": [1]}}, "'a' is both a parameter and a factor of mine"),
        ({"scales": {"x": Scale(parameters={"b": 1})}}, "unknown parameter of mine at scale x 'b'; there is none"),
        ({"scales": {"x": Scale(factors={"b": [1]})}}, "unknown factor of mine at scale x 'b'; there is none"),
        ({"scales": {"x": 3}}, "scale 'x' of study mine must be a Scale (got 3)"),
        ({"scales": [3]}, "scales of study mine must be a mapping from names (got [3])"),
        ({"measures": "mean_wait_s"}, "measures of study mine must be a list of names (got 'mean_wait_s')"),
        ({"measures": [1]}, "measures of study mine must be a list of names (got [1])"),
    ],
)
def test_a_study_with_a_value_out_of_range_is_refused_as_it_is_made(parts: dict[str, Any], text: str) -> None:
    with refused(f"{text}..."):
        study(**parts)()


@pytest.mark.parametrize("replications", [0, 2.5, "3", True, None, 1_000_001])
def test_replications_are_integers_from_one_to_as_many_as_a_campaign_has_cells(replications: object) -> None:
    text = f"replications must be an integer from 1 to 1000000 (got {replications!r})"
    for make in (Scale, TwoByTwo):
        with refused(text):
            make(replications=replications)


def test_a_design_of_more_cells_than_a_campaign_has_is_refused_before_they_are_made() -> None:
    wide = study(factors={f"f{number}": range(100) for number in range(10)})()
    with pytest.raises(RequestError, match=r"study mine has 100,000,000,.* cells at scale smoke, more than 1,000,000;"):
        next(wide.cells("smoke", 0))


def test_only_parameters_factors_and_replications_can_be_chosen_and_only_scales_that_are_there() -> None:
    for name in ("sizes", "self", ""):
        known = "known: base, kind, size, replications"
        with refused(f"unknown parameter or factor of two_by_two {name!r}; ...{known}", UnknownNameError):
            TwoByTwo(**{name: 1})
    with refused("factors of a scale must be a mapping from names (got ['a'])"):
        Scale(factors=["a"])  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown scale of two_by_two 'smok'; did you mean smoke"):
        list(TwoByTwo().cells("smok", 0))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just({})


@given(st.lists(SCALARS, max_size=4) | SCALARS)
def test_the_values_of_a_factor_are_plain_or_refused(values: object) -> None:
    try:
        found = factor_values("x", values)
    except SimModelsError:
        return
    assert found
    assert len(set(found)) == len(found)
    assert all(is_text(value) for value in found if isinstance(value, str))
    assert all(math.isfinite(value) for value in found if isinstance(value, int | float))


def test_values_of_a_factor_may_be_an_array_a_range_or_one_text() -> None:
    assert [type(value) for value in factor_values("x", np.array([1, 2]))] == [int, int]
    assert (factor_values("x", "abc"), factor_values("x", range(3))) == (("abc",), (0, 1, 2))


# -- what a study is asked --------------------------------------------------------------------------


def test_by_default_there_is_nothing_to_ship_draw_or_claim_and_there_are_three_scales() -> None:
    one, none = TwoByTwo(), object()
    assert (dict(one.inputs("smoke")), dict(one.figures(none)), tuple(one.claims(none))) == ({}, {}, ())  # type: ignore[arg-type]
    assert {name: scale.replications for name, scale in Study.scales.items()} == {"smoke": 2, "small": 10, "paper": 30}
    assert Cell({}) == Cell({}, 0, 0, {})


def test_an_integer_that_cells_take_as_it_is_is_an_int() -> None:
    for value in (0, 2.0, True, "3"):
        with refused(f"weeks must be an integer >= 1 (got {value!r})"):
            require_integer("weeks", value, 1)
    require_integer("weeks", 1, 1)
