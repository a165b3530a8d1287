"""Limits that are fitted to a log: read off it, and found again where a log was made under them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from experiments import fitted, fitting
from experiments.caps import caps_of
from experiments.fitted import Used
from experiments.fitting import fit, with_fitted
from experiments.policy import policy_of
from experiments.scenario import Scenario
from experiments.setup import Setup
from simmodels.policies.queue_options import QueueOptions
from tests.refused import refused

H, DAY, WEEK = 3600.0, 86_400.0, 7 * 86_400.0
EASY = QueueOptions.checked()


def log(*rows: tuple[float, float, int, float, int], max_cores: int) -> sm.Workload:
    """Return jobs of (submit, runtime, cores, logged wait, user)."""
    submit_s, runtime_s, cores, wait_s, user = map(list, zip(*rows, strict=True))
    columns = {"submit_s": submit_s, "runtime_s": runtime_s, "cores": cores, "wait_s": wait_s, "user_id": user}
    return replace(sm.Workload.of(columns), max_cores=max_cores)


def made_under(
    limits: list[dict[str, object]] | None, *, weeks: int = 16, cores: int = 64, order: str | sm.Order = "FCFS"
) -> sm.Workload:
    """Return a log of a machine of 64 cores that obeyed limits: bursts of jobs of four users, day after day.

    It may have had fewer cores in service, or another order.
    """
    draws = np.random.default_rng(5)
    days = np.repeat(np.arange(7 * weeks), 24)
    jobs = len(days)
    columns = {
        "submit_s": np.sort(days * DAY + draws.integers(0, 6 * 3600, jobs)),
        "runtime_s": draws.integers(600, 4 * 3600, jobs),
        "cores": draws.choice([1, 2, 4], jobs),
        "user_id": draws.integers(1, 5, jobs),
        "queue": draws.integers(0, 2, jobs),
    }
    work = replace(sm.Workload.of(columns), max_cores=64)
    ran = sm.simulate(work, limits=limits, cores=cores, order=order)
    return replace(work, extras={**work.extras, "wait_s": ran.start_s - work.submit_s})


def test_a_cap_is_what_is_in_use_while_own_jobs_wait_and_the_machine_has_cores() -> None:
    """User 1 has two jobs of 2 cores at a time, on 16 cores; user 2 fills the machine for a while, and waits then."""
    rows = [(0.0, 2 * DAY, 2, wait * 2 * DAY, 1) for wait in (0, 0, 1, 1)]
    full = [(20 * DAY, DAY, 16, 0.0, 2), (20 * DAY, DAY, 16, DAY, 2)]
    work = log(*rows, *full, max_cores=16)
    assert caps_of(work, "user", [50, 99], np.ones(4, np.bool_)) == [{1: 4}, {1: 4}]


def test_a_cap_is_at_least_the_widest_job_and_one_day_must_show_it() -> None:
    rows = [(0.0, 2 * DAY, 1, 0.0, 1), (0.0, DAY, 1, 2 * DAY, 1), (30 * DAY, H, 7, 0.0, 1)]
    every = np.ones(5, np.bool_)
    assert caps_of(log(*rows, max_cores=16), "user", [80], every) == [{1: 7}]
    assert caps_of(log(*rows, max_cores=7), "user", [80], every) == [{}], "the machine has no more"
    short = [(submit_s, runtime_s / 4, cores, wait_s / 4, user) for submit_s, runtime_s, cores, wait_s, user in rows]
    assert caps_of(log(*short, max_cores=16), "user", [80], every) == [{}]


def test_only_the_weeks_that_count_are_looked_at() -> None:
    """While a job of 2 cores waits, user 1 runs two more in the first week, and three in the second."""
    first, second = [
        [*[(at, 3 * DAY, 2, 0.0, 1)] * running, (at, H, 2, 3 * DAY, 1)] for at, running in ((0.0, 2), (WEEK, 3))
    ]
    work = log(*first, *second, max_cores=16)
    even, odd = np.array([True, False]), np.array([False, True])
    assert (caps_of(work, "user", [90], even), caps_of(work, "user", [90], odd)) == ([{1: 4}], [{1: 6}])


def naive_caps(work: sm.Workload, percent: int) -> dict[int, int]:
    """Return the caps by user, by counting hour after hour; all times are whole hours."""
    start = work.submit_s + work.extras["wait_s"]
    end = start + work.runtime_s
    found = {}
    for user in sorted(set(work.user_id.tolist())):
        own = np.flatnonzero(work.user_id == user)
        waits = sorted((int(work.cores[job]), float(work.extras["wait_s"][job])) for job in own)
        half, so_far, typical = 0.5 * sum(wait for _, wait in waits), 0.0, 0
        for width, wait in waits:
            so_far += wait
            typical = width
            if so_far >= half:
                break
        hours: Counter[int] = Counter()
        for hour in range(int(end.max() / H)):
            at = hour * H
            free = work.max_cores - sum(work.cores[(start <= at) & (end > at)])
            if free >= typical and any(work.submit_s[job] <= at < start[job] for job in own):
                hours[int(sum(work.cores[job] for job in own if start[job] <= at < end[job]))] += 1
        total = sum(hours.values())
        if total < 24:
            continue
        cap = next(used for used in sorted(hours) if sum(hours[n] for n in hours if n <= used) * 100 >= percent * total)
        cap = max(cap, int(work.cores[own].max()))
        if work.max_cores is not None and cap < work.max_cores:
            found[user] = cap
    return found


_JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 5), st.integers(0, 60), st.integers(1, 2)),
    min_size=1,
    max_size=8,
)


@given(_JOBS, st.sampled_from([50, 80, 90, 99]))
def test_caps_are_those_that_counting_hours_finds(rows: list[tuple[int, int, int, int, int]], percent: int) -> None:
    work = log(*((at * H, ran * H, cores, wait * H, user) for at, ran, cores, wait, user in rows), max_cores=9)
    assert caps_of(work, "user", [percent], np.ones(2, np.bool_)) == [naive_caps(work, percent)]


def test_a_log_made_under_caps_is_calibrated_back_to_them() -> None:
    rows = [{"by": "user", "value": 1, "cores": 4}, {"by": "user", "value": 3, "cores": 6}]
    found = fit(made_under(rows), EASY)
    assert found.limits is not None
    caps = {row["value"]: row["cores"] for row in found.limits.table()}
    assert {user: caps.get(user) for user in (1, 3)} == {1: 4, 3: 6}
    assert (found.without.agreement, found.fitted.agreement) == ("poor", "close")
    assert found.fitted.apart("mean_wait_s") < 1.1
    by_user, *others = found.steps
    assert (by_user.by, by_user.taken) == ("user", True)
    assert not any(step.taken for step in others)
    assert f"caps of own cores of {len(by_user.about['caps'])} users, from 4 to " in next(found.sentences())
    assert list(found.sentences())[-1].startswith("On the odd weeks the replay is close, poor without: ")


def test_a_log_of_a_machine_with_fewer_cores_in_service_is_calibrated_back_to_them() -> None:
    work = made_under(None, cores=16)
    found = fit(work, EASY)
    assert found.used == Used(cores=16)
    assert (found.without.agreement, found.fitted.agreement) == ("poor", "close")
    assert next(found.sentences()).startswith("Taken: 16 of 64 cores in service; distance from the log ")
    (row,) = found.table()["fitted"]
    assert {name: row[name] for name in ("by", "cores", "taken")} == {"by": "", "cores": 16, "taken": True}
    wide = replace(work, cores=np.where(np.arange(len(work)) == 3, 40, work.cores))
    assert found.used_on(wide).cores == 40, "as wide as the widest job"
    assert fit(work, EASY, sizes=False).used.cores is None


def by_queues() -> sm.Workload:
    """Return the log of a machine of 14 cores, on which jobs of queue 1 stand two hours ahead."""
    return replace(made_under(None, cores=14, order=sm.Ahead("queue", {1: 2 * H})), max_cores=14)


def test_a_log_of_a_machine_with_priorities_of_queues_is_calibrated_back_to_them() -> None:
    """By the log, jobs of queue 1 wait less, and those of queue 0 longer."""
    found = fit(by_queues(), EASY)
    (step,) = [step for step in found.steps if step.taken]
    assert step.by == "queue"
    ahead_h = {row["value"]: row["ahead_h"] for row in step.about["priorities"]}
    assert ahead_h[1] - ahead_h[0] == pytest.approx(2, rel=0.5)
    assert found.after < 0.5 * found.before
    assert "priorities of 2 queues: jobs of queue 1 count as submitted up to " in next(found.sentences())
    assert [row["value"] for row in found.table()["fitted"][0]["priorities"]] == [0, 1]
    used = found.used
    assert used.ordered({})["order"] is used.ahead
    assert used.ordered({"order": "fcfs"})["order"] is used.ahead
    assert used.ordered({"order": "SAF"}) == {"order": "SAF"}, "priorities are of first come, first served"
    assert fit(by_queues(), QueueOptions.checked(order="SPF")).used.ahead is None


def test_values_with_names_are_said_by_name() -> None:
    """The number of a name is nothing that an operator knows; a name may look like the number of another."""
    log = made_under([{"by": "user", "value": 1, "cores": 4}, {"by": "user", "value": 3, "cores": 6}])
    names = np.array(["", "ann", "3", "4", "eve"], dtype=object)
    named = fit(replace(log, extras={**log.extras, "user": names[log.user_id]}), EASY)
    assert named.limits is not None
    assert {"by": "user", "value": "ann", "cores": 4} in named.limits.table()
    assert next(row.name for row in named.limits.rows) == "user 'ann'", "as advise says it"
    assert {"value": "4", "cores": 6} in named.steps[0].about["caps"]
    assert named.after == fit(log, EASY).after
    queues = by_queues().extras["queue"]
    names = np.array(["slow", "fast"], dtype=object)
    step = fit(replace(by_queues(), extras={**by_queues().extras, "queue_name": names[queues]}), EASY).steps[0]
    assert step.said.startswith("priorities of 2 queues: jobs of queue 'fast' count as submitted up to ")
    assert [row["value"] for row in step.about["priorities"]] == ["slow", "fast"]


def test_an_order_has_the_priorities_of_one_column_though_nothing_else_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "columns_of", lambda _: ())
    log = by_queues()
    found = fit(replace(log, extras={**log.extras, "partition": log.extras["queue"]}), EASY, sizes=False)
    assert [step.by for step in found.steps] == ["queue"]
    assert found.used.ahead is not None
    assert found.used.ahead.by == "queue"


def test_priorities_leave_an_order_alone_that_routers_are_compared_under() -> None:
    scenario = Scenario(workload=by_queues(), on=tuple(sm.Site(name=name, cores=7) for name in "ab"))
    routers = [policy_of("router", "LeastLoaded")]
    found = {}
    for order in ("SAF", "FCFS"):
        _, setup, (router,) = Setup(options={"limits": "fitted", "order": order}).fitted_to(scenario, routers, print)
        found[order] = {**setup.options, **router.options}["order"]
    assert found["SAF"] == "SAF"
    assert isinstance(found["FCFS"], sm.Ahead)


def test_a_cap_by_queue_is_taken_before_caps_by_user_that_look_like_it() -> None:
    found = fit(made_under([{"by": "queue", "value": 1, "cores": 8}]), EASY)
    assert found.limits is not None
    assert {"by": "queue", "value": 1, "cores": 8} in found.limits.table()
    assert found.fitted.agreement == "close"


def test_a_log_without_caps_is_given_none() -> None:
    found = fit(made_under([{"by": "user", "cores": 64}]), EASY)
    assert (found.steps, found.limits, found.fitted) == ((), None, found.without)
    first, last = found.sentences()
    assert first == "The log shows no limits, priorities or cores out of service that bring the replay nearer."
    assert last.startswith("On the odd weeks the replay is close: a mean wait of ")


def test_what_was_tried_and_did_not_help_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitted, "_HELPED", 1.0)
    found = fit(made_under([{"by": "user", "value": 1, "cores": 4}]), EASY)
    assert found.limits is None
    assert found.fitted == found.without
    assert next(found.sentences()).startswith("Tried, and not taken: ")


def test_limits_that_do_not_help_on_the_weeks_held_out_are_not_used() -> None:
    """User 1 is under a cap in even weeks, and in odd ones nobody waits."""
    work = made_under([{"by": "user", "value": 1, "cores": 4}])
    odd = work.submit_s // WEEK % 2 == 1
    found = fit(replace(work, extras={**work.extras, "wait_s": np.where(odd, 0.0, work.extras["wait_s"])}), EASY)
    assert found.steps[0].helped
    assert not found.steps[0].taken
    assert (found.limits, found.used) == (None, Used())
    assert found.after == found.before
    assert next(found.sentences()).startswith("Of no help on the odd weeks: caps of own cores of ")
    assert found.table()["helped"] is False


def test_what_cannot_be_fitted_is_refused_in_one_sentence() -> None:
    work = made_under([{"by": "user", "value": 1, "cores": 4}], weeks=4)
    with refused("...does not say when its jobs started; limits are fitted to a log with..."):
        fit(replace(work, extras={}), EASY)
    with refused("...has no waits of 4 weeks; ... give a longer log..."):
        fit(work.between(0, 3 * WEEK), EASY)
    with refused("...limits are given, and limits are to be fitted; leave out one of them..."):
        fit(work, QueueOptions.checked(limits=[{"by": "user", "jobs": 1}]))


def test_a_forecast_sees_nothing_that_came_later() -> None:
    """Caps are those of the past alone, except that they are never below a job's width."""
    work = made_under([{"by": "user", "value": 1, "cores": 4}])
    at_s = 10 * WEEK
    later = replace(work, extras={**work.extras, "wait_s": np.where(work.submit_s > at_s, 0.0, work.extras["wait_s"])})
    (found, used), (other, _) = (
        with_fitted({"limits": "fitted", "order": "SAF"}, each, lambda _: None, until_s=at_s) for each in (work, later)
    )
    assert found == other
    assert found["order"] == "SAF"
    assert used.cores is None
    assert {"by": "user", "value": 1, "cores": 4} in found["limits"].table()
    wide = replace(work, cores=np.where((work.submit_s > at_s) & (work.user_id == 1), 9, work.cores))
    widened, _ = with_fitted({"limits": "fitted"}, wide, lambda _: None, until_s=at_s)
    assert {"by": "user", "value": 1, "cores": 9} in widened["limits"].table()
    assert with_fitted({"order": "SAF"}, work, lambda _: None) == ({"order": "SAF"}, Used())
