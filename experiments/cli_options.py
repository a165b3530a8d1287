"""The options that commands of the command line share."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

FILES: Final = "What comes out"
QUEUE: Final = "How the queue is scheduled"
MACHINE: Final = "What goes in"
ANSWER: Final = "How it is run"

_LOG: Final = typer.Option(
    "--workload",
    "-w",
    metavar="FILE",
    rich_help_panel=MACHINE,
    help="A log (Standard Workload Format, Slurm's sacct -P) or a Batsim workload (.json); also .gz, .bz2 or .xz.",
)
Workload = Annotated[Path, _LOG]
MaybeWorkload = Annotated[Path | None, _LOG]
Cores = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        rich_help_panel=MACHINE,
        help="The size of the machine.",
        show_default="the one that the file says",
    ),
]
Clean = Annotated[
    list[str] | None,
    typer.Option(metavar="FILTER,...", rich_help_panel=MACHINE, help="Drop or mend jobs by filters; see list."),
]
Partition = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME,...", rich_help_panel=MACHINE, help="Only jobs of these partitions of the log."),
]
Timezone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", rich_help_panel=MACHINE, help="Of the times that sacct printed, as Europe/Berlin."),
]
DropOversized = Annotated[
    bool,
    typer.Option(
        "--drop-oversized", rich_help_panel=MACHINE, help="Leave out, and count, jobs wider than the machine."
    ),
]
Flops = Annotated[
    float | None,
    typer.Option(metavar="X", rich_help_panel=MACHINE, help="The speed of a core, for Batsim profiles that need it."),
]
Backfilling = Annotated[
    str,
    typer.Option(
        "--backfilling",
        "-b",
        metavar="NAME",
        rich_help_panel=QUEUE,
        help="none, greedy, easy or conservative; see list.",
    ),
]
WarmJobs = Annotated[
    int,
    typer.Option(metavar="N", rich_help_panel=QUEUE, help="The first N jobs run FCFS and stand outside the metrics."),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="auto|simpy|compiled", rich_help_panel=ANSWER, help="Which clock; both give the same schedule."
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", rich_help_panel=ANSWER, help="The seed of all that is drawn.")]
Validate = Annotated[bool, typer.Option("--validate", rich_help_panel=ANSWER, help="Prove that the schedule is legal.")]
Tau = Annotated[
    float, typer.Option(metavar="SECONDS", rich_help_panel=ANSWER, help="The bound of the bounded slowdown.")
]
Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=FILES, help="Print one JSON object, and nothing else, to stdout.")
]


def of(panel: str, metavar: str, help_: str, default: str | None = None) -> Any:  # noqa: ANN401  what typer makes
    """Return an option of a panel; `default` says in words what it is without it."""
    shown = {} if default is None else {"show_default": default}
    return typer.Option(metavar=metavar, rich_help_panel=panel, help=help_, **shown)  # type: ignore[arg-type]


def file(help_: str) -> object:
    """Return the option of a file that a command writes."""
    return typer.Option(metavar="FILE", rich_help_panel=FILES, help=help_)


def time(help_: str) -> object:
    """Return the option of a time since the trace's zero."""
    return typer.Option(metavar="TIME", rich_help_panel=FILES, help=help_)


def parts(texts: list[str] | None) -> tuple[str, ...]:
    """Return the parts of texts that are separated by commas."""
    return tuple(part.strip() for text in texts or () for part in text.split(",") if part.strip())
