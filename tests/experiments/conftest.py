import sys
from pathlib import Path

import pytest

from experiments.cli.main import main
from tests.command_line import Answer, Run


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
