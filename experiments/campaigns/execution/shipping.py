"""Shipping: what cells share, on all workers of a dask cluster, also on those that come later.

As data of the cluster (`Client.scatter`) it would go with the workers that hold it: when the last of them dies, so do
the batches that need it, and now and then nothing reports it. As a plugin it is the scheduler's, which hands it to each
worker before its first batch. Only `experiments.campaigns.execution.backends` imports this, and only for dask.
"""

import threading
from collections.abc import Sequence
from typing import Any

from distributed import SchedulerPlugin, WorkerPlugin

from experiments.campaigns.execution.batches import Job, Outcome, run_batch
from experiments.campaigns.execution.workers import Worker
from experiments.campaigns.planning.plan import Shipment

_shipped: dict[str, Shipment] = {}
"""In a worker: what the cells of each campaign share, by the plugin's name."""
_timed: dict[tuple[str, int], Worker] = {}
"""In a worker: the process that runs the cells, for each campaign with a limit for them and each thread."""


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
        for key in [key for key in _timed if key[0] == self.name]:
            _timed.pop(key).end()


def unshipping(name: str, own: str) -> SchedulerPlugin:
    """Return what takes a `Shipping` off all workers when its client leaves the scheduler, also if that is killed.

    The class is made here, so that it is sent as it is: there need be no schedlab where the scheduler runs.

    Parameters
    ----------
    name
        The name of the `Shipping`.
    own
        What the scheduler knows the client by.
    """

    class Unshipping(SchedulerPlugin):
        def __init__(self) -> None:
            self.name = f"{name}-ends"

        def remove_client(self, scheduler: Any, client: str) -> None:  # noqa: ANN401  dask's
            if client == own:
                scheduler.remove_plugin(name=self.name)
                if name in scheduler.worker_plugins:
                    scheduler.loop.add_callback(scheduler.unregister_worker_plugin, comm=None, name=name)

    return Unshipping()


def run_there(name: str, jobs: Sequence[Job], limit_s: float | None = None) -> Outcome:
    """Run a batch on such a worker; if cells have a limit, in a process of its own, which can be ended.

    The worker itself goes on: ended by the runner it would need a nanny, and take the batches of its other threads.
    """
    if limit_s is None:
        return run_batch(_shipped[name], jobs)
    key = name, threading.get_ident()
    try:
        if key not in _timed:
            _timed[key] = Worker(limit_s)
            _timed[key].begin(_shipped[name])
        done, answer = _timed[key].ask((run_batch, (jobs,)))
    except Exception:
        if key in _timed:
            _timed.pop(key).end()
        raise
    if not done:
        raise answer
    outcome: Outcome = answer
    return outcome
