"""Workers: a process of this machine at the end of a line, that runs batches of cells, and is ended if need be."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any, Final

from simmodels.errors import SimModelsError

_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)
_SET_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""
_ENDING_S: Final = 5.0
"""A process whose line is closed ends within this time."""
_ANSWER: Final = "answer"
_ERROR: Final = "error"
_CELL: Final = "cell"
"""What a worker sends: the answer to what it was asked, why there is none, or which cell it begins."""
_starting: Final = threading.Lock()

Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and what comes after what all calls share among its arguments."""


class WorkerDiedError(Exception):
    """A worker ended before it answered; the text says how, as far as that is known."""


class CellTimeoutError(Exception):
    """A cell ran longer than it may; its worker is to be ended, which alone ends the cell.

    Parameters
    ----------
    key
        The cell's name.
    limit_s
        How long a cell may run, in seconds.
    """

    def __init__(self, key: str, limit_s: float) -> None:
        super().__init__(key, limit_s)
        self.key = key
        self.limit_s = limit_s

    def __str__(self) -> str:
        """Return the text of the error."""
        return f"it ran longer than the {self.limit_s:g} s that a cell may take, and its worker was ended"


class Worker:
    """A process at the end of a line.

    Parameters
    ----------
    limit_s
        How long a cell may run, in seconds; None for as long as it takes.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self._limit_s = limit_s
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,))
        with _with_children():
            self._process.start()
        theirs.close()  # so that the line ends when the worker does

    def begin(self, shipment: object) -> None:
        """Send it what all calls share, and wait until it is ready.

        Raises
        ------
        WorkerDiedError
            It is no more.
        """
        self.ask((shipment, self._limit_s is not None))

    def ask(self, what: Call | tuple[object, bool]) -> tuple[bool, Any]:
        """Have it call a function; return True and its answer, or False and the error that it raised.

        After an error that is raised here the worker is of no more use.

        Raises
        ------
        WorkerDiedError
            It is no more.
        CellTimeoutError
            A cell ran longer than it may.
        Exception
            What was met while the question or the answer was packed or unpacked.
        """
        try:
            self._line.send(what)
            kind, content = self._line.recv()
            while kind == _CELL:  # it begins a cell; or, if none is named, it has come to the end of the last one
                if content is not None and not self._line.poll(self._limit_s):
                    self.kill()
                    raise CellTimeoutError(content, self._limit_s or 0.0)
                kind, content = self._line.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError(self._how_it_ended()) from error
        return kind == _ANSWER, content

    def _how_it_ended(self) -> str:
        """Return what the system says of its end, in words."""
        self._process.join(_ENDING_S)
        status = self._process.exitcode
        if status is None:
            return "its line was closed"
        if status >= 0:
            return f"it ended with status {status}"
        name = signal.Signals(-status).name if -status in {*signal.Signals} else f"signal {-status}"
        return f"it was ended by {name}" + (" (out of memory?)" if -status == signal.SIGKILL else "")

    def kill(self) -> None:
        """End it at once, though it may hold Python's lock in compiled code."""
        self._process.kill()

    def end(self) -> None:
        """End it, and leave nothing of it behind."""
        self.kill()
        self._process.join()
        self._process.close()
        self._line.close()


@contextmanager
def _with_children() -> Iterator[None]:
    """Let this process have children: a worker of dask is a daemon, of which Python would refuse that.

    They end with it all the same, see `_listen`.
    """
    with _starting:
        this = multiprocessing.current_process()
        daemon = this.daemon
        if daemon:
            this.daemon = False
        try:
            yield
        finally:
            if daemon:
                this.daemon = daemon


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back, for this thread and the threads and processes started in it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it is started with the first process, and lets the signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in such a process ------------------------------------------------------------------------------


def _work(line: Connection) -> None:
    """Do what is asked for over a line, one call after the other, until it is closed or the runner dies."""
    if hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    if sys.platform == "linux":  # elsewhere, a cell in compiled code that holds Python's lock comes to its end first
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if sys.stdout is not None and sys.stderr is not None:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a cell prints is no answer of the command
    asked: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(line, asked), daemon=True).start()
    shipment, timed = asked.get()
    reported_cells = {"begun": lambda key: _send(line, ForkingPickler.dumps((_CELL, key)))} if timed else {}
    _send(line, ForkingPickler.dumps((_ANSWER, None)))  # it is ready
    while True:
        function, args = asked.get()
        answer = _packed(lambda: function(shipment, *args, **reported_cells))  # noqa: B023  it is called at once
        if sys.stdout is not None:
            sys.stdout.flush()
        _send(line, answer)


def _send(line: Connection, message: memoryview) -> None:
    """Send a message; end this worker if there is nobody to take it."""
    try:
        line.send_bytes(message)
    except OSError:
        os._exit(1)


def _packed(call: Callable[[], object]) -> memoryview:
    """Return what a call comes to, or the error that is met before it can be sent, as the bytes of a message."""
    try:
        return ForkingPickler.dumps((_ANSWER, call()))
    except Exception as error:  # noqa: BLE001  it is raised again by the runner
        if not isinstance(error, SimModelsError):
            error.add_note(traceback.format_exc())
        return ForkingPickler.dumps((_ERROR, error))


def _listen(line: Connection, asked: "SimpleQueue[Any]") -> None:
    """Take in what is asked for; end this worker when the runner closes the line, or dies."""
    try:
        while True:
            asked.put(line.recv())
    except (EOFError, OSError):
        os._exit(1)
