# ruff: noqa: ANN401  options of any type are handed through
"""What `simulate` makes of its arguments: models of any work on any clusters, and what it refuses."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from tests.model_scripts import scheduled
from tests.refused import refused

LOG = sm.Workload(
    np.arange(1, 7), np.array([0.0, 0, 1, 2, 3, 30]), np.full(6, 10.0), np.full(6, 12.0), np.array([2, 3, 1, 4, 1, 2])
)
FLOWS = [
    sm.Workflow(11, 0.0, [4, 8, 2], [2, 1, 3], [(0, 1), (0, 2)]),
    sm.Workflow(12, 5.0, [3, 3], 2, [(0, 1)]),
]
BOTH = sm.Workload.concat([LOG, sm.Workload.of_workflows(FLOWS)])
TWO = [sm.Site(name="a", cores=4), sm.Site(name="b", machines=2, cores_per_machine=2)]
CHANGING = sm.Site(name="m", cores_per_machine=4, capacity=[(0, 2), (9, 1), (40, 2)])


@pytest.mark.parametrize("work", [LOG, FLOWS, BOTH], ids=["log", "workflows", "both"])
@pytest.mark.parametrize(
    "how",
    [
        {"on": 8, "order": "SAF"},
        {"on": CHANGING, "backfilling": "conservative"},
        {"on": CHANGING, "heuristic": "FirstFit"},
        {"on": CHANGING, "heuristic": "TargetAsap", "reference": LOG},
        {"on": TWO, "bid": "SRTF"},
        {"on": [CHANGING, *TWO], "bid": "PVR", "backfilling": "easy"},
        {"on": TWO, "router": "RoundRobin", "order": "SPF"},
        {"on": [CHANGING, TWO[0]], "router": "LeastLoaded"},
        {"on": TWO, "router": "EarliestStart", "backfilling": "none"},
        {"on": TWO, "bid": "SRTF", "forward": True, "rebalance_s": 5, "backfilling": "conservative"},
        {"on": [TWO[1], CHANGING], "router": "LeastLoaded", "heuristic": "FirstFit"},
    ],
    ids=lambda how: "-".join(str(each) for each in how.values() if isinstance(each, str)),
)
def test_any_work_runs_on_any_clusters_and_all_of_it_is_done(work: Any, how: dict[str, Any]) -> None:
    schedule = sm.simulate(work, **how).validate()
    assert schedule.metrics()["jobs"] == len(schedule.workload) or not schedule.workload.is_rigid
    assert not np.isnan(schedule.end_s).any()
    assert len(schedule.clusters) == (len(how["on"]) if isinstance(how["on"], list) else 1)


@pytest.mark.parametrize("travel", [{}, {"tick_s": 2}, {"ccr": 1.0, "tick_s": 2}, {"ccr": 1.0, "network": "none"}])
def test_it_is_the_model_script_of_the_same_parts(travel: dict[str, Any]) -> None:
    env = sm.Environment(seed=4)
    queues = [
        sm.QueueScheduler(env, sm.Cluster(env, "a", cores=4), order="RANDOM"),
        sm.QueueScheduler(env, sm.Cluster(env, "b", machines=2, cores_per_machine=2), order="RANDOM"),
    ]
    router = sm.EarliestStart(env, queues)
    script = scheduled(sm.Dependencies(env, router, **travel) if travel else router, BOTH)
    short = sm.simulate(BOTH, on=TWO, router="EarliestStart", order="RANDOM", seed=4, **travel).validate()
    assert short.start_s.tolist() == script.start_s.tolist()
    assert short.cluster.tolist() == script.cluster.tolist()
    assert short.terms == script.terms
    assert short.about == script.about


def test_clusters_may_be_said_in_short() -> None:
    for on in (8, [8], sm.ClusterSpec("x", 8), ("x", 8), [("x", 8, None)]):
        assert sm.simulate(LOG, on=on).start_s.tolist() == sm.simulate(LOG, cores=8).start_s.tolist()
    schedule = sm.simulate(LOG, on=[4, 4, ("wide", 16)], router="RoundRobin")
    assert [spec.name for spec in schedule.clusters] == ["cluster0", "cluster1", "wide"]
    same = {"capacity": [(0, 2), (9, 1), (40, 2)], "cores_per_machine": 4}
    assert sm.simulate(LOG, **same).start_s.tolist() == sm.simulate(LOG, on=CHANGING).start_s.tolist()


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
@pytest.mark.parametrize("how", [{}, {"overrun": "kill"}, {"order": "WFP3", "threshold_s": 40}, {"decide": "event"}])
def test_a_window_of_a_log_runs_on_a_pool_as_the_whole_log_does(backfilling: str, how: dict[str, Any]) -> None:
    jobs = wl.tsafrir_estimates(wl.lublin(jobs=200, cores=16, seed=3, load=1.1), seed=3)
    jobs = dataclasses.replace(jobs, estimate_s=np.where(np.arange(200) % 7 == 0, 60.0, jobs.estimate_s))
    how = {**how, "backfilling": backfilling}
    whole = sm.simulate(jobs, **how)
    last_s = float(whole.end_s.max())
    for engine in ("simpy", "auto"):
        same = sm.simulate(jobs, window_s=(float(jobs.submit_s.min()), last_s), engine=engine, **how).validate()
        assert (same.start_s == whole.start_s).all()
        assert same.metrics()["mean_wait_s"] == whole.metrics()["mean_wait_s"]
    begin_s, end_s = (float(each) for each in np.quantile(jobs.submit_s, (0.3, 0.7)))
    part = sm.simulate(jobs, window_s=(begin_s, end_s), **how).validate()
    running = (jobs.submit_s < begin_s) & (jobs.submit_s + jobs.runtime_s > begin_s)
    arrived = (jobs.submit_s >= begin_s) & (jobs.submit_s < end_s)
    assert arrived.sum() < part.metrics()["jobs"] <= (arrived | running).sum()  # of those that ran, those that fit
    assert np.isnan(part.start_s[jobs.submit_s >= end_s]).all()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"on": TWO, "heuristic": "FirstFit"}, "a placer on 2 clusters"),
        ({"on": 8, "heuristic": "FirstFit"}, "a placer needs machines, and cluster 'cluster' has none; give cores_p"),
        ({"on": [("a", 2), ("a", 4)], "bid": "SRTF"}, "two of the clusters a, a have the same name; give each a name"),
        ({"on": 8, "cores": 8}, "cores beside on; put them into a Site"),
        ({"on": CHANGING, "bid": "SRTF", "window_s": (0, 5)}, r"the window \(0.0, 5.0\); give it for one scheduler of"),
        ({"on": CHANGING, "window_s": (0, 5, 7)}, r"window_s must be two numbers of seconds \(got \(0, 5, 7\)\)"),
        ({"on": CHANGING, "window_s": (5, 5)}, r"window_s must be a finite begin and a later end \(got \(5.0, 5.0\)\)"),
        ({"on": CHANGING, "heuristic": "FirstFit", "bid": "SRTF"}, "beside a bid; add forward=True"),
        ({"on": TWO, "router": "RoundRobin", "ccr": 1}, "ccr before RoundRobin without workflows; leave it out"),
        ({"on": TWO, "router": "Robin"}, "unknown router 'Robin'; did you mean RoundRobin"),
        ({"on": 8.5}, r"cores must be an integer from 1 to 2\*\*53 \(got 8.5\)"),
        ({"on": ("a",)}, r"\(name, cores\) or \(name, cores, kind\) \(got \('a',\)\)"),
        ({"on": {4: 1}}, r"a cluster must be a Site, a number of cores, .* \(got {4: 1}\)"),
        ({"on": 8, "rebalance_s": 5}, "rebalance_s without an auction that forwards; add a bid and forward=True"),
        ({"cores": 8, "machines": 2}, "machines beside cores; give machines= and cores_per_machine= instead of cores"),
        ({"checkpoints": sm.Checkpoints()}, "checkpoints beside cores; give machines= and cores_per_machine="),
        ({"cores": 4, "removes": "random"}, "removes beside cores; give capacity= and cores_per_machine="),
        ({"capacity": [(0, 2)], "cores_per_machine": 2, "cores": 4}, "capacity with cores=4, cores_per_machine=2; giv"),
        ({"capacity": [(0, 1)], "cores_per_machine": 2}, "job 2: needs 3 cores, and the machine has 2"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_sentence(given: dict[str, Any], text: str) -> None:
    with pytest.raises(sm.SimModelsError, match=text):
        sm.simulate(LOG, **given)


def test_a_place_of_a_schedule_is_a_site_of_the_same_machines() -> None:
    of_machines = sm.Site(name="a", machines=2, cores_per_machine=4)
    assert sm.Site.of(of_machines.spec) == of_machines
    kinds = [sm.Machines(2, cores=4), sm.Machines(1, cores=2, speed=0.5), sm.Machines(1, cores=4)]
    mixed = sm.Site(name="x", machines=kinds, kind="A", checkpoints=sm.Checkpoints(cost_s=1))
    assert (mixed.spec.sizes, mixed.spec.speeds) == ((4, 4, 2, 4), (1.0, 1.0, 0.5, 1.0))
    assert sm.Site.of(mixed.spec) == mixed
    for fast in (sm.Site(name="a", machines=2, cores_per_machine=4, speed=2.0), sm.Site(name="a", cores=4, speed=2.0)):
        assert sm.Site.of(fast.spec) == fast


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (("x", 8, None, 2, (6, 3)), "2 sizes of 9 cores in all and 2 speeds for the 2 machines of cluster 'x', which"),
        (("x", 8, None, 2, (6, 2), (1.0,)), "2 sizes of 8 cores in all and 1 speeds for the 2 machines of cluster"),
        (("x", 9, None, 2), "2 sizes of 8 cores in all and 2 speeds for the 2 machines of cluster 'x', which has 9"),
    ],
)
def test_a_place_whose_machines_do_not_make_it_up_is_refused(spec: Any, text: str) -> None:
    with pytest.raises(sm.RequestError, match=text):
        sm.simulate(LOG, on=sm.ClusterSpec(*spec))


UNEQUAL = [sm.Machines(1, cores=4, speed=2.0), sm.Machines(2, cores=2)]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"machines": UNEQUAL, "capacity": [(0, 4)]}, "the machines of capacity must be at most 3, those of the clus"),
        ({"cores": 4, "failures": sm.FailureLaw(mtbf_s=9, repair_s=1)}, "failures beside cores; give machines= and c"),
        ({"cores": 4, "sleep": sm.SleepPolicy(after_s=9)}, "sleep beside cores; give machines= and cores_per_machine="),
        ({"machines": UNEQUAL, "sleep": 3}, r"sleep must be a SleepPolicy, or None \(got 3\)"),
        (
            {"machines": UNEQUAL, "sleep": sm.SleepPolicy(after_s=9, awake=4)},
            r"awake of cluster 'cluster' must be an integer from 0 to 3 \(got 4\)",
        ),
        ({"machines": UNEQUAL, "failures": 3}, r"failures must be a FailureLaw, or None \(got 3\)"),
        ({"machines": UNEQUAL, "maintenance": [3]}, r"maintenance must be a list of MaintenanceWindow \(got \[3\]\)"),
        (
            {"machines": UNEQUAL, "maintenance": [sm.MaintenanceWindow(start_s=0, duration_s=1, machines=[3])]},
            r"a machine of cluster 'cluster' must be an integer from 0 to 2 \(got 3\)",
        ),
    ],
)
def test_machines_of_a_site_that_do_not_go_together_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(sm.RequestError, match=text):
        sm.Site(**given)


@pytest.mark.parametrize(
    ("machines", "how", "text"),
    [
        (UNEQUAL, {"heuristic": "FirstFit"}, "FirstFit on cluster 'machines', whose machines differ in size; use mac"),
        (
            [sm.Machines(1, cores=4), sm.Machines(1, cores=4, speed=2.0)],
            {"heuristic": "TargetAsap", "reference": LOG},
            "TargetAsap on cluster 'machines', which says itself how long jobs run; planned starts need lengths",
        ),
    ],
)
def test_placers_refuse_unequal_machines_alike_on_both_engines(
    machines: list[sm.Machines], how: dict[str, Any], text: str, engine: Any
) -> None:
    with pytest.raises(sm.RequestError, match=text):
        sm.simulate(LOG, machines=machines, engine=engine, **how)


def test_a_maintenance_that_began_before_the_simulation_is_refused_on_both_engines(engine: Any) -> None:
    site = sm.Site(machines=UNEQUAL, maintenance=[sm.MaintenanceWindow(start_s=3, duration_s=9)])
    with pytest.raises(sm.RequestError, match=r"a maintenance of cluster 'cluster' must be >= 4, when .* \(got 3.0\)"):
        sm.simulate(LOG, on=site, window_s=(4, 9), engine=engine)


@pytest.mark.parametrize("how", [{"heuristic": "FirstFit"}, {"bid": "SRTF"}])
def test_failures_are_compiled_under_any_scheduler(how: dict[str, Any]) -> None:
    site = sm.Site(machines=2, cores_per_machine=4, failures=sm.FailureLaw(mtbf_s=3, repair_s=1))
    schedule = sm.simulate(FLOWS if "bid" in how else LOG, on=site, engine="compiled", **how).validate()
    assert schedule.metrics()["kills"] > 0
    assert not np.isnan(schedule.end_s).any()


def test_a_pool_at_another_speed_is_one_machine_on_both_engines(engine: Any) -> None:
    jobs = {"submit_s": [0, 0], "runtime_s": [10, 5], "cores": [3, 2]}
    schedule = sm.simulate(jobs, on=sm.Site(cores=4, speed=2.0), engine=engine).validate()
    assert (schedule.start_s.tolist(), schedule.end_s.tolist()) == ([0, 5], [5, 7.5])
    assert schedule.clusters == (sm.ClusterSpec("cluster", 4, speeds=(2.0,)),)


@pytest.mark.parametrize("work", [None, [LOG, *FLOWS], [LOG.job(0), LOG], 3])
def test_what_is_no_work_is_refused(work: Any) -> None:
    with pytest.raises(sm.RequestError, match="workload must be a Workload, a path, a table of jobs, or workflows"):
        sm.simulate(work, on=8)


def test_rows_that_are_not_those_of_the_workflows_are_refused_on_both_engines(engine: Any) -> None:
    work = sm.Workload.of_workflows(FLOWS)
    longer = dataclasses.replace(work, runtime_s=work.runtime_s * 10, estimate_s=work.estimate_s * 10)
    with pytest.raises(sm.RequestError, match=r"column runtime_s .* is not that of its workflows"):
        sm.simulate(longer, on=8, bid="SRTF", engine=engine)


def test_a_workflow_that_is_given_twice_is_refused_on_both_engines_and_a_copy_runs(engine: Any) -> None:
    for work in (lambda: [FLOWS[0], *FLOWS], lambda: sm.Workload.concat([FLOWS[0], LOG, FLOWS])):
        with pytest.raises(sm.RequestError, match="job 11 is 2 times in a workload, as one object; add copies of it"):
            sm.simulate(work(), on=8, bid="SRTF", engine=engine)
    twice = sm.simulate([FLOWS[0], dataclasses.replace(FLOWS[0])], on=8, bid="SRTF", engine=engine).validate()
    assert twice.start_s.tolist() == [0, 4, 4] * 2


def test_one_workflow_and_none_are_work_too() -> None:
    assert len(sm.simulate(FLOWS[0], on=8, bid="SRTF")) == 3
    for how in ({"on": 8}, {"on": TWO, "bid": "SRTF"}, {"on": CHANGING, "bid": "SRTF", "engine": "simpy"}):
        assert len(sm.simulate([], **how)) == 0


def test_what_was_forwarded_moves_though_nothing_else_happens() -> None:
    # the only machine of a goes for good at 5, and the job may move to b at 7
    job = sm.Workload(np.array([1]), np.array([0.0]), np.array([10.0]), np.array([10.0]), np.array([4]))
    sites = [sm.Site(name="a", cores_per_machine=4, capacity=[(0, 1), (5, 0)]), sm.Site(name="b", cores=4)]
    schedule = sm.simulate(job, on=sites, bid="SRTF", forward=True, rebalance_s=7).validate()
    assert (schedule.start_s.tolist(), schedule.end_s.tolist(), schedule.cluster.tolist()) == ([7], [17], [1])


def test_what_was_forwarded_and_never_starts_ends_though_machines_fail_without_end() -> None:
    jobs = {"submit_s": [0, 6], "runtime_s": [2, 3], "cores": [4, 8]}  # from 5 on nobody has eight cores any more
    law = sm.FailureLaw(mtbf_s=1000, repair_s=5)
    a = sm.Site(name="a", machines=2, cores_per_machine=4, capacity=[(0, 2), (5, 1)], failures=law)
    sites = [a, sm.Site(name="b", cores=4)]
    schedule = sm.simulate(jobs, on=sites, bid="SRTF", forward=True, rebalance_s=7).validate()
    np.testing.assert_equal(schedule.start_s, [0, np.nan])


def test_what_comes_last_as_all_others_end_is_done_by_event_too() -> None:
    log = {"submit_s": [0, 1], "runtime_s": [1, 7], "cores": [1, 4]}  # the submission is the first event at 1
    assert sm.simulate(log, on=CHANGING, decide="event").validate().end_s.tolist() == [1, 8]


@pytest.mark.parametrize("on", [8, sm.Site(name="m", machines=2, cores_per_machine=4)])
def test_auctions_that_forward_may_end_with_the_last_submission(on: Any) -> None:
    schedule = sm.simulate(FLOWS, on=on, bid="SRTF", forward=True, end="submit").validate()
    np.testing.assert_array_equal(schedule.start_s, [0, 4, 4, 5, np.nan])  # what is submitted last starts at once


def test_a_random_machine_goes_wherever_first_fit_says_so() -> None:
    capacity = [(0, 4), (5, 2), (20, 4), (25, 1)]
    asked = {"heuristic": "FirstFit", "aware": False, "unaware": "random_kill", "seed": 1}
    jobs = sm.Workload(np.arange(1, 9), np.zeros(8), np.full(8, 30.0), np.full(8, 30.0), np.ones(8, np.int64))
    flat = sm.simulate(jobs, capacity=capacity, cores_per_machine=2, **asked)
    given = sm.simulate(jobs, on=sm.Site(capacity=capacity, cores_per_machine=2), **asked)
    assert given.off_spans.machine.tolist() == flat.off_spans.machine.tolist() != [2, 3, 3]
    assert given.start_s.tolist() == flat.start_s.tolist()


@pytest.mark.parametrize(
    ("work", "given", "text"),
    [
        (BOTH, {"on": 8}, "workflows in a queue"),
        (FLOWS, {"on": CHANGING, "heuristic": "FirstFit"}, "workflows in a placer"),
        (LOG, {"on": CHANGING, "decide": "event"}, "decide='event' on machines"),
        (BOTH, {"on": TWO, "bid": "SRTF"}, "rigid jobs in an auction"),
        (LOG, {"on": TWO, "router": "RoundRobin"}, "RoundRobin before 2 schedulers"),
        (LOG, {"on": TWO, "bid": "SRTF", "forward": True}, "an auction that forwards before 2 schedulers"),
    ],
)
def test_the_compiled_clock_says_which_part_it_does_not_have(work: Any, given: dict[str, Any], text: str) -> None:
    with refused(f"...the compiled engine does not cover {text}; use engine='auto' or 'simpy'..."):
        sm.simulate(work, engine="compiled", **given)
    assert sm.simulate(work, **given).about["engine"] == "simpy"
