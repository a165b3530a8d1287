"""Random streams keyed by names: the same seed and name give the same bits, whoever asks first.

A stream is found by hashing its names (SHA-256) into the seed sequence of numpy, so neither the
order in which streams are made nor Python's hash seed can change what a stream gives.
"""

import hashlib
import operator

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import as_seed


def _word(name: str | int) -> str:
    """Return a name as text that no other name has, whatever follows it."""
    if isinstance(name, str):
        return f"str:{len(name)}:{name}"
    try:
        return f"int:{operator.index(name)}"
    except TypeError:
        raise RequestError(must_be("a stream's name", "a text or an integer", name)) from None


def entropy(seed: int, *names: str | int) -> int:
    """Return the 128-bit integer that the seed and the names stand for.

    Parameters
    ----------
    seed
        The seed of the whole simulation, an integer >= 0.
    names
        What the stream is for; ``("a", 1)``, ``("a1",)`` and ``("a", "1")`` are different streams. A whole number of
        numpy is the same name as that of Python.
    """
    text = "\x1f".join([str(as_seed(seed)), *map(_word, names)])
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:16], "little")


class Seeds:
    """Seeds for all that draws in a simulation, so that no two of a purpose draw the same numbers.

    The first that asks gets the seed itself. That of each other is made of it, the purpose and its names; and, where
    these are the same, its number among them.

    Parameters
    ----------
    seed
        The seed of the whole simulation.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._asked: dict[str, list[tuple[str, ...]]] = {}

    def of(self, purpose: str, *names: str) -> int:
        """Return the seed of the next that asks.

        Parameters
        ----------
        purpose
            What is drawn.
        names
            What the one that draws is called, or serves.
        """
        asked = self._asked.setdefault(purpose, [])
        asked.append(names)
        return entropy(self.seed, purpose, asked.count(names), *names) if len(asked) > 1 else self.seed


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the random generator of the seed and the names (numpy, PCG64): ``stream(7, "lublin", "arrivals")``."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy(seed, *names))))
