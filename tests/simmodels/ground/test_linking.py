"""Tests of `simmodels.ground.linking`: what is linked once is what numba would have made."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import TypingError, njit, types
from numba.core.compiler import Flags
from numba.core.runtime import _nrt_python, rtsys
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic, overload

import simmodels
from simmodels.ground import compiled as module
from simmodels.ground import linking
from simmodels.ground.compiled import compiled, inlined
from simmodels.structures.sorted_blocks import insert, new_sorted_blocks


@pytest.fixture(params=[True, False], ids=["linked", "as numba does"])
def linked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bool:
    """Whether it is linked; nothing is kept of what was compiled before."""
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    assert module.LINKED, "the numba that is pinned is one that linking was tested with"
    monkeypatch.setattr(module, "LINKED", request.param)
    return bool(request.param)


def _chain() -> tuple[Any, Any, Any]:
    """Return three functions, each of which calls the one before; the first is too long to be copied."""

    @compiled
    def first(x, n):  # noqa: ANN001, ANN202
        kept = np.zeros((n, 3))
        for i in range(n):
            kept[i, i % 3] = np.sqrt(x + i)
        shown = np.sort(kept.sum(axis=1))
        return shown[::-1].copy(), np.argsort(shown)

    @inlined
    def between(x):  # noqa: ANN001, ANN202
        return 2.0 * x

    @compiled
    def last(x, n):  # noqa: ANN001, ANN202
        if n < 0:
            raise ValueError("negative")
        values, order = first(between(x), n)
        return values[0] + order[0]

    return first, between, last


def test_numba_is_as_it_was_when_a_function_is_compiled_or_refused(linked: bool) -> None:
    @compiled
    def fine(x):  # noqa: ANN001, ANN202
        return np.sqrt(x) + x

    @compiled
    def wrong(x):  # noqa: ANN001, ANN202
        return fine(x) + x.nothing

    listeners = llvm.ffi.lib._lock._cblist
    heard = listeners.copy()
    assert heard
    with pytest.raises(TypingError, match="nothing"):
        wrong(4.0)
    assert fine(4.0) == 6.0
    assert "get_call_type" not in vars(types.Function)
    assert listeners == heard


def test_machine_code_of_what_two_entries_call_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    first, _, last = _chain()
    made: list[str] = []
    emit = llvm.TargetMachine.emit_object

    def noted(machine: object, of: Any) -> object:  # noqa: ANN401  llvmlite is untyped
        made.extend(each.name for each in of.functions if "first" in each.name and not each.is_declaration)
        return emit(machine, of)

    @compiled
    def other(x, n):  # noqa: ANN001, ANN202
        return first(x, n)[0][0]

    monkeypatch.setattr(llvm.TargetMachine, "emit_object", noted)
    assert last(1.0, 3) == other(2.0, 3) + first(2.0, 3)[1][0]
    assert len(made) == 1


def test_what_calls_mean_is_looked_up_by_known_flags(linked: bool) -> None:
    found = []

    @intrinsic
    def called(_: object) -> object:
        found.append(ConfigStack.top_or_none())
        return types.int64(), lambda context, *_: context.get_constant(types.int64, 7)

    @compiled
    def calls():  # noqa: ANN202
        return called()

    assert calls() == 7
    assert found
    assert all(isinstance(each, linking._KnownFlags) is linked for each in found)


def test_known_flags_are_those_of_numbas_own_functions_and_copies_of_them_may_be_changed() -> None:
    given, own = Flags(), Flags()
    given.no_cfunc_wrapper = own.no_cpython_wrapper = True
    known = linking._KnownFlags.of(given)
    assert known is linking._KnownFlags.of(Flags())
    assert (known == own, own == known, hash(known)) == (True, True, hash(Flags()))
    given.nrt = True
    assert known != linking._KnownFlags.of(given)
    changed = known.copy()
    changed.nrt = True
    assert changed == linking._KnownFlags.of(given)
    assert not known.nrt
    first, second = (of_function := linking._Flags(given)).copy(), of_function.copy()
    assert first is linking._KnownFlags.of(given)
    assert type(second) is Flags
    assert second == given


def test_a_function_of_numbas_is_compiled_once_whatever_calls_it(linked: bool) -> None:
    asked = []

    def called(x: int) -> int:
        return x

    @overload(called, strict=False)  # strict would compare how they are annotated
    def _(x: object) -> Callable[[int], int]:
        asked.append(x)
        return lambda x: x + 1

    @compiled
    def first(x):  # noqa: ANN001, ANN202
        return called(x)

    @compiled
    def last(x):  # noqa: ANN001, ANN202
        return first(called(x))

    assert last(1) == 3
    assert len(asked) == 1


def test_calls_answer_the_same_linked_or_not(linked: bool) -> None:
    first, between, last = _chain()
    assert last(1.0, 4) == np.sqrt(5.0)
    assert bool(first.signatures) is not linked  # nobody called it from Python, so no machine code of it is made
    assert last.py_func(1.0, 4) == last(1.0, 4)
    assert first(1.0, 2)[1].tolist() == [0, 1]
    assert between(3.0) == 6.0
    assert last(1, 4) == np.sqrt(5.0)  # another type, another version


def test_an_error_in_what_is_called_leaves_the_caller(linked: bool) -> None:
    last = _chain()[2]

    @compiled
    def outer(n):  # noqa: ANN001, ANN202
        return last(1.0, n)

    with pytest.raises(ValueError, match="negative"):
        outer(-1)
    assert outer(4) == np.sqrt(5.0)


@pytest.mark.parametrize("own", [njit, compiled], ids=["a user's", "ours"])
def test_whoever_calls_it_gets_all_that_it_calls(own: Callable[..., Any], linked: bool) -> None:
    last = _chain()[2]

    @own
    def outer(n):  # noqa: ANN001, ANN202
        queue = new_sorted_blocks(1)
        for i in range(n):
            insert(queue, -float(i), i, 1, 1.0)
        return last(1.0, n), queue.size, queue.entries[queue.chain[0], 0].slot

    assert outer(1000) == (last(1.0, 1000), 1000, 999)


def test_it_is_compiled_once_for_all_numbers_that_code_names(linked: bool) -> None:
    @compiled
    def first(x, n, doubled):  # noqa: ANN001, ANN202
        return np.sqrt(x + n) * (2.0 if doubled else 1.0)

    @compiled
    def last(x):  # noqa: ANN001, ANN202
        return first(x, 1, True) + first(x, 2, False) + first(x, np.int64(x), x > 1.0)

    assert last(2.0) == 2.0 * np.sqrt(3.0) + 2.0 + 2.0 * 2.0
    if linked:
        assert len(first.get_overload.__self__.overloads) == 1


def test_no_memory_is_kept(linked: bool) -> None:
    @compiled
    def fill(n):  # noqa: ANN001, ANN202
        queue = new_sorted_blocks(1)
        for i in range(n):
            insert(queue, -float(i), i, 1, 1.0)
        return queue.size

    fill(100)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        assert fill(10_000) == 10_000
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


CALLED = """
from simmodels.ground.compiled import compiled
@compiled
def called(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] if i % 2 else -x[i]
        for k in range(i):
            x[k] = max(x[k], total) + min(x[i], 2.0 * x[k]) if total > k else x[k] * 3.0 - total / (1.0 + k * k)
    return total + x[x.size // 2] + x.sum() + x.max() + x.min() + x.std() + x.mean()
"""

CALLER = """
from simmodels.ground.compiled import compiled
import called as other
called = other.called
@compiled
def caller(x):
    return called(x) + 1.0
"""

SCRIPT = """
import sys
import numpy as np
import called, caller
which = getattr({"called": called, "caller": caller}[sys.argv[1]], sys.argv[1])
if sys.argv[2] == "user":
    from numba import njit
    one, which = which, njit(lambda x: one(x))
print(repr(float(which(np.arange(9.0)))), sum(getattr(which, "stats").cache_hits.values()))
"""


def test_what_is_kept_is_linked_in_another_process(tmp_path: Path) -> None:
    for name, text in (("called", CALLED), ("caller", CALLER), ("script", SCRIPT)):
        (tmp_path / f"{name}.py").write_text(text)
    package = Path(simmodels.__file__).parent.parent
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{package}", "SCHEDLAB_CACHE": str(tmp_path / "kept")}

    def run(which: str, who: str = "we") -> tuple[str, str]:
        command = [sys.executable, "script.py", which, who]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        answer, hits = done.stdout.split()
        return answer, hits

    plain, _ = run("called")
    more = repr(float(plain) + 1.0)
    assert run("caller", "user") == (more, "0")  # the caller and what it calls are kept now, but no entry of the caller
    [entry] = (tmp_path / "kept").glob("called.callee-*.code")
    entry.unlink()  # as if another process had written it again, under other names
    assert run("caller") == (more, "0")
    assert run("caller") == (more, "1")
    assert run("caller", "user") == (more, "0")
    assert run("called") == (plain, "1")


MADE = """
import sys

import numpy as np

from simmodels.ground.compiled import compiled


def made(factor):
    @compiled
    def long(x, n):
        kept = np.zeros((n, 3))
        for i in range(n):
            kept[i, i % 3] = np.sqrt(x + i) * factor
        shown = np.sort(kept.sum(axis=1))
        return shown[::-1].copy(), np.argsort(shown)

    @compiled
    def caller(x, n):
        return long(x, n)[0][0] + factor

    return caller


print(*(made(float(each))(0.0, 5) for each in sys.argv[1:]))
"""


def test_what_two_processes_kept_of_functions_of_one_name_does_not_get_mixed_up(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(MADE)
    package = str(Path(simmodels.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": package, "SCHEDLAB_CACHE": str(tmp_path / "kept")}
    for factors, found in (("2", "6.0"), ("2 30", "6.0 90.0"), ("30 2", "90.0 6.0")):
        command = [sys.executable, "script.py", *factors.split()]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == found
