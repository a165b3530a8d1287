"""Machines that sleep, on both engines, and as a simulator that goes second by second has them."""

import hypothesis.strategies as st
from hypothesis import given

import simmodels as sm
from simmodels.engine import Engine
from tests.examples import tries
from tests.model_scripts import rigid
from tests.naive_sleep import SecondBySecond


def off(schedule: sm.Schedule) -> list[tuple[int, float, float]]:
    return sorted(schedule.off_spans[["machine", "start_s", "end_s"]].itertuples(index=False, name=None))


def test_a_machine_that_is_taken_while_it_boots_is_replaced(engine: Engine) -> None:
    # Machine 0 boots from 20 to 30 s, and is maintained from 25 s on: when it was to be on, machine 1 is woken.
    taken = sm.MaintenanceWindow(start_s=25, duration_s=1e6, notice_s=0, machines=[0])
    policy = sm.SleepPolicy(after_s=1, boot_s=10)
    site = sm.Site(machines=2, cores_per_machine=4, sleep=policy, maintenance=[taken])
    schedule = sm.simulate(rigid((0, 1, 1, 8), (20, 5, 5, 4)), on=site, engine=engine).validate()
    assert schedule.start_s.tolist() == [0, 40]
    assert off(schedule)[1] == (1, 2, 40)


def test_those_that_stay_awake_are_replaced(engine: Engine) -> None:
    # Machine 1 sleeps from 2 s on; machine 0, which stays awake, is maintained from 10 to 30 s.
    taken = sm.MaintenanceWindow(start_s=10, duration_s=20, notice_s=0, machines=[0])
    policy = sm.SleepPolicy(after_s=1, boot_s=2, awake=1)
    site = sm.Site(machines=2, cores_per_machine=1, sleep=policy, maintenance=[taken])
    schedule = sm.simulate(rigid((0, 1, 1, 1), (40, 5, 5, 1)), on=site, engine=engine).validate()
    assert off(schedule) == [(0, 10, 30), (1, 1, 12), (1, 30, 45)]


def test_each_cluster_of_an_auction_sleeps_by_itself(engine: Engine) -> None:
    policy = sm.SleepPolicy(after_s=1, boot_s=3)
    a, b = (sm.Site(name=name, machines=1, cores_per_machine=4, kind=name, sleep=policy) for name in "ab")
    flow = sm.Workflow(1, 0.0, [5.0, 5.0], 1, [(0, 1)], ("a", "b"))
    schedule = sm.simulate([flow], on=[a, b], bid="FIFO", network="none", engine=engine).validate()
    assert schedule.start_s.tolist() == [0, 8]  # b is woken at 5 s


def test_all_clusters_look_before_one_of_them_wakes(engine: Engine) -> None:
    # At 10 s either could have the task: both are woken, though the first is on at once.
    policy = sm.SleepPolicy(after_s=1)
    on = [sm.Site(name=name, machines=1, cores_per_machine=4, sleep=policy) for name in "ab"]
    flows = [sm.Workflow(number, at_s, [1.0], 1) for number, at_s in enumerate((0.0, 10.0))]
    schedule = sm.simulate(flows, on=on, bid="FIFO", engine=engine).validate()
    spans = schedule.off_spans[["cluster", "start_s", "end_s"]].to_numpy().tolist()
    assert spans == [[0, 2, 10], [1, 1, 10], [1, 11, 11]]


# -- second by second -----------------------------------------------------------------------------


Drawn = tuple[list[tuple[int, int, int]], list[int], dict[str, int]]


@st.composite
def models(draw: st.DrawFn) -> Drawn:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    job = st.tuples(st.integers(0, 150), st.integers(1, 20), st.integers(1, sum(sizes)))
    jobs = sorted(draw(st.lists(job, min_size=1, max_size=12)), key=lambda each: each[0])
    how = {"after_s": draw(st.integers(0, 30)), "boot_s": draw(st.integers(0, 12))}
    return jobs, sizes, {**how, "awake": draw(st.integers(0, len(sizes)))}


@given(models())
@tries(150, full=5_000)
def test_both_engines_sleep_as_second_by_second(model: Drawn) -> None:
    jobs, sizes, how = model
    site = sm.Site(machines=[sm.Machines(1, cores=cores) for cores in sizes], sleep=sm.SleepPolicy(**how))
    work = rigid(*((submit, run, run, cores) for submit, run, cores in jobs))
    slow = SecondBySecond(jobs, sizes, **how)
    slow.run()
    for engine in ("compiled", "simpy"):
        schedule = sm.simulate(work, on=site, backfilling="none", engine=engine).validate()
        assert schedule.start_s.tolist() == slow.starts
        assert off(schedule) == slow.spans()
