import errno
import os
import random
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from experiments.campaigns.execution import loop as module
from experiments.campaigns.execution.backends import Backend, InProcess
from experiments.campaigns.execution.batches import Job, Outcome, run_batch
from experiments.campaigns.execution.loop import Loop
from experiments.campaigns.execution.workers import CellTimeoutError
from experiments.campaigns.planning.plan import Plan, Shipment
from experiments.campaigns.progress import Counting
from experiments.campaigns.store import Store
from simmodels.errors import RequestError, StoppedError
from tests.refused import refused

STUDY = """
    from experiments.campaigns import Scale, Study


    class Many(Study):
        factors = {"number": list(range(60))}
        scales = {"smoke": Scale()}

        def run_cell(self, cell):
            if cell["number"] == 13:
                raise ArithmeticError("thirteen")
            return [{"x": cell["number"] + part, "u": cell.stream("u").random()} for part in range(cell["number"] % 3)]
"""
CELLS = 60


class Died(Exception):  # noqa: N818  it is what happened
    pass


def numbers_of(jobs: Sequence[Job]) -> list[int]:
    return [int(str(factors["number"])) for _, factors, _ in jobs]


class Shuffling(Backend):
    """A place that ends a batch whenever one is waited for, in a drawn order; workers die at given batches."""

    lost = (Died, CancelledError)

    def __init__(self, shipment: Shipment, *, seed: int = 0, workers: int = 3) -> None:
        super().__init__(shipment)
        self.workers = workers
        self.drawn = random.Random(seed)
        self.under_way: list[tuple[Future[Outcome], Sequence[Job]]] = []
        self.sent: list[list[int]] = []  # what was sent, by the numbers of the cells
        self.most = 0
        self.restarts = 0
        self.killers: set[int] = set()
        self.deaths: dict[int, int] = {}  # how often the worker of a cell is to die, though it is no fault of the cell
        self.all_die = False  # when one dies, the batches of all are lost
        self.before: Callable[[Sequence[Job]], object] = len  # what a worker does before it runs a batch

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        self.sent.append(numbers_of(jobs))
        self.under_way.append((future, jobs))
        self.most = max(self.most, len(self.under_way))
        return future

    def restart(self) -> None:
        self.restarts += 1

    def wait(self, flying: Iterable[Future[Outcome]], **_: object) -> Any:  # noqa: ANN401  as the real one
        if self.under_way:
            self._end(*self.under_way.pop(self.drawn.randrange(len(self.under_way))))
        return wait(flying, timeout=0)

    def _end(self, future: Future[Outcome], jobs: Sequence[Job]) -> None:
        if self._dies(numbers_of(jobs)):
            lost = [future]
            if self.all_die:
                lost += [other for other, _ in self.under_way]
                self.under_way.clear()
            for one in lost:
                one.set_exception(Died())
            return
        try:
            self.before(jobs)
            future.set_result(run_batch(self.shipment, jobs))
        except Exception as error:  # noqa: BLE001  it is for the one who waits for the future
            future.set_exception(error)

    def _dies(self, numbers: Sequence[int]) -> bool:
        for number in numbers:
            if self.deaths.get(number, 0):
                self.deaths[number] -= 1
                return True
        return not self.killers.isdisjoint(numbers)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("many") / "many.py"
    path.write_text(textwrap.dedent(STUDY), "utf-8")
    return Plan.of(str(path), "smoke", 0)


def run(plan: Plan, where: Backend, folder: Path) -> tuple[Store, Counting]:
    store, counting = Store(folder), Counting(CELLS, quiet=True)
    with where, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "wait", getattr(where, "wait", wait))
        Loop(where, plan, range(CELLS), store, counting).run()
    return store, counting


@pytest.fixture(scope="module")
def undisturbed(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    store, _ = run(plan, InProcess(plan.shipment), tmp_path_factory.mktemp("undisturbed"))
    assert len(store.done()) == CELLS - 1
    return store.table(plan.cells, plan.keys)


def failed(store: Store, plan: Plan) -> dict[Any, str]:
    """Return the errors of the cells that failed, by their numbers."""
    return {plan.cells[plan.keys.index(key)]["number"]: about["error"] for key, about in store.failed().items()}


def assert_lost(lost: set[int], error: str, ran: tuple[Store, Counting], plan: Plan, undisturbed: pd.DataFrame) -> None:
    """Check that these cells failed for this reason, that another did as always, and that no row of others is lost."""
    store, counting = ran
    found = failed(store, plan)
    assert found.keys() == lost | {13}
    assert all(error in found[number] for number in lost)
    assert (counting.done, counting.failed) == (CELLS, len(lost) + 1)
    expected = undisturbed[~undisturbed["number"].isin(lost)].reset_index(drop=True)
    pd.testing.assert_frame_equal(store.table(plan.cells, plan.keys), expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_table_is_the_same_whatever_the_order_in_which_batches_end(
    seed: int, plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, seed=seed, workers=1 + seed)
    assert_lost(set(), "", run(plan, where, tmp_path / "shuffled"), plan, undisturbed)
    assert sorted(number for numbers in where.sent for number in numbers) == list(range(CELLS))
    assert where.sent[0] == [0], "the first goes alone"
    assert where.most <= 2 * (1 + seed), "no more is under way than keeps the workers busy"


@pytest.mark.parametrize("all_die", [False, True])
@pytest.mark.parametrize("killers", [{0}, {59}, {7, 8}, {0, 20, 40, 41, 59}])
def test_a_cell_that_kills_its_worker_is_found_and_no_other_is_taken_for_it(
    killers: set[int], all_die: bool, plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, seed=5)
    where.killers, where.all_die = killers, all_die
    ran = run(plan, where, tmp_path / "killed")
    assert where.restarts > 0
    assert_lost(killers, "its worker died while it ran alone", ran, plan, undisturbed)


@pytest.mark.parametrize("all_die", [False, True])
@pytest.mark.parametrize("deaths", [{5: 1}, {5: 3}, dict.fromkeys((0, 5, 30, 31, 58), 1)])
def test_cells_whose_worker_was_killed_by_others_are_run_again(
    deaths: dict[int, int], all_die: bool, plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, seed=2)
    where.all_die, where.deaths = all_die, dict(deaths)
    assert_lost(set(), "", run(plan, where, tmp_path / "killed"), plan, undisturbed)
    assert not any(where.deaths.values())


@pytest.mark.parametrize("greedy", [{0}, {59}, {7, 8, 40}])
def test_a_cell_of_which_no_file_can_be_made_is_found_and_does_not_stop_the_others(
    greedy: set[int], plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    def without_memory(jobs: Sequence[Job]) -> None:
        if not greedy.isdisjoint(numbers_of(jobs)):
            raise MemoryError("no room")

    where = Shuffling(plan.shipment, seed=3)
    where.before = without_memory
    error = "what came of it was lost though it ran alone: MemoryError: no room"
    assert_lost(greedy, error, run(plan, where, tmp_path / "out"), plan, undisturbed)


def test_a_cell_that_takes_what_it_needs_to_be_written_is_found_unless_nothing_can_be_written(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell in the runner's own process that leaves no file to be opened; a full disk is another matter."""
    add, write, key = Store.add, Store.write, plan.keys[20]
    unwritable: list[str] = []

    def stopped(code: int) -> StoppedError:
        error = StoppedError("cannot write")
        error.__cause__ = OSError(code, os.strerror(code))
        return error

    def added(self: Store, keys: Sequence[str], content: bytes) -> str:
        if key in keys:
            raise stopped(errno.EMFILE)
        return add(self, keys, content)

    def written(self: Store, name: str, content: Mapping[str, Any]) -> None:
        if name in unwritable:
            raise stopped(errno.EMFILE)
        write(self, name, content)

    monkeypatch.setattr(Store, "add", added)
    monkeypatch.setattr(Store, "write", written)
    store, _ = run(plan, InProcess(plan.shipment), tmp_path / "out")
    assert failed(store, plan).keys() == {13, 20}
    unwritable.append(f"failures/{key}.json")
    with refused("...the cell (number 20, replication 0) failed, ...; cannot write; what was fi...", StoppedError):
        run(plan, InProcess(plan.shipment), tmp_path / "other")


def test_a_cell_that_runs_too_long_fails_and_those_with_it_are_run_again(
    plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    def limited(jobs: Sequence[Job]) -> None:
        for key, factors, _ in jobs:
            if factors["number"] in {0, 30, 31}:
                raise CellTimeoutError(key, 2.5)

    where = Shuffling(plan.shipment)
    where.before = limited
    ran = run(plan, where, tmp_path / "out")
    assert [number for numbers in where.sent for number in numbers].count(30) == 1
    assert_lost({0, 30, 31}, "it ran longer than the 2.5 s that a cell may take", ran, plan, undisturbed)


def test_a_worker_that_says_nothing_is_mentioned_though_others_deliver_and_then_after_twice_as_long(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = 0.0
    notes: list[str] = []

    class Held(InProcess):
        workers = 2
        sent = 0
        held: Future[Outcome] = Future()

        def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
            nonlocal clock_s
            clock_s += 10.0
            done = super().submit(jobs)
            self.sent += len(jobs)
            if self.sent == CELLS:  # the others have all been delivered
                self.held.set_result(self.first)
            if jobs[0][1]["number"] != 0:
                return done
            self.first = done.result()
            return self.held

    monkeypatch.setattr(module, "_FIRST_ALONE_S", 0.0)
    monkeypatch.setattr(module, "_LARGEST_BATCH", 1)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock_s))
    monkeypatch.setattr(Counting, "print_note", lambda _, text: notes.append(text))
    store, _ = run(plan, Held(plan.shipment), tmp_path / "out")
    assert notes[:3] == [f"no word for {s} s from the cell (number 0, replication 0)" for s in (60, 120, 240)]
    assert len(store.done()) == CELLS - 1


def test_files_are_put_together_now_and_then(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = []
    monkeypatch.setattr(module, "LOOSE", 4)
    monkeypatch.setattr(Store, "compact", lambda *_: times.append(1))
    where = Shuffling(plan.shipment)
    run(plan, where, tmp_path / "out")
    assert len(times) == len(where.sent) // 5


def test_an_error_of_the_worker_itself_ends_the_run_and_keeps_what_was_done(plan: Plan, tmp_path: Path) -> None:
    class Failing(InProcess):
        error: Exception = ImportError("No module named 'experiments'")

        def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
            if jobs[0][1]["number"] == 0:
                return super().submit(jobs)
            failing: Future[Outcome] = Future()
            failing.set_exception(self.error)
            return failing

    where = Failing(plan.shipment)
    with pytest.raises(RequestError, match="a worker cannot run cells: No module named 'experiments'; schedlab must"):
        run(plan, where, tmp_path / "out")
    where.error = StoppedError("it has gone")
    with pytest.raises(StoppedError, match="it has gone"):
        run(plan, where, tmp_path / "out")
    assert len(Store(tmp_path / "out").done()) == 1


def test_batches_are_as_long_as_asked_and_shorter_towards_the_end(plan: Plan, tmp_path: Path) -> None:
    counting = Counting(CELLS, quiet=True)
    loop = Loop(Shuffling(plan.shipment, workers=2), plan, range(CELLS), Store(tmp_path / "out"), counting)
    assert loop._size() == 1  # nothing is known yet
    counting.add(10, 0, 10 * 0.25)
    assert loop._size() == 4  # a second
    counting.add(90, 0, 0.0)  # 25 ms each
    assert loop._size() == 15  # a fourth of what is left: two workers, two batches each
    for _ in range(CELLS - 10):
        loop._waiting.pop()
    assert loop._size() == 4  # a tenth of a second
    counting.add(0, 0, 1e6)
    assert loop._size() == 1  # one cell takes longer than a batch should
