"""Commands: what ``simulate``, ``compare`` and ``demo`` do, once their options are read."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.calibration import sentences_of
from experiments.cli_output import DONE, FAILED, Steps, print_error, print_json, print_line, print_note, print_table
from experiments.comparing import JOBS, calibration_of, compare, logged_cell, run_all, steps, summary
from experiments.dates import instant_of
from experiments.demo import ORDERS, demo_workload
from experiments.gantt_boxes import MOST_PANELS
from experiments.inputs import count_of
from experiments.outputs import Outputs, drawn_window, made_folder, require_folder, require_writable
from experiments.policy import Policy, chosen_policies
from experiments.scenario import Scenario, ScenarioRequest
from experiments.setup import Cell, Setup
from experiments.tables import comparison_table, metrics_table
from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import duration
from simmodels.ground.numbers import as_integer
from simmodels.policies.priority import Priority
from simmodels.units import HOUR
from workloads.swf import write_swf

_OF_CURVES: Final = ("area", "factor", "deadline", "soft_deadline")

# -- simulate ---------------------------------------------------------------------------------------


def simulate(asked: ScenarioRequest, setup: Setup, policy: Policy, wanted: Outputs, *, json: bool) -> int:
    """Run a scenario under one policy, write the files asked for, print the metrics; return the exit status."""
    setup.require([policy])
    _require_outputs(asked, setup, [policy], wanted)
    data = {name: setup.options.get(name, default) for name, default in (("ccr", 0.2), ("tick_s", 1.0))}
    outputs = wanted.of_one(rigid=asked.folder is None, data=data)
    failed: dict[Path, str] = {}
    with Steps(2 + len(outputs)) as shown:
        shown.begin("reading the workload")
        scenario = asked.read()
        _check(scenario, setup, [policy], wanted)
        for line in scenario.notes:
            shown.print_note(line)
        if warning := _tie_warning(policy.priority, scenario):
            shown.print_warning(warning)
        shown.begin(policy.name)
        cell = setup.run(scenario, policy)
        if cell.schedule is not None:
            _remark_left_out([cell], scenario, shown)
            failed = _write(outputs, cell.schedule, shown)
    files = [path for path in outputs if cell.schedule is not None and path not in failed]
    if json:
        print_json({**_about(scenario, setup, [policy]), **_answer(cell), "files": [str(path) for path in files]})
    elif cell.schedule is not None:
        print_table(_title(scenario, setup, [policy]), metrics_table(cell.metrics, tau_s=setup.tau_s))
    if cell.error is not None:
        print_error(f"{policy.kind} {policy.name!r} failed: {cell.error}")
    for path in files:
        print_note(f"wrote {path}")
    for path, text in failed.items():
        print_error(f"{path} was not written: {text}")
    return FAILED if failed or cell.error is not None else DONE


def _write(outputs: Mapping[Path, Callable[[Any, Path], None]], made: object, shown: Steps) -> dict[Path, str]:
    """Write files; return what could not be made of this outcome, each with the reason: the others are kept."""
    failed = {}
    for path, write in outputs.items():
        shown.begin(f"writing {path.name}")
        try:
            write(made, path)
        except RequestError as error:
            failed[path] = str(error)
    return failed


def _require_outputs(asked: ScenarioRequest, setup: Setup, policies: Sequence[Policy], wanted: Outputs) -> None:
    """Refuse files that cannot be written, or made of what is asked for."""
    require_writable(wanted.paths, sources=(*asked.paths, *setup.files(policies)))
    if wanted.graph is not None and asked.folder is None:
        raise RequestError("--graph has no effect without workflows", "add --workflows FOLDER")
    if wanted.batsim is not None and asked.folder is not None:
        raise RequestError("Batsim's table is one of rigid jobs", "omit --batsim-out or --workflows")


def _check(scenario: Scenario, setup: Setup, policies: Sequence[Policy], wanted: Outputs) -> None:
    """Refuse what does not go together with what was read."""
    setup.check(scenario, policies)
    numbers = [workflow.job_id for workflow in scenario.workload.workflows]
    if wanted.graph is not None and wanted.graph_job not in numbers:
        raise RequestError(
            must_be("--graph-job", f"a workflow from {min(numbers)} to {max(numbers)}", wanted.graph_job)
        )
    panels = len(policies) * (1 if scenario.on is None else len(scenario.on))
    if wanted.gantt is not None:
        as_integer("the number of panels of a Gantt chart", panels, 1, MOST_PANELS)
    start_s, end_s = drawn_window(*wanted.window)
    submit_s = scenario.workload.submit_s
    low, high = scenario.window_s or (float(submit_s.min(initial=np.inf)), np.inf)
    if (start_s is not None and start_s >= high) or (end_s is not None and end_s <= low):
        raise RequestError(
            "the drawing window lies outside what is simulated",
            f"choose --draw-from and --draw-to from {low:.10g} s to {high:.10g} s",
        )


def _tie_warning(bid: Priority | None, scenario: Scenario) -> str:
    """Return a warning of a bid that looks at value curves where no job loses value: all tasks bid the same."""
    workflows = scenario.workload.workflows
    asked = [name for name in (() if bid is None else bid.needs) if name in _OF_CURVES]
    if bid is None or not asked or not workflows:
        return ""
    if any(workflow.curve.points[-1][0] < math.inf for workflow in workflows):
        return ""
    return (
        f"{bid.name} looks at the {asked[0].replace('_', ' ')} of a job's value, and no job here ever loses any: tasks "
        "may all bid the same, and go in order of submission; --curve says when jobs lose value"
    )


def _remark_left_out(cells: Sequence[Cell], scenario: Scenario, shown: Steps) -> None:
    """Say how many jobs did not take part in a window."""
    if scenario.window_s is None:
        return
    work = scenario.workload
    begin, end = (instant_of(work, each) for each in scenario.window_s)
    unknown = int((~scenario.workload.known()).sum())  # which are counted where the log is introduced
    left_out = {cell.policy.name: _left_out(cell) - unknown for cell in cells if cell.schedule is not None}
    for count in sorted(set(left_out.values()) - {0}):
        alike = len(set(left_out.values())) == 1
        under = "" if alike else f" ({', '.join(name for name in left_out if left_out[name] == count)})"
        shown.print_warning(f"{count_of(count, 'job')} did not take part from {begin} to {end}{under}")


def _left_out(cell: Cell) -> int:
    return 0 if cell.schedule is None else int(str(cell.schedule.about.get("left_out", 0)))


# -- compare and demo -------------------------------------------------------------------------------


def compare_policies(
    asked: ScenarioRequest,
    setup: Setup,
    policies: Sequence[Policy],
    wanted: Outputs,
    *,
    out: Path | None,
    command: Sequence[str],
    force: bool,
    json: bool,
) -> int:
    """Run a scenario under several policies, write what was asked for, print a table; return the exit status."""
    setup.require(policies)
    _require_outputs(asked, setup, policies, wanted)
    outputs = wanted.of_several(policies[0].kind)
    if out is not None:
        require_folder(out)
    with Steps(1 + len(outputs) + steps(policies)) as shown:
        shown.begin("reading the workload")
        scenario = asked.read()
        _check(scenario, setup, policies, wanted)
        for line in scenario.notes:
            shown.print_note(line)
        for policy in policies:
            if warning := _tie_warning(policy.priority, scenario):
                shown.print_warning(warning)
        if out is None:
            files: tuple[str, ...] = ()
            cells = run_all(scenario, policies, setup, shown.begin)
            logged = logged_cell(scenario, setup, cells)
        else:
            provenance = {"command": list(command), "file": None if asked.log is None else str(asked.log.path)}
            made = compare(
                scenario, policies, out=out, setup=setup, provenance=provenance, begin=shown.begin, force=force
            )
            cells, files, logged = made.cells, made.files, made.logged
        _remark_left_out(cells, scenario, shown)
        schedules = {cell.policy.name: cell.schedule for cell in cells if cell.schedule is not None}
        failed = _write(outputs, schedules, shown) if schedules else {}
    written = [path for path in outputs if schedules and path not in failed]
    status = _report(scenario, setup, cells, out, files, written, logged=logged, json=json)
    for path, text in failed.items():
        print_error(f"{path} was not written: {text}")
    return FAILED if failed else status


def demo(*, jobs: int, cores: int, seed: int, out: Path, command: Sequence[str], force: bool, json: bool) -> int:
    """Run a generated workload under five orders, write what came of it, print a table; return the exit status."""
    setup, chosen = Setup(seed=seed, validate=True), chosen_policies("order", ORDERS)
    require_folder(out)
    with Steps(1 + steps(chosen)) as shown:
        shown.begin("generating the workload")
        workload = demo_workload(jobs=jobs, cores=cores, seed=seed)
        shown.print_note(
            f"{workload.name}: {len(workload):,} jobs for {workload.max_cores:,} cores, of Lublin and Feitelson's model"
        )
        write_swf(workload, made_folder(out) / "workload.swf.gz")
        scenario = Scenario(workload=workload, where=f"{workload.max_cores:,} cores")
        provenance = {"command": list(command)}
        made = compare(scenario, chosen, out=out, setup=setup, provenance=provenance, begin=shown.begin, force=force)
    return _report(scenario, setup, made.cells, out, made.files, [], json=json)


def _report(
    scenario: Scenario,
    setup: Setup,
    cells: Sequence[Cell],
    out: Path | None,
    files: Sequence[str],
    more: Sequence[Path],
    *,
    logged: Cell | None = None,
    json: bool,
) -> int:
    """Print what came of a comparison; return the exit status."""
    failed = [cell for cell in cells if cell.error is not None]
    calibration = None if logged is None else calibration_of(cells)
    if json:
        answer = {
            **_about(scenario, setup, [cell.policy for cell in cells]),
            **({} if logged is None else {"as_logged": logged.metrics}),
            **({} if calibration is None else {"calibration": calibration.table()}),
            "cells": [_answer(cell) for cell in cells],
        }
        print_json({**answer, "out": None if out is None else str(out), "files": [*files, *map(str, more)]})
    else:
        rows = cells if logged is None else [logged, *cells]
        print_table(_title(scenario, setup, [cell.policy for cell in cells]), comparison_table(rows))
        if calibration is not None:
            first = f"{cells[0].policy.name} (the first is taken for what you have)"
            for sentence in sentences_of(calibration, scenario.workload, first):
                print_line(sentence)
    for cell in failed:
        print_error(f"{cell.policy.kind} {cell.policy.name!r} failed: {cell.error}")
    if out is not None:
        names = [name for name in files if not name.startswith(JOBS)]
        print_note(f"wrote {', '.join(names)} and {len(files) - len(names)} tables of jobs to {out}")
    for path in more:
        print_note(f"wrote {path}")
    return FAILED if failed else DONE


def _title(scenario: Scenario, setup: Setup, policies: Sequence[Policy]) -> str:
    """Return the title of a table: what, where, and how, as far as that is the same for all policies."""
    parts = [scenario.workload.name, scenario.where, *([policies[0].name] if len(policies) == 1 else [])]
    shared = setup.shared(policies)
    others = [name for name in ("bid", "order") if policies[0].kind != name]
    parts += [str(shared[name]) for name in others if shared.get(name) not in {None, "FCFS"}]
    backfilling, second = shared.get("backfilling"), shared.get("backfill_order")
    if backfilling is not None:
        parts.append(f"{backfilling} backfilling" if backfilling != "none" else "no backfilling")
        parts[-1] += f" by {second}" if second is not None else ""
    if isinstance(threshold_s := shared.get("threshold_s"), float):
        parts.append(f"threshold {duration(threshold_s, HOUR)}")
    return ", ".join(parts)


def _about(scenario: Scenario, setup: Setup, policies: Sequence[Policy]) -> Mapping[str, object]:
    """Return what was run, and how, for JSON."""
    about: dict[str, object] = {"workload": summary(scenario.workload)}
    if scenario.on is not None:
        about["clusters"] = [
            {"name": site.name, "cores": site.size, "kind": site.kind, "machines": site.machines}
            for site in scenario.on
        ]
        about["where"] = scenario.where
    if scenario.window_s is not None:
        about["window_s"] = scenario.window_s
    return {**about, "setup": setup.shared(policies)}


def _answer(cell: Cell) -> Mapping[str, object]:
    """Return what came of a policy, for JSON."""
    answer: dict[str, object] = {cell.policy.kind: cell.policy.name}
    if cell.error is not None or cell.schedule is None:
        return answer | {"error": cell.error}
    return answer | {"rules": cell.schedule.about, "left_out": _left_out(cell), "metrics": cell.metrics}
