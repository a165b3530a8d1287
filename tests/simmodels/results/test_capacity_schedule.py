import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.clusters.capacity import Walk


def schedule() -> sm.Schedule:
    """Two machines of 2 cores, the second off from 4 h to 8 h; three jobs, hours long."""
    jobs = sm.Workload([1, 2], np.array([0.0, 0.0]), np.array([10.0, 6.0]) * sm.HOUR, np.zeros(2), [2, 2])
    return sm.simulate_on_machines(
        jobs, [(0, 2), (4 * sm.HOUR, 1), (8 * sm.HOUR, 2)], cores_per_machine=2, window_s=(0, 16 * sm.HOUR)
    )


def off(schedule: sm.Schedule) -> list[list[float]]:
    return schedule.off_spans[["machine", "start_s", "end_s"]].to_numpy().tolist()


def test_machines_are_known_to_be_dark_as_far_as_the_window_goes() -> None:
    assert off(schedule()) == [[1, 4 * sm.HOUR, 8 * sm.HOUR]]
    jobs = sm.Workload([1], [0.0], [50.0], [50.0], [1])
    table = [(0, 1), (10, 3), (20, 0), (30, 0), (40, 2)]
    found = sm.simulate_on_machines(jobs, table, cores_per_machine=1, window_s=(5, 45))
    assert off(found) == [[0, 20, 40], [1, 5, 10], [1, 20, 40], [2, 5, 10], [2, 20, 45]]


def test_the_table_of_attempts_is_made_once_and_goes_where_its_schedule_does() -> None:
    found = schedule()
    table = found.attempts
    assert table is not None
    assert found.attempts is table
    assert table["job_id"].tolist() == [1, 2, 2]
    for other in (pickle.loads(pickle.dumps(schedule())), dataclasses.replace(schedule(), about={})):
        pd.testing.assert_frame_equal(other.attempts, table)


def test_a_cluster_that_is_off_throughout_has_no_goodput() -> None:
    """Five cores for 3.6 s are not what machines of 1, 1, 1 and 2 cores come to, rounded one after the other."""
    off_ = sm.Site(name="off", machines=[sm.Machines(3, 1), sm.Machines(1, 2)], capacity=[(0, 0), (99, 4)])
    work = sm.Workflow(1, 6.2, [9.8 - 6.2], 1)
    found = sm.simulate([work], on=[sm.Site(name="on", machines=1, cores_per_machine=1), off_], bid="FIFO")
    assert found.window == (6.2, 9.8)
    assert np.isnan(found.on("off").metrics()["goodput"])
    assert found.on("on").metrics()["goodput"] == 1


def test_energy_carbon_and_cost_by_hand() -> None:
    # on: 2 machines x 12 h + 1 x 4 h = 28 machine-hours; cores: job 1 20, job 2 8 lost + 12 core-hours
    power = sm.Power(machine_w=100, core_w=10)
    carbon = sm.Signal(np.array([0.0, 8.0 * sm.HOUR]), np.array([500.0, 100.0]))
    found = schedule().energy(power, carbon_g_per_kwh=carbon, price_per_kwh=sm.Signal.constant(0.2))
    assert found["energy_kwh"] == pytest.approx(2.8 + 0.4)
    assert found["cost"] == pytest.approx(0.2 * 3.2)
    early, late = 0.1 * (4 * 2 + 4) + 0.01 * (16 + 8), 0.1 * 16 + 0.01 * (4 + 12)
    assert found["carbon_g"] == pytest.approx(500 * early + 100 * late)
    by_job = schedule().energy_by_job(power, carbon_g_per_kwh=carbon)
    assert by_job["energy_kwh"].tolist() == pytest.approx([20 * (0.01 + 0.05), 20 * (0.01 + 0.05)])
    assert by_job["carbon_g"].tolist() == pytest.approx([60 * (16 * 0.5 + 4 * 0.1), 60 * (8 * 0.5 + 12 * 0.1)])


@pytest.mark.parametrize(
    ("sizes", "cores", "machines"),
    [
        ((1, 7), [8], [2]),
        ((7, 1), [8], [2]),
        ((2, 6), [3, 5], [1 + 1 / 6, 5 / 6]),
        ((6, 2), [5, 3], [5 / 6, 1 / 6 + 1]),
        ((4, 4), [3, 5], [3 / 4, 5 / 4]),
    ],
)
def test_a_job_is_charged_its_share_of_each_of_its_machines(
    sizes: tuple[int, ...], cores: list[int], machines: list[float]
) -> None:
    jobs = {"submit_s": [0] * len(cores), "runtime_s": [3600] * len(cores), "cores": cores}
    whole = sm.simulate(jobs, machines=[sm.Machines(1, cores=each) for each in sizes])
    signals = {"carbon_g_per_kwh": sm.Signal.constant(100.0), "price_per_kwh": sm.Signal.constant(0.5)}
    kwh = np.array(machines) + 0.01 * np.array(cores)
    for found in (whole, whole.on(0)):
        by_job = found.energy_by_job(sm.Power(machine_w=1000, core_w=10), **signals).drop(columns="job_id")
        assert by_job.to_numpy().tolist() == [pytest.approx([each, 100 * each, each / 2]) for each in kwh]
        # the jobs fill all machines
        assert by_job.sum().to_dict() == pytest.approx(found.energy(sm.Power(machine_w=1000, core_w=10), **signals))


@pytest.mark.parametrize("begin", [0.0, 1e8, 1.7e9, 1e12])
def test_work_is_proved_as_exactly_as_the_instants_of_a_schedule_can_be_represented(begin: float) -> None:
    # tenths of seconds, which no float is; job 2 loses machine 1 after 0.3 s, and what it saved is a sum
    jobs = sm.Workload([1, 2], begin + np.array([0.1, 0.2]), [0.7, 0.9], [1, 1], [2, 2])
    fine = sm.simulate_on_machines(
        jobs,
        [sm.CapacityChange(begin, 2), sm.CapacityChange(begin + 0.5, 1, notice_s=0.1, mode="checkpoint")],
        cores_per_machine=2,
        window_s=(begin, begin + 10),
    ).validate()
    work_s = fine.attempts["work_s"]
    assert work_s.tolist() == pytest.approx([0.7, 0.3, 0.6], abs=1e-3 if begin > 1e11 else 1e-6)
    for off_s in (0.05, -0.05):
        for row in range(3):
            wrong = work_s.where(work_s.index != row, work_s + off_s)
            with pytest.raises(sm.IllegalScheduleError, match="work"):
                dataclasses.replace(fine, attempts=fine.attempts.assign(work_s=wrong)).validate()


@pytest.mark.parametrize("column", ["start_s", "end_s"])
def test_a_schedule_that_is_off_by_a_twentieth_of_a_second_is_refused_at_unix_times(column: str) -> None:
    jobs = sm.Workload([1, 2], 1e9 + np.array([0.1, 0.2]), [0.7, 0.9], [1, 1], [2, 2])
    fine = sm.simulate_on_machines(jobs, [(1e9, 1)], cores_per_machine=2, window_s=(1e9, 1e9 + 10)).validate()
    for off_s in (0.05, -0.05):
        for row in range(2):
            wrong = getattr(fine, column) + off_s * (np.arange(2) == row)
            with pytest.raises(sm.IllegalScheduleError):
                dataclasses.replace(
                    fine, **{column: wrong}, attempts=fine.attempts.assign(**{column: wrong})
                ).validate()


def test_a_capacity_is_a_step_function() -> None:
    capacity = sm.Capacity.of([sm.CapacityChange(10, 3), sm.CapacityChange(20, 1, notice_s=5, mode="drain")])
    assert [capacity.machines_at(at) for at in (0, 10, 19.9, 20, 99)] == [3, 3, 3, 1, 1]
    assert capacity.machine_seconds(0, 30) == 3 * 20 + 10
    assert capacity.machine_seconds(12, 22) == 3 * 8 + 2
    frame = capacity.to_frame()
    assert sm.Capacity.of(frame).to_frame().equals(frame)
    again = capacity.repeat(length_s=15, until_s=50)
    assert again.time_s.tolist() == [10, 20, 25, 35, 40]
    assert again.machines.tolist() == [3, 1, 3, 1, 3]
    with pytest.raises(ValueError, match="read-only"):
        capacity.machines[0] = 5


def test_capacities_of_the_same_changes_are_equal_and_so_are_sites() -> None:
    changes = [sm.CapacityChange(10, 3), sm.CapacityChange(20, 1, notice_s=5, mode="drain")]
    first, second = (sm.Site(cores_per_machine=4, capacity=sm.Capacity.of(changes)) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    for other in ([(10, 3)], [(10, 3), (20, 1)], [(10, 3), sm.CapacityChange(21, 1, notice_s=5, mode="drain")]):
        assert sm.Capacity.of(other) != first.capacity
    assert first.capacity != changes


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ([], "a capacity of 0 changes"),
        ([(float("nan"), 1)], r"time_s must be a finite number of seconds \(got nan\)"),
        ([(0, 1, -2)], r"notice_s must be a finite number of seconds >= 0 \(got -2\)"),
        ([(0, 1.5)], r"machines must be an integer from 0 to 2\*\*53 \(got 1.5\)"),
        ([(0, 1), (1e16, 2)], r"time_s must be between -2\*\*53 and 2\*\*53 s, .* \(got 1e\+16\)"),
    ],
)
def test_a_capacity_that_cannot_be_is_refused(changes: list[tuple[float, int]], what: str) -> None:
    with pytest.raises(sm.RequestError, match=what):
        sm.Capacity.of(changes)
    with pytest.raises(sm.UnknownNameError, match="unknown mode 'explode'"):
        sm.CapacityChange(0, 1, mode="explode")
    with pytest.raises(sm.RequestError, match=r"time_s must be .* beyond which floats cannot represent every second"):
        sm.Capacity(np.array([0.0, 2.0**53]), np.array([1, 2]))


def test_one_step_of_the_walk() -> None:
    walk = Walk(16, 32, 2)
    assert [walk.after(24, u) for u in (0, 0.34, 0.99)] == [22, 24, 26]
    assert [walk.after(32, u) for u in (0, 0.5)] == [30, 32]
    assert [Walk(16, 32, 2, "two_way").after(32, u) for u in (0.49, 0.5)] == [30, 32]
    with pytest.raises(sm.RequestError, match=r"machines must be an integer from 16 to 32 \(got 40\)"):
        walk.require_moves(40)


def test_young_and_dalys_interval() -> None:
    assert sm.young_daly_s(60, 3000) == 600
    with pytest.raises(sm.RequestError, match="cost_s must be a finite number of seconds > 0"):
        sm.young_daly_s(0, 3000)
    with pytest.raises(sm.RequestError, match=r"interval_s must be a number of seconds > 0 \(got 0\)"):
        sm.Checkpoints(interval_s=0)
    with pytest.raises(sm.UnknownNameError, match="unknown warm_credit 'half'; known: whole, partial"):
        schedule().metrics(warm_credit="half")  # type: ignore[arg-type]
