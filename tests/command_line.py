"""The command line in tests: how it is called, and what it came to."""

from collections.abc import Callable
from typing import NamedTuple


class Answer(NamedTuple):
    """What a command line came to."""

    status: int
    out: str
    err: str


Run = Callable[..., Answer]
"""Runs the command line on words, each as `str` writes it."""
