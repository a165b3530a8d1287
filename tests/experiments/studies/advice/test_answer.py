"""The answer of advice: its lines, that ten rows of a terminal hold them, and for whom a change is worse."""

import itertools
import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import simmodels as sm
from experiments.calibration import Calibration, causes_of
from experiments.studies.advice.answer import Advised, Doubt, Worse, lines_of, worse_for
from experiments.studies.advice.limits import Effect, FoundLimits, Lifted
from experiments.studies.advice.results import doubts_of
from experiments.studies.advice.settings import BACKFILLINGS, FIXED
from experiments.studies.advice.verdict import Option, Verdict, judge
from simmodels.policies.orders import TWELVE_ORDERS
from tests.experiments.studies.advice.test_verdict import BETTER, NOW, SQF, calibration

LOG = replace(sm.Workload.of({"submit_s": [0], "runtime_s": [60], "cores": [4]}), max_cores=64)
WORSE = Worse(21, 141, "with limits of more than 24 h", 3.04, 3.68)
ROUGH, POOR = calibration(7.0), calibration(15.0)
FREE = replace(SQF, threshold_h=None)


def said(
    *options: Option,
    now: Option = NOW,
    replayed: Calibration | None = None,
    log: sm.Workload = LOG,
    doubts: tuple[Doubt, ...] = (),
    fitted: bool = False,
    unlimited: float = 0.0,
) -> list[str]:
    verdict = judge([now, *options], now, replayed, mean_runtime_h=10.0, unlimited=unlimited)
    return lines(verdict, replayed, log, worse=WORSE, doubts=doubts, fitted=fitted)


def lines(verdict: Verdict, calibration: Calibration | None, log: sm.Workload, **more: Any) -> list[str]:  # noqa: ANN401  more of its fields
    return list(lines_of(Advised(verdict=verdict, calibration=calibration, log=log, options=(), **more)))


def rows(lines: list[str], columns: int = 80) -> int:
    """Return how many rows of a terminal lines take, with the dash before each."""
    return sum(len(textwrap.wrap(line, columns - 2)) for line in lines)


def test_a_change_has_its_gain_its_price_and_what_to_enter() -> None:
    assert said(BETTER, SQF, replayed=calibration(4.0)) == [
        "Change to a priority (fewest cores first; 40 h of waiting make up for any).",
        (
            "How much: mean wait 2.8 h instead of 4 h, shorter in 5 of 5 resamples of the log (median -30 %, 10-90 % "
            "range -38 to -29 %)."
        ),
        (
            "Who waits longer: jobs with limits of more than 24 h (3.68 h, now 3.04 h), 21 of 141 users; the longest "
            "wait is 101 h, now 100 h."
        ),
        (
            "What to enter: files/slurm.conf.txt for Slurm, files/pbs.txt for PBS; better, but not for these: SQF "
            "(fewest cores first; jobs that have waited 40 h go first), mean wait 2.5 h."
        ),
        "How far to trust it: well (mean wait 4 h in the log, 4 h replayed).",
    ]


def test_a_change_is_only_to_be_considered_where_the_replay_is_roughly_like_the_log() -> None:
    lines = said(BETTER, replayed=replace(ROUGH, free_share=0.41))
    assert lines[0].startswith("Consider a priority (fewest cores first; ")
    assert lines[-1] == (
        "How far to trust it: roughly, test it first (mean wait 7 h in the log, 4 h replayed); likely causes: "
        "cores were free in 41 % of the waiting time (holds, user limits, jobs ahead); another order, or priorities, "
        "than those replayed."
    )
    lines = said(BETTER)
    assert lines[0].startswith("Consider a priority (fewest cores first; ")
    assert lines[-1] == "How far to trust it: the log does not say when its jobs started, so nothing checks it."


def test_a_replay_that_does_not_match_is_the_verdict_and_nothing_is_to_be_entered() -> None:
    lines = said(BETTER, SQF, replayed=replace(POOR, free_share=0.41, rank_correlation=0.1))
    assert lines == [
        (
            "This replay does not match your machine: the mean wait is 15 h in the log and 4 h in the replay; it is "
            "not the same jobs that wait."
        ),
        (
            "By the replay alone, the advice would be a priority (fewest cores first; 40 h of waiting make up for "
            "any): do not rely on it."
        ),
        (
            "What to do: change nothing yet; check --cores, or let --current auto find the order that you have; "
            "schedlab calibrate says whether user limits explain the waits."
        ),
        (
            "Likely causes: cores were free in 41 % of the waiting time (holds, user limits, jobs ahead); another "
            "order, or priorities, than those replayed."
        ),
    ]
    assert said(replayed=POOR)[1] == "The replay alone finds no order that is certain to be better."


def test_what_differs_is_named_where_it_is_not_the_mean() -> None:
    p95 = replace(POOR, logged={**POOR.logged, "mean_wait_s": 4 * 3600.0, "median_wait_s": 4 * 3600.0})
    assert said(BETTER, replayed=p95)[0].endswith(
        "the 95th percentile of the waits is 15 h in the log and 4 h in the replay."
    )
    full = replace(calibration(4.0), over_full_share=0.4, peak_cores=100)
    lines = said(BETTER, replayed=full)
    assert lines[0].endswith("for 40 % of its time the log has more cores in use than the machine.")
    assert lines[-1].startswith("Likely causes: the log has up to 100 cores in use, the machine 64; another order")


def test_what_was_found_to_be_the_current_policy_is_named() -> None:
    close = said(BETTER, replayed=calibration(4.0), fitted=True)[-1]
    assert close.endswith("the replay of FCFS (first come, first served) is like the log.")
    assert "the replay of FCFS (first come, first served)" in said(BETTER, replayed=POOR, fitted=True)[0]


def test_what_was_tried_is_no_cause_and_no_cure() -> None:
    """A log without partitions needs no --partition, and where all orders were tried, none of these is the cause."""
    queues = sm.Workload.of({"submit_s": [0, 1], "runtime_s": [60, 60], "cores": [4, 4], "queue": [1, 2]})
    lines = said(BETTER, replayed=POOR, log=replace(queues, max_cores=64), fitted=True)
    assert any(each.startswith("What to do: change nothing yet; check --cores and --queue; ") for each in lines)
    assert lines[-1].endswith("priorities that no order tried has.")


def test_without_a_change_the_price_of_the_shortest_mean_wait_is_named() -> None:
    starving = replace(FREE, mean_h=2.8, longest_h=5147.0)
    lines = said(starving, replayed=calibration(4.0))
    assert lines[:2] == [
        "Do not change: FCFS (first come, first served) is only beaten by letting some jobs wait much longer.",
        (
            "The shortest mean wait: 2.8 h, now 4 h, under SQF (fewest cores first, however long others wait); but the "
            "longest is 5,147 h, now 100 h, which is starvation."
        ),
    ]
    unsure = replace(BETTER, changes=np.zeros(5))
    assert said(unsure)[0] == (
        "Do not change: nothing that was tried is certain to be better than FCFS (first come, first served)."
    )


def test_without_anything_to_enter_an_order_is_to_be_considered_by_who_can_have_it() -> None:
    assert said(SQF, replayed=calibration(4.0))[:2] == [
        (
            "Do not change: nothing that Slurm or PBS can be given is certain to be better than FCFS (first come, "
            "first served)."
        ),
        (
            "Consider SQF (fewest cores first; jobs that have waited 40 h go first), if your scheduler can do that: "
            "mean wait 2.5 h instead of 4 h, the longest wait is 101 h, now 100 h."
        ),
    ]


def test_the_verdict_says_why_no_order_by_limits_is_considered() -> None:
    why = " No order by limits is considered: 68 % of the jobs have no limit."
    for options, replayed in (((BETTER,), None), ((SQF,), None), ((), None), ((BETTER,), POOR)):
        assert said(*options, replayed=replayed, unlimited=0.68)[0].endswith(why)
    assert not said(BETTER)[0].endswith(why)


def test_where_the_order_hardly_matters_both_waits_are_named() -> None:
    idle = replace(NOW, mean_h=0.4)
    lines = said(replace(BETTER, mean_h=0.1), now=idle, replayed=replace(calibration(4.0)))
    assert lines[0] == (
        "The order hardly matters here: jobs wait 0.4 h on average (below 5 % of the mean runtime), and 0.1 h in the "
        "best order that was tried."
    )
    lines = said(BETTER, now=replace(NOW, p95_h=0.01))
    assert lines[0].endswith(
        "wait 4 h on average (95 % of them for less than a minute), and 2.8 h in the best order that was tried."
    )
    assert said(replace(BETTER, mean_h=3.9))[0].startswith("As far as this replay shows, the order hardly matters here")


def test_what_a_batch_system_can_have_is_said() -> None:
    assert said(BETTER)[3] == "What to enter: files/slurm.conf.txt for Slurm, files/pbs.txt for PBS."
    plain = replace(BETTER, policy="FCFS", threshold_h=None)
    assert said(plain, now=replace(NOW, policy="LAF"))[3] == (
        "What to enter: PriorityType=priority/multifactor, with PriorityWeightAge only."
    )


def test_easy_is_named_where_it_is_new() -> None:
    now = replace(NOW, policy="FCFS without backfilling")
    assert said(BETTER, now=now)[0].endswith("make up for any), with EASY backfilling.")


def test_a_change_of_nearly_nothing_has_no_sign() -> None:
    changes = np.array([-0.4, -0.3, -0.2, -0.1, -0.001, -0.001])
    assert "-0 " not in said(replace(BETTER, changes=changes))[1]


def test_doubts_come_last_as_many_as_there_is_room_for() -> None:
    doubts = tuple(Doubt(f"doubt {number} {'x' * 30}", "") for number in range(9))
    assert said(BETTER, SQF, replayed=calibration(4.0), doubts=doubts)[-1].startswith("Check: doubt 0 ")


EFFECT = Effect(1234.0, 567.0, 5, Lifted(sm.Limit(by="partition", value=123_456, cores=123_456), 1000.0, 4321.0, 99.0))
LONG = Worse(12_345, 67_890, "with limits of more than 4 h up to 24 h", 1234.0, 5678.0)
BUSY = {"submit_s": [0, 1], "runtime_s": [1e6, 1e6], "cores": [64, 64], "gpus": [1, 1], "requested_memory_kb": [1, 1]}
DOUBTS = tuple(
    doubts_of(
        replace(sm.Workload.of(BUSY | {"requested_s": [-1, -1]}), max_cores=64),
        replace(ROUGH, over_full_share=0.5, peak_cores=1_234_567),
    )
)


@pytest.mark.parametrize("logged_h", [4.0, 7.0, 15.0, None])
@pytest.mark.parametrize("longest_h", [100.0, 4321.0])
@pytest.mark.parametrize("doubts", [(), DOUBTS])
@pytest.mark.parametrize("effect", [None, EFFECT])
def test_the_answer_has_at_most_seven_lines_and_ten_rows_whatever_is_advised(
    logged_h: float | None, longest_h: float, doubts: tuple[Doubt, ...], effect: Effect | None
) -> None:
    """Of each policy that can be advised, beside each that can be the current one."""
    replayed = None if logged_h is None else replace(
        calibration(logged_h, rank_correlation=0.1 if logged_h > 10 else 0.9), free_share=0.9,
        outages_s=tuple((0.0, 1e6) for _ in range(99)), known_share=0.5,
    )  # fmt: skip
    log = replace(LOG, extras={"requested_memory_kb": np.array([1])})
    now_policies = ("FCFS", "LEXP", *BACKFILLINGS, "priority: most cores per minute of the limit first; 2560 h")
    thresholds = {True: (160.0, None), False: (None,)}
    for policy, now_policy in itertools.product(FIXED, now_policies):
        if policy in BACKFILLINGS or policy == now_policy:
            continue
        for threshold_h in thresholds[policy in TWELVE_ORDERS]:
            then = replace(BETTER, policy=policy, threshold_h=threshold_h, longest_h=longest_h)
            now = replace(NOW, policy=now_policy, mean_h=1234.0, longest_h=999.0 if longest_h > 1000 else 100.0)
            then = replace(then, mean_h=1000.0)
            beside = replace(BETTER, mean_h=1100.0, longest_h=longest_h)  # which can be entered
            for fitted, others, unlimited in ((False, (), 0.0), (True, (beside,), 0.0), (True, (beside,), 0.68)):
                verdict = judge([now, then, *others], now, replayed, unlimited=unlimited)
                found = lines(verdict, replayed, log, worse=LONG, doubts=doubts, fitted=fitted, effect=effect)
                assert len(found) <= 6 + (effect is not None)
                assert rows(found) <= 10, found
                assert rows(found, 100) <= 10, found
                assert not any(line.endswith(":.") for line in found)
                assert (
                    "roughly" not in found[-1] or "cores were free" not in found[-1] or "likely causes: " in found[-1]
                )
                if doubts and verdict.kind != "no match" and effect is None:
                    assert found[-1].startswith("Check: --cores: in use up")


def test_what_limits_cause_stands_before_how_far_to_trust_it() -> None:
    found = FoundLimits(sm.Limits([{"by": "user", "value": 7, "jobs": 2}]))
    lifted = Lifted(found.limits.rows[0], 3.0, 9.0, 1.0)  # type: ignore[union-attr]  # there are some
    for each, said in (
        (lifted, "without that of user 7 (2 jobs) the mean wait is 3 h"),
        (None, "lifting it alone does not help"),
    ):
        lines = said_under(found, Effect(4.0, 1.0, 1, each), calibration(4.0))
        assert lines[-2] == f"Limits: the limits given cause 75 % of the waiting; {said}."
        assert lines[-1].startswith("How far to trust it: ")
    assert "limits, which were tried, do not explain the waits." in said_under(found, None, POOR)[2]


def said_under(found: FoundLimits, effect: Effect | None, replayed: Calibration) -> list[str]:
    """Return the lines under limits."""
    verdict = judge([NOW, BETTER], NOW, replayed)
    return lines(verdict, replayed, LOG, worse=WORSE, doubts=(), fitted=False, limits=found, effect=effect)


def test_causes_are_given_as_far_as_there_is_room() -> None:
    held = replace(POOR, free_share=0.41, outages_s=((0.0, 8e4),), known_share=0.5, over_full_share=0.2, peak_cores=99)
    assert len(list(causes_of(held, LOG))) == 5
    causes = said(BETTER, replayed=held, doubts=DOUBTS)[-2]
    assert causes.startswith("Likely causes: the log has up to 99 cores in use, the machine 64; ")


# -- who waits longer -------------------------------------------------------------------------------


def test_who_waits_longer_is_found_by_user_size_and_limit() -> None:
    """A wide job of user 2 waits for an hour more, so that ten short ones of user 1 need not wait for it."""
    columns = {
        "submit_s": [0.0, *[1.0] * 10, *[0.5] * 10], "runtime_s": [3600.0, *[360.0] * 10, *[60.0] * 10],
        "cores": [64, *[1] * 10, *[64] * 10], "user_id": [9, *[1] * 10, *[2] * 10],
    }  # fmt: skip
    log = replace(sm.Workload.of(columns), max_cores=64)
    found = worse_for(sm.simulate(log), sm.simulate(log, order="SQF", backfilling="none"))
    assert (found.users, found.of_users, found.who) == (1, 2, "of more than 16 cores")
    assert found.after_h > found.before_h
    assert str(found).startswith("jobs of more than 16 cores (")
    assert str(found).endswith("), 1 of 2 users")
    without = replace(log, extras={"requested_s": np.where(log.user_id == 2, -1.0, log.estimate_s)})
    found = worse_for(sm.simulate(without), sm.simulate(without, order="SQF", backfilling="none"))
    assert found.who == "without a limit"
    nobody = worse_for(sm.simulate(log), sm.simulate(log))
    assert (nobody, str(nobody), str(Worse(0, 1))) == (Worse(0, 2), "none of 2 users", "hardly anybody")
