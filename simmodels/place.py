"""Place: a cluster of a platform, as a schedule and its proof know it; and the terms that a schedule was made under."""

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Place(NamedTuple):
    """A cluster of a platform.

    Parameters
    ----------
    name
        Its name.
    cores
        Its cores, those of all its machines.
    kind
        The kind of task that it takes; None takes any.
    machines
        How many machines of equal size it is made of; a pool of cores is one.
    """

    name: str
    cores: int
    kind: str | None = None
    machines: int = 1

    @property
    def cores_per_machine(self) -> int:
        """Return the cores of each machine."""
        return self.cores // self.machines


@dataclass(frozen=True, slots=True)
class Terms:
    """What a schedule was made under, as far as its proof and its figures ask.

    Parameters
    ----------
    overrun
        What happened to a job that reached its estimate; None if that is not known, or not the same everywhere.
    modelled
        Whether the model, not the workload, says how long jobs ran.
    adds_up
        Whether the work of a job's attempts adds up to its runtime (attempts resume from checkpoints).
    network, ccr, tick_s
        How the data of workflows travelled; see `simmodels.Auctioneer`.
    """

    overrun: Literal["run", "kill"] | None = None
    modelled: bool = False
    adds_up: bool = False
    network: Literal["cluster", "kind", "none"] = "none"
    ccr: float = 0.0
    tick_s: float = 1.0
