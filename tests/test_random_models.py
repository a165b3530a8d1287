"""Random models of many parts (`tests.attacks.models`), by a checker that shares no code with the proof."""

import random
from collections import Counter

import pytest

import simmodels as sm
from tests import checker
from tests.attacks import models
from tests.attacks.attack import Broken
from tests.checker import Fault, Place, Travel

OURS = Place("ours", ((4, 1.0), (4, 2.0)), writing=((0.0, (4.0, 0.0, 1.0)),))


def attacked(first: int, count: int) -> Counter[str]:
    """Run models, and return what became of each; a broken one says how to repeat it."""
    return Counter(models.attack(f"tests/{number}") for number in range(first, first + count))


def test_random_models_keep_every_rule_of_a_checker_of_its_own() -> None:
    found = attacked(0, 120)
    assert found.total() == 120
    assert sum(count for result, count in found.items() if "refused" in result) <= 12


def test_what_ends_at_its_limit_completes_in_thirds_of_a_second() -> None:
    # The task has 2 s of its 11/3 s left: its limit is those and what its estimate is more than its runtime, nothing.
    assert models.attack("1/515") == "nested, done"


@pytest.mark.full
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_a_thousand_random_models_keep_every_rule_of_a_checker_of_its_own(first: int) -> None:
    assert attacked(first, 100).total() == 100


def test_a_broken_model_is_reported_by_its_seed_and_the_smallest_one_that_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(model: models.Described) -> str:
        if len(model["jobs"]) >= 2:
            raise Fault("any", "there are two jobs")
        return "held"

    monkeypatch.setattr(models, "hold", broken)
    drawn = next(seed for seed in map(str, range(99)) if len(models.a_model(random.Random(seed))["jobs"]) > 4)
    with pytest.raises(Broken, match="any: there are two jobs") as found:
        models.attack(drawn)
    smallest = models.shrunk(models.a_model(random.Random(drawn)), "any")
    assert (len(smallest["jobs"]), smallest["flows"], smallest["script"]) == (2, [], [])
    assert f"model {drawn!r}" in str(found.value)
    assert f"hold({smallest})" in str(found.value)


# -- the checker itself -----------------------------------------------------------------------------------


def on_two_machines() -> sm.Schedule:
    """A job that is lost at 6 s with 4 s of work saved, and goes on at 10 s; one beside it; one that waits."""
    env = sm.Environment()
    machines = [sm.Machines(1, cores=4), sm.Machines(1, cores=4, speed=2.0)]
    cluster = sm.Cluster(env, "ours", machines=machines, checkpoints=sm.Checkpoints(interval_s=4, restart_s=1))
    scheduler = sm.QueueScheduler(env, cluster)
    sm.TraceCapacity(env, cluster, [(0, 2), (6, 0), (10, 2)])
    log = {"submit_s": [0, 0, 1], "runtime_s": [10, 8, 2], "cores": [4, 4, 2]}
    sm.Source(env, log, into=scheduler)
    recorder = sm.Recorder(env)
    env.run()
    return recorder.schedule()


def checked(schedule: sm.Schedule) -> None:
    checker.check(schedule, [OURS], Travel())


def test_the_checker_accepts_a_schedule_with_a_job_that_resumed_from_a_checkpoint() -> None:
    schedule = on_two_machines()
    checked(schedule)
    assert schedule.runs["work_s"].tolist() == [4.0, 4.0, 1.0, 6.0]


@pytest.mark.parametrize(
    ("at", "what", "other", "rule"),
    [
        (3, "shorter", 0, "end"),
        (2, "later", 0, "offline"),
        (1, "machine", 0, "capacity"),
        (3, "machine", 1, "end"),
        (3, "machine", 5, "machines"),
        (0, "work", 1, "work"),
    ],
)
def test_the_checker_refuses_a_schedule_with_one_attempt_changed(at: int, what: str, other: int, rule: str) -> None:
    with pytest.raises(Fault) as found:
        checked(models._tampered(on_two_machines(), at, what, other))
    assert found.value.rule == rule


def test_the_checker_refuses_a_head_that_starts_after_its_shadow() -> None:
    log = {"submit_s": [0, 1, 2], "runtime_s": [10, 5, 20], "cores": [3, 4, 1]}
    place = Place("ours", ((4, 1.0),))
    checker.easy(sm.simulate(log, cores=4), place)
    with pytest.raises(Fault, match="should start by 10"):
        checker.easy(sm.simulate(log, cores=4, backfilling="greedy"), place)
