# ruff: noqa: ANN401  options of any type are handed through
"""A strategy on either engine: the same schedule, costs that a schedule bears out, and choices drawn by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from simmodels.policies.queue_options import QueueOptions
from simmodels.tuning import Feedback, Tuned, replay_tuned
from tests.model_scripts import machines_on, scheduled

STRATEGIES = [
    sm.RandomOrder(),
    sm.EpsilonGreedy(),
    sm.EpsilonGreedy(epsilon=0.0, counts="started", pseudo_jobs=1.0, decay=0.9),
    sm.UCB1(),
    sm.EXP3(),
    sm.FullFeedback(),
    sm.FullFeedback(noise=0.15, decay=0.8),
    sm.FullFeedback(choices=("FCFS", "RANDOM")),
    sm.FullFeedback(noise=0.2, noise_of="period", preload=True),
]
PERIOD_S = 100.0


def by_processes(
    workload: sm.Workload, strategy: sm.Strategy, *, cores: int, period_s: float, from_s: float = 0.0, **options: Any
) -> tuple[sm.Schedule, sm.Tuner]:
    env = sm.Environment(seed=5, start_s=float(workload.submit_s.min(initial=0.0)))
    cluster = sm.Cluster(env, "one", cores=cores)
    scheduler = sm.QueueScheduler(env, cluster, **options)  # type: ignore[arg-type]
    tuner = sm.Tuner(env, scheduler, strategy, period_s=period_s, from_s=from_s)
    return scheduled(scheduler, workload), tuner


def compiled(workload: sm.Workload, strategy: sm.Strategy, *, cores: int, period_s: float, **more: Any) -> Tuned:
    rules = {"from_s": more.pop("from_s", 0.0), "options": QueueOptions.checked(**more)}
    return replay_tuned(workload, strategy, cores=cores, period_s=period_s, seed=5, **rules)


ROW = st.tuples(st.integers(0, 600), st.integers(0, 200), st.integers(1, 250), st.integers(1, 4))


def workload_of(rows: list[tuple[int, int, int, int]]) -> sm.Workload:
    submit, runtime, estimate, cores = zip(*rows, strict=True)
    return sm.Workload(np.arange(len(rows)), submit, runtime, estimate, cores)


@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    strategy=st.sampled_from(STRATEGIES),
    options=st.fixed_dictionaries(
        {
            "threshold_s": st.sampled_from([None, 50.0]),
            "backfill_order": st.sampled_from([None, "LQF"]),
            "warm_jobs": st.sampled_from([0, 3]),
            "decide": st.sampled_from(["instant", "event"]),
            "period_s": st.sampled_from([37.5, PERIOD_S]),
            "from_s": st.sampled_from([0.0, 120.0]),
        }
    ),
)
def test_both_engines_choose_the_same_orders_and_give_the_same_schedule(
    rows: list[tuple[int, int, int, int]], strategy: sm.Strategy, options: dict[str, Any]
) -> None:
    workload = workload_of(rows)
    one, tuner = by_processes(workload, strategy, cores=4, **options)
    other = compiled(workload, strategy, cores=4, **options)
    assert (one.start_s == other.schedule.start_s).all()
    assert tuner.tuning_run.used == other.tuning_run.used
    assert (tuner.tuning_run.memory.cost == other.tuning_run.memory.cost).all()


@pytest.mark.parametrize("name", ["FCFS", "SAF", "LEXP"])
def test_a_tuner_with_one_order_gives_that_orders_schedule(name: str) -> None:
    log = wl.lublin(jobs=400, cores=32, seed=2, load=1.0)
    tuned = compiled(log, sm.EpsilonGreedy(orders=[name]), cores=32, period_s=sm.DAY, threshold_s=sm.HOUR)
    alone = sm.simulate(log, cores=32, order=name, threshold_s=sm.HOUR)
    assert (tuned.schedule.start_s == alone.start_s).all()


@pytest.mark.parametrize("counts", ["finished", "started"])
def test_the_costs_of_a_bandit_can_be_recomputed_from_the_schedule_to_the_last_bit(counts: str) -> None:
    log = wl.lublin(jobs=500, cores=32, seed=4, load=1.1)
    strategy = sm.EpsilonGreedy(counts=counts)  # type: ignore[arg-type]
    tuned = compiled(log, strategy, cores=32, period_s=sm.DAY / 4)
    schedule, used = tuned.schedule, tuned.tuning_run.used
    wait_s = schedule.start_s - log.submit_s
    when_s = schedule.end_s if counts == "finished" else schedule.start_s
    cost, count = np.zeros(12), np.zeros(12)
    for period, order in enumerate(used[:-1]):  # the last one is not over
        begin_s = period * tuned.period_s
        inside = (when_s >= begin_s) & (when_s < begin_s + tuned.period_s)
        cost[order] += math.fsum(wait_s[inside])
        count[order] += inside.sum()
    assert (cost == tuned.tuning_run.memory.cost).all()
    assert (count == tuned.tuning_run.memory.count).all()


@pytest.mark.parametrize("backfilling", ["easy", "conservative"])
def test_simulated_costs_are_those_of_each_periods_jobs_run_alone_from_an_empty_machine(backfilling: str) -> None:
    log = wl.lublin(jobs=300, cores=32, seed=3, load=1.2)
    rules: dict[str, Any] = {"threshold_s": sm.HOUR, "backfilling": backfilling}
    orders = ("FCFS", "SAF", "SEXP", "RANDOM")
    feedback = Feedback(log, cores=32, options=QueueOptions.checked(**rules, warm_jobs=5), orders=orders)
    first = 0
    for stop in (80, 81, 200, 300):
        part = log.take(slice(first, stop))
        expected = [sm.simulate(part, cores=32, order=name, **rules).start_s - part.submit_s for name in orders]
        assert (feedback.waits_s(first, stop) == np.array(expected)).all()
        first = stop
    assert (feedback.waits_s(0, 80)[0] >= 0).all(), "and what is done can be asked for again"


def test_full_feedback_finds_the_best_order_of_a_stationary_trace() -> None:
    # Each day the same: a wide job that blocks, and many short ones that would pass it.
    day = [(0, 20_000, 20_000, 3), (10, 30_000, 30_000, 4), *((20 + k, 60, 60, 1) for k in range(50))]
    rows = [(submit + d * 86_400, *rest) for d in range(20) for submit, *rest in day]
    log = workload_of(rows)
    tuned = compiled(log, sm.FullFeedback(), cores=4, period_s=sm.DAY)
    waits = {name: sm.simulate(log, cores=4, order=name).metrics()["mean_wait_s"] for name in sm.TWELVE_ORDERS}
    best = min(waits.values())
    for place in tuned.tuning_run.used[1:]:
        assert waits[sm.TWELVE_ORDERS[place]] == best, "from the second day on"


def test_the_order_changes_at_the_beginning_of_a_period_and_not_before() -> None:
    # Period 0 uses the first order, FCFS. LCFS costs less in it, so from 100 s on the last goes first: of the three
    # that wait when the second ends at 105 s, that of 91 s, then that of 90 s, and that of 2 s comes last.
    rows = [(0, 60, 60, 1), (1, 45, 45, 1), (2, 5, 5, 1), (90, 30, 30, 1), (91, 1, 1, 1)]
    log = workload_of(rows)
    one, tuner = by_processes(log, sm.FullFeedback(orders=["FCFS", "LCFS"]), cores=1, period_s=PERIOD_S)
    assert [tuner.strategy.orders[place] for place in tuner.tuning_run.used] == ["FCFS", "LCFS"]
    assert one.start_s.tolist() == [0.0, 60.0, 136.0, 106.0, 105.0]


@pytest.mark.parametrize(
    ("steps", "waits_s"),
    [
        ([(0, 4)], 0.0),
        ([(0, 2)], 20.0),  # on two cores two of the four jobs wait for 10 s
        ([(0, 2), (50, 4)], 10.0),  # three, on average
        ([(0, 2), (100, 4)], 20.0),
        ([(0, 0)], 60.0),  # one at least: 10 + 20 + 30
    ],
)
def test_simulations_have_the_cores_that_were_on(steps: list[tuple[float, int]], waits_s: float) -> None:
    env, cluster = machines_on(4, 1)
    sm.TraceCapacity(env, cluster, steps)
    queue = sm.QueueScheduler(env, cluster)
    tuner = sm.Tuner(env, queue, sm.FullFeedback(orders=["FCFS", "LCFS"]), period_s=PERIOD_S)
    jobs = workload_of([*[(1, 10, 10, 1)] * 4, (150, 10, 10, 1)])
    sm.Source(env, jobs, into=queue)
    env.run(until=PERIOD_S + 1)
    assert tuner.tuning_run.memory.cost.tolist() == [waits_s, waits_s]


@pytest.mark.parametrize("preload", [False, True])
def test_simulations_run_at_the_speed_of_the_cluster(preload: bool) -> None:
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "fast", cores=1, speed=2.0))
    strategy = sm.FullFeedback(orders=["FCFS", "LCFS"], preload=preload)
    tuner = sm.Tuner(env, queue, strategy, period_s=PERIOD_S)
    sm.Source(env, workload_of([(0, 20, 20, 1), (0, 20, 20, 1), (150, 10, 10, 1)]), into=queue)
    env.run(until=PERIOD_S + 1)
    assert tuner.tuning_run.memory.cost.tolist() == [10.0, 10.0]


def test_jobs_that_end_at_a_boundary_belong_to_the_period_that_begins() -> None:
    log = workload_of([(0, 100, 100, 1), (1, 100, 100, 1)])
    tuned = compiled(log, sm.EpsilonGreedy(orders=["FCFS", "LCFS"], epsilon=0.0), cores=1, period_s=PERIOD_S)
    # Ends at 100 and 200: period 0 has none, so that FCFS still has shown nothing, and LCFS was used less; period 1 has
    # the first, of LCFS, period 2 the second.
    assert tuned.tuning_run.used == [0, 1, 0]
    assert tuned.tuning_run.memory.count.tolist() == [0.0, 1.0]


def test_what_ends_with_the_last_period_is_still_reported_to_it() -> None:
    log = workload_of([(0, 200, 1, 1)])
    _, tuner = by_processes(log, sm.RandomOrder(), cores=4, period_s=PERIOD_S)
    assert tuner.tuning_run.used == compiled(log, sm.RandomOrder(), cores=4, period_s=PERIOD_S).tuning_run.used
    assert len(tuner.tuning_run.used) == 3


def test_a_tuner_ends_though_jobs_wait_without_end() -> None:
    env, cluster = machines_on(2, 2, seed=1)
    scheduler = sm.QueueScheduler(env, cluster)
    sm.Source(env, workload_of([(0, 50, 50, 1), (10, 50, 50, 4)]), into=scheduler)
    sm.Tuner(env, scheduler, sm.UCB1(), period_s=PERIOD_S)
    cluster.machines[0].power_off()
    env.run()
    assert scheduler.jobs_not_done


PERIOD = "period_s must be a finite number of seconds > 0"
CORES = r"cores must be an integer from 1 to 2\*\*53"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        *[({"period_s": period_s}, PERIOD) for period_s in (0.0, -1.0, math.inf, math.nan)],
        *[({"cores": cores}, CORES) for cores in (0, -1, 1.5, math.nan, "4", None)],
        ({"cores": 2}, "job 0: needs 3 cores, and the machine has 2"),
    ],
)
def test_what_cannot_be_is_refused_and_not_waited_for(given: dict[str, Any], text: str) -> None:
    with pytest.raises(sm.SimModelsError, match=text):
        compiled(workload_of([(0, 1, 1, 3)]), sm.UCB1(), **{"cores": 4, "period_s": PERIOD_S, **given})


@pytest.mark.parametrize("preload", [False, True])
def test_a_strategy_that_simulates_refuses_limits_which_its_simulations_would_not_know(preload: bool) -> None:
    log, limits = workload_of([(0, 1, 1, 3)]), [{"by": "user", "jobs": 1}]
    for run in (by_processes, compiled):
        with pytest.raises(sm.RequestError, match="simulates, which knows no limits, on a queue with limits; leave"):
            run(log, sm.FullFeedback(preload=preload), cores=4, period_s=PERIOD_S, limits=limits)
        run(log, sm.UCB1(), cores=4, period_s=PERIOD_S, limits=limits)


def _by_user(user: float, estimate: float) -> float:
    return user + estimate


def test_a_strategy_that_simulates_refuses_orders_by_what_its_simulations_would_not_know() -> None:
    log, queue = workload_of([(0, 1, 1, 3)]), sm.Ahead("queue", {1: 60.0})
    for run in (by_processes, compiled):
        for choice, word in ((_by_user, "user"), ("FairShare", "fairshare"), (queue, "queue")):
            with pytest.raises(sm.RequestError, match=f"simulates, which knows no {word}, with order .*; leave the"):
                run(log, sm.FullFeedback(choices=["FCFS", choice]), cores=4, period_s=PERIOD_S, shares=sm.Shares())
        with pytest.raises(sm.RequestError, match="which knows no user, with order '_by_user'"):
            run(log, sm.FullFeedback(), cores=4, period_s=PERIOD_S, backfill_order=_by_user)


@pytest.mark.full
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
@pytest.mark.parametrize("period_s", [sm.DAY, sm.WEEK])
def test_both_engines_agree_on_a_whole_log(shared: Path, strategy: sm.Strategy, period_s: float) -> None:
    log = wl.clean(wl.read_swf(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"), "strong")
    one, _ = by_processes(log, strategy, cores=100, period_s=period_s, threshold_s=40 * sm.HOUR)
    other = compiled(log, strategy, cores=100, period_s=period_s, threshold_s=40 * sm.HOUR)
    assert (one.start_s == other.schedule.start_s).all()
