"""Refusals: requests that cannot be served, of every command, on a machine that is busy with other things.

They are the mistakes of `tests.experiments.cli.test_mistakes`, every other one with a last word that is drawn. Each
must end with status 2 and one line that begins with "error:", whatever the threads of the libraries are doing as the
interpreter ends. The load is made here: busy processes that end with the attack.
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
from tests.experiments.cli.test_mistakes import MISTAKES, write_files
from tests.refused import says

CASES = 1_000

ROOT = Path(__file__).resolve().parents[2]
_AT_ONCE = 2
_BUSY = 3
_LIMIT_S = 300
_LOAD = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"

_LINES = tuple(MISTAKES)
_DRAWN = (
    *("-1", "-7", "0x10", "1e400", "nan", "many", "", "1.5.2", "99999999999999999999", "-inf"),
    *("nope", "FCFSS", "x y", "Ü", "..", "a,b", "%s", "'", "*", "log.swf.swf", "-", "nul"),
)
"""Numbers that cannot be, and names that are none."""


def cases(seed: int) -> Iterator[Case]:
    """Yield requests, drawn from the seed, that end otherwise than well."""
    drawn = random.Random(seed)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        write_files(Path(folder))
        busy = [subprocess.Popen([sys.executable, "-c", _LOAD]) for _ in range(_BUSY)]
        flying: list[Future[str]] = []
        number = 0
        try:
            while True:
                while len(flying) <= _AT_ONCE:
                    request = _request(drawn, number)
                    flying.append(pool.submit(_refused, *request, folder, environment))
                    number += 1
                yield _case(flying.pop(0))
        finally:
            for process in busy:
                process.kill()
                process.wait()
            pool.shutdown(cancel_futures=True)


def _case(future: Future[str]) -> Callable[[], str]:
    return lambda: future.result()  # noqa: PLW0108  a method of the future would take its own argument


def _request(drawn: random.Random, number: int) -> tuple[list[str], str | None]:
    """Return a mistake, each in turn, and what is said of it; or one with a last word that is drawn, and None."""
    line = _LINES[number % len(_LINES)]
    words, said = shlex.split(line), MISTAKES[line]
    if drawn.random() < 0.5:
        words[-1], said = drawn.choice(_DRAWN), None
    may = words[0] in _ANSWER_JSON and not words[-1].startswith("--")  # or else it is the value of the last
    return [*words, "--json"] if may and drawn.random() < 0.3 else words, said


_ANSWER_JSON = {"simulate", "compare", "learn", "advise", "calibrate", "run", "report"}


def _refused(words: list[str], said: str | None, folder: str, environment: dict[str, str]) -> str:
    """Make a request; return how it was refused."""
    command = [sys.executable, "-m", "experiments", *words]
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
    named = words[0] if words[0].isalpha() else "no command"
    if done.returncode == 0 and said is None:
        return f"{named}: served, since what was drawn is in range"
    if done.returncode != 2 or len(errors) != 1 or not done.stderr.rstrip().endswith(errors[0].rstrip()):
        raise Broken(broken)
    if said is not None and not says(errors[0], f"error: {said}"):
        raise Broken(broken)
    if "--json" in words and not _is_error(done.stdout):
        raise Broken(broken)
    return f"{named}: refused, status 2, one error"


def _is_error(stdout: str) -> bool:
    """Return whether the answer is one JSON object with an error."""
    try:
        answer = json.loads(stdout)
    except ValueError:
        return False
    return isinstance(answer, dict) and set(answer) == {"error"}
