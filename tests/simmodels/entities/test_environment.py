import subprocess
import sys
from collections.abc import Generator
from typing import NamedTuple

import numpy as np
import pytest
from simpy.events import Event

import simmodels as sm
from simmodels.entities.environment import LAST, POWER, Environment
from simmodels.ground.streams import stream
from tests.refused import refused


def test_a_stream_depends_on_seed_and_names_only() -> None:
    env, other = Environment(seed=7), Environment(seed=7)
    other.stream("something", "else").random(3)
    assert (
        env.stream("failures", 3).random() == other.stream("failures", 3).random() == stream(7, "failures", 3).random()
    )
    assert env.stream("failures", 3).random() != env.stream("failures", 4).random()
    assert env.stream("failures", 3).random() != Environment(seed=8).stream("failures", 3).random()


def test_the_environment_and_its_schedulers_say_in_a_line_how_they_are() -> None:
    env = Environment(seed=7)
    scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    sm.Source(env, {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 10], "cores": [4, 4, 4]}, into=scheduler)
    env.run(until=5)
    assert repr(env) == "<Environment at 5 s: seed 7, 3 entities>"
    assert repr(scheduler) == "<QueueScheduler on 'ours': 2 jobs waiting, 1 running>"


def test_the_clock_is_a_float_from_its_start_on() -> None:
    env = Environment(start_s=5)
    assert type(env.now) is float
    cluster = sm.Cluster(env, "a", cores=1)
    scheduler = sm.QueueScheduler(env, cluster)
    scheduler.submit(sm.Job(1, 5.0, 1.0, 1.0, 1))
    env.run()
    assert env.now == 6.0


class Faulty(sm.Scheduler):
    """Places the first job that waits; at its second decision it fails then."""

    decisions = 0

    def decide(self, _: float) -> Generator[sm.Placement, None, None]:
        self.decisions += 1
        yield from map(sm.Placement, self.waiting[:1])
        if self.decisions == 2:
            raise ZeroDivisionError


def test_a_run_that_failed_does_not_go_on() -> None:
    env = Environment()
    scheduler = Faulty(env, sm.Cluster(env, "a", cores=4))
    sm.Source(env, {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 10], "cores": [1, 1, 1]}, into=scheduler)
    with pytest.raises(ZeroDivisionError):
        env.run()
    for _ in range(2):
        with refused("the run failed, or was interrupted in the middle of an instant; make a new environment"):
            env.run()
    assert (env.now, scheduler.decisions, len(scheduler.running)) == (1.0, 2, 1)


def test_a_run_goes_on_after_an_event_that_it_waited_for_failed() -> None:
    env = Environment()
    failed, later = env.event(), env.at(3.0)
    env.at(1.0).callbacks.append(lambda _: failed.fail(ZeroDivisionError("as asked")))
    with pytest.raises(ZeroDivisionError, match="as asked"):
        env.run(until=failed)
    env.run(until=later)
    assert env.now == 3.0


def test_at_hits_an_instant_that_a_timeout_would_miss() -> None:
    missed = 0
    for now, instant in np.random.default_rng(0).random((100, 2)) * (1.0, 100.0) + (0.0, 1.0):
        env = Environment(start_s=now)
        seen = []
        env.at(instant).callbacks.append(lambda _, env=env, seen=seen: seen.append(env.now))
        env.run()
        assert seen == [instant]
        missed += now + (instant - now) != instant
    assert missed


def test_at_refuses_the_past_and_allows_now() -> None:
    env = Environment(start_s=10.0)
    env.at(10.0)
    with pytest.raises(sm.RequestError, match=r"an event at 9.5 s; it is 10 s already"):
        env.at(9.5)


def test_power_changes_follow_all_else_of_an_instant_and_decisions_follow_them() -> None:
    env = Environment()
    seen: list[str] = []

    def process() -> Generator[Event]:
        yield env.at(3.0)
        for name, event in (("decision", env.ring(LAST)), ("power", env.ring(POWER)), ("usual", env.event().succeed())):
            event.callbacks.append(lambda _, name=name: seen.append(name))
        yield env.timeout(0.0)
        seen.append("process")

    env.process(process())
    env.run()
    assert seen == ["usual", "process", "power", "decision"]


def test_a_call_happens_when_an_event_of_its_instant_and_priority_would() -> None:
    env = Environment(start_s=5.0)
    seen: list[str] = []

    def ring(name: str) -> None:
        env.ring(LAST).callbacks.append(lambda _: seen.append(name))

    env.at(6.0).callbacks.append(lambda _: seen.append("later"))
    env.call(lambda: seen.append("last"), LAST)
    ring("event that is last")
    env.call(lambda: seen.append("last, after it"), LAST)
    env.call(lambda: seen.append("power"), POWER)
    env.at(5.0).callbacks.append(lambda _: ring("event after all"))
    assert env.peek() == 5.0
    env.run(until=5.5)
    assert seen == ["power", "last", "event that is last", "last, after it", "event after all"]
    env.run()
    assert seen[5:] == ["later"]
    assert env.peek() == np.inf
    env.call(lambda: seen.append("at the end"), LAST)
    assert env.peek() == 6.0
    env.run()
    assert seen[6:] == ["at the end"]


def test_a_run_takes_the_steps_of_a_subclass_and_all_else_is_the_same() -> None:
    class Stepping(Environment):
        steps = 0

        def step(self) -> None:
            self.steps += 1
            super().step()

    def seen_by(env: Environment) -> list[tuple[float, str]]:
        seen: list[tuple[float, str]] = []

        def note(text: str) -> None:
            seen.append((env.now, text))

        def process() -> Generator[Event]:
            yield env.timeout(1)
            note("timeout")
            env.call(lambda: note("call"), LAST)
            env.at(1.0).callbacks.append(lambda _: note("first"))
            env.step()  # in the middle of a run: the next event, and no more
            note("stepped")
            yield env.timeout(1)
            note("process")

        env.process(process())
        last = env.at(2.0, "done")
        assert env.run(until=1.5) is None
        note("waits")
        assert env.run(until=last) == "done"  # who waits for it, too, sees it when the clock goes on
        note(f"processed: {last.processed}")
        env.run()
        return seen

    own = Stepping()
    assert seen_by(own) == seen_by(Environment())
    assert own.steps > 8


@pytest.mark.parametrize("of_all", [False, True])
def test_a_step_that_is_replaced_sees_every_event_as_simpy_traces_them(
    of_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    env, seen = Environment(), []
    traced = Environment if of_all else env
    step = traced.step

    def trace(*given: Environment) -> None:
        seen.append(env.peek())
        step(*given)

    monkeypatch.setattr(traced, "step", trace)
    for at_s in range(3):
        env.at(at_s)
    env.run()
    assert seen == [0, 1, 2, np.inf]


def test_an_event_that_is_no_class_is_refused() -> None:
    with pytest.raises(sm.RequestError, match=r"env.on\('ended', ...\); give the event as a class, such as"):
        Environment().on("ended", print)  # type: ignore[arg-type]


def test_observers_of_parts_and_of_events_are_called_in_order_and_neighbours_share_an_event() -> None:
    class Full(NamedTuple):
        cores: int
        of: list[int]

    env, seen = Environment(), []
    for name in ("first", "second"):
        env.on(Full, lambda event, name=name: seen.append((name, event)))
    env.observers_of(Full).append(lambda cores, of: seen.append(("parts", (cores, of))))
    env.on(Full, lambda event: seen.append(("last", event)))
    env.publish(Full, 4, [1])
    assert [name for name, _ in seen] == ["first", "second", "parts", "last"]
    assert all(event == (4, [1]) for _, event in seen)
    assert seen[0][1] is seen[1][1]


def test_without_an_observer_no_event_is_created() -> None:
    def fail() -> None:
        raise AssertionError

    Environment().publish(fail)


def test_entities_are_known_by_their_kind_in_the_order_they_were_made() -> None:
    class Mine(sm.Cluster):
        pass

    env = Environment()
    first, second = Mine(env, "b", cores=1), sm.Cluster(env, "a", cores=1)
    assert env.all(sm.Cluster) == [first, second]
    assert env.all(Mine) == [first]
    assert env.all(sm.QueueScheduler) == []


MODELS = """
import gc
import numpy as np
import simmodels as sm
jobs = sm.Workload(np.arange(8), np.arange(8.0), np.full(8, 5.0), np.full(8, 5.0), np.ones(8, int), max_cores=3)
for _ in range(200):
    sm.simulate(jobs, engine="simpy")
print(sum(isinstance(each, sm.Environment) for each in gc.get_objects()))
"""


def test_models_that_are_done_do_not_pile_up_in_memory() -> None:
    ended = subprocess.run([sys.executable, "-c", MODELS], capture_output=True, text=True, check=True)
    assert int(ended.stdout) <= 64


def test_an_event_that_never_happens_is_reported() -> None:
    env = Environment()
    env.at(3)
    with refused("...at 3 s nothing is left to happen, and the event of until has not; a Rec...", sm.StoppedError):
        env.run(until=env.event())
