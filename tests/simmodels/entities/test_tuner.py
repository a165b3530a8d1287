# ruff: noqa: ANN401  options of any type are handed through
"""Tuners of any option: the same as a script that changes it, costs that a schedule bears out, refusals."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from tests.model_scripts import machines_on, queue_on
from tests.on_machines import workload
from tests.refused import refused
from tests.simmodels.passes.test_bidding import LINE, PLATFORMS, flows

PERIOD_S = 20.0
LOG = workload([(float(3 * k % 97), float(1 + k * k % 17), 1 + k % 4) for k in range(60)])
ROWS = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=25).map(
    lambda rows: workload(sorted((float(at_s), float(runs_s), cores) for at_s, runs_s, cores in rows))
)


SHORTEST = sm.Polynomial([0.0, 1.0], ["1", "p"], name="shortest")


@sm.bid
def learned(rank: float, wait: float) -> float:
    return wait / rank


def run(env: sm.Environment, work: Any, into: Any, until: float | None = None) -> sm.Schedule:
    sm.Source(env, work, into=into)
    recorder = sm.Recorder(env)
    env.run(until)
    return recorder.schedule().validate()


def queue(**options: Any) -> sm.QueueScheduler:
    env = sm.Environment(seed=3)
    return sm.QueueScheduler(env, sm.Cluster(env, "q", cores=4), **options)


def auction(clusters: Sequence[tuple[str, int, str | None]] = PLATFORMS[0], **rules: Any) -> sm.Auctioneer:
    env = sm.Environment(seed=3)
    return sm.Auctioneer(
        env, [sm.Cluster(env, name, cores=cores, kind=kind) for name, cores, kind in clusters], **rules
    )


def test_a_tuner_turns_the_checkpoints_of_a_cluster_and_options_of_a_subclass() -> None:
    class Boosting(sm.QueueScheduler):
        boost = 0

        def reconfigure(self, *, boost: int | None = None, **options: Any) -> None:
            self.boost = self.boost if boost is None else boost
            super().reconfigure(**options)

    env, cluster = machines_on(4, 1, seed=3)
    sm.Failures(env, cluster, mtbf_s=200, repair_s=5)
    scheduler = Boosting(env, cluster)
    saving = tuple(sm.Checkpoints(interval_s=each) for each in (2.0, 8.0))
    tuner = sm.Tuner(env, (cluster, "checkpoints"), sm.EpsilonGreedy(choices=saving), period_s=PERIOD_S)
    sm.Tuner(env, (scheduler, "boost"), sm.EpsilonGreedy(choices=(1, 2)), period_s=PERIOD_S, name="boost")
    sm.Source(env, LOG, into=scheduler)
    env.run(until=sm.all_done(env))
    assert cluster.checkpoints == saving[tuner.tuning_run.used[-1]]
    assert len(set(tuner.tuning_run.used)) == 2
    assert scheduler.boost in {1, 2}
    with refused("checkpoints must be a Checkpoints, or None (got 'often')..."):
        sm.Tuner(env, (cluster, "checkpoints"), sm.EpsilonGreedy(choices=("often", None)))
    with refused("unknown option that can be changed 'order'; known: checkpoints..."):
        sm.Tuner(env, (cluster, "order"), sm.EpsilonGreedy(choices=("FCFS", "SAF")))


@given(work=ROWS, second=st.sampled_from([None, "LQF"]))
def test_a_scheduler_alone_stands_for_its_order(work: sm.Workload, second: str | None) -> None:
    found = []
    for knob in (lambda one: one, lambda one: (one, "order")):
        one = queue(backfill_order=second)
        tuner = sm.Tuner(one.env, knob(one), sm.EpsilonGreedy(), period_s=PERIOD_S)
        schedule = run(one.env, work, one)
        assert one.backfill_order is (None if second is None else sm.orders()[second])
        found.append((schedule.start_s.tolist(), tuner.tuning_run.used, tuner.tuning_run.memory.cost.tolist()))
    assert found[0] == found[1]


@given(work=ROWS, backfilling=st.sampled_from(["none", "greedy", "easy"]))
def test_a_tuner_with_one_choice_of_backfilling_gives_its_schedule(work: sm.Workload, backfilling: Any) -> None:
    one = queue()
    sm.Tuner(one.env, (one, "backfilling"), sm.UCB1(choices=[backfilling]), period_s=PERIOD_S)
    alone = sm.simulate(work, cores=4, backfilling=backfilling)
    assert run(one.env, work, one).start_s.tolist() == alone.start_s.tolist()


def test_numbers_and_none_are_choices_too() -> None:
    one = queue()
    strategy = sm.RandomOrder(choices=(None, 5.0, 50.0))
    tuner = sm.Tuner(one.env, (one, "threshold_s"), strategy, period_s=PERIOD_S)
    schedule = run(one.env, LOG, one)
    (about,) = schedule.about["tuned"]  # type: ignore[misc]
    assert about["option"] == "threshold_s"
    assert about["periods"] == {name: tuner.tuning_run.used.count(k) for k, name in enumerate(("None", "5.0", "50.0"))}
    assert one.options.threshold_s == strategy.choices[tuner.tuning_run.used[-1]]


FLOWS = st.lists(flows(), min_size=1, max_size=12)


@given(jobs=FLOWS, bid=st.sampled_from(["PVR", "SRTF", "PVD", learned]), clusters=st.sampled_from(PLATFORMS))
def test_a_tuner_with_one_bid_gives_its_auction(jobs: list[sm.Workflow], bid: Any, clusters: list[Any]) -> None:
    one = auction(clusters, bid="LRTF")
    sm.Tuner(one.env, (one, "bid"), sm.EXP3(choices=[bid]), cost="lost_value", period_s=PERIOD_S)
    alone = sm.simulate_workflows(jobs, clusters=clusters, bid=bid)
    np.testing.assert_array_equal(run(one.env, jobs, one).start_s, alone.start_s)


def ends_s(schedule: sm.Schedule) -> list[float]:
    """Return when each workflow was finished, or starved: at its deadline, or when its last task had ended before."""
    found = []
    by_job = schedule.tasks.groupby("job_id", sort=False)["end_s"]
    for flow, path_s, (_, ends) in zip(
        schedule.workload.workflows, schedule.workflows["critical_path_s"], by_job, strict=True
    ):
        deadline_s = math.ceil(flow.submit_s + flow.curve.final * path_s)
        found.append(min(deadline_s, math.inf if ends.isna().any() else ends.max()))
    return found


@given(jobs=FLOWS, clusters=st.sampled_from(PLATFORMS), instants=st.sampled_from(["deadlines", "starvation"]))
def test_lost_value_can_be_recomputed_from_the_schedule(
    jobs: list[sm.Workflow], clusters: list[Any], instants: Any
) -> None:
    jobs = [dataclasses.replace(flow, job_id=number) for number, flow in enumerate(jobs)]
    one = auction(clusters, instants=instants)
    strategy = sm.EpsilonGreedy(choices=("PVR", "SRTF", learned))
    tuner = sm.Tuner(one.env, (one, "bid"), strategy, cost="lost_value", period_s=PERIOD_S)
    schedule = run(one.env, jobs, one)
    table = schedule.workflows
    lost = (table["most_value"] - table["value"]).to_numpy()
    when = np.array(ends_s(schedule)) // PERIOD_S
    cost, count = np.zeros(3), np.zeros(3)
    for period, place in enumerate(tuner.tuning_run.used[:-1]):  # the last one is not over
        cost[place] += lost[when == period].sum()
        count[place] += (when == period).sum()
    np.testing.assert_allclose(tuner.tuning_run.memory.cost, cost, rtol=1e-9, atol=1e-9)
    assert tuner.tuning_run.memory.count.tolist() == count.tolist()


def test_what_is_rejected_loses_all_its_value() -> None:
    one = auction([("a", 4, None)], bid="FIFO", admission=0.6)
    tuner = sm.Tuner(one.env, (one, "admission"), sm.UCB1(choices=[0.6]), cost="lost_value", period_s=50.0)
    jobs = [sm.Workflow(k, 0.0, [10.0], 4, curve=sm.ValueCurve.linear(2, 6)) for k in range(4)]
    run(one.env, [*jobs, sm.Workflow(9, 60.0, [10.0], 4)], one, until=60.0)
    # The third is finished at an SLR of 3 and worth 3/4 of 40; the fourth is rejected.
    assert tuner.tuning_run.memory.cost.tolist() == [(10 + 40) / 4]


@given(jobs=FLOWS)
def test_an_order_can_be_tuned_by_the_value_that_workflows_lose(jobs: list[sm.Workflow]) -> None:
    jobs = [dataclasses.replace(flow, job_id=number, kind=None) for number, flow in enumerate(jobs)]
    one = queue()
    strategy = sm.EpsilonGreedy(choices=("FCFS", SHORTEST), epsilon=0.0)
    tuner = sm.Tuner(one.env, (one, "order"), strategy, cost="lost_value", period_s=PERIOD_S)
    table = run(one.env, jobs, one).workflows
    until_s = PERIOD_S * (len(tuner.tuning_run.used) - 1)
    over = table[table["finish_s"] < until_s]
    lost = (over["most_value"] - over["value"]).sum()
    assert tuner.tuning_run.memory.cost.sum() == pytest.approx(lost, rel=1e-9, abs=1e-9)
    assert tuner.tuning_run.memory.count.sum() == len(over)


def test_a_cost_may_be_a_function_of_the_attempts_of_a_period() -> None:
    seen: list[list[int]] = []

    def slowdowns(attempts: Sequence[sm.Attempt]) -> float:
        seen.append([attempt.job.job_id for attempt in attempts])
        return sum((attempt.end_s - attempt.submitted.submit_s) / attempt.job.runtime_s for attempt in attempts)

    one = queue()
    tuner = sm.Tuner(one.env, (one, "order"), sm.UCB1(choices=("FCFS", "SPF")), cost=slowdowns, period_s=PERIOD_S)
    schedule = run(one.env, LOG, one)
    for period, jobs in enumerate(seen):
        inside = (schedule.end_s >= period * PERIOD_S) & (schedule.end_s < (period + 1) * PERIOD_S)
        assert sorted(jobs) == sorted(LOG.job_id[inside])
    assert tuner.tuning_run.memory.cost.sum() > 0
    assert schedule.about["tuned"][0]["cost"] == "slowdowns"  # type: ignore[index]
    other = queue()
    sm.Tuner(other.env, (other, "order"), sm.UCB1(), cost=lambda _: math.nan, period_s=PERIOD_S)
    with refused("...cost <lambda> of the period that ends at 20 s must be a finite number >= 0 (got nan)..."):
        run(other.env, LOG, other)


@given(work=ROWS, heuristic=st.sampled_from(["TargetAsap", "TargetStretch"]))
@settings(max_examples=30)
def test_heuristics_can_be_tuned(work: sm.Workload, heuristic: str) -> None:
    def placed(choices: Sequence[str]) -> list[float]:
        env, cluster = machines_on(3, 4, seed=5)
        sm.TraceCapacity(env, cluster, [(0, 3), (25, 1), (60, 3)])
        placer = (sm.TargetStretch if heuristic == "TargetStretch" else sm.TargetAsap)(env, cluster, reference=LOG)
        if choices:
            sm.Tuner(env, (placer, "heuristic"), sm.RandomOrder(choices=choices), period_s=PERIOD_S)
        schedule = run(env, work, placer)
        assert set(schedule.outcome) == {0}
        return schedule.start_s.tolist()

    placed(("TargetStretch", "TargetAsap", "FirstFit"))
    assert placed([heuristic]) == placed([])


def test_a_bandit_over_bids_of_an_auction_on_machines_that_are_switched() -> None:
    env = sm.Environment(seed=1)
    clusters = [sm.Cluster(env, name, machines=16, cores_per_machine=64) for name in "abc"]
    auctioneer = sm.Auctioneer(env, clusters, bid="PVR")
    for cluster in auctioneer.clusters:
        sm.MarkovCapacity(env, cluster, low=8, high=16, step=2, period_s=1200)
    runs_s = [[3000.0, 900.0 + 10 * (k % 90), 600.0] for k in range(420)]
    edges = [(0, 1), (0, 2)]
    work = [sm.Workflow(k, 800.0 * k, each, 64 * (1 + k % 9), edges, curve=LINE) for k, each in enumerate(runs_s)]
    strategy = sm.EpsilonGreedy(choices=("PVR", "SRTF", learned), epsilon=0.0)
    tuner = sm.Tuner(env, (auctioneer, "bid"), strategy, period_s=sm.DAY, cost="lost_value")
    schedule = run(env, work, auctioneer, until=6 * sm.DAY)
    assert set(tuner.tuning_run.used) == {0, 1, 2}
    assert (tuner.tuning_run.memory.count > 0).all()
    (about,) = schedule.about["tuned"]  # type: ignore[misc]
    assert about == {
        "of": ["a", "b", "c"],
        "option": "bid",
        "strategy": "EpsilonGreedy",
        "cost": "lost_value",
        "period_s": sm.DAY,
        "periods": {name: tuner.tuning_run.used.count(place) for place, name in enumerate(("PVR", "SRTF", "learned"))},
    }
    assert tuner.tuning_run.memory.cost.sum() > 0
    assert not tuner.process.is_alive, "it ends with the work, though machines are switched forever"


def test_a_router_is_tuned_until_what_it_sends_is_done() -> None:
    env = sm.Environment(seed=2)
    queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=2)) for name in "ab"]
    auctioneer = sm.Auctioneer(env, queues, bid="FIFO", forward=True, rebalance_s=10.0)
    strategy = sm.RandomOrder(choices=("FIFO", "SRTF", "LRTF"))
    first = sm.Tuner(env, (auctioneer, "bid"), strategy, period_s=PERIOD_S)
    others = [sm.Tuner(env, each, sm.UCB1(), period_s=PERIOD_S, name=str(k)) for k, each in enumerate(queues)]
    work = workload([(float(k), 9.0, 1 + k % 2) for k in range(40)])
    schedule = run(env, work, auctioneer)
    last = math.floor(schedule.end_s.max() / PERIOD_S)
    assert [len(each.tuning_run.used) for each in (first, *others)] == [last + 1] * 3
    assert [about["option"] for about in schedule.about["tuned"]] == ["bid", "order", "order"]  # type: ignore[union-attr]


class Mine(sm.Scheduler):
    limit = 1

    def decide(self, now: float) -> Iterable[sm.Placement]:  # noqa: ARG002
        room = min(self.limit - len(self.running), self.cluster.free_cores)
        return [sm.Placement(job) for job in self.waiting[: max(room, 0)]]

    def reconfigure(self, **options: Any) -> None:
        self.limit = options.pop("limit", self.limit)
        super().reconfigure(**options)


def test_an_option_of_a_scheduler_of_ones_own_is_one_too() -> None:
    env = sm.Environment()
    mine = Mine(env, sm.Cluster(env, "c", cores=4))
    sm.Tuner(env, (mine, "limit"), sm.EpsilonGreedy(choices=(1, 3), epsilon=0.0), period_s=PERIOD_S)
    schedule = run(env, workload([(0.0, 10.0, 1) for _ in range(5)]), mine)
    assert schedule.start_s.tolist() == [0, 10, 20, 20, 20]


class Passing(sm.QueueScheduler):
    def reconfigure(self, **options: Any) -> None:
        super().reconfigure(**options)


def test_an_option_that_a_scheduler_of_ones_own_does_not_have_is_refused_when_the_tuner_is_made() -> None:
    env = sm.Environment()
    passing, mine = Passing(env, sm.Cluster(env, "a", cores=4)), Mine(env, sm.Cluster(env, "c", cores=4))
    for one, option, what in (
        (passing, "ordr", "unknown option that can be changed 'ordr'; did you mean order"),
        (passing, "options", "unknown option that can be changed 'options'"),
        (mine, "speed", "speed of a Mine is to be changed; it has no option to change"),
    ):
        with pytest.raises(sm.RequestError, match=what):
            sm.Tuner(env, (one, option), sm.EpsilonGreedy(choices=(1, 3)))
    sm.Tuner(env, (mine, "limit"), sm.EpsilonGreedy(choices=(2, 3)), from_s=100.0)
    assert mine.limit == 1, "it is not turned before its time"


def test_what_cannot_be_tuned_is_refused_when_the_tuner_is_made() -> None:
    one, bids = queue(), auction()
    env = one.env
    simulates = "let a strategy that simulates choose the order of a QueueScheduler, by mean_wait_s"
    both, ways = (sm.FullFeedback(choices=each) for each in (("PVR", "SRTF"), ("none", "easy")))
    bid = (bids, "bid")
    for knob, strategy, cost, what in (
        ((one, "decide"), sm.UCB1(choices=("instant", "event")), "mean_wait_s", "changed 'decide'; .*known: order, b"),
        (one, sm.UCB1(choices=("FCF",)), "mean_wait_s", "unknown order 'FCF'; did you mean FCFS"),
        (bid, sm.UCB1(choices=("FCF",)), "mean_wait_s", "unknown bid 'FCF'"),  # FCFS would do: an order works as a bid
        (sm.RoundRobin(env, [one]), sm.UCB1(), "mean_wait_s", "order of a RoundRobin is to be changed; it has no opt"),
        (one, sm.UCB1(), "mean_wait", "unknown cost 'mean_wait'; did you mean mean_wait_s"),
        ((one, "backfilling"), ways, "mean_wait_s", f"FullFeedback for backfilling of a QueueScheduler; {simulates}"),
        (one, sm.FullFeedback(), "lost_value", f"FullFeedback for order of a QueueScheduler; {simulates}"),
        (bid, both, "mean_wait_s", f"FullFeedback for bid of a Auctioneer; {simulates}"),
    ):
        with pytest.raises(sm.RequestError, match=what):
            sm.Tuner(bids.env if knob is bid else env, knob, strategy, cost=cost)  # type: ignore[arg-type]
    sm.Tuner(env, one, sm.UCB1(), cost="lost_value")
    with refused("...cost='lost_value' for order of a QueueScheduler of rigid jobs; submit workflows there..."):
        run(env, LOG, one)


@pytest.mark.parametrize("pick", [lambda queue: (queue,), lambda queue: queue.env, lambda queue: (queue, 5)])
def test_what_is_no_knob_is_refused(pick: Any) -> None:
    env, queue = queue_on(4)
    with refused("...knob must be a scheduler or router, or one of these, or a cluster, and the name of an option..."):
        sm.Tuner(env, pick(queue), sm.EpsilonGreedy(choices=("FCFS", "SAF")))
