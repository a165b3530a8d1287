"""``simulate``: its options. It replays a workload under an order, or workflows under a bid."""

from pathlib import Path
from typing import Annotated, Final

import typer

from experiments import cli_options as options
from experiments.answering import answering
from experiments.cli_options import AUCTION, MACHINE, of

_LOGS: Final = (
    "cores", "clean", "drop_oversized", "flops_per_s", "order", "backfill_order", "threshold", "decide", "overrun",
    "queue_depth", "warm_jobs", "tau", "batsim_out", "figure",
)  # fmt: skip
"""What goes with ``--workload`` only."""
_WORKFLOWS: Final = (
    "bid", "clusters", "kind", "curve", "load", "gap", "poisson", "jobs", "tick", "ccr", "network", "hol",
    "successor_sum", "end", "admission", "prices", "budgets", "tasks_out", "graph", "graph_job",
)  # fmt: skip
"""What goes with ``--workflows`` only."""


_Workflows = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        rich_help_panel=MACHINE,
        help="Workflows instead of a workload: a folder of WfFormat (.json) or Pegasus DAX (.xml, .dax) files.",
    ),
]
_Clusters = Annotated[str, of(MACHINE, "NxCORES:KIND,...", "The clusters; without a kind, they take any task.", "1x64")]
_Kind = Annotated[str | None, of(MACHINE, "KIND", "The kind that all tasks need.", "what the files say")]
_Curve = Annotated[
    str | None,
    of(MACHINE, "SLR:SLR", "Worth falls from all at one SLR to nothing at another.", "what the files say, or never"),
]
_Load = Annotated[
    float | None, of(MACHINE, "PART", "Submit workflows at this load, a share of all cores.", "all at once")
]
_Gap = Annotated[str | None, of(MACHINE, "TIME", "Submit a workflow each so often, instead of at a load.", "none")]
_Poisson = Annotated[bool, typer.Option("--poisson", rich_help_panel=MACHINE, help="Submit at random gaps.")]
_Jobs = Annotated[int | None, of(MACHINE, "N", "How many are drawn from the folder, at random.", "each once")]
_Tick = Annotated[str, of(AUCTION, "TIME", "Times are whole multiples of this: 1, 1min.")]
_Bid = Annotated[str, of(AUCTION, "BID", "What tasks offer: a name (see list), or yours as path/to/file.py:name.")]
_Ccr = Annotated[float, of(AUCTION, "PART", "How long data travel, as a part of their task's runtime.")]
_Network = Annotated[str, of(AUCTION, "cluster|kind|none", "Between what data travel.")]
_Hol = Annotated[str, of(AUCTION, "kind|global", "Whom a bidder that does not fit keeps from starting.")]
_Sum = Annotated[str, of(AUCTION, "recursive|unique", "Whether what follows in many ways counts for each.")]
_End = Annotated[str, of(AUCTION, "drain|submit", "Run until all is done, or to the last submission.")]
_Admission = Annotated[
    float | None,
    of(AUCTION, "PART", "Reject jobs that may hope for less than this part of their worth.", "reject none"),
]
_Prices = Annotated[bool, typer.Option("--prices", rich_help_panel=AUCTION, help="Who starts pays the best lost bid.")]
_Budgets = Annotated[
    bool, typer.Option("--budgets", rich_help_panel=AUCTION, help="Who has paid can bid no more than is left.")
]
_Backfilling = Annotated[
    str | None,
    typer.Option(
        "--backfilling",
        "-b",
        metavar="NAME",
        rich_help_panel=options.QUEUE,
        help="none, greedy, easy, or (of a workload) conservative; see list.",
        show_default="easy; of workflows none",
    ),
]


@answering
def simulate(
    context: typer.Context,
    *,
    workload: options.MaybeWorkload = None,
    workflows: _Workflows = None,
    cores: options.Cores = None,
    clean: options.Clean = None,
    drop_oversized: options.DropOversized = False,
    flops_per_s: options.Flops = None,
    clusters: _Clusters = "1x64",
    kind: _Kind = None,
    curve: _Curve = None,
    load: _Load = None,
    gap: _Gap = None,
    poisson: _Poisson = False,
    jobs: _Jobs = None,
    order: options.Order = "FCFS",
    backfilling: _Backfilling = None,
    backfill_order: options.BackfillOrder = None,
    threshold: options.Threshold = None,
    decide: options.Decide = "instant",
    overrun: options.Overrun = "run",
    queue_depth: options.QueueDepth = None,
    warm_jobs: options.WarmJobs = 0,
    bid: _Bid = "PVR",
    tick: _Tick = "1",
    ccr: _Ccr = 0.2,
    network: _Network = "cluster",
    hol: _Hol = "kind",
    successor_sum: _Sum = "recursive",
    end: _End = "drain",
    admission: _Admission = None,
    prices: _Prices = False,
    budgets: _Budgets = False,
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    validate: options.Validate = False,
    tau: options.Tau = 10.0,
    jobs_out: Annotated[
        Path | None, options.file("The table of jobs: .csv, .parquet, or (of a workload) .swf (.swf.gz, ...).")
    ] = None,
    tasks_out: Annotated[Path | None, options.file("The table of tasks: .csv or .parquet.")] = None,
    batsim_out: Annotated[
        Path | None, options.file("The table of jobs as Batsim writes it (.csv), for evalys.")
    ] = None,
    gantt: Annotated[Path | None, options.file("The Gantt chart: .svg, .png or .pdf.")] = None,
    figure: Annotated[Path | None, options.file("Machine and queue over time: .svg, .png or .pdf.")] = None,
    draw_from: Annotated[str | None, options.time("The figures begin there: 3600, 12h, 30d.")] = None,
    draw_to: Annotated[str | None, options.time("The figures end there.")] = None,
    graph: Annotated[Path | None, options.file("A workflow's graph, drawn by rank: .svg, .png or .pdf.")] = None,
    graph_job: Annotated[int, of(options.FILES, "N", "Which job's graph is drawn.")] = 0,
    json: options.Json = False,
) -> int:
    """Replay a workload under one order, or workflows under one bid, and show the figures of merit."""
    from experiments import commands, inputs, workflow_commands, workflow_inputs  # noqa: PLC0415  the help waits for none
    from simmodels.errors import RequestError  # noqa: PLC0415  the same

    if workload is not None and workflows is not None:
        raise RequestError("--workload with --workflows", "one of them is allowed")
    if workload is None and workflows is None:
        raise RequestError("neither --workload nor --workflows", "one of them is needed")
    if workload is not None:
        _refuse(context, _WORKFLOWS, "--workload", "--workflows")
        return commands.simulate(
            inputs.WorkloadFile(
                path=workload,
                cores=cores,
                filters=options.parts(clean),
                drop_oversized=drop_oversized,
                flops_per_s=flops_per_s,
            ),
            commands.made_setup(
                backfilling="easy" if backfilling is None else backfilling,
                backfill_order=backfill_order,
                threshold=threshold,
                decide=decide,
                overrun=overrun,
                queue_depth=queue_depth,
                warm_jobs=warm_jobs,
                engine=engine,
                seed=seed,
                validate=validate,
                tau_s=tau,
            ),
            order=order,
            jobs_out=jobs_out,
            batsim_out=batsim_out,
            gantt=gantt,
            figure=figure,
            draw_from=draw_from,
            draw_to=draw_to,
            json=json,
        )
    _refuse(context, _LOGS, "--workflows", "--workload")
    assert workflows is not None  # noqa: S101  one of the two is there, as just seen
    tick_s = inputs.seconds(tick, "--tick")
    return workflow_commands.simulate(
        workflow_inputs.WorkflowFolder(
            path=workflows,
            jobs=jobs,
            load=load,
            gap_s=None if gap is None else inputs.seconds(gap, "--gap"),
            poisson=poisson,
            tick_s=tick_s,
            kind=kind,
            curve=None if curve is None else workflow_inputs.parse_curve(curve),
            seed=seed,
        ),
        workflow_commands.Auction(
            clusters=workflow_inputs.parse_clusters(clusters),
            bid=workflow_inputs.named_bid(bid),
            rules={
                "ccr": ccr, "network": network, "hol": hol, "successor_sum": successor_sum, "end": end,
                "admission": admission, "prices": prices, "budgets": budgets, "tick_s": tick_s,
                "backfilling": "none" if backfilling is None else backfilling,
            },
            engine=engine,
            seed=seed,
            validate=validate,
        ),
        jobs_out=jobs_out,
        tasks_out=tasks_out,
        gantt=gantt,
        graph=graph,
        graph_job=graph_job,
        window=(draw_from, draw_to),
        json=json,
    )  # fmt: skip


def _refuse(context: typer.Context, names: tuple[str, ...], given: str, other: str) -> None:
    """Refuse options that go with the other kind of input only."""
    from simmodels.errors import RequestError  # noqa: PLC0415  the help does not wait for the models

    for param in context.command.params:
        source = context.get_parameter_source(str(param.name))
        if param.name in names and source is not None and source.name == "COMMANDLINE":
            raise RequestError(f"{param.opts[0]} with {given}", f"it is allowed with {other}")
