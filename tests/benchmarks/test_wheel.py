"""The wheel with compiled code: what is in it, and that with it nothing is compiled."""

import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks import wheel as module
from benchmarks.wheel import FEATURES, GENERIC, PROCESSOR, code_for, wheel_of

SCRIPT = """
import simmodels as sm
log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [1, 2, 1]}
limits = [{"by": "user", "jobs": 2}]
for backfilling in ("none", "greedy", "easy", "conservative"):
    print(sm.simulate(log, cores=2, backfilling=backfilling, order="SAF", limits=limits).start_s.tolist())
print(sm.simulate(log, on=sm.Site(machines=2, cores_per_machine=2, capacity=[(0, 2), (3, 1)])).start_s.tolist())
print(sm.__file__)
"""


def _installed(wheel: Path, site: Path) -> Path:
    offline = ("--quiet", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", "install", *offline, "--target", site, wheel], check=True)
    return site


def test_the_wheel_says_for_what_its_code_was_made(tmp_path: Path) -> None:
    (code := tmp_path / "code").mkdir()
    (code / "some.code").write_bytes(b"code")
    wheel = wheel_of(code, tmp_path / "dist")
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.endswith(f"-{version}-none-{sys.platform}_{platform.machine()}.whl")
    with zipfile.ZipFile(wheel) as files:
        assert files.read("simmodels/ground/shipped/some.code") == b"code"
        _, processor, features = files.read("simmodels/ground/shipped/machine").decode().split("\n")
    assert (processor, features) == (PROCESSOR, FEATURES)


@pytest.mark.full
@pytest.mark.skipif(platform.machine() != "x86_64", reason="code for x86-64-v3")
def test_with_it_nothing_is_compiled(tmp_path: Path) -> None:
    code_for(tmp_path / "code", GENERIC)
    site = _installed(wheel_of(tmp_path / "code", tmp_path / "dist"), tmp_path / "site")
    empty = tmp_path / "empty"
    own = {**os.environ, "PYTHONPATH": str(site), "SCHEDLAB_CACHE": str(empty)}
    own.pop("SCHEDLAB_QUIET", None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=own, capture_output=True, check=True, text=True
    )
    here = subprocess.run([sys.executable, "-c", SCRIPT], cwd=module.ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[:-1] == here.stdout.splitlines()[:-1]
    assert str(site) in done.stdout
    assert done.stderr == ""
    assert not empty.exists()
