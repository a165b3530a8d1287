"""Threads: tasks of compiled code that runs without the interpreter's lock, side by side."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

import numpy as np

from simmodels.ground.numbers import Flags, as_integer

_T = TypeVar("_T")
_R = TypeVar("_R")


def as_threads(workers: int | None) -> int:
    """Return how many threads to start: `workers`, an integer from 1 on; None for one for each processor."""
    if workers is not None:
        return as_integer("workers", workers, 1, also="None")
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1


def in_threads(
    run: Callable[[_T, Flags], _R], tasks: Sequence[_T], threads: int, done: Callable[[_T], None] | None = None
) -> list[_R]:
    """Return what came of each task, in their order; `done` is called with each as it ends.

    Few are in hand at a time, and these are stopped by what is raised, or by Ctrl-C.

    Parameters
    ----------
    run
        Runs a task; it looks at the other argument, bool[1], as often as it may: once it is true, nobody wants the
        result.
    tasks
        The tasks.
    threads
        How many are run at a time.
    done
        Called in this thread.
    """
    if tasks:
        run(tasks[0], np.ones(1, np.bool_))  # stopped at once: code is compiled here, where Ctrl-C leaves the compiler
    stop = np.zeros(1, np.bool_)
    results: dict[int, _R] = {}
    waiting = iter(enumerate(tasks))
    pool = ThreadPoolExecutor(min(threads, len(tasks)) or 1)
    try:
        at: dict[Future[_R], int] = {pool.submit(run, task, stop): i for i, task in islice(waiting, 2 * threads)}
        while at:
            for future in wait(at, return_when=FIRST_COMPLETED).done:
                i = at.pop(future)
                results[i] = future.result()
                at |= {pool.submit(run, task, stop): number for number, task in islice(waiting, 1)}
                if done is not None:
                    done(tasks[i])
    finally:
        stop[0] = True
        pool.shutdown(cancel_futures=True)
    return [results[i] for i in range(len(tasks))]
