"""By which methods the claims of the regression study are checked: which forms, and how many waiting jobs.

References
----------
See `experiments.studies.regression.paper`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from experiments.campaigns.results import Results


class Method(NamedTuple):
    """Which forms are run, and how many of the waiting jobs are considered.

    Parameters
    ----------
    name
        How it is called.
    scores
        The scores that the forms were learned from; None: as they are printed.
    depth
        How many waiting jobs are considered; None: all of them.
    ours
        Whether it is no method of the paper's text.
    """

    name: str
    scores: str | None
    depth: int | None
    ours: bool


PRINTED: Final = Method("forms as printed", None, None, ours=False)
METHODS: Final = (
    PRINTED,
    Method("learned again, as published", "swap-any", None, ours=False),
    Method("forms as printed, 32 waiting jobs as in the program", None, 32, ours=True),
    Method("learned again, 32 waiting jobs as in the program", "swap-any", 32, ours=True),
    Method("corrected method", "uniform", None, ours=True),
    Method("corrected method, 32 waiting jobs", "uniform", 32, ours=True),
)
"""The text sorts all jobs of the queue, so that is what it claims things of; the program looks at 32 of them."""

WAYS: Final[Mapping[str, str]] = {"published": "swap-any", "corrected": "uniform"}
"""How forms are learned, and the scores of it: what is said of the fits themselves does not depend on the queue."""

_ONLINE: Final[Mapping[str, object]] = {"tau_s": 10.0, "window_days": 15.0, "warm_jobs": 16}
_LEARNING: Final[Mapping[str, object]] = {"tau_s": 10.0, "initial_state": "started", "trials": 256_000}


def runs_as_published(results: Results) -> bool:
    """Return whether windows are run with the settings of the paper."""
    return _as_in(results, _ONLINE)


def learns_as_published(results: Results) -> bool:
    """Return whether scores are made with the settings of the paper: its trials begin as those of its program do."""
    return _as_in(results, _LEARNING)


def is_ours(method: Method, results: Results) -> bool:
    """Return whether what a method gives is not what the paper has, by the method itself or by other settings."""
    again = method.scores is not None
    return method.ours or not runs_as_published(results) or (again and not learns_as_published(results))


def _as_in(results: Results, settings: Mapping[str, object]) -> bool:
    """Return whether a campaign has these settings; one that it does not name has its default, which is the paper's."""
    return all(results.parameters.get(name, value) == value for name, value in settings.items())
