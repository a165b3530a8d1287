"""The command line: its commands and options. What they do is in `experiments.commands`.

It imports nothing of the models before a command needs it, so that the help is there at once.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments import cli_campaigns, cli_learn, cli_machines, cli_simulate
from experiments import cli_options as options
from experiments.answering import DONE, INTERRUPTED, answering, misused

app = typer.Typer(
    help="A laboratory for scheduling on clusters: replay a trace under any order and backfilling.",
    epilog="Exit status: 0 done, 1 some order or cell failed (the others are kept), 2 the request is wrong.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
def list_choices(*, json: options.Json = False) -> int:
    """Show the orders and bids with their formulas and sources, the backfillings, and the filters."""
    from experiments import commands  # noqa: PLC0415  the help does not wait for the models

    return commands.list_choices(json=json)


app.command()(cli_simulate.simulate)
app.command()(cli_machines.machines)
app.command()(cli_learn.learn)


@app.command()
@answering
def compare(
    *,
    workload: options.Workload,
    orders: options.Orders,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", rich_help_panel=options.FILES, help="The folder for tables, figures, provenance."
        ),
    ],
    cores: options.Cores = None,
    clean: options.Clean = None,
    drop_oversized: options.DropOversized = False,
    flops_per_s: options.Flops = None,
    backfilling: options.Backfilling = "easy",
    backfill_order: options.BackfillOrder = None,
    threshold: options.Threshold = None,
    decide: options.Decide = "instant",
    overrun: options.Overrun = "run",
    queue_depth: options.QueueDepth = None,
    warm_jobs: options.WarmJobs = 0,
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    validate: options.Validate = False,
    tau: options.Tau = 10.0,
    json: options.Json = False,
) -> int:
    """Replay a workload under several orders, and compare them: table, Parquet files, figures."""
    from experiments import commands, inputs  # noqa: PLC0415  the help does not wait for the models

    return commands.compare_orders(
        inputs.WorkloadFile(
            path=workload,
            cores=cores,
            filters=options.parts(clean),
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
        names=options.parts(orders),
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
