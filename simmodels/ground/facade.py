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
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from simmodels.errors import near_names

_FACADES: Final = ("simmodels", "workloads", "experiments.campaigns")


def open_facade(package: str, elsewhere: Mapping[str, str] | None = None) -> None:
    """Let a package offer the public names of its stub.

    Parameters
    ----------
    package
        Its ``__name__``; it is being imported, and ``__init__.pyi`` stands beside its ``__init__.py``.
    elsewhere
        What to use instead of names that users look for in vain, by name.
    """
    module = sys.modules[package]
    sources = _sources(str(module.__file__))
    vars(module).update(_sources=sources, _elsewhere=elsewhere or {}, __all__=sorted(sources))
    module.__class__ = _Facade


def _sources(path: str) -> dict[str, tuple[str, str]]:
    """Return where the names of the stub beside a file come from."""
    found = {}
    for line in ast.parse(Path(path).with_suffix(".pyi").read_bytes()).body:
        if isinstance(line, ast.ImportFrom):
            found.update({each.asname or each.name: (str(line.module), each.name) for each in line.names})
    return found


class _Facade(ModuleType):
    """A package whose public names are imported when they are first used."""

    _sources: dict[str, tuple[str, str]]  # by public name: module, and name there
    _elsewhere: Mapping[str, str]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever is offered
        if name not in self._sources:
            # Without obj, or Python would add a suggestion of its own.
            what = f"module {self.__name__!r} has no attribute {name!r}{self._instead_of(name)}"
            raise AttributeError(what, name=name)
        home, there = self._sources[name]
        found = vars(self)[name] = getattr(importlib.import_module(home), there)
        return found

    def _instead_of(self, name: str) -> str:
        """Return what to use instead of a name that is none of the facade, as the end of a sentence."""
        if name.startswith("_"):
            return ""  # asked for by programs, not by people
        if name in self._elsewhere:
            return f"; {self._elsewhere[name]}"
        for package in _FACADES:
            found = None if package == self.__name__ else find_spec(package)
            if found is not None and name in _sources(str(found.origin)):
                return f"; {package}.{name} is meant, perhaps: import {package}"
        near = near_names(name, self._sources)
        return f"; did you mean {' or '.join(near)}?" if near else ""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, but keep a public name from a module of the same name, which Python binds on its import."""
        if not (name in self._sources and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """Return the public names."""
        return self.__all__
