"""The command line: its commands and options. What they do is in `experiments.commands`.

It imports nothing of the models before a command needs it, so that the help is there at once.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments import cli_campaigns
from experiments.answering import DONE, INTERRUPTED, answering, misused

app = typer.Typer(
    help="A laboratory for scheduling on clusters: replay a trace under any order and backfilling.",
    epilog="Exit status: 0 done, 1 some order or cell failed (the others are kept), 2 the request is wrong.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_FILES, _QUEUE, _MACHINE, _ANSWER = "What comes out", "How the queue is scheduled", "What goes in", "How it is run"
_LEARNING = "How it is learned"

_Workload = Annotated[
    Path,
    typer.Option(
        "--workload",
        "-w",
        metavar="FILE",
        rich_help_panel=_MACHINE,
        help="A log (Standard Workload Format, Slurm's sacct -P) or a Batsim workload (.json); also .gz, .bz2 or .xz.",
    ),
]
_Cores = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        rich_help_panel=_MACHINE,
        help="The size of the machine.",
        show_default="the one that the file says",
    ),
]
_Clean = Annotated[
    list[str] | None,
    typer.Option(metavar="FILTER,...", rich_help_panel=_MACHINE, help="Drop or mend jobs by filters; see list."),
]
_DropOversized = Annotated[
    bool,
    typer.Option(
        "--drop-oversized", rich_help_panel=_MACHINE, help="Leave out, and count, jobs wider than the machine."
    ),
]
_Flops = Annotated[
    float | None,
    typer.Option(metavar="X", rich_help_panel=_MACHINE, help="The speed of a core, for Batsim profiles that need it."),
]
_Order = Annotated[
    str,
    typer.Option(
        "--order",
        "-o",
        metavar="ORDER",
        rich_help_panel=_QUEUE,
        help="Which waiting job goes first: a name (see list), or yours as path/to/file.py:name or path/to/fit.toml.",
    ),
]
_Orders = Annotated[
    list[str],
    typer.Option(
        "--orders",
        "-o",
        metavar="ORDER,...",
        rich_help_panel=_QUEUE,
        help="The orders to compare: names (see list), or yours as path/to/file.py:name or path/to/fit.toml.",
    ),
]
_Backfilling = Annotated[
    str,
    typer.Option(
        "--backfilling",
        "-b",
        metavar="NAME",
        rich_help_panel=_QUEUE,
        help="none, greedy, easy or conservative; see list.",
    ),
]
_BackfillOrder = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER", rich_help_panel=_QUEUE, help="The order in which easy backfills.", show_default="the order"
    ),
]
_Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        rich_help_panel=_QUEUE,
        help="A job that has waited longer goes before all others: seconds, or 30min, 40h, 2d.",
        show_default="never",
    ),
]
_Decide = Annotated[
    str,
    typer.Option(metavar="instant|event", rich_help_panel=_QUEUE, help="Decide once an instant, or after each event."),
]
_Overrun = Annotated[
    str, typer.Option(metavar="run|kill", rich_help_panel=_QUEUE, help="What a job does that reaches its estimate.")
]
_QueueDepth = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        rich_help_panel=_QUEUE,
        help="Only the N earliest-submitted waiting jobs are considered.",
        show_default="all",
    ),
]
_WarmJobs = Annotated[
    int,
    typer.Option(metavar="N", rich_help_panel=_QUEUE, help="The first N jobs run FCFS and stand outside the metrics."),
]
_Engine = Annotated[
    str,
    typer.Option(
        metavar="auto|simpy|compiled", rich_help_panel=_ANSWER, help="Which clock; both give the same schedule."
    ),
]
_Seed = Annotated[int, typer.Option(metavar="N", rich_help_panel=_ANSWER, help="The seed of all that is drawn.")]
_Validate = Annotated[
    bool, typer.Option("--validate", rich_help_panel=_ANSWER, help="Prove that the schedule is legal.")
]
_Tau = Annotated[
    float, typer.Option(metavar="SECONDS", rich_help_panel=_ANSWER, help="The bound of the bounded slowdown.")
]
_Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=_FILES, help="Print one JSON object, and nothing else, to stdout.")
]


def _file(help_: str) -> object:
    """Return the option of a file that a command writes."""
    return typer.Option(metavar="FILE", rich_help_panel=_FILES, help=help_)


def _time(help_: str) -> object:
    """Return the option of a time since the trace's zero."""
    return typer.Option(metavar="TIME", rich_help_panel=_FILES, help=help_)


def _version(*, asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        from simmodels.version import __version__  # noqa: PLC0415  the help does not wait for the models

        typer.echo(f"schedlab {__version__}")
        raise typer.Exit


@app.callback()
def _schedlab(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=lambda asked: _version(asked=asked), is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Take the options before the command."""


@app.command("list")
@answering
def list_choices(*, json: _Json = False) -> int:
    """Show the orders with their formulas and sources, the backfillings, and the filters."""
    from experiments import commands  # noqa: PLC0415  the help does not wait for the models

    return commands.list_choices(json=json)


@app.command()
@answering
def simulate(
    *,
    workload: _Workload,
    cores: _Cores = None,
    clean: _Clean = None,
    drop_oversized: _DropOversized = False,
    flops_per_s: _Flops = None,
    order: _Order = "FCFS",
    backfilling: _Backfilling = "easy",
    backfill_order: _BackfillOrder = None,
    threshold: _Threshold = None,
    decide: _Decide = "instant",
    overrun: _Overrun = "run",
    queue_depth: _QueueDepth = None,
    warm_jobs: _WarmJobs = 0,
    engine: _Engine = "auto",
    seed: _Seed = 0,
    validate: _Validate = False,
    tau: _Tau = 10.0,
    jobs_out: Annotated[Path | None, _file("The table of jobs: .csv, .parquet, or .swf (.swf.gz, ...).")] = None,
    batsim_out: Annotated[Path | None, _file("The table of jobs as Batsim writes it (.csv), for evalys.")] = None,
    gantt: Annotated[Path | None, _file("The Gantt chart: .svg, .png or .pdf.")] = None,
    figure: Annotated[Path | None, _file("Machine and queue over time: .svg, .png or .pdf.")] = None,
    draw_from: Annotated[str | None, _time("The figures begin there: 3600, 12h, 30d.")] = None,
    draw_to: Annotated[str | None, _time("The figures end there.")] = None,
    json: _Json = False,
) -> int:
    """Replay a workload under one order, and show its figures of merit."""
    from experiments import commands, inputs  # noqa: PLC0415  the help does not wait for the models

    return commands.simulate(
        inputs.WorkloadFile(
            path=workload,
            cores=cores,
            filters=_parts(clean),
            drop_oversized=drop_oversized,
            flops_per_s=flops_per_s,
        ),
        commands.made_setup(
            backfilling=backfilling,
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


@app.command()
@answering
def compare(
    *,
    workload: _Workload,
    orders: _Orders,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", rich_help_panel=_FILES, help="The folder for tables, figures, provenance.")
    ],
    cores: _Cores = None,
    clean: _Clean = None,
    drop_oversized: _DropOversized = False,
    flops_per_s: _Flops = None,
    backfilling: _Backfilling = "easy",
    backfill_order: _BackfillOrder = None,
    threshold: _Threshold = None,
    decide: _Decide = "instant",
    overrun: _Overrun = "run",
    queue_depth: _QueueDepth = None,
    warm_jobs: _WarmJobs = 0,
    engine: _Engine = "auto",
    seed: _Seed = 0,
    validate: _Validate = False,
    tau: _Tau = 10.0,
    json: _Json = False,
) -> int:
    """Replay a workload under several orders, and compare them: table, Parquet files, figures."""
    from experiments import commands, inputs  # noqa: PLC0415  the help does not wait for the models

    return commands.compare_orders(
        inputs.WorkloadFile(
            path=workload,
            cores=cores,
            filters=_parts(clean),
            drop_oversized=drop_oversized,
            flops_per_s=flops_per_s,
        ),
        commands.made_setup(
            backfilling=backfilling,
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
        names=_parts(orders),
        out=out,
        command=["schedlab", *sys.argv[1:]],
        json=json,
    )


@app.command()
@answering
def learn(
    *,
    workload: _Workload,
    form: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            rich_help_panel=_LEARNING,
            help="What is fitted: lin, qdr, cub, qua, or monomials such as 1,p,q,pq.",
        ),
    ] = "lin",
    out: Annotated[
        Path, typer.Option(metavar="FILE", rich_help_panel=_FILES, help="The file of the order: .toml or .json.")
    ] = Path("fit.toml"),
    cores: _Cores = None,
    clean: _Clean = None,
    drop_oversized: _DropOversized = False,
    estimator: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=_LEARNING, help="How scores are made: stratified, published.")
    ] = "stratified",
    pairs: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=_LEARNING, help="How many pairs of job sets.")
    ] = 440,
    trials: Annotated[int, typer.Option(metavar="N", rich_help_panel=_LEARNING, help="Trials of each pair.")] = 32_768,
    learn_on: Annotated[
        float, typer.Option(metavar="PART", rich_help_panel=_LEARNING, help="The part of the log that is learned from.")
    ] = 0.5,
    window_days: Annotated[
        float, typer.Option(metavar="DAYS", rich_help_panel=_LEARNING, help="The length of the windows held out.")
    ] = 15.0,
    backfilling: _Backfilling = "easy",
    warm_jobs: _WarmJobs = 16,
    seed: _Seed = 0,
    tau: _Tau = 10.0,
    json: _Json = False,
) -> int:
    """Learn an order from a log by permutation trials, and say how it does on windows held out."""
    from experiments import inputs, learning  # noqa: PLC0415  the help does not wait for the models

    return learning.learn(
        inputs.WorkloadFile(path=workload, cores=cores, filters=_parts(clean), drop_oversized=drop_oversized),
        learning.made_lesson(
            form=form,
            estimator=estimator,
            pairs=pairs,
            trials=trials,
            learn_on=learn_on,
            window_days=window_days,
            backfilling=backfilling,
            warm_jobs=warm_jobs,
            tau_s=tau,
            seed=seed,
        ),
        out=out,
        command=["schedlab", *sys.argv[1:]],
        json=json,
    )


@app.command()
@answering
def demo(
    *,
    jobs: Annotated[int, typer.Option(metavar="N", help="How many jobs.")] = 10_000,
    cores: Annotated[int, typer.Option(metavar="N", help="The size of the machine.")] = 256,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the workload.")] = 0,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder for tables, figures, provenance.")] = Path(
        "results/demo"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, to stdout.")] = False,
) -> int:
    """Generate a workload, and compare five orders on it: table, Parquet files, figures."""
    from experiments import commands  # noqa: PLC0415  the help does not wait for the models

    return commands.demo(jobs=jobs, cores=cores, seed=seed, out=out, command=["schedlab", *sys.argv[1:]], json=json)


app.command()(cli_campaigns.run)
app.command()(cli_campaigns.report)
app.command()(cli_campaigns.advise)
app.command()(cli_campaigns.new)


def _parts(texts: list[str] | None) -> tuple[str, ...]:
    """Return the parts of texts that are separated by commas."""
    return tuple(part.strip() for text in texts or () for part in text.split(",") if part.strip())


def main() -> int:
    """Run the command line and return its exit status: the console script ``schedlab``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    try:
        return app(standalone_mode=False) or DONE
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # that of click, whose home differs between versions of typer
            raise
        return misused(error, json="--json" in sys.argv)
