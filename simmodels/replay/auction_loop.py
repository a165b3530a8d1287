"""The compiled engine of an auction on pools of cores: its events, in order, as one loop.

It has no rules of its own: what starts where is decided by `simmodels.passes.auction_events`, which the SimPy engine
calls, too. One event costs O(log running tasks), plus the auction.
"""

import heapq

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.auction_events import instant, next_wake


@compiled
def run_auction(auction, arrivals, submit, until):
    """Run an auction on pools of cores: everything that happens up to an instant, that included.

    Parameters
    ----------
    auction
        The state, all jobs known; see `simmodels.structures.auction_state`.
    arrivals
        int64[jobs], the jobs' numbers in order of arrival.
    submit
        float64[jobs], when each of these arrives, in seconds, increasing.
    until
        The last instant that happens; what lies after it is left undone.

    Returns
    -------
    bool
        False if the bid gave no number for the task ``auction.refused``.
    """
    ends = [(0.0, np.int64(0)) for _ in range(0)]  # a heap of (instant, task); numba learns the type from this
    ended = np.empty(64, np.int64)
    came = 0
    while True:
        heed_signals()
        now = next_wake(auction)
        if came < arrivals.size:
            now = min(now, submit[came])
        if len(ends) > 0:
            now = min(now, ends[0][0])
        if not now <= until or now == np.inf:
            return True
        done = 0
        while len(ends) > 0 and ends[0][0] == now:
            if done == ended.size:
                longer = np.empty(2 * done, np.int64)
                longer[:done] = ended
                ended = longer
            ended[done] = heapq.heappop(ends)[1]
            done += 1
        first = came
        while came < arrivals.size and submit[came] == now:
            came += 1
        for task in instant(auction, now, ended[:done], arrivals[first:came]):
            heapq.heappush(ends, (now + auction.runtime[task], task))
        if auction.refused >= 0:
            return False
