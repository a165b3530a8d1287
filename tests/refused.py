"""Refusals: which error is raised, and in which words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from simmodels.errors import RequestError


@contextmanager
def refused(text: str, kind: type[BaseException] = RequestError) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an error of a kind that says this and no more; ``...`` stands for any words, or for none."""
    with pytest.raises(kind) as caught:
        yield caught
    said = str(caught.value)
    assert re.fullmatch(".*".join(map(re.escape, text.split("..."))), said, re.DOTALL), said
