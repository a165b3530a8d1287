"""Options of the command line that are those of queues, placers and auctions, as these define them."""

import functools
import inspect
import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, Union, get_args, get_origin

import typer

from experiments.cli_options import POLICY, completion
from experiments.cli_output import print_note
from experiments.inputs import named_priority, parts
from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import duration, seconds
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.checkpoints import Checkpoints
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.units import HOUR
from simmodels.workload import Workload

PANELS: Final[Mapping[type[Options], str]] = {
    QueueOptions: "Options of a queue",
    PlacementOptions: "Options of a placer (with --heuristic)",
    AuctionOptions: "Options of an auction (with --bid)",
}
_CHOSEN_BY: Final[Mapping[type[Options], str]] = {PlacementOptions: "--heuristic", AuctionOptions: "--bid"}
_POLICIES: Final = ("order", "bid")
"""What names the policy itself, and so stands before its options."""
_SHORT: Final = {"order": "-o", "backfilling": "-b"}
_OWN: Final = ("heuristic",)
"""What the commands ask for by an option of their own."""


@dataclass(frozen=True, slots=True)
class Derived:
    """An option of the command line that is one of queues, placers or auctions.

    Parameters
    ----------
    name
        Its name there.
    parameter
        It, as typer reads it from a signature.
    parse
        From what the command line gives to what `simmodels.simulate` takes.
    """

    name: str
    parameter: inspect.Parameter
    parse: Callable[[Any], Any]


def derived(taken: Collection[str] = (), kinds: Collection[type[Options]] = tuple(PANELS)) -> dict[str, Derived]:
    """Return the options of queues, placers and auctions, by the name of the command line's parameter.

    Parameters
    ----------
    taken
        Short names that a command has for an option of its own.
    kinds
        Whose options.
    """
    found: dict[str, Derived] = {}
    for kind in kinds:
        known = {each.name for each in found.values()}
        for each in _of(kind, {*_OWN, *known}, taken, kinds):
            found[each.parameter.name] = each
    return found


def _of(
    kind: type[Options], without: set[str], taken: Collection[str], kinds: Collection[type[Options]]
) -> Iterator[Derived]:
    """Return the options of a class of options, one of several that a command has."""
    types_of = {each.name: _plain(each.type) for each in fields(kind)}
    for name, default, choices, said in kind.described():
        of = types_of[name]
        if name in without or of in {Checkpoints, Workload}:
            continue
        timed = name.endswith("_s")
        flag = _flag(name)
        accepted, metavar, parse = _accepted(name, of, timed=timed)
        # What other classes of options call the same is one option, too: their choices and defaults are named beside.
        defaults, values = [_shown(default, timed=timed)], [str(each) for each in choices if each is not None]
        for other in kinds:
            for also, its, more, _ in other.described():
                if other is not kind and also == name:
                    values += [str(each) for each in more if each is not None and str(each) not in values]
                    if _shown(its) != _shown(default):
                        defaults.append(f"{_shown(its)} with {_CHOSEN_BY[other]}")
        flags = [f"{flag}/--no-{flag[2:]}"] if of is bool else [flag]
        flags += [_SHORT[name]] if name in _SHORT and _SHORT[name] not in taken else []
        option = typer.Option(
            *flags,
            metavar="|".join(values) or metavar,
            rich_help_panel=POLICY if name in _POLICIES else PANELS[kind],
            help=_plainly(said, whole=bool(choices)),
            show_default="; ".join(defaults) if any(defaults) else False,
            autocompletion=completion(f"{'bid' if name == 'bid' else 'order'}s" if of is Priority else values),
        )
        kept = inspect.Parameter(
            flag[2:].replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[accepted | None, option],
        )
        yield Derived(name, kept, parse)


def _plain(kind: Any) -> Any:  # noqa: ANN401  a type, or what typing makes of some
    """Return a type without None."""
    if get_origin(kind) in {Union, types.UnionType}:
        (kind,) = [part for part in get_args(kind) if part is not type(None)]
    return kind


def _accepted(name: str, of: Any, *, timed: bool) -> tuple[Any, str | None, Callable[[Any], Any]]:  # noqa: ANN401
    """Return the type that the command line accepts, its metavar, and what makes the option's value of it."""
    if of is Priority:
        return str, name.upper().split("_")[-1], lambda text: named_priority(text, "bid" if name == "bid" else "order")
    if timed:
        return str, "TIME", lambda text: _seconds(name, text)
    if of in {int, float}:
        return of, "N" if of is int else "X", of
    if of is bool:
        return bool, None, bool
    if get_origin(of) is tuple:
        return str, "N,N,...", lambda text: _numbers(name, text)
    return str, None, str


def _seconds(name: str, text: str) -> float:
    """Return a time in seconds; warn of a threshold that was meant in hours, perhaps."""
    found = seconds(text, _flag(name))
    if name == "threshold_s" and 0 < found < HOUR and text.strip()[-1:].isdigit():
        print_note(f"{_flag(name)} {text} is {duration(found)}; write {text}h for hours, or {text}s to mean seconds")
    return found


def _numbers(name: str, text: str) -> tuple[int, ...]:
    """Return whole numbers that are separated by commas."""
    try:
        return tuple(int(part) for part in parts(text))
    except ValueError:
        what = must_be(f"--{name.replace('_', '-')}", "integers separated by commas", text)
        raise RequestError(what) from None


def _plainly(said: str, *, whole: bool) -> str:
    """Return a description, or its first sentence, without the marks of a docstring, with options as they are here."""
    plain = re.sub(r"`simmodels\.(orders|bids)`", r"see schedlab list \1", said)
    plain = re.sub(r" \(`simmodels\.\w+`\)|, see `simmodels\.\w+`|; see `simmodels\.[\w.]+`", "", plain)
    plain = re.sub(r"``(\w+)=False``", lambda found: f"--no-{found[1]}", plain)
    plain = re.sub(r"`(\w+)`", lambda found: _flag(found[1]) if found[1] in _names() else found[1], plain)
    plain = plain.replace("`", "").replace('"', "")
    sentence = plain if whole else plain.split(". ")[0]
    return sentence if sentence.endswith(".") else f"{sentence}."


def _flag(name: str) -> str:
    """Return what the command line calls an option."""
    return f"--{name.removesuffix('_s').replace('_', '-')}"


@functools.cache
def _names() -> frozenset[str]:
    """Return the names of all options."""
    return frozenset(each.name for kind in PANELS for each in fields(kind))


def _shown(default: object, *, timed: bool = False) -> str:
    """Return a default as the help shows it; "" for what need not be shown."""
    if default is None or default is False:
        return ""
    if default is True:
        return "yes"
    return duration(default, HOUR) if timed and isinstance(default, float) else str(default)
