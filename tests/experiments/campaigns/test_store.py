import errno
import hashlib
import itertools
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.campaigns import store as module
from experiments.campaigns.cell import Cell
from experiments.campaigns.rows import CELL, parquet, table_of
from experiments.campaigns.store import Failure, Store
from simmodels.errors import FileFormatError, RequestError, StoppedError
from tests.experiments.campaigns.cells import CELLS, KEYS, add, names, table
from tests.refused import refused

# -- cells and their table --------------------------------------------------------------------------


def test_the_table_has_factors_replication_then_what_was_measured_in_the_order_of_the_cells(store: Store) -> None:
    add(store, {3: [{"z": 1.5, "a": "x"}, {"z": 2.5, "a": "y"}]})
    add(store, {0: {"z": 0.5, "a": "w"}})
    found = table(store)
    assert found.columns.tolist() == ["kind", "replication", "a", "z"]
    assert found.to_dict("list") == {
        "kind": ["a", "b", "b"],
        "replication": [0, 1, 1],
        "a": ["w", "x", "y"],
        "z": [0.5, 1.5, 2.5],
    }


def test_a_cell_without_rows_is_done_and_has_no_line_and_one_that_is_done_twice_has_one(store: Store) -> None:
    assert (store.done(), len(table(store)), store.compact(0)) == (set(), 0, 0)
    assert table(store).columns.tolist() == ["kind", "replication"]
    add(store, {0: [], 1: {"x": 1}, 2: {"x": 2}})
    add(store, {2: {"x": 2}, 3: {"x": 3}})
    add(store, {2: {"x": 2}})
    assert table(store)["x"].tolist() == [1, 2, 3]
    store.compact(0)
    assert len(names(store.cells)) == 1
    assert table(store)["x"].tolist() == [1, 2, 3]
    assert Store(store.folder).done() == set(KEYS[:4])


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ({0: {"x": 1}, 1: {"x": 2}}, {"x": "int64"}),
        ({0: {"x": 1}, 1: {"x": 2.5}}, {"x": "float64"}),
        ({0: {"x": 1}, 1: {"x": None}}, {"x": "float64"}),
        ({0: {"x": 1}, 1: [{"x": 1.5}, {"x": 2}], 2: {"x": None}}, {"x": "float64"}),
        ({0: {"x": "t"}, 1: {"x": None}, 2: {"y": True}}, {"x": "str", "y": "object"}),
        ({0: {"x": True}, 1: {"x": False}}, {"x": "bool"}),
        ({0: {"x": None}, 1: {}}, {}),
    ],
)
def test_the_kinds_of_columns_depend_on_the_values_alone(
    rows: dict[int, Any], kinds: dict[str, str], tmp_path: Path
) -> None:
    """Neither on which cells were a batch, nor on the order, nor on what was put together, nor on other campaigns."""
    tables = []
    for number, (together, order, others, compacted) in enumerate(
        itertools.product([True, False], [list(rows), list(rows)[::-1]], [True, False], [True, False])
    ):
        store = Store(tmp_path / str(number))
        if others:  # of another scale: its cells have other names
            add(store, {10: {"x": 1.5, "y": 1}, 11: {"x": "other", "w": 1}, 12: {"x": False}, 13: {"x": 7}})
        add(store, {place: rows[place] for place in order}, together=together)
        if compacted:
            store.compact(0)
        tables.append(store.table(CELLS[:5], KEYS[:5]))
    assert {name: str(kind) for name, kind in tables[0].dtypes.items() if name in "wxy"} == kinds
    for other in tables[1:]:
        pd.testing.assert_frame_equal(tables[0], other, check_exact=True)


@pytest.mark.parametrize("compacted", [False, True])
def test_values_of_two_kinds_are_reported_with_column_kinds_and_cells(compacted: bool, store: Store) -> None:
    add(store, {0: {"fine": 1, "x": 1}, 1: {"fine": 2.5, "x": "text"}, 2: {"x": 3}})
    if compacted:
        store.compact(0)
    found = {"a whole number in the cell (kind a, replication 0)", "a text in the cell (kind b, replication 0)"}
    with refused("column 'x' is ... and ...; give a column values of one kind") as caught:
        table(store)
    assert set(str(caught.value).removeprefix("column 'x' is ").partition("; ")[0].split(" and ")) == found
    assert store.done() == set(KEYS[:3])  # nothing is lost by it


# -- failures ---------------------------------------------------------------------------------------


def test_a_failure_is_recorded_and_goes_when_the_cell_is_done(store: Store) -> None:
    store.add_failure(Failure(KEYS[0], "bad", "trace", "here"), CELLS[0])
    assert store.failed() == {
        KEYS[0]: {
            "cell": {"kind": "a", "replication": 0},
            "seed": 0,
            "error": "bad",
            "worker": "here",
            "traceback": "trace",
        }
    }
    add(store, {1: {"x": 1}})
    assert set(store.failed()) == {KEYS[0]}
    add(store, {0: {"x": 1}})
    assert store.failed() == {}


# -- damaged and foreign files ----------------------------------------------------------------------


def put(store: Store, content: bytes) -> Path:
    """Put a file that is named as one of ours into the folder of cells."""
    path = store.cells / f"{hashlib.sha256(content).hexdigest()}.parquet"
    path.write_bytes(content)
    return path


WHOLE = parquet(table_of([(KEYS[0], 0.5, [{"x": 1.0, "y": "t"}])]))


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage" * 100, WHOLE[:-1], WHOLE[: len(WHOLE) // 2], WHOLE[40:]],
    ids=["empty", "garbage", "cut by a byte", "cut in half", "without its head"],
)
@pytest.mark.parametrize("asked", ["done", "compact"])
def test_a_damaged_file_is_named_left_out_and_set_aside(content: bytes, asked: str, store: Store) -> None:
    add(store, {1: {"x": 1}})
    before, bad = table(store), put(store, content)
    assert store.done() == {KEYS[1]} if asked == "done" else store.compact(0) == 0
    [(path, what)] = store.damaged.items()
    assert (path, "\n" in what) == (bad, False)
    assert what.startswith("it cannot be read (")
    pd.testing.assert_frame_equal(table(store), before)
    assert (store.set_aside(), store.damaged) == ({bad: what}, {})
    assert f"{bad.name}.damaged" in names(store.cells)
    assert (store.done(), store.damaged) == ({KEYS[1]}, {})


def test_a_file_that_is_damaged_after_the_cells_were_counted_is_an_error(store: Store) -> None:
    """The number of cells and the table would not go together."""
    add(store, {1: {"x": 1}})
    assert store.done() == {KEYS[1]}
    [path] = store.cells.iterdir()
    path.write_bytes(b"garbage")
    with pytest.raises(FileFormatError) as raised:
        table(store)
    assert raised.value.path == str(path)


def test_a_file_that_is_none_of_ours_is_left_out_and_reported(store: Store) -> None:
    add(store, {1: {"x": 1}})
    expected = {
        put(store, parquet(pa.table({column: values}))): f"it has {what}; only files of cells may be in this folder"
        for column, values, what in (
            ("x", [1], "no column _cell"),
            (CELL, [1], "a column _cell of int64"),
            (CELL, ["a"], "no column _row"),
        )
    }
    (store.cells / "folder.parquet").mkdir()
    (store.cells / ".other.1.0123abcd.x.parquet").write_text("half")  # hidden files and those of other kinds
    (store.cells / "notes.txt").write_text("mine")  # are not read
    assert store.done() == {KEYS[1]}
    assert store.damaged == {**expected, store.cells / "folder.parquet": "it is no file"}


def test_a_file_is_named_by_its_content_and_no_flipped_bit_of_it_is_believed(store: Store) -> None:
    add(store, {0: {"x": 1.0, "y": "t"}})
    [path] = store.cells.iterdir()
    whole = path.read_bytes()
    assert path.stem == hashlib.sha256(whole).hexdigest()
    for place, bit in itertools.product(range(0, len(whole), 3), range(0, 8, 3)):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        fresh = Store.__new__(Store)  # without its look at the folder, which takes longer than all else
        fresh.__dict__.update({**store.__dict__, "_keys": {}, "damaged": {}})
        assert fresh.done() == set()
        assert fresh.damaged == {path: "its bytes are not those that were written: their SHA-256 is not its name"}


def failing(code: int) -> Callable[..., NoReturn]:
    """Return a function of the system that fails."""

    def fails(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fails


def test_a_file_that_the_system_will_not_let_be_read_is_no_damage(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many files are open, say: what is in it may be well, so it is not set aside."""
    add(store, {0: {"x": 1}})
    monkeypatch.setattr(Path, "read_bytes", failing(errno.EMFILE))
    fresh = Store(store.folder)
    with pytest.raises(StoppedError, match=r"cannot read .*\.parquet: too many open files"):
        fresh.done()
    assert fresh.damaged == {}


# -- a disk that is full, a folder that cannot be written to ----------------------------------------


@pytest.mark.parametrize("at", ["writing", "replace"])
def test_a_full_disk_is_reported_and_leaves_what_was_there(
    at: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, {0: {"x": 1}, 1: {"x": 2}}, together=False)
    before = table(store)

    def full(self: Path, *_: object) -> None:
        if at == "writing":
            self.touch()  # and then there is no room for its contents
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        for method in ("write_bytes", "write_text") if at == "writing" else ("replace",):
            patch.setattr(Path, method, full)
        for work in (lambda: add(store, {2: {"x": 1}}), lambda: store.compact(0), lambda: store.write("a.json", {})):
            with pytest.raises(StoppedError, match="no space left on device; what was finished is kept"):
                work()
    assert not [path for path in store.folder.rglob(".*") if path.is_file()]
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)
    add(store, {2: {"x": 1}})
    assert store.done() == set(KEYS[:3])


def test_a_folder_that_is_a_file_or_on_a_disk_that_may_only_be_read_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RequestError, match="cannot write to folder"):
            Store(folder)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", failing(errno.EROFS))
    with pytest.raises(RequestError, match=r"cannot write to folder .*read-only file system"):
        Store(store.folder)


# -- putting files together -------------------------------------------------------------------------


def test_few_files_are_left_as_they_are(store: Store) -> None:
    add(store, {place: {"x": place} for place in range(10)}, together=False)
    before = names(store.cells)
    assert store.compact(10) == 0
    assert names(store.cells) == before
    assert store.compact(9) == 10
    assert len(names(store.cells)) == 1


def test_files_whose_columns_are_of_other_kinds_stay_apart(store: Store) -> None:
    add(store, {0: {"x": 1}, 1: {"x": 2}, 2: {"x": 1.5}, 3: {"x": "t"}, 4: {"y": 1}, 5: {"x": 2.5}}, together=False)
    store.compact(0)
    kinds = sorted(str(pq.read_schema(path).field("x").type) for path in store.cells.iterdir())
    assert kinds == ["double", "int64", "string"]
    assert store.done() == set(KEYS[:6])


@pytest.mark.parametrize(
    ("crash", "left"),
    [("before the new file", 0), ("before the first goes", 0), ("half-way", 4), ("before the last goes", 7)],
)
def test_a_crash_while_files_are_put_together_changes_nothing(
    crash: str, left: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, {place: {"x": place, "y": f"t{place}"} for place in range(8)}, together=False)
    before, unlink = table(store), Path.unlink

    def crashing(self: Path, missing_ok: bool = False) -> None:
        nonlocal left
        if self.suffix == ".parquet" and not self.name.startswith("."):
            if not left:
                raise KeyboardInterrupt
            left -= 1
        unlink(self, missing_ok=missing_ok)

    def crashed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", crashing)
        if crash == "before the new file":
            patch.setattr(Path, "replace", crashed)
        with pytest.raises(KeyboardInterrupt):
            store.compact(0)
    again = Store(store.folder)
    assert again.done() == set(KEYS[:8])
    pd.testing.assert_frame_equal(table(again), before)
    again.compact(0)
    assert len(names(store.cells)) == 1
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)


def test_large_files_are_left_alone_and_groups_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    values = 6  # of one row: three columns are ours
    monkeypatch.setattr(module, "_LARGEST", 4 * values)
    for place in range(10):
        add(store, {place: {"x": place, "y": 1, "z": 2}})
    add(store, {10: [{"x": number, "y": 1, "z": 2} for number in range(2)]})  # half of the limit is large
    large = store.cells / store.add([KEYS[11]], parquet(table_of([(KEYS[11], 0.5, [{"x": 1, "y": 1, "z": 2}] * 5)])))
    before, content = table(store), large.read_bytes()
    store.compact(0)
    assert large.read_bytes() == content
    sizes = sorted(pq.read_metadata(path).num_rows for path in store.cells.iterdir())
    assert sizes == [2, 2, 4, 4, 5]
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)
    monkeypatch.setattr(module, "_MOST_FILES", 2)
    monkeypatch.setattr(module, "_LARGEST", 1000)
    store.compact(0)
    assert len(names(store.cells)) == 3
    pd.testing.assert_frame_equal(table(Store(store.folder)), before)


def test_many_cells_added_one_by_one_take_little_memory_and_few_files(tmp_path: Path) -> None:
    """What is known of files that have gone is forgotten."""
    count = 600
    keys = [f"{number:032x}" for number in range(count)]
    store = Store(tmp_path)
    contents = [parquet(table_of([(key, 0.5, [{"x": 1}])])) for key in keys]
    tracemalloc.start()
    for number, key in enumerate(keys):
        store.add([key], contents[number])
        if number % 50 == 49:
            store.compact(25)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(names(store.cells)) <= 26
    assert len(store.table([Cell({"a": number}) for number in range(count)], keys)) == count
    assert sum(map(len, store._keys.values())) <= 2 * count
    assert held < 1_500_000
