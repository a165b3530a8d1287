"""The tests that compare the engines with each other and with plain simulators, with other examples each time.

Models of a queue, an auction or machines, in which times coincide: equal submits, jobs of no runtime, changes, notices
and windows that begin and end at one instant, tenths and thirds of seconds, Unix times. A schedule must be the same to
the last bit on both engines, that of the plain simulator where it knows the rules, and legal. A case is a test with
the examples of a seed (60 to 600 of them); the text of a broken case has the smallest example that was found.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from hypothesis import seed as drawn_from

import tests.conftest  # noqa: F401  how hypothesis draws, which what follows takes over
from tests.attacks.attack import Broken, Case
from tests.simmodels import test_limits, test_machines_at_random, test_properties, test_shares
from tests.simmodels.entities import test_auctioneer
from tests.simmodels.passes import test_bidding, test_under_notice
from tests.simmodels.replay import test_auction_on_machines, test_queue_on_machines, test_sleep

CASES = 600

TESTS: Final[tuple[Callable[[], None], ...]] = (
    test_properties.test_both_engines_give_the_same_bits_and_those_of_the_naive_simulator,
    test_bidding.test_both_engines_equal_the_plain_auction,
    test_machines_at_random.test_both_engines_are_the_slow_scheduler,
    test_limits.test_so_they_do_with_limits_of_submitted_jobs,
    test_auction_on_machines.test_both_engines_give_the_same_schedule,
    test_machines_at_random.test_both_engines_agree_with_notice_and_checkpoints,
    test_shares.test_both_engines_are_as_the_slow_simulator,
    test_auctioneer.test_an_auction_on_machines_is_the_plain_one,
    test_machines_at_random.test_both_engines_agree_where_machines_fail_and_are_maintained,
    test_queue_on_machines.test_both_engines_are_the_same,
    test_auctioneer.test_rules_may_change_as_it_goes,
    test_machines_at_random.test_both_engines_agree_on_first_fit_at_unequal_speeds,
    test_queue_on_machines.test_both_engines_are_the_same_where_machines_fail_and_are_maintained,
    test_queue_on_machines.test_the_compiled_clock_is_the_slow_simulator,
    test_under_notice.test_a_queue_on_machines_is_that_of_the_plain_simulator,
    test_machines_at_random.test_both_engines_end_an_open_window_alike,
    test_machines_at_random.test_drawn_fill_orders_and_removals_are_those_of_the_seed,
    test_sleep.test_both_engines_sleep_as_second_by_second,
)


def cases(seed: int) -> Iterator[Case]:
    """Hand out one test after the other, and again."""
    for number, test in enumerate(itertools.cycle(TESTS)):
        yield partial(_case, test, f"{seed}/{number}")


def _case(test: Callable[[], None], drawn: str) -> str:
    """Run a test with the examples of a seed."""
    try:
        drawn_from(drawn)(test)()
    except Exception as error:
        notes = getattr(error, "__notes__", [])
        raise Broken("\n".join([f"{test.__name__}: {type(error).__name__}: {error}", *notes])) from error
    return test.__name__.removeprefix("test_").replace("_", " ")
