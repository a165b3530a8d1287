import math

import numpy as np
import pytest

from simmodels.policies.orders import find_order
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.queue_loop import new_loop, replay
from simmodels.structures.queue_state import refused

Row = tuple[float, float, float, int]  # submit, runtime, estimate, cores


def replayed(
    rows: list[Row], *, cores: int, by_event: bool = False, kill: bool = False, **options: object
) -> tuple[list[float], list[float]]:
    submit, runtime, estimate, width = zip(*rows, strict=True)
    columns = tuple(np.array(column, float) for column in (submit, runtime, estimate))
    order = find_order(options.pop("order", "FCFS"))
    queue = QueueOptions(order, **options).open((*columns, np.array(width, np.int64)), free=cores)
    started, ended = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    loop = new_loop(len(rows), by_event)
    assert replay(queue, loop, by_event, kill, math.inf, len(rows), -1, started, ended)
    return started.tolist(), ended.tolist()


def test_by_instant_completions_and_submissions_come_before_the_decision() -> None:
    rows = [(0, 10, 20, 1), (1, 5, 5, 2), (10, 10, 10, 1)]
    assert replayed(rows, cores=2, backfilling="easy") == ([0, 10, 15], [10, 15, 25])


def test_by_event_submissions_come_before_completions() -> None:
    rows = [(0, 10, 20, 1), (1, 5, 5, 2), (10, 10, 10, 1)]
    assert replayed(rows, cores=2, by_event=True, backfilling="easy") == ([0, 20, 10], [10, 25, 20])


def test_by_event_submissions_come_in_slot_order() -> None:
    rows = [(0, 5, 5, 1), (0, 2, 2, 1), (0, 1, 1, 1)]
    assert replayed(rows, cores=1, by_event=True, backfilling="none", order="SPF")[0] == [0, 6, 5]
    assert replayed(rows, cores=1, backfilling="none", order="SPF")[0] == [3, 1, 0]


def test_by_event_completions_come_in_the_order_of_the_starts() -> None:
    # At 4 slot 2 starts (1 core), then slot 1 (2 cores); both end at 10, early. First one core is free: slot 3 starts;
    # then two: slot 4 starts. (The other way round two cores go to slots 3 and 5, and slot 4 waits.)
    rows = [(0, 4, 4, 3), (1, 6, 30, 2), (2, 6, 20, 1), (5, 5, 40, 1), (5, 5, 50, 2), (5, 5, 60, 1)]
    started, _ = replayed(rows, cores=3, by_event=True, backfilling="greedy", order="SPF")
    assert started == [0, 4, 4, 10, 10, 15]


def test_an_expected_end_counts_from_the_first_event_of_its_instant() -> None:
    rows = [(0, 10, 10, 1), (1, 5, 5, 2), (10, 10, 10, 1)]
    assert replayed(rows, cores=2, by_event=True, backfilling="easy")[0] == [0, 10, 15]


@pytest.mark.parametrize("by_event", [False, True])
def test_many_jobs_of_no_runtime_pass_within_an_instant(by_event: bool) -> None:
    rows = [(3.0, 0.0, 0.0, 2)] * 200 + [(3.0, 1.0, 1.0, 2)] + [(3.0, 0.0, 0.0, 1)] * 200
    started, ended = replayed(rows, cores=2, by_event=by_event, backfilling="none")
    assert started == [3.0] * 201 + [4.0] * 200
    assert ended == [3.0] * 200 + [4.0] * 201


@pytest.mark.parametrize("by_event", [False, True])
def test_hundreds_may_end_at_once(by_event: bool) -> None:
    rows = [(0.0, 5.0, 5.0 + i % 2, 1) for i in range(500)] + [(1.0, 1.0, 1.0, 500)]
    assert replayed(rows, cores=500, by_event=by_event, backfilling="easy")[0] == [0.0] * 500 + [5.0]


def test_it_stops_where_an_order_gives_no_number() -> None:
    columns = (np.array([0.0, 1.0]), np.array([5.0, 5.0]), np.array([5.0, 5.0]), np.array([1, 1]))
    order = find_order(lambda submit: math.nan if submit > 0.0 else submit)
    queue = QueueOptions(order, "none").open(columns, free=1)
    started, ended = np.full(2, np.nan), np.full(2, np.nan)
    assert not replay(queue, new_loop(2, False), False, False, math.inf, 2, -1, started, ended)
    assert refused(queue) == (1, 1.0)
    assert np.isnan(started).tolist() == [False, True]
