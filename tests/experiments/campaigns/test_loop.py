import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pytest

from experiments.campaigns import loop as module
from experiments.campaigns.batches import Job, Outcome, run_batch
from experiments.campaigns.loop import Loop
from experiments.campaigns.places import Here, Place
from experiments.campaigns.plan import Plan, Shipment
from experiments.campaigns.progress import Counting
from experiments.campaigns.store import Store
from simmodels.errors import RequestError, StoppedError

Write = Callable[..., str]

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


class Shuffling(Place):
    """A place of threads that ends batches in a drawn order, and whose workers die where they are told to."""

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
        self.deaths: dict[int, int] = {}  # how often the worker of a cell shall die, though it is no fault of the cell
        self.all_die = False  # when one dies, the batches of all are lost
        self._changed = threading.Condition()
        self._left = False

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        with self._changed:
            self.sent.append([int(str(factors["number"])) for _, factors, _ in jobs])
            self.under_way.append((future, jobs))
            self.most = max(self.most, len(self.under_way))
            self._changed.notify()
        return future

    def restart(self) -> None:
        self.restarts += 1

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._left = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._left or self.under_way)
                if self._left:
                    return
                future, jobs = self.under_way.pop(self.drawn.randrange(len(self.under_way)))
                died = self._dies(jobs)
                lost = [future] if died else []
                if died and self.all_die:
                    lost += [other for other, _ in self.under_way]
                    self.under_way.clear()
            for one in lost:
                one.set_exception(Died())
            if not died:
                future.set_result(run_batch(self.shipment, jobs))

    def _dies(self, jobs: Sequence[Job]) -> bool:
        numbers = [int(str(factors["number"])) for _, factors, _ in jobs]
        for number in numbers:
            if self.deaths.get(number, 0):
                self.deaths[number] -= 1
                return True
        return not self.killers.isdisjoint(numbers)


@pytest.fixture
def plan(write: Write) -> Plan:
    return Plan.of(write(STUDY, "many.py"), "smoke", 0)


@pytest.fixture
def undisturbed(plan: Plan, tmp_path: Path) -> pd.DataFrame:
    store, where = Store(tmp_path / "undisturbed"), Here(plan.shipment)
    with where:
        Loop(where, plan, range(CELLS), store, Counting(CELLS, quiet=True)).run()
    assert len(store.done()) == CELLS - 1
    return store.table(plan.cells, plan.keys)


def run(plan: Plan, where: Place, folder: Path) -> tuple[Store, Counting]:
    store, counting = Store(folder), Counting(CELLS, quiet=True)
    with where:
        Loop(where, plan, range(CELLS), store, counting).run()
    return store, counting


def failed(store: Store, plan: Plan) -> set[Any]:
    return {plan.cells[plan.keys.index(key)]["number"] for key in store.failed()}


@pytest.mark.parametrize("seed", range(8))
def test_the_table_is_the_same_whatever_the_order_in_which_batches_end(
    seed: int, plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, seed=seed, workers=1 + seed)
    store, counting = run(plan, where, tmp_path / "shuffled")
    assert (counting.done, counting.failed) == (CELLS, 1)
    assert failed(store, plan) == {13}
    assert sorted(number for numbers in where.sent for number in numbers) == list(range(CELLS))
    pd.testing.assert_frame_equal(store.table(plan.cells, plan.keys), undisturbed)


def test_the_first_cell_goes_alone_and_no_more_is_under_way_than_keeps_the_workers_busy(
    plan: Plan, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, workers=3)
    run(plan, where, tmp_path / "out")
    assert where.sent[0] == [0]
    assert where.most <= 6


@pytest.mark.parametrize("all_die", [False, True])
@pytest.mark.parametrize("killers", [{0}, {59}, {7, 8}, {0, 20, 40, 41, 59}])
def test_a_cell_that_kills_its_worker_is_found_and_no_other_is_taken_for_it(
    killers: set[int], all_die: bool, plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, seed=5)
    where.killers, where.all_die = killers, all_die
    store, counting = run(plan, where, tmp_path / "killed")
    assert failed(store, plan) == killers | {13}
    assert (counting.done, counting.failed) == (CELLS, len(killers) + 1)
    assert where.restarts > 0
    for key, about in store.failed().items():
        if plan.cells[plan.keys.index(key)]["number"] in killers:
            assert "its worker died while it ran alone" in about["error"]
    expected = undisturbed[~undisturbed["number"].isin(killers)].reset_index(drop=True)
    pd.testing.assert_frame_equal(store.table(plan.cells, plan.keys), expected)


@pytest.mark.parametrize("all_die", [False, True])
@pytest.mark.parametrize("deaths", [{5: 1}, {5: 3}, dict.fromkeys((0, 5, 30, 31, 58), 1)])
def test_cells_whose_worker_was_killed_by_others_are_run_again(
    deaths: dict[int, int], all_die: bool, plan: Plan, undisturbed: pd.DataFrame, tmp_path: Path
) -> None:
    where = Shuffling(plan.shipment, seed=2)
    where.all_die, where.deaths = all_die, dict(deaths)
    store, _ = run(plan, where, tmp_path / "killed")
    assert not any(where.deaths.values())
    assert failed(store, plan) == {13}
    pd.testing.assert_frame_equal(store.table(plan.cells, plan.keys), undisturbed)


def test_files_are_put_together_now_and_then(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = []
    monkeypatch.setattr(module, "LOOSE", 4)
    monkeypatch.setattr(Store, "compact", lambda *_: times.append(1))
    where = Shuffling(plan.shipment)
    run(plan, where, tmp_path / "out")
    assert len(times) == len(where.sent) // 5


def test_an_error_of_the_worker_itself_ends_the_run_and_keeps_what_was_done(plan: Plan, tmp_path: Path) -> None:
    class Failing(Here):
        error: Exception = ImportError("No module named 'experiments'")

        def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
            future = super().submit(jobs)
            if jobs[0][1]["number"] == 0:
                return future
            failing: Future[Outcome] = Future()
            failing.set_exception(self.error)
            return failing

    where = Failing(plan.shipment)
    with pytest.raises(RequestError, match="a worker cannot run cells: No module named 'experiments'; schedlab must"):
        run(plan, where, tmp_path / "out")
    Failing.error = StoppedError("it has gone")
    with pytest.raises(StoppedError, match="it has gone"):
        run(plan, where, tmp_path / "out")
    assert len(Store(tmp_path / "out").done()) == 1


def test_batches_are_as_long_as_told_and_shorter_towards_the_end(plan: Plan, tmp_path: Path) -> None:
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
    assert loop._size() == 1  # one cell takes longer than a batch shall
