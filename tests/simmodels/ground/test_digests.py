"""Tests of `simmodels.ground.digests`: what compiled code depends on changes its digest, and nothing else does."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types

import simmodels as sm
from simmodels.ground.digests import UnknownValueError, _name, _reached, digest_of
from simmodels.replay import loop, queue_loop
from tests.model_scripts import rigid

PACKAGE = Path(sm.__file__).parent

DIGESTS = """
import importlib, pkgutil
from numba.core.dispatcher import Dispatcher
import simmodels
from simmodels.ground.digests import digest_of

for each in pkgutil.walk_packages(simmodels.__path__, "simmodels."):
    for name, value in vars(importlib.import_module(each.name)).items():
        if isinstance(value, Dispatcher) and value.py_func.__module__ == each.name:
            print(f"{each.name}.{name}", digest_of(value, (), "some machine"))
"""


def digests(folder: Path) -> dict[str, str]:
    """Return the digests of all functions of the package in a folder."""
    command = [sys.executable, "-B", "-c", DIGESTS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(PACKAGE, folder / "simmodels", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def before(copied: Path) -> dict[str, str]:
    return digests(copied)


def changed_by(copied: Path, before: dict[str, str], file: str, change: Callable[[str], str]) -> set[str]:
    """Return the functions whose digests a changed file changes."""
    path = copied / "simmodels" / file
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    try:
        after = digests(copied)
    finally:
        path.write_text(text)
    return {name.removeprefix("simmodels.") for name in before if before[name] != after[name]}


def test_another_copy_has_the_same_in_another_place(before: dict[str, str]) -> None:
    assert len(before) > 250
    assert before == digests(PACKAGE.parent)


@pytest.mark.parametrize(
    ("file", "old", "new", "reached", "not_reached"),
    [
        ("structures/heap.py", "return size + 1", "return size + 2", "replay.runs.begin_run", "replay.runs.end_next"),
        (
            *("passes/checkpointing.py", "_ROUNDED: Final = 1e-9", "_ROUNDED: Final = 1e-8"),
            "passes.checkpointing._times passes.checkpointing.takes replay.runs.lasts_by",
            "replay.queue_loop.replay",
        ),
        (
            *("ground/sums.py", "(r0 + r1) + (r2 + r3)", "(r0 + r2) + (r1 + r3)"),
            "ground.sums.pairwise replay.batch.replay_logs",
            "replay.queue_loop.replay",
        ),
        (
            *("replay/runs.py", '("count", types.int64)', '("count", types.int32)'),
            *("replay.runs.new_runs", "replay.queue_loop.replay"),
        ),
        (
            *("passes/switching.py", "OFF: Final = ", "OFF: Final = 10 + "),
            *("replay.runs.record_power", "replay.runs.next_end"),
        ),
    ],
)
def test_a_changed_rule_changes_whatever_calls_it_and_nothing_else(
    copied: Path, before: dict[str, str], file: str, old: str, new: str, reached: str, not_reached: str
) -> None:
    changed = changed_by(copied, before, file, lambda text: text.replace(old, new, 1))
    assert {*reached.split()} <= changed
    assert not_reached not in changed


def test_comments_docstrings_lines_and_times_change_nothing(copied: Path, before: dict[str, str]) -> None:
    def other_words(text: str) -> str:
        return "# once more\n\n" + re.sub(r'"""Return how .*"""', '"""Say something else."""', text)

    assert not changed_by(copied, before, "passes/checkpointing.py", other_words)


def _linked_into(entry: Any) -> set[str]:  # noqa: ANN401  numba's dispatcher is untyped
    """Return the names of the functions that numba linked into one that compiled code calls."""
    callee = entry.get_overload.__self__
    callee.compile(next(iter(entry.overloads)))
    [made] = callee.overloads.values()
    names = set()
    for mangled in made.library.bodies:
        parts, rest = [], mangled.removeprefix("_ZN")
        while length := re.match(r"\d+", rest):
            begin, end = length.end(), length.end() + int(length[0])
            parts.append(rest[begin:end])
            rest = rest[end:]
        names.add(".".join(parts))
    return {name for name in names if name.startswith("simmodels.") and not name.endswith("Type")}


def test_all_that_numba_links_in_was_reached() -> None:
    sm.simulate(rigid((0.0, 2.0, 2.0, 1)), cores=2)
    sm.simulate(rigid((0.0, 2.0, 2.0, 1)), machines=2, cores_per_machine=1, capacity=[sm.CapacityChange(1.0, 1)])
    for entry, least in ((queue_loop.replay, 50), (loop.run, 80)):
        linked = _linked_into(entry)
        assert len(linked) >= least
        assert linked <= {_name(each) for each in (entry.py_func, *_reached(entry.py_func))}


class _Options:
    """Something of which nobody knows what it is made of."""


class Pair(NamedTuple):
    first: int
    second: int


def _naming(value: object) -> Callable[[], object]:
    """Return a function that names a value."""
    return FunctionType(compile("lambda: value", "", "eval").co_consts[0], {"value": value}, "naming")


def _digest(value: object) -> str:
    return digest_of(njit(_naming(value)), (), "some machine")


def _adding(more: float) -> Callable[[float], float]:
    return lambda x: x + more


def _calling(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: 2.0 * function(x)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, 1.0),
        (0.0, -0.0),
        (1, True),
        ("a", b"a"),
        (None, ()),
        ((1, 2), (1, 3)),
        ((1, 2), Pair(1, 2)),
        (frozenset({1}), frozenset({2})),
        (np.float32(1), np.float64(1)),
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.zeros(2, np.int64)),
        (sm.Outcome.LOST, sm.Outcome.KILLED),
        (types.int64, types.int32),
        (types.int64[:], types.int64[::1]),
        (ir.IntType(8), ir.IntType(64)),
        (np.add, np.subtract),
        (np.int64, np.int32),
        (lambda: 1, lambda: 2),
        (njit(lambda: 1), njit(lambda: 2)),
        (_adding(1), _adding(2)),
        ((_adding(1), _adding(2)), (_adding(2), _adding(1))),
        ((_calling(_adding(1)),), (_calling(_adding(2)),)),
        (lambda x=1: x, lambda x=2: x),
        (lambda *, x=1: x, lambda *, x=2: x),
        (lambda x, y: (x, y), lambda x, *, y: (x, y)),
    ],
)
def test_values_that_differ_have_other_digests(one: object, other: object) -> None:
    assert _digest(one) == _digest(one)
    assert _digest(one) != _digest(other)


def test_options_and_arguments_count() -> None:
    one = njit(lambda x: x)
    given = [(one, (), "a"), (njit(nogil=True)(one.py_func), (), "a"), (one, (types.int64,), "a"), (one, (), "b")]
    assert len({digest_of(*each) for each in given}) == 4


@pytest.mark.parametrize("value", [object(), iter([1]), _Options()])
def test_a_value_that_nobody_sees_change_is_refused(value: object) -> None:
    with pytest.raises(UnknownValueError, match=r"^it names .*: nobody would see that this changes$"):
        _digest(value)
