"""Tasks as a file describes them, made into a workflow: runtimes in whole ticks, kinds and cores as chosen."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from simmodels.errors import FileFormatError, ImpossibleJobError, RequestError, must_be
from simmodels.ground.numbers import MOST
from simmodels.work.workflow import Workflow
from workloads.submissions import exact

Chosen = TypeVar("Chosen", str, int)
Choice: TypeAlias = Chosen | Mapping[str, Chosen] | Callable[[str], Chosen] | None
"""One for all, by category, or a function of the category; None for what the file says."""


@dataclass(slots=True, kw_only=True)
class DescribedTask:
    """A task as a file describes it.

    Parameters
    ----------
    name
        What it is called; no two of a workflow have the same name.
    category
        What it does: tasks of a category are alike.
    runtime_s
        How long it ran, in seconds (>= 0); None if the file does not say.
    cores
        How many cores it had, as the file says it.
    kind
        The kind of cluster that it needs, if the file says so.
    line
        The line of the file, if known.
    before
        The numbers of the tasks that come before it.
    """

    name: str
    category: str
    runtime_s: float | None = None
    cores: float = 1
    kind: str | None = None
    line: int | None = None
    before: set[int] = field(default_factory=set)


def workflow_of(
    path: Path,
    tasks: Sequence[DescribedTask],
    described: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    tick_s: float | None,
    kind: Choice[str],
    cores: Choice[int],
) -> Workflow:
    """Return the workflow of the tasks that a file describes, in the file's order.

    Parameters
    ----------
    path
        The file, for errors.
    tasks
        At least one.
    described
        Further arguments of `Workflow`, by name: what the file says.
    asked
        The same: what the reader was asked for; what is not None has the last word.
    tick_s
        Runtimes become whole multiples of this many seconds (> 0), rounded up, and one at least; None: they stay as
        they are.
    kind, cores
        Kind and cores of the tasks, instead of the file's.

    Raises
    ------
    FileFormatError
        A task without a runtime, or with one that cannot be; tasks that wait for each other. The text
        names the tasks.
    RequestError
        A kind or a number of cores was asked for by category, and there is none for a task's.
    """
    runtimes = [_runtime_s(path, task, tick_s) for task in tasks]
    needed = [_cores(path, task, cores) for task in tasks]
    kinds = [_kind(task, kind) for task in tasks]
    edges = [(before, number) for number, task in enumerate(tasks) for before in sorted(task.before)]
    about = {"job_id": 1, "submit_s": 0.0, "task_names": [task.name for task in tasks], **described}
    about.update((name, value) for name, value in asked.items() if value is not None)
    try:
        return Workflow(
            runtime_s=np.array(runtimes),
            cores=np.array(needed, dtype=np.int64),
            edges=np.array(sorted(edges), dtype=np.int64).reshape(-1, 2),
            kind=tuple(kinds),
            **about,
        )
    except ImpossibleJobError as error:
        raise FileFormatError(str(path), None, error.what) from error


def numbered(path: Path, names: Iterable[tuple[str, int | None]]) -> dict[str, int]:
    """Return the number of each task by its name; refuse a name that is there twice.

    Parameters
    ----------
    path
        The file, for errors.
    names
        Name and line (if known) of each task.

    Raises
    ------
    FileFormatError
        Two tasks have the same name.
    """
    found: dict[str, int] = {}
    for place, (name, line) in enumerate(names):
        if name in found:
            what = f"tasks {found[name] + 1} and {place + 1} are both called {name!r}; a name must be unique"
            raise FileFormatError(str(path), line, what)
        found[name] = place
    return found


def fits(value: object, *, least: float, above: bool = False) -> bool:
    """Return whether a value is a finite number, at least (or above) so large, and exact as a float if whole."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (least < value if above else least <= value) and value < MOST


def _runtime_s(path: Path, task: DescribedTask, tick_s: float | None) -> float:
    """Return how long a task runs, in whole ticks; the division is of decimals, so that 0.6 is six times 0.1."""
    runtime_s = task.runtime_s
    if runtime_s is None:
        raise FileFormatError(str(path), task.line, f"task {task.name!r} has no runtime")
    if not fits(runtime_s, least=0):
        what = must_be(f"runtime of task {task.name!r}", "a finite number >= 0", runtime_s)
        raise FileFormatError(str(path), task.line, what)
    if tick_s is None:
        if runtime_s == 0:
            what = f"task {task.name!r} has a runtime of 0 s; give tick_s to round it up"
            raise FileFormatError(str(path), task.line, what)
        return float(runtime_s)
    tick = exact(tick_s)
    return float(max(1, math.ceil(exact(runtime_s) / tick)) * tick)


def _cores(path: Path, task: DescribedTask, choice: Choice[int]) -> int:
    """Return how many cores a task needs: fractions of a core are rounded up."""
    if choice is not None:
        asked = _chosen("cores", task, choice)
        if isinstance(asked, bool) or not fits(asked, least=1) or asked != int(asked):
            raise RequestError(must_be(f"cores of {_called(task)}", "an integer >= 1", asked))
        return int(asked)
    if not fits(task.cores, least=0, above=True):
        what = must_be(f"cores of task {task.name!r}", "a finite number > 0", task.cores)
        raise FileFormatError(str(path), task.line, what)
    return math.ceil(task.cores)


def _kind(task: DescribedTask, choice: Choice[str]) -> str | None:
    """Return the kind of cluster that a task needs; None for any."""
    if choice is None:
        return task.kind
    asked = _chosen("kind", task, choice)
    if not isinstance(asked, str):
        raise RequestError(must_be(f"kind of {_called(task)}", "a text", asked))
    return asked


def _called(task: DescribedTask) -> str:
    """Return what errors call a task."""
    return f"task {task.name!r} (category {task.category!r})"


def _chosen(what: str, task: DescribedTask, choice: Chosen | Mapping[str, Chosen] | Callable[[str], Chosen]) -> Chosen:
    """Return what was asked for a task's category."""
    if isinstance(choice, Mapping):
        if task.category not in choice:
            known = ", ".join(sorted(map(str, choice))) or "none"
            raise RequestError(f"{what} has no category {task.category!r}, of task {task.name!r}", f"known: {known}")
        return choice[task.category]
    return choice(task.category) if callable(choice) else choice
