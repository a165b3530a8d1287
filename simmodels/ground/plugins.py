"""Plug-ins: what an installed package offers to simmodels, found by its entry point when it is first asked for.

Imports only point down, so simmodels can import neither a reader of files nor a library of figures. A package that has
one offers it in the group ``simmodels``; in a project's ``pyproject.toml``, for example::

    [project.entry-points.simmodels]
    read_workload = "workloads.reading:read"
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any, Final

GROUP: Final = "simmodels"
_OURS: Final = "schedlab"


@cache
def plugin(name: str) -> Any:  # noqa: ANN401  whatever the package offers
    """Return what an installed package offers under this name; None if none does.

    What the distribution of simmodels itself offers comes before all others.

    Parameters
    ----------
    name
        ``"read_workload"``, which makes a `Workload` of a path; ``"gantt"``, ``"queue"`` and ``"waits"``, which draw a
        `Schedule`.
    """
    offered = sorted(_installed(name), key=lambda point: point.dist is None or point.dist.name != _OURS)
    return offered[0].load() if offered else None


def _installed(name: str) -> Iterator[EntryPoint]:
    """Hand out what is offered under a name by what is installed.

    What merely lies in the folder from which Python was started (``python -m`` has it first on its path), or in the
    present one, is not installed, unless simmodels lies there, too: whoever made that folder would have his code run.
    """
    by_chance = set()
    with suppress(OSError):  # the present folder may have been removed
        by_chance = {Path(each).resolve() for each in ("", *([] if sys.flags.safe_path else sys.path[:1]))}
    by_chance -= {Path(__file__).resolve().parents[2]}
    for found in distributions():
        if Path(str(found.locate_file(""))).resolve() not in by_chance:
            yield from found.entry_points.select(group=GROUP, name=name)
