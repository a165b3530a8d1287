import io
from typing import Any

import pyarrow.parquet as pq
import pytest

from experiments.campaigns.execution.batches import run_batch
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.rows import SECONDS
from simmodels.errors import RequestError
from tests.experiments.campaigns.conftest import COUNTING, Write


def jobs(plan: Plan) -> list[tuple[str, Any, int]]:
    return [(key, dict(cell.factors), cell.replication) for key, cell in zip(plan.keys, plan.cells, strict=True)]


def test_a_batch_says_what_came_of_each_cell(write: Write) -> None:
    plan = Plan.of(write(), "smoke", 0)
    outcome = run_batch(plan.shipment, jobs(plan))
    [(keys, content)] = outcome.files
    assert (keys, outcome.failures, len(outcome)) == (plan.keys, [], 8)
    table = pq.read_table(io.BytesIO(content))
    assert table["found"].to_pylist() == [10, 20, 11, 21] * 2
    assert sum(table[SECONDS].to_pylist()) == pytest.approx(outcome.seconds)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return None", "what run_cell returns must be a mapping, several of them, or a DataFrame (got None)"),
        ("cell['x']", "unknown factor or parameter 'x'; known: kind, size, base"),
    ],
)
def test_a_cell_that_fails_is_reported_and_does_not_stop_the_others(fault: str, error: str, write: Write) -> None:
    mark = "drawn = float"
    path = write(COUNTING.replace(mark, f"if cell['size'] == 1:\n                {fault}\n            {mark}"))
    plan = Plan.of(path, "smoke", 0)
    outcome = run_batch(plan.shipment, jobs(plan))
    assert [failure.error for failure in outcome.failures] == [error] * 4
    assert len(outcome) == 8
    assert outcome.failures[0].key == plan.keys[0]
    assert "process" in outcome.failures[0].worker
    if "return" not in fault:
        assert path in outcome.failures[0].traceback
        assert "batches.py" not in outcome.failures[0].traceback


def test_a_worker_with_other_code_refuses(write: Write) -> None:
    plan = Plan.of(write(), "smoke", 0)
    write(COUNTING.replace("drawn}", "drawn + 1}"))
    with pytest.raises(RequestError, match=r"has other code of schedlab or of study .*; install there the code"):
        run_batch(plan.shipment, jobs(plan))
