"""Resampling: whole weeks of users, at their place in the week, drawn by seed and index."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from workloads.resampling import AFTER, BEFORE, ENDS, LEFT_OUT, whole_weeks

MONDAY = 4 * 86_400  # 1970-01-05, 00:00 UTC


def log_of(rows: list[tuple[float, int]], **about: object) -> sm.Workload:
    """Return a log of (submit, user)s; a job's runtime is its number."""
    submit, user = zip(*rows, strict=True)
    numbers = np.arange(1, len(rows) + 1)
    return sm.Workload(numbers, submit, numbers, numbers, np.ones(len(rows)), user, **about)


def test_of_one_week_and_one_user_the_week_comes_again_and_again() -> None:
    log = log_of([(0.0, 1), (100.0, 1), (sm.WEEK, 1)])
    made = wl.resample(log, weeks=3)
    assert made.submit_s.tolist() == [0.0, 100.0, sm.WEEK, sm.WEEK + 100.0, 2 * sm.WEEK, 2 * sm.WEEK + 100.0]
    assert made.extras["source_job_id"].tolist() == [1, 2, 1, 2, 1, 2]
    assert made.job_id.tolist() == [1, 2, 3, 4, 5, 6]
    assert made.counts[AFTER] == 1, "the third job stood alone in a partial week"


@given(
    rows=st.lists(st.tuples(st.integers(0, 5 * 604_800), st.integers(-1, 4)), min_size=2, max_size=60),
    weeks=st.integers(1, 8),
    index=st.integers(0, 3),
    how=st.sampled_from(["drawn", "permuted"]),
)
def test_each_week_of_a_user_is_a_week_of_the_log_at_the_same_place(
    rows: list[tuple[int, int]], weeks: int, index: int, how: str
) -> None:
    log = log_of([*rows, (0, 0), (5 * 604_800, 0)])
    log = replace(log, extras={"requested_s": np.where(log.job_id % 2 == 0, -1.0, 60.0)})
    made = wl.resample(log, weeks=weeks, seed=3, index=index, how=how)
    source = made.extras["source_job_id"] - 1
    assert (made.runtime_s == log.runtime_s[source]).all()
    assert (made.user_id == log.user_id[source]).all()
    assert (made.unlimited() == log.unlimited()[source]).all()
    assert (np.diff(made.submit_s) >= 0).all()
    assert (np.mod(made.submit_s, sm.WEEK) == np.mod(log.submit_s[source], sm.WEEK)).all()
    of_log, of_made = log.submit_s // sm.WEEK, made.submit_s // sm.WEEK
    assert made.submit_s.max(initial=0.0) < weeks * sm.WEEK
    inside = (of_log >= (1 if how == "permuted" else 0)) & (of_log < (4 if how == "permuted" else 5))
    for user in np.unique(made.user_id):
        for week in range(weeks):
            rows_of = source[(made.user_id == user) & (of_made == week)]
            drawn = np.unique(of_log[rows_of])
            assert len(drawn) <= 1, "of one week of the log"
            for number in drawn:
                assert len(rows_of) == ((log.user_id == user) & (of_log == number) & inside).sum(), "and all of it"


def test_the_same_seed_and_index_give_the_same_trace_whatever_was_made_before() -> None:
    log = log_of([(float(t), t % 7) for t in range(0, 3 * 604_800 + 1, 5_000)])
    one, other = (wl.resample(log, weeks=5, seed=1, index=2) for _ in range(2))
    assert (one.submit_s == other.submit_s).all()
    assert (wl.resample(log, weeks=5).submit_s == wl.resample(log, weeks=5, seed=0, index=0).submit_s).all()
    assert not np.array_equal(one.submit_s, wl.resample(log, weeks=5, seed=1, index=3).submit_s)


def test_permuted_weeks_come_each_once_before_any_comes_again_without_the_ends() -> None:
    log = log_of([(week * sm.WEEK + 5.0, 1) for week in range(6)])
    made = wl.resample(log, weeks=6, how="permuted")
    # Five whole weeks, of which the first and last are left out.
    assert sorted(made.extras["source_job_id"][:3].tolist()) == [2, 3, 4]
    assert sorted(made.extras["source_job_id"][3:].tolist()) == [2, 3, 4]
    assert made.counts[ENDS] == 2


@pytest.mark.parametrize(
    ("start_unix_s", "header", "dropped"),
    [
        (None, (), 0),  # no start is known: weeks begin at the first submit
        (MONDAY, (), 0),
        (MONDAY + 1, (), 1),  # the first Monday comes nearly a week after the first submit
        (MONDAY - 3600, ("; TimeZoneString: Europe/Paris",), 0),  # midnight in Paris
        (MONDAY - 3600, ("; TimeZone: 3600",), 0),
        (MONDAY - 3600, ("; TimeZoneString: Nonsense", "; TimeZone: 3600"), 0),  # of two, the one that is known
        (MONDAY - 3600, (), 1),
        (MONDAY - 3600, ("; TimeZoneString: Nowhere/Land",), 1),
    ],
)
def test_weeks_begin_on_monday_at_midnight_of_the_place(
    start_unix_s: int | None, header: tuple[str, ...], dropped: int
) -> None:
    log = log_of([(0.0, 1), (8 * 86_400.0, 1), (40 * 86_400.0, 1)], start_unix_s=start_unix_s, header=header)
    assert wl.resample(log, weeks=1).counts[BEFORE] == dropped
    assert wl.resample(log, weeks=1, monday=False).counts[BEFORE] == 0


def test_jobs_that_cannot_be_simulated_are_left_out_and_counted() -> None:
    log = sm.Workload([1, 2, 3], [0, 10, 604_800], [5, -1, 5], [5, 5, 5], [1, 1, 1])
    made = wl.resample(log, weeks=2)
    assert made.counts[LEFT_OUT] == 1
    assert made.extras["source_job_id"].tolist() == [1, 1]


def test_a_real_log_is_resampled_into_two_years_with_its_habits(shared: Path) -> None:
    log = wl.clean(wl.read_swf(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"), "strong")
    made = wl.resample(log, seed=1, index=1)
    assert made.submit_s.max() < 104 * sm.WEEK
    hours = [np.bincount((one % sm.DAY // sm.HOUR).astype(int), minlength=24) for one in (log.submit_s, made.submit_s)]
    shifted = np.roll(hours[0], 14)  # the log begins at 14:00, a resample at midnight
    assert np.corrcoef(shifted / len(log), hours[1] / len(made))[0, 1] > 0.97
    assert abs(made.runtime_s.mean() / log.runtime_s.mean() - 1) < 0.1


@pytest.mark.parametrize(("start_unix_s", "header"), [(253_402_300_799, "; TimeZone: 3600"), (10**14, "")])
def test_a_start_beyond_all_dates_has_weeks_all_the_same(start_unix_s: int, header: str) -> None:
    log = wl.lublin(jobs=400, cores=16, seed=1)
    odd = replace(log, start_unix_s=start_unix_s, header=(header,))
    assert whole_weeks(odd) in {whole_weeks(log), whole_weeks(log) - 1}
