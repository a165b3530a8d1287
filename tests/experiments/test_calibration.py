"""How far a replay is from its log, on logs drawn by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from experiments.calibration import calibrate, causes_of, doubt_of_size, sentences_of

H = 3600.0


def log(*rows: tuple[float, float, int, float], max_cores: int = 4, **extras: list[int]) -> sm.Workload:
    """Return jobs of (submit, runtime, cores, logged wait)."""
    frame = pd.DataFrame(rows, columns=["submit_s", "runtime_s", "cores", "wait_s"])
    return sm.Workload.from_frame(frame.assign(**extras), max_cores=max_cores)


def test_a_replay_that_does_what_the_log_did_is_close() -> None:
    as_it_was = log((0, H, 4, 0), (0, H, 4, H), (0, H, 4, 2 * H))
    found = calibrate(sm.simulate(as_it_was))
    assert found is not None
    assert (found.jobs, found.factor(), found.agreement, found.rank_correlation) == (3, 1, "close", 1)
    assert found.logged == found.replayed
    assert (found.free_share, found.over_full_share, found.outages_s, found.peak_cores) == (0, 0, (), 4)
    assert list(causes_of(found, as_it_was)) == []


def test_cores_that_were_free_while_a_job_waited_are_found() -> None:
    """Of four cores two are free for the first hour, in which the second job waits, and none in the second."""
    held = log((0, H, 2, 0), (0, H, 2, 2 * H), (H, H, 4, 0))
    found = calibrate(sm.simulate(held))
    assert found is not None
    assert found.free_share == 0.5
    assert found.replayed["max_wait_s"] == 0
    [cause] = causes_of(found, held)
    assert cause.startswith("For 50 % of the time that jobs waited, their cores were free")


def test_an_outage_is_a_span_without_starts_in_which_the_first_that_waits_could() -> None:
    later = log((0, H, 4, 0), (2 * H, H, 4, 10 * H), (12 * H, H, 1, H))
    found = calibrate(sm.simulate(later))
    assert found is not None
    assert found.outages_s == ()  # nobody waited when the first job started
    waits = log((0, H, 2, 0), (0, H, 2, 12 * H), (0, H, 4, 13 * H))
    found = calibrate(sm.simulate(waits))
    assert found is not None
    assert found.outages_s == ((0, 12 * H),)
    assert any("0.5 days in all, the longest 12 h" in cause for cause in causes_of(found, waits))
    full = log((0, 12 * H, 4, 0), (0, H, 2, 12 * H))
    found = calibrate(sm.simulate(full))
    assert found is not None
    assert found.outages_s == ()


def test_a_job_that_may_not_be_backfilled_is_no_outage() -> None:
    """The third job, first in the queue, needs all cores; the fourth would delay it."""
    rows = [(0, H, 4), (1, 10 * H, 2), (2, 20 * H, 4), (3, 20 * H, 2)]
    work = log(*((*row, 0) for row in rows))
    easy = sm.simulate(work)
    found = calibrate(
        sm.simulate(log(*((*row, wait) for row, wait in zip(rows, easy.start_s - work.submit_s, strict=True))))
    )
    assert found is not None
    assert found.logged == found.replayed
    assert found.outages_s == ()


def test_nothing_is_said_of_free_cores_where_not_all_starts_are_known() -> None:
    """The first job held the cores, and its start is not known."""
    some = log((0, 10 * H, 4, -1), (0, H, 4, 40 * H))
    found = calibrate(sm.simulate(some))
    assert found is not None
    assert found.known_share == pytest.approx(1 / 11)
    assert np.isnan(found.free_share)
    assert np.isnan(found.utilisation)
    assert next(causes_of(found, some)) == "The log says when jobs started for 9 % of its core hours only."


def test_cores_that_were_allocated_are_in_use() -> None:
    found = calibrate(sm.simulate(log((0, H, 2, 0), (0, H, 2, H), allocated_cores=[4, -1])))
    assert found is not None
    assert (found.peak_cores, found.free_share, found.utilisation) == (4, 0, 0.75)


@pytest.mark.parametrize(
    ("wait_s", "agreement"), [(89, "close"), (91, "rough"), (179, "rough"), (181, "poor"), (40, "close"), (39, "rough")]
)
def test_agreement_is_by_the_factor_between_the_waits(wait_s: int, agreement: str) -> None:
    """The mean wait is ten minutes in the replay, and `wait_s` sixtieths of that in the log."""
    of = log((0, 1200, 4, 0), (0, 1, 4, 20 * wait_s))
    found = calibrate(sm.simulate(of))
    assert found is not None
    assert found.replayed["mean_wait_s"] == 600
    assert found.factor() == wait_s / 60
    assert found.agreement == agreement


def test_waits_that_differ_by_less_than_a_minute_are_close() -> None:
    found = calibrate(sm.simulate(log((0, 1, 4, 0), (0, 1, 4, 60))))
    assert found is not None
    assert found.factor() == 60
    assert found.agreement == "close"


def test_waits_of_other_jobs_are_not_close_though_their_means_are() -> None:
    """Five jobs one after the other; by the log the last was the first."""
    back = log(*((k, H, 4, (4 - k) * H) for k in range(5)))
    found = calibrate(sm.simulate(back))
    assert found is not None
    assert found.rank_correlation == pytest.approx(-1)
    assert found.factor() == pytest.approx(1, abs=0.01)
    assert found.agreement == "rough"
    assert "correlate by -1.00: trust which of two replays is better" in next(sentences_of(found, back, "FCFS"))


def test_more_cores_than_the_machine_has_are_reported() -> None:
    wide = log((0, H, 3, 0), (0, H, 3, 0), (0, H, 3, H))
    found = calibrate(sm.simulate(wide))
    assert found is not None
    assert (found.over_full_share, found.peak_cores) == (0.5, 6)
    assert doubt_of_size(wide, 4) == (
        "For 50 % of its time the log has more cores in use than the 4 of the machine, up to 6: "
        "is the number of cores right?"
    )
    assert doubt_of_size(wide, 6) == ""


def test_a_log_that_is_over_full_for_a_moment_leaves_no_doubt() -> None:
    overlap = log((0, 100, 4, 0), (0, 100, 4, 99), max_cores=4)
    assert doubt_of_size(overlap, 4) == ""
    assert doubt_of_size(log((0, 100, 4, -1)), 1) == ""


def test_partitions_and_queues_are_told_but_not_those_that_are_unknown() -> None:
    parted = log((0, H, 4, 0), (0, H, 4, 9 * H), (0, H, 4, 10 * H), queue=[1, 2, -1], partition=[3, 3, -1])
    found = calibrate(sm.simulate(parted))
    assert found is not None
    assert "The log has 2 queues with at least 1 % of the jobs each; the replay has one." in causes_of(found, parted)
    assert not any("partitions with" in cause for cause in causes_of(found, parted))


def test_a_log_that_does_not_say_when_jobs_started_has_no_calibration() -> None:
    assert calibrate(sm.simulate(log((0, H, 4, -1), (0, H, 4, -1)))) is None
    frame = pd.DataFrame({"submit_s": [0], "runtime_s": [60], "cores": [1]})
    assert calibrate(sm.simulate(sm.Workload.from_frame(frame, max_cores=4))) is None


def test_without_waits_nothing_is_divided_by_nothing() -> None:
    idle = log((0, 1, 1, 0), (5, 1, 1, 0))
    found = calibrate(sm.simulate(idle))
    assert found is not None
    assert np.isnan(found.factor())
    assert np.isnan(found.rank_correlation)
    assert found.agreement == "close"
    assert found.free_share == 0


@given(st.lists(st.tuples(*map(st.integers, (0, 0, 1, 0), (50, 30, 4, 40))), min_size=1, max_size=20))
def test_the_share_of_waiting_time_with_free_cores_is_that_of_a_plain_count(
    rows: list[tuple[float, float, int, float]],
) -> None:
    work = log(*rows)
    found = calibrate(sm.simulate(work))
    assert found is not None
    in_use = [sum(q for r, p, q, w in rows if r + w <= at < r + w + p) for at in range(200)]
    free = sum(4 - in_use[at] >= q for r, _, q, w in rows for at in range(int(r), int(r + w)))
    waited = sum(w for _, _, _, w in rows)
    assert found.free_share == pytest.approx(free / waited if waited else 0.0)
