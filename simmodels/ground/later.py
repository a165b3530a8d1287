"""Later: packages that are slow to import, and of which a simulation needs nothing until its tables are asked for.

Take `pd` and `nx` from here and they are imported when something of them is first used; annotations that name them
stay in quotes, for they would be a use.
"""

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["nx", "pd"]


class _Later:
    """What stands for a package until something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401  whatever the package has
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
else:
    nx, pd = _Later("networkx"), _Later("pandas")
