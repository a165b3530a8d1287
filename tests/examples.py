"""How many examples hypothesis tries: a usual number, and many more in its profile `full` (`make test-full`)."""

import os

from hypothesis import settings


def tries(usual: int, *, full: int) -> settings:
    """Return the settings of a test that tries some examples usually, and more where the long tests run too."""
    return settings(max_examples=full if os.environ.get("HYPOTHESIS_PROFILE") == "full" else usual)
