"""Learning from a log: what is held out is later, and what is reported follows from direct calls."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import simmodels as sm
import workloads as wl
from experiments.cli.learn import AGAINST
from experiments.cli.main import app
from experiments.fitting import fit
from experiments.inputs import named_priority
from experiments.learning import LearningSettings, parse_form
from experiments.option import FITTED
from experiments.studies.windows import windows
from simmodels.policies.queue_options import QueueOptions
from tests.experiments.test_fitting import made_under

FEW = LearningSettings(pairs=6, trials=1_024, window_days=1.0, backfilling="none")


@pytest.fixture(scope="module")
def log() -> sm.Workload:
    return wl.tsafrir_estimates(wl.lublin(jobs=1_200, cores=128, seed=4, load=0.9), seed=4)


def test_what_is_learned_from_comes_before_what_is_held_out(log: sm.Workload) -> None:
    jobs, held_out = FEW.parts(log)
    first = log.submit_s.min()
    split_s = jobs.submit_s.max()
    assert {*jobs.job_id.tolist()}.isdisjoint({number for window in held_out for number in window.job_id.tolist()})
    assert min(log.submit_s[np.isin(log.job_id, window.job_id)].min() for window in held_out) > split_s
    whole = int((log.submit_s.max() - first) // sm.DAY)
    assert first + round(0.5 * whole) * sm.DAY == pytest.approx(split_s, abs=sm.DAY)


def test_the_log_as_it_was_comes_first(log: sm.Workload, tmp_path: Path) -> None:
    wl.write_swf(sm.simulate(log, order="SAF"), tmp_path / "lived.swf")
    words = ["learn", "-w", str(tmp_path / "lived.swf"), "--pairs", "6", "--trials", "640", "--window-days", "1"]
    out = ["--out", str(tmp_path / "fit.toml")]
    _, held_out = FEW.parts(wl.read_swf(tmp_path / "lived.swf"))
    logged = [
        replace(sm.as_logged(window), counted=np.arange(len(window)) >= 16).metrics()["mean_bounded_slowdown"]
        for window in held_out
    ]
    assert FEW.logged(held_out).tolist() == logged
    assert json.loads(CliRunner().invoke(app, [*words, *out, "--json"]).stdout)["as_logged"] == {
        "median": np.median(logged)
    }
    rows = [line.split() for line in CliRunner().invoke(app, [*words, *out]).stdout.splitlines() if line.split()]
    names = [row[0] for row in rows if row[0] in {"as", "fit-LIN", "FCFS"} and len(row) < 8]
    assert names == ["as", "fit-LIN", "FCFS"]


def test_a_command_says_what_direct_calls_give(log: sm.Workload, tmp_path: Path) -> None:
    wl.write_swf(log, tmp_path / "log.swf")
    out = tmp_path / "fit.toml"
    done = CliRunner().invoke(
        app,
        ["learn", "-w", str(tmp_path / "log.swf"), "--pairs", "6", "--trials", "1024", "--window-days", "1",
         "--backfilling", "none", "--out", str(out), "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    reported = json.loads(done.stdout)
    log = wl.read_swf(tmp_path / "log.swf")
    jobs, held_out = FEW.parts(log)
    fit = sm.fit_polynomial(sm.score_jobs(sm.draw_pairs(jobs, 6), 1_024), "LIN")
    assert sm.Fit.read(out).theta == fit.theta
    for name in AGAINST:
        slowdowns = [
            sm.simulate(window, order=name, backfilling="none", warm_jobs=16).metrics()["mean_bounded_slowdown"]
            for window in held_out
        ]
        assert reported["orders"][name]["median"] == np.median(slowdowns)
    assert (
        reported["windows"]
        == len(held_out)
        == len(list(windows(log.between(jobs.submit_s.max() + 1, 1e12), sm.DAY, more_than=16)))
    )
    assert "fit-LIN is" in reported["findings"][-1]
    again = CliRunner().invoke(app, ["simulate", "-w", str(tmp_path / "log.swf"), "--order", str(out), "--json"])
    assert again.exit_code == 0, again.output


def test_a_log_without_limits_is_learned_from_with_a_doubt(log: sm.Workload, tmp_path: Path) -> None:
    wl.write_swf(
        replace(log, estimate_s=log.runtime_s, extras={"requested_s": np.full(len(log), -1.0)}), tmp_path / "log.swf"
    )
    words = [
        "learn",
        "-w",
        str(tmp_path / "log.swf"),
        "--pairs",
        "6",
        "--trials",
        "640",
        "--window-days",
        "1",
        "--json",
    ]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "fit.toml")])
    assert json.loads(done.stdout)["findings"][-1].startswith("100 % of the jobs have no limit; their runtimes, which")


def test_monomials_of_ones_own_are_fitted(log: sm.Workload, tmp_path: Path) -> None:
    wl.write_swf(log, tmp_path / "log.swf")
    out = tmp_path / "fit.json"
    done = CliRunner().invoke(
        app,
        ["learn", "-w", str(tmp_path / "log.swf"), "--form", "1, p, pq", "--pairs", "6", "--trials", "640",
         "--window-days", "1", "--out", str(out)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert sm.Fit.read(out).terms == ("1", "p", "pq")
    assert "windows held out" in done.output


def test_windows_held_out_are_run_under_limits_of_the_whole_log(tmp_path: Path) -> None:
    """A limit of a user and of a queue; on most days user 9 has no job."""
    log = made_under([{"by": "user", "value": 1, "cores": 4}])
    log = replace(log, user_id=np.where(np.arange(len(log)) % 500 == 0, 9, log.user_id))
    wl.write_swf(log, tmp_path / "log.swf")
    (tmp_path / "limits.csv").write_text("by,value,cores\nuser,1,4\nuser,9,4\nqueue,1,8\n")
    limits = sm.Limits.read(tmp_path / "limits.csv")
    lesson, _ = replace(FEW, limits=limits).fitted_to(log, print)
    _, held_out = lesson.parts(log)
    assert any((window.user_id != 9).all() for window in held_out)
    found = lesson.slowdowns(held_out, named_priority("FCFS"))
    how = {"order": "FCFS", "backfilling": "none", "warm_jobs": 16}
    for window, slowdown in zip(held_out, found, strict=True):
        mine = [row for row in limits.rows if row.value != 9 or (window.user_id == 9).any()]
        assert slowdown == sm.simulate(window, **how, limits=mine).metrics()["mean_bounded_slowdown"]
    words = [
        "learn",
        "-w",
        str(tmp_path / "log.swf"),
        "--pairs",
        "6",
        "--trials",
        "640",
        "--window-days",
        "1",
        "--json",
    ]
    more = ["--backfilling", "none", "--limits", str(tmp_path / "limits.csv"), "--out", str(tmp_path / "fit.toml")]
    answer = json.loads(CliRunner().invoke(app, [*words, *more]).stdout)
    assert answer["orders"]["FCFS"]["median"] == np.median(found)
    assert answer["limits"] == limits.table()


def test_limits_are_fitted_to_the_part_of_the_log_that_is_learned_from() -> None:
    log = made_under([{"by": "user", "value": 1, "cores": 4}])
    said: list[str] = []
    lesson, _ = replace(FEW, limits=FITTED).fitted_to(log, said.append)
    jobs, _ = lesson.parts(log)
    started = jobs.submit_s + jobs.extras["wait_s"] <= jobs.submit_s.max()
    assert (
        lesson.limits == fit(jobs.take(started), QueueOptions.checked()).limits == sm.Limits([{"value": 1, "cores": 4}])
    )
    assert said[0].startswith("Taken: caps of own cores of ")


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--limits", "fitted"], "does not say when its jobs started"),
        (["--limits", "missing.csv"], "missing.csv: cannot be read"),
        (["--form", "line"], "unknown form 'line'"),
        (["--learn-on", "1.5"], "--learn-on must be a part of the log > 0 and < 1 (got 1.5)"),
        (["--window-days", "400"], "has not two windows of 400 days"),
        (["--out", "fit.txt"], "the fit's name must be one that ends in .toml"),
        (["--estimator", "best"], "unknown estimator 'best'"),
        (["--pairs", "0"], "pairs must be an integer from 1 to 2**53 (got 0)"),
        (["--form", "1,p,s"], "'s'"),
        (["--backfilling", "eesy"], "eesy"),
        (["--warm-jobs", "-1"], "warm_jobs must be an integer from 0 to 2**53 (got -1)"),
    ],
)
def test_what_cannot_be_learned_is_reported_in_one_line(
    log: sm.Workload, tmp_path: Path, options: list[str], reported: str
) -> None:
    wl.write_swf(log, tmp_path / "log.swf")
    out = [] if "--out" in options else ["--out", str(tmp_path / "fit.toml")]
    done = CliRunner().invoke(app, ["learn", "-w", str(tmp_path / "log.swf"), "--pairs", "6", "--trials", "640",
                                    "--window-days", "1", *out, *options])  # fmt: skip
    assert done.exit_code == 2
    assert reported in " ".join(done.output.split())
    assert not (tmp_path / "fit.toml").exists()


def test_a_lesson_without_two_windows_is_refused(log: sm.Workload) -> None:
    with pytest.raises(sm.RequestError, match="choose fewer --window-days: one is learned from, one is held out"):
        LearningSettings(window_days=400.0).parts(log)


def test_one_monomial_is_a_form_too() -> None:
    assert parse_form("pq") == ("pq",)
    assert parse_form("qua") == "qua"
