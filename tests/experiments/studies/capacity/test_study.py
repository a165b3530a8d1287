"""The capacity study: cells that are what direct simulations are, tables computed plainly, honest claims, refusals."""

import collections
import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.cell import Cell
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.report import write_report
from experiments.campaigns.results import Results
from experiments.campaigns.running import Campaign
from experiments.policy import FIVE, QUEUES
from experiments.studies.capacity.results import PROGRAMS, CapacityResults
from experiments.studies.capacity.settings import (
    CENTRE,
    CHANGES,
    INTERPRETATIONS,
    WORKLOADS,
    equivalent_platform,
    points,
)
from experiments.studies.capacity.study import Capacity, jobs_of, simulated, walk_of
from simmodels.errors import SimModelsError
from simmodels.ground.streams import entropy
from tests.model_scripts import machines_on
from workloads.perotin import RISKY_FAMILIES

SMALL = {"lead_days": 1.0, "window_days": 0.5, "workload": ["LogScale"], "trace": [0, 1], "jobs_per_week": 7000}
CHOSEN = {
    **SMALL, "machines": [20, 24, 28], "radius": [8, 16], "period_s": [400, 1200], "change": ["kill", "periodic"],
    "variant": ["default", "stay_on_target", "partial_credit", "program"], "replications": 10,
    "heuristic": [*FIVE, *QUEUES],
}  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return run("capacity", out=tmp_path_factory.mktemp("capacity"), scale="smoke", seed=3, workers=0, chosen=CHOSEN)


@pytest.fixture(scope="module")
def results(campaign: Campaign) -> Results:
    assert campaign.complete
    return campaign.results()


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return list(Capacity(**CHOSEN).cells("smoke", 3))


def one(cells: Sequence[Cell], **values: object) -> Cell:
    point = {**CENTRE, "jobs_per_week": 7000, "trace": 1, "replication": 2, **values}
    found = [
        cell
        for cell in cells
        if all((cell.replication if name == "replication" else cell[name]) == each for name, each in point.items())
    ]
    assert len(found) == 1
    return found[0]


# -- the cells --------------------------------------------------------------------------------------


def direct(heuristic: str, **options: object) -> sm.Schedule:
    """Return the schedule of a cell at the centre, of trace 1 and replication 2, without the study."""
    jobs, reference = (
        wl.variable_capacity_jobs("LogScale", weeks=1.5 / 7, jobs_per_week=7000, seed=entropy(3, "capacity", what, 1))
        for what in ("jobs", "reference")
    )
    walk = wl.capacity_walk(until_s=1.5 * sm.DAY, seed=entropy(3, "replication", 2, "walk"))
    if heuristic != "FirstFit":
        options = {"reference": reference, "least_machines": 16, **options}
    return sm.simulate_on_machines(
        jobs, walk, cores_per_machine=24, heuristic=heuristic, machines=32, window_s=(sm.DAY, 1.5 * sm.DAY),
        seed=entropy(3, "replication", 2, "fill"), **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "variant", "options"),
    [
        ("FirstFitAware", "default", {"heuristic": "FirstFit"}),
        ("FirstFitUnaware", "default", {"heuristic": "FirstFit", "aware": False}),
        *((name, "default", {}) for name in ("TargetStretch", "TargetAsap", "PackedTargetAsap")),
        ("TargetAsap", "stay_on_target", {"stay_on_target": True}),
    ],
)
def test_a_cell_is_the_direct_simulation_of_its_jobs_on_its_walk(
    results: Results, name: str, variant: str, options: dict[str, Any]
) -> None:
    metrics = direct(**{"heuristic": name, **options}).metrics()
    for measure in ("goodput", "max_stretch"):
        found = CapacityResults(results).value(measure, name, "LogScale", variant=variant)
        assert found[1, 2] == metrics[measure]


def test_partial_credit_is_another_measure_of_the_same_schedule(results: Results) -> None:
    metrics = direct("FirstFit").metrics(warm_credit="partial")
    found = CapacityResults(results)
    assert found.value("goodput", "FirstFitAware", "LogScale", variant="partial_credit")[1, 2] == metrics["goodput"]
    kept = found.value("kills", "FirstFitAware", "LogScale")
    assert kept.equals(found.value("kills", "FirstFitAware", "LogScale", variant="partial_credit"))


def test_easy_is_a_queue_on_the_same_machines(results: Results, cells: list[Cell]) -> None:
    cell = one(cells, heuristic="EASY")
    log, _, window = jobs_of(cell)
    env, cluster = machines_on(32, 24, start_s=window[0])
    sm.TraceCapacity(env, cluster, walk_of(cell, window[1]))
    sm.Source(env, log, into=sm.QueueScheduler(env, cluster, backfilling="easy"), window_s=window)
    recorder = sm.Recorder(env)
    env.run(until=env.end_of(window[1]))
    schedule = recorder.schedule(window_s=window)
    assert CapacityResults(results).value("goodput", "EASY", "LogScale")[1, 2] == schedule.metrics()["goodput"]


def test_all_cells_of_a_replication_meet_the_same_walk_and_others_another(cells: list[Cell]) -> None:
    day = 1.5 * sm.DAY
    first = walk_of(one(cells, heuristic="TargetAsap"), day)
    for other in (one(cells, heuristic="EASY"), one(cells, heuristic="TargetAsap", trace=0)):
        assert np.array_equal(walk_of(other, day).machines, first.machines)
    assert not np.array_equal(walk_of(one(cells, heuristic="EASY", replication=1), day).machines, first.machines)
    more = walk_of(one(cells, heuristic="TargetAsap", machines=28), day)
    assert np.array_equal(more.machines, first.machines + 4), "the same steps, from another number"


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_change_says_is_done_to_the_walk(change: str) -> None:
    study = Capacity(**SMALL, change=change, period_s=1200, heuristic="TargetAsap")
    cell = next(iter(study.cells("smoke", 0)))
    walk = walk_of(cell, 1.5 * sm.DAY)
    assert set(walk.mode) == {change if change in {"drain", "checkpoint"} else "kill"}
    assert set(walk.notice_s) == {600.0 if change in {"notice", "checkpoint"} else 0.0}
    schedule = simulated(cell).validate()
    checkpoints = schedule.about["checkpoints"]
    if change == "periodic":
        inside = walk.machines[(walk.time_s > sm.DAY)]
        machines = [walk.machines_at(sm.DAY), *inside.tolist()]
        gone = sum(max(a - b, 0) for a, b in itertools.pairwise(machines))
        between_s = walk.machine_seconds(sm.DAY, 1.5 * sm.DAY) / gone
        assert isinstance(checkpoints, sm.Checkpoints)
        assert checkpoints.interval_s == sm.young_daly_s(60.0, between_s)
    else:
        assert (checkpoints is None) == (change != "checkpoint")


def test_points_differ_from_the_centre_in_one_factor() -> None:
    factors = Capacity().design("extended").factors
    found = list(points(factors))
    assert found[0] == dict(CENTRE)
    assert len(found) == 1 + 4 + 4 + 4 + 4 + 4 + (len(CHANGES) - 1) + (len(INTERPRETATIONS) - 1)
    for point in found[1:]:
        moved = {name for name in CENTRE if point[name] != CENTRE[name]}
        assert len(moved) == 1 or moved == {"cores_per_machine", "machines", "radius"}
    assert equivalent_platform(8, CENTRE) == (72, 16)
    assert equivalent_platform(12, CENTRE) == (48, 16)
    assert equivalent_platform(12, {**CENTRE, "machines": 12}) == (24, 16)


def test_the_campaign_of_the_paper_has_54_000_simulations(tmp_path: Path) -> None:
    slices = [str(write_slice(tmp_path / f"{k}.txt", 86_400 * k, k)) for k in range(7)]
    cells = list(Capacity(workload=[*RISKY_FAMILIES, *slices]).cells("paper", 0))
    count = collections.Counter(cell["workload"] for cell in cells)
    points, simulations = 3 * 5 - 2, 5 * 6 * 30  # of the sweeps, whose centre is the same; of each point
    assert count == {**dict.fromkeys(["Uniform", "LogScale", "3types", "Borg"], points * simulations),
                     "LogScaleU": simulations}  # fmt: skip
    centre = sum(1 for cell in cells if all(cell[name] == value for name, value in CENTRE.items()))
    centre -= count["LogScaleU"]
    assert sum(count.values()) - count["LogScaleU"] + 2 * centre == 54_000, "the centre counted in each sweep"
    assert {cell["heuristic"] for cell in cells} == set(FIVE)
    assert {(cell["change"], cell["variant"]) for cell in cells} == {("kill", "default")}


def test_queues_run_at_what_is_no_reading_and_a_reading_where_it_matters(cells: list[Cell]) -> None:
    queues = {(cell["change"], cell["variant"]) for cell in cells if cell["heuristic"] in QUEUES}
    assert queues == {("kill", "default")}
    stays = {cell["heuristic"] for cell in cells if cell["variant"] == "stay_on_target"}
    assert stays == {"TargetAsap", "PackedTargetAsap"}
    assert {cell["heuristic"] for cell in cells if cell["variant"] == "program"} == set(FIVE)


# -- Borg -------------------------------------------------------------------------------------------


def write_slice(path: Path, begin: int, seed: int, days: int = 1) -> Path:
    draws = np.random.default_rng(seed)
    submits = begin + 300 * np.sort(draws.integers(0, 288 * days, 600))
    submits[0] = begin
    lines = [f"0 {max(begin - 600, 0)} 3000 4 running"]
    lines += [
        f"{job} {submit} {300 * draws.integers(1, 40)} {2 ** draws.integers(1, 4)} release"
        for job, submit in enumerate(submits, start=1)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_risks_of_a_slice_are_read_from_the_one_before(tmp_path: Path) -> None:
    names = [write_slice(tmp_path / f"{k}.txt", begin, k) for k, begin in enumerate((172_800, 0, 86_400))]
    chosen = {"workload": [*map(str, names)], "heuristic": ["TargetAsap"], "change": "kill", "window_days": 1.0}
    plan = Plan.of("capacity", "smoke", 0, {**chosen, "period_s": 1200, "trace": [0, 1, 2], "replications": 1})
    assert [(cell["workload"], cell["trace"]) for cell in plan.cells] == [("Borg", 0), ("Borg", 1)]
    inputs = Capacity(**chosen, trace=[0, 1, 2]).inputs("smoke")
    for trace, (log, before) in enumerate([(names[2], names[1]), (names[0], names[2])]):
        jobs = inputs[f"Borg {trace}"]
        assert np.array_equal(jobs.log.submit_s, wl.read_borg_slice(log).submit_s)
        assert np.array_equal(jobs.reference.submit_s, wl.read_borg_slice(before).submit_s)
        assert jobs.window_s == (86_400.0 * (trace + 1), 86_400.0 * (trace + 2))
    write_slice(names[0], 172_800, 9)
    after = Plan.of("capacity", "smoke", 0, {**chosen, "period_s": 1200, "trace": [0, 1, 2], "replications": 1})
    assert [old == new for old, new in zip(plan.keys, after.keys, strict=True)] == [True, False]


# -- what is reported -----------------------------------------------------------------------------------


def test_tables_are_what_a_plain_computation_gives(results: Results) -> None:
    tables = Capacity().tables(results)
    table = results.table
    at = table[(table["change"] == "kill") & (table["variant"] == "default")]
    centre = at[(at["machines"] == 24) & (at["radius"] == 8) & (at["period_s"] == 1200)]
    shown = tables["the centre, beside an independent program"].set_index("heuristic")
    for heuristic in (*FIVE, *QUEUES):
        mean = centre.loc[centre["heuristic"] == heuristic, "goodput"].mean()
        assert shown.loc[heuristic, "goodput"] == pytest.approx(mean)
        if heuristic in FIVE:
            their = PROGRAMS["independent", "LogScale", "", "", "goodput", heuristic]
            assert shown.loc[heuristic, "goodput, difference"] == pytest.approx(mean - their)
    sweeps = tables["the sweeps: goodput, beside an independent program"].set_index(["sweep", "value", "heuristic"])
    few = at[(at["machines"] == 20) & (at["heuristic"] == "TargetAsap")]["goodput"]
    assert sweeps.loc[("machines", 20, "TargetAsap"), "goodput"] == pytest.approx(few.mean())
    program = tables["the readings of the program, beside the authors' own"].set_index("heuristic")
    theirs = {"FirstFitAware": 0.881, "TargetStretch": 0.925, "TargetAsap": 0.926, "PackedTargetAsap": 0.931}
    assert program["theirs"].to_dict() == theirs


def test_a_reading_is_compared_walk_by_walk(results: Results) -> None:
    rows = Capacity().tables(results)["what each reading changes"].set_index(["variant", "heuristic"])
    found = CapacityResults(results)
    there, base = (
        found.value("goodput", "TargetAsap", "LogScale", variant=name).groupby("replication").mean()
        for name in ("stay_on_target", "default")
    )
    row = rows.loc[("stay_on_target", "TargetAsap")]
    assert row["goodput, difference"] == pytest.approx((there - base).mean())
    assert row["goodput low"] <= (there - base).mean() <= row["goodput high"]


def test_goodput_and_the_aborted_share_are_at_most_the_whole(results: Results) -> None:
    assert (results.table["goodput"] + results.table["aborted"]).max() <= 1.0 + 1e-9


def test_boxes_have_the_whiskers_and_stars_of_the_paper(results: Results) -> None:
    figures = Capacity().figures(results)
    assert [name.split(":")[0] for name in figures][:4] == ["figure 1", "figure 2", "figure 3", "ours"]
    assert "ours: machines that are switched off" in figures
    axes = figures["figure 3: goodput by range of machines"].axes[0]
    goodput = CapacityResults(results).value("goodput", "FirstFitAware", "LogScale")
    low, high = np.percentile(goodput, [10, 90])
    ends = np.concatenate([line.get_ydata() for line in axes.lines])
    assert np.isclose(ends, low).any()
    assert np.isclose(ends, high).any(), "whiskers go from 10 to 90 %"
    stars = [line for line in axes.lines if line.get_marker() == "*"]
    assert any(np.isclose(line.get_ydata(), goodput.mean()).any() for line in stars)


def test_ratios_to_first_fit_are_paired_by_walk(results: Results) -> None:
    rows = Capacity().tables(results)["figures 1 to 4 against first fit, walk by walk"]
    row = rows.set_index(["sweep", "value", "heuristic"]).loc[("radius", 16, "TargetAsap")]
    table = results.table
    at = table[(table["radius"] == 16) & (table["change"] == "kill") & (table["variant"] == "default")]
    stretch = at.pivot_table(index=["replication", "trace"], columns="heuristic", values="mean_stretch")
    ratio = np.exp(np.log(stretch["TargetAsap"] / stretch["FirstFitAware"]).mean())
    assert row["mean_stretch, times"] == pytest.approx(ratio)
    assert row["mean_stretch low"] <= ratio <= row["mean_stretch high"]


def test_the_numbers_of_others_are_of_heuristics_and_points_that_there_are() -> None:
    factors = Capacity().design("paper").factors
    for _, workload, sweep, value, measure, heuristic in PROGRAMS:
        assert (workload in WORKLOADS, measure in Capacity.measures, heuristic in FIVE) == (True, True, True)
        assert sweep == value == "" or int(value) in factors[sweep]


# -- what is refused --------------------------------------------------------------------------------


def test_readings_of_the_jobs_are_of_the_families_they_are_about() -> None:
    chosen = {"workload": ["LogScale", "Uniform"], "change": "kill", "period_s": 1200, "replications": 1}
    read = Capacity(**chosen, variant=["default", "printed_shares", "printed_jobs", "printed_length"])
    cells = list(read.cells("smoke", 0))
    assert {(cell["variant"], cell["workload"]) for cell in cells if cell["variant"] != "default"} == {
        ("printed_shares", "LogScale"), *itertools.product(["printed_jobs", "printed_length"], ["LogScale", "Uniform"])
    }  # fmt: skip
    assert not INTERPRETATIONS["printed_jobs"].changes_jobs_of("Borg")
    assert INTERPRETATIONS["printed_windows"].changes_jobs_of("Borg")
    point = {"workload": "Uniform", "heuristic": "TargetAsap", "jobs_per_week": 20_000, "trace": 0, "replication": 0}
    work, jobs = {}, {}
    for variant in ("printed_jobs", "printed_length"):
        found = jobs_of(one(cells, variant=variant, **point))
        assert found.window_s == (7 * sm.DAY, 21 * sm.DAY), "a week before, and a window of two"
        jobs[variant] = len(found.log)
        work[variant] = float(found.log.runtime_s @ found.log.cores) / (24 * 21 * sm.DAY)
    assert set(jobs.values()) == {20_001}, "20,000 in three weeks, to the next whole number a week"
    assert work["printed_jobs"] == pytest.approx(26, rel=0.02)
    assert work["printed_length"] == pytest.approx(60.7, rel=0.02), "209,664 h of 3.5 cores each, on 24 cores"


def test_a_slice_of_two_weeks_is_run_whole_if_the_text_is_read_so(tmp_path: Path) -> None:
    names = [str(write_slice(tmp_path / f"{k}.txt", k * 86_400, k, days=10)) for k in range(2)]
    study = Capacity(workload=names, heuristic="TargetAsap", variant=["default", "printed_windows"])
    inputs = study.inputs("paper")
    windows = {
        cell["variant"]: jobs_of(dataclasses.replace(cell, inputs=inputs)).window_s for cell in study.cells("paper", 0)
    }
    assert {name: np.ptp(window) / sm.DAY for name, window in windows.items()} == {"default": 7, "printed_windows": 10}


def test_slices_of_borg_that_say_no_risk_are_refused(tmp_path: Path) -> None:
    first, second = (str(write_slice(tmp_path / f"{name}.txt", 0, seed)) for seed, name in enumerate("ab", 1))
    (tmp_path / "c.txt").write_text("0 0 300 2 running\n")
    for names, text in (
        ([first], "is the only slice of Borg; add the slice of the week before"),
        ([first, second], "begins at 0 s as another slice does"),
        ([first, str(tmp_path / "c.txt")], "only jobs that ran before it"),
    ):
        with pytest.raises(SimModelsError, match=text):
            Capacity(workload=names).inputs("smoke")


@pytest.mark.parametrize("names", ["FirstFitAware", "FirstFitUnaware FirstFitAware", "TargetStretch", "EASY"])
def test_a_report_of_some_heuristics_says_what_there_is(names: str, tmp_path: Path) -> None:
    chosen = {**SMALL, "trace": [0], "machines": 24, "radius": 8, "period_s": 1200, "heuristic": names.split()}
    found = run("capacity", out=tmp_path / "c", scale="smoke", workers=0, chosen={**chosen, "replications": 1})
    write_report(found)
    goodput = CapacityResults(found.results()).value("goodput", names.split(maxsplit=1)[0], "LogScale")
    assert len(goodput) == 1
    assert goodput.between(0, 1).all()
