"""Trials and scores against the reference program (Rosa, Carastan-Santos, Goldman 2023) and a converged emulator."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloads as wl
from simmodels.learning.pairs import Pair
from simmodels.learning.trials import run_trials, score_jobs

STARTS = (1000, 4970)


class Oracle:
    """One (S, Q) pair of the reference, and what it found."""

    def __init__(self, shared: Path, start: int) -> None:
        name = f"{shared}/oracles/regression/trials/pair_{start}"
        self.meta = json.loads(Path(f"{name}.meta.json").read_text())
        self.scores = pd.read_csv(f"{name}.scores.csv", comment="#")
        self.jobs = pd.read_csv(f"{name}.jobs.csv")
        with np.load(f"{name}.trials.npz") as found:
            self.perms, self.avgbsld = found["perms"], found["avgbsld"]
        log = wl.read_swf(shared / "traces" / "lublin_256.swf.gz")
        self.pair = Pair.at(log, start, cores=self.meta["m"])
        self.delay_s = self.meta["dispatch_delay"]


@pytest.fixture(scope="module", params=STARTS)
def oracle(shared: Path, request: pytest.FixtureRequest) -> Oracle:
    return Oracle(shared, request.param)


def test_the_initial_state_is_that_of_the_reference(oracle: Oracle) -> None:
    state = oracle.pair.state(dispatch_delay_s=oracle.delay_s)
    assert state.time_s == pytest.approx(oracle.meta["t0"], rel=1e-14)
    assert state.free == oracle.meta["free_at_t0"]
    assert state.end_s == pytest.approx(oracle.meta["running_end"], rel=1e-14)
    assert list(state.cores) == oracle.meta["running_q"]


def test_every_trial_gives_the_value_of_the_reference(oracle: Oracle) -> None:
    found = run_trials(oracle.pair, oracle.perms, dispatch_delay_s=oracle.delay_s, tau_s=oracle.meta["tau"])
    assert len(found) == 65_536
    np.testing.assert_allclose(found, oracle.avgbsld, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("estimator", "shuffle", "converged"),
    [
        ("stratified", "uniform", "conv_score_uniform"),
        ("published", "uniform", "conv_score_uniform"),
        ("published", "swap-any", "conv_score_refshuffle"),
    ],
)
def test_scores_agree_with_converged_ones_within_their_errors(
    oracle: Oracle, estimator: object, shuffle: object, converged: str
) -> None:
    table = score_jobs(
        oracle.pair, 256_000, estimator=estimator, shuffle=shuffle, dispatch_delay_s=oracle.delay_s, seed=2023
    )
    assert (table[["p", "q", "r"]].to_numpy() == oracle.scores[["p", "q", "r"]].to_numpy()).all()
    z = (table["score"] - oracle.scores[converged]) / table["se"]
    # Of 32 normal numbers: one beyond 4.5 in 4,600 seeds, and a root mean square outside of these in about as many.
    assert z.abs().max() < 4.5
    assert 0.55 < np.sqrt((z**2).mean()) < 1.5


def test_stratified_trials_are_worth_many_published_ones(oracle: Oracle) -> None:
    errors = {
        estimator: float(score_jobs(oracle.pair, 64_000, estimator=estimator, seed=1)["se"].mean())
        for estimator in ("stratified", "published")
    }
    # 256 thousand published trials are worth 10 to 35 thousand stratified ones: errors 2.7 to 5 times as large.
    assert 2.4 < errors["published"] / errors["stratified"] < 5.5


class Published:
    """The 440 pairs of the published scores, and what was found for their jobs."""

    def __init__(self, shared: Path) -> None:
        scores = shared / "oracles" / "regression" / "scores"
        self.rows = pd.read_csv(scores / "lublin_256_tuples.csv.gz", comment="#")
        names = ["p", "q", "r", "score"]
        self.uniform = pd.read_csv(scores / "uniform_lublin_256.csv.gz", comment="#", header=None, names=names)["score"]
        log = wl.read_swf(shared / "traces" / "lublin_256.swf.gz")
        starts = self.rows.groupby("tuple")["start_index"].first()
        self.pairs = [Pair.at(log, int(row), number=number) for number, row in enumerate(starts)]

    def scored(self, pairs: int, estimator: str, shuffle: str) -> pd.DataFrame:
        found = score_jobs(
            self.pairs[:pairs], 256_000, estimator=estimator, shuffle=shuffle, dispatch_delay_s=PROGRAMS_DELAY_S
        )
        columns = ["p", "q", "r"]
        assert (found[columns].to_numpy() == self.rows[: len(found)][columns].to_numpy()).all()
        return found


PROGRAMS_DELAY_S = 0.0026102474226804124


@pytest.fixture(scope="module")
def published(shared: Path) -> Published:
    return Published(shared)


def test_the_text_and_the_program_differ_in_175_pairs(published: Published) -> None:
    states = [(pair.state(), pair.state(initial_state="submitted")) for pair in published.pairs]
    assert len(states) == 440
    assert sum(started != submitted for started, submitted in states) == 175


def test_published_scores_are_those_of_the_programs_shuffle(published: Published) -> None:
    found = published.scored(12, "published", "swap-any")
    z = (found["score"] - published.rows["published_score"][: len(found)]) / (found["se"] * 2**0.5)
    assert z.abs().max() < 5.0
    assert 0.85 < np.sqrt((z**2).mean()) < 1.15


@pytest.mark.full
def test_the_whole_published_data_set(published: Published) -> None:
    biased = published.scored(440, "published", "swap-any")
    fair = published.scored(440, "stratified", "uniform")
    for found, others, variance in (
        (biased, published.rows["published_score"], 1.0),  # as many trials
        (biased, published.rows["kernel_refshuffle_score"], 0.25),  # four times as many
        (fair, published.uniform, 0.25),
    ):
        z = (found["score"] - others) / (found["se"] * (1.0 + variance) ** 0.5)
        assert z.abs().max() < 5.5  # of 14,080 normal numbers: once in 1,900 seeds
        assert 0.97 < np.sqrt((z**2).mean()) < 1.03
    assert np.corrcoef(biased["score"], fair["score"])[0, 1] == pytest.approx(0.19, abs=0.01)
