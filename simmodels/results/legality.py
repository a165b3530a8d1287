"""Legality: the rules that no platform can break, as one list, and the proof that a schedule keeps them.

A rule is a function of the `Evidence`; it applies by what the schedule has: attempts, machines, workflows.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.limits import numbers_of
from simmodels.clusters.party import NO_LIMIT, Party, core_seconds
from simmodels.ground.instants import rounding_s
from simmodels.ground.later import pd
from simmodels.ground.numbers import Floats, Ints
from simmodels.results import metrics
from simmodels.results.attempts import (
    COMPLETED,
    FINISHED,
    KILLED,
    OPEN,
    REJECTED,
    UNFINISHED,
    Attempts,
    numbered,
    part_table,
)
from simmodels.results.course import Course, course
from simmodels.results.evidence import Evidence

# -- each row by itself --------------------------------------------------------------------------------


def _outcome(e: Evidence) -> None:
    """Refuse rows whose times do not go with their outcomes."""
    unfinished, ended = e.outcome == UNFINISHED, ~np.isnan(e.end_s)
    times = "its start is {start_s} s, its end {end_s} s"
    e.refuse("outcome", ~unfinished & ~(e.started & ended), "is {outcome}, but " + times)
    e.refuse("outcome", unfinished & ended, "is unfinished, but ends at {end_s} s")
    e.refuse("outcome", np.isinf(e.start_s) | np.isinf(e.end_s), "has no finite times: " + times)
    known = (e.cluster >= 0) & (e.cluster < len(e.clusters))
    e.refuse("outcome", e.started & ~known, "starts at {start_s} s on cluster {cluster}, which there is not")
    known = (e.attempts.cluster >= 0) & (e.attempts.cluster < len(e.clusters))
    strange = ~np.isnan(e.attempts.start_s) & ~known
    e.refuse_attempts("outcome", strange, e.attempts, "starts at {start_s} s on cluster {cluster}, which there is not")


def _workflow_outcome(e: Evidence) -> None:
    """Refuse tasks whose outcome does not go with that of their workflow."""
    if e.workload.tasks is None:
        return
    of = np.append(e.workflow_outcome, OPEN)[e.workload.tasks.workflow]
    e.refuse("outcome", (of == FINISHED) & (e.outcome == UNFINISHED), "of a finished job has not ended")
    e.refuse("outcome", (of == REJECTED) & e.started, "of a rejected job starts at {start_s} s")


def _width(e: Evidence) -> None:
    """Refuse rows that are wider than their cluster."""
    cores = e.workload.cores
    width = (cores < 1) | (cores > np.array([spec.cores for spec in e.clusters])[e.on])
    text = "starts at {start_s} s on {job.cores} cores, which must be 1 to {spec.cores}"
    e.refuse("width", e.started & width, text)


def _kind(e: Evidence) -> None:
    """Refuse tasks on a cluster that is not of their kind."""
    if e.workload.tasks is None:
        return
    runs = e.attempts
    asked = e.workload.tasks.kind[runs.row]
    given = np.array([spec.kind for spec in e.clusters], dtype=object)[np.maximum(runs.cluster, 0)]
    wrong = ~np.isnan(runs.start_s) & (asked != given) & (asked != None) & (given != None)  # noqa: E711  of each element
    e.refuse_attempts("kind", wrong, runs, "runs on cluster {cluster}, which is not of its kind")


def _submit(e: Evidence) -> None:
    """Refuse starts before the submission."""
    early = e.start_s < e.workload.submit_s
    e.refuse("submit", early, "starts at {start_s} s, before its submit at {job.submit_s} s")


def _end(e: Evidence) -> None:
    """Refuse ends that are not start + runtime, exactly; or start + executed, if the model says how long jobs run.

    `_lengths` proves that of each attempt of which workload, machines and checkpoints say it.
    """
    ended = e.outcome != UNFINISHED
    if e.terms.modelled:
        fits = (e.end_s == e.start_s + e.executed_s) | (e.executed_s == e.end_s - e.start_s)  # one of them was rounded
        text = "starts at {start_s} s and ends at {end_s} s, which is not how long it executed"
        e.refuse("end", ended & ~(fits & (e.executed_s >= 0)), text)
        return
    late = ended & ((e.end_s != e.start_s + e.executed_s) | (e.end_s < e.start_s))
    killed = e.outcome == KILLED
    times = "{outcome}, starts at {start_s} s and ends at {end_s} s; "
    e.refuse("end", late & ~killed, times + "its runtime is {job.runtime_s} s")
    e.refuse("end", late & killed, times + "its estimate is {job.estimate_s} s")


def _overrun(e: Evidence) -> None:
    """Refuse jobs that were killed, or ran on, at their estimates where that does not happen."""
    if e.terms.modelled:
        return
    work, killed = e.workload, e.outcome == KILLED
    over = work.runtime_s > work.estimate_s
    why = " at {end_s} s, with a runtime of {job.runtime_s} s and an estimate of {job.estimate_s} s"
    e.refuse("overrun", killed & ~over, "is killed" + why)
    if e.terms.overrun == "run":
        e.refuse("overrun", killed, "is killed at {end_s} s, though jobs may run on past their estimates")
    if e.terms.overrun == "kill":
        e.refuse("overrun", (e.outcome == COMPLETED) & over, "completes" + why)


def _attempts(e: Evidence) -> None:
    """Refuse attempts of a job that do not follow each other, or do not lead to what its row says."""
    if e.listed is None:
        return
    work, jobs, listed = e.workload, len(e.start_s), e.listed > 0
    last = e.attempts.take(np.arange(jobs))
    unfinished = e.outcome == UNFINISHED
    same = (last.outcome == e.outcome) & (unfinished | (last.end_s == e.end_s))
    same &= (last.start_s == e.start_s) | (unfinished & np.isnan(e.start_s))
    same &= (last.cluster == e.cluster) | ~e.started
    text = "({outcome}, start {start_s} s, end {end_s} s) is not what its last attempt says"
    e.refuse("attempts", listed & ~same, text)

    runs, here = e.in_order()
    runs = runs.take(~np.isnan(runs.start_s) | (listed[runs.row] & here))
    row, attempt, start_s, end_s, outcome = runs[:5]
    again = np.append(False, row[1:] == row[:-1])
    early = np.append(again[1:], False)

    def refuse(bad: NDArray[np.bool_], text: str) -> None:
        e.refuse("attempts", np.bincount(row[bad], minlength=jobs) > 0, text)

    refuse(listed[row] & ~np.isfinite(start_s), "has an attempt without a finite start")
    refuse(again & ~(start_s >= np.roll(end_s, 1)), "has an attempt that starts before the one before has ended")
    refuse(early & (outcome != UNFINISHED), "runs again after an attempt that came to an end")
    refuse(start_s < work.submit_s[row], "has an attempt before its submit at {job.submit_s} s")
    refuse(end_s < start_s, "has an attempt that ends before it starts")
    undone = (outcome == UNFINISHED) & (end_s > start_s + work.runtime_s[row])
    if not e.terms.modelled:
        refuse(undone, "has an attempt that came to nothing after all its {job.runtime_s} s of work")
    next_ = numbered(row)
    e.refuse_attempts("attempts", attempt != next_, runs, "has an attempt {attempt} where {next_} is next", next_=next_)


def _lengths(e: Evidence) -> None:
    """Refuse attempts that do not take what their job, their machines and their checkpoints say."""
    if not e.terms.modelled:
        return
    runs, here, come_to = _course(e)
    lasts_s, limit_s = come_to.lasts_s, come_to.limit_s
    done, killed, runs_on = runs.outcome == COMPLETED, runs.outcome == KILLED, np.isnan(runs.end_s)

    def refuse(rule: str, bad: NDArray[np.bool_], text: str) -> None:
        e.refuse_attempts(rule, bad & come_to.known, runs, text, lasts_s=lasts_s, limit_s=limit_s)

    ran_s = np.where(runs.attempt == 1, runs.start_s - e.workload.submit_s[runs.row], 0.0)
    refuse("submit", ~(runs.earlier_s <= ran_s), "started at {start_s} s, and ran {earlier_s} s before that")
    times = "starts at {start_s} s and ends at {end_s} s; "
    refuse("end", done & (runs.end_s != runs.start_s + lasts_s), times + "what was left of it takes {lasts_s} s")
    refuse("end", killed & (runs.end_s != runs.start_s + limit_s), times + "it may take {limit_s} s")
    over = limit_s < lasts_s
    why = " at {end_s} s, and takes {lasts_s} s where {limit_s} s are its limit"
    refuse("overrun", killed & ~over, "is killed" + why)
    if e.terms.overrun == "run":
        refuse("overrun", killed & here, "is killed at {end_s} s, though jobs may run on past their estimates")
    if e.terms.overrun == "kill":
        refuse("overrun", done & over & here, "completes" + why)
    at_most = runs.start_s + np.where(here & (e.terms.overrun == "kill"), np.minimum(lasts_s, limit_s), lasts_s)
    undone = ~(done | killed | runs_on)
    refuse("attempts", undone & (runs.end_s > at_most), "came to nothing at {end_s} s, after all that was left of it")
    if e.window is not None:
        refuse("end", runs_on & (at_most < e.window[1]), "runs since {start_s} s, though it takes {lasts_s} s")


def _course(e: Evidence) -> tuple[Attempts, NDArray[np.bool_], Course]:
    """Return all attempts that started, in order, whether each ran here, and what they come to."""
    runs, here = e.in_order()
    started = ~np.isnan(runs.start_s)
    runs, here = runs.take(started), here[started]
    now_s = np.nan if e.window is None else e.window[1]
    return runs, here, course(runs, e.workload.runtime_s, e.workload.estimate_s, now_s)


# -- cores, cluster by cluster and machine by machine --------------------------------------------------


def _capacity(e: Evidence) -> None:
    """Refuse more cores in use on a cluster than it has."""
    several = len(e.clusters) > 1
    for number, spec in enumerate(e.clusters):
        here = e.attempts.cluster == number
        runs = e.attempts.take(here) if several else e.attempts
        name = f"cluster {spec.name!r}" if several else "the machine"
        _prove_capacity(e, runs.row, runs.start_s, runs.end_s, e.workload.cores[runs.row], spec.cores, name)


def _prove_capacity(e: Evidence, row: Ints, start_s: Floats, end_s: Floats, cores: Ints, most: int, name: str) -> None:
    """Refuse more cores in use than there are; jobs of 0 s may follow each other within their instant."""
    lasting = ~np.isnan(start_s) & (start_s != end_s)
    starts = np.flatnonzero(lasting)
    starts = starts[np.argsort(start_s[starts], kind="stable")]
    ends = np.flatnonzero(lasting & ~np.isnan(end_s))
    ends = ends[np.argsort(end_s[ends])]
    start_at, end_at = start_s[starts], end_s[ends]
    width = cores[starts]
    taken = np.append(0, np.cumsum(width))
    freed = np.append(0, np.cumsum(cores[ends]))
    # Before the last start of an instant this is too low, so what is too much there is too much at the last.
    used = taken[1:] - freed[np.searchsorted(end_at, start_at, side="right")]
    # Jobs of 0 s can follow each other within their instant: each has what runs through it beside it.
    brief = np.flatnonzero(start_s == end_s)
    at = start_s[brief]
    through = taken[np.searchsorted(start_at, at)] - freed[np.searchsorted(end_at, at, side="right")]
    text = "starts at {start_s} s on {cores} cores, which makes {in_use} in use; {name} has {most}"
    lasting_columns = {"row": row[starts], "start_s": start_at, "cores": width, "in_use": used}
    brief_columns = {"row": row[brief], "start_s": at, "cores": cores[brief], "in_use": through + cores[brief]}
    for columns in (lasting_columns, brief_columns):
        e.refuse_first("capacity", columns["in_use"] > most, columns, text, earliest=True, name=name, most=most)


def _limits(e: Evidence) -> None:
    """Refuse a start with which a party has more on a cluster than its limits let it have."""
    limits = e.terms.limits
    if limits is None:
        return
    columns = e.workload.numbers_by_name
    e.refuse("limits", e.started & limits.refused(columns), "starts at {start_s} s, and could never start")
    runs = e.attempts.take(~np.isnan(e.attempts.start_s))
    of: dict[Party, list[NDArray[np.int64]]] = {}
    for column in limits.columns:
        values, at = np.unique(numbers_of(columns, column)[runs.row], return_inverse=True)
        order = np.argsort(at, kind="stable")
        first = np.searchsorted(at[order], np.arange(len(values) + 1))
        for place, value in enumerate(values.tolist()):
            for party in limits.parties(column, value):
                of.setdefault(party, []).append(order[first[place] : first[place + 1]])
    for party, parts in of.items():
        theirs = runs.take(np.concatenate(parts))
        for cluster in np.unique(theirs.cluster).tolist():
            _prove_party(e, party, theirs.take(theirs.cluster == cluster))


def _prove_party(e: Evidence, party: Party, runs: Attempts) -> None:
    """Refuse a start with which a party has too much; what ran before the window began is counted, and not refused."""
    cores = e.workload.cores[runs.row]
    one, core_s = np.ones(len(cores), np.int64), core_seconds(cores, e.workload.estimate_s[runs.row])
    starts = runs.earlier_s == 0
    entered = starts & ~np.isin(runs.row, runs.row[runs.earlier_s > 0])  # others stay submitted, also if they are lost
    text = "starts at {start_s} s, which makes {has} {what} of {party}; it may have {most}"
    for what, each, most, counted in (
        ("jobs", one, party.jobs, starts),
        ("jobs", one, party.submitted, entered),  # what runs is submitted
        ("cores", cores, party.cores, starts),
        ("core-seconds", core_s, party.core_s, starts),
    ):
        if most == NO_LIMIT:
            continue
        has = _at_starts(runs.start_s, runs.end_s, each)
        values = {"has": has, "what": what, "party": party.name, "most": most}
        e.refuse_first("limits", counted & (has > most), runs._asdict(), text, earliest=True, **values)


def _at_starts(start_s: Floats, end_s: Floats, weight: NDArray[np.integer]) -> Ints:
    """Return at each start the sum of the weights that are present once all that happens at its instant has.

    Beside what takes no time, it is its own weight and those of what runs through its instant.
    """
    time_s, total = metrics.step_function(start_s, end_s, weight)
    present, brief = np.append(0, total)[np.searchsorted(time_s, start_s, side="right")], start_s == end_s
    _, at = np.unique(start_s, return_inverse=True)
    begun = np.zeros(len(at), np.int64)
    np.add.at(begun, at, np.where(brief, 0, weight))
    return np.where(brief, present - begun[at] + weight, present)


def _machines(e: Evidence) -> None:
    """Refuse attempts on a machine that there is not, has not the cores for them, or is off while they run."""
    if e.off_spans is None or e.window is None:
        return
    a, ends_s = e.attempts, e.window[1]
    started = np.flatnonzero(~np.isnan(a.start_s))
    used = pd.DataFrame(
        {
            "cluster": a.cluster[started],
            "machine": a.machine[started],
            "row": a.row[started],
            "attempt": a.attempt[started],
            "start_s": a.start_s[started],
            "end_s": a.end_s[started],
            "cores": e.workload.cores[a.row[started]],
        }
    )
    used = _on_parts(e, used)
    sizes = np.array([spec.machines for spec in e.clusters])[used["cluster"]]
    machine = used["machine"].to_numpy()
    strange = (machine < 0) | (machine + used["machines"].to_numpy() > sizes)
    first = np.where(machine < 0, machine, np.maximum(machine, sizes))  # the lowest of its machines that there is not
    text = "starts at {start_s} s on machine {first}; there are 0 to {last}"
    e.refuse_first("machines", strange, used, text, first=first, last=sizes - 1)
    used = part_table(used)
    off = dict(iter(e.off_spans.groupby(["cluster", "machine"])))
    for key, runs in used.groupby(["cluster", "machine"]):
        cluster, machine = runs[["cluster", "machine"]].iloc[0].tolist()
        _prove_machine(e, (cluster, machine), runs, off.get(key), ends_s)
    _prove_losses(e, used, e.window)


def _on_parts(e: Evidence, used: "pd.DataFrame") -> "pd.DataFrame":
    """Return attempts by run of machines; refuse parts that are not all cores, or without the machine of the attempt.

    `used` has a row for each attempt, with its lowest machine and all its cores.
    """
    parts = e.part_table().merge(used[["row", "attempt"]].assign(at=np.arange(len(used))), on=["row", "attempt"])
    at, machine, machines, cores = (parts[name].to_numpy(np.int64) for name in ("at", "machine", "machines", "cores"))
    held = np.zeros(len(used), np.int64)
    np.add.at(held, at, machines * cores)
    whole = np.zeros(len(used), np.bool_)
    whole[at] = True
    odd = whole & (held != used["cores"].to_numpy())
    e.refuse_first("machines", odd, used, "has {held} cores of its machines, and needs {cores}", held=held)
    own = used["machine"].to_numpy()[at]
    elsewhere = whole.copy()
    elsewhere[at[(machine <= own) & (own < machine + machines)]] = False
    text = "starts at {start_s} s on machine {machine}, which is not one of its machines"
    e.refuse_first("machines", elsewhere, used, text)
    spread = used.iloc[at].assign(machine=machine, machines=machines, cores=cores)
    return pd.concat([used.assign(machines=1)[~whole], spread], ignore_index=True)


def _prove_machine(
    e: Evidence, key: tuple[int, int], runs: "pd.DataFrame", off: "pd.DataFrame | None", ends_s: float
) -> None:
    """Refuse too many cores in use on one machine, and what runs there while it is off."""
    spec, machine = e.clusters[key[0]], key[1]
    row, start_s, end_s, cores = (runs[name].to_numpy() for name in ("row", "start_s", "end_s", "cores"))
    _prove_capacity(e, row, start_s, end_s, cores, spec.cores_of(machine), f"machine {machine}")
    if off is None:
        return
    until, begins = off["end_s"].to_numpy(), np.append(off["start_s"].to_numpy(), np.inf)
    next_ = begins[np.searchsorted(until, start_s, side="right")]  # the first that ends after the start
    late = (start_s != end_s) & (next_ < np.where(np.isnan(end_s), ends_s, end_s))  # one that wakes may sleep at once
    text = "starts at {start_s} s on machine {machine}, and is still there when it is off at {off_s} s"
    e.refuse_first("offline", late, runs, text, off_s=next_)


def _prove_losses(e: Evidence, used: "pd.DataFrame", window: tuple[float, float]) -> None:
    """Refuse attempts that were lost when none of their machines went off, and that nobody stopped."""
    a = e.attempts
    lost = (a.outcome == UNFINISHED) & (a.start_s < a.end_s) & (a.end_s > window[0]) & (a.end_s <= window[1])
    keys = ["cluster", "machine"]
    spans = e.off_spans[[*keys, "start_s"]].rename(columns={"start_s": "end_s"})  # type: ignore[index]  # it is there
    known = used[["row", "attempt", "end_s", *keys]].merge(spans, on=[*keys, "end_s"])
    went = pd.MultiIndex.from_arrays([a.row, a.attempt]).isin(pd.MultiIndex.from_frame(known[["row", "attempt"]]))
    text = "is lost at {end_s} s, when none of its machines goes off"
    e.refuse_attempts("offline", lost & ~a.stopped & ~went, a, text)


def _work(e: Evidence) -> None:
    """Refuse attempts that did more work than there was time for, and jobs that did more than theirs, or less.

    And those that are credited with work that no checkpoint saved.
    """
    if e.off_spans is None or e.window is None:
        return
    a = e.attempts
    ran = ~np.isnan(a.start_s)
    row, start_s, work_s = a.row[ran], a.start_s[ran], a.work_s[ran]
    end_s = np.where(np.isnan(a.end_s[ran]), e.window[1], a.end_s[ran])
    close = rounding_s(start_s, end_s)
    odd = ~((work_s >= -close) & (work_s <= end_s - start_s + close))
    columns = {"row": row, "work_s": work_s}
    e.refuse_first("work", odd, columns, "did {work_s} s of work in less time, or less than 0")
    runs, _, come_to = _course(e)
    row, start_s, end_s = runs.row, runs.start_s, runs.end_s
    done = np.bincount(row, runs.work_s * runs.speed, len(e.start_s))
    length = e.workload.runtime_s
    rounding = rounding_s(start_s, end_s, e.workload.submit_s[row], length[row]) * np.maximum(runs.speed, 1.0)
    near = np.bincount(row, rounding, len(e.start_s))  # of every attempt
    whole = (e.outcome == COMPLETED) & (e.workload.submit_s >= e.window[0])
    proved = e.counted & (np.bincount(row[~come_to.known], minlength=len(whole)) == 0)
    odd = proved & ((done > length + near) | (whole & (done < length - near)))
    columns = {"row": np.arange(len(done)), "length": length, "done": done}
    e.refuse_first("work", odd, columns, "of {length} s did {done} s of work")
    more = runs.work_s - come_to.work_s
    wrong = (more > rounding) | (~np.isnan(end_s) & (more < -rounding))  # what runs may be known for an earlier instant
    text = "is credited with {work_s} s of work from {start_s} s to {end_s} s, of which {kept_s} s were not lost"
    e.refuse_attempts("work", wrong & come_to.known, runs, text, kept_s=come_to.work_s)


# -- workflows -----------------------------------------------------------------------------------------


def _data(e: Evidence) -> None:
    """Refuse tasks that start before the data of their predecessors are on their cluster."""
    if e.workload.tasks is None:
        return
    edges = e.workload.tasks.edges
    receiver = edges[:, 1]
    early = e.started[receiver] & ~(e.start_s[receiver] >= e.arrival_s(edges))
    bad = np.bincount(receiver[early], minlength=len(e.start_s)) > 0
    e.refuse("data", bad, "starts at {start_s} s, before the data of its predecessors are there")
    earlier = e.attempts.take(np.arange(len(e.start_s), len(e.attempts.row)))
    number = pd.DataFrame({"receiver": earlier.row, "at": np.arange(len(earlier.row))})
    pairs = pd.DataFrame(edges, columns=["sender", "receiver"]).merge(number, on="receiver")
    at = pairs["at"].to_numpy()
    early = ~(earlier.start_s[at] >= e.arrival_s(pairs[["sender", "receiver"]].to_numpy(), earlier.cluster[at]))
    bad = np.bincount(at[early], minlength=len(earlier.row)) > 0
    e.refuse_attempts("data", bad, earlier, "starts at {start_s} s, before the data of its predecessors are there")


RULES: Final[tuple[Callable[[Evidence], None], ...]] = (
    _outcome,
    _workflow_outcome,
    _width,
    _kind,
    _submit,
    _end,
    _overrun,
    _attempts,
    _lengths,
    _data,
    _machines,
    _capacity,
    _limits,
    _work,
)
"""The rules, in the order in which they are held against a schedule."""


def check(evidence: Evidence) -> None:
    """Raise `IllegalScheduleError` if a rule is broken; `Schedule.validate` says what each of them asks."""
    for rule in RULES:
        rule(evidence)
