"""The benchmarks, run as a program."""

import os
import subprocess
import sys
from pathlib import Path


def test_without_the_shared_data_one_sentence_says_where_they_should_be(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "read Curie", "--runs", "1", "--out", str(tmp_path / "bench.json")]
    env = {**os.environ, "SCHEDLAB_SHARED": str(tmp_path)}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    at = tmp_path / "traces" / "CEA-Curie-2011-2.1-cln.swf.gz"
    assert ended.returncode == 1
    assert ended.stderr == f"no trace at {at}: put the shared data there, or name their folder in SCHEDLAB_SHARED\n"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_checkout_is_not_compared_with(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "read Curie", "--against", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.endswith(f"error: --against {tmp_path}: no checkout is there, with a folder benchmarks\n")
