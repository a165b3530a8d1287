"""An auction on machines that are switched on and off: hand-drawn schedules, and both engines on any."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.policies.bids import find_bid
from tests.examples import tries
from tests.on_machines import assert_identical, outages, runs
from tests.simmodels.passes.test_bidding import LONG, RULES, flows, job

# -- drawn by hand ------------------------------------------------------------------------------------


def test_a_task_that_loses_its_machine_bids_again(engine: Any) -> None:  # noqa: ANN401
    # SRTF: the short job first; machine 1 goes at 6 with the long one on both, which begins again at 20
    jobs = [job(0, 4, 2, curve=LONG), job(1, 9, 3, curve=LONG)]
    site = sm.Site(name="a", cores_per_machine=2, capacity=[(0, 2), (6, 1), (20, 2)])
    schedule = sm.simulate(jobs, on=site, bid="SRTF", engine=engine).validate()
    assert runs(schedule) == [(0, 0, 0, 4, 0), (0, 0, 4, 6, 2), (0, 0, 20, 29, 0)]
    assert schedule.runs["lost_s"].tolist() == [0, 2, 0]


def test_what_waits_for_machines_that_never_come_is_unfinished_or_starves(engine: Any) -> None:  # noqa: ANN401
    site = sm.Site(name="a", cores_per_machine=2, capacity=[(0, 2), (3, 1), (8, 0)])
    forever = sm.simulate([job(0, 4, 4, curve=sm.FOREVER)], on=site, bid="FIFO", engine=engine).validate()
    assert runs(forever) == [(0, 0, 0, 3, 2)]
    assert (forever.workflow_outcome.tolist(), forever.window) == ([3], (0, 8))
    starved = sm.simulate([job(0, 4, 4)], on=site, bid="FIFO", engine=engine).validate()
    assert (starved.workflow_outcome.tolist(), starved.window) == ([1], (0, 24))  # 6 times its critical path


def test_easy_keeps_its_promise_at_the_speed_of_the_machines(engine: Any) -> None:  # noqa: ANN401
    # At twice the speed the first ends at 5, and so may the third, not the fourth: the second, on all cores, is next.
    jobs = [job(0, 10, 2, curve=LONG), job(0, 10, 4, curve=LONG), job(3, 4, 1, curve=LONG), job(3, 6, 1, curve=LONG)]
    site = sm.Site(name="a", cores=4, speed=2.0)
    schedule = sm.simulate(jobs, on=site, bid="FIFO", backfilling="easy", engine=engine).validate()
    assert schedule.start_s.tolist() == [0, 5, 3, 10]


def test_easy_keeps_its_promise_with_the_checkpoints_of_what_runs(engine: Any) -> None:  # noqa: ANN401
    # The first writes three, and ends at 16; the third writes one and the last two, and ends at 16, too.
    jobs = [job(0, 10, 2, curve=LONG), job(0, 10, 4, curve=LONG), job(3, 4, 1, curve=LONG), job(3, 9, 1, curve=LONG)]
    site = sm.Site(name="a", cores_per_machine=4, machines=1, checkpoints=sm.Checkpoints(3, 2))
    schedule = sm.simulate(jobs, on=site, bid="FIFO", backfilling="easy", engine=engine).validate()
    assert schedule.start_s.tolist() == [0, 16, 3, 3]
    assert schedule.end_s.tolist() == [16, 32, 9, 16]


def test_admission_expects_work_at_the_speed_of_the_machines(engine: Any) -> None:  # noqa: ANN401
    # Behind the 20 s of the first the second hopes for an SLR of (40 + 20) / 40; at speed 1 it would be worth nothing.
    jobs = [sm.Workflow(number, 0.0, [40.0], 1, curve=sm.ValueCurve.linear(1, 2)) for number in (1, 2)]
    site = sm.Site(name="a", machines=[sm.Machines(1, 1, 2)])
    schedule = sm.simulate(jobs, on=site, bid="FIFO", admission=0.5, engine=engine).validate()
    assert schedule.end_s.tolist() == [20, 40]


# -- any ----------------------------------------------------------------------------------------------


@st.composite
def capacities(draw: st.DrawFn, machines: int) -> list[sm.CapacityChange] | None:
    if draw(st.booleans()):
        return None
    times = sorted(draw(st.sets(st.integers(1, 70), max_size=8)))
    rows = [sm.CapacityChange(0, draw(st.integers(1, machines)))]
    for time_s in times:
        notice_s, mode = draw(st.sampled_from([0, 0, 3, 20])), draw(st.sampled_from(["kill", "drain", "checkpoint"]))
        rows.append(sm.CapacityChange(time_s, draw(st.integers(0, machines)), notice_s=notice_s, mode=mode))
    return rows


@st.composite
def sites(draw: st.DrawFn) -> list[sm.Site]:
    saving = draw(st.sampled_from([None, sm.Checkpoints(), sm.Checkpoints(interval_s=3, cost_s=1, restart_s=2)]))
    found = []
    for name, kind in draw(
        st.sampled_from([[("a", "A"), ("b", "A"), ("c", "B")], [("a", None)], [("a", None), ("b", "A")]])
    ):
        kinds = draw(st.sampled_from([[(2, 2, 1.0)], [(4, 1, 1.0)], [(3, 2, 2.0)], [(1, 1, 0.5), (2, 3, 2.0)]]))
        machines = [sm.Machines(*each) for each in kinds]
        count = sum(each.count for each in machines)
        table = draw(capacities(count))
        removes = "highest" if table is None else draw(st.sampled_from(["highest", "random"]))
        found.append(
            sm.Site(
                name=name,
                machines=machines,
                kind=kind,
                capacity=table,  # type: ignore[arg-type]  # made a Capacity
                removes=removes,  # type: ignore[arg-type]  # one of two
                checkpoints=saving,
                **draw(outages(count, 0.0, 1.0, [each.time_s for each in table or ()], ends=True)),
            )
        )
    return found


def runnable(jobs: list, on: list[sm.Site]) -> tuple[list, list[sm.Site]]:
    """Return the jobs that the sites can run, and the sites with what is maintained after the first is submitted."""
    kinds = {site.kind for site in on}
    jobs = [each for each in jobs if None in kinds or set(each.kind) <= {*kinds, None}]
    begin_s = min((each.submit_s for each in jobs), default=0.0)
    kept = [[each for each in site.maintenance if each.start_s >= begin_s] for site in on]
    return jobs, [replace(site, maintenance=each) for site, each in zip(on, kept, strict=True)]


@given(
    st.lists(flows(), min_size=1, max_size=9),
    st.sampled_from(["FIFO", "SRTF", "PVR", "PVD", "Random", "P-SLR"]),
    RULES,
    sites(),
    st.data(),
)
@tries(200, full=3_000)
def test_both_engines_give_the_same_schedule(jobs: list, bid: str, rules: dict, on: list, data: st.DataObject) -> None:
    jobs, on = runnable(jobs, on)
    more = {
        "prices": data.draw(st.booleans()),
        "admission": data.draw(st.sampled_from([None, 0.3])),
        "budgets": find_bid(bid).wins == "high" and data.draw(st.booleans()),
        "ccr": data.draw(st.sampled_from([0.2, 0.0, 1.0, 0.37])),
        "tick_s": data.draw(st.sampled_from([1.0, 1.0, 3.0])),
    }
    one, other = (
        sm.simulate(jobs, on=on, bid=bid, engine=engine, seed=3, **rules, **more) for engine in ("compiled", "simpy")
    )
    assert_identical(one.validate(), other)
    assert one.metrics()["finished"] + one.metrics()["starved_deadline"] <= len(jobs)
