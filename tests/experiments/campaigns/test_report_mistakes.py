"""What a report cannot be made of, and where it cannot be written."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.campaigns import run
from experiments.campaigns.report import PAGE, write_report
from tests.experiments.campaigns.conftest import COUNTING, Write
from tests.refused import refused

NOT = {
    "tables": "tables of study counting must be DataFrames by name",
    "figures": "figures of study counting must be Figures by name",
    "claims": "claims of study counting must be a list of Claims",
    "files": "files of study counting must be texts by names of files",
    "answer": "answer of study counting must be values by name",
}


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("tables", "return {'x': 1}", f"{NOT['tables']} (got {{'x': 1}})"),
        ("tables", "return results.table", f"{NOT['tables']} (got a DataFrame of shape (8, 5))"),
        ("figures", "return [1]", f"{NOT['figures']} (got [1])"),
        ("figures", "return {'x': 1}", f"{NOT['figures']} (got {{'x': 1}})"),
        ("claims", "return 1", f"{NOT['claims']} (got 1)"),
        ("claims", "yield 1", f"{NOT['claims']} (got (1,))"),
        ("files", "return {'x.txt': 1}", f"{NOT['files']} (got {{'x.txt': 1}})"),
        ("files", "return {'../x.txt': ''}", f"{NOT['files']} (got {{'../x.txt': ''}})"),
        ("answer", "return 1", f"{NOT['answer']} (got 1)"),
        ("claims", "yield 1 / 0", "claims of study counting: {path}, line {line}: ZeroDivisionError"),
        ("claims", "results.level('waitt')", "unknown measure 'waitt'; known: drawn, found"),
    ],
)
@pytest.mark.parametrize("toml", [False, True], ids=["py", "toml"])
def test_a_mistake_in_what_a_study_reports_is_reported_in_a_line(
    method: str, body: str, message: str, toml: bool, write: Write, out: Path
) -> None:
    before = COUNTING.rstrip().partition("        def claims")[0].rstrip()
    source = f"{before}\n\n        def {method}(self, results):\n            {body}"
    path = write(source)
    named = write('study = "counting.py"\nname = "counting"', "x.toml") if toml else path
    if toml:  # its claims are a list, those of the file that it stands on first
        message = message.replace("(1,)", "[1]").replace(
            " must be a list of Claims (got 1)", ": TypeError: Value after *"
        )
    message = message.replace("{path}", path).replace("{line}", str(len(source.splitlines())))
    with refused(f"{message}...") as caught:
        write_report(run(named, out=out, scale="smoke", workers=0))
    assert "\n" not in str(caught.value)
    assert (out / "results.csv").is_file()


def test_a_folder_that_cannot_be_written_to_or_has_no_cell_that_is_done_is_reported(write: Write, out: Path) -> None:
    campaign = run(write(), out=out, scale="smoke", workers=0)
    (out / "tables").write_text("in the way")
    with refused(f"cannot write to folder {out}/tables: ...tables is not a folder..."):
        write_report(campaign)
    (out / "tables").unlink()
    (out / PAGE).mkdir()
    with refused(f"cannot write the report to {out}/report.html: is a directory..."):
        write_report(campaign)
    with refused(f"{out}: no cell of study counting is done; run at least one before the report"):
        write_report(replace(campaign, done=0))
