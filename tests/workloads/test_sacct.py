import bz2
import gzip
import lzma
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.inputs import WorkloadFile
from simmodels.errors import FileFormatError, RequestError
from simmodels.workload import COLUMNS, Workload
from workloads import clean, read_sacct, read_swf, sacct_lines, write_swf
from workloads.sacct import is_sacct
from workloads.sacct_values import BAD, UNLIMITED, duration, limit, limit_in_minutes, memory_mb, tres_cpus

USUAL = {
    "JobID": "10",
    "User": "ada",
    "State": "COMPLETED",
    "Submit": "2024-03-01T08:00:00",
    "Eligible": "2024-03-01T08:00:00",
    "Start": "2024-03-01T08:00:05",
    "End": "2024-03-01T09:00:05",
    "Elapsed": "01:00:00",
    "Timelimit": "02:00:00",
    "ReqCPUS": "4",
    "AllocCPUS": "8",
}
LINES = (
    "header lines",
    "blank lines",
    "job steps",
    "bad lines",
    "repeated records",
    "earlier attempts left out",
    "jobs",
)


def printed(*records: Mapping[str, str], columns: Sequence[str] = (), end: str = "") -> str:
    """Return these records as sacct prints them, each with what is usual where it says nothing."""
    names = columns or list(dict.fromkeys([*USUAL, *(name for record in records for name in record)]))
    rows = [[{**USUAL, **record}.get(name, "") for name in names] for record in records]
    return "".join("|".join(row) + end + "\n" for row in [list(names), *rows])


def written(folder: Path, content: str | bytes, name: str = "jobs.sacct") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(folder: Path, *records: Mapping[str, str], **options: object) -> Workload:
    return read_sacct(written(folder, printed(*records)), **options)  # type: ignore[arg-type]


def assert_accounted_for(jobs: Workload) -> None:
    assert jobs.counts["lines"] == sum(jobs.counts[key] for key in LINES)
    assert jobs.counts["jobs"] == len(jobs)


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
        "account": "physics",
        "partition_name": "cpu",
        "qos": "high",
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


@pytest.mark.parametrize("end", ["", "|"])
def test_columns_stand_in_any_order_and_case_with_or_without_a_last_bar(tmp_path: Path, end: str) -> None:
    names = ["END", "state", "alloccpus", "Submit", "TimeLimit", "Start", "jobid"]
    values = ["2024-03-01T09:00:05", "COMPLETED", "8", "2024-03-01T08:00:00", "1-00:00:00", "2024-03-01T08:00:05", "7"]
    jobs = read_sacct(written(tmp_path, f"{'|'.join(names)}{end}\n{'|'.join(values)}{end}\n"))
    assert (jobs.job_id[0], jobs.runtime_s[0], jobs.estimate_s[0], jobs.cores[0]) == (7, 3600, 86400, 8)
    assert jobs.user_id.tolist() == [-1]


@pytest.mark.parametrize(
    ("gone", "reported"),
    [
        ("Submit", "the header lacks Submit; this makes a file with all columns: sacct"),
        ("Start", "the header lacks Start; this makes a file with all columns: sacct"),
        ("State", "the header lacks State; this makes a file with all columns: sacct"),
        (
            "ReqCPUS AllocCPUS",
            "the header lacks AllocCPUS or NCPUS or ReqCPUS or AllocTRES or ReqTRES; this makes a file with all",
        ),
        ("End Elapsed", "the header lacks ElapsedRaw or Elapsed or End; this makes a file with all columns: sacct"),
        ("State Start", "the header lacks Start, State; this makes a file with all columns: sacct"),
    ],
)
def test_a_missing_column_is_named_with_the_command_that_makes_it(tmp_path: Path, gone: str, reported: str) -> None:
    columns = [name for name in USUAL if name not in gone.split()]
    with pytest.raises(FileFormatError, match=reported) as caught:
        read_sacct(written(tmp_path, printed({}, columns=columns)))
    assert caught.value.line == 1


def test_eligible_is_needed_only_if_it_counts(tmp_path: Path) -> None:
    path = written(tmp_path, printed({}, columns=[name for name in USUAL if name != "Eligible"]))
    assert len(read_sacct(path)) == 1
    with pytest.raises(FileFormatError, match="the header lacks Eligible; this makes a file with all columns: sacct"):
        read_sacct(path, submit="eligible")


def test_the_command_in_the_errors_makes_a_good_file(tmp_path: Path) -> None:
    names = sacct_lines.COMMAND.rpartition(" ")[2].split(",")
    raw = {"JobIDRaw": "10", "ElapsedRaw": "3600", "TimelimitRaw": "120", "Suspended": "00:00:00"}
    jobs = read_sacct(written(tmp_path, printed(raw, columns=names)))
    assert (jobs.runtime_s[0], jobs.estimate_s[0]) == (3600, 7200)
    assert read_sacct(written(tmp_path, printed(raw, columns=names)), submit="eligible").submit_s.tolist() == [0]


def test_steps_are_left_out_and_counted(tmp_path: Path) -> None:
    steps = ["10.batch", "10.extern", "10.0", "10.interactive", "11_4.0", "12+1.extern", "13.4294967295"]
    records = [{"JobID": step, "User": "", "Timelimit": "", "Submit": "Unknown"} for step in steps]
    jobs = read(tmp_path, {}, *records)
    assert len(jobs) == 1
    assert jobs.counts["job steps"] == len(steps)
    assert_accounted_for(jobs)


# -- job ids ----------------------------------------------------------------------------------------


def test_arrays_and_heterogeneous_jobs_are_numbered_by_slurms_own_numbers(tmp_path: Path) -> None:
    ids = {"11_4": "15", "11_[5-9%2]": "11", "20+0": "20", "20+1": "21", "11_[1-3,7,...": "16"}
    jobs = read(tmp_path, *[{"JobID": one, "JobIDRaw": raw} for one, raw in ids.items()])
    assert jobs.job_id.tolist() == [15, 11, 20, 21, 16]
    assert jobs.extras["slurm_id"].tolist() == list(ids)
    assert jobs.counts["jobs renumbered"] == 0
    assert jobs.counts["array records that stand for several tasks"] == 2
    assert jobs.counts["components of heterogeneous jobs"] == 2


def test_without_those_numbers_jobs_are_renumbered(tmp_path: Path) -> None:
    jobs = read(tmp_path, {"JobID": "7"}, {"JobID": "11_4"}, {"JobID": "11_5"})
    assert jobs.job_id.tolist() == [1, 2, 3]
    assert jobs.extras["slurm_id"].tolist() == ["7", "11_4", "11_5"]
    assert jobs.counts["jobs renumbered"] == 3


def test_raw_numbers_are_enough(tmp_path: Path) -> None:
    columns = ["JobIDRaw", *[name for name in USUAL if name != "JobID"]]
    text = printed({"JobIDRaw": "9"}, {"JobIDRaw": "9.batch"}, {"JobIDRaw": "8"}, columns=columns)
    jobs = read_sacct(written(tmp_path, text))
    assert jobs.job_id.tolist() == [9, 8]
    assert jobs.counts["job steps"] == 1


def test_of_a_requeued_job_the_attempt_submitted_last_is_the_job(tmp_path: Path) -> None:
    first = {"State": "NODE_FAIL", "End": "2024-03-01T08:10:05", "Elapsed": "00:10:00"}
    second = {"Submit": "2024-03-01T08:10:06", "Start": "2024-03-01T08:20:00", "End": "2024-03-01T09:20:00"}
    jobs = read(tmp_path, second, first, {"JobID": "3"})
    assert jobs.job_id.tolist() == [10, 3]
    assert jobs.extras["state"].tolist() == ["COMPLETED", "COMPLETED"]
    assert jobs.submit_s.tolist() == [606, 0]
    assert jobs.counts["earlier attempts left out"] == 1
    assert_accounted_for(jobs)
    every = read(tmp_path, second, first, {"JobID": "3"}, keep="all")
    assert every.extras["state"].tolist() == ["COMPLETED", "NODE_FAIL", "COMPLETED"]
    assert every.runtime_s.tolist() == [3600, 600, 3600]
    assert every.job_id.tolist() == [1, 2, 3]
    assert (every.counts["earlier attempts left out"], every.counts["earlier attempts that are jobs"]) == (0, 1)
    assert_accounted_for(every)


@pytest.mark.parametrize("keep", ["last", "all"])
def test_files_can_be_put_together_though_they_overlap(tmp_path: Path, keep: str) -> None:
    text = printed({}, {"JobID": "11"}) + printed({"JobID": "11"}, {"JobID": "12"})
    jobs = read_sacct(written(tmp_path, text), keep=keep)  # type: ignore[arg-type]
    assert jobs.job_id.tolist() == [10, 11, 12]
    assert (jobs.counts["header lines"], jobs.counts["repeated records"]) == (2, 1)
    assert_accounted_for(jobs)


def test_one_number_on_two_clusters_is_two_jobs(tmp_path: Path) -> None:
    jobs = read(tmp_path, {"Cluster": "a"}, {"Cluster": "b"})
    assert jobs.job_id.tolist() == [1, 2]
    assert jobs.extras["cluster"].tolist() == ["a", "b"]


# -- runtimes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "CANCELLED by 1000", "Start": "None", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "CANCELLED by 0", "Start": "2024-03-01T09:00:05", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "CANCELLED+", "Elapsed": "00:00:00"}, "never started"),
        ({"State": "BOOT_FAIL", "Elapsed": "00:00:00", "AllocCPUS": "0"}, "never started"),
        ({"State": "RUNNING", "End": "Unknown"}, "still running"),
        ({"State": "SUSPENDED", "End": "Unknown"}, "still running"),
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


@pytest.mark.parametrize(
    ("state", "status"),
    [
        *[("COMPLETED", 1), ("CANCELLED by 7", 5), ("REVOKED", 5), ("FAILED", 0), ("TIMEOUT", 0), ("NODE_FAIL", 0)],
        *[("PREEMPTED", 0), ("OUT_OF_MEMORY", 0), ("DEADLINE", 0), ("REQUEUED", 0), ("BOOT_FAIL", 0), ("NEW_ONE", 0)],
    ],
)
def test_a_job_that_ended_has_run_whatever_its_end(tmp_path: Path, state: str, status: int) -> None:
    jobs = read(tmp_path, {"State": state})
    assert (jobs.runtime_s[0], jobs.extras["status"][0], jobs.extras["state"][0]) == (3600, status, state)


def test_a_job_may_run_for_no_time(tmp_path: Path) -> None:
    assert read(tmp_path, {"Elapsed": "00:00:00"}).runtime_s.tolist() == [0]


def test_time_suspended_is_no_runtime(tmp_path: Path) -> None:
    suspended = {"Elapsed": "00:50:00", "Suspended": "00:10:00"}
    assert read(tmp_path, suspended).runtime_s.tolist() == [3000]
    text = printed(suspended, columns=[*[name for name in USUAL if name != "Elapsed"], "Suspended"])
    assert read_sacct(written(tmp_path, text)).runtime_s.tolist() == [3000]


def test_elapsed_seconds_go_before_other_ways_to_say_it(tmp_path: Path) -> None:
    jobs = read(tmp_path, {"ElapsedRaw": "3601"}, {"JobID": "11", "ElapsedRaw": ""})
    assert jobs.runtime_s.tolist() == [3601, 3600]


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
    jobs = read_sacct(written(tmp_path, printed(tres, columns=columns)))
    sizes = [jobs.extras[name][0] for name in ("allocated_cores", "requested_cores", "requested_memory_mb")]
    assert sizes == [6, 5, 4096]


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit", "", "INVALID"])
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


def test_where_no_job_has_a_limit_all_have_the_longest_runtime_if_they_are_unlimited(tmp_path: Path) -> None:
    records = [{"JobID": str(at), "Timelimit": "UNLIMITED", "Elapsed": f"0{at}:00:00"} for at in (1, 2)]
    assert read(tmp_path, *records).estimate_s.tolist() == [7200, 7200]


def test_where_no_job_has_a_limit_and_none_is_unlimited_runtimes_stand_for_them(tmp_path: Path) -> None:
    records = [{"JobID": str(at), "Timelimit": text} for at, text in enumerate(["Partition_Limit", "", "INVALID"])]
    jobs = read(tmp_path, *records, {"JobID": "9", "State": "RUNNING", "Timelimit": ""})
    assert jobs.estimate_s.tolist() == [3600, 3600, 3600, -1]
    assert jobs.counts["estimates taken from runtimes"] == 3
    assert jobs.counts["estimates unknown"] == 1


@pytest.mark.parametrize(
    ("asked", "memory"),
    [
        *[("4000M", 4000), ("4G", 4096), ("1024K", 1), ("1.5T", 1.5 * 2**20), ("2048", 2048), ("0", 0), ("0n", 0)],
        *[("4Gc", 8 * 4096), ("2Gn", 3 * 2048), ("2TN", 3 * 2**21), ("", -1), ("?", -1), ("4X", -1), ("1P", 2**30)],
    ],
)
def test_memory_is_that_of_the_whole_job(tmp_path: Path, asked: str, memory: float) -> None:
    jobs = read(tmp_path, {"ReqMem": asked, "NNodes": "3"})
    assert jobs.extras["requested_memory_mb"].tolist() == [memory]
    assert jobs.extras["requested_memory_kb"].tolist() == [memory * 1024 / 8 if memory >= 0 else -1]


def test_memory_a_node_is_unknown_without_the_number_of_nodes(tmp_path: Path) -> None:
    assert read(tmp_path, {"ReqMem": "2Gn"}).extras["requested_memory_mb"].tolist() == [-1]


def test_users_are_numbered_by_name_and_else_by_their_numbers(tmp_path: Path) -> None:
    users = [
        {"JobID": str(at), "User": user, "UID": "1000"} for at, user in enumerate(["zoe", "", "bob", "zoe", "ada"])
    ]
    jobs = read(tmp_path, *users)
    assert jobs.user_id.tolist() == [3, -1, 2, 3, 1]
    assert jobs.extras["user"].tolist() == ["zoe", "", "bob", "zoe", "ada"]
    columns = [*[name for name in USUAL if name != "User"], "UID"]
    assert read_sacct(written(tmp_path, printed(*users, columns=columns))).user_id.tolist() == [1000] * 5


# -- times ------------------------------------------------------------------------------------------


def test_the_trace_begins_with_the_first_submit(tmp_path: Path) -> None:
    jobs = read(tmp_path, {"Submit": "2024-03-01T08:00:03"}, {"JobID": "11"})
    assert jobs.submit_s.tolist() == [3, 0]
    assert jobs.counts["jobs out of submit order"] == 1


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


def test_a_time_beyond_all_clocks_is_a_bad_line_in_any_zone(tmp_path: Path) -> None:
    path = written(tmp_path, printed({}, {"JobID": "9", "End": "9999-12-31T23:59:59"}))
    assert read_sacct(path, timezone="America/New_York").counts["bad lines: End is no time"] == 1


def test_the_hours_of_a_change_of_the_clock_are_counted(tmp_path: Path) -> None:
    twice = {"Submit": "2024-10-27T02:30:00", "Start": "2024-10-27T04:00:00"}
    skipped = {"JobID": "11", "Submit": "2024-03-31T02:30:00", "Start": "2024-03-31T03:00:00"}
    jobs = read(tmp_path, {**twice, "Eligible": ""}, {**skipped, "Eligible": ""}, timezone="Europe/Berlin")
    assert jobs.counts["times that the clock showed twice"] == 1
    assert jobs.counts["times that the clock skipped"] == 1
    assert jobs.extras["wait_s"].tolist() == [9000, 0]


@pytest.mark.parametrize("submit", ["1709280000", "2024-03-01T09:00:00+0100", "2024-03-01 08:00:00Z"])
def test_times_that_say_their_zone_are_exact(tmp_path: Path, submit: str) -> None:
    jobs = read(tmp_path, {"Submit": submit}, timezone="Asia/Tokyo")
    assert jobs.start_unix_s == 1709280000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("00:00:00", 0), ("01:02:03", 3723), ("1-00:00:00", 86400), ("365-23:59:59", 365 * 86400 + 86399)],
        *[("02:03", 123), ("02:03.250", 123.25), ("00:00:01.5", 1.5), ("5", BAD), ("x", BAD), ("1-02:03", BAD)],
        *[("-1:00:00", BAD), ("1:2:3:4", BAD), ("01:00:00 ", BAD), ("\u0661:00", BAD)],
    ],
)
def test_a_duration_has_days_hours_minutes_and_seconds(text: str, seconds: float) -> None:
    assert duration(text) == seconds


def test_limits_come_in_minutes_or_as_durations_or_not_at_all() -> None:
    assert limit_in_minutes("90") == 5400
    assert limit("UNLIMITED") == limit_in_minutes("UNLIMITED") == UNLIMITED
    assert all(
        math.isnan(read(text)) for read in (limit, limit_in_minutes) for text in ("", "Partition_Limit", "INVALID")
    )
    assert math.isnan(limit("00:00:00"))
    assert math.isnan(limit_in_minutes("0"))
    assert limit("soon") == limit_in_minutes("soon") == BAD
    assert math.isnan(memory_mb("lots"))
    assert math.isnan(tres_cpus("mem=4G"))


# -- how a file may look ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_may_end_as_on_any_system(tmp_path: Path, end: str) -> None:
    text = printed({}, {"JobID": "11"})
    assert_same(read_sacct(written(tmp_path, text.replace("\n", end))), read_sacct(written(tmp_path, text)))


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_file_may_be_compressed(tmp_path: Path, suffix: str, pack: object) -> None:
    assert callable(pack)
    path = written(tmp_path, pack(printed({}).encode()), f"jobs.sacct{suffix}")
    assert is_sacct(path)
    assert (len(read_sacct(path)), read_sacct(path).name) == (1, "jobs")


def test_marks_blank_lines_and_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    text = "\n" + printed({"User": "a\xff"}, {"JobID": "11", "User": "名"}).replace("\n", "\n\n").removesuffix("\n\n")
    data = b"\xef\xbb\xbf" + text.encode().replace("ÿ".encode(), b"\xff")
    jobs = read_sacct(written(tmp_path, data))
    assert jobs.extras["user"].tolist() == ["a\ufffd", "名"]
    assert jobs.counts["blank lines"] == 3
    assert_accounted_for(jobs)


@pytest.mark.parametrize("end", ["", "|"])
def test_a_bar_in_a_name_does_no_harm_in_the_last_column(tmp_path: Path, end: str) -> None:
    columns = [*USUAL, "JobName"]
    names = ["plain", "a|b", "||", "ünï|x", "|"]
    text = printed(*[{"JobID": str(at), "JobName": name} for at, name in enumerate(names)], columns=columns, end=end)
    jobs = read_sacct(written(tmp_path, text))
    assert jobs.extras["job_name"].tolist() == names
    assert jobs.job_id.tolist() == [0, 1, 2, 3, 4]
    assert read_sacct(written(tmp_path, printed({"JobName": "a|b"}, columns=columns))).extras["job_name"] == ["a|b"]


def test_a_bar_in_a_name_elsewhere_makes_a_bad_line(tmp_path: Path) -> None:
    columns = ["JobName", *USUAL]
    path = written(tmp_path, printed({"JobName": "fine"}, {"JobName": "a|b"}, columns=columns))
    jobs = read_sacct(path)
    assert (len(jobs), jobs.counts["bad lines: too many fields"]) == (1, 1)
    assert jobs.counts["first line at fault: too many fields"] == 3
    with pytest.raises(FileFormatError, match="too many fields") as caught:
        read_sacct(path, strict=True)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("record", "reason", "shown"),
    [
        ({"JobID": "ten"}, "JobID is no job's", "'ten'"),
        ({"JobIDRaw": "1_2"}, "JobIDRaw is no job's", "'1_2'"),
        ({"Submit": "yesterday"}, "Submit is no time", "'yesterday'"),
        ({"Submit": "2024-02-30T00:00:00"}, "Submit is no time", "'2024-02-30T00:00:00'"),
        ({"Submit": "1970-01-01T00:00:00"}, "Submit is no time", "'1970-01-01T00:00:00'"),
        ({"End": "9999-12-31T23:59:59"}, "End is no time", "'9999-12-31T23:59:59'"),
        ({"Submit": "Unknown"}, "Submit is unknown", "'Unknown'"),
        ({"Start": "08:00"}, "Start is no time", "'08:00'"),
        ({"End": "2024-03-01T25:00:00"}, "End is no time", "'2024-03-01T25:00:00'"),
        ({"Elapsed": "long"}, "Elapsed cannot be read", "'long'"),
        ({"Timelimit": "1h"}, "Timelimit cannot be read", "'1h'"),
        ({"AllocCPUS": "-4"}, "AllocCPUS cannot be read", "'-4'"),
        ({"ReqCPUS": "2.5"}, "ReqCPUS cannot be read", "'2.5'"),
        ({"State": ""}, "State is empty", ""),
    ],
)
def test_a_line_that_cannot_be_read_is_counted_by_reason_or_refused(
    tmp_path: Path, record: Mapping[str, str], reason: str, shown: str
) -> None:
    raw = {"JobIDRaw": "9"} if "JobIDRaw" in record else {}
    path = written(tmp_path, printed({"JobID": "9", **raw}, {**raw, **record}, {"JobID": "8", **raw, **record}))
    if "JobID" not in record:
        jobs = read_sacct(path)
        assert len(jobs) == 1
        assert jobs.counts["bad lines"] == jobs.counts[f"bad lines: {reason}"] == 2
        assert jobs.counts[f"first line at fault: {reason}"] == 3
        assert_accounted_for(jobs)
    with pytest.raises(FileFormatError, match=f"line 3: {reason}.*{shown}") as caught:
        read_sacct(path, strict=True)
    assert caught.value.line == 3


@pytest.mark.parametrize("content", ["", "\n \n", "hello\n", "; Version: 2.2\n1 2 3\n", "a|b\n1|2\n"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content)
    assert not is_sacct(path)
    with pytest.raises(
        FileFormatError,
        match=r"the file is empty|the first line must name columns .*: sacct --allusers",
    ):
        read_sacct(path)


def test_a_file_without_a_job_is_refused_with_the_first_line_at_fault(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"no line holds a job$"):
        read_sacct(written(tmp_path, printed()))
    with pytest.raises(FileFormatError, match=r"no line holds a job.*line 2: Submit is no time: 'x'"):
        read_sacct(written(tmp_path, printed({"Submit": "x"})))
    with pytest.raises(FileFormatError, match=r"no line holds a job"):
        read_sacct(written(tmp_path, printed({"JobID": "1.batch"})))


@pytest.mark.parametrize(
    ("option", "reported"),
    [
        ({"keep": "first"}, "unknown keep 'first'; known: last, all"),
        ({"submit": "start"}, "unknown submit 'start'; known: submit, eligible"),
        ({"cores": "all"}, "unknown cores 'all'; known: allocated, requested"),
        ({"unlimited_s": 0}, r"unlimited_s must be a finite number of seconds > 0, or None \(got 0\)"),
        ({"unlimited_s": math.nan}, r"unlimited_s must be a finite number of seconds > 0, or None \(got nan\)"),
        ({"timezone": "Mars/Base"}, r"timezone must be a name such as 'Europe/Berlin' \(got 'Mars/Base'\)"),
        ({"timezone": "../etc"}, r"timezone must be a name such as 'Europe/Berlin' \(got '\.\./etc'\)"),
        ({"timezone": ""}, r"timezone must be a name such as 'Europe/Berlin' \(got ''\)"),
    ],
)
def test_an_option_of_no_sense_is_refused(tmp_path: Path, option: Mapping[str, object], reported: str) -> None:
    with pytest.raises(RequestError, match=reported):
        read(tmp_path, {}, **option)


# -- what is done with it ---------------------------------------------------------------------------


def test_what_was_read_can_be_cleaned_and_written(tmp_path: Path) -> None:
    never = {"JobID": "11", "State": "PENDING", "Start": "Unknown", "AllocCPUS": "0"}
    odd = {"JobID": "12", "ReqCPUS": "0", "ReqMem": "4G", "Partition": "cpu", "JobName": "x"}
    jobs = read(tmp_path, {}, never, odd)
    good = clean(jobs, "strong", cores=16)
    assert good.job_id.tolist() == [10, 12]
    assert good.cores.tolist() == [8, 8]
    assert good.counts["dropped: runtime < 0"] == 1
    write_swf(jobs, tmp_path / "jobs.swf")
    again = read_swf(tmp_path / "jobs.swf")
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again, name), getattr(jobs, name), err_msg=name)
    assert again.start_unix_s == jobs.start_unix_s


@pytest.mark.parametrize("name", ["jobs.sacct", "jobs.txt", "jobs", "log.swf"])
def test_the_command_line_knows_such_a_file_by_its_first_line(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, printed({}, {"JobID": "11"}), name)
    assert len(WorkloadFile(path=path, cores=16).read()) == 2


def test_a_file_named_so_that_is_none_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(
        FileFormatError,
        match=r"the file is empty|the first line must name columns .*: sacct --allusers",
    ):
        WorkloadFile(path=written(tmp_path, "1 2 3\n"), cores=16).read()
    with pytest.raises(FileFormatError, match="cannot be read"):
        WorkloadFile(path=tmp_path / "nowhere.txt", cores=16).read()
    assert not is_sacct(written(tmp_path, gzip.compress(b"x" * 99999)[:30], "broken.gz"))


# -- properties -------------------------------------------------------------------------------------

_SOME = st.sampled_from(
    [
        "",
        "|",
        "\n",
        "10",
        "10.batch",
        "11_3",
        "Unknown",
        "2024-03-01T08:00:00",
        "00:00:01",
        "x",
        "\r",
        "0",
        "\x00",
        "\xff",
    ]
)


def assert_same(one: Workload, other: Workload) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.extras.keys() == other.extras.keys()
    for name, column in one.extras.items():
        np.testing.assert_array_equal(column, other.extras[name], err_msg=name)
    assert (one.start_unix_s, one.counts) == (other.start_unix_s, other.counts)


def attempt(path: Path, **options: object) -> None:
    try:
        jobs = read_sacct(path, **options)  # type: ignore[arg-type]
    except FileFormatError:
        return
    assert_accounted_for(jobs)


@given(data=st.binary(max_size=400), header=st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes, header: bool) -> None:
    path = tmp_path_factory.getbasetemp() / "any.sacct"
    attempt(written(path.parent, (printed().encode() if header else b"") + data, path.name))


@given(data=st.data(), strict=st.booleans(), zone=st.sampled_from([None, "Europe/Berlin"]))
def test_a_spoilt_file_is_read_or_refused_and_all_its_lines_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, strict: bool, zone: str | None
) -> None:
    steps = [{"JobID": "10.batch"}, {"JobID": "11_[1-3]", "State": "PENDING", "Start": "Unknown"}]
    text = printed({"JobName": "a"}, *steps, {"JobID": "12", "Timelimit": "UNLIMITED", "JobName": "b|c"})
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(_SOME) + text[start + data.draw(st.integers(0, 12)) :]
    path = written(tmp_path_factory.getbasetemp(), text.encode(), "spoilt.sacct")
    attempt(path, strict=strict, timezone=zone, keep=data.draw(st.sampled_from(["last", "all"])))


_JOBS = st.lists(
    st.tuples(
        st.integers(0, 10**8),
        st.integers(0, 10**6),
        st.integers(0, 10**7),
        st.integers(1, 10**6),
        st.integers(1, 10**4),
    ),
    min_size=1,
    max_size=20,
)


def of(jobs: Sequence[tuple[int, int, int, int, int]]) -> list[dict[str, str]]:
    """Return jobs (submit, wait, runtime, limit in minutes, cores) as records."""
    zero, records = datetime(2024, 1, 1, tzinfo=UTC), []
    for number, (submit, wait, runtime, minutes, cores) in enumerate(jobs, start=1):
        submitted = zero + timedelta(seconds=submit)
        start = submitted + timedelta(seconds=wait)
        length = timedelta(seconds=runtime)
        clock = timedelta(seconds=runtime % 86400)
        hours = f"{clock.seconds // 3600:02}:{clock.seconds // 60 % 60:02}:{clock.seconds % 60:02}"
        times = {"Submit": submitted, "Eligible": submitted, "Start": start, "End": start + length}
        records.append(
            {name: f"{time:%Y-%m-%dT%H:%M:%S}" for name, time in times.items()}
            | {"JobID": str(number), "Elapsed": f"{length.days}-{hours}" if length.days else hours}
            | {"TimelimitRaw": str(minutes), "AllocCPUS": str(cores), "User": f"user{cores % 3}"}
        )
    return records


@given(jobs=_JOBS)
def test_a_workload_that_is_printed_is_read_again_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[int, int, int, int, int]]
) -> None:
    read_again = read_sacct(written(tmp_path_factory.getbasetemp(), printed(*of(jobs)), "printed.sacct"), strict=True)
    submit, wait, runtime, minutes, cores = np.array(jobs, dtype=float).T
    assert read_again.job_id.tolist() == list(range(1, len(jobs) + 1))
    np.testing.assert_array_equal(read_again.submit_s, submit - submit.min())
    np.testing.assert_array_equal(read_again.runtime_s, runtime)
    np.testing.assert_array_equal(read_again.estimate_s, minutes * 60)
    np.testing.assert_array_equal(read_again.cores, cores)
    np.testing.assert_array_equal(read_again.extras["wait_s"], wait)
    users = sorted({f"user{int(n) % 3}" for n in cores})
    assert [users[number - 1] for number in read_again.user_id] == [f"user{int(n) % 3}" for n in cores]


def test_pieces_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = of([(second, 3, second % 7, 5, 1 + second % 5) for second in range(40)])
    odd = [
        {"JobID": "4.0"},
        {"JobID": "50", "Submit": "x"},
        {"JobID": "51", "JobName": "a|b"},
        {"JobID": "52", "End": "x"},
    ]
    path = written(tmp_path, printed(*records[:20], *odd, {**records[3], "State": "FAILED"}, *records[20:]) + "\n\n7|8")
    whole = read_sacct(path)
    assert (whole.counts["bad lines"], whole.counts["job steps"], len(whole)) == (3, 1, 41)
    for size in (1, 100, 1000):
        monkeypatch.setattr(sacct_lines, "_PIECE", size)
        assert_same(read_sacct(path), whole)
