"""The options that commands of the command line share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from experiments.inputs import WorkloadFile

IN: Final = "What goes in"
POLICY: Final = "Which policy decides"
RUN: Final = "How it is run"
OUT: Final = "What comes out"
"""Panels of the help."""


def of(
    panel: str,
    metavar: str,
    help_: str,
    default: str | None = None,
    *,
    flags: tuple[str, ...] = (),
    known: str | Sequence[str] = (),
    **more: Any,  # noqa: ANN401  those of typer
) -> Any:  # noqa: ANN401  what typer makes
    """Return an option of a panel.

    Parameters
    ----------
    panel
        The panel of the help.
    metavar
        What stands for its value.
    help_
        What is said of it.
    default
        In words, what it is without it; None where the default itself is shown, if there is one.
    flags
        Its names; by default that of the parameter.
    known
        The values that a shell completes, or what `experiments.choices.names_of` calls them.
    more
        More of `typer.Option`.
    """
    if default is not None:
        more["show_default"] = default
    if known:
        more["autocompletion"] = completion(known)
    return typer.Option(*flags, metavar=metavar, rich_help_panel=panel, help=help_, **more)


def completion(known: str | Sequence[str]) -> Callable[[str], list[str]]:
    """Return what completes a name, or the last of several between commas, in a shell.

    Parameters
    ----------
    known
        The names, or what `experiments.choices.names_of` calls them.
    """

    def complete(incomplete: str) -> list[str]:
        from experiments.choices import names_of  # noqa: PLC0415  the help does not wait for the models

        before, comma, last = incomplete.rpartition(",")
        names = names_of(known) if isinstance(known, str) else known
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return complete


def flag(panel: str, help_: str, *names: str) -> Any:  # noqa: ANN401  what typer makes
    """Return an option of a panel that is given or not."""
    return typer.Option(*names, rich_help_panel=panel, help=help_)


def file(help_: str) -> Any:  # noqa: ANN401  what typer makes
    """Return the option of a file that a command writes."""
    return of(OUT, "FILE", help_)


_LOG: Final = of(
    IN,
    "FILE",
    "A log in the Standard Workload Format, what Slurm's sacct --parsable2 prints, or a Batsim workload (.json); "
    "plain, .gz, .bz2 or .xz.",
    flags=("--workload", "-w"),
)
Workload = Annotated[Path, _LOG]
MaybeWorkload = Annotated[Path | None, _LOG]
Cores = Annotated[int | None, of(IN, "N", "The cores of the machine.", "what the file says")]
Clean = Annotated[list[str] | None, of(IN, "FILTER,...", "Drop or repair jobs by filters; see list.", known="filters")]
Partition = Annotated[list[str] | None, of(IN, "NAME,...", "Only jobs of these partitions of the log.", "all")]
Timezone = Annotated[
    str | None, of(IN, "ZONE", "The time zone of the times that sacct printed, such as Europe/Berlin.", "UTC")
]
DropOversized = Annotated[bool, flag(IN, "Leave out, and count, jobs wider than the machine.", "--drop-oversized")]
Flops = Annotated[float | None, of(IN, "X", "The speed of a core, in flop/s, for Batsim profiles that need it.")]
Backfilling = Annotated[
    str,
    of(
        POLICY,
        "NAME",
        "none, greedy, easy or conservative; see list.",
        flags=("--backfilling", "-b"),
        known="backfillings",
    ),
]
WarmJobs = Annotated[
    int, of(POLICY, "N", "The first N jobs are scheduled first come, first served, and left out of the metrics.")
]
Engine = Annotated[
    str,
    of(RUN, "auto|simpy|compiled", "Which engine simulates; all give the same schedule.", known="engines"),
]
Seed = Annotated[int, of(RUN, "N", "The seed of all random numbers.")]
Validate = Annotated[bool, flag(RUN, "Check that each schedule is legal.", "--validate")]
Tau = Annotated[float, of(RUN, "SECONDS", "The bound of the bounded slowdown.")]
Json = Annotated[bool, flag(OUT, "Print one JSON object to stdout instead of tables.", "--json")]


def workload_file(
    *,
    workload: Path,
    cores: int | None = None,
    clean: list[str] | None = None,
    drop_oversized: bool = False,
    partition: list[str] | None = None,
    timezone: str | None = None,
    flops_per_s: float | None = None,
) -> "WorkloadFile":
    """Return the log that these options ask for."""
    from experiments.inputs import WorkloadFile, parts  # noqa: PLC0415  the help does not wait for the models

    return WorkloadFile(
        path=workload,
        cores=cores,
        filters=parts(clean),
        drop_oversized=drop_oversized,
        partitions=parts(partition),
        timezone=timezone,
        flops_per_s=flops_per_s,
    )
