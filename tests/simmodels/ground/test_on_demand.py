# ruff: noqa: ANN001, ANN201, ANN202  numba gives what it compiles its types
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Which functions are compiled when an option asks for them, and what calls them before and after."""

import pytest
from numba import types

from simmodels.ground import on_demand as module
from simmodels.ground.compiled import LINKED, compiled
from simmodels.ground.digests import _reached, digest_of
from simmodels.ground.on_demand import BY_OPTION, OnDemand, ask_for, on_demand
from simmodels.replay.queue_loop import replay

_OWN = [(option, each) for option, functions in BY_OPTION.items() for each in functions]


@compiled
def third(x):
    if x < 0:
        raise ValueError("negative")
    return x // 3


@pytest.fixture
def _nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BY_OPTION", {})
    monkeypatch.setattr(module, "_ASKED", set())


@pytest.mark.usefixtures("_nothing_asked")
def test_it_is_called_when_it_was_asked_for_and_not_before() -> None:
    called = on_demand("an option", types.int64(types.int64))(third)

    @compiled
    def call(x):
        return called(x) + 1

    with pytest.raises(RuntimeError, match=r"test_on_demand\.third was called, but not asked for"):
        call(7)
    ask_for("another option")
    with pytest.raises(RuntimeError, match="not asked for"):
        call(7)
    ask_for("an option")
    assert call(7) == 3
    with pytest.raises(ValueError, match="negative"):  # an error in it leaves the caller
        call(-1)
    ready = on_demand("an option", types.int64(types.int64))(third)

    @compiled
    def call_at_once(x):
        return ready(x) + 1

    assert call_at_once(10) == 4


@pytest.mark.usefixtures("_nothing_asked")
def test_whatever_calls_it_is_compiled_again_when_what_it_replaces_is_declared_otherwise() -> None:
    def digest(*replaces: tuple[str, str]) -> str:
        called = on_demand("an option", types.int64(types.int64), frozenset(replaces))(third)

        @compiled
        def call(x):
            return called(x) + 1

        return digest_of(call, (), "some machine")

    assert len({digest(), digest(("BoxType", "one")), digest(("BoxType", "one"), ("BoxType", "other"))}) == 3


@pytest.mark.skipif(not LINKED, reason="under another numba, functions are compiled as numba does")
@pytest.mark.parametrize(("option", "known"), _OWN, ids=[each.function.__qualname__ for _, each in _OWN])
def test_whatever_calls_it_is_notified_of_all_that_it_replaces(option: str, known: OnDemand) -> None:
    ask_for(option)  # what it calls in this way
    as_called = known.function.get_overload.__self__
    as_called.compile(known.signature.args)
    found = as_called.overloads[known.signature.args]
    assert found.signature.return_type == known.signature.return_type
    assert found.library.counting.replaces <= known.replaces


def test_a_replay_is_compiled_without_what_options_ask_for() -> None:
    reached = {(each.__module__, each.__qualname__) for each in _reached(replay.py_func)}
    asked = {(known.function.__module__, known.function.__qualname__) for _, known in _OWN}
    assert len(asked) == len(_OWN) > 0
    assert not reached & asked
    assert ("simmodels.passes.queue_events", "decide") in reached
