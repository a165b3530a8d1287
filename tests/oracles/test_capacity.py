import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simmodels.clusters.capacity import Capacity
from simmodels.policies.risk import risk_table
from simmodels.results.schedule import Schedule
from simmodels.simulate import simulate_on_machines
from simmodels.structures.profile import add, earliest, new_profile
from simmodels.work.workload import Workload
from workloads.borg import read_borg_slice

HEURISTICS = {
    "FirstFitAware": "FirstFit",
    "FirstFitUnaware": "FirstFit",
    "TargetStretch": "TargetStretch",
    "TargetASAP": "TargetAsap",
    "PackedTargetASAP": "PackedTargetAsap",
}
METRICS = {
    "goodput": "goodput",
    "aborted": "aborted",
    "max_stretch": "max_stretch",
    "avg_stretch": "mean_stretch",
    "avg_aborted_time": "mean_aborted_s",
    "kills": "kills",
    "done": "completed",
    "arrived": "arrived",
}
SMALL = ["vc01_ff_aware", "vc02_ff_unaware_order", "vc03_target_asap", "vc04_target_asap_paper_step3"]
SMALL += ["vc05_target_stretch", "vc07_warm_and_window", "vc08_same_instant_event", "vc08_same_instant_instant"]


def jobs_of(rows: list[tuple[float, float, int]]) -> Workload:
    release, length, cores = np.array(rows, np.float64).reshape(-1, 3).T
    return Workload(np.arange(len(rows)), release, length, length, cores)


def options_of(case: dict[str, Any]) -> dict[str, Any]:
    said = case["options"]
    if HEURISTICS[case["heuristic"]] == "FirstFit":
        return {"dispatch": said["ff_dispatch"], "fill_order": case["fill_order"] and tuple(case["fill_order"])}
    of_asap = {"stay_on_target": said["asap_use_splus"], "requeue_immediate": said["requeue_immediate"]}
    return {
        **(of_asap if case["heuristic"] != "TargetStretch" else {}),
        "reference": jobs_of([(0, each["length"], each["cores"]) for each in case["reference_set"]]),
        "least_machines": case["m_minus"],
        "distance": said["D"],
        "raise_above": said["hi"],
        "lower_below": said["lo"],
        "category": said["cat_side"],
        "nearer_first": said["dist_order"],
    }


def final(schedule: Schedule) -> pd.DataFrame:
    """Return state, machine, start, end and kills of each job's last attempt, by input row."""
    rows = pd.Series(np.arange(len(schedule)), schedule.workload.job_id)
    table = schedule.attempts.assign(row=rows[schedule.attempts["job_id"]].to_numpy())
    last = table.groupby("row").last()
    lost = (table["outcome"] == 2) & table["end_s"].notna()
    state = np.where(last["outcome"] == 0, "done", np.where(schedule_runs(table), "running", "waiting"))
    return last.assign(state=state, kills=lost.groupby(table["row"]).sum())


def schedule_runs(table: pd.DataFrame) -> np.ndarray:
    return table.groupby("row")["end_s"].agg(lambda end: np.isnan(end.iloc[-1])).to_numpy()


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("name", SMALL)
def test_small_cases_are_equal_job_by_job(shared: Path, name: str, engine: str) -> None:
    case = json.loads((shared / f"oracles/capacity/{name}.json").read_text())
    jobs = jobs_of([(each["release"], each["length"], each["cores"]) for each in case["jobs"]])
    schedule = simulate_on_machines(
        jobs,
        [(each["time"], each["machines"]) for each in case["capacity"]],
        cores_per_machine=case["options"]["n_c"],
        heuristic=HEURISTICS[case["heuristic"]],
        window_s=(case["t_begin"], case["t_end"]),
        engine=engine,
        **options_of(case),
    ).validate()
    found = final(schedule)
    for must in case["expected"]["final"]:
        is_ = found.loc[must["id"]]
        got = (is_["state"], is_["machine"], is_["start_s"], is_["end_s"], is_["kills"])
        assert got == (must["state"], must["machine"], must["start"], must["end"], must["kills"]), must
    metrics = schedule.metrics()
    for theirs, ours in METRICS.items():
        assert metrics[ours] == pytest.approx(case["expected"]["metrics"][theirs], abs=1e-9), theirs


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_every_job_of_a_week_of_borg_is_equal(shared: Path, heuristic: str, engine: str) -> None:
    folder = shared / "oracles/capacity"
    about = json.loads((folder / "borg864000.meta.json").read_text())
    (must,) = [
        each for each in json.loads((folder / "borg864000.summary.json").read_text()) if each["heuristic"] == heuristic
    ]
    options: dict[str, Any] = {"fill_order": must["fill_order"] and tuple(must["fill_order"])}
    if HEURISTICS[heuristic] != "FirstFit":
        week_before = read_borg_slice(shared / f"traces/borg/{about['reference']}.txt.gz")
        options = {"reference": week_before, "least_machines": about["m_minus"]}
    schedule = simulate_on_machines(
        read_borg_slice(shared / f"traces/borg/{about['trace']}.txt.gz"),
        Capacity(*np.array(about["capacity"]).T),
        cores_per_machine=about["n_c"],
        engine=engine,
        heuristic=HEURISTICS[heuristic],
        window_s=(about["t_begin"], about["t_end"]),
        **options,
    ).validate()
    with gzip.open(folder / f"borg864000.{heuristic}.jobs.csv.gz", "rt") as file:
        theirs = pd.read_csv(file, index_col="job")
    found = final(schedule).reindex(range(len(theirs)))
    state = found["state"].fillna("waiting")
    ran = theirs["state"] != "waiting"  # of a waiting job they give the plan
    done = theirs["state"] == "done"
    unlike = (state != theirs["state"]) | (found["kills"].fillna(0) != theirs["kills"])
    unlike |= ran & ((found["machine"] != theirs["machine"]) | (found["start_s"] != theirs["start"]))
    unlike |= done & (found["end_s"] != theirs["end"])
    assert not unlike.any(), f"{unlike.sum()} jobs differ, the first is {theirs[unlike].sort_values('start').iloc[0]}"
    metrics = schedule.metrics()
    for name, ours in METRICS.items():
        assert metrics[ours] == pytest.approx(must[name], rel=1e-12), name


@pytest.mark.parametrize("side", ["ge", "gt"])
def test_categories_are_equal(shared: Path, side: str) -> None:
    case = json.loads((shared / "oracles/capacity/vc00_units.json").read_text())["category"]
    reference = jobs_of([(0, length, cores) for length, cores in case["reference"]])
    lengths, shares = risk_table(reference, category=side, cap_s=np.inf)
    for length, must in case[side]:
        row = np.searchsorted(lengths, length, side="left" if side == "ge" else "right")
        assert shares[row] == pytest.approx(must, abs=1e-9)


def test_earliest_holes_are_equal(shared: Path) -> None:
    case = json.loads((shared / "oracles/capacity/vc00_units.json").read_text())["profile"]
    profile = new_profile(0.0, 4)
    for start, end, cores in case["reservations"]:
        add(profile, float(start), float(end), -cores)
    assert [[time, 4 - free] for time, free in profile.steps()] == case["steps"]
    for ask in case["earliest"]:
        assert earliest(profile, float(ask["now"]), ask["cores"], float(ask["length"])) == ask["start"], ask
