"""Refusals: which error is raised, and in which words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from simmodels.errors import RequestError


def says(said: str, text: str) -> bool:
    """Return whether this, and no more, was said; ``...`` in the text stands for any words, or for none."""
    return re.fullmatch(".*".join(map(re.escape, text.split("..."))), said, re.DOTALL) is not None


@contextmanager
def refused(text: str, kind: type[BaseException] = RequestError) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an error of a kind that says this and no more, as `says` has it."""
    with pytest.raises(kind) as caught:
        yield caught
    assert says(str(caught.value), text), str(caught.value)
