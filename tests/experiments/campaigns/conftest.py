import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[..., str]

COUNTING = """
    from experiments.campaigns import Claim, Scale, Study


    class Counting(Study):
        '''What is counted, and <b>shown</b>.'''

        parameters = {"base": 10}
        factors = {"kind": ["a", "b"], "size": [1, 2]}
        scales = {"smoke": Scale(replications=2), "small": Scale(replications=10)}

        def run_cell(self, cell):
            drawn = float(cell.stream("draw").integers(0, 100))
            return {"found": cell["base"] * cell["size"] + (cell["kind"] == "b"), "drawn": drawn}

        def claims(self, results):
            effect = results.difference("found", {"kind": "b"}, {"kind": "a"})
            return [Claim(text="b is more", source="here", measure="found", effect=effect, more_than=0)]
"""


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the orders and the modules of a test's own files after it."""
    monkeypatch.setattr("simmodels.policies.registry.ORDERS.users", {})
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("_study_"):
            del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the test's folder, and return its path."""

    def written(text: str = COUNTING, name: str = "counting.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
        return str(path)

    return written


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"
