"""``new``: its options."""

from dataclasses import dataclass
from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.option import DESIGN, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """What `new` is asked.

    Parameters
    ----------
    name
        The name of the study: letters, digits and _.
    toml
        Write a TOML file that extends a study, instead of Python.
    """

    name: Annotated[str, Option("", "NAME")]
    toml: Annotated[bool, Option(DESIGN)] = False


COMMAND: Final = command(
    New,
    "experiments.campaigning:new_study",
    examples=("schedlab new my_study", "schedlab new my_study --toml"),
)
