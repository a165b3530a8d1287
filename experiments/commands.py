"""Commands: what ``simulate``, ``compare``, ``demo`` and ``list`` do, once their options are read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from experiments.answering import DONE, FAILED, Steps, complain, print_json, remark, show
from experiments.campaigns.finding import listed
from experiments.cells import FIRST, Cell, Setup
from experiments.comparing import JOBS, Comparison, chosen_orders, compare, steps, summary
from experiments.demo import ORDERS, demo_workload
from experiments.inputs import WorkloadFile, named_order, remarks, seconds
from experiments.outputs import (
    Writer,
    batsim_writer,
    drawn_window,
    figure_writer,
    jobs_writer,
    made_folder,
    require_folder,
    require_writable,
)
from experiments.tables import comparison_table, listing, metrics_table
from simmodels.engine import Engine
from simmodels.policies.bids import bids
from simmodels.policies.orders import orders
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import Backfilling, Decide, Overrun
from simmodels.policies.rows import require_columns
from simmodels.workload import Workload
from workloads.cleaning import FILTERS
from workloads.swf import write_swf

BACKFILLINGS: Final = {
    "none": "the head of the queue blocks",
    "greedy": "any job that fits starts",
    "easy": "any job that fits and does not delay the head of the queue starts",
    "conservative": "any job that fits and delays no waiting job's reservation starts",
}

# -- list -------------------------------------------------------------------------------------------


def list_choices(*, json: bool) -> int:
    """Print what can be chosen: orders, backfillings, filters; return the exit status."""
    found, offers = orders().values(), bids().values()
    if json:
        print_json(
            {
                "orders": [
                    {"name": o.name, "formula": o.formula, "source": o.source, "needs": o.needs, "moving": o.moving}
                    for o in found
                ],
                "bids": [
                    {"name": b.name, "formula": b.formula, "source": b.source, "needs": b.needs, "wins": b.wins}
                    for b in offers
                ],
                "backfillings": [{"name": name, "about": BACKFILLINGS[name]} for name in get_args(Backfilling)],
                "filters": [
                    {"name": f.name, "about": f.about, "reasons": [step.reason for step in f.steps]}
                    for f in FILTERS.values()
                ],
                "studies": [{"name": name, "about": title} for name, title in listed()],
                "decide": get_args(Decide),
                "overrun": get_args(Overrun),
                "engines": get_args(Engine),
            }
        )
        return DONE
    letters = "r submit, p estimate, q cores, w wait; the least goes first"
    formulas = [(o.name, o.formula, o.source) for o in found]
    show(f"orders ({letters})", listing("name formula source", formulas))
    papers = "Burkimsher and Soares Indrusiak 2016, and readings of it; sources: --json"
    show(f"bids of workflows ({papers})", listing("name wins formula", [(b.name, b.wins, b.formula) for b in offers]))
    show("backfillings", listing("name about", [(name, BACKFILLINGS[name]) for name in get_args(Backfilling)]))
    show("studies to run", listing("name about", listed()))
    show("filters for --clean", listing("name about", [(f.name, f.about) for f in FILTERS.values()]))
    return DONE


# -- simulate ---------------------------------------------------------------------------------------


def made_setup(*, threshold: str | None, **options: Any) -> Setup:  # noqa: ANN401  Setup says what they are
    """Return the setup that options ask for; a threshold is a text such as ``40h``."""
    return Setup(threshold_s=None if threshold is None else seconds(threshold, "--threshold"), **options)


def simulate(
    log: WorkloadFile,
    setup: Setup,
    *,
    order: str,
    jobs_out: Path | None,
    batsim_out: Path | None,
    gantt: Path | None,
    figure: Path | None,
    draw_from: str | None,
    draw_to: str | None,
    json: bool,
) -> int:
    """Run a workload under one order, write the files asked for, print the metrics; return the exit status."""
    chosen = named_order(order)
    outputs = _outputs(log, jobs_out, batsim_out, gantt, figure, (draw_from, draw_to))
    with Steps(2 + len(outputs)) as shown:
        shown.begin("reading the workload")
        workload = log.read()
        setup.check(workload)
        require_columns(chosen.columns, workload)
        _introduce(workload, shown)
        shown.begin(f"{chosen.name} ({FIRST})")
        cell = setup.run(workload, chosen)
        if cell.schedule is not None:
            for path, write in outputs.items():
                shown.begin(f"writing {path.name}")
                write(cell.schedule, path)
    if json:
        files = [str(path) for path in outputs] if cell.schedule is not None else []
        print_json({"workload": summary(workload), **_setup(setup), **_answer(cell), "files": files})
    elif cell.schedule is not None:
        show(_title(workload, setup, [chosen]), metrics_table(cell.metrics, tau_s=setup.tau_s))
    if cell.error is not None:
        complain(f"order {chosen.name!r} failed: {cell.error}")
        return FAILED
    for path in outputs:
        remark(f"wrote {path}")
    return DONE


def _outputs(
    log: WorkloadFile,
    jobs_out: Path | None,
    batsim_out: Path | None,
    gantt: Path | None,
    figure: Path | None,
    window: tuple[str | None, str | None],
) -> dict[Path, Writer]:
    """Return what writes each of the files asked for; refuse them if they cannot be written."""
    require_writable([path for path in (jobs_out, batsim_out, gantt, figure) if path is not None], source=log.path)
    start_s, end_s = drawn_window(*window)
    outputs: dict[Path, Writer] = {}
    if jobs_out is not None:
        outputs[jobs_out] = jobs_writer(jobs_out)
    if batsim_out is not None:
        outputs[batsim_out] = batsim_writer(batsim_out)
    if gantt is not None:
        outputs[gantt] = figure_writer(gantt, gantt=True, start_s=start_s, end_s=end_s)
    if figure is not None:
        outputs[figure] = figure_writer(figure, gantt=False, start_s=start_s, end_s=end_s)
    return outputs


# -- compare and demo -------------------------------------------------------------------------------


def compare_orders(
    log: WorkloadFile, setup: Setup, *, names: Sequence[str], out: Path, command: Sequence[str], json: bool
) -> int:
    """Run a workload under several orders, write what came of it, print a table; return the exit status."""
    chosen = chosen_orders(names)
    require_folder(out)
    with Steps(1 + steps(chosen)) as shown:
        shown.begin("reading the workload")
        workload = log.read()
        _introduce(workload, shown)
        provenance = {"command": list(command), "file": str(log.path)}
        comparison = compare(workload, chosen, out=out, setup=setup, provenance=provenance, begin=shown.begin)
    return _report(workload, setup, comparison, json=json)


def demo(*, jobs: int, cores: int, seed: int, out: Path, command: Sequence[str], json: bool) -> int:
    """Run a generated workload under five orders, write what came of it, print a table; return the exit status."""
    setup, chosen = Setup(seed=seed, validate=True), chosen_orders(ORDERS)
    require_folder(out)
    with Steps(1 + steps(chosen)) as shown:
        shown.begin("generating the workload")
        workload = demo_workload(jobs=jobs, cores=cores, seed=seed)
        shown.remark(
            f"{workload.name}: {len(workload):,} jobs for {workload.max_cores:,} cores, of Lublin and Feitelson's model"
        )
        write_swf(workload, made_folder(out) / "workload.swf.gz")
        comparison = compare(
            workload, chosen, out=out, setup=setup, provenance={"command": list(command)}, begin=shown.begin
        )
    return _report(workload, setup, comparison, json=json)


def _report(workload: Workload, setup: Setup, comparison: Comparison, *, json: bool) -> int:
    """Print what came of a comparison; return the exit status."""
    cells = comparison.cells
    if json:
        answers = [_answer(cell) for cell in cells]
        files = {"out": str(comparison.out), "files": comparison.files}
        print_json({"workload": summary(workload), **_setup(setup), "cells": answers, **files})
    else:
        show(_title(workload, setup, []), comparison_table(cells))
    for name, error in comparison.failed.items():
        complain(f"order {name!r} failed: {error}")
    names = [name for name in comparison.files if not name.startswith(JOBS)]
    remark(f"wrote {', '.join(names)} and {len(comparison.files) - len(names)} tables of jobs to {comparison.out}")
    return FAILED if comparison.failed else DONE


def _introduce(workload: Workload, shown: Steps) -> None:
    """Print what came in, and what became of it, to stderr."""
    shown.remark(f"{workload.name}: {len(workload):,} jobs for {workload.max_cores:,} cores")
    for line in remarks(workload.counts):
        shown.remark(f"  {line}")


def _title(workload: Workload, setup: Setup, orders: Sequence[Priority]) -> str:
    """Return the title of a table."""
    parts = [f"{workload.name}", f"{workload.max_cores:,} cores", *(order.name for order in orders)]
    parts.append(f"{setup.backfilling} backfilling" if setup.backfilling != "none" else "no backfilling")
    if isinstance(setup.backfill_order, Priority):
        parts[-1] += f" by {setup.backfill_order.name}"
    if setup.threshold_s is not None:
        parts.append(f"threshold {setup.threshold_s:,.10g} s")
    return ", ".join(parts)


def _setup(setup: Setup) -> Mapping[str, object]:
    """Return how it was run, for JSON."""
    return {"setup": {**setup.table(), "engine": setup.engine}}


def _answer(cell: Cell) -> Mapping[str, object]:
    """Return what came of an order, for JSON."""
    name = {"order": cell.order.name}
    return {**name, "metrics": cell.metrics} if cell.error is None else {**name, "error": cell.error}
