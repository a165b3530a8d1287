"""The command line: its commands. What each asks for is in the module of its name, imported when it is called."""

import atexit
import gc
import importlib
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from experiments.cli.help import Group
from experiments.cli.output import DONE, INTERRUPTED, usage_error

PROGRAM: Final = "schedlab"
"""What messages call the program, however it was started; and for what completion is installed."""
_OBJECTS: Final = 100_000
"""How many more objects there must be before Python looks for garbage among them."""
COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Simulate": {
        "simulate": "Simulate a log, workflows, or both under one policy, and print the metrics.",
        "compare": "Simulate a log, workflows, or both under several policies, and compare them: table, files, "
        "figures.",
        "demo": "Generate a workload, and compare five orders on it: table, files, figures.",
        "list": "List in words what can be chosen: orders, bids, backfillings, heuristics, routers, metrics, studies, "
        "filters.",
    },
    "Your own log": {
        "advise": "Find the order and the threshold that would have been best on your log, and how certain that is.",
        "calibrate": "Read off a log what its queue obeyed; test on other weeks how near replays with that come.",
        "forecast": "Forecast when a job will start, from the queue at one time and futures drawn from the log's past.",
        "learn": "Learn an order from a log by permutation trials, and test it on windows held out.",
    },
    "Inputs": {
        "generate": "Generate jobs, workflows or machines by a model, as files that the other commands read.",
        "inputs": "List the real logs and other inputs that pages and studies name, or check yours against the list.",
    },
    "Studies": {
        "run": "Run a study: the cells that are not done yet, then tables, figures, claims and a report.",
        "report": "Write tables, figures, claims and the report of a campaign, from the cells that are done.",
        "new": "Write the skeleton of a study, NAME.py or NAME.toml, that runs as it is.",
        "reproduce": "Reproduce the four papers: run their studies, then write one page that links the four reports.",
    },
}
"""The commands by the panel of the help, each with what it does."""


class _Commands(Group):
    """The commands; the options of each are looked up when it is called, so that the help does not wait."""

    def resolve_command(self, context: Any, words: list[str]) -> Any:  # noqa: ANN401  click's types are not public
        """Return name, command and remaining words of a call."""
        name, _, rest = super().resolve_command(context, words)
        return name, command_named(str(name)), rest


def command_named(name: str) -> Any:  # noqa: ANN401  a command of click
    """Return a command with its options."""
    command = importlib.import_module(f"experiments.cli.{name}").COMMAND
    command.help = next(about[name] for about in COMMANDS.values() if name in about)
    return command


app = typer.Typer(
    cls=_Commands,
    help="Simulate how clusters schedule jobs: logs and workflows, under any policy, on any clusters.\n\n"
    "Exit status: 0 done, 1 a policy or cell failed (the others are kept), 2 the request is wrong.",
    epilog="schedlab demo\n"
    "schedlab simulate --workload log.swf --order SAF\n"
    "schedlab compare --workload log.swf --orders FCFS,SAF,WFP3",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _panel, _about in COMMANDS.items():
    for _name, _help in _about.items():
        app.command(_name, help=_help, rich_help_panel=_panel)(lambda: None)


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


def main() -> int:
    """Run the command line and return its exit status: the console script ``schedlab``."""
    # Half of the time of a short command went into looking for garbage in all that is imported: now it is looked for
    # less often, and not once more when the process ends.
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)
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
