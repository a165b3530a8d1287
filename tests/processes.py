"""Processes: those that tests start, and what tests and attacks look up of them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def printed_elsewhere(program: str, *arguments: str, hash_seed: int = 7) -> str:
    """Return what a program prints in another process, with another hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


def session_of(leader: int) -> list[int]:
    """Return the processes of a session that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, *fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == leader and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def until(
    condition: Callable[[], object], process: "subprocess.Popen[Any] | None" = None, *, may_end: bool = False
) -> None:
    """Wait for an event: something can be seen, or a process ended that would have to make it so, if it may."""
    patience = time.monotonic() + 120
    while not condition():
        if process is not None and process.poll() is not None:
            assert may_end, "it ended before"
            return
        assert time.monotonic() < patience, "it never came"
        time.sleep(0.002)


def worked_s(process: int) -> float:
    """Return how much time of processors a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command_of(process: int) -> str:
    """Return the command of a process, or nothing if there is no such process."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
