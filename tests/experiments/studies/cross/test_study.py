"""The cross study: what goes together, the same jobs and walks for all, hand-checked measures and claims, refusals."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.cell import Cell
from experiments.campaigns.report import write_report
from experiments.campaigns.results import Results
from experiments.campaigns.running import Campaign
from experiments.studies.cross.results import CrossResults, halves_agree, rank_change, risk_over_order, tau
from experiments.studies.cross.run import NEAR, capacities_of, generated_series, measured, simulated, summed
from experiments.studies.cross.settings import DECIDERS, ORDERS, ROUTED, Platform, policies
from experiments.studies.cross.study import Cross
from experiments.studies.cross.work import work_of
from simmodels.errors import SimModelsError

TINY: Mapping[str, Any] = {
    "window_days": 0.5, "warm_days": 0.1, "pairs": 5, "trials": 64, "machines": 4, "radius": 2, "tune_h": 2.0,
    "workload": ["log", "workflows"], "capacity": ["steady", "walk 1200", "series"], "replications": 5,
    "order": ["FCFS", "SAF", "learned", "bandit", "feedback"],
}  # fmt: skip
WINDOW_S = 0.5 * sm.DAY


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    chosen = {**TINY, "capacity": ["steady", "walk 1200"], "order": ["FCFS", "SAF", "learned"], "replications": 2}
    return run("cross", out=tmp_path_factory.mktemp("cross"), scale="smoke", seed=3, workers=0, chosen=chosen)


@pytest.fixture(scope="module")
def results(campaign: Campaign) -> Results:
    assert campaign.complete
    return campaign.results()


def cells_of(**chosen: object) -> list[Cell]:
    """Return the cells of a small design, with their inputs."""
    study = Cross(**{**TINY, "replications": 2, **chosen})
    inputs = study.inputs("smoke")
    return [Cell(c.factors, c.replication, c.seed, c.parameters, inputs) for c in study.cells("smoke", 3)]


# -- the design -------------------------------------------------------------------------------------


def test_each_decider_has_the_orders_that_mean_something_for_it() -> None:
    pairs = list(policies(Cross().design("paper")))
    assert len(set(pairs)) == len(pairs) == 6 + 6 + 5 + 5 + 1 + 4 * 2
    assert [order for decider, order in pairs if decider == "TargetASAP"] == ["FCFS"]
    assert {decider for decider, order in pairs if order == "feedback"} == {"EASY", "conservative"}
    assert set(DECIDERS) | set(ROUTED) == {decider for decider, _ in pairs}
    assert sum(1 for _ in Cross().cells("paper", 0)) == 12 * 4 * 5 * len(pairs)
    assert {order for _, order in pairs} == set(ORDERS)


# -- the same for all -------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", ["log", "Borg", "workflows", "mixed"])
def test_windows_have_the_same_work_and_come_after_what_is_learned_from(workload: str) -> None:
    of = Cross(**{**TINY, "workload": workload}).design("smoke").parameters
    work = work_of(workload, of, 3, 0)
    wanted = 0.8 * 4 * 16 * WINDOW_S
    for window in work.windows:
        core_s = float(window.runtime_s @ window.cores)
        widest = max(
            [float((window.runtime_s * window.cores)[window.rigid()].max(initial=0.0)),
             *(flow.volume_core_s for flow in window.workflows)]
        )  # fmt: skip
        assert abs(core_s - wanted) <= 2 * widest, "the last job ends the window"
        assert 0 <= window.submit_s.min() <= window.submit_s.max() < WINDOW_S
        assert window.cores.max() <= 16
        numbers = window.job_id if window.is_rigid else np.append(
            window.job_id[window.rigid()], [flow.job_id for flow in window.workflows]
        )  # fmt: skip
        assert len(np.unique(numbers)) == len(numbers), "attempts are identified by the number"
        assert all(flow.curve == sm.Workflow(0, 0.0, [1.0]).curve for flow in window.workflows)
    assert work.reference.is_rigid
    assert len(work.theta) == len(work.terms)
    again = work_of(workload, of, 3, 0)
    assert again.theta == work.theta
    assert all(np.array_equal(a.submit_s, b.submit_s) for a, b in zip(again.windows, work.windows, strict=True))


def test_no_two_windows_of_a_log_have_a_job_in_common_and_there_must_be_enough_for_all(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    log = wl.lublin(jobs=3000, cores=16, seed=2)
    wl.write_swf(replace(log, runtime_s=np.arange(1.0, 3001.0), estimate_s=np.arange(1.0, 3001.0)), path)
    chosen = {**TINY, "log": str(path), "workload": "log", "machines": 2, "radius": 0}
    work = work_of("log", Cross(**chosen).design("smoke").parameters, 2, 0)
    seen = np.concatenate([work.reference.runtime_s, *(window.runtime_s for window in work.windows)])
    assert len(np.unique(seen)) == len(seen)
    with pytest.raises(SimModelsError, match="windows, not for 5; set replications="):
        Cross(**{**chosen, "machines": 4, "radius": 2, "window_days": 40.0}).inputs("smoke")


def test_the_published_run_has_twelve_windows_of_each_trace(shared: Path) -> None:
    chosen = {"log": str(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"), "trials": 64, "pairs": 10,
              "borg": str(shared / "traces" / "borg" / "14D_0.txt.gz")}  # fmt: skip
    of = Cross(**chosen).design("paper").parameters
    for name, left_out in (("log", 2620), ("Borg", 0)):
        work = work_of(name, of, 12, 1)
        assert len(work.windows) == 12
        assert work.left_out == left_out


def test_all_policies_meet_the_same_jobs_and_the_same_walks() -> None:
    cells = cells_of(workload="log", order=["FCFS", "SAF"])
    for replication, capacity in product(range(2), TINY["capacity"]):
        here = [cell for cell in cells if (cell.replication, cell["capacity"]) == (replication, capacity)]
        for clusters in (1, 2):
            met = [simulated(cell) for cell in here if (cell["decider"] in ROUTED) == (clusters == 2)]
            first, machines = met[0]
            assert len(machines) == clusters
            for schedule, others in met:
                assert np.array_equal(schedule.workload.submit_s, first.workload.submit_s)
                for one, other in zip(machines, others, strict=True):
                    assert np.array_equal(one.time_s, other.time_s)
                    assert np.array_equal(one.machines, other.machines)


@pytest.mark.parametrize("clusters", [1, 2])
@pytest.mark.parametrize("name", ["steady", "walk 14400", "walk 1200", "series"])
def test_as_many_machines_are_on_on_average_under_each_capacity(name: str, clusters: int) -> None:
    platform = Platform(8, 4, 16)
    found = [
        capacities_of(name, platform, clusters, length_s=5 * sm.DAY, seed=seed, series=generated_series(1))
        for seed in (1, 2)
    ]
    for capacities in found:
        total = sum(each.machine_seconds(0.0, 5 * sm.DAY) for each in capacities) / (5 * sm.DAY)
        assert total == pytest.approx(8, rel=2 * NEAR)
        for each in capacities:
            assert 4 <= clusters * each.machines.min() <= clusters * each.machines.max() <= 12
    if name != "steady":
        assert not np.array_equal(found[0][0].machines, found[1][0].machines), "another seed, another walk"


def test_one_queue_has_the_machines_of_both_clusters_and_loses_as_many() -> None:
    two = capacities_of("walk 1200", Platform(8, 4, 16), 2, length_s=sm.DAY, seed=1, series=None)
    one = summed(two)
    for time_s in np.arange(0.0, sm.DAY, 311.0):
        assert one.machines_at(time_s) == sum(each.machines_at(time_s) for each in two)
    assert not set(two[0].time_s[1:]) & set(two[1].time_s[1:])
    gone = [sum(max(a - b, 0) for a, b in pairwise(each.machines.tolist())) for each in (one, *two)]
    assert gone[0] == gone[1] + gone[2]


# -- a cell -----------------------------------------------------------------------------------------


def test_a_cell_is_the_direct_simulation() -> None:
    how: dict[tuple[str, str], dict[str, Any]] = {
        ("EASY", "learned"): {"backfilling": "easy"},
        ("conservative", "SAF"): {"order": "SAF", "backfilling": "conservative"},
        ("first fit", "SAF"): {"order": "SAF", "heuristic": "FirstFit"},
        ("TargetASAP", "FCFS"): {"heuristic": "TargetAsap", "least_machines": 2},
    }
    cells = cells_of(workload="log", capacity="walk 1200", order=["FCFS", "SAF", "learned"])
    cells = [cell for cell in cells if (cell["decider"], cell["order"]) in how]
    assert len(cells) == 2 * len(how)
    for cell in cells:
        work, machines = cell.inputs["log"], simulated(cell)[1]
        options = dict(how[cell["decider"], cell["order"]])
        if cell["order"] == "learned":
            options["order"] = sm.Polynomial(work.theta, work.terms)
        if cell["decider"] == "TargetASAP":
            options["reference"] = work.reference
        site = sm.Site(machines=6, cores_per_machine=16, capacity=machines[0])
        direct = sm.simulate(work.windows[cell.replication], on=site, **options)
        assert np.array_equal(simulated(cell)[0].end_s, direct.end_s)


def test_schedules_are_legal_and_tuners_choose_among_the_fixed_orders() -> None:
    for cell in cells_of(workload="mixed", capacity="walk 1200", replications=1):
        schedule, _ = simulated(cell)
        schedule.validate()
        if cell["order"] in {"bandit", "feedback"}:
            [tuned] = schedule.about["tuned"]
            assert set(tuned["periods"]) == {"FCFS", "SAF", "F2", "learned"}
    assert cell["decider"] == "LeastLoaded", "all were run"


def test_every_workflow_has_the_same_critical_path_under_each_decider(results: Results) -> None:
    table = results.table[results.table["workload"] == "workflows"]
    assert np.allclose(table["mean_stretch"], table["mean_slr"]), "a workflow's stretch is its SLR"
    assert table.groupby("replication")["measured_jobs"].nunique().eq(1).all()


def test_measures_are_what_a_hand_drawn_schedule_gives() -> None:
    # One machine of 2 cores, off from 150 to 200 s. Job 1 runs 0 to 100. Job 2 starts at 100 with both cores, loses
    # 50 s of work at 150, and runs 200 to 300. Job 3, of 1 core, waits for it and runs 300 to 350.
    jobs = sm.Workload([1, 2, 3], [0.0, 50.0, 60.0], [100.0, 100.0, 50.0], [100.0, 100.0, 50.0], [2, 2, 1])
    capacity = sm.Capacity([0.0, 150.0, 200.0], [1, 0, 1])
    schedule = sm.simulate(jobs, on=sm.Site(machines=1, cores_per_machine=2, capacity=capacity), backfilling="easy")
    assert schedule.end_s.tolist() == [100.0, 300.0, 350.0]
    row = measured(schedule, [capacity], 2, (50.0, 350.0), 80.0)
    assert row["mean_wait_s"] == pytest.approx((150.0 + 240.0) / 2)
    assert row["mean_stretch"] == pytest.approx((250 / 100 + 290 / 50) / 2)
    assert row["mean_bounded_slowdown"] == pytest.approx((250 / 100 + 290 / 80) / 2)
    on = 2 * (100 + 150)
    assert row["goodput"] == pytest.approx((2 * 50 + 2 * 100 + 50) / on)
    assert row["lost"] == pytest.approx(2 * 50 / on)
    assert row["utilisation"] == pytest.approx(row["goodput"] + row["lost"])
    assert (row["kills"], row["measured_jobs"], row["completed_share"]) == (1, 2, 1.0)


# -- claims -----------------------------------------------------------------------------------------


def test_tau_and_ranks_are_those_counted_by_hand() -> None:
    steady, swapped, turned = [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]
    rows = np.array([[*steady, *swapped, *steady, *turned]] * 5)
    assert float(tau(rows, 2, 4)) == pytest.approx(((5 - 1) / 6 - 1.0) / 2)
    assert float(rank_change(rows, 2, 4, 0)) == pytest.approx((1 + 3) / 2)
    assert tau(np.stack([rows, rows]), 2, 4).shape == (2,)


def test_risk_over_order_is_that_computed_by_hand() -> None:
    without, knows, judged = [3.0, 5.0], [2.0, 3.0], [1.0, 4.0]
    assert float(risk_over_order(np.array([[*without, *knows, *judged]]), 2, 1)) == pytest.approx(1.5 / 3.0)


def made_up(**values: float) -> Results:
    """Return results in which a slowdown is 10, times the values of decider, order, or both on changing machines."""
    study = Cross(
        workload="log", capacity=["steady", "walk 1200"], order=["FCFS", "SAF", "F2", "learned"], replications=10
    )
    order_of = {"FCFS": 8.0, "SAF": 1.0, "F2": 2.0, "learned": 4.0}
    rows = []
    for cell in study.cells("smoke", 0):
        noise = 1.0 + 0.01 * cell.replication
        names = [cell["decider"], f"{cell['decider']} {cell['capacity']}", f"{cell['order']} {cell['capacity']}"]
        slowdown = 10.0 * order_of[cell["order"]] * noise * float(np.prod([values.get(name, 1.0) for name in names]))
        rows.append(
            {**cell.factors, "replication": cell.replication, "mean_bounded_slowdown": slowdown,
             "lost": 0.1 * noise + 0.01 * order_of[cell["order"]], "goodput": 0.7, "left_out": 2, "measured_jobs": 9,
             "offered_load": 0.8, "completed_share": 1.0}
        )  # fmt: skip
    design = study.design("smoke")
    return Results(table=pd.DataFrame(rows), factors=design.factors, parameters=design.parameters)


def verdicts(results: Results) -> dict[str, tuple[str, float | None]]:
    return {
        claim.text: (claim.verdict, None if claim.effect is None else claim.effect.estimate)
        for claim in Cross().claims(results)
    }


def test_claims_hold_where_the_opposite_fails() -> None:
    same = verdicts(made_up(auction=0.5))
    where = "with a change of the machines each 1200 s"
    assert same[f"The ranking of the orders on steady machines is kept {where}"] == ("holds", 1.0)
    assert same[f"The order learned on a steady machine keeps its rank {where}"] == ("holds", 0.0)
    assert same[f"The learned order is better than FCFS {where}"] == ("holds", pytest.approx(0.5))
    assert same[f"The learned order is better than SAF {where}"] == ("fails", pytest.approx(4.0))
    auctions = [found for text, found in same.items() if text.startswith("An auction before two queues")]
    assert auctions == [("holds", pytest.approx(0.5))] * 3
    other = verdicts(made_up(**{"learned walk 1200": 100.0, "auction": 2.0}))
    assert other[f"The order learned on a steady machine keeps its rank {where}"] == ("fails", 1.0)
    assert other[f"The ranking of the orders on steady machines is kept {where}"] == ("fails", pytest.approx(4 / 6))
    assert other["An auction before two queues beats one queue of all machines, on log"][0] == "fails"


def test_risk_matters_more_than_the_order_only_where_it_changes_more() -> None:
    found = verdicts(made_up(**{"unaware first fit walk 1200": 64.0}))
    slowdown, lost = (
        next(each for text, each in found.items() if text.startswith(f"Knowing the risk matters more for {what} than"))
        for what in ("slowdown", "lost work")
    )
    assert slowdown == ("holds", pytest.approx(np.log10(64) / np.log10(8)))
    assert lost[0] == "fails"


def test_halves_of_the_same_windows_agree_unless_noise_decides() -> None:
    results = made_up()
    assert halves_agree(CrossResults(results)) == 1.0
    odd = (results.table["replication"] % 2 == 1) & (results.table["order"] == "FCFS")
    results.table.loc[odd, "mean_bounded_slowdown"] = 1.0  # the worst is the best in every second window
    assert halves_agree(CrossResults(results)) == pytest.approx(0.0)


def test_nothing_is_decided_without_data(results: Results) -> None:
    nothing = Results(table=results.table.head(0), factors=results.factors)
    assert {claim.verdict for claim in Cross().claims(nothing)} == {"undecided"}
    assert not Cross().figures(nothing)
    assert not Cross().findings(nothing)


def test_a_table_says_what_a_plain_computation_gives(results: Results) -> None:
    tables = Cross().tables(results)
    at = {"workload": "log", "capacity": "walk 1200", "decider": "EASY", "order": "SAF"}
    part = results.where(**at)
    rows = tables["all policies"].set_index(list(at))
    mean = 10 ** np.log10(part["mean_bounded_slowdown"]).mean()
    assert rows.loc[tuple(at.values()), "bounded slowdown, geometric mean"] == pytest.approx(mean)
    placed = tables["ranks of the orders"].set_index(["workload", "capacity", "decider"])
    assert sorted(placed.loc[("log", "steady", "conservative")]) == [1, 2, 3]
    assert CrossResults(results).changing == ["walk 1200"]


# -- from end to end --------------------------------------------------------------------------------


def test_a_run_ends_with_a_report_of_all_figures_and_claims(campaign: Campaign, results: Results) -> None:
    assert (results.table["completed_share"] == 1).all()
    report = write_report(campaign)
    for name in ("figure-1", "figure-2", "figure-3", "figure-4"):
        assert any(f"figures/{name}" in file for file in report.files)
    assert {claim.source for claim in Cross().claims(results)} == {"question 1", "question 2", "question 3"}
    assert len(Cross().findings(results)) == 3


def test_files_are_read_and_what_is_too_wide_is_counted(tmp_path: Path) -> None:
    log = wl.lublin(jobs=1500, cores=32, load=0.8, seed=2)
    wl.write_swf(log, tmp_path / "log.swf")
    (tmp_path / "flows").mkdir()
    wl.write_wfformat(
        sm.Workflow(1, 0.0, [600.0, 900.0, 300.0], [4, 2, 1], [(0, 1), (0, 2)]), tmp_path / "flows" / "a.json"
    )
    wl.write_wfformat(sm.Workflow(1, 0.0, [600.0], [40]), tmp_path / "flows" / "b.json")
    lines = [f"2021-06-01 {hour:02d}:00:00,{5 + hour % 7},1" for hour in range(24)]
    (tmp_path / "sun.csv").write_text("\n".join(["time,sun,other", *lines]) + "\n")
    chosen = {"log": str(tmp_path / "log.swf"), "workflow_files": str(tmp_path / "flows"), "replications": 1,
              "series": str(tmp_path / "sun.csv"), "series_column": "sun"}  # fmt: skip
    cells = cells_of(**chosen, decider="EASY", order="SAF", capacity="series", trial_cores=16)
    rows = {cell["workload"]: dict(Cross(**TINY).run_cell(cell)) for cell in cells}  # type: ignore[arg-type]
    assert rows["log"]["left_out"] == int((log.cores > 16).sum()) > 0
    assert rows["workflows"]["left_out"] == 1
    assert {len(flow) for flow in cells[-1].inputs["workflows"].windows[0].workflows} == {3}


def test_the_bid_of_the_study_is_not_among_the_users() -> None:
    assert "earliest_end" not in sm.bids()
