"""Advice on logs as clusters have them: other waits than the replay's, memory, GPUs, partitions, too few cores."""

import textwrap
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.report import write_report
from tests.experiments.studies.advice.test_study import PRIORITY, advised, as_printed, in_full, logged, require_fits


@pytest.mark.parametrize("policy", ["FCFS", "SAF"])
def test_a_log_that_waited_five_times_as_long_as_its_replay_gets_no_advice(tmp_path: Path, policy: str) -> None:
    log = logged(1500, "FCFS")
    asked = {"wait_s": 5 * log.extras["wait_s"], "requested_memory_kb": np.full(len(log), 9.0)}
    parted = asked | {"partition": np.arange(len(log)) % 3}
    few = {"policy": [policy, "LAF", PRIORITY], "threshold_h": [None], "current": policy}
    campaign, report = advised(tmp_path, replace(log, extras=log.extras | parted), **few)
    assert report.findings[0].startswith("This replay does not match your machine: the mean wait is ")
    of_partitions = "the log has 3 partitions with at least 1 % of the jobs each, the replay one"
    assert any(of_partitions in one for one in report.findings)
    assert any("100 % of the jobs ask for memory, which the replay does not limit" in one for one in in_full(campaign))
    assert not [name for name in report.files if name.startswith("files/")]
    answer = as_printed(report.answer)
    require_fits(answer)
    assert (answer["verdict"], answer["replay_matches"], answer["change_to"]) == ("no match", False, None)


def test_too_few_cores_are_found_by_what_was_in_use(tmp_path: Path) -> None:
    log = logged(1500, "FCFS")
    narrow = log.take(log.cores <= 40)
    _, report = advised(tmp_path, narrow, cores=40)
    assert report.findings[0].startswith("This replay does not match your machine: ")
    assert report.findings[-1].startswith("Check: --cores: in use up to ")
    assert report.findings[-1].endswith("of the time more than 40.") or "more than 40; " in report.findings[-1]


def test_an_accounting_of_slurm_is_advised_on_by_partition_with_gpus_and_memory_counted(tmp_path: Path) -> None:
    log = sm.simulate(wl.lublin(jobs=400, cores=64, seed=5, load=1.0))
    begin, head = (
        datetime(2024, 3, 1, tzinfo=UTC),
        "JobID|User|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw",
    )
    rows = [f"{head}|ReqCPUS|AllocCPUS|ReqMem|AllocTRES"]
    work = log.workload
    for number, (submit_s, start_s) in enumerate(zip(work.submit_s, log.start_s, strict=True)):
        runs_s, cores = int(work.runtime_s[number]) + 1, work.cores[number]
        at = [begin + timedelta(seconds=int(time_s)) for time_s in (submit_s, start_s, start_s + runs_s)]
        times, limit = "|".join(f"{one:%Y-%m-%dT%H:%M:%S}" for one in at), runs_s // 30 + 1
        name, gpus = ("gpu", f",gres/gpu={cores}") if number % 4 == 0 else ("cpu", "")
        job = f"{number + 1}|ada|{name}|COMPLETED|{times}|{runs_s}|{limit}|{cores}|{cores}|{cores}G|cpu={cores}{gpus}"
        rows.append(job)
    (tmp_path / "jobs.sacct").write_text("\n".join(rows) + "\n")
    chosen = {"workload": str(tmp_path / "jobs.sacct"), "cores": 64, "policy": ["FCFS", "SPF"], "threshold_h": [None]}
    campaign = run(
        "advice", out=tmp_path / "all", scale="smoke", workers=0, chosen=chosen | {"timezone": "Europe/Berlin"}
    )
    findings = write_report(campaign).findings
    assert sum(len(textwrap.wrap(line, 78)) for line in findings) <= 10
    assert any("memory and GPUs not modelled" in line for line in findings)
    assert any("GPUs (25 % of the jobs ask for some)" in text for text in in_full(campaign))
    part = run("advice", out=tmp_path / "part", scale="smoke", workers=0, chosen=chosen | {"partition": "gpu"})
    assert any("100 jobs in " in text for text in in_full(part))
