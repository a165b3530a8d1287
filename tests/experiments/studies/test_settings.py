"""Settings of studies that no cell can run: each is refused in one sentence before anything is run."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from experiments.campaigns.planning.finding import find_class
from simmodels.errors import SimModelsError
from tests.command_line import Run

ANYTHING = {"workload", "train", "clean", "log", "borg", "workflow_files", "series", "series_column"}
"""What may be any text, for it may name a file."""
MAY_BE = {
    "replay": ("cores window_days jobs load tau_s threshold_h", "window_days load tau_s threshold_h"),
    "selection": ("threshold_h epsilon noise", "threshold_h epsilon_half_life_weeks"),
    "capacity": (
        "lead_days distance lower_below notice_s restart_s trace radius",
        "lead_days window_days raise_above notice_s checkpoint_s restart_s period_s",
    ),
    "cross": ("radius", "load window_days tune_h rebalance_s tau_s"),
    "market": ("ccr admission alone", "ccr load"),
    "regression": ("warm_jobs", "window_days tau_s"),
}
"""Of each study, which numbers may be 0, and which may be 1.5."""


def refused(study: str, name: str, value: object) -> bool:
    """Return whether a study does not take a value, and says so of this setting."""
    chosen: dict[str, Any] = {name: value}
    said = ""
    try:
        next(iter(find_class(study)(**chosen).cells("smoke", 0)))
    except SimModelsError as error:
        said = str(error).replace("_", " ")
    return name.replace("_", " ") in said


@pytest.mark.parametrize("study", MAY_BE)
def test_each_setting_is_of_its_kind_and_in_its_range(study: str) -> None:
    of = find_class(study)
    names = {*of.parameters, *of.factors} - ANYTHING
    for wrong in ("nonsense", -1, True):
        assert [name for name in names if not refused(study, name, wrong)] == []
    for value, known in zip((0, 1.5), MAY_BE[study], strict=True):
        assert {name for name in names if not refused(study, name, value)} == set(known.split())


REFUSED = {
    "replay order=none.py:x": "no order can be read from none.py: no such file or directory",
    "replay order=x.py:y.pyz": "no order can be read from x.py: no such file or directory",
    "replay backfilling=esay": "unknown backfilling 'esay'; did you mean easy? known: none, greedy, easy",
    "replay backfilling=1": "backfilling must be one of none, greedy, easy, conservative (got 1)",
    "replay workload=none.swf": "none.swf",
    "replay workload=5": "5",
    "selection variant=prog": "unknown variant 'prog'; did you mean program",
    "selection threshold_h=-4": "threshold_h must be a finite number of hours >= 0",
    "selection noise=2": "noise must be a number from 0 to 1 (got 2)",
    "capacity workload=LogScal": "'LogScal'",
    "capacity heuristic=TargetASAP": "'TargetASAP'; did you mean",
    "capacity radius=2": "radius must be 0 or at least 4 (got 2)",
    "capacity radius=24": "radius must be less than the 24 machines (got 24)",
    "capacity cores_per_machine=4": "cores_per_machine must be an integer >= 8 (got 4)",
    "capacity raise_above=0.5": "lower_below and raise_above must be 0 <= lower_below <= raise_above (got (0.8, 0.5))",
    "cross 'capacity=walk fast'": "unknown capacity 'walk fast'",
    "cross machines=5 radius=2": "machines and radius must be even, and radius less than machines (got (5, 2))",
    "cross machines=8 radius=8": "machines and radius must be even, and radius less than machines (got (8, 8))",
    "cross warm_days=0.5 window_days=0.5": "warm_days must be less than window_days, 0.5, (got 0.5)",
    "cross trial_cores=4": "trial_cores must be at least cores_per_machine, 16, (got 4)",
    "cross log=5": "log must be a text (got 5)",
    "cross decider=TargetASAP order=SAF": "no decider goes with any of the orders",
    "cross log=none.swf": "none.swf",
    "market load=0.9,0": "load must be a finite number > 0 (got 0)",
    "market admission=2": "admission must be a number from 0 to 1, or None (got 2)",
    "market clusters=4": "clusters must be able to run a task of 128 cores of Kind1",
    "market clusters=1x64:Kind1,1x128:Kind2": "clusters must be able to run a task of 128 cores of Kind1",
    "market clusters=many": "clusters must be HOW-MANYxCORES:KIND, such as 3x1000:Kind1 (got 'many')",
    "market bid=SRTF,srtf": "bid 'SRTF' is given twice",
    "regression scores=x": "scores must be one of None, swap-any, uniform (got 'x')",
    "regression trials=63": "trials must be an integer >= 64 (got 63)",
    "regression window_days=900 jobs=1500": "window_days must be such that ",
    "regression workload=None": "workload must be generated",
    "regression train=None": "train must be generated",
    "advice": "--workload FILE",
    "advice workload=x.swf current=SPFF": "unknown current order 'SPFF'; did you mean SPF",
    "advice workload=x.swf weeks=0": "weeks must be an integer >= 1 (got 0)",
}


@pytest.mark.parametrize("line", REFUSED)
def test_settings_out_of_range_are_refused_before_anything_is_run(line: str, run: Run) -> None:
    study, *settings = shlex.split(line)
    answer = run("run", study, "--scale", "smoke", "--workers", 0, *(f"--set={each}" for each in settings))
    assert (answer.status, answer.out) == (2, "")
    assert REFUSED[line] in answer.err
    assert answer.err.count("\n") == 1
    assert not Path("results").exists()
