from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.refused import refused
from tests.sacct_files import USUAL, assert_accounted_for, read

# -- what a job is ----------------------------------------------------------------------------------


def test_each_column_goes_where_it_belongs(tmp_path: Path) -> None:
    more = {"Account": "physics", "Partition": "cpu", "QOS": "high", "NNodes": "2", "ReqMem": "16G", "Restarts": "1"}
    bob = {"JobID": "11", "User": "bob", "Submit": "2024-03-01T08:10:00", "Partition": "big", "State": "FAILED"}
    jobs = read(tmp_path, {**more, "Priority": "77", "GID": "500", "Suspended": "00:00:10", "JobName": "a b"}, bob)
    assert jobs.job_id.tolist() == [10, 11]
    assert jobs.submit_s.tolist() == [0, 600]
    assert jobs.runtime_s.tolist() == [3600, 3600]
    assert jobs.estimate_s.tolist() == [7200, 7200]
    assert jobs.cores.tolist() == [8, 8]
    assert jobs.user_id.tolist() == [1, 2]
    assert jobs.name == "jobs"
    assert jobs.max_cores is None
    assert jobs.start_unix_s == datetime(2024, 3, 1, 8, tzinfo=UTC).timestamp()
    assert {name: column[0] for name, column in jobs.extras.items()} == {
        "wait_s": 5,
        "requested_s": 7200,
        "allocated_cores": 8,
        "requested_cores": 4,
        "requested_memory_mb": 16384,
        "requested_memory_kb": 16384 * 1024 / 8,
        "status": 1,
        "slurm_id": "10",
        "user": "ada",
        "account": 1,
        "account_name": "physics",
        "partition_name": "cpu",
        "qos": 1,
        "qos_name": "high",
        "job_name": "a b",
        "state": "COMPLETED",
        "partition": 2,
        "suspended_s": 10,
        "nodes": 2,
        "priority": 77,
        "restarts": 1,
        "group_id": 500,
    }
    assert [jobs.extras[name][1] for name in ("nodes", "priority", "requested_memory_mb", "status")] == [-1, -1, -1, 0]
    assert_accounted_for(jobs)


# -- job ids ----------------------------------------------------------------------------------------


def test_jobs_have_slurms_own_numbers_or_are_renumbered(tmp_path: Path) -> None:
    ids = {"11_4": "15", "11_[5-9%2]": "11", "20+0": "20", "20+1": "21", "11_[1-3,7,...": "16"}
    jobs = read(tmp_path, *[{"JobID": one, "JobIDRaw": raw} for one, raw in ids.items()])
    assert jobs.job_id.tolist() == [15, 11, 20, 21, 16]
    assert jobs.extras["slurm_id"].tolist() == list(ids)
    assert jobs.counts["jobs renumbered"] == 0
    assert jobs.counts["array records that stand for several tasks"] == 2
    assert jobs.counts["components of heterogeneous jobs"] == 2
    without = read(tmp_path, *[{"JobID": one} for one in ids])
    assert without.job_id.tolist() == [1, 2, 3, 4, 5]
    assert without.extras["slurm_id"].tolist() == list(ids)
    assert without.counts["jobs renumbered"] == 5
    columns = ["JobIDRaw", *[name for name in USUAL if name != "JobID"]]
    alone = read(tmp_path, {"JobIDRaw": "9"}, {"JobIDRaw": "9.batch"}, {"JobIDRaw": "8"}, columns=columns)
    assert (alone.job_id.tolist(), alone.counts["job steps"]) == ([9, 8], 1)


def test_of_a_requeued_job_the_attempt_submitted_last_is_the_job(tmp_path: Path) -> None:
    first = {"State": "NODE_FAIL", "End": "2024-03-01T08:10:05", "Elapsed": "00:10:00"}
    second = {"Submit": "2024-03-01T08:10:06", "Start": "2024-03-01T08:20:00", "End": "2024-03-01T09:20:00"}
    jobs = read(tmp_path, second, first, {"JobID": "3"})
    assert jobs.job_id.tolist() == [10, 3]
    assert jobs.extras["state"].tolist() == ["COMPLETED", "COMPLETED"]
    assert jobs.submit_s.tolist() == [606, 0]
    assert (jobs.counts["jobs out of submit order"], jobs.counts["earlier attempts left out"]) == (1, 1)
    assert_accounted_for(jobs)
    every = read(tmp_path, second, first, {"JobID": "3"}, keep="all")
    assert every.extras["state"].tolist() == ["COMPLETED", "NODE_FAIL", "COMPLETED"]
    assert every.runtime_s.tolist() == [3600, 600, 3600]
    assert every.job_id.tolist() == [1, 2, 3]
    assert (every.counts["earlier attempts left out"], every.counts["earlier attempts that are jobs"]) == (0, 1)
    assert_accounted_for(every)


def test_one_number_on_two_clusters_is_two_jobs(tmp_path: Path) -> None:
    jobs = read(tmp_path, {"Cluster": "a"}, {"Cluster": "b"})
    assert jobs.job_id.tolist() == [1, 2]
    assert jobs.extras["cluster"].tolist() == ["a", "b"]


# -- runtimes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "CANCELLED by 0", "Start": "2024-03-01T09:00:05", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "CANCELLED+", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "BOOT_FAIL", "Elapsed": "00:00:00", "AllocCPUS": "0"}, "never started"),
        ({"State": "RUNNING", "End": "Unknown"}, "still running"),
        ({"State": "RESIZING", "End": "Unknown"}, "still running"),
        ({"State": "FAILED", "End": "Unknown"}, "end unknown"),
    ],
)
def test_a_runtime_is_unknown_for_a_reason(tmp_path: Path, record: Mapping[str, str], why: str) -> None:
    jobs = read(tmp_path, {"JobID": "9"}, record)
    assert jobs.runtime_s.tolist() == [3600, -1]
    assert jobs.counts["runtimes unknown"] == jobs.counts[f"runtimes unknown: {why}"] == 1
    assert (jobs.extras["wait_s"][1] == -1) == (why == "never started")
    assert jobs.known().tolist() == [True, False]


def test_a_job_that_ended_has_run_whatever_its_end(tmp_path: Path) -> None:
    failed = (
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "OUT_OF_MEMORY",
        "DEADLINE",
        "REQUEUED",
        "BOOT_FAIL",
        "NEW",
    )
    status = {"COMPLETED": 1, "CANCELLED by 7": 5, "REVOKED": 5, **dict.fromkeys(failed, 0)}
    jobs = read(tmp_path, *[{"JobID": str(at), "State": state} for at, state in enumerate(status)])
    assert dict(zip(jobs.extras["state"].tolist(), jobs.extras["status"].tolist(), strict=True)) == status
    assert set(jobs.runtime_s.tolist()) == {3600}


@pytest.mark.parametrize(
    ("record", "runtime_s"),
    [
        *[({"Elapsed": "00:00:00"}, 0), ({"Elapsed": "01:02:03"}, 3723), ({"Elapsed": "1-00:00:00"}, 86400)],
        *[({"Elapsed": "02:03"}, 123), ({"Elapsed": "02:03.250"}, 123.25), ({"Elapsed": "365-23:59:59"}, 31_622_399)],
        ({"Elapsed": "00:50:00", "Suspended": "00:10:00"}, 3000),
        ({"Elapsed": "", "Suspended": "00:10:00"}, 3000),
        *[({"ElapsedRaw": "3601"}, 3601), ({"ElapsedRaw": ""}, 3600)],
    ],
)
def test_a_runtime_is_what_elapsed_or_else_from_start_to_end_but_for_time_suspended(
    tmp_path: Path, record: Mapping[str, str], runtime_s: float
) -> None:
    assert read(tmp_path, record).runtime_s.tolist() == [runtime_s]


# -- cores, limits, memory, users -------------------------------------------------------------------


def test_the_cores_allocated_count_unless_those_requested_are_asked_for(tmp_path: Path) -> None:
    never = {"JobID": "11", "State": "PENDING", "Start": "Unknown", "AllocCPUS": "0"}
    nothing = {"JobID": "12", "ReqCPUS": "0", "AllocCPUS": ""}
    jobs = read(tmp_path, {}, never, nothing)
    assert jobs.cores.tolist() == [8, 4, -1]
    assert jobs.counts["cores taken from requested cores"] == 1
    assert jobs.counts["cores unknown"] == 1
    assert read(tmp_path, {}, never, nothing, cores="requested").cores.tolist() == [4, 4, -1]


def test_cores_may_be_among_the_trackable_resources(tmp_path: Path) -> None:
    columns = [*[name for name in USUAL if "CPUS" not in name], "AllocTRES", "ReqTRES"]
    tres = {"AllocTRES": "billing=6,cpu=6,energy=12,gres/gpu=1,mem=8G,node=1", "ReqTRES": "cpu=5,mem=4G,node=1"}
    jobs = read(tmp_path, tres, columns=columns)
    sizes = [jobs.extras[name][0] for name in ("allocated_cores", "requested_cores", "requested_memory_mb")]
    assert sizes == [6, 5, 4096]


@pytest.mark.parametrize(
    ("asked", "gpus"),
    [
        ("cpu=5,mem=4G", 0),
        ("cpu=5,gres/gpu=2,mem=4G", 2),
        ("cpu=5,gres/gpu:a100=2,gres/gpu=3,gres/gpu:v100=1", 3),
        ("cpu=5,gres/gpu:a100=2,gres/gpu:v100=1", 3),
    ],
)
def test_gpus_are_those_of_all_types(tmp_path: Path, asked: str, gpus: int) -> None:
    assert read(tmp_path, {"ReqTRES": asked}, columns=[*USUAL, "ReqTRES"]).extras["gpus"].tolist() == [gpus]


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit", "", "INVALID", "00:00:00"])
def test_jobs_without_a_limit_are_given_the_longest_limit_of_their_partition(tmp_path: Path, limit: str) -> None:
    names = ["short", "short", "long", "other"]
    limits = ["02:00:00", limit, "3-00:00:00", limit]
    records = [
        {"JobID": str(at), "Partition": name, "Timelimit": text, "Elapsed": "09:00:00"}
        for at, (name, text) in enumerate(zip(names, limits, strict=True))
    ]
    jobs = read(tmp_path, *records)
    assert jobs.estimate_s.tolist() == [7200, 7200, 3 * 86_400, 3 * 86_400]
    assert jobs.extras["requested_s"].tolist() == [7200, -1, 3 * 86_400, -1]
    assert jobs.unlimited().tolist() == [False, True, False, True]
    assert jobs.counts["jobs without a time limit"] == 2
    assert read(tmp_path, *records, unlimited_s=9e6).estimate_s.tolist() == [7200, 9e6, 3 * 86_400, 9e6]


def test_where_no_job_has_a_limit_it_is_the_longest_runtime_of_the_unlimited_or_its_own(tmp_path: Path) -> None:
    records = [{"JobID": str(at), "Timelimit": "UNLIMITED", "Elapsed": f"0{at}:00:00"} for at in (1, 2)]
    assert read(tmp_path, *records).estimate_s.tolist() == [7200, 7200]
    records = [{"JobID": str(at), "Timelimit": text} for at, text in enumerate(["Partition_Limit", "", "INVALID"])]
    jobs = read(tmp_path, *records, {"JobID": "9", "State": "RUNNING", "Timelimit": ""})
    assert jobs.estimate_s.tolist() == [3600, 3600, 3600, -1]
    assert (jobs.counts["estimates taken from runtimes"], jobs.counts["estimates unknown"]) == (3, 1)


def test_memory_is_that_of_the_whole_job(tmp_path: Path) -> None:
    memory = {"4000M": 4000, "4G": 4096, "1024K": 1, "1.5T": 1.5 * 2**20, "2048": 2048, "0": 0, "0n": 0, "1P": 2**30}
    memory |= {"4Gc": 8 * 4096, "2Gn": 3 * 2048, "2TN": 3 * 2**21, "": -1, "?": -1, "4X": -1}
    jobs = read(tmp_path, *[{"JobID": str(at), "ReqMem": asked, "NNodes": "3"} for at, asked in enumerate(memory)])
    assert jobs.extras["requested_memory_mb"].tolist() == list(memory.values())
    assert jobs.extras["requested_memory_kb"].tolist() == [mb * 1024 / 8 if mb >= 0 else -1 for mb in memory.values()]
    assert read(tmp_path, {"ReqMem": "2Gn"}).extras["requested_memory_mb"].tolist() == [-1], "of how many nodes?"


def test_users_are_numbered_by_name_and_else_by_their_numbers(tmp_path: Path) -> None:
    users = [
        {"JobID": str(at), "User": user, "UID": "1000"} for at, user in enumerate(["zoe", "", "bob", "zoe", "ada"])
    ]
    jobs = read(tmp_path, *users)
    assert jobs.user_id.tolist() == [3, -1, 2, 3, 1]
    assert jobs.extras["user"].tolist() == ["zoe", "", "bob", "zoe", "ada"]
    columns = [*[name for name in USUAL if name != "User"], "UID"]
    assert read(tmp_path, *users, columns=columns).user_id.tolist() == [1000] * 5


# -- times ------------------------------------------------------------------------------------------


def test_jobs_that_started_before_their_submit_are_counted_and_kept(tmp_path: Path) -> None:
    submits = [{"JobID": str(at), "Submit": f"2024-03-01T08:00:{at}"} for at in (10, 11, 59)]
    times = {"Start": "2024-03-01T08:00:10", "End": "2024-03-01T08:01:10"}
    jobs = read(tmp_path, *({**each, **times} for each in submits))
    assert jobs.counts["starts before submit"] == 2
    assert jobs.extras["wait_s"].tolist() == [0, -1, -49]


def test_held_jobs_may_count_from_when_they_were_eligible(tmp_path: Path) -> None:
    held = {"Eligible": "2024-03-01T08:00:04"}
    never = {"JobID": "11", "Eligible": "Unknown", "Start": "Unknown", "State": "PENDING"}
    jobs = read(tmp_path, held, never, submit="eligible")
    assert jobs.submit_s.tolist() == [4, 0]
    assert jobs.extras["wait_s"].tolist() == [1, -1]
    assert jobs.counts["eligible times unknown"] == 1


def test_local_times_are_taken_as_utc_unless_their_zone_is_said(tmp_path: Path) -> None:
    summer = {"JobID": "11", "Submit": "2024-07-01T08:00:00", "Start": "2024-07-01T08:00:01"}
    naive, local = read(tmp_path, {}, summer), read(tmp_path, {}, summer, timezone="Europe/Berlin")
    assert naive.submit_s.tolist() == [0, 122 * 86400]
    assert local.submit_s.tolist() == [0, 122 * 86400 - 3600]
    assert local.extras["wait_s"].tolist() == [5, 1]
    assert naive.start_unix_s is not None
    assert local.start_unix_s == naive.start_unix_s - 3600


def test_the_hours_of_a_change_of_the_clock_are_counted(tmp_path: Path) -> None:
    twice = {"Submit": "2024-10-27T02:30:00", "Start": "2024-10-27T04:00:00"}
    skipped = {"JobID": "11", "Submit": "2024-03-31T02:30:00", "Start": "2024-03-31T03:00:00"}
    jobs = read(tmp_path, {**twice, "Eligible": ""}, {**skipped, "Eligible": ""}, timezone="Europe/Berlin")
    assert jobs.counts["times that the clock showed twice"] == 1
    assert jobs.counts["times that the clock skipped"] == 1
    assert jobs.extras["wait_s"].tolist() == [9000, 0]


def test_times_that_say_their_zone_are_exact(tmp_path: Path) -> None:
    for submit in ("1709280000", "2024-03-01T09:00:00+0100", "2024-03-01 08:00:00Z"):
        assert read(tmp_path, {"Submit": submit}, timezone="Asia/Tokyo").start_unix_s == 1709280000


@pytest.mark.parametrize(
    ("option", "reported"),
    [
        ({"keep": "first"}, "unknown keep 'first'; known: last, all"),
        ({"submit": "start"}, "unknown submit 'start'; known: submit, eligible"),
        ({"cores": "all"}, "unknown cores 'all'; known: allocated, requested"),
        ({"unlimited_s": 0}, "unlimited_s must be a finite number of seconds > 0, or None (got 0)"),
        ({"timezone": "Mars/Base"}, "timezone must be a name such as 'Europe/Berlin' (got 'Mars/Base')"),
        ({"timezone": "../etc"}, "timezone must be a name such as 'Europe/Berlin' (got '../etc')"),
    ],
)
def test_an_option_of_no_sense_is_refused(tmp_path: Path, option: Mapping[str, object], reported: str) -> None:
    with refused(reported):
        read(tmp_path, {}, **option)
