"""The compiled engine of an auction on pools of cores: its events, in order, as one loop.

It has no rules of its own: what starts where is decided by `simmodels.passes.auction_events`, which the SimPy engine
calls, too. One event costs O(log running tasks), plus the auction.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.auction_events import instant, next_wake
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown


@compiled
def run_auction(auction, loop, arrivals, submit, until, stop):
    """Run an auction on pools of cores, or go on: everything that happens before an instant.

    Parameters
    ----------
    auction
        The state, all jobs known; see `simmodels.structures.auction_state`.
    loop
        Where it is, as in `simmodels.replay.queue_loop`.
    arrivals
        int64[jobs], the jobs' numbers in order of arrival.
    submit
        float64[jobs], when each of these arrives, in seconds, increasing.
    until
        The last instant that happens; what lies after it is left undone.
    stop
        What happens at this instant, or later, is left for the next call.

    Returns
    -------
    bool
        False if the bid gave no number for the task ``auction.refused``.
    """
    ended = np.empty(64, np.int64)
    ends, tasks, size, came = loop.ends, loop.slots, loop.size, loop.coming  # read once, written back at the end
    fine = True
    while fine:
        heed_signals()
        # Data and deadlines the auction knows itself; ends and arrivals are known here.
        now = next_wake(auction)
        if came < arrivals.size:
            now = min(now, submit[came])
        if size > 0:
            now = min(now, ends[0])
        if not now <= until or now >= stop:  # also where nothing is left: infinity
            break
        done = 0
        # Ends of an instant come in order of tasks.
        while size > 0 and ends[0] == now:
            if done == ended.size:
                ended = grown(ended, 2 * done)
            ended[done] = pop(ends, tasks, size)
            size -= 1
            done += 1
        first = came
        while came < arrivals.size and submit[came] == now:
            came += 1
        placed = instant(auction, now, ended[:done], arrivals[first:came])
        if size + placed.size > ends.size:
            ends, tasks = grown(ends, 2 * (size + placed.size)), grown(tasks, 2 * (size + placed.size))
        for task in placed:
            push(ends, tasks, size, now + auction.runtime[task], task)
            size += 1
        fine = auction.refused < 0
    loop.ends, loop.slots, loop.size, loop.coming = ends, tasks, size, came
    return fine
