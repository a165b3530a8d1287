import numpy as np
import pytest

import simmodels as sm

LINE = sm.ValueCurve.linear(2, 6)


@pytest.fixture
def schedule() -> sm.Schedule:
    jobs = [
        sm.Workflow(1, 0, [10, 10], [2, 2], [(0, 1)], ("A", "B"), LINE),
        sm.Workflow(2, 0, [10], [3], [], "A", sm.ValueCurve.linear(1.5, 3)),
        sm.Workflow(3, 1, [2], [2], [], "A", sm.ValueCurve.linear(1, 2)),
    ]
    return sm.simulate_workflows(jobs, clusters=[("a", 4, "A"), ("b", 4, "B")], bid="FIFO", ccr=0.25)


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
    jobs = [
        sm.Workflow(1, 0, [10], [1], [], "A", LINE),  # long and narrow: 10 core seconds
        sm.Workflow(2, 0, [4], [4], [], "A", sm.ValueCurve.linear(1.5, 3)),  # short and wide: 16
    ]
    two = sm.simulate_workflows(jobs, clusters=[("a", 4, "A")], bid="FIFO")
    assert two.deciles("volume_core_s")["starved"].tolist() == [0, 1]
    assert two.deciles("critical_path_s")["starved"].tolist() == [1, 0]


def test_an_empty_workload_has_an_empty_schedule() -> None:
    schedule = sm.simulate_workflows([], clusters=[("a", 4)]).validate()
    assert (len(schedule), len(schedule.jobs), len(schedule.tasks)) == (0, 0, 0)
    assert np.isnan(schedule.metrics()["value"])
