"""Advice: sentences that follow from simulations, on a log of one's own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.report import write_report
from experiments.campaigns.running import Campaign
from experiments.studies.advice import Advice
from experiments.studies.advice_told import LOG, RESAMPLE, _settled, options_of
from experiments.studies.advice_verdict import judge, sentences_of
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
    assert counts[LOG, "weights like SPF"] == 1, "at the last threshold only"
    assert table.loc[table["policy"] == "weights like SPF", "threshold_h"].isna().all()
    assert (LOG, "bandit tuner, by day") not in counts


def test_an_order_on_the_log_is_the_direct_simulation(campaign: Campaign) -> None:
    log = wl.clean(wl.read_swf(campaign.plan.shipment.chosen["workload"]), "strong")
    direct = sm.simulate(log, order="SPF", threshold_s=40 * sm.HOUR).metrics()
    rows = campaign.results().where(trace=LOG, policy="SPF", threshold_h=40.0)
    assert rows["mean_wait_s"].tolist() == [direct["mean_wait_s"]]
    assert rows["max_wait_s"].tolist() == [direct["max_wait_s"]]


def test_the_page_begins_with_the_verdict_in_ten_lines_at_most(campaign: Campaign) -> None:
    report = write_report(campaign)
    study, results = Advice(**campaign.plan.shipment.chosen), campaign.results()
    options, now = options_of(results)
    assert now is not None
    assert (now.order, now.threshold_h) == ("FCFS", None)
    assert len(options) == 3 * 2
    verdict = judge(options, now, None)
    assert list(report.findings[: len(list(sentences_of(verdict)))]) == list(sentences_of(verdict))
    if verdict.then is not None:
        then = verdict.then.threshold_h
        log = wl.clean(wl.read_swf(campaign.plan.shipment.chosen["workload"]), "strong")
        direct = sm.simulate(log, order=verdict.then.order, threshold_s=None if then is None else then * sm.HOUR)
        assert verdict.then.p99_h == pytest.approx(np.percentile(direct.start_s - log.submit_s, 99) / sm.HOUR)
    assert len(report.findings) <= 10
    assert any(finding.startswith("mine: 1,") for finding in report.findings)
    assert {"orders", "tuners", "weights of a multifactor priority"} <= set(study.tables(results))
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


def advised(folder: Path, log: sm.Workload, **chosen: object) -> tuple[Campaign, list[str]]:
    wl.write_swf(log, folder / "log.swf")
    few = {"policy": ["FCFS", "SPF"], "threshold_h": [40.0, None], "workload": str(folder / "log.swf"), "weeks": 2}
    found = run("advice", out=folder / "out", scale="smoke", workers=0, chosen=few | chosen)
    return found, list(write_report(found).findings)


def some(jobs: int, weeks: float, runtime_s: float, cores: int = 8) -> sm.Workload:
    submit_s = np.linspace(0.0, weeks * sm.WEEK, jobs)
    runtimes_s = runtime_s * (1.0 + np.arange(jobs) % 3)
    return sm.Workload(np.arange(jobs), submit_s, runtimes_s, 2 * runtimes_s, np.full(jobs, 5), max_cores=cores)


def test_a_log_without_a_whole_week_gets_a_page_that_says_that_it_cannot_know(tmp_path: Path) -> None:
    campaign, findings = advised(tmp_path, some(200, 0.4, 3000.0))
    assert set(campaign.results().table["trace"]) == {LOG}
    assert any("2.8 days" in text for text in findings)
    assert any("the log has no whole week" in text for text in findings)


def test_a_machine_on_which_nobody_waits_gets_a_page_that_says_so(tmp_path: Path) -> None:
    campaign, findings = advised(tmp_path, some(200, 3.0, 60.0))
    assert not campaign.failed
    assert findings[0].startswith("The order hardly matters here"), "nothing is better than nothing"


def test_a_log_of_more_work_than_the_machine_can_do_is_told(tmp_path: Path) -> None:
    _, findings = advised(tmp_path, some(400, 3.0, 40_000.0))
    assert any("more work than the machine can do" in text for text in findings)
    fine = tmp_path / "fine"
    fine.mkdir()
    assert not any("more work" in text for text in advised(fine, some(400, 3.0, 1_000.0))[1])


def test_jobs_that_are_left_out_are_told_with_their_reason(tmp_path: Path) -> None:
    log = some(200, 3.0, 3000.0)
    cores = np.where(np.arange(200) % 4 == 0, 9, 5)
    _, findings = advised(tmp_path, replace(log, cores=cores), cores=8)
    (said,) = [text for text in findings if text.startswith("Of the file")]
    assert "dropped: allocated or requested cores exceed the machine: 50" in said
    assert "That is much" in said


def test_a_log_without_limits_is_told(tmp_path: Path) -> None:
    log = some(200, 3.0, 3000.0)
    none = replace(log, estimate_s=log.runtime_s, extras={"requested_s": np.full(200, -1.0)})
    _, findings = advised(tmp_path, none)
    assert any(text.endswith("without any limits: the log has none.") for text in findings)
    assert any("100 % of the jobs have no limit" in text for text in findings)


def test_a_job_held_for_months_does_not_thin_out_the_resamples(tmp_path: Path) -> None:
    log = some(300, 3.0, 3000.0)
    held = replace(log, submit_s=np.concatenate([[0.0], log.submit_s[1:] + 300 * sm.DAY]))
    _, findings = advised(tmp_path, held)
    assert any("299 jobs in 3 weeks" in text for text in findings)
    assert any("in a week at an end of the log with hardly a job: 1" in text for text in findings)


@pytest.mark.parametrize("weeks", [0, -1, 1.5])
def test_a_number_of_weeks_that_is_none_is_refused(tmp_path: Path, weeks: float) -> None:
    with pytest.raises(RequestError, match="weeks is"):
        advised(tmp_path, some(50, 2.0, 100.0), weeks=weeks)


def test_a_tuner_has_settled_where_most_of_what_is_left_is_good_and_much_is_left() -> None:
    settled = [
        _settled(np.array([bool(int(c)) for c in text])) for text in ("0111", "1101", "0001", "0000", "11110000")
    ]
    assert settled[0] == 2
    assert settled[1:3] == [1 + 3, 4]
    assert np.isnan(settled[3])
    assert np.isnan(settled[4])
    assert np.isnan(_settled(np.array([False] * 39 + [True])))


def test_the_log_as_it_was_stands_beside_its_replay(tmp_path: Path) -> None:
    log = wl.tsafrir_estimates(wl.lublin(jobs=600, cores=64, seed=5, load=1.0), seed=5)
    lived = sm.simulate(log, order="SPF", threshold_s=160 * sm.HOUR)
    wl.write_swf(lived, tmp_path / "lived.swf")
    again = wl.read_swf(tmp_path / "lived.swf")
    campaign, findings = advised(tmp_path, again, cores=64)
    assert any(
        text.startswith("The log's own mean wait is ") and "under FCFS without a threshold" in text for text in findings
    )
    table = Advice(**campaign.plan.shipment.chosen).tables(campaign.results())["as logged, and replayed"]
    assert table[""].tolist() == ["as logged", "replayed, FCFS without a threshold"]
    logged = sm.as_logged(wl.clean(again, ["strong", "ends"])).metrics()
    assert table["mean wait (h)"].iloc[0] == pytest.approx(logged["mean_wait_s"] / sm.HOUR)
    assert "Waits, as logged and replayed" in Advice(**campaign.plan.shipment.chosen).figures(campaign.results())
