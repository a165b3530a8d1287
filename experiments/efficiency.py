"""Efficiency: how much more time and memory the users of a log ask for than their jobs use."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels import HOUR, Workload
from simmodels.ground.numbers import Floats

USERS: Final = 10
"""How many users have a row of their own: those whose jobs used most."""
_MEMORY: Final = ("requested_memory_kb", "used_memory_kb")


def efficiency(log: Workload) -> pd.DataFrame:
    """Return a table of what is asked for as a multiple of what is used: of all jobs, and of ten users.

    Parameters
    ----------
    log
        A log.

    Returns
    -------
    pandas.DataFrame
        One row for all jobs, and one per user, by core-hours: ``user``, ``jobs``, ``core-hours``, ``share (%)``, and
        ``time asked for / used``: the core-hours up to the time limits, of jobs that have one, as a multiple of those
        that they used. If the log says what memory jobs asked for and used, ``memory asked for / used``, too: that of
        jobs of which it says both, weighted by their core-hours. Empty if no job used anything.
    """
    used_core_s = np.where(log.known(), log.runtime_s * log.cores, 0.0)
    if not used_core_s.sum() > 0:
        return pd.DataFrame()
    users, of = np.unique(log.user_id, return_inverse=True)
    most = np.argsort(-np.bincount(of, used_core_s), kind="stable")
    names = log.extras.get("user", log.user_id)
    rows = [{"user": "all", **_measured(log, used_core_s, used_core_s > 0)}]
    for place in [each for each in most.tolist() if users[each] >= 0][:USERS]:
        mine = (of == place) & (used_core_s > 0)
        if mine.any():
            rows.append({"user": str(names[int(np.argmax(of == place))]), **_measured(log, used_core_s, mine)})
    return pd.DataFrame(rows)


def _measured(log: Workload, used_core_s: Floats, mine: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the columns of some jobs."""
    total = float(used_core_s[mine].sum())
    found = {"jobs": int(mine.sum()), "core-hours": total / HOUR, "share (%)": 100 * total / float(used_core_s.sum())}
    return found | dict(_ratios(log, used_core_s, mine))


def _ratios(log: Workload, used_core_s: Floats, mine: NDArray[np.bool_]) -> Iterator[tuple[str, float]]:
    """Hand out what some jobs ask for as a multiple of what they use."""
    if not log.unlimited().all():
        limited = mine & ~log.unlimited()
        yield "time asked for / used", _quotient(log.estimate_s[limited] * log.cores[limited], used_core_s[limited])
    if all(name in log.numbers for name in _MEMORY):
        asked, used = (log.numbers[name].astype(np.float64) for name in _MEMORY)
        if (both := (asked > 0) & (used > 0)).any():
            said = mine & both
            yield "memory asked for / used", _quotient(asked[said] * used_core_s[said], used[said] * used_core_s[said])


def _quotient(asked: Floats, used: Floats) -> float:
    return float(asked.sum() / used.sum()) if used.sum() > 0 else np.nan
