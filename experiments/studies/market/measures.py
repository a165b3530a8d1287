"""Measures that no column of the market study has: ranks, bends, and what is compared between tenths of the jobs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import pandas as pd

from experiments.campaigns.families import Measured, number_above_zero
from experiments.campaigns.judging import Family, OwnMeasure, StudyResults, Values, members_of
from experiments.campaigns.sentences import Sentence, names_of
from experiments.studies.market.settings import FIGURE_7, HIGHEST_LOAD, LOWEST_LOAD, TENTHS, at
from simmodels import TEN_BIDS

_GROWS: Final = 0.5
"""By how much a mean SLR grows that is said to increase: a quarter of the earliest initial deadline, SLR 2."""


def _number(found: StudyResults, more: Sequence[Values]) -> Measured | None:
    """Return how many of several means are above 0; None if one of them was not measured."""
    members, _ = members_of(found, {str(k): values for k, values in enumerate(more)})
    return partial(number_above_zero, list(members.values())) if members else None


def ahead(found: StudyResults, bid: str, end: str, load: float) -> Measured | None:
    """Return how many of the other nine bids have more value at a load; None if not all were run."""
    own = found.value("value", bid, end, load=load)
    return _number(found, [found.value("value", other, end, load=load) - own for other in TEN_BIDS if other != bid])


def rank(found: StudyResults, bid: str, end: str, load: float) -> Measured | None:
    """Return the rank of a bid by its mean value at a load, 1 for the largest; bids that are equal share the best."""
    others = ahead(found, bid, end, load)
    return None if others is None else lambda members: others(members).through(lambda ahead: ahead + 1.0)


def _by_load(
    measured: Callable[[StudyResults, str, str, float], Measured | None],
    found: StudyResults,
    said: Sentence,
    on: Sequence[str],
) -> Family:
    """Return what is measured of a bid at each load that was run; nothing if it was not measured at one."""
    (bid,), (end,) = names_of(said.compared.of), on
    each = {at(load): measured(found, bid, end, load) for load in found.run_along(said.compared, "load", end)}
    known = {where: measure for where, measure in each.items() if measure is not None}
    return known if len(known) == len(each) else {}


def _losing_more(found: StudyResults, said: Sentence, on: Sequence[str]) -> Family:
    """Return how many bids lose more value than one does, between two loads."""
    (bid,), (end,), (low, high) = names_of(said.compared.of), on, map(float, map(str, said.compared.along["load"]))
    falls = {
        name: found.value("value", name, end, load=low) - found.value("value", name, end, load=high)
        for name in TEN_BIDS
    }
    number = _number(found, [falls[name] - falls[bid] for name in TEN_BIDS if name != bid])
    return {} if number is None else {at(high): number}


def _bend(column: str, found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the change from the second load to the third, less that from the first to the second."""
    (bid,), (end,), levels = names_of(said.compared.of), on, said.compared.along["load"]
    before, bend, after = (found.value(column, bid, end, load=load) for load in levels)
    return {at(float(str(levels[1]))): (after - bend) - (bend - before)}


def _range(column: str, times: float, found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the largest of some bids' values less a multiple of the least, at each load."""
    (end,), bids = on, names_of(said.compared.of)
    ranges = {}
    for load in found.run_along(said.compared, "load", end):
        values = pd.concat([found.value(column, bid, end, load=load) for bid in bids], axis=1)
        ranges[at(load)] = values.max(axis=1, skipna=False) - times * values.min(axis=1, skipna=False)
    return ranges


def _across_tenths(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the largest mean SLR of the tenths by execution time over the least."""
    (bid,), (end,) = names_of(said.compared.of), on
    slr = pd.concat([found.value(f"slr_{tenth}", bid, end, load=FIGURE_7) for tenth in TENTHS], axis=1)
    return {at(FIGURE_7): slr.max(axis=1, skipna=False) / slr.min(axis=1, skipna=False)}


def _growth(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return by how much more than a margin the SLR of the longest tenth grows, and how much less that of others."""
    (bid,), (end,), members = names_of(said.compared.of), on, dict[str, Values]()
    for tenth in (*TENTHS[:8], TENTHS[-1]):
        high, low = (found.value(f"slr_{tenth}", bid, end, load=load) for load in (FIGURE_7, LOWEST_LOAD))
        members[f"tenth {tenth}"] = (high - low) - _GROWS if tenth == TENTHS[-1] else _GROWS - (high - low)
    return members


def _largest_first(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the starved share of the largest tenth by volume less that of each other."""
    (bid,), (end,) = names_of(said.compared.of), on
    each = {tenth: found.value(f"volume_starved_{tenth}", bid, end, load=HIGHEST_LOAD) for tenth in TENTHS}
    return {f"tenth {tenth}": each[TENTHS[-1]] - each[tenth] for tenth in TENTHS[:-1]}


def _slr_of_short(most_starved: float, found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the SLR of the shorter half under a bid less that under each other, where not too many of them starve."""
    (bid,), (end,), members = names_of(said.compared.of), on, dict[str, Values]()
    for tenth in TENTHS[:5]:
        for other in found.there(names_of(said.compared.against), end):
            slr, starved = (found.value(f"{what}_{tenth}", other, end, load=FIGURE_7) for what in ("slr", "starved"))
            less = found.value(f"slr_{tenth}", bid, end, load=FIGURE_7) - slr
            # A tenth of which none finishes under a policy has no SLR there.
            if less.empty or (less.notna().all() and starved.mean() <= most_starved):
                members[f"{other}, tenth {tenth}"] = less
    return members


MEASURES: Final[dict[str, OwnMeasure]] = {
    "across tenths": _across_tenths,
    "ahead": partial(_by_load, ahead),
    "bend of starved": partial(_bend, "starved"),
    "bend of value": partial(_bend, "value"),
    "growth": _growth,
    "largest first": _largest_first,
    "losing more": _losing_more,
    "range of starved": partial(_range, "starved", 10.0),
    "range of value": partial(_range, "value", 1.0),
    "rank": partial(_by_load, rank),
    "slr of short": partial(_slr_of_short, 1.0),
    "slr of short, mostly finished": partial(_slr_of_short, 0.5),
}
"""The measures by the names that rows have for them."""
