# ruff: noqa: ANN401  options of any type are handed through
"""A queue on machines that are switched on and off: hand-drawn schedules, both engines, and a slow simulator."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import simmodels as sm
from tests import naive_machines
from tests.examples import tries
from tests.model_scripts import rigid
from tests.on_machines import assert_identical, outages, runs
from tests.simmodels.passes.test_under_notice import leave_out_what_does_not_go_together, rules_of_queues

# -- drawn by hand ------------------------------------------------------------------------------------


def test_a_job_spreads_over_the_lowest_machines_and_is_lost_with_one_of_them(engine: Any) -> None:
    # job 2 has a core of machine 0 and two of machine 1, which goes at 6; it begins again when machine 0 is free
    capacity = [(0, 2), (6, 1), (20, 2)]
    log = rigid((0, 10, 10, 1), (0, 9, 9, 3))
    schedule = sm.simulate(log, capacity=capacity, cores_per_machine=2, engine=engine).validate()
    assert runs(schedule) == [(1, 0, 0, 10, 0), (2, 0, 0, 6, 2), (2, 0, 20, 29, 0)]
    parts = schedule.all_parts().sort_values(["attempt", "machine"]).to_numpy().tolist()
    assert parts == [[1, 1, 0, 1], [1, 1, 1, 2], [1, 2, 0, 2], [1, 2, 1, 1]]
    assert schedule.runs["lost_s"].tolist() == [0, 6, 0]


def test_jobs_that_run_when_the_window_begins_are_killed_and_dropped(engine: Any) -> None:
    # 2 has run past its estimate; 3 does not fit beside 1; 1 is killed at 12, its estimate
    schedule = sm.simulate(
        rigid((0, 20, 12, 3), (1, 20, 5, 1), (2, 20, 20, 2), (11, 2, 2, 4)),
        capacity=[(0, 2)],
        cores_per_machine=2,
        overrun="kill",
        window_s=(10, 30),
        engine=engine,
    ).validate()
    assert runs(schedule) == [(1, 0, 10, 12, 1), (4, 0, 12, 14, 0)]
    assert schedule.about["left_out"] == 2


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
def test_all_that_run_when_the_window_begins_run_on_however_few_may_start_at_once(
    backfilling: str, engine: Any
) -> None:
    # 1 to 3 run at 3 already; 4 to 6 come at 5: one starts then, one at each event that follows: the ends of 1 and 2
    schedule = sm.simulate(
        rigid((0, 9, 9, 1), (0, 10, 10, 1), (0, 20, 20, 1), *[(5, 9, 9, 1)] * 3),
        capacity=[(0, 6)],
        cores_per_machine=1,
        backfilling=backfilling,
        max_starts=1,
        window_s=(3, 90),
        engine=engine,
    ).validate()
    assert schedule.start_s.tolist() == [3, 3, 3, 5, 9, 10]


@pytest.mark.parametrize("order", ["FCFS", "LCFS", "SPF"])
def test_jobs_that_run_when_the_window_begins_get_machines_by_submission(order: str, engine: Any) -> None:
    # 1 is on machine 0, and 2 on machine 1, which goes at 20
    schedule = sm.simulate(
        rigid((0, 90, 90, 4), (1, 30, 30, 4)),
        capacity=[(0, 2), (20, 1)],
        cores_per_machine=4,
        order=order,
        window_s=(10, 200),
        engine=engine,
    ).validate()
    assert runs(schedule) == [(1, 0, 10, 90, 0), (2, 1, 10, 20, 2), (2, 0, 90, 120, 0)]


def test_what_waits_for_machines_that_never_come_is_left_though_others_fail(engine: Any) -> None:
    law = sm.FailureLaw(mtbf_s=50, repair_s=10)
    site = sm.Site(machines=2, cores_per_machine=1, capacity=[(0, 2), (20, 1)], failures=law)
    schedule = sm.simulate(rigid((0, 5, 5, 1), (30, 5, 5, 2)), on=site, seed=1, engine=engine).validate()
    assert schedule.outcome.tolist() == [0, 2]


# -- refused ------------------------------------------------------------------------------------------


def test_an_order_that_gives_no_number_is_refused(engine: Any) -> None:
    with pytest.raises(sm.RequestError, match="job 2"):
        sm.simulate(
            rigid((0, 10, 10, 2), (1, 3, 0, 2)),
            capacity=[(0, 1), (5, 0), (9, 1)],
            cores_per_machine=2,
            order=sm.Order("none", lambda estimate: estimate if estimate > 0 else math.nan),
            engine=engine,
        )


# -- at random ----------------------------------------------------------------------------------------

ORDERS = ("FCFS", "SAF", "WFP3", "RANDOM", "LQF", "FairShare")
BACKFILLINGS = ("none", "greedy", "easy", "conservative")
LIMITS = (
    None,
    None,
    [{"by": "user", "jobs": 1}],
    [{"by": "user", "jobs": 2, "core_minutes": 13.5}],
    [{"group": "both", "jobs": 3}, {"group": "one", "members": [0], "parent": "both", "cores": 10}],
    [{"by": "user", "submitted": 1}],
    [{"by": "user", "submitted": 2, "jobs": 1}, {"group": "one", "members": [0], "submitted": 1}],
)
"""By three users, in turn; jobs have at most 9 cores, and 90 s."""
GROUPS = st.builds(
    sm.Machines, st.integers(1, 3), st.integers(1, 4), st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.5, 1.3, 3.0])
)
"""Machines of one kind; at a third of the speeds, quotients are rounded."""


def _leave_out_windows(options: dict[str, Any]) -> None:
    """Leave out what goes with no limit of submitted jobs."""
    if any("submitted" in row for row in options["limits"] or ()):
        options |= {"queue_depth": None, "warm_jobs": 0}


@st.composite
def models(draw: st.DrawFn) -> tuple[list[tuple[float, ...]], dict[str, Any]]:
    """Jobs, options, and machines of unequal size and speed; half of all with tenths of seconds, at Unix times."""
    zero, unit = draw(st.sampled_from([(0.0, 1.0), (0.0, 1.0), (0.0, 0.1), (1e9, 0.1)]))
    groups = draw(st.lists(GROUPS, min_size=1, max_size=3))
    machines, cores = sum(each.count for each in groups), sum(each.count * each.cores for each in groups)
    job = st.tuples(st.integers(0, 120), st.integers(0, 50), st.integers(-15, 30), st.integers(1, min(cores, 9)))
    rows = draw(st.lists(job, min_size=1, max_size=25))
    modes = st.sampled_from(["kill", "drain", "checkpoint"])
    changes = [sm.CapacityChange(zero - draw(st.integers(0, 9)), draw(st.integers(0, machines)))]
    for at in sorted(draw(st.lists(st.integers(1, 200), unique=True, max_size=9))):
        notice_s = draw(st.sampled_from([0, 0, 7, 40, 150])) * unit
        changes.append(sm.CapacityChange(zero + at * unit, draw(st.integers(0, machines)), notice_s, draw(modes)))
    backfilling = draw(st.sampled_from(BACKFILLINGS))
    options: dict[str, Any] = {"backfilling": backfilling, "order": draw(st.sampled_from(ORDERS))}
    options["backfill_order"] = draw(st.sampled_from([None, "SPF", "SAF"])) if backfilling == "easy" else None
    options["queue_depth"] = draw(st.sampled_from([None, None, 1, 3]))
    options["threshold_s"] = draw(st.sampled_from([None, None, 30 * unit]))
    options["warm_jobs"] = draw(st.sampled_from([0, 0, 2]))
    options["max_starts"] = draw(st.sampled_from([None, None, 1, 2]))
    options["max_backfills"] = None if backfilling == "none" else draw(st.sampled_from([None, None, 1, 2]))
    options["overrun"] = draw(st.sampled_from(["run", "kill"]))
    options["limits"] = draw(st.sampled_from(LIMITS))
    _leave_out_windows(options)
    options["shares"] = draw(st.sampled_from([None, sm.Shares(period_s=10 * unit, half_life_s=20 * unit)]))
    options["removes"] = draw(st.sampled_from(["highest", "random"]))
    if draw(st.booleans()):
        interval_s = draw(st.sampled_from([np.inf, 7 * unit, 20 * unit]))
        options["checkpoints"] = sm.Checkpoints(interval_s, draw(st.sampled_from([0, unit])), draw(st.integers(0, 3)))
    if draw(st.booleans()):
        begin = draw(st.integers(0, 60))
        options["window_s"] = (zero + begin * unit, zero + draw(st.integers(begin + 1, 300)) * unit)
    jobs = sorted((zero + r * unit, w * unit, max(w + over, 0) * unit, c) for r, w, over, c in rows)
    return jobs, {**options, "capacity": changes, "machines": groups}


def of_three_users(jobs: sm.Workload) -> sm.Workload:
    """Let jobs be of users 0, 1 and 2 in turn."""
    return replace(jobs, user_id=np.arange(len(jobs)) % 3)


def assert_engines_agree(rows: list[tuple[float, ...]], options: dict[str, Any]) -> None:
    jobs = of_three_users(rigid(*rows))
    compiled, simpy = (sm.simulate(jobs, engine=engine, seed=3, **options) for engine in ("compiled", "simpy"))
    assert_identical(compiled, simpy)
    compiled.validate()


# one is killed after 1.4000000000000001 s, at 2.0: its work is how long it ran, not a difference of two instants
_KILLED_LATER = (
    [(0.0, 0.2, 0.2, 1), (0.0, 1.5, 1.4000000000000001, 1)],
    {
        "backfilling": "none",
        "overrun": "kill",
        "capacity": [
            sm.CapacityChange(0.0, 1),
            sm.CapacityChange(0.1, 0, mode="checkpoint"),
            sm.CapacityChange(0.6000000000000001, 2),
        ],
        "machines": 2,
        "cores_per_machine": 1,
    },
)


@given(models())
@example(_KILLED_LATER)
@tries(60, full=10_000)
def test_both_engines_are_the_same(model: tuple[list[tuple[float, ...]], dict[str, Any]]) -> None:
    assert_engines_agree(*model)


@given(models(), st.data())
@tries(60, full=5_000)
def test_both_engines_are_the_same_where_machines_fail_and_are_maintained(model: Any, data: st.DataObject) -> None:
    """Failures and maintenance often come at the instants at which the capacity changes."""
    rows, given_ = model
    options = {name: value for name, value in given_.items() if name not in {"machines", "capacity", "removes"}}
    machines, capacity = given_["machines"], data.draw(st.sampled_from([None, given_["capacity"]]))
    begin = options["window_s"][0] if "window_s" in options else rows[0][0]
    unit, count = data.draw(st.sampled_from([1.0, 0.1])), sum(each.count for each in machines)
    site = sm.Site(
        machines=machines,
        capacity=capacity,
        removes="highest" if capacity is None else given_["removes"],
        checkpoints=options.pop("checkpoints", None),
        **data.draw(
            outages(count, begin, unit, [each.time_s for each in given_["capacity"]], ends="window_s" in options)
        ),
    )
    assert_engines_agree(rows, {**options, "on": site})


@st.composite
def wide_models(draw: st.DrawFn) -> tuple[list[tuple[float, ...]], dict[str, Any]]:
    """Draw wide jobs on many machines, which make long runs of neighbours, and gaps between them."""
    machines, cores = draw(st.sampled_from([63, 64, 65, 200])), draw(st.integers(1, 3))
    job = st.tuples(st.integers(0, 40), st.integers(1, 30), st.just(0), st.integers(1, machines * cores))
    changes = [sm.CapacityChange(-1.0, machines)]
    for at in sorted(draw(st.lists(st.integers(1, 60), unique=True, max_size=3))):
        mode = draw(st.sampled_from(["kill", "drain"]))
        changes.append(sm.CapacityChange(at, draw(st.integers(machines // 2, machines)), draw(st.integers(0, 9)), mode))
    rows = sorted((submit, run, run, need) for submit, run, _, need in draw(st.lists(job, min_size=1, max_size=20)))
    rules = {
        "backfilling": draw(st.sampled_from(BACKFILLINGS)),
        "removes": draw(st.sampled_from(["highest", "random"])),
    }
    return rows, {**rules, "capacity": changes, "machines": machines, "cores_per_machine": cores}


@given(wide_models())
@settings(max_examples=40)
def test_wide_jobs_have_the_same_runs_of_machines_on_both_engines(model: tuple[list[Any], dict[str, Any]]) -> None:
    assert_engines_agree(*model)
    schedule = sm.simulate(rigid(*model[0]), seed=3, **model[1])
    whole = schedule.all_parts()
    assert not whole.duplicated(["row", "attempt", "machine"]).any()
    of = schedule.parts.sort_values(["row", "attempt", "machine"]).to_numpy()
    assert (schedule.parts["machines"] * schedule.parts["cores"]).sum() == whole["cores"].sum()
    for one, other in pairwise(of.tolist()):  # no two runs could be one
        assert one[:2] != other[:2] or one[2] + one[3] != other[2] or one[4] != other[4]


def plainly(
    rows: list[tuple[float, ...]],
    changes: list[tuple[int, int]],
    notice_s: int,
    sizes: tuple[int, ...],
    speeds: tuple[float, ...],
    mode: str,
    checkpoints: tuple[float, float, float],
    **rules: Any,
) -> list[list[tuple[float, float]]]:
    """Return when each job ran, by the slow simulator: machine m is on while more than m are wanted."""
    spans = []
    machines = len(sizes)
    for machine in range(machines):
        off_s = -1
        for (at, wanted), (_, before) in zip(changes, [(0, machines), *changes], strict=False):
            if wanted <= machine < before or (at == changes[0][0] and wanted <= machine):
                off_s = at
            elif before <= machine < wanted:
                spans.append((machine, off_s - notice_s if off_s else off_s, off_s, at, mode))
        if changes[-1][1] <= machine:
            spans.append((machine, off_s - notice_s if off_s else off_s, off_s, 10**9, mode))
    plain = [naive_machines.Row(number, *row) for number, row in enumerate(rows)]  # type: ignore[arg-type]
    naive_machines.simulate(plain, sizes, spans, checkpoints, speeds=speeds, **rules)
    return [row.runs for row in plain]


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(0, 20), st.integers(1, 6)),
        min_size=1,
        max_size=12,
    ),
    steps=st.dictionaries(st.integers(1, 120), st.integers(0, 3), max_size=6),
    notice=st.tuples(st.sampled_from([0, 5, 30]), st.sampled_from(["kill", "checkpoint"])),
    checkpoints=st.sampled_from([(math.inf, 0.0, 0.0), (math.inf, 2.0, 1.0), (3.0, 0.0, 0.0), (4.0, 1.0, 2.0)]),
    sizes=st.sampled_from([(2, 2, 2), (2, 2, 2), (3, 1, 2), (1, 4, 1)]),
    speeds=st.sampled_from([(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (2.0, 0.5, 1.0), (0.5, 1.0, 2.0)]),
    rules=rules_of_queues(LIMITS, 15),
)
@settings(max_examples=100)
def test_the_compiled_clock_is_the_slow_simulator(
    rows: list[tuple[int, ...]],
    steps: dict[int, int],
    notice: Any,
    checkpoints: Any,
    sizes: tuple[int, ...],
    speeds: tuple[float, ...],
    rules: dict[str, Any],
) -> None:
    notice_s, mode = notice
    leave_out_what_does_not_go_together(rules)
    _leave_out_windows(rules)
    if rules["backfilling"] == "conservative":
        rows, speeds = [(a, b, 0, cores) for a, b, _, cores in rows], speeds[:1] * 3
    rules["warm_jobs"] = min(rules["warm_jobs"], len(rows))
    changes = [(0, 3), *sorted(steps.items()), (200, 3)]
    jobs = [(float(a), float(b), float(b + over), cores) for a, b, over, cores in sorted(rows)]
    plain = {**rules, "backfill_order": rules["backfill_order"] or rules["order"]}
    expected = plainly(jobs, changes, notice_s, sizes, speeds, mode, checkpoints, **plain)
    schedule = sm.simulate(
        of_three_users(rigid(*jobs)),
        capacity=[sm.CapacityChange(at, wanted, notice_s if at else 0, mode) for at, wanted in changes],
        machines=[sm.Machines(1, *kind) for kind in zip(sizes, speeds, strict=True)],
        checkpoints=sm.Checkpoints(*checkpoints),
        engine="compiled",
        **rules,
    )
    found: list[list[tuple[float, float]]] = [[] for _ in jobs]
    for each in schedule.attempts.itertuples():
        found[each.job_id - 1].append((each.start_s, each.end_s))
    assert found == expected


def test_the_schedule_is_that_of_a_real_log_on_a_walk() -> None:
    """Thousands of jobs: columns, heaps and records grow."""
    draw = np.random.default_rng(2)
    jobs = 3000
    rows = np.column_stack(
        [np.sort(draw.integers(0, 200_000, jobs)), draw.integers(1, 900, jobs), draw.integers(900, 4000, jobs)]
    )
    given_ = [(*row, cores) for row, cores in zip(rows.tolist(), draw.integers(1, 60, jobs).tolist(), strict=True)]
    times = np.arange(0, 400_000, 3000)
    capacity = sm.Capacity(times, draw.integers(4, 9, len(times)), notice_s=600.0, mode="checkpoint")
    assert_engines_agree(given_, {"capacity": capacity, "cores_per_machine": 8, "order": "SAF"})
