import json
from pathlib import Path

import numpy as np
import pytest

from simmodels.simulate import simulate
from simmodels.testing import CASES
from simmodels.work.workload import Workload

COLUMNS = ("submit_s", "runtime_s", "estimate_s", "cores")


@pytest.fixture(scope="module")
def oracle(shared: Path) -> list[dict]:
    return json.loads((shared / "oracles/easy_micro/easy.json").read_text())


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_every_start_is_equal(oracle: list[dict], engine: str) -> None:
    assert len(oracle) == 5
    for case in oracle:
        columns = {name: [job[name] for job in case["jobs"]] for name in COLUMNS}
        jobs = Workload(np.arange(len(case["jobs"])), **columns)
        options = {name: case[name] for name in ("cores", "order", "backfilling")}
        schedule = simulate(jobs, **options, engine=engine).validate()
        assert schedule.start_s.tolist() == case["start_s"], case["why"]


def test_the_conformance_suite_begins_with_the_same_cases(oracle: list[dict]) -> None:
    for ours, case in zip(CASES[:5], oracle, strict=True):
        assert (ours.cores, ours.order, ours.backfilling) == (case["cores"], case["order"], case["backfilling"])
        assert list(ours.start_s) == case["start_s"]
        for name in COLUMNS:
            assert getattr(ours.jobs, name).tolist() == [job[name] for job in case["jobs"]]
