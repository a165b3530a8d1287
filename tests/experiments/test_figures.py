import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import simmodels as sm
from experiments.figures import distributions, gantt, save, utilisation_and_queue
from tests.refused import refused

NAN = math.nan


@pytest.fixture
def drawn() -> sm.Schedule:
    """Six jobs of three users on four cores, with all that can happen to a job.

    1: 2 cores, 0 to 10, uncounted. 2: 2 cores, interrupted at 6, again from 10 to 22. 3: 0 s at 10. 4: 3 cores, 30 to
    60, where it is killed. 5: 1 core, runs from 40 on. 6: never starts.
    """
    jobs = sm.Workload(
        job_id=[1, 2, 3, 4, 5, 6],
        submit_s=[0.0, 0, 5, 30, 35, 50],
        runtime_s=[10.0, 12, 0, 100, 90, 5],
        estimate_s=[10.0, 12, 0, 30, 90, 5],
        cores=[2, 2, 1, 3, 1, 4],
        user_id=[7, 7, 8, 8, -1, 7],
        name="drawn",
    )
    attempts = pd.DataFrame(
        {"job_id": [2, 2], "attempt": [1, 2], "start_s": [0.0, 10], "end_s": [6.0, 22], "outcome": [2, 0]}
    )
    schedule = sm.Schedule(
        jobs,
        4,
        np.array([0, 10, 10, 30, 40, NAN]),
        np.array([10, 22, 10, 60, NAN, NAN]),
        outcome=np.array([0, 0, 0, 1, 2, 2]),
        counted=np.arange(6) > 0,
        attempts=attempts,
        about={"order": "SAF", "backfilling": "easy"},
    )
    return schedule.validate()


@pytest.fixture
def many() -> sm.Schedule:
    """2,500 jobs of 0 to 99 s and 1 to 8 cores, one after another on cores of their own kind: each alone."""
    random = np.random.default_rng(5)
    runtime_s = random.integers(0, 100, 2500).astype(float)
    start_s = np.concatenate(([0.0], np.cumsum(runtime_s)[:-1]))
    submit_s = np.maximum(start_s - random.integers(0, 5000, 2500), 0)
    jobs = sm.Workload(
        np.arange(2500), submit_s, runtime_s, runtime_s, random.integers(1, 9, 2500), np.arange(2500) % 40
    )
    return sm.Schedule(jobs, 8, start_s, start_s + runtime_s).validate()


def rectangles(axes: Axes) -> dict[str, list[list[float]]]:
    """What is drawn, by hatch: left, bottom, right, top of each rectangle."""
    found = {}
    for shapes in axes.collections:
        if isinstance(shapes, PolyCollection):
            corners = [path.vertices[:4] for path in shapes.get_paths()]
            found[shapes.get_hatch() or ""] = sorted(
                [*c.min(axis=0).tolist(), *c.max(axis=0).tolist()] for c in corners
            )
    return found


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def levels(axes: Axes) -> tuple[list[float], list[float]]:
    """The last step function on the axes, which is its line: edges and values."""
    values, edges, _ = [patch for patch in axes.patches if isinstance(patch, StepPatch)][-1].get_data()
    return edges.tolist(), values.tolist()


# -- Gantt ---------------------------------------------------------------------------------------


def test_a_gantt_chart_has_a_rectangle_for_each_run_of_cores(drawn: sm.Schedule) -> None:
    axes = gantt(drawn).axes[0]
    assert rectangles(axes) == {
        "": [[0, 0, 10, 2], [10, 0, 22, 2], [40, 3, 60, 4]],  # what runs on ends at the chart's edge
        "////": [[30, 0, 60, 3]],
        "xxxx": [[0, 2, 6, 4]],
    }
    strokes = [lines.get_segments() for lines in axes.collections if isinstance(lines, LineCollection)]
    assert np.concatenate(strokes).tolist() == [[[10, 0], [10, 1]]]
    assert axes.get_xlim() == (0, 60)
    assert axes.get_ylim() == (0, 4)
    assert axes.get_title(loc="left") == "Gantt chart: drawn, SAF, easy backfilling"
    assert axes.get_xlabel() == "time since the trace's zero (s)"
    assert axes.get_ylabel() == "core"


def test_the_legend_of_a_gantt_chart_explains_what_occurs_and_no_more(drawn: sm.Schedule) -> None:
    explained = ["killed at its estimate", "lost its machine, work lost", "ran for 0 s", "outside the metrics"]
    assert legend_of(gantt(drawn)) == explained
    assert legend_of(gantt(drawn, colour="user")) == ["user 8", "user 7", "user unknown", *explained]
    assert legend_of(gantt(drawn, start_s=12, end_s=20)) == []


def test_jobs_are_labelled_with_their_numbers(drawn: sm.Schedule, many: sm.Schedule) -> None:
    assert sorted(text.get_text() for text in gantt(drawn).axes[0].texts) == ["1", "2", "4", "5"]
    assert not gantt(many).axes[0].texts


def test_a_window_cuts_the_chart(drawn: sm.Schedule) -> None:
    axes = gantt(drawn, start_s=5, end_s=12).axes[0]
    assert rectangles(axes) == {"": [[5, 0, 10, 2], [10, 0, 12, 2]], "xxxx": [[5, 2, 6, 4]]}
    assert axes.get_xlim() == (5, 12)


def test_an_interrupted_job_that_never_ran_again_came_to_nothing() -> None:
    jobs = sm.Workload([1], [0.0], [9.0], [9.0], [1])
    attempts = pd.DataFrame({"job_id": [1], "attempt": [1], "start_s": [0.0], "end_s": [4.0], "outcome": [2]})
    schedule = sm.Schedule(jobs, 1, np.zeros(1), np.array([NAN]), attempts=attempts).validate()
    assert rectangles(gantt(schedule, end_s=10).axes[0]) == {"xxxx": [[0, 0, 4, 1]]}


def test_waits_are_shown_by_a_colour_bar(drawn: sm.Schedule) -> None:
    axes, bar = gantt(drawn, colour="wait").axes
    assert bar.get_ylabel() == "wait (log scale; 1 min and less alike)"
    assert [label.get_text() for label in bar.get_yticklabels()] == ["1 min", "10 min", "1 h"]
    assert len(rectangles(axes)) == 3


def test_long_schedules_are_shown_in_hours_or_days(drawn: sm.Schedule) -> None:
    assert gantt(drawn, end_s=5 * 3600.0).axes[0].get_xlabel().endswith("(h)")
    days = gantt(drawn, start_s=0, end_s=5 * 86400.0).axes[0]
    assert days.get_xlabel().endswith("(d)")
    assert days.get_xlim() == (0, 5)


def test_the_axis_of_time_has_dates_in_the_logs_time_zone(drawn: sm.Schedule) -> None:
    """The log begins at 22:30 UTC, at 23:30 in Paris."""
    log = replace(drawn.workload, start_unix_s=1_296_513_000, header=("; TimeZoneString: Europe/Paris",))
    axes = gantt(replace(drawn, workload=log), start_s=0, end_s=3600.0).axes[0]
    assert axes.get_xlabel() == "2011-Jan-31 (Europe/Paris)"
    labels = {text.get_text(): text.get_position()[0] for text in axes.get_xticklabels()}
    assert labels["Feb-01"] == pytest.approx(1800 / 60)
    assert labels["00:10"] == pytest.approx(2400 / 60)


@pytest.mark.parametrize(
    ("begin_s", "end_s", "about", "labels"),
    [
        (-3600.0, 5 * 86_400.0 - 3600, "2020-Dec", ["31", "Jan", "02", "03", "04"]),
        (10.0, 30.0, "2020-Dec-30 23:00", ["10", "15", "20", "25", "30"]),
    ],
)
def test_what_the_labels_of_dates_leave_out_is_that_of_the_axis_begin(
    drawn: sm.Schedule, begin_s: float, end_s: float, about: str, labels: list[str]
) -> None:
    """The log begins at 23:00 on the last day but one of a year."""
    schedule = replace(drawn, workload=replace(drawn.workload, start_unix_s=1_609_369_200))
    axes = gantt(schedule, start_s=begin_s, end_s=end_s).axes[0]
    assert axes.get_xlabel() == f"{about} (UTC)"
    assert [text.get_text() for text in axes.get_xticklabels()] == labels


def test_many_rectangles_are_drawn_as_pixels_so_that_files_stay_small(many: sm.Schedule, tmp_path: Path) -> None:
    jobs = many.workload.take(np.tile(np.arange(2500), 2))
    both = replace(jobs, job_id=np.arange(5000))
    figure = gantt(sm.Schedule(both, 16, np.tile(many.start_s, 2), np.tile(many.end_s, 2)).validate())
    save(figure, tmp_path / "gantt.svg")
    assert (tmp_path / "gantt.svg").stat().st_size < 600_000
    assert legend_of(figure) == [f"not drawn: {(both.runtime_s == 0).sum()} jobs of 0 s"]


def test_what_cannot_be_drawn_is_refused(drawn: sm.Schedule) -> None:
    empty = sm.Schedule(sm.Workload([], [], [], [], []), 4, np.empty(0), np.empty(0))
    for draw, text in (
        (lambda: gantt({}), "the number of panels of a Gantt chart must be an integer from 1 to 24 (got 0)"),
        (lambda: gantt(empty), "the schedule has no job to draw; give one with jobs"),
        (lambda: gantt(drawn, start_s=20.0, end_s=10), "the window from 20.0 s to 10.0 s is empty; choose start_s"),
        (lambda: gantt(drawn, colour="size"), "unknown colour 'size'"),  # type: ignore[arg-type]
        (lambda: distributions({}), "there is no schedule to draw; give at least one"),
        (lambda: distributions({"a": drawn}, what="cores"), "unknown quantity 'cores'; "),  # type: ignore[arg-type]
        (
            lambda: distributions({"c": replace(drawn, counted=np.arange(6) > 3)}),
            "'c' has no counted rigid job that ended",
        ),
    ):
        with refused(f"...{text}..."):
            draw()


def test_a_schedule_of_one_instant_can_be_drawn() -> None:
    schedule = sm.Schedule(sm.Workload([1], [5.0], [0.0], [0.0], [1]), 1, np.array([5.0]), np.array([5.0]))
    assert gantt(schedule).axes[0].get_xlim() == (5, 6)
    assert utilisation_and_queue(schedule).axes[0].get_xlim() == (5, 6)
    assert distributions({"one": schedule}).axes


# -- over time -----------------------------------------------------------------------------------


def test_the_panels_over_time_show_the_step_functions(drawn: sm.Schedule) -> None:
    upper, lower = utilisation_and_queue(drawn).axes
    assert levels(upper) == ([0, 6, 22, 30, 40, 60], [4, 2, 0, 3, 4])
    # job 3 waits from 5 to 10, job 2 again from 6 to 10, job 5 from 35 to 40, job 6 from 50 on
    assert levels(lower) == ([0, 5, 6, 10, 35, 40, 50, 60], [0, 1, 2, 0, 1, 0, 1])
    notes = [text.get_text() for axes in (upper, lower) for text in axes.texts]
    assert notes == ["mean 2.767 (69.2 %)", "machine: 4 cores", "mean 0.4"]


def test_a_window_of_the_panels_begins_with_what_holds_at_its_begin(drawn: sm.Schedule) -> None:
    upper, lower = utilisation_and_queue(drawn, start_s=7, end_s=33).axes
    assert levels(upper) == ([7, 22, 30, 33], [2, 0, 3])
    assert levels(lower) == ([7, 10, 33], [2, 0])


def test_the_panels_show_no_more_than_was_simulated() -> None:
    """Job 1 runs on at the end of the window, and job 3 comes long after it."""
    jobs = sm.Workload.of({"submit_s": [0, 5, 1000], "runtime_s": [100, 10, 1], "cores": [1, 1, 1]})
    upper, lower = utilisation_and_queue(sm.simulate(jobs, cores=2, window_s=(0, 50))).axes
    assert levels(upper) == ([0, 5, 15, 50], [1, 2, 1])
    assert levels(lower) == ([0, 50], [0])
    assert upper.texts[0].get_text() == "mean 1.2 (60.0 %)"


def test_time_outside_the_window_of_the_metrics_is_shaded(drawn: sm.Schedule) -> None:
    later = replace(drawn, counted=np.array([False, False, True, True, True, True]))
    figure = utilisation_and_queue(later)
    assert figure.get_supxlabel() == "shaded: outside the window of the metrics"
    assert utilisation_and_queue(replace(drawn, counted=None)).get_supxlabel() == ""
    begin_s, end_s = later.window_s()  # of which nothing lies outside
    assert utilisation_and_queue(later, start_s=begin_s, end_s=end_s).get_supxlabel() == ""


def test_long_step_functions_keep_their_means_and_extremes(many: sm.Schedule) -> None:
    upper, lower = utilisation_and_queue(many).axes
    edges, used = levels(upper)
    assert len(used) == 400
    assert np.average(used, weights=np.diff(edges)) == pytest.approx(
        (many.workload.cores * many.workload.runtime_s).sum() / many.end_s.max()
    )
    most, _, least = [patch for patch in lower.patches if isinstance(patch, StepPatch)][-2].get_data()
    mean = np.array(levels(lower)[1])
    assert most.max() == many.queue_length()["queue_length"].max()
    assert (least <= mean + 1e-9).all()
    assert (mean <= most + 1e-9).all()


# -- orders side by side -------------------------------------------------------------------------


def test_distributions_begin_with_the_share_of_jobs_that_did_not_wait(many: sm.Schedule) -> None:
    at_once = replace(many, workload=replace(many.workload, submit_s=many.start_s))
    upper, lower = distributions({"FCFS": many, "never": at_once}).axes
    wait_s = many.start_s - many.workload.submit_s
    x, y = upper.lines[0].get_data()
    hour = np.searchsorted(x, 3600, side="right") - 1
    assert y[hour] == pytest.approx((wait_s <= 3600).mean(), abs=2e-3)
    x, y = upper.lines[1].get_data()
    assert y[x > 1].min() == 1
    assert [label.get_text() for label in lower.get_yticklabels()] == ["FCFS", "never"]
    assert upper.get_title(loc="left") == "Wait by order: workload, 2,500 jobs"
    # of each row: whiskers, median, mean
    medians = [line.get_xdata()[0] for line in lower.lines[1::3]]
    assert medians == [np.median(wait_s), 1]
    assert [text.get_text() for text in lower.texts] == [f"{wait_s.mean() / 60:.3g} min", "0 s", "mean"]


def test_only_counted_jobs_that_ended_are_in_a_distribution(drawn: sm.Schedule) -> None:
    figure = distributions({"a": drawn, "b": replace(drawn, counted=None)}, what="bounded_slowdown")
    assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["a\n3 jobs", "b\n4 jobs"]
    assert figure.axes[0].get_title(loc="left") == "Bounded slowdown (tau = 10 s) by order: drawn"


def test_more_orders_than_colours_differ_in_their_dashes(drawn: sm.Schedule) -> None:
    upper = distributions({str(row): drawn for row in range(20)}, what="response_s").axes[0]
    assert len({(line.get_color(), line.get_linestyle()) for line in upper.lines}) == 20


def test_tasks_of_workflows_are_no_jobs_of_a_distribution(drawn: sm.Schedule) -> None:
    flow = sm.Workflow(100, submit_s=0.0, runtime_s=[500.0, 10.0], cores=[4, 4], edges=[(0, 1)])
    both = sm.Workload.concat([drawn.workload, sm.Workload.of_workflows([flow])])
    schedule = sm.simulate(both, on=8)
    figure = distributions({"a": schedule})
    assert figure.axes[0].get_title(loc="left").endswith(f", {len(drawn)} jobs")
    [diamond] = (line for line in figure.axes[1].lines if line.get_marker() == "D")
    assert diamond.get_xdata() == pytest.approx([schedule.metrics()["mean_wait_s"]])


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(drawn: sm.Schedule, tmp_path: Path, kind: str) -> None:
    for name in ("first", "second"):
        save(gantt(drawn, colour="user"), tmp_path / f"{name}.{kind}")
    first, second = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert first == second
    assert b"CreationDate" not in first
    assert b"dc:date" not in first


def test_the_settings_of_the_user_do_not_change_a_figure(drawn: sm.Schedule, tmp_path: Path) -> None:
    save(utilisation_and_queue(drawn), tmp_path / "a.svg")
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": None, "axes.edgecolor": "red", "svg.fonttype": "none"}):
        save(utilisation_and_queue(drawn), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_other_endings_and_missing_folders_are_refused(drawn: sm.Schedule, tmp_path: Path) -> None:
    figure = distributions({"a": drawn})
    with refused("...the figure's name must be one that ends in .svg, .png, .pdf (got '...chart.gif')..."):
        save(figure, tmp_path / "chart.gif")
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        save(figure, tmp_path / "nowhere" / "chart.svg")
    assert not list(tmp_path.iterdir())


def test_figures_need_neither_pyplot_nor_a_screen() -> None:
    code = "import sys, experiments.figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_a_title_says_what_schedules_and_from_when_on_whatever_does(drawn: sm.Schedule) -> None:
    starving = replace(drawn, about={**drawn.about, "threshold_s": 144000.0})
    jobs, on = drawn.workload, [4, 4]
    for schedule, end in (
        (starving, "SAF, easy backfilling, threshold 40 h"),
        (sm.simulate(jobs, on=on, router="LeastLoaded", order="SAF", threshold_s=144_000), "threshold 40 h"),
        (sm.simulate(jobs, on=on, bid="SRTF", forward=True), "SRTF, FCFS, easy backfilling"),
    ):
        assert gantt(schedule).axes[0].get_title(loc="left").endswith(end)
