"""The auction: hand-drawn ones first, then any, against the plain one of `tests.naive_market` and by the rules."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import simmodels as sm
from simmodels.passes.bidding import drawn
from simmodels.policies.bids import BUILT_IN, Bid, find_bid
from simmodels.results.attempts import FINISHED, REJECTED
from tests.examples import tries
from tests.naive_market import BIDS, NaiveAuction

ONE = [("a", 4)]
LINE = sm.ValueCurve.linear(2, 6)
LONG = sm.ValueCurve.linear(2, 60)


def job(submit: float, runtime: ArrayLike, cores: ArrayLike = 4, edges: ArrayLike = (), **about: object) -> sm.Workflow:
    return sm.Workflow(0, submit, np.atleast_1d(runtime), cores, edges, **{"curve": LINE, **about})


def starts(jobs: list[sm.Workflow], clusters: list = ONE, **options: object) -> list[float]:
    both = [
        sm.simulate_workflows(jobs, clusters=clusters, engine=e, **options).validate() for e in ("compiled", "simpy")
    ]
    assert both[0].start_s.tolist() == pytest.approx(both[1].start_s.tolist(), nan_ok=True, rel=0, abs=0)
    return both[0].start_s.tolist()


# -- by hand ------------------------------------------------------------------------------------------


def test_fifo_takes_who_came_first_and_srtf_who_is_done_soonest() -> None:
    jobs = [job(0, 10, curve=LONG), job(1, 9, curve=LONG), job(2, 2, curve=LONG)]
    assert starts(jobs, bid="FIFO") == [0, 10, 19]
    assert starts(jobs, bid="SRTF") == [0, 12, 10]
    assert starts(jobs, bid="LRTF") == [0, 10, 19]


def test_data_between_kinds_travel_always() -> None:
    chain = job(0, [10, 10], [2, 2], [(0, 1)], kind=("A", "B"))
    clusters = [("a", 4, "A"), ("b", 4, "B")]
    assert starts([chain], clusters, ccr=0.25) == [0, 13]
    assert starts([chain], clusters, ccr=0.25, network="kind", tick_s=5) == [0, 15]
    assert starts([chain], clusters, ccr=0.25, network="none") == [0, 10]
    assert starts([chain], [("any", 4)], ccr=0.25) == [0, 10]


def test_the_run_can_end_with_the_last_submission() -> None:
    jobs = [job(0, 10), job(1, 10), job(5, 1)]
    for engine in ("compiled", "simpy"):
        schedule = sm.simulate_workflows(jobs, clusters=ONE, bid="FIFO", end="submit", engine=engine)
        assert schedule.start_s.tolist() == pytest.approx([0, np.nan, np.nan], nan_ok=True)
        assert np.isnan(schedule.end_s).all()
        found = schedule.metrics()
        assert (found["unfinished_at_end"], found["starved_deadline"], found["starved"]) == (3, 0, 1)


def test_a_job_that_may_hope_for_too_little_is_rejected_at_its_arrival() -> None:
    jobs = [job(0, 10), job(0, 10), job(0, 10), job(0, 10)]
    # Behind 10 s of work the SLR will be 2, behind 20 s 3 and behind 30 s 4: worth 1, 0.75 and 0.5.
    schedule = sm.simulate_workflows(jobs, clusters=ONE, bid="FIFO", admission=0.6).validate()
    assert schedule.workflow_outcome.tolist() == [FINISHED, FINISHED, FINISHED, REJECTED]
    assert schedule.metrics()["rejected"] == 1
    assert sm.simulate_workflows(jobs, clusters=ONE, bid="FIFO", admission=0.5).metrics()["rejected"] == 0


def test_a_job_that_finds_nothing_before_it_may_hope_for_all_its_worth(engine: Any) -> None:  # noqa: ANN401
    # 0.1 + 0.2 + 0.3, less each of them, is not 0; nor is it of ends in seconds since 1970
    for begin_s in (0.0, 1e9):
        jobs = [job(begin_s, length_s, 1) for length_s in (0.1, 0.2, 0.3)]
        jobs.append(job(begin_s + 2, 0.001, 1, curve=sm.ValueCurve.linear(1, 2)))
        schedule = sm.simulate_workflows(jobs, clusters=ONE, bid="FIFO", admission=1, engine=engine)
        assert schedule.metrics()["rejected"] == 0


def test_winners_pay_the_best_bid_that_lost_and_budgets_bind() -> None:
    jobs = [job(0, 10, max_value=9), job(0, 10, max_value=7), job(0, 10, max_value=5)]
    schedule = sm.simulate_workflows(jobs, clusters=ONE, bid="PV", prices=True)
    assert schedule.start_s.tolist() == [0, 10, 20]
    assert schedule.price.tolist() == [7, 5 * 1.0, 0]
    two = [job(0, [10, 10], max_value=9), job(0, 10, max_value=7)]
    assert starts(two, bid="PV") == [0, 10, 20]
    assert starts(two, bid="PV", budgets=True) == [0, 20, 10]  # 2 are left of the 9


def test_kinds_that_no_cluster_is_of_stand_in_one_line() -> None:
    # where no cluster is of a kind, the task that does not fit holds back all; where one is of kind C, none
    jobs = [job(0, 10, 3, kind="A"), job(1, 5, 2, kind="C"), job(2, 5, 1, kind="D"), job(2, 5, 1, kind="A")]
    assert starts(jobs, [("a", 4, None)], bid="FIFO") == [0, 10, 10, 10]
    assert starts(jobs, [("a", 4, None), ("b", 1, "C")], bid="FIFO") == [0, 10, 2, 7]


# -- against the plain auction ------------------------------------------------------------------------

CURVES = [LINE, sm.ValueCurve.linear(1.5, 3), sm.ValueCurve([(1, 1), (2, 0.5), (2, 0.25), (4, 0)])]


@st.composite
def flows(draw: st.DrawFn) -> sm.Workflow:
    tasks = draw(st.integers(1, 5))
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    column = {"min_size": tasks, "max_size": tasks}
    return job(
        draw(st.integers(0, 40)),
        draw(st.lists(st.integers(1, 12), **column)),
        draw(st.lists(st.integers(1, 4), **column)),
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        kind=tuple(draw(st.lists(st.sampled_from(["A", "B", "A", "B", None]), **column))),
        curve=draw(st.sampled_from(CURVES)),
        max_value=draw(st.sampled_from([None, None, 7.0])),
    )


def at_other_times(jobs: list[sm.Workflow], zero_s: float, unit_s: float) -> list[sm.Workflow]:
    """Return the workflows with other seconds in a unit of time, and another zero."""
    return [
        dataclasses.replace(
            each,
            submit_s=zero_s + each.submit_s * unit_s,
            runtime_s=each.runtime_s * unit_s,
            max_value=None if each.max_value is None else each.max_value * unit_s,
            first=None,
            successor=None,
        )
        for each in jobs
    ]


RULES = st.fixed_dictionaries(
    {
        "network": st.sampled_from(["cluster", "kind", "none"]),
        "blocking": st.sampled_from(["kind", "all"]),
        "successor_sum": st.sampled_from(["recursive", "unique"]),
        "plus_one": st.booleans(),
        "backfilling": st.sampled_from(["none", "greedy", "easy"]),
        "cluster_fit": st.sampled_from(["freest", "best"]),
        "end": st.sampled_from(["drain", "submit"]),
        "instants": st.sampled_from(["deadlines", "starvation"]),
    }
)
PLATFORMS = [
    [("a", 4, "A"), ("b", 4, "A"), ("c", 4, "B")],
    [("a", 5, "A"), ("b", 4, "B")],
    [("a", 4, None), ("b", 5, "A")],
    [("a", 4, None)],
]


def columns(schedule: sm.Schedule) -> list[list]:
    return [getattr(schedule, name).tolist() for name in ("start_s", "end_s", "cluster", "workflow_outcome")]


@given(
    st.lists(flows(), min_size=1, max_size=9).flatmap(
        lambda jobs: st.sampled_from([0.0, 0.0, 1e9]).map(lambda zero_s: at_other_times(jobs, zero_s, 1.0))
    ),
    st.sampled_from(BIDS),
    RULES,
    st.sampled_from(PLATFORMS),
)
@tries(150, full=10_000)
def test_both_engines_equal_the_plain_auction(jobs: list, bid: str, rules: dict, clusters: list) -> None:
    plain = NaiveAuction(jobs, [(cores, kind) for _, cores, kind in clusters], bid, **rules)
    for engine in ("compiled", "simpy"):
        schedule = sm.simulate_workflows(jobs, clusters=clusters, bid=bid, engine=engine, **rules).validate()
        for name, must in plain.columns().items():
            np.testing.assert_array_equal(getattr(schedule, name), must)
        states = {"finished": "finished", "starved": "starved"}
        assert schedule.jobs["outcome"].tolist() == [states.get(state, "unfinished") for state in plain.state]


PRICED = ["FIFO", "SRTF", "PV", "PVD", "PVR", "P-SLR", "P-SLR:by-kind"]


@given(st.lists(flows(), min_size=1, max_size=9), st.sampled_from(PRICED))
def test_prices_are_those_of_the_plain_auction(jobs: list, bid: str) -> None:
    clusters = PLATFORMS[0]
    plain = NaiveAuction(jobs, [(cores, kind) for _, cores, kind in clusters], bid)
    schedule = sm.simulate_workflows(jobs, clusters=clusters, bid=bid, prices=True)
    wanted = [abs(t.price) if t.price is not None else np.nan for each in plain.tasks for t in each]
    np.testing.assert_allclose(np.abs(schedule.price), wanted, rtol=1e-12)


# -- by the rules -------------------------------------------------------------------------------------

SEARCHING = [name for name, bid in BUILT_IN.items() if bid.trend != "any"]
EVERY = {name: dataclasses.replace(find_bid(name), name="every", trend="any") for name in SEARCHING}  # compiled once


@given(
    st.lists(flows(), min_size=1, max_size=20),
    st.sampled_from(SEARCHING),
    st.sampled_from(["none", "greedy", "easy"]),
    st.sampled_from([None, 0.3]),
    st.sampled_from([1.0, 3.0]),
)
@settings(max_examples=100)
def test_computing_only_the_bids_that_could_win_changes_nothing(
    jobs: list, name: str, backfilling: str, admission: float | None, tick_s: float
) -> None:
    rules: dict[str, Any] = {"backfilling": backfilling, "admission": admission, "tick_s": tick_s, "prices": True}
    found = [sm.simulate_workflows(jobs, clusters=PLATFORMS[0], bid=bid, **rules) for bid in (name, EVERY[name])]
    for one, other in zip(*(columns(each) for each in found), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[0].price, found[1].price)


@given(st.lists(flows(), min_size=1, max_size=12), st.sampled_from(list(BUILT_IN)), RULES, st.sampled_from(PLATFORMS))
def test_every_schedule_is_legal_and_every_job_has_one_end(jobs: list, bid: str, rules: dict, clusters: list) -> None:
    schedule = sm.simulate_workflows(jobs, clusters=clusters, bid=bid, **{**rules, "end": "drain"}).validate()
    found = schedule.metrics()
    assert found["finished"] + found["starved_deadline"] == len(jobs)
    assert (schedule.value <= schedule.most_value).all()
    assert (schedule.slr[schedule.workflow_outcome == FINISHED] >= 1 - 1e-12).all()


@given(st.lists(flows(), min_size=1, max_size=12))
def test_pvd_squared_orders_as_pvd_does(jobs: list) -> None:
    found = [columns(sm.simulate_workflows(jobs, clusters=PLATFORMS[0], bid=b)) for b in ("PVD", "PVDSQ:literal")]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.lists(flows(), min_size=1, max_size=12), st.sampled_from(list(BUILT_IN)))
def test_the_unit_of_time_changes_nothing(jobs: list, bid: str) -> None:
    minutes = at_other_times(jobs, 0.0, 60.0)
    one = sm.simulate_workflows(jobs, clusters=PLATFORMS[0], bid=bid)
    other = sm.simulate_workflows(minutes, clusters=PLATFORMS[0], bid=bid, tick_s=60)
    np.testing.assert_array_equal(one.start_s * 60, other.start_s)
    np.testing.assert_array_equal(one.cluster, other.cluster)
    np.testing.assert_array_equal(one.slr, other.slr)


# -- what is drawn, what is yours, what is refused ----------------------------------------------------


def test_draws_are_uniform_and_new_for_each_task_instant_and_seed() -> None:
    table = np.array([[drawn(1, now, task) for task in range(200)] for now in range(50)])
    assert len(np.unique(table)) == table.size
    assert abs(table.mean() - 0.5) < 0.02
    assert abs(np.corrcoef(table[0], table[1])[0, 1]) < 0.25
    assert drawn(1, 0.0, 0) != drawn(2, 0.0, 0)


def test_random_bids_depend_on_the_seed_alone() -> None:
    jobs = [job(0, 3, 4, curve=sm.FOREVER) for _ in range(12)]
    one, same, other = (
        sm.simulate_workflows(jobs, clusters=ONE, bid="Random", seed=s).start_s.tolist() for s in (1, 1, 2)
    )
    assert one == same != other


def test_a_bid_of_yours_wins_high_or_low_compiled_or_not() -> None:
    jobs = [job(0, 3, cores) for cores in (4, 3, 2)]
    known = {2.0: 7.0}
    assert starts(jobs, bid=Bid("wide", lambda cores: cores)) == [0, 3, 6]
    assert starts(jobs, bid=Bid("narrow", lambda cores: cores, wins="low")) == [6, 3, 0]
    assert starts(jobs, bid=Bid("odd", lambda cores: known.get(cores, cores))) == [3, 6, 0]


def test_a_bid_that_is_no_number_is_refused_by_bid_job_and_task(engine: str) -> None:
    bad = Bid("bad", lambda cores: np.nan if cores == 3 else cores)
    with pytest.raises(sm.RequestError, match=r"bid 'bad' gives no number .* for task 0 of job 0 at 2 s"):
        sm.simulate_workflows([job(0, 1, 4), job(2, 1, 3)], clusters=ONE, bid=bad, engine=engine)

    known = {"4.0": 1.0}

    def broken(cores: float) -> float:  # numba cannot compile it, so it is called, and what it raises is raised
        return known[str(cores)]

    with pytest.raises(KeyError, match=r"3\.0"):
        sm.simulate_workflows([job(0, 1, 4), job(2, 1, 3)], clusters=ONE, bid=Bid("broken", broken), engine=engine)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"network": "tree"}, "unknown network 'tree'"),
        ({"blocking": "queue"}, "unknown blocking 'queue'"),
        ({"end": "never"}, "unknown end 'never'"),
        ({"backfilling": "conservative"}, "unknown backfilling 'conservative'"),
        ({"ccr": -1}, "ccr must be a finite number >= 0 (got -1)"),
        ({"tick_s": 0}, "tick_s must be a finite number of seconds > 0 (got 0)"),
        ({"admission": 2}, "admission must be a number from 0 to 1, or None (got 2)"),
        ({"bid": "SRTF", "budgets": True}, "budgets with bid 'SRTF'"),
        ({"clusters": []}, "no clusters; give at least one"),
        ({"clusters": [("a", 0)]}, "cores of cluster 'a' must be an integer from 1 to 2**53 (got 0)"),
        ({"engine": "fast"}, "unknown engine 'fast'"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(options: dict, text: str) -> None:
    with pytest.raises((sm.RequestError, sm.UnknownNameError)) as error:
        sm.simulate_workflows([job(0, 1)], **{"clusters": ONE, **options})
    assert text in str(error.value)


CLEAR = Bid("clear", BUILT_IN["LRTF"].function, "high", "any")


def test_what_is_paid_changes_the_bids_of_the_job_at_once_whatever_the_trend() -> None:
    one, other = sm.Workflow(1, 0.0, [10, 10], 1, max_value=12.0), sm.Workflow(2, 0.0, [9], 1, max_value=100.0)
    for bid in ("LRTF", CLEAR):  # 10 is paid at 0, which leaves 2: less than the 9 of the other job
        found = sm.simulate_workflows([one, other], clusters=[("c", 1)], bid=bid, budgets=True)
        assert found.start_s.tolist() == [0, 19, 10]


@given(
    st.lists(st.tuples(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 5)), min_size=1, max_size=6)
)
@pytest.mark.parametrize("bid", ["LRTF", "PV", "PVDSQ", "P-SLR"])
def test_no_job_pays_more_than_it_is_worth(bid: str, given_jobs: list[tuple[list[int], int]]) -> None:
    curve = sm.ValueCurve.linear(2.0, 6.0)
    jobs = [
        sm.Workflow(number, float(submit), runtimes, 1 + number % 2, curve=curve)
        for number, (runtimes, submit) in enumerate(given_jobs)
    ]
    found = sm.simulate_workflows(jobs, clusters=[("a", 2), ("b", 3)], bid=bid, budgets=True)
    paid = np.nan_to_num(found.price)
    for number, job in enumerate(jobs):
        first = found.workload.tasks.first[number]
        stop = first + len(job)
        assert paid[first:stop].sum() <= job.most_value * (1 + 1e-12)
