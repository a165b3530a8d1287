"""The four papers with one command: what is run on which files, and the page."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from experiments import reproducing
from experiments.campaigns.planning.finding import find_class
from experiments.reproducing import PAPERS, settings_of
from tests.command_line import Run

STUDY = """
from experiments.campaigns import Claim, Element, Paper, Scale, Study


class Printed(Study):
    \"\"\"What is printed.\"\"\"

    paper = Paper(authors="A. Author", year=1999, title="On waits", venue="", url="https://doi.org/10.1/2")
    elements = (
        Element(number="table 1", shows="waits", file="tables/summary.csv", why="all signs"),
        Element(number="fig. 7", shows="logs", file="figures/none.svg", why="fewer", needs="--workload A"),
    )
    factors = {"kind": ["a", "b"]}
    scales = {"smoke": Scale(replications=2, judged=False), "small": Scale(replications=10)}

    def run_cell(self, cell):
        if FAILS and cell["kind"] == "b":
            raise ValueError("no such kind")
        return {"found": 1.0 + (cell["kind"] == "b")}

    def claims(self, results):
        effect = results.difference("found", {"kind": "b"}, {"kind": "a"})
        return [
            Claim(text="b is more", source="section 2", number="P1", measure="x", effect=effect, more_than=0),
            Claim(text="b is less", source="fig. 7", measure="x", effect=effect, less_than=0, note="it is more"),
            Claim(text="b is much less", source="fig. 7", ours=True, measure="x", effect=effect, less_than=-9),
        ]
"""


@pytest.fixture
def reproduce(run: Run, as_it_was: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Reproduce two small papers instead of the four, in a folder of their own."""
    for name in ("one", "two"):
        Path(f"{name}.py").write_text(STUDY.replace("Printed", name.title()).replace("FAILS", "False"))
    monkeypatch.setattr(reproducing, "PAPERS", ("one.py", "two.py"))
    return partial(run, "reproduce", "-j", 0)


def test_all_papers_are_run_and_one_page_says_what_holds_what_fails_and_why(reproduce: Run) -> None:
    reported = json.loads(reproduce("--out", "there", "--json").out)
    assert [each["study"] for each in reported["papers"]] == ["one", "two"]
    first = reported["papers"][0]
    assert first["claims"] == {"holds": 1, "fails": 1, "undecided": 0, "too few": 0, "not judged": 0}
    assert first["ours"] == {"holds": 0, "fails": 1, "undecided": 0, "too few": 0, "not judged": 0}
    assert first["fails"] == ["b is less"], "a sentence of ours is none of the paper's"
    assert first["missing"] == ["fig. 7"]
    assert first["cells"] == {"planned": 20, "done": 20}
    assert Path(first["report"]).is_file()
    page = Path("there/index.html").read_text("utf-8")
    assert "A. Author (1999). On waits." in page
    assert '<a href="one/report.html">report</a>' in page
    assert "it is more" in page
    assert "b is much less" not in page
    assert "not in this run: <code>--workload A</code>" in page


def test_the_same_command_runs_nothing_again_and_shows_the_claims(reproduce: Run) -> None:
    first, again = (reproduce("--out", "there") for _ in range(2))
    assert first.status == again.status == 0
    assert "the claims of four papers, scale small" in again.out
    assert "b is less" in again.out
    assert "wrote there/index.html, and a report for each paper beside it" in again.err


def test_a_paper_whose_cells_fail_is_reported_and_the_others_are_reported(reproduce: Run) -> None:
    Path("one.py").write_text(STUDY.replace("Printed", "One").replace("FAILS", "True"))
    answer = reproduce("--scale", "smoke", "--out", "there")
    assert answer.status == 1
    assert "2 cells of one.py failed, such as: ValueError: no such kind" in answer.err
    assert "2 cells failed" in Path("there/index.html").read_text("utf-8")


def test_papers_are_compared_with_those_that_are_kept(reproduce: Run) -> None:
    assert reproduce("--out", "kept").status == 0
    assert reproduce("--out", "same", "--against", "kept").status == 0
    Path("two.py").write_text(Path("two.py").read_text().replace("more_than=0", "more_than=3"))
    status, out, _ = reproduce("--out", "other", "--against", "kept")
    assert status == 1
    assert "one: 0 of 3 claims in both runs differ" in out
    assert "two: 1 of 3 claims in both runs differ" in out
    assert re.search(r"two +claim +b is more +holds: 1 \[1, 1\] +fails: 1 \[1, 1\]", out)
    assert 'href="two/report.html#against"' in Path("other/index.html").read_text("utf-8")
    answer = reproduce("--out", "other", "--against", "kept/one", "--json")
    assert answer.status == 0
    assert "kept/one has a kept run of one; the others are not compared" in answer.err
    assert ["against" in each for each in json.loads(answer.out)["papers"]] == [True, False]


def test_files_go_to_the_studies_that_read_them() -> None:
    files = {"logs": ["A.swf", "B.swf"], "borg": ["C.txt", "D.txt"]}
    found = {name: settings_of(name, "small", **files, engine=None) for name in PAPERS}
    assert found["regression"] == {"workload": ["generated", "A.swf", "B.swf"]}
    assert found["selection"] == {"workload": ["A.swf", "B.swf"]}
    assert found["market"] == {}
    assert found["capacity"]["workload"][-2:] == ["C.txt", "D.txt"]
    assert "Uniform" in found["capacity"]["workload"]
    assert settings_of("market", "small", logs=(), borg=(), engine="simpy") == {"engine": "simpy"}
    assert settings_of("selection", "small", logs=(), borg=(), engine=None) == {}


def test_an_unknown_scale_is_refused_before_anything_is_run(reproduce: Run) -> None:
    answer = reproduce("--scale", "huge", "--out", "there")
    assert (answer.status, "unknown scale of one 'huge'" in answer.err) == (2, True)
    assert not Path("there").exists()


@pytest.mark.parametrize("name", PAPERS)
def test_each_study_names_its_paper_and_each_figure_and_table_of_it(name: str) -> None:
    study = find_class(name)
    assert study.paper is not None
    assert study.paper.url.startswith("https://")
    numbers = [element.number for element in study.elements]
    assert numbers
    assert len(set(numbers)) == len(numbers), "each once"
    assert all(element.shows and "/" in element.file for element in study.elements)
