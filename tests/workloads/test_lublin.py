import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import simmodels as sm
from simmodels.work.workload import Workload
from workloads import LublinParameters, lublin, read_swf
from workloads.lublin import ALL_JOBS, BATCH, INTERACTIVE, SLOT_S, SLOTS, _at, _turned, _weights

KINDS = {"all": ALL_JOBS, "batch": BATCH, "interactive": INTERACTIVE}
CLASSES = pytest.mark.parametrize("chosen", KINDS.values(), ids=KINDS)


# -- what it gives ----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.integers(1, 200), st.integers(8, 5000), st.integers(0, 2**40), st.booleans(), st.none() | st.floats(0.01, 5.0)
)
def test_any_workload_can_run_on_its_machine(
    jobs: int, cores: int, seed: int, interactive: bool, load: float | None
) -> None:
    made = lublin(jobs, cores, seed=seed, interactive=interactive, load=load)
    assert len(made) == jobs
    assert made.max_cores == cores
    assert made.runnable(cores).all()
    assert made.job_id.tolist() == list(range(1, jobs + 1))
    assert (np.diff(made.submit_s) >= 0).all()
    assert made.submit_s[0] >= 0
    assert (made.runtime_s >= 1).all()
    assert (made.runtime_s <= math.exp(12)).all()
    np.testing.assert_array_equal(made.estimate_s, made.runtime_s)
    for column in (made.submit_s, made.runtime_s):
        np.testing.assert_array_equal(column, np.floor(column))


def test_more_jobs_of_the_same_seed_arrive_as_the_first_ones_did() -> None:
    np.testing.assert_array_equal(lublin(100, 128, seed=1).submit_s, lublin(500, 128, seed=1).submit_s[:100])


def test_the_header_says_where_the_jobs_come_from() -> None:
    assert lublin(5, 128, seed=3, interactive=True).header == (
        "; Version: 2.2",
        "; MaxJobs: 5",
        "; MaxRecords: 5",
        "; MaxProcs: 128",
        "; Note: jobs of the workload model of Lublin and Feitelson (2003), seed 3",
        "; Queue: 0 interactive",
        "; Queue: 1 batch",
    )


@pytest.mark.parametrize(("load", "interactive"), [(0.3, False), (1.2, True)])
def test_the_load_is_the_one_asked_for_and_days_stay_days(load: float, interactive: bool) -> None:
    made = lublin(5000, 256, seed=5, interactive=interactive, load=load)
    offered = (made.cores * made.runtime_s).sum() / (256 * made.submit_s[-1])
    assert offered == pytest.approx(load, rel=1e-4)
    hours = np.bincount((made.submit_s % sm.DAY // sm.HOUR).astype(int), minlength=24)
    assert hours[9:18].sum() > 3 * hours[:7].sum()


# -- against theory ---------------------------------------------------------------------------------

MANY = 40_000


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def sample(request: pytest.FixtureRequest) -> tuple[LublinParameters, Workload]:
    """Return the parameters and many jobs of a class."""
    return request.param, lublin(MANY, 128, seed=11, parameters=request.param)


def test_sizes_are_serial_powers_of_two_or_any_as_often_as_published(sample: tuple[LublinParameters, Workload]) -> None:
    chosen, jobs = sample
    high = 7 - chosen.size_high_below
    middle, low = high - chosen.size_middle_below, chosen.size_low

    def below(log2: float) -> float:
        """Return the probability that log2 of a parallel job's size is below, by the two-stage uniform distribution."""
        first = np.clip((log2 - low) / (middle - low), 0, 1)
        second = np.clip((log2 - middle) / (high - middle), 0, 1)
        return float(chosen.size_low_probability * first + (1 - chosen.size_low_probability) * second)

    odd = 1 - chosen.serial_probability - chosen.power_of_two_probability
    for size in range(1, 129):
        expected = odd * (below(math.log2(size + 0.5)) - below(math.log2(size - 0.5)))
        if size.bit_count() == 1:
            power = math.log2(size)
            expected += chosen.power_of_two_probability * (below(power + 0.5) - below(power - 0.5))
        expected += chosen.serial_probability * (size == 1)
        tolerance = 4.5 * math.sqrt(expected * (1 - expected) / MANY) + 1e-9
        assert (jobs.cores == size).mean() == pytest.approx(expected, abs=tolerance), size


def test_log_runtimes_have_the_moments_of_the_mixture_given_the_size(sample: tuple[LublinParameters, Workload]) -> None:
    chosen, jobs = sample
    first = stats.gamma(chosen.runtime_shape_1, scale=chosen.runtime_scale_1)
    second = stats.gamma(chosen.runtime_shape_2, scale=chosen.runtime_scale_2)
    log = np.log(jobs.runtime_s + 0.5)  # runtimes are whole seconds, rounded down
    for least, most in [(1, 1), (2, 2), (4, 4), (8, 16), (32, 128)]:
        mine = (jobs.cores >= least) & (jobs.cores <= most)
        share = np.clip(chosen.runtime_slope * jobs.cores[mine] + chosen.runtime_offset, 0, 1).mean()
        mean = share * first.mean() + (1 - share) * second.mean()
        square = share * first.moment(2) + (1 - share) * second.moment(2)
        error = math.sqrt((square - mean**2) / mine.sum())
        assert log[mine].mean() == pytest.approx(mean, abs=4.5 * error + 0.03), (least, most)  # cut at 12, rounding
        assert (log[mine] ** 2).mean() == pytest.approx(square, rel=0.06), (least, most)


def test_log_gaps_on_the_clock_of_arrivals_are_gamma(sample: tuple[LublinParameters, Workload]) -> None:
    chosen, jobs = sample
    gaps_s = np.diff(_turned(jobs.submit_s, chosen)) * SLOT_S
    law = stats.gamma(chosen.gap_shape * chosen.gap_ratio, scale=chosen.gap_scale)
    long = gaps_s > 30  # whole seconds matter less there
    expected = stats.kstest(np.log(gaps_s[long]), lambda x: (law.cdf(x) - law.cdf(np.log(30))) / law.sf(np.log(30)))
    assert expected.statistic < 0.02
    assert long.mean() == pytest.approx(law.sf(np.log(30)), abs=0.02)


@CLASSES
def test_slots_have_the_shares_of_the_gamma_distribution_and_average_one(chosen: LublinParameters) -> None:
    weights = _weights(chosen)
    assert weights.mean() == pytest.approx(1)
    law = stats.gamma(chosen.day_shape, scale=chosen.day_scale)
    for slot in (10, 20, 40, 47, 0, 9):
        number = slot + 1 if slot >= 10 else slot + 1 + SLOTS
        ratio = (law.cdf(number + 0.5) - law.cdf(number - 0.5)) / (law.cdf(21.5) - law.cdf(20.5))
        assert weights[slot] / weights[20] == pytest.approx(ratio)
    assert 22 <= int(np.argmax(weights)) <= 30  # the peak is between 11 and 15 o'clock


@CLASSES
def test_the_clock_of_arrivals_can_be_read_both_ways(chosen: LublinParameters) -> None:
    time_s = np.linspace(0, 20 * sm.DAY, 5001)
    turned = _turned(time_s, chosen)
    assert (np.diff(turned) > 0).all()
    np.testing.assert_allclose(_at(turned, chosen), time_s, rtol=1e-12, atol=1e-6)
    assert float(_turned(3 * sm.DAY, chosen)) == pytest.approx(3 * SLOTS)


def test_two_classes_are_the_two_streams_in_order_of_arrival() -> None:
    jobs = lublin(20_000, 128, seed=2, interactive=True)
    queue = jobs.extras["queue"]
    for number, chosen in enumerate((INTERACTIVE, BATCH)):
        mine = queue == number
        serial = (jobs.cores[mine] == 1).mean()
        assert serial == pytest.approx(chosen.serial_probability, abs=0.03)
    log = np.log(jobs.runtime_s)
    assert log[queue == 1].mean() > log[queue == 0].mean() + 3
    assert jobs.cores[queue == 0].max() <= 46  # 2 ** 5.5
    assert jobs.cores[queue == 1].max() > 64


@pytest.mark.parametrize("cores", [2, 3, 5, 100, 1000, 80_640])
def test_a_machine_of_any_size_gets_jobs_that_fit_and_no_odd_power(cores: int) -> None:
    only_powers = replace(ALL_JOBS, serial_probability=0.0, power_of_two_probability=1.0)
    jobs = lublin(2000, cores, seed=1, parameters=only_powers)
    assert set(jobs.cores.tolist()) <= {2**power for power in range(18)}
    assert jobs.cores.max() <= cores


# -- against the authors' own sample ----------------------------------------------------------------


@pytest.fixture(scope="module")
def theirs(shared: Path) -> Workload:
    """Return the 10,000 jobs on 256 cores that the authors' generator made, one class of jobs."""
    return read_swf(shared / "traces" / "lublin_256.swf.gz")


@pytest.mark.parametrize("seed", range(3))
def test_sizes_runtimes_and_gaps_are_distributed_as_in_the_authors_sample(theirs: Workload, seed: int) -> None:
    ours = lublin(10_000, 256, seed=seed)
    # Two samples of 10,000 of one law are further apart than 0.023 in one case of 100.
    assert stats.ks_2samp(ours.cores, theirs.cores).statistic < 0.023
    assert stats.ks_2samp(ours.runtime_s, theirs.runtime_s).statistic < 0.023
    assert stats.ks_2samp(np.diff(ours.submit_s), np.diff(theirs.submit_s)).statistic < 0.023
    assert (ours.cores == 1).mean() == pytest.approx((theirs.cores == 1).mean(), abs=0.015)
    correlations = [stats.spearmanr(one.cores, one.runtime_s).statistic for one in (ours, theirs)]
    assert correlations[0] == pytest.approx(correlations[1], abs=0.04)


def test_the_authors_sample_keeps_to_our_clock_of_arrivals(theirs: Workload) -> None:
    gaps_s = np.diff(_turned(theirs.submit_s, ALL_JOBS)) * SLOT_S
    law = stats.gamma(ALL_JOBS.gap_shape * ALL_JOBS.gap_ratio, scale=ALL_JOBS.gap_scale)
    good = stats.kstest(np.log(gaps_s[gaps_s > 3]), law.cdf).statistic
    assert good < 0.012
    for start in (5, 17, 23):  # another beginning of the day would not fit
        shifted = replace(ALL_JOBS, day_start_slot=start)
        gaps_s = np.diff(_turned(theirs.submit_s, shifted)) * SLOT_S
        assert stats.kstest(np.log(gaps_s[gaps_s > 3]), law.cdf).statistic > good
