"""The lint of language finds what it is for, where it is, and nothing else."""

from pathlib import Path

import pytest

from tests.language import NAMES, PHRASES, Rule, findings


@pytest.mark.parametrize("rule", [*PHRASES, *NAMES], ids=lambda rule: rule.planted)
def test_every_rule_finds_its_phrase_in_a_file(rule: Rule, tmp_path: Path) -> None:
    folder = tmp_path / "simmodels"
    folder.mkdir()
    (folder / "planted.py").write_text(f'"""A module."""\n\nx = 1  # {rule.planted}\n', "utf-8")
    (found,) = (line for line in findings(tmp_path) if line.endswith(f": write {rule.instead}"))
    assert found.startswith("simmodels/planted.py:3: ")


@pytest.mark.parametrize(
    "line",
    [
        "The page has a dark mode, and follows a light or dark scheme.",
        'element.scheme == "dark"',
        "How many cores a job needs, and what a machine has.",
        "In the mean time, jobs wait; the mean of all is 3.5.",
        "the wall clock, and the clock of the simulation",
        "an intolerable fortune; a retelling",
        "It may start two jobs a week later.",
        "The queue is settled, and stands still.",
    ],
)
def test_plain_words_pass(line: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(line, "utf-8")
    (tmp_path / "setup.cfg").write_text(line, "utf-8")
    assert findings(tmp_path) == []


def test_what_a_page_quotes_as_code_is_not_prose(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("- `Cluster.tell(machine)` is now `Cluster.notify(machine)`\n", "utf-8")
    assert findings(tmp_path) == []


def test_names_are_looked_for_in_code_alone(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("a.py", "a.md"):
        (tmp_path / "tests" / name).write_text("fleet = 1\n", "utf-8")
    assert findings(tmp_path) == ["tests/a.py:1: 'fleet': write placement state, machines"]


def test_a_line_may_be_excused_with_a_reason(tmp_path: Path) -> None:
    lines = "it waits for ever\nit waits for ever  language: a quotation\n"
    (tmp_path / "README.md").write_text(lines, "utf-8")
    assert findings(tmp_path) == ["README.md:1: 'for ever': write without end"]
