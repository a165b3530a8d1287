"""The same seed gives the same bits: twice, in another process, and under another hash seed."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.entities.environment import Process

ROOT = Path(__file__).parents[3]


def model(seed: int) -> tuple[sm.Schedule, pd.DataFrame]:
    """A model in which all that can be random is: jobs, machines that fail, the order, and another order later."""
    env = sm.Environment(seed=seed)
    rng = env.stream("jobs")
    runtime_s = rng.exponential(30.0, 300)
    log = sm.Workload(
        np.arange(300),
        rng.uniform(0, 900, 300),
        runtime_s,
        runtime_s * rng.uniform(0.5, 2.0, 300),
        rng.integers(1, 9, 300),
    )
    cluster = sm.Cluster(env, "green", machines=6, cores_per_machine=4)
    scheduler = sm.QueueScheduler(env, cluster, order="RANDOM", backfilling="easy", backfill_order="SAF")
    sm.Source(env, log, into=scheduler)
    recorder = sm.Recorder(env)

    def fails(machine: sm.Machine) -> Process:
        dice = env.stream("failures", machine.index)
        for _ in range(10):
            yield env.timeout(dice.exponential(100.0))
            machine.power_off()
            yield env.timeout(dice.exponential(20.0))
            machine.power_on()

    def tunes() -> Process:
        dice = env.stream("tuner")
        for day in range(1, 10):
            yield env.at(100.0 * day)
            scheduler.set_order(str(dice.choice(sm.TWELVE_ORDERS)))

    for machine in cluster.machines:
        env.process(fails(machine))
    env.process(tunes())
    env.run()
    return recorder.schedule(), recorder.attempts


def digest(seed: int) -> str:
    schedule, attempts = model(seed)
    table = schedule.jobs.to_csv(index=False) + attempts.to_csv(index=False)
    return hashlib.sha256(table.encode()).hexdigest()


def test_the_model_is_not_trivial() -> None:
    schedule, attempts = model(7)
    schedule.validate()
    assert len(attempts) > 300
    assert (schedule.start_s > schedule.workload.submit_s).sum() > 50


def test_the_same_seed_twice_gives_the_same_tables_and_another_seed_others() -> None:
    assert digest(7) == digest(7)
    assert digest(7) != digest(8)


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_another_process_and_hash_seed_give_the_same_tables(hash_seed: str) -> None:
    script = "from tests.simmodels.entities.test_determinism import digest; print(digest(7))"
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(7)
