"""The command line: its commands and options. What they do is in `experiments.commands`.

It imports nothing of the models before a command needs it, so that the help is there at once.
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from experiments import cli_campaigns, cli_learn
from experiments import cli_options as options
from experiments.cli_help import Command, Group, examples
from experiments.cli_options import IN, OUT, of
from experiments.cli_output import DONE, INTERRUPTED, cli_command, unknown, usage_error

PROGRAM: Final = "schedlab"
"""What messages call the program, however it was started; and for what completion is installed."""
_LATE: Final = ("simulate", "compare", "forecast")
"""The commands with options of the models: only they wait until the models are imported."""


class _Commands(Group):
    """The commands; those of `_LATE` are looked up when they are called."""

    def resolve_command(self, context: Any, words: list[str]) -> Any:  # noqa: ANN401  click's types are not public
        """Return name, command and remaining words of a call."""
        if words and self.get_command(context, words[0]) is None:
            context.fail(
                unknown("command", words[0], [name for name, each in self.commands.items() if not each.hidden])
            )
        name, command, rest = super().resolve_command(context, words)
        return name, late_command(name) if name in _LATE else command, rest


def late_command(name: str) -> Any:  # noqa: ANN401  a command of click
    """Return a command of `_LATE` with its options."""
    from experiments.cli_forecast import commands_app  # noqa: PLC0415  it imports the models

    return typer.main.get_command(commands_app).commands[name]  # type: ignore[attr-defined]  # a group


app = typer.Typer(
    cls=_Commands,
    help="Simulate how clusters schedule jobs: logs and workflows, under any policy, on any clusters.\n\n"
    "Exit status: 0 done, 1 a policy or cell failed (the others are kept), 2 the request is wrong.",
    epilog=examples(
        "schedlab demo",
        "schedlab simulate --workload log.swf --order SAF",
        "schedlab compare --workload log.swf --orders FCFS,SAF,WFP3",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_SIMULATE, _LOG, _STUDY = "Simulate", "Your own log", "Studies"
"""The panels of the commands."""


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


@app.command(rich_help_panel=_SIMULATE)
def simulate() -> None:
    """Simulate a log, workflows, or both under one policy, and print the metrics."""


@app.command(rich_help_panel=_SIMULATE)
def compare() -> None:
    """Simulate a log, workflows, or both under several policies, and compare them: table, files, figures."""


@app.command(
    cls=Command,
    rich_help_panel=_SIMULATE,
    epilog=examples("schedlab demo", "schedlab demo --jobs 500 --cores 64 --seed 1 --out demo"),
)
@cli_command
def demo(
    *,
    jobs: Annotated[int, of(IN, "N", "The number of jobs.")] = 10_000,
    cores: Annotated[int, of(IN, "N", "The cores of the machine.")] = 256,
    seed: Annotated[int, of(IN, "N", "The seed of the workload.")] = 0,
    out: Annotated[Path, of(OUT, "FOLDER", "The folder of tables, figures and provenance.")] = Path("results/demo"),
    force: options.Force = False,
    json: options.Json = False,
) -> int:
    """Generate a workload, and compare five orders on it: table, files, figures."""
    from experiments import commands  # noqa: PLC0415  the help does not wait for the models

    return commands.demo(
        jobs=jobs, cores=cores, seed=seed, out=out, command=["schedlab", *sys.argv[1:]], force=force, json=json
    )


@app.command(
    "list",
    cls=Command,
    rich_help_panel=_SIMULATE,
    epilog=examples("schedlab list", "schedlab list orders", "schedlab list --json"),
)
@cli_command
def list_choices(
    *,
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="orders, bids, backfillings, heuristics, ...: one kind, with formulas and sources; by default all.",
            autocompletion=options.completion("kinds"),
        ),
    ] = None,
    json: options.Json = False,
) -> int:
    """List in words what can be chosen: orders, bids, backfillings, heuristics, routers, metrics, studies, filters."""
    from experiments import cli_list  # noqa: PLC0415  the help does not wait for the models

    return cli_list.list_choices(kind=kind, json=json)


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@cli_command
def machines() -> int:
    """Say what has become of this command."""
    from simmodels.errors import RequestError  # noqa: PLC0415  the help does not wait for the models

    raise RequestError("there is no command machines any more", "use compare --heuristics NAME,...")


app.command(
    cls=Command,
    rich_help_panel=_LOG,
    epilog=examples(
        "schedlab advise --workload log.swf", "schedlab advise --workload log.swf --current auto --out results/mine"
    ),
)(cli_campaigns.advise)


@app.command(rich_help_panel=_LOG)
def forecast() -> None:
    """Forecast when a job will start, from the queue at one time and futures drawn from the log's past."""


app.command(
    cls=Command,
    rich_help_panel=_LOG,
    epilog=examples(
        "schedlab learn --workload log.swf --pairs 40 --trials 4096 --out fit.toml",
        "schedlab compare --workload log.swf --orders FCFS,SAF,fit.toml",
    ),
)(cli_learn.learn)
app.command(
    cls=Command,
    rich_help_panel=_STUDY,
    epilog=examples(
        "schedlab run selection --scale smoke",
        "schedlab run replay --scale smoke --workload log.swf -s order=FCFS,SAF -s window_days=7",
        "schedlab run my_study.py --scale smoke --out results/first",
    ),
)(cli_campaigns.run)
app.command(
    cls=Command,
    rich_help_panel=_STUDY,
    epilog=examples("schedlab report results/selection", "schedlab report results/selection --json"),
)(cli_campaigns.report)
app.command(
    cls=Command,
    rich_help_panel=_STUDY,
    epilog=examples("schedlab new my_study", "schedlab new my_study --toml"),
)(cli_campaigns.new)
app.command(
    cls=Command,
    rich_help_panel=_STUDY,
    epilog=examples("schedlab reproduce --scale smoke", "schedlab reproduce --scale smoke --workers 2"),
)(cli_campaigns.reproduce)


def main() -> int:
    """Run the command line and return its exit status: the console script ``schedlab``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    try:
        return app(prog_name=PROGRAM, standalone_mode=False) or DONE
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # that of click: its home differs between versions of typer
            raise
        return usage_error(error, json="--json" in sys.argv)
