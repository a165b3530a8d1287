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


def test_every_built_in_order_has_a_formula_to_be_compared_with() -> None:
    assert set(BUILT_IN) == set(FORMULAS) | set(FITTED) | {"FairShare"}  # that one by `tests.naive_shares`


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


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("FCFS", {"submit": 1}, {"submit": 2}),
        ("LCFS", {"submit": 2}, {"submit": 1}),
        ("SPF", {"estimate": 1}, {"estimate": 2}),
        ("LPF", {"estimate": 2}, {"estimate": 1}),
        ("SQF", {"cores": 1}, {"cores": 2}),
        ("LQF", {"cores": 2}, {"cores": 1}),
        ("SAF", {"estimate": 9, "cores": 1}, {"estimate": 5, "cores": 2}),
        ("LAF", {"estimate": 5, "cores": 2}, {"estimate": 9, "cores": 1}),
        ("SRF", {"estimate": 5, "cores": 2}, {"estimate": 3, "cores": 1}),
        ("LRF", {"estimate": 3, "cores": 1}, {"estimate": 5, "cores": 2}),
        ("SEXP", {"estimate": 9, "wait": 9, "cores": 1}, {"estimate": 4, "wait": 5, "cores": 1}),
        ("LEXP", {"estimate": 4, "wait": 5, "cores": 1}, {"estimate": 9, "wait": 9, "cores": 1}),
        ("SJBF", {"estimate": 1}, {"estimate": 2}),
        ("WFP3", {"estimate": 1, "wait": 3, "cores": 1}, {"estimate": 1, "wait": 2, "cores": 3}),
        ("UNICEF", {"estimate": 9, "wait": 1, "cores": 1}, {"estimate": 1, "wait": 9, "cores": 2}),
        ("UNICEF", {"estimate": 1, "wait": 9, "cores": 2}, {"estimate": 1, "wait": 9, "cores": 4}),
        ("F1", {"estimate": 10, "cores": 1, "submit": 10}, {"estimate": 10, "cores": 1, "submit": 1000}),
        ("F2", {"estimate": 4, "cores": 4, "submit": 1}, {"estimate": 100, "cores": 2, "submit": 1}),
    ],
)
def test_who_goes_first(name: str, first: dict[str, float], second: dict[str, float]) -> None:
    assert key(BUILT_IN[name], **first) < key(BUILT_IN[name], **second)


def test_an_order_can_be_called_as_the_plain_function_it_is() -> None:
    assert BUILT_IN["SAF"](estimate=3.0, cores=4.0) == 12.0
    assert BUILT_IN["SAF"](3.0, 4.0) == 12.0
    assert BUILT_IN["RANDOM"].key(sm.Job(1, 0.0, 1.0, 1.0, 1), 0.0) == 0.0, "a draw counts as 0"


def test_built_in_orders_say_formula_and_source() -> None:
    assert all(one.formula and one.source and one.compiled for one in BUILT_IN.values())
    assert len(TWELVE_ORDERS) == 12
    assert set(TWELVE_ORDERS) <= set(BUILT_IN)
    assert {name for name, one in BUILT_IN.items() if one.moving} == {"SEXP", "LEXP", "WFP3", "UNICEF", "FairShare"}
    assert {name for name, one in BUILT_IN.items() if one.draws} == {"RANDOM"}


# -- the registry ------------------------------------------------------------------------------------


def test_an_order_is_found_by_its_name_in_any_case_and_by_its_other_name() -> None:
    assert find_order("saf") is find_order("SAF") is BUILT_IN["SAF"]
    assert find_order("SPT") is find_order("spf")
    assert find_order(BUILT_IN["F2"]) is BUILT_IN["F2"]


@pytest.mark.parametrize(
    ("other", "name"),
    [
        *(("FIFO", "FCFS"), ("SJF", "SPF"), ("sjn", "SPF"), ("LJF", "LPF"), ("lpt", "LPF")),
        *(("WFP", "WFP3"), ("UNICEP", "UNICEF")),
    ],
)
def test_another_name_of_an_order_is_accepted_and_its_own_is_shown(other: str, name: str) -> None:
    assert find_order(other) is BUILT_IN[name]
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


def test_a_name_like_no_other_is_refused_without_an_offer() -> None:
    with pytest.raises(sm.UnknownNameError, match="unknown order 'zzzzzz'; known: FCFS") as e:
        find_order("zzzzzz")
    assert e.value.near == ()


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


@pytest.mark.parametrize("name", ["FCFS", "fcfs", "Saf"])
def test_the_name_of_a_built_in_order_is_refused(name: str) -> None:
    with pytest.raises(sm.RequestError, match=f"order '{name}' is built in; choose another name"):
        order(name=name)(lambda cores: cores)
    assert name not in ORDERS.users


def test_a_parameter_that_no_job_has_a_number_for_is_refused_with_those_it_has() -> None:
    mine = sm.Order("mine", lambda cores, color, user: cores + color + user)
    with pytest.raises(sm.RequestError, match=r"an order names color, and job 1 has no such number; it has .*user"):
        sm.simulate(jobs(), cores=8, order=mine)


def test_a_plain_function_can_be_handed_over_without_the_registry() -> None:
    by_width = sm.simulate(jobs(), cores=8, order=lambda cores: -cores)
    assert by_width.start_s.tolist() == sm.simulate(jobs(), cores=8, order="LQF").start_s.tolist()
    assert ORDERS.users == {}


# -- orders of users ----------------------------------------------------------------------------------


MINE: Final = sm.Order("mine", lambda wait, estimate: (wait + estimate + 1.0) / (estimate + 1.0))
THEIRS: Final = sm.Order("theirs", lambda now, submit, estimate: (now - submit + estimate + 1.0) / (1.0 + estimate))
"""The same, in other words. An order is compiled once, however many tests run it."""


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
def test_a_users_order_is_the_built_in_one_of_the_same_formula(engine: str, backfilling: str) -> None:
    log = jobs(80)
    log = sm.Workload(log.job_id, log.submit_s, log.runtime_s, log.estimate_s + 1.0, log.cores)
    first, second = (
        sm.simulate(log, cores=8, order=one, backfilling=backfilling, engine=engine) for one in (MINE, THEIRS)
    )
    assert first.start_s.tolist() == second.start_s.tolist()
    assert first.about["order"] == "mine"


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


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
@pytest.mark.parametrize(
    "function",
    [lambda cores: TABLE.get(int(cores), 0.0), Stubborn(), functools.partial(lambda k, cores: k * cores, -1.0), narrow],
    ids=["a dictionary", "an object", "a partial function", "an error of Python's"],
)
def test_an_order_that_cannot_be_compiled_gives_the_same_schedule_on_both_engines(
    function: Callable[..., float], backfilling: str
) -> None:
    mine = sm.Order("mine", function)
    assert not mine.compiled
    expected = sm.simulate(jobs(), cores=8, order="LQF", backfilling=backfilling).start_s.tolist()
    for engine in ENGINES:
        found = sm.simulate(jobs(), cores=8, order=mine, backfilling=backfilling, engine=engine)
        assert found.start_s.tolist() == expected, engine


def test_an_order_that_cannot_be_compiled_may_move_and_may_be_a_backfill_order() -> None:
    seen: list[float] = []

    def impatient(wait: float, estimate: float) -> float:
        seen.append(wait)
        return -wait / (estimate + 1.0)

    compiled = sm.Order("compiled", lambda wait, estimate: -wait / (estimate + 1.0))
    options = {"cores": 8, "order": "FCFS", "backfilling": "easy"}
    expected = sm.simulate(jobs(), **options, backfill_order=compiled).start_s.tolist()
    for engine in ENGINES:
        found = sm.simulate(jobs(), **options, backfill_order=sm.Order("python", impatient), engine=engine)
        assert found.start_s.tolist() == expected
    assert max(seen) > 0.0


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
def test_what_a_python_order_raises_surfaces(engine: str, backfilling: str, error: BaseException) -> None:
    mine = raising(error)
    assert not mine.compiled
    with pytest.raises(type(error)) as raised:
        sm.simulate(jobs(), cores=8, order=mine, backfilling=backfilling, engine=engine)
    assert raised.value.args == error.args
    assert mine.take_raised() is None


def test_what_a_compiled_order_raises_surfaces(engine: str) -> None:
    def stubborn(cores: float, submit: float) -> float:
        if submit > 50.0:
            raise ValueError("too late")
        return -cores

    mine = sm.Order("stubborn", stubborn)
    assert mine.compiled
    with pytest.raises(ValueError, match="too late"):
        sm.simulate(jobs(), cores=8, order=mine, engine=engine)


def test_what_an_order_raises_says_the_order_and_the_job() -> None:
    log = jobs()
    first = int(log.job_id[log.submit_s > 50.0][0])
    with pytest.raises(KeyError) as raised:
        sm.simulate(log, cores=8, order=raising(KeyError("x")), engine="compiled")
    (note,) = raised.value.__notes__
    assert "'stubborn'" in note
    assert note.endswith(f"for job {first}")


def odd_for(estimate_s: float, *, compiled: bool) -> sm.Order:
    """An order without a value for jobs of one estimate."""
    if compiled:
        return sm.Order("odd", lambda estimate: math.nan if estimate == estimate_s else estimate)
    numbers = {estimate_s: math.nan}
    return sm.Order("odd", lambda estimate: numbers.get(estimate, estimate))


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_value_that_is_no_number_is_refused_naming_order_and_job(
    engine: str, decide: str, backfilling: str, compiled: bool
) -> None:
    log = sm.Workload([7, 11, 13], [0, 0, 0], [5, 5, 5], [10, 20, 30], [1, 1, 1])
    odd = odd_for(20.0, compiled=compiled)
    assert odd.compiled == compiled
    with pytest.raises(sm.RequestError, match=r"order 'odd' gives no number \(NaN\) for .*job_id=11,"):
        sm.simulate(log, cores=1, order=odd, decide=decide, backfilling=backfilling, engine=engine)


def test_the_job_refused_is_named_in_an_unsorted_log_too(engine: str) -> None:
    log = sm.Workload([7, 11, 13], [9, 4, 0], [15, 5, 5], [10, 20, 30], [1, 1, 1])
    odd = odd_for(10.0, compiled=True)
    with pytest.raises(sm.RequestError, match=r"order 'FCFS' or 'odd' gives no number \(NaN\) for .*job_id=7,"):
        sm.simulate(log, cores=1, order="FCFS", backfill_order=odd, engine=engine)


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


def test_an_infinite_value_goes_after_a_starving_job_and_a_warm_one(engine: str) -> None:
    log = sm.Workload([1, 2, 3, 4], [0, 1, 2, 9], [10, 5, 1, 1], [10, 5, 1, 1], [1, 1, 1, 1])
    first = sm.Order("first", lambda submit: -math.inf if submit > 5.0 else submit)
    how = {"cores": 1, "order": first, "backfilling": "none", "engine": engine}
    assert sm.simulate(log, **how).start_s.tolist() == [0, 11, 16, 10]
    assert sm.simulate(log, **how, threshold_s=8.0).start_s.tolist() == [0, 10, 15, 16]
    assert sm.simulate(log, **how, warm_jobs=2).start_s.tolist() == [0, 10, 16, 15]


# -- RANDOM -----------------------------------------------------------------------------------------


def test_random_is_seeded_and_the_same_on_both_engines() -> None:
    log = jobs(3000, seed=4)  # more than the SimPy engine makes room for at first
    runs = {
        (engine, seed): sm.simulate(
            log, cores=20, order="RANDOM", backfilling="greedy", engine=engine, seed=seed
        ).start_s
        for engine in ENGINES
        for seed in (0, 1)
    }
    for seed in (0, 1):
        assert runs["compiled", seed].tobytes() == runs["simpy", seed].tobytes()
    assert (runs["compiled", 0] != runs["compiled", 1]).any()
    again = sm.simulate(log, cores=20, order="RANDOM", backfilling="greedy", seed=1)
    assert again.start_s.tobytes() == runs["compiled", 1].tobytes()


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


wide_first = sm.Order("wide first", wide_first)  # as a decorator leaves it


def test_an_order_that_a_module_defines_is_itself_after_pickling() -> None:
    assert pickle.loads(pickle.dumps(wide_first)) is wide_first


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_order_is_itself_after_pickling(name: str) -> None:
    assert pickle.loads(pickle.dumps(BUILT_IN[name])) is BUILT_IN[name]


def test_an_order_of_a_plain_function_can_be_pickled_even_when_it_is_compiled() -> None:
    made = sm.Order("plain", plain_function, "-q", "here")
    assert made.compiled
    again = pickle.loads(pickle.dumps(made))
    assert (again.name, again.formula, again.source) == ("plain", "-q", "here")
    assert key(again, cores=3) == -3.0
    assert not again.is_built_in


def test_every_built_in_order_and_bid_is_explained_in_words_of_its_own() -> None:
    abouts = [each.about for each in (*BUILT_IN.values(), *BIDS.values())]
    assert all(0 < len(about) <= 90 and not about.endswith(".") for about in abouts)
    assert len(set(abouts)) == len(abouts)
    mine = sm.Order("mine", plain_function, about="widest first")
    again = pickle.loads(pickle.dumps(mine))
    assert again.about == "widest first"
