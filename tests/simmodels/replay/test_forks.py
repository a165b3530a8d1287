# ruff: noqa: ANN401  options of any type are handed through
"""Models on machines, and auctions, that stop and go on: in pieces, and from a snapshot."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.model import Model
from simmodels.replay.compiled_run import replay_of
from simmodels.replay.run import Replay
from simmodels.replay.run_on_machines import ReplayOnMachines
from tests.attacks import model_drawing
from tests.attacks.model_runs import run_on_both
from tests.examples import tries
from tests.model_scripts import rigid
from tests.on_machines import assert_same
from tests.refused import refused

INSTANTS = st.lists(st.integers(0, 160).map(lambda half_s: half_s / 2), min_size=1, max_size=4).map(sorted)
SEEDS = st.integers(0, 10**9)
POOL: dict[str, Any] = {"cores": 6}
COMING_AND_GOING: dict[str, Any] = {
    "capacity": [
        sm.CapacityChange(0, 3),
        sm.CapacityChange(14, 1, notice_s=6, mode="checkpoint"),
        sm.CapacityChange(30, 3),
        sm.CapacityChange(55, 2),
        sm.CapacityChange(80, 3),
    ],
    "checkpoints": sm.Checkpoints(interval_s=4, cost_s=1, restart_s=1),
    "cores_per_machine": 4,
}
on_each = pytest.mark.parametrize("on", [POOL, COMING_AND_GOING], ids=["pool", "machines"])
KNOWN = ["job_id", "attempt", "start_s", "end_s", "outcome", "cluster", "machine", "work_s", "warned_s"]
FLOWS = [sm.Workflow(number, 4 * number, [5, 7, 3], [1, 2, 1], [(0, 1), (0, 2)]) for number in range(6)]


def drawn_log(seed: int) -> sm.Workload:
    draw = np.random.default_rng(seed)
    runtime_s = draw.integers(1, 20, 40)
    rows = zip(
        draw.integers(0, 90, 40), runtime_s, runtime_s + draw.integers(0, 9, 40), draw.integers(1, 7, 40), strict=True
    )
    return rigid(*(tuple(map(int, row)) for row in sorted(rows, key=lambda row: row[0])))


def modelled(work: Any, **given: Any) -> Model:
    """Return the model of what `simulate` is given."""
    found: list[Model] = []

    def keep(model: Model) -> Replay | ReplayOnMachines:
        found.append(model)
        return replay_of(model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simmodels.replay.compiled_run.replay_of", keep)
        sm.simulate(work, engine="compiled", **given)
    return found[0]


def stopped(model: Model, at_s: float = math.inf) -> Replay | ReplayOnMachines:
    """Return a replay that has stopped at an instant."""
    replay = replay_of(model)
    replay.run(at_s)
    return replay


def attempts_of(schedule: sm.Schedule, jobs: sm.Workload) -> list[str]:
    """Return the attempts of some jobs, and the machines of each, to the last bit, as text: NaN is itself there."""
    attempts = schedule.attempts
    if attempts is None:  # on a pool
        columns = {"job_id": schedule.workload.job_id, "start_s": schedule.start_s, "end_s": schedule.end_s}
        attempts = pd.DataFrame(columns | {"row": range(len(schedule.workload))})
    attempts = attempts[attempts["job_id"].isin(jobs.job_id)].sort_values(["job_id", "row", "start_s"])
    found = attempts.reindex(columns=KNOWN).to_numpy().tolist()
    if schedule.attempts is not None:
        parts = attempts[["job_id", "row", "attempt"]].merge(schedule.all_parts(), on=["row", "attempt"])
        found += parts.drop(columns="row").sort_values(["job_id", "attempt", "machine"]).to_numpy().tolist()
    return [repr(row) for row in found]


def on_both(seed: int, compiled: Callable[[Model], sm.Schedule]) -> None:
    """Hold what is made of a model drawn by chance equal to its schedule of the SimPy engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "simmodels.replay.compiled_run.replay_of",
            lambda model: SimpleNamespace(run=lambda: None, schedule=lambda: compiled(model)),
        )
        try:
            found, expected = run_on_both(model_drawing._sites(random.Random(f"forks/{seed}")))
        except (sm.RequestError, sm.StoppedError):  # what is drawn may not go together, or never end
            return
    if expected.off_spans is None:  # a pool
        assert attempts_of(found, expected.workload) == attempts_of(expected, expected.workload)
    else:
        assert_same(found, expected)


# -- any model --------------------------------------------------------------------------------------------


@given(SEEDS, INSTANTS)
def test_a_model_that_stops_now_and_then_is_the_model(seed: int, instants: list[float]) -> None:
    def in_pieces(model: Model) -> sm.Schedule:
        replay = replay_of(model)
        for at_s in instants:
            replay.run(model.begin_s + at_s)
            replay.snapshot()
        replay.run()
        return replay.schedule()

    on_both(seed, in_pieces)


@given(SEEDS, INSTANTS)
@tries(100, full=25_000)
def test_a_fork_that_is_left_alone_is_the_model_that_goes_on(seed: int, instants: list[float]) -> None:
    def with_forks(model: Model) -> sm.Schedule:
        whole = stopped(model).schedule()
        replay = stopped(model, model.begin_s + instants[0])
        snapshot = replay.snapshot()
        first, second = snapshot.fork(), snapshot.fork()
        for at_s in instants[1:]:
            second.run(model.begin_s + at_s)
            second = second.snapshot().fork()  # a fork can be stopped, and forked again
        for each in (first, replay, second):
            each.run()
            found = each.schedule()
            assert attempts_of(found, found.workload) == attempts_of(whole, found.workload)
        assert set(first.schedule().workload.job_id) >= {*snapshot.jobs.job_id, *snapshot.later.job_id}
        return replay.schedule()

    on_both(seed, with_forks)


# -- a queue: other futures -------------------------------------------------------------------------------


@on_each
@pytest.mark.parametrize("order", ["FCFS", "SAF", "WFP3"])
@pytest.mark.parametrize("backfilling", ["greedy", "easy", "conservative"])
@pytest.mark.parametrize("at_s", [12.0, 31.0, 60.0])
def test_other_runtimes_give_what_a_log_with_them_gives(
    order: str, backfilling: str, at_s: float, on: dict[str, Any]
) -> None:
    """No order here knows a runtime before it has passed, so that all up to the instant is the same."""
    log = drawn_log(3)
    given = {**on, "order": order, "backfilling": backfilling}
    snapshot = stopped(modelled(log, **given), at_s).snapshot()
    waits = np.isnan(snapshot.start_s)
    assert waits.any()
    assert (~waits).any()
    runtime_s = snapshot.jobs.runtime_s + np.where(snapshot.jobs.job_id % 2, 3.0, 0.0)
    of_log = log.runtime_s.copy()
    of_log[np.searchsorted(log.job_id, snapshot.jobs.job_id)] = runtime_s
    fork = snapshot.fork(runtime_s=runtime_s)
    fork.run()
    expected = sm.simulate(replace(log, runtime_s=of_log), **given)
    found = fork.schedule().validate()
    assert attempts_of(found, found.workload) == attempts_of(expected, found.workload)


@on_each
def test_other_jobs_to_come_give_what_a_log_with_them_gives(on: dict[str, Any]) -> None:
    log, at_s = drawn_log(4), 40.0
    snapshot = stopped(modelled(log, **on), at_s).snapshot()
    others = replace(drawn_log(5).shift(at_s + 2), job_id=np.arange(1000, 1040))
    fork = snapshot.fork(later=others)
    fork.run()
    expected = sm.simulate(sm.Workload.concat([log.take(log.submit_s < at_s), others]), **on)
    found = fork.schedule().validate()
    assert set(others.job_id) <= set(found.workload.job_id)
    assert attempts_of(found, found.workload) == attempts_of(expected, found.workload)


@given(st.integers(0, 10**6))
def test_other_jobs_find_machines_that_went_to_sleep_after_all_was_done(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sleep = sm.SleepPolicy(after_s=float(draw.integers(1, 6)), boot_s=float(draw.integers(1, 5)))
    given = {"on": sm.Site(machines=3, cores_per_machine=2, sleep=sleep)}
    log = rigid((0, 5, 9, 2), (int(draw.integers(0, 9)), 3, 9, int(draw.integers(1, 6))))
    at_s = float(draw.integers(10, 60))
    others = replace(rigid((at_s, 4, 9, 6), (at_s + float(draw.integers(0, 30)), 4, 9, 3)), job_id=np.array([50, 51]))
    fork = stopped(modelled(log, **given), at_s).snapshot().fork(later=others)
    fork.run()
    expected = sm.simulate(sm.Workload.concat([log, others]), **given)
    assert attempts_of(fork.schedule(), others) == attempts_of(expected, others)


@on_each
def test_what_would_have_happened_before_is_refused(on: dict[str, Any]) -> None:
    snapshot = stopped(modelled(drawn_log(4), **on), 40.0).snapshot()
    with pytest.raises(sm.RequestError, match=r"job \d+ would have ended at .* give it a longer runtime"):
        snapshot.fork(runtime_s=np.zeros(len(snapshot.jobs)))
    with pytest.raises(sm.RequestError, match=r"job \d+ is submitted at .* a later job comes at 40 s"):
        snapshot.fork(later=drawn_log(4))
    with pytest.raises(sm.RequestError):
        snapshot.fork(runtime_s=np.zeros(2))
    with pytest.raises(sm.RequestError, match=r"runtime_s of job \d+ must be a number of seconds >= 0 \(got -1.0\)"):
        snapshot.fork(runtime_s=np.full(len(snapshot.jobs), -1.0))


@on_each
def test_an_order_that_draws_draws_again_in_each_future_for_jobs_to_come(on: dict[str, Any]) -> None:
    snapshot = stopped(modelled(drawn_log(6), **on, order="RANDOM"), 20.0).snapshot()
    found = [snapshot.fork(later=snapshot.later, index=index) for index in (0, 0, 1)]
    for fork in found:
        fork.run()
    one, same, other = (attempts_of(fork.schedule(), snapshot.later) for fork in found)
    assert one == same
    assert one != other


def test_a_schedule_knows_what_has_happened_so_far() -> None:
    replay = stopped(modelled(rigid((0, 10, 10, 4), (1, 10, 10, 12)), **COMING_AND_GOING), 13.0)
    snapshot, found = replay.snapshot(), replay.schedule()
    assert snapshot.at_s == 13.0
    assert snapshot.jobs.job_id.tolist() == [2]
    assert np.isnan(snapshot.start_s).all()  # notice was given at 8 s: what needs all machines waits
    assert found.window == (0.0, 13.0)
    assert found.end_s.tolist()[0] == 12.0  # 10 s of work, and two checkpoints


def test_a_schedule_keeps_its_parts_though_the_replay_goes_on_before_they_are_asked_for() -> None:
    model = modelled(rigid(*[(at, 10, 10, 12) for at in range(5)]), **COMING_AND_GOING)
    replay, counts = replay_of(model), []
    for at_s in (13.0, 60.0):
        replay.run(at_s)
        found, expected = replay.schedule(), stopped(model, at_s).schedule().all_parts()
        replay.run(at_s + 10)
        pd.testing.assert_frame_equal(found.all_parts(), expected)
        counts.append(len(expected))
    assert 0 < counts[0] < counts[1]


@pytest.mark.parametrize(
    ("work", "given"),
    [
        (rigid((0, 15, 4)), {}),
        (rigid((0, 15, 4)), {"heuristic": "FirstFit"}),
        (sm.Workflow(1, 0.0, [15.0], 4), {"bid": "FIFO"}),
    ],
)
def test_there_is_no_going_on_after_an_error(work: Any, given: dict[str, Any]) -> None:
    on = sm.Site(cores_per_machine=4, capacity=[(0, 1), (10, 0), (20, 1), (30, 0), (40, 1)])
    replay = replay_of(replace(modelled(work, on=on, **given), max_requeues=1))
    replay.run(25)
    earlier = replay.snapshot().fork()
    for each in (replay, earlier):
        with pytest.raises(sm.StoppedError, match="was lost 2 times in a row by 30 s"):
            each.run()
        assert np.isnan(each.schedule().end_s).all()
        for use in (each.snapshot, each.run):
            with refused("the replay failed, or was interrupted in the middle of an instant; make a new one"):
                use()


# -- where no queue decides -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "given"),
    [
        (drawn_log(7).take(drawn_log(7).cores <= 4), {"heuristic": "FirstFit", **COMING_AND_GOING}),
        (FLOWS, {"bid": "SRTF", "cores": 4}),
        (FLOWS, {"bid": "SRTF", **COMING_AND_GOING}),
    ],
)
def test_other_futures_where_no_queue_decides_are_refused(work: Any, given: dict[str, Any]) -> None:
    snapshot = stopped(modelled(work, **given), 10.0).snapshot()
    assert len(snapshot.jobs)
    with pytest.raises(sm.RequestError, match="where no queue decides; leave them out"):
        snapshot.fork(later=snapshot.later.head(0))
    with pytest.raises(sm.RequestError, match="where no queue decides; leave them out"):
        snapshot.fork(runtime_s=snapshot.jobs.runtime_s)
    fork = snapshot.fork()
    fork.run()
    whole = sm.simulate(work, **given)
    assert attempts_of(fork.schedule(), whole.workload) == attempts_of(whole, whole.workload)
