from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiments.campaigns.planning.finding import find_class, find_study, listed, reference
from experiments.studies import STUDIES
from simmodels.errors import SimModelsError, UnknownNameError
from tests.experiments.campaigns.conftest import COUNTING, Write
from tests.refused import refused

TWO = """
    from experiments.campaigns import Study


    class One(Study):
        def run_cell(self, cell):
            import beside_the_study
            return {"found": beside_the_study.answer}


    class Two(One):
        pass
"""


def test_the_studies_that_have_a_name_are_found_and_listed() -> None:
    assert [name for name, _ in listed()] == list(STUDIES)
    for name, title in listed():
        assert find_study(name).name == name
        assert title


def test_a_python_file_stands_for_its_one_study_and_of_several_one_is_named(write: Write) -> None:
    study = find_study(write(), {"base": 3})
    assert (study.name, study.design("smoke").parameters) == ("counting", {"base": 3})
    path = write(TWO, "two.py")
    assert find_study(f"{path}:Two").name == "two"
    with refused(f"{path} defines 2 studies; it has One, Two; choose one as {path}:CLASS"):
        find_study(path)
    with refused(f"unknown study of {path} 'Tow'; did you mean Two? known: One, Two", UnknownNameError):
        find_study(f"{path}:Tow")


def test_what_lies_beside_a_file_can_be_imported_when_a_cell_is_run(write: Write) -> None:
    write("answer = 42", "beside_the_study.py")
    study = find_study(f"{write(TWO, 'late.py')}:One")
    assert study.run_cell(next(study.cells("smoke", 0))) == {"found": 42}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "{path} defines 0 studies; add a subclass of Study with run_cell"),
        ("from experiments.campaigns import Study\nclass A(Study):\n    pass", "{path} defines 0 studies; add a sub"),
        ("from experiments.studies.replay import Replay", "{path} defines 0 studies; add a subclass"),
        ("x = 1\ny = 1 / 0", "{path}, line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "{path}, line 1: SystemExit: 3"),
        ("def x(:", "{path}, line 1: invalid syntax"),
        ("import no_such_module", "{path}, line 1: ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_file_that_defines_no_study_is_reported_with_its_line(source: str, message: str, write: Write) -> None:
    path = write(source, "mine.py")
    with refused(message.replace("{path}", path) + "..."):
        find_study(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("replya", "unknown study 'replya'; did you mean replay? known: "),
        ("study.txt", "no study can be read from study.txt; use a name that ends in .py or .toml"),
        ("none.py", "no study can be read from none.py: no such file or directory"),
        (".", "no study can be read from .; use a name that ends in .py or .toml"),
        ("x\0.py", r"no study can be read from 'x\x00.py'; omit the zero byte"),
        ("x\0.toml", r"no study can be read from 'x\x00.toml'; omit the"),
    ],
)
def test_a_text_that_stands_for_no_study_is_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refused(f"{message}...", SimModelsError):
        find_study(text)


@given(st.text())
@example("\udcff.py")
@example("\udcff.toml")
@example("a:b.py:C")
@example("/.py")
@example("~.toml")
def test_whatever_the_text_it_is_a_study_or_one_clear_error(text: str) -> None:
    for word in (text, f"{text}.py", f"{text}.toml", f"{text}.py:X"):
        try:
            find_class(word)
        except SimModelsError:
            pass
        else:
            assert word in STUDIES


def test_a_reference_is_understood_in_any_folder(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(write(COUNTING))
    write('study = "counting.py"', "mine.toml")
    monkeypatch.chdir(path.parent)
    words = ["counting.py", "counting.py:Counting", "mine.toml", "replay"]
    references = [reference(word) for word in words]
    monkeypatch.chdir("/")
    assert [find_study(word).name for word in references] == ["counting", "counting", "mine", "replay"]
    assert references[1] == f"{path}:Counting"
    assert Path(references[2]).is_absolute()
