import itertools
import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.structures.profile import (
    add,
    advance,
    bring_forward,
    claim,
    earlier,
    earliest,
    find,
    free_in,
    lasts_until,
    new_profile,
    occupy,
    open_up,
    reset,
    take,
    take_opened,
)

Change = tuple[float, float, int]  # from, until, more cores free


class Steps:
    """The same as a profile, with nothing but a list of what was added."""

    def __init__(self, now: float, free: int) -> None:
        self.now, self.base = now, free
        self.changes: list[Change] = []

    def free(self, at: float) -> int:
        return self.base + sum(cores for start, end, cores in self.changes if start <= at < end)

    def corners(self) -> list[float]:
        """All instants at which it may change, from now on."""
        ends = {instant for start, end, _ in self.changes for instant in (start, end)}
        return sorted({self.now, *(instant for instant in ends if self.now < instant < math.inf)})

    def fits(self, start: float, cores: int, duration: float) -> bool:
        looks = [start, *(at for at in self.corners() if start < at < start + duration)]
        return all(self.free(at) >= cores for at in looks)

    def earliest(self, start: float, cores: int, duration: float) -> float:
        start = max(start, self.now)
        tries = [start, *(at for at in self.corners() if at > start)]
        return next((at for at in tries if self.fits(at, cores, duration)), math.inf)


instants = st.integers(0, 24).map(lambda quarter: quarter / 4)
lengths = st.one_of(st.just(0.0), instants, st.just(math.inf))
changes = st.lists(st.tuples(instants, lengths, st.integers(-4, 4)), max_size=30)


def built(now: float, free: int, given_changes: list[Change]) -> tuple[object, Steps]:
    profile, plain = new_profile(now, free), Steps(now, free)
    for start, length, cores in given_changes:
        add(profile, start, start + length, cores)
        plain.changes.append((start, start + length, cores))
    return profile, plain


def assert_same(profile: object, plain: Steps) -> None:
    steps = profile.steps()
    assert steps[0][0] == plain.now
    assert [time for time, _ in steps] == sorted({time for time, _ in steps})
    assert all(before[1] != after[1] for before, after in itertools.pairwise(steps))
    free = dict(steps)
    level = steps[0][1]
    for at in sorted({*free, *plain.corners()}):
        level = free.get(at, level)
        assert level == plain.free(at), f"at {at}"


@given(st.integers(0, 4), st.integers(0, 6), changes)
@example(0, 500, [(float(i), 1.0, i % 7 + 1) for i in range(1, 1000, 2)])  # it grows
def test_add_changes_the_cores_free_in_the_interval_and_nowhere_else(
    now: int, free: int, given_changes: list[Change]
) -> None:
    profile, plain = built(float(now), free, given_changes)
    assert_same(profile, plain)
    reset(profile, 7.0, 2)
    assert profile.steps() == [(7.0, 2)]


@given(st.integers(0, 6), changes, instants, changes)
def test_advance_forgets_the_past_and_nothing_else(
    free: int, before: list[Change], now: float, after: list[Change]
) -> None:
    profile, plain = built(0.0, free, before)
    advance(profile, now)
    plain.now = now
    steps = profile.steps()
    assert steps[0] == (now, plain.free(now))
    for start, length, cores in after:
        add(profile, start, start + length, cores)
        plain.changes.append((start, start + length, cores))
    for at in plain.corners():
        assert [level for time, level in profile.steps() if time <= at][-1] == plain.free(at)


@given(st.integers(0, 6), changes, instants, st.integers(0, 6), st.one_of(st.just(0.0), instants))
def test_earliest_is_the_first_hole(
    free: int, given_changes: list[Change], start: float, cores: int, duration: float
) -> None:
    profile, plain = built(1.0, free, given_changes)
    assert earliest(profile, start, cores, duration) == plain.earliest(start, cores, duration)


@given(
    st.integers(0, 6),
    changes,
    st.integers(1, 6),
    st.one_of(st.just(0.0), instants),
    lengths,
    lengths,
    st.tuples(instants, lengths, lengths),
)
def test_earlier_is_the_first_hole_once_the_reservation_itself_is_lifted(
    free: int,
    given_changes: list[Change],
    cores: int,
    duration: float,
    delay: float,
    limit: float,
    known: tuple[float, float, float],
) -> None:
    profile, plain = built(1.0, free, given_changes)
    held = plain.earliest(1.0 + delay, cores, duration) if delay < math.inf else math.inf
    begins = [at for at in plain.corners() if at < min(held, limit) and plain.fits(at, cores, duration)]
    if held < math.inf:
        add(profile, held, lasts_until(held, duration), -cores)
    expected = [step for step, _ in profile.steps()].index(begins[0]) if begins else -1
    assert earlier(profile, cores, duration, held, limit, -math.inf, -math.inf, -math.inf) == expected
    # What the caller knows to be no hole is not looked at; so it says no more than what is so.
    ends = [min(lasts_until(at, duration), held) for at in begins]
    ends_after = min([known[0], *(math.nextafter(end, 0.0) for end in ends)])
    early = [end for at, end in zip(begins, ends, strict=True) if at < known[1]]
    since = min([known[2], *(math.nextafter(end, 0.0) for end in early)])
    assert earlier(profile, cores, duration, held, limit, ends_after, known[1], since) == expected


@given(st.integers(0, 6), changes, instants, lengths)
def test_the_fewest_free_are_the_lowest_step_between_two_instants(
    free: int, given_changes: list[Change], start: float, length: float
) -> None:
    profile, plain = built(1.0, free, given_changes)
    start = max(start, plain.now)
    steps = [plain.free(at) for at in [start, *(at for at in plain.corners() if start < at < start + length)]]
    assert free_in(profile, start, start + length) == min(steps)


@given(
    changes, instants, st.lists(st.tuples(st.integers(1, 4), lengths, instants), min_size=1, max_size=12), st.booleans()
)
def test_what_occupies_what_it_found_and_what_claims_it_take_the_earliest_hole(
    given_changes: list[Change], now: float, jobs: list[tuple[int, float, float]], by_place: bool
) -> None:
    profile, plain = built(now, 6, given_changes)
    time, free = np.empty(128), np.empty(128, np.int64)
    at, n = 7, len(profile.steps())
    time[at : at + n], free[at : at + n] = zip(*profile.steps(), strict=True)
    for cores, length, since in jobs:
        start, first, last = find(time, free, at, n, since, cores, length, math.inf)
        assert start == plain.earliest(since, cores, length) == earliest(profile, since, cores, length)
        assert claim(profile, since, cores, length) == start
        if start == math.inf:
            continue
        end = lasts_until(start, length)
        if by_place:
            n = occupy(time, free, at, n, first, last, start, end, cores)
        else:
            n = take(time, free, at, n, start, end, cores)
            assert n == take(time, free, at, n, end, end, cores)
        plain.changes.append((start, end, -cores))
        assert_same(profile, plain)
        assert list(zip(time[at : at + n], free[at : at + n], strict=True)) == profile.steps()


# -- what is opened -------------------------------------------------------------------------------------


def opened(profile: object) -> tuple[int, int, float, float] | None:
    found = take_opened(profile)
    return found if found.most >= 0 else None


def test_what_may_have_enough_for_a_job_that_watches_is_opened() -> None:
    profile = new_profile(0.0, 0)
    open_up(profile, 0, 0.0, math.inf, 1)
    assert opened(profile) == (0, 1, 0.0, math.inf)  # nobody was looked at, so all may need it
    open_up(profile, 0, 10.0, math.inf, 5)
    assert opened(profile) == (2, 6, 10.0, math.inf)  # who needs one core was asked before
    assert opened(profile) is None
    add(profile, 4.0, 6.0, -1)
    open_up(profile, 0, 4.0, 6.0, 1)
    assert opened(profile) is None  # it has what it had
    open_up(profile, 0, 4.0, 6.0, 4)
    assert opened(profile) == (2, 5, 4.0, 6.0)
    # A job of 5 cores for 3 s from 10 on watches what is before 4, and behind 6.
    assert earlier(profile, 5, 3.0, 10.0, 10.0, -math.inf, -math.inf, -math.inf) == -1
    add(profile, 0.0, 10.0, -1)
    open_up(profile, 0, 2.0, 8.0, 2)
    assert opened(profile) == (2, 6, 2.0, 8.0)
    assert profile.steps() == [(0.0, 0), (2.0, 2), (4.0, 6), (6.0, 2), (8.0, 0), (10.0, 6)]


def test_what_was_added_before_is_opened_at_once() -> None:
    profile = new_profile(0.0, 0)
    open_up(profile, 0, 0.0, math.inf, 1)
    opened(profile)
    add(profile, 2.0, 8.0, 3)
    add(profile, 4.0, 6.0, 1)
    assert opened(profile) is None
    open_up(profile, 0, 1.0, 9.0, 0)
    assert opened(profile) == (2, 5, 2.0, 8.0)
    assert profile.steps() == [(0.0, 1), (2.0, 4), (4.0, 5), (6.0, 4), (8.0, 1)]
    open_up(profile, 0, math.inf, -math.inf, 0)
    assert opened(profile) is None


def test_two_segments_that_become_one_are_watched_by_the_jobs_of_both() -> None:
    profile = new_profile(0.0, 0)
    open_up(profile, 0, 0.0, math.inf, 5)
    add(profile, 0.0, 10.0, -4)
    add(profile, 0.0, 5.0, -1)
    opened(profile)
    # From 10 on it has 3 cores for 20 s. Wherever it began before, it would need those from 5 on: it watches these.
    assert earlier(profile, 3, 20.0, 10.0, 10.0, -math.inf, -math.inf, -math.inf) == -1
    open_up(profile, 0, 0.0, 5.0, 1)
    assert opened(profile) is None
    assert profile.steps() == [(0.0, 1), (10.0, 5)]
    open_up(profile, 0, 0.0, 10.0, 2)
    assert opened(profile) == (3, 3, 0.0, 10.0)


class Held:
    """Jobs that hold reservations in a profile, and what was opened since each was looked at."""

    def __init__(self, profile: object, plain: Steps, jobs: list[tuple[int, float]]) -> None:
        self.profile, self.plain, self.jobs = profile, plain, jobs
        self.at: dict[int, float] = {}
        self.opened: dict[int, list[tuple[int, int, float, float]]] = {}
        for job, (cores, length) in enumerate(jobs):
            begin = earliest(profile, 1.0, cores, length)
            if begin < math.inf:
                self.at[job], self.opened[job] = begin, []
                add(profile, begin, lasts_until(begin, length), -cores)
                self.change(job, -cores)
                assert earlier(profile, cores, length, begin, begin, -math.inf, -math.inf, -math.inf) == -1
        opened(profile)

    def change(self, job: int, n: int) -> None:
        """Let the naive profile have n cores more where a job has its reservation."""
        self.plain.changes.append((self.at[job], lasts_until(self.at[job], self.jobs[job][1]), n))

    def note(self) -> None:
        """Note for each job what was opened."""
        if news := opened(self.profile):
            for known in self.opened.values():
                known.append(news)

    def look(self, job: int) -> bool:
        """Move a reservation if that can begin earlier: as the naive profile has it, into what was opened."""
        (cores, length), held, known = self.jobs[job], self.at[job], self.opened[job]
        self.opened[job] = []
        self.change(job, cores)
        begin = self.plain.earliest(1.0, cores, lasts_until(0.0, length))
        where = -1
        if known and min(each[0] for each in known) <= cores <= max(each[1] for each in known):
            first, last = min(each[2] for each in known), max(each[3] for each in known)
            where = earlier(self.profile, cores, length, held, min(held, last), first, -math.inf, first)
        self.at[job] = held if where < 0 else self.profile.steps()[where][0]
        assert self.at[job] == begin
        self.change(job, -cores)
        if where >= 0:
            bring_forward(self.profile, where, held, length, cores)
            self.note()
        return where >= 0


@given(
    changes,
    st.lists(st.tuples(st.integers(1, 4), instants), min_size=1, max_size=8),
    st.lists(st.tuples(instants, instants, st.integers(1, 3), st.permutations(range(8))), max_size=8),
)
def test_a_reservation_can_move_only_into_what_was_opened_since_it_was_looked_at(
    given_changes: list[Change],
    jobs: list[tuple[int, float]],
    opens: list[tuple[float, float, int, list[int]]],
) -> None:
    profile, plain = built(1.0, 5, given_changes)
    open_up(profile, 0, 1.0, math.inf, 1)  # from now on it is opened only for a job that watches
    plain.changes.append((1.0, math.inf, 1))
    held = Held(profile, plain, jobs)
    for start, length, cores, order in opens:
        open_up(profile, 0, start, start + length, cores)
        plain.changes.append((start, start + length, cores))
        held.note()
        while any(held.look(job) for job in order if job in held.at):
            pass
        assert_same(profile, plain)
