import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simmodels.units import HOUR, MINUTE
from simmodels.work.workload import COLUMNS, Workload
from workloads import TsafrirParameters, clean, lublin, read_swf, tsafrir_estimates
from workloads.tsafrir import COMMON_S, POPULAR, RANKS, _dealt_ranks, _round_values


def jobs_of(runtimes_s: list[float] | np.ndarray) -> Workload:
    """Return a workload of jobs that run so long."""
    rows = np.arange(len(runtimes_s))
    return Workload(rows + 1, rows, runtimes_s, runtimes_s, np.ones(len(rows)))


def usage(jobs: Workload) -> dict[float, int]:
    """Return how many jobs use each estimate, the most popular first."""
    values, numbers = np.unique(jobs.estimate_s, return_counts=True)
    order = np.argsort(-numbers, kind="stable")
    return dict(zip(values[order].tolist(), numbers[order].tolist(), strict=True))


MANY = lublin(20_000, 128, seed=1)


# -- properties -------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(0, 1e6) | st.integers(0, 100).map(float), min_size=1, max_size=60),
    st.integers(0, 2**40),
    st.none() | st.floats(1, 10),
)
def test_no_estimate_is_shorter_than_its_job_runs_or_longer_than_allowed(
    runtimes_s: list[float], seed: int, factor: float | None
) -> None:
    most = None if factor is None else max(*runtimes_s, HOUR) * factor
    jobs = jobs_of(runtimes_s)
    made = tsafrir_estimates(jobs, seed=seed, max_estimate_s=most)
    assert (made.estimate_s >= jobs.runtime_s).all()
    assert (made.estimate_s > 0).all()
    assert made.estimate_s.max() <= (most or max(math.ceil(max(runtimes_s) / HOUR), 1) * HOUR)
    for name in COLUMNS:
        if name != "estimate_s":
            np.testing.assert_array_equal(getattr(made, name), getattr(jobs, name))
    again = tsafrir_estimates(jobs, seed=seed, max_estimate_s=most)
    np.testing.assert_array_equal(again.estimate_s, made.estimate_s)


@settings(max_examples=30)
@given(st.integers(0, 2**40), st.floats(100 * MINUTE, 400 * HOUR))
def test_twenty_values_are_popular_and_the_largest_the_most(seed: int, most: float) -> None:
    jobs = jobs_of(np.full(10_000, 10.0))
    made = tsafrir_estimates(jobs, seed=seed, max_estimate_s=most)
    used = usage(made)
    assert next(iter(used)) == most == made.estimate_s.max()
    assert sum(list(used.values())[:POPULAR]) == 8900
    assert len(used) == pytest.approx(90, abs=40)  # short times leave fewer whole minutes
    assert set(list(used)[:POPULAR]) == set(_round_values(most))


def test_jobs_that_had_no_limit_have_one_then() -> None:
    none = replace(MANY, extras={"requested_s": np.full(len(MANY), -1.0)})
    assert none.unlimited().all()
    assert not tsafrir_estimates(none, seed=1).unlimited().any()


# -- against the model as published -----------------------------------------------------------------


def test_shares_of_the_head_are_the_published_exponential() -> None:
    made = tsafrir_estimates(jobs_of(np.full(100_000, 1.0)), max_estimate_s=36 * HOUR)
    shares = np.array(list(usage(made).values()))[:POPULAR] / 1000  # per cent
    expected = [14.0491 * math.exp(-0.177531 * rank) + 0.462513 for rank in range(2, POPULAR + 1)]
    np.testing.assert_allclose(shares[1:], expected, atol=0.002)
    assert shares.sum() == pytest.approx(89, abs=0.02)


def test_shares_of_the_tail_are_the_published_power_law() -> None:
    made = tsafrir_estimates(jobs_of(np.full(250_000, 1.0)), max_estimate_s=200 * HOUR)
    numbers = np.array(list(usage(made).values()))
    assert len(numbers) == pytest.approx(565, abs=30)
    ranks = np.arange(21, 121)
    slope = np.polyfit(np.log(ranks), np.log(numbers[20:120]), 1)[0]
    assert slope == pytest.approx(-2.267, abs=0.02)


def test_times_of_the_tail_are_the_published_curve() -> None:
    most = 100 * HOUR
    made = tsafrir_estimates(jobs_of(np.full(250_000, 1.0)), max_estimate_s=most)
    tail = np.sort([value for value in usage(made) if value not in _round_values(most)])
    part = np.arange(1, len(tail) + 1) / len(tail)
    a = 1 + 12.1039 * 565**-0.6026
    np.testing.assert_allclose(tail / most, (a - 1) * part / (a - part), atol=0.02)


@pytest.mark.parametrize(("jobs", "distinct"), [(20, 10), (1000, 35), (70_000, 340)])
def test_more_jobs_use_more_values(jobs: int, distinct: int) -> None:
    made = tsafrir_estimates(jobs_of(np.full(jobs, 1.0)), max_estimate_s=300 * HOUR)
    assert len(usage(made)) == pytest.approx(max(distinct, min(jobs, 14)), rel=0.35 if jobs < 1000 else 0.1)


def test_the_head_has_the_common_values_and_round_ones() -> None:
    assert _round_values(160 * HOUR) == [160 * HOUR, *COMMON_S, *(hours * HOUR for hours in (50, 100, 140, 150))]
    assert _round_values(18 * HOUR)[:2] == [18 * HOUR, 5 * MINUTE]
    assert len(_round_values(18 * HOUR)) == len(set(_round_values(18 * HOUR))) == POPULAR
    assert _round_values(HOUR) == [HOUR, *(5 * MINUTE * number for number in range(1, 12))]


def test_popularity_is_dealt_within_what_the_logs_had() -> None:
    assert all(sorted(column) == list(range(1, 21)) for column in zip(*RANKS, strict=True))
    seen = np.zeros((POPULAR, POPULAR), dtype=bool)
    for seed in range(300):
        ranks = _dealt_ranks(POPULAR, {}, np.random.Generator(np.random.PCG64(seed)))
        assert sorted(ranks) == list(range(POPULAR))
        assert ranks[0] == 0
        seen[np.arange(POPULAR), ranks] = True
    first = {rank: at for at, row in reversed(list(enumerate(RANKS))) for rank in row}
    for at, rank in zip(*np.nonzero(seen), strict=True):
        assert at >= first[int(rank) + 1]
    assert seen.sum() > 60  # it is drawn, not fixed


def test_a_jobs_estimate_is_drawn_from_all_that_are_long_enough() -> None:
    made = tsafrir_estimates(MANY)
    short = made.take(MANY.runtime_s < 60)
    long = made.take(MANY.runtime_s > 10 * HOUR)
    assert len(usage(short)) > 20
    assert long.estimate_s.min() >= 10 * HOUR
    assert short.estimate_s.max() == made.estimate_s.max()
    assert made.counts["estimates of the model"] == len(MANY)
    assert made.counts["estimates raised to cover a runtime"] == 0


# -- what is known of a machine ---------------------------------------------------------------------


def test_known_popular_values_have_the_shares_given() -> None:
    known = {36 * HOUR: 0.05, 1234.0: 0.4, 10 * MINUTE: 0.1}
    made = tsafrir_estimates(jobs_of(np.full(10_000, 1.0)), max_estimate_s=36 * HOUR, popular=known)
    used = usage(made)
    for value_s, share in known.items():
        assert used[value_s] == pytest.approx(share * 10_000, abs=1)
    round_s = {*_round_values(36 * HOUR), 1234.0}
    assert sum(number for value_s, number in used.items() if value_s in round_s) == pytest.approx(8900, abs=2)
    everything = tsafrir_estimates(jobs_of([1.0] * 100), popular={HOUR: 1.0})
    assert usage(everything) == {HOUR: 100}


@settings(max_examples=40)
@given(st.dictionaries(st.integers(1, 3600).map(float), st.floats(0, 0.05), max_size=19), st.integers(0, 99))
def test_any_known_values_are_used_as_often_as_they_are(known: dict[float, float], seed: int) -> None:
    made = tsafrir_estimates(jobs_of(np.full(5000, 0.5)), seed=seed, max_estimate_s=2 * HOUR, popular=known)
    used = usage(made)
    for value_s, share in known.items():
        assert used.get(value_s, 0) == pytest.approx(share * 5000, abs=1.01)


def test_where_jobs_run_too_long_estimates_are_raised_and_counted() -> None:
    made = tsafrir_estimates(jobs_of([5.5 * HOUR] * 100), max_estimate_s=9 * HOUR)
    assert made.counts["estimates raised to cover a runtime"] > 50
    assert made.estimate_s.min() == 6 * HOUR
    assert set(usage(made)) <= {6 * HOUR, *np.arange(5.5 * HOUR, 9 * HOUR + 1, 30)}


def test_other_parameters_are_used() -> None:
    flat = TsafrirParameters(head_share=1.0, head=(0.0, -1.0, 5.0))
    made = tsafrir_estimates(jobs_of([1.0] * 1000), max_estimate_s=36 * HOUR, parameters=flat)
    assert sorted(usage(made).values()) == [50] * 20


# -- real logs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "cores"), [("KTH-SP2-1996-2.1-cln", 100), ("SDSC-SP2-1998-4.2-cln", 128)])
def test_a_real_log_gets_estimates_like_its_own(shared: Path, name: str, cores: int) -> None:
    real = clean(read_swf(shared / "traces" / f"{name}.swf.gz"), "published", cores=cores)
    most = float(real.estimate_s.max())
    known = {most: float((real.estimate_s == most).mean())}
    made = tsafrir_estimates(replace(real, estimate_s=real.runtime_s), max_estimate_s=most, popular=known)
    assert (made.estimate_s >= real.runtime_s).all()
    assert made.counts["estimates raised to cover a runtime"] < 0.01 * len(real)
    head = [sum(list(usage(one).values())[:POPULAR]) / len(real) for one in (made, real)]
    assert head[0] == pytest.approx(head[1], abs=0.15)
    accuracy = [(one.runtime_s / one.estimate_s).mean() for one in (made, real)]
    assert accuracy[0] < 0.6
    assert np.log10(made.estimate_s).mean() == pytest.approx(np.log10(real.estimate_s).mean(), abs=0.5)
