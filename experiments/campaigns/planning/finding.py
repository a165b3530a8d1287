"""Finding: the study that a name, a Python file or a TOML file stands for."""

import importlib
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from experiments.campaigns.planning.declared import declared
from experiments.campaigns.study import Study
from experiments.inputs import in_file, run_file
from simmodels.errors import RequestError, require_known

_FILES: Final = (".py", ".toml")
_NAMED: Final = "experiments.studies"
"""The package that says in ``STUDIES`` which studies have a name, and where their classes are."""


def named_studies() -> Mapping[str, str]:
    """Return where the class of each study is that has a name, as ``module:Class``, by its name."""
    found: Mapping[str, str] = importlib.import_module(_NAMED).STUDIES
    return found


def find_study(text: str, chosen: Mapping[str, Any] | None = None) -> Study:
    """Return the study of this name, or the one that a file defines.

    Parameters
    ----------
    text
        A name of `named_studies`; ``path/to/file.py``, which defines one subclass of `Study`, or
        ``path/to/file.py:Class`` if it defines several; or ``path/to/file.toml``, see
        `experiments.campaigns.planning.declared`.
    chosen
        Values that replace those of the study, see `Study`.

    Raises
    ------
    UnknownNameError
        There is no study of this name; near ones are offered.
    RequestError
        The file cannot be read, fails when it is run, or does not define one study; or a value of the study is
        out of range.
    FileFormatError
        The TOML file does not keep to its format.
    """
    return find_class(text)(**(chosen or {}))


def find_class(text: str, within: tuple[str, ...] = ()) -> type[Study]:
    """Return the class of a study; see `find_study`.

    Parameters
    ----------
    text
        What stands for it.
    within
        The TOML files that stand on it.
    """
    if "\0" in text:
        raise RequestError(f"no study can be read from {text!r}", "omit the zero byte")
    if text.lower().endswith(".toml"):
        file = os.path.realpath(text)
        if file in within:
            raise RequestError(f"{text} is based on itself", "base it on a study that does the work")
        return declared(Path(text), partial(find_class, within=(*within, file)))
    path, name = in_file(text)
    if path:
        return _class_of_file(path, name)
    studies = named_studies()
    if text not in studies and (Path(text).suffix or os.path.lexists(text)):
        raise RequestError(f"no study can be read from {text}", f"use a name that ends in {' or '.join(_FILES)}")
    require_known("study", text, studies)
    module, _, name = studies[text].partition(":")
    found: type[Study] = getattr(importlib.import_module(module), name)
    return found


def reference(text: str) -> str:
    """Return what stands for the same study in any other folder and process: a file by its full path."""
    path = text if text.lower().endswith(_FILES) else in_file(text)[0]
    return f"{Path(path).resolve()}{text.removeprefix(path)}" if path else text


def _class_of_file(path: str, name: str) -> type[Study]:
    """Return the study that a Python file defines."""
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:  # stays there: a cell may import what lies beside the file
        sys.path.append(folder)
    # The same name in each process: what is sent from one to another says where its class is.
    module = f"_study_{Path(path).stem}"
    names = run_file(path, "study", module)
    studies = {
        key: value
        for key, value in names.items()
        if inspect.isclass(value)
        and issubclass(value, Study)
        and value.__module__ == module
        and not inspect.isabstract(value)
    }
    if name:
        require_known(f"study of {path}", name, studies)
        return studies[name]
    if len(studies) != 1:
        has = (
            f"it has {', '.join(studies)}; choose one as {path}:CLASS"
            if studies
            else "add a subclass of Study with run_cell"
        )
        raise RequestError(f"{path} defines {len(studies)} studies", has)
    return next(iter(studies.values()))


def listed() -> Sequence[tuple[str, str]]:
    """Return the name and title of each study that has a name."""
    return [(name, find_study(name).title) for name in named_studies()]
