import dataclasses

import numpy as np
import pytest

import simmodels as sm
from tests.refused import refused

LINE = sm.ValueCurve.linear(2, 6)


@pytest.fixture
def schedule() -> sm.Schedule:
    jobs = [
        sm.Workflow(1, 0, [10, 10], [2, 2], [(0, 1)], ("A", "B"), LINE),
        sm.Workflow(2, 0, [10], [3], [], "A", sm.ValueCurve.linear(1.5, 3)),
        sm.Workflow(3, 1, [2], [2], [], "A", sm.ValueCurve.linear(1, 2)),
    ]
    return sm.simulate_workflows(jobs, clusters=[("a", 4, "A"), ("b", 4, "B")], bid="FIFO", ccr=0.25)


def changed(schedule: sm.Schedule, name: str, row: int, value: float) -> sm.Schedule:
    column = getattr(schedule, name).copy()
    column[row] = value
    return dataclasses.replace(schedule, **{name: column})


def test_tables_have_a_row_a_job_and_a_row_a_task(schedule: sm.Schedule) -> None:
    jobs, tasks = schedule.validate().jobs, schedule.tasks
    assert jobs["outcome"].tolist() == ["finished", "finished", "starved"]
    assert jobs["finish_s"].tolist() == pytest.approx([23, 20, np.nan], nan_ok=True)
    assert jobs["slr"].tolist() == pytest.approx([1, 2, np.nan], nan_ok=True)
    assert jobs["value"].tolist() == pytest.approx([40, 20, 0])
    assert tasks["start_s"].tolist() == pytest.approx([0, 13, 10, np.nan], nan_ok=True)
    assert tasks["cluster"].tolist() == ["a", "b", "a", None]
    assert tasks["outcome"].tolist() == ["completed", "completed", "completed", "never started"]


def test_metrics_are_those_of_the_paper(schedule: sm.Schedule) -> None:
    found = schedule.metrics()
    assert found["value"] == pytest.approx(60 / 74)
    assert found["starved"] == pytest.approx(1 / 3)
    assert found["mean_slr"] == 1.5
    assert found["effective_load"] == pytest.approx(74 / (8 * 1))
    assert found["makespan_s"] == 23


def test_deciles_go_from_small_to_large(schedule: sm.Schedule) -> None:
    table = schedule.deciles()
    assert table["decile"].tolist() == [1, 4, 7]
    assert table["jobs"].tolist() == [1, 1, 1]
    assert table["starved"].tolist() == [1, 0, 0]
    assert schedule.deciles("most_value")["value"].tolist() == pytest.approx([0, 2 / 3, 1])
    with pytest.raises(sm.RequestError, match="by must be volume_core_s, most_value or critical_path_s"):
        schedule.deciles("cores")


def test_deciles_by_execution_time_go_by_the_critical_path_and_not_by_the_volume() -> None:
    jobs = [
        sm.Workflow(1, 0, [10], [1], [], "A", LINE),  # long and narrow: 10 core seconds
        sm.Workflow(2, 0, [4], [4], [], "A", sm.ValueCurve.linear(1.5, 3)),  # short and wide: 16
    ]
    schedule = sm.simulate_workflows(jobs, clusters=[("a", 4, "A")], bid="FIFO")
    by_time, by_volume = schedule.deciles("critical_path_s"), schedule.deciles("volume_core_s")
    assert by_volume["starved"].tolist() == [0, 1]
    assert by_time["starved"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "rule", "text"),
    [
        (("start_s", 0, -1), "submit", "job 1, task 0 starts at -1.0 s, before its submit at 0.0 s"),
        (
            ("start_s", 2, 9),
            "end",
            "job 2, task 0 completed, starts at 9.0 s and ends at 20.0 s; its runtime is 10.0 s",
        ),
        (("cluster", 2, 1), "kind", "job 2, task 0 runs on cluster 1, which is not of its kind"),
        (("cluster", 2, -1), "outcome", "job 2, task 0 starts at 10.0 s on cluster -1, which there is not"),
        (("end_s", 2, np.nan), "outcome", "job 2, task 0 is completed, but its start is 10.0 s, its end nan s"),
        (("end_s", 3, 4), "outcome", "job 3, task 0 is unfinished, but ends at 4.0 s"),
        (("workflow_outcome", 2, 0), "outcome", "job 3, task 0 of a finished job has not ended"),
        (("workflow_outcome", 1, 2), "outcome", "job 2, task 0 of a rejected job starts at 10.0 s"),
    ],
)
def test_an_illegal_schedule_is_refused_by_rule_job_and_task(
    schedule: sm.Schedule, change: tuple[str, int, float], rule: str, text: str
) -> None:
    with pytest.raises(sm.IllegalScheduleError) as error:
        changed(schedule, *change).validate()
    assert error.value.rule == rule
    assert text in str(error.value)


def test_data_that_have_not_arrived_and_cores_used_twice_are_refused(schedule: sm.Schedule) -> None:
    early = changed(changed(schedule, "start_s", 1, 12), "end_s", 1, 22)
    with pytest.raises(sm.IllegalScheduleError, match=r"\(data\): job 1, task 1 starts at 12.0 s"):
        early.validate()
    crowded = changed(changed(schedule, "start_s", 2, 5), "end_s", 2, 15)
    with refused("...(capacity): job 2, task 0 starts at 5.0 s on 3 cores, which makes 5...", sm.IllegalScheduleError):
        crowded.validate()


def test_an_empty_workload_has_an_empty_schedule() -> None:
    schedule = sm.simulate_workflows([], clusters=[("a", 4)]).validate()
    assert (len(schedule), len(schedule.jobs), len(schedule.tasks)) == (0, 0, 0)
    assert np.isnan(schedule.metrics()["value"])
