"""Regression: polynomials in p, q and r fitted to the scores of jobs, which then are orders.

References
----------
Rosa, Carastan-Santos, Goldman 2023, "An experimental analysis of regression-obtained HPC scheduling heuristics", JSSPP.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from simmodels.errors import FileFormatError, RequestError, UnknownNameError, brief, must_be, require_known
from simmodels.ground.arguments import as_instance
from simmodels.ground.toml_json import json_text, read_document, toml_text, write_document
from simmodels.policies.polynomial import FORMS, LETTERS, Polynomial, as_powers, as_terms

Vif = Literal["paper", "centred"]

_COLUMNS: Final = (*LETTERS, "score")
_ABOUT: Final = "a fitted order: the job with the smaller value goes first (p estimate in s, q cores, r submit in s)"
_PART: Final = 1e-6
"""From which part on a column takes part in a dependence of columns of length 1."""
_PARTS: Final = ("standard_error", "error_by_pair", "vif_paper", "vif_centred")


@dataclass(frozen=True, slots=True)
class Fit:
    """A polynomial fitted to scores, and how well it fits.

    Parameters
    ----------
    name
        What the order is called.
    terms
        The monomials.
    theta, standard_error
        The coefficients, and their standard errors, one a term: of a weighted least squares whose weights are known up
        to a factor, as those of scipy's ``curve_fit`` without ``absolute_sigma``. They take rows as independent, which
        the jobs of a pair are not.
    error_by_pair
        The standard errors that allow for any dependence within a pair (Liang, Zeger 1986, doi 10.1093/biomet/73.1.13),
        which were found to be several times the others; None where it is not known which rows are a pair.
    mae
        The mean absolute error of a score, not weighted.
    vif_paper
        The variance inflation factor of each term but ``"1"`` (its place holds None), uncentred and without intercept:
        as in the source, whose features include no constant. Infinite if the other terms make up the term.
    vif_centred
        The usual one: of the features less their means.
    condition
        The condition number (2-norm) of the weighted design, its columns scaled to length 1.
    rows
        How many scores were fitted.
    source
        Where the scores come from.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> log = wl.lublin(jobs=500, cores=64, seed=1)
    >>> pairs = sm.draw_pairs(log, 4, initial_jobs=4, trial_jobs=6)
    >>> fit = sm.fit_polynomial(sm.score_jobs(pairs, trials=100, seed=1), "LIN")
    >>> fit.write("fit.toml")
    >>> sm.Fit.read("fit.toml").theta == fit.theta
    True
    >>> sm.simulate(log, order=fit.order).about["order"]
    'fit-LIN'
    """

    name: str
    terms: tuple[str, ...]
    theta: tuple[float, ...]
    standard_error: tuple[float, ...]
    error_by_pair: tuple[float | None, ...]
    mae: float
    vif_paper: tuple[float | None, ...]
    vif_centred: tuple[float | None, ...]
    condition: float
    rows: int
    source: str = ""

    @property
    def order(self) -> Polynomial:
        """Return the order: the job with the smaller fitted score goes first, its estimate in place of p."""
        return _order(self.theta, self.terms, self.name, self.source)

    def vif(self, vif: Vif = "paper") -> dict[str, float]:
        """Return the variance inflation factor of each term but ``"1"``: ``"paper"``, or ``"centred"``."""
        kinds = {"paper": self.vif_paper, "centred": self.vif_centred}
        require_known("VIF", vif, kinds)
        return {term: value for term, value in zip(self.terms, kinds[vif], strict=True) if value is not None}

    def predict(self, p: ArrayLike, q: ArrayLike, r: ArrayLike) -> NDArray[np.float64]:
        """Return the fitted scores float64[n] of jobs of runtime p (s), q cores and submit r (s)."""
        columns = np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in (p, q, r)))
        found: NDArray[np.float64] = _features(columns, self.terms) @ np.array(self.theta)
        return found

    def __str__(self) -> str:
        """Return the formula with all its digits."""
        return str(self.order)

    # -- documents ------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return the order by name, and the rest under ``fit``."""
        parts = {name: [np.nan if x is None else x for x in getattr(self, name)] for name in _PARTS}
        return self.order.to_document() | {
            "fit": {"mae": self.mae, "condition": self.condition, "rows": self.rows, **parts}
        }

    def to_toml(self) -> str:
        """Return it as TOML: an order that ``--order`` takes, and how well it fits."""
        return toml_text(self.to_document(), _ABOUT)

    def to_json(self) -> str:
        """Return it as JSON, with the same names."""
        return json_text(self.to_document())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file whose name ends in ``.toml`` or ``.json``."""
        write_document(path, self.to_document(), _ABOUT)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fit that `write` wrote, to the last bit; raise `FileFormatError` if the file holds none."""
        document = read_document(path)
        order, fit = Polynomial.from_document(document, str(path)), document.get("fit", {})
        try:
            error, by_pair, paper, centred = ([float(x) for x in fit[name]] for name in _PARTS)
            numbers = float(fit["mae"]), float(fit["condition"]), int(fit["rows"])
        except (KeyError, TypeError, ValueError, OverflowError) as error_found:
            raise FileFormatError(str(path), None, f"holds no fit: {brief(error_found)}") from error_found
        if not len(error) == len(by_pair) == len(paper) == len(centred) == len(order.terms):
            raise FileFormatError(str(path), None, f"holds no fit: {', '.join(_PARTS)} have one number a term")
        mae, condition, rows = numbers
        return cls(
            name=order.name,
            terms=order.terms,
            theta=order.theta,
            standard_error=tuple(error),
            error_by_pair=tuple(None if np.isnan(x) else x for x in by_pair),
            mae=mae,
            vif_paper=tuple(None if term == "1" else x for term, x in zip(order.terms, paper, strict=True)),
            vif_centred=tuple(None if term == "1" else x for term, x in zip(order.terms, centred, strict=True)),
            condition=condition,
            rows=rows,
            source=order.source,
        )


@lru_cache(maxsize=256)
def _order(theta: tuple[float, ...], terms: tuple[str, ...], name: str, source: str) -> Polynomial:
    """Return the order of a fit: one object for equal fits, since each compiles its function when it is first used."""
    return Polynomial(theta, terms, name=name, source=source)


def fit_polynomial(
    scores: pd.DataFrame,
    terms: str | Sequence[str | Sequence[int]] = "LIN",
    *,
    weights: ArrayLike | None = None,
    name: str | None = None,
    source: str = "",
) -> Fit:
    """Return the polynomial nearest to the scores: the one with the least sum of (weight (f - score))^2.

    Parameters
    ----------
    scores
        One row per job: columns ``p`` (runtime in s), ``q`` (cores), ``r`` (submit in s) and ``score``, as `score_jobs`
        gives them, and ``pair`` if it is known; others are left alone.
    terms
        A form of the source (``"LIN"``, ``"QDR"``, ``"CUB"``, ``"QUA"``), or monomials of your own (see `Polynomial`).
    weights
        float[rows], all > 0; by default p q, as in the source.
    name
        What the order is called; by default ``fit-`` and the form, or ``fit`` for terms of your own.
    source
        Where the scores come from.

    Returns
    -------
    Fit
        The polynomial as an order (``fit.order``), with its errors.

    Raises
    ------
    UnknownNameError
        There is no form of this name.
    RequestError
        A column is missing; a value is no finite number, or a weight not above 0 (the row is named); there are no more
        rows than terms; or some terms make up another one on these rows (they are named), so that no coefficients are
        nearest. Where the source's program gives the arbitrary ones that its iteration ends at, this refuses.

    Notes
    -----
    Powers are computed in float64: in whole numbers of 64 bits, as in the source's program, p^4 overflows, which is
    what the published mean absolute errors of the quartic form are made of. The weighted columns are scaled to length
    1, and the system is solved by the singular value decomposition, in O(rows terms^2).

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> pairs = sm.draw_pairs(wl.lublin(jobs=500, cores=64, seed=1), 4, initial_jobs=4, trial_jobs=6)
    >>> fit = sm.fit_polynomial(sm.score_jobs(pairs, trials=100, seed=1), "LIN")
    >>> fit.terms, fit.rows
    (('1', 'p', 'q', 'r'), 24)
    """
    form = require_form(terms) if isinstance(terms, str) else ""
    names = FORMS[form] if form else as_terms(terms)
    columns = _columns(as_instance("scores", scores, pd.DataFrame))
    weight = _weights(columns, weights)
    rows = len(weight)
    if rows <= len(names):
        raise RequestError(f"{rows} scores for {len(names)} terms", f"give at least {len(names) + 1}")
    features = _features(columns[:3], names)
    score = columns[3]
    weighted = features * weight[:, None]
    length = _lengths(weighted, names)
    left, singular, right = np.linalg.svd(weighted / length, full_matrices=False)
    _require_independent(singular, right, names, rows)
    theta = (right.T @ ((left.T @ (weight * score)) / singular)) / length
    residual = features @ theta - score
    variance = float(((weight * residual) ** 2).sum()) / (rows - len(names))
    error = np.sqrt(variance * ((right / singular[:, None]) ** 2).sum(axis=0)) / length
    without = [i for i, term in enumerate(names) if term != "1"]
    varying = features[:, without]
    paper = _vif(varying, centred=False)
    centred = _vif(varying, centred=True)

    def in_place(values: Sequence[float]) -> tuple[float | None, ...]:
        by_place = dict(zip(without, values, strict=True))
        return tuple(by_place.get(i) for i in range(len(names)))

    return Fit(
        name=(f"fit-{form}" if form else "fit") if name is None else name,
        terms=names,
        theta=tuple(theta.tolist()),
        standard_error=tuple(error.tolist()),
        error_by_pair=_errors_by_pair(scores, left * (weight * residual)[:, None], right, singular, length),
        mae=float(np.abs(residual).mean()),
        vif_paper=in_place(paper),
        vif_centred=in_place(centred),
        condition=float(singular[0] / singular[-1]),
        rows=rows,
        source=source,
    )


def require_form(name: str) -> str:
    """Return the name of a form as `FORMS` has it; raise `UnknownNameError` if there is none."""
    form = name.upper()
    if form not in FORMS:
        raise UnknownNameError("form", name, tuple(FORMS))
    return form


def _errors_by_pair(
    scores: pd.DataFrame,
    moments: NDArray[np.float64],
    right: NDArray[np.float64],
    singular: NDArray[np.float64],
    length: NDArray[np.float64],
) -> tuple[float | None, ...]:
    """Return the standard errors from the sums over each pair of `moments`, the rows of U times the weighted residuals.

    With X = U S V' (columns scaled) it is (X'X)^-1 (sum over pairs of X_g' e_g e_g' X_g) (X'X)^-1 = V S^-1 M S^-1 V',
    where M is the sum over pairs of m_g m_g' and m_g = U_g' e_g; times G / (G - 1) for G pairs.
    """
    if "pair" not in scores or (count := scores["pair"].nunique()) < 2:
        return (None,) * len(length)
    place = pd.factorize(scores["pair"])[0]
    sums = np.zeros((count, moments.shape[1]))
    np.add.at(sums, place, moments)
    spread = sums / singular @ right
    variance = (spread**2).sum(axis=0) * count / (count - 1)
    return tuple((np.sqrt(variance) / length).tolist())


def _columns(scores: pd.DataFrame) -> tuple[NDArray[np.float64], ...]:
    """Return p, q, r and score; refuse what is no finite number."""
    missing = [name for name in _COLUMNS if name not in scores]
    if missing:
        raise RequestError(f"scores without {', '.join(missing)}", f"they have {', '.join(map(str, scores.columns))}")
    found = []
    for name in _COLUMNS:
        try:
            column = scores[name].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            what = f"the type of column {name}"
            raise RequestError(must_be(what, "one of numbers", str(scores[name].dtype))) from None
        _require(np.isfinite(column), f"column {name}", column, "a finite number")
        found.append(column)
    return tuple(found)


def _weights(columns: Sequence[NDArray[np.float64]], weights: ArrayLike | None) -> NDArray[np.float64]:
    """Return the weights, the largest 1: a factor changes nothing, and their squares do not overflow."""
    if weights is None:
        found, what = columns[0] * columns[1], "weight p q"
    else:
        found, what = np.asarray(weights, dtype=np.float64), "weight"
        if found.shape != columns[0].shape:
            raise RequestError(must_be("the shape of weights", f"{columns[0].shape}, one per row", found.shape))
    good = np.isfinite(found) & (found > 0)
    _require(good, what, found, "a finite number > 0", "leave out a row that is not to count")
    scaled: NDArray[np.float64] = found / found.max(initial=0.0)
    return scaled


def _require(good: NDArray[np.bool_], what: str, column: NDArray[np.float64], expected: str, remedy: str = "") -> None:
    """Refuse a column by its first bad row."""
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise RequestError(must_be(f"{what}, row {row},", expected, column[row]), remedy)


def _features(columns: Sequence[NDArray[np.float64]], terms: Sequence[str]) -> NDArray[np.float64]:
    """Return float64[rows, terms]: the monomials."""
    powers = [as_powers(term) for term in terms]
    with np.errstate(over="ignore"):
        made = [
            np.prod([column**power for column, power in zip(columns, each, strict=True)], axis=0) for each in powers
        ]
    features: NDArray[np.float64] = np.column_stack(made)
    return features


def _lengths(weighted: NDArray[np.float64], terms: Sequence[str]) -> NDArray[np.float64]:
    """Return the length of each column; refuse what cannot be scaled by it."""
    largest = np.abs(weighted).max(axis=0)
    for term, value in zip(terms, largest, strict=True):
        if not (0.0 < value < np.inf):
            reason = "is 0 in every row" if value == 0 else "overflows"
            raise RequestError(f"term {term!r} {reason}", "leave it out")
    found: NDArray[np.float64] = np.sqrt(((weighted / largest) ** 2).sum(axis=0)) * largest
    return found


def _require_independent(
    singular: NDArray[np.float64], right: NDArray[np.float64], terms: Sequence[str], rows: int
) -> None:
    """Refuse a design in which some columns make up another."""
    if singular[-1] > singular[0] * rows * np.finfo(np.float64).eps:
        return
    among = [term for term, part in zip(terms, right[-1], strict=True) if abs(part) > _PART]
    raise RequestError(
        f"terms {', '.join(map(repr, among))} make each other up in these {rows} scores",
        "no coefficients are nearest; leave one of these terms out",
    )


def _vif(features: NDArray[np.float64], *, centred: bool) -> list[float]:
    """Return 1 / (1 - R^2) of each column, R^2 being that of its regression on the others, without intercept.

    It is the diagonal of the inverse of X'X, the columns of X being scaled to length 1. Infinite is that of a column
    that the others make up; centred, also that of one that does not vary.
    """
    rounding = len(features) * np.finfo(np.float64).eps
    columns = features - features.mean(axis=0) if centred else features
    length = np.sqrt((columns**2).sum(axis=0))
    live = np.flatnonzero(length > rounding * np.sqrt((features**2).sum(axis=0)))
    found = np.full(features.shape[1], np.inf)
    if len(live):
        _, singular, right = np.linalg.svd(columns[:, live] / length[live], full_matrices=False)
        kept = singular > singular[0] * rounding
        made_up = (np.abs(right[~kept]) > _PART).any(axis=0)
        found[live] = np.where(made_up, np.inf, ((right[kept] / singular[kept, None]) ** 2).sum(axis=0))
    values: list[float] = found.tolist()
    return values
