"""The types of options that are taken by name, for type checkers alone; made by `make options`."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.clusters.limit import Limit
from simmodels.clusters.limits import Limits
from simmodels.clusters.shares import Share, Shares
from simmodels.policies.priority import Priority
from simmodels.work.workload import Workload


class _WithCcr(TypedDict, total=False):
    """Of `Auctioneer`, `simulate`, `simulate_workflows`."""

    ccr: float
    network: Literal["cluster", "kind", "none"]
    blocking: Literal["kind", "all"]
    successor_sum: Literal["recursive", "unique"]
    plus_one: bool
    tick_s: float | str | timedelta
    cluster_fit: Literal["freest", "best"]
    admission: float | None
    prices: bool
    budgets: bool
    end: Literal["drain", "submit"]
    instants: Literal["deadlines", "starvation"]


class _WithAware(TypedDict, total=False):
    """Of `FirstFit`, `simulate`, `simulate_on_machines`."""

    aware: bool
    unaware: Literal["shuffled_fill", "random_kill"]
    fill_order: Iterable[int] | None
    fit: Literal["first", "best"]
    dispatch: Literal["event", "instant"]


class _WithReference(TypedDict, total=False):
    """Of `PackedTargetAsap`, `TargetAsap`, `TargetStretch`, `simulate`, `simulate_on_machines`."""

    reference: Workload | None
    category: Literal["ge", "gt", "thousandths"]
    length_cap_s: float | str | timedelta
    least_machines: int | None
    initial_use: Literal["least", "middle"]
    raise_above: float
    lower_below: float
    distance: int
    longest_stretch: Literal["planned", "completed"]
    search: Literal["used", "open"]
    nearer_first: Literal["right", "left"]
    ties: Literal["index", "window"] | None
    replan_on_add: Literal["always", "util"]


class _WithBackfilling(TypedDict, total=False):
    """Of `QueueScheduler`, `simulate`, `simulate_many`."""

    backfilling: Literal["none", "greedy", "easy", "conservative"]
    backfill_order: str | Priority | Callable[..., float] | None
    threshold_s: float | str | timedelta | None
    decide: Literal["instant", "event"]
    overrun: Literal["run", "kill"]
    queue_depth: int | None
    warm_jobs: int
    max_starts: int | None
    max_backfills: int | None


class AuctioneerOptions(_WithCcr, total=False):
    """Of `Auctioneer`."""

    bid: str | Priority | Callable[..., float]
    backfilling: Literal["none", "greedy", "easy"]


class FirstFitOptions(_WithAware, total=False):
    """Of `FirstFit`."""

    checkpoints: Checkpoints | None
    order: str | Priority | Callable[..., float]


class PackedTargetAsapOptions(_WithReference, total=False):
    """Of `PackedTargetAsap`."""

    checkpoints: Checkpoints | None
    stay_on_target: bool
    requeue_immediate: bool
    packing: Literal["packs", "nearest", "floor"]
    pack_size: int


class QueueSchedulerOptions(_WithBackfilling, total=False):
    """Of `QueueScheduler`."""

    order: str | Priority | Callable[..., float]
    limits: Limits | str | PathLike[str] | Iterable[Limit | Mapping[str, Any]] | None
    shares: Shares | str | PathLike[str] | Iterable[Share | Mapping[str, Any]] | None


class TargetAsapOptions(_WithReference, total=False):
    """Of `TargetAsap`."""

    checkpoints: Checkpoints | None
    stay_on_target: bool
    requeue_immediate: bool


class TargetStretchOptions(_WithReference, total=False):
    """Of `TargetStretch`."""

    checkpoints: Checkpoints | None
    alternative: Literal["earliest", "first"]


class SimulateOptions(_WithCcr, _WithAware, _WithReference, _WithBackfilling, total=False):
    """Of `simulate`."""

    order: str | Priority | Callable[..., float]
    limits: Limits | str | PathLike[str] | Iterable[Limit | Mapping[str, Any]] | None
    shares: Shares | str | PathLike[str] | Iterable[Share | Mapping[str, Any]] | None
    stay_on_target: bool
    requeue_immediate: bool
    alternative: Literal["earliest", "first"]
    packing: Literal["packs", "nearest", "floor"]
    pack_size: int
    bid: str | Priority | Callable[..., float]
    forward: bool


class SimulateManyOptions(_WithBackfilling, total=False):
    """Of `simulate_many`."""


class SimulateOnMachinesOptions(_WithAware, _WithReference, total=False):
    """Of `simulate_on_machines`."""

    checkpoints: Checkpoints | None
    order: str | Priority | Callable[..., float]
    stay_on_target: bool
    requeue_immediate: bool
    alternative: Literal["earliest", "first"]
    packing: Literal["packs", "nearest", "floor"]
    pack_size: int


class SimulateWorkflowsOptions(_WithCcr, total=False):
    """Of `simulate_workflows`."""

    backfilling: Literal["none", "greedy", "easy"]
    forward: bool
