from pathlib import Path

import numpy as np
import pandas as pd

import simmodels as sm
import workloads as wl
from experiments.cli.compare import ORDERS, demo_workload
from experiments.cli.demo import Demo
from tests.command_line import Run


def test_the_demo_compares_five_orders_and_leaves_all_of_it_in_a_folder(run: Run) -> None:
    status, out, err = run("demo", "--jobs", 300, "--cores", 64, "--seed", 5, "--load", 0.9)
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert [row[0] for row in rows if row and row[0] in ORDERS] == list(ORDERS)
    assert "\x1b" not in out + err  # neither colours nor progress bars where there is no terminal
    folder = Path("results/demo")
    assert pd.read_parquet(folder / "metrics.parquet")["order"].tolist() == list(ORDERS)
    assert (folder / "wait_s.svg").is_file()
    workload = wl.read_swf(folder / "workload.swf.gz")
    assert np.array_equal(workload.submit_s, demo_workload(Demo(jobs=300, cores=64, seed=5, load=0.9)).submit_s)
    jobs = pd.read_parquet(folder / "jobs" / "SAF.parquet")
    assert np.array_equal(sm.simulate(workload, order="SAF").start_s, jobs["start_s"])


def test_the_workload_of_the_demo_looks_real_and_keeps_a_machine_busy() -> None:
    workload = demo_workload(Demo(seed=1))
    assert workload.to_frame().equals(demo_workload(Demo(seed=1)).to_frame())
    assert (workload.estimate_s >= workload.runtime_s).all()
    assert len(np.unique(workload.estimate_s)) < 400  # users choose round times
    load = (workload.cores * workload.runtime_s).sum() / (256 * workload.submit_s.max())
    assert 0.5 < load < 1.0
