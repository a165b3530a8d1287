"""The verdict on an order: each of the four, and what it asks for."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.calibration import Calibration
from experiments.studies.advice.settings import BY_LIMITS, ENTERABLE
from experiments.studies.advice.verdict import Option, Verdict, judge

NOW = Option(policy="FCFS", threshold_h=None, mean_h=4.0, p99_h=40.0, longest_h=100.0, changes=np.zeros(5))
BETTER = Option(
    policy="priority: fewest cores first; 40 h", threshold_h=None, mean_h=2.8, p99_h=46.0, longest_h=101.0,
    changes=np.array([-0.4, -0.35, -0.3, -0.3, -0.28]),
)  # fmt: skip


SQF = replace(BETTER, policy="SQF", threshold_h=40.0, mean_h=2.5)
"""Better still, but neither Slurm nor PBS has thresholds."""


def calibration(logged_h: float, *, rank_correlation: float = 0.9) -> Calibration:
    """Return how far a replay whose mean wait is four hours is from its log."""
    names = ("mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s")
    logged, replayed = (dict.fromkeys(names, hours * 3600) for hours in (logged_h, 4.0))
    return Calibration(
        jobs=100, logged=logged, replayed=replayed, rank_correlation=rank_correlation, known_share=1.0, utilisation=0.7,
        free_share=0.0, over_full_share=0.0, peak_cores=64, cores=64, outages_s=(), divided_by=(),
    )  # fmt: skip


def verdict(*options: Option, now: Option = NOW, replayed: Calibration | None = None) -> Verdict:
    return judge([now, *options], now, replayed)


def test_a_change_is_advised_where_most_gain_and_nobody_waits_much_longer_than_somebody_does_now() -> None:
    found = verdict(BETTER, replayed=calibration(4.0))
    assert (found.kind, found.then, found.weak, found.costly) == ("change", BETTER, False, False)


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
    assert verdict(replace(BETTER, **worse), also).kind == "do not change"  # type: ignore[arg-type]
    at_the_bound = replace(BETTER, longest_h=110.0, p99_h=60.0)
    assert verdict(at_the_bound, also).kind == "change"


def test_of_several_that_are_better_the_one_with_the_shortest_mean_wait_is_advised() -> None:
    other = replace(BETTER, policy="priority: fewest cores first; 160 h", mean_h=2.7)
    assert judge([NOW, BETTER, other], NOW, None).then is other


def test_the_verdict_is_about_what_can_be_entered_and_what_cannot_is_a_remark() -> None:
    assert BETTER.policy in ENTERABLE
    found = verdict(SQF, BETTER)
    assert (found.kind, found.then, found.beyond, found.costly) == ("change", BETTER, SQF, False)
    assert verdict(replace(SQF, mean_h=2.9), BETTER).beyond is None, "it is not better"
    starving = replace(BETTER, longest_h=1000.0)
    alone = verdict(SQF, starving)
    assert (alone.kind, alone.then, alone.beyond, alone.costly) == ("do not change", None, SQF, False)
    assert verdict(replace(SQF, longest_h=200.0), starving).beyond is None
    first_come = replace(BETTER, policy="FCFS")
    assert verdict(first_come, now=replace(NOW, policy="LAF")).then is first_come, "the age alone can be entered"


def test_where_many_jobs_have_no_limit_nothing_that_goes_by_limits_is_advised() -> None:
    by_limits = [
        replace(BETTER, policy=policy, mean_h=2.0)
        for policy in ("SPF", "SAF", "LEXP", "priority: shortest limit first, in classes; 40 h")
    ]
    assert verdict(*by_limits, BETTER).then is by_limits[-1]
    found = judge([NOW, *by_limits, BETTER], NOW, None, unlimited=0.68)
    assert (found.then, found.beyond, found.shortest, found.unlimited) == (BETTER, None, BETTER, 0.68)
    assert judge([NOW, *by_limits], NOW, None, unlimited=0.68).kind == "hardly matters"
    assert {"FCFS", "LCFS", "SQF", "LQF"}.isdisjoint(BY_LIMITS)


def test_of_equal_waits_what_has_no_threshold_is_better() -> None:
    without = replace(SQF, threshold_h=None)
    assert verdict(SQF, without).beyond is without


def test_another_backfilling_is_no_advice() -> None:
    other = replace(BETTER, policy="FCFS with conservative backfilling", threshold_h=None, mean_h=1.0)
    assert verdict(BETTER, other).then is BETTER


def test_what_is_surely_shorter_but_lets_some_wait_is_costly_and_starvation_is_named() -> None:
    costly = replace(BETTER, longest_h=186.0)
    found = verdict(costly)
    assert (found.kind, found.costly, found.shortest.starves(NOW)) == ("do not change", True, False)
    assert replace(costly, longest_h=500.1).starves(NOW)
    assert not replace(costly, longest_h=500.0).starves(NOW)
    assert not replace(costly, longest_h=0.08).starves(replace(NOW, longest_h=0.0)), "of five minutes nobody starves"
    unsure = replace(costly, changes=np.zeros(5))
    assert (verdict(unsure).kind, verdict(unsure).costly) == ("do not change", False)


def test_the_order_hardly_matters_where_nothing_is_much_better_or_nobody_waits() -> None:
    assert verdict(replace(BETTER, mean_h=3.9)).kind == "hardly matters"
    idle = replace(NOW, mean_h=0.01)
    found = verdict(replace(BETTER, mean_h=0.001), now=idle)
    assert (found.kind, found.then, found.beyond) == ("hardly matters", None, None)


@pytest.mark.parametrize(
    ("p95_h", "mean_runtime_h", "kind"),
    [(40.0, 79.9, "change"), (40.0, 80.1, "hardly matters"), (0.016, 1.0, "hardly matters"), (0.017, 1.0, "change")],
)
def test_on_an_idle_machine_the_order_hardly_matters(p95_h: float, mean_runtime_h: float, kind: str) -> None:
    """Of 95 % of its waits below a minute, or of a mean wait of less than 5 % of the mean runtime."""
    now = replace(NOW, p95_h=p95_h)
    assert judge([now, BETTER, SQF], now, None, mean_runtime_h=mean_runtime_h).kind == kind


@pytest.mark.parametrize(
    ("logged_h", "rank_correlation", "kind", "weak"),
    [
        (6.0, 0.3, "change", False),
        (6.1, 0.3, "change", True),
        (6.0, 0.29, "change", True),
        (6.1, 0.29, "no match", True),
        (12.0, 0.9, "change", True),
        (12.1, 0.9, "no match", True),
        (1.3, 0.9, "no match", True),
    ],
)
def test_the_verdict_is_weaker_the_farther_the_replay_is_from_the_log(
    logged_h: float, rank_correlation: float, kind: str, *, weak: bool
) -> None:
    found = verdict(BETTER, SQF, replayed=calibration(logged_h, rank_correlation=rank_correlation))
    assert (found.kind, found.weak) == (kind, weak)
    assert (found.then, found.beyond) == (BETTER, SQF), "of the replayed machine"
    assert (found.advised, found.remark) == ((None, None) if kind == "no match" else (BETTER, SQF))
    assert verdict(BETTER).weak, "without waits in the log"
    slight = verdict(replace(BETTER, mean_h=3.9), replayed=calibration(logged_h, rank_correlation=rank_correlation))
    assert slight.kind == ("no match" if kind == "no match" else "hardly matters")


def test_of_waits_of_nothing_a_minute_is_let_pass() -> None:
    now = replace(NOW, p99_h=0.0)
    assert verdict(replace(BETTER, p99_h=0.01), now=now).kind == "change"
    long = replace(BETTER, mean_h=2.0, longest_h=400)
    assert verdict(replace(BETTER, p99_h=0.1), long, now=now).kind == "do not change"


def test_a_policy_is_named_in_words_and_a_threshold_is_in_a_sentence_what_it_does() -> None:
    plain, greedy = (replace(NOW, policy=f"FCFS {how} backfilling") for how in ("without", "with greedy"))
    for option, words in (
        (NOW, "FCFS (first come, first served)"),
        (SQF, "SQF (fewest cores first; jobs that have waited 40 h go first)"),
        (replace(SQF, threshold_h=None), "SQF (fewest cores first, however long others wait)"),
        (BETTER, "a priority (fewest cores first; 40 h of waiting make up for any)"),
        (greedy, "FCFS with greedy backfilling"),
    ):
        assert option.in_words() == words
    assert str(NOW) == "FCFS (first come, first served) without a threshold"
    assert str(plain) == "FCFS without backfilling"
