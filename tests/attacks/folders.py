"""Damaged result folders: `run` and `report` end with status 0, 1 or 2 and a clear line, and never with a traceback.

Each case damages one thing in a copy of a campaign's folder: a file is cut, emptied, filled with other bytes or other
JSON, removed, or made a folder; a folder is removed or made a file; a strange file is added. Then the command line
reports on it and runs it again, in this process.
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.cli.main import main
from tests.attacks.attack import Broken, Case
from tests.attacks.flips import NAME, write_study
from tests.attacks.mutations import flip, truncate

CASES = 1_000
HANGS_S = 120  # a case takes a second
RUN = ("run", f"{NAME}.py", "--scale", "smoke", "--workers", "0", "--out", "out")
REPORT = ("report", "out")
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e308, float("nan"), 10**400, "", "x", "\udc80", "../../x", f"{NAME}.py:None", "\0",
    [], [[]], {}, {"a": {}}, {"": None}, ["x"] * 1000, "x" * 100_000,
)  # fmt: skip


def cases(seed: int) -> Iterator[Case]:
    """Hand out the cases: what is damaged, and how."""
    drawn = random.Random(seed)
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="schedlab-folders-") as made:
        folder = Path(made)
        write_study(folder)
        os.chdir(folder)
        try:
            for shard in range(1, 5):
                _command("first", *RUN, "--shard", f"{shard}/4")
            _command("first", *REPORT)
            shutil.copytree("out", "whole")
            while True:
                yield lambda: _case(random.Random(drawn.getrandbits(64)))
        finally:
            os.chdir(before)


def _case(drawn: random.Random) -> str:
    """Damage a copy of the folder, report on it, and run it again."""
    shutil.rmtree("out")
    shutil.copytree("whole", "out")
    damage, path = _damage(Path("out"), drawn)
    where = f"{damage} {path}"
    reported, _ = _command(where, *REPORT)
    repeated, said = _command(where, *RUN)
    if repeated == 2:
        if path.relative_to("out").parts[0] not in said and "out holds a campaign of study" not in said:
            raise Broken(f"{where}: run says {said!r}, which does not name it")
    elif Path("out/results.csv").read_bytes() != Path("whole/results.csv").read_bytes():
        raise Broken(f"{where}: run ends with {repeated} and another table")
    return f"report {reported}, run {repeated}: {damage}"


def _command(where: str, *words: str) -> tuple[int, str]:
    """Run a command line here; return its status, and what it said on stderr."""
    said = io.StringIO()
    argv, sys.argv = sys.argv, ["schedlab", *words]
    before = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(HANGS_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = main()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Broken(f"{where}: {words[0]} raises {type(error).__name__}: {str(error)[:300]}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        sys.argv = argv
    text = said.getvalue()
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    if status not in {0, 1, 2} or "Traceback" in text or (status == 2 and len(errors) < 1):
        raise Broken(f"{where}: {words[0]} ends with {status} and says {text[:300]!r}")
    if any(len(line) > 1_000 for line in text.splitlines()):
        raise Broken(f"{where}: {words[0]} says a line of {max(map(len, text.splitlines()))} characters")
    return status, text


def _hangs(*_: object) -> None:
    raise TimeoutError(f"no end after {HANGS_S} s")


def _damage(out: Path, drawn: random.Random) -> tuple[str, Path]:
    """Damage one thing in a folder; return how, and which."""
    if drawn.random() < 0.1:
        return _add(out, drawn)
    if drawn.random() < 0.05:
        return _replace_folder(drawn.choice([path for path in out.iterdir() if path.is_dir()]), drawn)
    kinds = ["manifest.json", "runs/*.json", "failures/*.json", "cells/*.parquet", "*.*", "tables/*", "figures/*"]
    path = drawn.choice([found for found in sorted(out.glob(drawn.choice(kinds[:5]))) if found.is_file()])
    if path.suffix == ".json" and drawn.random() < 0.6:
        return _other_json(path, drawn), path
    return _other_bytes(path, drawn), path


def _other_bytes(path: Path, drawn: random.Random) -> str:
    """Put other bytes into a file, or something else in its place."""
    how = drawn.choice(["cut", "emptied", "other bytes in", "bytes changed in", "removed", "a folder at", "swapped"])
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(truncate(drawn, content))
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "other bytes in":
        path.write_bytes(drawn.choice([b"\0" * 100, b"PAR1", drawn.randbytes(1000), b"[" * 100_000, b"\xff\xfe{}"]))
    elif how == "bytes changed in":
        path.write_bytes(flip(drawn, content))
    elif how == "removed":
        path.unlink()
    elif how == "a folder at":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(
            drawn.choice([found for found in sorted(Path("whole").rglob("*")) if found.is_file()]).read_bytes()
        )
    return how


def _other_json(path: Path, drawn: random.Random) -> str:
    """Put other JSON into a file: as a whole, or in one place of it, with or without its digest."""
    about = json.loads(path.read_bytes())
    how = drawn.choice(["other JSON in", "a value changed in", "a name missing in"])
    if how == "other JSON in":
        about = drawn.choice(STRANGE)
    else:
        at, name = about, drawn.choice(sorted(about))
        while isinstance(at[name], dict) and at[name] and drawn.random() < 0.7:
            at = at[name]
            name = drawn.choice(sorted(at))
        if how == "a name missing in":
            del at[name]
        else:
            at[name] = drawn.choice(STRANGE)
        if drawn.random() < 0.8:
            about.pop("digest", None)
    path.write_text(json.dumps(about))
    return how


def _replace_folder(path: Path, drawn: random.Random) -> tuple[str, Path]:
    """Remove a folder, or make it a file."""
    shutil.rmtree(path)
    if drawn.random() < 0.5:
        return "removed", path
    path.write_text("no folder")
    return "a file at", path


def _add(out: Path, drawn: random.Random) -> tuple[str, Path]:
    """Add a file that no run wrote."""
    path = out / drawn.choice(["cells/zz.parquet", "cells/0.txt", "runs/zz.json", "failures/zz.json", "zz"])
    how = drawn.choice(["text", "an object", "a table", "a folder", "a link to itself"])
    if how == "a folder":
        path.mkdir()
    elif how == "a link to itself":
        path.symlink_to(path.name)
    elif how == "a table":
        columns = drawn.sample([("_cell", ["a"]), ("_cell", [1]), ("_row", [0]), ("x", [None]), ("_seconds", ["t"])], 3)
        pq.write_table(pa.table(dict(columns)), path)
    else:
        path.write_text("{}" if how == "an object" else "text")
    return f"{re.sub('^(a|an) ', '', how)} added:", path
