import functools
import itertools
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.policies.bids import BUILT_IN as BIDS
from simmodels.policies.orders import BUILT_IN, TWELVE_ORDERS, find_order, order, orders
from simmodels.policies.registry import ORDERS
from simmodels.policies.rows import row_of
from simmodels.work.vocabulary import REGISTERS
from tests.naive import FORMULAS
from tests.refused import refused

ENGINES: Final = ("compiled", "simpy")
FITTED: Final = ("LIN", "QDR", "CUB", "QUA")


@pytest.fixture(autouse=True)
def registry_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ORDERS, "users", {})


def key(of: sm.Order, **given_values: float) -> float:
    """The value that compiled code sees."""
    row = np.array(row_of(of.columns, sm.Job(1, 0.0, 1.0, 1.0, 1)), np.float64)
    registers = (float(given_values.get(name, 0.0)) for name in REGISTERS)
    return float(of.key_function.ctypes(*registers, row.ctypes.data))


DOCS: Final = Path(__file__).parents[3] / "docs" / "reference"


def jobs(count: int = 40, seed: int = 1) -> sm.Workload:
    rng = np.random.default_rng(seed)
    runtime_s = rng.integers(0, 60, count)
    submit_s = np.sort(rng.integers(0, 300, count))
    return sm.Workload(
        np.arange(1, count + 1), submit_s, runtime_s, runtime_s + rng.integers(0, 60, count), rng.integers(1, 9, count)
    )


# -- formulas ---------------------------------------------------------------------------------------

seconds = st.one_of(st.just(0.0), st.integers(0, 10**6).map(float), st.floats(0.001, 1e6))


@pytest.mark.parametrize("name", FORMULAS)
@given(r=seconds, p=seconds, w=seconds, q=st.integers(1, 10**5), u=st.floats(0, 1, exclude_max=True))
def test_the_compiled_order_is_its_formula(name: str, r: float, p: float, w: float, q: int, u: float) -> None:
    with np.errstate(all="ignore"):
        given_values = {"r": r, "p": p, "q": float(q), "w": w, "u": u}
        expected = float(FORMULAS[name](**{letter: np.float64(value) for letter, value in given_values.items()}))
    found = key(BUILT_IN[name], submit=r, estimate=p, cores=q, wait=w, now=r + w, draw=u)
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("name", FITTED)
def test_fitted_forms_have_the_published_coefficients(shared: Path, name: str) -> None:
    fits = json.loads((shared / "oracles/regression/fits/regression_oracle.json").read_text())["lublin-256"]
    fit = fits[name.lower()]
    rng = np.random.default_rng(0)
    for p, q, r in zip(rng.uniform(1, 1e5, 50), rng.integers(1, 257, 50), rng.uniform(0, 1e4, 50), strict=True):
        letters = {"p": p, "q": float(q), "r": r}
        terms = []
        for term, theta in zip(fit["terms"], fit["theta_curve_fit"], strict=True):
            value = theta
            for letter, power in zip(term, [*term[1:], ""], strict=True):
                if letter in letters:
                    value *= letters[letter] ** (int(power) if power.isdigit() else 1)
            terms.append(value)
        scale = sum(map(abs, terms))
        assert key(BUILT_IN[name], estimate=p, cores=q, submit=r) == pytest.approx(
            sum(terms), abs=(1e-6 if name == "LIN" else 1e-15) * scale
        )


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_order_gives_a_number_without_endy_job(name: str) -> None:
    zero_to_huge = (0.0, 1e-9, 0.5, 1.0, 3.0, 1e9)
    for r, p, w, q in itertools.product((-5.0, *zero_to_huge), zero_to_huge, zero_to_huge, (1, 2, 3, 10**6)):
        value = key(BUILT_IN[name], submit=r, estimate=p, runtime=p, cores=q, wait=w, now=r + w, draw=0.5)
        assert not math.isnan(value), (r, p, w, q)


def test_built_in_orders_say_formula_source_and_words_of_their_own() -> None:
    assert set(BUILT_IN) == set(FORMULAS) | set(FITTED) | {"FairShare"}  # that one by `tests.naive_shares`
    assert all(one.formula and one.source and one.compiled for one in BUILT_IN.values())
    assert len(TWELVE_ORDERS) == 12
    assert set(TWELVE_ORDERS) <= set(BUILT_IN)
    assert {name for name, one in BUILT_IN.items() if one.moving} == {"SEXP", "LEXP", "WFP3", "UNICEF", "FairShare"}
    assert {name for name, one in BUILT_IN.items() if one.draws} == {"RANDOM"}
    abouts = [each.about for each in (*BUILT_IN.values(), *BIDS.values())]
    assert all(0 < len(about) <= 90 and not about.endswith(".") for about in abouts)
    assert len(set(abouts)) == len(abouts)


# -- the registry ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "name"),
    [
        *(("FIFO", "FCFS"), ("SJF", "SPF"), ("sjn", "SPF"), ("LJF", "LPF"), ("lpt", "LPF")),
        *(("WFP", "WFP3"), ("UNICEP", "UNICEF")),
    ],
)
def test_another_name_of_an_order_is_accepted_and_its_own_is_shown(other: str, name: str) -> None:
    assert find_order(other) is find_order(name.lower()) is find_order(BUILT_IN[name]) is BUILT_IN[name]
    assert sm.simulate(jobs(), cores=8, order=other, backfill_order=other).about["order"] == name
    assert other not in orders()
    for page in ("orders", "glossary"):
        assert other.upper() in (DOCS / f"{page}.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "near"),
    [("SAFF", "SAF"), ("SFA", "SAF?"), ("fcsf", "FCFS"), ("WFP4", "WFP3"), ("unicfe", "UNICEF"), ("SJFF", "SJF")],
)
def test_an_unknown_order_is_refused_and_near_ones_are_offered(name: str, near: str) -> None:
    with refused(f"unknown order '{name}'; did you mean ...{near}...known: FCFS, LCFS...", sm.UnknownNameError) as e:
        sm.simulate(jobs(), cores=8, order=name)
    assert near.removesuffix("?") in e.value.near
    with refused("unknown order 'zzzzzz'; known: FCFS...", sm.UnknownNameError):
        find_order("zzzzzz")


def test_an_order_of_a_users_enters_the_registry_under_its_name() -> None:
    @order
    def patient(estimate: float, cores: float, wait: float) -> float:
        return estimate * cores - 10.0 * wait

    @order(name="two", formula="2 q", source="here")
    def _(cores: float) -> float:
        return 2.0 * cores

    assert list(orders())[-2:] == ["patient", "two"]
    assert find_order("patient") is patient
    assert patient.moving
    assert find_order("two").formula == "2 q"
    with pytest.raises(sm.UnknownNameError, match="did you mean patient"):
        find_order("patiend")


def test_the_name_of_a_built_in_order_is_refused() -> None:
    with refused("order 'Saf' is built in; choose another name"):
        order(name="Saf")(lambda cores: cores)
    assert ORDERS.users == {}


# -- orders of users ----------------------------------------------------------------------------------


"""The same, in other words. An order is compiled once, however many tests run it."""


class Stubborn:
    """A callable object: numba knows nothing of it."""

    def __call__(self, cores: float) -> float:
        return -cores


TABLE: Final = {cores: float(-cores) for cores in range(1, 9)}
ERRORS: Final = [ValueError("wide")]


def narrow(cores: float) -> float:
    """Return what numba breaks on: it raises an object of Python's."""
    if cores > 100.0:
        raise ERRORS[0]
    return -cores


def impatient(wait: float, estimate: float) -> float:
    """Move, and be of Python's: a list is looked at."""
    return -wait / (estimate + len(ERRORS))


IMPATIENT: Final = sm.Order("compiled", lambda wait, estimate: -wait / (estimate + 1.0))


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
@pytest.mark.parametrize(
    ("function", "same"),
    [
        (lambda cores: TABLE.get(int(cores), 0.0), "LQF"),
        (Stubborn(), "LQF"),
        (functools.partial(lambda k, cores: k * cores, -1.0), "LQF"),
        (narrow, "LQF"),
        (impatient, IMPATIENT),
    ],
    ids=["a dictionary", "an object", "a partial function", "an error of Python's", "a moving one"],
)
def test_an_order_that_cannot_be_compiled_gives_the_same_schedule_on_both_engines(
    function: Callable[..., float], same: str | sm.Order, backfilling: str
) -> None:
    assert not sm.Order("mine", function).compiled
    how = {"cores": 8, "backfilling": backfilling}
    expected = sm.simulate(jobs(), order=same, **how).start_s.tolist()
    for engine in ENGINES:
        assert sm.simulate(jobs(), order=function, engine=engine, **how).start_s.tolist() == expected, engine
    assert ORDERS.users == {}, "no registry is needed"
    if backfilling == "easy":
        expected = sm.simulate(jobs(), order="FCFS", backfill_order=same, **how).start_s.tolist()
        for engine in ENGINES:
            found = sm.simulate(jobs(), order="FCFS", backfill_order=function, engine=engine, **how)
            assert found.start_s.tolist() == expected, engine


def raising(error: BaseException) -> sm.Order:
    """A Python order that raises for jobs submitted after 50 s."""

    class Thrower:
        def throw(self) -> None:
            raise error

    thrower = Thrower()

    def stubborn(cores: float, submit: float) -> float:
        if submit > 50.0:
            thrower.throw()
        return -cores

    return sm.Order("stubborn", stubborn)


@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
@pytest.mark.parametrize("error", [KeyError("no such cores"), ZeroDivisionError("division by zero"), SystemExit(3)])
def test_what_an_order_raises_surfaces_with_the_order_and_the_job(
    engine: str, backfilling: str, error: BaseException
) -> None:
    log = jobs()
    mine = raising(error)
    assert not mine.compiled
    with pytest.raises(type(error)) as raised:
        sm.simulate(log, cores=8, order=mine, backfilling=backfilling, engine=engine)
    assert raised.value.args == error.args
    assert mine.take_raised() is None
    if engine == "compiled":
        job_id = log.job_id[log.submit_s > 50.0][0]
        assert raised.value.__notes__[-1] == f"raised by order 'stubborn' for job {job_id}"


NUMBERS: Final = {20.0: math.nan}
ODD: Final = {
    True: sm.Order("odd", lambda estimate: math.nan if estimate == 20.0 else estimate),
    False: sm.Order("odd", lambda estimate: NUMBERS.get(estimate, estimate)),
}
"""An order without a value for jobs of one estimate, compiled or not."""


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_value_that_is_no_number_is_refused_naming_order_and_job(
    engine: str, decide: str, backfilling: str, compiled: bool
) -> None:
    log = sm.Workload([7, 11, 13], [0, 0, 0], [5, 5, 5], [10, 20, 30], [1, 1, 1])
    odd = ODD[compiled]
    assert odd.compiled == compiled
    with pytest.raises(sm.RequestError, match=r"order 'odd' gives no number \(NaN\) for .*job_id=11,"):
        sm.simulate(log, cores=1, order=odd, decide=decide, backfilling=backfilling, engine=engine)
    if backfilling == "easy":
        unsorted = sm.Workload([11, 7, 13], [9, 4, 0], [15, 5, 5], [20, 10, 30], [1, 1, 1])
        with pytest.raises(sm.RequestError, match=r"order 'FCFS' or 'odd' gives no number \(NaN\) for .*job_id=11,"):
            sm.simulate(unsorted, cores=1, backfill_order=odd, decide=decide, engine=engine)


def test_an_order_that_fails_later_is_refused_later(engine: str) -> None:
    log = sm.Workload([1, 2], [0, 0], [30, 5], [30, 5], [1, 1])
    odd = sm.Order("odd", lambda wait: math.nan if wait > 20.0 else 1.0)
    with pytest.raises(sm.RequestError, match=r"job_id=2,"):
        sm.simulate(log, cores=1, order=odd, engine=engine)


EARLY_LAST: Final = sm.Order("last", lambda submit: math.inf if submit < 3.0 else submit)
LATE_FIRST: Final = sm.Order("first", lambda submit: -math.inf if submit > 2.0 else submit)


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy"])
def test_infinite_values_are_values_and_tie_by_arrival(engine: str, backfilling: str) -> None:
    log = sm.Workload([1, 2, 3, 4, 5], [0, 1, 2, 3, 4], [10, 1, 1, 1, 1], [10, 1, 1, 1, 1], [1, 1, 1, 1, 1])
    for one in (EARLY_LAST, LATE_FIRST):
        schedule = sm.simulate(log, cores=1, order=one, backfilling=backfilling, engine=engine)
        assert schedule.start_s.tolist() == [0, 12, 13, 10, 11]


# -- RANDOM -----------------------------------------------------------------------------------------


def test_a_users_order_may_ask_for_the_same_draw() -> None:
    mine = sm.Order("mine", lambda draw: 2.0 * draw)
    expected = sm.simulate(jobs(), cores=8, order="RANDOM", seed=3).start_s.tolist()
    for engine in ENGINES:
        assert sm.simulate(jobs(), cores=8, order=mine, seed=3, engine=engine).start_s.tolist() == expected


# -- pickling ---------------------------------------------------------------------------------------


def plain_function(cores: float) -> float:
    return -cores


def wide_first(cores: float) -> float:
    return -cores


PLAIN: Final = sm.Order("plain", plain_function, "-q", "here", "widest first")
wide_first = sm.Order("wide first", wide_first)  # as a decorator leaves it


@pytest.mark.parametrize("one", [*BUILT_IN.values(), wide_first], ids=lambda one: one.name)
def test_an_order_of_a_module_is_itself_after_pickling(one: sm.Order) -> None:
    assert pickle.loads(pickle.dumps(one)) is one


def test_what_an_order_says_of_itself_is_pickled() -> None:
    again = pickle.loads(pickle.dumps(PLAIN))
    assert (again.name, again.formula, again.source, again.about) == ("plain", "-q", "here", "widest first")
    assert key(again, cores=3) == -3.0
    assert not again.is_built_in
