import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay import run
from simmodels.replay.run import Replay
from tests.processes import until, worked_s

ROOT = Path(__file__).resolve().parents[3]

SESSION = """
import gc

import numpy as np
import simmodels as sm


def jobs(n):  # all there at once, on four cores: n completions, at each of which up to n jobs wait
    k = np.arange(n)
    return sm.Workload(k + 1, np.zeros(n), 100.0 + k % 7, 100.0 + k % 11, np.ones(n, np.int64), max_cores=4)


def tasks(n):
    return [sm.Workflow(1, 0.0, [10.0 + k % 7 for k in range(n)], [1] * n, [])]


def windy(n):
    return sm.Capacity(np.arange(n) * 50.0, 40 + np.arange(n) % 2, 0.0, "kill")


FEW, MANY = jobs(40), jobs(100_000)
PAIRS = sm.draw_pairs(
    sm.Workload(*(np.arange(200) * k for k in (1, 9.0)), *[np.full(200, 90.0)] * 2, np.full(200, 4), max_cores=64),
    1, trial_jobs=8, initial_jobs=8,
)
WORK = {
    "queue": lambda n: sm.simulate(FEW if n else MANY, order="WFP3").start_s,
    "reservations": lambda n: sm.simulate(FEW if n else MANY, backfilling="conservative").start_s,
    "queue in SimPy": lambda n: sm.simulate(FEW if n else MANY, backfilling="conservative", engine="simpy").start_s,
    "auction": lambda n: sm.simulate_workflows(tasks(n or 10_000), clusters=[("a", 4)], bid="Random").start_s,
    "machines": lambda n: sm.simulate_on_machines(
        FEW if n else MANY, windy(n or 100_000), cores_per_machine=1, heuristic="TargetStretch", reference=FEW
    ).attempts["start_s"],
    "trials": lambda n: sm.score_jobs(PAIRS, n or 10**11)["score"],
}
for name, work in WORK.items():
    before = list(work(20))
    gc.collect()  # what the compiler left: Python ignores an interrupt that comes into a finalizer
    try:
        print("begun", name, flush=True)
        work(None)
    except KeyboardInterrupt:
        print("left", name, flush=True)
    assert list(work(20)) == before, name  # the session lives on
"""
"""Each of these would take hours."""

THREAD = """
import threading
exec(open(0).read().split("for name, work")[0])
WORK["queue"](20)
threading.Thread(target=WORK["queue"], args=(None,), daemon=True).start()
try:
    print("begun", flush=True)
    threading.Event().wait()
except KeyboardInterrupt:
    print("left", flush=True)
"""
"""The main thread takes the signal while another is in compiled code, and ends without it."""


def interrupted(*command: str, given: str = "") -> tuple[int, list[str]]:
    """Send a program Ctrl-C each time that it says that it has begun; return its status and what it says.

    It is sent when the program has worked for some time: at once it may come into a call of numba's, which makes a
    SystemError of it.
    """
    said = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        limit = threading.Timer(900, process.kill)
        limit.start()
        process.stdin.write(given)
        process.stdin.close()
        for line in process.stdout:
            said.append(line.rstrip("\n"))
            if line.startswith("begun"):
                begun_s = worked_s(process.pid)
                until(lambda: worked_s(process.pid) > begun_s + 0.2, process)  # noqa: B023  it is waited for here
                process.send_signal(signal.SIGINT)
        limit.cancel()
    return process.returncode, said


def test_ctrl_c_leaves_every_compiled_loop_and_the_session_lives_on() -> None:
    names = ["queue", "reservations", "queue in SimPy", "auction", "machines", "trials"]
    status, said = interrupted(sys.executable, "-c", SESSION)
    assert (status, said) == (0, [f"{what} {name}" for name in names for what in ("begun", "left")])


@pytest.mark.full
def test_ctrl_c_reaches_the_main_thread_while_another_is_in_compiled_code() -> None:
    assert interrupted(sys.executable, "-c", THREAD, given=SESSION) == (0, ["begun", "left"])


def interrupt(*_: object) -> bool:
    raise KeyboardInterrupt


def test_what_was_interrupted_refuses_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = sm.Workload([1, 2], [0, 1], [10, 10], [10, 10], [1, 1])
    half, env = Replay(jobs, cores=1, options=QueueOptions.checked()), sm.Environment()
    monkeypatch.setattr(run, "replay", interrupt)
    env.at(1).callbacks.append(interrupt)
    for interrupted_, new in ((half, "one"), (env, "environment")):
        with pytest.raises(KeyboardInterrupt):
            interrupted_.run()
        monkeypatch.undo()
        with pytest.raises(sm.RequestError, match=f"interrupted in the middle of an instant; make a new {new}"):
            interrupted_.run()


def test_signals_that_are_heeded_change_no_schedule() -> None:
    """A handler that returns lets the pass go on where it was."""
    k = np.arange(500)
    jobs = sm.Workload(k, k * 1.0, 100.0 + k % 7, 100.0 + k % 11, 1 + k % 3, max_cores=8)
    alone = sm.simulate(jobs, backfilling="conservative")
    seen = []
    before = signal.signal(signal.SIGPROF, lambda number, _: seen.append(number))
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)  # of the processor's time, not of the clock's
    try:
        disturbed = sm.simulate(jobs, backfilling="conservative")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert seen
    assert disturbed.start_s.tolist() == alone.start_s.tolist()


@partial(compiled, nogil=True)
def _looks_up(times: int) -> int:
    seen = 0
    for _ in range(times):
        heed_signals()
        seen += 1
    return seen


def test_threads_without_the_lock_heed_nothing_and_are_left_alone() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_looks_up, [100_000] * 8)) == [100_000] * 8
