"""Learning from a log: what is held out is later, and what is reported follows from direct calls."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.cli.learn import AGAINST
from experiments.fitting import fit
from experiments.inputs import named_priority
from experiments.learning import LearningSettings, parse_form
from experiments.option import FITTED
from experiments.studies.windows import windows
from simmodels.policies.queue_options import QueueOptions
from tests.command_line import Run
from tests.experiments.test_fitting import made_under

FEW = LearningSettings(pairs=6, trials=1_024, window_days=1.0, backfilling="none")


@pytest.fixture(scope="module")
def log() -> sm.Workload:
    return wl.tsafrir_estimates(wl.lublin(jobs=1_200, cores=128, seed=4, load=0.9), seed=4)


@pytest.fixture
def learn(run: Run) -> Run:
    """Learn little from log.swf, with some words more."""
    words = ("learn", "-w", "log.swf", "--pairs", 6, "--trials", 640, "--window-days", 1, "--out", "fit.toml")
    return partial(run, *words)


def test_what_is_learned_from_comes_before_what_is_held_out(log: sm.Workload) -> None:
    jobs, held_out = FEW.parts(log)
    first = log.submit_s.min()
    split_s = jobs.submit_s.max()
    assert {*jobs.job_id.tolist()}.isdisjoint({number for window in held_out for number in window.job_id.tolist()})
    assert min(log.submit_s[np.isin(log.job_id, window.job_id)].min() for window in held_out) > split_s
    whole = int((log.submit_s.max() - first) // sm.DAY)
    assert first + round(0.5 * whole) * sm.DAY == pytest.approx(split_s, abs=sm.DAY)


def test_the_log_as_it_was_comes_first(log: sm.Workload, learn: Run) -> None:
    wl.write_swf(sm.simulate(log, order="SAF"), "log.swf")
    _, held_out = FEW.parts(wl.read_swf("log.swf"))
    logged = [
        replace(sm.as_logged(window), counted=np.arange(len(window)) >= 16).metrics()["mean_bounded_slowdown"]
        for window in held_out
    ]
    assert FEW.logged(held_out).tolist() == logged
    assert json.loads(learn("--json").out)["as_logged"] == {"median": np.median(logged)}
    rows = [line.split() for line in learn().out.splitlines() if line.split()]
    names = [row[0] for row in rows if row[0] in {"as", "fit-LIN", "FCFS"} and len(row) < 8]
    assert names == ["as", "fit-LIN", "FCFS"]


def test_a_command_says_what_direct_calls_give(log: sm.Workload, learn: Run) -> None:
    wl.write_swf(log, "log.swf")
    reported = json.loads(learn("--trials", 1024, "--backfilling", "none", "--json").out)
    jobs, held_out = FEW.parts(wl.read_swf("log.swf"))
    fit = sm.fit_polynomial(sm.score_jobs(sm.draw_pairs(jobs, 6), 1_024), "LIN")
    assert sm.Fit.read("fit.toml").theta == fit.theta
    for name in AGAINST:
        slowdowns = [
            sm.simulate(window, order=name, backfilling="none", warm_jobs=16).metrics()["mean_bounded_slowdown"]
            for window in held_out
        ]
        assert reported["orders"][name]["median"] == np.median(slowdowns)
    later = wl.read_swf("log.swf").between(jobs.submit_s.max() + 1, 1e12)
    assert reported["windows"] == len(held_out) == len(list(windows(later, sm.DAY, more_than=16)))
    assert "fit-LIN is" in reported["findings"][-1]


def test_a_log_without_limits_is_learned_from_with_a_doubt(log: sm.Workload, learn: Run) -> None:
    none = replace(log, estimate_s=log.runtime_s, extras={"requested_s": np.full(len(log), -1.0)})
    wl.write_swf(none, "log.swf")
    said = json.loads(learn("--json").out)["findings"][-1]
    assert said.startswith("100 % of the jobs have no limit; their runtimes, which")


def test_monomials_of_ones_own_are_fitted(log: sm.Workload, learn: Run) -> None:
    wl.write_swf(log, "log.swf")
    answer = learn("--form", "1, p, pq", "--out", "fit.json")
    assert sm.Fit.read("fit.json").terms == ("1", "p", "pq")
    assert "windows held out" in answer.out


def test_windows_held_out_are_run_under_limits_of_the_whole_log(learn: Run) -> None:
    """A limit of a user and of a queue; on most days user 9 has no job."""
    log = made_under([{"by": "user", "value": 1, "cores": 4}])
    log = replace(log, user_id=np.where(np.arange(len(log)) % 500 == 0, 9, log.user_id))
    wl.write_swf(log, "log.swf")
    Path("limits.csv").write_text("by,value,cores\nuser,1,4\nuser,9,4\nqueue,1,8\n")
    limits = sm.Limits.read("limits.csv")
    lesson, _ = replace(FEW, limits=limits).fitted_to(log, print)
    _, held_out = lesson.parts(log)
    assert any((window.user_id != 9).all() for window in held_out)
    found = lesson.slowdowns(held_out, named_priority("FCFS"))
    how = {"order": "FCFS", "backfilling": "none", "warm_jobs": 16}
    for window, slowdown in zip(held_out, found, strict=True):
        mine = [row for row in limits.rows if row.value != 9 or (window.user_id == 9).any()]
        assert slowdown == sm.simulate(window, **how, limits=mine).metrics()["mean_bounded_slowdown"]
    answer = json.loads(learn("--backfilling", "none", "--limits", "limits.csv", "--json").out)
    assert answer["orders"]["FCFS"]["median"] == np.median(found)
    assert answer["limits"] == limits.table()


def test_a_form_is_a_name_or_monomials() -> None:
    assert (parse_form("pq"), parse_form("qua")) == (("pq",), "qua")


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


def test_a_lesson_without_two_windows_is_refused(log: sm.Workload) -> None:
    with pytest.raises(sm.RequestError, match="choose fewer --window-days: one is learned from, one is held out"):
        LearningSettings(window_days=400.0).parts(log)
