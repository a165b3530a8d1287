"""Answering: how a command ends (its exit status), and what it says where (answer on stdout, the rest on stderr)."""

import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, NoReturn, Self

import typer
from rich import box
from rich.console import Console, JustifyMethod
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

DONE: Final = 0
FAILED: Final = 1
WRONG: Final = 2
INTERRUPTED: Final = 130
NO_READER: Final = 141
"""Exit statuses; the last two are what a shell says of a program that SIGINT or SIGPIPE ended."""

_WIDTH: Final = 160
_AGAIN_S: Final = 0.05

_QUIET: Final[ContextVar[bool]] = ContextVar("quiet", default=False)


def end_with(answer: Callable[[], int], *, quiet: bool, json: bool) -> NoReturn:
    """End with the exit status that a function returns, and report a user's mistake in one line.

    Parameters
    ----------
    answer
        The function.
    quiet
        Whether no more is printed than results, warnings and errors.
    json
        Whether a mistake is also reported as a JSON object on stdout.
    """
    before = _QUIET.set(quiet)
    try:
        from experiments.inputs import describe_error  # noqa: PLC0415  the help does not wait for the models
        from simmodels.errors import SimModelsError, StoppedError  # noqa: PLC0415  the same

        try:
            with _interrupts_kept():
                status = answer()
        except (SimModelsError, OSError, MemoryError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            ours = isinstance(error, SimModelsError)
            text = str(error) if ours else describe_error(error)
            print_error(text)
            if json:
                print_json({"error": text})
            status = WRONG if ours and not isinstance(error, StoppedError) else FAILED
        if sys.stdout is not None:  # it is None if the shell closed it
            sys.stdout.flush()
    except KeyboardInterrupt:
        print_error("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or else Python complains when it flushes at its end
        raise typer.Exit(NO_READER) from None
    finally:
        _QUIET.reset(before)
    raise typer.Exit(status)


def command_line() -> list[str]:
    """Return the command that runs, as provenance has it."""
    return ["schedlab", *sys.argv[1:]]


def is_quiet() -> bool:
    """Return whether the command that runs prints no more than results, warnings and errors."""
    return _QUIET.get()


@contextlib.contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Interrupt again, a moment later, what an interrupt did not reach.

    Where no error can be raised (a ``__del__``, a callback from C), Python prints a KeyboardInterrupt and goes on.
    """
    before = sys.unraisablehook
    alarms: list[Any] = []  # handlers of alarms that were there, once one is set

    def interrupt_again(about: Any) -> None:  # noqa: ANN401  the type is not public
        if issubclass(about.exc_type, KeyboardInterrupt):
            alarms.append(signal.signal(signal.SIGALRM, interrupt))
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)  # at once would be in here
        else:
            before(about)

    def interrupt(_number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not interrupt_again.__code__:
            frame = frame.f_back
        if frame is None:
            signal.raise_signal(signal.SIGINT)
        else:  # the process was held up in there
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)

    left_s = 0.0
    sys.unraisablehook = interrupt_again
    try:
        yield
    finally:
        sys.unraisablehook = before
        if alarms:
            left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarms[0])
    if left_s:  # the command was done first
        raise KeyboardInterrupt


def usage_error(error: Any, *, json: bool) -> int:  # noqa: ANN401  click is not always to be had under that name
    """Print an error of click, about the command line itself, in our words; return the exit status."""
    where: Any = getattr(error, "ctx", None)
    if hasattr(getattr(where, "command", None), "commands") and sys.argv[1:] == where.command_path.split()[1:]:
        error.show()  # the help, for one who gave no command
        return WRONG
    text = _in_our_words(error, [] if where is None else [name for each in where.command.params for name in each.opts])
    stop = "" if text.endswith("?") else ";"
    print_error(text if where is None else f"{text}{stop} see {where.command_path} --help")
    if json:
        print_json({"error": text})
    return WRONG


_EXTRA: Final = re.compile(r"unexpected extra arguments?(?:\(s\))? \((.*)\)")


def _in_our_words(error: Any, options: Sequence[str]) -> str:  # noqa: ANN401  the same
    """Return what click found wrong, in the form of our other errors.

    Parameters
    ----------
    error
        Of click: which one it is, its attributes say.
    options
        The options of the command.
    """
    from simmodels.errors import must_be  # noqa: PLC0415  the help does not wait for the models

    text = " ".join(error.format_message().split()).rstrip(".")
    parameter, option = getattr(error, "param", None), getattr(error, "option_name", None)
    if hasattr(error, "param_type") and parameter is not None:
        return f"{parameter.metavar if parameter.param_type_name == 'argument' else parameter.opts[0]} is needed"
    if parameter is not None and (kind := re.search("integer|number", error.message)) is not None:
        expected = {"integer": "an integer", "number": "a number"}[kind[0]]
        return must_be(parameter.opts[0], expected, _given(parameter.opts))
    if hasattr(error, "possibilities"):
        return unknown("option", error.option_name, [name for name in options if name.startswith("--")])
    if option is not None and "argument" in text:
        return f"{option} needs a value"
    if option is not None and "value" in text:
        return f"{option} takes no value"
    if (extra := _EXTRA.search(text)) is not None:
        first = extra[1].split(" ")[0]
        hint = "; --workload FILE names a log" if "--workload" in options and os.path.lexists(first) else ""
        return f"unexpected argument {first!r}{hint}"
    return text


def _given(names: Sequence[str]) -> str:
    """Return the value that the command line gives to an option, by its last mention."""
    for place in range(len(sys.argv) - 1, 0, -1):
        word, equals, value = sys.argv[place].partition("=")
        if word in names:
            return value if equals else "".join(sys.argv[place + 1 : place + 2])
        if word[:2] in names:  # a short option with its value in one word
            return word[2:]
    return ""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return what an error says of a command or option that there is not: the near ones, not all."""
    from simmodels.errors import near_names  # noqa: PLC0415  the help does not wait for the models

    near = near_names(name, known)
    return f"unknown {kind} {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")


# -- stderr -----------------------------------------------------------------------------------------


class _Console(Console):
    """A console that prints texts as they are, and leaves a broken pipe to `end_with`.

    Names come from files: brackets in them are no markup, and what a terminal would obey is escaped, here, where all
    tables and sentences pass. So cells and sentences are handed to it as plain texts.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  those of rich
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401  those of rich
        """Return a text as it is to be shown."""
        return super().render_str(_escaped(text), **options)

    def on_broken_pipe(self) -> None:
        """Raise what rich would end the program for, with a status of its own."""
        raise BrokenPipeError


def _escaped(text: str) -> str:
    """Return a text as a terminal may have it."""
    if text.replace("\n", "").isprintable():
        return text
    from simmodels.errors import printable  # noqa: PLC0415  what is printed early does not wait for the models

    return printable(text, keep="\n")


def print_note(text: str, console: Console | None = None) -> None:
    """Print a line to stderr, unless the command is quiet."""
    if not is_quiet():
        print_warning(text, console)


def print_warning(text: str, console: Console | None = None) -> None:
    """Print a line to stderr of what the user has to know of the results, though the command be quiet."""
    (console or _Console(stderr=True)).print(text, soft_wrap=True)


def print_error(text: str) -> None:
    """Print to stderr what went wrong."""
    _Console(stderr=True).print(Text("error:", style="bold red"), text, soft_wrap=True)


class Steps:
    """The steps of a command, shown as a progress bar on stderr if that is a terminal; a context.

    Parameters
    ----------
    count
        How many steps there will be; None if that is not known.
    """

    def __init__(self, count: int | None) -> None:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self.count = count
        # A terminal only: rich would also take FORCE_COLOR for one, and fill a log file with bars.
        seen = sys.stderr is not None and sys.stderr.isatty() and not is_quiet()
        self._bar = Progress(*columns, console=_Console(stderr=True), transient=True, disable=not seen)
        self._task = self._bar.add_task("", total=count)
        self._begun = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, what: str) -> None:
        """Show that a step begins, and that the one before it is done."""
        self._bar.update(self._task, description=_escaped(what), completed=self._begun, refresh=True)
        self._begun += 1

    def print_note(self, text: str) -> None:
        """Print a line to stderr, above the bar, unless the command is quiet."""
        print_note(text, self._bar.console)

    def print_warning(self, text: str) -> None:
        """Print a line to stderr, above the bar, though the command be quiet."""
        print_warning(text, self._bar.console)


# -- stdout -----------------------------------------------------------------------------------------


def _answer_console() -> Console:
    """Return the console of stdout; where that is neither a terminal nor given a width, it is wide."""
    console = _Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else _Console(width=_WIDTH)


def listing(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    figures: Collection[str] = (),
    whole: Collection[str] = (),
) -> Table:
    """Return a table of texts; columns of `figures` are aligned at their ends, those of `whole` are never broken."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in headings:
        justify: JustifyMethod = "right" if heading in figures else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading in whole)
    for row in rows:
        table.add_row(*row)
    return table


def print_table(title: str, table: Table) -> None:
    """Print a table under its title to stdout; where that is no terminal, as wide as it needs to be."""
    console = _answer_console()
    console.width = max(console.width, Measurement.get(console, console.options, table).minimum)
    console.print(title, style="bold")
    console.print(table)


def print_line(sentence: str) -> None:
    """Print a sentence to stdout, as a point of a list."""
    console = _answer_console()
    points = Table.grid(padding=(0, 1))
    points.add_row("-", sentence)
    console.print(points)


def print_json(answer: Mapping[str, object]) -> None:
    """Print one JSON object to stdout."""
    from experiments.outputs import plain  # noqa: PLC0415  the help does not wait for the models

    typer.echo(json.dumps(plain(answer), indent=2, allow_nan=False))
