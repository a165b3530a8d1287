"""Bid: what a waiting task offers for cores, as a plain function of its characteristics; and the registry of bids.

The bids of the literature stand below as plain functions. One of yours enters by `bid`. All are compiled (numba) to
C functions of all characteristics, which the auction calls by their address.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, overload

from simmodels.errors import RequestError, must_be
from simmodels.policies.priority import Priority, Trend, Wins
from simmodels.policies.registry import BIDS, Registry
from simmodels.work.vocabulary import LONGEST


@dataclass(frozen=True, eq=False)
class Bid(Priority):
    """A bid: its function, who wins, and what the reference says of it.

    Parameters
    ----------
    name
        What the registry, the command line and the tables call it.
    function
        A plain function of some of `CHARACTERISTICS`, by name.
    wins
        ``"high"``: the highest bid wins; ``"low"``: the lowest.
    trend
        How a waiting task's prospects move with time. ``"fixed"``: its bid does not change. ``"worsens"``: it never
        comes nearer to winning. ``"improves"``: it never falls back, except at most once, and for good; nor does it
        when the longest critical path gets shorter. ``"any"``: nothing is known, and the bids of the whole queue are
        computed at each auction; with the others only those that could be the best. None: fixed if the function
        names nothing that moves, else any.
    formula, source, about
        For tables and docs: the formula, who published it, and in words which task goes first.

    Raises
    ------
    RequestError
        `wins` or `trend` is none of those.

    Notes
    -----
    An auction refuses a bid that names what it does not know of tasks. A queue takes bids as orders: times are in
    seconds there.

    Examples
    --------
    >>> import simmodels as sm
    >>> edf = sm.bids()["EDF"]
    >>> edf.name, edf.wins, edf.formula
    ('EDF', 'low', 'J_arrive + D_final CP')
    """

    wins: Wins = "high"
    trend: Trend = None  # type: ignore[assignment]  # None is filled in below
    formula: str = ""
    source: str = ""
    about: str = ""

    in_seconds: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the names."""
        super().__post_init__()
        moves = self.moves_in_auctions
        if self.trend is None:
            object.__setattr__(self, "trend", "any" if moves else "fixed")
        if self.wins not in {"high", "low"}:
            raise RequestError(must_be(f"wins of bid {self.name!r}", "'high' or 'low'", self.wins))
        name = f"trend of bid {self.name!r} of {', '.join(self.needs)}"
        if self.trend not in {"fixed", "worsens", "improves", "any"} or (self.trend == "fixed" and moves):
            expected = "'worsens', 'improves' or 'any', or 'fixed' if it names nothing that moves"
            raise RequestError(must_be(name, expected, self.trend))
        rising = {"draw", *LONGEST} if self.trend == "worsens" else {"draw"}
        if self.trend != "any" and not rising.isdisjoint(self.needs):
            raise RequestError(must_be(name, "'any', as its bids can rise at any time", self.trend))


_BIDS: Final[Registry[Bid]] = BIDS
BUILT_IN: Final[Mapping[str, Bid]] = BIDS.built_in


@overload
def bid(function: Callable[..., float], /) -> Bid: ...
@overload
def bid(
    *,
    name: str | None = None,
    wins: Wins = "high",
    trend: Trend | None = None,
    formula: str = "",
    source: str = "",
    about: str = "",
) -> Callable[[Callable[..., float]], Bid]: ...
def bid(
    function: Callable[..., float] | None = None,
    /,
    *,
    name: str | None = None,
    wins: Wins = "high",
    trend: Trend | None = None,
    formula: str = "",
    source: str = "",
    about: str = "",
) -> Bid | Callable[[Callable[..., float]], Bid]:
    """Make a bid of a plain function, and enter it in the registry under its name.

    Parameters
    ----------
    function
        A function of some of `CHARACTERISTICS`, by name.
    name
        The bid's name; the function's by default.
    wins, trend, formula, source, about
        As for `Bid`.

    Returns
    -------
    Bid
        The bid; of ``@bid(...)`` with keywords alone, the decorator that makes it.

    Raises
    ------
    RequestError
        The name is that of a built-in bid.

    Examples
    --------
    >>> import simmodels as sm
    >>> @sm.bid
    ... def per_core(value, factor, cores):
    ...     return value * factor / cores
    >>> per_core.trend, per_core.wins
    ('any', 'high')
    """

    def enter(function: Callable[..., float]) -> Bid:
        called = getattr(function, "__name__", "bid") if name is None else name
        return _BIDS.add(Bid(called, function, wins, trend, formula, source, about))  # type: ignore[arg-type]

    return enter if function is None else enter(function)


def bids() -> Mapping[str, Bid]:
    """Return every bid of the registry by name: the built-in ones, then the user's.

    Examples
    --------
    >>> import simmodels as sm
    >>> sorted(sm.bids())[:4]
    ['EDF', 'EDF:initial', 'EDF:initial-task', 'EDF:task']
    """
    return _BIDS.all()


def find_bid(name: str | Bid | Callable[..., float]) -> Bid:
    """Return a bid by its name (case does not matter for built-in ones), or of a function; a bid is itself."""
    if isinstance(name, Bid):
        return name
    if isinstance(name, str):
        return _BIDS.find(name)
    if isinstance(name, Priority) or not callable(name):
        raise RequestError(must_be("bid", "a name, a Bid, an Order or a function", name))
    return Bid(getattr(name, "__name__", "bid"), name)


def _built_in(
    name: str, about: str, formula: str, *, wins: Wins, trend: Trend | None = None, source: str = ""
) -> Callable[[Callable[..., float]], Bid]:
    def enter(function: Callable[..., float]) -> Bid:
        return _BIDS.add_built_in(Bid(name, function, wins, trend, formula, source or _PAPER, about))  # type: ignore[arg-type]

    return enter


_PAPER: Final = "Burkimsher, Soares Indrusiak 2016, arXiv 1601.07047, section 4"


@_built_in("Random", "a task drawn at random first", "u", wins="high")
def _random(draw: float) -> float:
    return draw


@_built_in("FIFO", "earliest submitted workflow first", "J_arrive", wins="low")
def _fifo(submit: float) -> float:
    return submit


@_built_in("SRTF", "shortest remaining path first: from the task to the end of its workflow", "T_R", wins="low")
def _srtf(rank: float) -> float:
    return rank


@_built_in("LRTF", "longest remaining path first: from the task to the end of its workflow", "T_R", wins="high")
def _lrtf(rank: float) -> float:
    return rank


@_built_in(
    "P-SLR",
    "largest projected SLR first, with workflows that have waited for long well ahead",
    "(T_R + now + 1 - J_arrive) / CP + floor((now - J_arrive) / max CP)^2",
    wins="high",
    trend="improves",
    source=_PAPER + ", algorithm 3; max CP is taken over the one global queue",
)
def _p_slr(rank: float, wait: float, critical_path: float, longest: float) -> float:
    return (rank + wait + 1.0) / critical_path + float(math.floor(wait / longest)) ** 2


@_built_in("PV", "highest projected value of the workflow first", "V_max factor(P-SLR)", wins="high", trend="worsens")
def _pv(value: float, factor: float) -> float:
    return value * factor


@_built_in(
    "PVD",
    "highest projected value per remaining work first",
    "V_max factor(P-SLR) / T_succ_sum",
    wins="high",
    trend="worsens",
)
def _pvd(value: float, factor: float, successor_sum: float) -> float:
    return value * factor / successor_sum


@_built_in(
    "PVDSQ",
    "highest projected value per square of the remaining work first",
    "V_max factor(P-SLR) / T_succ_sum^2",
    wins="high",
    trend="worsens",
    source=_PAPER + "; the denominator squared as in DVD-2 of Aldarmi, Burns 1999, for PVD squared orders as PVD does",
)
def _pvdsq(value: float, factor: float, successor_sum: float) -> float:
    return value * factor / successor_sum**2


@_built_in(
    "EDF",
    "earliest deadline first: when the value of the workflow reaches 0",
    "J_arrive + D_final CP",
    wins="low",
    source=_PAPER + ", which does not define it",
)
def _edf(deadline: float) -> float:
    return deadline


_LAST: Final = "; tasks that can earn nothing more go last"


@_built_in(
    "PVR",
    "least remaining value first: the area under the rest of the value curve",
    "V_max area(P-SLR)",
    wins="low",
    trend="improves",
    source=_PAPER + _LAST,
)
def _pvr(value: float, area: float) -> float:
    return value * area if area > 0.0 else math.inf


# -- readings that the paper allows beside these ------------------------------------------------------


@_built_in(
    "PVDSQ:literal",
    "highest square of the projected value per remaining work first",
    "(V_max factor(P-SLR) / T_succ_sum)^2",
    wins="high",
    trend="worsens",
)
def _pvdsq_literal(value: float, factor: float, successor_sum: float) -> float:
    return (value * factor / successor_sum) ** 2


@_built_in(
    "PVDSQ:rank",
    "highest projected value per square of the remaining path first",
    "V_max factor(P-SLR) / T_R^2",
    wins="high",
    trend="worsens",
)
def _pvdsq_rank(value: float, factor: float, rank: float) -> float:
    return value * factor / rank**2


@_built_in(
    "EDF:initial",
    "earliest soft deadline first: when the value of the workflow begins to fall",
    "J_arrive + D_initial CP",
    wins="low",
)
def _edf_initial(soft_deadline: float) -> float:
    return soft_deadline


@_built_in(
    "EDF:task",
    "earliest latest start first: the deadline less the remaining path",
    "J_arrive + D_final CP - T_R",
    wins="low",
)
def _edf_task(deadline: float, rank: float) -> float:
    return deadline - rank


@_built_in(
    "EDF:initial-task",
    "earliest latest start first: the soft deadline less the remaining path",
    "J_arrive + D_initial CP - T_R",
    wins="low",
)
def _edf_initial_task(soft_deadline: float, rank: float) -> float:
    return soft_deadline - rank


@_built_in(
    "PVR:zero-first",
    "as PVR, and tasks that can earn nothing more go first instead of last",
    "V_max area(P-SLR), also of tasks that can earn nothing more",
    wins="low",
    trend="improves",
)
def _pvr_zero_first(value: float, area: float) -> float:
    return value * area


@_built_in(
    "PVR:bare",
    "as PVR, regardless of the largest value of the workflow",
    "area(P-SLR)",
    wins="low",
    trend="improves",
    source=_PAPER + _LAST,
)
def _pvr_bare(area: float) -> float:
    return area if area > 0.0 else math.inf


@_built_in(
    "PVR:bare-zero-first",
    "as PVR:bare, and tasks that can earn nothing more go first instead of last",
    "area(P-SLR), also of tasks that can earn nothing more",
    wins="low",
    trend="improves",
)
def _pvr_bare_zero_first(area: float) -> float:
    return area


@_built_in(
    "P-SLR:by-kind",
    "as P-SLR, but long is measured by the queue of the task's kind",
    "(T_R + now + 1 - J_arrive) / CP + floor((now - J_arrive) / max CP of the kind)^2",
    wins="high",
    trend="improves",
)
def _p_slr_by_kind(rank: float, wait: float, critical_path: float, longest_of_kind: float) -> float:
    return (rank + wait + 1.0) / critical_path + float(math.floor(wait / longest_of_kind)) ** 2


@_built_in("P-SLR:plain", "largest projected SLR first", "(T_R + now - J_arrive) / CP", wins="high", trend="improves")
def _p_slr_plain(slr: float) -> float:
    return slr


TEN_BIDS: Final = ("Random", "FIFO", "SRTF", "LRTF", "P-SLR", "PV", "PVD", "PVDSQ", "EDF", "PVR")
"""The policies of the paper."""
