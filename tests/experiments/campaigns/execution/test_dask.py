"""Campaigns on a cluster of dask: a scheduler and workers, each a process of its own on this machine."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from experiments.campaigns.execution import backends
from experiments.campaigns.execution.backends import Dask
from experiments.campaigns.execution.workers import WorkerDiedError
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.progress import Counting
from experiments.campaigns.running import run
from experiments.campaigns.store import Store
from tests.experiments.campaigns.conftest import KILLED, WORKING, Write, command, results
from tests.processes import ROOT, session_of, until
from tests.refused import refused

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@contextmanager
def started(words: list[str], folder: Path, **options: Any) -> "Iterator[subprocess.Popen[bytes]]":  # noqa: ANN401
    """Start a command in a session of its own, all of which is killed at the end."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, cwd=folder, **{**silent, **options}, start_new_session=True)
    try:
        yield process
    finally:
        kill(process)
        process.communicate()


def kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def address_in(file: Path, scheduler: "subprocess.Popen[bytes]") -> str:
    """Return the address that a scheduler writes to a file as it starts."""
    until(lambda: file.exists() and file.read_text("utf-8").rstrip().endswith("}"), scheduler)
    address: str = json.loads(file.read_text("utf-8"))["address"]
    return address


class Cluster(NamedTuple):
    """A scheduler and two workers, each a process of its own."""

    address: str
    scheduler: "subprocess.Popen[bytes]"
    workers: "list[subprocess.Popen[bytes]]"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    file, quiet = (
        folder / "scheduler.json",
        ["--scheduler-file", "scheduler.json", "--dashboard-address", "127.0.0.1:0"],
    )
    begin = [sys.executable, "-m", "dask"]
    with ExitStack() as stack:
        words = [*begin, "scheduler", "--host", "127.0.0.1", "--port", "0", *quiet]
        scheduler = stack.enter_context(started(words, folder))
        address = address_in(file, scheduler)
        words = [*begin, "worker", *quiet, "--nthreads", "1", "--local-directory"]
        workers = [stack.enter_context(started([*words, f"w{number}"], folder)) for number in range(2)]
        yield Cluster(address, scheduler, workers)


def start(study: str, folder: Path, cluster: Cluster) -> "subprocess.Popen[str]":
    """Start a run on a cluster."""
    words = command(study, f"--dask={cluster.address}", f"--out={folder}")
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_and_see_cells(study: str, folder: Path, cluster: Cluster) -> "subprocess.Popen[str]":
    """Start a run on a cluster, and wait until it has kept some cells."""
    process = start(study, folder, cluster)
    until(lambda: len(list(folder.glob("cells/[!.]*"))) >= 3, process)
    return process


GUIDE = (ROOT / "docs" / "howto" / "run-on-a-cluster.md").read_text("utf-8")


def listening(leaders: Iterable[int]) -> Iterator[str]:
    """Hand out the addresses on which the processes of some sessions listen, whatever for."""
    psutil = pytest.importorskip("psutil")  # dask needs it
    for leader in leaders:
        for process in session_of(leader):
            with suppress(psutil.NoSuchProcess):
                sockets = psutil.Process(process).net_connections("inet")
                yield from (socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN)


def test_what_the_guide_starts_listens_on_this_machine_only(tmp_path: Path) -> None:
    """Scheduler, workers, nannies, and the HTTP servers of all of them."""
    commands = re.findall(r"^\$ (dask (?:scheduler|worker) .*?) &", GUIDE, re.MULTILINE)
    assert all("--dashboard-address 127.0.0.1:0" in command for command in commands)
    with ExitStack() as stack:
        words = [[sys.executable, "-m", "dask", *shlex.split(command)[1:]] for command in commands[:2]]
        processes = [stack.enter_context(started(each, tmp_path)) for each in words]
        address = address_in(tmp_path / "scheduler.json", processes[0])
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        found = list(listening(process.pid for process in processes))
        assert (len(found), set(found)) == (8, {"127.0.0.1"})


def test_a_cluster_of_slurm_as_the_guide_starts_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    if find_spec("dask_jobqueue") is None:  # not imported here: it would take Ctrl-C for itself
        pytest.skip("dask_jobqueue is not installed")
    [script] = re.findall(r"save on_slurm\.py -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    waiting = re.sub(r"run\(.*", "print(flush=True)\n        input()", script).replace("workers(1)", "workers(2)")
    (tmp_path / "on_slurm.py").write_text(waiting, "utf-8")
    env = {**os.environ, "PATH": f"{ROOT / 'tests' / 'stand_ins'}{os.pathsep}{os.environ['PATH']}"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started([sys.executable, "on_slurm.py"], tmp_path, env=env, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        found = list(listening([process.pid]))
        assert (len(found) >= 8, set(found)) == (True, {"127.0.0.1"})


CELLS = 48


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(
    write: Write, tmp_path: Path, cluster: Cluster
) -> None:
    study, out = write(KILLED, "killed.py"), tmp_path / "out"
    run(study, out=tmp_path / "here", scale="smoke", workers=0)
    process = start_and_see_cells(study, out, cluster)
    kill(cluster.workers[0])
    _, reported = process.communicate()
    assert process.returncode == 0, reported
    assert "Traceback" not in reported
    assert results(out) == results(tmp_path / "here")


def test_a_scheduler_that_goes_is_reported_in_a_line_and_what_was_done_is_kept(
    write: Write, tmp_path: Path, cluster: Cluster
) -> None:
    study, out = write(KILLED, "killed.py"), tmp_path / "out"
    process = start_and_see_cells(study, out, cluster)
    kill(cluster.scheduler)
    answer, reported = process.communicate()
    assert (process.returncode, answer) == (1, "")
    *progress, last = reported.splitlines()
    gone = f"error: the dask scheduler at {cluster.address} has gone"
    assert last == f"{gone}; what was finished is kept, and the same command goes on"
    assert all(" cells, " in line for line in progress)
    done = Store(out).done()
    assert len(done) >= 3
    again = run(study, out=out, scale="smoke", workers=0)
    assert (again.run, again.complete) == (CELLS - len(done), True)


@pytest.mark.full
def test_a_cell_that_kills_its_worker_is_found_on_a_cluster_too(write: Write, tmp_path: Path, cluster: Cluster) -> None:
    chosen = {"killers": "7", "wait_s": 0.0}
    study = write(KILLED, "killed.py")
    campaign = run(study, out=tmp_path / "out", scale="smoke", dask=cluster.address, chosen=chosen)
    assert [about["cell"]["number"] for about in campaign.failed.values()] == [7]
    assert campaign.done == CELLS - 1


@pytest.mark.full
def test_a_cell_that_runs_too_long_is_ended_on_a_cluster_too(write: Write, tmp_path: Path, cluster: Cluster) -> None:
    study = write(WORKING, "working.py")
    chosen = {"folder": str(tmp_path), "what": ["well", "long"], "number": [1, 2]}
    campaign = run(study, out=tmp_path / "out", scale="smoke", dask=cluster.address, chosen=chosen, cell_timeout_s=2.0)
    assert [about["cell"]["what"] for about in campaign.failed.values()] == ["long", "long"]
    assert {about["error"] for about in campaign.failed.values()} == {
        "it ran longer than the 2 s that a cell may take, and its worker was ended"
    }
    assert campaign.done == 2


def test_a_runner_that_is_killed_leaves_nothing_on_the_workers(write: Write, tmp_path: Path, cluster: Cluster) -> None:
    study = write(KILLED.replace('"wait_s": 0.03', '"wait_s": 60.0'), "killed.py")

    def left() -> int:
        named = client.run(lambda dask_worker: sum(name.startswith("schedlab-") for name in dask_worker.plugins))
        return sum(named.values()) + client.run_on_scheduler(
            lambda dask_scheduler: sum(name.startswith("schedlab-") for name in dask_scheduler.plugins)
        )

    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        process = start(study, tmp_path / "out", cluster)
        until(lambda: left() >= 2, process)  # one per worker
        process.kill()
        process.communicate()
        until(lambda: left() == 0)


def test_a_cluster_that_has_lost_its_workers_says_so(
    write: Write, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.campaigns.execution.loop._FIRST_ALONE_S", 0.0)
    monkeypatch.setattr("experiments.campaigns.execution.loop._SILENT_S", 0.01)
    notes: list[str] = []

    def noted(_: Counting, text: str) -> None:
        notes.append(text)
        if notes == [text]:  # cells wait, and so it is said that there is no word
            for worker in cluster.workers:
                kill(worker)
        if "no workers" in text:
            raise KeyboardInterrupt

    monkeypatch.setattr(Counting, "print_note", noted)
    study = write(KILLED.replace('"wait_s": 0.03', '"wait_s": 60.0'), "killed.py")
    assert run(study, out=tmp_path / "out", scale="smoke", dask=cluster.address).interrupted
    assert notes[-1] == f"the scheduler at {cluster.address} has no workers; waiting for one"


@pytest.mark.parametrize(
    ("address", "more", "text"),
    [
        ("tcp://127.0.0.1:1", {}, "no dask scheduler answers at ..."),
        ("nonsense://x", {}, "no dask scheduler answers at ..."),
        ("tcp://127.0.0.1", {}, "no dask scheduler answers at ..."),
        ("tls://127.0.0.1:1", {}, "tls://127.0.0.1:1 needs TLS, and dask is configured with no certificate..."),
        (
            "tcp://127.0.0.1:1",
            {"distributed.comm.require-encryption": True},
            "no dask scheduler answers at tcp://127.0.0.1:1: ...encryption required...",
        ),
    ],
)
def test_a_cluster_that_is_not_there_is_reported(
    address: str, more: dict[str, bool], text: str, working: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "_CONNECTING_S", 0.5)
    with dask.config.set(more), refused(text), Dask(working.shipment, address):
        pytest.fail("there is one")


def test_a_cluster_without_workers_and_dask_that_is_not_installed_are_reported(
    working: Plan, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for worker in cluster.workers:
        kill(worker)
    monkeypatch.setattr(backends, "_PATIENCE_S", 4.0)
    with refused("...has no workers after 4 s..."), Dask(working.shipment, cluster.address):
        pytest.fail("there are some")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        refused("...--dask needs the package distributed; pip install..."),
        Dask(working.shipment, "tcp://127.0.0.1:1"),
    ):
        pytest.fail("it was found")


def test_a_cluster_says_which_errors_mean_that_a_worker_died(working: Plan) -> None:
    assert {distributed.KilledWorker, WorkerDiedError} < set(Dask(working.shipment, "tcp://127.0.0.1:1").lost)
