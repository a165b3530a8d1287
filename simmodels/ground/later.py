"""Later: packages that are slow to import, and of which a simulation needs nothing until its tables are asked for."""

import importlib
from typing import Any


class _Later:
    """What stands for a package until something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401  whatever the package has
        return getattr(importlib.import_module(self._name), attribute)


def later(package: str) -> Any:  # noqa: ANN401  a package
    """Return a package of others that is imported when something of it is first used.

    Type checkers read the import beside it:

        if TYPE_CHECKING:
            import pandas as pd
        else:
            pd = later("pandas")
    """
    return _Later(package)
