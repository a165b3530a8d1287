"""Instants: how exactly floats represent times, and how far from the truth rounding may take one.

All times are float64 seconds. At 1e9 s (the year 2001, as Unix has it) two neighbouring floats are 1.2e-7 s apart,
from 2**53 s on more than a second: whether two times are the same can only be said relative to their magnitude.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simmodels.ground.numbers import MOST

LIMIT_S: Final = float(MOST)
"""From here on the next float is more than a second away."""

_ROUNDINGS: Final = 8


def rounding_s(*times: ArrayLike) -> NDArray[np.float64]:
    """Return how far a time that was computed from these may be from the true one: a tolerance for proofs.

    It is what 16 additions or subtractions can make of it, each rounded to the nearest float: an attempt that came
    back from a checkpoint and was cut short takes ten.

    Parameters
    ----------
    times
        Columns of times, in seconds, that are as large as any step of the computation; NaN where there is none.
    """
    largest = np.abs(np.asarray(times[0], np.float64))
    for each in times[1:]:
        largest = np.fmax(largest, np.abs(each))
    return _ROUNDINGS * np.spacing(largest)


def too_far(*times: ArrayLike) -> NDArray[np.bool_]:
    """Return in which rows one of these times is so far from 0 that a float may not represent the next second."""
    far = np.asarray(np.abs(times[0]) >= LIMIT_S)
    for each in times[1:]:
        far = far | (np.abs(each) >= LIMIT_S)
    return far


def too_far_text(name: str, time_s: float) -> str:
    """Return the text of the error about a time that is too far from 0."""
    allowed = "between -2**53 and 2**53 s, beyond which floats cannot represent every second"
    return f"{name} must be {allowed} (got {float(time_s)!r})"
