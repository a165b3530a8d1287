"""WfFormat: workflows as JSON, as the WfCommons project publishes them; versions 1.3 to 1.6 read, 1.5 written.

References
----------
T. Coleman, H. Casanova, L. Pottier, M. Kaushik, E. Deelman and R. Ferreira da Silva, "WfCommons: a framework for
enabling scientific workflow research and development", Future Generation Computer Systems 128, 2022, pp. 16-27,
doi:10.1016/j.future.2021.09.043; the formats are those of the schemas in that project's repository WfFormat.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Final

from simmodels.errors import FileFormatError, RequestError, brief, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import as_seconds
from simmodels.ground.files import as_path
from simmodels.ground.numbers import as_float, is_number
from simmodels.units import SECOND
from simmodels.work.curve import FOREVER, ValueCurve
from simmodels.work.workflow import Workflow
from workloads.files import read_json, stem, write_whole
from workloads.workflow_builder import Choice, DescribedTask, fits, numbered, workflow_of

VERSIONS: Final = ("1.3", "1.4", "1.5", "1.6")
OWN: Final = "schedlab"
"""The property in which a file of ours holds what the format has no place for; its schema permits such."""

_NUMBERED: Final = re.compile(r"_(ID)?\d+$")
_IDENTIFIER: Final = re.compile(r"[0-9a-zA-Z_.-]+")


def read_wfformat(
    path: str | PathLike[str],
    *,
    tick_s: float | None = SECOND,
    kind: Choice[str] = None,
    cores: Choice[int] = None,
    curve: ValueCurve | None = None,
    job_id: int | None = None,
    submit_s: float | None = None,
    name: str | None = None,
) -> Workflow:
    """Return the workflow of a WfFormat file (1.3, 1.4, 1.5 or 1.6), its tasks in the order of the file.

    Up to 1.4 all about a task is in one place, and others refer to it by its name (or its id); from 1.5
    on, structure and execution are apart, and the id refers. Edges are those that parents and children
    name, together. A task without a number of cores has 1. Its category is what its ``category`` says,
    else its program if that is one word, else its name without a number at the end. Files and machines
    are not looked at.

    Parameters
    ----------
    path
        The file: plain or compressed by gzip, bzip2 or xz.
    tick_s
        Runtimes become whole multiples of this many seconds, rounded up, and one at least: 60 for a
        simulation in minutes. None: they stay as they are.
    kind
        The kind of cluster that tasks need: one for all, a mapping by category, or a function of it. None: any.
    cores
        The cores that tasks need, in the same three ways; None: as the file says, fractions rounded up.
    curve
        What the job is worth by its SLR; None: all it can be, whenever it is done.
    job_id, submit_s
        The job's number, and when it is submitted, in seconds; None: 1, and 0.
    name
        What the workflow is called; None for the file's name without suffixes.

    Returns
    -------
    Workflow
        Runtimes in seconds; dependencies as ``edges``.

    Raises
    ------
    FileFormatError
        The file cannot be read, is no such JSON or of another version; two tasks have the same id; a
        parent or child is not there; a task has no runtime, or one that cannot be; tasks wait for each
        other. The text names the task.
    RequestError
        `tick_s` is no finite number > 0; `kind` or `cores` has nothing, or nothing that can be, for a category.

    Notes
    -----
    A file that `write_wfformat` has written is read as it was: kinds, value curve, submission and numbers
    too, where the arguments do not ask for others.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> wl.write_wfformat(sm.Workflow.from_graph(wl.cholesky(3)), "cholesky.json")
    >>> wl.read_wfformat("cholesky.json", tick_s=60).critical_path_s(ccr=0) / 60
    7.0
    """
    if tick_s is not None:
        tick_s = as_seconds("tick_s", tick_s, above=0, also="None")
    where = as_path(path)
    content = read_json(where)
    if not isinstance(content, dict) or not isinstance(content.get("workflow"), dict):
        raise FileFormatError(str(where), None, must_be("the file", "a JSON object with an object workflow", content))
    version = content.get("schemaVersion")
    if version not in VERSIONS:
        raise FileFormatError(str(where), None, must_be("schemaVersion", f"one of {', '.join(VERSIONS)}", version))
    workflow = content["workflow"]
    tasks = _apart(where, workflow) if "specification" in workflow else _together(where, workflow)
    described = _own(where, content[OWN], tasks) if OWN in content else {"name": stem(where)}
    asked = {"curve": curve, "job_id": job_id, "submit_s": submit_s, "name": name}
    return workflow_of(where, tasks, described, asked, tick_s=tick_s, kind=kind, cores=cores)


def _apart(path: Path, workflow: Mapping[str, Any]) -> list[DescribedTask]:
    """Return the tasks of a file that holds structure and execution apart (from 1.5 on)."""
    specified = workflow["specification"]
    rows = _objects(path, "workflow.specification", specified, "tasks")
    numbers = numbered(path, ((_text(path, f"tasks[{at}]", row, "id"), None) for at, row in enumerate(rows)))
    executed: dict[str, Mapping[str, Any]] = {}
    if "execution" in workflow:
        for at, row in enumerate(_objects(path, "workflow.execution", workflow["execution"], "tasks")):
            task = _text(path, f"execution.tasks[{at}]", row, "id")
            if task not in numbers:
                raise FileFormatError(str(path), None, f"execution.tasks[{at}]: there is no task {task!r}")
            if task in executed:
                raise FileFormatError(str(path), None, f"task {task!r} must be executed once (got twice)")
            executed[task] = row
    tasks = [_task(name, row, executed.get(name, {})) for name, row in zip(numbers, rows, strict=True)]
    _tie(path, tasks, rows, numbers)
    return tasks


def _together(path: Path, workflow: Mapping[str, Any]) -> list[DescribedTask]:
    """Return the tasks of a file that says all about a task in one place (up to 1.4)."""
    rows = _objects(path, "workflow", workflow, "tasks")
    names = [_text(path, f"tasks[{at}]", row, "name") for at, row in enumerate(rows)]
    ids = [_text(path, f"tasks[{at}]", row, "id") if "id" in row else None for at, row in enumerate(rows)]
    own = [each for each in ids if each is not None]
    by_id = len(set(names)) < len(names) and len(own) == len(rows)  # names that say nothing apart, but ids do
    chosen = own if by_id else names
    numbers = numbered(path, ((name, None) for name in chosen))
    tasks = [_task(name, row, row) for name, row in zip(chosen, rows, strict=True)]
    once = {each for each, times in Counter(own).items() if times == 1}
    known = {each: at for at, each in enumerate(ids) if each in once}
    _tie(path, tasks, rows, {**known, **numbers})
    return tasks


def _task(name: str, described: Mapping[str, Any], executed: Mapping[str, Any]) -> DescribedTask:
    """Return a task by what its description and its execution say; what is no number is refused later, by name."""
    runtime_s = executed.get("runtimeInSeconds", executed.get("runtime"))
    cores = executed.get("coreCount", executed.get("cores"))
    return DescribedTask(
        name=name,
        category=_category(name, described, executed),
        runtime_s=runtime_s,
        cores=1 if cores is None else cores,
    )


def _category(name: str, described: Mapping[str, Any], executed: Mapping[str, Any]) -> str:
    """Return what a task does."""
    for row in (described, executed):
        category = row.get("category")
        if isinstance(category, str) and category:
            return category
    command = executed.get("command")
    program = command.get("program") if isinstance(command, dict) else None
    if isinstance(program, str) and len(program.split()) == 1:
        return program.strip()
    called = described.get("name")
    return _NUMBERED.sub("", called if isinstance(called, str) and called else name)


def _tie(path: Path, tasks: list[DescribedTask], rows: Iterable[Mapping[str, Any]], numbers: Mapping[str, int]) -> None:
    """Set the predecessors of each task: those that it names as parents, and those that name it as a child."""
    for at, row in enumerate(rows):
        for other in _references(path, tasks[at], row, "parents", numbers):
            tasks[at].before.add(other)
        for other in _references(path, tasks[at], row, "children", numbers):
            tasks[other].before.add(at)


def _references(
    path: Path, task: DescribedTask, row: Mapping[str, Any], key: str, numbers: Mapping[str, int]
) -> Iterator[int]:
    """Yield the number of each task that a task names as its parents, or its children."""
    named = row.get(key, [])
    if not isinstance(named, list):
        raise FileFormatError(str(path), None, must_be(f"{key} of task {task.name!r}", "a list", named))
    for name in named:
        if not isinstance(name, str) or name not in numbers:
            what = f"task {task.name!r}: {brief(name)} of its {key} is no task of the file"
            raise FileFormatError(str(path), None, what)
        yield numbers[name]


def _objects(path: Path, where: str, holder: object, key: str) -> list[Mapping[str, Any]]:
    """Return the objects that a list of the file holds; at least one."""
    rows = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(rows, list) or not rows:
        raise FileFormatError(str(path), None, must_be(f"{where}.{key}", "a list of at least one task", rows))
    for at, row in enumerate(rows):
        if not isinstance(row, dict):
            raise FileFormatError(str(path), None, must_be(f"{where}.{key}[{at}]", "an object", row))
    return rows


def _text(path: Path, where: str, row: Mapping[str, Any], key: str) -> str:
    """Return a text that must be there."""
    text = row.get(key)
    if not isinstance(text, str) or not text:
        raise FileFormatError(str(path), None, must_be(f"{key} of {where}", "a text", text))
    return text


# -- what the format has no place for ---------------------------------------------------------------


def _own(path: Path, own: object, tasks: list[DescribedTask]) -> dict[str, Any]:
    """Return what a file of ours says about the job, and set the kinds of the tasks."""
    given = own if isinstance(own, dict) else {}
    most = given.get("max_value")
    rows = {
        "job_id": (isinstance(given.get("job_id"), int) and given["job_id"] is not True, "an integer"),
        "submit_s": (fits(given.get("submit_s"), least=-math.inf, above=True), "a finite number"),
        "name": (isinstance(given.get("name"), str), "a text"),
        "max_value": (
            most is None or (is_number(most) and 0 < as_float(most) < math.inf),
            "a finite number > 0, or null",
        ),
        "kinds": (_listed(given.get("kinds"), str | None, {len(tasks)}), "a text or null for each task"),
        "task_names": (_listed(given.get("task_names"), str, {0, len(tasks)}), "a text for each task, or none"),
    }
    for key, (good, expected) in rows.items():
        if not good:
            raise FileFormatError(str(path), None, must_be(f"{OWN}.{key}", expected, given.get(key, "missing")))
    for task, kind in zip(tasks, given["kinds"], strict=True):
        task.kind = kind
    points = given.get("curve")
    try:
        curve = FOREVER if points is None else ValueCurve([(float(slr), float(factor)) for slr, factor in points])
    except (TypeError, ValueError, OverflowError) as error:  # RequestError is a ValueError
        raise FileFormatError(str(path), None, f"{OWN}: curve: {error}") from error
    return {**{key: given.get(key) for key in rows if key != "kinds"}, "curve": curve}


def _listed(values: object, of: UnionType | type, lengths: set[int]) -> bool:
    """Return whether a value is a list of such values, and of one of these lengths."""
    return isinstance(values, list) and len(values) in lengths and all(isinstance(value, of) for value in values)


def write_wfformat(
    workflow: Workflow,
    path: str | PathLike[str],
    *,
    makespan_s: float | None = None,
    executed_at: str = "1970-01-01T00:00:00+00:00",
    description: str = "",
) -> None:
    """Write a workflow as WfFormat 1.5, whole or not at all; the same workflow always makes the same file.

    A task's id is what it is called, if no two share it and it is of letters, digits, ``_``, ``.``
    and ``-``; else the tasks are called ID0000001, ID0000002, ... and their names stay their ``name``. What
    the format has no place for (kinds, value curve, submission, number) is in a property of its own,
    ``schedlab``, which other programs pass over.

    Parameters
    ----------
    workflow
        What is written.
    path
        The file; compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``. Its folder must exist.
    makespan_s
        How long the workflow took, in seconds, which the format asks for; None: its critical path, the least
        that it takes.
    executed_at
        When it was run, which the format asks for, as ISO 8601.
    description
        What the file is to say about it, if anything.

    Raises
    ------
    RequestError
        The file cannot be written there; `makespan_s` is no finite number >= 0, or `executed_at` is empty.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> wl.write_wfformat(sm.Workflow.from_graph(wl.fork_join(3, seed=1)), "flow.json")
    >>> len(wl.read_wfformat("flow.json"))
    5
    """
    as_instance("workflow", workflow, Workflow)
    if makespan_s is not None:
        makespan_s = as_seconds("makespan_s", makespan_s, least=0, also="None")
    if not executed_at or not isinstance(executed_at, str):
        raise RequestError(must_be("executed_at", "a date of ISO 8601", executed_at))
    labels = [workflow.label(task) for task in range(len(workflow))]
    unique = len(set(labels)) == len(labels) and all(map(_IDENTIFIER.fullmatch, labels))
    ids = labels if unique else [f"ID{task:07d}" for task in range(1, len(labels) + 1)]
    parents: list[list[str]] = [[] for _ in ids]
    children: list[list[str]] = [[] for _ in ids]
    for before, after in workflow.edges.tolist():
        parents[after].append(ids[before])
        children[before].append(ids[after])
    finite = all(map(math.isfinite, (workflow.curve.initial, workflow.curve.final)))
    content = {
        "name": workflow.name or "workflow",
        **({"description": description} if description else {}),
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {"name": label or name, "id": name, "parents": before, "children": after}
                    for label, name, before, after in zip(labels, ids, parents, children, strict=True)
                ],
            },
            "execution": {
                "makespanInSeconds": workflow.critical_path_s(0.0) if makespan_s is None else makespan_s,
                "executedAt": executed_at,
                "tasks": [
                    {"id": name, "runtimeInSeconds": runtime_s, "coreCount": cores}
                    for name, runtime_s, cores in zip(
                        ids, workflow.runtime_s.tolist(), workflow.cores.tolist(), strict=True
                    )
                ],
            },
        },
        OWN: {
            "job_id": int(workflow.job_id),
            "submit_s": workflow.submit_s,
            "name": workflow.name,
            "max_value": None if workflow.max_value is None else float(workflow.max_value),
            "kinds": workflow.kind,
            "task_names": workflow.task_names,
            "curve": workflow.curve.points if finite else None,
        },
    }
    write_whole(as_path(path), json.dumps(content, indent=1).encode() + b"\n")
