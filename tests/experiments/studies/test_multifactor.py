"""Multifactor priorities: the simulated order is the one that Slurm and PBS would make of what is entered."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.studies.multifactor import BY_IN_WORDS, By, Multifactor
from tests.conftest import IN_CI

CORES = 100
NODES = 10
LOG = sm.Workload(
    job_id=np.arange(7),
    submit_s=np.zeros(7),
    runtime_s=np.full(7, 60.0),
    estimate_s=np.array([60.0, 600.0, 3600.0, 3600.0, 36000.0, 7200.0, 60.0]),
    cores=np.array([1, 10, 10, 50, 20, 3, 100]),
    max_cores=CORES,
)


def fitted(by: By, hours: float = 40.0, log: sm.Workload = LOG) -> Multifactor:
    return Multifactor.fitted(by, hours * sm.HOUR, log, CORES, node_cores=CORES // NODES)


def settings_of(text: str) -> dict[str, str]:
    """Return the settings of slurm.conf."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return dict(line.split("=", 1) for line in lines if line)


def by_slurm(settings: Mapping[str, str], nice: np.ndarray, log: sm.Workload) -> np.ndarray:
    """Return the priorities that Slurm 22.05 computes of jobs that ask for cores, and have just come."""
    minutes = log.estimate_s / 60
    if settings.get("PriorityFlags") == "SMALL_RELATIVE_TO_TIME":
        size = np.maximum(log.cores, CORES // NODES) / minutes / CORES  # at least a node
    else:
        size = ((NODES - 1) / NODES + (CORES - log.cores) / CORES) / 2
    weights = int(settings["PriorityWeightJobSize"]), int(settings.get("PriorityWeightPartition", 0))
    return np.asarray(weights[0] * size + weights[1] - nice)


def nice_of(lua: str, asked: np.ndarray) -> np.ndarray:
    """Return the nice values that a submit filter gives."""
    pairs = re.findall(r"\{([\d.a-z]+), (\d+)\}", lua)
    ends = np.array([np.inf if end == "math.huge" else float(end) for end, _ in pairs])
    return np.array([int(pairs[np.flatnonzero(value <= ends)[0]][1]) for value in asked])


@pytest.mark.parametrize("by", list(BY_IN_WORDS))
def test_differences_of_slurms_priorities_are_those_of_the_handicaps(by: By) -> None:
    priority = fitted(by)
    files = priority.files(30 * sm.HOUR, "about")
    nice = np.zeros(len(LOG))
    if "job_submit.lua" in files:
        minutes = LOG.estimate_s / 60
        nice = nice_of(files["job_submit.lua"], minutes * LOG.cores if by == "area classes" else minutes)
    points = by_slurm(settings_of(files["slurm.conf.txt"]), nice, LOG)
    handicap_s = priority.handicaps_s(LOG)
    np.testing.assert_allclose(points - points[0], -(handicap_s - handicap_s[0]), atol=1e-6)
    assert points.min() >= 0, "Slurm has no priorities below 0"
    if by != "cores per minute":
        assert np.ptp(handicap_s) == pytest.approx(40 * sm.HOUR, rel=1e-4)


def by_pbs(priority: Multifactor, eligible_s: float, cores: int, limit_s: float) -> float:
    """Return the priority that PBS gives a job; one that asks for no walltime has one of 0."""
    names = {"eligible_time": eligible_s, "ncpus": cores, "walltime": limit_s}
    return float(eval(priority.formula(), {}, names))  # noqa: S307


@pytest.mark.parametrize("by", list(BY_IN_WORDS))
def test_the_formula_of_pbs_is_of_the_same_order(by: By) -> None:
    priority = fitted(by)
    jobs = zip(LOG.cores.tolist(), LOG.estimate_s.tolist(), strict=True)
    values = np.array([by_pbs(priority, 50.0, cores, limit_s) for cores, limit_s in jobs])
    handicap_s = priority.handicaps_s(LOG)
    np.testing.assert_allclose(values - values[0], -(handicap_s - handicap_s[0]), rtol=1e-5, atol=1.0)
    if by != "cores":  # without a walltime a job is as the last
        without, *others = (by_pbs(priority, 0.0, 1, limit_s) for limit_s in (0, 60, 10**7))
        assert without == pytest.approx(min(without, *others), abs=1.0)


def test_a_job_is_never_overtaken_by_one_that_came_more_than_the_span_later() -> None:
    log = wl.tsafrir_estimates(wl.lublin(jobs=800, cores=CORES, seed=3, load=1.1), seed=3)
    for by in set(BY_IN_WORDS) - {"cores per minute"}:
        keys = log.submit_s + fitted(by, 10.0, log).handicaps_s(log)
        first = np.argsort(keys, kind="stable")
        latest_s = np.maximum.accumulate(log.submit_s[first])  # of those that are ahead
        assert (latest_s - log.submit_s[first]).max() <= 10 * sm.HOUR * (1 + 1e-6)
    handicap_s = fitted("cores per minute", 10.0, log).handicaps_s(log)
    behind = handicap_s.max() - handicap_s <= 10 * sm.HOUR
    assert behind.mean() == pytest.approx(0.99, abs=0.005), "relative to the limit, all but the most extreme"


def test_the_simulated_order_is_submit_and_handicap() -> None:
    """Two jobs wait for the machine; the second, narrow, came 100 s later, and goes first if size is worth more."""
    log = sm.Workload(
        [1, 2, 3], [0.0, 10.0, 110.0], [1000.0, 50.0, 50.0], [1000.0, 60.0, 60.0], [100, 100, 90], max_cores=CORES
    )
    for span_s, first in ((90.0, 2), (110.0, 3)):
        priority = Multifactor.fitted("cores", span_s, log, CORES)
        start_s = priority.simulate(log).start_s
        assert start_s[first - 1] == 1000.0
        assert start_s.max() == 1050.0


def test_classes_hold_equally_many_jobs_and_a_log_of_one_limit_has_one() -> None:
    log = wl.lublin(jobs=800, cores=CORES, seed=3, load=1.0)
    priority = fitted("area classes", 40.0, log)
    counts = np.unique(priority.handicaps_s(log), return_counts=True)[1]
    assert len(counts) == 8
    assert counts.min() > 50
    same = sm.Workload([1, 2], [0, 1], [60, 60], [60, 60], [4, 4], max_cores=CORES)
    for by in BY_IN_WORDS:
        alone = fitted(by, 40.0, same)
        assert np.ptp(alone.handicaps_s(same)) == 0
        assert alone.files(0.0, "about")["slurm.conf.txt"]


@pytest.mark.parametrize("by", ["limit classes", "area classes"])
def test_a_job_without_a_limit_is_in_the_last_class_as_where_it_is_entered(by: By) -> None:
    """Its estimate, the longest limit of its partition, need not be there: narrow jobs have small areas."""
    asked = np.where(np.arange(len(LOG)) == 0, -1.0, LOG.estimate_s)
    log = replace(LOG, estimate_s=np.where(asked > 0, asked, 60.0), extras={"requested_s": asked})
    priority = fitted(by, 40.0, log)
    assert priority.handicaps_s(log)[0] == priority.span_s
    assert by_pbs(priority, 0.0, 1, 0) == -priority.span_s
    lua = priority.files(0.0, "about")["job_submit.lua"]
    assert nice_of(lua, np.array([np.inf])).tolist() == [priority.span_s]
    none = replace(log, extras={"requested_s": np.full(len(log), -1.0)})
    assert np.ptp(fitted(by, 40.0, none).handicaps_s(none)) == 0, "first come, first served"


def test_weights_fit_into_32_bits_and_then_the_span_is_what_they_give() -> None:
    wide = sm.Workload([1, 2], [0, 1], [60, 60], [36_000, 36_060], [1, 1], max_cores=CORES)
    priority = fitted("cores per minute", 2560.0, wide)
    assert priority.weight == 2**31
    assert priority.span_s < 100 * sm.HOUR
    assert f"{priority.span_s / sm.HOUR:.4g} h of waiting" in str(priority)


def test_the_age_counts_for_twice_the_longest_wait_at_least_a_week() -> None:
    for longest_h, days in ((30, 7), (100, 9)):
        settings = settings_of(fitted("cores").files(longest_h * sm.HOUR, "about")["slurm.conf.txt"])
        assert (settings["PriorityMaxAge"], settings["PriorityWeightAge"]) == (f"{days}-0", str(days * 86_400))


LIVE: Final = "os.execute('id') --]] \" ' \\"
"""What would run if a line of a file to be installed began with it."""


@pytest.mark.parametrize("by", list(BY_IN_WORDS))
@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\0", "--", "]]", '"', "\\"]
)
def test_what_the_files_say_about_themselves_remains_a_comment(by: By, end: str) -> None:
    priority = fitted(by)
    plain, files = (priority.files(0.0, about) for about in ("about", f"[[{end}{LIVE}{end}{LIVE}{end}."))
    assert files.keys() == plain.keys()
    for name, text in files.items():
        first, *others = text.splitlines()
        assert first.startswith("-- [[" if name.endswith(".lua") else "# [["), "no long comment of Lua, and no setting"
        assert first.isprintable()
        assert others == plain[name].splitlines()[1:], name


# -- a real Slurm -----------------------------------------------------------------------------------

NEEDED = ("slurmctld", "sbatch", "sprio", "munge", "munged")
BASE = """
ClusterName=tested
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
SlurmctldPort={port}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port={other} CPUs={each} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope="module")
def munged() -> Iterator[None]:
    """Have munged run, which says who somebody is, as root."""
    missing = [name for name in NEEDED if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing or os.geteuid() != 0:
        what = f"a real Slurm is needed, and root (missing: {', '.join(missing) or 'root'})"
        how = "apt-get install slurmctld slurm-client slurm-wlm-basic-plugins munge"
        (pytest.fail if IN_CI else pytest.skip)(f"{what}: {how}")
    started = subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode != 0
    if started:
        folder = Path("/run/munge")
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, "munge", "munge")
        if not Path("/etc/munge/munge.key").exists():
            subprocess.run(["mungekey", "-c"], check=True)
            shutil.chown("/etc/munge/munge.key", "munge", "munge")
        subprocess.run(["su", "munge", "-s", "/bin/sh", "-c", "/usr/sbin/munged"], check=True)
    yield
    if started:
        subprocess.run(["kill", Path("/run/munge/munged.pid").read_text().strip()], check=True)


def free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@pytest.mark.full
@pytest.mark.usefixtures("munged")
@pytest.mark.parametrize("by", list(BY_IN_WORDS))
def test_a_real_slurm_reads_the_files_and_gives_the_priorities(by: By, tmp_path: Path) -> None:
    priority = fitted(by)
    files = priority.files(30 * sm.HOUR, "about")
    port, other = free_ports()
    base = BASE.format(
        host=socket.gethostname().split(".")[0], port=port, other=other, folder=tmp_path, nodes=NODES,
        each=CORES // NODES,
    )  # fmt: skip
    (tmp_path / "slurm.conf").write_text(base + files.pop("slurm.conf.txt"))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name in ("state", "spool"):
        (tmp_path / name).mkdir()
    job = tmp_path / "job.sh"
    job.write_text("#!/bin/sh\nsleep 1\n")
    env = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    subprocess.run(["slurmctld", "-f", env["SLURM_CONF"]], env=env, check=True)
    try:
        for cores, limit_s in zip(LOG.cores, LOG.estimate_s, strict=True):
            asked = ["sbatch", "--parsable", "-n", str(cores), "-t", str(int(limit_s // 60)), "-D", str(tmp_path)]
            for _ in range(60):  # until it listens
                sent = subprocess.run([*asked, str(job)], env=env, capture_output=True, text=True, check=False)
                if sent.returncode == 0:
                    break
                time.sleep(0.5)
            assert sent.returncode == 0, sent.stderr
        shown = subprocess.run(["sprio", "-h", "-o", "%i %Y"], env=env, capture_output=True, text=True, check=True)
    finally:
        log = (tmp_path / "slurmctld.log").read_text()
        subprocess.run(["kill", (tmp_path / "slurmctld.pid").read_text().strip()], check=True)
    of_job = dict(map(int, line.split()) for line in shown.stdout.splitlines())
    points = np.array([of_job[number] for number in sorted(of_job)])
    handicap_s = priority.handicaps_s(LOG)
    np.testing.assert_allclose(points - points[0], -(handicap_s - handicap_s[0]), atol=1.0)
    errors = [line for line in log.splitlines() if "error:" in line and "can only be used with SlurmDBD" not in line]
    assert not [line for line in errors if re.search(r"Priority|JobSubmit|lua|[Pp]arse|conf", line)], errors
