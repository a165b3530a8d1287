import pickle
import re
import textwrap
from pathlib import Path
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
    plan = Plan.of(write(), "smoke", 3)
    assert plan.cells == tuple(plan.study.cells("smoke", 3))
    assert len(set(plan.keys)) == len(plan.keys) == 8
    assert plan.factors == {"kind": ("a", "b"), "size": (1, 2)}


def test_what_is_shipped_finds_the_study_again(write: Write) -> None:
    shipment = pickle.loads(pickle.dumps(Plan.of(write(), "smoke", 3, {"base": 4}).shipment))
    assert (shipment.seed, shipment.parameters, shipment.chosen) == (3, {"base": 4}, {"base": 4})
    assert shipment.inputs == {}


def test_a_larger_campaign_has_the_cells_of_a_smaller_one(write: Write) -> None:
    small, large = (Plan.of(write(), scale, 0).keys for scale in ("smoke", "small"))
    assert set(small) < set(large)


@pytest.mark.parametrize(("more", "chosen"), [({"seed": 1}, {}), ({}, {"base": 2})])
def test_other_seeds_and_parameters_have_other_cells(
    more: dict[str, Any], chosen: dict[str, Any], write: Write
) -> None:
    one = Plan.of(write(), "smoke", 0).keys
    assert set(one).isdisjoint(Plan.of(write(), "smoke", **{"seed": 0, **more}, chosen=chosen).keys)


def test_a_seed_of_numpy_is_that_of_python(write: Write) -> None:
    assert Plan.of(write(), "smoke", np.int64(5)).keys == Plan.of(write(), "smoke", 5).keys  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, "1", 1.5, None])
def test_a_seed_is_an_integer_from_zero_on(seed: Any, write: Write) -> None:  # noqa: ANN401
    with pytest.raises(RequestError, match=re.escape(f"seed must be an integer >= 0 (got {seed!r})")):
        Plan.of(write(), "smoke", seed)


def test_a_study_that_hands_out_cells_without_end_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.campaigns.study.MOST_CELLS", 50)
    monkeypatch.setattr("experiments.campaigns.planning.plan.MOST_CELLS", 50)
    endless = (
        COUNTING
        + """
        def cells(self, scale, seed):
            import itertools
            from experiments.campaigns import Cell
            for number in itertools.count():
                yield Cell({"kind": "a", "size": number}, 0, seed, self.design(scale).parameters)
    """
    )
    with refused("study counting has more than 50 cells at scale smoke; run several campaigns..."):
        Plan.of(write(textwrap.dedent(endless)), "smoke", 0)


def test_an_unknown_scale_is_reported(write: Write) -> None:
    with pytest.raises(UnknownNameError, match="unknown scale of counting 'smalll'; did you mean small"):
        Plan.of(write(), "smalll", 0)


OWN = "of study mine has a seed or parameters of its own; use those of the campaign"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return []", "study mine has no cells at scale smoke; design at least one"),
        ("yield 3", "a cell of study mine must be a Cell (got 3)"),
        ("yield 1 / 0", "cells of study mine: {path}, line 12: ZeroDivisionError"),
        (
            "yield from [Cell({}, 0, seed, self.parameters)] * 2",
            "study mine has the cell twice: replication 0",
        ),
        ("yield Cell({}, 0, seed + 1, self.parameters)", f"the cell replication 0 {OWN}"),
        ("yield Cell({'x': 1}, 0, seed, {})", f"the cell x 1, replication 0 {OWN}"),
        ("yield Cell({'x': [1]}, 0, seed, self.parameters)", "x must be None, a bool, a number or a text (got [1])"),
        (
            "yield from (Cell({'x': x}, 0, seed, {'base': 1}) for x in (1, 'y'))",
            "factor 'x' has values that are numbers and texts; give values of one kind",
        ),
    ],
)
def test_a_study_with_cells_out_of_range_is_refused(body: str, message: str, write: Write) -> None:
    path = write(mine(f"def cells(self, scale, seed):\n    {body}"), "mine.py")
    with refused(message.replace("{path}", path) + "..."):
        Plan.of(path, "smoke", 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise KeyError('x')", "inputs of study mine: {path}, line 12: KeyError: 'x'"),
        ("return [1]", "inputs of study mine must be a mapping from names (got [1])"),
        ("return {'x': lambda: 1}", "the inputs of study mine cannot be pickled: "),
    ],
)
def test_a_study_with_inputs_out_of_range_is_refused(body: str, message: str, write: Write) -> None:
    path = write(mine(f"def inputs(self, scale):\n    {body}"), "mine.py")
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
from experiments.campaigns import Scale, Study


class Logs(Study):
    \"\"\"Logs, each used by its own cells.\"\"\"

    parameters = {"b": 1}
    factors = {"log": ["a", "b"]}
    scales = {"smoke": Scale()}

    def inputs(self, scale):
        return {"a": [1, 2], "b": [self.design(scale).parameters["b"]]}

    def uses(self, cell):
        return [cell["log"]]

    def run_cell(self, cell):
        return {"sum": sum(cell.inputs[cell["log"]]), "inputs": len(cell.inputs)}
"""


def test_a_cell_has_the_inputs_that_it_uses_and_depends_on_no_others(tmp_path: Path) -> None:
    data = tmp_path / "b.txt"
    path = tmp_path / "logs.py"
    path.write_text(
        TWO_LOGS.replace(
            '[self.design(scale).parameters["b"]]', f"[int(__import__('pathlib').Path({str(data)!r}).read_text())]"
        )
    )
    data.write_text("5")
    first = Plan.of(str(path), "smoke", 0)
    jobs = [(key, dict(cell.factors), 0) for key, cell in zip(first.keys, first.cells, strict=True)]
    table = pq.read_table(pa.BufferReader(run_batch(first.shipment, jobs).files[0][1]))
    assert table["sum"].to_pylist() == [3, 5]
    assert table["inputs"].to_pylist() == [1, 1]
    data.write_text("6")
    then = Plan.of(str(path), "smoke", 0)
    assert then.keys[0] == first.keys[0]
    assert then.keys[1] != first.keys[1]


def test_an_input_that_there_is_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "logs.py"
    path.write_text(TWO_LOGS.replace('return [cell["log"]]', 'return ["x"]'))
    with pytest.raises(UnknownNameError, match="unknown input of study logs 'x'"):
        Plan.of(str(path), "smoke", 0)
