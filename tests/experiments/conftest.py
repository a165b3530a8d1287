"""The command line, run here, and a study of a user for it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.cli.main import main
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


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command line here, in a folder of the test; orders and bids of a user are forgotten after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in ("ORDERS", "BIDS"):
        monkeypatch.setattr(f"simmodels.policies.registry.{name}.users", {})

    def answer(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["schedlab", *map(str, words)])
        return Answer(main(), *capsys.readouterr())

    return answer


@pytest.fixture
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the orders and the modules of a test's own files after it."""
    monkeypatch.setattr("simmodels.policies.registry.ORDERS.users", {})
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("_study_", "beside_it", "kit")):
            del sys.modules[name]


@pytest.fixture
def counting(run: Run, as_it_was: None) -> None:
    """Put a study where the command line is run."""
    Path("counting.py").write_text(STUDY)


def smoke(run: Run, *words: object) -> Answer:
    return run("run", "counting.py", "--scale", "smoke", "--workers", 0, *words)
