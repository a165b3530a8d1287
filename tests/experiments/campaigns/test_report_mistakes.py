"""What a report cannot be made of, and where it cannot be written."""

from pathlib import Path

import pytest

from experiments.campaigns import run
from experiments.campaigns.report import PAGE, write_report
from simmodels.errors import RequestError
from tests.experiments.campaigns.conftest import COUNTING, Write
from tests.refused import refused


def test_without_a_cell_that_is_done_there_is_no_report(write: Write, out: Path) -> None:
    campaign = run(
        write(COUNTING.replace("drawn = float", "1 / 0\n            drawn = float")), out=out, scale="smoke", workers=0
    )
    with refused(f"{out}: no cell of study counting is done; run at least one before the report"):
        write_report(campaign)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "def tables(self, results):\n    return results.table",
            "tables of study counting must be DataFrames by name (got a DataFrame of shape (8, 5))",
        ),
        (
            "def tables(self, results):\n    return {'x': 1}",
            "tables of study counting must be DataFrames by name (got {'x': 1})",
        ),
        ("def figures(self, results):\n    return [1]", "figures of study counting must be Figures by name (got [1])"),
        (
            "def figures(self, results):\n    return {'x': 1}",
            "figures of study counting must be Figures by name (got {'x': 1})",
        ),
        (
            "def claims(self, results):\n    return 1",
            "claims of study counting must be a list of Claims (got 1)",
        ),
        (
            "def claims(self, results):\n    yield 1",
            "claims of study counting must be a list of Claims (got (1,))",
        ),
        (
            "def files(self, results):\n    return {'x.txt': 1}",
            "files of study counting must be texts by names of files (got {'x.txt': 1})",
        ),
        (
            "def files(self, results):\n    return {'../x.txt': ''}",
            "files of study counting must be texts by names of files (got {'../x.txt': ''})",
        ),
        ("def answer(self, results):\n    return 1", "answer of study counting must be values by name (got 1)"),
        ("def claims(self, results):\n    yield 1 / 0", "claims of study counting: {path}, line 20: ZeroDivisionError"),
        (
            "def figures(self, results):\n    return x",
            "figures of study counting: {path}, line 20: NameError: name",
        ),
        (
            "def claims(self, results):\n    results.level('waitt')",
            "unknown measure 'waitt'; known: drawn, found",
        ),
    ],
)
@pytest.mark.parametrize("toml", [False, True])
def test_a_mistake_in_what_a_study_reports_is_reported_in_a_line(
    body: str, message: str, toml: bool, write: Write, out: Path
) -> None:
    lines = COUNTING.rstrip().partition("        def claims")[0].rstrip().splitlines()
    source = "\n".join([*lines, "", *(f"        {line}" for line in body.splitlines())])
    line = len(source.splitlines())
    path = write(source)
    named = write('study = "counting.py"\nname = "counting"', "x.toml") if toml else path
    with pytest.raises(RequestError) as caught:
        write_report(run(named, out=out, scale="smoke", workers=0))
    if toml:  # its claims are a list, those of the file that it stands on first
        message = message.replace("(1,)", "[1]").replace(
            " must be a list of Claims (got 1)", ": TypeError: Value after *"
        )
    assert str(caught.value).startswith(message.replace("line 20", f"line {line}").replace("{path}", path))
    assert "\n" not in str(caught.value)
    assert (out / "results.csv").is_file()


def test_a_folder_that_cannot_be_written_to_is_reported(write: Write, out: Path) -> None:
    campaign = run(write(), out=out, scale="smoke", workers=0)
    (out / "tables").write_text("in the way")
    with pytest.raises(RequestError, match=r"cannot write to folder .*tables: .*tables is not a folder"):
        write_report(campaign)
    (out / "tables").unlink()
    (out / PAGE).mkdir()
    with pytest.raises(RequestError, match=r"cannot write the report to .*/report\.html: is a directory"):
        write_report(campaign)
