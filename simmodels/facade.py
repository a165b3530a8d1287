"""facade: packages that import what they offer only when it is used (PEP 562).

A facade lists its public names in a stub beside it, ``__init__.pyi``. Type checkers and editors read the stub, and so
does the package itself: the stub says which module each name comes from. ``import simmodels`` takes milliseconds, and
a script that only reads logs does not wait for the compiler.

References
----------
PEP 562, "Module __getattr__ and __dir__"; Scientific Python SPEC 1, "Lazy loading of submodules and functions".
"""

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def open_facade(package: str) -> None:
    """Let a package offer the public names of its stub.

    Parameters
    ----------
    package
        Its ``__name__``; it is being imported, and ``__init__.pyi`` stands beside its ``__init__.py``.
    """
    module = sys.modules[package]
    sources = {}
    for line in ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_bytes()).body:
        if isinstance(line, ast.ImportFrom):
            sources.update({each.asname or each.name: (str(line.module), each.name) for each in line.names})
    vars(module).update(_sources=sources, __all__=sorted(sources))
    module.__class__ = _Facade


class _Facade(ModuleType):
    """A package whose public names are imported when they are first used."""

    _sources: dict[str, tuple[str, str]]  # by public name: module, and name there
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever is offered
        if name not in self._sources:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        home, there = self._sources[name]
        found = vars(self)[name] = getattr(importlib.import_module(home), there)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, but keep a public name from a module of the same name, which Python binds on its import."""
        if not (name in self._sources and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """Return the public names."""
        return self.__all__
