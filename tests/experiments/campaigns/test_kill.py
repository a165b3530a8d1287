"""Campaigns that are killed: the runner or a worker, at many moments; what comes of them is as if nothing had been."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.campaigns.running import opened, run
from experiments.campaigns.store import Store
from tests.experiments.campaigns.conftest import KILLED, WORKING, Write, command, ended, results
from tests.processes import command_of, session_of, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up as Linux shows them")

Started = subprocess.Popen[str]
Start = Callable[..., Started]
Table = tuple[bytes, bytes]

CELLS = 48


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.txt"
    path.touch()
    return path


@pytest.fixture
def study(write: Write) -> str:
    return write(KILLED, "killed.py")


@pytest.fixture
def undisturbed(study: str, tmp_path: Path) -> Table:
    chosen = {"wait_s": 0.0, "log": os.devnull}
    campaign = run(study, out=tmp_path / "undisturbed", scale="smoke", workers=0, chosen=chosen)
    assert campaign.complete
    return results(tmp_path / "undisturbed")


@pytest.fixture
def start(study: str, log: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a run by the command line, in a session of its own; at the end nothing of it may be left."""
    started: list[Started] = []

    def begun(*options: str, **settings: object) -> Started:
        process = subprocess.Popen(
            command(study, "--out=out", *options, **{"log": log, **settings}),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begun
    for process in started:
        process.wait()
        until(lambda session=process.pid: not session_of(session))  # type: ignore[misc]
        process.communicate()


def files(out: Path) -> int:
    return len(list(out.glob("cells/[!.]*.parquet")))


def workers_of(process: Started) -> list[int]:
    return [other for other in session_of(process.pid) if "spawn_main" in command_of(other)]


def let_run(process: Started, seconds: float) -> None:
    """Let a process run for a while, or until it ends."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, process, may_end=True)


def ran(log: Path) -> list[int]:
    """Return the numbers of the cells that were begun."""
    return [int(line.split()[0]) for line in log.read_text().splitlines()]


def done(out: Path) -> set[int]:
    """Return the numbers of the cells that are done."""
    if not (out / "manifest.json").exists():
        return set()
    table = opened(out, trust=True).results().table
    return set(table["number"]) if len(table) else set()


# -- the runner -------------------------------------------------------------------------------------


def test_a_runner_that_is_killed_again_and_again_loses_no_more_than_what_was_under_way(
    start: Start, undisturbed: Table, study: str, log: Path, tmp_path: Path
) -> None:
    """Each time when some more files are there; no process is left behind, which `start` sees to."""
    out, kills = tmp_path / "out", 0
    for more in (0, 1, 3):
        before, begun, target = done(out), len(ran(log)), files(out) + more
        process = start("--workers=2")
        # Some more files are there, or the first cell has begun.
        until(lambda: files(out) >= target if more else len(ran(log)) > begun, process, may_end=True)  # noqa: B023
        process.kill()
        process.wait()
        kills += process.returncode == -signal.SIGKILL
        assert before <= done(out)  # nothing that was there is lost
        assert not set(ran(log)[begun:]) & before  # nor run again
        until(lambda: not session_of(process.pid))  # noqa: B023
    assert kills >= 2
    kept, begun = done(out), len(ran(log))
    assert run(study, out=out, scale="smoke", workers=0, chosen={"log": str(log)}).complete
    assert not set(ran(log)[begun:]) & kept
    assert sorted(set(ran(log))) == list(range(CELLS))
    assert results(out) == undisturbed
    assert not list(out.rglob(".*.parquet"))
    states = [json.loads(path.read_text("utf-8"))["state"] for path in (out / "runs").iterdir()]
    assert states.count("finished") == 1


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8))
def test_a_runner_that_is_killed_at_drawn_moments_comes_to_the_same(
    seed: int, start: Start, undisturbed: Table, log: Path, study: str, tmp_path: Path
) -> None:
    out, drawn = tmp_path / "out", random.Random(seed)
    for _ in range(12):
        process = start("--workers=2")
        let_run(process, drawn.uniform(0.2, 4.0))
        process.kill()
        process.wait()
    process = start("--workers=2")
    process.communicate()
    assert process.returncode == 0
    assert results(out) == undisturbed


MOMENTS = """
'''Run a campaign in a child that kills itself at the n-th time that it touches the disk, for each n; then go on.

Each child is a copy (fork) of this process, which has imported all but run nothing.
'''
import os, signal, sys, traceback
from pathlib import Path
import experiments.campaigns.execution.loop as loop
import simmodels.ground.files as files
from experiments.campaigns.report import write_report
from experiments.campaigns.running import opened, run
from experiments.campaigns.store import Store

study, folder, step = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
chosen = {"wait_s": 0.0, "log": os.devnull, "number": list(range(9))}
loop.LOOSE = 3  # files are put together often
Store.compact.__defaults__ = (2,)


def campaign(out):
    return run(study, out=out, scale="smoke", workers=0, chosen=chosen)


def in_child(work):
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def deadly(moment):
    count = 0

    def at(function, half):
        def called(*args, **kwargs):
            nonlocal count
            count += 1
            if count == moment:
                half(*args)
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)
        return called

    def nothing(*_):
        pass

    def half_of_it(path, content, *_):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2] if isinstance(content, bytes) else content[:9].encode())

    Path.write_bytes = at(Path.write_bytes, half_of_it)
    Path.write_text = at(Path.write_text, half_of_it)
    Path.replace = at(Path.replace, nothing)
    Path.unlink = at(Path.unlink, nothing)
    Path.mkdir = at(Path.mkdir, nothing)
    files._force = at(files._force, nothing)


def finished(out):
    assert campaign(out).complete
    assert not list(out.rglob(".*.json")) and not list(out.rglob(".*.parquet"))
    write_report(opened(out, trust=True))


def rows(out):
    return (out / "results.csv").read_bytes(), (out / "results.parquet").read_bytes()


assert in_child(lambda: finished(folder / "undisturbed")) == 0
moment, killed = 1, 0
while True:
    out = folder / str(moment)
    status = in_child(lambda: (deadly(moment), campaign(out)))
    assert in_child(lambda: finished(out)) == 0, moment
    assert rows(out) == rows(folder / "undisturbed"), moment
    if status == 0:
        break
    assert status == -signal.SIGKILL, (moment, status)
    killed += 1
    moment += step
print(killed)
"""


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.full)])
def test_a_runner_that_is_killed_whenever_it_touches_the_disk_comes_to_the_same(
    step: int, write: Write, study: str, tmp_path: Path
) -> None:
    """Half-way through a file, before it is forced to disk, before it has its name, before an old one goes."""
    script = write(MOMENTS, "moments.py")
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = ended([sys.executable, script, study, str(tmp_path), str(step)], tmp_path, env=one_thread)
    assert process.returncode == 0, process.stderr
    assert int(process.stdout) > 40 // step


# -- workers ----------------------------------------------------------------------------------------


def test_a_campaign_whose_workers_are_killed_again_and_again_comes_to_the_same(
    start: Start, undisturbed: Table, log: Path, tmp_path: Path
) -> None:
    """Whenever this many cells have begun: the worker that began the last of them, in the midst of it."""
    process = start("--workers=2")
    for begun in (1, 2, 5, 11, 20, 28, 37):
        until(lambda: len(ran(log)) >= begun, process, may_end=True)  # noqa: B023  it is called at once
        worker = int(log.read_text().splitlines()[-1].split()[1])
        if worker in session_of(process.pid):
            os.kill(worker, signal.SIGKILL)
    _, reported = process.communicate()
    assert process.returncode == 0, reported
    assert "Traceback" not in reported
    assert Store(tmp_path / "out").failed() == {}
    assert results(tmp_path / "out") == undisturbed


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12))
def test_workers_killed_at_drawn_moments_also_as_they_begin_are_no_fault_of_the_cells(
    seed: int, start: Start, undisturbed: Table, tmp_path: Path
) -> None:
    """Three deaths are too few to blame a cell (four) or the start of workers (five in a row), however slow it is."""
    drawn = random.Random(seed)
    process = start("--workers=2", wait_s=0.1)
    for _ in range(3):
        let_run(process, drawn.uniform(0.2, 2.5))
        workers = workers_of(process)
        if workers:
            os.kill(drawn.choice(workers), signal.SIGKILL)
    _, reported = process.communicate()
    assert process.returncode == 0, reported
    assert results(tmp_path / "out") == undisturbed


def test_cells_that_kill_their_worker_are_found_and_do_not_stop_the_others(
    start: Start, undisturbed: Table, tmp_path: Path
) -> None:
    process = start("--workers=2", "--json", wait_s=0.001, killers="8 31")
    answer, reported = process.communicate()
    assert process.returncode == 1, reported
    assert "Traceback" not in reported
    assert json.loads(answer)["cells"] == {"planned": CELLS, "done": CELLS - 2, "run": CELLS, "failed": 2}
    failed = Store(tmp_path / "out").failed().values()
    assert sorted(about["cell"]["number"] for about in failed) == [8, 31]
    assert all("its worker died while it ran alone" in about["error"] for about in failed)
    lines = [line for line in undisturbed[0].decode().splitlines() if line.split(",")[0] not in {"8", "31"}]
    assert (tmp_path / "out" / "results.csv").read_text("utf-8").splitlines() == lines


# -- Ctrl-C and batch systems -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "everyone"),
    [
        pytest.param(signal.SIGINT, True, id="SIGINT to all of them"),
        pytest.param(signal.SIGTERM, False, id="SIGTERM to the runner"),
        pytest.param(signal.SIGINT, False, id="SIGINT to the runner", marks=pytest.mark.full),
        pytest.param(signal.SIGTERM, True, id="SIGTERM to all of them", marks=pytest.mark.full),
    ],
)
def test_a_signal_ends_a_run_cleanly_and_the_same_command_goes_on(
    sent: signal.Signals, everyone: bool, start: Start, undisturbed: Table, log: Path, study: str, tmp_path: Path
) -> None:
    """A terminal sends Ctrl-C to all processes of the command, as some batch systems do with SIGTERM."""
    out = tmp_path / "out"
    process = start("--workers=2", wait_s=0.05)
    until(lambda: files(out) >= 3, process, may_end=True)
    before = done(out)
    (os.killpg if everyone else os.kill)(process.pid, sent)
    answer, reported = process.communicate()
    assert (process.returncode, answer) == (130, "")
    assert "Traceback" not in reported
    *_, count, last = reported.splitlines()
    assert re.fullmatch(rf"killed: \d+ of {CELLS} cells are done, \d+ run just now", count)
    assert last == "error: interrupted; nothing finished is lost: the same command goes on where this one stopped"
    until(lambda: not session_of(process.pid))
    assert before <= done(out)
    [about] = [json.loads(path.read_text("utf-8")) for path in (out / "runs").iterdir()]
    assert about["state"] == "interrupted"
    kept, begun = done(out), len(ran(log))
    assert run(study, out=out, scale="smoke", workers=0, chosen={"log": str(log), "wait_s": 0.05}).complete
    assert not set(ran(log)[begun:]) & kept
    assert results(out) == undisturbed


@pytest.mark.parametrize("number", [2, pytest.param(12, marks=pytest.mark.full)])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_while_workers_begin_leaves_no_traceback_and_no_process(
    sent: signal.Signals, number: int, start: Start, tmp_path: Path
) -> None:
    drawn = random.Random(number)
    for _ in range(number):
        process = start("--workers=3", wait_s=10)
        until(lambda: workers_of(process), process, may_end=True)  # noqa: B023  it is called at once
        let_run(process, drawn.uniform(0.0, 1.0))
        os.killpg(process.pid, sent)
        _, reported = process.communicate()
        assert process.returncode == 130
        assert "Traceback" not in reported
        until(lambda: not session_of(process.pid))  # noqa: B023
    assert done(tmp_path / "out") == set()


def test_a_runner_that_is_killed_takes_cells_in_compiled_code_with_it(write: Write, tmp_path: Path) -> None:
    words = command(write(WORKING, "working.py"), "--out=out", "--workers=1", folder=tmp_path, what="long")
    process = subprocess.Popen(words, cwd=tmp_path, text=True, start_new_session=True)
    until(lambda: list(tmp_path.glob("waits*")), process, may_end=True)
    process.kill()
    process.wait()
    until(lambda: not session_of(process.pid))
