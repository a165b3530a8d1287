"""Several runners, or threads of one, that work on the folder of one campaign at the same time."""

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

from experiments.campaigns.store import Store
from tests.experiments.campaigns.cells import CELLS, KEYS, add, table

Start = Callable[[str, int], list[subprocess.Popen[str]]]


def test_a_file_that_goes_while_the_folder_is_read_takes_nothing_out_of_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another runner puts files together just after they were listed, each time again."""
    add(store, {place: {"x": place} for place in range(12)}, together=False)
    before, files, times = table(store), Store._files, 0

    def listed(self: Store) -> list[Path]:
        nonlocal times
        found = files(self)
        if self.folder == store.folder and self is not other and times < 5:
            times += 1
            other.compact(0)
            add(other, {times: {"x": times}})
        return found

    other = Store(store.folder)
    monkeypatch.setattr(Store, "_files", listed)
    for ask in ("done", "table", "compact"):
        times = 0
        add(other, {place: {"x": place} for place in range(12)}, together=False)
        fresh = Store(store.folder)
        if ask == "done":
            assert fresh.done() == set(KEYS[:12])
        elif ask == "table":
            pd.testing.assert_frame_equal(table(fresh), before)
        else:
            fresh.compact(0)
    monkeypatch.undo()
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)


def test_a_listing_that_misses_a_file_put_together_meanwhile_takes_nothing_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names in a folder are not read at one instant: what goes may be missed, and what came for it, too."""
    add(store, {place: {"x": place} for place in range(6)}, together=False)
    before, files, missed = table(store), Store._files, [4]

    def partial(self: Store) -> list[Path]:
        return files(self)[: -missed.pop()] if missed else files(self)

    monkeypatch.setattr(Store, "_files", partial)
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)


@pytest.fixture
def helpers(store: Store) -> Iterator[Start]:
    """Start processes that work on the store until their stdin is closed."""
    started: list[subprocess.Popen[str]] = []

    def start(work: str, count: int) -> list[subprocess.Popen[str]]:
        source = f"""
import random, sys, threading
from experiments.campaigns.rows import parquet, table_of
from experiments.campaigns.store import Store
store, drawn = Store(sys.argv[1]), random.Random(int(sys.argv[2]))
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
keys = [f"{{n:032x}}" for n in range({len(KEYS)})]
print("ready", flush=True)
rounds = 0
while not ended.is_set() or rounds < 20:
    rounds += 1
    {work}
"""
        for number in range(count):
            process = subprocess.Popen(
                [sys.executable, "-c", source, str(store.folder), str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            started.append(process)
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        return started

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Let helpers end, and see that nothing went wrong with them."""
    for process in processes:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")


def test_several_that_put_files_together_while_one_adds_and_one_reads_lose_nothing(
    store: Store, helpers: Start
) -> None:
    processes = helpers("store.compact(0)", 2)
    added: set[str] = set()
    for _ in range(4):
        for place in range(len(CELLS)):
            add(store, {place: {"x": place, "y": f"t{place}"}})
            added.add(KEYS[place])
            if place % 4 == 0:
                reader = Store(store.folder)
                assert reader.done() == added
                assert len(table(reader)) == len(added)
    ended(processes)
    assert table(Store(store.folder))["x"].tolist() == list(range(len(CELLS)))


def test_a_look_that_misses_a_file_and_what_went_into_it_is_not_the_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two others put files together: the first look sees one that is gone when it is read, the second sees nothing."""
    add(store, {0: {"x": 0}})
    looks = [[store.cells / "gone.parquet"], [], *[store._files()] * 2]
    monkeypatch.setattr(store, "_files", lambda: looks.pop(0))
    assert store.done() == {KEYS[0]}


def test_threads_of_one_program_may_each_have_a_store_of_the_same_folder(store: Store) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        own, drawn = Store(store.folder), random.Random(seed)
        try:
            for place in drawn.sample(range(len(CELLS)), len(CELLS)):
                add(own, {place: {"x": place}})
                own.compact(drawn.randrange(8))
                own.done()
        except BaseException as error:  # noqa: BLE001  it is looked at below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert table(Store(store.folder))["x"].tolist() == list(range(len(CELLS)))
