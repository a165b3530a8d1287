"""Machines are on while nobody holds them off, and processes that hold them compose."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, scheduled


def test_the_first_of_several_notices_says_when_a_machine_goes() -> None:
    _, cluster = machines_on(2, 1)
    machine = cluster.machines[0]
    machine.leave("at an instant", "a", goes_s=50.0)
    machine.leave("at an instant", "b", goes_s=20.0)
    assert (machine.goes_s, machine.state, machine.takes_jobs, cluster.free_cores) == (20, "noticed", False, 1)
    machine.leave(None, "b")
    assert (machine.goes_s, machine.takes_jobs) == (50, False)
    machine.leave(None, "a")
    assert (machine.goes_s, machine.takes_jobs, cluster.free_cores) == (np.inf, True, 2)


def test_a_machine_that_drains_for_two_is_held_by_both() -> None:
    env, cluster = machines_on(1, 1)
    cluster.start(sm.Job(1, 0.0, 5.0, 5.0, 1))
    (machine,) = cluster.machines
    machine.leave("once idle", "a")
    machine.leave("once idle", "b")
    assert machine.state == "draining"
    env.run()
    assert (env.now, machine.state, list(machine.holders)) == (5, "off", ["a", "b"])


ACTS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 1), st.booleans()), max_size=30)


@given(acts=ACTS)
def test_holds_add_up_and_cores_are_counted(acts: list[tuple[int, str, int, bool]]) -> None:
    env, cluster = machines_on(2, 3)
    queue = sm.QueueScheduler(env, cluster)
    work = sm.Workload(range(8), range(0, 24, 3), [5] * 8, [5] * 8, [1, 2, 3, 4, 5, 6, 1, 2])
    held: list[set[str]] = [set(), set()]

    def act(owner: str, index: int, *, on: bool) -> None:
        held[index] -= {owner}
        held[index] |= set() if on else {owner}
        machine = cluster.machines[index]
        machine.power_on(owner) if on else machine.power_off(owner)

    for at_s, owner, index, on in acts:
        env.at(at_s).callbacks.append(lambda _, way=(owner, index, on): act(way[0], way[1], on=way[2]))
    for owner in "abc":
        for index in (0, 1):
            env.at(31).callbacks.append(lambda _, way=(owner, index): act(*way, on=True))

    def look() -> Process:
        for at_s in range(32):
            yield env.end_of(at_s)
            assert [machine.is_on for machine in cluster.machines] == [not each for each in held]
            used = sum(attempt.job.cores for attempt in cluster.running)
            on = sum(machine.cores for machine in cluster.machines if machine.is_on)
            assert cluster.free_cores == on - used

    env.process(look())
    schedule: Any = scheduled(queue, work)
    assert (schedule.outcome == 0).all()


def test_an_idle_machine_that_drains_goes_at_once() -> None:
    env, cluster = machines_on(1, 1)
    (machine,) = cluster.machines
    env.run(until=1)
    machine.leave("once idle")
    env.run(until=2)
    assert (machine.state, list(machine.holders)) == ("off", ["script"])
