"""Advice: sentences that follow from simulations, on a log of one's own."""

from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.report import write_report
from experiments.campaigns.running import Campaign
from experiments.studies.advice import LOG, RESAMPLE, Advice
from experiments.studies.weights import fit_weights
from simmodels.errors import RequestError, UnknownNameError


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("advice")
    log = wl.tsafrir_estimates(wl.lublin(jobs=1500, cores=64, seed=5, load=1.0), seed=5)
    wl.write_swf(log, folder / "mine.swf.gz")
    few = ["FCFS", "SPF", "SAF", "simulating tuner, by week", "bandit tuner, by day", "weights like SPF"]
    chosen = {"workload": str(folder / "mine.swf.gz"), "policy": few, "threshold_h": [40.0, None], "weeks": 3}
    return run("advice", out=folder / "out", scale="smoke", workers=0, chosen=chosen)


def test_the_log_is_run_once_and_resamples_in_each_replication(campaign: Campaign) -> None:
    table = campaign.results().table.dropna(subset=["mean_wait_s"])
    counts = table.groupby(["trace", "policy"]).size().to_dict()
    assert counts[LOG, "SPF"] == 2
    assert counts[RESAMPLE, "SPF"] == 2 * 5
    assert counts[RESAMPLE, "simulating tuner, by week"] == 5, "at the first threshold only"
    assert counts[LOG, "weights like SPF"] == 1
    assert (LOG, "bandit tuner, by day") not in counts


def test_an_order_on_the_log_is_the_direct_simulation(campaign: Campaign) -> None:
    log = wl.clean(wl.read_swf(campaign.plan.shipment.chosen["workload"]), "strong")
    direct = sm.simulate(log, order="SPF", threshold_s=40 * sm.HOUR).metrics()
    rows = campaign.results().where(trace=LOG, policy="SPF", threshold_h=40.0)
    assert rows["mean_wait_s"].tolist() == [direct["mean_wait_s"]]
    assert rows["max_wait_s"].tolist() == [direct["max_wait_s"]]


def test_the_page_begins_with_findings_that_name_the_best_order(campaign: Campaign) -> None:
    report = write_report(campaign)
    orders = Advice(**campaign.plan.shipment.chosen).tables(campaign.results())["orders"]
    best = orders.iloc[0]
    assert best["mean wait (h)"] == orders["mean wait (h)"].min()
    assert report.findings[0].startswith("mine.swf.gz: 1,") or report.findings[0].startswith("mine: 1,")
    assert report.findings[1].startswith(f"{best['order']} ")
    assert any("multifactor priority most like" in finding for finding in report.findings)
    assert any("tuner, by week" in finding for finding in report.findings)
    assert "cannot know" in report.findings[-1]


def test_weights_like_fcfs_are_those_of_age_and_give_nearly_its_schedule() -> None:
    log = wl.lublin(jobs=1500, cores=64, seed=5, load=1.0)
    schedule = sm.simulate(log, order="FCFS")
    weights = fit_weights(schedule, "FCFS")
    assert weights.alike > 0.98
    assert weights.age == 10_000
    assert max(abs(weights.size), abs(weights.limit)) < 1_000
    assert weights.order().moving


def test_weights_like_an_order_of_size_put_nearly_all_pairs_as_it_does() -> None:
    log = wl.tsafrir_estimates(wl.lublin(jobs=1500, cores=64, seed=5, load=1.0), seed=5)
    schedule = sm.simulate(log, order="FCFS")
    for name, attribute, sign in (("SQF", "size", -1), ("LQF", "size", 1), ("SPF", "limit", -1), ("LPF", "limit", 1)):
        weights = fit_weights(schedule, name)
        assert getattr(weights, attribute) == sign * 10_000
        assert weights.alike > 0.9


def test_a_log_without_a_queue_has_no_weights() -> None:
    log = sm.Workload([1, 2], [0, 100], [10, 10], [10, 10], [1, 1], max_cores=4)
    with pytest.raises(RequestError, match="no two jobs of the log waited at the same time"):
        fit_weights(sm.simulate(log), "SPF")


def test_what_cannot_be_advised_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="--workload FILE"):
        run("advice", out=tmp_path, workers=0)
    with pytest.raises(UnknownNameError, match="unknown current order 'SPFF'; did you mean SPF"):
        run("advice", out=tmp_path, workers=0, chosen={"workload": "x.swf", "current": "SPFF"})


def test_keys_of_the_weights_are_whole_numbers_of_a_scale() -> None:
    log = wl.tsafrir_estimates(wl.lublin(jobs=800, cores=64, seed=9, load=1.0), seed=9)
    weights = fit_weights(sm.simulate(log, order="FCFS"), "SAF")
    found = np.array([weights.age, weights.size, weights.limit])
    assert np.abs(found).max() == 10_000
    assert 0.5 < weights.alike <= 1.0
