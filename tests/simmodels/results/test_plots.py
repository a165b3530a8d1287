"""Plots: the figures of a schedule, by attribute."""

import inspect
from collections.abc import Callable

import pytest

import simmodels as sm
import workloads as wl
from experiments import figures
from simmodels.results.plots import Plots


@pytest.fixture(scope="module")
def schedule() -> sm.Schedule:
    return sm.simulate(wl.lublin(jobs=20, cores=16, seed=1, load=0.5), order="SAF")


FIGURES = [
    (Plots.gantt, figures.gantt),
    (Plots.queue, figures.utilisation_and_queue),
    (Plots.waits, figures.distributions),
]


@pytest.mark.parametrize(("method", "function"), FIGURES, ids=["gantt", "queue", "waits"])
def test_a_method_takes_what_its_figure_takes(method: Callable[..., object], function: Callable[..., object]) -> None:
    own, there = inspect.signature(method).parameters, inspect.signature(function).parameters
    wanted = {name: each.default for name, each in list(there.items())[1:] if name != "by"}
    assert {name: each.default for name, each in list(own.items())[1:]} == wanted


@pytest.mark.parametrize("name", ["gantt", "queue", "waits"])
def test_a_figure_shows_itself_in_a_notebook(schedule: sm.Schedule, name: str) -> None:
    figure = getattr(schedule.plot, name)(title="a title of its own")
    image, size = figure._repr_png_()
    assert image.startswith(b"\x89PNG")
    assert 600 < size["width"] < 1000
    assert "a title of its own" in {axes.get_title(loc="left") for axes in figure.axes}


def test_waits_are_named_by_the_policy(schedule: sm.Schedule) -> None:
    (_, lower) = schedule.plot.waits().axes
    assert [label.get_text() for label in lower.get_yticklabels()] == ["SAF"]


def test_without_the_package_that_draws_an_error_names_it(
    schedule: sm.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simmodels.results.plots.plugin", {}.get)
    with pytest.raises(sm.RequestError, match=r"no package that draws schedules is installed; install schedlab"):
        schedule.plot.gantt()
    assert repr(schedule.plot) == f"<figures of {schedule!r}: gantt(), queue(), waits()>"
