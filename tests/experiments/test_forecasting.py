"""Forecasts: exact where nothing is uncertain, reproducible, and right as often as they say."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.report import write_report
from experiments.cli.forecast import _Asked, _new
from experiments.cli.main import app
from experiments.forecasting import Futures
from experiments.inputs import named_priority
from simmodels.policies.queue_options import QueueOptions

LOG = wl.tsafrir_estimates(wl.lublin(jobs=3000, cores=64, seed=5, load=1.0), seed=5)


def futures_of(log: sm.Workload, **options: object) -> Futures:
    return Futures(log, cores=64, options=QueueOptions.checked(**options))


@pytest.mark.parametrize("options", [{"backfilling": "none"}, {"backfilling": "conservative"}, {"overrun": "kill"}])
def test_without_uncertainty_the_forecast_is_the_simulated_start(options: dict[str, object]) -> None:
    """All run as long as their limits, so that futures differ by arrivals only, which come behind the job.

    Under EASY backfilling jobs that come later may delay all but the first that waits, which is asked about there.
    """
    log = replace(LOG.head(1200), runtime_s=LOG.head(1200).estimate_s).scale_load(0.35)
    truth = sm.simulate(log, **options)  # type: ignore[arg-type]
    futures = futures_of(log, **options)
    asked = 0
    for row in range(600, 1200, 40):
        present = futures.go_to(float(log.submit_s[row]))
        waiting = np.flatnonzero(np.isnan(present.snapshot.start_s))
        for place in waiting[:1] if "overrun" in options else waiting[:4]:
            job = int(present.snapshot.jobs.job_id[place])
            starts_s = present.forecast(job, futures=3).starts_s
            assert (starts_s == truth.start_s[np.flatnonzero(log.job_id == job)[0]]).all()
            assert present.by_limits(job) == starts_s[0]
            asked += 1
    assert asked >= 5


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": "SAF"},
        {"backfilling": "none"},
        {"backfilling": "conservative"},
        {"decide": "event"},
        {"overrun": "kill", "order": "SPF", "threshold_s": 20.0},
    ],
)
def test_a_new_job_is_decided_at_the_instant_as_if_it_were_the_last_row_of_the_log(options: dict[str, object]) -> None:
    """Times are small whole numbers, so that many ends and submissions, and the end of the new job, are at one time."""
    draws = np.random.default_rng(7)
    at_once = 0
    for _ in range(40):
        submit_s, runtime_s = np.sort(draws.integers(0, 80, 30)).astype(float), draws.integers(1, 6, 30).astype(float)
        log = sm.Workload(np.arange(30), submit_s, runtime_s, runtime_s, draws.integers(1, 5, 30))
        at_s = float(draws.choice(submit_s))
        width, limit_s = int(draws.integers(1, 5)), float(draws.integers(1, 6))
        one = sm.Workload([30], [at_s], [limit_s], [limit_s], [width])
        truth = sm.simulate(sm.Workload.concat([log.take(submit_s <= at_s), one]), cores=4, **options)  # type: ignore[arg-type]
        futures = Futures(log, cores=4, options=QueueOptions.checked(**options))
        for _again in range(2):
            found = futures.go_to(at_s).forecast_new(width, limit_s, futures=2)
            assert found.starts_s.tolist() == [truth.start_s[-1]] * 2
        at_once += found.waits_s(0.5)[0] == 0.0
    assert 2 <= at_once <= 35


def test_a_new_job_that_ends_at_the_shadow_time_starts_at_once(tmp_path: Path) -> None:
    (tmp_path / "fc.csv").write_text(
        "submit_s,runtime_s,estimate_s,cores,user_id\n0,2700,2700,3,1\n1,1000,1000,4,2\n5000,10,10,1,3\n"
    )
    words = ["forecast", "--workload", str(tmp_path / "fc.csv"), "--cores", "4", "--past", "5", "--futures", "20"]
    done = CliRunner().invoke(app, [*words, "--at", "2100", "--new", "1,600s", "--json"])
    assert set(json.loads(done.stdout)["waits_h"].values()) == {0.0}


def test_jobs_of_the_log_that_are_submitted_with_a_new_job_keep_their_drawn_numbers() -> None:
    log = sm.Workload(np.arange(7), [0.0] + [5.0] * 6, [10.0] * 7, [10.0] * 7, [4] * 7)
    order = sm.Order("by chance", lambda draw: draw)
    present = Futures(log, cores=4, options=QueueOptions.checked(order=order, backfilling="none")).go_to(5.0)
    forks = [present._fork_with(log.take(np.array([1])), np.full(7, 10.0), log.head(0), index) for index in range(2)]
    own = present.snapshot.fork().draws
    assert [fork.draws[:7].tolist() for fork in forks] == [own.tolist()] * 2
    assert forks[0].draws[7] != forks[1].draws[7]


def test_a_forecast_is_the_same_each_time_and_knows_nothing_of_later() -> None:
    row = 2000
    at_s = float(LOG.submit_s[row])
    job = int(LOG.job_id[row])
    truth = sm.simulate(LOG)
    later = (truth.end_s > at_s) | (np.arange(len(LOG)) > row)
    other = replace(
        LOG,
        runtime_s=np.where(later, np.maximum(at_s - truth.start_s, 0) + 1000.0, LOG.runtime_s),
        submit_s=np.where(np.arange(len(LOG)) > row, LOG.submit_s + 50.0, LOG.submit_s),
    )
    found = [futures_of(log).go_to(at_s).forecast(job, futures=50).starts_s for log in (LOG, LOG, other)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert len(set(found[0].tolist())) > 5


@pytest.mark.parametrize("alone_s", [0.0, 3600.0])
def test_workers_change_nothing(alone_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.forecasting._ALONE_S", alone_s)
    present = futures_of(LOG, order="SAF").go_to(float(LOG.submit_s[2000]))
    job = int(LOG.job_id[2000])
    alone, shared = (present.forecast(job, futures=120, workers=workers).starts_s for workers in (1, 2))
    np.testing.assert_array_equal(alone, shared)
    assert len(alone) == 120
    one, two = (present.forecast_new(4, 600.0, futures=60, workers=workers).starts_s for workers in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_worker_that_is_killed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.forecasting._ALONE_S", 0.0)
    monkeypatch.setattr("experiments.forecasting._in_worker", _killed)
    present = futures_of(LOG).go_to(float(LOG.submit_s[2000]))
    with pytest.raises(sm.StoppedError, match=r"a worker of the forecast died: it was ended by SIGKILL \(out of"):
        present.forecast(int(LOG.job_id[2000]), futures=120, workers=2)


def _killed(*_: object) -> None:
    signal.raise_signal(signal.SIGKILL)


def test_an_order_that_cannot_be_sent_to_workers_is_used_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("experiments.forecasting._ALONE_S", 0.0)
    monkeypatch.setattr("experiments.forecasting.Processes", None)
    (tmp_path / "mine.py").write_text("def mine(submit):\n    return submit\n")
    present = futures_of(LOG, order=named_priority(f"{tmp_path}/mine.py:mine")).go_to(float(LOG.submit_s[2000]))
    assert len(present.forecast(int(LOG.job_id[2000]), futures=120, workers=2).starts_s) == 120


def test_a_new_job_starts_no_later_with_less_of_a_limit_where_it_can_be_filled_in() -> None:
    """Under an order by limits, half the limit is never worse: the same futures, a job nearer to the head."""
    present = futures_of(LOG, order="SPF").go_to(float(LOG.submit_s[2000]))
    long, short = (present.forecast_new(16, limit_s, futures=60).starts_s for limit_s in (8 * sm.HOUR, 600.0))
    assert np.median(short) < np.median(long)
    assert (long >= present.at_s).all()


def test_jobs_that_cannot_be_asked_about_are_refused() -> None:
    present = futures_of(LOG).go_to(float(LOG.submit_s[2000]))
    runs = int(present.snapshot.jobs.job_id[~np.isnan(present.snapshot.start_s)][0])
    for job, message in (
        (runs, f"job {runs} has run since [0-9.]+ d"),
        (1, "job 1 has ended before [0-9.]+ d"),
        (2900, "job 2900 is submitted at"),
        (99_999, "the log has no job 99999"),
    ):
        with pytest.raises(sm.RequestError, match=message):
            present.forecast(job)


def test_the_command_says_when_and_how_sure(tmp_path: Path) -> None:
    wl.write_swf(LOG, tmp_path / "log.swf")
    log = wl.read_swf(tmp_path / "log.swf")
    at_s = float(log.submit_s[2000])
    words = ["forecast", "-w", str(tmp_path / "log.swf"), "--cores", "64", "--futures", "40", "--past", "30"]
    job = str(log.job_id[2000])
    done = CliRunner().invoke(app, [*words, "--at", f"{at_s}", "--job", job, "--order", "SAF", "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    waits_h = list(answer["waits_h"].values())
    assert waits_h == sorted(waits_h)
    present = futures_of(log, order="SAF").go_to(at_s)
    direct, levels = present.forecast(int(job), futures=40), present.past_forecasts(30).levels(at_s)
    assert (answer["corrected"], answer["past_forecasts"]) == (True, 30)
    found = direct.waits_s(*levels.of(0.05, 0.25, 0.5, 0.75, 0.95)) / sm.HOUR
    assert waits_h == pytest.approx(found.tolist())
    assert answer["by_limits_h"] >= 0
    asked = [*words, "--at", f"{at_s}", "--job", job, "--order", "SAF", "--past", "0", "--json"]
    answer = json.loads(CliRunner().invoke(app, asked).stdout)
    assert not answer["corrected"]
    assert answer["waits_h"]["50 %"] == pytest.approx(np.median(direct.starts_s - at_s) / sm.HOUR)
    done = CliRunner().invoke(app, [*words, "--at", f"{at_s / sm.DAY}d", "--new", "16,4h"])
    assert "A new job, of 16 cores with a limit of 4 h, starts in" in " ".join(done.stdout.split())
    assert "40 futures, corrected by 30 forecasts of the past. In half of such cases" in " ".join(done.stdout.split())
    assert "With a limit of 2 h it would start" in " ".join(done.stdout.split())


@pytest.mark.parametrize("column", ["user", "queue"])
def test_a_new_job_obeys_the_limits_of_its_user_and_queue(column: str, tmp_path: Path) -> None:
    halves = LOG.job_id % 2
    wl.write_swf(replace(LOG, user_id=halves, extras={"queue": halves.astype(float)}), tmp_path / "log.swf")
    (tmp_path / "limits.csv").write_text(f"by,value,submitted\n{column},1,2\n")
    words = ["forecast", "-w", str(tmp_path / "log.swf"), "--cores", "64", "--futures", "9", "--past", "0", "--json"]
    asked = [*words, "--limits", str(tmp_path / "limits.csv"), "--at", "5d", "--new"]
    waits_h = [
        json.loads(CliRunner().invoke(app, [*asked, f"1,1h,{column}={value}"]).stdout)["waits_h"]["50 %"]
        for value in (0, 1)
    ]
    assert waits_h[0] < waits_h[1]
    refused = CliRunner().invoke(app, [*asked, "1,1h,account=1"])
    said = {"user": "the account of a new job has no effect", "queue": "names queue, which the new job has not"}
    assert said[column] in " ".join(refused.stderr.split())


def test_a_new_job_is_of_an_account_by_its_name() -> None:
    log = replace(LOG, extras={"account": LOG.job_id % 2, "account_name": np.array(["red", "blue"])[LOG.job_id % 2]})
    assert _new("16, 4h, account=blue, user=7", 64, log) == _Asked(
        "a new job", 16, 4 * sm.HOUR, {"account": 1, "user": 7}
    )
    with pytest.raises(sm.RequestError, match=r"parts of --new name account 'green', and no job is of it; .*'blue'"):
        _new("16,4h,account=green", 64, log)
    with pytest.raises(sm.RequestError, match=r"parts of --new name account '1.5', and no job is of it"):
        _new("16,4h,account=1.5", 64, log)
    with pytest.raises(sm.RequestError, match="the jobs have no names by queue: give numbers"):
        _new("16,4h,queue=inf", 64, log)


def test_forecasts_of_the_past_are_those_that_were_made_then_and_know_no_more() -> None:
    at_s = float(LOG.submit_s[2000])
    past = futures_of(LOG).go_to(at_s).past_forecasts(25)
    before = LOG.take(LOG.submit_s < at_s)
    same = futures_of(before).go_to(at_s).past_forecasts(25)
    assert past.levels(at_s).drawn.tolist() == same.levels(at_s).drawn.tolist()
    shared = futures_of(LOG).go_to(at_s).past_forecasts(25, workers=2)
    assert past.levels(at_s).share.tolist() == shared.levels(at_s).share.tolist()


def test_the_first_jobs_of_a_log_correct_nothing() -> None:
    present = futures_of(LOG).go_to(float(LOG.submit_s[40]))
    levels = present.past_forecasts(100).levels(present.at_s)
    assert levels.count == 0
    assert levels.started < 19


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at", "5d", "--new", "65,1h"], "with 1 to 64 cores"),
        (
            ["--at", "5d", "--new", "16"],
            "--new must be CORES,LIMIT[,COLUMN=VALUE], such as 16,4h, with 1 to 64 cores (got",
        ),
        (["--at", "5d", "--new", "16,0h"], "--new must be CORES,LIMIT with a limit > 0 (got '16,0h')"),
        (["--at", "5d", "--new", "16,1h,user=3"], "the user of a new job has no effect: no order or limit names it"),
        (["--at", "17281010", "--new", "16,1h"], "--at 200 d is not within log"),
        (["--at", "5d", "--new", "16,soon"], "the limit of --new must be a number of seconds, or one with a unit"),
        (["--at", "500d", "--new", "16,1h"], "--at 500 d is not within log; choose a time from 2.18 min to 17 d"),
        (["--at", "2026-11-24T12:00", "--new", "16,1h"], "does not say when it began"),
        (["--at", "5d", "--new", "16,1h", "--futures", "0"], "--futures must be an integer from 1 to 100000 (got 0)"),
        (["--at", "5d", "--new", "16,1h", "--past", "-1"], "--past must be an integer from 0 to 100000 (got -1)"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_a_line(words: list[str], message: str, tmp_path: Path) -> None:
    wl.write_swf(LOG, tmp_path / "log.swf")
    done = CliRunner().invoke(app, ["forecast", "-w", str(tmp_path / "log.swf"), "--cores", "64", *words])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_the_study_says_how_often_starts_are_within_intervals(tmp_path: Path) -> None:
    """The levels of starts among futures are even where futures and truth are of one kind; here they nearly are."""
    wl.write_swf(LOG, tmp_path / "log.swf")
    chosen = {"workload": str(tmp_path / "log.swf"), "cores": 64, "clean": "", "jobs": 12, "futures": 40}
    campaign = run("forecasts", out=tmp_path / "out", scale="smoke", workers=0, chosen=chosen)
    table = campaign.results().table
    assert len(table) == 24
    assert set(table["within_90"]) <= {0.0, 1.0}
    assert ((table["level"] >= 0) & (table["level"] <= 1)).all()
    truth = sm.simulate(wl.read_swf(tmp_path / "log.swf"), cores=64)
    wait_s = dict(zip(truth.workload.job_id.tolist(), truth.start_s - truth.workload.submit_s, strict=True))
    for row in table.itertuples():
        assert row.wait_h == wait_s[row.job] / sm.HOUR
        assert row.error_h == pytest.approx(abs(row.median_h - row.wait_h))
    report = write_report(campaign)
    assert "tables/how-forecasts-did.csv" in report.files
    assert len(report.claims) == 2
    assert {claim.verdict for claim in report.claims} == {"not judged"}


def test_a_job_that_is_left_out_is_refused_as_such() -> None:
    log = replace(LOG, runtime_s=np.where(LOG.job_id == 1500, -1.0, LOG.runtime_s))
    present = futures_of(log).go_to(float(log.submit_s[2000]))
    with pytest.raises(sm.RequestError, match="cores or runtime of job 1500 are unknown"):
        present.forecast(1500)


def test_a_job_without_a_limit_does_not_say_how_long_it_will_run() -> None:
    """Readers take the runtimes for limits where no job has one; here all have the longest runtime."""
    read = replace(LOG, estimate_s=LOG.runtime_s, extras={"requested_s": np.full(len(LOG), -1.0)})
    shown = futures_of(read).go_to(float(LOG.submit_s[2000])).snapshot.jobs
    assert (shown.estimate_s == LOG.runtime_s.max()).all()


def test_an_order_that_names_the_runtime_is_refused_and_one_of_another_column_goes() -> None:
    with pytest.raises(sm.RequestError, match="clairvoyant names the runtime, which no forecast knows"):
        futures_of(LOG, order=sm.Order("clairvoyant", lambda runtime: runtime))
    log = replace(LOG, extras={"worth": LOG.job_id % 5, "other": LOG.job_id})
    order = sm.Order("by worth", lambda worth, submit: submit - 3600.0 * worth)
    present = futures_of(log, order=order).go_to(float(log.submit_s[2000]))
    assert set(present.snapshot.jobs.extras) == {"worth"}
    assert (present.forecast(int(log.job_id[2000]), futures=5).starts_s >= present.at_s).all()
    with pytest.raises(sm.RequestError, match="the order or a limit names worth, which the new job has not"):
        present.forecast_new(1, 60.0)
    worthless, worth = (present.forecast_new(9, 60.0, columns={"worth": each}, futures=9) for each in (0, 400))
    assert np.median(worth.starts_s) < np.median(worthless.starts_s)


def test_instants_rise() -> None:
    futures = futures_of(LOG)
    futures.go_to(float(LOG.submit_s[2000]))
    with pytest.raises(sm.RequestError, match=r"at_s must be at least .*, the last instant,"):
        futures.go_to(float(LOG.submit_s[1000]))
