"""The options that commands of the command line share."""

import copy
import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

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
    "A log in the Standard Workload Format, what Slurm's sacct --parsable2 prints, a table with one row per job "
    "(.csv, .parquet), a Batsim workload (.json), or a slice of Borg's trace; plain, .gz, .bz2 or .xz.",
    flags=("--workload", "-w"),
)
Workload = Annotated[Path, _LOG]
MaybeWorkload = Annotated[Path | None, _LOG]
Cores = Annotated[int | None, of(IN, "N", "The cores of the machine.", "what the file says")]
Clean = Annotated[
    list[str] | None,
    of(IN, "FILTER,...", "Drop or repair jobs by filters; see schedlab list filters.", known="filters"),
]
Partition = Annotated[
    list[str] | None,
    of(IN, "NAME,...", "Only jobs of these partitions, where they have cores of their own: --cores.", "all"),
]
Queue = Annotated[
    list[str] | None,
    of(IN, "NAME,...", "Only jobs of these queues, where they have cores of their own: --cores.", "all"),
]
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
        "none, greedy, easy or conservative; see schedlab list backfillings.",
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
Force = Annotated[bool, flag(OUT, "Overwrite files in the folder that schedlab has not written there.", "--force")]
Json = Annotated[bool, flag(OUT, "Print one JSON object to stdout instead of tables.", "--json")]


def workload_file(
    *,
    workload: Workload,
    cores: Cores = None,
    clean: Clean = None,
    drop_oversized: DropOversized = False,
    partition: Partition = None,
    queue: Queue = None,
    timezone: Timezone = None,
    flops_per_s: Flops = None,
) -> "WorkloadFile":
    """Return the log that these options ask for: the options of every command that reads one."""
    from experiments.inputs import WorkloadFile, parts  # noqa: PLC0415  the help does not wait for the models

    return WorkloadFile(
        path=workload,
        cores=cores,
        filters=parts(clean),
        drop_oversized=drop_oversized,
        partitions=parts(partition),
        queues=parts(queue),
        timezone=timezone,
        flops_per_s=flops_per_s,
    )


_OF_LOGS: Final = tuple(inspect.signature(workload_file).parameters.values())
OF_LOGS: Final = tuple(each for each in _OF_LOGS if each.name != "workload")
"""The options that say what is made of a log."""


def takes_log(
    *, clean: str | None = None, without: Collection[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return what makes a command of a function with a parameter ``log``, a `WorkloadFile`: one with its options.

    Parameters
    ----------
    clean
        The filters that are applied unless others are given; None for none.
    without
        The options that the command does not have.
    """
    taken = [each for each in _OF_LOGS if each.name not in without]

    def with_options(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(**given: Any) -> int:  # noqa: ANN401  what the command line says
            asked = {each.name: given.pop(each.name) for each in taken}
            if asked["clean"] is None and clean is not None:
                asked["clean"] = [clean]
            return command(log=workload_file(**asked), **given)

        own = inspect.signature(command)
        others = [each for each in own.parameters.values() if each.name != "log"]
        said = [_cleaned_by(each, clean) if each.name == "clean" and clean is not None else each for each in taken]
        called.__signature__ = own.replace(parameters=[*said, *others])  # type: ignore[attr-defined]  # read by inspect
        called.__annotations__ = {each.name: each.annotation for each in (*said, *others)}  # read by typer
        return called

    return with_options


def _cleaned_by(parameter: inspect.Parameter, filters: str) -> inspect.Parameter:
    """Return the option ``--clean`` with these filters as its default."""
    kind, option = get_args(parameter.annotation)
    shown = copy.copy(option)
    shown.show_default = filters
    return parameter.replace(annotation=Annotated[kind, shown])
