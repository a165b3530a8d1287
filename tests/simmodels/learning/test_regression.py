from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

import simmodels as sm
import workloads as wl
from simmodels.policies.polynomial import Polynomial
from tests.refused import refused


def scores(rows: int = 300, seed: int = 1, noise: float = 0.01) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    p, q, r = rng.integers(1, 40_000, rows), rng.integers(1, 257, rows), rng.integers(0, 90_000, rows)
    score = 0.03 + 1e-7 * p + 3e-5 * q - 2e-7 * r + noise * rng.standard_normal(rows)
    return pd.DataFrame({"p": p, "q": q, "r": r, "score": score})


def test_three_points_and_their_weights_by_hand() -> None:
    # f = c, the score 1 at weight 1, 3 at weight 1, 7 at weight 2: c = (1 + 3 + 4 * 7) / (1 + 1 + 4) = 16 / 3.
    table = pd.DataFrame({"p": [1, 1, 2], "q": [1, 1, 1], "r": [0, 0, 0], "score": [1.0, 3.0, 7.0]})
    fit = sm.fit_polynomial(table, ["1"])
    assert fit.theta == pytest.approx((16 / 3,))
    assert fit.mae == pytest.approx((13 / 3 + 7 / 3 + 5 / 3) / 3)
    # Its variance: the weighted squares (169 + 49 + 4 * 25) / 9 over 2 degrees of freedom, over the weights 6.
    assert fit.standard_error == pytest.approx((np.sqrt(318 / 9 / 2 / 6),))
    assert (fit.vif_paper, fit.vif_centred, fit.condition, fit.rows) == ((None,), (None,), 1.0, 3)


def test_errors_are_those_of_scipy_with_weights_known_up_to_a_factor() -> None:
    table = scores()
    fit = sm.fit_polynomial(table, "LIN")
    x = table[["p", "q", "r"]].to_numpy(float).T

    def linear(x: object, *theta: float) -> object:
        return theta[0] + theta[1] * x[0] + theta[2] * x[1] + theta[3] * x[2]

    sigma = 1 / (x[0] * x[1])
    theta, covariance = curve_fit(linear, x, table["score"], p0=fit.theta, sigma=sigma)
    assert fit.theta == pytest.approx(theta, rel=1e-6)
    assert fit.standard_error == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)


@given(factor=st.floats(1e-100, 1e100))
def test_a_factor_of_all_weights_changes_nothing(factor: float) -> None:
    table = scores(50)
    weights = (table["p"] * table["q"]).to_numpy(float)
    one, other = sm.fit_polynomial(table), sm.fit_polynomial(table, weights=weights * factor)
    assert other.theta == pytest.approx(one.theta, rel=1e-9)
    assert other.standard_error == pytest.approx(one.standard_error, rel=1e-9)


# -- collinearity -------------------------------------------------------------------------------------------


def test_a_column_that_does_not_vary_has_no_finite_centred_factor() -> None:
    table = scores().assign(r=0.1)
    fit = sm.fit_polynomial(table, ["p", "q", "r"])
    assert fit.vif("centred")["r"] == np.inf
    assert fit.vif("centred")["p"] == pytest.approx(fit.vif("centred")["q"])
    assert np.isfinite(list(fit.vif("paper").values())).all()
    with refused("unknown VIF 'other'; known: paper, centred", sm.UnknownNameError):
        fit.vif("other")  # type: ignore[arg-type]


# -- what cannot be fitted ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "terms", "text"),
    [
        ({"r": 5.0}, "LIN", "terms '1', 'r' make each other up in these 300 scores; no coefficients are nearest"),
        ({"r": 0.0}, "LIN", "term 'r' is 0 in every row; leave it out"),
        ({"q": 1}, "QDR", "terms '1', 'p', 'q', 'q2', 'pq' make each other up in these 300 scores"),
        ({"p": lambda t: t["p"].where(t.index != 7)}, "LIN", "column p, row 7, must be a finite number (got nan)"),
        ({"score": np.inf}, "LIN", "column score, row 0, must be a finite number (got inf)"),
        ({"q": lambda t: t["q"].where(t.index != 9, 0)}, "LIN", "weight p q, row 9, must be ... > 0 (got 0.0); leave"),
        ({"q": "many"}, "LIN", "the type of column q must be one of numbers (got '"),
        ({"p": 1e100}, ["1", "p4"], "term 'p4' overflows; leave it out"),
        ({}, "CUBIC", "unknown form 'CUBIC'; did you mean CUB? known: LIN, QDR, CUB, QUA"),
        ({}, ["1", "w"], "a term must be a product of powers ... (got 'w')"),
    ],
)
def test_scores_that_have_no_nearest_polynomial_are_refused(changed: dict[str, Any], terms: object, text: str) -> None:
    with refused(f"{text}...", sm.SimModelsError):
        sm.fit_polynomial(scores().assign(**changed), terms)


def test_rows_columns_and_weights_are_checked() -> None:
    with refused("4 scores for 4 terms; give at least 5..."):
        sm.fit_polynomial(scores(4))
    assert sm.fit_polynomial(scores(5)).rows == 5
    with refused("scores without r, score; they have p, q..."):
        sm.fit_polynomial(scores()[["p", "q"]])
    for weight in (0.0, -1.0, np.nan):
        with refused(f"weight, row 0, must be a finite number > 0 (got {weight}); leave out a row that is not to..."):
            sm.fit_polynomial(scores(), weights=np.full(300, weight))
    with refused("the shape of weights must be (300,), one per row (got (5,))"):
        sm.fit_polynomial(scores(), weights=np.ones(5))


def test_powers_beyond_whole_numbers_do_not_overflow() -> None:
    table = scores(noise=0.0).assign(p=lambda t: t["p"] * 1000)  # p^4 is above 2^63
    table["score"] = table["p"].astype(float) ** 4 * 1e-33
    fit = sm.fit_polynomial(table, ["1", "p4"])
    assert fit.theta[1] == pytest.approx(1e-33, rel=1e-12)


# -- what a fit is good for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fit.toml", "fit.json"])
def test_a_file_keeps_a_fit_to_the_last_bit_and_is_an_order(tmp_path: Path, name: str) -> None:
    for fit in (
        sm.fit_polynomial(scores(), "CUB", source="here"),
        sm.fit_polynomial(scores().assign(r=1.0), ["r", "p"]),
        sm.fit_polynomial(scores(60).assign(pair=np.arange(60) // 6), "LIN"),
    ):
        fit.write(tmp_path / name)
        assert sm.Fit.read(tmp_path / name) == fit
        assert Polynomial.read(tmp_path / name) == fit.order
        assert (tmp_path / name).read_text() == (fit.to_toml() if name.endswith("toml") else fit.to_json())


def test_a_file_that_is_an_order_only_is_no_fit(tmp_path: Path) -> None:
    Polynomial([1.0], ["p"]).write(tmp_path / "order.toml")
    with pytest.raises(sm.FileFormatError, match="holds no fit"):
        sm.Fit.read(tmp_path / "order.toml")
    document = sm.fit_polynomial(scores()).to_toml().replace("vif_paper = [", "vif_paper = [1.0, ")
    (tmp_path / "fit.toml").write_text(document)
    with pytest.raises(sm.FileFormatError, match=r"holds no fit: .* have one number a term"):
        sm.Fit.read(tmp_path / "fit.toml")


def test_a_fit_is_an_order_from_trials_to_schedule() -> None:
    log = wl.lublin(jobs=300, cores=64, seed=4, load=0.9)
    table = sm.score_jobs(sm.draw_pairs(log, 6, seed=1), 3200)
    fit = sm.fit_polynomial(table, "LIN", name="mine")
    assert str(fit) == str(fit.order)
    assert fit.predict(table["p"], table["q"], table["r"]).mean() == pytest.approx(1 / 32, rel=0.5)
    schedule = sm.simulate(log, order=fit.order, backfilling="none")
    assert schedule.about["order"] == "mine"
    assert not (schedule.start_s == sm.simulate(log, backfilling="none").start_s).all()


def test_equal_fits_share_one_order_which_is_compiled_once() -> None:
    one, other = (sm.fit_polynomial(scores(), "LIN", name="mine") for _ in range(2))
    assert one.order is other.order
    assert one.order is not sm.fit_polynomial(scores(), "LIN", name="yours").order
    assert sm.fit_polynomial(scores(), "qdr").name == "fit-QDR"
    assert sm.fit_polynomial(scores(), ["p", "q"]).name == "fit"


def test_errors_by_pair_are_those_of_the_sandwich_written_out() -> None:
    table = scores(240).assign(pair=np.arange(240) // 8)
    fit = sm.fit_polynomial(table, "LIN")
    weight = (table["p"] * table["q"]).to_numpy(dtype=float)
    x = np.column_stack([np.ones(240), table["p"], table["q"], table["r"]]) * weight[:, None]
    e = weight * table["score"].to_numpy() - x @ np.array(fit.theta)
    bread = np.linalg.inv(x.T @ x)
    meat = sum(
        np.outer(x[rows].T @ e[rows], x[rows].T @ e[rows]) for rows in np.split(np.arange(240), 30)
    ) * (30 / 29)  # fmt: skip
    expected = np.sqrt(np.diag(bread @ meat @ bread))
    assert fit.error_by_pair == pytest.approx(expected, rel=1e-6)
    assert sm.fit_polynomial(scores(240), "LIN").error_by_pair == (None,) * 4
