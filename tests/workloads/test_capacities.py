from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from tests.refused import refused
from tests.work import written
from workloads.capacities import capacity_from, capacity_walk, read_series

TABLE = "time,wind,sun\n2020-01-01 00:00:00,10,1\n2020-01-01 00:30:00,25,2.5\n2020-01-01 01:00:00,5,0\n"


def table(folder: Path, text: str = TABLE) -> Path:
    return written(folder, text, "power.csv")


@given(st.integers(0, 100), st.sampled_from([4, 6, 8, 12, 16]), st.sampled_from(["three_way", "two_way"]))
def test_a_walk_stays_within_its_bounds_and_steps_by_a_quarter(seed: int, radius: int, law: str) -> None:
    walk = capacity_walk(radius=radius, until_s=300_000, seed=seed, law=law)
    assert walk.machines[0] == 24
    assert np.abs(walk.machines - 24).max() <= radius
    steps = np.abs(np.diff(walk.machines))
    assert steps.min() >= 1
    assert steps.max() <= radius // 4
    assert (walk.time_s % 1200 == 0).all()


def test_at_a_bound_it_stays_half_of_the_time() -> None:
    walk = capacity_walk(mean=1, radius=1, step=1, period_s=1, until_s=30_000, seed=2)
    time = np.append(walk.time_s, 30_000)
    share = [np.diff(time)[walk.machines == m].sum() / 30_000 for m in (0, 1, 2)]
    # the stationary law of the chain with rows (1/2, 1/2, 0), (1/3, 1/3, 1/3), (0, 1/2, 1/2)
    assert share == pytest.approx([2 / 7, 3 / 7, 2 / 7], abs=0.02)


def test_the_process_walks_as_the_table_does() -> None:
    walk = capacity_walk(until_s=50_000, seed=5)
    env = sm.Environment(seed=5)
    cluster = sm.Cluster(env, "green", machines=32, cores_per_machine=24)
    sm.MarkovCapacity(env, cluster, low=16, high=32, step=2, period_s=1200)
    seen: list[tuple[float, int]] = []
    env.on(sm.Powered, lambda _: seen.append((env.now, sum(each.is_on for each in cluster.machines))))
    env.run(until=50_000)
    last = dict(seen)
    assert list(last.items()) == list(zip(walk.time_s[1:].tolist(), walk.machines[1:].tolist(), strict=True))


def test_a_series_becomes_machines(tmp_path: Path) -> None:
    series = read_series(table(tmp_path), column="wind+sun")
    assert series["time_s"].tolist() == [0, 1800, 3600]
    assert series["value"].tolist() == [11, 27.5, 5]
    assert series.attrs["start_unix_s"] == 1_577_836_800
    capacity = capacity_from(series, per_machine=5, most=4)
    assert capacity.machines.tolist() == [2, 4, 1]
    later = capacity_from(series, per_machine=5, start_s=1800, begin_s=100)
    assert (later.time_s.tolist(), later.machines.tolist()) == ([100, 1900], [5, 1])
    again = capacity_from(series, per_machine=5, start_s=1800, until_s=9000, repeat=True)
    assert again.time_s.tolist() == [0, 1800, 3600, 5400, 7200]
    assert again.machines.tolist() == [5, 1, 2, 5, 1]


def test_what_is_a_multiple_of_a_machine_in_decimals_lets_as_many_run() -> None:
    tenths = np.arange(1, 1000)
    series = pd.DataFrame({"time_s": tenths, "value": [float(f"{tenth / 10:.1f}") for tenth in tenths]})
    assert capacity_from(series, per_machine=0.1, start_s=1).machines.tolist() == tenths.tolist()
    assert capacity_from(series, per_machine=0.7, start_s=1).machines[-1] == 142  # and not 143, of 99.9


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("2020-01-01 02:00:00,1", "the number of fields must be 3, as in the head (got 2)"),
        ("2020-01-01 02:00:00,x,1", "the value must be a number (got 'x')"),
        ("2020-01-01 02:00:00,\u0661,1", "the value must be a number (got '\u0661')"),
        (f"2020-01-01 02:00:00,{'9' * 100_000}x,1", f"the value must be a number (got '{'9' * 40}')"),
        ("2020-01-01 02:00:00,-4,1", "the value must be a finite number >= 0 (got -4.0)"),
        ("soon,1,1", "the first field must be an instant such as 2020-01-31 23:30:00 (got 'soon')"),
        ("123456-01-01,1,1", "the first field must be an instant such as 2020-01-31 23:30:00 (got '123456-01-01')"),
        ("2020-01-01 01:00:00,1,1", "2020-01-01 01:00:00 after 2020-01-01 01:00:00: instants must increase"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = table(tmp_path, f"{TABLE}{line}\n")
    with refused(f"{path}, line 5: {what}", sm.FileFormatError):
        read_series(path, column="wind")


def test_a_column_must_be_named_if_there_are_several_and_be_there_once(tmp_path: Path) -> None:
    path = table(tmp_path)
    with refused(f"{path} has several columns: wind, sun; choose one with column="):
        read_series(path)
    with refused(f"unknown column of {path} 'water'; known: wind, sun", sm.UnknownNameError):
        read_series(path, column="wind+water")
    with refused("column must be names without repetition (got 'sun+sun')"):
        read_series(path, column="sun+sun")
    path = table(tmp_path, TABLE.replace("wind,sun", "wind,wind,sun").replace(":00,", ":00,1,"))
    with refused(f"{path}, line 1: 2 columns are called 'wind'", sm.FileFormatError):
        read_series(path, column="sun+wind")
    assert len(read_series(path, column="sun")) == 3
    with refused(f"{path} has several columns: power, ... and 9980 more; choose one with column=") as caught:
        read_series(table(tmp_path, "time" + ",power" * 10_000 + "\n"))
    assert len(str(caught.value)) < len(str(tmp_path)) + 300


def test_instants_are_exact_however_far_apart_and_to_the_billionth_of_a_second(tmp_path: Path) -> None:
    instants = ["1600-01-01 00:00:00", "2020-01-01 00:00:00.1", "2020-01-01 00:00:01.25", "3000-01-01"]
    series = read_series(table(tmp_path, "time,v\n" + "".join(f"{at},1\n" for at in instants)))
    first, begin, last = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1600, 2020, 3000))
    assert series.attrs["start_unix_s"] == first
    assert series["time_s"].tolist() == [0, begin - first + 0.1, begin - first + 1.25, last - first]
    instants = ["00:00:00.9", "00:00:01.1", "00:00:02.15", "00:00:02.900000001"]
    series = read_series(table(tmp_path, "time,v\n" + "".join(f"2020-01-01 {at},1\n" for at in instants)))
    assert series["time_s"].tolist() == [0, 0.2, 1.25, 2.000000001]


@pytest.mark.parametrize("radius", [1, 2, 3])
def test_a_walk_that_would_never_step_is_refused(radius: int) -> None:
    with refused(f"radius must be 0 or at least 4, unless step= is given (got {radius})"):
        capacity_walk(radius=radius, until_s=50_000)
    assert len(capacity_walk(radius=radius, step=1, until_s=50_000)) > 1
    assert len(capacity_walk(radius=0, until_s=50_000)) == 1
    what = f"a walk from 24 machines in steps of {radius + 1} between {24 - radius} and {24 + radius} never moves"
    with refused(f"{what}..."):
        capacity_walk(radius=radius, step=radius + 1, until_s=50_000)
    assert len(capacity_walk(radius=radius, step=radius + 1, until_s=50_000, law="two_way")) > 1


def test_the_shared_series_are_read(shared: Path) -> None:
    nodes = capacity_from(read_series(shared / "capacity/philly_node_sequence.csv.gz", column="active"))
    assert nodes.machines.max() <= 552
    wind = read_series(shared / "capacity/gb_production_2020.csv.gz", column="Wind Offshore+Wind Onshore")
    assert len(wind) == 21_980
    assert capacity_from(wind, per_machine=400, most=32).machines.max() <= 32
    assert len(read_series(shared / "capacity/solar_berlin_2021-06.csv")) == 41_760
