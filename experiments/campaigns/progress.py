"""Progress: how far a campaign is, at which rate, how long it will take, and what failed."""

import sys
import time
from typing import Final, Self

from rich import progress
from rich.console import Console
from rich.text import Text

from simmodels.errors import printable

_TENTHS: Final = 10


class _Rate(progress.ProgressColumn):
    """How many cells are done in a second."""

    def render(self, task: progress.Task) -> Text:
        """Return the rate."""
        return Text("- cells/s" if task.speed is None else f"{task.speed:,.3g} cells/s")


class Counting:
    """The cells of a campaign as they are done: a bar if stderr is a terminal, else a line each tenth; a context.

    Parameters
    ----------
    total
        How many cells there are to do.
    quiet
        Whether no progress is shown; what goes wrong is.
    """

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self.total = total
        self.quiet = quiet
        self.done = 0
        self.failed = 0
        self.cells_s = 0.0  # how long the workers took for them
        self._seen = sys.stderr is not None and sys.stderr.isatty() and not quiet
        self._lines = not self._seen and not quiet
        self._console = Console(stderr=True, highlight=False)
        self._begun = time.monotonic()
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("cells"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            _Rate(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[failed]}", style="bold red"),
            console=self._console,
            transient=True,
            disable=not self._seen,
            refresh_per_second=4,  # it takes time from the workers
            speed_estimate_period=60,
        )
        self._task = self._bar.add_task("", total=total, failed="")

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def add(self, done: int, failed: int, seconds: float) -> None:
        """Count cells that were run, those of them that failed, and how long they took."""
        before = self.done * _TENTHS // max(self.total, 1)
        self.done += done
        self.failed += failed
        self.cells_s += seconds
        failures = f"{self.failed:,} failed" if self.failed else ""
        self._bar.update(self._task, completed=self.done, failed=failures)
        if self._lines and self.done * _TENTHS // max(self.total, 1) > before:
            rate = self.done / max(time.monotonic() - self._begun, 1e-9)
            left = (self.total - self.done) / rate
            said = f", {failures}" if failures else ""
            self.print_note(f"{self.done:,} of {self.total:,} cells, {rate:,.3g}/s, {left:,.0f} s left{said}")

    def print_note(self, text: str) -> None:
        """Print a line to stderr, above the bar."""
        self._console.print(Text(printable(text)), soft_wrap=True)
