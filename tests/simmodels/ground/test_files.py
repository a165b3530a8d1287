import csv
import math
import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.errors import RequestError, printable
from simmodels.ground import files
from simmodels.ground.files import ending_of, open_regular, remove_leftovers, replacing, write_csv


@pytest.fixture
def dead() -> int:
    """Return the number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def alive() -> Iterator[int]:
    """Return the number of another process that runs."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate(b"\n")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def leftover(process: int, machine: str | None = None) -> str:
    return f".{files._machine() if machine is None else machine}.{process}.0123abcd.table.parquet"


def test_what_is_written_takes_the_place_of_the_old_file_at_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_text("old")
    with replacing(path) as temporary, replacing(path) as other:
        temporary.write_text("new")
        other.write_text("newer")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
        assert temporary != other
        assert temporary.name.startswith(".")
        assert temporary.name.endswith(".a.csv.gz")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.csv.gz"]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("error", [ZeroDivisionError, FileNotFoundError], ids=["it fails", "it writes nothing"])
def test_a_body_that_fails_or_writes_nothing_leaves_the_old_file_and_nothing_else(
    error: type[Exception], durable: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def body() -> None:
        with replacing(path, durable=durable) as temporary:
            if error is ZeroDivisionError:
                temporary.write_text("half")
                raise error

    with pytest.raises(error):
        body()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_in_no_folder_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a.txt"
    with pytest.raises(FileNotFoundError, match="is not a folder") as raised, replacing(path):
        pytest.fail("the body was entered")
    assert str(path) in str(raised.value)


def test_a_durable_file_is_forced_to_disk_before_it_takes_its_place_and_then_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "a.txt", []
    fsync, replace = os.fsync, Path.replace

    def forced(handle: int) -> None:
        steps.append(("forced", Path(f"/proc/self/fd/{handle}").resolve() if sys.platform == "linux" else None))
        fsync(handle)

    def replaced(self: Path, target: Path) -> Path:
        steps.append(("replaced", self))
        return replace(self, target)

    def refused(_handle: int) -> None:
        raise PermissionError

    def write(*, durable: bool) -> Path:
        with replacing(path, durable=durable) as temporary:
            temporary.write_text("x")
        return temporary

    monkeypatch.setattr(os, "fsync", forced)
    monkeypatch.setattr(Path, "replace", replaced)
    temporary = write(durable=True)
    assert [step for step, _ in steps] == ["forced", "replaced", "forced"]
    if sys.platform == "linux":
        assert [where for _, where in steps] == [temporary, temporary, tmp_path]
    steps.clear()
    write(durable=False)
    assert [step for step, _ in steps] == ["replaced"]
    monkeypatch.setattr(os, "fsync", refused)
    write(durable=True)  # a folder that nobody may force to disk is no error


def test_leftovers_are_removed_only_if_they_are_of_a_dead_process_of_this_machine(
    tmp_path: Path, dead: int, alive: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [
        leftover(alive),
        leftover(os.getpid()),
        leftover(dead, f"{platform.node()}x"),
        leftover(dead, "elsewhere.4026531836"),
        *([leftover(dead, platform.node())] if sys.platform == "linux" else []),  # where processes have other numbers
        ".hidden",
        f".{files._machine()}.{dead}.table.parquet",  # nothing of ours: it has no random part
        leftover(dead).removeprefix("."),
        "table.parquet",
    ]
    for name in [*kept, leftover(dead)]:
        (tmp_path / name).write_text("")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_machine", lambda: f"{platform.node()}.1")  # a container of the same name
        assert remove_leftovers(tmp_path) == 0
    assert remove_leftovers(tmp_path) == 1
    assert names(tmp_path) == sorted(kept)


def test_what_a_killed_process_was_writing_is_a_leftover(tmp_path: Path) -> None:
    source = """
import os, signal, sys
from simmodels.ground.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", source, str(tmp_path / "a.txt")], check=False)
    assert len(names(tmp_path)) == 1
    assert remove_leftovers(tmp_path) == 1
    assert names(tmp_path) == []


def test_a_process_of_another_user_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_process: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refused)
    assert files._runs(1)


def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"abc"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to pipe").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(tmp_path / "socket"))
        for path, what in (
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "to pipe", "a pipe"),
            (tmp_path / "socket", "a socket"),
            (Path("/dev/zero"), "a device"),
        ):
            with pytest.raises(OSError, match=f"it is {what}; only a regular file is read"):
                open_regular(path)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing")


# -- CSV --------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=[]), min_size=1)
formulas = st.tuples(st.sampled_from(["=", "+", "-", "@", "'=", "''-"]), texts).map("".join)


@given(st.lists(st.one_of(texts, formulas), min_size=1))
@example(["\ud800", "=\r"])
def test_no_text_of_a_table_is_a_formula_and_each_can_be_read_again(scratch: Path, names: list[str]) -> None:
    path = scratch / "table.csv"
    write_csv(pd.DataFrame({"name": pd.Series(names, dtype=object)}), path)
    with path.open(newline="", encoding="utf-8") as file:
        (head,), *rows = csv.reader(file)
    assert head == "name"
    for (cell,), name in zip(rows, names, strict=True):
        if cell[0] in "=+-@":
            assert math.isfinite(float(cell) * 0.0)
        assert (cell[1:] if re.match(r"''*[=+\-@]", cell) else cell) == printable(name)


def test_numbers_of_a_table_stay_as_they_are(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "int": [-1, 2, -3],
            "float": [-1.5, float("nan"), float("-inf")],
            "mixed": [-1, "-1", "=1"],
            "text": ["-1", "+2.5e3", "-1-1"],
            "few": pd.Categorical(["@a", "b", "@a"]),
            "when": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
            "=head": [None, True, "-"],
        }
    )
    before = table.copy()
    write_csv(table, tmp_path / "table.csv")
    pd.testing.assert_frame_equal(table, before)
    assert (tmp_path / "table.csv").read_text().splitlines() == [
        "int,float,mixed,text,few,when,'=head",
        "-1,-1.5,-1,-1,'@a,2020-01-01,",
        "2,,-1,+2.5e3,b,2020-01-02,True",
        "-3,-inf,'=1,'-1-1,'@a,,'-",
    ]


def test_the_ending_of_a_name_is_one_of_those_that_are_known_or_refused() -> None:
    known = (".csv", ".swf.gz")
    assert [ending_of(name, known, "the table's name") for name in ("a.CSV", "b.swf.gz")] == [".csv", ".swf.gz"]
    for name in ("c.tar.gz", "d"):
        with pytest.raises(RequestError, match=r"the table's name must be one that ends in \.csv, \.swf\.gz \(got"):
            ending_of(name, known, "the table's name")
