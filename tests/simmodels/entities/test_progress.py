"""What is left of a job that was interrupted is the same under every scheduler: the cluster keeps account of it."""

from collections.abc import Callable

import pytest

import simmodels as sm
from simmodels.clusters.capacity import Mode
from simmodels.policies.queue_options import Backfilling
from tests.model_scripts import machines_on, rigid, scheduled
from tests.own_schedulers import AsTheyCome, Twice

Make = Callable[[sm.Environment, sm.Cluster], sm.Scheduler | sm.Router]
SCHEDULERS: dict[str, Make] = {
    "queue": sm.QueueScheduler,
    "conservative": lambda env, cluster: sm.QueueScheduler(env, cluster, backfilling="conservative"),
    "kill": lambda env, cluster: sm.QueueScheduler(env, cluster, overrun="kill"),
    "placer": sm.FirstFit,
    "auction": lambda env, cluster: sm.Auctioneer(env, [cluster]),
    "forward": lambda env, cluster: sm.Auctioneer(env, [sm.QueueScheduler(env, cluster)], forward=True),
    "own": AsTheyCome,
}


def interrupted(scheduler: Make, checkpoints: sm.Checkpoints | None, *, mode: Mode = "checkpoint") -> sm.Schedule:
    """Return the schedule of a job of 100 s whose machine goes from 40 to 60 s, with notice of 10 s."""
    env, cluster = machines_on(1, 1, checkpoints=checkpoints)
    changes = [sm.CapacityChange(0, 1), sm.CapacityChange(40, 0, 10, mode), sm.CapacityChange(60, 1)]
    sm.TraceCapacity(env, cluster, changes)
    return scheduled(scheduler(env, cluster), sm.Workload([1], [0], [100], [100], [1]), whole=True)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_checkpoint_on_notice_saves_the_work_under_every_scheduler(scheduler: str) -> None:
    killed = interrupted(SCHEDULERS[scheduler], None, mode="kill")
    assert killed.attempts[["start_s", "end_s"]].to_numpy().tolist() == [[0, 40], [60, 160]]
    saved = interrupted(SCHEDULERS[scheduler], None)
    assert saved.attempts[["start_s", "end_s"]].to_numpy().tolist() == [[0, 40], [60, 120]]
    # The last 5 s before the machine goes write the checkpoint; coming back takes 7 s.
    dear = interrupted(SCHEDULERS[scheduler], sm.Checkpoints(cost_s=5, restart_s=7))
    assert dear.attempts[["start_s", "end_s"]].to_numpy().tolist() == [[0, 40], [60, 132]]
    assert dear.attempts["work_s"].tolist() == [35, 65]
    assert dear.runs["lost_s"].tolist() == [5, 7]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_periodic_checkpoints_save_what_was_written_under_every_scheduler(scheduler: str) -> None:
    schedule = interrupted(SCHEDULERS[scheduler], sm.Checkpoints(interval_s=10, cost_s=1, restart_s=2), mode="kill")
    # By 40 s three intervals of 10 s are written, at 11, 22 and 33 s. Then 70 s are left, with 6 checkpoints between.
    assert schedule.attempts[["start_s", "end_s"]].to_numpy().tolist() == [[0, 40], [60, 138]]
    assert schedule.attempts["work_s"].tolist() == [30, 70]


@pytest.mark.parametrize("before", [None, sm.Checkpoints(interval_s=10, cost_s=1, restart_s=2)], ids=["none", "some"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_runs_keeps_its_checkpoints_and_what_starts_has_the_new_ones(
    scheduler: str, before: sm.Checkpoints | None
) -> None:
    """Job 1 of 100 s has one rule until it is lost at 40 s; what starts at 60 s has the other; of two, one waits."""
    after = None if before is not None else sm.Checkpoints(interval_s=10, cost_s=1, restart_s=2)
    env, cluster = machines_on(1, 1, checkpoints=before)
    sm.TraceCapacity(env, cluster, [sm.CapacityChange(0, 1), sm.CapacityChange(40, 0), sm.CapacityChange(60, 1)])
    into = SCHEDULERS[scheduler](env, cluster)
    env.at(30).callbacks.append(lambda _: cluster.reconfigure(checkpoints=after))
    table = scheduled(into, rigid((0, 100, 1), (1, 50, 1)), whole=True).attempts
    # With checkpoints: saved are 30 s by 40 s; 70 s are left, after 2 s. Without: all; 9 and 4 checkpoints between.
    times = [[0, 40], [60, 132], [132, 182]] if after is None else [[0, 40], [60, 169], [169, 223]]
    assert table[["start_s", "end_s"]].to_numpy().tolist() == times
    assert table["work_s"].tolist() == ([30, 70, 50] if after is None else [0, 100, 50])


@pytest.mark.parametrize("backfilling", ["easy", "conservative"])
def test_what_waits_is_queued_by_the_new_checkpoints(backfilling: Backfilling) -> None:
    """Job 3 of 50 s ends before job 2 is to start at 60 s, until its checkpoints take 4 s more."""
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", cores=2)
    queue = sm.QueueScheduler(env, cluster, backfilling=backfilling)
    env.at(2).callbacks.append(lambda _: cluster.reconfigure(checkpoints=sm.Checkpoints(interval_s=10, cost_s=1)))
    jobs = rigid((0, 60, 1), (1, 10, 2), (6, 52, 1), (8, 1, 1))
    assert scheduled(queue, jobs).start_s.tolist() == [0, 60, 70, 8]


def test_checkpoints_that_are_none_are_refused_where_they_are_set() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", cores=1, checkpoints=sm.Checkpoints(interval_s=1))
    with pytest.raises(sm.RequestError, match=r"checkpoints must be a Checkpoints, or None \(got 'often'\)"):
        cluster.checkpoints = "often"  # type: ignore[assignment]
    cluster.checkpoints = None  # type: ignore[assignment]  # as when it is made
    assert cluster.checkpoints == sm.Checkpoints()


def test_first_fit_on_a_cluster_that_changes_runtimes_saves_its_own_work() -> None:
    env = sm.Environment()
    cluster = Twice(env, "c", machines=1, cores_per_machine=1)
    sm.TraceCapacity(env, cluster, [(0, 1), sm.CapacityChange(40, 0, 10, "checkpoint"), (60, 1)])
    schedule = scheduled(sm.FirstFit(env, cluster), sm.Workload([1], [0], [50], [50], [1]), whole=True)
    assert schedule.attempts[["start_s", "end_s"]].to_numpy().tolist() == [[0, 40], [60, 120]]


def test_a_changed_job_starts_from_its_beginning() -> None:
    class Longer(sm.QueueScheduler):
        def start(self, job: sm.Job) -> sm.Attempt:
            changed = sm.Job(job.job_id, job.submit_s, job.runtime_s + 5, job.estimate_s, job.cores)
            return self.cluster.start(changed, then=self.ended)

    schedule = interrupted(Longer, None)
    assert schedule.attempts[["start_s", "end_s"]].to_numpy().tolist() == [[0, 40], [60, 165]]
