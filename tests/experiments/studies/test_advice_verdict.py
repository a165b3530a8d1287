"""The verdict on an order: each of the four, its sentences, and for whom a change is worse."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from experiments.calibration import Calibration, calibrate
from experiments.studies.advice_policies import PRIORITIES
from experiments.studies.advice_verdict import Option, judge, sentences_of, worse_for

NOW = Option(policy="FCFS", threshold_h=None, mean_h=4.0, p99_h=40.0, longest_h=100.0, changes=np.zeros(5))
BETTER = Option(
    policy="SQF", threshold_h=40.0, mean_h=2.8, p99_h=46.0, longest_h=101.0,
    changes=np.array([-0.4, -0.35, -0.3, -0.3, -0.28]),
)  # fmt: skip


def verdict(*options: Option, now: Option = NOW, calibration: Calibration | None = None) -> tuple[str, list[str]]:
    found = judge([now, *options], now, calibration)
    return found.kind, list(sentences_of(found))


def test_a_change_is_advised_where_most_gain_and_nobody_waits_much_longer_than_somebody_does_now() -> None:
    kind, said = verdict(BETTER)
    assert kind == "change"
    assert said[0] == "Change: to SQF (fewest cores first) with a threshold of 40 h."
    assert said[1] == (
        "The mean wait would have been 2.8 h instead of 4 h; on resamples of your log it changes by -30 % in the "
        "median (-38 % and -29 % are the 10th and the 90th percentile), and is shorter in 5 of 5. The longest wait "
        "would have been 101 h (100 h), the 99th percentile 46 h (40 h)."
    )


@pytest.mark.parametrize(
    "worse",
    [
        {"longest_h": 110.1},
        {"p99_h": 60.1},
        {"mean_h": 3.81},
        {"changes": np.array([-0.4, -0.3, -0.3, -0.3, 0.01])},
        {"changes": np.array([-0.04, -0.04, -0.04, -0.3, -0.3])},
        {"changes": np.zeros(0)},
        {"changes": np.full(4, -0.3)},
    ],
)
def test_what_falls_short_in_one_respect_is_not_advised(worse: dict[str, object]) -> None:
    also = replace(BETTER, policy="LCFS", mean_h=2.0, longest_h=400.0)  # so that the order does matter
    assert verdict(replace(BETTER, **worse), also)[0] == "do not change"  # type: ignore[arg-type]
    at_the_bound = replace(BETTER, longest_h=110.0, p99_h=60.0)
    assert verdict(at_the_bound, also)[0] == "change"


def test_of_several_that_are_better_the_one_with_the_shortest_mean_wait_is_advised() -> None:
    other = replace(BETTER, policy="SAF", mean_h=2.7)
    assert judge([NOW, BETTER, other], NOW, None).then is other


def test_what_can_be_entered_is_told_with_its_part_of_the_gain() -> None:
    name = "priority: fewest cores first; 40 h"
    entered = replace(BETTER, policy=name, threshold_h=None, mean_h=3.1)
    assert name in PRIORITIES
    found = judge([NOW, BETTER, entered], NOW, None)
    assert found.entered is entered
    assert list(sentences_of(found))[-1] == (
        "Slurm has no threshold; what it can do is a multifactor priority (fewest cores first; 40 h of waiting make up "
        "for any): 75 % of the gain, a mean wait of 3.1 h and a longest one of 101 h. The lines are in "
        "files/slurm.conf.txt, those for PBS in files/pbs.txt."
    )
    best = replace(entered, mean_h=2.7)
    assert verdict(BETTER, best)[1][-1].startswith("Slurm can do it.")
    starving = replace(entered, longest_h=1000.0)
    assert verdict(BETTER, starving)[1][-1].startswith("Slurm has no threshold, and of its priorities")
    without = replace(BETTER, threshold_h=None)
    assert verdict(without)[1][-1].startswith("Slurm has no such order, and of its priorities")
    plain = replace(BETTER, policy="FCFS", threshold_h=None)
    assert verdict(plain, now=replace(NOW, policy="LAF"))[1][-1].startswith("Slurm can do it: with PriorityType=")
    assert judge([NOW, replace(BETTER, longest_h=200.0), starving], NOW, None).entered is None


def test_of_equal_waits_what_has_no_threshold_is_advised() -> None:
    without = replace(BETTER, threshold_h=None)
    assert judge([NOW, BETTER, without], NOW, None).then is without


def test_another_backfilling_is_no_advice_and_easy_is_named_where_it_is_new() -> None:
    other = replace(BETTER, policy="FCFS with conservative backfilling", threshold_h=None, mean_h=1.0)
    assert judge([NOW, BETTER, other], NOW, None).then is BETTER
    now = replace(NOW, policy="FCFS without backfilling")
    assert verdict(BETTER, other, now=now)[1][0].endswith("with a threshold of 40 h, with EASY backfilling.")


def test_a_change_of_nearly_nothing_has_no_sign() -> None:
    changes = np.array([-0.4, -0.3, -0.2, -0.1, -0.001, -0.001])
    assert "-0 %" not in verdict(replace(BETTER, changes=changes))[1][1]


def test_what_has_a_shorter_mean_wait_at_the_price_of_some_is_told_and_starvation_named() -> None:
    shorter = replace(BETTER, threshold_h=160.0, mean_h=2.3, longest_h=186.0)
    assert verdict(BETTER, shorter)[1][2] == (
        "If only the mean counted: SQF (fewest cores first) with a threshold of 160 h, 2.3 h, with a longest wait of "
        "186 h (100 h now)."
    )
    starving = replace(shorter, threshold_h=None, longest_h=5147.0)
    kind, said = verdict(starving)
    assert (kind, said[0][:14]) == ("do not change", "Do not change:")
    assert said[-1].endswith("a longest wait of 5,147 h (100 h now): that is starvation.")


def test_the_order_hardly_matters_where_nothing_is_much_better_or_nobody_waits() -> None:
    assert verdict(replace(BETTER, mean_h=3.9))[0] == "hardly matters"
    idle = replace(NOW, mean_h=0.01)
    kind, [said] = verdict(replace(BETTER, mean_h=0.001), now=idle)
    assert kind == "hardly matters"
    assert said == (
        "The order hardly matters here: the mean wait under FCFS (first come, first served) without a threshold is "
        "36 s, and under the best that was tried 3.6 s."
    )


def test_a_replay_that_is_far_from_its_log_comes_first() -> None:
    frame = pd.DataFrame({"submit_s": [0, 0], "runtime_s": [60, 60], "cores": [4, 4], "wait_s": [0, 90_000]})
    poor = calibrate(sm.simulate(sm.Workload.from_frame(frame, max_cores=4)))
    kind, said = verdict(BETTER, calibration=poor)
    assert kind == "change"
    doubt = "This replay does not match your machine, and what follows is of another one. "
    assert said[0].startswith(f"{doubt}Change: to SQF")
    assert verdict(replace(BETTER, mean_h=3.9), calibration=poor)[1][0].startswith(f"{doubt}The order hardly matters")


def test_of_waits_of_nothing_a_minute_is_let_pass() -> None:
    now = replace(NOW, p99_h=0.0)
    assert verdict(replace(BETTER, p99_h=0.01), now=now)[0] == "change"
    assert (
        verdict(replace(BETTER, p99_h=0.1), replace(BETTER, mean_h=2.0, longest_h=400), now=now)[0] == "do not change"
    )


def test_a_policy_is_named_in_words() -> None:
    assert str(NOW) == "FCFS (first come, first served) without a threshold"
    assert str(replace(NOW, policy="FCFS without backfilling")) == "FCFS without backfilling"


def test_who_waits_longer_is_found_by_user_size_and_limit() -> None:
    """A wide job of user 2 waits for an hour more, so that ten short ones of user 1 need not wait for it."""
    frame = pd.DataFrame(
        {
            "submit_s": [0.0, *[1.0] * 10, *[0.5] * 10],
            "runtime_s": [3600.0, *[360.0] * 10, *[60.0] * 10],
            "cores": [64, *[1] * 10, *[64] * 10],
            "user_id": [9, *[1] * 10, *[2] * 10],
        }
    )
    log = sm.Workload.from_frame(frame, max_cores=64)
    said = list(worse_for(sm.simulate(log), sm.simulate(log, order="SQF", backfilling="none")))
    assert said[0] == "Of 2 users with 10 jobs or more, 1 waits longer on average."
    assert said[1].startswith("Jobs of more than 16 cores pay most: they wait ")
    assert list(worse_for(sm.simulate(log), sm.simulate(log))) == [
        "Of 2 users with 10 jobs or more, 0 wait longer on average."
    ]
