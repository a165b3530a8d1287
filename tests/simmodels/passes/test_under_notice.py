"""A queue uses machines under notice for what ends before they go, and reserves on them."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

import simmodels as sm
from tests import naive_machines
from tests.model_scripts import machines_on, scheduled

Jobs = list[tuple[float, float, float, int]]


def run(
    jobs: Jobs,
    sizes: list[int],
    spans: list[naive_machines.Span],
    checkpoints: sm.Checkpoints | None = None,
    **options: Any,  # noqa: ANN401  of the queue
) -> list[list[tuple[float, float]]]:
    """Return start and end of each attempt, by job, with maintenance in these spans."""
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, size) for size in sizes], checkpoints=checkpoints)
    for machine, notified_s, off_s, on_s, mode in spans:
        ahead: dict[str, Any] = {"notice_s": off_s - notified_s, "mode": mode}
        sm.Maintenance(env, cluster, start_s=off_s, duration_s=on_s - off_s, machines=[machine], **ahead)
    submit_s, runtime_s, estimate_s, cores = zip(*jobs, strict=True)
    users = np.arange(len(jobs)) % 3
    work = sm.Workload(range(len(jobs)), submit_s, runtime_s, estimate_s, cores, users)
    schedule = scheduled(sm.QueueScheduler(env, cluster, **options), work, whole=True)
    table = schedule.all_attempts().sort_values(["row", "attempt"])
    runs: list[list[tuple[float, float]]] = [[] for _ in jobs]
    for row, start_s, end_s in table[["row", "start_s", "end_s"]].itertuples(index=False):
        if start_s >= 0:  # it has started
            runs[row].append((start_s, end_s))
    return runs


def test_own_schedulers_may_place_on_machines_under_notice_what_ends_before() -> None:
    class First(sm.Scheduler):
        def decide(self, now: float) -> Any:  # noqa: ANN401, ARG002
            yield from [sm.Placement(job, self.cluster.machines) for job in self.waiting]

    env, cluster = machines_on(1, 1)
    sm.Maintenance(env, cluster, start_s=50, duration_s=10, notice_s=50)
    scheduler = First(env, cluster)
    env.run(until=10)
    scheduler.submit(sm.Job(1, 10.0, 20.0, 40.0, 1))
    env.run(until=31)
    assert not cluster.running  # it ran
    assert cluster.machines[0].offered == 0
    scheduler.submit(sm.Job(2, 31.0, 20.0, 20.0, 1))
    refused = "0 of machine 0 of 'c' are free for it; machine 0 goes at 50 s, and the job ends at 51 s by its estimate"
    with pytest.raises(sm.ImpossibleJobError, match=refused):
        env.run(until=32)


@pytest.mark.parametrize("machine", [0, 1])
def test_by_event_what_ends_runs_until_a_decision_knows_of_it(machine: int) -> None:
    # At 2 the third is submitted before the first has ended, three seconds early, as far as is known: it would delay
    # the second's promise at 5. The machine that goes is that of the first, or the other one.
    jobs = [(0, 2, 5, 2), (0, 9, 9, 4), (2, 4, 4, 1)]
    found = run(jobs, [2, 2], [(machine, 0, 1000, 1001, "kill")], decide="event")
    assert found == [[(0, 2)], [(2, 11)], [(11, 15)]]


JOBS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 15), st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=9
)
LIMITS = (
    None,
    None,
    [{"by": "user", "jobs": 1}],
    [{"by": "user", "jobs": 2, "core_minutes": 1.5}, {"by": "user", "value": 0, "cores": 4}],
    [{"group": "both", "members": (0,)}, {"group": "one", "members": (0,), "parent": "both", "cores": 5}],
)


def rules_of_queues(limits: tuple[Any, ...], threshold_s: float) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the rules of a queue that the plain simulator of machines knows."""
    rules: dict[str, list[Any]] = {
        "backfilling": ["none", "greedy", "easy", "conservative"],
        "order": ["FCFS", "SAF", "LQF", "SPF"],
        "backfill_order": [None, "FCFS", "SAF", "SPF"],
        "max_starts": [None, None, 1, 2],
        "max_backfills": [None, None, 1, 2],
        "threshold_s": [None, None, threshold_s],
        "queue_depth": [None, None, 1, 3],
        "warm_jobs": [0, 0, 2],
        "overrun": ["run", "kill"],
        "limits": [*limits],
    }
    return st.fixed_dictionaries({name: st.sampled_from(values) for name, values in rules.items()})


def leave_out_what_does_not_go_together(rules: dict[str, Any]) -> None:
    if rules["backfilling"] != "easy":
        rules["backfill_order"] = None
    if rules["backfilling"] == "none":
        rules["max_backfills"] = None
    if rules["queue_depth"] is not None:
        rules["warm_jobs"] = 0
    if rules["backfilling"] == "conservative":  # with promises that are kept, which the plain simulator makes again
        rules["order"], rules["limits"] = "FCFS", None


MODES = st.sampled_from(["kill", "drain", "checkpoint"])
SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 20), st.integers(1, 15), MODES), max_size=4
)


@given(
    jobs=JOBS,
    given_spans=SPANS,
    sizes=st.sampled_from([[2, 2, 2], [1, 3, 2], [4, 1, 1]]),
    rules=rules_of_queues(LIMITS, 10),
    checkpoints=st.sampled_from([(math.inf, 0.0, 0.0), (math.inf, 2.0, 1.0), (3.0, 0.0, 0.0), (4.0, 1.0, 2.0)]),
)
@example(  # a job on a machine that drains and one that goes: only the latter asks for its checkpoint
    jobs=[(16, 1, 0, 3), (16, 12, 0, 2)],
    given_spans=[(0, 27, 0, 1, "drain"), (1, 27, 0, 1, "checkpoint")],
    sizes=[4, 1, 1],
    rules={"backfilling": "none", "order": "FCFS", "backfill_order": None, "queue_depth": None, "warm_jobs": 0},
    checkpoints=(math.inf, 0.0, 0.0),
)
def test_a_queue_on_machines_is_that_of_the_plain_simulator(
    jobs: list[tuple[int, ...]],
    given_spans: list[Any],
    sizes: list[int],
    rules: dict[str, Any],
    checkpoints: tuple[float, ...],
) -> None:
    leave_out_what_does_not_go_together(rules)
    if rules["backfilling"] == "conservative":
        jobs = [(a, b, 0, cores) for a, b, _, cores in jobs]
    spans: list[naive_machines.Span] = []
    for machine, notified, ahead, length, mode in sorted(given_spans):  # spans of a machine do not overlap, nor touch
        if not any(m == machine and notified <= on + 1 for m, _, _, on, _ in spans):
            spans.append((machine, notified, notified + ahead, notified + ahead + length, mode))
    rows = [(float(a), float(b), float(b + over), cores) for a, b, over, cores in sorted(jobs)]
    plain = [naive_machines.Row(number, *row) for number, row in enumerate(rows)]
    given_rules = {**rules, "backfill_order": rules["backfill_order"] or rules["order"]}
    naive_machines.simulate(plain, sizes, spans, checkpoints, **given_rules)
    assert run(rows, sizes, spans, sm.Checkpoints(*checkpoints), **rules) == [row.runs for row in plain]


def test_a_prediction_under_notice_is_the_start() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 4), sm.Machines(1, 2)])
    queue = sm.QueueScheduler(env, cluster, backfilling="conservative")
    sm.Maintenance(env, cluster, start_s=100, duration_s=10, machines=[0], notice_s=100)
    work = sm.Workload([1, 2, 3, 4], [1, 1, 1, 1], [20, 90, 60, 70], [20, 90, 60, 70], [4, 2, 4, 2])
    predicted = {}
    env.at(2).callbacks.append(
        lambda _: predicted.update({job.job_id: queue.predict_start(job) for job in queue.waiting})
    )
    start_s = scheduled(queue, work).start_s
    assert start_s.tolist() == [1, 1, 21, 91]
    assert predicted == {3: 21, 4: 91}
