"""Commands made of requests: an option is declared once, and is then in help, request, run and reference."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from experiments.campaigns.planning.finding import find_class
from experiments.cli.derive import command, derived, made
from experiments.option import SHARED, Group, Option
from simmodels.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a request.

    Parameters
    ----------
    path
        What is read.
    gap_s
        How long to wait.
    """

    path: Annotated[Path, Option("Panel", flags=("--file", "-f"))]
    gap_s: Annotated[float, Option("Panel")] = 60.0
    seed: Annotated[int, SHARED] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request.

    Parameters
    ----------
    word
        Which one.
    names
        Those that are wanted.
    count
        How many.
    """

    word: Annotated[Literal["one", "two"], Option("Panel")] = "one"
    names: Annotated[tuple[str, ...], Option("Panel", default="all")] = ()
    count: Annotated[int | None, Option("Panel")] = None
    quick: Annotated[bool, Option("Panel", help="No waiting")] = False
    wide: Annotated[bool, Option("Panel", flags=("--wide/--no-wide",), help="All columns")] = True
    part: Annotated[Part | None, Group(otherwise="or omit it")] = None
    seed: Annotated[int, Option("Panel", help="Of all")] = 0
    kept: str = "no option"


NOTHING = {each.parameter.name: None for each in derived(Request)}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, Request()),
        ({"count": 0, "names": ["a,b", "c"], "quick": True}, Request(count=0, names=("a", "b", "c"), quick=True)),
        ({"file": "x", "gap": "1h", "seed": 3}, Request(part=Part(path=Path("x"), gap_s=3600.0, seed=3), seed=3)),
        ({"seed": 3}, Request(seed=3)),
        ({"wide": True}, Request()),
        ({"wide": False}, Request(wide=False)),
    ],
)
def test_what_is_given_becomes_the_request(given: dict[str, Any], wanted: Request) -> None:
    assert made(Request, {**NOTHING, "quick": False, **given}) == wanted


def test_options_of_a_part_that_is_not_asked_for_are_refused() -> None:
    with pytest.raises(RequestError, match=r"--gap has no effect without --file; add --file FILE, or omit it"):
        made(Request, {**NOTHING, "gap": "1h"})


def test_an_option_that_a_request_declares_is_in_the_help_and_reaches_what_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> int:
        asked.append(request)
        return 0

    shown = command(answer, examples=("schedlab try",))
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr(sys, "argv", ["schedlab"])
    shown.main(["--help"], standalone_mode=False)
    text = " ".join(capsys.readouterr().out.translate(str.maketrans("│╭╮╰╯─", "      ")).split())
    for said in (
        "--word one|two Which one. (default: one)", "--names NAME,... Those that are wanted. (default: all)",
        "--quick No waiting.", "-f, --file FILE What is read.", "--gap TIME How long to wait. (default: 60)",
        "--seed N Of all. (default: 0)", "schedlab try",
    ):  # fmt: skip
        assert said in text
    assert "kept" not in text
    assert shown.main(["--word", "two", "-f", "x", "--seed", "4"], standalone_mode=False) == 0
    assert asked == [Request(word="two", part=Part(path=Path("x"), seed=4), seed=4)]


@pytest.mark.parametrize(
    "group", [Group(only=("word", "count")), Group(without=("names", "quick", "wide", "part", "seed"))]
)
def test_a_group_may_have_some_of_the_options_only(group: Group) -> None:
    assert [each.name for each in derived(Request, group)] == ["word", "count"]


def test_the_reference_has_every_option_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Path(__file__).parents[3] / "docs" / "_site"
    monkeypatch.syspath_prepend(str(site))
    import generated  # noqa: PLC0415  it lies with the documentation

    from experiments.cli.main import COMMANDS, command_named  # noqa: PLC0415

    page = generated.with_tables("<!-- made: commands -->\n<!-- made: options -->\n<!-- made: reproduction -->")
    for name in (name for about in COMMANDS.values() for name in about):
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        command = command_named(name)
        assert all(max(each.opts, key=len) in section for each in command.params), name
        for model in getattr(command, "commands", {}).values():
            below = section.split(f"\n### {name} {model.name}\n")[1].split("\n### ")[0]
            assert all(max(each.opts, key=len) in below for each in model.params), model.name
    assert page.count("| `schedlab run regression --scale paper") == len(find_class("regression").elements)
    for option in ("threshold_s", "pack_size", "admission"):
        assert f"| `{option}` | " in page
