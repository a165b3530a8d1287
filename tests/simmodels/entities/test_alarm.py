"""An alarm rings at the instant for which it was set last."""

import pytest

import simmodels as sm
from simmodels.entities.alarm import Alarm


def rung(settings: dict[float, float], *, holds_clock: bool = True) -> tuple[list[float], float]:
    """Return when an alarm rings that is set at some instants to others, and when the clock stops."""
    env = sm.Environment()
    seen: list[float] = []
    alarm = Alarm(env, lambda: seen.append(env.now), holds_clock=holds_clock)
    for at_s, due_s in settings.items():
        env.at(at_s).callbacks.append(lambda _, due_s=due_s: alarm.set(due_s))
    env.run()
    assert not alarm.is_set
    return seen, env.now


@pytest.mark.parametrize(
    ("settings", "rings_s", "stops_s"),
    [
        ({0.0: 5.0, 1.0: 3.0, 2.0: 5.0}, [5], 5),
        ({0.0: 5.0, 6.0: 2.0}, [5, 6], 6),  # what is past is now
    ],
)
@pytest.mark.parametrize("holds_clock", [True, False])
def test_it_rings_once_at_the_instant_set_last_or_at_once(
    settings: dict[float, float], rings_s: list[float], stops_s: float, *, holds_clock: bool
) -> None:
    assert rung(settings, holds_clock=holds_clock) == (rings_s, stops_s)
