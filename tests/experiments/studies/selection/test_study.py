"""The selection study: cells that are what direct simulations are, tables computed plainly, honest claims."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.report import write_report
from experiments.campaigns.results import Results
from experiments.campaigns.running import Campaign
from experiments.campaigns.statistics import Effect
from experiments.studies.naming import log_name
from experiments.studies.selection.paper import OTHERS, TABLE_1, TABLE_2, log_of, published_of
from experiments.studies.selection.results import BASE, SelectionResults, fixed_in, make_claims
from experiments.studies.selection.settings import LOGGED, SEVEN, TUNERS, UNBOUNDED, read_log
from experiments.studies.selection.statistics import against_first, band, best_gain, clear, spread
from experiments.studies.selection.study import Selection
from workloads.resampling import How


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    out = tmp_path_factory.mktemp("selection")
    chosen = {"weeks": 3, "replications": 5, "variant": ["text", "program"]}
    return run("selection", out=out, scale="smoke", seed=2, workers=0, chosen=chosen)


@pytest.fixture(scope="module")
def results(campaign: Campaign) -> Results:
    return campaign.results()


def test_each_cell_has_a_row_a_week_and_its_sums_in_the_last(results: Results) -> None:
    resampled = results.table[~results.table["strategy"].str.endswith(LOGGED)]
    assert len(resampled) == (20 + 25) * 5 * 3  # what is beside the tables runs with the first variant only
    for _, cell in resampled.groupby(["variant", "strategy", "replication"]):
        assert cell["week"].tolist() == [0, 1, 2]
        assert cell["total_wait_s"].isna().tolist() == [True, True, False]
        assert cell["wait_s"].sum() == pytest.approx(cell["total_wait_s"].iloc[-1])


@pytest.mark.parametrize(
    ("variant", "strategy", "how", "options"),
    [
        *(("text", name, "drawn", {"threshold_s": 40 * sm.HOUR}) for name in ("FCFS", "SAF", "SEXP")),
        ("program", "SPF", "permuted", {"threshold_s": 200_000, "backfill_order": "LQF"}),
        ("text", f"SQF{UNBOUNDED}", "drawn", {}),
        ("text", f"SQF{LOGGED}", None, {"threshold_s": 40 * sm.HOUR}),
    ],
)
def test_a_fixed_order_is_the_direct_simulation_of_the_resample_or_of_the_log_itself(
    variant: str, strategy: str, how: How | None, options: dict[str, Any], results: Results
) -> None:
    log = read_log("generated", variant, None)
    trace = log.shift() if how is None else wl.resample(log, weeks=3, seed=2, index=0, how=how)
    wait_s = sm.simulate(trace, cores=128, order=strategy.split(maxsplit=1)[0], **options).start_s - trace.submit_s
    row = results.where(variant=variant, strategy=strategy, replication=0).dropna(subset=["max_wait_s"]).iloc[0]
    assert row["max_wait_s"] == wait_s.max()
    assert how is None or row["total_wait_s"] == math.fsum(wait_s)


def test_the_shares_of_a_tuner_are_those_of_its_periods(results: Results) -> None:
    shares = [f"share_{name}" for name in sm.TWELVE_ORDERS]
    tuners = results.table[results.table["strategy"].isin(TUNERS)]
    assert np.allclose(tuners[shares].sum(axis=1), 1.0)
    weekly = tuners[tuners["strategy"] == "full week"]
    assert set(np.unique(weekly[shares])) == {0.0, 1.0}
    assert results.table.loc[results.table["strategy"] == "FCFS", shares].isna().all(axis=None)


def test_a_job_counts_in_the_week_in_which_it_ends(results: Results) -> None:
    trace = wl.resample(read_log("generated", "text", None), weeks=3, seed=2, index=1)
    schedule = sm.simulate(trace, order="SAF", threshold_s=40 * sm.HOUR)
    weeks = results.where(variant="text", strategy="SAF", replication=1)
    for number in (0, 1):
        ended = schedule.end_s // sm.WEEK == number
        assert weeks["jobs"].iloc[number] == ended.sum()
        assert weeks["wait_s"].iloc[number] == pytest.approx((schedule.start_s - trace.submit_s)[ended].sum())


def test_seven_orders_run_on_the_log_itself_which_is_the_same_in_all_replications(results: Results) -> None:
    logged = results.table[results.table["strategy"].str.endswith(LOGGED)]
    assert set(logged["strategy"]) == {f"{order}{LOGGED}" for order in SEVEN}
    assert set(logged["replication"]) == {0}


def test_tables_are_what_a_plain_computation_of_equation_11_gives(results: Results) -> None:
    tables = Selection().tables(results)
    totals = results.table.dropna(subset=["total_wait_s"])
    of = {(row.variant, row.strategy, row.replication): row.total_wait_s for row in totals.itertuples(index=False)}

    def summed(*names: str, variant: str = "text") -> float:
        return math.fsum(min(of[variant, name, k] for name in names) for k in range(5))

    table = tables["table 2: fixed orders against FCFS"].set_index(["variant", "order"])["waits (%)"]
    for name in OTHERS:
        assert table["text", name] == pytest.approx(100 * (summed(name) / summed("FCFS") - 1))
    third = tables["table 3: strategies against FCFS"].set_index(["variant", "strategy", "an order a"])["waits (%)"]
    assert third["text", "noisy", "week"] == pytest.approx(100 * (summed("noisy week") / summed("FCFS") - 1))
    regrets = tables["regret against the best order of each resample"]
    regret = regrets.set_index(["variant", "strategy"])["regret (%)"]
    best = summed(*sm.TWELVE_ORDERS, variant="program")
    assert regret["program", "bandit day"] == pytest.approx(100 * (summed("bandit day", variant="program") / best - 1))


def test_claims_are_about_each_log_and_none_is_decided_without_data(results: Results) -> None:
    claims = Selection().claims(results)
    texts = [claim.text for claim in claims]
    assert len(set(texts)) == len(texts)
    assert sum("bandit improves on FCFS" in text for text in texts) == 4  # by day and week, in two variants
    assert all(claim.ours for claim in claims if "(program)" in claim.text), "the paper's text has other settings"
    unmeasured = [claim.text for claim in claims if claim.effect is None]
    # Of three weeks none is the fourteenth; and what is generated is none of the paper's logs.
    expected = (
        "quarter of a year", "differs between logs", "works very well", "remarkably inefficient",
        "not the best on all logs", "Noisy feedback divides", "nowhere divides", "decreases the mean wait",
    )  # fmt: skip
    assert all(claim.ours for claim in claims if "on generated" in claim.text)
    assert all(any(part in text for part in expected) for text in unmeasured)
    assert {claim.verdict for claim in claims} <= {"too few", "undecided"}
    nothing = Results(table=results.table.head(0), factors=results.factors)
    assert {claim.verdict for claim in Selection().claims(nothing)} == {"undecided"}


def test_effects_that_only_hold_on_some_log_cannot_fail_without_all_of_them(campaign: Campaign) -> None:
    results = campaign.results()
    twice = pd.concat([results.table.assign(replication=results.table["replication"] + 5 * k) for k in range(2)])
    claims = {claim.text: claim for claim in Selection().claims(replace(results, table=twice))}
    text = "Noisy feedback divides the mean wait by up to a factor of 2 (text)"
    assert (claims[text].effect, claims[text].note) == (None, "on 0 of the 7 logs of table 1"), "it is generated"
    one = replace(results, table=twice.assign(workload="UniLu-Gaia"),
                  factors={**results.factors, "workload": ("UniLu-Gaia",)})  # fmt: skip
    claims = {claim.text: claim for claim in Selection().claims(one)}
    assert claims[text].effect is None
    assert claims[text].note.startswith("on 1 of the 7 logs of table 1; there it is ")
    assert claims["LAF (printed: SAF) is remarkably inefficient: it is the last (text)"].effect is None
    differs = claims["Which order is best differs between logs: none is close to the best on all (text)"]
    assert differs.note == "on 1 of the 7 logs of table 1", "one log says nothing of others"
    nowhere = claims["Noisy feedback nowhere divides the mean wait by more than a factor of 2 (text)"]
    assert nowhere.effect is None, "on another log it may"
    assert nowhere.note.startswith("on 1 of the 7 logs of table 1; there it is ")
    logs = pd.concat([twice.assign(workload=name) for name in TABLE_1])
    every = replace(results, table=logs, factors={**results.factors, "workload": tuple(TABLE_1)})
    claims = {claim.text: claim for claim in Selection().claims(every)}
    for text in ("Noisy feedback divides the mean wait by up to a factor of 2", "LAF (printed: SAF) is remarkably"):
        (claim,) = [each for name, each in claims.items() if name.startswith(text) and "(text)" in name]
        assert claim.effect is not None
        assert not claim.note
    differs = claims["Which order is best differs between logs: none is close to the best on all (text)"]
    assert differs.verdict == "fails", "they are the same log seven times"
    assert differs.effect is not None
    assert differs.effect.estimate == 0.0


def test_what_is_learned_soon_is_the_cost_of_keeping_what_was_chosen() -> None:
    rows: list[dict[str, object]] = []
    for replication, first_s in enumerate((3.0, 4.0)):
        same = {"variant": "text", "workload": "a", "replication": replication}
        totals_s = dict(zip(sm.TWELVE_ORDERS, (first_s, 2.0, *[9.0] * 10), strict=True))
        rows += [{**same, "strategy": name, "week": 2, "total_wait_s": waits_s} for name, waits_s in totals_s.items()]
        for week, order in enumerate(("LPF", "FCFS", "LCFS")):
            shares = {f"share_{name}": float(name == order) for name in sm.TWELVE_ORDERS}
            total_s = 1.0 if week == 2 else None
            rows.append({**same, "strategy": "full week", "week": week, "total_wait_s": total_s, **shares})
    factors = {"variant": ("text",), "workload": ("a",), "strategy": (*sm.TWELVE_ORDERS, "full week")}
    results = Results(table=pd.DataFrame(rows), factors=factors)
    found = SelectionResults(results).chosen("a", "full week")
    assert found[1].tolist() == [0.5, 1.0], "FCFS, against the best"
    assert found[2].tolist() == [0.0, 0.0], "LCFS is the best"


def test_the_band_of_percentiles_is_measured_against_the_best_improvement() -> None:
    base = np.full((11, 1), 100.0)
    first = np.linspace(40.0, 60.0, 11)[:, np.newaxis]  # -60 % to -40 %, the percentiles 16 points apart
    second = np.linspace(95.0, 105.0, 11)[:, np.newaxis]  # on either side of FCFS, 8 points apart
    rows = np.concatenate([base, first, second], axis=1)
    assert best_gain(rows) == pytest.approx(-0.5)
    assert band(rows) == pytest.approx((0.16 + 0.08) / 2 / 0.5)
    assert clear(rows) == 0.5
    assert spread(rows) == pytest.approx(0.5)


def _of_waits(**total_wait_s: list[float]) -> SelectionResults:
    """Return the results on a log, "a", of these total waits by strategy and resample."""
    rows = [
        {"variant": "text", "workload": "a", "strategy": strategy, "replication": replication, "total_wait_s": wait_s}
        for strategy, waits_s in total_wait_s.items()
        for replication, wait_s in enumerate(waits_s)
    ]
    factors = {"variant": ("text",), "workload": ("a",), "strategy": tuple(total_wait_s)}
    return SelectionResults(Results(table=pd.DataFrame(rows), factors=factors))


def _clear(**waits: list[float]) -> Effect | None:
    (claim,) = [
        claim
        for claim in make_claims(_of_waits(**waits).results)
        if claim.text.startswith("The percentiles of most orders")
    ]
    return claim.effect


def test_percentiles_of_few_resamples_have_no_interval() -> None:
    waits = {"FCFS": [100.0] * 49, "SAF": np.linspace(40.0, 60.0, 49).tolist(), "SPF": [90.0] * 49}
    assert _clear(**waits) == Effect(1.0, None, None, 49, needed=50)
    waits["FCFS"][0] = 0.0
    assert _clear(**waits) is None, "an improvement on no wait"


def test_a_resample_in_which_nobody_waits_counts_in_equation_11() -> None:
    waits = {"FCFS": [0.0, 4.0], "SAF": [0.0, 2.0], "SPF": [1.0, 2.0]}
    found = _of_waits(**waits)
    effect = found.change("a", "SAF")
    assert effect is not None
    assert effect.estimate == -0.5
    assert fixed_in(found.totals("a")) == ["FCFS", "SPF", "SAF"]
    regret = found.regret("a", "SPF")
    assert regret is not None
    assert regret.estimate == pytest.approx(0.5)
    none = _of_waits(**waits | {"FCFS": [0.0, 0.0]})
    assert none.change("a", "SAF") is None
    assert against_first(none.totals("a")[[BASE, "SAF", "SPF"]].to_numpy()).tolist() == [np.inf, np.inf]


def test_other_settings_than_those_of_the_text_are_ours() -> None:
    def is_ours(variant: str = "text", **chosen: object) -> bool:
        given = Results(table=pd.DataFrame(), factors={}, parameters={**Selection.parameters, **chosen})
        return SelectionResults(given, variant).ours

    assert not is_ours()
    assert is_ours("program")
    assert not is_ours(noise=0.15, threshold_h=40)
    for name, value in (("noise", 0.2), ("threshold_h", 0), ("epsilon", 0.1), ("decay", 0.5), ("weeks", 52)):
        assert is_ours(**{name: value})


def test_what_a_figure_shows_of_one_log_is_the_papers_on_that_only() -> None:
    factors = {"variant": ("text",), "workload": ("KTH-SP2", "UniLu-Gaia", "mine"), "strategy": ("FCFS",)}
    claims = make_claims(Results(table=pd.DataFrame(columns=list(factors)), factors=factors))
    ours = {claim.text: claim.ours for claim in claims}
    for text, shown in (
        ("The percentiles of each order lie on one side of FCFS on {} (text)", "UniLu-Gaia"),
        ("The mean wait varies a lot from week to week under each of seven orders on {} (text)", "KTH-SP2"),
    ):
        assert [log for log in factors["workload"] if not ours[text.format(log)]] == [shown]
    gains = "Another order than FCFS gains considerably on {} (text)"
    assert [ours[gains.format(log)] for log in factors["workload"]] == [False, False, True]


def test_what_runs_beside_the_tables_runs_with_the_texts_variant() -> None:
    for variants, beside in ((["program", "text"], "text"), (["program"], "program")):
        chosen = {"weeks": 2, "replications": 1, "variant": variants, "strategy": ["FCFS", "decaying day"]}
        plan = Plan.of("selection", "smoke", 0, chosen)
        assert [cell["variant"] for cell in plan.cells if cell["strategy"] == "decaying day"] == [beside]


def test_the_findings_say_which_logs_of_the_paper_were_not_run(results: Results) -> None:
    first, *others = Selection().findings(results)
    assert first.startswith("Not run, of the paper's seven logs: KTH-SP2, CTC-SP2, SDSC-SP2,")
    assert "--workload KTH-SP2-1996-2.1-cln.swf.gz," in first
    assert others[0].startswith("generated (text): the best order is ")


def test_each_figure_and_table_of_the_paper_has_a_file(tmp_path: Path) -> None:
    logs = []
    for name in ("KTH-SP2", "UniLu-Gaia"):  # stand-ins, small ones
        log = wl.lublin(jobs=3_000, cores=32, seed=len(name), load=1.1)
        wl.write_swf(log, tmp_path / f"{name}.swf")
        logs.append(str(tmp_path / f"{name}.swf"))
    chosen = {"weeks": 2, "replications": 2, "workload": logs, "cores": 32}
    campaign = run("selection", out=tmp_path / "out", scale="smoke", workers=0, chosen=chosen)
    files = write_report(campaign).files
    for element in Selection.elements:
        assert element.among(files), f"{element.number} has no file like {element.file}"
    assert Selection.paper is not None
    numbers = pd.read_csv(tmp_path / "out" / "tables" / "numbers-in-the-text.csv")
    assert numbers["printed"].tolist() == [2.0, 0.4, 0.5, 12_600, 25_200]
    simulations, years = numbers["ours"].tolist()[-2:]
    assert simulations == 2 * 2 * (12 + 3 * 2), "two logs, two resamples; random choice is not counted"
    assert years == simulations * 2 / 52
    assert numbers["difference"].tolist() == pytest.approx((numbers["ours"] - numbers["printed"]).tolist())


def test_the_logs_of_the_paper_have_the_machines_of_table_1(tmp_path: Path) -> None:
    wl.write_swf(wl.lublin(jobs=300, cores=64, seed=1), tmp_path / "CTC-SP2.swf")
    assert read_log(str(tmp_path / "CTC-SP2.swf"), "text", None).max_cores == TABLE_1["CTC-SP2"].cores
    assert read_log(str(tmp_path / "CTC-SP2.swf"), "text", 64).max_cores == 64


def test_the_published_rows_are_found_by_the_names_of_logs() -> None:
    assert log_name("/x/KTH-SP2-1996-2.1-cln.swf.gz") == "KTH-SP2-1996-2.1"
    assert log_name("CTC-SP2-1996-3.1-cln.SWF") == "CTC-SP2-1996-3.1"
    assert log_name("lublin_256.swf.xz") == "lublin_256"
    assert published_of("/x/CEA-Curie-2011-2.1-cln.swf.gz") == TABLE_2["CEA-Curie"]
    assert log_of("UniLu-Gaia.swf.gz") == "UniLu-Gaia"
    assert published_of("mine.swf") is None
    assert all(len(row) == len(OTHERS) for row in TABLE_2.values())


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
    agreement = tables["agreement with the printed table 2"].set_index("measure")["value"]
    assert agreement["correlation"] > 0.9
    assert agreement["rank correlation"] > 0.75
    assert agreement["equal signs"] > 0.9
    assert isinstance(tables["table 2: fixed orders against FCFS"], pd.DataFrame)


def test_what_is_chosen_goes_before_what_the_variant_has(tmp_path: Path) -> None:
    few = {"weeks": 2, "replications": 1, "variant": "program", "strategy": ["FCFS", "noisy week"]}
    waits = {}
    for threshold_h, noise in ((None, None), (1e6, None), (None, 1.0)):
        out = tmp_path / f"{threshold_h}-{noise}"
        chosen = few | {"threshold_h": threshold_h, "noise": noise}
        table = run("selection", out=out, scale="smoke", workers=0, chosen=chosen).results().table
        waits[threshold_h, noise] = table.dropna(subset=["total_wait_s"])["total_wait_s"].tolist()
    assert waits[None, None][0] == waits[None, 1.0][0] != waits[1e6, None][0]


def test_where_nobody_waits_there_are_tables_without_effects(results: Results) -> None:
    waits = results.table.filter(regex="wait_s$")
    idle = replace(results, table=results.table.assign(**{name: 0.0 * waits[name] for name in waits}))
    assert Selection().tables(idle)["table 2: fixed orders against FCFS"].empty
    nobody = _of_waits(**dict.fromkeys(("FCFS", "SPF", "full week"), [0.0] * 5))
    assert {claim.verdict for claim in make_claims(nobody.results)} == {"undecided"}


def test_the_spread_of_orders_is_none_without_fcfs_to_divide_it_by() -> None:
    claims = make_claims(_of_waits(SPF=[3.0] * 5, SAF=[2.0] * 5).results)
    assert [claim.effect for claim in claims if claim.text.startswith("Orders differ")] == [None]
