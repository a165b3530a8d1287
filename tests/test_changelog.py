"""The change log: its tables of renamed names."""

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Final

import pytest

from experiments.cli.main import command_named

_TEXT: Final = (Path(__file__).resolve().parent.parent / "CHANGELOG.md").read_text("utf-8")
_RENAMED: Final = _TEXT.split("### Renamed\n")[1].split("\n### ")[0]
_ROWS: Final = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in _RENAMED.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| of ", "| module,"))
]


def _there(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def _names(cell: str) -> list[str]:
    """Return the names of a cell, each with its package: in a row of modules the first one has it."""
    found: list[str] = []
    for text in re.findall(r"`([^`]*)`", cell):
        name = text.removesuffix("()").removesuffix(".*")
        if "(" in name:  # a parameter
            continue
        if name.startswith(("simmodels.", "workloads.", "experiments.")):
            found.append(name)
        elif found and re.fullmatch(r"[a-z_]+", name) and "." not in name:
            found.append(f"{found[-1].rpartition('.')[0]}.{name}")
    return found


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[0])
def test_old_names_are_gone_unless_it_says_that_they_stay_and_new_names_are_there(row: tuple[str, str]) -> None:
    was, now = row
    stays = "stay" in now
    assert all(map(_there, _names(now)))
    assert all(_there(name) == stays for name in _names(was))
    methods = re.findall(r"`([A-Z]\w+\.\w+)(?:\(\w*\))?`", was)
    assert not any(_there(f"simmodels.{name}") for name in methods)


def test_the_options_of_the_command_line_are_as_the_table_says() -> None:
    options = {
        option for name in ("simulate", "compare") for each in command_named(name).params for option in each.opts
    }
    old, new = (
        {option for row in _ROWS for option in re.findall(r"--[a-z-]+", row[side])}
        - {"--set", "--heuristics", "--json"}
        for side in (0, 1)
    )
    assert new <= options
    assert not old & options


def test_the_table_is_not_empty_and_names_what_a_model_uses() -> None:
    assert len(_ROWS) > 40
    assert importlib.import_module("simmodels").ClusterSpec.__name__ == "ClusterSpec"
