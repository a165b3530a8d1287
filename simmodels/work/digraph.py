"""Digraph: the columns of a workflow, read from a networkx graph; a graph that is not a workflow is refused."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from simmodels.errors import ImpossibleJobError, RequestError, brief, must_be
from simmodels.ground.later import nx
from simmodels.ground.numbers import as_float


def workflow_columns(given: object, job_id: int | None, submit_s: float | None) -> dict[str, Any]:
    """Return the arguments of `simmodels.work.workflow.Workflow` that a graph gives, by name; refuse as `from_graph`.

    Parameters
    ----------
    given
        The graph; see `Workflow.from_graph`.
    job_id, submit_s
        As in the class; None for the graph's attribute, else 1 and 0.
    """
    if not isinstance(given, nx.DiGraph) or given.is_multigraph():
        raise RequestError(must_be("the graph of a workflow", "a networkx.DiGraph", given))
    if not given:
        raise RequestError("the graph of a workflow must have at least one node (got none)")
    number: Any = given.graph.get("job_id", 1) if job_id is None else job_id
    if not (isinstance(number, Integral) and _is_number(number)):
        raise RequestError(must_be("job_id", "an integer", number))
    instant_s: Any = given.graph.get("submit_s", 0.0) if submit_s is None else submit_s
    if not _is_number(instant_s):
        raise RequestError(must_be("submit_s", "a number of seconds", instant_s))
    for node, task in given.nodes.items():
        _check_task(int(number), node, task)
    place = {node: i for i, node in enumerate(given)}
    return {
        "job_id": int(number),
        "submit_s": as_float(instant_s),
        "runtime_s": [as_float(task["runtime_s"]) for task in given.nodes.values()],
        "cores": [as_float(task.get("cores", 1)) for task in given.nodes.values()],
        "edges": [(place[before], place[after]) for before, after in given.edges],
        "kind": tuple(task.get("kind") for task in given.nodes.values()),
        "task_names": _names(int(number), list(given)),
        "name": str(given.name),
    }


def _check_task(job_id: int, node: object, task: dict[str, Any]) -> None:
    """Refuse a node whose attributes are not those of a task."""
    if "runtime_s" not in task:
        raise ImpossibleJobError(job_id, f"task {node} has no runtime_s")
    for name in ("runtime_s", "cores"):
        if not _is_number(task.get(name, 1)):
            raise ImpossibleJobError(job_id, must_be(f"{name} of task {node}", "a number", task[name]))
    kind = task.get("kind")
    if kind is not None and not isinstance(kind, str):
        raise ImpossibleJobError(job_id, must_be(f"kind of task {node}", "a text or None", kind))


def _names(job_id: int, nodes: list[object]) -> tuple[str, ...]:
    """Return what the tasks are called: the nodes as text; nothing if the nodes are 0, 1, 2, ... in this order."""
    whole = all(isinstance(node, Integral) and not isinstance(node, bool) for node in nodes)
    if whole and nodes == list(range(len(nodes))):
        return ()
    first: dict[str, object] = {}
    for node in nodes:
        other = first.setdefault(str(node), node)
        if other is not node:
            both = f"nodes {brief(other)} and {brief(node)}"
            raise ImpossibleJobError(job_id, f"{both} have the same name as text; names of tasks must differ")
    return tuple(first)


def _is_number(value: object) -> bool:
    """Return whether a value is a number; NaN is one, which the class refuses by name, as it does infinity."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)
