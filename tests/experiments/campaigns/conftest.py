import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.report import write_report
from experiments.campaigns.running import Campaign, opened, run
from experiments.campaigns.store import Store

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


Run = Callable[..., Campaign]
Ask = Callable[..., list[str]]

RAN = """
    import os
    from pathlib import Path
    from experiments.campaigns import Claim, Scale, Study


    def helped(cell):
        return {"x": cell["number"] / 7, "u": cell.stream("u").random()}


    class Ran(Study):
        parameters = {"folder": "."}
        factors = {"kind": ["a", "b"], "number": list(range(6))}
        scales = {"smoke": Scale(replications=2), "small": Scale(replications=3)}

        def run_cell(self, cell):
            folder = Path(cell["folder"])
            with open(folder / "log.txt", "a") as log:
                log.write(f"{cell}\\n")
            if (folder / f"fail{cell['number']}").exists():
                raise ArithmeticError(f"bad {cell['number']}")
            return [helped(cell), {"set": str({"p", "q", "r", "s", "t"} & {cell["kind"], "q"}), "none": None}]

        def claims(self, results):
            effect = results.difference("x", {"kind": "b"}, {"kind": "a"})
            return [Claim(text="equal", source="here", measure="x", effect=effect, at_least=0.0)]
"""
"""Cells that are written down as they begin, and fail if a file says so."""
CELLS = 24

WORKING = """
    import os, signal
    from experiments.campaigns import Scale, Study


    class Working(Study):
        parameters = {"folder": "."}
        factors = {
            "what": ["well", "fail", "die", "half", "long", "greedy", "unsent"],
            "number": list(range(8)),
        }
        scales = {"smoke": Scale()}

        def run_cell(self, cell):
            return getattr(self, cell["what"])(cell) or {
                "x": cell.stream("u").random(),
                "process": os.getpid(),
                "threads": os.environ["OMP_NUM_THREADS"],
            }

        def well(self, cell):
            print("printed by a cell")

        def fail(self, cell):
            raise ArithmeticError("bad")

        def die(self, cell):
            os.kill(os.getpid(), signal.SIGKILL)

        def half(self, cell):
            from multiprocessing.connection import Connection

            def dying(line, content):
                os.write(line.fileno(), bytes(content)[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)

            Connection._send = dying

        def greedy(self, cell):
            import experiments.campaigns.execution.batches as batches

            parquet = batches.parquet

            def refused(table):
                batches.parquet = parquet
                raise MemoryError("no room for the file")

            batches.parquet = refused

        def unsent(self, cell):
            from experiments.campaigns.execution.batches import Outcome

            def refused(outcome, protocol):
                del Outcome.__reduce_ex__
                raise MemoryError("no room for the message")

            Outcome.__reduce_ex__ = refused

        def long(self, cell):
            import ctypes
            open(os.path.join(cell["folder"], f"waits{cell['number']}"), "w").close()
            ctypes.PyDLL(None).sleep(3600)  # as compiled code does, it keeps Python's lock
"""
"""Cells that end in all the ways that cells end."""


KILLED = """
    import os, signal, threading
    from experiments.campaigns import Scale, Study


    class Killed(Study):
        parameters = {"wait_s": 0.03, "log": os.devnull, "killers": ""}
        factors = {"number": list(range(48))}
        scales = {"smoke": Scale()}

        def inputs(self, scale):
            return {"large": list(range(1000))}

        def run_cell(self, cell):
            number = cell["number"]
            with open(cell["log"], "a") as log:
                log.write(f"{number} {os.getpid()}\\n")
            if str(number) in cell["killers"].split():
                if number % 2:
                    os._exit(0)
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait(cell["wait_s"])
            more = cell.inputs["large"][-1]
            rows = [{"x": number / 7 + more, "u": cell.stream("u").random()} for _ in range(number % 3)]
            return rows + [{"text": f"t{number}", "x": None}]
"""
"""Cells that are written down as they begin, wait, and kill their worker if it is asked."""


@pytest.fixture(autouse=True)
def forgotten(as_it_was: None) -> None:
    """Forget, after each test, what its own files left."""


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


def results(folder: Path) -> tuple[bytes, bytes]:
    """Return the table of a campaign, byte for byte, as a report writes it."""
    write_report(opened(folder, trust=True))
    return (folder / "results.csv").read_bytes(), (folder / "results.parquet").read_bytes()


def command(study: str, *options: str, **settings: object) -> list[str]:
    """Return the command that runs a study at its smallest scale."""
    values = [f"--set={name}={value}" for name, value in settings.items()]
    return [sys.executable, "-m", "experiments", "run", study, "--scale=smoke", *values, *options]


@pytest.fixture
def working(write: Write, tmp_path: Path) -> Plan:
    """Return the plan of a study whose cells end in all the ways that cells end."""
    return Plan.of(write(WORKING, "working.py"), "smoke", 0, {"folder": str(tmp_path)})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "campaign")


@pytest.fixture
def study(write: Write) -> str:
    return write(RAN, "ran.py")


@pytest.fixture
def chosen(tmp_path: Path) -> dict[str, str]:
    return {"folder": str(tmp_path)}


@pytest.fixture
def campaign(study: str, chosen: dict[str, str], tmp_path: Path) -> Run:
    """Run the campaign, in this process unless it is said otherwise."""

    def ran(out: str = "out", **options: Any) -> Campaign:  # noqa: ANN401  as `run` has them
        given = {"scale": "smoke", "workers": 0, "chosen": chosen, **options}
        return run(study, out=tmp_path / out, **given)

    return ran


@pytest.fixture
def asked(study: str, chosen: dict[str, str]) -> Ask:
    """Return the command that runs the campaign, with these options."""
    return lambda *options: command(study, *options, **chosen)


def begun(tmp_path: Path) -> int:
    """Return how many cells were begun so far."""
    path = tmp_path / "log.txt"
    return len(path.read_text("utf-8").splitlines()) if path.exists() else 0


def ended(words: list[str], folder: Path, **options: Any) -> "subprocess.CompletedProcess[str]":  # noqa: ANN401
    """Run a command to its end."""
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **options)
