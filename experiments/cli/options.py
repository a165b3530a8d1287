"""Options of commands, as the fields of requests define them."""

import functools
import inspect
import keyword
import operator
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer

from experiments.option import SHARED, Group, Models, Option, flag_of

NEEDED: Final = inspect.Parameter.empty
"""The default of what must be given."""
WHOLE: Final = Group()
"""A part of a request with all its options."""
_METAVARS: Final[Mapping[Any, str]] = {int: "N", float: "X", Path: "FILE", tuple[str, ...]: "NAME,..."}


@dataclass(frozen=True, slots=True)
class Derived:
    """An option of the command line that a field of a request, or an option of the models, defines.

    Parameters
    ----------
    name
        Its name there.
    parameter
        It, as typer reads it from a signature.
    parse
        From what the command line gives to its value.
    panel
        Its panel of the help.
    """

    name: str
    parameter: inspect.Parameter
    parse: Callable[[Any], Any]
    panel: str

    @property
    def flag(self) -> str:
        """Return its long name, with hyphens."""
        return f"--{self.parameter.name.rstrip('_').replace('_', '-')}"


def marked(annotation: Any) -> tuple[Any, Any, bool]:  # noqa: ANN401  types
    """Return the type of a field, its mark (a request among the fields is a group), and whether it may be None."""
    whole, *marks = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    kind = plain_type(whole)
    marks = [each for each in marks if each is SHARED or isinstance(each, Option | Group | Models)]
    is_request = is_dataclass(kind) and any(get_origin(each.type) is Annotated for each in fields(kind))
    mark = marks[0] if marks else WHOLE if is_request else None
    return kind, mark, kind is not whole


def plain_type(kind: Any) -> Any:  # noqa: ANN401  a type, or what typing makes of some
    """Return a type without None."""
    if get_origin(kind) in {Union, types.UnionType}:
        parts = [part for part in get_args(kind) if part is not type(None)]
        return kind if len(parts) == len(get_args(kind)) else functools.reduce(operator.or_, parts)
    return kind


def derived_of(name: str, kind: Any, option: Option, default: object = None) -> Derived:  # noqa: ANN401  a type
    """Return an option of a name and a type, as its mark says; one that must be given has the default `NEEDED`."""
    flags = option.flags or (flag_of(name),)
    long = next(each for each in flags if each.startswith("--")).partition("/")[0]
    accepted, metavar, parse = accepted_by(long, name, kind)
    if option.parse is not None:
        accepted, parse = (accepted if kind == tuple[str, ...] else str), option.parse
    elif option.metavar is not None and kind is float:  # in the unit that it names
        accepted, parse = float, float
    values = get_args(kind) if get_origin(kind) is Literal else ()
    known = option.known or values
    more: dict[str, Any] = {
        "metavar": option.metavar or "|".join(values) or metavar,
        "help": plainly(option.help),
        "autocompletion": completion(known) if known else None,
    }
    if option.panel:
        shown = shown_default(default) if option.default is None else option.default
        made = typer.Option(*flags, rich_help_panel=option.panel, show_default=shown or False, **more)
    else:
        made = typer.Argument(**more)
    needed, is_flag = default is NEEDED, default is False
    parameter = inspect.Parameter(
        parameter_name(long),
        inspect.Parameter.KEYWORD_ONLY,
        default=NEEDED if needed else False if is_flag else None,
        annotation=Annotated[accepted if needed or is_flag else accepted | None, made],
    )
    return Derived(name, parameter, parse, option.panel)


def parameter_name(flag: str) -> str:
    """Return what the parameter of an option is called."""
    name = flag[2:].replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def accepted_by(flag: str, name: str, kind: Any) -> tuple[Any, str | None, Callable[[Any], Any]]:  # noqa: ANN401
    """Return the type that the command line accepts, its metavar, and what makes a value of a type of it."""
    if kind == float | datetime:
        return str, "TIME", lambda text: _time(flag, text)
    if name.endswith("_s") and kind is float:
        return str, "TIME", lambda text: _seconds(flag, text)
    if kind == tuple[str, ...]:
        return list[str], _METAVARS[kind], parts_of
    if kind in {bool, int, float, Path}:
        return kind, _METAVARS.get(kind), kind
    return str, None, str


def _seconds(flag: str, text: str) -> float:
    from simmodels.ground.durations import seconds  # noqa: PLC0415  the help does not wait for numpy

    return seconds(text, flag)


def _time(flag: str, text: str) -> float | datetime:
    from experiments.dates import as_time  # noqa: PLC0415  as above

    return as_time(text, flag)


def parts_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return what texts list between commas."""
    from experiments.inputs import parts  # noqa: PLC0415  the help does not wait for the models

    return parts(texts)


def plainly(said: str) -> str:
    """Return a description without the marks of a docstring."""
    plain = re.sub(r"`(--[\w-]+)`", r"\1", said).replace("`", "").replace('"', "")
    return plain if not plain or plain.endswith(".") else f"{plain}."


def shown_default(default: object) -> str:
    """Return a default as the help shows it; "" for what need not be shown."""
    if default is True:
        return "yes"
    nothing = default is None or default is False or default is NEEDED or default == ()
    return "" if nothing else f"{default:g}" if isinstance(default, float) else str(default)


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
