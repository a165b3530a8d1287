"""Polynomial: an order that is a sum of monomials in estimate, cores and submit.

References
----------
Rosa, Carastan-Santos, Goldman 2023, "An experimental analysis of regression-obtained HPC scheduling heuristics", JSSPP.
"""

import hashlib
import math
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Self

from simmodels.errors import FileFormatError, RequestError, SimModelsError, must_be
from simmodels.ground.arguments import as_tuple
from simmodels.ground.numbers import as_float, as_number
from simmodels.ground.toml_json import json_text, parsed, read_document, toml_text, write_document
from simmodels.policies.order import Order

Powers = tuple[int, int, int]
"""The powers of p, q and r in a monomial."""

LETTERS: Final = {"p": "estimate", "q": "cores", "r": "submit"}
"""What the letters of a monomial stand for, when a job is put in order."""

_LINEAR: Final = ("1", "p", "q", "r")
_QUADRATIC: Final = (*_LINEAR, "p2", "q2", "r2", "pq")
_CUBIC: Final = (*_QUADRATIC, "p3", "q3", "r3", "p2q", "pq2")
_QUARTIC: Final = (*_CUBIC, "p4", "q4", "r4", "p3q", "p2q2", "pq3")
FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "LIN": _LINEAR,
    "QDR": _QUADRATIC,
    "CUB": _CUBIC,
    "QUA": _QUARTIC,
}
"""The terms of the four forms of Rosa et al."""

MOST_POWER: Final = 16
MOST_TERMS: Final = 100
"""All 84 monomials up to the sixth degree, and more; compiling thousands would take minutes."""
_FACTOR: Final = re.compile(r"([pqr])(?:\^|\*\*)?(\d*)[ *]*")
_ABOUT: Final = "an order: the job with the smaller value goes first (p estimate in s, q cores, r submit in s)"


def as_powers(term: str | Sequence[int]) -> Powers:
    """Return the powers of p, q and r in a monomial; raise `RequestError` if it is none, or one is above 16.

    Parameters
    ----------
    term
        A text such as ``"1"``, ``"p"``, ``"p2q"``, ``"p^2 q"``, or the three powers.
    """
    powers = dict.fromkeys(LETTERS, 0)
    if isinstance(term, str):
        rest = "" if term.strip() == "1" else term.strip().lower()
        good = bool(term.strip())
        while rest and good:
            factor = _FACTOR.match(rest)
            good = factor is not None and len(factor[2]) <= 2
            if factor is not None and good:
                powers[factor[1]] += int(factor[2] or 1)
                rest = rest[factor.end() :]
    else:
        try:
            given = [operator.index(power) for power in term]
        except TypeError:
            given = []
        good = len(given) == len(LETTERS) and min(given) >= 0
        if good:
            powers = dict(zip(LETTERS, given, strict=True))
    if not good or max(powers.values()) > MOST_POWER:
        expected = f'a product of powers (0 to {MOST_POWER}) of p, q and r such as "1", "p", "p2q" or (2, 1, 0)'
        raise RequestError(must_be("a term", expected, term))
    return powers["p"], powers["q"], powers["r"]


def as_terms(terms: Sequence[str | Sequence[int]]) -> tuple[str, ...]:
    """Return monomials, 1 to 100 different ones, as texts, each in its one spelling (``"p2q"``)."""
    given = as_tuple("terms", terms, 'a list of monomials such as ["1", "p", "p2q"]')
    if len(given) > MOST_TERMS:
        raise RequestError(must_be("the number of terms of a polynomial", f"at most {MOST_TERMS}", len(given)))
    found: list[str] = []
    for term in given:
        powers = zip(LETTERS, as_powers(term), strict=True)
        text = "".join(f"{letter}{power if power > 1 else ''}" for letter, power in powers if power) or "1"
        if text in found:
            raise RequestError(f"term {text!r} is given twice", "give it once")
        found.append(text)
    if not found:
        raise RequestError("a polynomial without terms", "give at least one")
    return tuple(found)


class Polynomial(Order):
    """An order that is a polynomial in estimate (p), cores (q) and submit (r): the job with the smaller value first.

    Parameters
    ----------
    theta
        The coefficients, finite numbers, one a term.
    terms
        The monomials, at most 100: texts such as ``"1"``, ``"p"``, ``"p2q"``, or powers of p, q, r such as
        ``(2, 1, 0)``.
    name
        What tables call it; by default ``polynomial-`` and eight digits of its `identity`.
    formula
        What tables show; by default the polynomial with seven digits (``str`` has them all).
    source
        Where the coefficients come from.
    about
        In words which job goes first.

    Raises
    ------
    RequestError
        Numbers of terms and coefficients differ, one of them is out of range, or a term is given twice.

    Notes
    -----
    r is the submit in the trace's time: `Workload.shift` puts the first submit at 0, which is what the forms of Rosa et
    al. are fitted to. Two polynomials of the same name, terms and coefficients are equal.

    Examples
    --------
    >>> import simmodels as sm
    >>> order = sm.Polynomial([0.5, 2.0, -1e-3], ["1", "pq", "r"])
    >>> print(order)
    0.5 + 2.0 p q - 0.001 r
    >>> order(estimate=3.0, cores=2.0, submit=1000.0)
    11.5
    """

    theta: tuple[float, ...]
    terms: tuple[str, ...]

    def __init__(
        self,
        theta: Sequence[float],
        terms: Sequence[str | Sequence[int]],
        *,
        name: str | None = None,
        formula: str | None = None,
        source: str = "",
        about: str = "",
    ) -> None:
        names = as_terms(terms)
        try:
            numbers = tuple(map(as_float, theta))
        except (TypeError, ValueError):
            raise RequestError(must_be("theta", "a list of numbers", theta)) from None
        if len(numbers) != len(names):
            raise RequestError(must_be("the number of coefficients", f"that of the terms, {len(names)}", len(numbers)))
        for term, value in zip(names, numbers, strict=True):
            as_number(f"the coefficient of {term!r}", value)
        object.__setattr__(self, "theta", numbers)
        object.__setattr__(self, "terms", names)
        super().__init__(
            f"polynomial-{self.identity[:8]}" if name is None else name,
            _function(numbers, names),
            _formula(numbers, names, "{:.7g}") if formula is None else formula,
            source,
            about,
        )

    @property
    def identity(self) -> str:
        """Return a digest (SHA-256, hexadecimal) of terms and coefficients, the same in every process."""
        parts = (f"{term} {value.hex()}" for term, value in zip(self.terms, self.theta, strict=True))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def __str__(self) -> str:
        """Return the formula with all its digits."""
        return _formula(self.theta, self.terms, "{!r}")

    def __repr__(self) -> str:
        """Return how it is made."""
        return f"Polynomial({list(self.theta)}, {list(self.terms)}, name={self.name!r})"

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a polynomial of the same name, terms and coefficients."""
        return isinstance(other, Polynomial) and self._key() == other._key()

    def __hash__(self) -> int:
        """Return a hash of name, terms and coefficients."""
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.name, self.terms, self.theta

    def _parts(self) -> tuple[object, ...]:
        about = {name: getattr(self, name) for name in ("name", "formula", "source", "about")}
        return partial(Polynomial, self.theta, self.terms, **about), ()

    # -- documents ------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return name, source, terms and coefficients by name."""
        about = {"name": self.name} | ({"source": self.source} if self.source else {})
        return about | {"terms": list(self.terms), "theta": list(self.theta)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], path: str = "document") -> Self:
        """Return the polynomial of a document that has ``terms`` and ``theta``; whatever else it has is left alone.

        `path` is what the `FileFormatError` of a document with a mistake calls it.
        """
        missing = [name for name in ("terms", "theta") if not isinstance(document.get(name), list)]
        if missing:
            raise FileFormatError(path, None, f"no list {' and no list '.join(missing)}; a polynomial has both")
        about = {name: document.get(name, fallback) for name, fallback in (("name", None), ("source", ""))}
        for name, value in about.items():
            if value is not None and not isinstance(value, str):
                raise FileFormatError(path, None, must_be(name, "a text", value))
        try:
            return cls(document["theta"], document["terms"], **about)
        except (SimModelsError, TypeError) as error:
            raise FileFormatError(path, None, str(error)) from error

    def to_toml(self) -> str:
        """Return it as TOML, which `from_toml` reads back to the last bit."""
        return toml_text(self.to_document(), _ABOUT)

    def to_json(self) -> str:
        """Return it as JSON, which `from_json` reads back to the last bit."""
        return json_text(self.to_document())

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Return the polynomial of a TOML text; raise `FileFormatError` if it has none."""
        return cls.from_document(parsed(text, ".toml", "TOML"), "TOML")

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the polynomial of a JSON text; raise `FileFormatError` if it has none."""
        return cls.from_document(parsed(text, ".json", "JSON"), "JSON")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file whose name ends in ``.toml`` or ``.json``."""
        write_document(path, self.to_document(), _ABOUT)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the polynomial of a ``.toml`` or ``.json`` file, or of one that a `Fit` wrote."""
        return cls.from_document(read_document(path), str(path))


def _function(theta: Sequence[float], terms: Sequence[str]) -> Callable[..., float]:
    """Return the plain function of the characteristics that the terms name."""
    sums, used = [], set[str]()
    for value, term in zip(theta, terms, strict=True):
        factors = [name for name, power in zip(LETTERS.values(), as_powers(term), strict=True) for _ in range(power)]
        used.update(factors)
        sums.append(" * ".join([repr(value), *factors]))
    parameters = ", ".join(name for name in LETTERS.values() if name in used)
    scope: dict[str, Any] = {"__name__": __name__}
    code = f"def polynomial({parameters}):\n return {' + '.join(sums)}\n"
    exec(code, scope)  # noqa: S102  it is made of our names and of numbers; numba compiles functions, not closures over lists
    made: Callable[..., float] = scope["polynomial"]
    return made


def _formula(theta: Sequence[float], terms: Sequence[str], shape: str) -> str:
    """Return the formula as text."""
    text = ""
    for value, term in zip(theta, terms, strict=True):
        minus = math.copysign(1.0, value) < 0
        sign = (" - " if minus else " + ") if text else ("-" if minus else "")
        factors = "" if term == "1" else "".join(f" {factor}" for factor in re.findall(r"[pqr]\d*", term))
        text += sign + shape.format(abs(value)) + re.sub(r"(\d+)", r"^\1", factors)
    return text
