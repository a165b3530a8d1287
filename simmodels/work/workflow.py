"""Workflow: a job of tasks that depend on each other, as immutable columns; networkx at the border."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simmodels.errors import ImpossibleJobError, must_be
from simmodels.ground.arguments import Guided, as_instance, as_tuple
from simmodels.ground.cards import card, levels, line_chart, number
from simmodels.ground.durations import Duration, as_seconds, duration
from simmodels.ground.instants import too_far, too_far_text
from simmodels.ground.later import nx
from simmodels.ground.numbers import MOST, as_column, as_float, as_number, is_number
from simmodels.units import HOUR
from simmodels.work import graph
from simmodels.work.curve import FOREVER, ValueCurve
from simmodels.work.digraph import workflow_columns

__all__ = ["FOREVER", "Task", "ValueCurve", "Workflow"]

_DRAWN: Final = 80  # of more tasks a notebook shows how many there are on each level


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a workflow: it needs all its cores, on one cluster, for its whole runtime.

    Parameters
    ----------
    runtime_s
        How long it runs, in seconds (> 0).
    cores
        How many cores it needs (>= 1).
    kind
        The kind of cluster that it needs; None for any.
    name
        What it is called; empty for its number.

    Examples
    --------
    >>> import simmodels as sm
    >>> prepare, solve = sm.Task(60, cores=2, name="prepare"), sm.Task(600, cores=8, name="solve")
    >>> job = sm.Workflow.of([prepare, solve], job_id=1, submit_s=0.0, edges=[(0, 1)])
    >>> job.critical_path_s()
    660.0
    """

    runtime_s: float
    cores: int = 1
    kind: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Workflow(Guided):
    """A job of tasks: it is submitted as a whole, and done when its last task is.

    Parameters
    ----------
    job_id
        The job's number.
    submit_s
        When it is submitted, in seconds since the workload's zero.
    runtime_s
        float64[n], how long each task runs, in seconds (> 0).
    cores
        int64[n], how many cores each needs (>= 1); one number for all.
    edges
        Pairs (i, j) of task numbers, from 0: task j needs the data of task i.
    kind
        The kind of cluster that each task needs, n names; one name for all; None for any.
    curve
        What the job is worth by its SLR; by default all it can be, whenever it is done.
    max_value
        What it is worth at most; None for its volume in core-seconds.
    task_names
        What the tasks are called, n names; empty for their numbers.
    name
        What the workflow is called.

    Attributes
    ----------
    first, successor
        int64[n + 1], int64[edges]: the successors of task i are ``successor[first[i]:first[i + 1]]``.

    Raises
    ------
    ImpossibleJobError
        Naming the job and the task: a runtime, a number of cores or an edge that cannot be, or a cycle.

    Examples
    --------
    >>> import simmodels as sm
    >>> job = sm.Workflow(1, 0.0, [10, 20, 5, 30], [2, 1, 4, 3], [(0, 1), (0, 2), (1, 3), (2, 3)], "Kind1")
    >>> job.upward_rank_s().tolist(), job.critical_path_s(), job.volume_core_s
    ([60.0, 50.0, 35.0, 30.0], 60.0, 150.0)
    """

    _instead: ClassVar = {
        "[]": "its columns are arrays, one value per task (.runtime_s); label(task) is the name of a task",
        "tasks": "its columns are arrays, one value per task (.runtime_s); label(task) is the name of a task",
        **dict.fromkeys(("from_networkx", "from_nx", "from_digraph"), "Workflow.from_graph takes a networkx graph"),
        **dict.fromkeys(("to_networkx", "to_nx"), "to_graph() makes a networkx graph"),
        **dict.fromkeys(
            ("read", "load", "from_file", "from_json", "from_wfformat", "from_dax"),
            "workloads.read_wfformat and read_dax read files",
        ),
        **dict.fromkeys(("from_tasks", "from_list"), "Workflow.of takes a list of Task"),
    }

    job_id: int
    submit_s: float
    runtime_s: NDArray[np.float64]
    cores: NDArray[np.int64] = 1  # type: ignore[assignment]  # one number for all becomes a column below
    edges: NDArray[np.int64] = ()  # type: ignore[assignment]  # pairs become a table below
    kind: tuple[str | None, ...] = None  # type: ignore[assignment]  # one for all becomes a column below
    curve: ValueCurve = FOREVER
    max_value: float | None = None
    task_names: tuple[str, ...] = ()
    name: str = ""
    first: NDArray[np.int64] = None  # type: ignore[assignment]  # made below
    successor: NDArray[np.int64] = None  # type: ignore[assignment]  # made below

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check them."""
        runtime_s = self._column("runtime_s", self.runtime_s)
        tasks = len(runtime_s)
        given = as_column("cores", self.cores)
        cores = self._column("cores", np.full(tasks, given) if given.ndim == 0 else given)
        asked: Any = self.kind
        alike = asked is None or isinstance(asked, str)
        kind = (asked,) * tasks if alike else as_tuple("kind", asked, "a kind, or one per task")
        pairs = as_column("edges", self.edges, None)
        if pairs.dtype.kind not in "iuf":
            pairs = as_column("edges", self.edges)
        pairs = pairs if pairs.size else np.empty((0, 2))
        names = as_tuple("task_names", self.task_names, "a list of names")
        for column, rows in (("cores", len(cores)), ("kind", len(kind)), ("task_names", len(names) or tasks)):
            if rows != tasks:
                raise ImpossibleJobError(self.job_id, f"{column} has {rows} entries, and runtime_s {tasks}")
        edges = self._edges(pairs, tasks)
        self._check(runtime_s, cores, names)
        first, successor = graph.rows_of(tasks, edges[:, 0].copy(), edges[:, 1].copy())
        made = (runtime_s, cores.astype(np.int64), edges, first, successor)
        for name, column in zip(("runtime_s", "cores", "edges", "first", "successor"), made, strict=True):
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "submit_s", float(self.submit_s))
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "task_names", names)
        self._check_graph()

    def _column(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        column = np.array(as_column(name, values))
        if column.ndim != 1 or not len(column):
            what = must_be(f"the shape of {name}", "(tasks,), with at least 1 task", column.shape)
            raise ImpossibleJobError(self.job_id, what)
        return column

    def _edges(self, pairs: NDArray[Any], tasks: int) -> NDArray[np.int64]:
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ImpossibleJobError(self.job_id, must_be("the shape of edges", "(edges, 2)", pairs.shape))
        with np.errstate(invalid="ignore"):  # NaN becomes another number, and is refused as it differs
            edges = pairs.astype(np.int64)
        bad = np.flatnonzero(((pairs < 0) | (pairs >= tasks) | (pairs != edges)).any(axis=1))
        if len(bad):
            edge = tuple(pairs[bad[0]].tolist())
            raise ImpossibleJobError(self.job_id, f"edge {edge}: its tasks are numbered 0 to {tasks - 1}")
        return edges

    def _check(self, runtime_s: NDArray[np.float64], cores: NDArray[np.float64], names: tuple[str, ...]) -> None:
        """Refuse a job with impossible numbers."""
        if not (is_number(self.submit_s) and np.isfinite(as_float(self.submit_s))):
            what = must_be("submit_s", "a finite number of seconds", self.submit_s)
            raise ImpossibleJobError(self.job_id, what)
        if self.max_value is not None and not (is_number(self.max_value) and 0 < as_float(self.max_value) < np.inf):
            raise ImpossibleJobError(self.job_id, must_be("max_value", "a finite number > 0", self.max_value))
        bad = np.flatnonzero(~(np.isfinite(runtime_s) & (runtime_s > 0)))
        if len(bad):
            task = int(bad[0])
            name, given = f"runtime_s of task {_label(names, task)}", runtime_s[task]
            raise ImpossibleJobError(self.job_id, must_be(name, "a finite number of seconds > 0", given))
        for name, time_s in (
            ("submit_s", self.submit_s),
            ("submit_s + all runtime_s", self.submit_s + runtime_s.sum()),
        ):
            if too_far(time_s):
                raise ImpossibleJobError(self.job_id, too_far_text(name, time_s))
        bad = np.flatnonzero(~((cores >= 1) & (cores <= MOST) & (cores == np.floor(cores))))
        if len(bad):
            task = int(bad[0])
            name, given = f"cores of task {_label(names, task)}", cores[task]
            raise ImpossibleJobError(self.job_id, must_be(name, "an integer from 1 to 2**53", given))

    def _check_graph(self) -> None:
        """Refuse an edge that is there twice, and a cycle."""
        twice = np.flatnonzero(self.successor[1:] == self.successor[:-1])
        for k in twice:
            task = int(np.searchsorted(self.first, k, side="right")) - 1
            if k + 1 < self.first[task + 1]:
                edge = f"{self.label(task)} -> {self.label(int(self.successor[k]))}"
                raise ImpossibleJobError(self.job_id, f"edge {edge} is there twice")
        if len(graph.topological(self.first, self.successor)) < len(self):
            around = nx.find_cycle(nx.DiGraph(self.edges.tolist()))
            way = " -> ".join(self.label(task) for task in [around[0][0], *(edge[1] for edge in around)])
            raise ImpossibleJobError(self.job_id, f"its tasks wait for each other: {way}")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments, so that what comes back is read-only too."""
        about = (self.curve, self.max_value, self.task_names, self.name)
        return type(self), (self.job_id, self.submit_s, self.runtime_s, self.cores, self.edges, self.kind, *about)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.runtime_s)

    def __repr__(self) -> str:
        """Return a line about it."""
        name = f" {self.name!r}" if self.name else ""
        return f"<Workflow {self.job_id}{name}: {len(self)} tasks, submitted at {self.submit_s:g} s>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: its size, and its graph from left to right; of many tasks, how many a level."""
        level = np.zeros(len(self), np.int64)
        for task in graph.topological(self.first, self.successor).tolist():
            after = self.successor[self.first[task] : self.first[task + 1]]
            level[after] = np.maximum(level[after], level[task] + 1)
        of = [np.flatnonzero(level == each).tolist() for each in range(int(level.max()) + 1)]
        figures = {
            "tasks": number(len(self)),
            "dependencies": number(len(self.edges)),
            "levels": number(len(of)),
            "work": f"{number(self.volume_core_s / HOUR)} core-hours",
            "critical path": duration(self.critical_path_s()),
            "most cores of a task": number(float(self.cores.max())),
        }
        if len(self) <= _DRAWN:
            chart = levels(of, [(a, b) for a, b in self.edges.tolist()], "tasks and what they wait for")
        else:
            chart = line_chart(np.array([float(len(each)) for each in of]), "tasks a level")
        return card(repr(self).strip("<>"), figures, chart)

    def label(self, task: int) -> str:
        """Return what a task is called: its name, or its number."""
        return _label(self.task_names, task)

    # -- by tasks and by graphs ---------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        tasks: Sequence[Task],
        *,
        job_id: int,
        submit_s: float,
        edges: ArrayLike = (),
        curve: ValueCurve = FOREVER,
        max_value: float | None = None,
        name: str = "",
    ) -> Self:
        """Return the workflow of these tasks; `edges` and the rest as for the class."""
        tasks = [as_instance("tasks", task, Task) for task in as_tuple("tasks", tasks, "a list of Task records")]
        named = any(task.name for task in tasks)
        return cls(
            job_id,
            submit_s,
            [task.runtime_s for task in tasks],  # type: ignore[arg-type]  # becomes a column
            [task.cores for task in tasks],  # type: ignore[arg-type]  # the same
            kind=tuple(task.kind for task in tasks),
            task_names=tuple(task.name or str(i) for i, task in enumerate(tasks)) if named else (),
            edges=edges,  # type: ignore[arg-type]  # the same
            curve=curve,
            max_value=max_value,
            name=name,
        )

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks as records."""
        names = self.task_names or ("",) * len(self)
        return tuple(map(Task, self.runtime_s.tolist(), self.cores.tolist(), self.kind, names))

    @classmethod
    def from_graph(
        cls,
        given: "nx.DiGraph[Any]",
        *,
        job_id: int | None = None,
        submit_s: float | None = None,
        kind: str | Sequence[str | None] | None = None,
        curve: ValueCurve = FOREVER,
        max_value: float | None = None,
        name: str | None = None,
    ) -> Self:
        """Return the workflow of a networkx graph; tasks are numbered in the order of its nodes.

        Parameters
        ----------
        given
            Each node a task, with the attribute ``runtime_s`` (seconds), and ``cores`` (else 1) and ``kind`` (else
            any); each edge a dependency. A task is called by its node as text; nodes 0, 1, 2, ... give no names. Other
            attributes of nodes and edges are ignored.
        job_id, submit_s
            As for the class; None for the graph's attribute of this name, else 1 and 0.
        kind, name
            As for the class; None for what the nodes, and the graph, say.
        curve, max_value
            As for the class.

        Raises
        ------
        RequestError
            It is not a DiGraph (a multigraph, or undirected), or has no nodes; `job_id` is no integer, or `submit_s` no
            number.
        ImpossibleJobError
            A node has no runtime, an attribute of another type, or the same text as another; and as for the class.

        Examples
        --------
        >>> import networkx as nx
        >>> import simmodels as sm
        >>> drawn = nx.DiGraph([("split", "solve")], job_id=7)
        >>> drawn.add_node("split", runtime_s=10)
        >>> drawn.add_node("solve", runtime_s=60, cores=8)
        >>> sm.Workflow.from_graph(drawn).upward_rank_s().tolist()
        [70.0, 60.0]
        """
        columns = workflow_columns(given, job_id, submit_s)
        said = {key: value for key, value in (("kind", kind), ("name", name)) if value is not None}
        return cls(**(columns | said), curve=curve, max_value=max_value)

    @property
    def graph(self) -> "nx.DiGraph[Any]":
        """Return the workflow as a networkx graph: `to_graph` with the default ccr and tick."""
        return self.to_graph()

    def to_graph(self, ccr: float = 0.2, *, tick_s: Duration = 1.0) -> "nx.DiGraph[Any]":
        """Return the workflow as a networkx graph; a change of it does not reach the workflow.

        Nodes are the names of the tasks; their numbers if they have no names, or if two have the same.

        **Nodes** have ``runtime_s, cores, kind``, the upward rank ``rank_s``, ``level`` (the most edges on a way to it)
        and ``on_critical_path``. **Edges** have ``delay_s``, how long data travel between kinds that differ (else 0),
        and ``on_critical_path``. **The graph** has ``job_id, submit_s, name`` and ``critical_path_s``. `from_graph`
        makes the same workflow of it, except for its value (`curve`, `max_value`).

        Parameters
        ----------
        ccr, tick_s
            As for `upward_rank_s`.
        """
        rank_s, path = self.upward_rank_s(ccr, tick_s=tick_s), self.critical_path(ccr, tick_s=tick_s)
        drawn: nx.DiGraph[Any] = nx.DiGraph(job_id=self.job_id, submit_s=self.submit_s, name=self.name)
        drawn.graph["critical_path_s"] = float(rank_s.max())
        named = len(set(self.task_names)) == len(self)
        nodes: Sequence[str | int] = self.task_names if named else range(len(self))
        on_path, ways = {nodes[task] for task in path}, set(pairwise(path))
        for node, task, rank in zip(nodes, self.tasks, rank_s.tolist(), strict=True):
            of = {"runtime_s": task.runtime_s, "cores": task.cores, "kind": task.kind}
            drawn.add_node(node, **of, rank_s=rank, on_critical_path=node in on_path)
        sender, receiver = self.edges.T
        number, apart = self._kinds()
        delay_s = np.where(apart[number[sender], number[receiver]], self.delay_s(ccr, tick_s=tick_s)[sender], 0.0)
        for (a, b), delay in zip(self.edges.tolist(), delay_s.tolist(), strict=True):
            drawn.add_edge(nodes[a], nodes[b], delay_s=delay, on_critical_path=(a, b) in ways)
        for level, tasks in enumerate(nx.topological_generations(drawn)):
            nx.set_node_attributes(drawn, dict.fromkeys(tasks, level), "level")
        return drawn

    # -- what follows from it -------------------------------------------------------------------------

    @property
    def volume_core_s(self) -> float:
        """Return the work in it, in core-seconds."""
        return float(self.runtime_s @ self.cores)

    @property
    def most_value(self) -> float:
        """Return what it is worth at most (V_max)."""
        return self.volume_core_s if self.max_value is None else float(self.max_value)

    def delay_s(self, ccr: float = 0.2, *, tick_s: Duration = 1.0) -> NDArray[np.float64]:
        """Return float64[n], how long each task's data travel: `ccr` times its runtime, up to the next whole tick."""
        tick_s = as_seconds("tick_s", tick_s, above=0)
        return delays(self.runtime_s / tick_s, ccr) * tick_s

    def upward_rank_s(self, ccr: float = 0.2, *, tick_s: Duration = 1.0) -> NDArray[np.float64]:
        """Return float64[n], the longest way from each task's start to the end of the job (T_R), in seconds.

        Data travel only between tasks of different kinds, which is what no scheduler can avoid.
        """
        number, apart = self._kinds()
        order = graph.topological(self.first, self.successor)
        delay_s = self.delay_s(ccr, tick_s=tick_s)
        found = graph.upward_ranks(order, self.first, self.successor, self.runtime_s, delay_s, number, apart)
        return np.asarray(found)

    def _kinds(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return int64[n], the number of each task's kind, and bool[kinds, kinds], whether no cluster can run both."""
        kinds = {kind: i for i, kind in enumerate(dict.fromkeys(self.kind))}
        apart = np.array([[a != b and a is not None and b is not None for b in kinds] for a in kinds])
        return np.array([kinds[kind] for kind in self.kind]), apart

    def critical_path(self, ccr: float = 0.2, *, tick_s: Duration = 1.0) -> tuple[int, ...]:
        """Return the numbers of the tasks on the longest way through the job; of equal ways, lower numbers first.

        Its runtimes, and the data that must travel between them, add up to `critical_path_s`.
        """
        rank_s, delay_s = self.upward_rank_s(ccr, tick_s=tick_s), self.delay_s(ccr, tick_s=tick_s)
        number, apart = self._kinds()
        path = [int(rank_s.argmax())]
        while len(after := self.successor[self.first[path[-1]] : self.first[path[-1] + 1]]):
            travel_s = np.where(apart[number[path[-1]], number[after]], delay_s[path[-1]], 0.0)
            path.append(int(after[(rank_s[after] + travel_s).argmax()]))
        return tuple(path)

    def critical_path_s(self, ccr: float = 0.2, *, tick_s: Duration = 1.0) -> float:
        """Return the least time from submission to finish (CP), in seconds."""
        return float(self.upward_rank_s(ccr, tick_s=tick_s).max())

    def successor_sum_core_s(self, *, unique: bool = False) -> NDArray[np.float64]:
        """Return float64[n], each task's work and that of all that follows it (T_succ_sum), in core-seconds.

        A descendant counts once for each path that leads to it; if `unique`, once.
        """
        volume = self.runtime_s * self.cores
        if unique:
            return np.asarray(graph.unique_successor_sums(self.first, self.successor, volume))
        order = graph.topological(self.first, self.successor)
        return np.asarray(graph.successor_sums(order, self.first, self.successor, volume))

    def require_runnable(self, largest: Mapping[str | None, int]) -> None:
        """Refuse the job if a task of it can never run (`ImpossibleJobError`).

        Parameters
        ----------
        largest
            By kind, the cores of the largest cluster of that kind; None for clusters that take any kind.
        """
        of_any = largest.get(None, 0)
        of_all = max(largest.values(), default=0)
        for task, (kind, cores) in enumerate(zip(self.kind, self.cores.tolist(), strict=True)):
            most = of_all if kind is None else max(largest.get(kind, 0), of_any)
            if cores <= most:
                continue
            if not most:
                known = ", ".join(sorted(str(each) for each in largest if each is not None))
                what = f"is of kind {kind!r}, and no cluster is; there are {known}"
            else:
                where = "cluster" if kind is None else f"cluster of kind {kind!r}"
                what = f"needs {cores} cores, and the largest {where} has {most}"
            raise ImpossibleJobError(self.job_id, f"task {self.label(task)} {what}")


def _label(names: tuple[str, ...], task: int) -> str:
    return names[task] if names else str(task)


def delays(runtime: NDArray[np.float64], ccr: float) -> NDArray[np.float64]:
    """Return how many ticks the data of each task travel, whole ones: the sender's runtime in ticks times `ccr`."""
    return np.ceil(as_number("ccr", ccr, least=0) * runtime)
