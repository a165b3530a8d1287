import numpy as np
import pytest

from workloads.perotin import RISKY_FAMILIES, mean_length_s, variable_capacity_jobs


@pytest.mark.parametrize("family", RISKY_FAMILIES)
def test_a_family_is_work_for_26_machines(family: str) -> None:
    jobs = variable_capacity_jobs(family, weeks=5, seed=1)
    machines = float((jobs.runtime_s * jobs.cores).sum()) / (24 * 5 * 604_800)
    assert machines == pytest.approx(26, rel=0.04)
    assert len(jobs) == 100_000
    assert np.diff(jobs.submit_s) == pytest.approx(30.24, abs=1)
    shares = np.bincount(jobs.cores, minlength=9)[[1, 2, 4, 8]] / len(jobs)
    assert shares == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6], abs=0.01)


def test_lengths_are_of_the_published_classes() -> None:
    mean = mean_length_s(20_000)
    assert mean == pytest.approx(5391, abs=0.5), "as specified"
    assert variable_capacity_jobs("Uniform", seed=1).runtime_s.max() <= np.ceil(2 * mean)
    lengths = variable_capacity_jobs("LogScale", seed=1).runtime_s
    unit = mean / (1107 / 85)
    edges = np.append(0, unit * 5.0 ** np.arange(1, 5) + 1)
    shares = np.histogram(lengths, edges)[0] / len(lengths)
    assert shares == pytest.approx(np.array([64, 16, 4, 1]) / 85, abs=0.01)
    equal = np.histogram(
        variable_capacity_jobs("LogScaleU", seed=1).runtime_s, np.append(0, mean / 117 * 5.0 ** np.arange(1, 5) + 1)
    )
    assert equal[0] / equal[0].sum() == pytest.approx([0.25] * 4, abs=0.01)
    t = 13 / 27 * mean
    of_types = variable_capacity_jobs("3types", seed=1).runtime_s
    near = [(np.abs(of_types - t * k) <= 0.05 * t * k + 1).mean() for k in (1, 3, 9)]
    assert near == pytest.approx([9 / 13, 3 / 13, 1 / 13], abs=0.01)


def test_load_and_shares_are_as_asked() -> None:
    jobs = variable_capacity_jobs("LogScale", weeks=5, load=91, shares=(4, 1, 1, 1), seed=1)
    assert float((jobs.runtime_s * jobs.cores).sum()) / (24 * 5 * 604_800) == pytest.approx(91, rel=0.04)
    unit = mean_length_s(20_000, load=91) / (3 * (4 + 5 + 25 + 125) / 7)
    shares = np.histogram(jobs.runtime_s, np.append(0, unit * 5.0 ** np.arange(1, 5) + 1))[0] / len(jobs)
    assert shares == pytest.approx(np.array([4, 1, 1, 1]) / 7, abs=0.01)


def test_a_part_of_a_week_has_that_part_of_its_jobs() -> None:
    for hundredths in (7, 14, 17, 28, 50, 81, 111):
        assert len(variable_capacity_jobs("Uniform", weeks=hundredths / 100)) == 200 * hundredths
    assert len(variable_capacity_jobs("Uniform", weeks=0.0701, jobs_per_week=1_000)) == 71
