import itertools
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.policies.orders import BUILT_IN
from simmodels.policies.polynomial import Polynomial, as_powers, as_terms
from simmodels.work.vocabulary import REGISTERS
from tests.processes import printed_elsewhere
from tests.refused import refused

MONOMIAL = 'a term must be a product of powers (0 to 16) of p, q and r such as "1", "p", "p2q" or (2, 1, 0)'
finite = st.floats(allow_nan=False, allow_infinity=False)
powers = st.tuples(*[st.integers(0, 4)] * 3)


@st.composite
def polynomials(draw: st.DrawFn) -> Polynomial:
    terms = draw(st.lists(powers, min_size=1, max_size=8, unique=True))
    theta = draw(st.lists(finite, min_size=len(terms), max_size=len(terms)))
    return Polynomial(theta, terms, source=draw(st.sampled_from(["", "Lublin-256", 'a "log"'])))


def compiled_value(of: sm.Order, p: float, q: float, r: float) -> float:
    known = {"estimate": p, "cores": q, "submit": r}
    return float(of.key_function.ctypes(*(known.get(name, 0.0) for name in REGISTERS), 0))


# -- terms ----------------------------------------------------------------------------------------------


def test_a_monomial_can_be_said_in_several_ways() -> None:
    texts = {
        "1": (0, 0, 0), "p": (1, 0, 0), "p2q": (2, 1, 0), "pq2": (1, 2, 0), " P^2 q ": (2, 1, 0),
        "p**2*q*r3": (2, 1, 3), "qpq": (1, 2, 0), "r16": (0, 0, 16), (0, 2, 1): (0, 2, 1),
    }  # fmt: skip
    assert {term: as_powers(term) for term in texts} == texts
    assert as_powers(np.array([1, 0, 0])) == (1, 0, 0)


@pytest.mark.parametrize(
    "term",
    [*("", "  ", "2", "x", "p-1", "p2x", "p17", "p9p9", "p100"), *((1, 2), (1, -1, 0), (17, 0, 0), 3.0, (1.5, 0, 0))],
)
def test_what_is_no_monomial_is_refused(term: object) -> None:
    with refused(f"{MONOMIAL} (got {term!r})"):
        as_powers(term)


@pytest.mark.parametrize(
    ("theta", "terms", "text"),
    [
        ([], [], "a polynomial without terms; give at least one"),
        ([1.0] * 3, ["pq", "q", (1, 1, 0)], "term 'pq' is given twice; give it once"),
        ([1.0], "pq", "terms must be a list of monomials such as..."),
        ([1.0], ["1", "p"], "the number of coefficients must be that of the terms, 2 (got 1)"),
        ([1.0, float("nan")], ["1", "p"], "the coefficient of 'p' must be a finite number (got nan)"),
        (None, ["1"], "theta must be a list of numbers (got None)"),
    ],
)
def test_terms_and_coefficients_are_checked(theta: object, terms: object, text: str) -> None:
    with refused(text):
        Polynomial(theta, terms)


@given(powers=powers)
def test_each_monomial_has_one_spelling(powers: tuple[int, int, int]) -> None:
    (text,) = as_terms([powers])
    assert as_powers(text) == powers
    assert as_terms([text]) == (text,)


# -- the order --------------------------------------------------------------------------------------------


@given(
    coefficients=st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    terms=st.lists(powers, min_size=3, max_size=3, unique=True),
    p=st.integers(0, 50),
    q=st.integers(1, 50),
    r=st.integers(-5, 50),
)
def test_its_value_is_the_sum_of_its_terms(
    coefficients: list[int], terms: list[tuple[int, int, int]], p: int, q: int, r: int
) -> None:
    order = Polynomial(coefficients, terms)
    exact = [Fraction(c) * p**a * q**b * r**d for c, (a, b, d) in zip(coefficients, terms, strict=True)]
    given_values = {"estimate": float(p), "cores": float(q), "submit": float(r)}
    found = order(**{name: given_values[name] for name in order.needs})
    assert abs(Fraction(found) - sum(exact)) <= Fraction(1, 10**14) * (sum(map(abs, exact)) + 1)


def test_compiled_it_gives_the_bits_of_the_plain_function() -> None:
    rng = np.random.default_rng(1)
    for order in (BUILT_IN["QUA"], Polynomial([0.1, -0.2, 3e-7], ["r", "pq", "p2q"]), Polynomial([7.0], ["1"])):
        assert order.compiled
        for p, q, r in rng.uniform(0, 1e5, (20, 3)):
            known = {"estimate": p, "cores": q, "submit": r}
            assert compiled_value(order, p, q, r) == order(**{name: known[name] for name in order.needs})
    assert Polynomial([1, 2], ["r", "p"]).needs == ("estimate", "submit")
    assert Polynomial([1], ["1"]).needs == ()


def test_it_prints_as_a_formula() -> None:
    order = Polynomial([-0.1, 1e-7, -2.0, 1 / 3], ["1", "p", "p2q", "r3"])
    assert str(order) == "-0.1 + 1e-07 p - 2.0 p^2 q + 0.3333333333333333 r^3"
    assert order.formula == "-0.1 + 1e-07 p - 2 p^2 q + 0.3333333 r^3"
    assert repr(order) == f"Polynomial([-0.1, 1e-07, -2.0, {1 / 3}], ['1', 'p', 'p2q', 'r3'], name={order.name!r})"


# -- the same everywhere ------------------------------------------------------------------------------------


@given(order=polynomials())
def test_toml_and_json_and_pickles_keep_the_last_bit(order: Polynomial) -> None:
    for again in (
        Polynomial.from_toml(order.to_toml()),
        Polynomial.from_json(order.to_json()),
        pickle.loads(pickle.dumps(order)),
    ):
        assert again == order
        assert hash(again) == hash(order)
        assert (again.identity, again.source, again.formula) == (order.identity, order.source, order.formula)
        assert [x.hex() for x in again.theta] == [x.hex() for x in order.theta]


def test_other_coefficients_terms_or_names_are_another_order() -> None:
    one = Polynomial([1.0, 0.1], ["1", "p"])
    near = Polynomial([1.0, float(np.nextafter(0.1, 1))], ["1", "p"])
    other = Polynomial([1.0, 0.1], ["1", "q"])
    named = Polynomial([1.0, 0.1], ["1", "p"], name="mine")
    assert len({one, near, other, named}) == 4
    assert len({one.name, near.name, other.name}) == 3
    assert named.identity == one.identity
    assert one != "polynomial"


@pytest.mark.parametrize("name", ["fit.toml", "fit.json"])
def test_in_another_process_and_in_a_file_it_is_the_same(tmp_path: Path, name: str) -> None:
    order = Polynomial([1 / 3, -1e-9], ["1", "p2q"], name="mine", source="here")
    code = "from simmodels import Polynomial; print(Polynomial([1/3, -1e-9], ['1', (2, 1, 0)]).identity)"
    assert printed_elsewhere(code) == order.identity
    order.write(tmp_path / name)
    assert Polynomial.read(tmp_path / name) == order


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, "no list terms and no list theta; a polynomial has both"),
        ({"terms": ["p"], "theta": 1.0}, "no list theta; a polynomial has both"),
        ({"terms": [7], "theta": [1]}, f"{MONOMIAL} (got 7)"),
        ({"terms": ["p"], "theta": [1], "name": 3}, "name must be a text (got 3)"),
    ],
)
def test_a_file_without_one_is_refused_by_name(tmp_path: Path, document: dict[str, Any], text: str) -> None:
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(document))
    with refused(f"{path}: {text}...", sm.FileFormatError):
        Polynomial.read(path)


# -- files that are none ----------------------------------------------------------------------------------


def terms_of(count: int) -> list[str]:
    every = itertools.islice(itertools.product(range(17), repeat=3), count)
    return [f"p{p}q{q}r{r}" for p, q, r in every]


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize(
    ("theta", "terms", "what"),
    [
        (f"[-{'9' * 400}]", '["p"]', "the coefficient of 'p' must be a finite number (got -inf)"),
        ("[1e400]", '["p"]', "the coefficient of 'p' must be a finite number (got inf)"),
        (f"[{'9' * 5000}]", '["p"]', "a whole number must have at most 4300 digits"),
        (json.dumps([1.0] * 101), json.dumps(terms_of(101)), "the number of terms ... must be at most 100 (got 101)"),
        ("[1.0]", f'["{"p" * 10**5}"]', f"{MONOMIAL} (got 'ppp"),
        (f'["{"x" * 10**5}"]', '["p"]', "theta must be a list of numbers (got ['xxx"),
    ],
)
def test_a_polynomial_that_cannot_be_is_refused_by_its_file_in_a_line(
    tmp_path: Path, suffix: str, theta: str, terms: str, what: str
) -> None:
    path = tmp_path / f"fit{suffix}"
    form = "theta = {}\nterms = {}\n" if suffix == ".toml" else '{{"theta": {}, "terms": {}}}'
    path.write_text(form.format(theta, terms))
    with refused(f"{path}: ...{what}...", sm.FileFormatError) as error:
        Polynomial.read(path)
    assert len(str(error.value)) < len(str(path)) + 400


def test_a_polynomial_of_as_many_terms_as_may_be_is_an_order() -> None:
    order = Polynomial([1.0] * 100, terms_of(100))
    assert order.key(sm.Job(1, 0.0, 1.0, 1.0, 1), 0.0) == sum(1.0 for term in order.terms if "r" not in term)
