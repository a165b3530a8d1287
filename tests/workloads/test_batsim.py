import json
from pathlib import Path
from typing import Any

import pytest

from simmodels.errors import FileFormatError
from tests import work
from tests.refused import refused
from workloads import read_batsim

DRAWN: dict[str, Any] = {
    "nb_res": 4,
    "jobs": [
        {"id": "w0!7", "subtime": 10, "walltime": 100, "res": 4, "profile": "short"},
        {"id": 8, "subtime": 2.5, "walltime": -1, "res": 1, "profile": "short"},
        {"id": "9", "subtime": 3, "res": 2, "profile": "sums"},
    ],
    "profiles": {
        "short": {"type": "delay", "delay": 12.5},
        "sums": {"type": "parallel_homogeneous", "cpu": 5e6, "com": 0, "delay": 20},
        "never used": {"type": "smpi", "trace": "x"},
    },
}


def written(folder: Path, content: object) -> Path:
    return work.written(folder, content if isinstance(content, str) else json.dumps(content), "jobs.json")


def with_job(**changes: object) -> dict[str, Any]:
    """Return the drawn workload with a changed first job; None takes a key away."""
    first = {key: value for key, value in {**DRAWN["jobs"][0], **changes}.items() if value is not None}
    return {**DRAWN, "jobs": [first, *DRAWN["jobs"][1:]]}


def test_each_value_goes_where_it_belongs(tmp_path: Path) -> None:
    jobs = read_batsim(written(tmp_path, DRAWN))
    assert jobs.job_id.tolist() == [7, 8, 9]
    assert jobs.submit_s.tolist() == [10, 2.5, 3]
    assert jobs.runtime_s.tolist() == [12.5, 12.5, 20]
    assert jobs.estimate_s.tolist() == [100, 100, 100]
    assert jobs.cores.tolist() == [4, 1, 2]
    assert jobs.max_cores == 4
    assert jobs.name == "jobs"
    assert jobs.extras["batsim_id"].tolist() == ["w0!7", "8", "9"]
    assert jobs.extras["profile"].tolist() == ["short", "short", "sums"]
    assert jobs.unlimited().tolist() == [False, True, True]
    assert {name: count for name, count in jobs.counts.items() if count} == {"jobs": 3, "jobs without a time limit": 2}


@pytest.mark.parametrize("ids", [["a!x", "b", "c"], ["w0!1", "w1!1", "2"]])
def test_ids_that_are_no_numbers_of_their_own_are_renumbered_and_kept(tmp_path: Path, ids: list[str]) -> None:
    jobs = [{**job, "id": job_id} for job, job_id in zip(DRAWN["jobs"], ids, strict=True)]
    read = read_batsim(written(tmp_path, {**DRAWN, "jobs": jobs}))
    assert read.job_id.tolist() == [1, 2, 3]
    assert read.extras["batsim_id"].tolist() == ids
    assert read.counts["jobs renumbered"] == 3


def test_computations_are_timed_by_the_speed_of_the_cores(tmp_path: Path) -> None:
    sums: dict[str, object] = {"type": "parallel_homogeneous", "cpu": 5e6, "com": 0}
    path = written(tmp_path, work.changed(DRAWN, ["profiles", "sums"], sums))
    assert read_batsim(path, flops_per_s=1e6).runtime_s.tolist() == [12.5, 12.5, 5]
    with refused(
        "...the runtime of job '9', profile 'sums' depends on the cores' speed; give flops_per_s...", FileFormatError
    ):
        read_batsim(path)
    with refused("flops_per_s must be a finite number > 0, or None (got 0)"):
        read_batsim(path, flops_per_s=0)
    path = written(tmp_path, work.changed(DRAWN, ["profiles", "sums"], {**sums, "com": 7}))
    with refused(
        "...com of job '9', profile 'sums' must be 0, because no network is modelled, (got 7)...", FileFormatError
    ):
        read_batsim(path, flops_per_s=1e6)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            with_job(profile="never used"),
            "type of job 'w0!7', profile 'never used' must be one of delay, parallel_homogeneous (got 'smpi')",
        ),
        (with_job(profile=["short"]), "profile of job 'w0!7' must be a text (got ['short'])"),
        (with_job(profile=None), "job 'w0!7', profile 'None': there is no such profile"),
        *((with_job(res=res), f"res of job 'w0!7' must be an integer >= 1 (got {res!r})") for res in (0, 1.5, True)),
        (with_job(res=None), "res of job 'w0!7' must be an integer >= 1 (got 'missing')"),
        (with_job(subtime="3"), "subtime of job 'w0!7' must be a finite number >= 0 (got '3')"),
        (with_job(subtime=float("nan")), "subtime of job 'w0!7' must be a finite number >= 0 (got nan)"),
        (with_job(walltime="1:00"), "walltime of job 'w0!7' must be a finite number > 0, or -1 for none (got '1:00')"),
        (with_job(id=None), "jobs[0] is no object with an id"),
        ({**DRAWN, "jobs": [3]}, "jobs[0] is no object with an id"),
        ({**DRAWN, "jobs": []}, "jobs must be a list of at least one job, and profiles an object..."),
        ({**DRAWN, "profiles": []}, "jobs must be a list of at least one job, and profiles an object..."),
        ({**DRAWN, "nb_res": 0}, "nb_res must be an integer >= 1 (got 0)"),
        (
            {**DRAWN, "profiles": {"short": {"type": "delay", "delay": -1}}},
            "delay of job 'w0!7', profile 'short' must be a finite number >= 0 (got -1)",
        ),
        ([], "the file must be a JSON object with jobs and profiles (got [])"),
        ("[" * 100_000, "no JSON that can be read..."),
        ("9" * 5000, "no JSON that can be read..."),
        ('{"jobs": [\n1,,]}', "line 2: no JSON: ..."),
    ],
)
def test_what_is_no_such_workload_is_refused_with_job_and_profile(tmp_path: Path, content: object, what: str) -> None:
    path = written(tmp_path, content)
    with refused(f"{path}...{what}", FileFormatError):
        read_batsim(path)
