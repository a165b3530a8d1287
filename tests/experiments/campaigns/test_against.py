"""Against a kept run: what differs between two tiny campaigns is named and counted, on the screen and in the report."""

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments.campaigns.against import Change, Differences, Kept, differences, kept_runs
from simmodels.errors import FileFormatError, RequestError
from tests.command_line import Answer, Run

STUDY = """
from experiments.campaigns import Claim, Scale, Study


class Waits(Study):
    factors = {"kind": ["a", "b"]}
    scales = {"smoke": Scale(replications=2, judged=False), "small": Scale(replications=10)}

    def run_cell(self, cell):
        return {"found": 1.0 + (cell["kind"] == "b"), "jobs": 3}

    def claims(self, results):
        effect = results.difference("found", {"kind": "b"}, {"kind": "a"})
        more = Claim(text="b is more", source="section 2", number="P1", measure="x", effect=effect, more_than=0)
        return [more, Claim(text="b is less", source="fig. 7", measure="x", effect=effect, less_than=0)]
"""
ONE_CELL = STUDY.replace('"jobs": 3}', '"jobs": 3 + (cell["kind"] == "b" and cell.replication == 4)}')
ONE_VERDICT = STUDY.replace("more_than=0)", "more_than=2)")


@pytest.fixture(autouse=True)
def kept(run: Run) -> None:
    """Leave a run of a study of 20 cells and two claims in results/waits."""
    Path("waits.py").write_text(STUDY)
    assert run("run", "waits.py", "-j", 0, "--json").status == 0


def again(run: Run, source: str) -> Answer:
    """Run a study of the same name, compared with the first; return what it says, its blanks as one each."""
    Path("waits.py").write_text(source)
    answer = run("run", "waits.py", "-j", 0, "--out", "now", "--against", "results/waits")
    return answer._replace(out=" ".join(answer.out.split()))


def claim(text: str, verdict: str = "holds", estimate: float = 1.0) -> dict[str, object]:
    return {"claim": text, "number": "", "source": "fig. 1", "ours": "False", "verdict": verdict, "estimate": estimate}


def cells(*rows: tuple[str, int, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["kind", "replication", "wait"])


def test_an_equal_run_differs_in_nothing_and_ends_with_status_0(run: Run) -> None:
    answer = again(run, STUDY)
    said = "waits: 0 of 2 claims in both runs differ, 0 are in this run only, 0 in results/waits only; 0 of 20"
    assert (answer.status, said in answer.out) == (0, True)
    assert "what differs from the kept run" not in answer.out
    assert "0 of 20 cells in both runs differ" in Path("now/report.html").read_text("utf-8")


def test_one_other_value_of_one_cell_is_named_on_the_screen_and_in_the_report(run: Run) -> None:
    answer = again(run, ONE_CELL)
    assert (answer.status, "cell kind b, replication 4 jobs 3 jobs 4" in answer.out) == (1, True)
    assert "1 of 20 cells in both runs differ" in answer.out
    page = Path("now/report.html").read_text("utf-8")
    assert "<td>cell</td><td>kind b, replication 4</td><td>jobs 3</td><td>jobs 4</td>" in page


def test_one_other_verdict_is_named_by_run_and_by_report_also_for_programs(run: Run) -> None:
    answer = again(run, ONE_VERDICT)
    assert (answer.status, "claim b is more holds: 1 [1, 1] fails: 1 [1, 1]" in answer.out) == (1, True)
    answer = run("report", "now", "--against", "results/waits", "--json")
    found = json.loads(answer.out)["against"]
    assert (answer.status, found["common"]) == (1, {"claim": 2, "cell": 20})
    assert [(each["kind"], each["name"]) for each in found["changes"]] == [("claim", "b is more")]


def test_a_run_into_the_kept_folder_is_compared_with_what_was_there(run: Run) -> None:
    Path("waits.py").write_text(ONE_CELL)
    words = ("run", "waits.py", "-j", 0, "--against", "results", "--json")
    assert [run(*words).status for _ in range(2)] == [1, 0]


def test_a_run_of_another_study_is_refused_before_anything_is_run(run: Run) -> None:
    Path("other.py").write_text(STUDY.replace("Waits", "Other"))
    answer = run("run", "other.py", "--out", "there", "--against", "results/waits")
    assert (answer.status, Path("there").exists()) == (2, False)
    assert "results/waits has no kept run of other: it is a run of waits" in " ".join(answer.err.split())


def test_what_only_one_run_has_is_named_and_counted() -> None:
    then = Kept(Path("then"), [claim("gone"), claim("same")], cells(("a", 0, 1.0), ("c", 0, 1.0)))
    now = Kept(Path("now"), [claim("same"), claim("new")], cells(("a", 0, 1.0), ("b", 0, 1.0), ("b", 1, 1.0)))
    found = differences(now, then, ["kind"])
    assert found.changes == (
        Change("claim", "new", "not there", "there"),
        Change("claim", "gone", "there", "not there"),
        Change("cell", "kind b, replication 0", "not there", "there"),
        Change("cell", "kind b, replication 1", "not there", "there"),
        Change("cell", "kind c, replication 0", "there", "not there"),
    )
    assert found.counts() == [
        "0 of 1 claim in both runs differ, 1 are in this run only, 1 in then only",
        "0 of 1 cell in both runs differ, 2 are in this run only, 1 in then only",
    ]


def test_numbers_that_look_the_same_with_a_few_digits_are_shown_with_all() -> None:
    then, now = (Kept(Path(), [claim("x", estimate=value)], None) for value in (0.5, 0.5 + 1e-12))
    (change,) = differences(now, then, []).changes
    assert (change.then, change.now) == ("holds: 0.5 [none, none]", "holds: 0.500000000001 [none, none]")


@pytest.mark.parametrize(
    ("rows", "then", "now"),
    [
        ([("a", 0, 2.0)], "wait 1.0", "wait 2.0"),
        ([("a", 0, 1.0), ("a", 0, 1.0)], "1 row", "2 rows"),
        ([("a", 0, float("nan"))], "wait 1.0", "wait None"),
    ],
)
def test_a_cell_differs_in_a_value_or_in_its_rows(rows: list[tuple[str, int, float]], then: str, now: str) -> None:
    kept, present = (Kept(Path(), [], cells(*each)) for each in ([("a", 0, 1.0)], rows))
    assert differences(present, kept, ["kind"]).changes == (Change("cell", "kind a, replication 0", then, now),)


def test_what_is_missing_in_both_is_equal_also_where_one_has_no_such_column() -> None:
    nothing = Kept(Path(), [], cells(("a", 0, float("nan"))))
    assert not differences(nothing, nothing, ["kind"])
    assert not differences(Kept(Path(), [], cells(("a", 0, 0.0)).drop(columns="wait")), nothing, ["kind"])


def test_a_table_of_claims_is_a_kept_run_without_cells(run: Run) -> None:
    Path("tables").mkdir()
    Path("results/waits/claims.csv").rename("tables/waits.csv")
    kept = kept_runs(Path("tables"), ["other", "waits"])
    assert list(kept) == ["waits"]
    assert kept["waits"].cells is None
    found = Differences(Path("tables"), {"claim": 2}, ())
    assert found.counts()[-1] == "tables keeps no cells"
    assert run("report", "results/waits", "--against", "tables").status == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("claim,found\nb is more,1\n", "no kept run of waits"),
        ("claim,number,source,ours,verdict,low,high\n,,,,,,\n", "no table of claims: it must have a column 'estimate'"),
        ("claim,number,source,ours,verdict,estimate,low,high\n,,,,,x,,\n", "cannot be read as a table of claims"),
    ],
)
def test_a_file_that_is_no_table_of_claims_is_refused(text: str, error: str) -> None:
    Path("tables").mkdir()
    Path("tables/waits.csv").write_text(text)
    with pytest.raises((FileFormatError, RequestError), match=error):
        kept_runs(Path("tables"), ["waits"])


def test_a_folder_with_nothing_is_refused() -> None:
    with pytest.raises(RequestError, match=r"no-such has no kept run of waits or other"):
        kept_runs(Path("no-such"), ["waits", "other"])
