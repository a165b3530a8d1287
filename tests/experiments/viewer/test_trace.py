"""Traces: what Perfetto's own definitions read in them is what the schedule says, in either format.

The program that answers queries on traces (TraceProcessor) does not ship with the package ``perfetto``, which downloads
it. What ships are the definitions of the format. So the tests parse the binary trace with these, apply the rules of
track events to it, and hold the JSON trace equal to what comes of that.
"""

import gzip
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

import simmodels as sm
from experiments.viewer.trace import write_trace
from tests.experiments.viewer.test_view import CASES
from tests.refused import refused

POWER = sm.Power(120.0, 8.0)


class Read(NamedTuple):
    """What is in a trace: slices and values by (group, track), times in whole nanoseconds."""

    slices: dict[tuple[str, str], list[tuple[int, int, str, str, dict[str, Any]]]]
    values: dict[tuple[str, str], list[tuple[int, float]]]


def read_binary(path: Path) -> Read:
    """Read a trace by Perfetto's definitions; refuse what its rules of track events refuse."""
    content = path.read_bytes()
    trace = protos.Trace.FromString(gzip.decompress(content) if path.suffix == ".gz" else content)
    names, read, opened = {}, Read({}, {}), defaultdict(list)
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    assert trace.packet[0].sequence_flags == 1
    for packet in trace.packet:
        known = packet.track_descriptor if packet.HasField("track_descriptor") else packet.track_event
        assert not any(len(unknown_fields.UnknownFieldSet(each)) for each in (packet, known))
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in names
            names[track.uuid] = names.get(track.parent_uuid, ("", ""))[1], track.name
            if not track.HasField("parent_uuid"):
                continue
            (read.values if track.HasField("counter") else read.slices)[names[track.uuid]] = []
            continue
        event = packet.track_event
        name = names[event.track_uuid]
        if event.type == protos.TrackEvent.TYPE_COUNTER:
            read.values[name].append((packet.timestamp, event.double_counter_value))
        elif event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            assert not opened[name]  # they lie side by side
            about = {each.name: getattr(each, each.WhichOneof("value")) for each in event.debug_annotations}
            opened[name].append((packet.timestamp, event.name, event.categories[0], about))
        else:
            assert event.type == protos.TrackEvent.TYPE_SLICE_END
            begun, title, category, about = opened[name].pop()
            assert begun <= packet.timestamp
            read.slices[name].append((begun, packet.timestamp, title, category, about))
    assert not any(opened.values())
    return read


def read_json(path: Path) -> Read:
    """Read a trace of Chrome's format."""
    content = path.read_bytes()
    events = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)["traceEvents"]
    said = [event for event in events if event["ph"] == "M"]
    groups = {event["pid"]: event["args"]["name"] for event in said if event["name"] == "process_name"}
    tracks = {event["tid"]: event["args"]["name"] for event in said if event["name"] == "thread_name"}
    read = Read({}, {})
    for event in said:
        if event["name"] == "thread_name":
            read.slices[groups[event["pid"]], tracks[event["tid"]]] = []
    for event in events:
        if event["ph"] == "C":
            [value] = event["args"].values()
            read.values.setdefault((groups[event["pid"]], event["name"]), []).append((1000 * event["ts"], value))
        elif event["ph"] == "X":
            assert isinstance(event["ts"], int)
            begin, end = 1000 * event["ts"], 1000 * (event["ts"] + event["dur"])
            slices = read.slices[groups[event["pid"]], tracks[event["tid"]]]
            slices.append((begin, end, event["name"], event["cat"], event["args"]))
    return read


@pytest.fixture(scope="module", params=list(CASES))
def schedule(request: pytest.FixtureRequest) -> sm.Schedule:
    return CASES[request.param]()


@pytest.fixture(scope="module")
def read(schedule: sm.Schedule, tmp_path_factory: pytest.TempPathFactory) -> Read:
    path = tmp_path_factory.mktemp("trace") / "out.pftrace"
    write_trace(schedule, path, power=POWER)
    return read_binary(path)


def test_each_attempt_is_a_slice_on_each_machine_that_it_ran_on(schedule: sm.Schedule, read: Read) -> None:
    assert_attempts(schedule, read)
    for slices in read.slices.values():
        for one, other in pairwise(slices):
            assert one[1] <= other[0], "no two of a track overlap"


def assert_attempts(schedule: sm.Schedule, read: Read) -> None:
    """Find each attempt of a schedule among the slices, and no other."""
    found = [(*each, *name) for name, slices in read.slices.items() for each in slices if each[3] == "job"]
    runs = schedule.all_attempts()
    low_s, high_s = (-np.inf, np.inf) if schedule.window is None else schedule.window
    runs = runs[runs["start_s"].notna() & (runs["start_s"] < high_s) & ~(runs["end_s"] < low_s)]
    wanted = {
        (round(1e9 * max(start_s, low_s)), None if np.isnan(end_s) else round(1e9 * min(end_s, high_s)), row, cluster)
        for start_s, end_s, row, cluster in runs[["start_s", "end_s", "row", "cluster"]].itertuples(index=False)
    }
    names = {spec.name: number for number, spec in enumerate(schedule.clusters)}
    work = schedule.workload
    tasks = np.zeros(len(work), int) if work.tasks is None else work.tasks.task
    rows = {key: row for row, key in enumerate(zip(work.job_id.tolist(), tasks.tolist(), strict=True))}
    shown = set()
    for begin, end, name, _, about, group, _ in found:
        row = rows[about["job"], about.get("task", 0)]
        shown.add((begin, None if about["outcome"] == "still running" else end, row, names[group]))
        assert name.startswith(f"job {work.job_id[row]}")
        assert (about["cores"], about["user"]) == (work.cores[row], work.user_id[row])
        assert (about["submit_s"], about["estimate_s"]) == (work.submit_s[row], work.estimate_s[row])
        assert about["wait_s"] == pytest.approx(begin / 1e9 - work.submit_s[row], abs=1e-6)
    assert shown == wanted


def test_what_ran_when_a_window_began_has_not_waited(tmp_path: Path) -> None:
    jobs = {"submit_s": [0, 50], "runtime_s": [100, 10], "cores": [1, 1]}
    write_trace(sm.simulate(jobs, cores=1, window_s=(40, 200)), tmp_path / "window.json")
    events = json.loads((tmp_path / "window.json").read_text())["traceEvents"]
    said = [each["args"] for each in events if "job" in each.get("args", {})]
    assert {about["job"]: about["wait_s"] for about in said} == {1: 0, 2: 50}


def test_counters_are_the_schedules_own(schedule: sm.Schedule, read: Read) -> None:
    low_s, high_s = (-np.inf, np.inf) if schedule.window is None else schedule.window
    for name, steps in (("jobs waiting", schedule.queue_length()), ("cores in use", schedule.cores_used())):
        shown = dict(read.values["over time", name])
        within = steps[(steps["time_s"] > low_s) & (steps["time_s"] <= high_s)]
        for time_s, value in within.itertuples(index=False):
            assert shown[round(1e9 * time_s)] == value


def test_power_integrates_to_the_energy(schedule: sm.Schedule, read: Read) -> None:
    time_ns, power = map(np.array, zip(*read.values["over time", "power"], strict=True))
    low_s, high_s = schedule.simulated_s
    time_s = np.clip(np.append(time_ns / 1e9, high_s), low_s, high_s)
    kwh = (np.diff(time_s) * power).sum() / 3.6e6
    assert kwh == pytest.approx(schedule.energy(POWER)["energy_kwh"], rel=1e-9)


def test_spans_in_which_a_machine_was_off_are_slices_of_its_track(tmp_path: Path) -> None:
    schedule = CASES["machines that are switched"]()
    write_trace(schedule, tmp_path / "out.pftrace")
    read = read_binary(tmp_path / "out.pftrace")
    assert schedule.off_spans is not None
    spans = schedule.off_spans
    wanted = {
        (f"machine {machine}", round(1e9 * start_s), round(1e9 * end_s))
        for machine, start_s, end_s in zip(spans["machine"], spans["start_s"], spans["end_s"], strict=True)
    }
    shown = {(name[1], each[0], each[1]) for name, slices in read.slices.items() for each in slices if each[3] == "off"}
    assert shown == wanted
    assert len(wanted) > 1
    assert {name for group, name in read.values if group == "over time"} == {
        "jobs waiting", "cores in use", "machines on, machines",
    }  # fmt: skip
    assert {name for _, name in read.slices} >= {f"machine {k}" for k in range(schedule.clusters[0].machines)}


def test_what_cannot_be_shown_of_a_name_is_escaped_in_all_tracks(tmp_path: Path) -> None:
    site = sm.Site(name="a\udcff\n", machines=[sm.Machines(2, cores=2)], capacity=[(0, 2), (3, 1)])
    schedule = sm.simulate({"submit_s": [0], "runtime_s": [5], "cores": [1]}, on=[site])
    for ending, reader in (("json", read_json), ("pftrace", read_binary)):
        write_trace(schedule, tmp_path / f"out.{ending}")
        read = reader(tmp_path / f"out.{ending}")
        assert {group for group, _ in read.slices} == {r"a\udcff\n"}
        assert ("over time", r"machines on, a\udcff\n") in read.values


def test_an_instant_that_perfetto_cannot_say_is_refused(tmp_path: Path) -> None:
    """The submits are in milliseconds since 1970, by mistake."""
    schedule = sm.simulate({"submit_s": [0, 1.6e12], "runtime_s": [1, 1], "cores": [1, 1]}, cores=1)
    with refused("Perfetto's format has no instant 1.6e+12 s; write a .json, or begin the log near 0 s"):
        write_trace(schedule, tmp_path / "out.pftrace")
    assert not list(tmp_path.iterdir())
    write_trace(schedule, tmp_path / "out.json")
    [slices] = read_json(tmp_path / "out.json").slices.values()
    assert [each[0] // 10**9 for each in slices] == [0, 1_600_000_000_000]


@pytest.mark.parametrize("ending", ["json", "json.gz", "pftrace.gz"])
def test_all_formats_say_the_same(schedule: sm.Schedule, read: Read, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    write_trace(schedule, path, power=POWER)
    other, coarse = (read_json(path), 500) if "json" in ending else (read_binary(path), 0)  # JSON: whole microseconds
    assert other.slices.keys() == read.slices.keys()
    assert other.values.keys() == read.values.keys()
    for name, slices in read.slices.items():
        for one, two in zip(slices, other.slices[name], strict=True):
            assert one[2:] == two[2:]
            assert np.abs(np.subtract(one[:2], two[:2])).max() <= coarse
        for one, two in pairwise(other.slices[name]):
            assert one[1] <= two[0]
    for name, values in read.values.items():
        assert [value for _, value in values] == [value for _, value in other.values[name]]
    write_trace(schedule, tmp_path / f"again.{ending}", power=POWER)
    assert path.read_bytes() == (tmp_path / f"again.{ending}").read_bytes()
