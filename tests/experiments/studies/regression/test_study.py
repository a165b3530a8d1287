"""The regression study: fits and windows that are what direct calls give, tables computed plainly, honest claims."""

from dataclasses import replace
from pathlib import Path

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
from experiments.studies.regression.paper import BLUE, COEFFICIENTS, CTC, MAE, SYNTHETIC, set_of
from experiments.studies.regression.results import RegressionResults
from experiments.studies.regression.settings import (
    CONVERGENCE,
    DRAW,
    FIT,
    GIVEN,
    METHODS,
    ONLINE,
    all_training_sets,
    label_of,
    printed_order,
    read_scores,
    training_sets,
)
from experiments.studies.regression.study import Regression
from simmodels.errors import RequestError
from simmodels.ground.streams import entropy
from simmodels.policies.orders import BUILT_IN
from simmodels.policies.polynomial import FORMS, Polynomial

SMALL = {
    "pairs": 8, "pairs_of_logs": 8, "trials": 4_096, "uniform_trials": 2_048, "draws": 2, "jobs": 1_500,
    "window_days": 2.0, "order": ["FCFS", "SPT", "SAF", "WFP3", "UNICEF", "F2", "LIN", "QDR"],
}  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return run("regression", out=tmp_path_factory.mktemp("regression"), scale="smoke", workers=0, chosen=SMALL)


@pytest.fixture(scope="module")
def results(campaign: Campaign) -> Results:
    return campaign.results()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the names of small logs that are named as those of the paper, and of scores."""
    folder = tmp_path_factory.mktemp("logs")
    found = {}
    for name in ("CTC-SP2-stand-in", "SDSC-BLUE-stand-in", "other"):
        wl.write_swf(log(name), folder / f"{name}.swf")
        found[name] = str(folder / f"{name}.swf")
    scores = sm.score_jobs(sm.draw_pairs(log("train"), 4), 1_024)
    scores[["p", "q", "r", "score"]].to_csv(folder / "published_ctc_sp2.csv", header=False, index=False)
    return found | {"scores": str(folder / "published_ctc_sp2.csv")}


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
    rows = results.where(part=ONLINE, order="LIN", mode="estimates", queue_depth=None)
    of_scores = rows.groupby(rows["scores"].fillna("printed"))["mean_bounded_slowdown"]
    for what, plain in {
        "median": of_scores.median(),
        "interquartile range of": of_scores.quantile(0.75) - of_scores.quantile(0.25),
    }.items():
        found = tables[f"figures 3 to 5, {what} AVGbsld over the windows"].set_index(["workload", "order"])
        for name, value in plain.items():
            assert found.loc[("generated", f"LIN, {name}"), "estimates, all waiting jobs"] == pytest.approx(value)
    assert len(tables["coefficients"]) == 2 * (4 + 8)
    survival = tables["which claims survive"]
    assert {method.name for method in METHODS} <= set(survival.columns)
    assert survival["claim"].is_unique
    write_report(campaign)


def test_what_the_paper_prints_stands_beside_ours(results: Results) -> None:
    tables = Regression(**SMALL).tables(results)
    beside = tables["table 3: coefficients and VIF, generated"]
    row = beside[(beside["form"] == "QDR") & (beside["term"] == "q") & (beside["scores"] == "swap-any")].iloc[0]
    ours = results.where(part=FIT, scores="swap-any", order="QDR", term="q").iloc[0]
    assert (row["theta printed"], row["theta ours"]) == (-3.05e-5, ours["theta"])
    assert row["difference"] == ours["theta"] + 3.05e-5
    assert (row["VIF printed"], row["VIF ours"]) == (9.6, ours["vif_paper"])
    errors = tables["table 2: mean absolute errors"].set_index(["form", "scores"])
    assert errors.loc[("LIN", "uniform"), "printed"] == 4.5e-3
    assert errors.loc[("LIN", "uniform"), "printed (HAL version)"] == 4.48e-3
    text = tables["numbers in the text"].set_index("what")
    assert text.loc["scores of generated", ["printed", "ours"]].tolist() == [14_081, 8 * 32]


def test_the_printed_tables_are_those_of_the_built_in_orders_and_of_the_authors_scores(shared: Path) -> None:
    for form in FORMS:
        built_in = BUILT_IN[form]
        assert isinstance(built_in, Polynomial)
        for theta, term in zip(built_in.theta, COEFFICIENTS[SYNTHETIC][form].values(), strict=True):
            assert theta == pytest.approx(term.theta, rel=5e-3)
    path = shared / "oracles" / "regression" / "scores" / "published_ctc_sp2.csv.gz"
    table = read_scores(str(path))
    assert table["pair"].nunique() == 117
    for form in ("LIN", "QDR", "CUB"):
        fit = sm.fit_polynomial(table, form)
        for theta, term in zip(fit.theta, COEFFICIENTS[CTC][form].values(), strict=True):
            assert theta == pytest.approx(term.theta, rel=5e-3)
        assert round(fit.mae, 4) == pytest.approx(MAE[CTC][form], abs=1.001e-4)
        for term, factor in fit.vif().items():  # printed to one digit, some of them cut off and not rounded
            assert factor == pytest.approx(COEFFICIENTS[CTC][form][term].vif, abs=0.1)


def test_the_printed_forms_of_a_log_are_those_of_its_table() -> None:
    order = printed_order("QDR", "logs/SDSC-BLUE-2000-4.2-cln.swf.gz")
    assert isinstance(order, Polynomial)
    assert list(order.theta) == [term.theta for term in COEFFICIENTS[BLUE]["QDR"].values()]
    assert printed_order("QDR", "generated") is BUILT_IN["QDR"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("generated", SYNTHETIC),
        ("a/lublin_256.swf.gz", SYNTHETIC),
        ("b/CTC-SP2-1996-3.1-cln.swf.gz", CTC),
        ("published_ctc_sp2.csv.gz", CTC),
        ("SDSC-BLUE-2000.swf", BLUE),
        ("SDSC-SP2-1998.swf", None),
    ],
)
def test_files_are_known_as_the_papers_training_sets_by_their_names(name: str, known: str | None) -> None:
    assert set_of(name) == known


def test_each_workload_learns_from_itself_and_from_the_generated_set() -> None:
    values = {"train": ("generated", "own"), "workload": ("generated", "a.swf", "b.swf")}
    assert training_sets("generated", values) == ("generated",)
    assert training_sets("a.swf", values) == ("generated", "a.swf")
    assert all_training_sets(values) == ("generated", "a.swf", "b.swf")
    assert all_training_sets({**values, "train": ("own",)}) == ("generated", "a.swf", "b.swf")


def test_every_element_of_the_paper_has_its_file(files: dict[str, str], tmp_path: Path) -> None:
    logs = [files["CTC-SP2-stand-in"], files["SDSC-BLUE-stand-in"]]
    chosen = {**SMALL, "workload": ["generated", *logs], "train": ["generated", "own", files["scores"]],
              "scores": [None, "swap-any"], "queue_depth": 32, "order": ["FCFS", "LIN"]}  # fmt: skip
    campaign = run("regression", out=tmp_path / "out", scale="smoke", workers=0, chosen=chosen)
    report = write_report(campaign)
    for element in Regression.elements:
        assert element.among(report.files), element
        assert element.number in {"fig. 1", "fig. 2", "fig. 3", "fig. 4", "fig. 5"} or element.number[:5] == "table"
    results = campaign.results()
    assert set(results.where(part=ONLINE, order="LIN", workload=logs[0])["train"]) == {
        "generated", logs[0], files["scores"],
    }  # fmt: skip
    assert set(results.where(part=FIT, train=files["scores"])["scores"]) == {GIVEN}
    tables = Regression(**chosen).tables(results)
    ways = set(tables["table 4: coefficients and VIF, CTC-SP2"]["scores"])
    assert ways == {"swap-any of CTC-SP2-stand-in", "scores of published_ctc_sp2"}
    (held_out,) = [text for text in Regression().findings(results) if "not held out" in text]
    assert "CTC-SP2-stand-in, SDSC-BLUE-stand-in" in held_out


def test_without_the_papers_logs_a_report_says_which_to_pass(results: Results) -> None:
    (found,) = Regression().findings(results)
    assert "also need CTC-SP2 and SDSC-BLUE" in found
    assert "--workload generated,CTC-SP2-1996-3.1-cln.swf.gz" in found


# -- claims -----------------------------------------------------------------------------------------


def test_claims_are_decided_by_data_only(results: Results) -> None:
    claims, nothing = (
        Regression(**SMALL).claims(replace(results, table=table)) for table in (results.table, results.table.head(0))
    )
    assert len({claim.text for claim in claims}) == len(claims) == len(nothing)
    assert {claim.verdict for claim in claims} <= {"holds", "fails", "undecided", "too few", "not judged"}
    assert {claim.verdict for claim in nothing} == {"undecided"}
    assert all(claim.ours for claim in claims if "(corrected method" in claim.text)
    paper = [claim for claim in claims if not claim.ours]
    assert all("with estimates" not in claim.text for claim in paper if claim.number == "claim 2")


def test_inflation_is_judged_over_draws_of_pairs(results: Results) -> None:
    draws = results.where(part=DRAW, form="LIN")
    assert draws["replication"].tolist() == [0, 1]
    assert draws["vif_paper"].nunique() == 2
    (claim,) = [claim for claim in Regression(**SMALL).claims(results) if "factor of LIN is below 5" in claim.text]
    assert claim.effect is not None
    assert claim.effect.estimate == pytest.approx(np.log10(draws["vif_paper"]).median())
    assert claim.verdict == "too few"


def test_the_windows_of_a_method_are_of_its_scores_depth_and_training_set(results: Results) -> None:
    found = RegressionResults(results).by(METHODS[3])
    rows = results.where(part=ONLINE, mode="estimates", queue_depth=32, scores="swap-any", order="QDR")
    ours = found.value("mean_bounded_slowdown", "QDR", "generated", mode="estimates")
    assert ours.tolist() == rows.sort_values("replication")["mean_bounded_slowdown"].tolist()
    assert found.value("mean_bounded_slowdown", "QUA", "generated", mode="estimates").empty
    assert found.levels("train", "generated") == ("generated",)


def test_labels_distinguish_printed_coefficients_from_learned_ones() -> None:
    assert (label_of("SAF", None), label_of("LIN", np.nan)) == ("SAF", "LIN, printed")
    assert label_of("QUA", "uniform", "generated") == "QUA, uniform"
    assert label_of("QUA", "uniform", "logs/KTH-SP2-1996-2.1-cln.swf.gz") == "QUA, uniform, KTH-SP2-1996-2.1"


def test_scores_of_a_file_have_four_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,3\n", "utf-8")
    with pytest.raises(RequestError, match="columns; give the four columns p, q, r and score"):
        read_scores(str(tmp_path / "a.csv"))
    with pytest.raises(RequestError, match=r"b\.csv: no scores can be read"):
        read_scores(str(tmp_path / "b.csv"))


def test_a_workload_of_ones_own_can_be_learned_from_and_run(files: dict[str, str], tmp_path: Path) -> None:
    path = files["other"]
    chosen = {**SMALL, "train": path, "workload": path, "order": ["FCFS", "LIN"], "mode": "estimates", "part": ONLINE}
    table = run("regression", out=tmp_path, scale="smoke", workers=0, chosen=chosen).results().table
    assert set(table["workload"]) == {path}
    assert pd.notna(table["mean_bounded_slowdown"]).all()


def test_another_seed_draws_other_pairs_and_workloads() -> None:
    plans = [Plan.of("regression", "smoke", seed, SMALL) for seed in (0, 0, 7)]
    one, same, other = (plan.shipment.inputs for plan in plans)
    assert one == same
    assert all(one[name] != other[name] for name in one)
