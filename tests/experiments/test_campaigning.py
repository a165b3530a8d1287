import importlib.util
import json
import marshal
import os
import py_compile
import shlex
import struct
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import NoReturn

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiments import campaigning
from experiments.campaigns.finding import find_study
from experiments.campaigns.running import Shard
from experiments.campaigns.study import Study
from experiments.studies.advice.study import Advice
from simmodels.errors import RequestError, SimModelsError
from tests.command_line import Answer, Run

STUDY = """from experiments.campaigns import Claim, Scale, Study


class Counting(Study):
    parameters = {"base": 10, "fail": False}
    factors = {"kind": ["a", "b"], "size": [1, 2]}
    scales = {"smoke": Scale(replications=2), "small": Scale(replications=10)}

    def run_cell(self, cell):
        if cell["fail"] and cell["size"] == 2:
            raise ValueError("no such size")
        return {"found": cell["base"] * cell["size"] + (cell["kind"] == "b")}

    def claims(self, results):
        effect = results.difference("found", {"kind": "b"}, {"kind": "a"})
        return [Claim(text="b is more", source="here", measure="found", effect=effect, more_than=0)]
"""


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Forget the modules of a test's own files after it."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("_study_", "beside_it", "kit")):
            del sys.modules[name]


@pytest.fixture
def run(run: Run) -> Run:
    """Run the command line where there is a study."""
    Path("counting.py").write_text(STUDY)
    return run


def smoke(run: Run, *words: object) -> Answer:
    return run("run", "counting.py", "--scale", "smoke", "--workers", 0, *words)


# -- run --------------------------------------------------------------------------------------------


def test_a_run_does_all_cells_and_shows_the_claims(run: Run) -> None:
    answer = smoke(run)
    assert answer.status == 0
    assert answer.out.startswith("claims of counting, scale smoke\n")
    assert "b is more" in answer.out
    assert "1 (no interval: 2 replications, of 10 that are needed)" in answer.out
    assert answer.err.splitlines()[-2:] == [
        "counting: 8 of 8 cells are done, 8 run just now",
        "wrote results/counting/report.html and 4 tables and figures beside it",
    ]
    assert Path("results/counting/report.html").is_file()
    command = json.loads(next(Path("results/counting/runs").iterdir()).read_text())["command"]
    assert command == ["schedlab", "run", "counting.py", "--scale", "smoke", "--workers", "0"]


def test_running_again_runs_nothing_again(run: Run) -> None:
    smoke(run)
    assert smoke(run).err.splitlines()[0] == "counting: 8 of 8 cells are done, 0 run just now"
    answer = run("run", "counting.py", "-j", 0)
    assert "counting: 40 of 40 cells are done, 32 run just now" in answer.err
    assert "1 [1, 1]" in answer.out
    assert "holds" in answer.out


def test_json_is_one_object_and_nothing_else(run: Run) -> None:
    answer = run("run", "counting.py", "-j", 0, "--json", "--out", "there", "--seed", 3)
    reported = json.loads(answer.out)
    expected = {"study": "counting", "scale": "small", "seed": 3, "interrupted": False}
    assert {name: reported[name] for name in expected} == expected
    assert reported["cells"] == {"planned": 40, "done": 40, "run": 40, "failed": 0}
    assert reported["claims"] == [
        {"claim": "b is more", "source": "here", "number": "", "ours": False, "expected": "> 0", "estimate": 1.0,
         "low": 1.0, "high": 1.0, "verdict": "holds"},
    ]  # fmt: skip
    assert (reported["out"], reported["files"][-1]) == ("there", "report.html")
    again = run("report", "there", "--json")
    assert (again.status, json.loads(again.out)) == (0, {**reported, "cells": {**reported["cells"], "run": 0}})


def test_cells_that_fail_are_reported_and_the_others_reported(run: Run) -> None:
    answer = smoke(run, "--set", "fail=true", "--json")
    assert answer.status == 1
    assert json.loads(answer.out)["cells"] == {"planned": 8, "done": 4, "run": 8, "failed": 4}
    errors = [line for line in answer.err.splitlines() if line.startswith("error: ")]
    assert errors[0] == "error: cell kind a, size 2, replication 0 failed: ValueError: no such size"
    assert len(errors) == 3
    assert "4 cells failed; tracebacks are in results/counting/failures; --retry-failed runs them again" in answer.err
    again = smoke(run, "--set", "fail=true")
    assert (again.status, "0 run just now" in again.err) == (1, True)
    again = smoke(run, "--set", "fail=true", "--retry-failed")
    assert (again.status, "4 run just now" in again.err, "runs them again" in again.err) == (1, True, False)


def test_when_all_cells_fail_there_is_no_report(run: Run) -> None:
    answer = smoke(run, "-s", "fail=true", "-s", "size=2", "--json")
    assert (answer.status, json.loads(answer.out)["files"]) == (1, [])
    assert not Path("results/counting/report.html").exists()
    answer = run("report", "results/counting")
    assert answer == (
        2,
        "",
        "error: results/counting: no cell of study counting is done; run at least one before the report\n",
    )


def test_shards_make_one_campaign_and_the_last_one_reports(run: Run) -> None:
    first = smoke(run, "--shard", "1/2")
    assert (first.status, first.out) == (0, "")
    assert first.err.splitlines()[-2:] == [
        "counting: 4 of 8 cells are done, 4 run just now",
        "when the other shards are done: schedlab report results/counting",
    ]
    assert not Path("results/counting/report.html").exists()
    assert run("report", "results/counting").err.splitlines()[0] == "counting: 4 of 8 cells are done"
    assert "wrote results/counting/report.html" in smoke(run, "--shard", "2/2").err


def test_values_are_set_from_the_command_line(run: Run) -> None:
    smoke(run, "-s", "size=3,4", "-s", "base = 1.5", "--set", "replications=1", "--set", "kind=b")
    table = pd.read_parquet("results/counting/results.parquet")
    assert table[["kind", "size", "replication", "found"]].to_numpy().tolist() == [["b", 3, 0, 5.5], ["b", 4, 0, 7.0]]


def test_a_claim_about_cells_that_were_not_asked_for_leaves_the_report_whole(run: Run) -> None:
    answer = smoke(run, "-s", "kind=a")
    assert (answer.status, "not measured" in answer.out) == (0, True)


def test_changed_code_is_reported_by_the_report_and_run_again_by_a_run(run: Run) -> None:
    smoke(run)
    Path("counting.py").write_text(STUDY.replace('cell["base"] *', 'cell["base"] +'))
    for words in (("--trust",), ("--study", "counting.py")):
        assert "the code has changed since these cells were run" in run("report", "results/counting", *words).err
    assert "8 run just now" in smoke(run).err
    assert "the code has changed" not in run("report", "results/counting").err


MARKS = "\n\nfrom pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"
"""What a test's file leaves if it is run."""
ORDER = "import simmodels as sm\n\n\n@sm.order\ndef mine(submit):\n    return submit\n"


def test_a_report_runs_only_code_that_this_user_has_run_as_it_is(run: Run, tmp_path: Path) -> None:
    """Though it lies in the current folder, and the manifest vouches for it: such a folder comes from anyone."""
    smoke(run)
    manifest = Path("results/counting/manifest.json")
    about = json.loads(manifest.read_text("utf-8"))
    del about["digest"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "counting.py").write_text(STUDY + MARKS)
    (tmp_path / "hidden.py").write_text(STUDY + ORDER + MARKS)
    (tmp_path / "other" / "based.toml").write_text('study = "../hidden.py"\nname = "counting"\n')
    for part in ("parameters", "factors", "scales.smoke.factors"):
        order = '["hidden.py:mine"]' if part.endswith("factors") else '"hidden.py:mine"'
        (tmp_path / f"{part}.toml").write_text(f'study = "replay"\nname = "counting"\n[{part}]\norder = {order}\n')
    replay = {**about, "study": "replay", "name": "replay", "chosen": {"order": ["FCFS", "hidden.py:mine"]}}
    for said, file in (
        ({**about, "study": str(tmp_path / "other" / "counting.py")}, "other/counting.py"),
        ({**about, "study": "other/based.toml"}, "hidden.py"),
        ({**about, "study": str(tmp_path / "hidden.py")}, "hidden.py"),
        ({**about, "study": "hidden.py:Counting", "sources": {str(tmp_path / "hidden.py"): "0"}}, "hidden.py"),
        ({**about, "study": "parameters.toml"}, "hidden.py"),
        ({**about, "study": "factors.toml"}, "hidden.py"),
        ({**about, "study": "scales.smoke.factors.toml"}, "hidden.py"),
        (replay, "hidden.py"),
    ):
        manifest.write_text(json.dumps(said))
        answer = run("report", "results/counting")
        assert (answer.status, answer.out) == (2, "")
        [line] = answer.err.splitlines()
        what = f"names {tmp_path / file}, a file of code that you have not run as it is; name the study yourself with "
        assert f"results/counting/manifest.json {what}--study, or use --trust if you trust the folder" in line
        assert not list(tmp_path.rglob("*.ran"))
    manifest.write_text(json.dumps({**about, "study": str(tmp_path / "other" / "counting.py")}))
    assert run("report", "results/counting", "--study", "counting.py").status == 0
    assert not list(tmp_path.rglob("*.ran"))
    assert run("report", "results/counting", "--trust").status == 0
    assert len(list(tmp_path.rglob("*.ran"))) == 1
    (tmp_path / "another.py").write_text(STUDY.replace("Counting", "Another"))
    answer = run("report", "results/counting", "--study", "another.py")
    assert (answer.status, "holds a campaign of study 'counting', and another.py is study another" in answer.err) == (
        2,
        True,
    )


def test_code_that_a_report_first_meets_as_it_is_written_is_not_run_either(run: Run, tmp_path: Path) -> None:
    """A study's own code may run a file by a name that is relative: in another folder, that is another's."""
    claims = "    def claims(self, results):\n"
    named = f"{claims}        from experiments.inputs import named_priority\n        named_priority('order.py')\n"
    Path("counting.py").write_text(STUDY.replace(claims, named))
    Path("order.py").write_text(ORDER)
    assert smoke(run).status == 0
    assert run("report", "results/counting").status == 0
    Path("order.py").write_text(ORDER + MARKS)
    answer = run("report", "results/counting")
    assert (answer.status, "order.py, a file of code that you have not run as it is" in answer.err) == (2, True)
    assert not list(tmp_path.rglob("*.ran"))


@pytest.mark.parametrize("where", ["at its head", "in a package", "in its claims", "in a file of an order"])
def test_what_code_imports_from_beside_it_is_compared_too(where: str, run: Run, tmp_path: Path) -> None:
    """Byte for byte, as what is run: compiled code that lies there under its name is not."""
    helper, name = Path("beside_it.py"), "beside_it"
    if where == "in a package":
        Path("kit").mkdir()
        helper, name = Path("kit/beside_it.py"), "kit.beside_it"
    helper.write_text("n = 1\n")
    claims = "    def claims(self, results):\n"
    if where == "in its claims":
        Path("counting.py").write_text(STUDY.replace(claims, f"{claims}        import {name}\n"))
    elif where == "in a file of an order":
        Path("order.py").write_text(f"import {name}\n{ORDER}")
        named = "        from experiments.inputs import named_priority\n        named_priority('order.py')\n"
        Path("counting.py").write_text(STUDY.replace(claims, claims + named))
    else:
        Path("counting.py").write_text(f"import {name}\n{STUDY}")
    shards = [smoke(run, "--shard", f"{number}/2").status for number in (1, 2)]

    def report(*words: object) -> Answer:
        for module in (name, name.partition(".")[0]):
            sys.modules.pop(module, None)
        return run("report", "results/counting", *words)

    answer = report()
    assert (shards, answer.status) == ([0, 0], 0), answer.err
    py_compile.compile(str(helper), dfile=str(tmp_path / helper))
    good = helper.read_bytes(), helper.stat()
    compiled = Path(cache_from_source(str(helper)))
    helper.write_text("n = 1\n" + MARKS)
    answer = report()
    what = f"names {tmp_path / helper}, a file of code that you have not run as it is; name the study yourself"
    assert (answer.status, what in answer.err, list(tmp_path.rglob("*.ran"))) == (2, True, [])
    other = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(good[1].st_mtime), good[1].st_size)
    compiled.write_bytes(other + marshal.dumps(compile(helper.read_text(), str(tmp_path / helper), "exec")))
    helper.write_bytes(good[0])
    os.utime(helper, ns=(good[1].st_atime_ns, good[1].st_mtime_ns))
    assert (report().status, list(tmp_path.rglob("*.ran"))) == (0, [])
    helper.write_text("n = 1\n" + MARKS)
    words = ("--trust",) if where == "in a file of an order" else ("--study", "counting.py")
    assert report(*words).status == 0
    assert len(list(tmp_path.rglob("*.ran"))) == 1


def test_a_report_of_what_one_has_run_asks_nothing_in_any_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("based.toml").write_text('study = "counting.py"\n')
    Path("order.py").write_text(ORDER)
    for study in ("counting.py", "counting.py:Counting", "based.toml", "replay"):
        folder = f"results/{study.partition('.')[0]}{study.count(':')}"
        options = ("-s", "jobs=60", "-s", "order=FCFS,order.py") if study == "replay" else ()
        assert run("run", study, "--scale", "smoke", "--workers", 0, "--out", folder, *options).status == 0
        assert run("report", folder).status == 0
    monkeypatch.chdir("results")
    assert run("report", "counting0").status == 0


@pytest.mark.parametrize(
    ("home", "why"),
    [
        ("counting.py", "no note of what you run can be kept in {}: not a directory"),
        ("none", "no note of what you run can be kept: there is no home, and no XDG_STATE_HOME"),
    ],
)
def test_where_no_note_can_be_kept_a_run_runs_and_a_report_asks(
    home: str, why: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_home() -> NoReturn:
        raise RuntimeError("could not determine home directory")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setenv("XDG_STATE_HOME", "none" if home == "none" else str(tmp_path / home))
    assert smoke(run).status == 0
    answer = run("report", "results/counting")
    [line] = answer.err.splitlines()
    assert (answer.status, why.format(tmp_path / home / "schedlab" / "code") in line) == (2, True)
    assert run("report", "results/counting", "--trust").status == 0


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('"base": 10', '"base": 11'),
        ('"size": [1, 2]', '"size": [2, 3, 4]'),
        ("replications=2", "replications=1"),
        ("    def claims", "    def inputs(self, scale):\n        return {'more': 2}\n\n    def claims"),
        ("inputs", "inputs"),
    ],
)
def test_a_report_shows_the_cells_that_were_run_whatever_has_become_of_the_design(was: str, now: str, run: Run) -> None:
    changed = STUDY
    if was == "inputs":
        was, now = "return {'more': 1}", "return {'more': 2}"
        changed = STUDY.replace("    def claims", f"    def inputs(self, scale):\n        {was}\n\n    def claims")
        Path("counting.py").write_text(changed)
    smoke(run)
    table = pd.read_parquet("results/counting/results.parquet")
    Path("counting.py").write_text(changed.replace(was, now))
    answer = run("report", "results/counting", "--study", "counting.py")
    assert answer.status == 0
    assert "8 of 8 cells are done\nthe code has changed since these cells were run" in answer.err
    pd.testing.assert_frame_equal(pd.read_parquet("results/counting/results.parquet"), table)


WRONG = {
    "run replya": "unknown study 'replya'; did you mean replay? known: ",
    "run none.py": "no study can be read from none.py: no such file or directory",
    "run counting.py --scale smalll": "unknown scale of counting 'smalll'; did you mean small?",
    "run counting.py --seed -1": "seed must be an integer >= 0 (got -1)",
    "run counting.py -s size": "--set must be NAME=VALUE (got 'size')",
    "run counting.py -s =3": "--set must be NAME=VALUE (got '=3')",
    "run counting.py -s size=1 -s size=2": "--set gives size twice; give several values as NAME=VALUE,VALUE",
    "run counting.py -s sizee=1": "unknown parameter or factor of counting 'sizee'; did you mean size?",
    "run counting.py -s self=1": "unknown parameter or factor of counting 'self'; known: base, fail",
    "run counting.py -s size=1,x": "factor 'size' has values that are numbers and texts; give values of",
    "run counting.py -s base=1,2": "base must be None, a bool, a number or a text (got [1, 2])",
    "run counting.py -s base=nan": "base must be a finite number, or None (got nan)",
    "run counting.py -s replications=x": "replications must be an integer from 1 to 1000000 (got 'x')",
    "run counting.py -s replications=1000000000000000000": (
        "replications must be an integer from 1 to 1000000 (got 1000000000000000000)"
    ),
    "run counting.py --shard 3/2": "shard must be i/n with 1 <= i <= n, such as 3/100 (got '3/2')",
    "run counting.py --shard x": "shard must be i/n with 1 <= i <= n, such as 3/100 (got 'x')",
    "run counting.py -j -2": "workers must be an integer from 0 to 2**53 (got -2)",
    "run capacity --workload ''": "--workload has no file; give --workload FILE,..., or omit it",
    "run counting.py -w ' ,'": "--workload has no file; give --workload FILE,..., or omit it",
    "run counting.py -j 1 --dask tcp://x:1": (
        "--workers and --dask exclude each other; omit --workers: dask has workers of its own"
    ),
    "run counting.py -j 0 --out counting.py": "cannot write to folder counting.py: counting.py",
    "report nowhere": "nowhere holds no campaign: it has no manifest.json; give the folder of a run",
}


@pytest.mark.parametrize("words", WRONG)
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["", "json"])
def test_a_request_that_is_wrong_is_reported_in_a_line(words: str, more: list[str], run: Run) -> None:
    answer = run(*shlex.split(words), *more)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"error: {WRONG[words]}")
    assert answer.out == "" if not more else json.loads(answer.out) == {"error": answer.err[len("error: ") : -1]}


def test_a_folder_that_holds_another_study_is_refused(run: Run) -> None:
    smoke(run, "--out", "there")
    answer = run("run", "replay", "--scale", "smoke", "-j", 0, "--out", "there")
    assert answer == (2, "", "error: there holds a campaign of study counting; choose another folder\n")


# -- settings and shards ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=1", 1),
        ("x = 1.5 ", 1.5),
        ("x=true,false", [True, False]),
        ("x=FCFS, SAF", ["FCFS", "SAF"]),
        ("x=none", None),
        ("x=None,1", [None, 1]),
        ('x="1"', "1"),
        ("x=", ""),
        ("x=a=b", "a=b"),
        ("x=my.py:order", "my.py:order"),
        ("x=3#4", "3#4"),
        ("x=3\ny = 4", "3\ny = 4"),
        ("x=2020-01-01", "2020-01-01"),
        ("x=[1]", "[1]"),
        ("x=1e3", 1000.0),
        ("x=1_000", 1000),
        ("x=" + "9" * 5000, "9" * 5000),
        ("x=" + "[" * 5000, "[" * 5000),
    ],
)
def test_a_setting_is_as_toml_has_it_or_a_plain_text(text: str, value: object) -> None:
    found = campaigning._chosen([text])["x"]
    assert (found, type(found)) == (value, type(value))


def test_none_is_a_text_where_the_own_values_of_a_study_are_texts() -> None:
    """As in `--set backfilling=none`; a threshold of none is no threshold."""
    texts = campaigning._texts(find_study("forecasts"))
    settings = ["backfilling=none", "threshold_h=none", "cores=None", "workload=none,a.swf", "order=None"]
    found = campaigning._chosen(settings, texts)
    expected = {"backfilling": "none", "threshold_h": None, "cores": None, "workload": ["none", "a.swf"], "order": None}
    assert found == expected


class Settable(Study):
    """A study to set things of."""

    parameters = {"a": 1}  # noqa: RUF012
    factors = {"b": [1, 2]}  # noqa: RUF012

    def run_cell(self, _cell: object) -> dict[str, int]:
        return {}


@given(st.lists(st.text() | st.tuples(st.sampled_from(["a", "b", "replications", "self"]), st.text()).map("=".join)))
@example(["b=1,1.0"])
@example(["b=inf"])
@example(["b=0xffffffffffffffffff"])
@example(["b='''"])
def test_whatever_is_set_it_is_a_study_or_one_clear_error(settings: list[str]) -> None:
    try:
        study = Settable(**campaigning._chosen(settings))
    except SimModelsError:
        return
    assert len(study.design("smoke").factors["b"]) >= 1


@given(st.text() | st.tuples(st.integers(-2, 9), st.integers(-2, 9)).map(lambda pair: f"{pair[0]}/{pair[1]}"))
@example("²/³")
@example("1/0")
def test_whatever_the_text_it_is_a_shard_or_one_clear_error(text: str) -> None:
    try:
        shard = Shard.parse(text)
    except RequestError:
        return
    assert 1 <= shard.number <= shard.of


@given(st.integers(1, 12), st.integers(0, 50))
def test_each_cell_is_in_one_shard(count: int, place: int) -> None:
    assert sum(place in Shard(number, count) for number in range(1, count + 1)) == 1


# -- the clock --------------------------------------------------------------------------------------


def test_a_study_gives_the_same_rows_on_both_engines(run: Run) -> None:
    tables = []
    for engine in ("simpy", "compiled"):
        there = f"on {engine}"
        words = ("-j", 0, "--engine", engine, "--out", there, "--set", "backfilling=greedy,easy")
        assert run("run", "replay", "--scale", "smoke", *words).status == 0
        tables.append(pd.read_parquet(Path(there) / "results.parquet"))
        assert f"engine = {engine}" in (Path(there) / "report.html").read_text()
    pd.testing.assert_frame_equal(*tables)


def test_a_clock_that_there_is_not_or_that_a_study_does_not_choose_is_refused(run: Run) -> None:
    answer = run("run", "replay", "--scale", "smoke", "--engine", "fast")
    assert answer == (2, "", "error: unknown engine 'fast'; known: auto, simpy, compiled\n")
    answer = smoke(run, "--engine", "simpy")
    assert answer.status == 2
    assert "unknown parameter or factor of counting 'engine'" in answer.err
    answer = run("run", "replay", "--engine", "simpy", "--set", "engine=compiled")
    assert answer == (2, "", "error: --set gives engine twice; give several values as NAME=VALUE,VALUE\n")


def test_advise_cleans_as_the_study_does_and_as_its_help_says(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def refused(*_: object, chosen: dict[str, object], **__: object) -> NoReturn:
        asked.update(chosen)
        raise RequestError("enough")

    monkeypatch.setattr(campaigning, "run", refused)
    run("advise", "--workload", "log.swf")
    default = Advice.parameters["clean"]
    assert (Advice.parameters | asked)["clean"] == default == "strong,ends"
    run("advise", "--workload", "log.swf", "--clean", "strong")
    assert asked["clean"] == "strong"
    assert f"(default: {default})" in " ".join(run("advise", "--help").out.replace("│", " ").split())
