"""Checkpoints: how jobs write them, and what that costs."""

import math
from dataclasses import dataclass

from simmodels.ground.durations import Duration, as_seconds


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How jobs write checkpoints, and what that costs; by default they write none but on notice, at no cost.

    Parameters
    ----------
    interval_s
        The work between two periodic checkpoints, in seconds of the job (> 0); infinity: none. See `young_daly_s`.
    cost_s
        How long writing one takes, during which the job makes no progress.
    restart_s
        How long a job takes to come back from one.

    Raises
    ------
    RequestError
        A number is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0], "runtime_s": [100], "cores": [4]}
    >>> machines = {"capacity": [(0, 1), (70, 0), (80, 1)], "cores_per_machine": 4}
    >>> sm.simulate(jobs, **machines).end_s.tolist()
    [180.0]
    >>> sm.simulate(jobs, **machines, checkpoints=sm.Checkpoints(interval_s=30)).end_s.tolist()
    [120.0]
    """

    interval_s: float = math.inf
    cost_s: float = 0.0
    restart_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no program could keep to."""
        object.__setattr__(self, "interval_s", as_seconds("interval_s", self.interval_s, above=0, finite=False))
        for name in ("cost_s", "restart_s"):
            object.__setattr__(self, name, as_seconds(name, getattr(self, name), least=0))


def checkpoint_numbers(checkpoints: Checkpoints | None) -> tuple[float, float, float]:
    """Return interval, cost and restart of these checkpoints, or of none."""
    given = Checkpoints() if checkpoints is None else checkpoints
    return given.interval_s, given.cost_s, given.restart_s


def young_daly_s(cost_s: Duration, mean_time_between_losses_s: Duration) -> float:
    """Return the interval between periodic checkpoints that loses least, to first order: sqrt(2 C M).

    Parameters
    ----------
    cost_s
        C, how long writing a checkpoint takes (> 0).
    mean_time_between_losses_s
        M, how long a machine is on between two times that it is switched off, on average (> 0).

    Returns
    -------
    float
        The interval, in seconds.

    Raises
    ------
    RequestError
        A number is not > 0.

    References
    ----------
    Young (1974), A first order approximation to the optimum checkpoint interval, doi 10.1145/361147.361115;
    Daly (2006), A higher order estimate of the optimum checkpoint interval for restart dumps,
    doi 10.1016/j.future.2004.11.016, equation 9 without its higher terms.

    Examples
    --------
    >>> import simmodels as sm
    >>> round(sm.young_daly_s(cost_s=60, mean_time_between_losses_s=6 * sm.HOUR) / sm.MINUTE, 1)
    26.8
    """
    cost = as_seconds("cost_s", cost_s, above=0)
    mean = as_seconds("mean_time_between_losses_s", mean_time_between_losses_s, above=0)
    return math.sqrt(2 * cost * mean)
