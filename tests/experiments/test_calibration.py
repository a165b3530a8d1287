"""How far a replay is from its log, on logs drawn by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from experiments.calibration import Calibration, calibrate, causes_of, doubt_of_limits, doubt_of_size, sentences_of

H = 3600.0


def log(*rows: tuple[float, float, int, float], max_cores: int = 4, **extras: list[int]) -> sm.Workload:
    """Return jobs of (submit, runtime, cores, logged wait)."""
    frame = pd.DataFrame(rows, columns=["submit_s", "runtime_s", "cores", "wait_s"])
    return sm.Workload.from_frame(frame.assign(**extras), max_cores=max_cores)


def calibrated(work: sm.Workload) -> Calibration:
    """Return how far the replay of a log is from it."""
    found = calibrate(sm.simulate(work))
    assert found is not None
    return found


SHORT = calibrated(log((0, 1, 4, 0), (0, 1, 4, 60)))
"""Of two jobs, of which the second waits for a second in the replay and for a minute in the log."""


def test_a_replay_that_does_what_the_log_did_is_close() -> None:
    as_it_was = log((0, H, 4, 0), (0, H, 4, H), (0, H, 4, 2 * H))
    found = calibrated(as_it_was)
    assert (found.jobs, found.factor(), found.agreement, found.rank_correlation) == (3, 1, "close", 1)
    assert found.logged == found.replayed
    assert (found.free_share, found.over_full_share, found.outages_s, found.peak_cores) == (0, 0, (), 4)
    assert list(causes_of(found, as_it_was)) == []


def test_cores_that_were_free_while_a_job_waited_are_found() -> None:
    """Of four cores two are free for the first hour, in which the second job waits, and none in the second."""
    held = log((0, H, 2, 0), (0, H, 2, 2 * H), (H, H, 4, 0))
    found = calibrated(held)
    assert found.free_share == 0.5
    assert found.replayed["max_wait_s"] == 0
    cause, other = causes_of(found, held)
    assert cause == "cores were free in 50 % of the waiting time (holds, user limits, jobs ahead)"
    assert other == "another order, or priorities, than those replayed"


@pytest.mark.parametrize(
    ("rows", "outages_s"),
    [
        ([(0, H, 4, 0), (2 * H, H, 4, 10 * H), (12 * H, H, 1, H)], ()),  # nobody waited when the first job started
        ([(0, H, 2, 0), (0, H, 2, 12 * H), (0, H, 4, 13 * H)], ((0, 12 * H),)),
        ([(0, 12 * H, 4, 0), (0, H, 2, 12 * H)], ()),
    ],
)
def test_an_outage_is_a_span_without_starts_in_which_the_first_that_waits_could(
    rows: list[tuple[float, float, int, float]], outages_s: tuple[tuple[float, float], ...]
) -> None:
    found = calibrated(log(*rows))
    assert found.outages_s == outages_s
    said = "no job started for 12 h in 1 span, with cores free (downtime, reservations)"
    assert (said in causes_of(found, log(*rows))) == (outages_s != ())


def test_a_job_that_may_not_be_backfilled_is_no_outage() -> None:
    """The third job, first in the queue, needs all cores; the fourth would delay it."""
    work = log((0, H, 4, 0), (1, 10 * H, 2, 0), (2, 20 * H, 4, 0), (3, 20 * H, 2, 0))
    found = calibrated(replace(work, extras={"wait_s": sm.simulate(work).start_s - work.submit_s}))
    assert found.logged == found.replayed
    assert found.outages_s == ()


def test_nothing_is_said_of_free_cores_where_not_all_starts_are_known() -> None:
    """The first job held the cores, and its start is not known."""
    some = log((0, 10 * H, 4, -1), (0, H, 4, 40 * H))
    found = calibrated(some)
    assert found.known_share == pytest.approx(1 / 11)
    assert np.isnan(found.free_share)
    assert np.isnan(found.utilisation)
    assert next(causes_of(found, some)) == "the log says when jobs started for 9 % of its core hours only"


def test_cores_that_were_allocated_are_in_use() -> None:
    found = calibrated(log((0, H, 2, 0), (0, H, 2, H), allocated_cores=[4, -1]))
    assert (found.peak_cores, found.free_share, found.utilisation) == (4, 0, 0.75)


def waits(mean_s: float, median_s: float, p95_s: float) -> dict[str, float]:
    return {"mean_wait_s": mean_s, "median_wait_s": median_s, "p95_wait_s": p95_s, "max_wait_s": 10 * p95_s}


REPLAYED = waits(4 * H, H, 20 * H)


@pytest.mark.parametrize(
    ("logged", "rank_correlation", "agreement"),
    [
        (REPLAYED, 0.3, "close"),
        (REPLAYED, 0.29, "rough"),
        (REPLAYED, np.nan, "close"),
        (waits(6 * H, H, 20 * H), 0.3, "close"),
        (waits(6.01 * H, H, 20 * H), 0.3, "rough"),
        (waits(6.01 * H, H, 20 * H), 0.29, "poor"),
        (waits(12 * H, H, 20 * H), 0.3, "rough"),
        (waits(2.6 * H, H, 20 * H), 0.3, "rough"),
        (waits(12.01 * H, H, 20 * H), 0.3, "poor"),
        (waits(4 * H, 1.5 * H, 20 * H), 0.3, "close"),
        (waits(4 * H, 1.51 * H, 20 * H), 0.3, "rough"),
        (waits(4 * H, 99 * H, 20 * H), 0.3, "rough"),
        (waits(4 * H, 1.51 * H, 20 * H), 0.29, "poor"),
        (waits(4 * H, 0.61 * H, 20 * H), 0.3, "close"),
        (waits(4 * H, 0.59 * H, 20 * H), 0.3, "rough"),
        (waits(4 * H, H, 30.1 * H), 0.3, "rough"),
        (waits(4 * H, H, 60 * H), 0.3, "rough"),
        (waits(4 * H, H, 60.1 * H), 0.3, "poor"),
        (waits(4 * H, H, 6.6 * H), 0.3, "poor"),
    ],
)
def test_agreement_is_by_mean_median_95th_percentile_and_ranks(
    logged: dict[str, float], rank_correlation: float, agreement: str
) -> None:
    """A median of one hour may be 0.4 h off, a tenth of the log's mean wait, or by a factor of 1.5."""
    found = replace(SHORT, logged=logged, replayed=REPLAYED, rank_correlation=rank_correlation)
    assert found.agreement == agreement


def test_neither_ranks_nor_factors_count_where_waits_differ_by_less_than_a_minute() -> None:
    assert (SHORT.factor(), SHORT.agreement) == (60, "close")
    short = replace(SHORT, logged=waits(5, 0, 60), replayed=waits(4, 0, 60), rank_correlation=-1.0)
    assert short.agreement == "close"
    assert replace(short, logged=waits(5, 0, 61)).agreement == "rough"


def test_a_machine_that_is_over_full_for_a_tenth_of_the_time_is_another_one() -> None:
    assert replace(SHORT, over_full_share=0.1, peak_cores=5).agreement == "close"
    full = replace(SHORT, over_full_share=0.11, peak_cores=5)
    assert full.agreement == "poor"
    assert next(causes_of(full, log((0, 1, 4, 0)))) == "the log has up to 5 cores in use, the machine 4"
    assert full.doubt_of_size.startswith("For 11 % of its time the log has more cores in use than the 4 of the machine")


def test_too_few_cores_are_no_cause_of_waits_that_the_replay_does_not_have() -> None:
    waited, idle = waits(4 * H, H, 20 * H), waits(0, 0, 0)
    full = replace(SHORT, over_full_share=0.05, peak_cores=5)
    said = "the log has up to 5 cores in use, the machine 4"
    longer, shorter = (replace(full, logged=one, replayed=other) for one, other in ((waited, idle), (idle, waited)))
    assert said not in causes_of(longer, log((0, 1, 4, 0)))
    assert said in causes_of(shorter, log((0, 1, 4, 0)))


def test_what_the_replay_does_not_know_of_jobs_may_be_the_cause() -> None:
    asked = log(
        (0, H, 4, 0), (0, H, 4, 9 * H), (0, H, 4, 10 * H), requested_memory_kb=[5, 5, -1], requested_s=[60, -1, 60]
    )
    found = calibrated(asked)
    assert {
        "67 % of the jobs ask for memory, which the replay does not limit",
        "33 % of the jobs have no time limit",
    } <= set(causes_of(found, asked))


def test_waits_of_other_jobs_are_not_close_though_their_means_are() -> None:
    """Five jobs one after the other; by the log the last was the first."""
    back = log(*((k, H, 4, (4 - k) * H) for k in range(5)))
    found = calibrated(back)
    assert found.rank_correlation == pytest.approx(-1)
    assert found.factor() == pytest.approx(1, abs=0.01)
    assert found.agreement == "rough"
    assert "correlate by -1.00: this replay is roughly like the log: trust which" in next(
        sentences_of(found, back, "FCFS")
    )


def test_more_cores_than_the_machine_has_are_reported() -> None:
    wide = log((0, H, 3, 0), (0, H, 3, 0), (0, H, 3, H))
    found = calibrated(wide)
    assert (found.over_full_share, found.peak_cores) == (0.5, 6)
    assert doubt_of_size(wide, 4) == (
        "For 50 % of its time the log has more cores in use than the 4 of the machine, up to 6: "
        "is the number of cores right?"
    )
    assert doubt_of_size(wide, 6) == ""


def test_a_log_that_is_over_full_for_a_moment_leaves_no_doubt() -> None:
    assert doubt_of_size(log((0, 100, 4, 0), (0, 100, 4, 99)), 4) == ""
    assert doubt_of_size(log((0, 100, 4, -1)), 1) == ""


def test_more_than_a_twentieth_of_jobs_without_a_limit_is_doubted() -> None:
    def doubt(limited: int, others: int) -> str:
        rows = [(0.0, 100.0, 1, -1)] * (limited + others)
        return doubt_of_limits(log(*rows, requested_s=[60] * limited + [-1] * others))

    assert doubt(19, 1) == ""
    assert doubt(32, 68) == (
        "68 % of the jobs have no limit; the longest limit of their partition, or of the log, is used instead: "
        "orders by limit say little."
    )
    assert doubt(0, 3).startswith(
        "100 % of the jobs have no limit; their runtimes, which no scheduler knows, stand for"
    )


def test_partitions_and_queues_are_reported_but_not_those_that_are_unknown() -> None:
    parted = log((0, H, 4, 0), (0, H, 4, 9 * H), (0, H, 4, 10 * H), queue=[1, 2, -1], partition=[3, 3, -1])
    found = calibrated(parted)
    assert "the log has 2 queues with at least 1 % of the jobs each, the replay one" in causes_of(found, parted)
    assert not any("partitions with" in cause for cause in causes_of(found, parted))


def test_a_log_that_does_not_say_when_jobs_started_has_no_calibration() -> None:
    for work in (log((0, H, 4, -1), (0, H, 4, -1)), replace(log((0, H, 4, 0)), extras={})):
        assert calibrate(sm.simulate(work)) is None


def test_without_waits_nothing_is_divided_by_nothing() -> None:
    idle = log((0, 1, 1, 0), (5, 1, 1, 0))
    found = calibrated(idle)
    assert np.isnan(found.factor())
    assert np.isnan(found.rank_correlation)
    assert found.agreement == "close"
    assert found.free_share == 0


@given(st.lists(st.tuples(*map(st.integers, (0, 0, 1, 0), (50, 30, 4, 40))), min_size=1, max_size=20))
def test_the_share_of_waiting_time_with_free_cores_is_that_of_a_plain_count(
    rows: list[tuple[float, float, int, float]],
) -> None:
    work = log(*rows)
    found = calibrated(work)
    in_use = [sum(q for r, p, q, w in rows if r + w <= at < r + w + p) for at in range(200)]
    free = sum(4 - in_use[at] >= q for r, _, q, w in rows for at in range(int(r), int(r + w)))
    waited = sum(w for _, _, _, w in rows)
    assert found.free_share == pytest.approx(free / waited if waited else 0.0)
