import os
import subprocess
import sys
from pathlib import Path

from simmodels.ground import compiled as module

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
    environment = {**os.environ, "SCHEDLAB_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    interrupted = ("LLVMPY_DisposeString", "LLVMPY_LinkModules", "LLVMPY_AddModule", "a callback")
    assert done.stdout.splitlines() == [f"{name} True" for name in interrupted], done.stderr
    assert done.returncode == 0


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


def test_what_is_compiled_is_named_by_what_it_is_for() -> None:
    parts = {
        "replay/queue_loop.py": "queues", "passes/backfilling.py": "queues", "replay/loop.py": "machines",
        "passes/placement_events.py": "placement on machines", "structures/auction_state.py": "auctions",
        "learning/kernel.py": "permutation trials", "work/graph.py": "simulations",
    }  # fmt: skip
    assert all((module._SIMMODELS / file).is_file() for file in parts)
    assert {file: module._part_of(module._SIMMODELS / file) for file in parts} == parts


def test_compiling_is_announced_once_a_process_and_not_by_workers_nor_if_all_is_kept(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(COMPILES_TWO)

    def said(where: str, folder: str, **more: str) -> str:
        env = {**os.environ, **more, "SCHEDLAB_CACHE": str(tmp_path / folder)}
        if not more:
            env.pop("SCHEDLAB_QUIET", None)
        command = [sys.executable, script, where]
        return subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True, check=True).stderr

    line = f"compiling code for your own functions (once, about 10 s of processor time); kept in {tmp_path / 'one'}\n"
    assert (said("here", "one"), said("here", "one")) == (line, "")
    assert said("worker", "two") == ""
    assert said("here", "three", SCHEDLAB_QUIET="1") == ""
