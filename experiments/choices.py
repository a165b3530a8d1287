"""Choices: what can be chosen by name, each in words; the texts are those of the registries."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from experiments.campaigns.planning.finding import listed
from experiments.policy import HEURISTICS, ROUTERS
from simmodels import bids, orders
from simmodels.engine import ENGINES
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.registry import BIDS, ORDERS, Registry
from simmodels.results.metrics import IN_WORDS, STATISTICS
from workloads import FILTERS

_SAID: Final = re.compile(r'``"(\w+)"``:? \(?([^);.]*)')


class Topic(NamedTuple):
    """A topic of `list`: its title, one row per name, the columns of its table, and what the letters stand for."""

    title: str
    rows: Callable[[], Iterable[Mapping[str, Any]]]
    columns: str = "name about"
    letters: str = ""


def _abouts(named: Mapping[Any, str]) -> Iterable[Mapping[str, Any]]:
    """Return rows of names with what is said of each."""
    return [{"name": name, "about": about} for name, about in named.items()]


def _of(registry: Registry[Any], entry: Priority, *names: str) -> Mapping[str, Any]:
    """Return the row of an order or a bid: these attributes, and its other names."""
    others = registry.aliases(entry.name)
    also = f" (also {', '.join(others)})" if others else ""
    return {each: getattr(entry, each) for each in names} | {"about": f"{entry.about}{also}", "aliases": list(others)}


def _of_option(option: str) -> Callable[[], Iterable[Mapping[str, Any]]]:
    """Return what makes the rows of the choices of an option of queues, from its description."""
    said = next(said for name, _, _, said in QueueOptions.described() if name == option)
    return lambda: _abouts(dict(_SAID.findall(said)))


CHOICES: Final[Mapping[str, Topic]] = {
    "orders": Topic(
        "orders of a queue",
        lambda: [
            _of(ORDERS, order, "name", "about", "formula", "source", "needs", "moving") for order in orders().values()
        ],
        "name about formula source",
        " (r submit, p estimate or limit, q cores, w wait; the least value goes first)",
    ),
    "bids": Topic(
        "bids of workflows",
        lambda: [_of(BIDS, bid, "name", "about", "wins", "formula", "source", "needs") for bid in bids().values()],
        "name about wins formula source",
    ),
    "backfillings": Topic("backfillings", _of_option("backfilling")),
    "decide": Topic("--decide: when a queue decides", _of_option("decide")),
    "overrun": Topic("--overrun: what happens to a job that reaches its limit", _of_option("overrun")),
    "engines": Topic("engines: all give the same schedule", lambda: _abouts(ENGINES)),
    "heuristics": Topic("heuristics on machines", lambda: _abouts(HEURISTICS)),
    "routers": Topic("routers before several clusters", lambda: _abouts(ROUTERS)),
    "metrics": Topic(
        f"metrics of --json (wait_s to slr as {', '.join(f'{each}_' for each in STATISTICS)})",
        lambda: _abouts(IN_WORDS),
    ),
    "studies": Topic("studies to run", lambda: _abouts(dict(listed()))),
    "filters": Topic(
        "filters for --clean",
        lambda: [
            {"name": each.name, "about": each.about, "reasons": [step.reason for step in each.steps]}
            for each in FILTERS.values()
        ],
        "name about reasons",
    ),
}
TOPICS: Final = tuple(CHOICES)
"""What can be listed."""


def names_of(what: str) -> tuple[str, ...]:
    """Return the names of a topic, or of the topics themselves."""
    return TOPICS if what == "topics" else tuple(row["name"] for row in CHOICES[what].rows())
