"""Snapshots of a replay: any number of futures go on from one, and the one that happened is among them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay
from simmodels.replay.snapshot import Snapshot
from tests.simmodels.test_properties import SEED, Machine, machines, options

LOG = wl.tsafrir_estimates(wl.lublin(jobs=600, cores=64, seed=5, load=1.1), seed=5)


def stopped(log: sm.Workload, cores: int, at_s: float, **chosen: object) -> tuple[Replay, Snapshot]:
    replay = Replay(log, cores=cores, options=QueueOptions.checked(**chosen), seed=SEED)
    replay.run(at_s)
    return replay, replay.snapshot()


def starts_of(replay: Replay) -> dict[int, str]:
    """Return start and end of each job by its number, to the last bit, as text: NaN is itself there."""
    schedule = replay.schedule()
    rows = zip(schedule.workload.job_id.tolist(), schedule.start_s.tolist(), schedule.end_s.tolist(), strict=True)
    return {job: f"{start_s!r} to {end_s!r}" for job, start_s, end_s in rows}


def starts_in(fork: Replay) -> dict[int, float]:
    """Return the start of each job by its number."""
    schedule = fork.schedule()
    return dict(zip(schedule.workload.job_id.tolist(), schedule.start_s.tolist(), strict=True))


def assert_forks_go_on(log: sm.Workload, cores: int, at_s: float, **chosen: object) -> None:
    """Assert that what is stopped, its fork, and a fork of a fork go on as a replay that is not stopped."""
    whole = Replay(log, cores=cores, options=QueueOptions.checked(**chosen), seed=SEED)
    whole.run()
    replay, snapshot = stopped(log, cores, at_s, **chosen)
    first, second = snapshot.fork(), snapshot.fork()
    first.run()
    replay.run()
    second.run(at_s + 3.0)
    again = second.snapshot().fork()  # a fork can be stopped and forked again
    again.run()
    expected = starts_of(whole)
    assert starts_of(replay) == expected
    assert all(starts == expected[job] for job, starts in starts_of(first).items())
    assert all(starts == expected[job] for job, starts in starts_of(again).items())
    counted = dict(zip(log.job_id.tolist(), whole.schedule().counted.tolist(), strict=True))
    schedule = first.schedule()
    assert schedule.counted.tolist() == [counted[job] for job in schedule.workload.job_id.tolist()]


@settings(max_examples=4 * settings.default.max_examples)
@given(machines(most=14), options(), st.integers(0, 30))
def test_a_fork_that_is_left_alone_is_the_replay_that_goes_on(
    machine: Machine, chosen: dict[str, object], at_s: int
) -> None:
    cores, log = machine
    assert_forks_go_on(log, cores, float(at_s), **chosen)


def test_a_snapshot_stays_while_replay_and_forks_go_on() -> None:
    at_s = float(LOG.submit_s[300])
    replay, snapshot = stopped(LOG, 64, at_s)
    assert snapshot.at_s == at_s
    waiting = set(snapshot.jobs.job_id[np.isnan(snapshot.start_s)].tolist())
    assert waiting == set(LOG.job_id[replay.waiting_slots()].tolist())
    before = starts_of(snapshot.fork())
    replay.run()
    snapshot.fork().run()
    assert starts_of(snapshot.fork()) == before


def test_columns_of_the_log_that_an_order_reads_go_along() -> None:
    log = replace(LOG, extras={"think": LOG.runtime_s % 7})
    order = sm.Order("mine", lambda think, submit: submit - 900.0 * think)
    whole = sm.simulate(log, order=order)
    _, snapshot = stopped(log, 64, float(log.submit_s[350]), order=order)
    fork = snapshot.fork()
    fork.run()
    expected = dict(zip(log.job_id, whole.start_s, strict=True))
    assert all(start_s == expected[job] for job, start_s in starts_in(fork).items())


@pytest.mark.parametrize("decide", ["instant", "event"])
def test_a_replay_that_watches_a_slot_stops_when_it_starts_and_goes_on(decide: str) -> None:
    whole = sm.simulate(LOG, order="SAF", decide=decide)  # type: ignore[arg-type]
    replay = Replay(LOG, cores=64, options=QueueOptions.checked(order="SAF", decide=decide), seed=SEED)
    latest_s = 0.0
    for slot in (30, 400, 399):
        replay.run(watched=slot)
        started = ~np.isnan(replay.start_s)
        assert replay.start_s[slot] == whole.start_s[slot]
        assert np.nanmax(replay.start_s) == max(latest_s, whole.start_s[slot])
        latest_s = np.nanmax(replay.start_s)
        assert (replay.start_s[started] == whole.start_s[started]).all()
    fork = replay.snapshot().fork()
    fork.run()
    replay.run()
    assert (replay.start_s == whole.start_s).all()
    expected = dict(zip(LOG.job_id, whole.start_s, strict=True))
    assert all(start_s == expected[job] for job, start_s in starts_in(fork).items())


@pytest.mark.parametrize("until_s", [None, -80.0, -45.0, 10.0])
def test_a_log_that_begins_below_zero_can_be_forked(until_s: float | None) -> None:
    log = sm.Workload([1, 2, 3], [-50, -40, -30], [15, 20, 5], [15, 20, 5], [1, 1, 1])
    replay = Replay(log, cores=1, options=QueueOptions.checked())
    if until_s is not None:
        replay.run(until_s)
    snapshot = replay.snapshot()
    assert snapshot.at_s == (-50.0 if until_s is None else until_s)
    future = snapshot.fork()
    future.run()
    replay.run()
    ids = future.workload.job_id - 1
    assert future.start_s.tolist() == replay.start_s[ids].tolist()
