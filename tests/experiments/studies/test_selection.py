"""The selection study: cells that are what direct simulations are, tables computed plainly, honest claims."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.plan import Plan
from experiments.campaigns.results import Results
from experiments.campaigns.running import Campaign
from experiments.studies.selection import Selection, _read
from experiments.studies.selection_results import OTHERS, PUBLISHED, TUNERS, name_of, published_of
from simmodels.errors import RequestError


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    out = tmp_path_factory.mktemp("selection")
    chosen = {"weeks": 3, "replications": 5, "variant": ["text", "program"]}
    return run("selection", out=out, scale="smoke", seed=2, workers=0, chosen=chosen)


@pytest.fixture(scope="module")
def results(campaign: Campaign) -> Results:
    return campaign.results()


def test_each_cell_has_a_row_a_week_and_its_sums_in_the_last(results: Results) -> None:
    assert len(results.table) == 2 * 20 * 5 * 3
    for _, cell in results.table.groupby(["variant", "strategy", "replication"]):
        assert cell["week"].tolist() == [0, 1, 2]
        assert cell["total_wait_s"].isna().tolist() == [True, True, False]
        assert cell["wait_s"].sum() == pytest.approx(cell["total_wait_s"].iloc[-1])


def test_a_fixed_order_is_the_direct_simulation_of_the_resample(results: Results) -> None:
    log = _read("generated", "text", None)
    trace = wl.resample(log, weeks=3, seed=2, index=1)
    for name in ("FCFS", "SAF", "SEXP"):
        schedule = sm.simulate(trace, order=name, threshold_s=40 * sm.HOUR)
        found = results.where(variant="text", strategy=name, replication=1)["total_wait_s"].dropna().iloc[0]
        assert found == math.fsum(schedule.start_s - trace.submit_s)


def test_the_program_variant_backfills_the_widest_first_on_permuted_weeks(results: Results) -> None:
    log = _read("generated", "program", None)
    trace = wl.resample(log, weeks=3, seed=2, index=0, how="permuted")
    schedule = sm.simulate(trace, order="SPF", backfill_order="LQF", threshold_s=200_000)
    found = results.where(variant="program", strategy="SPF", replication=0)["total_wait_s"].dropna().iloc[0]
    assert found == math.fsum(schedule.start_s - trace.submit_s)


def test_the_shares_of_a_tuner_are_those_of_its_periods(results: Results) -> None:
    shares = [f"share_{name}" for name in sm.TWELVE_ORDERS]
    tuners = results.table[results.table["strategy"].isin(TUNERS)]
    assert np.allclose(tuners[shares].sum(axis=1), 1.0)
    weekly = tuners[tuners["strategy"] == "full week"]
    assert set(np.unique(weekly[shares])) == {0.0, 1.0}
    assert results.table.loc[results.table["strategy"] == "FCFS", shares].isna().all(axis=None)


def test_tables_are_what_a_plain_computation_gives(results: Results) -> None:
    tables = Selection().tables(results)
    totals = results.table.dropna(subset=["total_wait_s"])
    of = {(row.variant, row.strategy, row.replication): row.total_wait_s for row in totals.itertuples(index=False)}
    table = tables["table 2: fixed orders against FCFS"].set_index(["variant", "strategy"])["waits (%)"]
    for name in OTHERS:
        plain = [of["text", name, k] / of["text", "FCFS", k] - 1 for k in range(5)]
        assert table["text", name] == pytest.approx(100 * np.mean(plain))
    regrets = tables["regret against the best fixed order"].set_index(["variant", "strategy"])["waits (%)"]
    best = [min(of["program", name, k] for name in sm.TWELVE_ORDERS) for k in range(5)]
    plain = [of["program", "bandit day", k] / best[k] - 1 for k in range(5)]
    assert regrets["program", "bandit day"] == pytest.approx(100 * np.mean(plain))


def test_claims_are_about_each_log_and_none_is_decided_without_data(campaign: Campaign, results: Results) -> None:
    claims = Selection().claims(results)
    texts = [claim.text for claim in claims]
    assert len(set(texts)) == len(texts)
    assert sum("bandit improves on FCFS" in text for text in texts) == 4  # by day and week, in two variants
    assert all(claim.effect is not None for claim in claims[:-1])
    assert claims[-1].verdict == "undecided", "one log says nothing of others"
    nothing = Results(table=results.table.head(0), factors=results.factors)
    assert {claim.verdict for claim in Selection().claims(nothing)} == {"undecided"}
    figures = Selection().figures(results)
    assert len(figures) == 2 * 6
    assert campaign.complete


def test_the_published_rows_are_found_by_the_names_of_logs() -> None:
    assert name_of("/x/KTH-SP2-1996-2.1-cln.swf.gz") == "KTH-SP2-1996-2"
    assert published_of("/x/CEA-Curie-2011-2.1-cln.swf.gz") == PUBLISHED["CEA-Curie"]
    assert published_of("mine.swf") is None
    assert all(len(row) == len(OTHERS) for row in PUBLISHED.values())


def test_a_cell_depends_on_its_own_log_only(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log = wl.lublin(jobs=800, cores=32, seed=ord(name))
        wl.write_swf(log, tmp_path / f"{name}.swf")
    chosen = {"workload": [str(tmp_path / "a.swf"), str(tmp_path / "b.swf")], "strategy": "FCFS"}
    before = Plan.of("selection", "smoke", 0, chosen)
    wl.write_swf(wl.lublin(jobs=801, cores=32, seed=3), tmp_path / "b.swf")
    after = Plan.of("selection", "smoke", 0, chosen)
    changed = {
        cell["workload"] for cell, old, new in zip(after.cells, before.keys, after.keys, strict=True) if old != new
    }
    assert changed == {str(tmp_path / "b.swf")}


@pytest.mark.full
def test_on_a_real_log_our_table_2_is_much_like_the_published_one(shared: Path, tmp_path: Path) -> None:
    chosen = {"workload": str(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"), "strategy": ["FCFS", *OTHERS]}
    done = run("selection", out=tmp_path, scale="small", workers=2, chosen=chosen)
    tables = Selection(**chosen).tables(done.results())
    agreement = tables["agreement with the published table 2"].set_index("measure")["median"]
    assert agreement["correlation"] > 0.9
    assert agreement["rank correlation"] > 0.75
    assert agreement["equal signs"] > 0.9
    assert isinstance(tables["table 2: fixed orders against FCFS"], pd.DataFrame)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"variant": "prog"}, "unknown variant 'prog'; did you mean program"),
        ({"strategy": ["FCFS", "full"]}, "unknown strategy 'full'"),
        ({"cores": "abc"}, "cores is 'abc'"),
        ({"cores": 0}, "cores is 0"),
        ({"weeks": 1.5}, "weeks is 1.5"),
        ({"weeks": 0}, "weeks is 0"),
        ({"threshold_h": -4}, "threshold_h is -4"),
        ({"noise": "much"}, "noise is 'much'"),
        ({"noise": 2}, "noise is 2"),
        ({"epsilon": None}, "epsilon is None"),
        ({"decay": 0.0}, "decay is 0.0"),
    ],
)
def test_settings_that_are_not_allowed_are_refused_before_anything_is_run(chosen: dict[str, object], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        Plan.of("selection", "smoke", 0, chosen)


def test_what_is_chosen_goes_before_what_the_variant_has(tmp_path: Path) -> None:
    few = {"weeks": 2, "replications": 1, "variant": "program", "strategy": ["FCFS", "noisy week"]}
    waits = {}
    for threshold_h, noise in ((None, None), (1e6, None), (None, 1.0)):
        out = tmp_path / f"{threshold_h}-{noise}"
        chosen = few | {"threshold_h": threshold_h, "noise": noise}
        table = run("selection", out=out, scale="smoke", workers=0, chosen=chosen).results().table
        waits[threshold_h, noise] = table.dropna(subset=["total_wait_s"])["total_wait_s"].tolist()
    assert waits[None, None][0] == waits[None, 1.0][0] != waits[1e6, None][0]


def test_other_bandits_and_decays_can_be_run(tmp_path: Path) -> None:
    chosen = {"weeks": 3, "replications": 1, "strategy": ["FCFS", "ucb1 day", "exp3 day", "full day", "bandit day"]}
    plain = run("selection", out=tmp_path / "plain", scale="smoke", workers=0, chosen=chosen)
    fading = run("selection", out=tmp_path / "fading", scale="smoke", workers=0, chosen=chosen | {"decay": 0.5})
    assert not plain.failed
    assert not fading.failed
    table = Selection(**chosen).tables(plain.results())["table 3: strategies against FCFS"]
    assert table["strategy"].tolist() == chosen["strategy"][1:]


def test_where_nobody_waits_there_is_a_report_without_effects(tmp_path: Path) -> None:
    submit_s = np.linspace(0.0, 4 * sm.WEEK, 200)
    idle = sm.Workload(np.arange(200), submit_s, np.ones(200), np.ones(200), np.ones(200), max_cores=4)
    wl.write_swf(idle, tmp_path / "idle.swf")
    chosen = {
        "weeks": 2,
        "replications": 5,
        "workload": str(tmp_path / "idle.swf"),
        "strategy": ["FCFS", "SPF", "full week"],
    }
    results = run("selection", out=tmp_path / "out", scale="smoke", workers=0, chosen=chosen).results()
    study = Selection(**chosen)
    assert study.tables(results)["table 2: fixed orders against FCFS"].empty
    assert {claim.verdict for claim in study.claims(results)} == {"undecided"}


def test_the_spread_of_orders_is_none_without_fcfs_to_divide_it_by(tmp_path: Path) -> None:
    chosen = {"weeks": 2, "replications": 5, "strategy": ["SPF", "SAF"]}
    results = run("selection", out=tmp_path, scale="smoke", workers=0, chosen=chosen).results()
    (claim,) = [claim for claim in Selection(**chosen).claims(results) if claim.text.startswith("Orders differ")]
    assert claim.effect is None
