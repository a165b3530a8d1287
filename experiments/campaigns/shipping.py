"""Shipping: what cells share, on all workers of a dask cluster, also on those that come later.

As data of the cluster (`Client.scatter`) it would go with the workers that hold it: when the last of them dies, so do
the batches that need it, and now and then nobody is told. As a plugin it is the scheduler's, which hands it to each
worker before its first batch. Only `experiments.campaigns.places` imports this, and only where dask is used.
"""

from collections.abc import Sequence
from typing import Any

from distributed import WorkerPlugin

from experiments.campaigns.batches import Job, Outcome, run_batch
from experiments.campaigns.plan import Shipment

_shipped: dict[str, Shipment] = {}
"""In a worker: what the cells of each campaign share, by the plugin's name."""


class Shipping(WorkerPlugin):
    """Has what cells share on each worker.

    Parameters
    ----------
    name
        What it is known by; each run has its own.
    shipment
        What the cells share.
    """

    def __init__(self, name: str, shipment: Shipment) -> None:
        self.name = name
        self.shipment = shipment

    def setup(self, worker: Any) -> None:  # noqa: ANN401, ARG002  dask's
        """Take it in."""
        _shipped[self.name] = self.shipment

    def teardown(self, worker: Any) -> None:  # noqa: ANN401, ARG002  dask's
        """Let it go."""
        _shipped.pop(self.name, None)


def run_there(name: str, jobs: Sequence[Job]) -> Outcome:
    """Run a batch on such a worker."""
    return run_batch(_shipped[name], jobs)
