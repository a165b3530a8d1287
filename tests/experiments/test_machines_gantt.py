"""Gantt charts of machines that come and go: what is dark, what is lost, and where each job lies."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

import simmodels as sm
from experiments.machines_gantt import _DARK, _LOST, _on_cores, machines_gantt


def schedule_of(**options: object) -> sm.Schedule:
    jobs = sm.Workload.from_frame(
        pd.DataFrame({"submit_s": [0, 0, 0, 5], "runtime_s": [100, 60, 80, 30], "cores": [2, 1, 1, 2]})
    )
    return sm.simulate_on_machines(jobs, [(0, 2), (40, 1), (90, 2)], cores_per_machine=2, window_s=(0, 150), **options)


def boxes(axes: object, colour: str, *, edge: bool = False) -> np.ndarray:
    """Return left, right, bottom, top of the rectangles in this colour."""
    found = []
    for shapes in axes.collections:
        inks = shapes.get_edgecolor() if edge else shapes.get_facecolor()
        if isinstance(shapes, PolyCollection) and len(inks) and np.allclose(inks[0][:3], to_rgb(colour)):
            for path in shapes.get_paths():
                (left, low), (right, high) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                found.append((left, right, low, high))
    return np.array(found)


def test_a_machine_is_dark_where_it_was_off() -> None:
    schedule = schedule_of()
    axes = machines_gantt(schedule).axes[0]
    assert np.allclose(boxes(axes, _DARK)[:, :3], [(40, 90, 1)])


def test_what_was_lost_is_marked_where_its_machine_went() -> None:
    schedule = schedule_of()
    lost = schedule.runs.query("lost_s > 0")
    assert set(lost["machine"]) == {1}
    axes = machines_gantt(schedule).axes[0]
    marked = boxes(axes, _LOST, edge=True)
    assert len(marked) == len(lost) == 2
    assert (marked[:, 1] == 40).all()
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert sum(len(line.get_xdata()) for line in crosses) == 2
    before = machines_gantt(schedule, start_s=0, end_s=40).axes[0]
    assert not [line for line in before.lines if len(line.get_xdata())], "at the edge, they were not killed yet"


def test_jobs_of_a_machine_lie_on_cores_of_their_own() -> None:
    runs = schedule_of().runs.query("machine == 1").fillna({"end_s": 150.0})
    row, low, high = _on_cores(runs, 2)
    assert ((low >= 0) & (high <= 2)).all()
    assert np.bincount(row, high - low).tolist() == runs["cores"].tolist()
    start_s, end_s = runs["start_s"].to_numpy()[row], runs["end_s"].to_numpy()[row]
    for a in range(len(row)):
        for b in range(a):
            apart = end_s[a] <= start_s[b] or end_s[b] <= start_s[a] or high[a] <= low[b] or high[b] <= low[a]
            assert apart


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(sm.RequestError, match="start_s < end_s"):
        machines_gantt(schedule_of(), start_s=10, end_s=10)
    parts = pd.DataFrame({"row": [0, 0], "attempt": [1, 1], "machine": [0, 1], "cores": [1, 1]})
    spread = dataclasses.replace(schedule_of(), parts=parts)
    with pytest.raises(sm.RequestError, match="jobs inside one machine each"):
        machines_gantt(spread)


@pytest.mark.parametrize("seed", range(4))
def test_whichever_machine_goes_is_dark(seed: int) -> None:
    schedule = schedule_of(aware=False, unaware="random_kill", seed=seed)
    gone = int(schedule.off_spans["machine"].item())
    drawn = boxes(machines_gantt(schedule).axes[0], _DARK)
    assert np.allclose(drawn[:, :3], [(40, 90, gone)])


def test_a_machine_that_drains_goes_dark_when_its_last_job_has_ended() -> None:
    jobs = sm.Workload([1, 2], [0.0, 0.0], [50.0, 70.0], [50.0, 70.0], [1, 1])
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(40, 1, mode="drain"), sm.CapacityChange(90, 2)]
    schedule = sm.simulate_on_machines(jobs, changes, cores_per_machine=1, window_s=(0, 100))
    assert schedule.off_spans.to_numpy().tolist() == [[0, 1, 70, 90]]
    assert np.allclose(boxes(machines_gantt(schedule).axes[0], _DARK)[:, :3], [(70, 90, 1)])
