"""Workload: columns that nobody can change, cut and moved without loss, and refusals in words."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.work.workload import COLUMNS, Job, Workload
from tests.refused import refused

WHOLE = st.integers(-(2**40), 2**40)
SECONDS = st.integers(0, 10**7).map(float) | st.floats(0, 1e7, allow_nan=False)


@st.composite
def workloads(draw: st.DrawFn, min_jobs: int = 0) -> Workload:
    """Draw a workload with ties, fractions, jobs that cannot run, and a further column."""
    jobs = draw(st.integers(min_jobs, 12))

    def column(of: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(of, min_size=jobs, max_size=jobs))

    return Workload(
        job_id=column(WHOLE),
        submit_s=column(st.integers(0, 5).map(float) | SECONDS),
        runtime_s=column(st.just(-1.0) | SECONDS),
        estimate_s=column(st.just(-1.0) | SECONDS),
        cores=column(st.integers(-1, 64)),
        user_id=column(st.integers(-1, 9)),
        name=draw(st.sampled_from(["workload", "KTH"])),
        max_cores=draw(st.none() | st.integers(1, 100)),
        start_unix_s=draw(st.none() | st.integers(0, 2**31)),
        header=("; Version: 2.2",),
        counts={"read": jobs},
        extras={"queue": np.array(column(st.integers(0, 3)), dtype=np.int64)},
    )


def small(**changes: object) -> Workload:
    """Return three jobs, of which the second is submitted first."""
    columns: dict[str, object] = {
        "job_id": [1, 2, 3],
        "submit_s": [10.0, 0.0, 10.0],
        "runtime_s": [5.0, 6.0, 7.0],
        "estimate_s": [50.0, 60.0, 70.0],
        "cores": [1, 2, 3],
    }
    return Workload(**{**columns, **changes})  # type: ignore[arg-type]


def same(one: Workload, other: Workload, *but: str) -> bool:
    """Return whether two workloads have equal fields, with equal types, except those named."""
    for field in fields(Workload):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in but or not field.init:  # what is found when it is asked for is not a part of it
            continue
        if field.name in COLUMNS:
            if a.dtype != b.dtype or not np.array_equal(a, b):
                return False
        elif field.name == "extras":
            if list(a) != list(b) or not all(np.array_equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a):
                return False
        elif type(a) is not type(b) or a != b:
            return False
    return type(one) is type(other)


# -- columns ----------------------------------------------------------------------------------------


def test_columns_have_their_types_whatever_numbers_they_came_as() -> None:
    given = small(job_id=np.array([1, 2, 3], np.uint8), submit_s=[1, 2, 3], cores=np.array([1.0, 2.0, 3.0], np.float32))
    for name in ("submit_s", "runtime_s", "estimate_s"):
        assert getattr(given, name).dtype == np.float64
    for name in ("job_id", "cores", "user_id"):
        assert getattr(given, name).dtype == np.int64
    assert given.cores.tolist() == [1, 2, 3]
    assert given.user_id.tolist() == [-1, -1, -1]
    assert (given.name, given.max_cores, given.start_unix_s, given.header) == ("workload", None, None, ())
    assert (dict(given.counts), dict(given.extras)) == ({}, {})
    assert repr(small()) == "<Workload 'workload': 3 jobs>"
    assert repr(small(name="KTH", max_cores=100)) == "<Workload 'KTH': 3 jobs, max_cores=100>"


def test_no_column_and_no_field_can_be_changed_in_place() -> None:
    given = small(counts={"read": 3}, extras={"queue": np.array([1, 2, 3])})
    for column in (*(getattr(given, name) for name in COLUMNS), given.extras["queue"]):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 9
    with pytest.raises(FrozenInstanceError):
        given.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        given.counts["read"] = 4  # type: ignore[index]
    with pytest.raises(TypeError):
        given.extras["queue"] = np.zeros(3)  # type: ignore[index]


def test_a_later_change_of_the_arrays_it_was_made_of_does_not_reach_it() -> None:
    runtime, queue, counts = np.array([5.0, 6.0, 7.0]), np.array([1, 2, 3]), {"read": 3}
    hidden = runtime[:]
    hidden.flags.writeable = False  # read-only itself, but its memory is not
    table = pd.DataFrame({"submit_s": [0.0, 1.0], "runtime_s": [1.0, 2.0], "cores": [1, 2], "queue": [7, 8]})
    one = small(runtime_s=runtime, extras={"queue": queue}, counts=counts)
    other, third = small(runtime_s=hidden), Workload.from_frame(table)
    runtime[0], queue[0], counts["read"] = 99.0, 99, 99
    table.loc[0, ["runtime_s", "cores", "queue"]] = 99
    again = one.to_frame()
    again.loc[0, "runtime_s"] = 99
    assert one.runtime_s[0] == other.runtime_s[0] == 5.0
    assert (one.extras["queue"][0], one.counts["read"]) == (1, 3)
    assert (third.runtime_s[0], third.cores[0], third.extras["queue"][0]) == (1.0, 1, 7)
    assert runtime.flags.writeable


def test_an_array_that_nobody_can_change_is_not_copied() -> None:
    runtime = np.array([5.0, 6.0, 7.0])
    runtime.flags.writeable = False
    given = small(runtime_s=runtime)
    assert np.shares_memory(given.runtime_s, runtime)
    assert np.shares_memory(given.take(slice(1, 3)).runtime_s, runtime)
    assert np.shares_memory(given.shift(1.0).runtime_s, runtime)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cores": [1, 2]}, "column cores has 2 rows; job_id has 3"),
        ({"runtime_s": [[1.0], [2.0], [3.0]]}, "column runtime_s has 2 dimensions; a column has one"),
        ({"cores": ["1", "2", "3"]}, "column cores, row 0, must be a number (got '1')"),
        ({"cores": ["1", "many", "3"]}, "column cores, row 1, must be a number (got 'many')"),
        ({"cores": [1, None, 3]}, "column cores, row 1, must be a number (got None)"),
        ({"job_id": [1, 2**80, 3]}, "column job_id must be numbers (got object)"),
        ({"submit_s": pd.to_datetime(["2024-01-01"] * 3)}, "column submit_s must be numbers (got dates); ... of dates"),
        ({"submit_s": [0.0, np.nan, 1.0]}, "column submit_s, row 1, must be a finite number (got nan)"),
        ({"cores": [1.0, 2.5, 3.0]}, "column cores, row 1, must be an integer of 64 bits (got 2.5)"),
        ({"job_id": [1.0, 2.0, 1e300]}, "column job_id, row 2, must be an integer of 64 bits (got 1e+300)"),
        (
            {"job_id": np.array([1, 2, 2**63], np.uint64)},
            "column job_id, row 2, ... of 64 bits (got 9223372036854775808)",
        ),
        ({"extras": {"queue": np.zeros(2)}}, "column queue has 2 rows; job_id has 3"),
        ({"extras": {"queue": np.zeros((3, 2))}}, "column queue has 2 dimensions; a column has one"),
        ({"extras": {"cores": np.zeros(3)}}, "a further column is named cores; give it a name other than those of ..."),
        ({"max_cores": 0}, "max_cores must be an integer >= 1, or None (got 0)"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes: dict[str, object], text: str) -> None:
    with refused(text):
        small(**changes)


# -- copies -----------------------------------------------------------------------------------------


@given(workloads())
def test_a_workload_survives_pickling_and_copying(given: Workload) -> None:
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        back = pickle.loads(pickle.dumps(given, protocol))
        assert same(back, given)
        assert not back.cores.flags.writeable
    assert same(copy.copy(given), given)
    assert same(copy.deepcopy(given), given)
    assert same(replace(given), given)


class Named(Workload):
    """A workload of a user's own class."""


def test_a_class_of_ones_own_is_kept_by_cutting_moving_and_pickling() -> None:
    given = Named(*(getattr(small(), name) for name in COLUMNS))
    for made in (given.head(2), given.shift(), given.scale_load(2.0), pickle.loads(pickle.dumps(given))):
        assert type(made) is Named
    assert type(Named.from_frame(given.to_frame())) is Named


# -- take, head, between ----------------------------------------------------------------------------


@given(workloads(), st.data())
def test_take_gives_these_rows_in_this_order_and_nothing_else_changes(given: Workload, data: st.DataObject) -> None:
    indices = st.lists(st.integers(0, len(given) - 1), max_size=20) if len(given) else st.just([])
    rows = data.draw(indices)
    taken = given.take(np.array(rows, dtype=np.int64))
    assert [taken.job(row) for row in range(len(taken))] == [given.job(row) for row in rows]
    assert taken.extras["queue"].tolist() == [given.extras["queue"][row] for row in rows]
    assert same(taken.take(slice(0)), given.take(slice(0)))
    assert not taken.submit_s.flags.writeable
    assert not taken.extras["queue"].flags.writeable


@given(workloads(), st.data())
def test_take_by_mask_indices_and_slice_agree(given: Workload, data: st.DataObject) -> None:
    start, stop = sorted(data.draw(st.tuples(st.integers(0, len(given)), st.integers(0, len(given)))))
    mask = np.zeros(len(given), dtype=bool)
    mask[start:stop] = True
    by_slice = given.take(slice(start, stop))
    assert same(given.take(mask), by_slice)
    assert same(given.take(np.arange(start, stop)), by_slice)


@given(workloads(), st.integers(0, 15))
def test_head_gives_the_first_by_submit_and_then_by_position(given: Workload, jobs: int) -> None:
    by_submit = sorted(range(len(given)), key=lambda row: (given.submit_s[row], row))
    assert same(given.head(jobs), given.take(np.array(sorted(by_submit[:jobs]), dtype=np.int64)))


@given(workloads(), SECONDS, SECONDS, SECONDS)
def test_windows_side_by_side_share_no_job_and_lose_none(given: Workload, a: float, b: float, c: float) -> None:
    start, middle, end = sorted((a, b, c))
    whole, left, right = given.between(start, end), given.between(start, middle), given.between(middle, end)
    assert len(left) + len(right) == len(whole)
    assert ((left.submit_s >= start) & (left.submit_s < middle)).all()
    assert ((right.submit_s >= middle) & (right.submit_s < end)).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda jobs: jobs.head(-1), "jobs must be an integer from 0 to 2**53 (got -1)"),
        (lambda jobs: jobs.between(2.0, 1.0), "start_s must be at most end_s, 1.0 (got 2.0)"),
        (lambda jobs: jobs.between(np.nan, 1.0), "start_s must be a number of seconds (got nan)"),
        (lambda jobs: jobs.between(0.0, np.nan), "end_s must be a number of seconds (got nan)"),
        (lambda jobs: jobs.shift(-np.inf), "by_s must be a finite number of seconds (got -inf)"),
        (lambda jobs: jobs.scale_load(0.0), "factor must be a finite number > 0 (got 0.0)"),
    ],
)
def test_a_cut_or_a_move_that_cannot_be_is_refused(call: Callable[[Workload], object], text: str) -> None:
    with refused(text):
        call(small(start_unix_s=0))


# -- shift, scale_load ------------------------------------------------------------------------------


@given(workloads(min_jobs=1))
def test_shift_puts_the_first_submit_at_zero(given: Workload) -> None:
    shifted = given.shift()
    assert shifted.submit_s.min() == 0.0
    assert same(shifted, given, "submit_s", "start_unix_s")


@given(workloads(), st.integers(-(10**6), 10**6))
def test_a_shift_by_whole_seconds_there_and_back_keeps_the_instants(given: Workload, by_s: int) -> None:
    whole = replace(given, submit_s=np.floor(given.submit_s))
    shifted = whole.shift(float(by_s))
    assert (shifted.submit_s == whole.submit_s + by_s).all()
    if whole.start_unix_s is not None:
        assert shifted.start_unix_s == whole.start_unix_s - by_s
        assert whole.shift(by_s + 0.5).start_unix_s is None
    assert same(shifted.shift(float(-by_s)), whole)


@given(workloads(min_jobs=1), st.sampled_from([0.25, 0.5, 0.9, 1.0, 1.7, 2.0, 8.0]))
def test_scale_load_divides_the_gaps_and_nothing_else(given: Workload, factor: float) -> None:
    scaled = given.scale_load(factor)
    first = given.submit_s.min()
    assert scaled.submit_s.min() == first
    np.testing.assert_allclose((scaled.submit_s - first) * factor, given.submit_s - first, rtol=1e-9, atol=1e-6)
    assert (np.diff(scaled.submit_s[np.argsort(given.submit_s, kind="stable")]) >= 0).all()
    assert same(scaled, given, "submit_s", "start_unix_s")
    assert scaled.start_unix_s is None


# -- tables -----------------------------------------------------------------------------------------


@given(workloads())
def test_a_workload_comes_back_from_its_table(given: Workload) -> None:
    about = {name: getattr(given, name) for name in ("name", "max_cores", "start_unix_s", "header", "counts")}
    table = given.to_frame()
    assert list(table.columns) == [*COLUMNS, "queue"]
    assert same(Workload.from_frame(table, **about), given)


def test_a_job_is_a_record_of_plain_numbers() -> None:
    job = small(user_id=[4, 5, 6]).job(1)
    assert job == Job(2, 0.0, 6.0, 60.0, 2, 5)
    assert [type(getattr(job, field.name)) for field in fields(Job)[:6]] == [int, float, float, float, int, int]
    assert Job(1, 0.0, 1.0, 1.0, 1).user_id == -1


# -- what can run -----------------------------------------------------------------------------------


@given(workloads(), st.lists(st.integers(1, 64), min_size=1, max_size=3))
def test_what_is_runnable_is_required_without_an_error(given: Workload, machines: list[int]) -> None:
    for cores in machines:
        good = given.runnable(cores)
        assert good.dtype == np.bool_
        given.take(good).require_runnable(cores)
        assert (given.runnable() >= good).all()
        impossible = ~good & given.known()  # who is unknown is left out, not refused
        if impossible.any():
            with pytest.raises(sm.ImpossibleJobError) as caught:
                given.require_runnable(cores)
            assert caught.value.job_id == given.job_id[impossible][0]
            assert caught.value.others == impossible.sum() - 1
        else:
            given.require_runnable(cores)


@given(workloads())
def test_jobs_are_in_order_that_are_all_known_and_come_one_after_the_other(given: Workload) -> None:
    assert given.is_in_order == (bool(given.known().all()) and given.submit_s.tolist() == sorted(given.submit_s))
    in_order = given.take(np.argsort(given.submit_s, kind="stable"))
    assert in_order.is_in_order == bool(given.known().all())


def test_a_workload_that_is_made_of_another_is_looked_through_again() -> None:
    log = small(submit_s=[0, 1, 2], cores=[1, 1, 1])
    log.require_runnable(1)
    assert log.is_in_order
    assert not replace(log, submit_s=[2, 1, 0]).is_in_order
    with refused("job 1: needs 2 cores, and the machine has 1", sm.ImpossibleJobError):
        replace(log, cores=[2, 1, 1]).require_runnable(1)
    assert not pickle.loads(pickle.dumps(replace(log, submit_s=[2, 1, 0]))).is_in_order


APART = "between -2**53 and 2**53 s, beyond which floats cannot represent every second"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cores": [1, 9, 3]}, "job 2: needs 9 cores, and the machine has 3"),
        ({"cores": [1, 0, 3]}, "job 2: cores must be an integer >= 1 (got 0)"),
        ({"runtime_s": [1, -2, 3]}, "job 2: runtime_s must be a number of seconds >= 0 (got -2.0)"),
        ({"estimate_s": [1, -0.5, 3]}, "job 2: estimate_s must be a number of seconds >= 0 (got -0.5)"),
        ({"submit_s": [0, 1e16, 2]}, f"job 2: submit_s must be {APART} (got 1e+16)"),
        ({"submit_s": [0, -(2**53), 2]}, f"job 2: submit_s must be {APART} (got -9007199254740992.0)"),
        ({"submit_s": [0, 2**53 - 1, 2]}, f"job 2: submit_s + runtime_s must be {APART} (got 9007199254740996.0)"),
        ({"cores": [9, 0, 3]}, "job 1: needs 9 cores, ... has 3 (1 more job of this input is refused too)"),
    ],
)
def test_a_job_that_can_never_run_is_refused_by_name(changes: dict[str, object], text: str) -> None:
    with refused(text, sm.ImpossibleJobError):
        small(**changes).require_runnable(3)
    small(runtime_s=[0, 0, 0], estimate_s=[0, 0, 0], cores=[3, 3, 3]).require_runnable(3)
    assert small(cores=[-1, 2, 3], runtime_s=[1, -1, 0]).known().tolist() == [False, False, True]


def flow(job_id: int, *runtimes_s: float) -> sm.Workflow:
    return sm.Workflow(job_id, float(job_id), runtimes_s, 2, [(k, k + 1) for k in range(len(runtimes_s) - 1)])


def test_workflows_are_a_workload_with_a_row_for_each_task() -> None:
    work = Workload.of_workflows([flow(1, 10, 20), flow(2, 5)], name="flows")
    assert not work.is_rigid
    assert work.job_id.tolist() == [1, 1, 2]
    assert work.submit_s.tolist() == [1, 1, 2]
    assert work.runtime_s.tolist() == work.estimate_s.tolist() == [10, 20, 5]
    assert work.tasks.task.tolist() == [0, 1, 0]
    assert work.tasks.edges.tolist() == [[0, 1]]
    assert repr(work) == "<Workload 'flows': 2 workflows of 3 tasks>"
    again = pickle.loads(pickle.dumps(work))
    assert again.workflows[0].runtime_s.tolist() == [10, 20]


def named(**numbers: int) -> Workload:
    """Return a job of each of these users, each in an account of the same number and name."""
    texts, ids = np.array(list(numbers)), np.array(list(numbers.values()))
    jobs = np.arange(len(ids))
    extras = {"user": texts, "account": ids, "account_name": texts}
    return Workload(jobs + 1, jobs, jobs, jobs, np.ones(len(ids)), ids, extras=extras)


def test_parts_that_number_names_otherwise_are_refused() -> None:
    assert Workload.concat([named(ann=1, bob=2), named(bob=2, cat=3)]).names("account") == {
        "ann": 1,
        "bob": 2,
        "cat": 3,
    }
    for other in (named(bob=1), named(ann=3), named(cat=4, bob=5)):
        with refused(
            "user '...' is number ... of one part, and another name or number of another; read the files...",
            sm.RequestError,
        ):
            Workload.concat([named(ann=1, bob=2), other])
        assert len(Workload.concat([named(ann=1, bob=2), other], alike=False)) == 2 + len(other)
    accounts = replace(named(bob=1), user_id=[2])
    with refused("account '...", sm.RequestError):
        Workload.concat([named(ann=1, bob=2), accounts])


def test_logs_and_workflows_can_be_one_workload() -> None:
    log = Workload([7, 8], [0, 3], [4, 4], [4, 4], [1, 1], extras={"queue": np.array([1, 2])}, counts={"lines": 2})
    work = Workload.concat([flow(1, 10, 20), log, [flow(2, 5)], log])
    assert work.job_id.tolist() == [1, 1, 7, 8, 2, 7, 8]
    assert work.rigid().tolist() == [False, False, True, True, False, True, True]
    assert work.tasks.first.tolist() == [0, 4]
    assert work.tasks.task.tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert [work.label(row) for row in (1, 2, 4)] == ["job 1, task 1", "job 7", "job 2, task 0"]
    assert dict(work.counts) == {"lines": 4}
    assert work.take([1, 2]).is_rigid
    both = Workload.concat([log, log], name="twice")
    assert both.is_rigid
    assert both.extras["queue"].tolist() == [1, 2, 1, 2]
    assert len(Workload.concat([])) == 0
    with pytest.raises(sm.RequestError, match="shift of a workload with workflows"):
        work.shift(5.0)
