"""Tables of the reference that are made of the definitions, where a page has a mark: ``<!-- made: NAME -->``.

The text lives in no file: it is made when the site is built, of what the program asks its own help for.
"""

import re
from collections.abc import Callable, Iterator, Mapping

import claims
import limits

from experiments.campaigns.planning.finding import find_class
from experiments.cli.help import HELP, Command, Group, named, said_of
from experiments.cli.inputs import table
from experiments.cli.main import COMMANDS, command_named
from experiments.reproducing import PAPERS, paper_of
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions
from simmodels.policies.queue_options import QueueOptions

BAR = "\\|"
_FLAG = re.compile(r"(?<![`\w-])--[a-z][\w-]*")
_MARK = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)
_OPTIONS: Mapping[type[Options], tuple[str, str]] = {
    QueueOptions: ("Of a queue", "`simulate`, `QueueScheduler`."),
    PlacementOptions: (
        "Of a placer",
        (
            "`simulate` with a `heuristic`, `FirstFit`, `TargetStretch`, `TargetAsap`, `PackedTargetAsap`. "
            '"Targets" are the last three. An option of another heuristic is refused.'
        ),
    ),
    AuctionOptions: (
        "Of an auction",
        (
            "`simulate` with a `bid`, `Auctioneer`. With `forward=True` the other options are those of the queues, or "
            "placers, behind it; `rebalance_s` says how often what has not started may move."
        ),
    ),
}


def with_tables(text: str) -> str:
    """Return a page with the tables that its marks ask for."""
    return _MARK.sub(lambda found: MADE[found[1]](), text)


def commands() -> str:
    """Return all commands, each with the options that none before it has."""
    lines, known = list[str](), dict[tuple[str, ...], str]()
    for about in COMMANDS.values():
        for name, said in about.items():
            lines += ["", f"## {name}", "", said]
            command = command_named(name)
            lines += _of_command(command, name, known)
            for each in getattr(command, "commands", {}).values():
                lines += ["", f"### {name} {each.name}", "", each.help]
                lines += _of_command(each, f"{name} {each.name}", known)
    return "\n".join(lines)


def _of_command(command: Command | Group, name: str, known: dict[tuple[str, ...], str]) -> Iterator[str]:
    """Hand out the tables of a command, by panel, and what it has in common with those before it."""
    panels: dict[str, list[tuple[str, ...]]] = {}
    shared: dict[str, list[str]] = {}
    for each in command.params:
        row = (named(each), " ".join(said_of(each)))
        if row in known:
            shared.setdefault(known[row], []).append(f"`{max(each.opts, key=len)}`")
        else:
            known[row] = name
            title = "Arguments" if each.param_type_name == "argument" else each.rich_help_panel or HELP
            panels.setdefault(title, []).append(row)
    for panel, rows in panels.items():
        yield from ("", f"**{panel}**", "", "| option | is |", "| --- | --- |")
        yield from (f"| `{' '.join(flags.split()).replace('|', BAR)}` | {_cell(text)} |" for flags, text in rows)
    for other, flags in shared.items():
        yield from ("", f"As in [{other}](#{other.replace(' ', '-')}): {', '.join(flags)}.")


def options() -> str:
    """Return the options of queues, placers and auctions."""
    lines = list[str]()
    for kind, (title, said) in _OPTIONS.items():
        lines += ["", f"## {title}", "", said, "", "| option | default | what it says |", "| --- | --- | --- |"]
        for name, default, _, about in kind.described():
            shown = "" if name == "heuristic" else f"`{default!r}`"
            lines.append(f"| `{name}` | {shown} | {_cell(about.replace('``', '`'))} |")
    return "\n".join(lines)


def reproduction() -> str:
    """Return each figure and table of each paper, and where it is."""
    lines = list[str]()
    for name in PAPERS:
        study = find_class(name)
        paper = paper_of(study)
        lines += ["", f"## {name}", "", f"{paper} <{paper.url}>", ""]
        lines += ["| paper | shows | command | file | compared |", "| --- | --- | --- | --- | --- |"]
        for element in study.elements:
            needs = f" {element.needs}" if element.needs else ""
            line = f"`schedlab run {name} --scale paper{needs}`"
            cells = (element.number, element.shows, line, f"`{element.file}`", element.why)
            lines.append("| " + " | ".join(cell.replace("|", BAR) for cell in cells) + " |")
    return "\n".join(lines)


def inputs() -> str:
    """Return the inputs that pages and studies name."""
    lines = ["| file | what | from | terms | SHA-256 |", "| --- | --- | --- | --- | --- |"]
    for row in table():
        of = f"[{row['origin']}]({row['address']})"
        lines.append(f"| `{row['file']}` | {row['extent']} | {of} | {row['terms']} | `{row['sha256']}` |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return _FLAG.sub(r"`\g<0>`", text).replace("|", BAR)


MADE: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "options": options,
    "reproduction": reproduction,
    "inputs": inputs,
    **claims.made(),
    **limits.made(),
}
