"""The command new: the file that it writes is a study that runs."""

import json
from pathlib import Path

import pytest

from tests.command_line import Run


@pytest.mark.parametrize("ending", ["py", "toml"])
@pytest.mark.parametrize("name", ["waits", "my_2nd_study", "CLASS"])
def test_what_new_writes_runs_as_it_is(name: str, ending: str, run: Run) -> None:
    answer = run("new", name, *(["--toml"] if ending == "toml" else []))
    assert answer == (0, "", f"wrote {name}.{ending}; try it: schedlab run {name}.{ending} --scale smoke\n")
    assert f"run {name}.{ending} --scale" in Path(f"{name}.{ending}").read_text()
    answer = run("run", f"{name}.{ending}", "--scale", "smoke", "-j", 0, "--set", "jobs=50", "--json", "--out", "there")
    reported = json.loads(answer.out)
    assert (answer.status, reported["cells"]) == (0, {"planned": 8, "done": 8, "run": 8, "failed": 0})
    assert [claim["verdict"] for claim in reported["claims"]] == ["not judged"]
    assert [name for name in reported["files"] if name.endswith(".svg")]
    assert "NAME" not in Path("there/report.html").read_text().replace("NAME.", "")


def test_what_is_there_is_not_overwritten(run: Run) -> None:
    Path("counting.py").write_text("mine")
    assert run("new", "counting") == (2, "", "error: counting.py exists already; choose another name\n")
    assert Path("counting.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "a b", "../a", "é", "_", "_2", "1st", "a-b"])
def test_a_name_that_is_none_of_a_study_is_refused(name: str, run: Run) -> None:
    said = f"error: the name of a study must be of letters, digits and _, with a letter first (got {name!r})\n"
    assert run("new", "--", name) == (2, "", said)


@pytest.mark.parametrize("name", ["none", "claim", "study", "true"])
def test_a_name_whose_class_has_another_meaning_is_refused(name: str, run: Run) -> None:
    answer = run("new", name)
    assert answer.status == 2
    assert answer.err.startswith(
        f"error: a study cannot be named {name!r}; choose another name: its file imports, or Python has,"
    )
    assert not Path(f"{name}.py").exists()


@pytest.mark.parametrize("name", ["class", "lambda", "if"])
def test_a_word_of_python_names_a_study(name: str, run: Run) -> None:
    run("new", name)
    assert run("run", f"{name}.py", "--scale", "smoke", "-j", 0, "-s", "jobs=50", "-s", "load=0.7").status == 0
