from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.errors import FileFormatError, RequestError
from workloads.capacities import capacity_from, capacity_walk, read_series

TABLE = "time,wind,sun\n2020-01-01 00:00:00,10,1\n2020-01-01 00:30:00,25,2.5\n2020-01-01 01:00:00,5,0\n"


def table(folder: Path, text: str = TABLE) -> Path:
    path = folder / "power.csv"
    path.write_text(text)
    return path


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
    env.on("powered", lambda _: seen.append((env.now, sum(each.is_on for each in cluster.machines))))
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


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("2020-01-01 02:00:00,1", "2 fields; the head has 3"),
        ("2020-01-01 02:00:00,x,1", "'x': a number is needed"),
        ("2020-01-01 02:00:00,-4,1", "-4.0: a finite number >= 0 is allowed"),
        ("2020-01-01 02:00:00,nan,1", "nan: a finite number >= 0 is allowed"),
        ("soon,1,1", "'soon': an instant is needed"),
        ("2020-01-01 01:00:00,1,1", "2020-01-01 01:00:00 after 2020-01-01 01:00:00: increasing is allowed"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = table(tmp_path, f"{TABLE}{line}\n")
    with pytest.raises(FileFormatError) as error:
        read_series(path, column="wind")
    assert str(error.value) == f"{path}, line 5: {what}"


def test_a_column_must_be_named_if_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="column= names one of wind, sun"):
        read_series(table(tmp_path))
    with pytest.raises(RequestError, match="has no column 'water'"):
        read_series(table(tmp_path), column="wind+water")


@given(
    st.binary(max_size=150) | st.text("time,v\n0123456789- :.e", max_size=150).map(lambda rest: f"t,v\n{rest}".encode())
)
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("series") / "power.csv"
    path.write_bytes(data)
    try:
        series = read_series(path, column="v")
    except (FileFormatError, RequestError) as error:
        assert str(path) in str(error)  # noqa: PT017  either way out is right
    else:
        assert (np.diff(series["time_s"]) > 0).all()
        assert np.isfinite(series["value"]).all()


def test_the_shared_series_are_read(shared: Path) -> None:
    nodes = capacity_from(read_series(shared / "capacity/philly_node_sequence.csv.gz", column="active"))
    assert nodes.machines.max() <= 552
    wind = read_series(shared / "capacity/gb_production_2020.csv.gz", column="Wind Offshore+Wind Onshore")
    assert len(wind) == 21_980
    assert capacity_from(wind, per_machine=400, most=32).machines.max() <= 32
    assert len(read_series(shared / "capacity/solar_berlin_2021-06.csv")) == 41_760
