import pytest

from simmodels.learning.pairs import Pair
from tests.slow_trial import pair_of


@pytest.fixture
def small() -> Pair:
    """Two cores that a job of S holds for 10 s, and three jobs of Q: narrow, wide, and narrow but late."""
    return pair_of((0, 10, 2), (1, 5, 1), (2, 20, 2), (30, 10, 1), initial_jobs=1, cores=2)


@pytest.fixture
def four() -> Pair:
    """Four jobs of Q, no two of whose 24 orders need be alike."""
    return pair_of((0, 60, 3), (0, 40, 1), (1, 5, 2), (2, 90, 1), (9, 20, 3), (15, 300, 2), initial_jobs=2, cores=4)
