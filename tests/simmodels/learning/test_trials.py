import itertools
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

import simmodels as sm
import workloads as wl
from simmodels.learning import kernel, trials
from simmodels.learning.kernel import BLOCK, new_lanes
from simmodels.learning.lanes import WIDTH
from tests.processes import printed_elsewhere
from tests.refused import refused
from tests.slow_trial import pair_of, pairs, slow_trial

WAYS = (("stratified", "uniform"), ("published", "uniform"), ("published", "swap-any"))


def all_orders(jobs: int) -> NDArray[np.int64]:
    return np.array(list(itertools.permutations(range(jobs))))


@pytest.fixture(scope="module")
def drawn() -> tuple[sm.Pair, ...]:
    return sm.draw_pairs(wl.lublin(jobs=400, cores=64, seed=5), 3, seed=2)


# -- one trial --------------------------------------------------------------------------------------


def test_a_trial_drawn_by_hand(small: sm.Pair) -> None:
    # S holds both cores until 10. In turn: A 10-15, waited 9 (bounded slowdown 14/10); B needs both cores, 15-35,
    # waited 13 (33/20); C 35-45, waited 5 (15/10).
    # C first: it is submitted at 30, and the machine idles; A then starts at 30, waited 29 (34/10), B when C has ended
    # at 40, waited 38 (58/20).
    found = sm.run_trials(small, [[0, 1, 2], [2, 0, 1]])
    assert found.tolist() == pytest.approx([(1.4 + 1.65 + 1.5) / 3, (1.0 + 3.4 + 2.9) / 3], rel=1e-15)
    assert sm.run_trials(small, np.empty((0, 3), dtype=np.int64)).shape == (0,)


@given(pair=pairs(), data=st.data(), delay_s=st.sampled_from([0.0, 0.0026, 1.0]), tau_s=st.sampled_from([10.0, 0.5]))
def test_the_compiled_trial_gives_the_bits_of_a_plain_loop(
    pair: sm.Pair, data: st.DataObject, delay_s: float, tau_s: float
) -> None:
    jobs = len(pair.jobs) - pair.initial_jobs
    orders = data.draw(st.lists(st.permutations(range(jobs)), min_size=1, max_size=WIDTH + 2))
    found = sm.run_trials(pair, orders, dispatch_delay_s=delay_s, tau_s=tau_s)
    assert found.tolist() == [slow_trial(pair, order, delay_s=delay_s, tau_s=tau_s) for order in orders]


@given(pair=pairs())
def test_jobs_in_order_of_submission_run_as_first_come_first_served_does(pair: sm.Pair) -> None:
    jobs = len(pair.jobs) - pair.initial_jobs
    schedule = sm.simulate(pair.jobs, cores=pair.cores, order="FCFS", backfilling="none")
    p, wait_s = pair.jobs.runtime_s, schedule.start_s - pair.jobs.submit_s
    slowdown = np.maximum((wait_s + p) / np.maximum(p, 10.0), 1.0)
    assert sm.run_trials(pair, [range(jobs)])[0] == pytest.approx(slowdown[pair.initial_jobs :].mean(), rel=1e-12)


def test_trials_do_not_depend_on_those_beside_them_or_on_threads(drawn: Sequence[sm.Pair]) -> None:
    rng = np.random.default_rng(3)
    orders = np.argsort(rng.random((70_000, 32)), axis=1)
    found = sm.run_trials(drawn[0], orders, workers=3)
    some = rng.integers(len(orders), size=7)
    assert (sm.run_trials(drawn[0], orders[some]) == found[some]).all()
    assert (sm.run_trials(drawn[0], orders.astype(np.uint8), workers=1) == found).all()


@pytest.mark.parametrize(
    ("orders", "text"),
    [
        ([[0, 1, 2], [0, 1, 1]], "row 1 of orders must be each of 0 to 2 once (got [0, 1, 1])"),
        ([[0, 1, 2], [-1, 0, 1]], "row 1 of orders must be each of 0 to 2 once (got [-1, 0, 1])"),
        ([[256, 257, 258]], "row 0 of orders must be each of 0 to 2 once (got [256, 257, 258])"),
        ([0, 1, 2], "the shape of orders must be (any, 3), as Q has 3 jobs (got (3,))"),
        ([[0.0, 1.0, 2.0]], "the type of orders must be one of integers (got 'float64')"),
    ],
)
def test_rows_that_are_no_permutations_are_refused(small: sm.Pair, orders: object, text: str) -> None:
    with refused(text):
        sm.run_trials(small, orders)


def test_the_first_bad_row_is_named_whichever_thread_met_it(small: sm.Pair) -> None:
    orders = np.tile([0, 1, 2], (200_000, 1))
    orders[[199_999, 70_001]] = [0, 0, 2]
    with pytest.raises(sm.RequestError, match=r"row 70001 of orders must be each of 0 to 2 once \(got \[0, 0, 2\]\)"):
        sm.run_trials(small, orders, workers=2)


# -- shuffles ---------------------------------------------------------------------------------------


def shuffled(jobs: int, batches: int, how: str, first: int = -1) -> NDArray[np.int64]:
    """Return permutations [batches * WIDTH, jobs] as the compiled trials draw them."""
    lanes = new_lanes(jobs, 0)
    kernel._seed_lanes(lanes.state, np.uint64(11), np.uint64(12), 0)
    found = np.empty((batches, jobs, WIDTH), dtype=np.int64)
    for batch in range(batches):
        if how == "uniform":
            kernel._uniform(lanes, jobs, first)
        else:
            kernel._swap_any(lanes, jobs)
        found[batch] = lanes.keys[:jobs] & kernel._INDEX
    return found.transpose(0, 2, 1).reshape(-1, jobs)


def require_frequencies(counts: NDArray[Any], expected: NDArray[Any], freedom: int, scale: float = 1.0) -> None:
    """The seed is fixed; of a right shuffle, one seed in a thousand would fail."""
    statistic = scale * float(((counts - expected) ** 2 / expected).sum())
    assert chi2.ppf(1e-4, freedom) < statistic < chi2.ppf(1 - 1e-3, freedom)


@pytest.mark.parametrize("jobs", [1, 2, 15, 16, 17, 32, 33, 64])
def test_each_job_comes_to_each_place_equally_often(jobs: int) -> None:
    found = shuffled(jobs, 1500, "uniform")
    assert (np.sort(found, axis=1) == np.arange(jobs)).all()
    counts = np.array([np.bincount(column, minlength=jobs) for column in found.T])
    if jobs > 1:
        # Rows and columns are whole permutations: a place that one job has, no other has. So the cells vary together,
        # and the statistic is jobs / (jobs - 1) times that of free counts.
        require_frequencies(counts, np.full((jobs, jobs), len(found) / jobs), (jobs - 1) ** 2, (jobs - 1) / jobs)


@pytest.mark.parametrize(("jobs", "first"), [(4, -1), (5, 3)])
def test_each_permutation_is_drawn_equally_often_and_a_job_that_leads_leads_always(jobs: int, first: int) -> None:
    found = shuffled(jobs, 3000, "uniform", first=first)
    assert first < 0 or (found[:, 0] == first).all()
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 24
    require_frequencies(counts, np.full(24, len(found) / 24), 23)


def places_after_swaps(jobs: int) -> NDArray[np.float64]:
    """P[j, place] of the program's shuffle, step by step: place k is swapped with one of all."""
    places = np.eye(jobs)
    for k in range(jobs):
        moved = places * (1 - 1 / jobs)  # who stands elsewhere stays, unless it is the one drawn
        moved[:, k] = (1 - places[:, k]) / jobs + places[:, k] / jobs
        for place in range(jobs):
            if place != k:
                moved[:, place] += places[:, k] / jobs
        places = moved
    return places


@pytest.mark.parametrize("jobs", [2, 7, 32, 40])
def test_the_programs_shuffle_has_its_exact_probabilities(jobs: int) -> None:
    expected = places_after_swaps(jobs)
    assert expected.sum(axis=1) == pytest.approx(1.0)
    found = shuffled(jobs, 2500, "swap-any")
    assert (np.sort(found, axis=1) == np.arange(jobs)).all()
    first = np.bincount(found[:, 0], minlength=jobs)
    require_frequencies(first, expected[:, 0] * len(found), jobs - 1)
    last = np.bincount(found[:, -1], minlength=jobs)
    require_frequencies(last, expected[:, -1] * len(found), jobs - 1)


def test_trials_are_counted_by_the_job_that_was_first(drawn: Sequence[sm.Pair]) -> None:
    trials = 160_000
    for shuffle, expected in (("uniform", np.full(32, 1 / 32)), ("swap-any", places_after_swaps(32)[:, 0])):
        table = sm.score_jobs(drawn[0], trials, estimator="published", shuffle=shuffle, seed=1)
        assert table["trials"].sum() == trials
        require_frequencies(table["trials"].to_numpy(), expected * trials, 31)
    assert (sm.score_jobs(drawn[0], trials)["trials"] == trials // 32).all()


# -- scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "shuffle"), WAYS)
def test_scores_are_as_far_from_the_exact_ones_as_errors_say(four: sm.Pair, estimator: object, shuffle: object) -> None:
    orders = all_orders(4)
    found = sm.run_trials(four, orders)
    if shuffle == "uniform":
        chance = np.full(24, 1 / 24)
    else:  # every sequence of four swaps
        ends = [order_after(swaps) for swaps in itertools.product(range(4), repeat=4)]
        chance = np.array([ends.count(tuple(order)) for order in orders]) / 4**4
    each = np.array([(found * chance)[orders[:, 0] == j].sum() for j in range(4)])
    exact = each / each.sum()
    off = []
    for seed in range(60):
        table = sm.score_jobs(four, 2000, estimator=estimator, shuffle=shuffle, seed=seed)
        assert table["score"].sum() == pytest.approx(1.0)
        off.append((table["score"] - exact) / table["se"])
    spread = np.sqrt((np.array(off) ** 2).mean(axis=0))  # of 60 normal numbers, within 0.6 to 1.4 but once in 10^5
    assert ((spread > 0.6) & (spread < 1.4)).all()


def order_after(swaps: Sequence[int]) -> tuple[int, ...]:
    order = list(range(len(swaps)))
    for k, other in enumerate(swaps):
        order[k], order[other] = order[other], order[k]
    return tuple(order)


def test_trials_are_compiled_in_the_thread_that_asks_where_ctrl_c_is_heard(
    small: sm.Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[bool, bool]] = []  # whether it was the main thread, and whether it was to stop at once

    def run_blocks(*args: Any) -> None:  # noqa: ANN401  as run_blocks takes them
        calls.append((threading.current_thread() is threading.main_thread(), bool(args[-1][0])))
        kernel.run_blocks(*args)

    monkeypatch.setattr(trials, "run_blocks", run_blocks)
    sm.score_jobs(small, 10 * BLOCK, workers=2)
    assert calls[0] == (True, True)
    assert (False, False) in calls
    assert calls.count((True, True)) == 1
    assert (True, False) not in calls


def test_the_table_has_a_row_for_each_job_of_each_pair(drawn: Sequence[sm.Pair]) -> None:
    table = sm.score_jobs(drawn, 3201)
    assert table.columns.tolist() == ["pair", "job", "p", "q", "r", "score", "se", "trials"]
    assert table["pair"].tolist() == [number for number in range(3) for _ in range(32)]
    assert (table["trials"] == 101).all(), "rounded up"
    for pair in drawn:
        rows, jobs = table[table["pair"] == pair.number], pair.jobs
        for name, column in (("job", jobs.job_id), ("p", jobs.runtime_s), ("q", jobs.cores), ("r", jobs.submit_s)):
            assert rows[name].tolist() == column[16:].tolist()
        assert rows["score"].sum() == pytest.approx(1.0)


def test_where_the_order_does_not_matter_scores_have_no_error() -> None:
    for jobs in (1, 6):
        pair = pair_of((0, 5, 1), *[(10, 20, 1)] * jobs, initial_jobs=1, cores=9)
        table = sm.score_jobs(pair, 6000)
        assert table["score"].to_numpy() == pytest.approx(1 / jobs)
        assert (table["se"] < 1e-9).all()
        assert table["trials"].sum() == 6000


# -- the same bits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "shuffle"), WAYS)
def test_scores_do_not_depend_on_workers_or_on_other_pairs(
    drawn: Sequence[sm.Pair], estimator: object, shuffle: object
) -> None:
    how = {"estimator": estimator, "shuffle": shuffle, "seed": 9}
    trials = 66 * BLOCK + 7  # more than one task for each pair, and a last block that is not full
    one = sm.score_jobs(drawn, trials, workers=1, **how)
    pd.testing.assert_frame_equal(one, sm.score_jobs(drawn, trials, workers=3, **how), check_exact=True)
    alone = sm.score_jobs(drawn[1], trials, workers=2, **how)
    pd.testing.assert_frame_equal(one[32:64].reset_index(drop=True), alone, check_exact=True)
    assert not sm.score_jobs(drawn[1], trials, estimator=estimator, shuffle=shuffle, seed=8)["score"].equals(
        alone["score"]
    )


def test_more_trials_continue_fewer_and_those_of_another_pair_are_others(four: sm.Pair) -> None:
    few, more = (sm.score_jobs(four, blocks * BLOCK, estimator="published", seed=4) for blocks in (1, 2))
    gained = more["trials"] - few["trials"]
    assert (gained > 0).all()
    assert gained.sum() == BLOCK
    assert not (gained == few["trials"]).all()  # other random numbers
    table = sm.score_jobs([four, replace(four, number=1)], 4000)
    assert not (table["score"][:4].to_numpy() == table["score"][4:].to_numpy()).any()


SCRIPT = """
import simmodels as sm
import workloads as wl
pairs = sm.draw_pairs(wl.lublin(jobs=400, cores=64, seed=5), 3, seed=2)
print(sm.score_jobs(pairs, 3200, seed=6, workers=1).to_numpy().tobytes().hex())
"""


def test_another_process_with_another_hash_seed_gives_the_same_bits(drawn: Sequence[sm.Pair]) -> None:
    here = sm.score_jobs(drawn, 3200, seed=6, workers=2).to_numpy().tobytes().hex()
    assert printed_elsewhere(SCRIPT, hash_seed=1) == here


# -- what is reported, and what is refused --------------------------------------------------------------


def test_progress_is_reported_up_to_the_last_trial_and_what_it_raises_stops_them(drawn: Sequence[sm.Pair]) -> None:
    reported: list[tuple[int, int]] = []
    trials = 32 * 9000
    sm.score_jobs(drawn, trials, progress=lambda done, total: reported.append((done, total)))
    done = [one for one, _ in reported]
    assert {total for _, total in reported} == {3 * trials}
    assert done == sorted(set(done))
    assert done[-1] == 3 * trials
    assert len(done) > 3

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sm.score_jobs(drawn, trials, progress=stop)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"trials": 0}, "trials must be an integer from 1 to 2**53 (got 0)"),
        ({"trials": 4}, "trials must be an integer > 4, as each of 4 jobs needs two (got 4)..."),
        ({"workers": 0}, "workers must be an integer from 1 to 2**53, or None (got 0)"),
        ({"tau_s": 0.0}, "tau_s must be a finite number of seconds > 0 (got 0.0)"),
        ({"dispatch_delay_s": -1.0}, "dispatch_delay_s must be a finite number of seconds >= 0 (got -1.0)"),
        ({"seed": -1}, "seed must be an integer >= 0 (got -1)"),
        ({"shuffle": "swap-any"}, "shuffle must be 'uniform' with the stratified estimator (got 'swap-any')..."),
        ({"estimator": "other"}, "unknown estimator 'other'; known: ..."),
        ({"shuffle": "other"}, "unknown shuffle 'other'; known: ..."),
        ({"initial_state": "other"}, "unknown initial state 'other'; known: ..."),
    ],
)
def test_what_is_out_of_its_range_is_refused(four: sm.Pair, asked: dict[str, Any], text: str) -> None:
    with refused(text, sm.SimModelsError):
        sm.score_jobs(four, **{"trials": 100, **asked})


def test_pairs_need_numbers_of_their_own(four: sm.Pair) -> None:
    with pytest.raises(sm.RequestError, match="two pairs have the number 0; each pair needs its own"):
        sm.score_jobs([four, four], 100)
    with pytest.raises(sm.RequestError, match="no pairs are given; give at least one"):
        sm.score_jobs([], 100)
