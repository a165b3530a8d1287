"""The command line: its commands and options. What they do is in `experiments.commands`.

It imports nothing of the models before a command needs it, so that the help is there at once.
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from experiments import cli_campaigns, cli_learn
from experiments import cli_options as options
from experiments.answering import DONE, INTERRUPTED, answering, misused

_LATE: Final = ("simulate", "compare", "forecast")
"""The commands whose options are those of the models: only who asks for them waits until the models are imported."""


class _Commands(typer.core.TyperGroup):
    """The commands; those of `_LATE` are looked up when they are called."""

    def resolve_command(self, context: Any, words: list[str]) -> Any:  # noqa: ANN401  click's types are not public
        """Return name, command and remaining words of a call."""
        name, command, rest = super().resolve_command(context, words)
        return name, late_command(name) if name in _LATE else command, rest


def late_command(name: str) -> Any:  # noqa: ANN401  a command of click
    """Return a command of `_LATE` with its options."""
    from experiments.cli_forecast import commands_app  # noqa: PLC0415  it imports the models

    return typer.main.get_command(commands_app).commands[name]  # type: ignore[attr-defined]  # a group


app = typer.Typer(
    cls=_Commands,
    help="Simulate how clusters schedule jobs: logs and workflows, under any policy, on any clusters.",
    epilog="Exit status: 0 done, 1 some policy or cell failed (the others are kept), 2 the request is wrong.",
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
    """Show orders and bids with formulas and sources, backfillings, heuristics, routers, studies and filters."""
    from experiments import commands  # noqa: PLC0415  the help does not wait for the models

    return commands.list_choices(json=json)


@app.command()
def simulate() -> None:
    """Replay a log, workflows, or both under one policy, and show the figures of merit."""


@app.command()
def compare() -> None:
    """Replay a log, workflows, or both under several policies, and compare them: table, Parquet files, figures."""


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@answering
def machines() -> int:
    """Say what has become of this command."""
    from simmodels.errors import RequestError  # noqa: PLC0415  the help does not wait for the models

    raise RequestError("machines has gone", "compare --heuristics NAME,... does what it did, and more")


app.command()(cli_learn.learn)


@app.command()
def forecast() -> None:
    """Say when a job will start: from the state of the queue at an instant, and futures drawn from the log's past."""


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
app.command()(cli_campaigns.reproduce)
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
