import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simmodels.curve import ValueCurve
from simmodels.entities.attempt import Attempt
from simmodels.entities.auctioneer import Auctioneer, TaskRun
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.events import Submitted
from simmodels.entities.recorder import Recorder
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.simulate import Engine, simulate_workflows
from simmodels.workflow import Workflow
from simmodels.workload import Job, Workload

ROOT = Path(__file__).resolve().parents[3]
LONG = ValueCurve.linear(2, 60)


def job(submit: float, runtime: float = 10, cores: int = 4, **about: object) -> Workflow:
    return Workflow(1, submit, [runtime], cores, curve=LONG, **about)


def model(*sizes: int, **rules: object) -> tuple[Environment, list[Cluster], Auctioneer]:
    env = Environment(seed=3)
    clusters = [Cluster(env, f"c{i}", cores=cores) for i, cores in enumerate(sizes)]
    return env, clusters, Auctioneer(env, clusters, **rules)


def test_a_model_script_gives_the_schedule_of_its_workflows() -> None:
    env, _, auctioneer = model(4, bid="SRTF")
    jobs = [job(0), job(1, 9), job(2, 2)]
    Source(env, jobs, into=auctioneer)
    recorder = Recorder(env)
    env.run()
    schedule: Any = recorder.schedule()
    assert schedule.validate().start_s.tolist() == [0, 12, 10]
    assert recorder.schedule().tasks["cluster"].tolist() == ["c0"] * 3
    assert schedule.about["engine"] == "simpy"


def test_ties_fall_by_input_order_though_the_source_submits_by_time() -> None:
    jobs = [job(5), job(0, 7), job(5)]
    env, _, auctioneer = model(4, bid="LRTF")
    Source(env, jobs, into=auctioneer)
    env.run()
    assert auctioneer.schedule().start_s.tolist() == [7, 0, 17]


def test_workflows_can_be_submitted_by_hand_and_looked_at_midway() -> None:
    env, clusters, auctioneer = model(4)
    seen: list[object] = []
    env.on(Submitted, lambda event: seen.append(event.job))

    def user() -> Generator:
        for turn in range(3):
            yield env.timeout(5)
            auctioneer.submit(job(5.0 * (turn + 1)))

    env.process(user())
    env.run(until=12)
    assert auctioneer.schedule().jobs["outcome"].tolist() == ["unfinished", "unfinished"]
    assert clusters[0].free_cores == 0
    env.run()
    assert auctioneer.schedule().validate().start_s.tolist() == [5, 15, 25]
    assert len(seen) == 3


def test_a_lost_task_bids_again_and_machines_come_and_go() -> None:
    env = Environment()
    cluster = Cluster(env, "green", machines=2, cores_per_machine=2)
    auctioneer = Auctioneer(env, [cluster], bid="FIFO")
    Source(env, [job(0, 10, 3), job(1, 5, 2)], into=auctioneer)

    def power() -> Generator:
        yield env.timeout(4)
        yield cluster.machines[1].power_off()
        yield env.timeout(2)
        yield cluster.machines[1].power_on()

    env.process(power())
    env.run()
    # At 4 the wide task is lost and blocks the queue; at 6 it starts anew, at 16 the other.
    assert auctioneer.schedule().validate().start_s.tolist() == [6, 16]


def test_a_cluster_of_yours_says_how_long_tasks_run() -> None:
    class Slow(Cluster):
        def runtime_s(self, job: Job) -> float:
            assert isinstance(job, TaskRun)
            return 2 * job.runtime_s if job.task == 0 else job.runtime_s

    env = Environment()
    auctioneer = Auctioneer(env, [Slow(env, "slow", cores=4)])
    Source(env, [Workflow(1, 0, [10, 10], 4, [(0, 1)])], into=auctioneer)
    env.run()
    schedule = auctioneer.schedule().validate()
    assert schedule.start_s.tolist() == [0, 20]
    assert schedule.about["runtimes"] == "modelled"


def test_start_and_ended_can_be_overridden() -> None:
    told: list[tuple[str, int]] = []

    class Telling(Auctioneer):
        def start(self, run: TaskRun, cluster: Cluster) -> Attempt:
            told.append(("start", run.task))
            return super().start(run, cluster)

        def ended(self, attempt: Attempt) -> None:
            told.append(("ended", attempt.job.task))  # type: ignore[attr-defined]
            super().ended(attempt)

    env = Environment()
    auctioneer = Telling(env, [Cluster(env, "a", cores=4)])
    Source(env, [Workflow(1, 0, [10, 10], 4, [(0, 1)])], into=auctioneer)
    env.run()
    assert told == [("start", 0), ("ended", 0), ("start", 1), ("ended", 1)]


def test_auctions_end_with_the_last_submission_if_asked() -> None:
    env, _, auctioneer = model(4, end="submit")
    Source(env, [job(0), job(3)], into=auctioneer)
    env.run()
    assert auctioneer.closed
    assert auctioneer.schedule().jobs["outcome"].tolist() == ["unfinished", "unfinished"]


@pytest.mark.parametrize(
    ("instants", "wanted"), [("starvation", [0, 3, 10, 20]), ("deadlines", [0, 3, 10, 20, 600, 603])]
)
def test_auctions_are_held_at_deadlines_or_only_where_a_job_starves(instants: str, wanted: list[float]) -> None:
    held: list[float] = []

    class Noting(Auctioneer):
        def _instant(self) -> None:
            held.append(self.env.now)
            super()._instant()

    env = Environment()
    auctioneer = Noting(env, [Cluster(env, "a", cores=4)], instants=instants)
    Source(env, [job(0), job(3)], into=auctioneer)
    env.run()
    assert held == wanted


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_a_task_that_never_starts_is_on_no_cluster_though_there_is_one_only(engine: Engine) -> None:
    schedule = simulate_workflows([job(0), job(3)], clusters=[("a", 4)], end="submit", engine=engine)
    assert schedule.validate().cluster.tolist() == [0, -1]


def test_jobs_and_workflows_share_an_environment() -> None:
    env, _, auctioneer = model(4)
    other = Cluster(env, "jobs", cores=2)
    Source(env, Workload(np.array([1]), [0.0], [5.0], [5.0], [2]), into=QueueScheduler(env, other))
    Source(env, [job(0)], into=auctioneer)
    recorder = Recorder(env)
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.end_s.tolist() == [5, 10]
    assert schedule.tasks["cluster"].tolist() == ["jobs", "c0"]
    metrics = schedule.metrics()
    assert (metrics["jobs"], metrics["completed"], metrics["finished"]) == (2, 1, 1)


def test_what_cannot_be_is_refused() -> None:
    env, _, auctioneer = model(4)
    with pytest.raises(ImpossibleJobError, match="job 1: task 0 needs 5 cores, and the largest cluster has 4"):
        Source(env, [job(0, cores=5)], into=auctioneer)
    twice = job(0)
    with pytest.raises(RequestError, match="job 1 of 5 s is submitted at 0 s"):
        auctioneer.submit(job(5))
    auctioneer.accept([twice])
    with pytest.raises(RequestError, match="job 1 is to be submitted twice"):
        Source(env, [twice], into=auctioneer)
    env.run(until=3)
    with pytest.raises(RequestError, match="job 1 is submitted at 0 s; the clock is at 3 s"):
        Source(env, [job(0)], into=auctioneer)


_PROGRAM = """
import numpy as np
from simmodels.curve import ValueCurve
from simmodels.simulate import Engine, simulate_workflows
from simmodels.workflow import Workflow
curve = ValueCurve.linear(2, 6)
jobs = [Workflow(i, i // 2, [3 + i % 5, 2], 1 + i % 4, [(0, 1)], ("A", "B"), curve) for i in range(60)]
clusters = [("a", 4, "A"), ("b", 4, "B")]
for bid in ("Random", "PVR", "P-SLR"):
    for engine in ("compiled", "simpy"):
        schedule = simulate_workflows(jobs, clusters=clusters, bid=bid, seed=5, engine=engine)
        print(schedule.start_s.tobytes().hex(), schedule.cluster.tobytes().hex())
"""


def test_another_process_with_another_hash_seed_finds_the_same() -> None:
    def run(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True
        ).stdout

    one = run("1")
    assert one == run("2")
    lines = one.splitlines()
    assert len(lines) == 6
    assert lines[0::2] == lines[1::2]


def test_a_platform_of_kinds_is_the_same_by_the_short_way() -> None:
    jobs = [Workflow(i, i, [5, 3], 2, [(0, 1)], ("A", "B"), LONG) for i in range(9)]
    env = Environment(seed=1)
    clusters = [Cluster(env, "a", cores=3, kind="A"), Cluster(env, "b", cores=3, kind="B")]
    auctioneer = Auctioneer(env, clusters, bid="PVD", network="kind")
    Source(env, jobs, into=auctioneer)
    env.run()
    short = simulate_workflows(jobs, clusters=[("a", 3, "A"), ("b", 3, "B")], bid="PVD", network="kind")
    assert auctioneer.schedule().start_s.tolist() == short.start_s.tolist()
