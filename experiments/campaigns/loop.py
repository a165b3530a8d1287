"""Loop: cells go out to a place in batches, and what comes back goes into the store."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Final

from experiments.campaigns.batches import Failure, Job, Outcome
from experiments.campaigns.places import NEEDED, Place
from experiments.campaigns.plan import Plan
from experiments.campaigns.progress import Counting
from experiments.campaigns.store import LOOSE, Store
from simmodels.errors import RequestError

_BATCH_S: Final = 1.0
"""A batch is made to last so long: a worker loses no more if the runner is killed, unless one cell takes longer."""
_SHORTEST_S: Final = 0.1
_LARGEST_BATCH: Final = 5_000
_AHEAD: Final = 2
"""So many batches a worker are under way, so that none waits for the runner."""
_MANY: Final = 16
"""With more workers than this, batches last longer: the runner would be the slowest."""
_FIRST_ALONE_S: Final = 60.0
"""The first cell is alone for so long: what it compiles, the other workers then find compiled."""
_DEATHS: Final = 2
"""The cells of a batch during which so many workers died are run one by one, alone; one that is alone then, fails."""


@dataclass(slots=True)
class _Batch:
    """Cells that are run together: their places in the plan, and how often a worker died meanwhile."""

    places: list[int]
    deaths: int = 0


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
        What is told of each.
    """

    def __init__(self, where: Place, plan: Plan, todo: Sequence[int], store: Store, counting: Counting) -> None:
        self.where = where
        self.plan = plan
        self.store = store
        self.counting = counting
        self._place_of = {plan.keys[place]: place for place in todo}
        self._waiting = deque(todo)
        self._again: deque[_Batch] = deque()  # a worker died meanwhile
        self._suspects: deque[_Batch] = deque()  # several did: each cell is run alone, to know which one it is
        self._flying: dict[Future[Outcome], _Batch] = {}
        self._alone = False  # what is under way is a suspect
        self._loose = 0

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
        self._send(_Batch([self._waiting.popleft()]))
        wait(self._flying, timeout=_FIRST_ALONE_S)
        while self._waiting or self._again or self._suspects or self._flying:
            self._fill()
            landed, _ = wait(self._flying, return_when=FIRST_COMPLETED)
            died = self._land(landed)
            if died:
                self.where.restart()
                died += self._land({future for future in self._flying if future.done()})
            for batch in died:
                self._repeat(batch)
            self._loose += len(landed)
            if self._loose > LOOSE:
                self.store.compact()
                self._loose = 0

    def _fill(self) -> None:
        """Send as many batches as the place shall have."""
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

    def _land(self, landed: set[Future[Outcome]]) -> list[_Batch]:
        """Keep what came of batches; return those whose worker died."""
        died = []
        for future in landed:
            try:
                self._keep(future.result())
            except self.where.lost:
                died.append(self._flying[future])
            except ImportError as error:
                raise RequestError(f"a worker cannot run cells: {error}", NEEDED) from error
            del self._flying[future]
        return died

    def _keep(self, outcome: Outcome) -> None:
        """Keep what came of a batch."""
        for keys, content in outcome.files:
            self.store.add(keys, content)
        for failure in outcome.failures:
            self.store.add_failure(failure, self.plan.cells[self._place_of[failure.key]])
        self.counting.add(len(outcome), len(outcome.failures), outcome.seconds)

    def _repeat(self, batch: _Batch) -> None:
        """See to a batch whose worker died: it is run again, at last cell by cell, and then it is known which it is."""
        batch.deaths += 1
        if batch.deaths < _DEATHS:
            (self._suspects if self._alone else self._again).append(batch)
        elif self._alone:
            what = "its worker died while it ran alone: it was killed (out of memory?), or crashed"
            self._keep(Outcome(failures=[Failure(self.plan.keys[batch.places[0]], what)]))
        else:
            self._suspects.extend(_Batch([place]) for place in batch.places)
