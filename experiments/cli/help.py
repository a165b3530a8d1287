"""The help of a command: its options in panels, the common ones first, and examples that can be copied."""

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

import typer
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from experiments.cli.output import unknown

HELP: Final = "Help"
"""The panel of the options that belong to no other."""
_NAMES: Final = 27
_WIDEST: Final = 110
_STYLE: Final = "bold cyan"


class _Helped:
    """A command, or a group of them, with its help in our form; the epilog has one example per line."""

    common: Sequence[str] = ()
    """The parameters that ``--help`` shows, in this order; ``--help-all`` shows the others, too. Empty: all."""

    def format_help(self: Any, context: Any, formatter: Any) -> None:  # noqa: ANN401  click's types are not public
        """Write usage, description, panels and examples."""
        everything = bool(context.params.get("help_all")) or not self.common
        known = [each for each in self.get_params(context) if not each.hidden]
        by_name = {each.name: each for each in known}
        shown = known if everything else [by_name[name] for name in self.common if name in by_name]
        console = Console(highlight=False, markup=False)
        console.width = min(console.width, _WIDEST)
        with console.capture() as captured:
            console.print(Padding(f"Usage: {self._usage(context)}", (0, 1, 1, 1)), style="bold")
            console.print(Padding(inspect.cleandoc(self.help or ""), (0, 1, 1, 1)))
            for title, rows in (*self._commands().items(), *_options(shown).items()):
                names = max(len(name) for name, _ in rows) if title in self._commands() else _NAMES
                lines = Text("\n").join(_row(name, said, names, console.width - 4) for name, said in rows)
                console.print(Panel(lines, title=title, title_align="left", border_style="dim"))
            if not everything:
                console.print(
                    Padding(f"{len(known) - len(shown)} more options: {context.command_path} --help-all", (0, 1, 1, 1))
                )
            if self.epilog:
                console.print(Padding("Examples:", (0, 1)), style="bold")
                for line in self.epilog.splitlines():
                    console.print(_folded(line, console.width))
        formatter.write(captured.get())

    def _usage(self: Any, context: Any) -> str:  # noqa: ANN401
        """Return how the command is called."""
        words = [each.metavar for each in self.get_params(context) if each.param_type_name == "argument"]
        words += [self.called.upper()] if self._commands() else []
        return " ".join([context.command_path, *words, "[OPTIONS]"])

    def _commands(self: Any) -> dict[str, list[tuple[str, str]]]:
        """Return the names of commands, and what is said of them, by the titles of their panels."""
        found: dict[str, list[tuple[str, str]]] = {}
        for command in getattr(self, "commands", {}).values():
            if not command.hidden:
                rows = found.setdefault(command.rich_help_panel or "Commands", [])
                rows.append((command.name, inspect.cleandoc(command.help or "").split("\n\n")[0]))
        return found


class Command(_Helped, typer.core.TyperCommand):
    """A command with help in our form."""


class Group(_Helped, typer.core.TyperGroup):
    """A group of commands with help in our form."""

    called = "command"
    """What errors call them."""

    def resolve_command(self, context: Any, words: list[str]) -> Any:  # noqa: ANN401
        """Return name, command and remaining words of a call."""
        if words and self.get_command(context, words[0]) is None:
            context.fail(unknown(self.called, words[0], self.commands))
        return super().resolve_command(context, words)


def _options(shown: Sequence[Any]) -> dict[str, list[tuple[str, str]]]:
    """Return the names of options, and what is said of them, by the titles of their panels."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in shown:
        title = "Arguments" if each.param_type_name == "argument" else each.rich_help_panel
        found.setdefault(title or HELP, []).append((named(each), " ".join(said_of(each))))
    if HELP in found:
        found[HELP] = found.pop(HELP)  # last
    return found


def _folded(command: str, width: int) -> str:
    """Return a command as it can be copied: one that is too long goes on after a backslash, before an option."""
    whole = re.sub(r"( --?[\w-]+) (?!-)", "\\1\0", command)  # an option and its value stay on one line
    lines = textwrap.wrap(whole, width - 6, break_on_hyphens=False, break_long_words=False)
    return "  " + " \\\n      ".join(lines).replace("\0", " ")


def named(parameter: Any) -> str:  # noqa: ANN401
    """Return the names of a parameter, short ones first, and the metavar of its value."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    short = [name for name in parameter.opts if not name.startswith("--")]
    long = [name for name in parameter.opts if name.startswith("--")]
    names = ", ".join([*short, *long]) if short else f"    {', '.join(long)}"
    if parameter.secondary_opts:
        names += f" / {', '.join(parameter.secondary_opts)}"
    return names if parameter.is_flag else f"{names} {parameter.metavar or ''}"


def said_of(parameter: Any) -> Iterator[str]:  # noqa: ANN401
    """Return what is said of a parameter: its help, whether it is required, its default."""
    yield parameter.help or ""
    if parameter.required:
        yield "(required)"
    default, shown = parameter.default, getattr(parameter, "show_default", True)
    if isinstance(shown, str):
        yield f"(default: {shown})"
    elif shown and default not in (None, "") and default is not False and parameter.param_type_name == "option":
        yield f"(default: {default})"


def _row(name: str, said: str, names: int, width: int) -> Text:
    """Return a name and what is said of it, beside each other or, if the name is long, one below the other."""
    margin = names + 2
    lines = textwrap.wrap(said, width - margin, break_on_hyphens=False)
    if len(name) > names:
        lines.insert(0, "")
    first, *others = lines or [""]
    found = Text.assemble((name.ljust(margin if first else 0), _STYLE), first)
    return Text("\n").join([found, *(Text(" " * margin + line) for line in others)])
