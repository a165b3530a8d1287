"""The options of queues, placers and auctions: described where they are defined, and in the reference the same."""

from pathlib import Path

import pytest

from simmodels.errors import UnknownNameError
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions, has_option
from simmodels.policies.queue_options import QueueOptions
from tests import option_types
from tests.refused import refused

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "options.md"
HEURISTICS = ("FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap")


def table(kind: type[Options]) -> str:
    """Return the table of the reference, made of the definitions."""
    lines = ["| option | default | what it says |", "| --- | --- | --- |"]
    for name, default, _, text in kind.described():
        shown = "" if name == "heuristic" else f"`{default!r}`"
        lines.append(f"| `{name}` | {shown} | {text.replace('``', '`')} |")
    return "\n".join(lines)


@pytest.mark.parametrize("kind", [QueueOptions, AuctionOptions, PlacementOptions])
def test_the_reference_has_each_option_as_it_is_defined(kind: type[Options]) -> None:
    assert table(kind) in PAGE.read_text(), f"docs/reference/options.md must have:\n{table(kind)}"


@pytest.mark.parametrize("kind", [QueueOptions, AuctionOptions, PlacementOptions])
def test_each_option_is_described_with_all_its_choices(kind: type[Options]) -> None:
    for name, _, choices, text in kind.described():
        assert text, name
        for choice in choices:
            assert choice is None or str(choice) in text, f"{name}: {choice}"


@pytest.mark.parametrize("kind", [QueueOptions, AuctionOptions])
def test_a_name_and_a_choice_that_are_none_are_refused_with_near_ones(kind: type[Options]) -> None:
    with pytest.raises(UnknownNameError, match="unknown option 'backfiling'; did you mean backfilling"):
        kind.checked(backfiling="easy")
    with pytest.raises(UnknownNameError, match="unknown backfilling 'greed'; did you mean greedy"):
        kind.checked(backfilling="greed")


def test_an_option_of_another_heuristic_is_refused() -> None:
    for heuristic in HEURISTICS:
        for name, default, _, _ in PlacementOptions.described():
            if not has_option(heuristic, name):
                with refused(f"{heuristic} has no option {name}; it is one of another heuristic"):
                    PlacementOptions.checked(heuristic=heuristic, **{name: default})


def test_the_types_that_type_checkers_read_are_those_of_the_options() -> None:
    assert option_types.PATH.read_text("utf-8") == option_types.text(), "run `make options`"
