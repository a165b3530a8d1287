"""Each study gives the same rows on both engines."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workloads as wl
from experiments.campaigns import run
from experiments.policy import FIVE, QUEUES

CHOSEN: dict[str, tuple[int, dict[str, Any]]] = {
    "replay": (2 * 4, {"jobs": 60, "cores": 64, "backfilling": ["greedy", "easy"], "replications": 1}),
    "selection": (
        26,
        {"weeks": 2, "replications": 1, "variant": ["text", "program"],
         "strategy": ["FCFS", "SEXP", "full day", "noisy week", "bandit day", "random week", "ucb1 day", "exp3 day"],
         "decay": 0.5},
    ),
    "capacity": (
        5 * 2 + 2,
        {"lead_days": 1.0, "window_days": 0.5, "workload": "LogScale", "trace": 0, "jobs_per_week": 3500,
         "period_s": 1200, "replications": 1, "heuristic": [*FIVE, *QUEUES], "change": ["kill", "checkpoint"]},
    ),
    "market": (  # of few cores, so that jobs wait and starve; another rule, and workflows alone
        2 * 2 * 10 + 10 + 13,
        {"jobs": 50, "clusters": "2x128:Kind1,1x128:Kind2", "alone": 2, "replications": 1, "end": ["drain", "submit"]},
    ),
    "regression": (
        50,
        {"pairs": 8, "pairs_of_logs": 8, "trials": 1_024, "uniform_trials": 1_024, "draws": 2, "window_days": 2.0,
         "workload": ["generated", "CTC-SP2-stand-in.swf"], "scores": [None, "uniform"], "part": ["fit", "online"],
         "order": ["FCFS", "WFP3", "F2", "LIN"], "jobs": 400},
    ),
}  # fmt: skip


@pytest.mark.parametrize("study", CHOSEN)
def test_both_engines_give_the_same_rows(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if study == "regression":
        log = wl.tsafrir_estimates(wl.lublin(jobs=700, cores=256, seed=1), seed=1)
        wl.write_swf(log, "CTC-SP2-stand-in.swf")
    least, chosen = CHOSEN[study]
    one, two = (
        run(study, out=engine, scale="smoke", seed=3, workers=0, chosen={**chosen, "engine": engine}).results().table
        for engine in ("simpy", "compiled")
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert len(one) >= least
    if study == "market":
        assert (one["starved_deadline"] > 0).sum() > 20
