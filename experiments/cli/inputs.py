"""``inputs``: the real logs and other inputs that pages and studies name, and whether a folder has them."""

import csv
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

from rich.padding import Padding
from rich.table import Table

from experiments.cli.derive import command
from experiments.cli.output import DONE, FAILED, Steps, listing, print_json, print_note, print_table
from experiments.inputs import describe_error
from experiments.option import IN, Json, Option
from simmodels.errors import RequestError, SimModelsError
from workloads.files import read_whole

COLUMNS: Final = "file bytes sha256 sha256_unpacked extent origin address terms"
"""The columns of the table; `sha256_unpacked` is that of the content, however it is compressed."""
THERE, REPACKED, DIFFERS, MISSING = "there", "there, compressed otherwise", "another file", "missing"
"""What is said of an input."""


def table() -> list[dict[str, str]]:
    """Return a row per input, by `COLUMNS`."""
    return list(csv.DictReader(files("experiments.cli").joinpath("inputs.csv").read_text("utf-8").splitlines()))


def inputs(*, check: Annotated[Path | None, Option(IN, "FOLDER")] = None, json: Json = False) -> int:
    """Print the list of inputs, or what is found of it in a folder; return the exit status: failed if one differs.

    Parameters
    ----------
    check
        Say of each input whether it is in this folder, or below, and has the SHA-256 of the list.
    """
    rows = table()
    if check is None:
        shown, title, lines = rows, f"{len(rows)} inputs", _described(rows)
    else:
        shown, title = _checked(rows, check), f"inputs in {check}"
        columns = ("file", "found", "where")
        lines = listing(columns, [[row[name] for name in columns] for row in shown], whole=["file"])
    if json:
        print_json({"inputs": shown})
    else:
        print_table(title, lines)
    if check is None:
        return DONE
    count = {what: sum(row["found"].startswith(what) for row in shown) for what in (THERE, MISSING)}
    wrong = len(shown) - sum(count.values())
    print_note(f"{count[THERE]} there, {count[MISSING]} missing, {wrong} that differ")
    return FAILED if wrong else DONE


def _described(rows: list[dict[str, str]]) -> Table:
    """Return a table of one column, which fits a narrow terminal: all about an input, line by line."""
    lines = Table.grid()
    for row in rows:
        lines.add_row(f"\n{row['file']}: {row['extent']}")
        for about in (row["origin"], row["terms"], row["address"], f"SHA-256 {row['sha256']}"):
            lines.add_row(Padding(about, (0, 0, 0, 2)))
    return lines


def _checked(rows: list[dict[str, str]], folder: Path) -> list[dict[str, str]]:
    """Return the rows with what is found of each, and where it is, or whence it comes."""
    if not folder.is_dir():
        raise RequestError(f"{folder} is not a folder", "name the folder that holds the inputs")
    known: dict[str, list[Path]] = {row["file"]: [] for row in rows}
    for path in sorted(folder.rglob("*")):
        if path.name in known and path.is_file():
            known[path.name].append(path)
    checked = []
    with Steps(len(rows)) as shown:
        for row in rows:
            shown.begin(row["file"])
            found = {str(path.relative_to(folder)): _found(path, row) for path in known[row["file"]]}
            found = found or {row["address"]: MISSING}
            checked += [{**row, "found": what, "where": where} for where, what in found.items()]
    return checked


def _found(path: Path, row: Mapping[str, str]) -> str:
    """Return what a file is that has the name of an input."""
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"]:
            return THERE
        same = hashlib.sha256(read_whole(path)).hexdigest() == row["sha256_unpacked"]
    except (OSError, SimModelsError) as error:
        return f"{DIFFERS}: {describe_error(error)}"
    return REPACKED if same else DIFFERS


COMMAND: Final = command(inputs, examples=("schedlab inputs", "schedlab inputs --check .", "schedlab inputs --json"))
