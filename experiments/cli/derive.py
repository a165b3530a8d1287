"""Commands made of functions: their options, as the parameters define them, and the call with what was given.

Parameters are options, or parts: requests, whose fields are options. What asks for a request alone imports nothing of
the models unless the request does, so that the help is there at once.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, get_args

import typer

from experiments.cli.help import Command
from experiments.cli.options import NEEDED, WHOLE, Derived, accepted_by, derived_of, marked, parameter_name
from experiments.cli.output import end_with
from experiments.option import FLOWS, IN, OUT, POLICY, RUN, SHARED, SUPPLY, WHERE, Group, Models, Option, flag_of
from simmodels.ground.docstrings import descriptions

PANELS: Final = (IN, POLICY, WHERE, SUPPLY, FLOWS, "", RUN, OUT)
"""The panels of a long help, from above; "" stands for all others, in their order."""


# -- options ----------------------------------------------------------------------------------------


def derived(request: Callable[..., Any], group: Group = WHOLE, taken: set[str] | None = None) -> Iterator[Derived]:
    """Hand out the options of a request or a function, and of the requests that are a part of it.

    Parameters
    ----------
    request
        A dataclass, or a function.
    group
        Which of its options there are.
    taken
        The names of options before these, to which theirs are added.
    """
    for *_, options in _asked(request, group, set() if taken is None else taken):
        yield from options


def _asked(
    request: Any,  # noqa: ANN401  a class or a function
    group: Group,
    taken: set[str],
) -> Iterator[tuple[str, Any, Any, bool, list[Derived]]]:
    """Hand out what is given of a request: name, type, mark, whether it may be left out, and options."""
    said = descriptions(request)
    for name, each in inspect.signature(request).parameters.items():
        kind, mark, optional = marked(each.annotation)
        if mark is None or name in group.without or (group.only and name not in group.only):
            continue
        options: list[Derived] = []
        if isinstance(mark, Group):
            options = [_optional(one) if optional else one for one in derived(kind, mark, taken)]
        elif isinstance(mark, Models):
            from experiments.cli.models import options_of_models  # noqa: PLC0415  the help does not wait for the models

            options = list(options_of_models(mark, taken))
        elif isinstance(mark, Option):
            shown = group.defaults.get(name, mark.default)
            option = replace(mark, default=shown, help=mark.help or said.get(name, ""))
            options = [derived_of(name, kind, option, each.default)]
        for one in options:
            taken.update(_option(one).param_decls or ())
        yield name, kind, mark, optional, options


def _optional(one: Derived) -> Derived:
    """Return an option of a part of a request that may be left out."""
    parameter = one.parameter
    if parameter.default is not NEEDED:
        return one
    given, option = get_args(parameter.annotation)
    return replace(one, parameter=parameter.replace(default=None, annotation=Annotated[given | None, option]))


# -- requests ---------------------------------------------------------------------------------------


def made(request: Callable[..., Any], given: Mapping[str, Any], group: Group = WHOLE) -> Any:  # noqa: ANN401
    """Return the request of what the command line gives, or what a function returns of it.

    Parameters
    ----------
    request
        Its class, or the function.
    given
        What was given, by the names of the parameters of `derived`; None or False for what was not.
    group
        Which of its options there are.

    Raises
    ------
    RequestError
        A text stands for no value, or a part of the request is not asked for, and options of it are.
    """
    values: dict[str, Any] = {}
    for field, kind, mark, optional, options in _asked(request, group, set()):
        if isinstance(mark, Group):
            part = _part(kind, given, mark, optional=optional)
            if part is not None:
                values[field] = part
        elif isinstance(mark, Models):
            texts = {one: given[one.parameter.name] for one in options}
            values[field] = {one.name: one.parse(text) for one, text in texts.items() if text is not None}
        elif mark is SHARED:
            text = given.get(parameter_name(flag_of(field)))
            if _is_given(text):
                values[field] = accepted_by(flag_of(field), field, kind)[2](text)
        else:
            (one,) = options
            text = given.get(one.parameter.name)
            text = text if _is_given(text, default=one.parameter.default) else group.defaults.get(field)
            if text is not None:
                values[field] = one.parse(text)
    return request(**values)


def _part(kind: type, given: Mapping[str, Any], mark: Group, *, optional: bool) -> Any:  # noqa: ANN401  a request
    """Return a part of a request; None if it may be left out and nothing of it is given."""
    options = list(derived(kind, mark))
    said = [each for each in options if _is_given(given[each.parameter.name], default=each.parameter.default)]
    if optional and not said:
        return None
    needed = [each for each in options if each.parameter.default is NEEDED]
    for each in needed:
        if given[each.parameter.name] is None:
            from simmodels.errors import RequestError  # noqa: PLC0415  the help does not wait for the models

            add = ", ".join(filter(None, [f"add {each.flag} {_option(each).metavar}", mark.otherwise]))
            raise RequestError(f"{said[0].flag} has no effect without {each.flag}", add)
    return made(kind, given, mark)


def _is_given(value: object, *, default: object = False) -> bool:
    """Return whether the command line gives a value; a flag that is not is as its default: False, or None of two."""
    return value is not None and value is not default


def _option(one: Derived) -> Any:  # noqa: ANN401  typer's type is not public
    """Return what typer makes an option of."""
    return one.parameter.annotation.__metadata__[0]


# -- commands ---------------------------------------------------------------------------------------


def command(
    asked: Callable[..., Any],
    answer: str = "",
    *,
    examples: Sequence[str],
    common: Sequence[str] = (),
) -> Any:  # noqa: ANN401  a command of click
    """Return the command that asks for the parameters of a function.

    Parameters
    ----------
    asked
        The function, which returns the exit status; or the class of a request.
    answer
        What is called with the request, and returns the exit status: as ``module:name``, imported when it is called.
    examples
        Command lines that a test runs.
    common
        The parameters that ``--help`` shows, in this order, where ``--help-all`` shows them all; empty for all.
    """
    options = list(derived(asked))
    if common:
        options.sort(
            key=lambda each: (_place(each.panel, PANELS, PANELS.index("")), _place(each.parameter.name, common))
        )

    def called(*, quiet: bool, **given: Any) -> None:  # noqa: ANN401  what the command line says
        def answered() -> Any:  # noqa: ANN401  the exit status
            found = made(asked, given)
            return pkgutil.resolve_name(answer)(found) if answer else found

        end_with(answered, quiet=quiet, json=bool(given.get("json")))

    parameters = [*(each.parameter for each in options), *([_HELP_ALL] if common else []), _QUIET]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect.signature
    app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
    app.command(cls=Command, epilog="\n".join(examples))(called)
    found: Any = typer.main.get_command(app)
    if common:
        found.common = (*common, "help_all", "help")
    return found


def _place(name: str, order: Sequence[str], other: int | None = None) -> int:
    """Return where a name stands in an order; one that is not in it, at `other` or after all."""
    return order.index(name) if name in order else len(order) if other is None else other


def _help_all(context: typer.Context, asked: bool) -> bool:  # noqa: FBT001  typer calls it
    """Show all options and stop."""
    if asked:
        context.params["help_all"] = True
        typer.echo(context.get_help())
        raise typer.Exit
    return asked


_HELP_ALL: Final = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", callback=_help_all, is_eager=True, help="Show all options and exit.")
    ],
)
_QUIET: Final = inspect.Parameter(
    "quiet",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--quiet", "-q", rich_help_panel=OUT, help="Print results, warnings and errors only.")
    ],
)
