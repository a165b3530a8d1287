import subprocess
import sys
from pathlib import Path

import pytest

from simmodels.ground.later import _Later

ROOT = Path(__file__).resolve().parents[3]

SIMULATES = """
import sys
import simmodels as sm

log = sm.Workload([1, 2], [0, 1], [10, 10], [10, 10], [1, 2], max_cores=2)
schedule = sm.simulate(log)
assert schedule.metrics()["mean_wait_s"] == 4.5
assert not {"pandas", "pyarrow", "simpy", "networkx"} & set(sys.modules)
assert len(schedule.jobs) == 2
assert "pandas" in sys.modules
"""


def test_a_package_is_imported_when_something_of_it_is_used() -> None:
    assert _Later("math").sqrt(4.0) == 2.0
    missing = _Later("no_such_package_at_all")
    with pytest.raises(ModuleNotFoundError):
        missing.something  # noqa: B018  it is looked up


def test_a_replay_and_its_metrics_need_neither_tables_nor_processes() -> None:
    done = subprocess.run([sys.executable, "-c", SIMULATES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
