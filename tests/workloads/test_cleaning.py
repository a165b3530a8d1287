from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.work.workload import COLUMNS, Workload
from tests.refused import refused
from workloads import FILTERS, clean, read_swf


def log(*rows: tuple[int, ...]) -> Workload:
    """Return a workload as it is read from a log: rows of submit, runtime, requested time, allocated, requested."""
    submit, runtime, asked, allocated, requested = (np.array(column) for column in zip(*rows, strict=True))
    return Workload(
        job_id=np.arange(1, len(rows) + 1),
        submit_s=submit,
        runtime_s=runtime,
        estimate_s=np.where(asked > 0, asked, runtime),
        cores=np.where(requested > 0, requested, allocated),
        max_cores=10,
        counts={"jobs": len(rows)},
        extras={"allocated_cores": allocated, "requested_cores": requested, "requested_s": asked},
    )


DRAWN = log(
    (0, 5, 9, 2, 2),  # 1: good
    (0, 5, 9, 11, 2),  # 2: allocated more than the machine has
    (0, 5, 9, 2, 11),  # 3: requested more than the machine has
    (0, 5, 9, -1, 3),  # 4: requested only
    (0, 5, 9, 4, -1),  # 5: allocated only
    (0, 5, 9, -1, 0),  # 6: no cores at all
    (0, -1, 9, 2, 2),  # 7: runtime unknown
    (-1, 5, 9, 2, 2),  # 8: submit unknown
    (0, 0, 9, 2, 2),  # 9: a runtime of 0
    (0, 9, 5, 2, 2),  # 10: longer than its estimate
    (0, 5, -1, 2, 2),  # 11: no estimate
)


TOO_LARGE = {"cores < 1": 1, "cores exceed the machine": 1}
OF_EITHER = {
    "allocated or requested cores exceed the machine": 2,
    "neither allocated nor requested cores are positive": 1,
}
OTHER_USED = {"one of allocated and requested cores is not positive, the other is used": 2}


EACH = {  # job numbers, and how many were dropped and mended why
    "runnable": (
        [1, 2, 4, 5, 8, 9, 10, 11],
        {**TOO_LARGE, "runtime < 0": 1, "estimate < 0": 0, "times beyond 2**53 s": 0},
        {},
    ),
    "strong": ([1, 4, 5, 9, 10, 11], {**OF_EITHER, "runtime < 0": 1, "submit < 0": 1}, OTHER_USED),
    "program": (
        [1, 4, 5, 9, 11],
        {**OF_EITHER, "runtime < 0": 1, "submit < 0": 1, "estimate < runtime": 1},
        OTHER_USED,
    ),
    "regression": (
        [1, 2, 4, 5, 8, 10],
        {**TOO_LARGE, "runtime <= 0": 2, "estimate <= 0": 1},
        {"no job has an estimate, the runtime is used": 0},
    ),
    "published": (
        [1, 2, 4, 5, 8, 10],
        {**TOO_LARGE, "runtime <= 0": 2, "estimate <= 0": 1},
        {"runtime cut at the estimate": 1},
    ),
}


@pytest.mark.parametrize("name", EACH)
def test_each_filter_drops_and_mends_what_it_says(name: str) -> None:
    kept, dropped, mended = EACH[name]
    cleaned = clean(DRAWN, name)
    assert cleaned.job_id.tolist() == kept
    assert dict(cleaned.counts) == {
        "jobs": 11,
        **{f"dropped: {reason}": number for reason, number in dropped.items()},
        **{f"mended: {reason}": number for reason, number in mended.items()},
    }


def test_no_job_runs_beyond_a_limit_that_it_does_not_have() -> None:
    stands_for_none = replace(log((0, 50, -1, 2, 2), (0, 5, 9, 2, 2), (0, 9, 5, 2, 2)), estimate_s=[9.0, 9.0, 5.0])
    assert clean(stands_for_none, "program").job_id.tolist() == [1, 2]
    alone = clean(stands_for_none.head(1), "regression")
    assert alone.estimate_s.tolist() == [50], "the runtime is used, where no job has an estimate"


def test_a_log_without_any_estimates_is_given_its_runtimes() -> None:
    cleaned = clean(log((0, 5, -1, 2, 2), (0, 0, 9, 2, 2), (0, 7, -1, 3, 3)), "regression")
    assert cleaned.estimate_s.tolist() == [5, 7]
    assert cleaned.counts["mended: no job has an estimate, the runtime is used"] == 2
    assert cleaned.counts["dropped: estimate <= 0"] == 0


def test_the_size_of_the_machine_is_the_headers_unless_it_is_given() -> None:
    assert clean(DRAWN, "runnable").max_cores == 10
    smaller = clean(DRAWN, "runnable", cores=2)
    assert smaller.max_cores == 2
    assert smaller.job_id.tolist() == [1, 2, 8, 9, 10, 11]
    with refused(
        "...filter 'strong' depends on the machine's cores, which workload 'workload' does not have; add cores=..."
    ):
        clean(replace(DRAWN, max_cores=None))
    with refused("cores must be an integer from 1 to 2**53, or None (got 0)"):
        clean(DRAWN, cores=0)
    with refused("unknown filter 'stron'; did you mean strong...", sm.UnknownNameError):
        clean(DRAWN, "stron")


def test_jobs_at_times_that_floats_cannot_distinguish_cannot_run() -> None:
    jobs = Workload([1, 2, 3], [0, 1e16, 9e15], [5, 5, 9e15], [5, 5, 5], [1, 1, 1])
    cleaned = clean(jobs, "runnable", cores=1)
    assert cleaned.job_id.tolist() == [1]
    assert cleaned.counts["dropped: times beyond 2**53 s"] == 2


def test_filters_follow_one_another_and_their_counts_add_up() -> None:
    both = clean(DRAWN, ["strong", "runnable"])
    assert both.job_id.tolist() == [1, 4, 5, 9, 10, 11]
    assert both.counts["dropped: runtime < 0"] == 1
    twice = clean(clean(DRAWN, "strong"), "strong")
    assert twice.counts["dropped: runtime < 0"] == 1
    assert dict(clean(DRAWN, []).counts) == {"jobs": 11}


def test_where_one_size_is_mended_others_stay_however_small_beside_the_other() -> None:
    assert clean(log((0, 5, 9, -1, 3), (0, 5, 9, 3, 1)), "strong").cores.tolist() == [3, 1]


def test_every_filter_is_registered_under_its_name_and_says_what_it_is_for() -> None:
    assert set(FILTERS) == {"runnable", "strong", "program", "regression", "published", "ends"}
    for name, chosen in FILTERS.items():
        assert chosen.name == name
        assert 0 < len(chosen.about) <= 110
        mends = [step.mend is not None for step in chosen.steps]
        assert mends == sorted(mends)


rows = st.tuples(*[st.integers(-1, 12)] * 5)


@given(st.lists(rows, min_size=1, max_size=30), st.sampled_from(sorted(FILTERS)))
def test_every_job_is_kept_or_counted_once(given_rows: list[tuple[int, ...]], name: str) -> None:
    jobs = log(*given_rows)
    cleaned = clean(jobs, name)
    dropped = sum(number for key, number in cleaned.counts.items() if key.startswith("dropped: "))
    assert len(cleaned) + dropped == len(jobs)
    assert name == "ends" or cleaned.runnable(10).all(), "ends looks at nothing but submits"
    kept = np.isin(jobs.job_id, cleaned.job_id)
    for column in ("job_id", "submit_s", "user_id"):
        np.testing.assert_array_equal(getattr(cleaned, column), getattr(jobs, column)[kept])
    again = clean(cleaned, name)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(again, column), getattr(cleaned, column))


@pytest.mark.parametrize(
    ("log_name", "published", "cores", "jobs"),
    [
        ("KTH-SP2-1996-2", "KTH-SP2", 100, 28_481),
        ("SDSC-SP2-1998-4.2-cln", "SDSC-SP2", 128, 53_999),
        ("CEA-Curie-2011-2.1-cln", "CEA-curie", 80_640, 295_540),
    ],
)
def test_the_published_filter_makes_the_inputs_of_the_published_schedules(
    shared: Path, log_name: str, published: str, cores: int, jobs: int
) -> None:
    made = clean(read_swf(shared / "traces" / f"{log_name}.swf.gz"), "published", cores=cores)
    wanted = read_swf(shared / "oracles" / "easy_published" / f"{published}.input.swf.gz")
    # The published SDSC-SP2 was made of an earlier cleaning of that log, which had the jobs 4 to 10 too.
    missing = ~np.isin(wanted.job_id, made.job_id)
    assert wanted.job_id[missing].tolist() == ([4, 5, 6, 7, 8, 9, 10] if published == "SDSC-SP2" else [])
    wanted = wanted.take(~missing)
    assert len(made) == jobs
    assert made.max_cores == wanted.max_cores
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(made, column), getattr(wanted, column), err_msg=column)


def test_real_logs_keep_what_can_run(shared: Path) -> None:
    jobs = read_swf(shared / "traces" / "SDSC-SP2-1998-4.2-cln.swf.gz")
    kept = {"strong": 54_044, "program": 49_910, "regression": 53_999}
    assert {name: len(clean(jobs, name)) for name in kept} == kept


def test_weeks_with_hardly_a_job_are_cut_off_at_the_ends_and_kept_in_between() -> None:
    weeks = np.repeat([0, 40, 41, 42, 43, 44, 90], [1, 100, 100, 2, 100, 100, 4])
    submit_s = weeks * sm.WEEK + np.arange(len(weeks)) % 7 * sm.DAY
    jobs = Workload(np.arange(len(weeks)), submit_s, np.ones(len(weeks)), np.ones(len(weeks)), np.ones(len(weeks)))
    cleaned = clean(jobs, "ends", cores=4)
    assert cleaned.counts["dropped: in a week at an end of the log with hardly a job"] == 1 + 4
    assert len(cleaned) == 402
    assert clean(jobs.head(1), "ends", cores=4).counts["dropped: in a week at an end of the log with hardly a job"] == 0
