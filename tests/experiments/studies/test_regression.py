"""The regression study: fits and windows that are what direct calls give, tables computed plainly, honest claims."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.plan import Plan
from experiments.campaigns.report import write_report
from experiments.campaigns.results import Results
from experiments.campaigns.running import Campaign
from experiments.studies.regression import Regression
from experiments.studies.regression_results import (
    CONVERGENCE,
    FIT,
    METHODS,
    ONLINE,
    PLAIN,
    _rank_of_last,
    label_of,
)
from simmodels.errors import RequestError
from simmodels.policies.polynomial import FORMS
from simmodels.streams import entropy

SMALL = {
    "pairs": 8, "trials": 4_096, "uniform_trials": 2_048, "jobs": 1_500, "window_days": 2.0,
    "order": ["FCFS", "SPT", "SAF", "WFP3", "UNICEF", "F2", "LIN", "QDR"],
}  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return run("regression", out=tmp_path_factory.mktemp("regression"), scale="smoke", workers=0, chosen=SMALL)


@pytest.fixture(scope="module")
def results(campaign: Campaign) -> Results:
    return campaign.results()


def log(what: str) -> sm.Workload:
    seed = entropy(0, "regression", what)
    return wl.tsafrir_estimates(wl.lublin(jobs=1_500, cores=256, seed=seed), seed=seed)


def test_the_fits_are_those_of_the_scores_of_the_drawn_pairs(results: Results) -> None:
    pairs = sm.draw_pairs(log("train"), 8)
    for scores, table in {
        "uniform": sm.score_jobs(pairs, 2_048),
        "swap-any": sm.score_jobs(pairs, 4_096, estimator="published", shuffle="swap-any"),
    }.items():
        fit = sm.fit_polynomial(table, "LIN")
        rows = results.where(part=FIT, scores=scores, order="LIN")
        assert rows["term"].tolist() == list(fit.terms)
        assert rows["theta"].tolist() == list(fit.theta)
        assert rows["vif_paper"].tolist()[1:] == list(fit.vif().values())
        assert rows["mae"].unique().tolist() == [fit.mae]


def test_a_window_online_is_the_direct_simulation_of_its_jobs(results: Results) -> None:
    jobs = log("online")
    begin_s = jobs.submit_s[jobs.submit_s >= jobs.submit_s[0] + 2 * sm.DAY][0]
    window = jobs.between(begin_s, begin_s + 2 * sm.DAY)
    actual = sm.Workload(
        window.job_id, window.submit_s - window.submit_s[0], window.runtime_s, window.runtime_s, window.cores
    )
    direct = sm.simulate(actual, cores=256, order="SAF", backfilling="none", warm_jobs=16, queue_depth=32)
    rows = results.where(part=ONLINE, order="SAF", mode="actual", queue_depth=32, replication=1)
    assert rows["mean_bounded_slowdown"].tolist() == [direct.metrics()["mean_bounded_slowdown"]]
    fit = sm.fit_polynomial(sm.score_jobs(sm.draw_pairs(log("train"), 8), 2_048), "QDR")
    direct = sm.simulate(window.shift(), cores=256, order=fit.order, backfilling="easy", warm_jobs=16)
    rows = results.where(part=ONLINE, order="QDR", scores="uniform", mode="backfilling", queue_depth=None)
    found = rows.loc[rows["replication"] == 1, "mean_bounded_slowdown"].tolist()
    assert found == [direct.metrics()["mean_bounded_slowdown"]]


def test_only_orders_that_are_learned_are_run_with_scores(results: Results) -> None:
    online = results.where(part=ONLINE)
    assert set(online.loc[online["scores"].notna(), "order"]) == {"LIN", "QDR"}
    assert set(online.loc[online["scores"].isna(), "order"]) == set(SMALL["order"])  # type: ignore[arg-type]
    counts = online.groupby(["mode", "queue_depth"], dropna=False).size()
    assert len(set(counts)) == 1
    assert len(counts) == 3 * 2


def test_scores_converge_as_their_standard_errors_say(results: Results) -> None:
    rows = results.where(part=CONVERGENCE)
    for _, of in rows.groupby("scores"):
        assert of["trials"].tolist() == [1_024, 2_048, 4_096]
        quotient = of["normalised_std"] / of["normalised_se"]
        assert quotient.between(0.85, 1.15).all(), "over 8 repeats of 128 scores"
        assert of["normalised_se"].iloc[-1] == pytest.approx(of["normalised_se"].iloc[0] / 2, rel=0.1)


def test_tables_are_what_a_plain_computation_gives(campaign: Campaign, results: Results) -> None:
    tables = Regression(**SMALL).tables(results)
    table = tables["median AVGbsld over the windows"].set_index(["workload", "order"])
    rows = results.where(part=ONLINE, order="LIN", mode="estimates", queue_depth=None)
    plain = rows.groupby(rows["scores"].fillna("printed"))["mean_bounded_slowdown"].median()
    for name, value in plain.items():
        assert table.loc[("generated", f"LIN, {name}"), "estimates, all waiting jobs"] == value
    assert len(tables["coefficients"]) == 2 * (4 + 8)
    survival = tables["which claims survive"]
    assert set(METHODS) <= set(survival.columns)
    assert "claim 3" not in set(survival["source"]), "it does not depend on the method"
    assert survival["claim"].is_unique
    write_report(campaign)


def test_claims_are_decided_by_data_only(results: Results) -> None:
    study = Regression(**SMALL)
    claims = list(study.claims(results))
    by_text = {claim.text: claim for claim in claims}
    assert len(by_text) == len(claims)
    vif = by_text["The largest variance inflation factor of LIN is below 5"]
    assert vif.effect is not None
    assert vif.effect.estimate == results.where(part=FIT, scores="uniform", order="LIN")["vif_paper"].max()
    assert by_text["CUB is worse than LIN, with estimates on generated (published)"].verdict == "undecided"
    nothing = Results(table=results.table.head(0), factors=results.factors)
    assert {claim.verdict for claim in study.claims(nothing)} == {"undecided"}
    assert len(list(study.claims(nothing))) == len(claims)


def test_the_effect_of_a_claim_is_of_its_method_alone(results: Results) -> None:
    claim = next(c for c in Regression(**SMALL).claims(results) if c.text.startswith("QDR is worse than LIN, with")
                 and "(published)" in c.text)  # fmt: skip
    rows = results.where(part=ONLINE, mode="estimates", queue_depth=32, scores="swap-any")
    wide = rows.pivot_table(index="replication", columns="order", values="mean_bounded_slowdown")
    assert claim.effect is not None
    assert claim.effect.estimate == np.median(np.log10(wide["QDR"] / wide["LIN"]))


def test_the_rank_of_a_median_counts_those_that_are_smaller() -> None:
    values = np.array([[1.0, 5.0, 2.0], [1.0, 1.0, 2.0], [9.0, 7.0, 2.0]])
    assert _rank_of_last(values) == 2  # medians 1, 5, 2
    assert _rank_of_last(values[:, ::-1]) == 1
    assert _rank_of_last(np.stack([values, values[:, ::-1]])).tolist() == [2.0, 1.0]


def test_labels_tell_printed_coefficients_from_learned_ones() -> None:
    assert [label_of("SAF", None), label_of("LIN", np.nan), label_of("QUA", "uniform")] == [
        "SAF", "LIN, printed", "QUA, uniform",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"scores": "none"}, "scores is 'none'"),
        ({"mode": "est"}, "mode is 'est'"),
        ({"order": "LINN"}, "unknown order 'LINN'"),
        ({"pairs": 0}, "pairs is 0"),
        ({"trials": 1.5}, "trials is 1.5"),
        ({"window_days": 0}, "window_days is 0"),
        ({"window_days": 900.0}, "no window of 900 days"),
        ({"cores": 0}, "cores is 0"),
        ({"queue_depth": 0}, "queue_depth is 0"),
        ({"queue_depth": "x"}, "queue_depth is 'x'"),
        ({"warm_jobs": True}, "warm_jobs is True"),
        ({"workload": None}, "workload is none"),
        ({"initial_state": "began"}, "unknown initial state 'began'"),
    ],
)
def test_settings_that_are_not_allowed_are_refused_before_anything_is_run(chosen: dict[str, object], told: str) -> None:
    with pytest.raises((RequestError, sm.UnknownNameError), match=told):
        Plan.of("regression", "smoke", 0, {**SMALL, **chosen})


def test_a_workload_of_ones_own_can_be_learned_from_and_run(tmp_path: Path) -> None:
    wl.write_swf(log("mine"), tmp_path / "mine.swf")
    path = str(tmp_path / "mine.swf")
    chosen = {**SMALL, "train": path, "workload": path, "order": ["FCFS", "LIN"], "mode": "estimates", "part": ONLINE}
    results = run("regression", out=tmp_path / "out", scale="smoke", workers=0, chosen=chosen).results()
    assert set(results.table["workload"]) == {path}
    assert pd.notna(results.table["mean_bounded_slowdown"]).all()


def test_the_orders_of_the_paper_are_all_there() -> None:
    assert set(Regression.factors["order"]) == {*PLAIN, *FORMS}


def test_another_seed_draws_other_pairs_and_workloads() -> None:
    plans = [Plan.of("regression", "smoke", seed, SMALL) for seed in (0, 0, 7)]
    one, same, other = (plan.shipment.inputs for plan in plans)
    assert one == same
    assert all(one[name] != other[name] for name in one)


def test_a_claim_that_fails_tells_its_cause() -> None:
    windows = np.geomspace(1.0, 2.0, 10)
    rows = [
        {"part": ONLINE, "scores": "uniform" if order in FORMS else None, "order": order, "workload": "mine",
         "mode": "estimates", "queue_depth": None, "replication": number,
         "mean_bounded_slowdown": value * (1.0 if order == "FCFS" else 0.1)}
        for order in ("FCFS", "LIN", "QDR") for number, value in enumerate(windows)
    ]  # fmt: skip
    factors = {**dict.fromkeys(Regression.factors, (None,)), "workload": ("mine",)}
    claims = list(Regression().claims(Results(table=pd.DataFrame(rows), factors=factors)))
    (failed,) = [claim for claim in claims if claim.verdict == "fails" and "QDR is no better than FCFS" in claim.text]
    assert "FCFS without backfilling is so bad" in failed.note
    assert all(not claim.note for claim in claims if claim.verdict == "undecided")


def test_windows_that_were_learned_from_are_told(results: Results) -> None:
    assert Regression().findings(results) == ()
    same = dataclasses.replace(results, parameters={**results.parameters, "train": "a/log.swf"},
                               factors={**results.factors, "workload": ("a/log.swf",)})  # fmt: skip
    (found,) = Regression().findings(same)
    assert found.startswith("Orders were learned from log")
