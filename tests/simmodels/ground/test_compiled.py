import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simmodels
from simmodels.ground import compiled as module
from simmodels.ground.compiled import compiled, source_stamp
from simmodels.passes import queue_events as queue
from simmodels.replay import queue_loop
from simmodels.structures import sorted_blocks

PACKAGE = Path(simmodels.__file__).parent
CALLED = [
    *(path for room in ("structures", "passes") for path in (PACKAGE / room).glob("*.py")),
    *(PACKAGE / f"{name}.py" for name in ("ground/linking", "ground/signals", "work/curve", "work/graph")),
    *(PACKAGE / "replay" / f"{name}.py" for name in ("power", "runs", "occupancy")),
]


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("b.py", "a.py", "c.py")]
    for path in paths:
        path.write_text("x = 1\n")
        os.utime(path, ns=(10**18, 10**18))
    return paths


def test_a_stamp_has_name_time_and_size_of_each_source_sorted(sources: list[Path]) -> None:
    assert source_stamp(sources) == (("a.py", 10**18, 6), ("b.py", 10**18, 6), ("c.py", 10**18, 6))
    assert source_stamp(reversed(sources)) == source_stamp(sources)
    assert len({source_stamp(sources), source_stamp(sources[:2]), source_stamp(sources[1:])}) == 3


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_stamp_changes_when_any_source_changes(sources: list[Path], which: int) -> None:
    before = source_stamp(sources)
    os.utime(sources[which], ns=(10**18, 10**18 + 1))
    touched = source_stamp(sources)
    sources[which].write_text("x = 12\n")
    os.utime(sources[which], ns=(10**18, 10**18))
    longer = source_stamp(sources)
    assert len({before, touched, longer}) == 3


@pytest.mark.parametrize("function", [sorted_blocks.insert, queue.decide, queue_loop.replay])
def test_what_is_compiled_carries_the_stamp_of_its_file_and_of_all_that_it_may_call(function) -> None:  # noqa: ANN001
    own = Path(function.py_func.__code__.co_filename)
    stamp = function._cache._cache_file._source_stamp
    assert stamp == source_stamp([own]) + source_stamp(CALLED)


def test_what_is_compiled_is_the_function_it_was() -> None:
    @compiled
    def twice(x):  # noqa: ANN001, ANN202
        return 2 * x

    assert twice(3) == 6
    assert twice.py_func(4) == 8


SCRIPT = """
from simmodels.structures.sorted_blocks import insert, new_sorted_blocks
from simmodels.passes.backfilling import start_fitting
import numpy as np
queue = new_sorted_blocks(1)
insert(queue, 0.0, 0, 1, 1.0)
hits = sum(start_fitting.stats.cache_hits.values())
started = start_fitting(4, queue, np.empty(4, np.int64))
print(started, sum(start_fitting.stats.cache_hits.values()) - hits)
"""

OTHER_RULE = """

@compiled
def next_fitting(ordered, c, i, free, extra, now, shadow):
    return -1, -1
"""


def test_a_change_in_another_file_is_not_hidden_by_the_cache(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "simmodels", ignore=shutil.ignore_patterns("__pycache__"))

    def run() -> str:
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        env.pop("NUMBA_CACHE_DIR", None)
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert run() == "1 0"
    assert run() == "1 1"  # compiled once
    changed = tmp_path / "simmodels" / "structures" / "sorted_blocks.py"
    changed.write_text(changed.read_text() + OTHER_RULE)
    assert run() == "0 0"  # the caller's own file is as it was
    assert run() == "0 1"
    for index in (tmp_path / "simmodels" / "passes" / "__pycache__").glob("backfilling.start_fitting*.nbi"):
        version = pickle.dumps(pickle.loads(index.read_bytes()))
        index.write_bytes(version + b"ca_module_that_has_moved\nQueueType\n.")
    assert run() == "0 0"
    assert run() == "0 1"


@pytest.mark.parametrize("quiet", [False, True])
def test_where_nothing_can_be_written_it_is_compiled_without_a_cache_and_says_so_once(quiet: bool) -> None:
    # /proc takes no folder, not even from root, so the script has no place beside it, and its user no home.
    script = """
import os, sys, types
os.environ.update(HOME="/proc/self", XDG_CACHE_HOME="/proc/self/nowhere", NUMBA_CACHE_DIR="")
from simmodels.ground.compiled import compiled, inlined, is_kept
def nowhere(function):
    return types.FunctionType(function.__code__.replace(co_filename="/proc/self/status"), globals(), function.__name__)
def twice(x): return 2 * x
def thrice(x): return 3 * x
print(is_kept(), compiled(nowhere(twice))(3), inlined(nowhere(thrice))(3), is_kept())
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA")}
    if not quiet:
        environment.pop("SCHEDLAB_QUIET", None)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if line.startswith("compiled code cannot be kept: no folder")]
    assert (done.stdout, len(said)) == ("True 6 9 False\n", int(not quiet)), done.stderr


INTERRUPTED = """
import gc, signal
from llvmlite.binding import ffi
from numba.core.codegen import JITCodeLibrary

due = []


def interrupting(name, call):  # as if it had come while the call ran
    def interrupted(*given):
        found = call(*given)
        if name in due:
            due.clear()
            signal.raise_signal(signal.SIGINT)
        return found

    return interrupted


calls = ("LLVMPY_DisposeString", "LLVMPY_LinkModules", "LLVMPY_AddModule")
for name in calls:
    getattr(ffi.lib, name)._cfn = interrupting(name, getattr(ffi.lib, name)._cfn)
hook = interrupting("a callback", JITCodeLibrary._object_compiled_hook.__func__)
JITCodeLibrary._object_compiled_hook = classmethod(hook)
from simmodels.ground.compiled import compiled


def twice(x, more):
    once = compiled(lambda x: x + more)
    return compiled(lambda x: 2 * once(x))(x)


for more, name in enumerate((*calls, "a callback")):
    due.append(name)
    try:
        twice(2, more)
    except KeyboardInterrupt:
        gc.collect()
        print(name, signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
"""


def test_an_interrupt_while_llvm_works_leaves_the_compiler_and_frees_nothing_twice(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    interrupted = ("LLVMPY_DisposeString", "LLVMPY_LinkModules", "LLVMPY_AddModule", "a callback")
    assert done.stdout.splitlines() == [f"{name} True" for name in interrupted], done.stderr
    assert done.returncode == 0


def test_code_that_cannot_be_kept_runs_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @compiled
    def thrice(x):  # noqa: ANN001, ANN202
        return 3 * x

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(thrice._cache._cache_file), "save", full)
    monkeypatch.delenv("SCHEDLAB_QUIET", raising=False)
    module._say_no_cache.cache_clear()
    assert (thrice(3), thrice(3.0)) == (9, 9)
    assert capsys.readouterr().err.count("compiled code cannot be kept") == 1  # it is said once
    module._say_no_cache.cache_clear()


COMPILES_TWO = """
import multiprocessing, sys
from simmodels.ground.compiled import compiled
@compiled
def once(x): return x
@compiled
def twice(x): return 2 * once(x)
if sys.argv[1] == "worker":
    worker = multiprocessing.get_context("fork").Process(target=twice, args=(1,))
    worker.start()
    worker.join()
    sys.exit(worker.exitcode)
twice(1)
once(1)
"""


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("replay/queue_loop.py", "queues"),
        ("passes/backfilling.py", "queues"),
        ("replay/queue_on_machines.py", "queues on machines"),
        ("replay/placer_on_machines.py", "placement on machines"),
        ("structures/auction_state.py", "auctions"),
        ("learning/kernel.py", "permutation trials"),
        ("work/graph.py", "simulations"),
    ],
)
def test_what_is_compiled_is_named_by_what_it_is_for(file: str, part: str) -> None:
    assert (module._SIMMODELS / file).is_file()
    assert module._part_of(module._SIMMODELS / file) == part


def test_compiling_is_announced_once_a_process_and_not_by_workers_nor_if_all_is_cached(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(COMPILES_TWO)

    def said(where: str, folder: str, **more: str) -> str:
        env = {**os.environ, **more, "NUMBA_CACHE_DIR": str(tmp_path / folder)}
        if not more:
            env.pop("SCHEDLAB_QUIET", None)
        command = [sys.executable, script, where]
        return subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True, check=True).stderr

    line = f"compiling code for your own functions (once, about 15 s of processor time); cached in {tmp_path / 'one'}\n"
    assert (said("here", "one"), said("here", "one")) == (line, "")
    assert said("worker", "two") == ""
    assert said("here", "three", SCHEDLAB_QUIET="1") == ""
