import math
import pickle

import pytest

from simmodels.errors import UnknownNameError
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.bids import BUILT_IN, TEN_BIDS, Bid, bid, bids, find_bid
from simmodels.work.vocabulary import CHARACTERISTICS
from tests.refused import refused


@bid
def per_core(value: float, factor: float, cores: float) -> float:
    return value * factor / cores


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_built_in_bid_is_compiled_and_says_what_it_is(name: str) -> None:
    found = find_bid(name.lower())
    assert found.compiled
    assert found.formula
    assert found.source
    assert pickle.loads(pickle.dumps(found)) is found
    assert len(set(TEN_BIDS) & set(bids())) == 10


def test_formulas_are_those_of_the_paper() -> None:
    assert find_bid("P-SLR")(rank=50, wait=20, critical_path=60, longest=7) == pytest.approx(71 / 60 + 4)
    by_kind = find_bid("P-SLR:by-kind")(rank=50, wait=20, critical_path=60, longest_of_kind=7)
    assert by_kind == pytest.approx(71 / 60 + 4)
    assert find_bid("PVDSQ")(value=100, factor=0.5, successor_sum=10) == 0.5
    assert find_bid("PVDSQ:literal")(value=100, factor=0.5, successor_sum=10) == 25
    assert find_bid("PVR")(value=100, area=0.5) == 50
    assert find_bid("PVR")(value=100, area=0.0) == math.inf
    assert find_bid("PVR:zero-first")(value=100, area=0.0) == 0


def test_a_bid_of_yours_enters_the_registry_and_can_be_pickled() -> None:
    assert find_bid("per_core") is per_core
    assert (per_core.trend, Bid("narrow", lambda cores: cores).trend) == ("any", "fixed")
    assert pickle.loads(pickle.dumps(per_core)) is per_core
    assert per_core(value=6, factor=0.5, cores=3) == 1


@pytest.mark.parametrize(
    ("word", "trend", "allowed"),
    [
        ("wait", "fixed", "'worsens', 'improves' or 'any', or 'fixed' if"),
        ("draw", "improves", "'any', as its bids can rise at any time"),
        ("longest", "worsens", "'any', as its bids can rise at any time"),
    ],
)
def test_a_trend_that_a_bid_cannot_have_is_refused(word: str, trend: str, allowed: str) -> None:
    with refused(f"trend of bid 'x' of {word} must be {allowed}...(got '{trend}')"):
        Bid("x", eval(f"lambda {word}: {word}"), trend=trend)  # noqa: S307


def test_a_bid_that_cannot_be_is_refused() -> None:
    with refused(f"...names colour; a bid may name {', '.join(CHARACTERISTICS)}..."):
        AuctionOptions.checked(bid=Bid("x", lambda colour: colour))
    with refused("bid 'x' names longest and longest_of_kind; name the one or the other"):
        AuctionOptions.checked(bid=Bid("x", lambda longest_of_kind, longest: longest - longest_of_kind))
    with refused("wins of bid 'x' must be 'high' or 'low' (got 'both')"):
        Bid("x", lambda cores: cores, wins="both")
    with refused("bid 'pvr' is built in..."):
        bid(name="pvr")(lambda cores: cores)
    with refused("...did you mean PV or PVD or PVR...", UnknownNameError):
        find_bid("PVX")
