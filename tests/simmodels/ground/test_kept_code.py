"""Tests of `simmodels.ground.kept_code`: what one process compiled another one loads, and never what is out of date."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import pytest

import simmodels
from simmodels.ground import compiled as module
from simmodels.ground import kept_code
from simmodels.ground.compiled import compiled
from simmodels.ground.digests import UnknownValueError
from simmodels.ground.kept_code import folder, is_kept
from tests.refused import says

PACKAGE = Path(simmodels.__file__).parent

SCRIPT = """
from simmodels.passes.prediction import predicted_start
import numpy as np
none, free, one = np.empty(0, np.int64), np.array([4]), np.array([1])
hits = sum(predicted_start.stats.cache_hits.values())
start = predicted_start(3.0, free, none, np.empty(0), none, np.array([1.0]), one)
print(start, sum(predicted_start.stats.cache_hits.values()) - hits)
"""

OTHER_RULE = """

@compiled
def earliest(profile, start, cores, duration):
    return start + 4.0
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep code in a folder of the test's own."""
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path / "kept"))
    monkeypatch.delenv("SCHEDLAB_QUIET", raising=False)
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def nothing_said() -> Iterator[None]:
    module._say_unkept.cache_clear()
    yield
    module._say_unkept.cache_clear()


def _answers(package: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_changed_rule_in_another_file_is_never_run_stale_and_copies_share(kept: Path, tmp_path: Path) -> None:
    for copy in ("one", "two"):
        shutil.copytree(PACKAGE, tmp_path / copy / "simmodels", ignore=shutil.ignore_patterns("__pycache__"))
    assert _answers(tmp_path / "one") == "3.0 0"
    assert _answers(tmp_path / "two") == "3.0 1"  # another copy, other times: compiled once for all
    changed = tmp_path / "one" / "simmodels" / "structures" / "profile.py"
    before = changed.read_text()
    changed.write_text(before + OTHER_RULE)
    assert _answers(tmp_path / "one") == "7.0 0"  # the caller's own file is as it was
    assert _answers(tmp_path / "one") == "7.0 1"
    assert _answers(tmp_path / "two") == "3.0 1"
    changed.write_text(before + "\n# the first rule again\n")
    assert _answers(tmp_path / "one") == "3.0 1"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {path.suffix for path in kept.iterdir()} == {".code", ".part"}


WITH_A_DEFAULT = """
import numpy as np
from simmodels.ground.compiled import compiled

@compiled
def called(number, instead=np.nan):
    return number if np.isnan(instead) else instead

@compiled
def caller(number):
    return called(number) + ADDED
"""


@pytest.mark.usefixtures("kept")
def test_a_changed_caller_calls_what_is_kept_though_a_default_is_no_number(tmp_path: Path) -> None:
    for added in (1.0, 2.0):  # NaN is not equal to the one that was kept
        (tmp_path / "rules.py").write_text(WITH_A_DEFAULT.replace("ADDED", str(added)))
        # -B: two texts as long as each other, written in one second, are one to Python's own cache.
        command = [sys.executable, "-B", "-c", "import rules; print(rules.caller(3.0))"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == f"{3.0 + added}\n"


def test_code_that_a_wheel_brings_is_loaded_where_the_processor_runs_it_and_is_never_stale(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "one" / "simmodels"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    shipped = package / "ground" / kept_code.SHIPPED.name
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("NUMBA_CPU_NAME", "generic")
        elsewhere.setenv("NUMBA_CPU_FEATURES", "")
        elsewhere.setenv("SCHEDLAB_CACHE", str(shipped))
        assert _answers(package.parent) == "3.0 0"
    triple = llvmlite.binding.get_process_triple()
    before = {path: path.read_bytes() for path in shipped.iterdir()}
    for about, hits in (("", 0), (f"{triple}\ngeneric\n+flying", 0), (f"{triple}\ngeneric\n", 1)):
        shutil.rmtree(kept, ignore_errors=True)
        (shipped / kept_code.MACHINE).write_text(about)
        assert _answers(package.parent) == f"3.0 {hits}"
        assert kept.exists() == (hits == 0)
    profile = package / "structures" / "profile.py"
    rule = profile.read_text()
    profile.write_text(rule + OTHER_RULE)
    assert _answers(package.parent) == "7.0 0"
    profile.write_text(rule)
    for path in before:
        path.write_bytes(b"damaged")
    shutil.rmtree(kept)
    assert _answers(package.parent) == "3.0 0"
    assert before.keys() < set(shipped.iterdir()), "what a wheel brought is not removed"


def _times(factor: int) -> Any:  # noqa: ANN401  numba's dispatcher is untyped
    """Return a function as another process has it: it has compiled nothing, and may load what is kept."""

    @compiled
    def once(x):  # noqa: ANN001, ANN202
        return x

    @compiled
    def times(x):  # noqa: ANN001, ANN202
        return factor * once(x)

    return times


def _hits(function: Any) -> int:  # noqa: ANN401  as above
    return sum(function.stats.cache_hits.values())


@pytest.mark.parametrize("damage", [b"", b"something else", None], ids=["empty", "other", "gone"])
@pytest.mark.parametrize("damaged", ["*.code", "*.part"])
def test_what_is_damaged_or_gone_is_compiled_and_kept_again(kept: Path, damage: bytes | None, damaged: str) -> None:
    first = _times(3)
    assert (first(3), _hits(first)) == (9, 0)
    for path in kept.glob(damaged):
        path.unlink() if damage is None else path.write_bytes(damage)
    assert _times(5)(3) == 15  # `once` is kept, or was
    assert (_times(3)(3), _times(3)(3)) == (9, 9)
    again = _times(3)
    assert (again(3), _hits(again)) == (9, 1)


def test_what_is_damaged_is_not_loaded_where_it_cannot_be_removed(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _times(3)(3) == 9
    [path] = kept.glob("times.entry-*")
    path.write_bytes(path.read_bytes()[:-1])

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ValueError, match="is damaged"):
        kept_code._read(path)
    again = _times(3)
    assert (again(3), _hits(again)) == (9, 0)


def test_what_was_not_used_for_longest_goes_when_there_is_too_much(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _times(3)(3) == 9
    [entry] = kept.glob("times.entry-*")
    others = [kept / "first.code", kept / "second.code"]
    for when, path in enumerate([*others, entry]):
        if path != entry:
            path.write_bytes(bytes(10**7))
        os.utime(path, (when, when))
    monkeypatch.setattr(kept_code, "_MOST_BYTES", 15 * 10**6)
    used = _times(3)
    assert (used(3), _hits(used)) == (9, 1)
    assert entry.stat().st_mtime > 10**9  # reading is using
    os.utime(entry, (2, 2))
    kept_code._forget_oldest.cache_clear()  # a process looks once, and did at its first
    assert compiled(lambda x: x + 1)(1) == 2
    assert [path.exists() for path in (*others, entry)] == [False, True, True]


@pytest.mark.parametrize(
    ("named", "caches", "expected"),
    [
        ("/there", "/caches", "/there"),
        ("", "/caches", "/caches/schedlab"),
        (None, "/caches", "/caches/schedlab"),
        (None, "not/absolute", "/home/somebody/.cache/schedlab"),
        (None, None, "/home/somebody/.cache/schedlab"),
    ],
)
def test_the_folder_is_the_named_one_or_among_the_users_caches(
    named: str | None, caches: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SCHEDLAB_CACHE", named), ("XDG_CACHE_HOME", caches), ("HOME", "/home/somebody")):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert folder() == Path(expected)


def failing(error: Exception) -> Callable[..., None]:
    def fails(*_: object) -> None:
        raise error

    return fails


HOMELESS = failing(RuntimeError("Could not determine home directory."))
FULL = failing(OSError(28, "No space left on device"))
UNKNOWN = failing(UnknownValueError("it names something: nobody would see that this changes"))


@pytest.mark.parametrize(
    ("where", "broken", "said"),
    [
        ("/proc/self/nowhere", None, ": ...set SCHEDLAB_CACHE to one with room"),  # not even root makes a folder there
        ("", (Path, "home", HOMELESS), ": ...set SCHEDLAB_CACHE to one with room"),
        (None, (Path, "write_bytes", FULL), ": ..."),
        (None, (kept_code, "digest_of", UNKNOWN), ": times is not: it names something: ..."),
    ],
    ids=["no folder", "no home", "full disk", "unknown value"],
)
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same_and_said_once(
    kept: Path,
    where: str | None,
    broken: tuple[object, str, object] | None,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if where is not None:
        monkeypatch.setenv("SCHEDLAB_CACHE", where)
    if broken is not None:
        monkeypatch.setattr(*broken)
    function = _times(3)
    assert (function(3), function(3.0), _times(3)(3)) == (9, 9.0, 9)
    assert is_kept() == (where is None)
    lines = capsys.readouterr().err.splitlines()
    assert sum(says(line, f"compiled code cannot be kept{said}...") for line in lines) == 1
    assert not kept.exists() or not list(kept.iterdir()), "no half of a file"
