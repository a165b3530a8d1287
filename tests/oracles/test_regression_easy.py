"""EASY of the regression study's reference, against an emulation of it: one rule distinguishes it from ours.

Both walk the running jobs by their expected ends until the head fits, which is the shadow. The reference stops there:
its extra cores are what is free then, less the head's, so that other jobs expected to end at the same instant do not
count. Ours counts all that is released at the shadow. With the first rule the emulation is the reference, with the
other it is ours, to the last bit.
"""

import inspect
import math
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import simmodels as sm
from tests.regression_windows import DEPTHS, ORDERS, WINDOWS, Window


class EasyWindow(Window):
    """One window of the oracle, with estimates."""

    def slowdown(self, start_s: NDArray[np.float64]) -> float:
        jobs = self.jobs["est"]
        bounded = np.maximum((start_s - jobs.submit_s + jobs.runtime_s) / np.maximum(jobs.runtime_s, 10.0), 1.0)
        return float(bounded[self.meta["state_jobs"] :].mean())

    def emulated(self, order: str, depth: int | None, extra: Literal["first", "all"]) -> NDArray[np.float64]:
        return emulated(self.jobs["est"], self.meta["m"], self.meta["state_jobs"], order, depth, extra)


def emulated(  # noqa: C901  plain loops in one place, to be read beside the rule
    jobs: sm.Workload, cores: int, warm: int, order: str, depth: int | None, extra: Literal["first", "all"]
) -> NDArray[np.float64]:
    function = sm.orders()[order].function
    names = list(inspect.signature(function).parameters)
    submit, runtime, estimate, need = (
        column.tolist() for column in (jobs.submit_s, jobs.runtime_s, jobs.estimate_s, jobs.cores)
    )
    start = np.full(len(jobs), np.nan)
    running: list[tuple[float, float, int]] = []  # end, expected end, cores; in order of start
    free, now, arrived = cores, 0.0, warm
    queue: list[int] = []

    def release() -> None:
        nonlocal free, running
        free += sum(held for end, _, held in running if end <= now)
        running = [each for each in running if each[0] > now]

    def begin(job: int) -> None:
        nonlocal free
        start[job] = now
        free -= need[job]
        running.append((now + runtime[job], now + estimate[job], need[job]))

    def key(job: int) -> tuple[float, int]:
        known = {"estimate": estimate[job], "cores": float(need[job]), "submit": submit[job],
                 "wait": now - submit[job], "now": now}  # fmt: skip
        return function(*(known[name] for name in names)), job

    def first_to_start() -> int | None:
        head, *others = sorted(queue[:depth], key=key)
        if need[head] <= free:
            return head
        by_end = sorted((max(expected, now), number, held) for number, (_, expected, held) in enumerate(running))
        available, shadow = free, now
        for expected, _, held in by_end:
            if available >= need[head] and (extra == "first" or expected > shadow):
                break
            available, shadow = available + held, expected
        for job in others:
            fits_beside = need[job] <= available - need[head]
            if need[job] <= free and (now + estimate[job] <= shadow or fits_beside):
                return job  # what it holds beyond the shadow is not there when the next one is looked for
        return None

    for job in range(warm):  # strictly first come, first served
        now = max(now, submit[job])
        release()
        while need[job] > free:
            now = min(end for end, _, _ in running)
            release()
        begin(job)
    while True:
        release()
        while arrived < len(jobs) and submit[arrived] <= now:
            queue.append(arrived)
            arrived += 1
        while queue:
            job = first_to_start()
            if job is None:
                break
            queue.remove(job)
            begin(job)
            release()  # of no time, if it runs for none
        following = [end for end, _, _ in running] + submit[arrived : arrived + 1]
        if not following:
            return start
        now = max(now, min(following))


@pytest.fixture(scope="module", params=WINDOWS)
def window(shared: Path, request: pytest.FixtureRequest) -> EasyWindow:
    return EasyWindow(shared / "oracles/regression/online", request.param)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("order", ORDERS)
def test_with_the_first_release_only_it_is_the_reference_and_with_all_it_is_ours(
    window: EasyWindow, order: str, depth: int | None
) -> None:
    expected = window.found.loc[("bf", order), DEPTHS[depth]]
    assert window.slowdown(window.emulated(order, depth, "first")) == pytest.approx(expected, abs=5e-7)
    ours = sm.simulate(window.jobs["est"], **window.options, order=order, backfilling="easy", queue_depth=depth)
    assert ours.start_s.tolist() == window.emulated(order, depth, "all").tolist()


def test_the_first_job_that_differs_is_refused_for_cores_that_come_free_at_the_same_instant(shared: Path) -> None:
    window = EasyWindow(shared / "oracles/regression/online", WINDOWS[0])
    theirs, ours = (window.emulated("FCFS", 32, rule) for rule in ("first", "all"))
    differs = np.flatnonzero(theirs != ours)
    first = differs[np.argmin(np.minimum(theirs, ours)[differs])]
    assert (first, window.jobs["est"].cores[first], ours[first]) == (921, 47, 1_058_120)
    assert math.isclose(theirs[first], 1_065_479, abs_tol=1.0)
