import pickle
import re
import textwrap
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.campaigns.execution.batches import run_batch
from experiments.campaigns.planning.plan import Plan
from simmodels.errors import RequestError, UnknownNameError
from tests.experiments.campaigns.conftest import COUNTING, Write
from tests.refused import refused

SCALES = """
    from experiments.campaigns import Cell, Study


    class Mine(Study):
        parameters = {"base": 1}

        def run_cell(self, cell):
            return {"found": 1}

"""


def mine(body: str) -> str:
    return textwrap.dedent(SCALES) + textwrap.indent(textwrap.dedent(body), "    ")


def test_a_plan_has_the_cells_of_the_design_each_with_a_name_of_its_own(write: Write) -> None:
    plan = Plan.of(write(), "smoke", 3, {"base": 4})
    assert plan.cells == tuple(plan.study.cells("smoke", 3))
    assert len(set(plan.keys)) == len(plan.keys) == 8
    assert plan.factors == {"kind": ("a", "b"), "size": (1, 2)}
    shipment = pickle.loads(pickle.dumps(plan.shipment))
    assert (shipment.seed, shipment.parameters, shipment.chosen) == (3, {"base": 4}, {"base": 4})
    assert shipment.inputs == {}


def test_a_larger_campaign_has_the_cells_of_a_smaller_one_and_another_seed_or_parameter_has_others(
    write: Write,
) -> None:
    path = write()
    small = Plan.of(path, "smoke", 0).keys
    assert set(small) < set(Plan.of(path, "small", 0).keys)
    for seed, chosen in ((1, {}), (0, {"base": 2})):
        assert set(small).isdisjoint(Plan.of(path, "smoke", seed, chosen).keys)
    assert Plan.of(path, "smoke", np.int64(0)).keys == small  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, "1", 1.5, None])
def test_a_seed_is_an_integer_from_zero_on(seed: Any, write: Write) -> None:  # noqa: ANN401
    with pytest.raises(RequestError, match=re.escape(f"seed must be an integer >= 0 (got {seed!r})")):
        Plan.of(write(), "smoke", seed)


def test_a_study_that_hands_out_cells_without_end_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.campaigns.study.MOST_CELLS", 50)
    monkeypatch.setattr("experiments.campaigns.planning.plan.MOST_CELLS", 50)
    endless = """
        def cells(self, scale, seed):
            number = -1
            while True:
                number += 1
                yield Cell({'size': number}, 0, seed, self.parameters)
    """
    with refused("study mine has more than 50 cells at scale smoke; run several campaigns..."):
        Plan.of(write(mine(endless), "mine.py"), "smoke", 0)


OWN = "of study mine has a seed or parameters of its own; use those of the campaign"
CELLS, INPUTS = "def cells(self, scale, seed):\n    ", "def inputs(self, scale):\n    "


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{CELLS}return []", "study mine has no cells at scale smoke; design at least one"),
        (f"{CELLS}yield 3", "a cell of study mine must be a Cell (got 3)"),
        (f"{CELLS}yield 1 / 0", "cells of study mine: {path}, line 12: ZeroDivisionError"),
        (
            f"{CELLS}yield from [Cell({{}}, 0, seed, self.parameters)] * 2",
            "study mine has the cell twice: replication 0",
        ),
        (f"{CELLS}yield Cell({{}}, 0, seed + 1, self.parameters)", f"the cell replication 0 {OWN}"),
        (f"{CELLS}yield Cell({{'x': 1}}, 0, seed, {{}})", f"the cell x 1, replication 0 {OWN}"),
        (
            f"{CELLS}yield Cell({{'x': [1]}}, 0, seed, self.parameters)",
            "x must be None, a bool, a number or a text (got",
        ),
        (
            f"{CELLS}yield from (Cell({{'x': x}}, 0, seed, {{'base': 1}}) for x in (1, 'y'))",
            "factor 'x' has values that are numbers and texts; give values of one kind",
        ),
        (f"{INPUTS}raise KeyError('x')", "inputs of study mine: {path}, line 12: KeyError: 'x'"),
    ],
)
def test_a_study_with_cells_or_inputs_out_of_range_is_refused(body: str, message: str, write: Write) -> None:
    path = write(mine(body), "mine.py")
    with refused(message.replace("{path}", path) + "..."):
        Plan.of(path, "smoke", 0)


def test_cells_may_have_factors_that_others_lack(write: Write) -> None:
    body = (
        "def cells(self, scale, seed):\n    for x in (2, 1):\n        yield Cell({'x': x}, 0, seed, self.parameters)\n"
    )
    plan = Plan.of(write(mine(body + "    yield Cell({'y': 'z'}, 0, seed, self.parameters)"), "mine.py"), "smoke", 0)
    assert plan.factors == {"x": (2, 1), "y": ("z",)}


def test_with_the_code_that_cells_were_run_with_their_names_are_found_again(write: Write) -> None:
    plan = Plan.of(write(), "smoke", 0)
    changed = write(COUNTING.replace("drawn}", "drawn + 1}"))
    assert Plan.of(changed, "smoke", 0).keys != plan.keys
    assert Plan.of(changed, "smoke", 0, code=plan.shipment.code).keys == plan.keys


TWO_LOGS = """
from pathlib import Path
from experiments.campaigns import Scale, Study


class Logs(Study):
    \"\"\"Logs, each used by its own cells.\"\"\"

    factors = {"log": ["a", "b"]}
    scales = {"smoke": Scale()}

    def inputs(self, scale):
        return {"a": [1, 2], "b": [int(Path(__file__).with_name("b.txt").read_text())]}

    def uses(self, cell):
        return [cell["log"]]

    def run_cell(self, cell):
        return {"sum": sum(cell.inputs[cell["log"]]), "inputs": len(cell.inputs)}
"""


def test_a_cell_has_the_inputs_that_it_uses_and_depends_on_no_others(write: Write) -> None:
    path = write(TWO_LOGS, "logs.py")
    write("5", "b.txt")
    first = Plan.of(path, "smoke", 0)
    jobs = [(key, dict(cell.factors), 0) for key, cell in zip(first.keys, first.cells, strict=True)]
    table = pq.read_table(pa.BufferReader(run_batch(first.shipment, jobs).files[0][1]))
    assert (table["sum"].to_pylist(), table["inputs"].to_pylist()) == ([3, 5], [1, 1])
    write("6", "b.txt")
    then = Plan.of(path, "smoke", 0)
    assert [key == old for key, old in zip(then.keys, first.keys, strict=True)] == [True, False]
    write(TWO_LOGS.replace('return [cell["log"]]', 'return ["x"]'), "logs.py")
    with pytest.raises(UnknownNameError, match="unknown input of study logs 'x'"):
        Plan.of(path, "smoke", 0)
