"""Failures and maintenance: when machines go, when they come back, and what becomes of the jobs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on


def spans(machines: int, until_s: float, seed: int = 1, **options: float) -> pd.DataFrame:
    env, cluster = machines_on(machines, 1, seed=seed)
    sm.Failures(env, cluster, **options)
    recorder = sm.Recorder(env)
    env.run(until=until_s)
    return recorder.schedule().off_spans


@pytest.mark.parametrize("shape", [1.0, 0.7])
def test_machines_fail_and_are_repaired_as_often_as_they_are_said_to(shape: float) -> None:
    off = spans(50, 1e6, mtbf_s=1000, repair_s=100, shape=shape)
    length_s = (off["end_s"] - off["start_s"]).to_numpy()
    assert np.isclose(length_s[off["end_s"] < 1e6], 100).all()
    # One cycle takes 1,100 s on average: 45,000 of them, whose number has a standard deviation below 1 %.
    assert len(off) == pytest.approx(50 * 1e6 / 1100, rel=0.03)


def test_a_machine_fails_at_the_same_instants_however_many_there_are() -> None:
    few, many = (spans(machines, 1e5, mtbf_s=1000, repair_s=100) for machines in (2, 20))
    assert few.equals(many[many["machine"] < 2].reset_index(drop=True))
    assert not few.equals(spans(2, 1e5, seed=2, mtbf_s=1000, repair_s=100))


def test_two_clusters_fail_independently() -> None:
    env = sm.Environment(seed=1)
    clusters = [sm.Cluster(env, name, machines=1, cores_per_machine=1) for name in "ab"]
    failed: dict[str, list[float]] = {"a": [], "b": []}
    for cluster in clusters:
        sm.Failures(env, cluster, mtbf_s=100, repair_s=1)
    env.on(sm.Powered, lambda event: failed[event.machine.cluster.name].append(env.now))
    env.run(until=1000)
    assert set(failed["a"]).isdisjoint(failed["b"])


def test_maintenance_comes_again() -> None:
    env, cluster = machines_on(3, 1)
    sm.Maintenance(env, cluster, start_s=10, duration_s=5, machines=[2, 0, 2], notice_s=1, repeat_s=20)
    seen = []

    def look() -> Process:
        for at_s in (9, 10, 15, 29, 31, 34, 35):
            yield env.end_of(at_s)
            seen.append("".join(machine.state[1] for machine in cluster.machines))

    env.process(look())
    env.run(until=40)
    assert seen == ["ono", "fnf", "nnn", "ono", "fnf", "fnf", "nnn"]  # on, noticed, off: second letters


def test_a_machine_that_is_to_go_for_two_reasons_comes_back_after_both() -> None:
    env, cluster = machines_on(1, 1)
    sm.Maintenance(env, cluster, start_s=10, duration_s=10)
    sm.Maintenance(env, cluster, start_s=15, duration_s=10)
    seen = []
    env.on(sm.Powered, lambda event: seen.append((env.now, event.machine.is_on)))
    env.run()
    assert seen == [(10, False), (25, True)]


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        (sm.Failures, {"mtbf_s": 0, "repair_s": 1}, "mtbf_s must be a finite number of seconds > 0"),
        (sm.Failures, {"mtbf_s": 1, "repair_s": np.inf}, r"repair_s must be .* > 0 \(got inf\)"),
        (sm.Failures, {"mtbf_s": 1, "repair_s": 1, "shape": -1}, "shape must be a finite number >= 0.05"),
        (sm.Failures, {"mtbf_s": "9x", "repair_s": 1}, "mtbf_s must be a number of seconds, or one with"),
        (sm.Maintenance, {"start_s": -1}, "start_s must be a finite number of seconds >= 0"),
        (sm.Maintenance, {"duration_s": 0}, "duration_s must be"),
        (sm.Maintenance, {"machines": [2]}, r"a machine of cluster .* from 0 to 1 \(got 2\)"),
        (sm.Maintenance, {"repeat_s": 1}, "repeat_s must be longer than"),
        (sm.Maintenance, {"machines": []}, r"machines must be the numbers of .*, or None \(got \[\]\)"),
        (sm.Maintenance, {"machines": 0}, r"at least one machine, or None \(got 0\)"),
        (sm.Maintenance, {"mode": "wait"}, "unknown mode 'wait'"),
        (sm.SleepWhenIdle, {"after_s": 1, "awake": 0.5}, "awake must be an integer from 0 to 2"),
        (sm.SleepWhenIdle, {"after_s": -1}, "after_s must be a finite number of seconds >= 0"),
    ],
)
def test_options_out_of_their_range_are_refused(kind: type[Any], options: dict[str, Any], text: str) -> None:
    env = sm.Environment()
    usual = {"start_s": 0, "duration_s": 1} if kind is sm.Maintenance else {}
    with pytest.raises(sm.RequestError, match=text):
        kind(env, sm.Cluster(env, "c", machines=2, cores_per_machine=1), **{**usual, **options})


def test_a_pool_of_cores_is_refused() -> None:
    env = sm.Environment()
    pool = sm.Cluster(env, "p", cores=4)
    with pytest.raises(sm.RequestError, match=r"cluster 'p' has no machines"):
        sm.Failures(env, pool, mtbf_s=1, repair_s=1)
    with pytest.raises(sm.RequestError, match=r"cluster 'p' has no machines"):
        sm.SleepWhenIdle(env, pool, after_s=1)
