"""Several runners, or threads of one, that work on the folder of one campaign at the same time."""

import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.campaigns.rows import parquet, plain_rows, table_of
from experiments.campaigns.store import Store
from tests.experiments.campaigns.cells import CELLS, KEYS, add, table


def test_a_file_that_goes_while_the_folder_is_read_takes_nothing_out_of_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another runner puts files together just after they were listed, each time again."""
    rows = {place: {"x": place} for place in range(12)}
    add(store, rows, together=False)
    before, files, other = table(store), Store._files, Store(store.folder)
    left = 0

    def listed(self: Store) -> list[Path]:
        nonlocal left
        found = files(self)
        if self is not other and left:
            left -= 1
            other.compact(0)
            add(other, {left: {"x": left}})
        return found

    monkeypatch.setattr(Store, "_files", listed)
    for ask in (Store.done, table, Store.compact):
        add(other, rows, together=False)
        fresh, left = Store(store.folder), 5
        found = ask(fresh)
        if ask is Store.done:
            assert found == set(KEYS[:12])
        elif ask is table:
            pd.testing.assert_frame_equal(found, before)
    monkeypatch.undo()
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)


@pytest.fixture
def helpers(store: Store) -> Iterator[list[subprocess.Popen[str]]]:
    """Start two processes that put files together until their stdin is closed."""
    source = """
import sys, threading
from experiments.campaigns.rows import parquet, plain_rows, table_of
from experiments.campaigns.store import Store
store, ended, rounds = Store(sys.argv[1]), threading.Event(), 0
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
print("ready", flush=True)
while not ended.is_set() or rounds < 20:
    rounds += 1
    store.compact(0)
"""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    words = [sys.executable, "-c", source, str(store.folder)]
    started = [subprocess.Popen(words, text=True, **pipes) for _ in range(2)]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_several_that_put_files_together_while_one_adds_and_one_reads_lose_nothing(
    store: Store, helpers: list[subprocess.Popen[str]]
) -> None:
    added: set[str] = set()
    for _ in range(4):
        for place in range(len(CELLS)):
            add(store, {place: {"x": place, "y": f"t{place}"}})
            added.add(KEYS[place])
            if place % 4 == 0:
                reader = Store(store.folder)
                assert reader.done() == added
                assert len(table(reader)) == len(added)
    assert [process.communicate()[1] for process in helpers] == [""] * 2
    assert [process.returncode for process in helpers] == [0] * 2
    assert table(Store(store.folder))["x"].tolist() == list(range(len(CELLS)))


def test_a_look_that_misses_a_file_and_what_went_into_it_is_not_the_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two others put files together: the first look sees one that is gone when it is read, the second sees nothing."""
    add(store, {0: {"x": 0}})
    looks = [[store.cells / "gone.parquet"], [], *[store._files()] * 2]
    monkeypatch.setattr(store, "_files", lambda: looks.pop(0))
    assert store.done() == {KEYS[0]}


@pytest.mark.parametrize("seconds", range(8))  # the names, digests of these, decide what each would make
def test_two_that_put_different_files_of_the_same_cells_together_lose_none(
    store: Store, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """Each relies on what the other has read and is about to remove: (0, 1) and (1, 0) have the same cells."""

    def file(*places: int) -> Path:
        rows = [(KEYS[place], float(seconds), plain_rows({"x": place}, {})) for place in places]
        return store.cells / store.add([KEYS[place] for place in places], parquet(table_of(rows)))

    one, other = Store(store.folder), Store(store.folder)
    for runner, files in ((one, [file(0, 1), file(1)]), (other, [file(1, 0), file(0)])):
        monkeypatch.setattr(runner, "_files", lambda files=files: sorted(files))
    unlink, started = Path.unlink, []

    def meanwhile(path: Path, *, missing_ok: bool = False) -> None:
        if not started:
            started.append(path)
            other.compact(0)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", meanwhile)
    one.compact(0)
    assert started
    assert Store(store.folder).done() == set(KEYS[:2])


def test_threads_of_one_program_may_each_have_a_store_of_the_same_folder(store: Store) -> None:
    def work(seed: int) -> None:
        own, drawn = Store(store.folder), random.Random(seed)
        for place in drawn.sample(range(len(CELLS)), len(CELLS)):
            add(own, {place: {"x": place}})
            own.compact(drawn.randrange(8))
            own.done()

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(work, range(3))) == [None] * 3
    assert table(Store(store.folder))["x"].tolist() == list(range(len(CELLS)))
