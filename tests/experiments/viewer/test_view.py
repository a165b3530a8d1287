"""What the page of a schedule holds: the schedule's own numbers, and rectangles that no two attempts share."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.dates import clock_of
from experiments.gantt_boxes import GAP, Panel, boxes_of
from experiments.viewer.view import summary, view_page, write_view
from tests.experiments.viewer.unpacking import unpacked

Shown = tuple[dict[str, Any], Any]
"""What a page says about itself, and its columns."""


def parts(page: str) -> Shown:
    """Return what the page says about itself, and its columns."""
    about = re.search(r'<script type="application/json" id="about">(.*?)</script>', page)
    data = re.search(r'<script type="text/plain" id="data">(.*?)</script>', page)
    assert about is not None
    assert data is not None
    said = json.loads(about[1])
    return said, unpacked(said["columns"], data[1])


def log(jobs: int = 400) -> sm.Workload:
    return wl.lublin(jobs=jobs, cores=64, seed=4)


def on_walk() -> sm.Schedule:
    """Return a schedule on machines that are switched on and off, where jobs lose their machine."""
    jobs = log()
    jobs = jobs.take((jobs.cores <= 8) & (jobs.runtime_s > 0))
    window_s = float(jobs.submit_s.min()), float(jobs.submit_s.max())
    walk = wl.capacity_walk(mean=5, radius=4, period_s=3600.0, begin_s=window_s[0], until_s=window_s[1])
    return sm.simulate(jobs, capacity=walk, cores_per_machine=8, window_s=window_s, order="SAF")


def on_clusters() -> sm.Schedule:
    sites = [sm.Site(name=f"cluster-{k}", cores=32) for k in (1, 2)]
    jobs = log()
    return sm.simulate(jobs.take(jobs.cores <= 32), on=sites, router="LeastLoaded")


def flows() -> sm.Schedule:
    """Return a schedule of two workflows with three tasks each, and of rigid jobs beside them."""
    rigid = log(20)
    shape = {"runtime_s": [10.0, 20.5, 30.0], "cores": [4, 8, 2], "edges": [(0, 1), (0, 2)]}
    made = [sm.Workflow(job_id=1000 + k, submit_s=5.0 * k, **shape) for k in range(2)]  # type: ignore[arg-type]
    return sm.simulate(sm.Workload.concat([rigid, sm.Workload.of_workflows(made)]), on=64)


def stopped_at_its_start() -> sm.Schedule:
    """Return a schedule of a job that loses its machine at the instant of its start, and starts again at once."""
    jobs, nan = sm.Workload([1, 2], [0.0, 0.0], [10.0, 3.0], [10.0, 3.0], [2, 2]), float("nan")
    columns = {"row": [0, 0, 1], "attempt": [1, 2, 1], "start_s": [5, 5, 0], "end_s": [5, 15, 3], "outcome": [2, 0, 0]}
    stopped = {"work_s": [0.0, nan, nan], "stopped": [True, False, False]}
    attempts = pd.DataFrame(columns | stopped)
    return sm.Schedule(jobs, 4, [5.0, 0.0], [15.0, 3.0], attempts=attempts).validate()


CASES = {
    "a pool": lambda: sm.simulate(log(), backfilling="easy"),
    "several clusters": on_clusters,
    "machines that are switched": on_walk,
    "jobs that are killed": lambda: sm.simulate(replace(log(), estimate_s=log().runtime_s / 2), overrun="kill"),
    "workflows and jobs": flows,
    "a job that is stopped at its start": stopped_at_its_start,
}


@pytest.fixture(scope="module", params=list(CASES))
def schedule(request: pytest.FixtureRequest) -> sm.Schedule:
    return CASES[request.param]()


@pytest.fixture(scope="module")
def shown(schedule: sm.Schedule) -> Shown:
    return parts(view_page(schedule))


def test_rows_queue_and_cores_are_the_schedules_own(schedule: sm.Schedule, shown: Shown) -> None:
    _, found = shown
    for name in ("job_id", "submit_s", "runtime_s", "estimate_s", "cores", "user_id"):
        assert found[name].tolist() == getattr(schedule.workload, name).tolist(), name
    assert found["outcome"].tolist() == schedule.outcome.tolist()
    assert found["counted"].astype(bool).tolist() == schedule.counted.tolist()
    for name, steps in (("queue_length", schedule.queue_length()), ("cores_used", schedule.cores_used())):
        assert found[f"{name}_time_s"].tolist() == steps["time_s"].tolist()
        assert found[name].tolist() == steps[name].tolist()


def test_attempts_are_those_of_the_schedule(schedule: sm.Schedule, shown: Shown) -> None:
    about, found = shown
    low_s, high_s = about["window_s"]
    runs = schedule.all_attempts()
    runs = runs[runs["start_s"].notna() & (runs["start_s"] < high_s) & ~(runs["end_s"] < low_s)]
    runs = runs.assign(
        run_start_s=runs["start_s"].clip(low_s),
        run_ends=runs["end_s"] <= high_s,
        run_end_s=runs["end_s"].fillna(high_s).clip(upper=high_s),
        run_row=runs["row"],
        run_panel=runs["cluster"],
        run_killed=runs["outcome"] == 1,
    )
    names = ["run_row", "run_start_s", "run_end_s", "run_panel", "run_ends", "run_killed"]
    there = pd.DataFrame({name: found["run_kind"] == 1 if name == "run_killed" else found[name] for name in names})
    wanted = runs[names].astype(there.dtypes.to_dict())
    pd.testing.assert_frame_equal(*(table.sort_values(names[:3], ignore_index=True) for table in (there, wanted)))


def test_rectangles_are_those_of_the_gantt_chart(schedule: sm.Schedule, shown: Shown) -> None:
    about, found = shown
    high = np.cumsum(found["box_gap"] + found["box_width"])
    low = high - found["box_width"]
    begin = np.concatenate(([0], np.cumsum(found["run_boxes"]))).astype(int)
    for number, panel in enumerate(about["panels"]):
        runs = np.flatnonzero(found["run_panel"] == number)
        boxes = boxes_of(Panel("", schedule, number), tuple(about["window_s"]))
        wanted = sorted(zip(boxes.row, boxes.left_s, boxes.bottom, boxes.top, strict=True))
        there = [
            (found["run_row"][run], found["run_start_s"][run], low[k] / panel["step"], high[k] / panel["step"])
            for run in runs
            for k in range(begin[run], begin[run + 1])
        ]
        exact = 0.0 if panel["step"] == 1 else 0.5 / panel["step"]
        assert exact < GAP / 100
        assert np.abs(np.array(sorted(there)) - np.array(wanted)).max() <= exact


def test_spans_in_which_machines_were_off_are_there() -> None:
    schedule = on_walk()
    about, found = parts(view_page(schedule))
    assert schedule.off_spans is not None
    assert len(schedule.off_spans)
    for name in ("cluster", "machine", "start_s", "end_s"):
        assert found[f"off_{name}"].tolist() == schedule.off_spans[name].tolist()
    assert about["panels"][0]["what"] == "machine"
    assert set(found["run_kind"]) >= {0, 2}


def test_the_page_is_of_one_file_and_says_so_in_words(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    schedule = sm.simulate(log(50))
    write_view(schedule, path, title="A <b>bold</b> title")
    text = path.read_text("utf-8")
    assert "<b>bold" not in text
    assert not re.search(r'(?:src|href)="(?!data:)', text)
    assert all(sentence in text for sentence in summary(schedule))
    assert view_page(schedule) == view_page(schedule)
    with pytest.raises(sm.RequestError, match=r"the page's name must be one that ends in \.html"):
        write_view(schedule, tmp_path / "out.svg")


TWO = sm.Workload([1, 2], [0.0, 3600.0], [10.0] * 2, [10.0] * 2, [1, 1])


def test_times_are_dates_where_the_zero_is_known_and_gives_dates() -> None:
    def zero_and_summary(**more: Any) -> tuple[object, str]:  # noqa: ANN401  fields of a workload
        found = sm.simulate(replace(TWO, **more), on=1)
        return parts(view_page(found))[0]["zero_unix_s"], " ".join(summary(found))

    zero, text = zero_and_summary(start_unix_s=1_296_571_124)
    assert zero == 1_296_571_124
    assert "The chart shows 2011-02-01 14:38 to 2011-02-01 15:38 (UTC)." in text
    _, text = zero_and_summary(start_unix_s=1_296_571_124, header=("; TimeZoneString: Europe/Paris",))
    assert "The chart shows 2011-02-01 15:38 to 2011-02-01 16:38 (Europe/Paris)." in text
    for unknown in ({}, {"start_unix_s": 10**18}, {"start_unix_s": 253_402_300_799}):
        zero, text = zero_and_summary(**unknown)
        assert (zero, "The chart shows 1.0 hours." in text) == (None, True)


def test_a_window_is_of_the_jobs_that_take_part() -> None:
    jobs = {"submit_s": [0, 5, 1000], "runtime_s": [10] * 3, "cores": [1] * 3}
    assert summary(sm.simulate(jobs, on=1, window_s=(0, 100)))[0].startswith("2 jobs of ")


def test_users_and_partitions_have_the_names_that_the_log_says() -> None:
    partitions = np.array(["gpu", "cpu", None, "gpu"], object)
    names = {"user": np.array(["ada", "bob", "ada", ""]), "partition_name": partitions}
    schedule = sm.simulate(replace(log(4), user_id=np.array([7, 8, 7, -1]), extras=names), on=64)
    about, found = parts(view_page(schedule))
    assert about["users"] == {"7": "ada", "8": "bob"}
    assert about["partitions"] == ["cpu", "gpu"]
    assert found["partition"].tolist() == [1, 0, -1, 1]


def test_clocks_go_forward_and_back_within_the_window() -> None:
    """In Berlin they showed 3:00 after 1:59:59 on 31 March 2024, and 2:00 again after 2:59:59 on 27 October."""
    zero = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
    forward, back = (datetime(2024, *when, 1, tzinfo=UTC).timestamp() - zero for when in ((3, 31), (10, 27)))
    jobs = sm.Workload([1], [0.5], [9.0], [9.0], [1], start_unix_s=zero, header=("; TimeZoneString: Europe/Berlin",))
    assert clock_of(jobs, 0.5, 366 * sm.DAY) == [(0.5, 3600.0), (forward, 7200.0), (back, 3600.0)]
    assert clock_of(jobs, forward - 0.5, forward + 0.5) == [(forward - 0.5, 3600.0), (forward, 7200.0)]
    assert clock_of(replace(jobs, header=("; TimeZone: -18000",)), 0, sm.DAY) == [(0, -18000.0)]
    assert clock_of(replace(jobs, header=("; TimeZoneString: Nowhere/At_all",)), 0, sm.DAY) == [(0, 0.0)]
