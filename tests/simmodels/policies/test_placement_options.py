# ruff: noqa: ANN401  options of any type are handed through
import sys
from typing import Any

import numpy as np
import pytest

import simmodels as sm
from simmodels.policies.placement_options import PlacementOptions
from tests.on_machines import CHOICES, assert_same, workload
from tests.refused import refused

REFERENCE = {"reference": workload([(0, 5, 2)])}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cores_per_machine": 1}, "job 1: needs 2 cores, and the machine has 1..."),
        ({"heuristic": "Target"}, "unknown heuristic 'Target'..."),
        ({"awere": True}, "unknown option 'awere'; did you mean aware..."),
        ({"heuristic": "TargetAsap"}, "TargetAsap has no reference..."),
        ({"heuristic": "TargetAsap", **REFERENCE, "dispatch": "event"}, "TargetAsap has no option dispatch..."),
        ({"capacity": [(0, 3)], "machines": 1}, "the machines of capacity must be at most 1, those of ... (got 3)"),
        ({"capacity": [(0, 1), (0, 2)]}, "...row 1: time_s 0 after 0..."),
        ({"fill_order": (0, 1)}, "fill_order must be each number from 0 to 0 once (got (0, 1))"),
        ({"window_s": (5, 5)}, "window_s must be a finite begin and a later end (got (5.0, 5.0))"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(options: dict[str, Any], text: str, engine: Any) -> None:
    asked = {"capacity": [(0, 1)], "cores_per_machine": 2, "engine": engine, **options}
    with refused(text, sm.SimModelsError):
        sm.simulate_on_machines(workload([(0, 5, 2)]), **asked)


OTHERS = {
    "TargetStretch": ("stay_on_target", "requeue_immediate", "packing", "aware"),
    "TargetAsap": ("alternative", "pack_size", "unaware"),
    "PackedTargetAsap": ("alternative", "dispatch"),
    "FirstFit": ("distance", "alternative", "stay_on_target", "reference"),
}


@pytest.mark.parametrize("heuristic", OTHERS)
def test_an_option_that_would_change_nothing_is_refused(heuristic: Any) -> None:
    jobs = workload([(0, 5, 2)])
    options: dict[str, Any] = {} if heuristic == "FirstFit" else {"reference": jobs}
    values = {name: values[0] for each in CHOICES.values() for name, values in each.items()}
    values |= {"aware": False, "unaware": "random_kill", "dispatch": "event", "reference": jobs}
    for name in OTHERS[heuristic]:
        with pytest.raises(sm.RequestError, match=f"{heuristic} has no option {name}; it is one of another heuristic"):
            PlacementOptions.checked(heuristic=heuristic, **options, **{name: values[name]})
    kept = PlacementOptions.checked(heuristic=heuristic, **options).about()
    assert not set(OTHERS[heuristic]) & set(kept)


def test_how_first_fit_is_unaware_is_said_only_where_it_is() -> None:
    jobs = workload([(0, 5, 2)])
    for options in ({"aware": True}, {}):
        with pytest.raises(sm.RequestError, match="unaware has no effect while aware is True; add aware=False"):
            sm.simulate_on_machines(jobs, [(0, 1)], cores_per_machine=2, unaware="random_kill", **options)


TARGETS = {"heuristic": "TargetAsap", **REFERENCE}
PACKS = {**TARGETS, "heuristic": "PackedTargetAsap"}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"cores_per_machine": np.inf}, "cores_per_machine must be an integer from 1 to 2**53 (got inf)"),
        ({"cores_per_machine": "2"}, "cores_per_machine must be an integer from 1 to 2**53 (got '2')"),
        ({"machines": 2.5}, "machines must be an integer from 1 to 2**53 (got 2.5)"),
        ({"seed": 0.5}, "seed must be an integer >= 0 (got 0.5)"),
        ({"aware": "no"}, "aware must be True or False (got 'no')"),
        ({"fill_order": (0, "1")}, "fill_order must be the numbers of the machines, or None (got (0, '1'))"),
        ({"checkpoints": 60}, "checkpoints must be a Checkpoints, or None (got 60)"),
        ({**TARGETS, "distance": None}, "distance must be an integer from 0 to 2**53 (got None)"),
        ({**TARGETS, "distance": 1e300}, "distance must be an integer from 0 to 2**53 (got 1e+300)"),
        ({**TARGETS, "least_machines": -1}, "least_machines must be an integer from 0 to 2**53, or None (got -1)"),
        ({**TARGETS, "raise_above": "1"}, "raise_above must be a number (got '1')"),
        ({**TARGETS, "length_cap_s": np.nan}, "length_cap_s must be a number of seconds > 0 (got nan)"),
        ({**TARGETS, "requeue_immediate": 1}, "requeue_immediate must be True or False (got 1)"),
        ({**TARGETS, "reference": "jobs"}, "reference must be a Workload, or None (got 'jobs')"),
        ({**PACKS, "pack_size": 0}, "pack_size must be an integer from 1 to 2**53 (got 0)"),
    ],
)
def test_a_value_of_another_type_or_range_is_refused_in_one_sentence(
    options: dict[str, Any], what: str, engine: Any
) -> None:
    asked: dict[str, Any] = {"cores_per_machine": 2, "machines": 2, "engine": engine, **options}
    with refused(what):
        sm.simulate_on_machines(workload([(0, 5, 2)]), [(0, 2)], **asked)


def test_whole_numbers_of_any_type_are_the_same(engine: Any) -> None:
    jobs = workload([(0, 10, 2), (1, 5, 2), (2, 3, 2)])

    def schedule(of: Any, **options: Any) -> sm.Schedule:
        asked: dict[str, Any] = {**TARGETS, "distance": of(3), "least_machines": of(1), **options}
        sizes: dict[str, Any] = {"cores_per_machine": of(2), "machines": of(2)}
        return sm.simulate_on_machines(jobs, [(0, 2), (4, 1)], **sizes, engine=engine, **asked)

    for of in (float, np.float64, np.int32):
        assert_same(schedule(of), schedule(int))
    assert_same(schedule(int, distance=2**53), schedule(int))  # as far as there are machines
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=2.0, cores_per_machine=np.float64(2))  # type: ignore[arg-type]
    assert [each.cores for each in cluster.machines] == [2, 2]
    assert all(type(each.cores) is int for each in cluster.machines)


def test_the_schedulers_refuse_what_the_function_refuses() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=2, cores_per_machine=2)
    with pytest.raises(sm.RequestError, match="aware must be True or False"):
        sm.FirstFit(env, cluster, aware="no")
    with pytest.raises(sm.RequestError, match="distance must be an integer from 0 to"):
        sm.TargetStretch(env, cluster, reference=workload([(0, 5, 2)]), distance=np.inf)
    with pytest.raises(sm.RequestError, match="PackedTargetAsap has no option alternative"):
        sm.PackedTargetAsap(env, cluster, reference=workload([(0, 5, 2)]), alternative="first")
    for removes, text in (
        ("lowest", "unknown removes 'lowest'; .*known: highest, random"),
        (None, r"removes must be one of highest, random \(got None\)"),
    ):
        with pytest.raises(sm.RequestError, match=text):
            sm.TraceCapacity(env, cluster, [(0, 2)], removes=removes)  # type: ignore[arg-type]
        with pytest.raises(sm.RequestError, match=text):
            sm.CapacityProcess(env, cluster, machines=2, removes=removes)  # type: ignore[arg-type]


def test_jobs_of_one_number_are_refused_before_anything_runs(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log = sm.Workload(np.array([7, 8, 7, 9, 9]), np.array([0, 1, 2, 50, 60]), *np.full((2, 5), 5.0), np.ones(5))

    def ask(window: tuple[float, float]) -> sm.Schedule:
        return sm.simulate_on_machines(log, [(0, 1)], cores_per_machine=1, window_s=window, engine=engine)

    with pytest.raises(sm.RequestError, match="2 jobs have the number 9; give each a number of its own"):
        ask((20, 55))  # the other one is submitted later, but an attempt would not say which ran
    assert len(ask((10, 20)).attempts) == 0  # neither is there
    monkeypatch.setattr(sys.modules["simmodels.simulate"], "run_compiled", None)  # not the function of that name
    monkeypatch.setattr("simmodels.entities.building.run_processes", None)
    with pytest.raises(sm.RequestError, match="2 jobs have the number 7; give each a number of its own"):
        ask((0, 20))
