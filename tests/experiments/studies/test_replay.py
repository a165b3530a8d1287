from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import Cell, Results, run
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.report import write_report
from experiments.inputs import WorkloadFile
from experiments.studies.replay import Replay
from simmodels.errors import RequestError, SimModelsError
from simmodels.policies.polynomial import Polynomial
from simmodels.units import DAY
from tests.processes import printed_elsewhere

KTH = "KTH-SP2-1996-2.1-cln.swf.gz"
SMALL: Mapping[str, Any] = {"jobs": 60, "cores": 64}

ORDER = "import simmodels as sm\n\n\n@sm.order\ndef mine(estimate, cores):\n    return estimate * cores\n"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the orders of a test's own files after it."""
    monkeypatch.setattr("simmodels.policies.registry.ORDERS.users", {})


def results(study: Replay, scale: str = "smoke") -> Results:
    inputs = study.inputs(scale)
    cells = [Cell(c.factors, c.replication, c.seed, c.parameters, inputs) for c in study.cells(scale, 0)]
    rows = [{**cell.factors, "replication": cell.replication, **study.run_cell(cell)} for cell in cells]  # type: ignore[dict-item]
    return Results(table=pd.DataFrame(rows), factors=study.design(scale).factors)


# -- generated workloads ----------------------------------------------------------------------------


def test_a_replication_is_a_workload_of_its_own_that_all_orders_meet() -> None:
    study = Replay(**SMALL, order=["FCFS", "SAF"], tau_s=60.0)
    table = results(study).table
    assert len(table) == 4
    for cell in study.cells("smoke", 0):
        seed = cell.seed_for("workload")
        jobs = wl.tsafrir_estimates(wl.lublin(jobs=60, cores=64, load=0.9, seed=seed), seed=seed)
        expected = sm.simulate(jobs, order=cell["order"], backfilling="easy").metrics(60.0)
        [row] = table[(table["order"] == cell["order"]) & (table["replication"] == cell.replication)].to_dict("records")
        assert {name: row[name] for name in expected} == expected


def test_what_is_varied_and_what_is_fixed_may_be_changed_about() -> None:
    both = results(
        Replay(**SMALL, order="SAF", backfilling=["none", "easy"], threshold_h=[None, 0, 1.5], replications=1)
    )
    assert len(both.table) == 6
    assert both.table["mean_wait_s"].nunique() > 2


def test_the_tables_compare_each_order_with_the_first() -> None:
    study = Replay(**SMALL, order=["FCFS", "SAF", "SPF"], replications=5)
    found = results(study)
    tables = study.tables(found)
    differences = tables["differences"]
    assert differences["order"].tolist() == ["SAF", "SPF"] * 3
    assert set(differences["against"]) == {"FCFS"}
    first = found.difference("mean_wait_s", {"order": "SAF"}, {"order": "FCFS"})
    assert first is not None
    assert differences.iloc[0][["difference", "low", "high", "replications"]].tolist() == [
        first.estimate, first.low, first.high, 5
    ]  # fmt: skip
    assert set(tables["summary"]["measure"]) == set(study.measures)
    assert list(study.figures(found)) == ["Mean wait by order", "Mean bounded slowdown by order"]


@pytest.mark.parametrize(
    ("text", "varied"),
    [
        ('order = "SAF"\n[factors]\nload = [0.5, 0.9]', True),
        ('order = "SAF"\nbackfilling = "easy"\nthreshold_h = 40\n[scales.smoke.parameters]\njobs = 50', False),
    ],
)
def test_a_toml_file_may_vary_other_things_or_nothing(text: str, varied: bool, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'study = "replay"\n[parameters]\njobs = 60\n{text}\n')
    campaign = run(str(path), out=tmp_path / "out", scale="smoke", workers=0)
    assert bool(campaign.plan.factors) == varied
    files = write_report(campaign).files
    assert "tables/differences.csv" in files
    assert ("figures/mean-wait-by-load.svg" in files) == varied


# -- logs -------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> str:
    """150 jobs for 32 cores."""
    path = tmp_path / "log.swf"
    wl.write_swf(wl.tsafrir_estimates(wl.lublin(jobs=150, cores=32, seed=3), seed=3), path)
    return str(path)


def test_a_replication_of_a_log_is_a_window_from_its_first_submit_on(shared: Path) -> None:
    path = shared / "traces" / KTH
    study = Replay(workload=str(path), order="SAF", window_days=7, replications=2)
    table = results(study).table
    jobs = WorkloadFile(path=path).read()
    begin = float(jobs.submit_s.min())
    for replication, wait_s in enumerate(table["mean_wait_s"]):
        window = jobs.between(begin + replication * 7 * DAY, begin + (replication + 1) * 7 * DAY)
        assert len(window) > 100
        assert wait_s == sm.simulate(window, order="SAF").metrics()["mean_wait_s"]


def test_the_names_of_the_cells_of_a_log_are_the_same_in_another_process(shared: Path) -> None:
    path = str(shared / "traces" / KTH)
    program = (
        "import sys; from experiments.campaigns.planning.plan import Plan;"
        "print(*Plan.of('replay', 'smoke', 0, {'workload': sys.argv[1], 'window_days': 30}).keys)"
    )
    plan = Plan.of("replay", "smoke", 0, {"workload": path, "window_days": 30})
    assert tuple(printed_elsewhere(program, path).split()) == plan.keys


def test_without_a_window_all_of_the_log_is_one_replication(log: str) -> None:
    study = Replay(workload=log, order="FCFS", replications=1)
    [wait_s] = results(study).table["mean_wait_s"]
    assert wait_s == sm.simulate(wl.read_swf(log), order="FCFS").metrics()["mean_wait_s"]


def test_more_replications_than_windows_are_refused(log: str) -> None:
    with pytest.raises(RequestError) as caught:
        Plan.of("replay", "small", 0, {"workload": log})
    assert str(caught.value) == (
        "10 replications of log, which has 1 whole windows; choose replications=1, or another window_days"
    )
    with pytest.raises(RequestError, match="which has 0 whole windows; choose fewer window_days"):
        Plan.of("replay", "small", 0, {"workload": log, "window_days": 1000})


def test_a_log_is_cleaned_and_the_machine_sized_as_asked(log: str) -> None:
    study = Replay(workload=log, cores=64, clean="runnable, ", replications=1)
    assert study.inputs("smoke")["log"].max_cores == 64
    with pytest.raises(SimModelsError, match="'runnabel'"):
        Plan.of("replay", "smoke", 0, {"workload": log, "clean": "runnabel", "replications": 1})


def test_a_scale_may_name_the_log(log: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f'study = "replay"\n[scales.smoke]\nreplications = 1\nparameters = {{ workload = "{log}" }}\n')
    assert len(Plan.of(str(path), "smoke", 0).cells) == 4


def test_another_log_under_the_same_name_has_other_cells(log: str) -> None:
    chosen = {"workload": log, "replications": 1}
    before = Plan.of("replay", "smoke", 0, chosen).keys
    assert Plan.of("replay", "smoke", 0, chosen).keys == before
    wl.write_swf(wl.lublin(jobs=149, cores=32, seed=3), log)
    assert set(Plan.of("replay", "smoke", 0, chosen).keys).isdisjoint(before)


# -- orders of one's own ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["orders.py", "orders.py:mine", "fit.toml"])
def test_an_order_of_ones_own_is_run_and_its_change_is_noticed(name: str, tmp_path: Path) -> None:
    def write(change: str) -> None:
        (tmp_path / "orders.py").write_text(ORDER.replace("* cores", f"{change} cores"))
        Polynomial([1.0 if change == "*" else 2.0], ["pq"], name="area").write(tmp_path / "fit.toml")

    write("*")
    study = Replay(**SMALL, order=[str(tmp_path / name), "SAF"], replications=1)
    mine, saf = results(study).table["mean_wait_s"]
    assert mine == saf
    before, again = (Plan.of("replay", "smoke", 0, study.chosen) for _ in range(2))
    assert before.keys == again.keys
    write("/")
    after = Plan.of("replay", "smoke", 0, study.chosen)
    assert set(before.keys).isdisjoint(after.keys)
    assert before.shipment.code == after.shipment.code


def test_what_belongs_to_the_log_cannot_be_varied(log: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f'study = "replay"\n[parameters]\nworkload = "{log}"\n[factors]\ncores = [32, 64]\n')
    with pytest.raises(RequestError, match="cores has 2 values; choose one, because all cells share the log"):
        Plan.of(str(path), "smoke", 0)
