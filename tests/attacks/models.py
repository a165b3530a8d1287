"""Random models of many parts: clusters, what changes them, who schedules, who sends jobs there, logs and workflows.

Each schedule is gone through by a checker that shares no code with the proof (`tests.checker`), beside a record of what
was seen to start and end; the proof must accept it, and refuse it once it was tampered with. What the compiled engine
covers runs on both. The text of a broken case has the smallest model found that still breaks, as a call that repeats
it: ``from tests.attacks.models import *; inf = math.inf`` and then the call.
"""

import copy
import math
import random
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

import simmodels as sm
from simmodels.errors import IllegalScheduleError, ImpossibleJobError, RequestError
from tests import checker
from tests.attacks.attack import Broken, Case
from tests.attacks.model_drawing import PLAIN, Described, a_model
from tests.attacks.model_runs import Ran, run_model, run_on_both
from tests.checker import NEVER, UNFINISHED, Fault, Place, Travel

CASES = 5_000

# Faults that are known and not yet mended: a model that shows one is counted, and breaks nothing. `= {}` checks all.
KNOWN: Final[dict[str, str]] = {}


def cases(seed: int) -> Iterator[Case]:
    """Hand out one model after the other."""
    number = 0
    while True:
        yield _case(f"{seed}/{number}")
        number += 1


def _case(drawn: str) -> Case:
    return lambda: attack(drawn)


# -- what must hold ---------------------------------------------------------------------------------------


def _require_same(one: sm.Schedule, other: sm.Schedule) -> None:
    """Check that two schedules are the same to the last bit."""
    for name in ("start_s", "end_s", "outcome", "cluster", "counted", "workflow_outcome", "price"):
        a, b = getattr(one, name), getattr(other, name)
        if (a is None) != (b is None) or (a is not None and a.tobytes() != b.tobytes()):
            raise Fault("engines", f"{name} is {a} (compiled) and {b} (simpy)")
    for name in ("attempts", "parts", "off_spans"):
        tables = [getattr(each, name) for each in (one, other)]
        if any(table is None for table in tables):
            rows = [0 if table is None else len(table) for table in tables]
            if name != "attempts" and rows != [0, 0]:
                raise Fault("engines", f"{name} has {rows} rows")
            continue
        if name == "parts":
            tables = [table.sort_values(["row", "attempt", "machine"]) for table in tables]
        a, b = (table.reset_index(drop=True) for table in tables)
        columns = [column for column in a if column in b]
        if not a[columns].equals(b[columns]):
            raise Fault("engines", f"{name}:\n{a[columns]}\n{b[columns]}")


def _place(model: Described, number: int) -> Place:
    """Return a cluster as the checker knows it."""
    given = model["clusters"][number]
    machines = given["machines"]
    each = ((given["cores"], given["speed"]),)
    if machines is not None:
        each = tuple((cores, speed) for count, cores, speed in machines for _ in range(count))
    writing = [(0.0, given["checkpoints"] or NEVER)]
    overruns = {given["scheduler"][1].get("overrun", "run")}
    for at_s, part, of, change in sorted(model["script"], key=lambda turn: turn[0]):
        if part == "checkpoints" and of == number:
            writing.append((at_s, change))
        if part == "scheduler" and of == number and "overrun" in change:
            overruns.add(change["overrun"])
    tables = [how.get("mode") for _, how in given["changes"]]
    tables += [change[3] for _, how in given["changes"] for change in how.get("table", ())]
    kills = frozenset(overrun == "kill" for overrun in overruns)
    return Place("abc"[number], each, given["kind"], tuple(writing), "checkpoint" in tables, kills)


def _owners(model: Described) -> list[Travel]:
    """Return how data travel by all who may say it."""
    front, before = model["front"], model["dependencies"]
    auctions = {"auction": 1, "forwarding": 1, "before auctions": 2}.get(front, 0)
    if front == "sites" and model["clusters"][0]["scheduler"][0] == "auction":
        auctions = 1
    said = [*model["auctions"][:auctions], *([] if before is None else [before])]
    return [Travel(*(each[name] for name in ("network", "ccr", "tick_s"))) for each in said] or [Travel()]


def _travel(model: Described, terms: sm.Terms) -> Travel:
    """Return how data travel: as all say who release or take tasks; if they disagree, as the schedule says."""
    first, *others = _owners(model)
    same = all(other == first for other in others)
    return first if same else Travel(terms.network, terms.ccr, terms.tick_s)


def hold(model: Described) -> str:
    """Run a model, and raise the first fault."""
    ran, done = None, True
    try:
        if model["front"] == "sites":
            schedule, other = run_on_both(model)
            _require_same(schedule, other)
        else:
            ran = run_model(model)
            schedule, done = ran.recorders[0].schedule(), ran.done
    except (RequestError, ImpossibleJobError) as error:
        return f"refused: {type(error).__name__}"
    places = [_place(model, each) for each in range(len(model["clusters"]))]
    travel = _travel(model, schedule.terms)
    if ran is not None:
        _require_seen(schedule, ran)
    _legal(model, schedule, places, travel)
    if done and not model["script"]:
        _require_all(model, schedule)
    if _promises(model):
        checker.easy(schedule, places[0])
    _require_proof(model, schedule, places, travel)
    if done:
        _add_up(schedule, places, ran)
    return f"{model['front']}, {'done' if done else 'cut at the horizon'}"


def _legal(model: Described, schedule: sm.Schedule, places: Sequence[Place], travel: Travel) -> None:
    """Check a schedule, by the checker and by the proof, which must agree."""
    several = len(_owners(model)) > 1 or model["front"] == "before auctions"
    try:
        checker.check(schedule, places, travel)
    except Fault as fault:
        changed = any(part == "checkpoints" for _, part, _, _ in model["script"])
        writes = changed or any(cluster["checkpoints"] is not None for cluster in model["clusters"])
        if fault.rule in {"end", "work"} and writes and (changed or model["unit"] != 1.0):
            raise Fault("checkpoints" if changed else "fractions", str(fault)) from fault
        raise Fault("transfers", str(fault)) if several and fault.rule == "precedence" else fault from None
    terms = schedule.terms
    if (
        travel.ccr
        and model["flows"]
        and (terms.network, terms.ccr, terms.tick_s) != (travel.network, travel.ccr, travel.tick_s)
    ):
        raise Fault("transfers", f"the terms are {terms}, and data travel by {travel}")
    try:
        schedule.validate()
    except IllegalScheduleError as error:
        raise Fault("transfers" if several else "validate", f"it refuses what is legal: {error}") from error


def _require_seen(schedule: sm.Schedule, ran: Ran) -> None:
    """Check that the schedule has each attempt that was seen to end, once, and no other."""
    workload, found = schedule.workload, Counter[tuple[object, ...]]()
    task = [0] * len(workload) if workload.tasks is None else workload.tasks.task.tolist()
    for run in checker.runs_of(schedule):
        if not math.isnan(run.end_s):
            cluster = ran.clusters.index(
                next(each for each in ran.clusters if each.name == schedule.clusters[run.cluster].name)
            )
            named = (int(workload.job_id[run.row]), task[run.row], run.start_s, run.end_s, run.outcome, cluster)
            found[*named, run.parts] += 1
    wrong = (found - ran.seen) + (ran.seen - found)
    if wrong:
        raise Fault("seen", f"attempts of the schedule, or seen to end, are not among the others: {dict(wrong)}")


def _require_all(model: Described, schedule: sm.Schedule) -> None:
    """Check that each job came to an end, where nothing starves."""
    rigid = schedule.workload.rigid()
    undone = np.flatnonzero((schedule.outcome == UNFINISHED) & rigid)
    if len(schedule) != len(model["jobs"]) + sum(len(flow["cores"]) for flow in model["flows"]):
        raise Fault("rows", f"there are {len(schedule)} rows")
    if len(undone):
        raise Fault("undone", f"rows {undone.tolist()} have not ended, and the model is done")


def _promises(model: Described) -> bool:
    """Return whether EASY's promise can be checked."""
    cluster = model["clusters"][0]
    name, options = cluster["scheduler"]
    plain = model["front"] in {"one", "sites"} and not (model["flows"] or model["script"] or cluster["changes"])
    plain &= options.get("decide", "instant") == "instant" and options.get("limits") is None
    holds = all(runtime <= estimate for _, runtime, estimate, _ in model["jobs"]) and cluster["checkpoints"] is None
    return plain and holds and name == "queue" and {"backfilling": "easy", **PLAIN}.items() <= options.items()


def _add_up(schedule: sm.Schedule, places: Sequence[Place], ran: Ran | None) -> None:
    """Check the figures of machines, in all and by cluster."""
    if schedule.off_spans is None or schedule.window is None or schedule.window[0] == schedule.window[1]:
        return
    if any(math.isnan(run.end_s) for run in checker.runs_of(schedule)):
        return  # what runs on at the window's end is counted in part
    found = schedule.metrics()
    wrong = _unlike(checker.figures(schedule, places), found)
    if wrong:
        raise Fault("figures", wrong)
    for number, place in enumerate(places if len(places) > 1 else ()):
        should = checker.figures(schedule, places, number)
        recorded = [] if ran is None else [ran.recorders[1 + number]]
        for recorder in (None, *recorded):
            what = f"on({place.name!r})" if recorder is None else f"Recorder(env, {place.name})"
            try:
                part = schedule.on(place.name) if recorder is None else recorder.schedule()
                wrong = _unlike(should, part.metrics()) if part.window == schedule.window else ""
                part.validate()
            except Exception as error:  # whatever it is, it is no answer
                raise Fault("parts", f"{what}: {type(error).__name__}: {error}") from error
            if wrong:
                raise Fault("parts", f"{what}: {wrong}")


def _unlike(should: Any, found: Any) -> str:  # noqa: ANN401  mappings of figures
    for name, value in should.items():
        given = found.get(name, math.nan)
        if not (math.isclose(value, given, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(value) and math.isnan(given))):
            return f"{name} is {given}, and should be {value}"
    return ""


# -- tampering --------------------------------------------------------------------------------------------


def _require_proof(model: Described, schedule: sm.Schedule, places: Sequence[Place], travel: Travel) -> None:
    """Check that the proof refuses a schedule with one attempt changed, if the checker does."""
    if schedule.attempts is None or schedule.attempts.empty or schedule.off_spans is None:
        return
    draw = random.Random(model["seed"])
    at = draw.randrange(len(schedule.attempts))
    what = draw.choice(("shorter", "later", "machine", "work"))
    if what == "later" and any(step[1] == "checkpoints" for step in model["script"]):
        what = "shorter"  # an attempt says its checkpoints: later, it is one of another script
    changed = _tampered(schedule, at, what, draw.randrange(6))
    try:
        checker.check(changed, places, travel)
    except Fault as fault:
        try:
            changed.validate()
        except IllegalScheduleError:
            return
        raise Fault("tampered", f"{what} of attempt {at} is accepted, though {fault}") from fault


def _tampered(schedule: sm.Schedule, at: int, what: str, other: int) -> sm.Schedule:
    """Return a schedule with one attempt changed, in all tables that say it."""
    table = schedule.attempts
    assert table is not None
    table = table.copy()
    row = (
        int(table["row"].iloc[at])
        if "row" in table
        else int(np.flatnonzero(schedule.workload.job_id == table["job_id"].iloc[at])[0])
    )
    start_s, end_s, executed_s = schedule.start_s.copy(), schedule.end_s.copy(), schedule.executed_s.copy()
    low_s, high_s = float(table["start_s"].iloc[at]), float(table["end_s"].iloc[at])
    if what == "shorter":
        high_s = low_s + (high_s - low_s) / 2
        if other % 2:  # as if it were a shorter job
            table.iloc[at, table.columns.get_loc("work_s")] /= 2
    if what == "later":
        low_s, high_s = low_s + 3, high_s + 3
    if what == "machine":
        table.iloc[at, table.columns.get_loc("machine")] = other
    if what == "work":
        table.iloc[at, table.columns.get_loc("work_s")] += 1 + other
    last = schedule.start_s[row] == table["start_s"].iloc[at]
    table.iloc[at, table.columns.get_loc("start_s")] = low_s
    table.iloc[at, table.columns.get_loc("end_s")] = high_s
    if last:
        start_s[row] = low_s
        if not math.isnan(end_s[row]):
            end_s[row], executed_s[row] = high_s, high_s - low_s
    return replace(schedule, start_s=start_s, end_s=end_s, executed_s=executed_s, attempts=table)


# -- a case, and the smallest one that still breaks -------------------------------------------------------


def attack(drawn: str) -> str:
    """Run the model that these words draw, and break with the smallest one that was found."""
    model = a_model(random.Random(drawn))
    fault = _fault(model)
    if isinstance(fault, str):
        return fault
    if fault.rule in KNOWN:
        return f"known: {fault.rule}"
    smallest = shrunk(model, fault.rule)
    raise Broken(f"model {drawn!r}: {fault}\n  hold({smallest}): {_fault(smallest)}")


def _fault(model: Described) -> str | Fault:
    """Return what is wrong with a model, or what became of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return hold(copy.deepcopy(model))
        except Fault as fault:
            return fault
        except Exception as error:  # noqa: BLE001  whatever the project raises is its failure
            return Fault(type(error).__name__, str(error))


def shrunk(model: Described, rule: str, tries: int = 150) -> Described:
    """Return a smaller model that breaks the same rule: parts are left out while it does."""
    left = tries
    again = True
    while again and left > 0:
        again = False
        for smaller in _smaller(model):
            left -= 1
            fault = _fault(smaller)
            if isinstance(fault, Fault) and fault.rule == rule:
                model, again = smaller, True
                break
            if left <= 0:
                break
    return model


def _smaller(model: Described) -> Iterator[Described]:
    """Yield models with one part left out."""
    for name in ("script", "flows", "jobs"):
        for number in range(len(model[name])):
            if len(model["jobs"]) + len(model["flows"]) > 1 or name == "script":
                yield {**model, name: model[name][:number] + model[name][number + 1 :]}
    if model["dependencies"] is not None:
        yield {**model, "dependencies": None}
    for number, cluster in enumerate(model["clusters"]):
        found = [
            {**cluster, "changes": cluster["changes"][:k] + cluster["changes"][k + 1 :]}
            for k in range(len(cluster["changes"]))
        ]
        if cluster["checkpoints"] is not None:
            found.append({**cluster, "checkpoints": None})
        for each in found:
            yield {**model, "clusters": [*model["clusters"][:number], each, *model["clusters"][number + 1 :]]}
    for number, flow in enumerate(model["flows"]):
        for edge in range(len(flow["edges"])):
            fewer = {**flow, "edges": flow["edges"][:edge] + flow["edges"][edge + 1 :]}
            yield {**model, "flows": [*model["flows"][:number], fewer, *model["flows"][number + 1 :]]}
