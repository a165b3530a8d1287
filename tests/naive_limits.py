"""Limits, written from the rules alone: whether a job would exceed one if it started beside some that run.

The slow simulators ask it of each job that waits, at each look; it shares no code with `simmodels.clusters.limits`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

_OF_RUNNING = ("jobs", "cores", "core_minutes")
Rules = Sequence[Mapping[str, Any]]
"""Rows of limits, as `simmodels.Limits` takes them."""


class Counted(Protocol):
    """A job: its cores and its estimate, and its values by column."""

    @property
    def cores(self) -> int: ...
    @property
    def estimate(self) -> float: ...
    @property
    def of(self) -> Mapping[str, int]: ...


def members(rules: Rules, group: str) -> set[int]:
    """The values of a group, and of all groups that are parts of it."""
    own = {value for row in rules if row.get("group") == group for value in row.get("members", ())}
    parts = (row["group"] for row in rules if row.get("parent") == group)
    return own.union(*(members(rules, part) for part in parts))


def values(rules: Rules, row: Mapping[str, Any], job: Counted) -> set[int]:
    """The values whose jobs a row counts together with this one; none if it does not count this one."""
    own = job.of[row.get("by", "user")]
    if "group" in row:
        found = members(rules, row["group"])
        return found if own in found else set()
    return {own} if own >= 0 and row.get("value") in {None, own} else set()


def is_outside(rules: Rules, job: Counted, submitted: Sequence[Counted]) -> bool:
    """Whether a job would exceed a limit of submitted jobs if it entered a queue beside those that wait and run."""
    kept = [{name: value for name, value in row.items() if name not in _OF_RUNNING} for row in rules]
    asked = [{"jobs" if name == "submitted" else name: value for name, value in row.items()} for row in kept]
    return is_over(asked, job, submitted)


def is_over(rules: Rules, job: Counted, running: Sequence[Counted]) -> bool:
    """Whether a job would exceed a limit if it started beside those that run."""
    for row in rules:
        by, counted = row.get("by", "user"), values(rules, row, job)
        if not counted:
            continue
        beside = [job, *(other for other in running if other.of[by] in counted)]
        has = {
            "jobs": len(beside),
            "cores": sum(each.cores for each in beside),
            "core_minutes": sum(math.ceil(each.cores * each.estimate) for each in beside) / 60,
        }
        own = [each for each in rules if "group" not in each and each.get("value") == job.of[by] == min(counted)]
        own = [each for each in own if each.get("by", "user") == by]
        for name in has.keys() & row.keys():
            replaced = "group" not in row and row.get("value") is None and any(name in each for each in own)
            if not replaced and has[name] > row[name]:
                return True
    return False
