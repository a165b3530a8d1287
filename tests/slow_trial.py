"""A trial as one would run it by hand, one second thought at a time: what the compiled one must equal."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from simmodels.learning.pairs import Pair
from simmodels.work.workload import Workload


def slow_trial(pair: Pair, order: Sequence[int], *, delay_s: float = 0.0, tau_s: float = 10.0) -> float:
    """Run S first come first served, then the jobs of Q strictly in an order; return their mean bounded slowdown."""
    jobs = [pair.jobs.job(row) for row in range(len(pair.jobs))]
    known = jobs[: pair.initial_jobs]
    asked = jobs[pair.initial_jobs :]
    now, free = 0.0, pair.cores
    running: list[tuple[float, int]] = []
    slowdowns = []

    def release() -> None:
        nonlocal free
        for one in [one for one in running if one[0] <= now]:
            running.remove(one)
            free += one[1]

    for job in [*known, *(asked[j] for j in order)]:
        now = max(now, job.submit_s)
        release()
        while free < job.cores:
            now = min(end for end, _ in running)
            release()
        now += delay_s
        free -= job.cores
        running.append((now + job.runtime_s, job.cores))
        wait_s = now - job.submit_s
        slowdowns.append(max((wait_s + job.runtime_s) / max(job.runtime_s, tau_s), 1.0))
    measured = slowdowns[pair.initial_jobs :]
    return sum(measured) / len(measured)


def pair_of(*rows: tuple[float, float, int], initial_jobs: int, cores: int, number: int = 0) -> Pair:
    """Return the pair of these jobs: submit, runtime, cores."""
    submit_s, runtime_s, needed = (np.array(column) for column in zip(*rows, strict=True))
    jobs = Workload(np.arange(1, len(rows) + 1), submit_s, runtime_s, runtime_s, needed)
    return Pair(number, jobs, initial_jobs, cores)


@st.composite
def pairs(draw: st.DrawFn, *, most: int = 40) -> Pair:
    """Draw a pair of few cores, whose times often meet."""
    cores = draw(st.integers(1, 6))
    initial, rest = draw(st.integers(1, 8)), draw(st.integers(1, most))
    times = st.one_of(st.integers(1, 12).map(float), st.floats(0.1, 50.0))
    gaps = st.one_of(st.just(0.0), st.integers(0, 8).map(float), st.floats(0.0, 9.0))
    count = initial + rest
    submit_s = np.cumsum([0.0, *draw(st.lists(gaps, min_size=count - 1, max_size=count - 1))])
    runtime_s = draw(st.lists(times, min_size=count, max_size=count))
    needed = draw(st.lists(st.integers(1, cores), min_size=count, max_size=count))
    return pair_of(*zip(submit_s, runtime_s, needed, strict=True), initial_jobs=initial, cores=cores)
