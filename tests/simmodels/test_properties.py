"""What must hold for every workload and every way to schedule it, on both engines."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.ground.streams import stream
from simmodels.passes.queue_events import instant
from simmodels.policies.orders import BUILT_IN, find_order
from simmodels.policies.queue_options import QueueOptions
from simmodels.results.schedule import KILLED, Schedule
from simmodels.structures.structure import address_of
from tests import naive
from tests.examples import tries

SEED = 5

# Orders under which only the differences of instants count, so that a longer second changes nothing.
WITHOUT_SCALE = (
    *("FCFS", "LCFS", "SPF", "LPF", "SQF", "LQF", "SEXP", "LEXP"),
    *("SRF", "LRF", "SAF", "LAF", "WFP3", "RANDOM"),
)

Machine = tuple[int, sm.Workload]


@st.composite
def machines(
    draw: st.DrawFn,
    *,
    most: int = 9,
    estimates: str = "any",
    least_s: int = 0,
    times: tuple[tuple[float, float], ...] = ((0.0, 1.0),),
) -> Machine:
    """A machine and jobs for it, with ties, jobs of no runtime, overruns and jobs as wide as the machine.

    `times` are the instants at which they may begin, each with the seconds of a unit of time.
    """
    cores, (zero_s, unit_s) = draw(st.integers(1, 8)), draw(st.sampled_from(times))
    unit = unit_s * draw(st.sampled_from([1.0, 1.0, 1.0, 0.25, 0.1, 1 / 3]))
    span = draw(st.sampled_from([0, 4, 16]))
    width = st.one_of(st.just(1), st.just(cores), st.integers(1, cores))
    jobs = []
    for _ in range(draw(st.integers(0, most))):
        runtime = draw(st.integers(least_s, 8))
        estimate = runtime
        if estimates == "enough" or (estimates == "any" and draw(st.booleans())):
            estimate = draw(st.integers(runtime if estimates == "enough" else least_s, 12))
        jobs.append((draw(st.integers(0, span)), runtime, estimate, draw(width)))
    submit, runtime, estimate, width_of = np.array(jobs, dtype=np.int64).reshape(-1, 4).T
    ids = np.arange(1, len(jobs) + 1)
    return cores, sm.Workload(ids, zero_s + submit * unit, runtime * unit, estimate * unit, width_of)


@st.composite
def options(
    draw: st.DrawFn,
    *,
    orders: tuple[str, ...] = tuple(naive.FORMULAS),
    backfillings: tuple[str, ...] = ("none", "greedy", "easy", "conservative"),
    plain: bool = False,
) -> dict[str, object]:
    """A way to schedule; a plain one has no threshold, no depth and no warm jobs."""
    given_order = st.sampled_from(orders)
    chosen: dict[str, object] = {
        "order": draw(given_order),
        "backfilling": draw(st.sampled_from(backfillings)),
        "decide": draw(st.sampled_from(["instant", "event"])),
        "overrun": draw(st.sampled_from(["run", "kill"])),
    }
    if chosen["backfilling"] == "easy":
        chosen["backfill_order"] = draw(st.none() | given_order)
    if not plain:
        chosen["threshold_s"] = draw(st.sampled_from([None, None, 0.0, 0.5, 3.0, 8.0]))
        chosen["queue_depth"] = draw(st.sampled_from([None, None, 1, 2, 4]))
        chosen["warm_jobs"] = draw(st.sampled_from([0, 0, 1, 3])) if chosen["queue_depth"] is None else 0
        chosen["max_starts"] = draw(st.sampled_from([None, None, 1, 2]))
        if chosen["backfilling"] != "none":
            chosen["max_backfills"] = draw(st.sampled_from([None, None, 1, 2]))
    return chosen


def simulated(machine: Machine, **how: object) -> Schedule:
    cores, jobs = machine
    return sm.simulate(jobs, cores=cores, seed=SEED, **how)


def by_rank(jobs: sm.Workload) -> np.ndarray:
    return np.argsort(jobs.submit_s, kind="stable")


def changed(jobs: sm.Workload, **columns: np.ndarray) -> sm.Workload:
    return replace(jobs, **columns)


# -- two engines, and a plain second simulator -------------------------------------------------------


def same_on_both_engines(machine: Machine, how: dict[str, Any], **limits: Any) -> list[Schedule]:  # noqa: ANN401
    """Return the schedules of both engines: the same bits, and those of the naive simulator if it knows the orders."""
    cores, jobs = machine
    found = [simulated(machine, **how, **limits, engine=engine) for engine in ("compiled", "simpy")]
    compiled, simpy = found
    for column in ("start_s", "end_s", "outcome", "counted"):
        assert getattr(compiled, column).tobytes() == getattr(simpy, column).tobytes(), column
    assert {**compiled.about, "engine": None} == {**simpy.about, "engine": None}
    assert compiled.terms == simpy.terms
    if {how["order"], how.get("backfill_order") or how["order"]} <= naive.FORMULAS.keys():
        drawn = stream(SEED, "order", "draw").random(len(jobs))
        expected = naive.simulate(jobs, cores=cores, drawn=drawn, **how, **limits)
        assert (compiled.start_s.tolist(), compiled.end_s.tolist()) == expected
    return found


TIMES = ((0.0, 1.0), (0.0, 1.0), (0.0, 3600.0), (-50.0, 1.0), (1e9, 1.0), (1.7e9, 1.0), (1e12, 1.0))


@given(machines(most=30, times=TIMES), options(orders=tuple(BUILT_IN)))
@tries(600, full=10_000)
def test_both_engines_give_the_same_bits_and_those_of_the_naive_simulator(
    machine: Machine, how: dict[str, Any]
) -> None:
    same_on_both_engines(machine, how)


# -- legal, and nothing lost --------------------------------------------------------------------------


@given(machines(), options(orders=tuple(BUILT_IN)))
def test_every_schedule_is_legal_and_all_jobs_and_work_are_accounted_for(
    machine: Machine, how: dict[str, object]
) -> None:
    _, jobs = machine
    schedule = simulated(machine, **how).validate()
    assert len(schedule) == len(jobs)
    assert np.isfinite(schedule.start_s).all()
    assert np.isfinite(schedule.end_s).all()
    assert (schedule.start_s >= jobs.submit_s).all()
    killed = (jobs.runtime_s > jobs.estimate_s) & (how["overrun"] == "kill")
    assert np.array_equal(schedule.outcome == KILLED, killed)
    warm = how.get("warm_jobs", 0)
    assert np.array_equal(np.flatnonzero(~schedule.counted), np.sort(by_rank(jobs)[:warm]))
    lasts = np.minimum(jobs.runtime_s, jobs.estimate_s) if how["overrun"] == "kill" else jobs.runtime_s
    used = schedule.cores_used()
    work = np.diff(used["time_s"].to_numpy()) @ used["cores_used"].to_numpy()[:-1]
    assert work == pytest.approx(lasts @ jobs.cores), "work is conserved"
    for now in instants(schedule):
        waits = (jobs.submit_s <= now) & (now < schedule.start_s)
        runs = (schedule.start_s <= now) & (now < schedule.end_s)
        assert runs.any() or not waits.any(), f"the machine is empty at {now} s, and a job waits"


# -- each backfilling's own promise -------------------------------------------------------------------


def free_after(schedule: Schedule, now: float) -> int:
    """The cores free once all of an instant has happened."""
    runs = (schedule.start_s <= now) & (now < schedule.end_s)
    return schedule.cores - int(schedule.workload.cores[runs].sum())


def instants(schedule: Schedule) -> list[float]:
    return np.unique(np.concatenate([schedule.start_s, schedule.end_s, schedule.workload.submit_s])).tolist()


@given(machines(), options(orders=("FCFS",), backfillings=("none",)))
def test_without_backfilling_fcfs_starts_jobs_in_order(machine: Machine, how: dict[str, object]) -> None:
    start_s = simulated(machine, **how).start_s[by_rank(machine[1])]
    assert (np.diff(start_s) >= 0).all()


@given(machines(), options(backfillings=("greedy",), plain=True))
def test_greedy_leaves_no_waiting_job_that_fits(machine: Machine, how: dict[str, object]) -> None:
    schedule = simulated(machine, **how)
    jobs = machine[1]
    for now in instants(schedule):
        waits = (jobs.submit_s <= now) & (now < schedule.start_s)
        assert (jobs.cores[waits] > free_after(schedule, now)).all(), f"at {now} s"


@given(machines(), options(orders=("FCFS",), backfillings=("none", "easy"), plain=True))
def test_the_first_job_that_waits_does_not_fit(machine: Machine, how: dict[str, object]) -> None:
    schedule = simulated(machine, **{**how, "backfill_order": None})
    jobs, rank = machine[1], by_rank(machine[1])
    for now in instants(schedule):
        waiting = [row for row in rank if jobs.submit_s[row] <= now < schedule.start_s[row]]
        if waiting:
            assert jobs.cores[waiting[0]] > free_after(schedule, now), f"at {now} s"


@given(machines(most=14, estimates="enough", least_s=1), st.sampled_from([None, "SPF", "LAF", "RANDOM"]))
def test_easy_never_delays_the_head_beyond_its_reservation(machine: Machine, backfill_order: str | None) -> None:
    cores, jobs = machine
    schedule = simulated(machine, order="FCFS", backfilling="easy", backfill_order=backfill_order)
    rank = by_rank(jobs)
    start_s, end_s = schedule.start_s[rank], schedule.end_s[rank]
    expected_end_s, width = start_s + jobs.estimate_s[rank], jobs.cores[rank]
    for j in range(len(rank)):
        head_from = max(jobs.submit_s[rank][j], start_s[:j].max(initial=-math.inf))
        before = (start_s < head_from) & (head_from < end_s)
        before[:j] |= start_s[:j] == head_from
        before[j] = False
        reservations_s = [head_from, *expected_end_s[before & (expected_end_s > head_from)]]
        fits_s = [s for s in reservations_s if width[before & (expected_end_s > s)].sum() + width[j] <= cores]
        assert start_s[j] <= min(fits_s), f"job {jobs.job_id[rank[j]]}"


@given(
    machines(most=14, estimates="enough", least_s=1),
    st.sampled_from(["FCFS", "LCFS", "SPF", "LPF", "LQF", "SEXP", "LEXP", "WFP3", "UNICEF"]),
    st.sampled_from([None, 0.0, 4.0]),
    st.sampled_from([None, 1, 3]),
)
def test_conservative_starts_no_job_later_than_first_promised(
    machine: Machine, order: str, threshold_s: float | None, depth: int | None
) -> None:
    cores, jobs = machine
    promised, started = promises(cores, jobs, order=order, threshold_s=threshold_s, queue_depth=depth)
    late = {slot: (promised[slot], started[slot]) for slot in started if started[slot] > promised[slot]}
    assert not late
    same = simulated(machine, order=order, backfilling="conservative", threshold_s=threshold_s, queue_depth=depth)
    assert [started[slot] for slot in range(len(jobs))] == same.start_s[by_rank(jobs)].tolist()


def promises(
    cores: int, jobs: sm.Workload, *, order: str, threshold_s: float | None = None, queue_depth: int | None = None
) -> tuple[dict[int, float], dict[int, float]]:
    """The first reservation and the start of each slot, by stepping the queue's state from instant to instant."""
    rank = by_rank(jobs)
    submit_s, runtime_s = jobs.submit_s[rank], jobs.runtime_s[rank]
    options = QueueOptions(find_order(order), "conservative", threshold_s=threshold_s, queue_depth=queue_depth)
    queue = options.open((submit_s, runtime_s, jobs.estimate_s[rank], jobs.cores[rank]), free=cores)
    slots = np.empty(len(jobs), np.int64)
    promised: dict[int, float] = {}
    started: dict[int, float] = {}
    ends: dict[int, float] = {}
    arrived = 0
    while len(started) < len(jobs):
        now = min([*submit_s[arrived:].tolist(), *ends.values()])
        ended = [slot for slot in ends if ends[slot] == now]
        arrivals = int((submit_s[arrived:] == now).sum())
        slots[: len(ended)] = ended
        placed = slots[: instant(address_of(queue), now, slots, len(ended), arrivals)].tolist()
        arrived += arrivals
        ends = {slot: end for slot, end in ends.items() if end != now}
        for slot, start in enumerate(queue.reserved[:arrived].tolist()):
            if not math.isnan(start):
                promised.setdefault(slot, start)
        for slot in placed:
            started[slot] = now
            ends[slot] = now + runtime_s[slot]
    return promised, started


# -- what must not matter -----------------------------------------------------------------------------


@given(machines(), options(orders=WITHOUT_SCALE))
def test_a_second_twice_as_long_changes_nothing(machine: Machine, how: dict[str, object]) -> None:
    cores, jobs = machine
    twice = changed(jobs, submit_s=jobs.submit_s * 2, runtime_s=jobs.runtime_s * 2, estimate_s=jobs.estimate_s * 2)
    threshold_s = how["threshold_s"]
    stretched = {**how, "threshold_s": None if threshold_s is None else 2 * threshold_s}
    assert (simulated(machine, **how).start_s * 2).tolist() == simulated((cores, twice), **stretched).start_s.tolist()


@given(machines(), options(plain=True), st.randoms(use_true_random=False))
def test_the_input_position_matters_only_among_equal_submits(machine: Machine, how: dict[str, object], shuffle) -> None:  # noqa: ANN001
    cores, jobs = machine
    assume(len(set(jobs.submit_s)) == len(jobs))
    rows = list(range(len(jobs)))
    shuffle.shuffle(rows)
    mixed = simulated((cores, jobs.take(np.array(rows, np.int64))), **how)
    assert mixed.start_s.tolist() == simulated(machine, **how).start_s[rows].tolist()


@given(machines(), options(plain=True))
def test_a_depth_and_a_threshold_beyond_all_change_nothing(machine: Machine, how: dict[str, object]) -> None:
    limits = {"queue_depth": len(machine[1]) + 1, "threshold_s": 1e9}
    assert simulated(machine, **how).start_s.tolist() == simulated(machine, **how, **limits).start_s.tolist()


@given(machines(), options(plain=True))
def test_a_depth_of_one_job_and_warm_jobs_alone_are_fcfs_without_backfilling(
    machine: Machine, how: dict[str, object]
) -> None:
    strict = {"order": "FCFS", "backfilling": "none", "decide": how["decide"], "overrun": how["overrun"]}
    start_s = simulated(machine, **strict).start_s.tolist()
    assert simulated(machine, **how, queue_depth=1).start_s.tolist() == start_s
    warm = simulated(machine, **how, warm_jobs=len(machine[1]))
    assert warm.start_s.tolist() == start_s
    assert not warm.counted.any()


@given(machines(estimates="enough"), options())
def test_killing_overruns_changes_nothing_when_there_are_none(machine: Machine, how: dict[str, object]) -> None:
    run, kill = (simulated(machine, **{**how, "overrun": overrun}) for overrun in ("run", "kill"))
    assert run.start_s.tolist() == kill.start_s.tolist()
    assert (kill.outcome == 0).all()


@given(machines(most=14), options(), st.integers(0, 30))
def test_the_future_does_not_change_the_past(machine: Machine, how: dict[str, object], until: int) -> None:
    cores, jobs = machine
    whole = simulated(machine, **how)
    known = jobs.submit_s <= until
    cut = simulated((cores, jobs.take(known)), **how)
    past = whole.start_s[known] <= until
    assert (cut.start_s[past] == whole.start_s[known][past]).all()
    assert (cut.start_s[~past] > until).all()


@given(machines(most=14), options(), st.integers(0, 30), st.data())
def test_nobody_knows_a_runtime_before_the_job_has_ended(
    machine: Machine, how: dict[str, object], until: int, data: st.DataObject
) -> None:
    cores, jobs = machine
    first = simulated(machine, **how)
    runtime_s = jobs.runtime_s.copy()
    for row in np.flatnonzero(first.end_s > until):
        runtime_s[row] += data.draw(st.integers(0, 9))
    other = simulated((cores, changed(jobs, runtime_s=runtime_s)), **how)
    past = first.start_s <= until
    assert (other.start_s[past] == first.start_s[past]).all()
    assert (other.start_s[~past] > until).all()


@given(machines(), options(plain=True))
def test_equal_jobs_start_in_input_order_when_the_order_is_fair(machine: Machine, how: dict[str, object]) -> None:
    # A tie of everything, even of the submit, falls to the input position.
    _, jobs = machine
    assume(how["order"] != "RANDOM" and how.get("backfill_order") != "RANDOM")
    start_s = simulated(machine, **how).start_s
    alike: dict[tuple[float, ...], float] = {}
    for row in range(len(jobs)):
        same = (jobs.submit_s[row], jobs.estimate_s[row], jobs.cores[row])
        assert start_s[row] >= alike.get(same, -math.inf)
        alike[same] = start_s[row]
