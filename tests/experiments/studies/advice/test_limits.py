"""Advice under limits: found in the log or given, what they cause, and what lifting one would do."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns.planning.plan import Plan
from experiments.studies.advice.limits import Effect, FoundLimits, effect_of
from experiments.studies.advice.settings import FIXED, Replays
from simmodels.errors import FileFormatError, RequestError
from tests.experiments.studies.advice.test_study import PRIORITY, advised, as_printed, require_fits, some
from tests.experiments.test_fitting import made_under
from tests.work import written

CAPPED = made_under([{"by": "user", "value": 1, "cores": 4}, {"by": "user", "value": 2, "cores": 8}])
FEW = {"policy": ["FCFS", "SPF", PRIORITY, "simulating tuner, by week"], "threshold_h": [None]}


def work(*rows: tuple[float, float, int, int]) -> sm.Workload:
    """Return jobs of (submit, runtime, cores, user)."""
    submit_s, runtime_s, width, user = map(list, zip(*rows, strict=True))
    columns = {"submit_s": submit_s, "runtime_s": runtime_s, "cores": width, "user_id": user}
    return sm.Workload.of(columns)


def test_limits_that_the_log_shows_are_used_where_the_replay_does_not_match_without(tmp_path: Path) -> None:
    campaign, report = advised(tmp_path, CAPPED, **FEW)
    answer = as_printed(report.answer)
    require_fits(answer)
    assert answer["replay_matches"]
    (said,) = [line for line in report.findings if line.startswith("Limits: ")]
    assert said.startswith("Limits: caps of cores of 2 users, read off the log, cause 100 % of the waiting; ")
    assert "; without that of user 1 (4 cores) the mean wait is " in said
    limits = answer["limits"]
    rows = [{"by": "user", "value": user, "cores": cores} for user, cores in ((1, 4), (2, 8))]
    means = [sm.simulate(CAPPED, limits=each).metrics()["mean_wait_s"] / sm.HOUR for each in (rows, None, rows[1:])]
    assert (limits["source"], limits["rows"]) == ("fitted", 2)
    assert limits["share_of_waiting"] == pytest.approx(1 - means[1] / means[0])
    assert limits["mean_wait_without_h"] == pytest.approx(means[1])
    assert limits["lifted"]["limit"] == rows[0]
    assert limits["lifted"]["mean_wait_h"] == pytest.approx(means[2])
    assert answer["now"]["mean_wait_h"] == pytest.approx(means[0])
    assert "simulating tuner, by week" not in set(campaign.results().table["policy"]), "which know no limits"


def test_without_limits_the_same_log_does_not_match(tmp_path: Path) -> None:
    campaign, report = advised(tmp_path, CAPPED, **FEW, limits="none")
    assert report.findings[0].startswith("This replay does not match your machine: ")
    assert "schedlab calibrate says whether user limits explain the waits." in report.findings[2]
    assert report.answer["limits"] is None
    assert "simulating tuner, by week" in set(campaign.results().table["policy"])


def test_cells_depend_on_the_limits_and_on_nothing_else_of_how_they_were_found(tmp_path: Path) -> None:
    wl.write_swf(CAPPED, tmp_path / "log.swf")
    (tmp_path / "limits.csv").write_text("by,value,cores\nuser,1,4\nuser,2,8\n")
    chosen = {"workload": str(tmp_path / "log.swf"), "policy": ["FCFS"]}
    plans = [Plan.of("advice", "smoke", 0, chosen | {"limits": limits}) for limits in ("fitted", "fitted", "none")]
    assert plans[0].keys == plans[1].keys
    assert not set(plans[0].keys) & set(plans[2].keys)
    given = Plan.of("advice", "smoke", 0, chosen | {"limits": str(tmp_path / "limits.csv")})
    assert given.inputs == plans[0].inputs


def test_limits_of_queues_hold_on_resamples_and_a_user_who_is_in_none_of_their_weeks_is_no_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "limits.csv").write_text("by,value,cores,jobs\nqueue,1,8,\nuser,1,,1\nuser,7,,2\n")
    log = made_under([{"by": "queue", "value": 1, "cores": 8}], weeks=4)
    log = replace(log, user_id=np.where(np.arange(len(log)) == 5, 7, log.user_id))
    campaign, report = advised(tmp_path, log, policy=["FCFS"], limits=str(tmp_path / "limits.csv"), threshold_h=[None])
    assert not campaign.failed
    answer = as_printed(report.answer)
    assert (answer["limits"]["source"], answer["limits"]["rows"]) == ("given", 3)
    without, _ = advised(tmp_path, log, policy=["FCFS"], limits="none", threshold_h=[None])
    waits = [each.results().table.groupby("trace")["mean_wait_s"].mean() for each in (campaign, without)]
    assert (waits[0] > waits[1]).all(), "on the log, and on resamples of it"


@pytest.mark.parametrize("policy", ["FCFS", "FCFS without backfilling", "SAF", PRIORITY])
def test_whatever_is_tried_heeds_the_limits(policy: str) -> None:
    assert policy in FIXED
    limits = sm.Limits([{"by": "user", "value": 1, "cores": 4}])
    assert Replays(log=CAPPED, limits=limits).schedule(policy).validate().terms.limits == limits


def test_the_limit_that_is_lifted_is_the_one_without_which_jobs_wait_least() -> None:
    """User 1 may run one of ten jobs at a time, user 2 one of three, and the group of both any; user 3 is as he was."""
    log = work(*[(0, 3600, 1, 1)] * 10, *[(0, 3600, 1, 2)] * 3, (0, 3600, 1, 3))
    limits = sm.Limits(
        [{"jobs": 9}, {"value": 1, "jobs": 1}, {"value": 2, "jobs": 1}, {"group": "a", "members": [1, 2], "jobs": 16}]
    )
    found = effect(log, limits, 16)
    total_h = sum(range(10)) + sum(range(3))
    assert found.with_h == pytest.approx(total_h / 14)
    assert (found.without_h, found.tried, found.share) == (0.0, 4, 1.0)
    # Without its own row, user 1 may run nine at a time, as everybody.
    after = (1 + sum(range(3))) / 14
    assert found.lifted is not None
    assert found.lifted.row == limits.rows[1]
    hours = (found.lifted.mean_h, found.lifted.before_h, found.lifted.after_h)
    assert hours == pytest.approx((after, 4.5, 0.1))
    assert list(found.clauses(FoundLimits(limits))) == [
        "the limits given cause 100 % of the waiting",
        "without that of user 1 (1 job) the mean wait is 0.29 h",
        "its own jobs then wait 0.1 h instead of 4.5 h",
        "without any of them the mean wait is 0 h",
    ]


def effect(log: sm.Workload, limits: sm.Limits, cores: int) -> Effect:
    """Return what limits cause on a machine of these cores."""
    return effect_of(
        limits, sm.simulate(log, cores=cores, limits=limits), lambda other: sm.simulate(log, cores=cores, limits=other)
    )


def test_a_limit_of_submitted_jobs_can_be_the_one_to_lift() -> None:
    limits = sm.Limits([{"value": 1, "submitted": 1}])
    found = effect(work((0, 3600, 1, 1), (0, 3600, 1, 1), (0, 3600, 1, 1), (0, 3600, 1, 2)), limits, 4)
    assert list(found.clauses(FoundLimits(limits)))[:2] == [
        "the limits given cause 100 % of the waiting",
        "without that of user 1 (1 submitted job) the mean wait is 0 h",
    ]


def test_no_cure_is_named_where_none_that_was_tried_helps() -> None:
    limits = sm.Limits([{"value": 1, "jobs": 1}])
    found = effect(work(*[(0, 60, 1, 1)] * 4), limits, 1)
    assert (found.share, found.lifted) == (0.0, None)
    assert list(found.clauses(FoundLimits(limits)))[1] == "lifting it alone does not help"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ("missing.csv", "cannot be read"),
        ("by,value,cores\nuser,99,4\n", "limits name user 99, and no job of workload"),
        ("by,value,cores\nuser,1,0\n", "cores of user 1 must be an integer from 1"),
        ("fitted", "does not say when its jobs started"),
    ],
)
def test_limits_that_do_not_go_with_the_log_are_refused_before_anything_is_run(
    tmp_path: Path, limits: str, text: str
) -> None:
    if "\n" in limits:
        limits = str(written(tmp_path, limits, "limits.csv"))
    with pytest.raises((RequestError, FileFormatError), match=text):
        advised(tmp_path, some(200, 5.0, 3000.0), limits=limits)
