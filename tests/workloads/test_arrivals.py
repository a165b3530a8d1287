from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simmodels.errors import FileFormatError, SimModelsError
from simmodels.units import DAY, HOUR
from simmodels.work.workflow import Workflow
from tests.refused import refused
from workloads import WEEK_WEIGHTS, arrivals, read_workflows, write_wfformat

SMALL = Workflow(7, 5.0, [30.0, 10.0], [2, 1], [(0, 1)], "Kind1", name="small")
LARGE = Workflow(8, 5.0, [600.0], [8], name="large")
ONE = Workflow(9, 5.0, [60.0], name="one")
THREE = (SMALL, LARGE, ONE)

DAX = '<adag><job id="a" name="x" runtime="7"/><job id="b" name="y" runtime="8"/></adag>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for job, name in zip(THREE, ["c.json", "a.json.gz", "b.JSON"], strict=True):
        write_wfformat(job, tmp_path / name)
    (tmp_path / "d.dax").write_text(DAX)
    (tmp_path / "e.xml").write_text(DAX)
    (tmp_path / "LICENSE").write_text("whatever")
    (tmp_path / "sub.json").mkdir()
    return tmp_path


def submits(jobs: list[Workflow]) -> list[float]:
    return [job.submit_s for job in jobs]


# -- folders ------------------------------------------------------------------------------------------


def test_a_folder_is_read_in_the_order_of_its_names(folder: Path) -> None:
    jobs = read_workflows(folder)
    assert [job.name for job in jobs] == ["large", "one", "small", "d", "e"]
    assert [job.job_id for job in jobs] == [0, 1, 2, 3, 4]
    assert jobs[3].runtime_s.tolist() == [7, 8]
    assert {job.kind[0] for job in read_workflows(str(folder), kind="cpu", tick_s=60)} == {"cpu"}


def test_a_folder_without_workflows_is_refused(tmp_path: Path) -> None:
    for folder, what in (
        (tmp_path, "the folder has no workflow: no file name ends in .json..."),
        (tmp_path / "nowhere", "the folder cannot be read: no such file..."),
        ("zero\0byte", "the folder cannot be read: ..."),
    ):
        with refused(f"...: {what}", FileFormatError):
            read_workflows(folder)


# -- rates --------------------------------------------------------------------------------------------


def test_equal_gaps_are_equal(folder: Path) -> None:
    assert submits(arrivals(folder, 4, gap_s=90)) == [0, 90, 180, 270]
    assert submits(arrivals(THREE, 5, gap_s=0.7)) == [0, 1, 1, 2, 3]  # 0, 0.7, 1.4, 2.1, 2.8: rounded, not added up
    assert submits(arrivals(THREE, 3, gap_s=25, tick_s=60)) == [0, 0, 60]


@given(st.integers(1, 40), st.floats(0.05, 3), st.integers(1, 100), st.integers(0, 2**32))
def test_the_load_is_exact_from_submission_to_submission(jobs: int, load: float, cores: int, seed: int) -> None:
    made = arrivals(THREE, jobs, load=load, cores=cores, seed=seed)
    works = np.cumsum([0.0, *(job.volume_core_s for job in made[:-1])])
    np.testing.assert_allclose(submits(made), works / (load * cores), rtol=1e-12, atol=0.5 + 1e-9)
    assert [job.job_id for job in made] == list(range(jobs))


def test_random_gaps_are_exponential_and_offer_the_load() -> None:
    made = arrivals(THREE, 6_000, load=0.8, cores=4, poisson=True, seed=5)
    gaps = np.diff(submits(made))
    mean = np.mean([job.volume_core_s for job in THREE]) / (0.8 * 4)
    assert stats.kstest(gaps + np.linspace(-0.5, 0.5, len(gaps)), stats.expon(scale=mean).cdf).pvalue > 1e-3
    offered = sum(job.volume_core_s for job in made[:-1]) / (4 * made[-1].submit_s)
    assert offered == pytest.approx(0.8, rel=0.05)
    same_gaps = np.diff(submits(arrivals(THREE, 6_000, gap_s=mean, poisson=True, seed=5)))
    np.testing.assert_allclose(same_gaps, gaps, atol=1)


@pytest.mark.parametrize("poisson", [False, True])
def test_busy_hours_of_the_week_have_more_arrivals(poisson: bool) -> None:
    made = np.array(submits(arrivals(THREE, 5_000, gap_s=300, poisson=poisson, week=WEEK_WEIGHTS)))
    assert made[-1] == pytest.approx(300 * 5_000, rel=0.05)
    hours = np.bincount((made % DAY // HOUR).astype(int), minlength=24)
    days = np.bincount((made // DAY).astype(int) % 7, minlength=7)
    assert hours[15] > 8 * hours[2]
    assert days[:5].min() > 3 * days[5:].max()


# -- draws --------------------------------------------------------------------------------------------


def test_draws_with_replacement_are_of_all_alike() -> None:
    names = [job.name for job in arrivals(THREE, 3000, gap_s=1)]
    counts = [names.count(name) for name in ("small", "large", "one")]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_without_replacement_each_comes_once() -> None:
    drawn = [arrivals(THREE, gap_s=1, replacement=False, seed=seed) for seed in range(40)]
    orders = {tuple(job.name for job in jobs) for jobs in drawn}
    for job in drawn[0]:
        (source,) = (each for each in THREE if each.name == job.name)
        assert (job.curve, job.kind) == (source.curve, source.kind)
        for column in ("runtime_s", "cores", "edges"):
            np.testing.assert_array_equal(getattr(job, column), getattr(source, column))
    assert {tuple(sorted(order)) for order in orders} == {("large", "one", "small")}
    assert len(orders) == 6


def test_another_rate_changes_nothing_but_the_submissions() -> None:
    names = [
        [job.name for job in arrivals(THREE, 50, seed=2, **rate)]  # type: ignore[arg-type]
        for rate in ({"gap_s": 1}, {"gap_s": 1, "poisson": True}, {"load": 0.5, "cores": 2}, {"load": 2, "cores": 9})
    ]
    assert names[1:] == names[:-1]
    few = arrivals(THREE, 10, gap_s=3, poisson=True, seed=2)
    assert submits(few) == submits(arrivals(THREE, 50, gap_s=3, poisson=True, seed=2)[:10])


def test_real_instances_arrive_over_time(shared: Path) -> None:
    made = arrivals(shared / "workflows" / "wfformat", 50, load=0.9, cores=96, week=WEEK_WEIGHTS, tick_s=60)
    assert len({job.name for job in made}) > 8
    assert all(job.submit_s % 60 == 0 for job in made)
    assert submits(made) == sorted(submits(made))
    with pytest.raises(SimModelsError, match=r"kind has no category 'individuals', of task '.*'; known: blastall"):
        read_workflows(shared / "workflows" / "wfformat", kind={"blastall": "cpu"})
