import gzip
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simmodels as sm
from workloads import WEEK_WEIGHTS, at_load
from workloads.submissions import WeekClock, exact, load_seconds

MINUTES = 10_080


def profile_s(instant_s: Fraction, weights: tuple[float, ...]) -> Fraction:
    """Return how far the week's clock has turned, slice by slice as one would by hand."""
    exact_weights = [exact(weight) for weight in weights]
    mean = sum(exact_weights, Fraction(0)) / len(weights)
    slice_s = Fraction(int(sm.WEEK), len(weights))
    weeks, rest = divmod(instant_s, int(sm.WEEK))
    turned = weeks * int(sm.WEEK)
    for weight in exact_weights:
        spent = min(max(rest, Fraction(0)), slice_s)
        turned += spent * weight / mean
        rest -= slice_s
    return turned


def test_the_weights_of_the_week_are_those_of_hours_and_days() -> None:
    assert len(WEEK_WEIGHTS) == 168
    assert WEEK_WEIGHTS[0] == pytest.approx(0.210 * 1.190)
    assert WEEK_WEIGHTS[-1] == pytest.approx(0.207 * 0.136)
    assert WEEK_WEIGHTS[2 * 24 + 15] == pytest.approx(2.191 * 1.349)
    assert np.mean(WEEK_WEIGHTS) == pytest.approx(
        1.0, abs=0.002
    )  # published to three decimals; scaled to mean 1 in use


@example([1], 0.7, 1, WEEK_WEIGHTS)
@given(
    st.lists(st.integers(1, 600_000), min_size=1, max_size=8),
    st.integers(1, 300).map(lambda percent: percent / 100),
    st.integers(1, 10_000),
    st.just(WEEK_WEIGHTS) | st.lists(st.integers(0, 5).map(float), min_size=1, max_size=14).filter(any).map(tuple),
)
def test_the_load_is_exact_over_every_minute(
    core_minutes: list[int], load: float, cores: int, weights: tuple[float, ...]
) -> None:
    clock = WeekClock(weights)
    submit_s = load_seconds([60 * work for work in core_minutes], load=load, cores=cores, clock=clock)
    assert submit_s[0] == 0 or weights[0] == 0
    done = Fraction(0)
    for instant_s, work in zip(submit_s, core_minutes, strict=True):
        assert instant_s % sm.MINUTE == 0
        wanted = 60 * done / (exact(load) * cores)  # the profile time by which the work before is offered
        half = Fraction(30)
        assert (
            profile_s(Fraction(instant_s) - half, weights) <= wanted <= profile_s(Fraction(instant_s) + half, weights)
        )
        done += work


def test_the_instants_are_those_of_an_independent_program(shared: Path) -> None:
    with gzip.open(shared / "oracles/market/load110.input.json.gz") as file:
        content = json.load(file)
    works = [sm.MINUTE * sum(minutes * cores for minutes, cores, _ in job["tasks"]) for job in content["jobs"]]
    cores = sum(size for size, _ in content["clusters"])
    submit_s = load_seconds(works, load=1.1, cores=cores, clock=WeekClock())
    assert submit_s == [sm.MINUTE * job["arrive"] for job in content["jobs"]]


def test_the_same_jobs_at_another_load_come_at_other_times() -> None:
    jobs = [sm.Workflow(k, 0.0, [600.0, 60.0 * k], [3, 1], [(0, 1)], "Kind1") for k in range(1, 5)]
    once, twice = (at_load(jobs, load=load, cores=10, week=None) for load in (0.5, 1.0))
    works = np.cumsum([0.0, *(job.volume_core_s for job in jobs[:-1])])
    assert [job.submit_s for job in twice] == (np.floor(works / 10 / sm.MINUTE + 0.5) * sm.MINUTE).tolist()
    assert [job.submit_s for job in once] == (np.floor(works / 5 / sm.MINUTE + 0.5) * sm.MINUTE).tolist()
    for before, after in zip(jobs, twice, strict=True):
        assert (before.job_id, before.kind) == (after.job_id, after.kind)
        np.testing.assert_array_equal(before.edges, after.edges)
    assert at_load([], load=1, cores=1) == []
