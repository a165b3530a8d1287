"""Fingerprint: what the result of a cell depends on, as a short text that differs when any of it does."""

import ast
import inspect
import json
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from experiments.campaigns.cell import Cell
from experiments.campaigns.records import digest
from experiments.campaigns.study import Study
from experiments.inputs import describe_error, is_beside
from simmodels.errors import RequestError, must_be

_MODELS: Final = ("simmodels", "workloads")
_RUN_BY_A_CELL: Final = ("run_cell", "inputs", "__init__")
_TABLE: Final = re.compile(r"[\w-]+\.csv")
_OURS: Final = Path(__file__).resolve().parents[2]
"""The folder of `experiments`."""


def cell_key(cell: Cell, context: str) -> str:
    """Return the name of a cell: the digest of its values, its seed and what the campaign is run with.

    Parameters
    ----------
    cell
        The cell.
    context
        The digest of what it shares with others: name and code of the study, and the inputs that it uses.
    """
    values = {**cell.parameters, **cell.factors}
    text = json.dumps([context, cell.seed, cell.replication, values], sort_keys=True)
    return digest([text.encode()])


def pickled_inputs(study: Study, inputs: object) -> dict[str, bytes]:
    """Return the inputs of a study as bytes to be shipped, by name.

    Raises
    ------
    RequestError
        They are no mapping from names, or it is not possible to pickle them.
    """
    if not isinstance(inputs, Mapping) or not all(isinstance(name, str) for name in inputs):
        raise RequestError(must_be(f"inputs of study {study.name}", "a mapping from names", inputs))
    try:
        return {name: pickle.dumps(value, protocol=5) for name, value in inputs.items()}
    except Exception as error:  # pickle raises what the objects do
        raise RequestError(f"the inputs of study {study.name} cannot be pickled: {describe_error(error)}") from error


# -- code -------------------------------------------------------------------------------------------


def code_digest(study: Study) -> str:
    """Return the digest of the code that a cell of the study runs.

    That is all of `simmodels` and `workloads`; the study's `version`; and of the files of the study and of its base
    classes what `run_cell`, `inputs` and ``__init__`` name, directly or by what they name, without comments and
    docstrings. A module that they import from beside the study's file, or from `experiments`, counts as a whole, and
    so do those that it imports; with each, the tables in CSV beside it that it names. So a change to a figure or a
    claim leaves the cells as they are.

    Parameters
    ----------
    study
        The study.
    """
    parts = [_models(), str(study.version), *_reached(_classes(type(study)))]
    return digest(part.encode() for part in parts)


def imported(study: type[Study]) -> list[Path]:
    """Return the files of a study of the user's: those of its classes, and what they import from beside them, ever."""
    files = [path for path in _classes(study) if is_beside(path)]
    folders, seen = [path.parent for path in files], set[Path]()
    for path in files:
        with suppress(OSError, SyntaxError, ValueError):  # it fails where it is imported
            for _ in _whole(path, folders, seen):
                pass
    return sorted(filter(is_beside, seen))


def _classes(study: type[Study]) -> dict[Path, set[str]]:
    """Return the names of the classes of a study, which are its own and its bases, by their files."""
    classes: dict[Path, set[str]] = {}
    for cls in study.__mro__:
        if cls.__module__ not in {Study.__module__, "abc", "builtins"}:
            classes.setdefault(Path(inspect.getfile(cls)), set()).add(cls.__name__)
    return classes


@cache
def _models() -> str:
    """Return the digest of the sources of the models."""
    parts: list[bytes] = []
    for name in _MODELS:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no package {name}")
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.py")):
            parts += [path.relative_to(folder).as_posix().encode(), path.read_bytes()]
    return digest(parts)


def _reached(classes: Mapping[Path, set[str]]) -> Iterator[str]:
    """Return the parts of files that the cells of a study reach, file by file, in the order of each.

    Parameters
    ----------
    classes
        The study's class and its bases, by name, in the files that define them: a method of one calls those of others.
    """
    defined: dict[str, list[tuple[Path, ast.stmt]]] = {}
    for path, names_of_classes in classes.items():
        for name, statement in _defined(path, names_of_classes):
            defined.setdefault(name, []).append((path, statement))
    reached: dict[int, tuple[Path, ast.stmt]] = {}
    names = [*_RUN_BY_A_CELL, "*"]  # the star: an import that does not say what it brings
    while names:
        for path, statement in defined.get(names.pop(), ()):
            if id(statement) not in reached:
                reached[id(statement)] = path, statement
                names += _named(statement)
    modules: dict[Path, None] = {}
    folders, seen = [path.parent for path in classes], set(classes)
    for path in classes:
        for statement in sorted((one for of, one in reached.values() if of == path), key=lambda node: node.lineno):
            yield from _texts(path, statement)
            modules |= dict.fromkeys(_imported(statement, folders))
    for path in modules:
        for whole in _whole(path, folders, seen):
            yield from _texts(*whole)


def _texts(path: Path, tree: ast.stmt | ast.Module) -> Iterator[str]:
    """Return code without its docstrings, and the tables in CSV beside its file that it names."""
    yield ast.unparse(_without_docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _TABLE.fullmatch(node.value):
            yield from (table.read_text("utf-8", "replace") for table in path.parent.glob(node.value))


def _whole(path: Path, folders: Sequence[Path], seen: set[Path]) -> Iterator[tuple[Path, ast.Module]]:
    """Return a module as a whole, with its path, and those that it imports, each once."""
    if path not in seen:
        seen.add(path)
        tree = _tree(path)
        yield path, tree
        for module in dict.fromkeys(_imported(tree, folders)):
            yield from _whole(module, folders, seen)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _defined(path: Path, classes: set[str]) -> Iterator[tuple[str, ast.stmt]]:
    """Return the names that a file defines, and those that some of its classes do, each with the statement."""
    for node in _tree(path).body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name in classes else [node]
        for statement in inner:
            for name in _bound(statement):
                yield name, statement


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Return the names that a statement defines."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return  # what is within it is its own


def _named(statement: ast.stmt) -> Iterator[str]:
    """Return the names that a statement uses: of variables, and of attributes, which may be its class's."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _imported(tree: ast.AST, folders: Sequence[Path]) -> Iterator[Path]:
    """Return the files that code imports from `experiments`, or from folders; of a package there, all that it has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # What is imported from a package may be a module of it.
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for package, *inner in (module.split(".") for module in modules):
            if package == _OURS.name:
                if inner[:1] != ["campaigns"]:
                    yield from filter(Path.is_file, [_OURS.joinpath(*inner).with_suffix(".py")] if inner else [])
            elif package not in _MODELS:
                for folder in folders:
                    yield from filter(Path.is_file, [folder / f"{package}.py"])
                    yield from sorted((folder / package).rglob("*.py"))


def _without_docstrings(tree: ast.stmt | ast.Module) -> ast.stmt | ast.Module:
    """Return code without its docstrings; a body of nothing else keeps a ``pass``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return tree
