"""The types of options that are taken by name, for type checkers alone; made by `make options`."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Literal, TypedDict

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.policies.priority import Priority
from simmodels.work.workload import Workload


class AuctioneerOptions(TypedDict, total=False):
    """Of `Auctioneer`."""

    bid: str | Priority | Callable[..., float]
    ccr: float
    network: Literal["cluster", "kind", "none"]
    blocking: Literal["kind", "all"]
    successor_sum: Literal["recursive", "unique"]
    plus_one: bool
    tick_s: float | str | timedelta
    backfilling: Literal["none", "greedy", "easy"]
    cluster_fit: Literal["freest", "best"]
    admission: float | None
    prices: bool
    budgets: bool
    end: Literal["drain", "submit"]
    instants: Literal["deadlines", "starvation"]


class FirstFitOptions(TypedDict, total=False):
    """Of `FirstFit`."""

    checkpoints: Checkpoints | None
    order: str | Priority | Callable[..., float]
    aware: bool
    unaware: Literal["shuffled_fill", "random_kill"]
    fill_order: Iterable[int] | None
    fit: Literal["first", "best"]
    dispatch: Literal["event", "instant"]


class PackedTargetAsapOptions(TypedDict, total=False):
    """Of `PackedTargetAsap`."""

    checkpoints: Checkpoints | None
    reference: Workload | None
    category: Literal["ge", "gt", "thousandths"]
    length_cap_s: float | str | timedelta
    least_machines: int | None
    initial_use: Literal["least", "middle"]
    raise_above: float
    lower_below: float
    distance: int
    stay_on_target: bool
    requeue_immediate: bool
    longest_stretch: Literal["planned", "completed"]
    search: Literal["used", "open"]
    nearer_first: Literal["right", "left"]
    ties: Literal["index", "window"] | None
    replan_on_add: Literal["always", "util"]
    packing: Literal["packs", "nearest", "floor"]
    pack_size: int


class QueueSchedulerOptions(TypedDict, total=False):
    """Of `QueueScheduler`."""

    order: str | Priority | Callable[..., float]
    backfilling: Literal["none", "greedy", "easy", "conservative"]
    backfill_order: str | Priority | Callable[..., float] | None
    threshold_s: float | str | timedelta | None
    decide: Literal["instant", "event"]
    overrun: Literal["run", "kill"]
    queue_depth: int | None
    warm_jobs: int
    max_starts: int | None


class TargetAsapOptions(TypedDict, total=False):
    """Of `TargetAsap`."""

    checkpoints: Checkpoints | None
    reference: Workload | None
    category: Literal["ge", "gt", "thousandths"]
    length_cap_s: float | str | timedelta
    least_machines: int | None
    initial_use: Literal["least", "middle"]
    raise_above: float
    lower_below: float
    distance: int
    stay_on_target: bool
    requeue_immediate: bool
    longest_stretch: Literal["planned", "completed"]
    search: Literal["used", "open"]
    nearer_first: Literal["right", "left"]
    ties: Literal["index", "window"] | None
    replan_on_add: Literal["always", "util"]


class TargetStretchOptions(TypedDict, total=False):
    """Of `TargetStretch`."""

    checkpoints: Checkpoints | None
    reference: Workload | None
    category: Literal["ge", "gt", "thousandths"]
    length_cap_s: float | str | timedelta
    least_machines: int | None
    initial_use: Literal["least", "middle"]
    raise_above: float
    lower_below: float
    distance: int
    alternative: Literal["earliest", "first"]
    longest_stretch: Literal["planned", "completed"]
    search: Literal["used", "open"]
    nearer_first: Literal["right", "left"]
    ties: Literal["index", "window"] | None
    replan_on_add: Literal["always", "util"]


class SimulateOptions(TypedDict, total=False):
    """Of `simulate`."""

    order: str | Priority | Callable[..., float]
    backfilling: Literal["none", "greedy", "easy", "conservative"]
    backfill_order: str | Priority | Callable[..., float] | None
    threshold_s: float | str | timedelta | None
    decide: Literal["instant", "event"]
    overrun: Literal["run", "kill"]
    queue_depth: int | None
    warm_jobs: int
    max_starts: int | None
    aware: bool
    unaware: Literal["shuffled_fill", "random_kill"]
    fill_order: Iterable[int] | None
    fit: Literal["first", "best"]
    dispatch: Literal["event", "instant"]
    reference: Workload | None
    category: Literal["ge", "gt", "thousandths"]
    length_cap_s: float | str | timedelta
    least_machines: int | None
    initial_use: Literal["least", "middle"]
    raise_above: float
    lower_below: float
    distance: int
    stay_on_target: bool
    requeue_immediate: bool
    alternative: Literal["earliest", "first"]
    longest_stretch: Literal["planned", "completed"]
    search: Literal["used", "open"]
    nearer_first: Literal["right", "left"]
    ties: Literal["index", "window"] | None
    replan_on_add: Literal["always", "util"]
    packing: Literal["packs", "nearest", "floor"]
    pack_size: int
    bid: str | Priority | Callable[..., float]
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
    forward: bool


class SimulateOnMachinesOptions(TypedDict, total=False):
    """Of `simulate_on_machines`."""

    checkpoints: Checkpoints | None
    order: str | Priority | Callable[..., float]
    aware: bool
    unaware: Literal["shuffled_fill", "random_kill"]
    fill_order: Iterable[int] | None
    fit: Literal["first", "best"]
    dispatch: Literal["event", "instant"]
    reference: Workload | None
    category: Literal["ge", "gt", "thousandths"]
    length_cap_s: float | str | timedelta
    least_machines: int | None
    initial_use: Literal["least", "middle"]
    raise_above: float
    lower_below: float
    distance: int
    stay_on_target: bool
    requeue_immediate: bool
    alternative: Literal["earliest", "first"]
    longest_stretch: Literal["planned", "completed"]
    search: Literal["used", "open"]
    nearer_first: Literal["right", "left"]
    ties: Literal["index", "window"] | None
    replan_on_add: Literal["always", "util"]
    packing: Literal["packs", "nearest", "floor"]
    pack_size: int


class SimulateWorkflowsOptions(TypedDict, total=False):
    """Of `simulate_workflows`."""

    ccr: float
    network: Literal["cluster", "kind", "none"]
    blocking: Literal["kind", "all"]
    successor_sum: Literal["recursive", "unique"]
    plus_one: bool
    tick_s: float | str | timedelta
    backfilling: Literal["none", "greedy", "easy"]
    cluster_fit: Literal["freest", "best"]
    admission: float | None
    prices: bool
    budgets: bool
    end: Literal["drain", "submit"]
    instants: Literal["deadlines", "starvation"]
    forward: bool
