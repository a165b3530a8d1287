"""``machines``: its options. It replays a workload on machines that come and go, under several heuristics."""

from pathlib import Path
from typing import Annotated

import typer

from experiments import cli_options as options
from experiments.answering import answering
from experiments.cli_options import MACHINE, of

_SUPPLY = "How machines come and go"
_PLACED = "How jobs are placed"


@answering
def machines(
    *,
    workload: options.Workload,
    cores_per_machine: Annotated[int, of(MACHINE, "N", "The cores of each machine; a job runs inside one.")],
    clean: options.Clean = None,
    drop_oversized: options.DropOversized = False,
    flops_per_s: options.Flops = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="TIME", rich_help_panel=MACHINE, help="When the window begins: 7d.")
    ] = None,
    until: Annotated[str | None, of(MACHINE, "TIME", "When the window ends.", "the last submission")] = None,
    reference: Annotated[
        Path | None, of(MACHINE, "FILE", "Jobs like those to come, which say risks.", "the week before --from")
    ] = None,
    walk: Annotated[
        str | None, of(_SUPPLY, "MEAN:RADIUS:PERIOD", "A random walk of the number of machines: 24:8:20min.")
    ] = None,
    series: Annotated[Path | None, of(_SUPPLY, "FILE", "Or a table in CSV: instants, then power or nodes.")] = None,
    column: Annotated[
        str | None, of(_SUPPLY, "NAME", "Its column; several are added: 'A+B'.", "the only one there is")
    ] = None,
    per_machine: Annotated[float, of(_SUPPLY, "X", "What a machine needs, in the unit of the series.")] = 1.0,
    least: Annotated[int, of(_SUPPLY, "N", "No fewer machines than these.")] = 0,
    most: Annotated[int | None, of(_SUPPLY, "N", "No more machines than these.", "what the series allows")] = None,
    series_from: Annotated[str, of(_SUPPLY, "TIME", "The window begins so long after the series does.")] = "0",
    repeat: Annotated[
        bool, typer.Option("--repeat", rich_help_panel=_SUPPLY, help="The series starts again at its end.")
    ] = False,
    notice: Annotated[str, of(_SUPPLY, "TIME", "How long before a change it is told.")] = "0",
    mode: Annotated[str, of(_SUPPLY, "kill|drain|checkpoint", "What happens to jobs on machines that go.")] = "kill",
    heuristics: Annotated[
        str,
        typer.Option(
            "--heuristics",
            "-o",
            metavar="NAME,...",
            rich_help_panel=_PLACED,
            help="FirstFitAware, FirstFitUnaware, TargetStretch, TargetAsap, PackedTargetAsap; EASY, FCFS.",
        ),
    ] = "FirstFitAware,TargetAsap",
    distance: Annotated[int, of(_PLACED, "N", "How far from its target a job may go, in machines.")] = 11,
    checkpoint_cost: Annotated[
        str | None, of(_PLACED, "TIME", "How long it takes to write a checkpoint.", "no checkpoints; on notice 0")
    ] = None,
    checkpoint_every: Annotated[
        str | None, of(_PLACED, "TIME", "Write one after so much work.", "only on notice")
    ] = None,
    restart: Annotated[str, of(_PLACED, "TIME", "How long it takes to come back from one.")] = "0",
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    validate: options.Validate = False,
    attempts_out: Annotated[Path | None, options.file("The table of all attempts: .csv or .parquet.")] = None,
    gantt: Annotated[Path | None, options.file("The Gantt chart of the machines: .svg, .png or .pdf.")] = None,
    draw_from: Annotated[str | None, options.time("It begins there: 3600, 12h, 30d.")] = None,
    draw_to: Annotated[str | None, options.time("It ends there.")] = None,
    json: options.Json = False,
) -> int:
    """Replay a workload on machines that come and go, and compare heuristics: goodput, work lost, a Gantt chart."""
    from experiments import inputs, machines_commands  # noqa: PLC0415  the help does not wait for the models

    return machines_commands.compare_on_machines(
        inputs.WorkloadFile(
            path=workload,
            cores=cores_per_machine,
            filters=options.parts(clean),
            drop_oversized=drop_oversized,
            flops_per_s=flops_per_s,
        ),
        machines_commands.Supply(
            walk=walk,
            series=series,
            column=column,
            per_machine=per_machine,
            least=least,
            most=most,
            series_from_s=inputs.seconds(series_from, "--series-from"),
            repeat=repeat,
            notice_s=inputs.seconds(notice, "--notice"),
            mode=mode,
            seed=seed,
        ),
        machines_commands.Fleet(
            names=options.parts([heuristics]),
            cores_per_machine=cores_per_machine,
            distance=distance,
            checkpoints=machines_commands.made_checkpoints(checkpoint_cost, checkpoint_every, restart),
            engine=engine,
            seed=seed,
            validate=validate,
        ),
        reference=reference,
        window=(from_, until),
        attempts_out=attempts_out,
        gantt=gantt,
        draw=(draw_from, draw_to),
        json=json,
    )
