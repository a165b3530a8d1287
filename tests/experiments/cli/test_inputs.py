"""``inputs``: the list agrees with the real files, names all that pages read, and a folder is compared with it."""

import gzip
import hashlib
import json
import re
from functools import partial
from pathlib import Path

import pytest

from experiments.cli.inputs import COLUMNS, table
from tests.command_line import Run

ROOT = Path(__file__).resolve().parents[3]
ROWS = {row["file"]: row for row in table()}
CONTENT = b"; MaxProcs: 8\n1 0 0 5 2 0 0 2 9\n"


@pytest.fixture
def ask(run: Run) -> Run:
    """Return what asks for inputs in a folder of its own."""
    return partial(run, "inputs")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the list have two small logs: a.swf.gz, and b.swf that is not packed."""
    packed = gzip.compress(CONTENT, mtime=0)
    rows = [
        {**dict.fromkeys(COLUMNS.split(), "?"), "file": name, "address": f"https://example.org/{name}"}
        | {"sha256": hashlib.sha256(data).hexdigest(), "sha256_unpacked": hashlib.sha256(CONTENT).hexdigest()}
        for name, data in {"a.swf.gz": packed, "b.swf": CONTENT}.items()
    ]
    monkeypatch.setattr("experiments.cli.inputs.table", lambda: rows)


def test_each_input_has_an_address_hashes_and_terms() -> None:
    assert len(ROWS) == len(table()) > 30, "a name is there twice"
    for name, row in ROWS.items():
        assert set(row) == set(COLUMNS.split())
        assert all(row.values()), name
        assert row["address"].startswith("https://")
        assert all(re.fullmatch("[0-9a-f]{64}", row[hash_]) for hash_ in ("sha256", "sha256_unpacked"))
        assert (row["sha256"] == row["sha256_unpacked"]) == (not name.endswith(".gz"))


def test_every_log_and_slice_that_a_page_or_a_test_of_it_names_is_in_the_list() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    real = re.compile(r"\b(?:[A-Z][\w-]+-\d{4}-[\w.-]+?\.swf\.gz|UniLu\S+?\.gz|\d+D_\d+\.txt\.gz)")
    named = {name: page.name for page in pages for name in real.findall(page.read_text("utf-8"))}
    named |= {
        name: page.name
        for page in pages
        for line in re.findall(r"<!-- test: file (.*?) -->", page.read_text("utf-8"))
        for name in line.split()
    }
    assert len(named) > 10
    assert {name: page for name, page in named.items() if name not in ROWS} == {}


def test_the_list_is_that_of_the_real_files(shared: Path, ask: Run) -> None:
    status, out, err = ask("--check", str(shared), "--json")
    found = json.loads(out)["inputs"]
    there = {each["file"] for each in found if each["found"] == "there"}
    assert (status, there) == (0, set(ROWS)), err
    assert all((shared / each["where"]).stat().st_size == int(each["bytes"]) for each in found)


def test_the_list_is_printed_with_all_about_each(ask: Run) -> None:
    status, out, _ = ask()
    assert status == 0
    for row in ROWS.values():
        for name in ("file", "extent", "origin", "address", "terms", "sha256"):
            assert row[name] in out
    status, out, _ = ask("--json")
    assert json.loads(out) == {"inputs": table()}


def test_what_is_there_what_is_missing_and_what_differs(two: None, ask: Run) -> None:
    Path("below").mkdir()
    Path("below/a.swf.gz").write_bytes(gzip.compress(CONTENT, mtime=0))
    status, out, err = ask("--check", ".")
    assert (status, err) == (0, "1 there, 1 missing, 0 that differ\n")
    rows = [line.split(maxsplit=1) for line in out.splitlines() if ".swf" in line]
    assert [[word.strip() for word in row] for row in rows] == [
        ["a.swf.gz", "there     below/a.swf.gz"],
        ["b.swf", "missing   https://example.org/b.swf"],
    ]
    Path("a.swf.gz").write_bytes(gzip.compress(CONTENT, mtime=1))  # other bytes, the same content
    Path("b.swf").write_bytes(CONTENT + b"2 1 0 5 2 0 0 2 9\n")
    status, out, err = ask("--check", ".", "--json")
    assert (status, err) == (1, "2 there, 0 missing, 1 that differ\n")
    assert [(each["where"], each["found"]) for each in json.loads(out)["inputs"]] == [
        ("a.swf.gz", "there, compressed otherwise"),
        ("below/a.swf.gz", "there"),
        ("b.swf", "another file"),
    ]


def test_a_file_that_cannot_be_read_differs_and_the_others_are_compared(two: None, ask: Run) -> None:
    Path("a.swf.gz").write_bytes(b"\x1f\x8b\x08 broken")
    Path("b.swf").write_bytes(CONTENT)
    status, out, err = ask("--check", ".", "--json")
    assert (status, err) == (1, "1 there, 0 missing, 1 that differ\n")
    broken, whole = json.loads(out)["inputs"]
    assert broken["found"].startswith("another file: a.swf.gz: its .gz data are truncated or corrupt: ")
    assert whole["found"] == "there"


def test_quiet_leaves_the_status(two: None, ask: Run) -> None:
    Path("b.swf").write_bytes(b"")
    answer = ask("--check", ".", "--quiet")
    assert (answer.status, answer.err) == (1, "")
