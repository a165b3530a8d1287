"""The help: panels, the common options first, and examples that run."""

import contextlib
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

import simmodels as sm
import workloads as wl
from experiments.cli.derive import derived
from experiments.cli.main import app, command_named, main
from experiments.inputs import WorkloadFile
from tests.command_line import Run

GROUP: Any = typer.main.get_command(app)
COMMANDS = {name: command_named(name) for name in GROUP.commands}
MODELS = {f"generate {name}": command for name, command in COMMANDS["generate"].commands.items()}
FULL = ("reproduce",)
"""The commands whose examples take minutes."""

Shown = Callable[..., str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    """Return what the command line prints to stdout in a terminal of this many columns."""

    def answer(*words: str, columns: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["schedlab", *words])
        assert main() == 0
        found = capsys.readouterr()
        assert found.err == ""
        return found.out

    return answer


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", ["", *COMMANDS, *MODELS])
def test_the_help_fits_the_terminal_and_ends_with_examples(name: str, columns: int, shown: Shown) -> None:
    text = shown(*name.split(), "--help", columns=columns)
    assert max(map(len, text.splitlines())) <= columns
    assert "<" not in text
    assert "╭─ Help" in text
    assert all(line.split()[0].startswith("-") for line in text.split("\\\n")[1:]), "an option and its value are apart"
    examples = text.split("Examples:")[1].replace("\\\n", "").splitlines()[1:]
    assert (1 if name in MODELS else 2) <= len(examples) <= 3
    shown_of = {"": GROUP, **COMMANDS, **MODELS}[name].epilog.splitlines()
    assert [" ".join(line.split()) for line in examples] == shown_of
    assert all(line.startswith("  schedlab ") for line in examples)


@pytest.mark.parametrize("name", ["simulate", "compare"])
def test_the_help_shows_the_common_options_and_another_all(name: str, shown: Shown) -> None:
    brief, whole = shown(name, "--help"), shown(name, "--help-all")
    flags = [flag for each in COMMANDS[name].params for flag in each.opts if flag.startswith("--")]
    assert all(f"{flag} " in whole for flag in flags)
    common = [flag for flag in flags if f" {flag} " in brief.split("more options")[0]]
    assert {"--workload", "--cores", "--backfilling", "--json", "--quiet", "--help-all"} <= set(common)
    assert 15 <= len(common) <= 25
    assert f"{len(flags) - len(common)} more options: schedlab {name} --help-all" in brief
    read = " ".join(whole.translate(str.maketrans("│╭╮╰╯─", "      ")).split())
    assert all(" ".join(each.help.split()) in read for each in COMMANDS[name].params), "words are cut, or left out"
    assert whole.index("What goes in") < whole.index("Which policy decides") < whole.index("What comes out")
    assert set(COMMANDS[name].common) - {each.name for each in COMMANDS[name].params} <= {"help"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log that says when its jobs started, and with a workflow."""
    path = tmp_path_factory.mktemp("examples")
    jobs = wl.tsafrir_estimates(wl.lublin(jobs=300, cores=32, seed=3, name="log"), seed=3)
    jobs = replace(jobs, submit_s=jobs.submit_s / jobs.submit_s.max() * 70 * 86_400.0)
    for name in ("log.swf", "log.swf.gz"):
        wl.write_swf(sm.simulate(jobs, order="FCFS"), path / name)
    (path / "flows").mkdir()
    wl.write_wfformat(sm.Workflow.from_graph(wl.cholesky(2)), path / "flows" / "flow.json")
    return path


def _examples() -> list[Any]:
    found = []
    first = ["", "list", "demo", "simulate", "compare", "calibrate", "forecast", "learn", "advise", "new", "run"]
    first += ["report", "inputs"]
    for name in first:
        found += [(name, line) for line in (COMMANDS[name] if name else GROUP).epilog.splitlines()]
    found += [("generate", line) for command in MODELS.values() for line in command.epilog.splitlines()]
    more = [(name, line) for name in FULL for line in COMMANDS[name].epilog.splitlines()]
    assert {name for name, _ in found + more} == {"", *COMMANDS}
    return found + [pytest.param(*each, marks=pytest.mark.full) for each in more]


@pytest.mark.parametrize(("name", "line"), _examples())
def test_each_example_of_the_help_runs(name: str, line: str, run: Run) -> None:
    if name == "report":  # the campaign of the example of run
        run("run selection --scale smoke -q")
    if name == "new" or "my_study.py" in line:
        Path("my_study.py").unlink(missing_ok=True)
    if "my_study.py" in line:
        run("new my_study -q")
    if "fit.toml" in line and "--out" not in line:
        sm.Polynomial([1.0], ["pq"], name="fit").write("fit.toml")
    answer = run(line)
    assert answer.status == 0, answer.err


@pytest.fixture
def run(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line, as it is written, in the folder of the examples."""
    monkeypatch.chdir(folder)
    return lambda line: run(*shlex.split(line.removeprefix("schedlab ")))


def test_quiet_prints_results_warnings_and_errors_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "simulate --workload log.swf --jobs-out quiet.csv"
    loud = run(words)
    assert (loud.status, "300 jobs" in loud.err, "wrote quiet.csv" in loud.err) == (0, True, True)
    assert run(f"{words} -q") == (0, loud.out, "")
    with monkeypatch.context() as patched:
        patched.setattr("experiments.cli.simulate._tie_warning", lambda *_: "all bid the same")
        assert run(f"{words} -q") == (0, loud.out, "all bid the same\n")
    said = "error: none.swf: cannot be read: no such file or directory\n"
    assert run("simulate --workload none.swf -q") == (2, "", said)
    assert "300 jobs" in run(words).err, "quiet is that of one command"


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("comp", ["compare"]),
        ("simulate --backf", ["--backfilling", "--backfill-order"]),
        ("simulate --backfilling e", ["easy"]),
        ("simulate --order SA", ["SAF"]),
        ("simulate --heuristic Packed", ["PackedTargetAsap"]),
        ("compare --orders FCFS,SA", ["FCFS,SAF"]),
        ("compare --routers Le", ["LeastLoaded"]),
        ("compare --clean runna", ["runnable"]),
        ("run sele", ["selection"]),
        ("list orde", ["orders"]),
        ("run selection --scale s", ["smoke", "small"]),
        ("simulate --workload lo", []),  # then bash completes files
    ],
)
def test_bash_completes_commands_options_and_values(
    words: str, completed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_SCHEDLAB_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"schedlab {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    monkeypatch.setattr(sys, "argv", ["schedlab"])
    with contextlib.suppress(SystemExit):
        main()
    assert capsys.readouterr().out.split() == completed


@pytest.mark.parametrize("name", ["simulate", "compare", "calibrate", "learn", "forecast", "advise"])
def test_the_options_of_a_log_are_the_same_in_each_command(name: str) -> None:
    wanted = {each.parameter.name for each in derived(WorkloadFile)} - (
        {"drop_oversized", "flops_per_s"} if name == "advise" else set()
    )
    own, first = ({each.name: each for each in COMMANDS[command].params} for command in (name, "learn"))
    assert wanted <= set(own)
    for option in wanted:
        ours, theirs = own[option], first[option]
        for what in ("opts", "metavar", "help", "default"):
            assert getattr(ours, what) == getattr(theirs, what), (option, what)
        assert ours.show_default == theirs.show_default or (option == "clean" and name in {"advise", "calibrate"})
