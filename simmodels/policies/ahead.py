"""Ahead: first come, first served, but jobs of some queues, or values of another column, count as submitted earlier."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.numbers import as_integer, as_number
from simmodels.policies.order import Order
from simmodels.work.vocabulary import IN_QUEUES

MOST_VALUES: Final = 1000
"""Compiling more would take minutes."""
_WORDS: Final = frozenset(IN_QUEUES) - {"user"}
"""What orders know of a job that is no column."""


class Ahead(Order):
    """First come, first served, but jobs of some values of a column count as submitted earlier.

    As of a batch system that adds the age of a job and a priority of its queue: with a weight of `w` a second of age, a
    priority `p` is an `ahead_s` of `p / w` (the linear form of Slurm's priority/multifactor).

    Parameters
    ----------
    by
        A column of numbers of the workload (`Workload.numbers_by_name`), such as ``"queue"`` or ``"partition"``.
    ahead_s
        By value, how many seconds earlier its jobs count as submitted; negative: later. Other values: 0.
    name
        What tables call it.

    Raises
    ------
    RequestError
        The column is a word that orders know otherwise, a number is not finite, or there are more than 1,000 values.

    Examples
    --------
    >>> import simmodels as sm
    >>> order = sm.Ahead("queue", {2: sm.DAY, 1: sm.HOUR})
    >>> order.formula
    'r - ahead(queue)'
    >>> order(submit=100_000.0, queue=2)
    13600.0
    """

    by: str
    ahead_s: Mapping[int, float]

    def __init__(self, by: str, ahead_s: Mapping[int, float], *, name: str | None = None) -> None:
        if not as_instance("by", by, str).isidentifier() or by in _WORDS:
            raise RequestError(must_be("by", "a column of the workload", by))
        given = as_instance("ahead_s", ahead_s, dict)
        if not 0 < len(given) <= MOST_VALUES:
            raise RequestError(must_be("the number of values", f"from 1 to {MOST_VALUES:,}", len(given)))
        found = {
            as_integer(f"a value of {by}", value, -1): as_number(f"how far ahead {by} {value} is", seconds)
            for value, seconds in given.items()
        }
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "ahead_s", found)
        about = f"first come, first served, some {by}s counted as submitted earlier"
        super().__init__(
            f"FCFS by {by}" if name is None else name, _function(by, found), f"r - ahead({by})", about=about
        )

    def __repr__(self) -> str:
        """Return how it is made."""
        return f"Ahead({self.by!r}, {self.ahead_s}, name={self.name!r})"

    def _parts(self) -> tuple[object, ...]:
        return partial(Ahead, self.by, self.ahead_s, name=self.name), ()


def _function(by: str, ahead_s: Mapping[int, float]) -> Callable[..., float]:
    """Return the plain function of the submission and the column."""
    cases = "".join(f" if {by} == {value}:\n  return submit - {seconds!r}\n" for value, seconds in ahead_s.items())
    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"def ahead(submit, {by}):\n{cases} return submit\n", scope)  # noqa: S102  it is made of numbers and an identifier
    made: Callable[..., float] = scope["ahead"]
    return made
