"""Option: how a field of a request is given on the command line.

A request is a dataclass, or the function of a command, and each of its options is defined once: as a field, or a
parameter, with a type, a default, a mark and a description, which is that of the docstring. `experiments.cli.derive`
makes the options of commands of it, and makes the request, or calls the function, of what was given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

IN: Final = "What goes in"
POLICY: Final = "Which policy decides"
WHERE: Final = "Where it runs"
SUPPLY: Final = "Machines that are switched on and off"
FLOWS: Final = "Workflows (with --workflows)"
DESIGN: Final = "What is run"
RUN: Final = "How it is run"
OUT: Final = "What comes out"
"""Panels of the help."""


FITTED: Final = "fitted"
"""Stands for limits that are fitted to the log when it is read."""


@dataclass(frozen=True, slots=True)
class Option:
    """The mark of a field that is an option.

    Parameters
    ----------
    panel
        The panel of the help; "" for an argument, which has no name.
    metavar
        What stands for its value; by default what its type says.
    default
        In words, what it is without it; None where the default itself is shown, if there is one.
    flags
        Its names; by default that of the field, with hyphens and without the unit.
    known
        The values that a shell completes, or what `experiments.choices.names_of` calls them.
    parse
        From the text that was given to the value; by default what its type says.
    help
        What is said of it; by default what the docstring of its request says.
    """

    panel: str
    metavar: str | None = None
    default: str | None = None
    flags: tuple[str, ...] = ()
    known: str | Sequence[str] = ()
    parse: Callable[[str], Any] | None = None
    help: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The mark of a field that is a request itself, a part of the whole; needed only where more is to be said of it.

    Parameters
    ----------
    only
        The fields that are options here; empty for all.
    without
        Those that are none here.
    defaults
        Other values of some of its options, by field, where none is given.
    otherwise
        What else to do where it is left out and an option of it is given.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """The mark of a field that maps the names of options of the models to what was given for them.

    Parameters
    ----------
    panels
        The panel of each class of options: of queues, placers and auctions.
    """

    panels: Mapping[type[Any], str]


def flag_of(name: str) -> str:
    """Return what the command line calls a field."""
    return f"--{name.removesuffix('_s').replace('_', '-')}"


SHARED: Final = object()
"""The mark of a field whose option, of the same name, another part of the request defines."""

Seed = Annotated[int, Option(RUN, help="The seed of all random numbers.")]
Scale = Annotated[
    str,
    Option(DESIGN, "NAME", known=("smoke", "small", "paper"), help="The size of the design: smoke, small or paper."),
]
Workers = Annotated[
    int | None,
    Option(
        RUN,
        "N",
        "one per core",
        ("--workers", "-j"),
        help="The number of processes; 0: none but this one, in which a debugger can stop in a cell.",
    ),
]
StudyEngine = Annotated[
    str | None,
    Option(
        RUN, "auto|simpy|compiled", "auto", ("--engine",),
        help="The engine of a study's simulations; all give the same rows.",
    ),
]  # fmt: skip
Tau = Annotated[float, Option(RUN, "SECONDS", help="The bound of the bounded slowdown.")]
Against = Annotated[
    Path | None,
    Option(
        OUT,
        "FOLDER",
        help="Show which claims and cells differ from a kept run, and end with status 1 if any do: its folder, or one "
        "that has STUDY/ or a table of claims STUDY.csv.",
    ),
]
Force = Annotated[bool, Option(OUT, help="Overwrite files in the folder that schedlab has not written there.")]
Json = Annotated[bool, Option(OUT, help="Print one JSON object to stdout instead of tables.")]
