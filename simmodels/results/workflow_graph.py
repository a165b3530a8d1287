"""Workflow graph: what a schedule says of a workflow's tasks, as attributes of its networkx graph."""

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, brief
from simmodels.results.attempts import WORKFLOW_OUTCOMES
from simmodels.results.evidence import Evidence
from simmodels.work.workflow import Workflow

if TYPE_CHECKING:
    import networkx as nx


def graph_with_results(evidence: Evidence, workflow: Workflow | int) -> "nx.DiGraph[Any]":
    """Return the graph of a workflow with its results; see `simmodels.results.schedule.Schedule.graph`."""
    number, flow = _find(evidence.workload.workflows, workflow, evidence.workload.name)
    terms = evidence.terms
    drawn = flow.to_graph(terms.ccr, tick_s=terms.tick_s)
    first = int(evidence.workload.tasks.first[number])  # type: ignore[union-attr]  # it has tasks
    rows = slice(first, first + len(flow))
    start_s, end_s = evidence.start_s[rows], evidence.end_s[rows]
    ready_s = np.full(len(flow), flow.submit_s)
    arrival_s = np.nan_to_num(evidence.arrival_s(flow.edges + first), nan=np.inf)
    np.maximum.at(ready_s, flow.edges[:, 1], arrival_s)
    ready_s[np.isnan(start_s)] = np.nan  # when data are there depends on the cluster, and it has none
    a = evidence.attempts
    ran = (a.row >= first) & (a.row < rows.stop) & ~np.isnan(a.start_s)
    names = [spec.name for spec in evidence.clusters]
    columns = {
        "start_s": _none_for_nan(start_s),
        "end_s": _none_for_nan(end_s),
        "ready_s": _none_for_nan(ready_s),
        "wait_s": _none_for_nan(start_s - ready_s),
        "cluster": [
            None if np.isnan(start) else names[cluster]
            for start, cluster in zip(start_s, evidence.cluster[rows].tolist(), strict=True)
        ],
        "attempts": np.bincount(a.row[ran] - first, minlength=len(flow)).tolist(),
    }
    for name, column in columns.items():
        for of, value in zip(drawn.nodes.values(), column, strict=True):
            of[name] = value
    drawn.graph["outcome"] = WORKFLOW_OUTCOMES[evidence.workflow_outcome[number]]
    return drawn


def _find(flows: tuple[Workflow, ...], wanted: Workflow | int, name: str) -> tuple[int, Workflow]:
    """Return a workflow of the schedule, and its number there."""
    of = f"of the schedule of {name!r}"
    if isinstance(wanted, Workflow):
        found = [number for number, flow in enumerate(flows) if flow is wanted]
        if not found:
            raise RequestError(f"{wanted!r} is not {of}", "pass one of its workload.workflows, or a job_id")
        return found[0], wanted
    try:
        job_id = operator.index(wanted)
    except TypeError:
        raise RequestError(f"workflow must be a Workflow or a job_id (got {brief(wanted)})") from None
    found = [number for number, flow in enumerate(flows) if flow.job_id == job_id]
    if len(found) > 1:
        raise RequestError(f"{len(found)} workflows {of} have job_id {job_id}", "pass the Workflow itself")
    if not found:
        raise RequestError(f"no workflow {of} has job_id {job_id}", f"it has {len(flows)} workflows")
    return found[0], flows[found[0]]


def _none_for_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
