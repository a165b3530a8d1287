"""Fingerprint: what the result of a cell depends on, as a short text that differs when any of it does."""

import ast
import hashlib
import inspect
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from experiments.campaigns.study import Cell, Study

_DIGITS: Final = 32
_MODELS: Final = ("simmodels", "workloads")
_RUN_BY_A_CELL: Final = ("run_cell", "inputs")


def digest(parts: Iterable[bytes]) -> str:
    """Return the digest (SHA-256, its first 128 bits in hexadecimal) of a sequence of parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()[:_DIGITS]


def cell_key(cell: Cell, context: str) -> str:
    """Return the name of a cell: the digest of its values, its seed and what the campaign is run with.

    Parameters
    ----------
    cell
        The cell.
    context
        The digest of what all cells share: name, code and inputs of the study.
    """
    values = {**cell.parameters, **cell.factors}
    text = json.dumps([context, cell.seed, cell.replication, values], sort_keys=True)
    return digest([text.encode()])


def inputs_digest(inputs: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return the inputs of a study as bytes to be shipped, and their digest."""
    shipped = pickle.dumps(dict(inputs), protocol=5)
    return shipped, digest([shipped])


# -- code -------------------------------------------------------------------------------------------


def code_digest(study: Study) -> str:
    """Return the digest of the code that a cell of the study runs.

    That is all of `simmodels` and `workloads`; the study's `version`; and of the study's file what `run_cell` and
    `inputs` name, directly or by what they name, without comments and docstrings. A module that they import from beside
    the study's file, or from `experiments`, counts as a whole. So a change to a figure or a claim leaves the
    cells as they are.

    Parameters
    ----------
    study
        The study.
    """
    parts = [_models(), str(study.version)]
    for cls in type(study).__mro__:
        if cls.__module__ != Study.__module__ and issubclass(cls, Study):
            parts.extend(_reached(Path(inspect.getfile(cls)), cls.__name__))
    return digest(part.encode() for part in parts)


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


def _reached(path: Path, class_name: str) -> Iterator[str]:
    """Return the parts of a file that the cells of a study reach, in the order of the file."""
    tree = ast.parse(path.read_bytes())
    defined: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name == class_name else [node]
        for statement in inner:
            for name in _bound(statement):
                defined.setdefault(name, []).append(statement)
    reached: dict[int, ast.stmt] = {}
    names = list(_RUN_BY_A_CELL)
    while names:
        for statement in defined.get(names.pop(), ()):
            if id(statement) not in reached:
                reached[id(statement)] = statement
                names += _named(statement)
    for statement in sorted(reached.values(), key=lambda node: node.lineno):
        yield ast.unparse(_without_docstrings(statement))
        for beside in _imported(statement, path):
            yield ast.unparse(_without_docstrings(ast.parse(beside.read_bytes())))


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


def _imported(statement: ast.stmt, path: Path) -> Iterator[Path]:
    """Return the files that a statement imports from beside the study's file, or from `experiments`."""
    for node in ast.walk(statement):
        modules = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom) and node.module
            else []
        )
        for module in modules:
            beside = path.parent / f"{module}.py"
            if beside.is_file():
                yield beside
            elif module.startswith("experiments.") and not module.startswith("experiments.campaigns"):
                spec = find_spec(module)
                if spec is not None and spec.origin is not None:
                    yield Path(spec.origin)


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
