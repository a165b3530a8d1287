"""Workload: columns that nobody can change, cut and moved without loss, and refusals in words."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.workflow import Workflow
from simmodels.workload import COLUMNS, Job, Workload

COLUMNS_OF_JOBS = "a table of jobs must have the columns submit_s, runtime_s and cores"
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
        if field.name in but:
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


def test_what_is_left_out_is_filled_in() -> None:
    given = small()
    assert given.user_id.tolist() == [-1, -1, -1]
    assert (given.name, given.max_cores, given.start_unix_s, given.header) == ("workload", None, None, ())
    assert (dict(given.counts), dict(given.extras)) == ({}, {})


def test_a_workload_without_jobs_has_typed_columns() -> None:
    empty = Workload([], [], [], [], [])  # type: ignore[arg-type]
    assert len(empty) == 0
    assert [getattr(empty, name).dtype.kind for name in COLUMNS] == ["i", "f", "f", "f", "i", "i"]
    assert len(empty.head(3)) == len(empty.between(0, 1)) == len(empty.shift()) == len(empty.scale_load(2.0)) == 0
    assert same(Workload.from_frame(empty.to_frame()), empty)


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
        ({"user_id": [1, 2, 3, 4]}, "column user_id has 4 rows; job_id has 3"),
        ({"runtime_s": [[1.0], [2.0], [3.0]]}, "column runtime_s has 2 dimensions; a column has one"),
        ({"job_id": 7}, "column job_id has 0 dimensions; a column has one"),
        ({"cores": ["1", "2", "3"]}, "column cores, row 0, must be a number (got '1')"),
        ({"cores": [1, None, 3]}, "column cores, row 1, must be a number (got None)"),
        ({"job_id": [1, 2**80, 3]}, "column job_id must be numbers (got object)"),
        (
            {"submit_s": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])},
            "column submit_s must be numbers (got dates); (t - t.min()).dt.total_seconds() makes seconds of dates",
        ),
        ({"submit_s": [0.0, np.nan, 1.0]}, "column submit_s, row 1, must be a finite number (got nan)"),
        ({"cores": [1.0, 2.0, np.inf]}, "column cores, row 2, must be a finite number (got inf)"),
        ({"cores": [1.0, 2.5, 3.0]}, "column cores, row 1, must be an integer of 64 bits (got 2.5)"),
        ({"job_id": [1.0, 2.0, 1e300]}, "column job_id, row 2, must be an integer of 64 bits (got 1e+300)"),
        (
            {"job_id": np.array([1, 2, 2**63], np.uint64)},
            "column job_id, row 2, must be an integer of 64 bits (got 9223372036854775808)",
        ),
        ({"extras": {"queue": np.zeros(2)}}, "column queue has 2 rows; job_id has 3"),
        ({"extras": {"queue": np.zeros((3, 2))}}, "column queue has 2 dimensions; a column has one"),
        (
            {"extras": {"cores": np.zeros(3)}},
            "a further column is named cores; give it a name other than those of the six",
        ),
        ({"max_cores": 0}, "max_cores must be an integer >= 1, or None (got 0)"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes: dict[str, object], text: str) -> None:
    with pytest.raises(RequestError) as caught:
        small(**changes)
    assert str(caught.value) == text


def test_jobs_that_cannot_run_are_kept() -> None:
    assert len(small(cores=[0, -1, 3], runtime_s=[-1.0, 0.0, 1.0])) == 3


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


def test_its_line_says_name_jobs_and_size() -> None:
    assert repr(small()) == "<Workload 'workload': 3 jobs>"
    assert repr(small(name="KTH", max_cores=100)) == "<Workload 'KTH': 3 jobs, max_cores=100>"


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


def test_head_keeps_the_input_order() -> None:
    assert small().head(2).job_id.tolist() == [1, 2]


def test_head_of_a_negative_number_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        small().head(-1)
    assert str(caught.value) == "jobs must be an integer from 0 to 2**53 (got -1)"


@given(workloads(), SECONDS, SECONDS, SECONDS)
def test_windows_side_by_side_share_no_job_and_lose_none(given: Workload, a: float, b: float, c: float) -> None:
    start, middle, end = sorted((a, b, c))
    whole, left, right = given.between(start, end), given.between(start, middle), given.between(middle, end)
    assert len(left) + len(right) == len(whole)
    assert ((left.submit_s >= start) & (left.submit_s < middle)).all()
    assert ((right.submit_s >= middle) & (right.submit_s < end)).all()


def test_a_window_is_half_open_and_moves_no_time() -> None:
    assert small().between(0.0, 10.0).job_id.tolist() == [2]
    assert small().between(10.0, np.inf).submit_s.tolist() == [10.0, 10.0]
    assert len(small().between(10.0, 10.0)) == 0


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ((2.0, 1.0), "start_s must be at most end_s, 1.0 (got 2.0)"),
        ((np.nan, 1.0), "start_s must be a number of seconds (got nan)"),
        ((0.0, np.nan), "end_s must be a number of seconds (got nan)"),
    ],
)
def test_a_window_that_ends_before_it_starts_is_refused(window: tuple[float, float], text: str) -> None:
    with pytest.raises(RequestError) as caught:
        small().between(*window)
    assert str(caught.value) == text


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
    assert same(shifted.shift(float(-by_s)), whole)


def test_a_shift_by_a_fraction_forgets_the_instant_of_zero() -> None:
    assert small(start_unix_s=1000).shift(0.5).start_unix_s is None


@pytest.mark.parametrize("by_s", [np.nan, np.inf, -np.inf])
def test_a_shift_by_no_finite_number_is_refused(by_s: float) -> None:
    with pytest.raises(RequestError) as caught:
        small(start_unix_s=0).shift(by_s)
    assert str(caught.value) == f"by_s must be a finite number of seconds (got {by_s})"


@given(workloads(min_jobs=1), st.sampled_from([0.25, 0.5, 0.9, 1.0, 1.7, 2.0, 8.0]))
def test_scale_load_divides_the_gaps_and_nothing_else(given: Workload, factor: float) -> None:
    scaled = given.scale_load(factor)
    first = given.submit_s.min()
    assert scaled.submit_s.min() == first
    np.testing.assert_allclose((scaled.submit_s - first) * factor, given.submit_s - first, rtol=1e-9, atol=1e-6)
    assert (np.diff(scaled.submit_s[np.argsort(given.submit_s, kind="stable")]) >= 0).all()
    assert same(scaled, given, "submit_s", "start_unix_s")
    assert scaled.start_unix_s is None


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_a_load_factor_that_is_no_positive_number_is_refused(factor: float) -> None:
    with pytest.raises(RequestError) as caught:
        small().scale_load(factor)
    assert str(caught.value) == f"factor must be a finite number > 0 (got {factor})"


# -- tables -----------------------------------------------------------------------------------------


@given(workloads())
def test_a_workload_comes_back_from_its_table(given: Workload) -> None:
    about = {name: getattr(given, name) for name in ("name", "max_cores", "start_unix_s", "header", "counts")}
    table = given.to_frame()
    assert list(table.columns) == [*COLUMNS, "queue"]
    assert same(Workload.from_frame(table, **about), given)


def test_a_table_may_leave_out_what_can_be_filled_in_and_bring_more() -> None:
    table = pd.DataFrame(
        {"cores": [2, 3], "runtime_s": [5, 6], "submit_s": [0.5, 1.0], "queue": ["a", "b"]}, index=[7, 7]
    )
    made = Workload.from_frame(table, name="mine", max_cores=4)
    assert made.job(1) == Job(job_id=2, submit_s=1.0, runtime_s=6.0, estimate_s=6.0, cores=3, user_id=-1)
    assert made.extras["queue"].tolist() == ["a", "b"]
    assert (made.name, made.max_cores) == ("mine", 4)


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "Float64", "int16"])
def test_a_table_may_have_the_types_of_pandas(dtype: str) -> None:
    table = pd.DataFrame({"submit_s": [0, 1], "runtime_s": [5, 6], "cores": [2, 3]}).astype(dtype)
    assert Workload.from_frame(table).cores.tolist() == [2, 3]


@pytest.mark.parametrize("missing", [np.nan, None, pd.NaT, pd.NA])
def test_what_is_missing_among_the_limits_of_a_table_is_no_limit(missing: object) -> None:
    jobs = {"submit_s": [0, 1, 2], "runtime_s": [5, 6, 7], "cores": [1, 1, 1]}
    for limits in ([9, missing, 8.5], pd.array([9, None, 8.5], "Float64")):
        made = Workload.from_frame({**jobs, "estimate_s": limits})
        assert (made.estimate_s.tolist(), made.unlimited().tolist()) == ([9, 9, 8.5], [False, True, False])
    assert Workload.from_frame({**jobs, "estimate_s": [missing] * 3}).unlimited().all()


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
@pytest.mark.parametrize("limit", [-1, 0, -0.5])
def test_a_table_marks_jobs_without_a_limit_in_one_way(limit: float, kind: Callable[..., Any]) -> None:
    """Alone, -1 and 0 are what a log says, which a simulation refuses, or runs; beside a missing one, who knows."""
    jobs = {"submit_s": [0, 1, 2], "runtime_s": [5, 6, 7], "cores": [1, 1, 1]}
    assert not Workload.from_frame({**jobs, "estimate_s": kind([9, limit, 8])}).unlimited().any()
    what = r"column estimate_s, row 1, must be a number of seconds > 0, or missing for a job without a limit, as others"
    with pytest.raises(RequestError, match=rf"{what} are \(got {limit}"):
        Workload.from_frame({**jobs, "estimate_s": kind([9, limit, np.nan])})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            pd.DataFrame({"submit_s": [1.0], "queue": [1]}),
            f"{COLUMNS_OF_JOBS} (got submit_s and queue; runtime_s and cores missing)",
        ),
        (
            pd.DataFrame({"submit_s": [1.0], "runtime_s": ["x"], "cores": [1]}),
            "column runtime_s, row 0, must be a number (got 'x')",
        ),
        (
            pd.DataFrame([[1.0, 1.0, 1, 2]], columns=["submit_s", "runtime_s", "cores", "cores"]),
            "column cores has 2 dimensions; a column has one",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: pd.DataFrame, text: str) -> None:
    with pytest.raises(RequestError) as caught:
        Workload.from_frame(table)
    assert str(caught.value) == text


def test_a_changed_table_does_not_change_the_workload() -> None:
    given = small()
    table = given.to_frame()
    table.loc[0, "cores"] = 99
    assert given.cores[0] == 1


def test_a_job_is_a_record_of_plain_numbers() -> None:
    job = small(user_id=[4, 5, 6]).job(1)
    assert job == Job(2, 0.0, 6.0, 60.0, 2, 5)
    assert [type(getattr(job, field.name)) for field in fields(Job)[:6]] == [int, float, float, float, int, int]
    assert Job(1, 0.0, 1.0, 1.0, 1).user_id == -1


# -- what can run -----------------------------------------------------------------------------------


@given(workloads(), st.integers(1, 64))
def test_what_is_runnable_is_required_without_an_error(given: Workload, cores: int) -> None:
    good = given.runnable(cores)
    assert good.dtype == np.bool_
    given.take(good).require_runnable(cores)
    assert (given.runnable() >= good).all()
    impossible = ~good & given.known()  # who is unknown is left out, not refused
    if impossible.any():
        with pytest.raises(ImpossibleJobError) as caught:
            given.require_runnable(cores)
        assert caught.value.job_id == given.job_id[impossible][0]
        assert caught.value.others == impossible.sum() - 1
    else:
        given.require_runnable(cores)


def test_a_job_is_known_if_its_cores_and_its_runtime_are() -> None:
    assert small(cores=[-1, 2, 3], runtime_s=[1, -1, 0]).known().tolist() == [False, False, True]


APART = "between -2**53 and 2**53 s, beyond which floats cannot represent every second"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda: small(cores=[1, 9, 3]), "job 2: needs 9 cores, and the machine has 3"),
        (lambda: small(cores=[1, 0, 3]), "job 2: cores must be an integer >= 1 (got 0)"),
        (lambda: small(runtime_s=[1, -2, 3]), "job 2: runtime_s must be a number of seconds >= 0 (got -2.0)"),
        (lambda: small(estimate_s=[1, -0.5, 3]), "job 2: estimate_s must be a number of seconds >= 0 (got -0.5)"),
        (lambda: small(submit_s=[0, 1e16, 2]), f"job 2: submit_s must be {APART} (got 1e+16)"),
        (lambda: small(submit_s=[0, -(2**53), 2]), f"job 2: submit_s must be {APART} (got -9007199254740992.0)"),
        (
            lambda: small(submit_s=[0, 2**53 - 1, 2]),
            f"job 2: submit_s + runtime_s must be {APART} (got 9007199254740996.0)",
        ),
        (
            lambda: small(cores=[9, 0, 3]),
            "job 1: needs 9 cores, and the machine has 3 (1 more job of this input is refused too)",
        ),
    ],
)
def test_a_job_that_can_never_run_is_refused_by_name(change: Callable[[], Workload], text: str) -> None:
    with pytest.raises(ImpossibleJobError) as caught:
        change().require_runnable(3)
    assert str(caught.value) == text


def test_a_job_of_no_runtime_or_wide_as_the_machine_can_run() -> None:
    small(runtime_s=[0, 0, 0], estimate_s=[0, 0, 0], cores=[3, 3, 3]).require_runnable(3)


def flow(job_id: int, *runtimes_s: float) -> Workflow:
    return Workflow(job_id, float(job_id), runtimes_s, 2, [(k, k + 1) for k in range(len(runtimes_s) - 1)])


def test_workflows_are_a_workload_with_a_row_for_each_task() -> None:
    work = Workload.of_workflows([flow(1, 10, 20), flow(2, 5)], name="flows")
    assert not work.is_rigid
    assert work.tasks is not None
    assert work.job_id.tolist() == [1, 1, 2]
    assert work.submit_s.tolist() == [1, 1, 2]
    assert work.runtime_s.tolist() == work.estimate_s.tolist() == [10, 20, 5]
    assert work.tasks.task.tolist() == [0, 1, 0]
    assert work.tasks.edges.tolist() == [[0, 1]]
    assert repr(work) == "<Workload 'flows': 2 workflows of 3 tasks>"
    again = pickle.loads(pickle.dumps(work))
    assert again.workflows[0].runtime_s.tolist() == [10, 20]


def test_logs_and_workflows_can_be_one_workload() -> None:
    log = Workload([7, 8], [0, 3], [4, 4], [4, 4], [1, 1], extras={"queue": np.array([1, 2])}, counts={"lines": 2})
    work = Workload.concat([flow(1, 10, 20), log, [flow(2, 5)], log])
    assert work.tasks is not None
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
    with pytest.raises(RequestError, match="shift of a workload with workflows"):
        work.shift(5.0)


# -- what stands for one ----------------------------------------------------------------------------

TABLE = {"submit_s": [0.0, 5.0], "runtime_s": [10.0, 3.0], "cores": [2, 1]}


@pytest.mark.parametrize(
    "given",
    [
        TABLE,
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype("Int64"),
        pd.DataFrame(TABLE).to_records(index=False),
        pd.DataFrame(TABLE).to_dict("records"),
        (row for row in pd.DataFrame(TABLE).to_dict("records")),
        [Job(1, 0.0, 10.0, 10.0, 2), Job(2, 5.0, 3.0, 3.0, 1)],
    ],
    ids=["columns", "frame", "nullable", "records", "mappings", "generator", "jobs"],
)
def test_what_stands_for_a_workload_becomes_one(given: object) -> None:
    assert same(Workload.of(given), Workload.from_frame(pd.DataFrame(TABLE)))


def test_a_workload_is_itself_and_workflows_become_tasks() -> None:
    log = small()
    assert Workload.of(log) is log
    flow = Workflow(1, 0.0, [10.0], 2)
    assert (
        Workload.of(flow).workflows == Workload.of([flow]).workflows == Workload.of(iter([flow])).workflows == (flow,)
    )


def test_numbers_of_jobs_beyond_the_six_become_extras() -> None:
    jobs = [Job(1, 0.0, 10.0, 10.0, 2, extras={"priority": 3.0}), Job(2, 5.0, 3.0, 3.0, 1, extras={"priority": 4.0})]
    assert Workload.of(jobs).extras["priority"].tolist() == [3.0, 4.0]


WANTED = "workload must be a Workload, a path, a table of jobs, or workflows"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, f"{WANTED} (got 5)"),
        (None, f"{WANTED} (got None)"),
        ([1, 2], f"{WANTED} (got [1, 2])"),
        (Workload, f"{WANTED} (got the class Workload)"),
        ([small()], f"{WANTED} (got [a Workload]); Workload.concat puts several together"),
        (
            np.zeros((2, 3)),
            f"{WANTED} (got an array of shape (2, 3)); name its columns: pd.DataFrame(array, columns=[...])",
        ),
        ({}, f"{COLUMNS_OF_JOBS} (got no columns)"),
        ([{"submit_s": 1}, {"cores": 2}], f"{COLUMNS_OF_JOBS} (got submit_s and cores; runtime_s missing)"),
        ({**TABLE, "cores": [1.0, float("nan")]}, "column cores, row 1, must be a finite number (got nan)"),
    ],
)  # fmt: skip
def test_what_stands_for_no_workload_is_refused_in_one_sentence(value: object, text: str) -> None:
    with pytest.raises(RequestError) as raised:
        Workload.of(value)
    assert str(raised.value) == text


@pytest.mark.parametrize("column", ["user", "user_id"])
@pytest.mark.parametrize("kind", [list, np.array, pd.Categorical])
def test_users_who_are_texts_are_numbered_by_name_and_keep_it(column: str, kind: Callable[..., Any]) -> None:
    users = kind(["bob", "alice", "", "bob"])
    log = Workload.of(pd.DataFrame({"submit_s": range(4), "runtime_s": 10, "cores": 1, column: users}))
    assert log.user_id.tolist() == [2, 1, -1, 2]
    assert list(log.extras["user"]) == ["bob", "alice", "", "bob"]
    jobs = [{"submit_s": 0, "runtime_s": 1, "cores": 1, column: "alice"}, {"submit_s": 1, "runtime_s": 1, "cores": 1}]
    assert Workload.of(jobs).user_id.tolist() == [1, -1]


def test_users_who_are_numbers_in_a_column_named_user_are_the_users() -> None:
    log = Workload.of({"submit_s": [0, 1], "runtime_s": [5, 5], "cores": [1, 1], "user": [12, 7]})
    assert log.user_id.tolist() == [12, 7]


def test_users_of_whom_there_are_numbers_and_names_keep_both() -> None:
    log = Workload.of({"submit_s": [0, 1], "runtime_s": [1, 1], "cores": [1, 1], "user_id": [7, 8], "user": ["a", "b"]})
    assert (log.user_id.tolist(), log.extras["user"].tolist()) == ([7, 8], ["a", "b"])
