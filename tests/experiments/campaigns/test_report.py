import base64
import json
import math
import os
import platform
import re
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Claim, Effect, run
from experiments.campaigns.report import PAGE, Report, _slugs, _state, claims_table, write_report
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
                "durations": pd.DataFrame({"order": ["SAF"], "mean_wait_s": [9000.0], "jobs_per_s": [7.5]}),
                "long": pd.DataFrame({"n": range(1000), "x": [0.5] * 1000}),
                "odd": pd.DataFrame([[True, float("inf"), None, 12345.6, 9999.7]], columns=list("abcdd")),
            }

        def figures(self, results):
            from experiments.campaigns.plots import boxes
            figure = boxes(results, "found", by="kind", label=HOSTILE)
            return {"found": figure, HOSTILE: figure}

        def findings(self, results):
            return [f"The largest is {results.table['found'].max()} <b>."]

        def files(self, results):
            return {"enter.txt": "x = <2>\\n"}

        def answer(self, results):
            return {"largest": 21}
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


class Reported(NamedTuple):
    """A campaign, what its report has, and its page."""

    campaign: Campaign
    report: Report
    page: Page
    text: str


def reported(path: str, out: Path, **more: Any) -> Reported:  # noqa: ANN401
    campaign = run(path, out=out, **{"scale": "smoke", "workers": 0, **more})
    report = write_report(campaign)
    text = (out / PAGE).read_text("utf-8")
    return Reported(campaign, report, Page(text), text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Return the report of a study with all that a page can show, most of it hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "counting.py").write_text(textwrap.dedent(REPORTING), "utf-8")
    return reported(str(folder / "counting.py"), folder / "out", seed=5, command=["schedlab", HOSTILE, "\udcff"])


def out_of(found: Reported) -> Path:
    return found.campaign.store.folder


# -- what is written --------------------------------------------------------------------------------


def test_a_report_is_tables_figures_claims_and_a_page_the_same_each_time(
    hostile: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, report = out_of(hostile), hostile.report
    assert [claim.verdict for claim in report.claims] == ["too few"]
    tables = ("summary", "script-alert-1-script-amp", "summary-2", "durations", "long", "odd")
    assert report.files == (
        "results.csv",
        "results.parquet",
        *(f"tables/{name}.csv" for name in tables),
        "figures/found.svg",
        "figures/script-alert-1-script-amp.svg",
        "claims.csv",
        "files/enter.txt",
        "report.html",
    )
    results = hostile.campaign.results().table
    pd.testing.assert_frame_equal(pd.read_parquet(out / "results.parquet"), results)
    assert pd.read_csv(out / "results.csv")["found"].tolist() == results["found"].tolist()
    assert pd.read_csv(out / "tables/summary-2.csv").to_dict("list") == {"kind": ["a", "b"], "found": [15.0, 16.0]}
    assert len(pd.read_csv(out / "tables/long.csv")) == 1000
    files = {name: (out / name).read_bytes() for name in report.files}
    assert all(files.values())
    with monkeypatch.context() as patch:
        patch.setattr("experiments.campaigns.report._MOST_CSV_ROWS", 7)
        assert "results.csv" not in write_report(hostile.campaign).files
    assert not (out / "results.csv").exists()
    assert "results.csv" not in (out / PAGE).read_text("utf-8")
    write_report(hostile.campaign)
    assert {name: (out / name).read_bytes() for name in files} == files


def test_findings_texts_and_an_answer_for_programs_are_there(hostile: Reported) -> None:
    report, out = hostile.report, out_of(hostile)
    assert (report.findings, report.answer) == (("The largest is 21 <b>.",), {"largest": 21})
    assert "<li>The largest is 21 &lt;b&gt;.</li>" in hostile.text
    assert (out / "files" / "enter.txt").read_text() == "x = <2>\n"
    assert "<pre>x = &lt;2&gt;\n</pre>" in hostile.text


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
    _, report, _, page = reported(write(PAPER), out, scale="small")
    for said in (
        "A. Author &amp; B. Other (1999). On &lt;waits&gt;. A journal.",
        '<a href="https://doi.org/10.1/2">10.1/2</a>',
        '<a href="tables/summary.csv">tables/summary.csv</a></td><td>1 hold</td>',
        "--workload A.swf</code></td><td>-</td>",  # what is not drawn has no shape
        "not in this run: <code>--workload A.swf</code>",
        "section 2, table 1 (P1)",
        "ours, on fig. 7",
    ):
        assert said in page
    assert "all signs" not in page, "what was compared in other runs says nothing of this one"
    assert [claim.verdict for claim in report.claims] == ["holds", "fails"]
    table = pd.read_csv(out / "claims.csv", keep_default_na=False)
    assert table[["source", "number", "ours"]].to_numpy().tolist() == [
        ["section 2, table 1", "P1", False],
        ["fig. 7", "", True],
    ]
    report = write_report(run(write(PAPER), out=out, scale="smoke", workers=0))
    assert [claim.verdict for claim in report.claims] == ["not judged"] * 2
    assert '<span class="verdict open">not judged</span>' in (out / PAGE).read_text("utf-8")


def test_the_table_of_claims_says_what_to_run_where_it_is_undecided_and_has_fractions_for_per_cents() -> None:
    def row(effect: Effect | None = None, **more: str) -> dict[str, Any]:
        claim = Claim(text="t", source="s", measure="m", effect=effect, at_least=0.1, **more)
        return claims_table([claim]).iloc[0].to_dict()

    held = row(Effect(1, 0.5, 2, 9))
    expected = {"expected": "≥ 0.1", "estimate": 1, "low": 0.5, "high": 2, "replications": 9, "unit": ""}
    assert held == {**held, **expected, "verdict": "holds", "to_decide": ""}
    more = "more replications: a larger --scale, or --set replications=N"
    for found, to_decide in ((row(), more), (row(to_decide="other cells"), "other cells")):
        assert (found["verdict"], found["to_decide"]) == ("undecided", to_decide)
    for unit, said, bound in (("%", "fraction", "≥ 10 %"), ("jobs", "jobs", "≥ 0.1 jobs")):
        found = row(Effect(0.5, 0.25, 0.75, 9), unit=unit)
        assert (found["unit"], found["expected"], found["estimate"]) == (said, bound, 0.5)


@given(st.lists(st.text(), max_size=5))
def test_each_name_makes_a_file_of_its_own_in_its_folder(names: list[str]) -> None:
    slugs = _slugs(names)
    assert len({slug.lower() for slug in slugs}) == len(names)
    assert all(slug and "/" not in slug and not slug.startswith(".") for slug in slugs)


# -- the page ---------------------------------------------------------------------------------------


def test_the_page_needs_nothing_from_elsewhere(hostile: Reported) -> None:
    links = hostile.page.links
    for link in links:
        assert link == "data:," or link.startswith("data:image/svg+xml;base64,") or (out_of(hostile) / link).is_file()
    assert "claims.csv" in links
    assert not re.search(r"@import|url\(|https?://|fetch\(|XMLHttpRequest", hostile.text)
    for link in links:
        if link.startswith("data:image"):
            drawn = base64.b64decode(link.partition(",")[2]).decode()
            assert not re.search(r'(?:href|src)="(?!#)', drawn)
            assert "<script" not in drawn


def test_what_is_hostile_is_shown_and_not_obeyed(hostile: Reported) -> None:
    tags, texts = hostile.page.tags, hostile.page.texts
    assert (tags.count("script"), hostile.text.count("<script>")) == (1, 1)
    assert "alert(" not in "".join(texts["script"])
    assert HOSTILE in texts["h3"]
    for tag in ("code", "th"):
        assert any(HOSTILE in said for said in texts[tag])
    assert any(shown == HOSTILE for _, shown in hostile.page.cells)
    assert texts["h1"] == ["What is counted, and <b>shown</b>"]


def test_no_control_character_of_a_name_reaches_the_page_or_a_figure(write: Write, out: Path) -> None:
    evil = "\x1b[31m\x07 $\\frac$"
    text = reported(write(REPORTING.replace(repr(HOSTILE), repr(evil))), out).text
    assert "\\x1b[31m\\x07" in text
    for page in (text, *(path.read_text("utf-8") for path in (out / "figures").iterdir())):
        assert not set(page) & {"\x1b", "\x07"}


def test_a_long_table_is_folded_and_shown_by_its_first_rows_with_a_link_to_all(hostile: Reported) -> None:
    assert "the first 200 of 1,000 rows · " in hostile.text
    places = [attrs.get("data-value") for attrs, _ in hostile.page.cells]
    assert (places.count("199"), places.count("200")) == (1, 0)
    summaries = set(hostile.page.texts["summary"])
    assert summaries & {"200 rows", "1 of 1 claims without a verdict", "1 rows"} == {
        "200 rows",
        "1 of 1 claims without a verdict",
    }


def test_numbers_are_shown_short_and_durations_in_hours_and_sorted_in_full(hostile: Reported) -> None:
    shown = {text: attrs.get("data-value") for attrs, text in hostile.page.cells}
    expected = {"yes": "1", "inf": "Infinity", "12,346": "12345.6", "10,000": "9999.7", "-": None, "2.5": "2.5"}
    assert {name: shown[name] for name in expected} == expected
    # Each value to sort by is empty or a number, as JavaScript reads it.
    for attrs, _ in hostile.page.cells:
        value = attrs.get("data-value")
        assert value in {None, "", "Infinity"} or math.isfinite(float(value or ""))
    assert {"mean wait (h)", "jobs per s"} <= set(hostile.page.texts["th"])
    assert 'tables/durations.csv">tables/durations.csv</a>, in seconds' in hostile.text
    assert pd.read_csv(out_of(hostile) / "tables" / "durations.csv")["mean_wait_s"].tolist() == [9000.0]


def test_the_page_says_where_the_results_come_from(hostile: Reported) -> None:
    about_run = " ".join(hostile.page.texts["dd"])
    about = json.loads((out_of(hostile) / "manifest.json").read_text("utf-8"))
    for said in ("base = 10", "a, b", f"digest {about['code']}"):
        assert said in about_run
    assert "seed 5" in hostile.text
    assert any(said.startswith("schedlab ") for said in hostile.page.texts["code"])


KILLED, UNKNOWN = "killed", "no end recorded: running, or killed"


@pytest.mark.parametrize(
    ("machine", "shown"),
    [
        ({"process": os.getpid()}, KILLED),  # its number was given to another process, which is this one
        ({"process": os.getppid()}, "running"),
        ({"process": 2**31 - 1}, KILLED),
        ({"process": -1}, UNKNOWN),
        ({}, UNKNOWN),
        ({"process": os.getpid(), "name": "elsewhere"}, UNKNOWN),
    ],
)
def test_a_run_that_was_killed_is_said_to_be_killed(machine: dict[str, Any], shown: str) -> None:
    about = {"state": "running", "machine": {"name": platform.node(), **machine}}
    assert (_state(about), _state({**about, "state": "finished"})) == (shown, "finished")


def test_failures_are_shown_with_their_tracebacks_the_first_of_many(write: Write, out: Path) -> None:
    mark = "drawn = float"
    fault = f"if cell['size'] == 1:\n                raise ValueError({HOSTILE!r} + '\\udcff')\n            {mark}"
    _, _, page, text = reported(write(COUNTING.replace(mark, fault)), out, chosen={"replications": 15})
    assert "30 of 60 cells done,\n30 failed" in text
    assert "This campaign is not complete" in text
    failed = [summary for summary in page.texts["summary"] if summary.startswith("kind ")]
    assert len(failed) == 20
    assert failed[0].startswith(f"kind a, size 1, replication 0: ValueError: {HOSTILE}")
    assert "counting.py" in page.texts["pre"][0]
    assert "and 10 more, in the folder <code>failures</code>" in text


def test_code_that_has_changed_since_is_reported(write: Write, out: Path) -> None:
    note = "The code has changed since these cells were run"
    _, _, page, text = reported(write(), out)
    assert note not in text
    assert "finished" in page.texts["td"]
    write(COUNTING.replace("drawn}", "drawn + 1}"))
    write_report(opened(out, trust=True))
    assert note in (out / PAGE).read_text("utf-8")
