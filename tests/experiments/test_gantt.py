"""Gantt charts by machine and by cluster: what is off, what is lost, and where each job lies."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

import simmodels as sm
from experiments.gantt import _LOST, _OFF, gantt
from experiments.gantt_boxes import GAP, KINDS, Panel, boxes_of


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


def test_what_was_lost_is_marked_where_its_machine_went() -> None:
    schedule = schedule_of()
    lost = schedule.runs.query("lost_s > 0")
    assert set(lost["machine"]) == {1}
    axes = gantt(schedule).axes[0]
    marked = boxes(axes, _LOST, edge=True)
    assert len(marked) == len(lost) == 2
    assert (marked[:, 1] == 40).all()
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert sum(len(line.get_xdata()) for line in crosses) == 2
    before = gantt(schedule, start_s=0, end_s=40).axes[0]
    assert not [line for line in before.lines if len(line.get_xdata())], "at the edge, they were not killed yet"


def test_jobs_of_a_machine_lie_on_cores_of_their_own() -> None:
    schedule = schedule_of()
    found = boxes_of(Panel("", schedule, 0), (0.0, 150.0))
    cores = (found.top - found.bottom) * 2 / (1 - GAP)
    assert np.allclose(cores[np.argsort(found.row, kind="stable")], schedule.runs.sort_values("job_id")["cores"])
    assert (np.floor(found.bottom) == np.floor(found.top)).all(), "inside one machine each"
    for a in range(len(cores)):
        for b in range(a):
            apart_s = found.right_s[a] <= found.left_s[b] or found.right_s[b] <= found.left_s[a]
            assert apart_s or found.top[a] <= found.bottom[b] + 1e-9 or found.top[b] <= found.bottom[a] + 1e-9


def test_a_job_on_several_machines_is_a_rectangle_on_each() -> None:
    jobs = sm.Workload([7], [0.0], [50.0], [50.0], [3])
    schedule = sm.simulate(jobs, on=sm.Site(name="a", machines=2, cores_per_machine=2, capacity=[(0, 2), (90, 1)]))
    found = boxes_of(Panel("", schedule, 0), (0.0, 100.0))
    assert sorted(found.bottom) == pytest.approx([0, 1])
    assert sorted(found.top) == pytest.approx([1 - GAP, 1 + (1 - GAP) / 2])
    assert found.right_s.tolist() == [50, 50]


def test_the_number_of_a_machine_stands_in_the_middle_of_its_row() -> None:
    jobs = sm.Workload([7], [0.0], [50.0], [50.0], [3])
    axes = gantt(sm.simulate(jobs, on=sm.Site(name="a", machines=3, cores_per_machine=2))).axes[0]
    ticks = {
        text.get_text(): float(place) for text, place in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    }
    assert ticks == {"0": 0.5, "1": 1.5, "2": 2.5}


def test_each_cluster_has_a_panel_and_each_schedule_its_own() -> None:
    jobs = sm.Workload([1, 2], [0.0, 0.0], [50.0, 70.0], [50.0, 70.0], [2, 2])
    on = [sm.Site(name="one", cores=2), sm.Site(name="two", machines=2, cores_per_machine=1)]
    found = {name: sm.simulate(jobs, on=on, router=name) for name in ("RoundRobin", "LeastLoaded")}
    figure = gantt(found)
    assert [axes.get_ylabel() for axes in figure.axes] == ["one", "two", "one", "two"]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[::2] == ["RoundRobin, workload", "LeastLoaded, workload"]
    assert [axes.get_ylim()[1] for axes in figure.axes] == [2, 2, 2, 2]


def test_schedules_of_several_zeros_have_no_dates() -> None:
    plain = schedule_of()
    dated = replace(plain, workload=replace(plain.workload, start_unix_s=1_600_000_000))
    alone = gantt(plain, colour="job").axes[0]
    assert gantt({"a": dated, "b": dated}, colour="job").axes[-1].get_xlabel() == "2020-Sep-13 12:26 (UTC)"
    for shown in ({"a": dated, "b": plain}, {"b": plain, "a": dated}):
        axes = gantt(shown, colour="job").axes[-1]
        assert axes.get_xlabel() == alone.get_xlabel() == "time since the trace's zero (s)"
        labels = [[text.get_text() for text in each.get_xticklabels()] for each in (axes, alone)]
        assert labels[0] == labels[1]


def test_what_was_saved_is_not_drawn_as_lost() -> None:
    """A checkpoint after 20 s: of the attempt that ends at 40 s, one half is lost."""
    jobs = sm.Workload([1], [0.0], [60.0], [60.0], [1])
    checkpoints = sm.Checkpoints(interval_s=20.0, cost_s=1.0)
    schedule = sm.simulate_on_machines(
        jobs, [(0, 1), (40, 0), (50, 1)], cores_per_machine=1, checkpoints=checkpoints, window_s=(0, 200)
    )
    found = boxes_of(Panel("", schedule, 0), (0.0, 200.0))
    assert sorted(found.kind.tolist()) == [KINDS.index("completed"), KINDS.index("lost its machine, work saved")]
    texts = [text.get_text() for text in gantt(schedule).legends[0].get_texts()]
    assert texts == ["off", "lost its machine, work saved"]


def test_a_user_has_one_colour_in_all_panels() -> None:
    found = {}
    for name, users in (("a", [1, 1, 2]), ("b", [1, 2, 2])):
        jobs = sm.Workload([1, 2, 3], [0.0] * 3, [9.0] * 3, [9.0] * 3, [1] * 3, users)
        found[name] = sm.simulate(jobs, cores=3)
    figure = gantt(found, colour="user")
    inks = [axes.collections[0].get_facecolor() for axes in figure.axes]
    assert np.array_equal(inks[0][0], inks[1][0])
    assert np.array_equal(inks[0][2], inks[1][2])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["user 1", "user 2"]


@pytest.mark.parametrize("seed", range(4))
def test_whichever_machine_is_off_is_dark(seed: int) -> None:
    schedule = schedule_of(aware=False, unaware="random_kill", seed=seed)
    gone = int(schedule.off_spans["machine"].item())
    assert np.allclose(boxes(gantt(schedule).axes[0], _OFF)[:, :3], [(40, 90, gone)])


def test_a_machine_that_drains_is_off_when_its_last_job_has_ended() -> None:
    jobs = sm.Workload([1, 2], [0.0, 0.0], [50.0, 70.0], [50.0, 70.0], [1, 1])
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(40, 1, mode="drain"), sm.CapacityChange(90, 2)]
    schedule = sm.simulate_on_machines(jobs, changes, cores_per_machine=1, window_s=(0, 100))
    assert schedule.off_spans.to_numpy().tolist() == [[0, 1, 70, 90]]
    assert np.allclose(boxes(gantt(schedule).axes[0], _OFF)[:, :3], [(70, 90, 1)])
