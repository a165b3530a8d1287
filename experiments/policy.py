"""Policy: what decides in a simulation, under the name by which it is shown and compared."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from experiments.inputs import named_priority
from simmodels.errors import RequestError, require_known
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.results.logged import AS_LOGGED

Kind = Literal["order", "heuristic", "bid", "router"]

FIRST_FIT: Final = ("FirstFitAware", "FirstFitUnaware")
ASAP: Final = ("TargetAsap", "PackedTargetAsap")
TARGETED: Final = ("TargetStretch", *ASAP)
FIVE: Final = (*FIRST_FIT, *TARGETED)
"""The heuristics of the paper on variable capacity."""
QUEUES: Final = ("EASY", "FCFS")
"""The queues that clusters have, on the same machines."""
AUCTION: Final = "Auction"
HEURISTICS: Final[Mapping[str, str]] = {
    "FirstFitAware": "one queue; machines are filled from the safest on, which is switched off last",
    "FirstFitUnaware": "one queue; machines are filled in a random order",
    "TargetStretch": "long jobs on safe machines: a job waits for its target while its stretch is below the longest",
    "TargetAsap": "long jobs on safe machines: a job takes the free one nearest to its target, else the next free",
    "PackedTargetAsap": "as TargetAsap, with packs of machines as targets",
    "FirstFit": "one queue; machines are filled as --aware, --unaware and --fill-order say",
    "EASY": "a queue with EASY backfilling, first come, first served; a job may be on several machines",
    "FCFS": "a queue without backfilling, first come, first served; a job may be on several machines",
}
"""What may decide on machines, with what it does, in words."""
ROUTERS: Final[Mapping[str, str]] = {
    "RoundRobin": "each job to the next cluster that is large enough",
    "LeastLoaded": "each job to the cluster with the least work per core, by limits",
    "EarliestStart": "each job to the cluster that is predicted to start it first",
    "ByPartition": "each job to the cluster of its partition, which has cores of its own",
    "ByQueue": "each job to the cluster of its queue, which has cores of its own",
    AUCTION: "each job to the cluster with the best offer, in an auction by --bid",
}
"""What may stand before several clusters, with where it sends jobs, in words."""
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "FirstFitAware": {"heuristic": "FirstFit", "aware": True},
    "FirstFitUnaware": {"heuristic": "FirstFit", "aware": False},
    "EASY": {"backfilling": "easy"},
    "FCFS": {"backfilling": "none"},
    AUCTION: {"forward": True},
}
"""What makes `simmodels.simulate` use those of them that it does not name so itself."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides: an order, a heuristic, a bid or a router.

    Parameters
    ----------
    kind
        Which of these.
    name
        The name under which it is shown.
    options
        What makes `simmodels.simulate` use it.
    """

    kind: Kind
    name: str
    options: Mapping[str, Any]

    @property
    def priority(self) -> Priority | None:
        """Return the order or the bid."""
        found = self.options.get(self.kind)
        return found if isinstance(found, Priority) else None

    @property
    def formula(self) -> str:
        """Return the formula of the order or bid; else the name."""
        return self.name if self.priority is None else self.priority.formula

    @property
    def file_name(self) -> str:
        """Return a name for its file, of characters that all file systems take."""
        return re.sub(r"[^\w.+-]", "_", self.name).lstrip(".")


def policy_of(kind: Kind, given: str | Priority) -> Policy:
    """Return the policy of a name, or of an order or bid.

    Orders and bids may also be ``path/to/file.py:name`` or ``path/to/fit.toml``. Heuristics are those of
    `simmodels.simulate`; ``FirstFitAware`` and ``FirstFitUnaware``; and ``EASY`` and ``FCFS``, the queues with and
    without backfilling, in which a job may be on several machines. Routers are those of `simmodels.simulate`, and
    ``Auction``, which forwards each task to the queue with the best offer.

    Raises
    ------
    UnknownNameError, RequestError, FileFormatError
        There is none of this name; see `experiments.inputs.named_priority`.
    """
    if isinstance(given, Priority):
        return Policy(kind, given.name, {kind: given})
    if kind in {"order", "bid"}:
        found = named_priority(given, "bid" if kind == "bid" else "order")
        return Policy(kind, found.name, {kind: found})
    require_known(kind, given, HEURISTICS if kind == "heuristic" else ROUTERS)
    return Policy(kind, given, _OPTIONS.get(given, {kind: given}))


def chosen_policies(kind: Kind, given: Sequence[str | Priority | Policy]) -> tuple[Policy, ...]:
    """Return the policies of these names, each once; see `policy_of`.

    Raises
    ------
    UnknownNameError, RequestError
        A name is unknown, there is none, or two policies have the same name or would go into the same file.
    """
    found = tuple(each if isinstance(each, Policy) else policy_of(kind, each) for each in given)
    if not found:
        raise RequestError(f"there are no {kind}s to compare", "give at least one")
    files: dict[str, str] = {}
    for number, each in enumerate(found):
        if each.name == AS_LOGGED:
            raise RequestError(
                f"the name {AS_LOGGED!r} stands for what a log records", f"choose another name for the {kind}"
            )
        if each.name in {other.name for other in found[:number]}:
            raise RequestError(f"{kind} {each.name!r} is given twice", "omit one of them")
        other = files.setdefault(each.file_name.lower(), each.name)
        if other != each.name:
            raise RequestError(
                f"{kind}s {other!r} and {each.name!r} would have one file", "choose another name for one of them"
            )
    return found


def require_shares_used(given: Collection[str], queues: Sequence[QueueOptions]) -> None:
    """Refuse shares, if they are among the options given to queues, none of which counts what users use."""
    if "shares" in given and queues and not any(each.counts_usage for each in queues):
        asked = ", ".join(dict.fromkeys(each.order.name for each in queues))
        raise RequestError(f"shares has no effect on {asked}", "use it with an order that names fairshare")
