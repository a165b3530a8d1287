import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError, RequestError
from tests.refused import refused
from tests.work import JSON, read_or_refused
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
    path = folder / "jobs.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


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


def test_a_file_may_be_compressed_and_named_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "week.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DRAWN).encode()))
    assert read_batsim(path).name == "week"
    assert read_batsim(str(path), name="other").name == "other"


@pytest.mark.parametrize("ids", [["a!x", "b", "c"], ["w0!1", "w1!1", "2"]])
def test_ids_that_are_no_numbers_of_their_own_are_renumbered_and_kept(tmp_path: Path, ids: list[str]) -> None:
    jobs = [{**job, "id": job_id} for job, job_id in zip(DRAWN["jobs"], ids, strict=True)]
    read = read_batsim(written(tmp_path, {**DRAWN, "jobs": jobs}))
    assert read.job_id.tolist() == [1, 2, 3]
    assert read.extras["batsim_id"].tolist() == ids
    assert read.counts["jobs renumbered"] == 3


def test_computations_are_timed_by_the_speed_of_the_cores(tmp_path: Path) -> None:
    profiles = {**DRAWN["profiles"], "sums": {"type": "parallel_homogeneous", "cpu": 5e6, "com": 0}}
    path = written(tmp_path, {**DRAWN, "profiles": profiles})
    assert read_batsim(path, flops_per_s=1e6).runtime_s.tolist() == [12.5, 12.5, 5]
    with refused(
        "...the runtime of job '9', profile 'sums' depends on the cores' speed; give flops_per_s...", FileFormatError
    ):
        read_batsim(path)
    with pytest.raises(RequestError, match=r"flops_per_s must be a finite number > 0, or None \(got 0\)"):
        read_batsim(path, flops_per_s=0)
    profiles["sums"]["com"] = 7
    with refused(
        "...com of job '9', profile 'sums' must be 0, because no network is modelled, (got 7)...", FileFormatError
    ):
        read_batsim(written(tmp_path, {**DRAWN, "profiles": profiles}), flops_per_s=1e6)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            with_job(profile="never used"),
            "type of job 'w0!7', profile 'never used' must be one of delay, parallel_homogeneous (got 'smpi')",
        ),
        (with_job(profile=["short"]), "profile of job 'w0!7' must be a text (got ['short'])"),
        (with_job(profile="nowhere"), "job 'w0!7', profile 'nowhere': there is no such profile"),
        (with_job(profile=None), "job 'w0!7', profile 'None': there is no such profile"),
        (with_job(res=0), "res of job 'w0!7' must be an integer >= 1 (got 0)"),
        (with_job(res=1.5), "res of job 'w0!7' must be an integer >= 1 (got 1.5)"),
        (with_job(res=None), "res of job 'w0!7' must be an integer >= 1 (got 'missing')"),
        (with_job(res=True), "res of job 'w0!7' must be an integer >= 1 (got True)"),
        (with_job(subtime="3"), "subtime of job 'w0!7' must be a finite number >= 0 (got '3')"),
        (with_job(subtime=float("nan")), "subtime of job 'w0!7' must be a finite number >= 0 (got nan)"),
        (with_job(subtime=float("inf")), "subtime of job 'w0!7' must be a finite number >= 0 (got inf)"),
        (with_job(walltime="1:00"), "walltime of job 'w0!7' must be a finite number > 0, or -1 for none (got '1:00')"),
        (with_job(id=None), "jobs[0] is no object with an id"),
        ({**DRAWN, "jobs": [3]}, "jobs[0] is no object with an id"),
        ({**DRAWN, "jobs": []}, "jobs must be a list of at least one job, and profiles an object"),
        ({**DRAWN, "profiles": []}, "jobs must be a list of at least one job, and profiles an object"),
        ({**DRAWN, "nb_res": 0}, "nb_res must be an integer >= 1 (got 0)"),
        (
            {**DRAWN, "profiles": {"short": {"type": "delay"}}},
            "delay of job 'w0!7', profile 'short' must be a finite number >= 0 (got 'missing')",
        ),
        (
            {**DRAWN, "profiles": {"short": {"type": "delay", "delay": -1}}},
            "delay of job 'w0!7', profile 'short' must be a finite number >= 0 (got -1)",
        ),
        ([], "the file must be a JSON object with jobs and profiles (got [])"),
        ("[" * 100_000, "no JSON that can be read"),
        ("9" * 5000, "no JSON that can be read"),
        ('{"jobs": [\n1,,]}', "line 2: no JSON: "),
        ("", "the file is empty"),
    ],
)
def test_what_is_no_such_workload_is_refused_with_job_and_profile(tmp_path: Path, content: object, what: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(FileFormatError, match=re.escape(str(path)) + ".*" + re.escape(what)):
        read_batsim(path)


@given(
    st.sampled_from(["id", "subtime", "walltime", "res", "profile", "nb_res", "jobs", "profiles", "type", "delay"]),
    JSON,
)
def test_any_json_is_a_workload_or_one_clear_error(scratch: Path, key: str, value: object) -> None:
    content: dict[str, Any] = json.loads(json.dumps(DRAWN))
    if key in content:
        content[key] = value
    elif key in {"type", "delay"}:
        content["profiles"]["short"][key] = value
    else:
        content["jobs"][0][key] = value
    jobs = read_or_refused(read_batsim, written(scratch, content))
    assert jobs is None or (len(jobs) == len(content["jobs"]) and np.isfinite(jobs.runtime_s).all())


@pytest.mark.parametrize("key", ["id", "subtime", "res", "walltime", "profile"])
@pytest.mark.parametrize("depth", [900, 940, 960, 970, 980, 990])
def test_a_value_nested_as_deep_as_json_may_be_is_refused(tmp_path: Path, key: str, depth: int) -> None:
    text = json.dumps(with_job(**{key: "DEEP"})).replace('"DEEP"', "[" * depth + "]" * depth)
    with pytest.raises(FileFormatError) as error:
        read_batsim(written(tmp_path, text))
    assert len(str(error.value)) < len(str(tmp_path)) + 300
