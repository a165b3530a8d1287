"""Saving: how machines are switched off while they have nothing to do, as a description that both engines read."""

from dataclasses import dataclass

from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import as_integer


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepPolicy:
    """When idle machines are switched off, and how long they take to come back; see `simmodels.SleepWhenIdle`.

    Parameters
    ----------
    after_s
        How long a machine is idle before it is switched off, in seconds.
    boot_s
        How long it takes to come back, in seconds.
    awake
        How many machines stay on, whatever there is to do.

    Raises
    ------
    RequestError
        A number is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0, 900], "runtime_s": [60, 60], "cores": [4, 8]}
    >>> site = sm.Site(machines=2, cores_per_machine=4, sleep=sm.SleepPolicy(after_s=300, boot_s=120))
    >>> sm.simulate(jobs, on=site).start_s.tolist()
    [0.0, 1020.0]
    """

    after_s: float
    boot_s: float = 0.0
    awake: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no time, or no number of machines."""
        for name in ("after_s", "boot_s"):
            object.__setattr__(self, name, as_seconds(name, getattr(self, name), least=0))
        object.__setattr__(self, "awake", as_integer("awake", self.awake, 0))
