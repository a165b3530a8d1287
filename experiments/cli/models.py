"""Options of the command line that are those of queues, placers and auctions, as these define them."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, get_origin

from experiments.cli.options import Derived, derived_of, plain_type, plainly, shown_default
from experiments.cli.output import print_warning
from experiments.inputs import named_limits, named_priority, parts
from experiments.option import FITTED, POLICY, Models, Option, flag_of
from simmodels import HOUR, Checkpoints, Limits, RequestError, Shares, Workload
from simmodels.errors import must_be
from simmodels.ground.durations import duration, seconds
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions

_CHOSEN_BY: Final[Mapping[type[Options], str]] = {PlacementOptions: "--heuristic", AuctionOptions: "--bid"}
_NAMES: Final = {each.name for kind in (QueueOptions, PlacementOptions, AuctionOptions) for each in fields(kind)}
_POLICIES: Final = ("order", "bid")
"""What names the policy itself, and so stands before its options."""
_SHORT: Final = {"order": "-o", "backfilling": "-b"}
_OWN: Final = ("heuristic",)
"""What requests ask for by an option of their own."""


def options_of_models(models: Models, taken: Collection[str] = ()) -> Iterator[Derived]:
    """Hand out the options of queues, placers and auctions; one that several of them have is one option.

    Parameters
    ----------
    models
        Whose options.
    taken
        Short names that the command has for an option of its own.
    """
    known = set(_OWN)
    for kind, panel in models.panels.items():
        types_of = {each.name: plain_type(each.type) for each in fields(kind)}
        for name, default, choices, said in kind.described():
            if name not in known and types_of[name] not in {Checkpoints, Workload}:
                known.add(name)
                yield _derived(name, types_of[name], default, choices, said, panel, models.panels, taken)


def _derived(
    name: str,
    kind: Any,  # noqa: ANN401  a type
    default: object,
    choices: tuple[Any, ...],
    said: str,
    panel: str,
    kinds: Collection[type[Options]],
    taken: Collection[str],
) -> Derived:
    """Return an option; the choices and defaults of the classes that call theirs the same are named beside its own."""
    flag = flag_of(name)
    metavar, parse = _accepted(flag, name, kind)
    shown = [shown_of(name, default)]
    values = [str(each) for each in choices if each is not None]
    for other in kinds:
        for also, its, more, _ in other.described():
            if also == name:
                values += [str(each) for each in more if each is not None and str(each) not in values]
                if shown_default(its) != shown_default(default):
                    shown.append(f"{shown_default(its)} with {_CHOSEN_BY[other]}")
    flags = [f"{flag}/--no-{flag[2:]}"] if kind is bool else [flag]
    flags += [_SHORT[name]] if name in _SHORT and _SHORT[name] not in taken else []
    option = Option(
        POLICY if name in _POLICIES else panel,
        "|".join(values) or metavar,
        "; ".join(shown) if any(shown) else "",
        tuple(flags),
        (f"{'bid' if name == 'bid' else 'order'}s" if kind is Priority else values),
        parse,
        _said(said, whole=bool(choices)),
    )
    return derived_of(name, kind, option)


def _accepted(flag: str, name: str, kind: Any) -> tuple[str | None, Callable[[str], Any] | None]:  # noqa: ANN401
    """Return the metavar of a type that requests do not have, and what makes a value of a text."""
    if kind is Priority:
        return name.upper().split("_")[-1], lambda text: named_priority(text, "bid" if name == "bid" else "order")
    if kind is Limits:
        return f"FILE|{FITTED}", named_limits
    if kind is Shares:
        return "FILE", Shares.read
    if name == "threshold_s":
        return None, lambda text: _threshold(flag, text)
    if get_origin(kind) is tuple:
        return "N,N,...", lambda text: numbers_of(flag, text)
    return None, None


def _threshold(flag: str, text: str) -> float:
    """Return a time in seconds; warn of one that was meant in hours, perhaps."""
    found = seconds(text, flag)
    if 0 < found < HOUR and text.strip()[-1:].isdigit():
        print_warning(f"{flag} {text} is {duration(found)}; write {text}h for hours, or {text}s to mean seconds")
    return found


def numbers_of(flag: str, text: str, kind: type[Any] = int) -> tuple[Any, ...]:
    """Return integers, or floats, that are separated by commas."""
    try:
        return tuple(map(kind, parts(text)))
    except ValueError:
        what = "integers" if kind is int else "numbers"
        raise RequestError(must_be(flag, f"{what} separated by commas", text)) from None


def _said(said: str, *, whole: bool) -> str:
    """Return a description, or its first sentence, with options as they are here."""
    plain = re.sub(r"`simmodels\.(orders|bids)`", r"see schedlab list \1", said)
    plain = re.sub(r" \(`simmodels\.\w+`\)|, see `simmodels\.\w+`|; see `simmodels\.[\w.]+`", "", plain)
    plain = re.sub(r"``(\w+)=False``", lambda found: f"--no-{found[1]}", plain)
    plain = re.sub(r"`(\w+)`", lambda found: flag_of(found[1]) if found[1] in _NAMES else found[1], plain)
    plain = plain.replace("`", "").replace('"', "")
    return plainly(plain if whole else plain.split(". ")[0])


def shown_of(name: str, default: object) -> str:
    """Return a default as the help shows it; "" for what need not be shown."""
    return duration(default, HOUR) if name.endswith("_s") and isinstance(default, float) else shown_default(default)
