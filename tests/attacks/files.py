"""Damaged files for every reader: a valid object comes back, or an error of ours that names the file, in one line.

Each case takes a small good file, mutates it (bytes, lines, numbers, nesting, encodings, compression), and hands it to
a reader. What comes back must account for every line or item of the file, and a few of its jobs must simulate to a
legal schedule. Any other exception, more than `CPU_S` of computing, or more memory than `MEMORY` is a failure.
"""

import bz2
import gzip
import json
import lzma
import os
import random
import resource
import signal
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import simmodels as sm
import workloads as wl
from experiments.campaigns.planning.finding import find_study
from experiments.inputs import WorkloadFile
from simmodels.errors import SimModelsError
from simmodels.ground.toml_json import json_text, toml_text
from simmodels.learning.regression import Fit
from tests.attacks.attack import Broken, Case
from tests.attacks.mutations import MUTATIONS, flip, truncate
from workloads.files import read_whole

CASES: Final = 10_000
CPU_S: Final = 10.0
MEMORY: Final = 4 << 30
"""Address space beyond what the process has when it begins."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_SHARED: Final = Path(os.environ.get("SCHEDLAB_SHARED", _ROOT.parent / "shared"))
_PACK: Final[dict[str, Callable[[bytes], bytes]]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
_FEW: Final = 20
_PACKED: Final = 0.2
"""The share of the files that are compressed."""


class _HangsError(BaseException):
    """A case that computes too long; no reader may catch it."""


@dataclass(frozen=True)
class Reader:
    """A reader, what its files are named, good files, and what must hold of what it returns."""

    name: str
    suffix: str
    read: Callable[[Path], Any]
    seeds: tuple[bytes, ...] = field(repr=False)
    check: Callable[[Any, bytes], None]


# -- what must hold -----------------------------------------------------------------------------------


def _holds(good: bool, what: str) -> None:
    if not good:
        raise Broken(what)


def _lines(data: bytes) -> int:
    """Return the number of lines, however they end."""
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.count(b"\n") + (not data.endswith(b"\n"))


def _simulates(jobs: sm.Workload) -> None:
    """Have a few of the jobs run, and prove the schedule."""
    known = jobs.take(np.flatnonzero(jobs.known() & jobs.runnable())[:_FEW])
    if len(known):
        sm.simulate(known, cores=int(known.cores.max()), order="SAF").validate()


def _of_swf(jobs: sm.Workload, data: bytes) -> None:
    counts = jobs.counts
    _holds(counts["lines"] == _lines(data), f"{counts['lines']} lines of {_lines(data)}")
    parts = counts["comment lines"] + counts["blank lines"] + counts["jobs"]
    _holds(counts["lines"] == parts and counts["jobs"] == len(jobs), f"lines do not add up: {dict(counts)}")
    _holds(counts["blank lines"] >= 0, f"blank lines: {dict(counts)}")
    _simulates(jobs)


def _of_sacct(jobs: sm.Workload, data: bytes) -> None:
    counts = jobs.counts
    names = ("header lines", "blank lines", "job steps", "bad lines", "repeated records", "earlier attempts left out")
    parts = sum(counts.get(name, 0) for name in names) + counts["jobs"]
    _holds(counts["lines"] == _lines(data), f"{counts['lines']} lines of {_lines(data)}")
    _holds(counts["lines"] == parts and counts["jobs"] == len(jobs), f"lines do not add up: {dict(counts)}")
    _simulates(jobs)
    for column in ("account", "partition", "qos", "user"):
        texts = jobs.extras.get("user" if column == "user" else f"{column}_name")
        if texts is not None:
            _names_jobs(jobs, column, texts.tolist())


def _names_jobs(jobs: sm.Workload, column: str, texts: list[str]) -> None:
    """Have a column number its names as they are sorted, and a limit by the first be the limit by its number."""
    names = jobs.names(column)
    numbers = jobs.numbers_by_name["user_id" if column == "user" else column]
    _holds([*names.values()] == [*dict.fromkeys(numbers[numbers >= 0].tolist())], f"{column} has other numbers")
    _holds([names.get(text, -1) for text in texts] == numbers.tolist(), f"{column} has other names")
    _holds(sorted(names, key=names.__getitem__) == sorted(names), f"names of {column} are not sorted")
    known = jobs.take(np.flatnonzero(jobs.known() & jobs.runnable())[:_FEW])
    for name, number in [*known.names(column).items()][:1]:
        found = [
            sm.simulate(known, cores=int(known.cores.max()), limits=[{"by": column, "value": each, "jobs": 1}])
            for each in (name, number)
        ]
        _holds(found[0].start_s.tobytes() == found[1].start_s.tobytes(), f"a limit by {column} {name!r}")


def _of_borg(jobs: sm.Workload, data: bytes) -> None:
    counts = jobs.counts
    _holds(counts["lines"] == counts["blank lines"] + counts["jobs"], f"lines do not add up: {dict(counts)}")
    _holds(counts["lines"] == len(data.splitlines()), f"{counts['lines']} lines of {len(data.splitlines())}")
    _simulates(jobs)


def _of_batsim(jobs: sm.Workload, data: bytes) -> None:
    _holds(len(jobs) == len(json.loads(data)["jobs"]) == jobs.counts["jobs"], "jobs are missing")
    _simulates(jobs)


def _runs(workflow: sm.Workflow) -> None:
    """Have a workflow of few tasks run, and prove the schedule."""
    if len(workflow) <= _FEW and float(workflow.runtime_s.max()) < 1e12:
        clusters = [
            (f"c{number}", 2**53, kind) for number, kind in enumerate(sorted(map(str, {*workflow.kind} - {None})))
        ]
        schedule = sm.simulate_workflows([workflow], clusters=[("any", 2**53), *clusters])
        schedule.validate()


def _of_wfformat(workflow: sm.Workflow, data: bytes) -> None:
    content = json.loads(data)["workflow"]
    rows = content.get("specification", content)["tasks"]
    edges = sum(len(row.get(key, [])) for row in rows for key in ("parents", "children"))
    _holds(len(workflow) == len(rows), f"{len(workflow)} tasks of {len(rows)}")
    _holds(len(workflow.edges) <= edges <= 2 * len(workflow.edges) or edges > len(workflow.edges), "edges are missing")
    _runs(workflow)


def _of_dax(workflow: sm.Workflow, data: bytes) -> None:
    tags = [child.tag.rpartition("}")[2] for child in ET.fromstring(data)]  # noqa: S314  it had no document type
    jobs = sum(tag in {"job", "dag", "dax"} for tag in tags)
    _holds(len(workflow) == jobs, f"{len(workflow)} tasks of {jobs}")
    _runs(workflow)


def _of_series(table: Any, data: bytes) -> None:  # noqa: ANN401  a DataFrame
    counts, lines = table.attrs["counts"], len(data.decode().splitlines())
    _holds(counts["lines"] == lines == 1 + counts["blank lines"] + counts["rows"], f"lines do not add up: {counts}")
    _holds(counts["rows"] == len(table), f"{len(table)} rows of {counts['rows']}")
    sm_capacity = wl.capacity_from(table, per_machine=max(1.0, float(table["value"].max()) / 64))
    _holds(len(sm_capacity.machines) <= len(table), "more changes than rows")


def _of_polynomial(order: sm.Polynomial, _: bytes) -> None:
    _holds(sm.Polynomial.from_json(order.to_json()) == order, "it is not read back from JSON")
    _holds(sm.Polynomial.from_toml(order.to_toml()) == order, "it is not read back from TOML")
    order.key(sm.Job(1, 10.0, 20.0, 30.0, 4), 15.0)


def _of_fit(fit: Fit, data: bytes) -> None:
    _of_polynomial(fit.order, data)


def _of_any(jobs: sm.Workload, _: bytes) -> None:
    _simulates(jobs)


def _nothing(_: object, __: bytes) -> None:
    """Nothing more is asked."""


# -- good files ---------------------------------------------------------------------------------------


def _first_lines(path: str, count: int) -> list[bytes]:
    """Return the first lines of a file of the shared data, in a list; none if it is not there."""
    where = _SHARED / path
    return [b"".join(read_whole(where).splitlines(keepends=True)[:count])] if where.is_file() else []


def _whole_files(pattern: str, most: int) -> list[bytes]:
    """Return small files of the shared data."""
    return [path.read_bytes() for path in sorted(_SHARED.glob(pattern)) if path.stat().st_size <= most]


def _small_workflow(data: bytes, tasks: int = 8) -> bytes:
    """Return a WfFormat file with the first of its tasks only."""
    content = json.loads(data)
    parts = content["workflow"]
    spec = parts.get("specification", parts)
    spec["tasks"] = spec["tasks"][:tasks]
    names = {row[key] for row in spec["tasks"] for key in ("id", "name") if key in row}
    for row in spec["tasks"]:
        for key in ("parents", "children"):
            row[key] = [name for name in row.get(key, []) if name in names]
    if "execution" in parts:
        parts["execution"]["tasks"] = [row for row in parts["execution"]["tasks"] if row["id"] in names]
    spec.pop("files", None)
    return json.dumps(content, indent=1).encode()


def _written(write: Callable[..., None], what: object, folder: Path, name: str) -> bytes:
    write(what, folder / name)
    data = (folder / name).read_bytes()
    (folder / name).unlink()
    return data


_SACCT: Final = (
    "JobID|JobIDRaw|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|Suspended|TimelimitRaw|"
    "ReqCPUS|AllocCPUS|NNodes|ReqMem|Priority|Restarts|JobName\n"
    "1|1|ann|a|p|q|COMPLETED|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T12:00:05|2024-03-01T13:00:05|3600|"
    "00:00:00|120|4|4|1|4Gn|100|0|a job\n"
    "1.batch|1.batch||a|||COMPLETED|2024-03-01T12:00:05||2024-03-01T12:00:05|2024-03-01T13:00:05|3600|00:00:00||4|4|1|"
    "4Gn||0|batch\n"
    "2_[3-7%2]|2|ben|a|p|q|PENDING|2024-03-01T12:10:00|Unknown|Unknown|Unknown|0|00:00:00|UNLIMITED|1|0|1|500Mc|7|0|"
    "b|with|pipes\n"
    "3|3|ann|a|p|q|TIMEOUT|2024-03-02T12:00:00|2024-03-02T12:00:00|2024-03-03T12:00:05|2024-03-03T14:00:05|7200|"
    "00:10:00|120|8|16|2|4G|100|1|c\n"
    "3|3|ann|a|p|q|NODE_FAIL|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T12:00:05|2024-03-01T14:00:05|7200|"
    "00:00:00|120|8|16|2|4G|100|0|c\n"
    "\n"
    "4+0|4|ann|a|p|q|CANCELLED by 1000|2024-03-31T02:30:00|2024-03-31T02:30:00|None|2024-03-31T03:30:00|0||120|8|0||"
    "4G|100|0|c\n"
)
_STUDY: Final = (
    b'study = "replay"\ntitle = "mine"\n[parameters]\njobs = 300\n[factors]\norder = ["FCFS", "SAF"]\n'
    b"[scales.smoke]\nreplications = 3\n[scales.small]\nreplications = 5\nparameters = { jobs = 500 }\n"
)


def _made(folder: Path) -> dict[str, list[bytes]]:
    """Return good files of each format."""
    jobs = wl.tsafrir_estimates(wl.lublin(jobs=25, cores=32, seed=3, name="log"), seed=3)
    dag = sm.Workflow(
        7, 3.0, [5.0, 2.0, 9.0, 4.0], [1, 2, 1, 3], [(0, 1), (0, 2), (1, 3), (2, 3)],  # type: ignore[arg-type]
        kind=(None, "x", None, "x"), task_names=("a", "b", "c", "d"), name="w",
    )  # fmt: skip
    borg = "".join(f"{i} {i * 60} {300 + i} {1 + i % 5} {'running' if i < 3 else 'release'}\n" for i in range(20))
    sums = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0, "delay": 3}
    rows = [
        {"id": f"w0!{i}", "subtime": 10 * i, "res": 1 + i % 4, "walltime": [30, -1][i % 2], "profile": f"p{i % 2}"}
        for i in range(10)
    ]
    batsim = {"nb_res": 8, "profiles": {"p0": {"type": "delay", "delay": 12.5}, "p1": sums}, "jobs": rows}
    dax = (
        '<?xml version="1.0"?>\n<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="3.6" name="w">\n'
        '<job id="A" name="one" runtime="3.5"/>\n<job id="B" name="two"><profile namespace="pegasus" key="runtime">7'
        '</profile><profile namespace="pegasus" key="cores">2</profile></job>\n<job id="C" name="two" runtime="1"/>\n'
        '<child ref="B"><parent ref="A"/></child>\n<child ref="C"><parent ref="A"/><parent ref="B"/></child>\n</adag>\n'
    )
    series = "time,wind,solar\n" + "".join(f"2020-01-01 {h:02}:30:00,{h * 10},{h}\n" for h in range(12))
    order = sm.Polynomial([0.5, 2.0, -1e-3, 1e-9], ["1", "pq", "r", "p2q"], name="mine", source="here")
    nan, inf = float("nan"), float("inf")
    fit = order.to_document() | {
        "fit": {"mae": 0.5, "condition": 3.0, "rows": 7, "standard_error": [0.1] * 4, "error_by_pair": [nan] * 4,
                "vif_paper": [1.0] * 4, "vif_centred": [inf] * 4},
    }  # fmt: skip
    return {
        "swf": [_written(wl.write_swf, jobs, folder, "log.swf"),
                *_first_lines("traces/KTH-SP2-1996-2.1-cln.swf.gz", 60),
                *_first_lines("traces/UniLu-Gaia.swf.gz", 60)],
        "sacct": [_SACCT.encode(), *_first_lines("slurm/ubhpc_week/jobs.csv", 20)],
        "borg": [borg.encode(), *_first_lines("traces/borg/7D_604800.txt.gz", 30)],
        "batsim": [json.dumps(batsim, indent=1).encode()],
        "wfformat": [_written(wl.write_wfformat, dag, folder, "w.json"),
                     *map(_small_workflow, _whole_files("workflows/wfformat/*.json", 300_000))],
        "dax": [dax.encode(), *_whole_files("workflows/dax/*.xml", 20_000)],
        "series": [series.encode(), *_first_lines("capacity/solar_berlin_2021-06.csv", 30),
                   *_first_lines("capacity/philly_node_sequence.csv.gz", 30)],
        "toml": [order.to_toml().encode()], "json": [order.to_json().encode()],
        "fit toml": [toml_text(fit).encode()], "fit json": [json_text(fit).encode()],
        "study": [_STUDY],
    }  # fmt: skip


def readers(folder: Path) -> list[Reader]:
    """Return all readers with their good files."""
    made = {name: tuple(seeds) for name, seeds in _made(folder).items()}
    logs = made["swf"] + made["sacct"] + made["borg"] + made["batsim"]

    def series(path: Path) -> Any:  # noqa: ANN401  a DataFrame
        head = path.read_bytes()[:1] if path.suffix in _PACK else path.read_bytes().partition(b"\n")[0]
        names = head.decode(errors="replace").strip().split(",")
        return wl.read_series(path, column=names[1] if len(names) > 2 else None)

    def any_log(path: Path) -> sm.Workload:
        return WorkloadFile(path=path, cores=64, filters=("runnable",), drop_oversized=True).read()

    return [
        Reader("swf", ".swf", wl.read_swf, made["swf"], _of_swf),
        Reader("sacct", ".sacct", wl.read_sacct, made["sacct"], _of_sacct),
        Reader("borg", ".txt", wl.read_borg_slice, made["borg"], _of_borg),
        Reader("batsim", ".json", wl.read_batsim, made["batsim"], _of_batsim),
        Reader("wfformat", ".json", wl.read_wfformat, made["wfformat"], _of_wfformat),
        Reader("dax", ".xml", wl.read_dax, made["dax"], _of_dax),
        Reader("series", ".csv", series, made["series"], _of_series),
        Reader("polynomial toml", ".toml", sm.Polynomial.read, made["toml"], _of_polynomial),
        Reader("polynomial json", ".json", sm.Polynomial.read, made["json"], _of_polynomial),
        Reader("fit toml", ".toml", Fit.read, made["fit toml"], _of_fit),
        Reader("fit json", ".json", Fit.read, made["fit json"], _of_fit),
        Reader("workload file", ".swf", any_log, logs, _of_any),
        Reader("workload json", ".json", any_log, made["batsim"] + made["borg"], _of_any),
        Reader("study", ".toml", lambda path: find_study(str(path)), made["study"], _nothing),
    ]


def _packed(rng: random.Random, data: bytes, bombs: dict[str, bytes]) -> tuple[str, bytes]:
    """Return data compressed, mostly damaged, and the suffix; seldom what unpacks to very much."""
    kind = rng.choice([*_PACK])
    if rng.random() < 0.02:
        return kind, bombs[kind]
    packed = _PACK[kind](data)
    how = rng.randrange(6)
    if how == 0:
        packed = flip(rng, packed)
    elif how == 1:
        packed = truncate(rng, packed)
    elif how == 2:
        packed += rng.choice((b"x", packed, bytes(100), packed[:10], rng.randbytes(5)))
    elif how == 3:
        packed = _PACK[kind](packed)
    return rng.choice((kind, kind, kind, ".gz", "")), packed


# -- cases --------------------------------------------------------------------------------------------


def _text_fault(error: SimModelsError, path: Path) -> str:
    """Return what is wrong with the text of an error, nothing if it is as it must be."""
    text = str(error)
    if path.name not in text:
        return "does not name the file"
    if not all(each.isprintable() or each.isspace() for each in text) or len(text.splitlines()) != 1:
        return "is not one printable line"
    return "is long" if len(text) > 1_500 else ""


def outcome(reader: Reader, path: Path) -> str:
    """Read a file, and return what came of it."""
    try:
        found = reader.read(path)
    except SimModelsError as error:
        if fault := _text_fault(error, path):
            raise Broken(f"the text of {type(error).__name__} {fault}: {str(error)[:600]!r}") from error
        return "refused"
    try:
        reader.check(found, read_whole(path))
    except SimModelsError as error:
        return f"read, and its jobs refused ({type(error).__name__})"
    return "read"


def _case(number: int, seed: int, readers: list[Reader], bombs: dict[str, bytes], folder: Path) -> Case:
    rng = random.Random(f"{seed} {number}")
    reader = readers[number % len(readers)]

    def run() -> str:
        data = rng.choice(reader.seeds)
        done = rng.choices(MUTATIONS, k=rng.choice((1, 1, 1, 2, 3)))
        for mutate in done:
            data = mutate(rng, data)
        suffix = reader.suffix
        if rng.random() < _PACKED:
            packed_as, data = _packed(rng, data, bombs)
            suffix += packed_as
        path = folder / f"case{suffix}"
        path.write_bytes(data)
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
        try:
            return f"{reader.name}: {outcome(reader, path)}"
        except (Exception, _HangsError) as error:
            names = ", ".join(mutate.__name__ for mutate in done)
            what = f"{reader.name} ({names}), {len(data)} bytes: {type(error).__name__}: {str(error)[:700]}"
            raise Broken(what) from error
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    return run


def _hangs(*_: object) -> None:
    raise _HangsError


def cases(seed: int) -> Iterator[Case]:
    """Yield the cases of a seed."""
    before, limits = signal.signal(signal.SIGVTALRM, _hangs), resource.getrlimit(resource.RLIMIT_AS)
    with tempfile.TemporaryDirectory() as folder:
        known = readers(Path(folder))
        for reader in known:  # what is compiled or imported is so before the simulation runs
            path = Path(folder) / f"first{reader.suffix}"
            path.write_bytes(reader.seeds[0])
            reader.check(reader.read(path), reader.seeds[0])
        bombs = {kind: pack(bytes(100 << 20)) for kind, pack in _PACK.items()}
        used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limits[1]))
        try:
            number = 0
            while True:
                yield _case(number, seed, known, bombs, Path(folder))
                number += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
            signal.signal(signal.SIGVTALRM, before)
