"""Places: where batches of cells are run, each behind an executor of `concurrent.futures`.

All places give the same results; they differ in how a worker starts, how it gets what the cells share, and how one
learns that it died.
"""

import multiprocessing
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final, Self

from experiments.campaigns.batches import Job, Outcome, run_batch
from experiments.campaigns.plan import Shipment
from experiments.inputs import told
from simmodels.errors import RequestError, StoppedError

_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KEPT: Final = "what was finished is kept, and the same command goes on"
_PATIENCE_S: Final = 60.0


class Place(ABC):
    """Where batches are run; a context, which on leaving drops what is still under way.

    Parameters
    ----------
    shipment
        What the cells share; each worker is sent it once.
    """

    lost: tuple[type[BaseException], ...] = ()
    """The errors of a batch that mean that its worker died."""
    workers: int = 1
    """How many batches are run at a time."""

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment

    @abstractmethod
    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Have a batch run."""

    def restart(self) -> None:
        """Make it fit for use again, after a worker died.

        Raises
        ------
        StoppedError
            That is not possible.
        """
        raise StoppedError("the worker died, and it is this process")

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...


class Here(Place):
    """In this process: one batch at a time, while it is submitted; for a debugger."""

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Run a batch."""
        future: Future[Outcome] = Future()
        future.set_result(run_batch(self.shipment, jobs))
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


# -- processes of this machine ----------------------------------------------------------------------


class Processes(Place):
    """Processes of this machine, started afresh (spawned); they end when this process does, however it ends.

    Parameters
    ----------
    shipment
        What the cells share.
    workers
        How many processes, >= 1.
    """

    lost = (BrokenProcessPool, CancelledError)

    def __init__(self, shipment: Shipment, workers: int) -> None:
        super().__init__(shipment)
        if workers < 1:
            raise RequestError(f"{workers} workers", "an integer >= 1 is allowed; 0 runs the cells in this process")
        self.workers = workers
        self._executor: Executor | None = None
        self._lifeline: Connection | None = None
        self._outside: dict[str, str | None] = {}

    def __enter__(self) -> Self:
        # A worker has one core: libraries with threads of their own would only stand in each other's way.
        self._outside = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update({name: "1" for name, value in self._outside.items() if value is None})
        self.restart()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        for name, value in self._outside.items():
            if value is None:
                os.environ.pop(name, None)

    def restart(self) -> None:
        """Start processes anew; what the old ones were doing is dropped."""
        self._stop()
        held, self._lifeline = multiprocessing.get_context("spawn").Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(
            self.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
            initargs=(self.shipment, held),
        )
        self._held = held  # is sent to each worker when that starts

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Have a batch run."""
        if self._executor is None:
            raise RuntimeError("the place is not entered")
        with _without_interrupts():  # a process may be started; it shall leave Ctrl-C to this one
            return self._executor.submit(_run_here, jobs)

    def _stop(self) -> None:
        if self._executor is not None and self._lifeline is not None:
            self._lifeline.close()  # ends the workers at once
            self._held.close()
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


_shipped: list[Shipment] = []
"""In a worker: what the cells share."""


def _begin_worker(shipment: Shipment, lifeline: Connection) -> None:
    """Get a worker ready."""
    _shipped[:] = [shipment]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.stdout is not None and sys.stderr is not None:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a cell prints is no answer of the command
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    """End this worker when the runner closes the line, or dies."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def _run_here(jobs: Sequence[Job]) -> Outcome:
    """Run a batch in a worker."""
    return run_batch(_shipped[0], jobs)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold SIGINT back, for this thread and the processes started in it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- dask -------------------------------------------------------------------------------------------


class Dask(Place):
    """The workers of a running scheduler of `dask.distributed`.

    Parameters
    ----------
    shipment
        What the cells share.
    address
        The scheduler's, such as ``tcp://node7:8786``.
    """

    def __init__(self, shipment: Shipment, address: str) -> None:
        super().__init__(shipment)
        self.address = address
        try:
            import distributed  # noqa: PLC0415  an extra, which only those have who use it
        except ImportError as error:
            raise RequestError("--dask needs the package distributed", "pip install 'schedlab[dask]'") from error
        self._distributed = distributed
        self.lost = (distributed.KilledWorker, CancelledError)
        self._client: Any = None
        self._executor: Any = None
        self._sent: Any = None

    def __enter__(self) -> Self:
        try:
            self._client = self._distributed.Client(  # type: ignore[no-untyped-call]
                self.address, timeout=_PATIENCE_S / 4, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise RequestError(f"no dask scheduler answers at {self.address}: {told(error)}") from error
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE_S)
        except TimeoutError as error:
            self._client.close()
            what = f"the dask scheduler at {self.address} has no workers after {_PATIENCE_S:g} s"
            raise RequestError(what, "dask worker ADDRESS starts one") from error
        self._executor = self._client.get_executor(pure=False)
        self._send()
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False)
        self._sent = None
        self._client.close(timeout=5)

    def restart(self) -> None:
        """Send the workers again what the cells share: those that had it may have died."""
        if self._client.status != "running":
            raise StoppedError(f"the dask scheduler at {self.address} has gone", KEPT)
        self._send()

    def _send(self) -> None:
        try:
            self.workers = max(1, sum(self._client.nthreads().values()))
            self._sent = self._client.scatter(self.shipment, broadcast=True, hash=False)
        except (OSError, TimeoutError) as error:
            what = f"the dask workers at {self.address} cannot be sent anything: {told(error)}"
            raise StoppedError(what, KEPT) from error

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Have a batch run."""
        future: Future[Outcome] = self._executor.submit(run_batch, self._sent, jobs)
        return future
