"""Requests made of signatures: the parameters of a function of `workloads` as the options of a command."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, make_dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

from experiments.cli.models import numbers_of, shown_of
from experiments.cli.options import plain_type
from experiments.inputs import WorkloadFile
from experiments.option import IN, Option, Seed, flag_of
from simmodels.errors import RequestError, must_be
from simmodels.ground.docstrings import descriptions
from simmodels.ground.durations import seconds
from simmodels.work.workload import WorkloadLike
from workloads.graphs import Kinds, Laws

_PARAMETERS: Final = "Parameters of the model"
_ELSEWHERE: Final = re.compile(r"As for `(\w+)`")


def request_of(function: Callable[..., Any], *, without: Sequence[str] = (), panel: str = IN) -> type[Any]:
    """Return a dataclass whose fields are the parameters of a function (or of a dataclass); `call` calls it.

    A parameter that is a dataclass becomes a part of the request, a workload becomes a file. Where a default is no
    number, flag or text, an option that is not given is None, and `call` leaves it to the function. What no text stands
    for, such as a mapping, is no option.

    Parameters
    ----------
    function
        The function; its docstring describes the parameters.
    without
        Parameters that are no options.
    panel
        The panel of the help.
    """
    made: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind = None if name in without else _option(function, name, parameter, panel)
        if kind is not None and parameter.default is parameter.empty:
            made.append((name, kind))
        elif kind is not None:
            plain = isinstance(parameter.default, bool | int | float | str)
            made.append((name, kind, field(default=parameter.default if plain else None)))
    namespace = {"function": staticmethod(function)}
    return make_dataclass(function.__name__, made, frozen=True, kw_only=True, namespace=namespace)


def call(request: Any, **more: Any) -> Any:  # noqa: ANN401  of whatever function
    """Return what the function of a request returns, whose files are read; `more` replaces arguments."""
    given = {each.name: getattr(request, each.name) for each in fields(request)} | more
    return request.function(**{name: _value(value) for name, value in given.items() if value is not None})


def _value(given: Any) -> Any:  # noqa: ANN401  whatever the function takes
    if isinstance(given, WorkloadFile):
        return given.read()
    return call(given) if hasattr(given, "function") else given


def _option(function: Callable[..., Any], name: str, parameter: inspect.Parameter, panel: str) -> Any:  # noqa: ANN401
    """Return the type of a parameter, marked as an option; a request; or None for what is no option."""
    kind, default = plain_type(parameter.annotation), parameter.default
    if name == "seed":
        return Seed
    if kind == WorkloadLike:
        return WorkloadFile
    if isinstance(kind, type) and is_dataclass(kind):
        return request_of(kind, panel=_PARAMETERS) | None
    if get_origin(kind) is Mapping:
        return None
    flag = flag_of(name)
    kind, mark = _accepted(kind, name, flag)
    if default is True:
        mark["flags"] = (f"{flag}/--no-{flag[2:]}",)
    return Annotated[kind, Option(panel, default=_shown(name, default), help=_said(function, name), **mark)]


def _accepted(kind: Any, name: str, flag: str) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  a type
    """Return the type that a request has of a type of a parameter, and what its mark says besides."""
    if kind == Laws:
        return kind, {"metavar": "X|LOW:HIGH", "parse": lambda text: _law(flag, text)}
    if kind == plain_type(Kinds):
        return str, {"metavar": "KIND"}
    if kind == Collection[str]:
        return tuple[str, ...], {}
    if any(get_origin(each) is PathLike for each in get_args(kind)):
        return Path, {"metavar": "FOLDER", "flags": ("--workflows",)}
    if get_origin(kind) in {tuple, Sequence}:
        number = get_args(kind)[0]
        metavar = "N,..." if number is int else "X,..."
        return kind, {"metavar": metavar, "parse": lambda text: numbers_of(flag, text, number)}
    return float if name.endswith("_s") else kind, {}


def _shown(name: str, default: Any) -> str:  # noqa: ANN401  of any type
    """Return a default as the help shows it; "" for what need not be shown."""
    if default is inspect.Parameter.empty:
        return ""
    if isinstance(default, Mapping):
        return ", ".join(f"{key} {value:g}" for key, value in default.items())
    if isinstance(default, tuple):
        return (":" if name == "runtime_s" else ",").join(f"{value:g}" for value in default)
    return shown_of(name, default)


def _said(function: Any, name: str) -> str:  # noqa: ANN401  a function or a class
    """Return the first sentence of what a docstring says of a parameter, or of that of the function it refers to."""
    said = descriptions(function)[name]
    if (found := _ELSEWHERE.match(said)) is not None:
        said = descriptions(getattr(inspect.getmodule(function), found[1]))[name]
    first = re.sub(r" \(see `[^)]*\)", "", said.replace("``", "").split(". ")[0])
    return re.sub(r"\bNone(:| for) ", "by default ", first)


def _law(flag: str, text: str) -> Any:  # noqa: ANN401  a number or a range of them
    """Return what a text says of runtimes or cores: a number, or the ends of a range."""
    runtime = flag == "--runtime"
    try:
        ends = tuple(seconds(each, flag) if runtime else int(each) for each in text.split(":"))
    except ValueError:  # an error of a request is one, too
        ends = ()
    if not 1 <= len(ends) <= 2:
        expected = "a time or a range of times, such as 5min:2h" if runtime else "an integer or a range, such as 1:8"
        raise RequestError(must_be(flag, expected, text))
    return ends if len(ends) == 2 else ends[0]
