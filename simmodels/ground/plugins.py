"""Plug-ins: what an installed package offers to simmodels, found by its entry point when it is first asked for.

Imports only point down, so simmodels can import neither a reader of files nor a library of figures. A package that has
one offers it in the group ``simmodels``; in a project's ``pyproject.toml``, for example::

    [project.entry-points.simmodels]
    read_workload = "workloads.reading:read"
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

GROUP: Final = "simmodels"


@cache
def plugin(name: str) -> Any:  # noqa: ANN401  whatever the package offers
    """Return what an installed package offers under this name; None if none does.

    Parameters
    ----------
    name
        ``"read_workload"``, which makes a `Workload` of a path; ``"gantt"``, ``"queue"`` and ``"waits"``, which draw a
        `Schedule`.
    """
    for found in entry_points(group=GROUP, name=name):
        return found.load()
    return None
