"""Futures: runtimes and arrivals that are drawn from what was known at an instant, and from nothing else."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from tests.refused import refused
from workloads.futures import Lengths, Past

HOUR = sm.HOUR


def log_of(
    runtimes_s: list[float], limits_s: list[float], users: list[int], submit_s: list[float] | None = None
) -> sm.Workload:
    count = len(runtimes_s)
    submits = range(count) if submit_s is None else submit_s
    return sm.Workload(range(1, count + 1), submits, runtimes_s, limits_s, np.ones(count), users)


def known(log: sm.Workload) -> Past:
    """Return the past of a log whose jobs started as they were submitted, long after all have ended."""
    return Past(log, log.submit_s, log.submit_s + log.runtime_s, 1e6)


def drawn(past: Past, jobs: sm.Workload, ran_s: float = 0.0, futures: int = 4000) -> np.ndarray:
    draws = np.random.default_rng(1)
    return past.runtimes_s(jobs, np.full(len(jobs), ran_s), futures=futures, draws=draws)


def shares(lengths: Lengths) -> dict[float, float]:
    """Return the probability of each length."""
    return {
        float(length): float(lengths.weight[lengths.length == length].sum() / lengths.weight.sum())
        for length in np.unique(lengths.length)
    }


@given(
    rows=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=30),
    prior=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=6, unique_by=lambda of: of[0]),
    trust=st.sampled_from([1e-9, 1.0, 10.0]),
)
def test_each_length_has_the_hazard_of_those_at_risk(
    rows: list[tuple[int, bool]], prior: list[tuple[int, int]], trust: float
) -> None:
    """The clear version, by exact fractions, one length after the other."""
    prior = sorted(prior)
    before = Lengths(np.array([of[0] for of in prior], float), np.array([of[1] for of in prior], float))
    total = sum(weight for _, weight in prior)
    known = {at: Fraction(weight, total) * Fraction(trust) for at, weight in prior}
    reached, expected = Fraction(1), {}
    for at in range(1, 10):
        at_risk = sum(length >= at for length, _ in rows) + sum(of for key, of in known.items() if key >= at)
        if at_risk:
            ends = rows.count((at, True)) + known.get(at, 0)
            last = max(*known, *(length for length, _ in rows)) == at
            expected[float(at)] = reached if last else reached * ends / at_risk
            reached -= expected[float(at)]
    seen, ended = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    found = shares(before.given(seen, ended, trust=trust))
    assert found == pytest.approx({at: float(share) for at, share in expected.items() if share})


def test_quantiles_of_longer_lengths_are_those_of_what_is_left() -> None:
    lengths = Lengths(np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 1.0]))
    level = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert lengths.drawn(level, 0.0).tolist() == [1.0, 1.0, 1.0, 2.0, 4.0]
    assert lengths.drawn(level, 1.0).tolist() == [2.0, 2.0, 2.0, 4.0, 4.0]
    assert lengths.drawn(level, 4.0).tolist() == [4.0] * 5, "the longest has been passed: it ends just now"


def test_jobs_that_still_run_are_longer_than_their_age() -> None:
    """Half of a user's jobs run for ten minutes, half for an hour, of which none has ended yet."""
    lengths_s = np.tile([600.0, 3600.0], 50)
    log = log_of(lengths_s.tolist(), [7200.0] * 100, [1] * 100, np.linspace(0, 3590.0, 100).tolist())
    past = Past(log, log.submit_s, log.submit_s + log.runtime_s, 3595.0)
    found = drawn(past, log_of([1.0], [7200.0], [1]))
    assert (found == 600.0).mean() == pytest.approx(0.5, abs=0.05), "of those that have ended, all are of 600 s"


def test_a_job_runs_as_jobs_of_its_user_with_its_limit_did() -> None:
    """User 1 uses a tenth of a limit of 1 h, 200 times, user 2 all of it; half an hour's limit is another matter."""
    many = 200
    past = known(log_of([360.0] * many + [3600.0] * many, [3600.0] * 2 * many, [1] * many + [2] * many))
    found = drawn(past, log_of([1.0, 1.0, 1.0], [3600.0, 3600.0, 1800.0], [1, 2, 1]))
    assert (found[:, 0] == 360.0).mean() == pytest.approx(200 / 210, abs=0.06)
    assert (found[:, 1] == 3600.0).mean() == pytest.approx(200 / 210, abs=0.06)
    assert (found[:, 2] == 180.0).mean() > 0.9, "the same part of another limit"


def test_a_user_without_a_past_runs_as_all_do_and_jobs_of_a_user_are_alike_in_a_future() -> None:
    past = known(log_of([360.0, 1800.0] * 100, [3600.0] * 200, [1, 2] * 100))
    found = drawn(past, log_of([1.0], [3600.0], [9]))
    assert (found == 360.0).mean() == pytest.approx(0.5, abs=0.05)
    past = known(log_of([360.0, 1800.0] * 100, [3600.0] * 200, [1] * 200))
    found = drawn(past, log_of([1.0] * 3, [3600.0] * 3, [1, 1, 1]))
    assert (found[:, 0] == found[:, 1]).mean() > 0.85
    assert 0.4 < (found[:, 0] == 360.0).mean() < 0.6


def test_a_job_that_runs_goes_on_for_longer_than_it_has() -> None:
    past = known(log_of([360.0, 1800.0] * 100, [3600.0] * 200, [1] * 200))
    one = log_of([1.0], [3600.0], [1])
    assert (drawn(past, one, ran_s=400.0) == 1800.0).all()
    assert (drawn(past, one, ran_s=1900.0) == 3600.0).all(), "nobody knows better than the limit"


def test_a_job_that_has_outlived_its_limit_goes_on_as_those_that_did_and_as_lifetimes_without_a_scale() -> None:
    """Of processes that have run for t, half run for another t; as ten jobs beside two in each of the five groups."""
    one = log_of([1.0], [3600.0], [1])
    for runtimes_s, part in (([1800.0] * 200, 0.0), ([1800.0] * 198 + [9000.0] * 2, 1 - (10 / 12) ** 5)):
        found = drawn(known(log_of(runtimes_s, [3600.0] * 200, [1] * 200)), one, ran_s=7200.0)
        assert (found > 7200.0).all()
        assert (found == 9000.0).mean() == pytest.approx(part, abs=0.03)
        rest = found[found != 9000.0]
        assert (rest > 14400.0).mean() == pytest.approx(0.5, abs=0.03)
        assert (rest > 72000.0).mean() == pytest.approx(0.1, abs=0.02)


def test_what_is_not_known_at_the_instant_changes_nothing() -> None:
    log = wl.tsafrir_estimates(wl.lublin(jobs=1500, cores=64, seed=5, load=0.2), seed=5)
    truth = sm.simulate(log)
    start_s, end_s = truth.start_s, truth.end_s
    at_s = float(log.submit_s[900])
    later = (end_s > at_s) | np.isnan(end_s)
    other = replace(log, runtime_s=np.where(later, 7.0, log.runtime_s))
    jobs = log.take((log.submit_s <= at_s) & later)
    found = []
    for each in (log, other):
        past = Past(each, start_s, end_s, at_s)
        draws = np.random.default_rng(3)
        runtimes_s = past.runtimes_s(jobs, np.zeros(len(jobs)), futures=5, draws=draws)
        found.append((runtimes_s, past.arrivals(jobs, runtimes_s[0], draws=draws)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert len(found[0][1]) > 0
    for column in ("submit_s", "runtime_s", "estimate_s", "cores", "user_id"):
        np.testing.assert_array_equal(getattr(found[0][1], column), getattr(found[1][1], column))


def test_arrivals_are_those_of_one_of_the_last_weeks_of_each_user_at_their_hour() -> None:
    """User 1 comes each Monday at 9, user 2 at noon with another limit each week."""
    weeks = 10
    submit_s = [week * sm.WEEK + hour * HOUR for week in range(weeks) for hour in (9, 12)]
    limits_s = [3600.0 if k % 2 == 0 else 100.0 * (k // 2 + 1) for k in range(2 * weeks)]
    log = log_of([60.0] * 2 * weeks, limits_s, [1, 2] * weeks, submit_s)
    at_s = weeks * sm.WEEK + 3 * HOUR
    past = Past(log, log.submit_s, log.submit_s + 60.0, at_s)
    seen = set()
    for seed in range(60):
        come = past.arrivals(log.head(0), np.zeros(0), draws=np.random.default_rng(seed))
        assert ((come.submit_s - weeks * sm.WEEK) / HOUR).tolist() == [9, 12]
        assert come.job_id.min() > log.job_id.max()
        seen.add(float(come.estimate_s[1]))
    assert seen == {100.0 * week for week in range(3, 11)}, "the last eight weeks"


def test_a_job_that_came_and_has_not_ended_comes_again_as_long_as_this_future_has_it() -> None:
    log = log_of([60.0, 5.0], [3600.0, 3600.0], [1, 1], [0.0, 8 * sm.WEEK])
    at_s = 8 * sm.WEEK + 10.0
    past = Past(log, log.submit_s, np.array([60.0, at_s + 100.0]), at_s)
    running = log.take(slice(1, 2))
    lengths = set()
    for seed in range(60):
        come = past.arrivals(running, np.array([777.0]), draws=np.random.default_rng(seed))
        lengths |= set(come.runtime_s.tolist())
    assert lengths == {777.0}


def test_a_job_of_unknown_runtime_does_not_come_again() -> None:
    submit_s = [float(week) * sm.WEEK for week in range(8)]
    log = log_of([60.0, -1.0] * 4, [3600.0] * 8, [1, 2] * 4, submit_s)
    past = Past(log, log.submit_s, np.where(log.runtime_s < 0, np.nan, log.submit_s + 60.0), 8 * sm.WEEK - 10.0)
    assert past.weeks == 7
    for seed in range(40):
        come = past.arrivals(log.head(0), np.zeros(0), draws=np.random.default_rng(seed))
        assert (come.runtime_s >= 0).all()


def test_a_log_of_less_than_a_week_has_no_arrivals_and_a_past_needs_its_ends() -> None:
    log = log_of([60.0] * 3, [3600.0] * 3, [1] * 3)
    past = Past(log, log.submit_s, log.submit_s + 60.0, 1000.0)
    assert len(past.arrivals(log.head(0), np.zeros(0), draws=np.random.default_rng(0))) == 0
    for name, starts, ends in (("start_s", 2, 3), ("end_s", 3, 2)):
        with refused(f"{name} must be 3 instants, one per job (got 2)"):
            Past(log, np.zeros(starts), np.zeros(ends), 0.0)
    with refused("...not in order of submission..."):
        Past(log.take(np.array([1, 0, 2])), np.zeros(3), np.zeros(3), 0.0)
