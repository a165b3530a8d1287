"""Mistakes on the command line: what a user gets wrong, for every command, and the whole sentence of each answer."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import simmodels as sm
import workloads as wl
from experiments.cli.main import main
from experiments.studies import STUDIES
from simmodels.policies import registry
from simmodels.policies.orders import TWELVE_ORDERS

BUILT_IN = sm.policies.orders.BUILT_IN
ORDERS = ", ".join([*BUILT_IN, *(other for name in BUILT_IN for other in registry.ORDERS.aliases(name))])
SECONDS = "a number of seconds, or one with a unit (s, min, h, d, w) such as 90s, 30min, 40h or 2d"
MISTAKES = {
    # commands and options
    "simulat -w log.swf": "unknown command 'simulat'; did you mean simulate? see schedlab --help",
    "xyzzy": "unknown command 'xyzzy'; see schedlab --help",
    "simulate -w log.swf --thresold 40h": "unknown option '--thresold'; did you mean --threshold or --ties? see "
    "schedlab simulate --help",
    "simulate -w log.swf -z": "unknown option '-z'; see schedlab simulate --help",
    "simulate log.swf": "unexpected argument 'log.swf'; --workload FILE names a log; see schedlab simulate --help",
    "simulate -w log.swf --order": "--order needs a value",
    "simulate -w log.swf --json=yes": "--json takes no value",
    "simulate -w log.swf --cores many": "--cores must be an integer (got 'many'); see schedlab simulate --help",
    "simulate -w log.swf --tau=long": "--tau must be a number (got 'long'); see schedlab simulate --help",
    "run replay -jtwo": "--workers must be an integer (got 'two'); see schedlab run --help",
    "learn": "--workload is needed; see schedlab learn --help",
    "report": "FOLDER is needed; see schedlab report --help",
    "generate lubin": "unknown model 'lubin'; did you mean lublin? see schedlab generate --help",
    "new one two": "unexpected argument 'two'; see schedlab new --help",
    # names
    "list ordres": "unknown topic 'ordres'; did you mean orders? known: orders, bids, backfillings, decide, "
    "overrun, engines, heuristics, routers, metrics, studies, filters",
    "compare -w log.swf --orders FCFS,SAFF": f"unknown order 'SAFF'; did you mean SAF? known: {ORDERS}",
    "simulate -w log.swf -b aggressive": "unknown backfilling 'aggressive'; known: none, greedy, easy, conservative",
    "simulate -w log.swf --clean storng": "unknown filter 'storng'; did you mean strong? known: runnable, strong, "
    "program, regression, published, ends",
    "run selectio": f"unknown study 'selectio'; did you mean selection? known: {', '.join(STUDIES)}",
    "run replay --scale tiny": "unknown scale of replay 'tiny'; known: smoke, small, paper",
    "run replay --set speed=3": "unknown parameter or factor of replay 'speed'; known: "
    "workload, cores, clean, window_days, jobs, load, tau_s, engine, order, backfilling, threshold_h, replications",
    "advise -w log.swf --current SAFF": "unknown current order 'SAFF'; did you mean SAF? known: "
    f"{', '.join(TWELVE_ORDERS)}, FCFS without backfilling, FCFS with greedy backfilling, "
    "FCFS with conservative backfilling, auto",
    "learn -w log.swf --form cubic": "unknown form 'cubic'; did you mean CUB? known: LIN, QDR, CUB, QUA",
    "learn -w log.swf --estimator best": "unknown estimator 'best'; known: stratified, published",
    # values
    "simulate -w log.swf --threshold 40hours": f"--threshold must be {SECONDS} (got '40hours')",
    "simulate -w log.swf --cores 0": "cores must be an integer from 1 to 2**53 (got 0)",
    "simulate -w log.swf --walk 8:4 --cores-per-machine 8": "--walk must be MEAN:RADIUS:PERIOD, such as "
    "24:8:20min (got '8:4')",
    "simulate -w log.swf --clusters 3*100": "clusters must be HOW-MANYxCORES:KIND, such as 3x1000:Kind1 (got '3*100')",
    "simulate -w log.swf --trace t.json --power 3": "--power must be watts of a machine and of a core, as in 120:8 "
    "(got '3')",
    "demo --jobs 0": "jobs must be an integer from 1 to 2**53 (got 0)",
    "learn -w log.swf --pairs 0": "--pairs must be an integer from 1 to 2**53 (got 0)",
    "learn -w log.swf --learn-on 2": "--learn-on must be a part of the log > 0 and < 1 (got 2.0)",
    "advise -w log.swf --node-cores 0": "node_cores must be an integer from 1 to 32, the machine's cores, (got 0)",
    "advise -w log.swf --workers -1": "workers must be an integer from 0 to 2**53 (got -1)",
    "forecast -w log.swf --at soon --new 4,1h": f"--at must be {SECONDS} (got 'soon')",
    "run replay --shard 3/2": "shard must be i/n with 1 <= i <= n, such as 3/100 (got '3/2')",
    "run replay --set load=much": "load must be a finite number >= 0 (got 'much')",
    "run replay --set load": "--set must be NAME=VALUE (got 'load')",
    "generate lublin --jobs 9 --cores 1 --out a.swf": "cores must be an integer from 2 to 2**53 (got 1)",
    "new 3d": "the name of a study must be of letters, digits and _, with a letter first (got '3d')",
    # options that exclude one another, or need another
    "compare -w log.swf --orders FCFS --heuristics EASY": "2 lists of policies exclude each other; give one of "
    "--orders, --heuristics, --bids and --routers",
    "simulate -w log.swf --clusters 2x32 --cores 3": "--cores and --clusters exclude each other; omit one of them",
    "simulate -w log.swf --jobs 0": "--jobs has no effect without --workflows; add --workflows FOLDER",
    "forecast -w log.swf --at 1d": "there is no job to forecast; give --job ID or --new CORES,LIMIT",
    "forecast -w log.swf --at 1d --job 1 --new 4,1h": "--job and --new exclude each other; give --job ID or "
    "--new CORES,LIMIT",
    "run replay -j 2 --dask tcp://localhost:8786": "--workers and --dask exclude each other; omit --workers: "
    "dask has workers of its own",
    "run replay -w log.swf --set workload=log.swf": "--workload and --set workload= exclude each other; omit one "
    "of them",
    "run replay -j 0 --cell-timeout 5": "cell_timeout_s has no effect with workers=0, where cells run in this process; "
    "use workers=1 or more",
    # files that are read
    "advise -w nowhere.swf": "nowhere.swf: cannot be read: no such file or directory",
    "simulate -w folder": "folder: the folder has no workflow: no file name ends in .json, .xml, .dax, "
    "compressed or not",
    "simulate -w notes.txt": "notes.txt, line 1: field 1 (job_id) must be a number (got 'hello')",
    "simulate -w empty.swf": "empty.swf: the file is empty",
    "simulate --workflows log.swf": "log.swf: the folder cannot be read: not a directory",
    "simulate -w log.swf --partition gpu": "log.swf does not say which partition a job was in; omit --partition",
    "inputs --check nowhere": "nowhere is not a folder; name the folder that holds the inputs",
    "run folder": "no study can be read from folder; use a name that ends in .py or .toml",
    "run study.py": "study.py defines 0 studies; add a subclass of Study with run_cell",
    "report folder": "folder holds no campaign: it has no manifest.json; give the folder of a run",
    "reproduce --scale smoke --borg nowhere.csv": "nowhere.csv: cannot be read: no such file or directory",
    # files that are written
    "simulate -w log.swf --jobs-out jobs.xls": "the jobs file's name must be one that ends in .csv, "
    ".parquet, .swf, .swf.gz, .swf.bz2, .swf.xz (got 'jobs.xls')",
    "simulate -w log.swf --jobs-out folder": "cannot write folder: it is a folder; give the name of a file",
    "simulate -w log.swf --jobs-out log.swf/jobs.csv": "cannot write log.swf/jobs.csv: log.swf is not a folder",
    "simulate -w log.swf --view page.htm": "the page's name must be one that ends in .html (got 'page.htm')",
    "learn -w log.swf --out fit.txt": "the fit's name must be one that ends in .toml, .json (got 'fit.txt')",
    "generate tsafrir -w log.swf --out log.swf": "cannot write log.swf: it is one of the files that are read; choose "
    "another file",
    "demo --out log.swf": "cannot write to folder log.swf: log.swf is not a folder",
}

Asked = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Asked:
    """Return what answers a command line here, in a folder with files: status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry.ORDERS, "users", {})  # those of other tests are no names here
    wl.write_swf(wl.lublin(jobs=150, cores=32, seed=3, name="log"), "log.swf")
    Path("folder").mkdir()
    for name, text in {"notes.txt": "hello world\n", "empty.swf": "", "study.py": "x = 1\n"}.items():
        Path(name).write_text(text, encoding="utf-8")

    def answer(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["schedlab", *shlex.split(line)])
        return (main(), *capsys.readouterr())

    return answer


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_by_one_sentence_and_nothing_is_written(line: str, ask: Asked) -> None:
    before = sorted(Path().rglob("*"))
    assert ask(line) == (2, "", f"error: {MISTAKES[line]}\n")
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("line", ["simulate -w log.swf --cores many", "xyzzy", "run selectio"])
def test_with_json_a_mistake_is_an_object_on_stdout_too(line: str, ask: Asked) -> None:
    status, out, err = ask(f"{line} --json")
    assert status == 2
    assert err == f"error: {MISTAKES[line]}\n"
    assert err.startswith(f"error: {json.loads(out)['error']}")
