import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest

from experiments.campaigns.execution import backends
from experiments.campaigns.execution.backends import InProcess, Processes
from experiments.campaigns.execution.batches import Job, Outcome
from experiments.campaigns.execution.workers import CellTimeoutError, WorkerDiedError
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.store import Store
from simmodels.errors import StoppedError
from tests.experiments.campaigns.conftest import WORKING, Write, ended
from tests.processes import until
from tests.refused import refused

Jobs = Callable[..., list[Job]]


@pytest.fixture
def jobs(working: Plan) -> Jobs:
    def chosen(what: str, *numbers: int) -> list[Job]:
        return [
            (key, dict(cell.factors), cell.replication)
            for key, cell in zip(working.keys, working.cells, strict=True)
            if cell["what"] == what and cell["number"] in (numbers or range(8))
        ]

    return chosen


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


def test_here_a_batch_is_run_as_it_is_submitted(working: Plan, jobs: Jobs) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with InProcess(working.shipment) as here:
        future = here.submit(jobs("well", 1, 2))
        assert future.done()
        assert values(future, "process") == [os.getpid()] * 2
        here.restart()


# -- processes --------------------------------------------------------------------------------------


@pytest.fixture
def two(working: Plan) -> Iterator[Processes]:
    with Processes(working.shipment, 2) as place:
        yield place


def test_no_processes_are_refused_and_a_place_that_is_not_entered_takes_nothing(working: Plan) -> None:
    with refused("workers must be an integer from 1 to 2**53 (got 0)"):
        Processes(working.shipment, 0)
    with pytest.raises(RuntimeError, match="not entered"):
        Processes(working.shipment, 1).submit([])


def test_processes_are_others_have_one_core_each_unless_the_user_says_and_end_with_the_place(
    working: Plan, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with Processes(working.shipment, 2) as place:
        futures = [place.submit(jobs("well", number)) for number in range(8)]
        processes = {values(future, "process")[0] for future in futures}
        assert os.getpid() not in processes
        assert 1 <= len(processes) <= 2
        assert {values(future, "threads")[0] for future in futures} == {"1"}
        assert all(map(runs, processes))
    assert not any(map(runs, processes))
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with Processes(working.shipment, 1) as place:
        assert values(place.submit(jobs("well", 1)), "threads") == ["3"]
    assert os.environ["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize("how", ["die", "half"])
def test_a_worker_that_dies_loses_its_own_batch_only_and_another_takes_its_place(
    how: str, two: Processes, jobs: Jobs
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
    monkeypatch.delenv("SCHEDLAB_CACHE", raising=False)
    if outside is not None:
        monkeypatch.setenv("SCHEDLAB_CACHE", outside)
    with Processes(None, 2) as place:
        folders = {place.call(_code_folder).result() for _ in range(4)}
        [folder] = folders
        assert Path(folder).is_dir()
    assert not Path(folder).exists()
    assert os.environ.get("SCHEDLAB_CACHE") == outside


def _code_folder(_: None) -> str:
    return os.environ["SCHEDLAB_CACHE"]


@pytest.mark.parametrize(("what", "text"), [("greedy", "no room for the file"), ("unsent", "no room for the message")])
def test_what_goes_wrong_after_a_cell_is_an_error_of_its_batch_and_the_worker_goes_on(
    what: str, text: str, working: Plan, jobs: Jobs
) -> None:
    with Processes(working.shipment, 1) as place:
        process = values(place.submit(jobs("well", 0)), "process")[0]
        error = place.submit(jobs(what, 1)).exception()
        assert isinstance(error, MemoryError)
        assert str(error) == text
        assert values(place.submit(jobs("well", 2)), "process") == [process]


def test_a_cell_that_runs_too_long_is_named_and_its_worker_ended_and_replaced(
    working: Plan, jobs: Jobs, tmp_path: Path
) -> None:
    """In compiled code, which no thread of its process can interrupt."""
    with Processes(working.shipment, 1, limit_s=0.5) as place:
        process = values(place.submit(jobs("well", 0)), "process")[0]
        late = jobs("long", 1)
        error = place.submit([*jobs("well", 1, 2), *late, *jobs("well", 3)]).exception()
        assert isinstance(error, CellTimeoutError)
        assert (error.key, error.limit_s) == (late[0][0], 0.5)
        assert str(error) == "it ran longer than the 0.5 s that a cell may take, and its worker was ended"
        assert (tmp_path / "waits1").exists()
        assert values(place.submit(jobs("well", 4)), "process") != [process]
        assert not runs(process)


def test_to_leave_the_place_ends_cells_that_never_end(working: Plan, jobs: Jobs, tmp_path: Path) -> None:
    """Also those in compiled code, which no thread of their process can interrupt."""
    with Processes(working.shipment, 2) as place:
        process = values(place.submit(jobs("well", 0)), "process")[0]
        futures = [place.submit(jobs("long", number)) for number in range(4)]
        until(lambda: len(list(tmp_path.glob("waits*"))) == 2)
    until(lambda: not runs(process))
    done, waiting = wait(futures, timeout=60)
    assert not waiting
    assert all(future.cancelled() or isinstance(future.exception(), WorkerDiedError) for future in done)
    assert sum(future.cancelled() for future in done) == 2


def test_workers_that_die_before_they_can_begin_are_no_fault_of_the_cells(
    working: Plan, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource_tracker.ensure_running()  # or it would be the first to die
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    died = f"no worker can be started: {backends._STILLBORN} died..."
    with Processes(working.shipment, 2) as place, refused(died, StoppedError):
        place.submit(jobs("well", 1)).result()


def test_processes_that_cannot_be_made_are_reported(working: Plan, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_now(_: float | None) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(backends, "Worker", not_now)
    with Processes(working.shipment, 2) as place, refused("no worker can be started: resource temp...", StoppedError):
        place.submit(jobs("well", 1)).result()


def test_what_a_worker_cannot_do_is_reported_with_its_traceback(two: Processes) -> None:
    error = two.submit(3).exception()  # type: ignore[arg-type]
    assert isinstance(error, TypeError)
    assert "in run_batch" in error.__notes__[0]


def test_a_script_without_its_guard_learns_what_it_needs(write: Write, tmp_path: Path) -> None:
    study = write(WORKING, "working.py")
    asked = f"from experiments.campaigns.running import run\nrun({study!r}, out='out', scale='smoke', workers=1)"
    process = ended([sys.executable, write(asked)], tmp_path)
    assert process.returncode == 1
    last = process.stderr.splitlines()[-1]
    died = f"no worker can be started: {backends._STILLBORN} died as they began"
    assert last.startswith(f"simmodels.errors.StoppedError: {died}")
    assert 'if __name__ == "__main__"' in last
    assert Store(tmp_path / "out").failed() == {}


def test_what_a_cell_prints_is_no_answer_of_the_command(write: Write, tmp_path: Path) -> None:
    asked = write(
        f"""
        from experiments.campaigns.running import run

        if __name__ == "__main__":
            chosen = {{"what": "well"}}
            print(run({write(WORKING, "working.py")!r}, out="out", scale="smoke", workers=2, chosen=chosen).done)
        """,
        "script.py",
    )
    process = ended([sys.executable, asked], tmp_path)
    assert (process.returncode, process.stdout) == (0, "8\n")
    # Two workers may write a line at once: then both ends of lines follow both texts.
    assert "".join(process.stderr.splitlines()) == "printed by a cell" * 8
    assert process.stderr.count("\n") == 8


@pytest.mark.parametrize("at", ["begin", "after"])
def test_an_interrupt_as_the_place_is_entered_leaves_no_process(at: str, write: Write, tmp_path: Path) -> None:
    """Neither within `begin`, nor when nobody is left to be asked to leave the backend: Python ends all the same."""
    asked = write(
        f"""
        import sys
        from experiments.campaigns.execution import backends
        from experiments.campaigns.planning.plan import Plan

        def begin(crew, begin=backends.Processes._begin):
            begin(crew)
            raise KeyboardInterrupt

        if __name__ == "__main__":
            if {at!r} == "begin":
                backends.Processes._begin = begin
            place = backends.Processes(Plan.of({write(WORKING, "working.py")!r}, "smoke", 0).shipment, 2)
            try:
                place.__enter__()
            except KeyboardInterrupt:
                print([thread.is_alive() for thread in place._threads])
        """,
        "script.py",
    )
    process = ended([sys.executable, asked], tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == ("[False, False]\n" if at == "begin" else "")
