"""Windows: a workload cut into consecutive pieces of the same length."""

from collections.abc import Iterator
from dataclasses import replace

from simmodels.workload import Workload


def windows(log: Workload, length_s: float, *, more_than: int = 0) -> Iterator[Workload]:
    """Hand out the whole windows of a workload that have jobs enough, each with its first submit at 0.

    Windows follow each other from the first submit on; what comes after the last whole one is in none.

    Parameters
    ----------
    log
        The jobs.
    length_s
        How long a window is, in seconds, > 0.
    more_than
        How many jobs are not enough.
    """
    if not len(log):
        return
    first_s, last_s = float(log.submit_s.min()), float(log.submit_s.max())
    for number in range(int((last_s - first_s) // length_s)):
        window = log.between(first_s + number * length_s, first_s + (number + 1) * length_s)
        if len(window) > more_than:
            yield replace(window.shift(), counts={}, extras={}, header=())
