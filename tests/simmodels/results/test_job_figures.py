import tracemalloc

import numpy as np
import pytest

import simmodels as sm
from simmodels.results import metrics
from simmodels.results.job_figures import OF_JOBS


def scheduled(jobs: int, *, unfinished: int = 0, uncounted: int = 0) -> sm.Schedule:
    """Return a schedule of random jobs, of which some never started, and some do not count."""
    rng = np.random.default_rng(jobs)
    submit_s = np.cumsum(rng.exponential(7.0, jobs))
    runtime_s, cores = np.floor(rng.exponential(8.0, jobs)), rng.integers(1, 9, jobs)
    runtime_s[::7] = 0.0
    start_s = submit_s + rng.choice([0.0, 0.1, 33.3, 1e4], jobs)
    start_s[rng.choice(jobs, unfinished, replace=False)] = np.nan
    counted = np.ones(jobs, np.bool_)
    counted[rng.choice(jobs, uncounted, replace=False)] = False
    work = sm.Workload(np.arange(jobs), submit_s, runtime_s, runtime_s, cores)
    return sm.Schedule(work, 64, start_s, start_s + runtime_s, counted=counted)


def written_out(schedule: sm.Schedule) -> dict[str, float]:
    """Return figures of merit from whole columns, as their formulas stand."""
    work, ended = schedule.workload, schedule.counted & ~np.isnan(schedule.end_s)
    wait, response = (schedule.start_s - work.submit_s)[ended], (schedule.end_s - work.submit_s)[ended]
    ran, cores = work.runtime_s[ended], work.cores[ended]
    values = {
        "wait_s": wait,
        "response_s": response,
        "slowdown": response[ran > 0] / ran[ran > 0],
        "bounded_slowdown": metrics.bounded_slowdown(wait, ran),
        "per_processor_bounded_slowdown": metrics.per_processor_bounded_slowdown(wait, ran, cores),
        "stretch": response[ran > 0] / ran[ran > 0],
    }
    found: dict[str, float] = {}
    for name, column in values.items():
        percentiles = np.percentile(column, (50, 95))
        found |= {f"mean_{name}": column.sum() / len(column), f"median_{name}": percentiles[0]}
        found |= {f"p95_{name}": percentiles[1], f"max_{name}": column.max()}
    low, high = schedule.window_s()
    until = np.where(np.isnan(schedule.end_s), high, schedule.end_s)
    used_s = np.minimum(until, high) - np.maximum(schedule.start_s, low)
    waits = schedule.counted | ~np.isnan(schedule.start_s)
    until = np.where(np.isnan(schedule.start_s), high, schedule.start_s)
    waited_s = np.where(waits, np.minimum(until, high) - np.maximum(work.submit_s, low), 0.0)
    found["mean_queue_length"] = np.where(waited_s > 0, waited_s, 0.0).sum() / (high - low)
    queue = schedule.queue_length()
    inside = queue["queue_length"][(queue["time_s"] < high) & (np.append(queue["time_s"][1:], np.inf) > low)]
    found["max_queue_length"] = inside.max()
    found["utilisation"] = np.sum(np.where(used_s > 0, used_s, 0.0) * work.cores) / (64 * (high - low))
    return found


@pytest.mark.parametrize("jobs", [40, metrics.PART, 2 * metrics.PART + 77])
@pytest.mark.parametrize(("unfinished", "uncounted"), [(0, 0), (9, 0), (3, 20)])
def test_figures_made_part_by_part_are_those_of_whole_columns_to_the_last_bit(
    jobs: int, unfinished: int, uncounted: int
) -> None:
    schedule = scheduled(jobs, unfinished=unfinished, uncounted=uncounted)
    found = schedule.metrics()
    expected = written_out(schedule)
    assert {name: found[name] for name in expected} == expected
    assert list(found) == list(OF_JOBS)
    assert found["jobs_without_stretch"] > 0


@pytest.mark.parametrize("unfinished", [0, 100])
def test_the_figures_of_many_jobs_take_the_memory_of_four_columns(unfinished: int) -> None:
    jobs = 400_000
    schedule = scheduled(jobs, unfinished=unfinished)
    scheduled(10).metrics()
    tracemalloc.start()
    schedule.metrics()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * 8 * jobs + 24 * metrics.PART
