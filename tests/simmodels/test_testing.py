import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from simmodels.simulate import simulate
from simmodels.testing import CASES, Case, Report, assert_conforms, check
from tests import naive

EASY = [case for case in CASES if case.backfilling == "easy"]


def starts(case: Case, **other: object) -> list[float]:
    return simulate(case.jobs, **{**case.options, **other}).start_s.tolist()


def reported(case: Case) -> tuple[float, ...]:
    return case.start_s


def test_both_engines_conform(engine: str) -> None:
    assert_conforms(lambda case: starts(case, engine=engine))


def test_the_plain_reference_conforms() -> None:
    assert_conforms(lambda case: naive.simulate(case.jobs, **case.options)[0])


def test_the_drawn_schedules_are_legal() -> None:
    for case in CASES:
        assert simulate(case.jobs, **case.options).validate().start_s.tolist() == list(case.start_s)


def test_names_are_unique_and_begin_with_the_backfilling() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.name.split("/")[0] == case.backfilling for case in CASES)
    assert all(case.why for case in CASES)


def test_every_backfilling_has_wide_jobs_and_options_of_its_own() -> None:
    for backfilling in ("none", "greedy", "easy", "conservative"):
        cases = [case for case in CASES if case.backfilling == backfilling]
        assert len(cases) >= 6
        assert any(case.special for case in cases)
        assert any((case.jobs.cores == case.cores).any() for case in cases)


IN_SPITE_OF = {  # these show what does not change with the option
    ("easy/expected-end-by-event", "decide"),
    ("easy/threshold-in-backfilling", "backfill_order"),
}


def test_every_option_is_needed_by_a_case_and_decides_it() -> None:
    usual = {name: Case.__dataclass_fields__[name].default for case in CASES for name in case.special}
    assert set(usual) == {"backfill_order", "threshold_s", "decide", "overrun", "queue_depth", "warm_jobs"}
    blind = {
        (case.name, option)
        for case in CASES
        for option in case.special
        if starts(case, **{option: usual[option]}) == list(case.start_s)
    }
    assert blind == IN_SPITE_OF


@pytest.mark.parametrize("wrong", ["none", "greedy", "conservative"])
def test_another_backfilling_than_easy_is_found_out(wrong: str) -> None:
    report = check(lambda case: starts(case, backfilling=wrong, backfill_order=None), EASY)
    assert not report.conforms
    assert report.failures


def test_a_report_says_the_first_job_in_time_that_differs() -> None:
    case = CASES[0]
    report = check(lambda _: [0, 22, 2], [case])
    (failure,) = report.failures
    assert (failure.case, failure.row, failure.expected_s, failure.got_s) == (case, 2, 20.0, 2.0)
    assert str(report) == (
        f"0 of 1 cases passed\neasy/head-is-not-delayed: job 3 must start at 20 s, not 2 s ({case.why})"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([0.0, 10.0], "gave 2 starts for 3 jobs"),
        ([0.0, 10.0, None], "raised TypeError"),
        ([0.0, 10.0, math.nan], "job 3 must start at 20 s, not nan s"),
    ],
)
def test_starts_that_are_not_there_fail_the_case(given: list[float], text: str) -> None:
    assert text in str(check(lambda _: given, CASES[:1]))


def test_an_exception_of_the_scheduler_fails_its_case_and_the_others_are_tried() -> None:
    def fails_once(case: Case) -> tuple[float, ...]:
        if case is CASES[1]:
            raise NotImplementedError("no early ends")
        return case.start_s

    report = check(fails_once)
    assert len(report.passed) == len(CASES) - 1
    assert "easy/early-end: raised NotImplementedError: no early ends" in str(report)


def test_a_tolerance_lets_starts_differ_by_so_much() -> None:
    def late(case: Case) -> list[float]:
        return [start + 0.25 for start in case.start_s]

    assert not check(late).passed
    assert check(late, tolerance_s=0.25).conforms


def test_assert_conforms_raises_with_the_report() -> None:
    assert_conforms(reported)
    with pytest.raises(AssertionError, match="4 of 5 cases passed\neasy/extra-core: job 3 must start at 2 s, not 110"):
        assert_conforms(lambda case: (0, 100, 110) if case is CASES[2] else case.start_s, CASES[:5])


def test_no_case_at_all_does_not_conform() -> None:
    assert not Report((), ()).conforms
    with pytest.raises(AssertionError, match="0 of 0 cases passed"):
        assert_conforms(reported, [])


def test_cases_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        CASES[0].cores = 3
    with pytest.raises(ValueError, match="read-only"):
        CASES[0].jobs.submit_s[0] = 1.0
    assert pickle.loads(pickle.dumps(CASES[3])).start_s == CASES[3].start_s
    assert np.array_equal(pickle.loads(pickle.dumps(CASES[3])).jobs.cores, CASES[3].jobs.cores)
    assert repr(CASES[0]) == "<Case 'easy/head-is-not-delayed': 3 jobs on 2 cores>"
