"""``simulate``: any work on any clusters under one policy; and what `compare` says of a simulation, too."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.cli.derive import command
from experiments.cli.output import DONE, FAILED, Steps, print_error, print_json, print_note, print_table
from experiments.comparing import summary
from experiments.dates import instant_of
from experiments.fitting import without_effect
from experiments.gantt_boxes import MOST_PANELS
from experiments.inputs import count_of, left_out_of, named_priority
from experiments.option import Json
from experiments.outputs import Outputs, require_writable
from experiments.policy import AUCTION, Policy, policy_of
from experiments.scenario import Scenario, ScenarioRequest
from experiments.setup import Cell, Setup
from experiments.tables import metrics_table
from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import duration
from simmodels.ground.numbers import as_integer
from simmodels.policies.priority import Priority
from simmodels.units import HOUR

WORK: Final = ("workload", "workflows", "cores", "clean", "drop_oversized")
HOW: Final = ("backfilling", "threshold", "clusters", "cores_per_machine", "seed", "validate")
"""The options that the short help shows."""
_OF_CURVES: Final = ("area", "factor", "deadline", "soft_deadline")


def simulate(*, request: ScenarioRequest, setup: Setup, wanted: Outputs, json: Json = False) -> int:
    """Run a scenario under one policy, write the files asked for, print the metrics; return the exit status."""
    named = {"order", "router", "forward"}
    if request.log is None and setup.heuristic is None and not named & setup.options.keys():
        bid = setup.options.get("bid", named_priority("PVR", "bid"))  # workflows bid, unless another policy is named
        setup = replace(setup, options={**setup.options, "bid": bid})
    main = _main(setup)
    request = request.under([{**setup.options, **main.options}])
    setup.require([main])
    require_outputs(request, setup, [main], wanted)
    data = {name: setup.options.get(name, default) for name, default in (("ccr", 0.2), ("tick_s", 1.0))}
    outputs = wanted.of_one(rigid=request.folder is None, data=data)
    failed: dict[Path, str] = {}
    with Steps(2 + len(outputs)) as shown:
        scenario, setup, (main,) = read(request, setup, [main], wanted, shown)
        shown.begin(main.name)
        cell = setup.run(scenario, main)
        if cell.schedule is not None:
            remark_left_out([cell], scenario, shown)
            failed = write(outputs, cell.schedule, shown)
    files = [path for path in outputs if cell.schedule is not None and path not in failed]
    if json:
        print_json({**about(scenario, setup, [main]), **answer_of(cell), "files": [str(path) for path in files]})
    elif cell.schedule is not None:
        print_table(title_of(scenario, setup, [main]), metrics_table(cell.metrics, tau_s=setup.tau_s))
    return close([cell], files, failed)


def _main(setup: Setup) -> Policy:
    """Return the policy that gives a simulation its name: what stands foremost."""
    options = setup.options
    if "router" in options or options.get("forward"):
        return policy_of("router", options.get("router", AUCTION))
    if "bid" in options:
        return policy_of("bid", options["bid"])
    if setup.heuristic is not None:
        return policy_of("heuristic", setup.heuristic)
    return policy_of("order", options.get("order", "FCFS"))


# -- what `compare` does, too -----------------------------------------------------------------------


def read(
    request: ScenarioRequest, setup: Setup, policies: Sequence[Policy], wanted: Outputs, shown: Steps
) -> tuple[Scenario, Setup, tuple[Policy, ...]]:
    """Return the scenario that is asked for, the setup and the policies for it, and say what came in."""
    shown.begin("reading the workload")
    scenario = request.read()
    fitted: list[str] = []
    scenario, setup, found = setup.fitted_to(scenario, policies, fitted.append)
    _check(scenario, setup, found, wanted)
    for line in (*scenario.notes, *fitted):
        shown.print_note(line)
    priorities = [each.priority for each in policies if each.priority is not None]
    idle = without_effect(setup.options.get("limits"), priorities, scenario.workload)
    for warning in (*idle, *filter(None, (_tie_warning(each, scenario) for each in priorities))):
        shown.print_warning(warning)
    return scenario, setup, found


def close(cells: Sequence[Cell], files: Sequence[Path], failed: Mapping[Path, str], wrote: str = "") -> int:
    """Say what failed and what was written; return the exit status."""
    wrong = [cell for cell in cells if cell.error is not None]
    for cell in wrong:
        print_error(f"{cell.policy.kind} {cell.policy.name!r} failed: {cell.error}")
    for text in (*filter(None, [wrote]), *map(str, files)):
        print_note(f"wrote {text}")
    for path, text in failed.items():
        print_error(f"{path} was not written: {text}")
    return FAILED if failed or wrong else DONE


def write(outputs: Mapping[Path, Callable[[Any, Path], None]], made: object, shown: Steps) -> dict[Path, str]:
    """Write files; return what could not be made of this outcome, each with the reason: the others are kept."""
    failed = {}
    for path, write in outputs.items():
        shown.begin(f"writing {path.name}")
        try:
            write(made, path)
        except RequestError as error:
            failed[path] = str(error)
    return failed


def require_outputs(asked: ScenarioRequest, setup: Setup, policies: Sequence[Policy], wanted: Outputs) -> None:
    """Refuse files that cannot be written, or made of what is asked for."""
    require_writable(wanted.paths, sources=(*asked.paths, *map(Path, setup.files(policies))))
    if wanted.graph is not None and asked.folder is None:
        raise RequestError("--graph has no effect without workflows", "add --workflows FOLDER")
    if wanted.batsim_out is not None and asked.folder is not None:
        raise RequestError("Batsim's table is one of rigid jobs", "omit --batsim-out or --workflows")


def _check(scenario: Scenario, setup: Setup, policies: Sequence[Policy], wanted: Outputs) -> None:
    """Refuse what does not go together with what was read."""
    setup.check(scenario, policies)
    numbers = [workflow.job_id for workflow in scenario.workload.workflows]
    if wanted.graph is not None and wanted.drawn_job not in numbers:
        raise RequestError(
            must_be("--graph-job", f"a workflow from {min(numbers)} to {max(numbers)}", wanted.drawn_job)
        )
    panels = len(policies) * (1 if scenario.on is None else len(scenario.on))
    if wanted.gantt is not None:
        as_integer("the number of panels of a Gantt chart", panels, 1, MOST_PANELS)
    start_s, end_s = wanted.draw_from_s, wanted.draw_to_s
    submit_s = scenario.workload.submit_s
    low, high = scenario.window_s or (float(submit_s.min(initial=np.inf)), np.inf)
    if (start_s is not None and start_s >= high) or (end_s is not None and end_s <= low):
        raise RequestError(
            "the drawing window lies outside what is simulated",
            f"choose --draw-from and --draw-to from {low:.10g} s to {high:.10g} s",
        )


def _tie_warning(priority: Priority, scenario: Scenario) -> str:
    """Return a warning of a bid to which all are alike, since no job loses value."""
    workflows = scenario.workload.workflows
    asked = [name for name in priority.needs if name in _OF_CURVES]
    if not asked or not workflows:
        return ""
    if any(workflow.curve.points[-1][0] < math.inf for workflow in workflows):
        return ""
    return (
        f"{priority.name} looks at the {asked[0].replace('_', ' ')} of a job's value, and no job here ever loses any: "
        "tasks may all bid the same, and go in order of submission; --curve says when jobs lose value"
    )


def remark_left_out(cells: Sequence[Cell], scenario: Scenario, shown: Steps) -> None:
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
    return 0 if cell.schedule is None else left_out_of(cell.schedule)


def title_of(scenario: Scenario, setup: Setup, policies: Sequence[Policy]) -> str:
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


def about(scenario: Scenario, setup: Setup, policies: Sequence[Policy]) -> Mapping[str, object]:
    """Return what was run, and how, for JSON."""
    found: dict[str, object] = {"workload": summary(scenario.workload)}
    if scenario.on is not None:
        found["clusters"] = [
            {"name": site.name, "cores": site.size, "kind": site.kind, "machines": site.machines}
            for site in scenario.on
        ]
        found["where"] = scenario.where
    if scenario.window_s is not None:
        found["window_s"] = scenario.window_s
    return {**found, "setup": setup.shared(policies)}


def answer_of(cell: Cell) -> Mapping[str, object]:
    """Return what came of a policy, for JSON."""
    answer: dict[str, object] = {cell.policy.kind: cell.policy.name}
    if cell.error is not None or cell.schedule is None:
        return answer | {"error": cell.error}
    return answer | {"rules": cell.schedule.about, "left_out": _left_out(cell), "metrics": cell.metrics}


COMMAND: Final = command(
    simulate,
    examples=(
        "schedlab simulate --workload log.swf --order SAF",
        "schedlab simulate --workload log.swf --order SAF --threshold 40h --jobs-out jobs.csv --gantt gantt.svg",
        "schedlab simulate --workload log.swf --heuristic FirstFit --cores-per-machine 32",
    ),
    common=(*WORK, "order", "heuristic", "bid", "router", *HOW, "jobs_out", "figure", "gantt", "view", "json", "quiet"),
)
