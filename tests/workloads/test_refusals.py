"""What makers of work refuse: arguments out of their range, and parameters that make no distribution."""

import math
from collections.abc import Callable

import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from tests.refused import refused
from workloads.lublin import ALL_JOBS
from workloads.perotin import variable_capacity_jobs

FLOWS = [sm.Workflow(number, 5.0, [30.0], 2) for number in range(3)]


def estimated(*runtimes_s: float, **options: object) -> sm.Workload:
    """Estimate jobs that run so long; without any, one of 5 s."""
    lengths = list(runtimes_s or [5])
    log = sm.Workload(range(1, len(lengths) + 1), [0.0] * len(lengths), lengths, lengths, [1] * len(lengths))
    return wl.tsafrir_estimates(log, **options)


def at_load(**options: object) -> list[sm.Workflow]:
    """Submit workflows at a load of 1."""
    return wl.at_load(FLOWS, **{"load": 1, "cores": 1, **options})


def resampled(apart: float, **options: object) -> sm.Workload:
    """Resample a log of two jobs, these weeks apart."""
    return wl.resample(sm.Workload([1, 2], [0.0, apart * sm.WEEK], [5, 5], [5, 5], [1, 1]), **options)


def capacity(*rows: tuple[float, float], **options: object) -> sm.Capacity:
    """Make a capacity of a series of instants and values."""
    return wl.capacity_from(pd.DataFrame(rows or [(0.0, 3.0), (10.0, 4.0)], columns=["time_s", "value"]), **options)


COUNT = "an integer from 1 to 2**53"
MOST = "max_estimate_s must be a finite number"
WEEKS = "the number of whole weeks in 'workload' must be at least"
REFUSALS: list[tuple[Callable[[], object], str]] = [
    (lambda: wl.layers(2.5), f"tasks must be {COUNT} (got 2.5)"),
    (lambda: wl.layers(9, out_degree=0), f"out_degree must be {COUNT} (got 0)"),
    (lambda: wl.layers(9, shape=0), "shape must be a finite number > 0 (got 0)"),
    (lambda: wl.fork_join(0), f"width must be {COUNT} (got 0)"),
    (lambda: wl.fork_join(1, True), f"stages must be {COUNT} (got True)"),
    (lambda: wl.cholesky("4"), f"tiles must be {COUNT} (got '4')"),
    (lambda: wl.erdos_renyi_levels([3, 0], 0.5), "widths must be a list of integers >= 1, one per level (got [3, 0])"),
    (lambda: wl.erdos_renyi_levels([3], 1.5), "probability must be a number from 0 to 1 (got 1.5)"),
    (lambda: wl.layers(9, runtime_s=("1min", "2min")), "runtime_s must be a number, a range (low, high) of numbers..."),
    (lambda: wl.layers(9, runtime_s=(5, 1)), "runtime_s must be a number, a range (low, high) of numbers, or..."),
    (lambda: wl.layers(9, cores=(1.5, 3)), "cores must be a number, a range (low, high) of integers, or..."),
    (lambda: wl.layers(9, runtime_s=[1, 2, 3]), "...a function of a generator (got [1, 2, 3])"),
    (lambda: wl.layers(9, runtime_s={"work": 1}), "runtime_s has no category None; known: work"),
    (lambda: wl.cholesky(3, kind={"GEMM": "gpu"}), "kind has no category 'POTRF'; known: GEMM"),
    (lambda: wl.lublin(0, 128), f"jobs must be {COUNT} (got 0)"),
    (lambda: wl.lublin(5, 1), "cores must be an integer from 2 to 2**53 (got 1)"),
    (lambda: wl.lublin(5, 128, load=0), "load must be a finite number > 0, or None (got 0)"),
    (lambda: wl.lublin(5, 4, interactive=True), "cores must be greater than 2**2.5, with these parameters (got 4)"),
    (
        lambda: wl.lublin(5, 128, interactive=True, parameters=ALL_JOBS),
        "parameters have no effect with interactive=True; omit one of them",
    ),
    (lambda: estimated(5, -1), "job 2 has a runtime of -1 s; clean the workload first"),
    (lambda: wl.tsafrir_estimates(wl.lublin(5, 128).head(0)), "workload 'lublin' has no jobs to estimate"),
    (lambda: estimated(max_estimate_s=600), f"{MOST} >= 3600, the longest runtime and an hour (got 600)"),
    (lambda: estimated(9999, max_estimate_s=3600), f"{MOST} >= 9999, the longest runtime and an hour (got 3600)"),
    (
        lambda: estimated(popular={7200.0: 0.5}),
        "a value of popular must be a number of seconds > 0 and <= 3600 (got 7200.0)",
    ),
    (lambda: estimated(popular={60.0: 1.5}), "the share of popular value 60 s must be a number from 0 to 1 (got 1.5)"),
    (lambda: estimated(popular={60.0: 0.7, 90.0: 0.7}), "the sum of the shares of popular must be at most 1 (got 1.4)"),
    (
        lambda: estimated(popular=dict.fromkeys(map(float, range(1, 21)), 0.01)),
        "popular must be at most 19 values beside the largest estimate (got 20)",
    ),
    (lambda: estimated(parameters=3), "parameters must be a TsafrirParameters, or None (got 3)"),
    (lambda: wl.market_workload(5, parameters=3), "parameters must be a MarketParameters (got 3)"),
    (lambda: wl.market_workload(0), f"jobs must be {COUNT} (got 0)"),
    (lambda: wl.market_workload(5, load=-1), "load must be a finite number > 0 (got -1)"),
    (lambda: wl.market_workload(5, cores=0), f"cores must be {COUNT} (got 0)"),
    (lambda: at_load(load=0.0), "load must be a finite number > 0 (got 0.0)"),
    (lambda: at_load(cores=0), f"cores must be {COUNT} (got 0)"),
    (lambda: at_load(week=(1.0, -1.0)), "weight 1 of the week must be a finite number >= 0 (got -1.0)"),
    (lambda: at_load(week=(0.0, 0.0)), "the sum of the weights of the week must be > 0 (got 0.0)"),
    (lambda: at_load(tick_s=0.0), "tick_s must be a finite number of seconds > 0 (got 0.0)"),
    (
        lambda: wl.arrivals(FLOWS),
        "...not determined by load=None, cores=None, gap_s=None; give load and cores, or gap_s alone",
    ),
    (lambda: wl.arrivals(FLOWS, load=1.0, cores=4, gap_s=3), "...load=1.0, cores=4, gap_s=3; ..."),
    (lambda: wl.arrivals(FLOWS, cores=4, gap_s=3), "...load=None, cores=4, gap_s=3; ..."),
    (lambda: wl.arrivals(FLOWS, load=0, cores=4), "load must be a finite number > 0 (got 0)"),
    (lambda: wl.arrivals(FLOWS, load=1, cores=0), f"cores must be {COUNT} (got 0)"),
    (lambda: wl.arrivals(FLOWS, gap_s=0), "gap_s must be a finite number of seconds > 0 (got 0)"),
    (lambda: wl.arrivals(FLOWS, 0, gap_s=1), f"jobs must be {COUNT}, or None (got 0)"),
    (lambda: wl.arrivals([], gap_s=1), "instances must be at least one workflow (got [])"),
    (
        lambda: wl.arrivals(FLOWS, 4, gap_s=1, replacement=False),
        "jobs must be at most 3, the instances, without replacement (got 4)",
    ),
    (lambda: resampled(0.1), f"{WEEKS} 1 (got 0)"),
    (lambda: resampled(2, how="permuted"), f"{WEEKS} 3 (got 2)"),
    (lambda: resampled(1, weeks=0), f"weeks must be {COUNT} (got 0)"),
    (lambda: resampled(1, how="shuffled"), "unknown how 'shuffled'; known: drawn, permuted"),
    (lambda: resampled(1, columns="queue"), "columns must be a list of names (got 'queue')"),
    (lambda: resampled(1, columns=["queue"]), "unknown column 'queue'; there is none"),
    (lambda: capacity(most=2, least=4), "most must be an integer from 4 to 2**53, or None (got 2)"),
    (lambda: capacity(until_s=math.nan), "until_s must be a finite number of seconds, or None (got nan)"),
    (lambda: capacity(per_machine=math.nan), "per_machine must be a finite number > 0 (got nan)"),
    (lambda: capacity((0, 3), (10, math.nan)), "value in row 1 of the series must be a finite number (got nan)"),
    (lambda: capacity((0, 3), (math.nan, 1)), "time_s in row 1 of the series must be a finite number (got nan)"),
    (
        lambda: capacity((0, 3), (10, 1), (10, 2)),
        "time_s in row 2 of the series must be greater than 10, of the row before (got 10.0)",
    ),
    (lambda: variable_capacity_jobs("Zipf"), "unknown family 'Zipf'..."),
    (lambda: variable_capacity_jobs("Uniform", jobs_per_week=0), f"jobs_per_week must be {COUNT} (got 0)"),
    (lambda: variable_capacity_jobs("Uniform", load=0), "load must be a finite number of machines > 0 (got 0)"),
    *(
        (
            lambda odd=odd: variable_capacity_jobs("LogScale", shares=odd),
            "shares must be four finite numbers >= 0, not all 0...",
        )
        for odd in ((1, 2, 3), (0, 0, 0, 0), (1, 1, 1, -1), (1, 1, 1, math.nan))
    ),
]


@pytest.mark.parametrize(("make", "what"), REFUSALS)
def test_an_argument_out_of_its_range_is_refused(make: Callable[[], object], what: str) -> None:
    with refused(what):
        make()


LUBLIN, TSAFRIR, MARKET = wl.LublinParameters, wl.TsafrirParameters, wl.MarketParameters
PARAMETERS: list[tuple[type, str, list[object]]] = [
    (LUBLIN, "serial_probability", [-0.1, 0.5]),
    (LUBLIN, "size_low_probability", [1.1]),
    (LUBLIN, "runtime_shape_1", [0.0]),
    (LUBLIN, "runtime_slope", [math.nan]),
    (LUBLIN, "size_low", [math.inf]),
    (LUBLIN, "gap_scale", [math.inf]),
    (LUBLIN, "gap_ratio", [-1.0]),
    (LUBLIN, "day_start_slot", [0, 49]),
    (TSAFRIR, "head_share", [0.4, 1.1]),
    (TSAFRIR, "head", [(-14.0, -0.1, 0.0)]),
    (TSAFRIR, "tail", [math.nan]),
    (TSAFRIR, "times", [(0.0, -0.6), (12.0, math.inf)]),
    (MARKET, "log10_volume", [(3.0, 2.0), (0.1, 0.5), (1.0, 16.0)]),
    (MARKET, "tasks", [(0, 5), (6, 5)]),
    (MARKET, "ends", ["cut"]),
    (MARKET, "core_sizes", [(), (0, 1), (4, 2)]),
    (MARKET, "kinds", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}]),
    (MARKET, "edge_share", [-1.0, math.inf]),
    (MARKET, "tries", [0]),
    (MARKET, "initial_slr", [(2.0, 7.0)]),
    (MARKET, "final_slr", [(math.nan, 7.0)]),
    (MARKET, "curve_points", [(-1, 3)]),
]


@pytest.mark.parametrize(("kind", "name", "values"), PARAMETERS)
def test_parameters_that_make_no_distribution_are_refused(kind: type, name: str, values: list[object]) -> None:
    for value in values:
        with refused(f"...{name.removesuffix('_slr')}..."):
            kind(**{name: value})
