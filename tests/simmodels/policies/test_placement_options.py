# ruff: noqa: ANN401  options of any type are handed through
import sys
from typing import Any

import numpy as np
import pytest

import simmodels as sm
from simmodels.policies.placement_options import PlacementOptions
from tests.on_machines import CHOICES, workload
from tests.refused import refused

JOBS = workload([(0, 5, 2)])
TARGETS = {"heuristic": "TargetAsap", "reference": JOBS}
PACKS = {**TARGETS, "heuristic": "PackedTargetAsap"}
UNAWARE = "unaware has no effect while aware is True; add aware=False"


OTHERS = {
    "TargetStretch": ("stay_on_target", "requeue_immediate", "packing", "aware"),
    "TargetAsap": ("alternative", "pack_size", "unaware"),
    "PackedTargetAsap": ("alternative", "dispatch"),
    "FirstFit": ("distance", "alternative", "stay_on_target", "reference"),
}


@pytest.mark.parametrize("heuristic", OTHERS)
def test_an_option_that_would_change_nothing_is_refused(heuristic: Any) -> None:
    options: dict[str, Any] = {} if heuristic == "FirstFit" else {"reference": JOBS}
    values = {name: values[0] for each in CHOICES.values() for name, values in each.items()}
    values |= {"aware": False, "unaware": "random_kill", "dispatch": "event", "reference": JOBS}
    for name in OTHERS[heuristic]:
        with refused(f"{heuristic} has no option {name}; it is one of another heuristic"):
            PlacementOptions.checked(heuristic=heuristic, **options, **{name: values[name]})
    kept = PlacementOptions.checked(heuristic=heuristic, **options).about()
    assert not set(OTHERS[heuristic]) & set(kept)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"cores_per_machine": 1}, "job 1: needs 2 cores, and the machine has 1..."),
        ({"cores_per_machine": np.inf}, "cores_per_machine must be an integer from 1 to 2**53 (got inf)"),
        ({"machines": 2.5}, "machines must be an integer from 1 to 2**53 (got 2.5)"),
        ({"capacity": [(0, 3)], "machines": 1}, "the machines of capacity must be at most 1, those of ... (got 3)"),
        ({"capacity": [(0, 1), (0, 2)]}, "...row 1: time_s 0 after 0..."),
        ({"window_s": (5, 5)}, "window_s must be a finite begin and a later end (got (5.0, 5.0))"),
        ({"checkpoints": 60}, "checkpoints must be a Checkpoints, or None (got 60)"),
        ({"seed": 0.5}, "seed must be an integer >= 0 (got 0.5)"),
        ({"heuristic": "Target"}, "unknown heuristic 'Target'..."),
        ({"awere": True}, "unknown option 'awere'; did you mean aware..."),
        ({"aware": "no"}, "aware must be True or False (got 'no')"),
        ({"aware": True, "unaware": "random_kill"}, UNAWARE),
        ({"unaware": "random_kill"}, UNAWARE),
        ({"fill_order": (0, 0)}, "fill_order must be each number from 0 to 1 once (got (0, 0))"),
        ({"fill_order": (0, "1")}, "fill_order must be the numbers of the machines, or None (got (0, '1'))"),
        ({"heuristic": "TargetAsap"}, "TargetAsap has no reference..."),
        ({**TARGETS, "reference": "jobs"}, "reference must be a Workload, or None (got 'jobs')"),
        ({**TARGETS, "distance": 1e300}, "distance must be an integer from 0 to 2**53 (got 1e+300)"),
        ({**TARGETS, "least_machines": -1}, "least_machines must be an integer from 0 to 2**53, or None (got -1)"),
        ({**TARGETS, "raise_above": "1"}, "raise_above must be a number (got '1')"),
        ({**TARGETS, "length_cap_s": np.nan}, "length_cap_s must be a number of seconds > 0 (got nan)"),
        ({**TARGETS, "requeue_immediate": 1}, "requeue_immediate must be True or False (got 1)"),
        ({**PACKS, "pack_size": 0}, "pack_size must be an integer from 1 to 2**53 (got 0)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(options: dict[str, Any], what: str, engine: Any) -> None:
    asked = {"capacity": [(0, 2)], "cores_per_machine": 2, "machines": 2, "engine": engine, **options}
    with refused(what, sm.SimModelsError):
        sm.simulate_on_machines(JOBS, **asked)


def test_the_schedulers_refuse_what_the_function_refuses() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=2, cores_per_machine=2)
    with refused("aware must be True or False..."):
        sm.FirstFit(env, cluster, aware="no")
    with refused("distance must be an integer from 0 to..."):
        sm.TargetStretch(env, cluster, reference=JOBS, distance=np.inf)
    with refused("PackedTargetAsap has no option alternative..."):
        sm.PackedTargetAsap(env, cluster, reference=JOBS, alternative="first")
    with refused("unknown removes 'lowest'; ...known: highest, random", sm.UnknownNameError):
        sm.TraceCapacity(env, cluster, [(0, 2)], removes="lowest")  # type: ignore[arg-type]
    with refused("removes must be one of highest, random (got None)"):
        sm.CapacityProcess(env, cluster, machines=2, removes=None)  # type: ignore[arg-type]


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
