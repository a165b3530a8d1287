"""Times of a log on the command line: since its zero, or as dates in its time zone."""

import json
from dataclasses import replace

import pytest

import simmodels as sm
import workloads as wl
from experiments.dates import as_time, seconds_of
from tests.command_line import Run

PARIS = ("; UnixStartTime: 1700000000", "; TimeZoneString: Europe/Paris")  # 2023-11-14 23:13:20 there


@pytest.fixture
def log() -> sm.Workload:
    made = wl.lublin(jobs=200, cores=32, seed=3, name="log")
    return replace(made, start_unix_s=1_700_000_000, header=PARIS)


@pytest.mark.parametrize(
    ("text", "in_paris_s", "in_utc_s"),
    [
        ("90min", 5_400, 5_400),
        ("2023-11-15", 2_800, 6_400),
        ("2023-11-15T00:00:30", 2_830, 6_430),
        ("2023-11-15T00:00+00:00", 6_400, 6_400),
    ],
)
def test_a_time_is_since_the_zero_or_a_date_on_the_clocks_there(
    log: sm.Workload, text: str, in_paris_s: float, in_utc_s: float
) -> None:
    time = as_time(text, "--at")
    assert seconds_of(log, time, "--at") == in_paris_s
    assert seconds_of(replace(log, header=()), time, "--at") == in_utc_s


@pytest.mark.parametrize("command", ["simulate", "compare --orders SAF"])
def test_a_window_may_be_of_dates(log: sm.Workload, command: str, run: Run) -> None:
    wl.write_swf(log, "log.swf")
    asked = (*command.split(), "-w", "log.swf", "--json")
    dates, seconds = (
        run(*asked, "--from", begin, "--until", end)
        for begin, end in (("2023-11-15", "2023-11-16T12:30"), (2_800, 2_800 + 36.5 * 3_600))
    )
    assert dates.status == seconds.status == 0, dates.err
    assert json.loads(dates.out)["window_s"] == [2_800, 134_200]
    assert {**json.loads(dates.out), "command": ""} == {**json.loads(seconds.out), "command": ""}
