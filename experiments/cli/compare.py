"""``compare`` and ``demo``: several policies on one scenario, as a table, files and figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from experiments.calibration import sentences_of
from experiments.cli import simulate
from experiments.cli.demo import Demo
from experiments.cli.derive import command
from experiments.cli.output import Steps, command_line, print_json, print_line, print_table
from experiments.comparing import JOBS, Comparison, calibration_of, compare, steps
from experiments.option import OUT, POLICY, Force, Group, Json, Option
from experiments.outputs import Outputs, made_folder, require_folder
from experiments.policy import HEURISTICS, ROUTERS, Kind, chosen_policies
from experiments.scenario import Scenario, ScenarioRequest
from experiments.setup import Setup
from experiments.tables import comparison_table
from simmodels import RequestError, Workload
from workloads import lublin, tsafrir_estimates, write_swf

ORDERS: Final = ("FCFS", "SPF", "SAF", "WFP3", "F2")
"""What the demo compares."""


def compare_policies(
    *,
    orders: Annotated[
        tuple[str, ...] | None, Option(POLICY, "ORDER,...", flags=("--orders", "-o"), known="orders")
    ] = None,
    heuristics: Annotated[
        tuple[str, ...] | None,
        Option(POLICY, known="heuristics", help=f"Or heuristics on machines: {', '.join(HEURISTICS)}."),
    ] = None,
    bids: Annotated[tuple[str, ...] | None, Option(POLICY, "BID,...", known="bids")] = None,
    routers: Annotated[
        tuple[str, ...] | None, Option(POLICY, known="routers", help=f"Or routers: {', '.join(ROUTERS)}.")
    ] = None,
    request: ScenarioRequest,
    setup: Setup,
    wanted: Annotated[Outputs, Group(only=("attempts_out", "gantt", "draw_from_s", "draw_to_s"))],
    out: Annotated[Path | None, Option(OUT, "FOLDER")] = None,
    force: Force = False,
    json: Json = False,
) -> int:
    """Run a scenario under several policies, write what was asked for, print a table; return the exit status.

    Parameters
    ----------
    orders
        Orders: names (see schedlab list orders), or yours as path/to/file.py:name or path/to/fit.toml.
    bids
        Or bids of workflows: names (see schedlab list bids), or yours.
    out
        The folder of tables, figures and provenance.
    """
    lists: dict[Kind, tuple[str, ...] | None] = {
        "order": orders, "heuristic": heuristics, "bid": bids, "router": routers
    }  # fmt: skip
    given = {kind: listed for kind, listed in lists.items() if listed is not None}
    if len(given) != 1:
        what = f"{len(given)} lists of policies exclude each other" if given else "there is nothing to compare"
        raise RequestError(what, "give one of --orders, --heuristics, --bids and --routers")
    ((kind, listed),) = given.items()
    policies = chosen_policies(kind, listed)
    for name in sorted({name for each in policies for name in each.options} & setup.options.keys()):
        what = f"--{name.replace('_', '-')} and --{kind}s exclude each other"
        raise RequestError(what, "omit one of them")
    request = request.under([{**setup.options, **each.options} for each in policies])
    setup.require(policies)
    simulate.require_outputs(request, setup, policies, wanted)
    outputs = wanted.of_several(kind)
    if out is not None:
        require_folder(out)
    with Steps(1 + len(outputs) + steps(policies)) as shown:
        scenario, setup, policies = simulate.read(request, setup, policies, wanted, shown)
        provenance = {"command": command_line(), "file": None if request.log is None else str(request.log.path)}
        made = compare(scenario, policies, setup, out=out, provenance=provenance, begin=shown.begin, force=force)
        simulate.remark_left_out(made.cells, scenario, shown)
        failed = simulate.write(outputs, made.schedules, shown) if made.schedules else {}
    written = [path for path in outputs if made.schedules and path not in failed]
    _print(made, written, json=json)
    return simulate.close(made.cells, written, failed, _wrote(made))


def demo_workload(asked: Demo) -> Workload:
    """Return jobs of the Lublin-Feitelson model with the estimates of Tsafrir's: they look like a real log."""
    jobs = lublin(asked.jobs, asked.cores, load=asked.load, seed=asked.seed, name=f"lublin-{asked.cores}")
    return tsafrir_estimates(jobs, seed=asked.seed)


def demo(asked: Demo) -> int:
    """Run a generated workload under five orders, write what came of it, print a table; return the exit status."""
    setup, chosen, out = Setup(seed=asked.seed, validate=True), chosen_policies("order", ORDERS), asked.out
    require_folder(out)
    with Steps(1 + steps(chosen)) as shown:
        shown.begin("generating the workload")
        workload = demo_workload(asked)
        shown.print_note(
            f"{workload.name}: {len(workload):,} jobs for {workload.max_cores:,} cores, of Lublin and Feitelson's model"
        )
        write_swf(workload, made_folder(out) / "workload.swf.gz")
        scenario = Scenario(workload=workload, where=f"{workload.max_cores:,} cores")
        provenance = {"command": command_line()}
        made = compare(scenario, chosen, setup, out=out, provenance=provenance, begin=shown.begin, force=asked.force)
    _print(made, (), json=asked.json)
    return simulate.close(made.cells, (), {}, _wrote(made))


def _print(made: Comparison, more: Sequence[Path], *, json: bool) -> None:
    """Print what came of a comparison, for which more files were written than those of its folder."""
    scenario, setup, cells, logged = made.scenario, made.setup, made.cells, made.logged
    policies = [cell.policy for cell in cells]
    calibration = None if logged is None else calibration_of(cells)
    if json:
        answer = {
            **simulate.about(scenario, setup, policies),
            **({} if logged is None else {"as_logged": logged.metrics}),
            **({} if calibration is None else {"calibration": calibration.table()}),
            "cells": [simulate.answer_of(cell) for cell in cells],
        }
        files = [*made.files, *map(str, more)]
        print_json({**answer, "out": None if made.out is None else str(made.out), "files": files})
        return
    rows = cells if logged is None else [logged, *cells]
    print_table(simulate.title_of(scenario, setup, policies), comparison_table(rows))
    if calibration is not None:
        first = f"{policies[0].name} (the first is taken for what you have)"
        for sentence in sentences_of(calibration, scenario.workload, first):
            print_line(sentence)


def _wrote(made: Comparison) -> str:
    """Return what was written to the folder of a comparison."""
    names = [name for name in made.files if not name.startswith(JOBS)]
    tables = len(made.files) - len(names)
    return "" if made.out is None else f"{', '.join(names)} and {tables} tables of jobs to {made.out}"


COMMAND: Final = command(
    compare_policies,
    examples=(
        "schedlab compare --workload log.swf --orders FCFS,SAF,WFP3",
        "schedlab compare --workload log.swf --orders FCFS,SAF --threshold 40h --out results/orders",
        "schedlab compare --workload log.swf --clusters 2x64 --routers RoundRobin,EarliestStart --drop-oversized",
    ),
    common=(*simulate.WORK, "orders", "heuristics", "bids", "routers", *simulate.HOW, "out", "gantt", "json", "quiet"),
)
