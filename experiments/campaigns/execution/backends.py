"""Backends: where batches of cells are run, each behind an executor of `concurrent.futures`.

All places give the same results; they differ in how a worker starts, how it gets what the cells share, and how one
learns that it died.
"""

import atexit
import logging
import os
import shutil
import tempfile
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, Self

from experiments.campaigns.execution.batches import Job, Outcome, run_batch
from experiments.campaigns.execution.workers import Call, Worker, WorkerDiedError, without_interrupts
from experiments.campaigns.planning.plan import Shipment
from experiments.campaigns.records import KEPT
from experiments.inputs import describe_error
from simmodels.errors import RequestError, StoppedError
from simmodels.ground.kept_code import CODE_FOLDER, is_kept
from simmodels.ground.numbers import as_integer

_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NEEDED: Final = "schedlab must be installed there"
_PATIENCE_S: Final = 60.0
_CONNECTING_S: Final = 30.0
_TALKERS: Final = ("distributed", "distributed.client", "tornado.application")
_STILLBORN: Final = 5
"""If this many workers in a row die before they are ready, it is not by chance."""


class Backend(ABC):
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

    def restart(self) -> None:  # noqa: B027  most places see to it themselves
        """Make it fit for use again, after a worker died.

        Raises
        ------
        StoppedError
            That is not possible.
        """

    def hindrance(self) -> str:
        """Return why nothing can come back at present; nothing if something may."""
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:  # noqa: B027  not all have something to end
        pass


class InProcess(Backend):
    """In this process: one batch at a time, while it is submitted; for a debugger."""

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Run a batch."""
        future: Future[Outcome] = Future()
        try:
            future.set_result(run_batch(self.shipment, jobs))
        except Exception as error:  # noqa: BLE001  it is for the one who waits for the future
            future.set_exception(error)
        return future


# -- processes of this machine ----------------------------------------------------------------------


class Processes(Backend):
    """Processes of this machine, started afresh (spawned); they end when this process does, however it ends.

    Each is at the end of a line of its own, with a thread here that holds the other end. Why not `ProcessPoolExecutor`,
    loky or dask's `LocalCluster`: see ``docs/explanation/adr/0006``.

    Parameters
    ----------
    shipment
        What the cells share, or whatever else the calls do; it must be possible to pickle it.
    workers
        How many processes, >= 1.
    limit_s
        How long a cell may run, in seconds; None for as long as it takes.
    """

    lost = (WorkerDiedError, CancelledError)

    def __init__(self, shipment: Any, workers: int, *, limit_s: float | None = None) -> None:  # noqa: ANN401  as said
        super().__init__(shipment)
        self.workers = as_integer("workers", workers, 1)
        self._limit_s = limit_s
        self._calls: SimpleQueue[tuple[Future[Any], Call] | None] = SimpleQueue()
        self._changing = threading.Lock()
        self._running: set[Worker] = set()
        self._ended = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(self.workers)]
        self._outside: dict[str, str | None] = {}
        self._code: str | None = None

    def __enter__(self) -> Self:
        # A worker has one core: libraries with threads of their own would only stand in each other's way.
        self._outside = {name: os.environ.get(name) for name in (*_THREADS, CODE_FOLDER)}
        os.environ.update({name: "1" for name in _THREADS if self._outside[name] is None})
        if not is_kept():  # one of them compiles for all, at least for this run
            self._code = tempfile.mkdtemp(prefix="schedlab-compiled-")
            os.environ[CODE_FOLDER] = self._code
        # Ctrl-C may come here too, or just before the caller is ready to leave. Python would then wait, as it ends, for
        # workers that nobody ends.
        atexit.register(self._shutdown)
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._shutdown()
        atexit.unregister(self._shutdown)
        for name, value in self._outside.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if self._code is not None:
            shutil.rmtree(self._code, ignore_errors=True)

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Have a batch run."""
        return self.call(run_batch, jobs)

    def call(self, function: Callable[..., Any], *args: Any) -> Future[Any]:  # noqa: ANN401  whatever it takes
        """Have a function called in a worker, with what all calls share before its own arguments."""
        if self._threads[0].ident is None:
            raise RuntimeError("the backend is not entered")
        future: Future[Any] = Future()
        self._calls.put((future, (function, args)))
        return future

    def _begin(self) -> None:
        """Start the workers."""
        with without_interrupts():  # the threads inherit this, and from them the workers: Ctrl-C is for the runner
            for thread in self._threads:
                thread.start()

    def _shutdown(self) -> None:
        """End the workers, and give up what is under way."""
        with self._changing:
            self._ended = True
            for worker in self._running:
                worker.kill()
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            if thread.ident is not None:  # it was started
                thread.join()

    def _serve(self) -> None:
        """Keep a worker, and have it do one call after the other."""
        worker, fault = self._started()
        while (call := self._calls.get()) is not None:
            future, what = call
            if self._ended:
                future.cancel()
            if not future.set_running_or_notify_cancel():
                continue
            if worker is None:
                future.set_exception(StoppedError(f"no worker can be started: {fault}", KEPT))
                continue
            try:
                done, answer = worker.ask(what)
            except Exception as error:  # noqa: BLE001  it is for the one who waits for the future
                self._end(worker)
                worker, fault = self._started()
                future.set_exception(error)
            else:
                future.set_result(answer) if done else future.set_exception(answer)
        self._end(worker)

    def _started(self) -> tuple[Worker | None, str]:
        """Return a worker that is ready; or None, and why there is none."""
        how = ""
        for _ in range(_STILLBORN):
            worker = None
            try:
                with self._changing:
                    if self._ended:
                        return None, ""
                    worker = Worker(self._limit_s)
                    self._running.add(worker)
                worker.begin(self.shipment)
            except WorkerDiedError as error:
                how = str(error)
                self._end(worker)
            except Exception as error:  # noqa: BLE001  there is nobody here to report it to
                self._end(worker)
                return None, describe_error(error)
            else:
                return worker, ""
        why = 'a script that calls run needs if __name__ == "__main__"'
        return None, f"{_STILLBORN} died as they began (the last one: {how}): {why}"

    def _end(self, worker: Worker | None) -> None:
        """End a worker, if there is one."""
        if worker is not None:
            with self._changing:
                self._running.discard(worker)
            worker.end()


# -- dask -------------------------------------------------------------------------------------------


class Dask(Backend):
    """The workers of a running scheduler of `dask.distributed`.

    Parameters
    ----------
    shipment
        What the cells share.
    address
        The scheduler's, such as ``tcp://node7:8786``.
    limit_s
        How long a cell may run, in seconds; None for as long as it takes.
    """

    def __init__(self, shipment: Shipment, address: str, *, limit_s: float | None = None) -> None:
        super().__init__(shipment)
        self._limit_s = limit_s
        self.address = address
        try:
            import distributed  # noqa: PLC0415  an extra, which only those have who use it

            from experiments.campaigns.execution import shipping  # noqa: PLC0415  it needs that
        except ImportError as error:
            raise RequestError("--dask needs the package distributed", "pip install 'schedlab[dask]'") from error
        self._distributed, self._shipping = distributed, shipping
        self._name = f"schedlab-{uuid.uuid4().hex}"
        self.lost = (distributed.KilledWorker, WorkerDiedError, CancelledError)
        self._client: Any = None
        self._executor: Any = None
        self._levels: dict[str, int] = {}

    def __enter__(self) -> Self:
        try:
            self._client = self._connected()
        except RequestError:
            raise
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: TLS is required, and this is no TLS
            raise RequestError(f"no dask scheduler answers at {self.address}: {describe_error(error)}") from error
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE_S)
        except TimeoutError as error:
            self._client.close()
            what = f"the dask scheduler at {self.address} has no workers after {_PATIENCE_S:g} s"
            raise RequestError(what, "start one with dask worker ADDRESS") from error
        self._executor = self._client.get_executor(pure=False)
        try:
            with suppress(ValueError):  # a scheduler may be configured to unpickle nothing
                self._client.register_plugin(self._shipping.unshipping(self._name, self._client.id))
            self._client.register_plugin(self._shipping.Shipping(self._name, self.shipment))
            self._count()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError | TimeoutError):
                what = f"the dask workers at {self.address} cannot be sent anything: {describe_error(error)}"
                raise StoppedError(what, KEPT) from error
            if isinstance(error, ImportError):
                raise RequestError(f"a dask worker cannot run cells: {error}", NEEDED) from error
            raise
        # It reports at length, with tracebacks, that a scheduler has gone; we do in a line.
        self._levels = {name: logging.getLogger(name).level for name in _TALKERS}
        for name in _TALKERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        return self

    def _connected(self) -> Any:  # noqa: ANN401  dask's
        """Return a client of the scheduler; what it needs for TLS is in dask's configuration."""
        security: Any = self._distributed.Security()  # type: ignore[no-untyped-call]
        if self.address.startswith("tls:") and not security.get_connection_args("client").get("ssl_context"):
            what = f"{self.address} needs TLS, and dask is configured with no certificate"
            raise RequestError(what, "see distributed.comm.tls in dask's configuration")
        return self._distributed.Client(  # type: ignore[no-untyped-call]
            self.address, timeout=_CONNECTING_S, set_as_default=False, security=security
        )

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False)
        if self._client.status == "running":
            with suppress(OSError, TimeoutError):  # it has gone just now
                self._client.unregister_worker_plugin(self._name)
        self._client.close(timeout=5)
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)

    def restart(self) -> None:
        """Count the workers again: dask itself starts others in place of those that died, and ships to them."""
        if self._client.status != "running":
            raise StoppedError(f"the dask scheduler at {self.address} has gone", KEPT)
        try:
            self._count()
        except (OSError, TimeoutError) as error:
            raise StoppedError(
                f"the dask scheduler at {self.address} has gone: {describe_error(error)}", KEPT
            ) from error

    def hindrance(self) -> str:
        """Say so if there is no worker."""
        with suppress(OSError, TimeoutError):  # it has gone: the batches will say so
            if not self._client.nthreads():
                return f"the scheduler at {self.address} has no workers; waiting for one"
        return ""

    def _count(self) -> None:
        self.workers = max(1, sum(self._client.nthreads().values()))

    def submit(self, jobs: Sequence[Job]) -> Future[Outcome]:
        """Have a batch run."""
        future: Future[Outcome] = self._executor.submit(self._shipping.run_there, self._name, jobs, self._limit_s)
        return future
