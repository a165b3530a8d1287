"""Passes over the graphs of workflows, compiled, each over many graphs at once.

A graph is in rows of successors: those of task i are ``successor[first[i]:first[i + 1]]``.
"""

# ruff: noqa: ANN001, ANN201  numba takes the types of the call
# mypy: disable-error-code="no-untyped-def"

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals

_SHORT: Final = 32
"""Longer rows are not sorted by insertion."""


@compiled
def rows_of(tasks, source, target):
    """Return the rows of successors of a graph (first, successor), each row increasing.

    Parameters
    ----------
    tasks
        How many tasks there are.
    source, target
        int64[edges], the tasks that an edge leaves and enters.
    """
    first = np.zeros(tasks + 1, np.int64)
    for edge in range(source.size):
        first[source[edge] + 1] += 1
    for task in range(tasks):
        first[task + 1] += first[task]
    at = first[:-1].copy()
    successor = np.empty(target.size, np.int64)
    for edge in range(source.size):
        successor[at[source[edge]]] = target[edge]
        at[source[edge]] += 1
    for task in range(tasks):
        if first[task + 1] - first[task] > _SHORT:
            successor[first[task] : first[task + 1]].sort()
            continue
        for k in range(first[task] + 1, first[task + 1]):
            moving = successor[k]
            place = k
            while place > first[task] and successor[place - 1] > moving:
                successor[place] = successor[place - 1]
                place -= 1
            successor[place] = moving
    return first, successor


@compiled
def in_degrees(first, successor):
    """Return int64[tasks], how many predecessors each task has."""
    degree = np.zeros(first.size - 1, np.int64)
    for edge in range(successor.size):
        degree[successor[edge]] += 1
    return degree


@compiled
def topological(first, successor):
    """Return the tasks with each before its successors; fewer than there are if the graph has a cycle."""
    degree = in_degrees(first, successor)
    order = np.empty(degree.size, np.int64)
    n = 0
    for task in range(degree.size):
        if degree[task] == 0:
            order[n] = task
            n += 1
    done = 0
    while done < n:
        task = order[done]
        done += 1
        for k in range(first[task], first[task + 1]):
            degree[successor[k]] -= 1
            if degree[successor[k]] == 0:
                order[n] = successor[k]
                n += 1
    return order[:n]


@compiled
def upward_ranks(order, first, successor, runtime, delay, kind, apart):
    """Return float64[tasks], the longest way from each task's start to the end of its workflow.

    Parameters
    ----------
    order
        int64[tasks], a topological order.
    runtime, delay
        float64[tasks], how long each runs, and how long its data travel where they must.
    kind
        int64[tasks], the number of its kind.
    apart
        bool[kinds, kinds], whether no cluster can run both, so that data between them must travel.

    References
    ----------
    Burkimsher, Soares Indrusiak 2016, the T_R of section 3; Topcuoglu et al. 2002, doi 10.1109/71.993206, equation 8.
    """
    rank = np.empty(runtime.size)
    for n in range(order.size - 1, -1, -1):
        task = order[n]
        rest = 0.0
        for k in range(first[task], first[task + 1]):
            other = successor[k]
            way = rank[other]
            if apart[kind[task], kind[other]]:
                way += delay[task]
            rest = max(rest, way)
        rank[task] = runtime[task] + rest
    return rank


@compiled
def successor_sums(order, first, successor, volume):
    """Return float64[tasks], each task's volume and the sums of its successors (T_succ_sum).

    A descendant counts once for each path that leads to it, as the recursive formula says.
    """
    total = np.empty(volume.size)
    for n in range(order.size - 1, -1, -1):
        task = order[n]
        total[task] = volume[task]
        for k in range(first[task], first[task + 1]):
            total[task] += total[successor[k]]
    return total


@compiled
def unique_successor_sums(first, successor, volume):
    """Return float64[tasks], each task's volume and that of all its descendants, each once."""
    total = np.empty(volume.size)
    seen = np.full(volume.size, -1)
    stack = np.empty(volume.size, np.int64)
    for task in range(volume.size):
        heed_signals()
        total[task] = volume[task]
        stack[0] = task
        depth = 1
        while depth > 0:
            depth -= 1
            at = stack[depth]
            for k in range(first[at], first[at + 1]):
                other = successor[k]
                if seen[other] != task:
                    seen[other] = task
                    total[task] += volume[other]
                    stack[depth] = other
                    depth += 1
    return total
