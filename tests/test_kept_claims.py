"""The kept tables of claims: what a run leaves of them, and what the pages of results show and say of them."""

import csv
import importlib.util
import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from experiments.campaigns.against import kept_runs

DOCS = Path(__file__).resolve().parent.parent / "docs"
RESULTS = DOCS / "results"

_spec = importlib.util.spec_from_file_location("site_claims", DOCS / "_site" / "claims.py")
assert _spec is not None
assert _spec.loader is not None
claims = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(claims)

RUN = """\
claim,source,number,ours,measure,expected,unit,estimate,low,high,confidence,replications,verdict,to_decide,note
"b is more, by far (as printed)",fig. 7,P1,False,x,> 0,,0.12345,0.1,0.2,0.95,20,holds,,
"b is more, by far (learned)",fig. 7,P1,False,x,> 0,,-1.0,-1.0,-1.0,0.95,20,fails,,
c is less,,,False,x,"≤ 5 %",fraction,,,,,,undecided,more,
d is more (as printed),fig. 7,P1,True,x,> 0,,1,1,1,0.95,20,holds,,
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The file that is kept of a run of the study ``waits``."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({"name": "waits"}))
    (tmp_path / "run" / "claims.csv").write_text(RUN, "utf-8")
    found: Path = claims.keep(tmp_path / "run", tmp_path)
    return found


def test_all_said_a_run_are_kept_with_all_digits(kept: Path) -> None:
    assert kept.name == "waits.csv"
    rows = claims.rows_of(kept)
    first = next(csv.DictReader(io.StringIO(RUN)))
    left_out = {"measure", "confidence", "replications", "to_decide", "note"}
    assert rows[0] == {name: value for name, value in first.items() if name not in left_out}
    assert len(rows) == 4
    assert [row["claim"] for row in kept_runs(kept.parent, ["waits"])["waits"].claims] == [row["claim"] for row in rows]


def test_sentences_on_the_same_cases_share_a_table_and_those_of_ours_are_left_out(kept: Path) -> None:
    assert claims.made(kept.parent)["claims_waits"]().strip().split("\n") == [
        "| sentence | expected | as printed | learned |",
        "| --- | --- | --- | --- |",
        "| b is more, by far | > 0 | holds, 0.123 [0.1, 0.2] | **fails**, -1 |",
        "",
        "| sentence | expected | found |",
        "| --- | --- | --- |",
        "| c is less | ≤ 5 % | undecided |",
    ]


def test_bounds_in_per_cent_have_estimates_in_per_cent(tmp_path: Path) -> None:
    (tmp_path / "waits.csv").write_text(
        "claim,expected,unit,estimate,low,high,verdict\nx,≤ 5 %,fraction,0.031,0.02,0.04,holds\n", "utf-8"
    )
    assert claims.shown(tmp_path / "waits.csv").endswith("| x | ≤ 5 % | holds, 3.1 [2, 4] |")


@pytest.mark.parametrize(
    ("study", "said", "headings"),
    [
        ("market", ("A is on top", "A is on top, if runs are cut at the last submission"),
         "found | if runs are cut at the last submission"),
        ("selection", ("A is on top, an order a day, on KTH (text)", "A is on top, an order a day, on CTC (text)"),
         "KTH | CTC"),
        ("capacity", ("A is like that on B, on Uniform", "A is like that on B, on Borg"), "Uniform | Borg"),
        ("waits", ("A is on top, on KTH (a)", "A is on top, on KTH (b)"), "a | b"),
    ],
)  # fmt: skip
def test_each_study_has_its_cases_at_the_end_of_its_sentences(
    tmp_path: Path, study: str, said: tuple[str, str], headings: str
) -> None:
    rows = "".join(f'"{claim}",> 0,,{value},,,holds\n' for value, claim in enumerate(said, 1))
    (tmp_path / f"{study}.csv").write_text(f"claim,expected,unit,estimate,low,high,verdict\n{rows}", "utf-8")
    heading, _, row = claims.shown(tmp_path / f"{study}.csv").strip().split("\n")
    assert heading == f"| sentence | expected | {headings} |"
    assert row.endswith("| > 0 | holds, 1 | holds, 2 |")


def test_a_table_on_many_cases_leaves_out_the_intervals(tmp_path: Path) -> None:
    head, row = "claim,expected,unit,estimate,low,high,verdict\n", "x ({}),> 0,,1234.5,2,3000,holds\n"
    for cases, found in (("abc", "holds, 1,234 [2, 3,000]"), ("abcd", "holds, 1,234")):
        (tmp_path / "waits.csv").write_text(head + "".join(map(row.format, cases)), "utf-8")
        assert claims.shown(tmp_path / "waits.csv").endswith("| > 0 |" + f" {found} |" * len(cases))


def test_a_sentence_on_several_has_each_verdict_once_in_a_row(tmp_path: Path) -> None:
    rows = "one,x; y,all,,1,holds\none,x; y,all,,2,holds\none,x; y,all,,3,fails\ntwo,z,all,,4,holds\n"
    (tmp_path / "waits.csv").write_text(f"table,claim,case,expected,found,verdict\n{rows}", "utf-8")
    assert list(claims.made(tmp_path)) == ["verdicts_waits", "claims_waits_one", "claims_waits_two"]
    found = claims.made(tmp_path)["claims_waits_one"]()
    assert found.split("\n")[1:] == ["| sentence | all |", "| --- | --- |", "| x; y | holds, 1; 2; **fails**, 3 |"]


def test_the_verdicts_on_what_the_source_says_are_counted(kept: Path) -> None:
    assert claims.made(kept.parent)["verdicts_waits"]() == "3 verdicts: 1 hold, 1 fail, 1 undecided."


def test_the_verdicts_at_each_end_of_the_runs_are_counted_apart(tmp_path: Path) -> None:
    rows = "a,holds\nb,too few\n" + "".join(f'"{one}, if runs are cut at the last submission",fails\n' for one in "ab")
    (tmp_path / "market.csv").write_text(f"claim,verdict\n{rows}", "utf-8")
    assert claims.made(tmp_path)["verdicts_market"]() == (
        "2 verdicts: 1 hold, 1 too few; if runs are cut at the last submission: 2 fail."
    )


# -- the pages --------------------------------------------------------------------------------------


def verdicts(study: str, table: str = "") -> Counter[str]:
    """Return how often each verdict is in a kept table, of the sentences that are the source's."""
    with (RESULTS / "claims" / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Counter(row["verdict"] for row in rows if row.get("ours") != "True" and table in {"", row.get("table")})


def test_every_kept_table_is_shown_once_on_the_page_of_its_study() -> None:
    marks = Counter(
        (page.stem, mark)
        for page in DOCS.rglob("*.md")
        for mark in re.findall(r"^<!-- made: (claims_\w+) -->$", page.read_text("utf-8"), re.MULTILINE)
    )
    assert marks == Counter((mark.split("_")[1], mark) for mark in claims.made() if mark.startswith("claims_"))


def test_the_page_on_capacity_shows_all_that_fail() -> None:
    (fails,) = re.findall(r"sentences \d+ hold, (\d+) fail", (RESULTS / "capacity.md").read_text("utf-8"))
    assert verdicts("capacity") == {"fails": int(fails)}
