import faulthandler
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest

from experiments.campaigns import backends
from experiments.campaigns.backends import Backend, Dask, InProcess, Processes
from experiments.campaigns.batches import Job, Outcome
from experiments.campaigns.plan import Plan
from experiments.campaigns.progress import Counting
from experiments.campaigns.report import write_report
from experiments.campaigns.running import opened, run
from experiments.campaigns.store import Store
from experiments.campaigns.workers import CellTimeoutError, WorkerDiedError
from simmodels.errors import RequestError, StoppedError
from tests.processes import session_of

ROOT = Path(__file__).resolve().parents[3]
Write = Callable[..., str]

STUDY = """
    import os, signal, sys, threading, time
    from experiments.campaigns import Scale, Study


    class Working(Study):
        parameters = {"folder": "."}
        factors = {
            "what": ["well", "fail", "die", "half", "wait", "long", "greedy", "unsent"],
            "number": list(range(8)),
        }
        scales = {"smoke": Scale()}

        def run_cell(self, cell):
            return getattr(self, cell["what"])(cell) or {
                "x": cell.stream("u").random(),
                "process": os.getpid(),
                "threads": os.environ["OMP_NUM_THREADS"],
            }

        def well(self, cell):
            print("printed by a cell")

        def fail(self, cell):
            raise ArithmeticError("bad")

        def die(self, cell):
            os.kill(os.getpid(), signal.SIGKILL)

        def half(self, cell):
            from multiprocessing.connection import Connection

            def dying(line, content):
                os.write(line.fileno(), bytes(content)[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)

            Connection._send = dying

        def greedy(self, cell):
            import experiments.campaigns.batches as batches

            parquet = batches.parquet

            def refused(table):
                batches.parquet = parquet
                raise MemoryError("no room for the file")

            batches.parquet = refused

        def unsent(self, cell):
            from experiments.campaigns.batches import Outcome

            def refused(outcome, protocol):
                del Outcome.__reduce_ex__
                raise MemoryError("no room for the message")

            Outcome.__reduce_ex__ = refused

        def wait(self, cell):
            open(os.path.join(cell["folder"], f"waits{cell['number']}"), "w").close()
            threading.Event().wait()

        def long(self, cell):
            import ctypes
            open(os.path.join(cell["folder"], f"waits{cell['number']}"), "w").close()
            ctypes.PyDLL(None).sleep(3600)  # as compiled code does, it keeps Python's lock
"""


@pytest.fixture
def plan(write: Write, tmp_path: Path) -> Plan:
    return Plan.of(write(STUDY, "working.py"), "smoke", 0, {"folder": str(tmp_path)})


@pytest.fixture
def jobs(plan: Plan) -> Callable[..., list[Job]]:
    def chosen(what: str, *numbers: int) -> list[Job]:
        return [
            (key, dict(cell.factors), cell.replication)
            for key, cell in zip(plan.keys, plan.cells, strict=True)
            if cell["what"] == what and cell["number"] in (numbers or range(8))
        ]

    return chosen


def until(condition: Callable[[], object], process: "subprocess.Popen[Any] | None" = None) -> None:
    """Wait for an event: something can be seen, or a process ended that would have to make it so."""
    patience = time.monotonic() + 120
    while not condition():
        assert process is None or process.poll() is None, "it ended before"
        assert time.monotonic() < patience, "it never came"
        time.sleep(0.005)


def runs(process: int) -> bool:
    """Return whether a process runs; one that only waits to be looked after is no more."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def values(future: Future[Outcome], column: str) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415  with its reader of files
    import pyarrow.parquet as pq  # noqa: PLC0415

    (_, content), *_ = future.result().files
    return pq.read_table(pa.BufferReader(content))[column].to_pylist()


# -- here -------------------------------------------------------------------------------------------


def test_here_a_batch_is_run_as_it_is_submitted(plan: Plan, jobs: Callable[..., list[Job]]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with InProcess(plan.shipment) as here:
        future = here.submit(jobs("well", 1, 2))
        assert future.done()
        assert values(future, "process") == [os.getpid()] * 2
        here.restart()


# -- processes --------------------------------------------------------------------------------------


@pytest.fixture
def two(plan: Plan) -> Iterator[Processes]:
    with Processes(plan.shipment, 2) as place:
        yield place


@pytest.mark.parametrize("workers", [0, -1])
def test_no_processes_are_refused(workers: int, plan: Plan) -> None:
    with pytest.raises(RequestError, match=rf"workers must be an integer from 1 to 2\*\*53 \(got {workers}\)"):
        Processes(plan.shipment, workers)


def test_nothing_can_be_submitted_to_a_place_that_is_not_entered(plan: Plan) -> None:
    with pytest.raises(RuntimeError, match="not entered"):
        Processes(plan.shipment, 1).submit([])


def test_processes_are_others_have_one_core_each_and_end_with_the_place(
    plan: Plan, jobs: Callable[..., list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with Processes(plan.shipment, 2) as place:
        futures = [place.submit(jobs("well", number)) for number in range(8)]
        processes = {values(future, "process")[0] for future in futures}
        assert os.getpid() not in processes
        assert 1 <= len(processes) <= 2
        assert {values(future, "threads")[0] for future in futures} == {"1"}
        assert all(map(runs, processes))
    assert not any(map(runs, processes))
    assert "OMP_NUM_THREADS" not in os.environ


def test_the_user_says_how_many_threads_a_worker_has(
    plan: Plan, jobs: Callable[..., list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with Processes(plan.shipment, 1) as place:
        assert values(place.submit(jobs("well", 1)), "threads") == ["3"]
    assert os.environ["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize("how", ["die", "half"])
def test_a_worker_that_dies_loses_its_own_batch_only_and_another_takes_its_place(
    how: str, two: Processes, jobs: Callable[..., list[Job]]
) -> None:
    """Also one that is killed while it sends its result, and so sends half of it."""
    lost, kept = two.submit(jobs(how, 1)), [two.submit(jobs("well", number)) for number in range(4)]
    assert isinstance(lost.exception(), two.lost)
    assert [len(future.result()) for future in kept] == [1] * 4


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (partial(signal.raise_signal, signal.SIGKILL), r"it was ended by SIGKILL (out of memory?)"),
        (partial(signal.raise_signal, signal.SIGSEGV), "it was ended by SIGSEGV"),
        (partial(os._exit, 3), "it ended with status 3"),
        (partial(os.closerange, 3, 100), "it ended with status 1"),
    ],
)
def test_how_a_worker_ended_is_said(end: Callable[[], None], text: str) -> None:
    with Processes(None, 1) as place:
        error = place.call(_ending, end).exception()
    assert (type(error), str(error)) == (WorkerDiedError, text)


def _ending(_: None, end: Callable[[], None]) -> None:
    faulthandler.disable()  # it would print where
    end()


@pytest.mark.parametrize("outside", [None, "elsewhere"])
def test_workers_share_a_folder_of_compiled_code_where_none_is_kept(
    outside: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "is_kept", lambda: False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    if outside is not None:
        monkeypatch.setenv("NUMBA_CACHE_DIR", outside)
    with Processes(None, 2) as place:
        folders = {place.call(_code_folder).result() for _ in range(4)}
        [folder] = folders
        assert Path(folder).is_dir()
    assert not Path(folder).exists()
    assert os.environ.get("NUMBA_CACHE_DIR") == outside


def _code_folder(_: None) -> str:
    return os.environ["NUMBA_CACHE_DIR"]


def test_a_cell_that_fails_is_reported_in_the_outcome(two: Processes, jobs: Callable[..., list[Job]]) -> None:
    outcome = two.submit([*jobs("well", 1), *jobs("fail", 2), *jobs("well", 3)]).result()
    assert len(outcome) == 3
    assert [failure.error for failure in outcome.failures] == ["ArithmeticError: bad"]
    assert "raise ArithmeticError" in outcome.failures[0].traceback


@pytest.mark.parametrize(("what", "text"), [("greedy", "no room for the file"), ("unsent", "no room for the message")])
def test_what_goes_wrong_after_a_cell_is_an_error_of_its_batch_and_the_worker_goes_on(
    what: str, text: str, plan: Plan, jobs: Callable[..., list[Job]]
) -> None:
    with Processes(plan.shipment, 1) as place:
        process = values(place.submit(jobs("well", 0)), "process")[0]
        error = place.submit(jobs(what, 1)).exception()
        assert isinstance(error, MemoryError)
        assert str(error) == text
        assert values(place.submit(jobs("well", 2)), "process") == [process]


@pytest.mark.parametrize("what", ["wait", "long"])
def test_a_cell_that_runs_too_long_is_named_and_its_worker_ended_and_replaced(
    what: str, plan: Plan, jobs: Callable[..., list[Job]], tmp_path: Path
) -> None:
    """Also one in compiled code, which no thread of its process can interrupt."""
    with Processes(plan.shipment, 1, limit_s=0.5) as place:
        process = values(place.submit(jobs("well", 0)), "process")[0]
        late = jobs(what, 1)
        error = place.submit([*jobs("well", 1, 2), *late, *jobs("well", 3)]).exception()
        assert isinstance(error, CellTimeoutError)
        assert (error.key, error.limit_s) == (late[0][0], 0.5)
        assert str(error) == "it ran longer than the 0.5 s that a cell may take, and its worker was ended"
        assert (tmp_path / "waits1").exists()
        assert values(place.submit(jobs("well", 4)), "process") != [process]
        assert not runs(process)


@pytest.mark.parametrize("what", ["wait", "long"])
def test_to_leave_the_place_ends_cells_that_never_end(
    what: str, plan: Plan, jobs: Callable[..., list[Job]], tmp_path: Path
) -> None:
    """Also those in compiled code, which no thread of their process can interrupt."""
    with Processes(plan.shipment, 2) as place:
        process = values(place.submit(jobs("well", 0)), "process")[0]
        futures = [place.submit(jobs(what, number)) for number in range(4)]
        until(lambda: len(list(tmp_path.glob("waits*"))) == 2)
    until(lambda: not runs(process))
    done, waiting = wait(futures, timeout=60)
    assert not waiting
    assert all(future.cancelled() or isinstance(future.exception(), WorkerDiedError) for future in done)
    assert sum(future.cancelled() for future in done) == 2


def test_workers_that_die_before_they_can_begin_are_no_fault_of_the_cells(
    plan: Plan, jobs: Callable[..., list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
    resource_tracker.ensure_running()  # or it would be the first to die
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with (
        Processes(plan.shipment, 2) as place,
        pytest.raises(StoppedError, match=f"no worker can be started: {backends._STILLBORN} died"),
    ):
        place.submit(jobs("well", 1)).result()


def test_processes_that_cannot_be_made_are_reported(
    plan: Plan, jobs: Callable[..., list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: float | None) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(backends, "Worker", refused)
    with (
        Processes(plan.shipment, 2) as place,
        pytest.raises(StoppedError, match="no worker can be started: resource temp"),
    ):
        place.submit(jobs("well", 1)).result()


def test_other_code_in_the_workers_is_refused(plan: Plan, jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    path = tmp_path / "working.py"
    path.write_text(path.read_text("utf-8").replace('"threads"', '"other"'), "utf-8")
    with Processes(plan.shipment, 1) as place, pytest.raises(RequestError, match="has other code"):
        place.submit(jobs("well", 1)).result()


def test_what_a_worker_cannot_do_is_reported_with_its_traceback(two: Processes) -> None:
    error = two.submit(3).exception()  # type: ignore[arg-type]
    assert isinstance(error, TypeError)
    assert "in run_batch" in error.__notes__[0]


def test_a_script_without_its_guard_learns_what_it_needs(write: Write, tmp_path: Path) -> None:
    study = write(STUDY, "working.py")
    script = write(
        f"from experiments.campaigns.running import run\nrun({study!r}, out='out', scale='smoke', workers=1)"
    )
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(
        f"simmodels.errors.StoppedError: no worker can be started: {backends._STILLBORN} died as they began"
    )
    assert 'if __name__ == "__main__"' in last
    assert Store(tmp_path / "out").failed() == {}


def test_what_a_cell_prints_is_no_answer_of_the_command(write: Write, tmp_path: Path) -> None:
    script = write(
        f"""
        from experiments.campaigns.running import run

        if __name__ == "__main__":
            chosen = {{"what": "well"}}
            print(run({write(STUDY, "working.py")!r}, out="out", scale="smoke", workers=2, chosen=chosen).done)
        """,
        "script.py",
    )
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "8\n")
    assert ended.stderr.splitlines() == ["printed by a cell"] * 8


@pytest.mark.parametrize("at", ["begin", "after"])
def test_an_interrupt_as_the_place_is_entered_leaves_no_process(at: str, write: Write, tmp_path: Path) -> None:
    """Neither within `begin`, nor when nobody is left to be asked to leave the backend: Python ends all the same."""
    script = write(
        f"""
        import sys
        from experiments.campaigns import backends
        from experiments.campaigns.plan import Plan

        def begin(crew, begin=backends._ProcessPool.begin):
            begin(crew)
            raise KeyboardInterrupt

        if __name__ == "__main__":
            if {at!r} == "begin":
                backends._ProcessPool.begin = begin
            place = backends.Processes(Plan.of({write(STUDY, "working.py")!r}, "smoke", 0).shipment, 2)
            try:
                place.__enter__()
            except KeyboardInterrupt:
                print([thread.is_alive() for thread in place._pool._threads])
        """,
        "script.py",
    )
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == ("[False, False]\n" if at == "begin" else "")


# -- dask -------------------------------------------------------------------------------------------

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
        self.workers = [
            self._start(
                "worker",
                "--scheduler-file",
                str(file),
                "--nthreads",
                "1",
                "--local-directory",
                str(folder / f"w{number}"),
            )
            for number in range(2)
        ]

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


def results(folder: Path) -> tuple[bytes, bytes]:
    write_report(opened(folder, trust=True))
    return (folder / "results.csv").read_bytes(), (folder / "results.parquet").read_bytes()


def start(study: str, folder: Path, address: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "experiments",
            "run",
            study,
            "--scale",
            "smoke",
            "--dask",
            address,
            "--out",
            str(folder),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(
    write: Write, tmp_path: Path, cluster: Cluster
) -> None:
    study, out = write(COUNTED, "counted.py"), tmp_path / "out"
    run(study, out=tmp_path / "here", scale="smoke", workers=0)
    process = start(study, out, cluster.address)
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
    process = start(study, out, cluster.address)
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
    study = write(STUDY, "working.py")
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
        process = start(study, tmp_path / "out", cluster.address)
        until(lambda: left() >= 2, process)  # one per worker
        process.kill()
        process.communicate()
        until(lambda: left() == 0)


def test_a_cluster_that_has_lost_its_workers_says_so(
    write: Write, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.campaigns.loop._FIRST_ALONE_S", 0.0)
    monkeypatch.setattr("experiments.campaigns.loop._SILENT_S", 0.01)
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


def test_a_cluster_that_is_not_there_is_reported(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_CONNECTING_S", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x", "tcp://127.0.0.1"):
        with pytest.raises(RequestError, match="no dask scheduler answers at"), Dask(plan.shipment, address):
            pytest.fail("there is one")


def test_tls_without_a_certificate_or_encryption_that_is_required_and_not_there_is_reported(plan: Plan) -> None:
    with (
        pytest.raises(
            RequestError, match=r"tls://127\.0\.0\.1:1 needs TLS, and dask is configured with no certificate"
        ),
        Dask(plan.shipment, "tls://127.0.0.1:1"),
    ):
        pytest.fail("there is one")
    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        pytest.raises(RequestError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1: .*encryption required"),
        Dask(plan.shipment, "tcp://127.0.0.1:1"),
    ):
        pytest.fail("there is one")


def test_a_cluster_without_workers_is_reported(plan: Plan, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for worker in cluster.workers:
        cluster.kill(worker)
    monkeypatch.setattr(backends, "_PATIENCE_S", 4.0)
    with pytest.raises(RequestError, match="has no workers after 4 s"), Dask(plan.shipment, cluster.address):
        pytest.fail("there are some")


def test_dask_that_is_not_installed_is_reported(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RequestError, match=r"--dask needs the package distributed; pip install"):
        Dask(plan.shipment, "tcp://127.0.0.1:1")


def test_all_places_say_which_errors_mean_that_a_worker_died(plan: Plan) -> None:
    assert InProcess.lost == Backend.lost == ()
    assert set(Processes.lost) == {WorkerDiedError, CancelledError}
    assert {distributed.KilledWorker, WorkerDiedError} < set(Dask(plan.shipment, "tcp://127.0.0.1:1").lost)
