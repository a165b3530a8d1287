"""Inputs: which jobs of a file are taken, and what its times mean."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.inputs import WorkloadFile
from simmodels.errors import RequestError, UnknownNameError
from tests.command_line import Run

HEADER = "JobID|User|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|Partition|ReqTRES\n"


def accounting(folder: Path) -> Path:
    """Write six jobs, each third one on the partition gpu, over the night when clocks were put forward."""
    lines = [HEADER]
    for k in range(6):
        of = "gpu" if k % 3 == 0 else "cpu"
        asks = "cpu=4,mem=8G,gres/gpu=2" if of == "gpu" else "cpu=4"
        day = f"2024-03-{30 + k // 3}T0"
        times = f"{day}{k % 3 + 1}:30:00|{day}{k % 3 + 1}:30:05|{day}{k % 3 + 1}:40:05"
        lines.append(f"{k + 1}|ada|COMPLETED|{times}|00:10:00|01:00:00|4|{of}|{asks}\n")
    path = folder / "jobs.sacct"
    path.write_text("".join(lines))
    return path


def test_only_jobs_of_the_partitions_asked_for_are_taken_and_the_others_counted(tmp_path: Path) -> None:
    path = accounting(tmp_path)
    log = WorkloadFile(path=path, cores=8, partitions=("gpu",)).read()
    assert log.job_id.tolist() == [1, 4]
    assert log.counts["in other partitions"] == 4
    assert log.extras["gpus"].tolist() == [2, 2]
    both = WorkloadFile(path=path, cores=8, partitions=("gpu", "cpu")).read()
    assert (len(both), both.counts["in other partitions"]) == (6, 0)
    assert both.extras["gpus"].tolist() == [2, 0, 0, 2, 0, 0]
    with pytest.raises(UnknownNameError, match="unknown partition 'gpus'; did you mean gpu"):
        WorkloadFile(path=path, cores=8, partitions=("gpus",)).read()


@pytest.mark.parametrize("part", ["partition", "queue"])
def test_partitions_and_queues_of_the_standard_workload_format_are_numbers(part: str, tmp_path: Path) -> None:
    jobs = wl.lublin(jobs=50, cores=16, seed=1, load=0.5)
    wl.write_swf(replace(jobs, extras={part: np.arange(50) % 2 + 1}), tmp_path / "log.swf")
    asked: dict[str, Any] = {f"{part}s": ("2",)}
    log = WorkloadFile(path=tmp_path / "log.swf", **asked).read()
    assert log.job_id.tolist() == jobs.job_id[1::2].tolist()
    assert log.counts[f"in other {part}s"] == 25
    wl.write_swf(jobs, tmp_path / "none.swf")
    with pytest.raises(RequestError, match=f"does not say which {part}"):
        WorkloadFile(path=tmp_path / "none.swf", cores=16, **asked).read()


def test_numbers_of_queues_are_whole_though_a_job_has_none(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("submit_s,runtime_s,cores,queue\n0,5,1,1\n1,5,1,2\n2,5,1,\n3,5,1,-1\n")
    log = WorkloadFile(path=tmp_path / "log.csv", cores=4, queues=("2",)).read()
    assert (log.submit_s.tolist(), log.counts["in other queues"]) == ([1.0], 3)
    with pytest.raises(UnknownNameError, match="unknown queue '3'; known: 1, 2"):
        WorkloadFile(path=tmp_path / "log.csv", cores=4, queues=("3",)).read()


def test_a_time_zone_says_what_the_times_of_an_accounting_mean(tmp_path: Path) -> None:
    """In the night to 31 March 2024 an hour was left out in Berlin."""
    path = accounting(tmp_path)
    plain, zoned = (WorkloadFile(path=path, cores=8, timezone=zone).read() for zone in (None, "Europe/Berlin"))
    assert np.ptp(plain.submit_s) - np.ptp(zoned.submit_s) == sm.HOUR
    with pytest.raises(RequestError, match=r"timezone must be a name such as 'Europe/Berlin' \(got 'Berlin'"):
        WorkloadFile(path=path, cores=8, timezone="Berlin").read()
    wl.write_swf(plain, tmp_path / "log.swf")
    with pytest.raises(RequestError, match=r"timezone with .*; it is for what sacct printed"):
        WorkloadFile(path=tmp_path / "log.swf", cores=8, timezone="Europe/Berlin").read()


@pytest.mark.parametrize("words", ["simulate", "compare --orders FCFS", "advise --scale smoke --workers 0"])
def test_commands_take_them(words: str, run: Run) -> None:
    path = accounting(Path())
    given = ("-w", path, "--cores", 8, "--timezone", "Europe/Berlin", "--partition", "gpus")
    answer = run(*words.split(), *given, "--json")
    assert (answer.status, "unknown partition 'gpus'; did you mean gpu" in answer.err) == (2, True)
