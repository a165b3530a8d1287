import base64
import json
import math
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Claim, Effect, run
from experiments.campaigns.report import PAGE, _slugs, claims_table, write_report
from experiments.campaigns.running import Campaign, opened
from tests.experiments.campaigns.conftest import COUNTING, Write

HOSTILE = "<script>alert('1')</script>\"&amp;"

REPORTING = (
    COUNTING
    + """
        def tables(self, results):
            import pandas as pd
            return {
                "summary": results.summary(),
                HOSTILE: pd.DataFrame({HOSTILE: [HOSTILE]}),
                "Summary": results.table.groupby("kind")[["found"]].mean(),
                "long": pd.DataFrame({"n": range(1000), "x": [0.5] * 1000}),
                "odd": pd.DataFrame([[True, float("inf"), None, 12345.6, 9999.7]], columns=list("abcdd")),
            }

        def figures(self, results):
            from experiments.campaigns.plots import boxes
            figure = boxes(results, "found", by="kind", label=HOSTILE)
            return {"found": figure, HOSTILE: figure}
"""
)
REPORTING = REPORTING.replace("class Counting", f"HOSTILE = {HOSTILE!r}\n\n\n    class Counting").replace(
    'text="b is more"', "text=HOSTILE, note=HOSTILE, unit=HOSTILE"
)


class Page(HTMLParser):
    """A page that was read: what each tag says, which links there are, and whether tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.cells: list[tuple[dict[str, str | None], str]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in {"meta", "link", "br", "img"}:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action", "srcset"}]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]
        if tag == "td":
            self.cells.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)
        if "td" in self.open:
            attrs, text = self.cells[-1]
            self.cells[-1] = attrs, text + data


def reported(path: str, out: Path, **more: Any) -> tuple[Campaign, Page, str]:  # noqa: ANN401
    campaign = run(path, out=out, scale="smoke", workers=0, **more)
    write_report(campaign)
    text = (out / PAGE).read_text("utf-8")
    return campaign, Page(text), text


def test_no_control_character_of_a_name_reaches_the_page_or_a_figure(write: Write, out: Path) -> None:
    evil = "\x1b[31m\x07 $\\frac$"
    _, _, text = reported(write(REPORTING.replace(repr(HOSTILE), repr(evil))), out)
    assert "\\x1b[31m\\x07" in text
    for page in (text, *(path.read_text("utf-8") for path in (out / "figures").iterdir())):
        assert not set(page) & {"\x1b", "\x07"}


# -- what is written --------------------------------------------------------------------------------


def test_a_report_is_tables_figures_claims_and_a_page(write: Write, out: Path) -> None:
    campaign = run(write(REPORTING), out=out, scale="smoke", workers=0)
    report = write_report(campaign)
    assert [claim.verdict for claim in report.claims] == ["too few"]
    assert report.files == (
        "results.csv",
        "results.parquet",
        "tables/summary.csv",
        "tables/script-alert-1-script-amp.csv",
        "tables/summary-2.csv",
        "tables/long.csv",
        "tables/odd.csv",
        "figures/found.svg",
        "figures/script-alert-1-script-amp.svg",
        "claims.csv",
        "report.html",
    )
    assert all((out / name).stat().st_size for name in report.files)
    results = campaign.results().table
    pd.testing.assert_frame_equal(pd.read_parquet(out / "results.parquet"), results)
    assert pd.read_csv(out / "results.csv")["found"].tolist() == results["found"].tolist()
    assert pd.read_csv(out / "tables/summary-2.csv").to_dict("list") == {"kind": ["a", "b"], "found": [15.0, 16.0]}
    assert len(pd.read_csv(out / "tables/long.csv")) == 1000


def test_the_same_campaign_has_the_same_report(write: Write, out: Path) -> None:
    campaign, _, first = reported(write(REPORTING), out)
    files = {path: path.read_bytes() for path in out.rglob("*") if path.suffix in {".csv", ".svg", ".parquet"}}
    write_report(campaign)
    assert (out / PAGE).read_text("utf-8") == first
    assert {path: path.read_bytes() for path in files} == files


PAPER = """
    from experiments.campaigns import Claim, Effect, Element, Paper, Scale, Study


    class Printed(Study):
        paper = Paper(authors="A. Author & B. Other", year=1999, title="On <waits>", venue="A journal",
                      url="https://doi.org/10.1/2")
        elements = (
            Element(number="table 1", shows="waits", file="tables/summary*.csv", why="all signs"),
            Element(number="fig. 7", shows="logs", file="figures/none.svg", why="fewer",
                    needs="--workload A.swf"),
        )
        factors = {"kind": ["a", "b"]}
        scales = {"smoke": Scale(replications=10, judged=False), "small": Scale(replications=10)}

        def run_cell(self, cell):
            return {"found": 1.0}

        def claims(self, results):
            effect = results.difference("found", {"kind": "a"}, {"kind": "b"})
            return [
                Claim(text="equal", source="section 2, table 1", number="P1", measure="x", effect=effect, at_most=1),
                Claim(text="near", source="fig. 7", ours=True, measure="x", effect=effect, less_than=0),
            ]
"""


def test_a_report_names_the_paper_and_where_each_of_its_elements_is(write: Write, out: Path) -> None:
    report = write_report(run(write(PAPER), out=out, scale="small", workers=0))
    page = (out / PAGE).read_text("utf-8")
    assert "A. Author &amp; B. Other (1999). On &lt;waits&gt;. A journal." in page
    assert '<a href="https://doi.org/10.1/2">10.1/2</a>' in page
    assert '<a href="tables/summary.csv">tables/summary.csv</a></td><td>1 hold</td>' in page
    assert "--workload A.swf</code></td><td>-</td>" in page, "what is not drawn has no shape"
    assert "all signs" not in page, "what was compared in other runs says nothing of this one"
    assert "not in this run: <code>--workload A.swf</code>" in page
    assert "section 2, table 1 (P1)" in page
    assert "ours, on fig. 7" in page
    assert [claim.verdict for claim in report.claims] == ["holds", "fails"]
    table = pd.read_csv(out / "claims.csv")
    assert table[["source", "ours"]].to_numpy().tolist() == [["section 2, table 1", False], ["fig. 7", True]]
    assert table["number"].fillna("").tolist() == ["P1", ""]


def test_no_claim_is_judged_at_a_scale_that_only_shows_that_everything_runs(write: Write, out: Path) -> None:
    report = write_report(run(write(PAPER), out=out, scale="smoke", workers=0))
    page = (out / PAGE).read_text("utf-8")
    assert [claim.verdict for claim in report.claims] == ["not judged"] * 2
    assert '<span class="verdict open">not judged</span>' in page


def test_the_table_of_claims_says_what_to_run_only_where_it_is_undecided() -> None:
    bounds = {"text": "t", "source": "s", "measure": "m", "more_than": 0.0}
    table = claims_table([
        Claim(effect=Effect(1, 0.5, 2, 9), **bounds),
        Claim(effect=None, to_decide="more", **bounds),
        Claim(effect=None, **bounds),
    ])  # fmt: skip
    assert table["verdict"].tolist() == ["holds", "undecided", "undecided"]
    assert table["to_decide"].tolist() == ["", "more", "more replications: a larger --scale, or --set replications=N"]
    assert table.loc[0, ["expected", "estimate", "low", "high", "replications"]].tolist() == ["> 0", 1, 0.5, 2, 9]


def test_the_table_of_claims_says_that_numbers_whose_bounds_are_in_per_cent_are_fractions() -> None:
    found = [Claim(text="t", source="s", measure="m", effect=Effect(0.5, 0.25, 0.75, 9), at_least=0.1, unit=unit)
             for unit in ("", "%", "jobs")]  # fmt: skip
    table = claims_table(found)
    assert table["expected"].tolist() == ["≥ 0.1", "≥ 10 %", "≥ 0.1 jobs"]
    assert table["unit"].tolist() == ["", "fraction", "jobs"]
    assert table["estimate"].tolist() == [0.5] * 3


@given(st.lists(st.text(), max_size=5))
def test_each_name_makes_a_file_of_its_own_in_its_folder(names: list[str]) -> None:
    slugs = _slugs(names)
    assert len({slug.lower() for slug in slugs}) == len(names)
    assert all(slug and "/" not in slug and not slug.startswith(".") for slug in slugs)


# -- the page ---------------------------------------------------------------------------------------


def test_the_page_needs_nothing_from_elsewhere(write: Write, out: Path) -> None:
    _, page, text = reported(write(REPORTING), out)
    for link in page.links:
        assert link == "data:," or link.startswith("data:image/svg+xml;base64,") or (out / link).is_file()
    assert "claims.csv" in page.links
    assert not re.search(r"@import|url\(|https?://|fetch\(|XMLHttpRequest", text)
    for link in page.links:
        if link.startswith("data:image"):
            drawn = base64.b64decode(link.partition(",")[2]).decode()
            assert not re.search(r'(?:href|src)="(?!#)', drawn)
            assert "<script" not in drawn


def test_what_is_hostile_is_shown_and_not_obeyed(write: Write, out: Path) -> None:
    _, page, text = reported(write(REPORTING), out, command=[HOSTILE, "\udcff"], chosen={"kind": [HOSTILE, "b"]})
    assert page.tags.count("script") == 1
    assert "alert(" not in "".join(page.texts["script"])
    assert text.count("<script>") == 1
    assert HOSTILE in page.texts["h3"]
    assert any(HOSTILE in said for said in page.texts["code"])
    assert any(HOSTILE in said for said in page.texts["th"])
    assert any(shown == HOSTILE for _, shown in page.cells)
    assert page.texts["h1"] == ["What is counted, and <b>shown</b>"]


def test_a_long_table_is_folded_and_shown_by_its_first_rows_with_a_link_to_all(write: Write, out: Path) -> None:
    _, page, text = reported(write(REPORTING), out)
    assert "the first 200 of 1,000 rows · " in text
    assert sum(attrs.get("data-value") == "199" for attrs, _ in page.cells) == 1
    assert sum(attrs.get("data-value") == "200" for attrs, _ in page.cells) == 0
    assert {"200 rows", "1 of 1 claims without a verdict"} <= set(page.texts["summary"])
    assert "1 rows" not in page.texts["summary"]


def test_numbers_are_shown_short_and_sorted_in_full(write: Write, out: Path) -> None:
    _, page, _ = reported(write(REPORTING), out)
    shown = {text: attrs.get("data-value") for attrs, text in page.cells}
    assert {name: shown[name] for name in ("yes", "inf", "12,346", "10,000", "-")} == {
        "yes": "1",
        "inf": "Infinity",
        "12,346": "12345.6",
        "10,000": "9999.7",
        "-": None,
    }
    # Each value to sort by is empty or a number, as JavaScript reads it.
    for attrs, _ in page.cells:
        value = attrs.get("data-value")
        assert value in {None, "", "Infinity"} or math.isfinite(float(value or ""))


def test_durations_are_shown_in_hours_and_written_in_seconds(write: Write, out: Path) -> None:
    odd = '"odd": pd.DataFrame('
    durations = '"durations": pd.DataFrame({"order": ["SAF"], "mean_wait_s": [9000.0], "jobs_per_s": [7.5]}),'
    _, page, text = reported(write(REPORTING.replace(odd, durations + odd)), out)
    assert {"mean wait (h)", "jobs per s"} <= set(page.texts["th"])
    assert {"2.5", "7.5"} <= {shown for _, shown in page.cells}
    assert 'tables/durations.csv">tables/durations.csv</a>, in seconds' in text
    assert pd.read_csv(out / "tables" / "durations.csv")["mean_wait_s"].tolist() == [9000.0]


@pytest.mark.parametrize(
    ("machine", "shown"),
    [
        ({"process": os.getpid()}, "killed"),  # its number was given to another process, which is this one
        ({"process": os.getppid()}, "running"),
        ({"process": 2**31 - 1}, "killed"),
        ({"process": -1}, "no end recorded: running, or killed"),
        ({}, "no end recorded: running, or killed"),
        ({"process": os.getpid(), "name": "elsewhere"}, "no end recorded: running, or killed"),
    ],
)
def test_a_run_that_was_killed_is_said_to_be_killed(
    machine: dict[str, Any], shown: str, write: Write, out: Path
) -> None:
    campaign, page, _ = reported(write(), out)
    assert "finished" in page.texts["td"]
    store = campaign.store
    [about] = store.history()
    del about["machine"]["process"]
    store.write("runs/killed.json", {**about, "state": "running", "machine": {**about["machine"], **machine}})
    write_report(campaign)
    assert shown in Page((out / PAGE).read_text("utf-8")).texts["td"]


def test_failures_are_shown_with_their_tracebacks(write: Write, out: Path) -> None:
    mark = "drawn = float"
    fault = f"if cell['size'] == 1:\n                raise ValueError({HOSTILE!r} + '\\udcff')\n            {mark}"
    _, page, text = reported(write(COUNTING.replace(mark, fault)), out)
    assert "4 of 8 cells done,\n4 failed" in text
    assert "This campaign is not complete" in text
    failed = [summary for summary in page.texts["summary"] if summary.startswith("kind ")]
    assert len(failed) == 4
    assert failed[0].startswith(f"kind a, size 1, replication 0: ValueError: {HOSTILE}")
    assert "counting.py" in page.texts["pre"][0]


def test_of_many_failures_the_first_are_shown(write: Write, out: Path) -> None:
    mark = "drawn = float"
    fault = f"if cell['size'] == 1:\n                1 / 0\n            {mark}"
    _, page, text = reported(write(COUNTING.replace(mark, fault)), out, chosen={"replications": 15})
    assert sum(summary.startswith("kind ") for summary in page.texts["summary"]) == 20
    assert "and 10 more, in the folder <code>failures</code>" in text


def test_code_that_has_changed_since_is_reported(write: Write, out: Path) -> None:
    note = "The code has changed since these cells were run"
    _, _, text = reported(write(), out)
    assert note not in text
    write(COUNTING.replace("drawn}", "drawn + 1}"))
    write_report(opened(out, trust=True))
    assert note in (out / PAGE).read_text("utf-8")


def test_the_page_says_where_the_results_come_from(write: Write, out: Path) -> None:
    _, page, text = reported(write(), out, seed=5, command=["schedlab", "run", "x"])
    about_run = " ".join(page.texts["dd"])
    about = json.loads((out / "manifest.json").read_text("utf-8"))
    assert "base = 10" in about_run
    assert "a, b" in about_run
    assert f"digest {about['code']}" in about_run
    assert "seed 5" in text
    assert "schedlab run x" in page.texts["code"]


def test_findings_stand_first_and_a_table_of_very_many_rows_has_no_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reported.py"
    path.write_text(
        "from experiments.campaigns import Scale, Study\n\n\nclass Reported(Study):\n"
        "    scales = {'smoke': Scale(replications=3)}\n\n"
        "    def run_cell(self, cell):\n        return {'x': cell.replication}\n\n"
        "    def findings(self, results):\n        return [f'The largest is {results.table[\"x\"].max()} <b>.']\n\n"
        "    def files(self, results):\n        return {'enter.txt': 'x = <2>\\n'}\n\n"
        "    def answer(self, results):\n        return {'largest': 2}\n"
    )
    campaign = run(str(path), out=tmp_path / "out", scale="smoke", workers=0)
    report = write_report(campaign)
    assert report.findings == ("The largest is 2 <b>.",)
    assert "<li>The largest is 2 &lt;b&gt;.</li>" in (tmp_path / "out" / "report.html").read_text()
    assert {"results.csv", "results.parquet", "files/enter.txt"} <= set(report.files)
    assert (tmp_path / "out" / "files" / "enter.txt").read_text() == "x = <2>\n"
    assert "<pre>x = &lt;2&gt;\n</pre>" in (tmp_path / "out" / "report.html").read_text()
    assert report.answer == {"largest": 2}
    monkeypatch.setattr("experiments.campaigns.report._MOST_CSV_ROWS", 2)
    report = write_report(campaign)
    assert "results.csv" not in report.files
    assert not (tmp_path / "out" / "results.csv").exists()
    assert "results.csv" not in (tmp_path / "out" / "report.html").read_text()
