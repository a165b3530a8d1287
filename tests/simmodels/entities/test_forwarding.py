# ruff: noqa: ANN401  options of any type are handed through
import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from tests.model_scripts import machines_on, queue_on, queues, rigid, scheduled
from tests.simmodels.passes.test_bidding import PLATFORMS, RULES, flows

Rows = list[tuple[int, int, int, int]]


@sm.bid(wins="low")
def early_end(start: float, estimate: float) -> float:
    return start + estimate


def forwarding(*sizes: int, **rules: Any) -> sm.Auctioneer:
    """An auction, first come first served, that forwards to queues on pools of these sizes."""
    env = sm.Environment()
    return sm.Auctioneer(env, queues(env, *sizes), **{"bid": "FIFO", "forward": True, **rules})


def rigid_jobs(schedule: sm.Schedule) -> Any:
    return schedule.jobs[schedule.jobs["tasks"].isna()]


# -- rigid jobs -----------------------------------------------------------------------------------------

ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=25
)


def work_of(rows: Rows) -> sm.Workload:
    return rigid(*((submit, runtime, runtime + more, cores) for submit, runtime, more, cores in sorted(rows)))


@given(rows=ROWS, bid=st.sampled_from([("FIFO", "FCFS"), ("SRTF", "SPF"), ("LRTF", "LPF")]))
def test_an_auction_of_jobs_on_one_cluster_is_a_queue_without_backfilling(rows: Rows, bid: tuple[str, str]) -> None:
    work = work_of([(submit, runtime, more + 1, cores) for submit, runtime, more, cores in rows])
    env = sm.Environment()
    schedule = scheduled(sm.Auctioneer(env, [sm.Cluster(env, "c", cores=4)], bid=bid[0]), work)
    alone = sm.simulate(work, cores=4, order=bid[1], backfilling="none")
    np.testing.assert_array_equal(schedule.start_s, alone.start_s)


@sm.bid(wins="high", trend="any")
def of_all(
    rank: float, critical_path: float, slr: float, value: float, successor_work: float, runtime: float, cores: float
) -> float:
    return 1e6 * slr + 1e3 * rank - critical_path + value / 7.0 + successor_work / 3.0 + runtime / cores


@given(
    rows=ROWS,
    bid=st.sampled_from(["FIFO", "SRTF", "PVR", "P-SLR", "P-SLR:by-kind", of_all]),
    tick_s=st.sampled_from([1.0, 7.0]),
    others=st.lists(flows(), max_size=2),
)
def test_a_job_bids_as_a_workflow_of_one_task(rows: Rows, bid: Any, tick_s: float, others: list[sm.Workflow]) -> None:
    """Also where its columns stand behind those of other workflows; its length is its estimate, at least a tick."""
    rows = sorted((submit, max(runtime, int(tick_s)), 0, cores) for submit, runtime, _, cores in rows)
    jobs = work_of(rows)
    alike = [sm.Workflow(1 + i, submit, [runtime], cores) for i, (submit, runtime, _, cores) in enumerate(rows)]
    others = [dataclasses.replace(flow, job_id=100 + i) for i, flow in enumerate(others)]
    starts = []
    for given_ in (jobs, alike):
        env = sm.Environment()
        clusters = [sm.Cluster(env, name, cores=4, kind=kind) for name, kind in (("a", "A"), ("b", "B"), ("c", None))]
        auction = sm.Auctioneer(env, clusters, bid=bid, tick_s=tick_s)
        seen: list[sm.Attempt] = []
        env.on(sm.Started, lambda event, seen=seen: seen.append(event.attempt))
        for each in (others, given_):
            sm.Source(env, each, into=auction)
        env.run()
        starts.append([(attempt.job.job_id, attempt.start_s, attempt.cluster.name) for attempt in seen])
    assert starts[0] == starts[1]


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (sm.Job(1, 0.0, 1.0, math.nan, 1), "runtime_s of task 0 must be a finite number of seconds > 0"),
        (sm.Job(1, math.nan, 1.0, 1.0, 1), "submit_s must be a finite number of seconds"),
        (sm.Job(1, 0.0, 1.0, 2.0**53, 1), r"runtime_s must be between -2\*\*53 and 2\*\*53 s"),
        (sm.Job(1, 0.0, 1.0, 1.0, 1.5), "cores of task 0 must be an integer"),  # type: ignore[arg-type]
        (sm.Job(1, 0.0, 1.0, 1.0, 5), "task 0 needs 5 cores, and the largest cluster has 4"),
    ],
)
def test_a_job_that_cannot_bid_is_refused_as_a_workflow_is(job: sm.Job, text: str) -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "c", cores=4)])
    with pytest.raises(sm.ImpossibleJobError, match=text):
        auction.enqueue(job)


def test_what_an_auction_does_not_take_is_refused_when_it_is_given() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "c", cores=4)])
    with pytest.raises(sm.ImpossibleJobError):
        sm.Source(env, rigid((0, 5, 5, 5)), into=auction)
    with pytest.raises(sm.ImpossibleJobError, match="cores must be an integer from 1 to 4, the most that a cluster"):
        auction.submit(sm.Job(1, 0.0, 1.0, 1.0, 5))
    with pytest.raises(sm.RequestError, match="give it a Job"):
        auction.submit("job")  # type: ignore[arg-type]
    until = sm.Auctioneer(env, [sm.Cluster(env, "d", cores=4)], end="submit")
    for give, what in ((until.submit, sm.Job(1, 0.0, 1.0, 1.0, 1)), (until.accept, rigid((0, 1, 1, 1)))):
        with pytest.raises(sm.RequestError, match="rigid jobs in an auction with end='submit'"):
            give(what)


# -- in front of schedulers -----------------------------------------------------------------------------


@given(
    st.lists(flows(), min_size=1, max_size=9),
    st.sampled_from(["FIFO", "PVR", "P-SLR", "P-SLR:by-kind"]),
    RULES,
    st.sampled_from(PLATFORMS),
)
@settings(max_examples=60)
def test_without_forwarding_it_is_the_auction_on_the_clusters_themselves(
    jobs: list[sm.Workflow], bid: str, rules: dict[str, Any], platform: Any
) -> None:
    schedules = []
    for served in (False, True):
        env = sm.Environment()
        clusters = [sm.Cluster(env, name, cores=cores, kind=kind) for name, cores, kind in platform]
        into = [sm.QueueScheduler(env, cluster, backfilling="none") for cluster in clusters] if served else clusters
        schedules.append(scheduled(sm.Auctioneer(env, into, bid=bid, **rules), jobs, proved=served))
    alone, behind = schedules
    for name in ("start_s", "end_s", "cluster", "workflow_outcome"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(behind, name))


@pytest.mark.parametrize("served", [False, True])
def test_a_further_auction_in_an_instant_bids_as_the_first(served: bool) -> None:
    """At 70 the fourth job starts, whose path is the longest; the last one stays ahead, and holds its kind."""
    runs = [(0, 70, 4, "A"), (0, 1000, 2, "B"), (0, 70, 2, "B"), (1, 100, 4, "A"), (1, 60, 1, "B"), (65, 3, 4, "B")]
    jobs = [
        sm.Workflow(number, submit_s, [runtime_s], cores, kind=kind, curve=sm.FOREVER)
        for number, (submit_s, runtime_s, cores, kind) in enumerate(runs)
    ]
    env = sm.Environment()
    clusters = [sm.Cluster(env, kind, cores=4, kind=kind) for kind in ("A", "B")]
    into = [sm.QueueScheduler(env, cluster, backfilling="none") for cluster in clusters] if served else clusters
    assert scheduled(sm.Auctioneer(env, into, bid="P-SLR"), jobs).start_s.tolist() == [0, 0, 0, 70, 1003, 1000]


def test_a_place_where_others_wait_has_no_cores_for_those_that_are_not_forwarded() -> None:
    auction = forwarding(4, 2, forward=False)
    queue, recorder = auction.into[0], sm.Recorder(auction.env)
    for number, cores in ((1, 3), (2, 4)):  # straight to the queue: 1 free core, and a job that waits
        queue.submit(sm.Job(number, 0.0, 10.0, 10.0, cores))
    for number in (3, 4, 5):
        auction.submit(sm.Job(number, 0.0, 5.0, 5.0, 1))
    auction.env.run(until=1)
    assert [job.job_id for job in queue.waiting] == [2]
    auction.env.run()
    schedule = recorder.schedule().validate()
    assert schedule.cluster.tolist() == [0, 0, 1, 1, 1]
    assert schedule.start_s.tolist() == [0, 10, 0, 0, 5]


def test_an_auction_is_held_when_cores_can_be_used_again() -> None:
    env, cluster = machines_on(2, 4)
    sm.TraceCapacity(env, cluster, [sm.CapacityChange(0, 1), sm.CapacityChange(10, 2)])
    schedule = scheduled(sm.Auctioneer(env, [sm.QueueScheduler(env, cluster)]), rigid((1, 5, 5, 8)))
    assert schedule.start_s.tolist() == [10]
    auction = forwarding(10, forward=False)
    recorder = sm.Recorder(auction.env)
    auction.into[0].submit(sm.Job(1, 0.0, 10.0, 10.0, 10))
    auction.into[0].submit(sm.Job(2, 0.0, 1000.0, 1000.0, 1))
    auction.submit(sm.Job(3, 0.0, 5.0, 5.0, 5))
    auction.env.run()
    assert recorder.schedule().validate().start_s.tolist() == [0, 10, 10]


@sm.bid(wins="low")
def shortest_queue(queue: float, start: float) -> float:
    return queue + 0.0 * start


FIVE = rigid((0, 9, 4), (0, 3, 4), (1, 3, 4), (2, 5, 4), (2, 1, 1))


@pytest.mark.parametrize(
    ("sizes", "bid", "jobs", "places"),
    [
        # At 1 both have cores from 9 and 7 on; job 4 is longer, so it chooses before job 3.
        ((4, 4), "LRTF", rigid((0, 9, 4), (0, 7, 4), (1, 3, 4), (1, 5, 4)), [0, 1, 0, 1]),
        # The second fits only the third place; the third finds the first taken.
        ((2, 2, 4), "FIFO", rigid((0, 9, 2), (0, 9, 3), (0, 9, 2)), [0, 2, 1]),
        # By the end: at 0 job 2 chooses first, at 2 job 5. By the queue: job 1 first; of equal ones the earlier start.
        ((4, 4), early_end, FIVE, [1, 0, 0, 0, 0]),
        ((4, 4), shortest_queue, FIVE, [0, 1, 1, 0, 1]),
    ],
)
def test_the_highest_bidder_chooses_first_by_what_those_before_it_have_left(
    sizes: tuple[int, ...], bid: Any, jobs: sm.Workload, places: list[int]
) -> None:
    assert scheduled(forwarding(*sizes, bid=bid), jobs).cluster.tolist() == places


@pytest.mark.parametrize(("rebalance_s", "place", "start_s"), [(None, 0, 10), (2.0, 1, 4)])
def test_what_has_not_started_moves_to_a_better_place(rebalance_s: float | None, place: int, start_s: float) -> None:
    """Job 3 goes to the first, which is free at 10 by estimate; the second is expected at 20, and free at 3."""
    jobs = rigid((0, 10, 10, 4), (0, 3, 20, 4), (1, 5, 5, 4))
    schedule = scheduled(forwarding(4, 4, rebalance_s=rebalance_s), jobs)
    assert (schedule.cluster[2], schedule.start_s[2]) == (place, start_s)


@pytest.mark.parametrize("rebalance_s", [0.1, 0.7, 59.9])
def test_time_passes_whatever_the_period(rebalance_s: float) -> None:
    schedule = scheduled(forwarding(4, rebalance_s=rebalance_s), rigid((0, 200, 200, 4), (0, 1, 1, 4)))
    assert schedule.start_s.tolist() == [0, 200]


def test_nothing_moves_to_a_place_that_is_as_good() -> None:
    @sm.bid(wins="low")
    def fewest(queue: float) -> float:
        return queue

    auction = forwarding(4, 4, bid=fewest, rebalance_s=10.0)
    routed: list[sm.Routed] = []
    auction.env.on(sm.Routed, routed.append)
    scheduled(auction, rigid((0, 90, 90, 4), (0, 90, 90, 4), (1, 5, 5, 4)))
    assert len(routed) == 3


@pytest.mark.parametrize("options", [{"warm_jobs": 2}, {"queue_depth": 1}])
def test_jobs_that_are_warm_or_beyond_the_window_move_too(options: dict[str, Any]) -> None:
    env, first = queue_on(4, **options)
    auction = sm.Auctioneer(env, [first, *queues(env, 4)], bid="FIFO", forward=True, rebalance_s=2.0)
    # The second place is expected to be free at 900 and is at 3: of those that wait for 10 and 20, one moves to it.
    schedule = scheduled(auction, rigid((0, 10, 10, 4), (0, 3, 900, 4), (1, 10, 10, 4), (1, 10, 10, 4)))
    assert schedule.start_s.tolist() == [0, 0, 4, 10]
    assert schedule.cluster.tolist() == [0, 1, 1, 0]


def test_a_task_whose_job_has_starved_does_not_run_again() -> None:
    env, cluster = machines_on(1, 4)
    auction = sm.Auctioneer(env, [sm.QueueScheduler(env, cluster)], bid="FIFO", forward=True)
    flow = sm.Workflow(9, 0.0, [20.0, 1.0], 4, edges=[(0, 1)], curve=sm.ValueCurve.linear(0.1, 0.5))
    sm.Source(env, [flow], into=auction)
    sm.TraceCapacity(env, cluster, [sm.CapacityChange(at_s, n) for at_s, n in ((0, 1), (16, 0), (18, 1))])
    started: list[float] = []
    env.on(sm.Started, lambda _: started.append(env.now))
    env.run()
    assert started == [0]


@pytest.mark.parametrize("queue_depth", [None, 1])
def test_tasks_of_a_job_that_starves_leave_the_queue(queue_depth: int | None) -> None:
    env, queue = queue_on(4, queue_depth=queue_depth)
    auction = sm.Auctioneer(env, [queue], bid="FIFO", forward=True)
    curve = sm.ValueCurve.linear(1.5, 3)  # worth nothing at 3 times its 5 s
    sm.Source(env, rigid((0, 50, 50, 4), (1, 5, 5, 4)), into=auction)
    sm.Source(env, [sm.Workflow(99, 1.0, [5.0], 4, curve=curve)], into=auction)
    recorder = sm.Recorder(env)
    for until_s, waiting in ((2, 2), (17, 1)):
        env.run(until=until_s)
        assert len(queue.waiting) == waiting
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workflows["outcome"].tolist() == ["starved"]
    assert rigid_jobs(schedule)["start_s"].tolist() == [0, 50]


def test_routers_stand_before_auctioneers_and_those_of_clusters_predict_nothing() -> None:
    def auctions() -> list[sm.Auctioneer]:
        return [sm.Auctioneer(env, [sm.Cluster(env, name, cores=4)], bid="FIFO") for name in "ab"]

    env = sm.Environment()
    behind = [sm.Auctioneer(env, queues(env, 4), bid="FIFO", forward=True) for _ in range(2)]
    schedule = scheduled(sm.EarliestStart(env, behind), rigid((0, 9, 9, 4), (0.5, 5, 5, 4), (1, 5, 5, 4)))
    assert (schedule.cluster.tolist(), schedule.start_s.tolist()) == ([0, 1, 1], [0, 0.5, 5.5])
    env = sm.Environment()
    schedule = scheduled(sm.RoundRobin(env, auctions()), rigid((0, 9, 9, 4), (0, 5, 5, 4), (1, 5, 5, 4)))
    assert (schedule.cluster.tolist(), schedule.start_s.tolist()) == ([0, 1, 0], [0, 0, 9])
    env = sm.Environment()
    with pytest.raises(sm.RequestError, match="an Auctioneer of clusters predicts no start; put schedulers behind it"):
        sm.EarliestStart(env, [sm.RoundRobin(env, auctions())])


# -- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prices": True}, "prices=True"),
        ({"backfilling": "easy"}, "backfilling='easy'"),
        ({"admission": 0.5}, "admission=0.5"),
        ({"forward": False, "rebalance_s": 5.0}, "rebalance_s without forward=True; add forward=True, or leave reb"),
        ({"bid": sm.Bid("x", lambda start, longest: start + longest)}, "names longest and start"),
        ({"rebalance_s": 0.0}, r"rebalance_s must be a finite number of seconds > 0, or None \(got 0.0\)"),
        ({"forward": False, "bid": early_end}, "names start; use it with forward=True, of an Auctioneer before sched"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(sm.RequestError, match=text):
        forwarding(4, **options)


def test_bids_that_name_the_place_are_refused_where_there_is_none(engine: Any) -> None:
    flows = [sm.Workflow(1, 0.0, [5.0], 4)]
    with pytest.raises(sm.RequestError, match="bid 'early_end' names start; use it with forward=True"):
        sm.simulate_workflows(flows, clusters=[("c", 4, None)], bid=early_end, engine=engine)


def test_clusters_and_schedulers_are_not_mixed() -> None:
    env, cluster = machines_on(2, 2)
    for into, forward, text in (
        ([cluster, *queues(env, 4)], False, "in front of clusters and schedulers"),
        ([cluster], True, "forward=True in front of clusters"),
        ([sm.FirstFit(env, cluster)], False, "forward=False in front of a placer"),
        ([forwarding(4)], False, "an Auctioneer in front of Auctioneer"),
    ):
        with pytest.raises(sm.RequestError, match=text):
            sm.Auctioneer(env, into, forward=forward)
