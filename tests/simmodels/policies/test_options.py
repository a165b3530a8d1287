"""The options of queues, placers and auctions: described where they are defined, and in the reference the same."""

import pytest

from simmodels.errors import UnknownNameError
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions
from simmodels.policies.queue_options import QueueOptions
from tests import option_types


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


def test_the_types_that_type_checkers_read_are_those_of_the_options() -> None:
    assert option_types.PATH.read_text("utf-8") == option_types.text(), "run `make options`"
