"""The market study: cells that are what direct simulations are, tables computed plainly, honest claims."""

import itertools
from dataclasses import replace
from pathlib import Path

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
from experiments.studies.market.paper import ELEMENTS, PAPER
from experiments.studies.market.results import PROTOTYPE
from experiments.studies.market.study import BEYOND, RULES, Market, _rule_loads

CLUSTERS = [
    ("Kind1-1", 1000, "Kind1"),
    ("Kind1-2", 1000, "Kind1"),
    ("Kind1-3", 1000, "Kind1"),
    ("Kind2-1", 1000, "Kind2"),
]
SMALL = {
    "jobs": 60, "load": [0.9, 1.2, 1.4], "bid": ["PVR", "SRTF", "P-SLR"], "replications": 2, "alone": 3,
    "end": ["drain", "submit"], "rule": ["plain", "budgets", "easy"],
}  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return run("market", out=tmp_path_factory.mktemp("market"), scale="smoke", seed=5, workers=0, chosen=SMALL)


def row_of(results: Results, replication: int = 0, **values: object) -> pd.Series:
    """Return the one row that there is."""
    ((_, row),) = results.where(replication=replication, **values).iterrows()
    return row


def test_a_cell_is_what_a_direct_simulation_is(campaign: Campaign) -> None:
    assert not campaign.failed
    for replication, load, end, bid in ((0, 0.9, "drain", "PVR"), (1, 1.4, "submit", "SRTF")):
        jobs = wl.market_workload(60, load=load, seed=Cell({}, replication, 5).seed_for("workload"))
        schedule = sm.simulate_workflows(jobs, clusters=CLUSTERS, bid=bid, end=end, tick_s=60.0)
        row = row_of(campaign.results(), replication, load=load, end=end, bid=bid, rule="plain")
        wanted = {name: value for name, value in schedule.metrics().items() if name != "makespan_s"}
        assert {name: row[name] for name in wanted} == pytest.approx(wanted, abs=0)
        for prefix, by in (("", "critical_path_s"), ("volume_", "volume_core_s")):
            tenths = schedule.deciles(by)
            slr = [row[f"{prefix}slr_{tenth}"] for tenth in range(1, 11)]
            assert slr == pytest.approx(tenths["mean_slr"], nan_ok=True)
            assert [row[f"{prefix}starved_{tenth}"] for tenth in range(1, 11)] == tenths["starved"].tolist()


def test_all_bids_and_loads_meet_the_same_jobs(campaign: Campaign) -> None:
    auctioned = campaign.results().table.query("rule != 'alone'")
    assert auctioned.groupby("replication")["tasks"].nunique().tolist() == [1, 1]
    assert auctioned["tasks"].nunique() == 2, "replications are different workloads"


def test_other_rules_are_run_where_they_mean_something(campaign: Campaign) -> None:
    table = campaign.results().table
    other = table[table["rule"].isin(["budgets", "easy"])]
    assert set(zip(other["load"], other["end"], strict=True)) == {(1.4, "drain")}
    assert set(other.loc[other["rule"] == "budgets", "bid"]) == {"P-SLR"}, "who offers least has no budget"
    assert set(other.loc[other["rule"] == "easy", "bid"]) == {"PVR", "SRTF", "P-SLR"}
    assert _rule_loads((0.7, 1.1, 1.4)) == (1.1, 1.4)
    assert _rule_loads((0.7, 0.8)) == (0.8,)
    assert set(BEYOND) < set(RULES)


def test_every_rule_runs_and_changes_what_it_says() -> None:
    study = Market()
    of = dict(study.design("smoke").parameters) | {"jobs": 60}
    for rule in RULES:
        row = study.run_cell(Cell({"load": 1.4, "end": "drain", "rule": rule, "bid": "PVD"}, 0, 1, of))
        assert isinstance(row, dict)
        assert row["jobs"] == 60
        assert ("paid" in row) == (rule in {"second-price", "budgets"})
        assert row["rejected"] == 0 or rule == "admission"


def test_workflows_alone_are_as_fast_as_plans_and_no_faster(campaign: Campaign) -> None:
    tables = Market(**SMALL).tables(campaign.results())
    alone = tables["each workflow alone on the empty platform"].set_index("plan or bid")
    assert list(alone.index) == ["HEFT", "CPOP", "PEFT", "PVR", "SRTF", "P-SLR"]
    assert (alone["mean SLR"] >= 1.0).all()
    assert (alone["workflows"] == 6).all()
    seed = Cell({}, 0, 5).seed_for("workload")
    slr = [
        float(sm.static_schedule(job, CLUSTERS, "PEFT", tick_s=60.0).slr[0])
        for job in wl.market_workload(60, seed=seed)[:3]
    ]
    assert row_of(campaign.results(), rule="alone", bid="PEFT")["mean_slr"] == pytest.approx(np.mean(slr))


def test_tables_are_means_over_the_workloads(campaign: Campaign) -> None:
    results, study = campaign.results(), Market(**SMALL)
    tables = study.tables(results)
    table = results.table
    for measure, name in (("value", "mean value by load"), ("starved", "mean starved fraction by load")):
        shown = tables[name]
        assert shown[["end", "load"]].to_numpy().tolist() == [
            [end, load] for end in ("drain", "submit") for load in (0.9, 1.2, 1.4)
        ]  # fmt: skip
        for (_, row), bid in itertools.product(shown.iterrows(), SMALL["bid"]):
            cells = table.query("rule == 'plain' and end == @row.end and load == @row.load and bid == @bid")
            assert row[bid] == pytest.approx(cells[measure].mean())
    changes = tables["other rules against plain"].set_index(["rule", "bid"])
    at = {"load": 1.4, "end": "drain", "bid": "SRTF"}
    wanted = [
        row_of(results, n, **at, rule="easy")["value"] - row_of(results, n, **at, rule="plain")["value"] for n in (0, 1)
    ]
    assert changes.loc[("easy", "SRTF"), "value: change"] == pytest.approx(np.mean(wanted))
    near = tables["against an independent program"].set_index(["end", "load", "bid", "measure"])
    assert near.loc[("drain", 1.4, "PVR", "value"), "prototype"] == PROTOTYPE["drain", 1.4, "PVR", "value"] == 0.541


def test_nothing_is_judged_or_concluded_from_few_jobs(campaign: Campaign) -> None:
    results, study = campaign.results(), Market(**SMALL)
    claims = study.claims(results)
    assert len({(claim.text, claim.ours) for claim in claims}) == len(claims)
    assert {claim.number for claim in claims} == {"", *(f"M{number}" for number in range(1, 17))}
    assert all(claim.source.startswith(("section", "abstract")) for claim in claims)
    assert {(claim.verdict, claim.to_decide) for claim in claims} == {("not judged", "--scale paper")}
    assert study.findings(results) == [
        "No conclusion is drawn from fewer than 10,000 jobs: so short an overload favours other bids."
    ]
    nothing = replace(results, table=results.table.head(0), parameters={**results.parameters, "jobs": 10_000})
    assert {claim.verdict for claim in study.claims(nothing)} == {"undecided"}
    assert set(study.figures(nothing)) == {"figure 1: a value curve", "figure 2: what PVR bids"}


def test_the_report_names_the_paper_and_has_a_file_for_each_figure(campaign: Campaign) -> None:
    report = write_report(campaign)
    page = (campaign.store.folder / "report.html").read_text("utf-8")
    assert str(PAPER) in page
    assert [element.number for element in ELEMENTS] == [f"fig. {number}" for number in range(1, 8)]
    for element in ELEMENTS:
        assert len(element.among(report.files)) == 1, element.number
        assert not element.needs, "all inputs are generated"


def test_printed_numbers_stand_beside_ours_with_their_difference(campaign: Campaign) -> None:
    table = Market(**SMALL).tables(campaign.results())["printed and ours"]
    np.testing.assert_allclose(table["difference"].dropna(), (table["ours"] - table["printed"]).dropna())
    found = table.set_index(["what", "end"])["ours"]
    starved = campaign.results().level("starved", {"load": 1.4, "end": "drain", "rule": "plain", "bid": "PVR"})
    assert starved is not None
    assert found["share of jobs incomplete under PVR at load 140 %", "drain"] == starved.estimate
    assert found["cores of all clusters", ""] == 4000
    assert found["synthetic workloads", ""] == 2
    assert np.isnan(found["value at load 70 % of the best policy", "drain"]), "it was not run"


def test_every_figure_is_drawn(campaign: Campaign) -> None:
    figures = Market(**SMALL).figures(campaign.results())
    assert [name.partition(":")[0] for name in figures] == [
        *(f"figure {number}" for number in range(1, 8)), *["beyond the paper"] * 3,
    ]  # fmt: skip
    table = Market(**SMALL).tables(campaign.results())["mean value by load"]
    panels = figures["figure 3: value against load"].axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        "run until all jobs are done", "cut at the last submission",
    ]  # fmt: skip
    for axes, end in zip(panels, ("drain", "submit"), strict=True):
        lines = {line.get_label(): line for line in axes.lines}
        np.testing.assert_allclose(lines["PVR"].get_ydata(), table.loc[table["end"] == end, "PVR"])
        np.testing.assert_allclose(lines["PVR"].get_xdata(), [90.0, 120.0, 140.0])
    inks = [
        {line.get_label(): line.get_color() for line in figure.axes[0].lines if line.get_label() in SMALL["bid"]}
        for name, figure in figures.items()
        if name.startswith(tuple(f"figure {number}" for number in range(3, 8)))
    ]
    assert all(of_figure == inks[0] and list(of_figure) == SMALL["bid"] for of_figure in inks)


def test_the_scales_are_as_large_as_the_claims_need() -> None:
    study = Market()
    paper, small = study.design("paper"), study.design("small")
    assert paper.parameters["jobs"] == small.parameters["jobs"] == 10_000
    assert len(list(study.cells("paper", 0))) == 1600, "ten workloads, eight loads, ten bids, both ends"
    assert paper.factors["rule"] == ("plain",)
    assert paper.parameters["alone"] == 0
    extended = study.design("extended")
    assert extended.factors["rule"] == ("plain", *BEYOND)
    assert extended.factors["load"] == paper.factors["load"]
    assert {load for _, load, _, _ in PROTOTYPE} == set(small.factors["load"])


@pytest.mark.full
def test_two_workloads_of_full_size_come_near_the_prototype(tmp_path: Path) -> None:
    chosen = {"load": 1.1, "replications": 2, "alone": 0, "bid": ["PVR", "SRTF", "PVDSQ", "EDF", "PVD"]}
    done = run("market", out=tmp_path, scale="small", workers=1, chosen=chosen)
    near = Market(**chosen).tables(done.results())["against an independent program"]
    assert len(near) == 10
    assert (near["difference"].abs() < 0.06).all(), "0.03 for the mean of many workloads, and twice that for two"
