"""Refusals: requests that cannot be served, of every command, on a machine that is busy with other things.

Each must end with its status (2, or 1 where a campaign's cells fail) and one line that begins with "error:", whatever
the threads of the libraries are doing as the interpreter ends. The load is made here: busy processes that end with the
attack.
"""

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.attacks.attack import Broken, Case

CASES = 1_000

ROOT = Path(__file__).resolve().parents[2]
_AT_ONCE = 2
_BUSY = 3
_LIMIT_S = 300
_LOAD = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"

_GOOD = "".join(f"{k} {k * 40} 0 {90 + k % 50} {1 + k % 8} -1 -1 {1 + k % 8} 200\n" for k in range(1, 2001))
_FILES = {
    "good.swf": "; MaxProcs: 64\n" + _GOOD,
    "no-size.swf": _GOOD,
    "word.swf": "; MaxProcs: 64\n" + _GOOD + "2001 x 0 90 1\n",
    "short.swf": "; MaxProcs: 64\n" + _GOOD + "2001 90\n",
    "empty.swf": "",
    "comments.swf": "; MaxProcs: 64\n; nothing else\n",
    "not.swf.gz": _GOOD,
    "words.sacct": "JobID|State|Submit|Start|End|ElapsedRaw|AllocCPUS\n1|COMPLETED|soon|later|never|x|y\n",
    "no-columns.sacct": "JobID|User\n1|ada\n2|bob\n",
    "broken.json": '{"nb_res": 4, "jobs": [',
    "no-jobs.json": '{"nb_res": 4}',
    "good.csv": "time,nodes\n2020-01-01 00:00:00,8\n2020-01-02 00:00:00,6\n",
    "word.csv": "time,nodes\n2020-01-01 00:00:00,8\n2020-01-02 00:00:00,x\n",
    "back.csv": "time,nodes\n2020-01-02 00:00:00,8\n2020-01-01 00:00:00,6\n",
    "two.csv": "time,a,b\n2020-01-01 00:00:00,8,9\n",
    "bad.toml": "kind = \n",
    "wrong.toml": 'name = "x"\n',
    "bad.py": "def order(:\n",
    "unknown.py": "def order(colour):\n    return colour\n",
    "flows/broken.json": "{",
}

# Each has `{n}`, a number that cannot be, `{word}`, a name that is none, and `{file}`, a log.
_LOG = "--workload good.swf"
_MACHINES = f"compare {_LOG} --cores-per-machine"
_REQUESTS = (
    *(
        "",
        "{word}",
        "--{word}",
        "list --{word}",
        "compare",
        "learn",
        "advise",
        "new",
        "run",
        "report {word}",
        "report .",
    ),
    *("simulate", "simulate --workload", "simulate --workload {word}.swf", "simulate --workload ."),
    *(
        f"simulate --workload {name}"
        for name in (
            *("word.swf", "short.swf", "empty.swf", "comments.swf", "not.swf.gz", "words.sacct", "no-columns.sacct"),
            *("broken.json", "no-jobs.json", "no-size.swf"),
        )
    ),
    *(
        f"simulate {_LOG} --{option}"
        for option in (
            *("cores {n}", "cores 4", "queue-depth {n}", "warm-jobs {n}", "seed {n}", "tau {n}", "threshold {word}"),
            *("order {word}", "order {word}.toml", "order bad.toml", "order wrong.toml", "order bad.py"),
            *("order unknown.py", "backfilling {word}", "backfilling greedy --backfill-order SPF", "decide {word}"),
            *("overrun {word}", "engine {word}", "clean {word}", "jobs-out jobs.{word}", "jobs-out {word}/jobs.csv"),
            *("gantt gantt.{word}", "bid {word}", "workflows flows", "clusters 2x8", "clusters {n}x8"),
            *("router {word}", "heuristic {word}", "ccr {n}", "load 1"),
        )
    ),
    *("simulate --workflows {word}", "simulate --workflows flows", "simulate --workflows flows --bid {word}"),
    *("simulate --workflows flows --clusters {word}", "simulate --workflows flows --order {word}"),
    *(f"compare {_LOG}", f"compare {_LOG} --orders FCFS --bids PVR", f"compare {_LOG} --routers {{word}}"),
    *(f"compare {_LOG} --orders {{word}} --out out", f"compare {_LOG} --orders FCFS,FCFS --out out"),
    *("compare --workload {word}.swf --orders FCFS --out out", "compare --workload word.swf --orders FCFS --out out"),
    *(f"compare {_LOG} --orders FCFS --out good.csv", "demo --jobs {n}", "demo --cores {n}"),
    *(f"compare {_LOG} --heuristics FirstFitAware", f"{_MACHINES} 7 --heuristics FirstFitAware"),
    *(f"{_MACHINES} {size} --walk 24:8:20min --heuristics FirstFitAware" for size in ("4", "{n}")),
    *(f"{_MACHINES} 8 --walk {walk} --heuristics FirstFitAware" for walk in ("{word}", "24:3:20min")),
    *(
        f"{_MACHINES} 8 --series {series} --heuristics FirstFitAware"
        for series in (
            *(
                "good.csv --walk 24:8:20min",
                "{word}.csv",
                "word.csv",
                "back.csv",
                "two.csv",
                "good.csv --column {word}",
            ),
            *("good.csv --per-machine {n}", "good.csv --mode {word}", "good.csv --from {word}"),
        )
    ),
    *(f"{_MACHINES} 8 --series good.csv --heuristics {name}" for name in ("{word}", "TargetAsap")),
    "compare --workload word.swf --cores-per-machine 8 --series good.csv --heuristics FirstFitAware",
    *(f"learn {_LOG}", f"learn {_LOG} --out fit.{{word}}", f"learn {_LOG} --out fit.toml"),
    *(f"learn {_LOG} --out fit.toml --{option}" for option in ("form {word}", "trials {n}", "pairs {n}")),
    *(f"learn {_LOG} --out fit.toml --estimator {{word}}", "learn --workload short.swf --out fit.toml"),
    *("advise --workload {word}.swf", "advise --workload empty.swf", f"advise {_LOG} --current {{word}}"),
    *(f"advise {_LOG} --scale {{word}}", "calibrate --workload {word}.swf", f"calibrate {_LOG} --limits {{word}}"),
    *("run {word}", "run {word}.toml", "run bad.toml", "run bad.py", "run selection --scale {word}"),
    *("run selection --set {word}=1", "run selection --shard {n}/2", "run selection --workers {n}"),
)
_NUMBERS = ("-1", "-7", "0x10", "1e400", "nan", "many", "", "1.5.2", "99999999999999999999", "-inf")
_WORDS = ("nope", "FCFSS", "x y", "Ü", "..", "a,b", "%s", "'", "*", "good.swf.swf", "-", "nul")


def cases(seed: int) -> Iterator[Case]:
    """Yield requests, drawn from the seed, that end otherwise than well."""
    drawn = random.Random(seed)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        for name, content in _FILES.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        busy = [subprocess.Popen([sys.executable, "-c", _LOAD]) for _ in range(_BUSY)]
        flying: list[Future[str]] = []
        number = 0
        try:
            while True:
                while len(flying) <= _AT_ONCE:
                    words = _words(drawn, number)
                    flying.append(pool.submit(_refused, words, number, folder, environment))
                    number += 1
                yield _case(flying.pop(0))
        finally:
            for process in busy:
                process.kill()
                process.wait()
            pool.shutdown(cancel_futures=True)


def _case(future: Future[str]) -> Callable[[], str]:
    return lambda: future.result()  # noqa: PLW0108  a method of the future would take its own argument


def _words(drawn: random.Random, number: int) -> list[str]:
    """Return a request: each in turn, with what is drawn in it."""
    request = _REQUESTS[number % len(_REQUESTS)]
    given = {"n": drawn.choice(_NUMBERS), "word": drawn.choice(_WORDS)}
    words = [word.format(**given) for word in shlex.split(request)]
    may = words and words[0] in _ANSWER_JSON and not words[-1].startswith("--")  # or else it is the value of the last
    return [*words, "--json"] if may and drawn.random() < 0.3 else words


_ANSWER_JSON = {"simulate", "compare", "learn", "advise", "calibrate", "run", "report"}


def _refused(words: list[str], number: int, folder: str, environment: dict[str, str]) -> str:
    """Make a request; return how it was refused."""
    command, request = [sys.executable, "-m", "experiments", *words], _REQUESTS[number % len(_REQUESTS)]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=_LIMIT_S,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{shlex.join(words)}: no end after {_LIMIT_S} s") from error
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    broken = (
        f"{shlex.join(words)}: status {done.returncode}, stdout {done.stdout[-300:]!r}, stderr {done.stderr[-600:]!r}"
    )
    if "Traceback" in done.stderr or "terminate called" in done.stderr or done.returncode not in {0, 2}:
        raise Broken(broken)
    if not words:  # the help
        return f"no command: the help, status {done.returncode}"
    command_named = request.split()[0] if request[0].isalpha() else "no command"
    if done.returncode == 0 and "{" in request:
        return f"{command_named}: served, since what was drawn is in range"
    if done.returncode != 2 or len(errors) != 1 or not done.stderr.rstrip().endswith(errors[0].rstrip()):
        raise Broken(broken)
    if "--json" in words and not _is_error(done.stdout):
        raise Broken(broken)
    return f"{command_named}: refused, status 2, one error"


def _is_error(stdout: str) -> bool:
    """Return whether the answer is one JSON object with an error."""
    try:
        answer = json.loads(stdout)
    except ValueError:
        return False
    return isinstance(answer, dict) and set(answer) == {"error"}
