"""Campaigns on a cluster of dask: a scheduler and workers, each a process of its own on this machine."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from experiments.campaigns.execution import backends
from experiments.campaigns.execution.backends import Dask
from experiments.campaigns.execution.workers import WorkerDiedError
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.progress import Counting
from experiments.campaigns.running import run
from experiments.campaigns.store import Store
from tests.experiments.campaigns.conftest import WORKING, Write, command, results
from tests.processes import ROOT, session_of, until
from tests.refused import refused

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.started: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        until(file.exists, self.scheduler)
        until(lambda: file.read_text("utf-8").rstrip().endswith("}"), self.scheduler)
        self.address: str = json.loads(file.read_text("utf-8"))["address"]
        joined = ("--scheduler-file", str(file), "--nthreads", "1", "--local-directory")
        self.workers = [self._start("worker", *joined, str(folder / f"w{number}")) for number in range(2)]

    def _start(self, what: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{what}{len(self.started)}.txt").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", what, *arguments, "--dashboard-address", "127.0.0.1:0"],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that all of it can be killed
            )
        self.started.append(process)
        return process

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path / "cluster")
    yield started
    for process in started.started:
        if process.poll() is None:
            started.kill(process)


def start(study: str, folder: Path, cluster: Cluster) -> "subprocess.Popen[str]":
    """Start a run on a cluster."""
    words = command(study, f"--dask={cluster.address}", f"--out={folder}")
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


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
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *shlex.split(command)[1:]],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for command in commands[:2]
    ]
    try:
        file = tmp_path / "scheduler.json"
        until(lambda: file.exists() and file.read_text("utf-8").rstrip().endswith("}"), started[0])
        with distributed.Client(json.loads(file.read_text("utf-8"))["address"], set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        found = list(listening(process.pid for process in started))
        assert (len(found), set(found)) == (8, {"127.0.0.1"})
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_cluster_of_slurm_as_the_guide_starts_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    if find_spec("dask_jobqueue") is None:  # not imported here: it would take Ctrl-C for itself
        pytest.skip("dask_jobqueue is not installed")
    [script] = re.findall(r"save on_slurm\.py -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    waiting = re.sub(r"run\(.*", "print(flush=True)\n        input()", script).replace("workers(1)", "workers(2)")
    (tmp_path / "on_slurm.py").write_text(waiting, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "on_slurm.py"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{ROOT / 'tests' / 'stand_ins'}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        found = list(listening([process.pid]))
        assert (len(found) >= 8, set(found)) == (True, {"127.0.0.1"})
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


COUNTED = """
    import os, threading, time
    from experiments.campaigns import Scale, Study


    class Counted(Study):
        parameters = {"wait_s": 0.05, "dies": -1}
        factors = {"number": list(range(40))}
        scales = {"smoke": Scale()}

        def inputs(self, scale):
            return {"large": list(range(1000))}

        def run_cell(self, cell):
            if cell["number"] == cell["dies"]:
                os._exit(1)
            threading.Event().wait(cell["wait_s"])
            return {"x": cell.stream("u").random() + sum(cell.inputs["large"])}
"""


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(
    write: Write, tmp_path: Path, cluster: Cluster
) -> None:
    study, out = write(COUNTED, "counted.py"), tmp_path / "out"
    run(study, out=tmp_path / "here", scale="smoke", workers=0)
    process = start(study, out, cluster)
    until(lambda: len(list(out.glob("cells/[!.]*"))) >= 3, process)
    cluster.kill(cluster.workers[0])
    _, reported = process.communicate()
    assert process.returncode == 0, reported
    assert "Traceback" not in reported
    assert results(out) == results(tmp_path / "here")


def test_a_scheduler_that_goes_is_reported_in_a_line_and_what_was_done_is_kept(
    write: Write, tmp_path: Path, cluster: Cluster
) -> None:
    study, out = write(COUNTED, "counted.py"), tmp_path / "out"
    process = start(study, out, cluster)
    until(lambda: len(list(out.glob("cells/[!.]*"))) >= 3, process)
    cluster.kill(cluster.scheduler)
    answer, reported = process.communicate()
    assert (process.returncode, answer) == (1, "")
    *progress, last = reported.splitlines()
    assert last == (
        f"error: the dask scheduler at {cluster.address} has gone; what was finished is kept, "
        "and the same command goes on"
    )
    assert all(" cells, " in line for line in progress)
    done = Store(out).done()
    assert len(done) >= 3
    again = run(study, out=out, scale="smoke", workers=0)
    assert (again.run, again.complete) == (40 - len(done), True)
    run(study, out=tmp_path / "here", scale="smoke", workers=0)
    assert results(out) == results(tmp_path / "here")


@pytest.mark.full
def test_a_cell_that_kills_its_worker_is_found_on_a_cluster_too(write: Write, tmp_path: Path, cluster: Cluster) -> None:
    chosen = {"dies": 7, "wait_s": 0.0}
    study = write(COUNTED, "counted.py")
    campaign = run(study, out=tmp_path / "out", scale="smoke", dask=cluster.address, chosen=chosen)
    assert [about["cell"]["number"] for about in campaign.failed.values()] == [7]
    assert campaign.done == 39


@pytest.mark.full
def test_a_cell_that_runs_too_long_is_ended_on_a_cluster_too(
    write: Write, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write(WORKING, "working.py")
    chosen = {"folder": str(tmp_path), "what": ["well", "wait", "long"], "number": [1, 2]}
    campaign = run(study, out=tmp_path / "out", scale="smoke", dask=cluster.address, chosen=chosen, cell_timeout_s=2.0)
    assert sorted(about["cell"]["what"] for about in campaign.failed.values()) == ["long", "long", "wait", "wait"]
    assert {about["error"] for about in campaign.failed.values()} == {
        "it ran longer than the 2 s that a cell may take, and its worker was ended"
    }
    assert campaign.done == 2


def test_a_runner_that_is_killed_leaves_nothing_on_the_workers(write: Write, tmp_path: Path, cluster: Cluster) -> None:
    study = write(COUNTED.replace('"wait_s": 0.05', '"wait_s": 60.0'), "counted.py")

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
                cluster.kill(worker)
        if "no workers" in text:
            raise KeyboardInterrupt

    monkeypatch.setattr(Counting, "print_note", noted)
    study = write(COUNTED.replace('"wait_s": 0.05', '"wait_s": 60.0'), "counted.py")
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


def test_a_cluster_without_workers_is_reported(
    working: Plan, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for worker in cluster.workers:
        cluster.kill(worker)
    monkeypatch.setattr(backends, "_PATIENCE_S", 4.0)
    with refused("...has no workers after 4 s..."), Dask(working.shipment, cluster.address):
        pytest.fail("there are some")


def test_dask_that_is_not_installed_is_reported(working: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        refused("...--dask needs the package distributed; pip install..."),
        Dask(working.shipment, "tcp://127.0.0.1:1"),
    ):
        pytest.fail("it was found")


def test_a_cluster_says_which_errors_mean_that_a_worker_died(working: Plan) -> None:
    assert {distributed.KilledWorker, WorkerDiedError} < set(Dask(working.shipment, "tcp://127.0.0.1:1").lost)
