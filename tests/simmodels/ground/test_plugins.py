import subprocess
import sys
from pathlib import Path

import pytest

from experiments import figures
from simmodels.ground.plugins import plugin
from workloads.reading import read


def test_what_the_project_offers_is_found_by_name() -> None:
    assert plugin("read_workload") is read
    assert plugin("gantt") is figures.gantt
    assert plugin("nothing") is None


@pytest.mark.parametrize("name", ["other", "schedlab"])
def test_what_lies_in_the_present_folder_is_not_installed(name: str, tmp_path: Path) -> None:
    """As a folder from elsewhere may have it, under our own name even: ``python -m`` has the folder on its path."""
    about = tmp_path / f"{name}-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9\n")
    (about / "entry_points.txt").write_text("[simmodels]\nread_workload = theirs:read\nmore = theirs:read\n")
    (tmp_path / "theirs.py").write_text("def read(path): ...\n")
    asked = """
from simmodels.ground.plugins import plugin
print(plugin("read_workload").__module__, plugin("more"))
"""
    ended = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("workloads.reading None\n", "")


@pytest.mark.parametrize("order", [1, -1])
def test_what_the_project_offers_comes_before_what_others_do(
    order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "other-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 9\n")
    (about / "entry_points.txt").write_text("[simmodels]\nread_workload = json:loads\nmore = json:loads\n")
    monkeypatch.setattr(sys, "path", ["", *[str(tmp_path), *sys.path][::order]])
    plugin.cache_clear()
    try:
        assert plugin("read_workload") is read
        assert plugin("more").__name__ == "loads"
    finally:
        plugin.cache_clear()
