"""Loop: cells go out to a place in batches, and what comes back goes into the store."""

import errno
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Final

from experiments.campaigns.execution.backends import NEEDED, Backend
from experiments.campaigns.execution.batches import Job, Outcome
from experiments.campaigns.execution.workers import CellTimeoutError, WorkerDiedError
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.progress import Counting
from experiments.campaigns.records import KEPT
from experiments.campaigns.store import LOOSE, Failure, Store
from experiments.inputs import describe_error
from simmodels.errors import RequestError, SimModelsError, StoppedError

_BATCH_S: Final = 1.0
"""A batch is made to last this long: a worker loses no more if the runner is killed, unless one cell takes longer."""
_SHORTEST_S: Final = 0.1
_LARGEST_BATCH: Final = 5_000
_AHEAD: Final = 2
"""Batches per worker that are under way, so that none waits for the runner."""
_MANY: Final = 16
"""With more workers than this, batches last longer: the runner would be the slowest."""
_FIRST_ALONE_S: Final = 60.0
"""The first cell is alone for this long: what it compiles, the other workers then find compiled."""
_DEATHS: Final = 2
"""The cells of a batch that was lost this often are run one by one, alone; one that is alone then, fails."""
_DIED: Final = "it was killed (out of memory?), or crashed"
"""What is known of the end of a worker that is not ours."""
_SILENT_S: Final = 60.0
"""A worker that has not answered for this long is mentioned; after that, one that has not for twice as long."""
_LOOK_S: Final = 5.0
_PROCESS_LIMITS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Why a file could not be written that is no matter of the disk, and may be of the cells."""


@dataclass(slots=True)
class _Batch:
    """Cells that are run together.

    Parameters
    ----------
    places
        Their places in the plan.
    losses
        How often what came of them was lost: a worker died meanwhile, or it could not be made, sent or written.
    since
        When they were first among the oldest under way, of which each worker has one; None if not yet.
    """

    places: list[int]
    losses: int = 0
    since: float | None = None


class Loop:
    """The cells that are to be done, on their way.

    Parameters
    ----------
    where
        The place that runs them, entered.
    plan
        The campaign.
    todo
        The cells to run, by their places in the plan; at least one.
    store
        Where what comes of them goes.
    counting
        What is reported of each.
    """

    def __init__(self, where: Backend, plan: Plan, todo: Sequence[int], store: Store, counting: Counting) -> None:
        self.where = where
        self.plan = plan
        self.store = store
        self.counting = counting
        self._place_of = {plan.keys[place]: place for place in todo}
        self._waiting = deque(todo)
        self._again: deque[_Batch] = deque()  # what came of them was lost
        self._suspects: deque[_Batch] = deque()  # again and again: each cell is run alone, to know which one it is
        self._flying: dict[Future[Outcome], _Batch] = {}
        self._alone = False  # what is under way is a suspect
        self._loose = 0
        self._silent_s = _SILENT_S

    def run(self) -> None:
        """Run the cells.

        Raises
        ------
        StoppedError
            The disk is full, or the place has gone.
        RequestError
            The workers cannot run cells at all.
        """
        try:
            self._run()
        finally:  # Ctrl-C, or one batch that cannot be kept, takes nothing from those that have come back
            for future in [future for future in self._flying if future.done() and not future.cancelled()]:
                if future.exception() is None:
                    self._keep(future.result())

    def _run(self) -> None:
        """Send batches, and keep what comes of them, until there are no more."""
        self._send(_Batch([self._waiting.popleft()], since=time.monotonic()))
        wait(self._flying, timeout=_FIRST_ALONE_S)
        while self._waiting or self._again or self._suspects or self._flying:
            self._fill()
            landed = self._landed()
            lost = self._land(landed)
            if lost:
                self.where.restart()
                lost += self._land({future for future in self._flying if future.done()})
            for batch, why in lost:
                self._repeat(batch, why)
            self._loose += len(landed)
            if self._loose > LOOSE:
                self.store.compact()
                self._loose = 0

    def _fill(self) -> None:
        """Send as many batches as the place is to have."""
        self._alone = self._alone and bool(self._flying)
        if self._suspects:
            if not self._flying:
                self._send(self._suspects.popleft())
                self._alone = True
        elif not self._alone:
            while (self._again or self._waiting) and len(self._flying) < _AHEAD * self.where.workers:
                if self._again:
                    self._send(self._again.popleft())
                else:
                    self._send(_Batch([self._waiting.popleft() for _ in range(self._size())]))

    def _size(self) -> int:
        """Return how many cells go into the next batch, by how long cells took so far."""
        if not self.counting.done:
            return 1
        workers = self.where.workers
        lasts_s = _BATCH_S * max(1.0, workers / _MANY)
        cell_s = max(self.counting.cells_s / self.counting.done, lasts_s / _LARGEST_BATCH)
        # Towards the end they are small, so that all workers end at about the same time, but not smaller than needed.
        shared = max(len(self._waiting) // (_AHEAD * workers), int(_SHORTEST_S / cell_s))
        return max(1, min(int(lasts_s / cell_s), shared, len(self._waiting)))

    def _send(self, batch: _Batch) -> None:
        """Have a batch run."""
        self._flying[self.where.submit([self._job(place) for place in batch.places])] = batch

    def _job(self, place: int) -> Job:
        """Return a cell as it is sent to a worker."""
        cell = self.plan.cells[place]
        return self.plan.keys[place], dict(cell.factors), cell.replication

    def _landed(self) -> set[Future[Outcome]]:
        """Wait until a batch has come back, and mention workers that are long about one; return those that have."""
        landed: set[Future[Outcome]] = set()
        while not landed:
            landed, flying = wait(self._flying, timeout=min(_LOOK_S, self._silent_s), return_when=FIRST_COMPLETED)
            self._mention_silent([batch for future, batch in self._flying.items() if future in flying])
        return landed

    def _mention_silent(self, flying: Sequence[_Batch]) -> None:
        """Mention workers that are long about a batch: of those under way, each has one of the oldest."""
        now, silent = time.monotonic(), []
        for batch in flying[: self.where.workers]:
            if batch.since is None:
                batch.since = now
            elif now - batch.since >= self._silent_s:
                silent.append(batch)
        if silent:
            silence = f"no word for {self._silent_s:g} s from {_those(silent, self.plan)}"
            self.counting.print_note(self.where.hindrance() or silence)
            self._silent_s *= 2

    def _land(self, landed: set[Future[Outcome]]) -> list[tuple[_Batch, str]]:
        """Keep what came of batches; return those of which it was lost, each with the reason."""
        lost = []
        for future in landed:
            batch = self._flying[future]
            try:
                outcome = future.result()
                self._write(outcome)
            except self.where.lost as error:
                how = str(error) if isinstance(error, WorkerDiedError) else _DIED
                lost.append((batch, f"its worker died while it ran alone: {how}"))
            except CellTimeoutError as error:
                self._overdue(batch, error)
            except ImportError as error:
                raise RequestError(f"a worker cannot run cells: {error}", NEEDED) from error
            except Exception as error:
                if isinstance(error, SimModelsError) and not _of_process(error):
                    raise
                lost.append((batch, f"what came of it was lost though it ran alone: {describe_error(error)}"))
            else:
                self._count(outcome)
            del self._flying[future]
        return lost

    def _keep(self, outcome: Outcome) -> None:
        """Keep what came of a batch.

        Raises
        ------
        StoppedError
            It cannot be written.
        """
        self._write(outcome)
        self._count(outcome)

    def _write(self, outcome: Outcome) -> None:
        """Write what came of a batch to the store."""
        for keys, content in outcome.files:
            self.store.add(keys, content)
        for failure in outcome.failures:
            self.store.add_failure(failure, self.plan.cells[self._place_of[failure.key]])

    def _count(self, outcome: Outcome) -> None:
        """Count the cells of a batch."""
        self.counting.add(len(outcome), len(outcome.failures), outcome.seconds)

    def _repeat(self, batch: _Batch, why: str) -> None:
        """See to a batch that was lost: it is run again, at last cell by cell, and then it is known which it is."""
        batch.losses += 1
        batch.since = None
        if batch.losses < _DEATHS:
            (self._suspects if self._alone else self._again).append(batch)
        elif self._alone:
            self._fail(batch.places[0], why)
        else:
            self._suspects.extend(_Batch([place]) for place in batch.places)

    def _overdue(self, batch: _Batch, error: CellTimeoutError) -> None:
        """See to a batch with a cell that ran too long: that cell fails, and the others are run again."""
        overdue = self._place_of[error.key]
        self._fail(overdue, str(error), error.limit_s)
        others = [place for place in batch.places if place != overdue]
        if others:
            self._again.append(_Batch(others, batch.losses))

    def _fail(self, place: int, why: str, seconds: float = 0.0) -> None:
        """Record that a cell failed."""
        try:
            self._keep(Outcome(failures=[Failure(self.plan.keys[place], why)], seconds=seconds))
        except StoppedError as error:
            raise StoppedError(f"the cell ({self.plan.cells[place]}) failed, {why}; {error.what}", KEPT) from error


def _of_process(error: SimModelsError) -> bool:
    """Return whether a file could not be written for a reason that may lie with a cell that ran in this process."""
    cause = error.__cause__
    return isinstance(error, StoppedError) and isinstance(cause, OSError) and cause.errno in _PROCESS_LIMITS


def _those(batches: Sequence[_Batch], plan: Plan) -> str:
    """Return which cells batches have, in a line that is not long."""
    cell = plan.cells[batches[0].places[0]]
    first, more = len(batches[0].places), len(batches) - 1
    what = f"the cell ({cell})" if first == 1 else f"the worker of {first:,} cells, the first of them ({cell})"
    return what + (f", and from {more:,} other worker{'' if more == 1 else 's'}" if more else "")
