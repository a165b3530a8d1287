"""Natural mistakes in a script: each is answered in one sentence, which says what must hold and what was given."""

# ruff: noqa: E501  a sentence stands on one line, as it is shown

import doctest
import inspect
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pytest
import simpy

import simmodels as sm
import workloads as wl
from experiments import figures
from experiments.graph_drawing import graph_by_rank
from experiments.viewer.trace import write_trace
from experiments.viewer.view import write_view

JOBS: Final = {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [1, 2]}
FLOW: Final = sm.Workflow(1, 0.0, [10.0, 20.0], 2, [(0, 1)])


def cluster() -> sm.Cluster:
    return sm.Cluster(sm.Environment(), "ours", cores=4)


def queue() -> sm.QueueScheduler:
    at = cluster()
    return sm.QueueScheduler(at.env, at)


def late_recorder() -> sm.Recorder:
    late = queue()
    sm.Source(late.env, JOBS, into=late)
    late.env.run()
    return sm.Recorder(late.env)


def two_schedulers() -> sm.QueueScheduler:
    first = queue()
    return sm.QueueScheduler(first.env, first.cluster)


def recorder_of_what_is_to_come() -> sm.Schedule:
    early = queue()
    recorder = sm.Recorder(early.env)
    sm.Source(early.env, JOBS, into=early)
    return recorder.schedule()


MISTAKES: Final = """\
# -- what every user gets wrong once
>>> sm.simulate("log.swf.gz", cores=4)
log.swf.gz: cannot be read: no such file or directory
>>> sm.simulate(pd.DataFrame({"submit": [0], "runtime": [1]}), cores=4)
a table of jobs must have the columns submit_s, runtime_s and cores (got submit and runtime; submit_s, runtime_s and cores missing)
>>> sm.simulate(sm.simulate(JOBS, cores=2), cores=2)
workload must be a Workload, a path, a table of jobs, or workflows (got a Schedule); its .workload is one
>>> sm.simulate(np.zeros((2, 3)), cores=4)
workload must be a Workload, a path, a table of jobs, or workflows (got an array of shape (2, 3)); name its columns: pd.DataFrame(array, columns=[...])
>>> sm.simulate({**JOBS, "submit_s": ["now", "then"]}, cores=4)
column submit_s, row 0, must be a number (got 'now')
>>> sm.simulate({**JOBS, "submit_s": pd.to_datetime(["2024-01-01", "2024-01-02"])}, cores=4)
column submit_s must be numbers (got dates); (t - t.min()).dt.total_seconds() makes seconds of dates
>>> sm.simulate(JOBS, cores=2, threshold_s="40 hours")
threshold_s must be a number of seconds, or one with a unit (s, min, h, d, w) such as 90s, 30min, 40h or 2d (got '40 hours')
>>> sm.simulate(JOBS, cores=2, threshold_s=[40])
threshold_s must be a number of seconds >= 0, or None (got [40])
>>> sm.Cluster(simpy.Environment(), "ours", cores=4)
env must be a simmodels.Environment (got a simpy.Environment)
>>> sm.Cluster(sm.Environment, "ours", cores=4)
env must be an Environment (got the class Environment)
>>> late_recorder()
a Recorder is created at 15 s, after the first submission; create it before the clock runs
>>> sm.simulate(JOBS, cores=2, backfilling="EASY")
unknown backfilling 'EASY'; did you mean easy? known: none, greedy, easy, conservative
>>> sm.simulate(JOBS, cores=2, backfilling=True)
backfilling must be one of none, greedy, easy, conservative (got True)
>>> wl.lublin(jobs=10, cores=8, seed=1, load=90)
load must be a share of all cores, at most 10: 0.9 for 90 % (got 90)
>>> sm.simulate(JOBS)
the size of the machine of 'workload' is unknown; give cores=

# -- and later
>>> sm.simulate(JOBS, cores="2")
cores must be an integer from 1 to 2**53 (got '2')
>>> sm.simulate(JOBS, cores=1)
job 2: needs 2 cores, and the machine has 1
>>> sm.simulate(JOBS, on="ours")
cores must be an integer from 1 to 2**53 (got 'ours')
>>> sm.simulate(JOBS, cores=2, order=3)
order must be a name, an Order, a Bid or a function (got 3)
>>> sm.simulate(JOBS, cores=2, engine="numba")
unknown engine 'numba'; known: auto, simpy, compiled
>>> sm.simulate_on_machines(JOBS, 3, cores_per_machine=2)
capacity must be a Capacity, a table with columns time_s and machines, or a list of (time_s, machines) (got 3)
>>> sm.simulate_on_machines(JOBS, [(5, 2), (0, 1)], cores_per_machine=2)
row 1: time_s 0 after 5; sort the table
>>> sm.simulate_on_machines(JOBS, [(0, 2)], cores_per_machine=2, heuristic="firstfit")
unknown heuristic 'firstfit'; did you mean FirstFit? known: FirstFit, TargetStretch, TargetAsap, PackedTargetAsap
>>> sm.simulate_workflows([FLOW], clusters=4)
clusters must be a list of clusters (got 4)
>>> sm.simulate_workflows([FLOW], clusters=[])
no clusters; give at least one
>>> sm.simulate_workflows([FLOW], clusters=[("a", 4)], ccr="a fifth")
ccr must be a finite number >= 0 (got 'a fifth')
>>> sm.Environment(seed=None)
seed must be an integer >= 0 (got None)
>>> sm.Cluster(sm.Environment(), "ours")
cluster 'ours' with cores=None, machines=None, cores_per_machine=None; give either cores, or machines and cores_per_machine, or a list of Machines
>>> sm.QueueScheduler(sm.Environment(), "ours")
cluster must be a Cluster (got 'ours')
>>> sm.QueueScheduler(sm.Environment(), cluster())
cluster 'ours' belongs to another environment; create both with the same env
>>> two_schedulers()
QueueScheduler for cluster 'ours', which has a QueueScheduler; let one scheduler, or one auctioneer, serve it
>>> sm.Failures((at := cluster()).env, at, mtbf_s=60, repair_s=1)
cluster 'ours' has no machines; create it with machines=
>>> sm.simulate_on_machines(JOBS, [(0, 2)], cores_per_machine=2, heuristic="TargetAsap")
TargetAsap has no reference; add reference=, jobs like those to come (of the week before)
>>> sm.RoundRobin(sm.Environment(), queue())
into must be a list of schedulers, or routers (got a QueueScheduler)
>>> sm.RoundRobin(sm.Environment(), [queue()])
what a RoundRobin sends jobs to belongs to another environment; create both with the same env
>>> sm.Source(sm.Environment(), JOBS, into=cluster())
into must be a scheduler, a router or an Auctioneer (got a Cluster)
>>> queue().submit({"cores": 1})
a scheduler got dict; give it a Job; Dependencies, or an Auctioneer, take workflows
>>> queue().submit(sm.Job(1, 0, 10, 10, "2"))
job 1: cores and runtime_s must be numbers (got ('2', 10))
>>> sm.Tuner(sm.Environment(), queue(), "UCB1")
strategy must be a Strategy (got 'UCB1')
>>> sm.UCB1(choices="SAF")
choices must be a list of choices (got 'SAF')
>>> sm.Workflow(1, 0, [1, 1], edges=[(0, 1), (1, 0)])
job 1: its tasks wait for each other: 0 -> 1 -> 0
>>> sm.Workflow(1, 0, [1, 1], edges=[(0, 2)])
job 1: edge (0, 2): its tasks are numbered 0 to 1
>>> sm.Workflow(1, 0, [1, 1], edges=[(0, "b")])
edges must be numbers (got [(0, 'b')])
>>> sm.Workflow(1, 0, [1, 1], edges=[(0, None)])
job 1: edge (0.0, nan): its tasks are numbered 0 to 1
>>> sm.Workflow(1, 0, "ten")
runtime_s must be numbers (got 'ten')
>>> sm.Workload.concat(JOBS)
parts must be workloads and workflows (got 'submit_s')
>>> sm.Power(machine_w="100", core_w=1)
machine_w must be a finite number of watts >= 0 (got '100')
>>> sm.simulate(JOBS, cores=2).metrics(tau_s=0)
tau_s must be a finite number of seconds > 0 (got 0)
>>> sm.as_logged(JOBS, cores=2)
'workload' does not say when its jobs started; add a column wait_s of waits >= 0
>>> sm.order("SAF")
function must be a function (got 'SAF')
>>> wl.read(5)
path must be the path of a file (got 5)
>>> wl.write_swf("log.swf", JOBS)
log must be a Workload, or a Schedule (got 'log.swf')
>>> wl.clean(JOBS, ["strong", 3], cores=4)
filter must be one of runnable, strong, program, regression, published, ends (got 3)
>>> wl.arrivals([FLOW], 3, gap_s=60, poisson="yes")
poisson must be True or False (got 'yes')
>>> figures.gantt(sm.Workload.of(JOBS))
schedules must be a Schedule (got a Workload)
>>> figures.utilisation_and_queue(sm.Workload.of(JOBS))
schedule must be a Schedule (got a Workload)
>>> figures.distributions(sm.simulate(JOBS, cores=2))
schedules must be schedules by name (got a Schedule)
>>> graph_by_rank(wl.fork_join(2))
workflow must be a Workflow (got a DiGraph)
>>> write_view(sm.Workload.of(JOBS), "view.html")
schedule must be a Schedule (got a Workload)
>>> write_trace(sm.Workload.of(JOBS), "trace.json")
schedule must be a Schedule (got a Workload)

# -- what other libraries have
>>> sm.simulate(JOBS, cores=2, order=lambda cores: None)
what order '<lambda>' returns must be a number (got None)
>>> sm.simulate(JOBS, cores=2, order=lambda cores: None if cores > 1 else 3.0)
what order '<lambda>' returns must be a number (got None)
>>> sm.simulate([FLOW], cores=2, bid=lambda cores: (cores, 1))
what bid '<lambda>' returns must be a number (got (2.0, 1))
>>> sm.simulate_on_machines(JOBS, [(0, 2)], cores_per_machine=2, order=lambda cores: [1])
what order '<lambda>' returns must be a number (got [1])
>>> sm.simulate(JOBS, cores=2).metrics["x"]
metrics['x'] of a method; call it first: metrics()['x']
>>> sm.simulate(JOBS, cores=2)["wait_s"]
a Schedule has no items, and no rows to loop over; its columns are arrays (.start_s), .jobs is the table of jobs, metrics() has the figures of merit
>>> list(sm.simulate(JOBS, cores=2))
a Schedule has no items, and no rows to loop over; its columns are arrays (.start_s), .jobs is the table of jobs, metrics() has the figures of merit
>>> sm.Workload.of(JOBS)[0:10]
a Workload has no items, and no rows to loop over; its columns are arrays (.cores); to_frame() is a table, job(row) a job, take(rows) a smaller workload
>>> 1 in sm.Workload.of(JOBS)
a Workload has no items, and no rows to loop over; its columns are arrays (.cores); to_frame() is a table, job(row) a job, take(rows) a smaller workload
>>> FLOW[0]
a Workflow has no items, and no rows to loop over; its columns are arrays, one value per task (.runtime_s); label(task) is the name of a task
>>> sm.Capacity.of([(0, 2)])[0]
a Capacity has no items, and no rows to loop over; its columns are arrays (.time_s, .machines); machines_at(time_s) is how many there are at an instant
>>> sm.simulate(JOBS, cores=2).plot()
plot() does not say what to draw; draw with plot.gantt(), plot.queue() or plot.waits()
>>> sm.simulate(JOBS, cores=2).plot["gantt"]
a Plots has no items, and no rows to loop over; draw with plot.gantt(), plot.queue() or plot.waits()
>>> sm.simulate(JOBS, cores=2).plot.gantt("out.png")
gantt takes other arguments by name (got 'out.png'); plot.gantt().savefig('out.png') writes a file
>>> sm.Site("a", 64)
Site takes other arguments by name (got 'a', 64); for example Site(name='a', cores=64)
>>> sm.Cluster(sm.Environment(), "a", 64)
Cluster takes other arguments by name (got 64); for example Cluster(env, 'a', cores=64)
>>> sm.simulate(JOBS, 2)
simulate takes other arguments by name (got 2); for example simulate(log, cores=64)
>>> sm.simulate_on_machines(JOBS, [(0, 2)], cores_per_machine=2, heuristic="TargetAsap", reference=[FLOW])
reference must be a Workload, or None (got [a Workflow])
>>> sm.static_schedule([FLOW], [("a", 4)])
workflow must be a Workflow (got [a Workflow])
>>> sm.Recorder(queue().env).schedule()
nothing has happened yet that a schedule could show; call env.run() first
>>> recorder_of_what_is_to_come()
nothing has happened yet that a schedule could show; call env.run() first
>>> sm.Environment().timeout("soon")
delay must be a number of seconds, or one with a unit (s, min, h, d, w) such as 90s, 30min, 40h or 2d (got 'soon')
>>> sm.Environment().timeout(-1)
delay must be a number of seconds >= 0 (got -1)

# -- names that others have
>>> sm.Workflow.from_networkx
Workflow has no from_networkx; Workflow.from_graph takes a networkx graph
>>> sm.Workload.from_csv
Workload has no from_csv; Workload.of(path) reads a file, and workloads.read too
>>> sm.Workload.of(JOBS).plot
Workload has no plot; simulate it, and draw the schedule: simulate(...).plot.gantt()
>>> sm.simulate(JOBS, cores=2).plot.hist
Plots has no hist; draw with plot.gantt(), plot.queue() or plot.waits()
>>> sm.simulate(JOBS, cores=2).wait_s
Schedule has no wait_s; it is a column of .jobs: .jobs['wait_s']
>>> sm.Workload.of(JOBS).zebra
'Workload' object has no attribute 'zebra'
>>> sm.Workload.zebra
type object 'Workload' has no attribute 'zebra'
"""
"""What is written in a script, and the whole answer."""


HELPERS: Final = (cluster, queue, late_recorder, two_schedulers, recorder_of_what_is_to_come)
MODULES: Final = {"np": np, "pd": pd, "simpy": simpy, "sm": sm, "wl": wl, "figures": figures}
NAMES: Final = {each.__name__: each for each in (*HELPERS, graph_by_rank, write_trace, write_view)} | MODULES
CASES: Final = doctest.DocTestParser().get_examples(MISTAKES)


@pytest.mark.parametrize("case", CASES, ids=[case.want.strip() for case in CASES])
def test_a_mistake_is_answered_in_one_sentence(
    case: doctest.Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((sm.SimModelsError, AttributeError)) as error:
        eval(case.source, {**NAMES, "JOBS": JOBS, "FLOW": FLOW})  # noqa: S307  our own lines
    assert str(error.value) == case.want.strip()


def test_a_method_whose_result_has_items_is_a_method_to_everybody_else() -> None:
    schedule = sm.simulate(JOBS, cores=2)
    assert schedule.metrics.__self__ is schedule
    assert repr(schedule.metrics).startswith("<bound method Schedule.metrics of")
    assert list(inspect.signature(schedule.metrics).parameters) == ["tau_s", "warm_credit"]
    assert schedule.metrics.__doc__ == sm.Schedule.metrics.__doc__


def test_a_recorder_has_a_schedule_of_a_run_without_jobs() -> None:
    at = queue().env
    recorder = sm.Recorder(at)
    at.run()
    assert len(recorder.schedule()) == 0
    late = queue()
    recorder = sm.Recorder(late.env)
    sm.Source(late.env, {**JOBS, "submit_s": [100, 200]}, into=late)
    late.env.run(until=50)
    assert np.isnan(recorder.schedule().start_s).all()


def test_a_path_and_a_table_stand_for_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    wl.write_swf(sm.Workload.of(JOBS), path)
    wanted = [0.0, 10.0]
    for given in (path, str(path), JOBS, pd.DataFrame(JOBS), sm.Workload.of(JOBS)):
        assert sm.simulate(given, cores=2).start_s.tolist() == wanted


@pytest.mark.parametrize("threshold_s", ["40h", "2400min", 144_000, np.int64(144_000), 144_000.0])
def test_a_threshold_may_have_a_unit(threshold_s: float | str) -> None:
    schedule = sm.simulate(JOBS, cores=2, threshold_s=threshold_s)
    assert schedule.about["threshold_s"] == 144_000.0
