"""Windows: a workload cut into consecutive pieces of the same length."""

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from simmodels import Workload
from simmodels.results.logged import WAIT


def windows(log: Workload, length_s: float, *, more_than: int = 0, columns: Collection[str] = ()) -> Iterator[Workload]:
    """Hand out the whole windows of a workload that have jobs enough, each with its first submit at 0.

    A window begins with the first submit that is in none before, so it has its length of *submissions* (Rosa,
    Carastan-Santos and Goldman, JSSPP 2023); what comes after the last whole one is in none.

    Parameters
    ----------
    log
        The jobs.
    length_s
        How long a window is, in seconds, > 0.
    more_than
        How many jobs are not enough; those of unknown cores or runtime, which are not run, do not count.
    columns
        Which of the extras it has, beside the logged waits.
    """
    order = np.argsort(log.submit_s, kind="stable")
    submits_s, known = log.submit_s[order], log.known()[order]
    first = 0
    while first < len(submits_s) and submits_s[first] + length_s <= submits_s[-1]:
        after = max(first + 1, int(np.searchsorted(submits_s, submits_s[first] + length_s)))
        if np.count_nonzero(known[first:after]) > more_than:
            window = log.take(np.sort(order[first:after])).shift()
            kept = {name: column for name, column in window.extras.items() if name in {WAIT, *columns}}
            yield replace(window, counts={}, extras=kept, header=())
        first = after
