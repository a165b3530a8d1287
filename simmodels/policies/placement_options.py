"""PlacementOptions: how jobs are placed on machines that are switched on and off; checked once, for both engines."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, Self

import numpy as np

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.clusters.cluster_spec import ClusterSpec, Terms
from simmodels.errors import ImpossibleJobError, RequestError, must_be
from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import MOST, Floats, Ints, as_flag, as_integer, as_number, is_whole
from simmodels.ground.streams import stream
from simmodels.passes.machines import Queueing, new_placement_state
from simmodels.passes.planned_starts import FLOOR, NEAREST, PACKS
from simmodels.policies.naming import as_order
from simmodels.policies.options import Options
from simmodels.policies.order import Order
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import as_order_of_queue
from simmodels.policies.risk import Category, risk_table
from simmodels.structures.placement_state import FIRST_FIT, TARGET_ASAP, TARGET_STRETCH, PlacementRules, PlacementState
from simmodels.units import WEEK
from simmodels.work.workload import Workload

Heuristic = Literal["FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap"]
Dispatch = Literal["event", "instant"]
Unaware = Literal["shuffled_fill", "random_kill"]
Packing = Literal["packs", "nearest", "floor"]

_KINDS: Final = {
    "FirstFit": FIRST_FIT,
    "TargetStretch": TARGET_STRETCH,
    "TargetAsap": TARGET_ASAP,
    "PackedTargetAsap": TARGET_ASAP,
}
_BY_SUBMISSION: Final = as_order("FCFS")
_PACKINGS: Final = {"packs": PACKS, "nearest": NEAREST, "floor": FLOOR}
_ASAP: Final = ("TargetAsap", "PackedTargetAsap")
_TARGETED: Final = ("TargetStretch", *_ASAP)
_OWNERS: Final[dict[str, tuple[str, ...]]] = {
    "heuristic": ("FirstFit", *_TARGETED),
    "checkpoints": ("FirstFit", *_TARGETED),
    **dict.fromkeys(("order", "aware", "unaware", "fill_order", "fit", "dispatch"), ("FirstFit",)),
    "alternative": ("TargetStretch",),
    **dict.fromkeys(("stay_on_target", "requeue_immediate"), _ASAP),
    **dict.fromkeys(("packing", "pack_size"), ("PackedTargetAsap",)),
}
"""Which heuristics accept each option; unlisted options apply to all that have targets."""


def has_option(heuristic: str, name: str) -> bool:
    """Return whether an option is one of this heuristic."""
    return heuristic in _OWNERS.get(name, _TARGETED)


_FLAGS: Final = ("aware", "stay_on_target", "requeue_immediate")
_WHOLE: Final = {"distance": 0, "pack_size": 1, "least_machines": 0}
"""The least that each may be."""
_SHARES: Final = ("raise_above", "lower_below")


PLACED: Final = Terms(modelled=True)
"""What a schedule of jobs inside one machine each is proved by: attempts may resume from checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOptions(Options):
    """How jobs are placed on machines that are switched on and off; the defaults resolve the published readings.

    Parameters
    ----------
    heuristic
        ``"FirstFit"``, ``"TargetStretch"``, ``"TargetAsap"`` or ``"PackedTargetAsap"``.
    checkpoints
        How jobs write checkpoints; None for no periodic ones, and for free ones on notice.
    order
        First fit: the order of the queue, see `simmodels.order`. A job passes those before it that fit nowhere. An
        order that changes with time is computed again whenever jobs could start.
    aware
        First fit: fill machines from the safest on, which is switched off last; otherwise as `unaware` says.
    unaware
        First fit. ``"shuffled_fill"``: machines are filled in one random order, drawn once; ``"random_kill"``: a random
        machine is switched off, so that none is safe. Only with ``aware=False``.
    fill_order
        First fit: the order in which machines are filled, all their numbers; by default as `aware` and `unaware` say.
    fit
        First fit: which machine a job gets, of those on which it fits: the ``"first"`` in the fill order, or the
        ``"best"``, which has the fewest free cores (ties go to the first).
    dispatch
        First fit. ``"event"``: each completion refills its machine before the next completion of the instant, and
        machines are filled before the jobs arrive that are submitted then; ``"instant"``: machines are filled once,
        after all events of an instant.
    reference
        Targets: jobs like those to come, from which the categories of lengths are made (the week before).
    category
        Targets: how lengths are divided into categories, ``"ge"``, ``"gt"`` or ``"thousandths"``; see
        `simmodels.policies.risk.risk_table`.
    length_cap_s
        Targets: longer jobs count as this long in the categories.
    least_machines
        Targets: M-, the smallest number of machines used; by default the smallest number that the capacity will have.
    initial_use
        Targets: how many machines are used at first: the ``"least"`` number, or the ``"middle"`` between it and all
        that are on, whatever notice has been given.
    raise_above
        Targets: more machines are used while U, their utilisation, is above this.
    lower_below
        Targets: fewer machines are used while U is below this.
    distance
        Targets: D+, how far from its target a job may be placed, in machines.
    stay_on_target
        TargetASAP: a job waits for its target while its stretch is below the longest so far: step 3 of the paper's
        text, which the authors' program omits.
    requeue_immediate
        TargetASAP: whether a job that is placed again may take the nearest machine on which it can start at once.
    alternative
        TargetStretch: which machine a job takes if its target is too late: that of the ``"earliest"`` start, or the
        ``"first"`` one on which its stretch is below the longest so far.
    longest_stretch
        Targets: whether the longest stretch is taken over ``"planned"`` or ``"completed"`` jobs.
    search
        Targets: whether a job may be placed on machines that are ``"used"``, or on all that are ``"open"``.
    nearer_first
        Targets: which of two machines at the same distance is tried first: that to the ``"right"`` (the next higher
        number) or to the ``"left"``.
    ties
        Targets: which machine beside the target is taken if starts are equal: that of the lowest ``"index"``, or the
        first in the ``"window"``; by default ``"index"`` for TargetASAP without `stay_on_target`, else ``"window"``.
    replan_on_add
        Targets: whether all waiting jobs are planned again when machines are added: ``"always"``, or only if all
        machines were used and U was above `raise_above` (``"util"``).
    packing
        PackedTargetASAP: targets are the first machines of ``"packs"`` of the machines used, or the targets of
        TargetASAP rounded to the ``"nearest"`` multiple of `pack_size` (at most the last machine used) or down
        (``"floor"``).
    pack_size
        PackedTargetASAP: the number of machines in a pack.
    """

    heuristic: Heuristic
    checkpoints: Checkpoints | None = None
    order: Priority = _BY_SUBMISSION
    aware: bool = True
    unaware: Unaware = "shuffled_fill"
    fill_order: tuple[int, ...] | None = None
    fit: Literal["first", "best"] = "first"
    dispatch: Dispatch = "event"
    reference: Workload | None = None
    category: Category = "ge"
    length_cap_s: float = float(WEEK)
    least_machines: int | None = None
    initial_use: Literal["least", "middle"] = "least"
    raise_above: float = 0.95
    lower_below: float = 0.80
    distance: int = 11
    stay_on_target: bool = False
    requeue_immediate: bool = True
    alternative: Literal["earliest", "first"] = "earliest"
    longest_stretch: Literal["planned", "completed"] = "planned"
    search: Literal["used", "open"] = "used"
    nearer_first: Literal["right", "left"] = "right"
    ties: Literal["index", "window"] | None = None
    replan_on_add: Literal["always", "util"] = "always"
    packing: Packing = "packs"
    pack_size: int = 5

    def _changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the options with these changed; options of another heuristic are kept for when it is chosen."""
        return replace(self, **changes).verified(changes)

    def _verified(self, given: Collection[str]) -> Self:
        for name in given:
            if not has_option(self.heuristic, name):
                raise RequestError(f"{self.heuristic} has no option {name}", "it is one of another heuristic")
        made = self._converted()
        made._check_ranges()  # noqa: SLF001  it is one of this class
        if "unaware" in given and made.aware:
            raise RequestError("unaware has no effect while aware is True", "add aware=False")
        if made.heuristic in _TARGETED and made.reference is None:
            raise RequestError(
                f"{made.heuristic} has no reference", "add reference=, jobs like those to come (of the week before)"
            )
        return made

    def _converted(self) -> Self:
        """Return the options with flags and numbers of the types that compiled code knows; refuse what is none."""
        found: dict[str, Any] = {name: as_flag(name, getattr(self, name)) for name in _FLAGS}
        found |= {name: as_number(name, getattr(self, name), finite=False) for name in _SHARES}
        found["length_cap_s"] = as_seconds("length_cap_s", self.length_cap_s, above=0, finite=False)
        for name, least in _WHOLE.items():
            value = getattr(self, name)
            also = "None" if name == "least_machines" else ""
            if not (also and value is None):
                found[name] = as_integer(name, value, least, also=also)
        filled: Any = self.fill_order
        if filled is not None:
            if not np.iterable(filled) or not all(is_whole(each, 0, MOST) for each in filled):
                raise RequestError(must_be("fill_order", "the numbers of the machines, or None", filled))
            found["fill_order"] = tuple(int(each) for each in filled)
        order = as_order_of_queue(self.order)
        if "fairshare" in order.words:
            what = f"order {order.name!r} names fairshare, which {self.heuristic} does not count"
            raise RequestError(what, "choose a queue (backfilling=), or another order")
        return replace(self, order=order, **found)

    def _check_ranges(self) -> None:
        """Refuse numbers that are out of their range, and what is no reference and no checkpoints."""
        if not 0 <= self.lower_below <= self.raise_above:
            given = (self.lower_below, self.raise_above)
            raise RequestError(must_be("lower_below and raise_above", "0 <= lower_below <= raise_above", given))
        kinds: tuple[tuple[str, object, type], ...] = (
            ("reference", self.reference, Workload),
            ("checkpoints", self.checkpoints, Checkpoints),
        )
        for name, value, kind in kinds:
            if not isinstance(value, kind | None):
                raise RequestError(must_be(name, f"a {kind.__name__}, or None", value))

    @property
    def order_of_queue(self) -> Priority:
        """Return the order of first fit's queue; that of submission for targets, which have no queue."""
        return self.order if self.heuristic == "FirstFit" else _BY_SUBMISSION

    @property
    def by_submission(self) -> bool:
        """Whether the queue is in order of submission."""
        return self.order_of_queue == _BY_SUBMISSION

    @property
    def may_refuse(self) -> bool:
        """Return whether the order may give no number for a job."""
        order = self.order_of_queue
        return not (isinstance(order, Order) and order.is_built_in)

    @property
    def random_kill(self) -> bool:
        """Return whether a random machine is switched off, not that of the highest number."""
        return self.heuristic == "FirstFit" and not self.aware and self.unaware == "random_kill"

    @property
    def shuffles(self) -> bool:
        """Return whether the order in which machines are filled is drawn."""
        first_fit = self.heuristic == "FirstFit" and not self.aware and self.fill_order is None
        return first_fit and self.unaware == "shuffled_fill"

    def require_cluster(self, cluster: ClusterSpec, *, as_logged: bool) -> None:
        """Refuse a cluster on which jobs cannot be placed so; `as_logged` is whether each runs for its own runtime."""
        if cluster.sizes:
            what = f"{self.heuristic} on cluster {cluster.name!r}, whose machines differ in size"
            raise RequestError(what, "use machines of one size, or a QueueScheduler")
        if self.heuristic != "FirstFit" and not as_logged:
            what = f"{self.heuristic} on cluster {cluster.name!r}, which says itself how long jobs run"
            raise RequestError(what, "planned starts need lengths that are known exactly")

    def filled(self, machines: int, seed: int) -> Ints:
        """Return int64[machines], in the order in which they are filled; refuse one that is not of these machines."""
        if self.fill_order is not None:
            if sorted(self.fill_order) != list(range(machines)):
                raise RequestError(must_be("fill_order", f"each number from 0 to {machines - 1} once", self.fill_order))
            return np.array(self.fill_order, np.int64)
        if self.shuffles:
            return stream(seed, "capacity", "fill").permutation(machines).astype(np.int64)
        return np.arange(machines)

    def open(
        self,
        columns: tuple[Floats, Floats, Floats],
        cores: Ints,
        *,
        known: tuple[Floats, Floats],
        size: int,
        is_open: Sequence[bool],
        least: int,
        now: float,
        seed: int,
        may_change: bool = True,
    ) -> PlacementState:
        """Return the state of machines with these options, on which nothing runs.

        Parameters
        ----------
        columns, cores
            submit, length and estimate (float64[slots]), and int64[slots].
        known
            What the order knows of each slot beyond these: drawn numbers (or none), and rows.
        size
            The cores of each machine.
        is_open
            bool[machines], which take jobs at first.
        least
            M- where `least_machines` does not say it.
        now
            The instant.
        seed
            For orders that are drawn.
        may_change
            Whether the options may change, so that the longest planned stretch may be asked for later.
        """
        kind = _KINDS[self.heuristic]
        opened = np.array(is_open, np.bool_)
        alive = int(opened.sum())
        floor = least if self.least_machines is None else self.least_machines
        use = floor if self.initial_use == "least" else (alive + floor) // 2
        puts_off = kind == TARGET_ASAP and not (self.stay_on_target or self.replan_on_add == "util" or may_change)
        lengths, weights = np.empty(0), np.zeros(1)
        if self.reference is not None:
            lengths, weights = risk_table(self.reference, category=self.category, cap_s=self.length_cap_s)
        by_rank = kind == TARGET_ASAP and not self.stay_on_target if self.ties is None else self.ties == "index"
        placing = PlacementRules(
            kind=kind,
            by_event=self.dispatch == "event",
            best_fit=self.fit == "best",
            least=floor,
            use=min(max(use, 1), alive),
            raise_above=self.raise_above,
            lower_below=self.lower_below,
            distance=min(self.distance, len(opened)),  # beyond them there is none to go to
            length_cap=self.length_cap_s,
            stay=self.stay_on_target,
            requeue_immediate=self.requeue_immediate,
            first_that_stays=self.alternative == "first",
            by_plan=self.longest_stretch == "planned",
            by_rank=by_rank,
            beyond_use=self.search == "open",
            left_first=self.nearer_first == "left",
            puts_off=puts_off,
            replan_if_full=self.replan_on_add == "util",
            longer_only=self.category != "ge",
            pack=self.pack_size if self.heuristic == "PackedTargetAsap" else 0,
            packing=_PACKINGS[self.packing],
        )
        order = self.order_of_queue
        queueing = Queueing(not self.by_submission, order.moving, order.key_function, *known)
        filled = self.filled(len(opened), seed)
        made: PlacementState = new_placement_state(
            columns, cores, size, opened, filled, placing, lengths, weights, queueing, float(now)
        )
        return made

    def given(self) -> dict[str, Any]:
        """Return the options by name that differ from their defaults, the heuristic apart: as `checked` takes them."""
        others = [each for each in fields(self) if each.name != "heuristic"]
        return {each.name: value for each in others if (value := getattr(self, each.name)) != each.default}

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them: those of the heuristic."""
        names = [each.name for each in fields(self) if has_option(self.heuristic, each.name)]
        kept = {name: getattr(self, name) for name in names}
        if "order" in kept:
            kept["order"] = self.order.name
        if self.reference is not None:
            kept["reference"] = self.reference.name
        return kept


PlacementOptions.refuses = {"limits": ("a placer obeys no limits", "leave the heuristic out, for a queue on machines")}
# How a job runs on is settled by how it was begun.
PlacementOptions.changeable = tuple(each.name for each in fields(PlacementOptions) if each.name != "checkpoints")


def require_lengths(workload: Workload, cores: int) -> None:
    """Refuse a workload with a job that can never run on a machine of `cores` cores, or that has no length."""
    workload.require_runnable(cores)
    none = np.flatnonzero(workload.known() & (workload.runtime_s <= 0))
    if len(none):
        job = workload.job(int(none[0]))
        raise ImpossibleJobError(job.job_id, must_be("runtime_s", "> 0", job.runtime_s), len(none) - 1)
