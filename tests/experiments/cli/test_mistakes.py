"""Mistakes on the command line: what a user gets wrong, for every command, and the whole sentence of each answer."""

import json
import os
import shlex
from pathlib import Path

import pytest

import simmodels as sm
import workloads as wl
from experiments.studies import STUDIES
from simmodels.policies import orders, registry
from tests.command_line import Run
from tests.experiments.conftest import STUDY
from tests.refused import says

BUILT_IN = orders.BUILT_IN
ORDERS = ", ".join([*BUILT_IN, *(other for name in BUILT_IN for other in registry.ORDERS.aliases(name))])
SECONDS = "a number of seconds, or one with a unit (s, min, h, d, w) such as 90s, 30min, 40h or 2d"
MISTAKES = {
    # commands and options
    "simulat -w log.swf": "unknown command 'simulat'; did you mean simulate? see schedlab --help",
    "xyzzy": "unknown command 'xyzzy'; see schedlab --help",
    "simulate -w log.swf --thresold 40h": "unknown option '--thresold'; did you mean --threshold or --shares or "
    "--ties? see schedlab simulate --help",
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
    f"{', '.join(sm.TWELVE_ORDERS)}, FCFS without backfilling, FCFS with greedy backfilling, "
    "FCFS with conservative backfilling, auto",
    "learn -w log.swf --form cubic": "unknown form 'cubic'; did you mean CUB? known: LIN, QDR, CUB, QUA",
    "learn -w log.swf --estimator best": "unknown estimator 'best'; known: stratified, published",
    # values
    "simulate -w log.swf --threshold 40hours": f"--threshold must be {SECONDS} (got '40hours')",
    "simulate -w log.swf --cores 0": "cores must be an integer from 1 to 2**53 (got 0)",
    "simulate -w log.swf --walk 8:4 --cores-per-machine 8": "--walk must be MEAN:RADIUS:PERIOD, such as "
    "24:8:20min (got '8:4')",
    "simulate -w log.swf --clusters 3*100": "clusters must be HOW-MANYxCORES:KIND, such as 3x1000:Kind1 (got '3*100')",
    "demo --jobs 0": "jobs must be an integer from 1 to 2**53 (got 0)",
    "learn -w log.swf --pairs 0": "--pairs must be an integer from 1 to 2**53 (got 0)",
    "learn -w log.swf --learn-on 2": "--learn-on must be a part of the log > 0 and < 1 (got 2.0)",
    "advise -w log.swf --node-cores 0": "node_cores must be an integer from 1 to 32, the machine's cores, (got 0)",
    "advise -w log.swf --workers -1": "workers must be an integer from 0 to 2**53 (got -1)",
    "forecast -w log.swf --at soon --new 4,1h": "--at must be a time since the log's zero, such as 40d...",
    "simulate -w log.swf --from 2026-02-30": "--from must be a time since the log's zero, such as...(got '2026-02-30')",
    "run replay --set load=much": "load must be a finite number >= 0 (got 'much')",
    "run replay --set load": "--set must be NAME=VALUE (got 'load')",
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
    "calibrate -w log.swf": "'log' does not say when its jobs started; limits are fitted to a log with waits",
    "calibrate -w log.swf --out limits.txt": "the name of the limits must be one that ends in .csv (got 'limits.txt')",
    "advise -w nowhere.swf": "nowhere.swf: cannot be read: no such file or directory",
    "simulate -w folder": "folder: the folder has no workflow: no file name ends in .json, .xml, .dax, "
    "compressed or not",
    "simulate -w notes.txt": "notes.txt, line 1: field 1 (job_id) must be a number (got 'hello')",
    "simulate -w empty.swf": "empty.swf: the file is empty",
    "simulate -w none.csv --cores 4": "none.csv has no jobs",
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
    # and of all kinds, with the begin of the sentence
    "simulate": "there is nothing to simulate; give --workload FILE or --workflows FOLDER...",
    "simulate -w .": "bad.json: the file must be a JSON object with an object workflow (got ...",
    "simulate -w bad.swf": "bad.swf, line 3: field 4 (runtime_s) must be a number (got 'x')...",
    "simulate -w unsized.swf": "unsized.swf does not say how many cores the machine has; add --cores N...",
    "simulate -w unsized.swf --cores 2": (
        "job 1: runtime_s must be a number of seconds >= 0 (got -2.0); --clean runnable leaves..."
    ),
    "simulate -w log.swf --backfill-order SAF -b none": "a backfill order (SAF) with backfilling 'none'...",
    "simulate -w log.swf --warm-jobs 150": "warm_jobs must be less than the 150 jobs of 'log' (got 150)...",
    "simulate -w log.swf --tau nan": "tau_s must be a finite number of seconds > 0 (got nan)...",
    "simulate -w log.swf --jobs-out ./log.swf": "cannot write log.swf: it is one of the files that are read...",
    "simulate -w log.swf --gantt a.png --figure ./a.png": "cannot write a.png: it is asked for twice...",
    "simulate -w log.swf --gantt a.gif": "the figure's name must be one that ends in .svg, .png, .pdf (got 'a.gif')...",
    "simulate -w log.swf --figure a.png --draw-from 2d --draw-to 1d": "the window from 172800 s to 86400 s is empty...",
    "simulate -w log.swf --batsim-out a.swf": "the name of Batsim's table of jobs must be one that ends in .csv...",
    "simulate -w log.swf --order none.py:x": "no order can be read from none.py: no such file...",
    "simulate -w log.swf --order mine.py:mime": "unknown order of mine.py 'mime'; did you mean mine?...",
    "simulate -w log.swf --order mine.py": (
        "mine.py defines 2 orders; it has mine, other; choose one as mine.py:NAME..."
    ),
    "simulate -w log.swf --order mine.py:SAF": "order 'SAF' is built in...",
    "simulate -w log.swf --order mine.py:weight": "an order names mass, and job 1 has no such number; it has submit...",
    "simulate -w log.swf --order mine.py:NUMBER": "'NUMBER' of mine.py must be an order (@sm.order) or a plain...",
    "simulate -w log.swf --order broken.py:x": "broken.py, line 1: invalid syntax...",
    "simulate -w log.swf --order raises.py:x": "raises.py, line 2: ZeroDivisionError: division by zero...",
    "simulate -w log.swf --order none.toml": "none.toml: cannot be read: no such file...",
    "simulate -w log.swf --order bad.json": "bad.json: no list theta; a polynomial has both...",
    "simulate -w log.swf --order saf.toml": (
        "the order of saf.toml is named 'saf', as a built-in one; choose another..."
    ),
    "simulate -w log.swf --order digits.toml": "digits.toml: no TOML that can be read: a whole number must have...",
    "simulate -w log.swf --order large.json": "large.json: the coefficient of 'p' must be a finite number (got inf)...",
    "simulate -w log.swf --order many.json": (
        "many.json: the number of terms of a polynomial must be at most 100 (got 4912)..."
    ),
    "simulate -w log.swf --order pipe.toml": "pipe.toml: cannot be read: it is a pipe; only a regular file is read...",
    "simulate -w log.swf --order pipe.py:x": "no order can be read from pipe.py: it is a pipe; only a regular file...",
    "simulate -w pipe.swf": "pipe.swf: cannot be read: it is a pipe; only a regular file is read...",
    "simulate -w /dev/zero": "/dev/zero: cannot be read: it is a device; only a regular file is read...",
    "compare -w log.swf": "there is nothing to compare; give one of --orders, --heuristics, --bids and --routers...",
    "compare -w log.swf --orders SAF --order SPF": "--order and --orders exclude each other; omit one of them...",
    "compare -w log.swf --heuristics EASY --backfilling none": "--backfilling and --heuristics exclude each other...",
    "compare -w log.swf --routers Auctoin": "unknown router 'Auctoin'; did you mean Auction?...",
    "compare -w log.swf --routers Auction --rebalance x": (
        "--rebalance must be a number of seconds, or one with a unit..."
    ),
    "simulate -w log.swf --distance 3": "distance has no effect on FCFS; use it with a placer (heuristic)...",
    "simulate -w log.swf --cores-per-machine 32 --heuristic FirstFit --distance 3": "...use it with another heuristic",
    "simulate -w log.swf --shares shares.csv": "shares has no effect on FCFS; use it with an order that names...",
    "compare -w log.swf --orders SAF,SPF --shares shares.csv": "shares has no effect on SAF, SPF; use it with...",
    "forecast -w log.swf --at 1d --new 1,1h --shares shares.csv": "shares has no effect on FCFS; use it with...",
    "calibrate -w log.swf --shares shares.csv": "shares has no effect on FCFS; use it with an order that names...",
    "simulate -w log.swf --flops-per-s 1e9": "flops_per_s with log.swf; it is for profiles of Batsim's jobs...",
    "simulate --workflows . --flops-per-s 1": "--flops-per-s has no effect without --workload...",
    "simulate -w log.swf --heuristic FirstFit --bid FIFO": "heuristic has no effect on FIFO; omit one of them...",
    "simulate -w log.swf --clusters 2x32 --router RoundRobin --bid FIFO": "bid has no effect on RoundRobin; omit...",
    "simulate -w log.swf --ccr 0.3": "ccr has no effect on FCFS; use it with an auction (bid)...",
    "simulate -w log.swf --bid FIFO --ccr 0.3": "ccr without workflows; leave it out, or add workflows...",
    "simulate -w log.swf --clusters 2x32 --router RoundRobin --ccr 0.3": (
        "ccr without workflows; leave it out, or add..."
    ),
    "simulate -w log.swf --heuristic TargetAsap --aware": "aware has no effect on TargetAsap; use it with a...",
    "simulate -w log.swf --heuristic FirstFit --fill-order 1,b": "--fill-order must be integers separated by...",
    "simulate -w log.swf --heuristic FirstFit": "a placer needs machines, and cluster 'cluster' has none; give...",
    "simulate -w log.swf --clusters 2x32 --order SAF": (
        "a queue on 2 clusters; give one cluster, or a router before several..."
    ),
    "simulate -w log.swf --walk 8:4:1h": "--walk or --series needs machines; add --cores-per-machine N...",
    "compare -w log.swf --speed 2": "--speed needs machines; add --cores-per-machine N...",
    "simulate -w log.swf --cores-per-machine 8 --speed 0": "speed must be a finite number > 0 (got 0.0)...",
    "simulate -w log.swf --cores-per-machine 8 --bid SRTF --from 1d": "--from and --until do not go with workflows...",
    "simulate -w log.swf --router Auction --no-forward": "--router Auction sets --forward itself; omit one...",
    "simulate -w log.swf --draw-from 1d": "--draw-from and --draw-to have no effect without a figure; add...",
    "simulate -w log.swf --graph-job 1": "--graph-job has no effect without a graph; add --graph FILE...",
    "simulate -w log.swf --gantt g.png --draw-to 1s": "the drawing window lies outside what is simulated...",
    "simulate -w log.swf --rebalance 1h": "rebalance_s has no effect on FCFS; use it with an auction...",
    "simulate -w log.swf --cores-per-machine 8 --checkpoint-cost 60": "no checkpoint would be written; add...",
    "simulate -w log.swf --cores-per-machine 8 --walk 4:4:1h --mode checkpoint --checkpoint-cost 60": (
        "--notice is 0 s..."
    ),
    "simulate -w log.swf --clusters 30x32 --router RoundRobin --gantt g.png": (
        "the number of panels of a Gantt chart must be an integer from 1 to 24 (got 30)..."
    ),
    "compare -w log.swf --orders SAF --bid SRTF": "order SAF and a bid exclude each other; set forward=True...",
    "compare -w log.swf --orders SAF,mine.py:weight": "an order names mass, and job 1 has no such number...",
    "simulate -w log.swf --cores-per-machine 0": "--cores-per-machine must be an integer from 1 to 2**53 (got 0)...",
    "simulate -w log.swf --cores-per-machine 5": "the cores of cluster 'machines' must be a multiple of...",
    "simulate -w log.swf --graph g.png": "--graph has no effect without workflows; add --workflows FOLDER...",
    "compare -w log.swf --orders , --out o": "there are no orders to compare; give at least one...",
    "compare -w log.swf --orders SPF,SPT --out o": "order 'SPF' is given twice...",
    "simulate -w log.swf --trace a.txt": "the trace's name must be one that ends in .json, .json.gz, .pftrace, ...",
    "simulate -w log.swf --power 120:8": "--power...",
    "simulate -w log.swf --trace t.json --power 3": "--power must be watts of a machine and of a core, as in 120:8...",
    "simulate -w log.swf --trace t.json --power 120:-8": "core_w...",
    "calibrate -w log.swf --limits fitted": "--limits has no effect where limits are fitted; omit it...",
    "compare -w log.swf --orders SAF --limits fitted": "'log' does not say when its jobs started...",
    "simulate -w log.swf --limits fitted --heuristic FirstFit --cores-per-machine 8": "limits has no effect on Fir...",
    # learning
    "learn -w log.swf --limits missing.csv": "missing.csv: cannot be read...",
    "learn -w log.swf --form 1,p,s": "...'s'...",
    "learn -w log.swf --backfilling eesy": "...eesy...",
    "learn -w log.swf --warm-jobs -1": "warm_jobs must be an integer from 0 to 2**53 (got -1)...",
    # generating
    "generate lublin --jobs 9 --cores 8": "--out is needed; see schedlab generate lublin --help",
    "generate lublin --jobs 9 --cores 8 --seed -1 --out a.swf": "seed must be an integer >= 0 (got -1)",
    "generate lublin --jobs 9 --cores 8 --serial-probability 2 --out a.swf": "serial_probability must be a number...",
    "generate lublin --jobs 9 --cores 8 --out a.csv": "the file's name must be one that ends in .swf, .swf.gz, ...",
    "generate lublin --jobs 9 --cores 8 --out no/a.swf": "cannot write no/a.swf: no is not a folder",
    "generate lublin --jobs 9 --cores 8 --estimates real --out a.swf": "unknown estimates 'real'; known: model, ts...",
    "generate variable-capacity --family Log --out a.swf": "unknown family 'Log'; known: Uniform, LogScale, ...",
    "generate walk --until 1d --out a.swf": "the file's name must be one that ends in .csv, .csv.gz, ...",
    "generate layers --tasks 3 --runtime 5min:1h:2h --out a": "--runtime must be a time or a range of times, such...",
    "generate layers --tasks 3 --cores 1.5 --out a": "--cores must be an integer or a range, such as 1:8 (got '1.5')",
    "generate layers --tasks 3 --count 0 --out a": "--count must be an integer from 1 to 2**53 (got 0)",
    "generate levels --widths 1,x --probability 1 --out a": "--widths must be integers separated by commas (got '1...",
    "generate arrivals --workflows a --out b": "a: the folder cannot be read: no such file or directory",
    # settings of a study
    "run none.py": "no study can be read from none.py: no such file or directory...",
    "run counting.py --scale smalll": "unknown scale of counting 'smalll'; did you mean small?...",
    "run counting.py -s =3": "--set must be NAME=VALUE (got '=3')",
    "run counting.py -s size=1 -s size=2": "--set gives size twice; give several values as NAME=VALUE,VALUE",
    "run counting.py -s sizee=1": "unknown parameter or factor of counting 'sizee'; did you mean size?...",
    "run counting.py -s self=1": "unknown parameter or factor of counting 'self'; known: base, fail...",
    "run counting.py -s size=1,x": "factor 'size' has values that are numbers and texts; give values of...",
    "run counting.py -s base=1,2": "base must be None, a bool, a number or a text (got [1, 2])",
    "run counting.py -s base=nan": "base must be a finite number, or None (got nan)",
    "run counting.py -s replications=x": "replications must be an integer from 1 to 1000000 (got 'x')",
    "run counting.py -s replications=10000000000000000": "replications must be an integer from 1 to 1000000 (got 1...",
    "run counting.py --shard 3/2": "shard must be i/n with 1 <= i <= n, such as 3/100 (got '3/2')",
    "run counting.py --engine simpy": "unknown parameter or factor of counting 'engine'...",
    "run replay --engine fast": "unknown engine 'fast'; known: auto, simpy, compiled",
    "run replay --engine simpy --set engine=compiled": "--set gives engine twice; give several values as NAME=...",
    "run capacity --workload ''": "--workload has no file; give --workload FILE,..., or omit it",
    "run counting.py -w ' ,'": "--workload has no file; give --workload FILE,..., or omit it",
    # workflows
    "simulate --workflows flows --cores 9": "--cores has no effect without --workload; add --workload FILE, or cho...",
    "simulate --workflows flows --bid PVQ": "unknown bid 'PVQ'; did you mean PV...",
    "simulate --workflows flows --budgets --bid SRTF": "budgets with bid 'SRTF'...",
    "simulate --workflows flows --ccr -1": "...ccr...",
    "simulate --workflows flows --curve 8:3": "curve must be two SLRs, the second not less than the first, such a...",
    "simulate --workflows flows --curve 3": "curve must be two SLRs, the second not less than the first, such as ...",
    "simulate --workflows flows --jobs 4": "--jobs needs a rate of submission; add --load or --gap...",
    "simulate --workflows flows --load 1 --gap 5": "--load and --gap exclude each other; omit one of them...",
    "simulate --workflows flows --clusters 128:Kind1,128:Kind2 --load 0": "load must be a finite number > 0 (got 0...",
    "simulate --workflows flows --tick 0": "--tick must be a finite number of seconds > 0 (got 0.0)...",
    "simulate --workflows flows --jobs-out j.swf": "the table's name must be one that ends in .csv, .parquet (got ...",
    "simulate --workflows flows --clusters 128:Kind1,128:Kind2 --graph g.png --graph-job 7": (
        "--graph-job must be a workflow from 0 to 2 (got 7)..."
    ),
}
"""Command lines, and what is said of each; ``...`` stands for any words."""


def write_files(folder: Path) -> None:
    """Write the files that the mistakes name."""
    wl.write_swf(wl.lublin(jobs=150, cores=32, seed=3, name="log"), folder / "log.swf")
    for name in ("folder", "flows"):
        (folder / name).mkdir()
    for number, job in enumerate(wl.market_workload(3, seed=4)):
        wl.write_wfformat(job, folder / "flows" / f"job{number}.json")
    many = [[p, q, r] for p in range(17) for q in range(17) for r in range(17)][:4912]
    texts = {
        "notes.txt": "hello world\n",
        "empty.swf": "",
        "none.csv": "submit_s,runtime_s,cores\n",
        "shares.csv": "account,shares\nphysics,3\n",
        "counting.py": STUDY,
        "study.py": "x = 1\n",
        "bad.swf": "; MaxProcs: 4\n1 0 -1 10 2\n2 0 -1 x 2\n",
        "unsized.swf": "1 0 -1 -2 2\n",
        "bad.json": '{"terms": ["p"]}',
        "saf.toml": 'name = "saf"\nterms = ["pq"]\ntheta = [1.0]\n',
        "digits.toml": f'terms = ["p"]\ntheta = [{"1" * 5000}]\n',
        "large.json": f'{{"terms": ["p"], "theta": [{"1" * 400}]}}',
        "many.json": json.dumps({"terms": many, "theta": [1.0] * 4912}),
        "broken.py": "def x(:\n",
        "raises.py": "zero = 0\nprint(1 / zero)\n",
        "mine.py": (
            "import simmodels as sm\n"
            "NUMBER = 3\n"
            "@sm.order\ndef mine(cores):\n    return cores\n"
            "@sm.order\ndef other(cores):\n    return -cores\n"
            "def weight(mass):\n    return mass\n"
            "def SAF(cores):\n    return cores\n"
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("pipe.toml", "pipe.py", "pipe.swf"):
        os.mkfifo(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files; as a mistake writes nothing, one for all of them."""
    folder = tmp_path_factory.mktemp("mistakes")
    write_files(folder)
    return folder


@pytest.fixture
def run(run: Run, folder: Path, as_it_was: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(folder)
    return run


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_by_one_sentence_and_nothing_is_written(line: str, run: Run) -> None:
    def files() -> list[Path]:
        return sorted(path for path in Path().rglob("*") if "__pycache__" not in path.parts)

    before = files()
    answer = run(*shlex.split(line))
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says(answer.err, f"error: {MISTAKES[line]}\n")
    assert files() == before


@pytest.mark.parametrize("line", ["simulate -w log.swf --cores many", "xyzzy", "run selectio"])
def test_with_json_a_mistake_is_an_object_on_stdout_too(line: str, run: Run) -> None:
    answer = run(*shlex.split(line), "--json")
    assert (answer.status, answer.err) == (2, f"error: {MISTAKES[line]}\n")
    assert answer.err.startswith(f"error: {json.loads(answer.out)['error']}")
