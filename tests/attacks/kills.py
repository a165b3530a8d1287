"""Kills of small campaigns at drawn moments: the runner or a worker, by SIGKILL, SIGINT or SIGTERM, once or twice.

The campaign is then run to its end; its table must be, byte for byte, that of one which nobody disturbed, no process
may be left, and no traceback shown. Each run is a copy (fork) of this process, which has imported all but run nothing;
its workers are new processes. Seeds draw who is killed, how and when; what is under way at that moment is up to the
machine.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from experiments.campaigns.report import write_report
from experiments.campaigns.running import opened, run
from tests.attacks.attack import Broken, Case
from tests.attacks.flips import write_study
from tests.processes import command_of, session_of

CASES = 300
PATIENCE_S = 120.0
INTERRUPTED = 130
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
STUDY = """


import threading


class Slow(Attacked):
    factors = {"kind": ["a", "b"], "number": list(range(12))}

    def run_cell(self, cell):
        threading.Event().wait(0.02)
        return super().run_cell(cell)
"""


def cases(seed: int) -> Iterator[Case]:
    """Hand out the cases: how many workers, and for one or two kills whom, by which signal, and when."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="schedlab-kills-") as made:
        folder = Path(made)
        path = write_study(folder)
        Path(path).write_text(Path(path).read_text("utf-8") + STUDY, "utf-8")
        study = f"{path}:Slow"
        took: dict[int, float] = {}
        for workers in (0, 1, 2):
            begun = time.monotonic()
            child = _start(study, folder / f"whole{workers}", workers, folder / "stderr.txt")
            if _status(child) != 0:
                raise Broken(f"undisturbed, with {workers} workers: {(folder / 'stderr.txt').read_text('utf-8')}")
            took[workers] = time.monotonic() - begun
        whole = _table(study, folder / "whole0", folder / "stderr.txt")
        while True:
            workers = drawn.choice((0, 1, 2, 2))
            kills = [
                (drawn.choice(("runner", "runner", "worker", "all")), drawn.choice(SIGNALS), drawn.uniform(0.0, 1.1))
                for _ in range(drawn.choice((1, 1, 2)))
            ]
            yield lambda: _case(study, folder, workers, kills, took[workers], whole)  # noqa: B023  called at once


def _case(
    study: str,
    folder: Path,
    workers: int,
    kills: list[tuple[str, signal.Signals, float]],
    took: float,
    whole: tuple[bytes, bytes],
) -> str:
    """Run a campaign that is killed, then to its end, and compare its table with that of an undisturbed one."""
    out, errors = folder / "out", folder / "stderr.txt"
    said = ", ".join(f"{sent.name} to {whom} after {share:.3f} of {took:.2f} s" for whom, sent, share in kills)
    where = f"{workers} workers, {said}"
    hit = 0
    try:
        for whom, sent, share in kills:
            child = _start(study, out, workers, errors)
            moment = time.monotonic() + share * took
            while time.monotonic() < moment and not _ended(child):
                time.sleep(0.001)
            hit += _kill(child, whom, sent)
            status = _status(child)
            _none_left(child, where)
            if "Traceback" in errors.read_text("utf-8"):
                raise Broken(f"{where}: {errors.read_text('utf-8')}")
            allowed = {0, INTERRUPTED, -sent} if whom != "worker" else {0}
            if status not in allowed:
                raise Broken(f"{where}: ended with {status}: {errors.read_text('utf-8')}")
        if _table(study, out, errors) != whole:
            raise Broken(f"{where}: another table")
        return f"{workers} workers: {'killed' if hit else 'had ended before'}, the same table"
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _fork(work: Callable[[], int], errors: Path) -> int:
    """Do something in a copy of this process, in a session of its own; return its number."""
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        return child
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        os.setsid()
        handle = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        status = work()
        os._exit(status)
    except KeyboardInterrupt:  # before the run could take the signal for its own
        os._exit(INTERRUPTED)
    except BaseException:  # noqa: BLE001  the status reports it
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _start(study: str, out: Path, workers: int, errors: Path) -> int:
    """Start a run of the campaign; return its process."""

    def work() -> int:
        return INTERRUPTED if run(study, out=out, scale="smoke", workers=workers).interrupted else 0

    return _fork(work, errors)


def _table(study: str, out: Path, errors: Path) -> tuple[bytes, bytes]:
    """Run the campaign to its end, and return its table."""

    def work() -> int:
        campaign = run(study, out=out, scale="smoke", workers=0)
        write_report(opened(out, trust=True))
        return 0 if campaign.done + len(campaign.failed) == len(campaign.plan.cells) else 3

    if (status := _status(_fork(work, errors))) != 0:
        raise Broken(f"it could not be run to its end (status {status}): {errors.read_text('utf-8')}")
    return (out / "results.csv").read_bytes(), (out / "results.parquet").read_bytes()


def _kill(child: int, whom: str, sent: signal.Signals) -> bool:
    """Send a signal; return whether there was somebody to take it."""
    if _ended(child):
        return False
    if whom == "all" and os.getsid(child) == child:  # not yet in a session of its own, it would be in ours
        os.killpg(child, sent)
        return True
    found = [child]
    if whom == "worker":
        found = [process for process in session_of(child) if "spawn_main" in command_of(process)]
    for process in found[:1]:
        os.kill(process, sent)
    return bool(found)


def _ended(child: int) -> bool:
    """Return whether a child has ended; it is still there to be asked how."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _status(child: int) -> int:
    """Wait for a child, and return how it ended: its status, or the signal with a minus."""
    patience = time.monotonic() + PATIENCE_S
    while not _ended(child):
        if time.monotonic() > patience:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise Broken(f"it did not end within {PATIENCE_S:g} s")
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _none_left(session: int, where: str) -> None:
    """Wait until no process of a session runs."""
    patience = time.monotonic() + PATIENCE_S
    while left := session_of(session):
        if time.monotonic() > patience:
            for process in left:
                os.kill(process, signal.SIGKILL)
            raise Broken(f"{where}: {len(left)} processes were left")
        time.sleep(0.002)
