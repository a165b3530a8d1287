"""Recorded: what a schedule says of each row and each attempt, checked; the base of `Schedule`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simmodels.clusters.capacity import Capacity
from simmodels.clusters.cluster_spec import ClusterSpec, Terms
from simmodels.errors import ColumnError, RequestError, UnknownNameError, must_be
from simmodels.ground.arguments import Guided, as_instance
from simmodels.ground.later import pd
from simmodels.ground.numbers import as_column, is_whole, same
from simmodels.results.attempts import (
    COMPLETED,
    FINISHED,
    MACHINE_COLUMNS,
    OPEN,
    UNFINISHED,
    Attempts,
    executed_by,
    from_table,
    machines_on,
    numbered,
    off_table,
    rows_of,
)
from simmodels.results.evidence import Evidence
from simmodels.results.job_figures import window_of
from simmodels.work.workload import Workload

_ROW_COLUMNS: Final = {
    "start_s": np.float64,
    "outcome": np.int8,
    "counted": np.bool_,
    "cluster": np.int64,
    "price": np.float64,
}


_UNKNOWN_TERMS: Final = Terms()
_NO_ATTEMPTS: Final = Attempts.of(row=np.empty(0, np.int64))
_MADE: Final = ("attempts", "listed", "parts", "elsewhere")
_AS_GIVEN: Final = tuple(each.name for each in fields(Evidence) if each.name not in _MADE)
"""What a schedule has as its evidence has it."""


def _fixed(name: str, values: ArrayLike, dtype: type[np.generic], rows: int) -> NDArray[np.generic]:
    """Return a read-only column of the type and length that it must have."""
    column = np.ascontiguousarray(as_column(f"column {name}", values, dtype))
    if column.shape != (rows,):
        raise RequestError(must_be(f"the shape of column {name}", f"({rows},), one row per job", column.shape))
    column = column.view()
    column.flags.writeable = False
    return column


class _WhenAsked:
    """A field that may be given as what makes it, which is called when the field is first asked for.

    A log on machines has hundreds of thousands of attempts, and millions of parts, at which most who simulate it never
    look.
    """

    def __init__(self, slot: Any) -> None:  # noqa: ANN401  Python's descriptor of a slot
        self._slot = slot

    def given(self, holder: object) -> Any:  # noqa: ANN401  what the field holds, or what makes it
        return self._slot.__get__(holder)

    def __get__(self, holder: object, kind: type | None = None) -> Any:  # noqa: ANN401  as above
        if holder is None:
            return self
        found = self.given(holder)
        if callable(found):
            found = found()
            self.__set__(holder, found)
        return found

    def __set__(self, holder: object, value: object) -> None:
        self._slot.__set__(holder, value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recorded(Guided):
    """What ran when and where, by row of a workload and attempt by attempt; `Schedule` says what each field is."""

    workload: Workload
    cores: int
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    _: KW_ONLY
    outcome: NDArray[np.int8] = None  # type: ignore[assignment]  # None is filled in below
    counted: NDArray[np.bool_] = None  # type: ignore[assignment]  # None is filled in below
    executed_s: NDArray[np.float64] = None  # type: ignore[assignment]  # None is filled in below
    clusters: tuple[ClusterSpec, ...] = ()
    cluster: NDArray[np.int64] = None  # type: ignore[assignment]  # None is filled in below
    attempts: "pd.DataFrame | None" = None
    parts: "pd.DataFrame | None" = None
    elsewhere: "pd.DataFrame | None" = None
    off_spans: "pd.DataFrame | None" = None
    window: tuple[float, float] | None = None
    whole_window: tuple[float, float] | None = None
    workflow_outcome: NDArray[np.int8] | None = None
    critical_path_s: NDArray[np.float64] | None = None
    price: NDArray[np.float64] | None = None
    terms: Terms = _UNKNOWN_TERMS
    about: Mapping[str, object] = field(default_factory=dict)

    if TYPE_CHECKING:  # the arguments, wider than the attributes

        def __init__(
            self,
            workload: Workload,
            cores: int,
            start_s: NDArray[np.float64],
            end_s: NDArray[np.float64],
            *,
            outcome: NDArray[np.integer] | None = None,
            counted: NDArray[np.bool_] | None = None,
            executed_s: NDArray[np.float64] | None = None,
            clusters: Sequence[ClusterSpec] = (),
            cluster: NDArray[np.integer] | None = None,
            attempts: "pd.DataFrame | None" = None,
            parts: "pd.DataFrame | None" = None,
            elsewhere: "pd.DataFrame | None" = None,
            off_spans: "pd.DataFrame | None" = None,
            window: tuple[float, float] | None = None,
            whole_window: tuple[float, float] | None = None,
            workflow_outcome: NDArray[np.integer] | None = None,
            critical_path_s: NDArray[np.float64] | None = None,
            price: NDArray[np.float64] | None = None,
            terms: Terms = ...,
            about: Mapping[str, object] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check them."""
        rows, fix = len(as_instance("workload", self.workload, Workload)), partial(object.__setattr__, self)
        self._fill_clusters()
        fix("end_s", _fixed("end_s", self.end_s, np.float64, rows))
        if self.outcome is None:
            fix("outcome", np.where(np.isnan(self.end_s), UNFINISHED, COMPLETED))
        if self.counted is None:
            fix("counted", np.ones(rows, dtype=np.bool_))
        for name, dtype in _ROW_COLUMNS.items():
            if getattr(self, name) is not None:
                fix(name, _fixed(name, getattr(self, name), dtype, rows))
        if self.cluster is None:
            fix("cluster", same(np.int64(0), rows))
        self._check()
        executed_s = self.executed_s if self.terms.modelled else None
        if executed_s is None:
            executed_s = executed_by(self.outcome, self.workload.runtime_s, self.workload.estimate_s)
        fix("executed_s", _fixed("executed_s", executed_s, np.float64, rows))
        fix("about", MappingProxyType(dict(self.about)))
        self._keep_tables()
        if not self.workload.is_rigid:
            self._fill_workflows()

    def _keep_tables(self) -> None:
        """Copy the tables of attempts, refuse rows that there are not, and let a part without a number be a machine."""
        fix = partial(object.__setattr__, self)
        attempts, parts = _attempts_field.given(self), _parts_field.given(self)
        if attempts is not None and not callable(attempts):
            fix("attempts", attempts.copy())
            self._attempt_rows()
        if parts is not None and not callable(parts) and "machines" not in parts:
            fix("parts", parts.assign(machines=1))
        if self.elsewhere is not None:
            fix("elsewhere", self.elsewhere.copy())
            rows_of(self.elsewhere, self.workload)

    def _fill_clusters(self) -> None:
        """Put one pool where no clusters are named, and refuse clusters that do not have the cores."""
        if not is_whole(self.cores, 1, math.inf):  # several clusters may have more than 2**53
            raise RequestError(must_be("cores", "an integer >= 1", self.cores))
        clusters = tuple(map(ClusterSpec.of, self.clusters)) or (ClusterSpec("cluster", int(self.cores)),)
        cores = sum(spec.cores for spec in clusters)
        if cores != self.cores:
            raise RequestError(f"a schedule of {self.cores} cores on clusters of {cores}", "give both the same")
        object.__setattr__(self, "clusters", clusters)

    def _check(self) -> None:
        """Refuse outcomes that cannot be, and machines of which not all is said."""
        strange = self.outcome.view(np.uint8) > UNFINISHED  # what is below 0 is above 127 there
        if np.count_nonzero(strange):
            row = int(strange.argmax())
            raise ColumnError("outcome", row, "0, 1 or 2", self.outcome[row])
        if self.off_spans is None:
            return
        attempts = _attempts_field.given(self)
        if attempts is None or not (callable(attempts) or set(MACHINE_COLUMNS) <= {*attempts}):
            raise RequestError(
                "a schedule on machines without all attempts", f"give them with {', '.join(MACHINE_COLUMNS)}"
            )
        if self.window is None:
            raise RequestError("a schedule on machines without a window", "give its first and last instant")

    def _fill_workflows(self) -> None:
        """Say what became of workflows, if that is not given."""
        flows, fix = self.workload.workflows, partial(object.__setattr__, self)
        for name, dtype in (("workflow_outcome", np.int8), ("critical_path_s", np.float64)):
            given = getattr(self, name)
            if given is None and name == "workflow_outcome":
                of = self.workload.tasks.workflow  # type: ignore[union-attr]  # it has tasks
                undone = np.bincount(of[(of >= 0) & (self.outcome == UNFINISHED)], minlength=len(flows)) > 0
                given = np.where(undone, OPEN, FINISHED)
            elif given is None:
                terms = self.terms
                given = [flow.critical_path_s(terms.ccr, tick_s=terms.tick_s) for flow in flows]
            fix(name, _fixed(name, given, dtype, len(flows)))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments (a read-only mapping cannot be pickled)."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        given = [named.pop(name) for name in ("workload", "cores", "start_s", "end_s")]
        if not self.cluster.strides[0]:
            del named["cluster"]
        return partial(type(self), **{**named, "about": dict(self.about)}), tuple(given)

    def __len__(self) -> int:
        """Return the number of rows: of jobs, where all are rigid, else of jobs and tasks."""
        return len(self.start_s)

    @classmethod
    def from_attempts(
        cls,
        workload: Workload,
        clusters: Sequence[ClusterSpec],
        rows: NDArray[np.int64],
        attempts: Mapping[str, NDArray[np.generic]],
        *,
        off: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None = None,
        window: tuple[float, float] | None = None,
        keep: bool = True,
        parts: "pd.DataFrame | Callable[[], pd.DataFrame] | None" = None,
        elsewhere: "pd.DataFrame | None" = None,
        counted: NDArray[np.bool_] | None = None,
        workflow_outcome: NDArray[np.int8] | None = None,
        critical_path_s: NDArray[np.float64] | None = None,
        price: NDArray[np.float64] | None = None,
        terms: Terms = _UNKNOWN_TERMS,
        about: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        """Return the schedule of these attempts, in order of start.

        Parameters
        ----------
        workload, clusters, window
            As in the class.
        rows
            int64[k], the input row of each attempt.
        attempts
            `start_s`, `end_s` and `outcome` of each; `executed_s`, else end - start; `attempt`, their numbers, if some
            are elsewhere; and the further columns of a table of attempts that are known.
        off
            The spans in which machines were off, in any order: cluster, machine, begin, and end (infinity if it has not
            ended). None if no cluster has machines.
        keep
            Whether the table of attempts is kept; it need not be if each job ran once, on a pool.
        parts, elsewhere, counted, workflow_outcome, critical_path_s, price, terms, about
            As in the class; parts may be given as what makes them, when somebody asks for them.
        """
        start_s, end_s, executed_s = np.full((3, len(workload)), np.nan)
        outcome = np.full(len(workload), UNFINISHED, np.int8)
        done = attempts["outcome"] != UNFINISHED
        starts_s, ends_s = (np.asarray(attempts[name], np.float64) for name in ("start_s", "end_s"))
        start_s[rows] = starts_s  # by start, so the last attempt of a job is what stays
        end_s[rows] = np.where(done, ends_s, np.nan)
        executed_s[rows] = np.where(done, attempts.get("executed_s", ends_s - starts_s), np.nan)
        outcome[rows] = attempts["outcome"]
        cluster = None
        if len(clusters) > 1 or not workload.is_rigid:
            cluster = np.full(len(workload), -1)
            cluster[rows] = attempts.get("cluster", 0)

        def table() -> "pd.DataFrame":
            kept = {name: column for name, column in attempts.items() if name != "executed_s"}
            kept["outcome"] = attempts["outcome"].astype(np.int8)
            numbers = {"job_id": workload.job_id[rows], "row": rows, "attempt": kept.pop("attempt", numbered(rows))}
            return pd.DataFrame({**numbers, **kept}, copy=False)

        return cls(
            workload,
            sum(spec.cores for spec in clusters),
            start_s,
            end_s,
            outcome=outcome,
            executed_s=executed_s,
            clusters=clusters,
            cluster=cluster,
            attempts=table if keep else None,  # type: ignore[arg-type]  # see `_WhenAsked`
            off_spans=None if off is None or window is None else off_table(*off, window),
            window=window,
            parts=parts,  # type: ignore[arg-type]  # as above
            elsewhere=elsewhere,
            counted=counted,
            workflow_outcome=workflow_outcome,
            critical_path_s=critical_path_s,
            price=price,
            terms=terms,
            about=about,
        )

    # -- what it is made of ---------------------------------------------------------------------

    def window_s(self) -> tuple[float, float]:
        """Return the window of the metrics: first submit and last end of the counted jobs; NaN without.

        It begins no earlier than what was simulated.
        """
        first, last = window_of(self.workload.submit_s, self.end_s, self.counted, self.outcome != UNFINISHED)
        return first if self.window is None else max(first, self.window[0]), last

    @property
    def began_s(self) -> NDArray[np.float64]:
        """Return float64[n], when each row began to run: its start, unless it ran when a window began."""
        return self._evidence().began_s

    @property
    def earlier_s(self) -> NDArray[np.float64]:
        """Return float64[n], for how long each row had run when a window began."""
        return self._evidence().earlier_s

    @property
    def simulated_s(self) -> tuple[float, float]:
        """Return first and last instant of what was simulated; if not known, from the first submit to the last end.

        What ran on one cluster (`on`) has that of the whole.
        """
        return self.window or self.whole_window or self.window_s()

    @property
    def capacity(self) -> Capacity:
        """Return how many machines of the cluster were on, over time; of one of several, ``on(name).capacity``.

        Raises
        ------
        RequestError
            There are several clusters, or the one has no machines.
        """
        if len(self.clusters) != 1 or self.off_spans is None:
            raise RequestError(
                f"the capacity of {len(self.clusters)} clusters", "ask for that of one with machines: on(name).capacity"
            )
        return machines_on(self.off_spans, 0, self.clusters[0].machines, self.simulated_s)

    @property
    def cores_per_machine(self) -> int:
        """Return the cores of each machine, of the one cluster."""
        if len(self.clusters) != 1:
            raise RequestError(
                f"the machines of {len(self.clusters)} clusters", "ask for those of one: on(name).cores_per_machine"
            )
        return self.clusters[0].cores_per_machine

    def _number(self, cluster: int | str) -> int:
        """Return the number of a cluster."""
        names = [spec.name for spec in self.clusters]
        number = names.index(cluster) if cluster in names else cluster
        if not (isinstance(number, int) and 0 <= number < len(names)):
            raise UnknownNameError("cluster", str(cluster), tuple(names))
        return number

    def on(self, cluster: int | str | ClusterSpec) -> Self:
        """Return what ran on one cluster, as a schedule of rigid jobs: rows that ran there, with their attempts there.

        The parts of all clusters add up to the whole. A job that was lost here and ran again elsewhere is unfinished
        here, and counted there, in `jobs` and in the means.

        Parameters
        ----------
        cluster
            Its name or its number, or what `clusters` says of it.

        Raises
        ------
        UnknownNameError
            There is no such cluster.
        """
        number = self._number(cluster.name if isinstance(cluster, ClusterSpec) else cluster)
        spec, evidence = self.clusters[number], self._evidence()
        runs, _ = evidence.in_order()
        here = (runs.cluster == number) & ~np.isnan(runs.start_s)
        rows, first = np.unique(runs.row[here], return_index=True)
        last = np.append(first[1:], here.sum())[: len(rows)] - 1
        away = pd.DataFrame(runs.take(~here & np.isin(runs.row, rows) & ~np.isnan(runs.start_s))._asdict())
        gone = evidence.moved[rows] | (self.cluster[rows] != number)
        table = parts = None
        if self.attempts is not None:
            given = self._listed()
            kept = given.cluster == number
            table = self.attempts[kept].assign(row=np.searchsorted(rows, given.row[kept]), cluster=0)
        if self.parts is not None:
            which = pd.DataFrame({"row": runs.row[here], "attempt": runs.attempt[here]})
            parts = self.parts.merge(which, on=["row", "attempt"])
            parts = parts.assign(row=np.searchsorted(rows, parts["row"])).astype({"row": parts["row"].dtype})
        spans = self.off_spans
        return type(self)(
            self.workload.take(rows),
            spec.cores,
            runs.start_s[here][last],
            np.where(gone, np.nan, self.end_s[rows]),
            outcome=np.where(gone, UNFINISHED, self.outcome[rows]),
            counted=self.counted[rows] & ~gone,
            executed_s=np.where(gone, np.nan, self.executed_s[rows]),
            clusters=(spec,),
            attempts=table,
            parts=parts,
            elsewhere=away.assign(row=np.searchsorted(rows, away["row"])) if len(away) else None,
            off_spans=None if spans is None else spans[spans["cluster"] == number].assign(cluster=0),
            window=self.window,
            whole_window=self.simulated_s,
            terms=self.terms,
            about=self.about,
        )

    def _evidence(self) -> Evidence:
        """Return what is said to have happened, for the proof and the figures of merit."""
        given: dict[str, Any] = {name: getattr(self, name) for name in _AS_GIVEN}
        given |= {
            "attempts": self._attempts(),
            "parts": lambda: self.parts,
            "listed": None if self.attempts is None else np.bincount(self._attempt_rows(), minlength=len(self)),
            "elsewhere": self._elsewhere(),
        }
        if self.workflow_outcome is None:
            given["workflow_outcome"] = np.empty(0, np.int8)
        return Evidence(**given)

    def _attempts(self) -> Attempts:
        """Return the columns of `all_attempts`."""
        only = self._last()
        return only if self.attempts is None or self.attempts.empty else only.with_earlier(self._listed())

    def _last(self) -> Attempts:
        """Return one attempt for each row, as its own columns say."""
        by_row = {name: getattr(self, name) for name in ("start_s", "end_s", "outcome", "cluster")}
        return Attempts.of(row=np.arange(len(self)), **by_row)

    def _listed(self) -> Attempts:
        """Return the columns of the table of attempts, in its own order."""
        return _NO_ATTEMPTS if self.attempts is None else from_table(self.attempts, self._attempt_rows(), self.cluster)

    def _unlisted(self) -> Attempts:
        """Return the attempts of the rows that the table does not list, in input order."""
        ran = ~np.isnan(self.start_s)
        ran[self._attempt_rows()] = False
        return self._last().take(np.flatnonzero(ran))

    def _given(self) -> Attempts:
        """Return every attempt as columns: the table's in its own order, then those that it does not list."""
        listed, others = self._listed(), self._unlisted()
        if self.attempts is not None and not len(others.row):
            return listed
        others = others._replace(work_s=np.where(others.outcome == UNFINISHED, 0.0, self.executed_s[others.row]))
        if self.attempts is None:
            return others
        pairs: list[Any] = [*zip(listed, others, strict=True)]
        return Attempts(*map(np.concatenate, pairs))

    def _elsewhere(self) -> Attempts:
        """Return the attempts on clusters that are not among those of the schedule."""
        table = self.elsewhere
        if table is None:
            return _NO_ATTEMPTS
        return from_table(table, table["row"].to_numpy().astype(np.int64), self.cluster)

    def _attempt_rows(self) -> NDArray[np.int64]:
        """Return the input row of each row of `attempts`; refuse those that have none."""
        return np.empty(0, np.int64) if self.attempts is None else rows_of(self.attempts, self.workload)


_attempts_field, _parts_field = (_WhenAsked(Recorded.__dict__[name]) for name in ("attempts", "parts"))
type.__setattr__(Recorded, "attempts", _attempts_field)
type.__setattr__(Recorded, "parts", _parts_field)
