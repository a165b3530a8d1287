"""Choices: what can be chosen by name, each in words; the texts are those of the registries."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from experiments.campaigns.finding import listed
from experiments.cli_output import DONE, print_json, print_table
from experiments.policy import HEURISTICS, ROUTERS
from experiments.tables import listing
from simmodels.engine import ENGINES
from simmodels.errors import require_known
from simmodels.metrics import IN_WORDS, STATISTICS
from simmodels.policies.bids import bids
from simmodels.policies.orders import orders
from simmodels.policies.queue_options import QueueOptions
from workloads.cleaning import FILTERS

_SAID: Final = re.compile(r'``"(\w+)"``:? \(?([^);.]*)')


class _Kind(NamedTuple):
    """A kind of choice: its title, the columns of its table, one row per name, and what the letters stand for."""

    title: str
    columns: str
    rows: Callable[[], Iterable[Mapping[str, Any]]]
    letters: str = ""


def _abouts(named: Mapping[Any, str]) -> Iterable[Mapping[str, Any]]:
    """Return rows of names with what is said of each."""
    return [{"name": name, "about": about} for name, about in named.items()]


def _of_option(option: str) -> Callable[[], Iterable[Mapping[str, Any]]]:
    """Return what makes the rows of the choices of an option of queues, from its description."""
    said = next(said for name, _, _, said in QueueOptions.described() if name == option)
    return lambda: _abouts(dict(_SAID.findall(said)))


_KINDS: Final[Mapping[str, _Kind]] = {
    "orders": _Kind(
        "orders of a queue",
        "name about formula source",
        lambda: [
            {each: getattr(order, each) for each in ("name", "about", "formula", "source", "needs", "moving")}
            for order in orders().values()
        ],
        " (r submit, p estimate or limit, q cores, w wait; the least value goes first)",
    ),
    "bids": _Kind(
        "bids of workflows",
        "name about wins formula source",
        lambda: [
            {each: getattr(bid, each) for each in ("name", "about", "wins", "formula", "source", "needs")}
            for bid in bids().values()
        ],
    ),
    "backfillings": _Kind("backfillings", "name about", _of_option("backfilling")),
    "decide": _Kind("--decide: when a queue decides", "name about", _of_option("decide")),
    "overrun": _Kind("--overrun: what happens to a job that reaches its limit", "name about", _of_option("overrun")),
    "engines": _Kind("engines: all give the same schedule", "name about", lambda: _abouts(ENGINES)),
    "heuristics": _Kind("heuristics on machines", "name about", lambda: _abouts(HEURISTICS)),
    "routers": _Kind("routers before several clusters", "name about", lambda: _abouts(ROUTERS)),
    "metrics": _Kind(
        f"metrics of --json (wait_s to slr as {', '.join(f'{each}_' for each in STATISTICS)})",
        "name about",
        lambda: _abouts(IN_WORDS),
    ),
    "studies": _Kind("studies to run", "name about", lambda: _abouts(dict(listed()))),
    "filters": _Kind(
        "filters for --clean",
        "name about reasons",
        lambda: [
            {"name": each.name, "about": each.about, "reasons": [step.reason for step in each.steps]}
            for each in FILTERS.values()
        ],
    ),
}
KINDS: Final = tuple(_KINDS)
"""What can be listed."""


def list_choices(*, kind: str | None, json: bool) -> int:
    """Print what can be chosen of one kind, with all that is known of it, or of all kinds; return the exit status.

    Raises
    ------
    UnknownNameError
        There is no such kind.
    """
    if kind is not None:
        require_known("kind of choice", kind, KINDS)
    found = {name: _KINDS[name] for name in (KINDS if kind is None else (kind,))}
    if json:
        print_json({name: list(each.rows()) for name, each in found.items()})
        return DONE
    for each in found.values():
        columns = each.columns if kind is not None else "name about"
        rows = [[_cell(row[name]) for name in columns.split()] for row in each.rows()]
        print_table(each.title + (each.letters if "formula" in columns else ""), listing(columns, rows))
    return DONE


def _cell(value: object) -> str:
    """Return a value as a table shows it."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def names_of(what: str) -> tuple[str, ...]:
    """Return the names of a kind of choice, or of the kinds themselves."""
    return KINDS if what == "kinds" else tuple(row["name"] for row in _KINDS[what].rows())
