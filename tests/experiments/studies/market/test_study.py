"""The market study: cells that are what direct simulations are, tables computed plainly, honest claims."""

import itertools
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
from simmodels.errors import RequestError, UnknownNameError

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
    found = results.where(**values)
    found = found[found["replication"] == replication]
    assert len(found) == 1
    return found.iloc[0]


def test_a_cell_is_what_a_direct_simulation_is(campaign: Campaign) -> None:
    results = campaign.results()
    assert not campaign.failed
    for replication, load, end, bid in ((0, 0.9, "drain", "PVR"), (1, 1.4, "submit", "SRTF")):
        seed = Cell({}, replication, 5).seed_for("workload")
        jobs = wl.market_workload(60, load=load, seed=seed)
        schedule = sm.simulate_workflows(jobs, clusters=CLUSTERS, bid=bid, end=end, tick_s=60.0)
        row = row_of(results, replication, load=load, end=end, bid=bid, rule="plain")
        wanted = schedule.metrics()
        assert {name: row[name] for name in wanted if name != "makespan_s"} == pytest.approx(
            {name: value for name, value in wanted.items() if name != "makespan_s"}, abs=0
        )
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


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_runs_and_changes_what_it_says(rule: str) -> None:
    study = Market()
    of = dict(study.design("smoke").parameters) | {"jobs": 60}
    cell = Cell({"load": 1.4, "end": "drain", "rule": rule, "bid": "PVD"}, 0, 1, of)
    row = study.run_cell(cell)
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
    assert {claim.verdict for claim in claims} == {"not judged"}
    assert {claim.to_decide for claim in claims} == {"--scale paper"}
    assert study.findings(results) == [
        "No conclusion is drawn from fewer than 10,000 jobs: so short an overload favours other bids."
    ]
    nothing = Results(
        table=results.table.head(0), factors=results.factors, parameters={**results.parameters, "jobs": 10_000}
    )
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


def test_both_engines_give_the_same_rows() -> None:
    few = "2x128:Kind1,1x128:Kind2"  # so that jobs wait and starve
    chosen = {"jobs": 50, "clusters": few, "alone": 2, "replications": 1, "end": ["drain", "submit"]}
    on_simpy, compiled = (Market(**chosen, engine=engine) for engine in ("simpy", "compiled"))
    cells = zip(on_simpy.cells("smoke", 3), compiled.cells("smoke", 3), strict=True)
    starved = []
    for first, second in cells:
        assert first.factors == second.factors
        row = on_simpy.run_cell(first)
        assert isinstance(row, dict)
        pd.testing.assert_series_equal(pd.Series(row), pd.Series(compiled.run_cell(second)))
        starved.append(row.get("starved_deadline", 0))
    assert len(starved) == 2 * 2 * 10 + 10 + 13, "loads and ends, another rule, workflows alone"
    assert np.count_nonzero(starved) > 20


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


# -- settings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        ({"load": [0.9, 0]}, r"load must be a finite number > 0 \(got 0\)"),
        ({"load": "high"}, r"load must be a finite number > 0 \(got 'high'\)"),
        ({"jobs": 0}, r"jobs must be an integer from 1 to 2\*\*53 \(got 0\)"),
        ({"jobs": 2.5}, r"jobs must be an integer from 1 to 2\*\*53 \(got 2.5\)"),
        ({"alone": -1}, r"alone must be an integer from 0 to 2\*\*53 \(got -1\)"),
        ({"ccr": "much"}, r"ccr must be a finite number \(got 'much'\)"),
        ({"ccr": -1}, "ccr"),
        ({"admission": 2}, r"admission must be a number from 0 to 1, or None \(got 2\)"),
        ({"engine": "wooden"}, "unknown engine 'wooden'"),
        ({"clusters": "4"}, "clusters must be able to run a task of 128 cores of Kind1"),
        ({"clusters": "1x64:Kind1,1x128:Kind2"}, "clusters must be able to run a task of 128 cores of Kind1"),
        ({"clusters": "many"}, "clusters must be HOW-MANYxCORES:KIND, such as 3x1000:Kind1 \\(got 'many'\\)"),
        ({"bid": ["SRTF", "srtf"]}, "bid 'SRTF' is given twice"),
    ],
)
def test_settings_out_of_range_are_refused_before_anything_runs(
    chosen: dict[str, object], text: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError, match=text):
        run("market", out=tmp_path / "out", scale="smoke", chosen=chosen)


@pytest.mark.parametrize(("name", "value"), [("end", "never"), ("rule", "esay"), ("bid", "PVQ")])
def test_unknown_names_are_refused_and_near_ones_offered(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown {name} '{value}'"):
        run("market", out=tmp_path / "out", scale="smoke", chosen={name: value})


def test_clusters_come_from_a_command_line_in_parts() -> None:
    chosen = {"clusters": ["2x500:Kind1", "1x200:Kind2"], "jobs": 10, "load": 1.0, "replications": 1, "alone": 0}
    study = Market(**chosen)
    assert study.design("smoke").parameters["clusters"] == "2x500:Kind1,1x200:Kind2"
    assert len(list(study.cells("smoke", 0))) == 2 * 10 + 10  # two ends, and another rule


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
