# ruff: noqa: ANN401  options of any type are handed through
"""Placers whose options change during a run."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from tests.model_scripts import machines_on, recorded
from tests.naive_capacity import Naive
from tests.on_machines import CHOICES, ORDERS, for_the_slow, runs, workload
from tests.own_schedulers import Twice

CLASSES: dict[str, Any] = {
    "FirstFit": sm.FirstFit,
    "TargetStretch": sm.TargetStretch,
    "TargetAsap": sm.TargetAsap,
    "PackedTargetAsap": sm.PackedTargetAsap,
}
Turn = tuple[float, dict[str, Any]]
Rows = list[tuple[float, float, int]]
Steps = list[tuple[float, int]]


def placed(
    rows: Rows,
    heuristic: str,
    options: dict[str, Any],
    turns: list[Turn],
    steps: Steps,
    *,
    proved: bool = True,
    **clock: Any,
) -> sm.Schedule:
    env, cluster = machines_on(5, 4, **clock)
    sm.TraceCapacity(env, cluster, [sm.CapacityChange(at_s, machines) for at_s, machines in steps])
    placer = CLASSES[heuristic](env, cluster, **options)
    sm.Source(env, workload(rows), into=placer)
    for at_s, changes in turns:
        env.at(at_s).callbacks.append(lambda _, changes=changes: placer.reconfigure(**changes))
    return recorded(env, until=500, proved=proved)


ROWS = st.lists(st.tuples(st.integers(0, 120), st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=25).map(
    lambda rows: sorted((float(release), float(length), cores) for release, length, cores in rows)
)
STEPS = st.lists(st.tuples(st.integers(1, 160), st.integers(0, 5)), max_size=6, unique_by=lambda step: step[0]).map(
    lambda steps: [(0.0, 4), *((float(at_s), machines) for at_s, machines in sorted(steps))]
)
FIRST_FIT = {"dispatch": ["event", "instant"], "fill_order": [(4, 2, 0, 1, 3), (0, 1, 2, 3, 4)], "order": ORDERS}


@st.composite
def chosen(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    heuristic = draw(st.sampled_from(list(CLASSES)))
    options = CHOICES[heuristic] if heuristic != "FirstFit" else FIRST_FIT
    kept = {name: draw(st.sampled_from(values)) for name, values in options.items() if name != "least_machines"}
    return heuristic, kept


@given(
    rows=ROWS,
    steps=STEPS,
    heuristics=st.lists(chosen(), min_size=1, max_size=4).filter(
        lambda each: all(one != other for one, other in pairwise(each))  # else nothing is placed again
    ),
    times=st.lists(st.integers(1, 150), min_size=3, max_size=3, unique=True).map(sorted),
    reference=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=6),
)
@settings(max_examples=150)
def test_a_placer_whose_heuristic_changes_is_the_slow_scheduler(
    rows: Rows, steps: Steps, heuristics: list[tuple[str, dict[str, Any]]], times: list[int], reference: list[Any]
) -> None:
    of_targets = {"reference": workload([(0.0, float(w), c) for w, c in reference]), "least_machines": 1}
    all_options = [(name, options | (of_targets if name != "FirstFit" else {})) for name, options in heuristics]
    turns = [
        (float(at_s), {"heuristic": each[0], **each[1]}) for at_s, each in zip(times, all_options[1:], strict=False)
    ]
    schedule = placed(rows, *all_options[0], turns, steps)
    name, first = heuristics[0]
    lengths = [(float(w), c) for w, c in reference]
    filled = list(first.get("fill_order", range(5)))
    slow_turns = [
        (float(at_s), each[0], for_the_slow(each[1])) for at_s, each in zip(times, heuristics[1:], strict=False)
    ]
    slow = Naive(rows, steps, 4, name, 0.0, 500.0, 1, lengths, for_the_slow(first), filled, slow_turns)
    slow.simulate()
    outcome = {"done": 0, "killed": 2, "running": 2}
    must = [(run.job + 1, run.machine, run.start, outcome[run.outcome]) for run in slow.attempts]
    assert [(*run[:3], run[4]) for run in runs(schedule)] == sorted(must, key=lambda run: (run[2], run[0]))


def test_a_job_that_ran_while_the_order_changed_waits_again_in_the_new_one() -> None:
    # by LPF job 1 was first; it loses its machine after first come, first served has begun, and waits behind none
    first = {"dispatch": "instant", "fill_order": (0, 1, 2, 3, 4), "order": "LPF"}
    turns: list[Turn] = [
        (1.0, {"order": "FCFS"}),
        (4.0, {"heuristic": "TargetAsap", "reference": workload([(0, 1, 1)])}),
    ]
    rows = [(0.0, 3.0, 4), (0.0, 9.0, 4), (2.0, 5.0, 4)]
    schedule = placed(rows, "FirstFit", first, turns, [(0.0, 2), (2.0, 0), (5.0, 1)])
    assert [(job, start) for job, _, start, _, _ in runs(schedule)] == [(1, 0), (2, 0), (1, 5), (2, 8), (3, 17)]


@given(rows=ROWS, steps=STEPS, heuristic=chosen(), times=st.lists(st.integers(1, 150), max_size=5, unique=True))
def test_options_that_are_set_again_change_nothing(
    rows: Rows, steps: Steps, heuristic: tuple[str, dict[str, Any]], times: list[int]
) -> None:
    name, options = heuristic
    other = {"distance": 7} if name != "FirstFit" else {"dispatch": "event", "fill_order": (2, 1, 0, 3, 4)}
    options = options | ({"reference": workload([(0.0, 9.0, 1), (0.0, 30.0, 2)])} if name != "FirstFit" else {})
    back = {each: options[each] for each in other}
    turns: list[Turn] = [(float(at_s), {"heuristic": name, **options}) for at_s in sorted(times)]
    # There and back within an instant is no change either.
    turns += [(200.0, other), (200.0, back)]
    schedule = placed(rows, name, options, turns, steps)
    assert runs(schedule) == runs(placed(rows, name, options, [], steps, proved=False))


def test_a_drawn_fill_order_is_the_same_whenever_it_is_changed_to() -> None:
    rows = [(10.0 * k, 1.0, 4) for k in range(20)]
    late = placed(rows, "FirstFit", {}, [(15.0, {"aware": False})], [(0.0, 5)], seed=4)
    drawn = placed(rows, "FirstFit", {"aware": False}, [], [(0.0, 5)], seed=4)
    assert runs(late)[2:] == runs(drawn)[2:] != runs(placed(rows, "FirstFit", {}, [], [(0.0, 5)]))[2:]


def test_what_cannot_be_changed_is_refused_and_all_stays_as_it_is() -> None:
    env = sm.Environment()
    placer = sm.FirstFit(env, sm.Cluster(env, "c", machines=3, cores_per_machine=4))
    for options, what in (
        (
            {"checkpoints": sm.Checkpoints()},
            r"option that can be changed 'checkpoints'; .*known: heuristic, order, aware",
        ),
        ({"distance": 3}, "FirstFit has no option distance; it is one of another heuristic"),
        ({"heuristic": "TargetAsap"}, "TargetAsap has no reference; add reference="),
        ({"heuristic": "TargetASAP"}, "unknown heuristic 'TargetASAP'"),
        ({"fill_order": (0, 1)}, r"fill_order must be each number from 0 to 2 once \(got \(0, 1\)\)"),
    ):
        with pytest.raises(sm.RequestError, match=what):
            placer.reconfigure(**options)
    placer.reconfigure()
    assert (placer.options.heuristic, placer.options.fill_order, placer.changes) == ("FirstFit", None, 0)
    modelled = sm.FirstFit(env, Twice(env, "d", machines=1, cores_per_machine=4))
    with pytest.raises(sm.RequestError, match="TargetAsap on cluster 'd', which says itself how long jobs run"):
        modelled.reconfigure(heuristic="TargetAsap", reference=workload([(0.0, 1.0, 1)]))


def test_a_learned_polynomial_is_an_order_of_first_fit() -> None:
    rows = [(0.0, 10.0, 4), (1.0, 9.0, 3), (2.0, 2.0, 4), (3.0, 5.0, 2), (4.0, 5.0, 1)]
    learned = sm.Polynomial([1.0], ["pq"], name="learned")
    schedule = placed(rows, "FirstFit", {"order": learned}, [], [(0.0, 1)])
    assert schedule.start_s.tolist() == placed(rows, "FirstFit", {"order": "SAF"}, [], [(0.0, 1)]).start_s.tolist()
    assert schedule.start_s.tolist() == [0, 17, 15, 10, 10]
    compiled = sm.simulate_on_machines(workload(rows), [(0.0, 1)], cores_per_machine=4, order=learned)
    assert compiled.start_s.tolist() == schedule.start_s.tolist()


def test_an_order_of_first_fit_may_name_columns_and_draw() -> None:
    @sm.order
    def drawn(draw: float, urgent: float) -> float:
        return draw - urgent

    log = workload([(float(i // 40), 5.0, 4) for i in range(1500)])
    log = replace(log, extras={"urgent": (np.arange(1500) % 7 == 0).astype(float)})
    schedules = [
        sm.simulate_on_machines(log, [(0, 2)], cores_per_machine=4, order=drawn, seed=seed, engine=engine).validate()
        for seed, engine in ((1, "simpy"), (1, "compiled"), (2, "compiled"))
    ]
    one, other, third = (runs(schedule) for schedule in schedules)
    assert one == other != third
    waits = schedules[0].start_s - log.submit_s
    urgent = log.numbers["urgent"] > 0
    assert waits[urgent].max() < waits[~urgent].max()
    one_job = workload([(0.0, 5.0, 4)])
    for engine in ("simpy", "compiled"):
        with pytest.raises(sm.RequestError, match="an order names urgent, and job 1 has no such number"):
            sm.simulate_on_machines(one_job, [(0, 2)], cores_per_machine=4, order=drawn, engine=engine)


def test_an_order_of_first_fit_that_gives_no_number_is_refused_with_the_job(engine: Any) -> None:
    @sm.order
    def none(runtime: float) -> float:
        return float("nan") if runtime > 6.0 else runtime

    log = workload([(0.0, 5.0, 4), (1.0, 6.0, 4), (2.0, 7.0, 4)])
    with pytest.raises(sm.RequestError, match=r"order 'none' gives no number \(NaN\) for job 3 at 2 s"):
        sm.simulate_on_machines(log, [(0, 1)], cores_per_machine=4, order=none, engine=engine)


def test_orders_are_of_first_fit_and_know_no_auction() -> None:
    with pytest.raises(sm.RequestError, match="TargetAsap has no option order; it is one of another heuristic"):
        sm.TargetAsap(sm.Environment(), None, order="SPF")  # type: ignore[arg-type]  # refused before it is looked at

    @sm.order
    def earliest(start: float) -> float:
        return start

    with pytest.raises(sm.RequestError, match="order 'earliest' of a queue names start"):
        sm.simulate_on_machines(workload([(0.0, 5.0, 4)]), [(0, 1)], cores_per_machine=4, order=earliest)


@pytest.mark.parametrize("order", ["WFP3", "LEXP"])
def test_first_fit_predicts_by_an_order_that_divides_by_an_estimate_of_zero(order: str) -> None:
    log = {"submit_s": [0, 1, 2], "runtime_s": [5, 5, 5], "estimate_s": [5, 0, 0], "cores": [1, 1, 1]}
    sites = [sm.Site(name="c", machines=1, cores_per_machine=1)]
    schedule = sm.simulate(log, on=sites, router="EarliestStart", heuristic="FirstFit", order=order)
    assert schedule.start_s.tolist() == [0, 5, 10]


def test_first_fit_predicts_and_gives_back_jobs_by_its_order() -> None:
    env = sm.Environment()
    placer = sm.FirstFit(env, sm.Cluster(env, "c", machines=1, cores_per_machine=4), order="SPF")
    jobs = [sm.Job(number, 0.0, length, length, 4) for number, length in enumerate((10.0, 9.0, 2.0, 5.0), start=1)]
    placer.submit(jobs[0])
    env.run(until=1)
    for job in jobs[1:]:
        placer.submit(job)
    env.run(until=2)
    assert [placer.predict_start(job) for job in jobs[1:]] == [17, 10, 12]
    assert placer.predict_start(sm.Job(9, 2.0, 3.0, 3.0, 4)) == 12
    placer.withdraw(jobs[2])
    assert [placer.predict_start(job) for job in (jobs[1], jobs[3])] == [15, 10]
    started: list[tuple[float, int]] = []
    env.on(sm.Started, lambda event: started.append((env.now, event.attempt.job.job_id)))
    env.run()
    assert started == [(10, 4), (15, 2)]
