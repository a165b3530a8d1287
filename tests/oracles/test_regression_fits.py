"""Fitted forms against the solutions of an independent program (weighted least squares) on the published scores."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simmodels.learning.regression import fit_polynomial
from simmodels.policies.orders import BUILT_IN
from simmodels.policies.polynomial import FORMS, Polynomial

SETS = {"lublin-256": "published_lublin_256", "ctc-sp2": "published_ctc_sp2"}
"""The score sets that are there; that of SDSC-Blue is not."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SETS)
def test_a_fit_of_published_scores_is_the_oracles(shared: Path, name: str, form: str) -> None:
    folder = shared / "oracles" / "regression"
    table = pd.read_csv(folder / "scores" / f"{SETS[name]}.csv.gz", header=None, names=["p", "q", "r", "score"])
    oracle = json.loads((folder / "fits" / "regression_oracle.json").read_text())[name][form.lower()]
    fit = fit_polynomial(table, form)
    assert list(fit.terms) == oracle["terms"]
    assert fit.theta == pytest.approx(oracle["theta_exact_wls"], rel=1e-9, abs=0)
    assert fit.mae == pytest.approx(oracle["mae_exact"], rel=1e-12, abs=0)
    assert list(fit.vif("paper").values()) == pytest.approx(oracle["vif_uncentered(paper)"], rel=1e-9, abs=0)
    assert list(fit.vif("centred").values()) == pytest.approx(oracle["vif_centered"], rel=1e-9, abs=0)
    assert fit.condition == pytest.approx(oracle["cond_scaled_weighted_design"], rel=1e-9, abs=0)


def test_the_published_linear_form_is_that_fit_printed(shared: Path) -> None:
    path = shared / "oracles" / "regression" / "scores" / "published_lublin_256.csv.gz"
    fit = fit_polynomial(pd.read_csv(path, header=None, names=["p", "q", "r", "score"]))
    published = BUILT_IN["LIN"]
    assert isinstance(published, Polynomial)
    for theta, printed in zip(fit.theta, published.theta, strict=True):  # seven digits, of which one ends one too high
        assert abs(theta - printed) < 1.0001e-6 * 10 ** np.floor(np.log10(abs(printed)))
