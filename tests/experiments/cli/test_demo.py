import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.cli.compare import ORDERS, demo_workload
from experiments.cli.demo import Demo
from experiments.cli.main import main


def test_the_demo_compares_five_orders_and_leaves_all_of_it_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["schedlab", "demo", "--jobs", "300", "--cores", "64", "--seed", "5"])
    assert main() == 0
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines()]
    assert [row[0] for row in rows if row and row[0] in ORDERS] == list(ORDERS)
    assert "\x1b" not in out + err  # neither colours nor progress bars where there is no terminal
    folder = Path("results/demo")
    assert pd.read_parquet(folder / "metrics.parquet")["order"].tolist() == list(ORDERS)
    assert (folder / "wait_s.svg").is_file()
    workload = wl.read_swf(folder / "workload.swf.gz")
    jobs = pd.read_parquet(folder / "jobs" / "SAF.parquet")
    assert np.array_equal(sm.simulate(workload, order="SAF").start_s, jobs["start_s"])


def test_the_demo_as_json_is_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["schedlab", "demo", "--jobs", "50", "--load", "0.9", "--out", str(tmp_path), "--json"]
    monkeypatch.setattr("sys.argv", words)
    assert main() == 0
    reported = json.loads(capsys.readouterr().out)
    assert [cell["order"] for cell in reported["cells"]] == list(ORDERS)
    assert reported["workload"]["jobs"] == 50
    made = wl.read_swf(tmp_path / "workload.swf.gz")
    assert np.array_equal(made.submit_s, demo_workload(Demo(jobs=50, load=0.9)).submit_s)


def test_the_workload_of_the_demo_looks_real_and_keeps_a_machine_busy() -> None:
    workload = demo_workload(Demo(seed=1))
    assert workload.to_frame().equals(demo_workload(Demo(seed=1)).to_frame())
    assert (workload.estimate_s >= workload.runtime_s).all()
    assert len(np.unique(workload.estimate_s)) < 400  # users choose round times
    load = (workload.cores * workload.runtime_s).sum() / (256 * workload.submit_s.max())
    assert 0.5 < load < 1.0
