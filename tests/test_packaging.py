"""What is shipped: the three packages and nothing else, with their data, a version and a command."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from simmodels.version import __version__

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("simmodels", "workloads", "experiments")
MADE = shutil.ignore_patterns("__pycache__")


def run(*command: str | Path, cwd: Path, path: str | None = None) -> str:
    """Run a command and return what it printed; fail with that if it fails."""
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path is not None:
        surroundings["PYTHONPATH"] = path
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout: a build leaves files behind."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.cfg", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in (*PACKAGES, "tests", "benchmarks", "docs"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=MADE)
    return source


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel, built without network."""
    out = tmp_path_factory.mktemp("wheel")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", out, source, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_is_pure_and_holds_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"schedlab-{__version__}-py3-none-any.whl"
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    shipped = {name for name in shipped if not name.startswith(f"schedlab-{__version__}.dist-info/")}
    here = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == here, "a folder without __init__.py, or data that setup.cfg does not name"
    assert {f"{package}/py.typed" for package in PACKAGES} <= shipped


def test_the_metadata_says_what_pyproject_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        folder = f"schedlab-{__version__}.dist-info"
        metadata = Parser().parsestr(files.read(f"{folder}/METADATA").decode())
        commands = configparser.ConfigParser()
        commands.read_string(files.read(f"{folder}/entry_points.txt").decode())
        assert f"{folder}/licenses/LICENSE" in files.namelist()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert metadata["Name"] == project["name"] == "schedlab"
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == project["requires-python"]
    assert metadata["License-Expression"] == project["license"]
    needed = {line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert needed == set(project["dependencies"])
    assert {section: dict(commands[section]) for section in commands.sections()} == {
        "console_scripts": {"schedlab": "experiments.cli.main:main"},
        "simmodels": project["entry-points"]["simmodels"],
    }


def test_the_installed_wheel_runs_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    offline = ("--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "install", *offline, "--target", target, wheel, cwd=elsewhere)
    code = f"import {', '.join(PACKAGES)}; print({', '.join(f'{package}.__file__' for package in PACKAGES)}, sep='\\n')"
    places = run(sys.executable, "-W", "error", "-c", code, cwd=elsewhere, path=str(target)).split("\n")
    assert places[:3] == [str(target / package / "__init__.py") for package in PACKAGES]
    by_script = run(target / "bin" / "schedlab", "--help", cwd=elsewhere, path=str(target))
    assert "compare" in by_script
    assert by_script == run(sys.executable, "-m", "experiments", "--help", cwd=elsewhere, path=str(target))


SCRIPT = """\
import simmodels as sm, workloads as wl, experiments
from datetime import timedelta

log = wl.lublin(jobs=10, cores=8, seed=1)
sm.simulate(log, order="SAF", backfilling="conservative", threshold_s="40h", queue_depth=5).metrics()
sm.simulate(log, cores=8, threshold_s=timedelta(hours=40), order=lambda cores: cores, backfill_order="SPF")
sm.simulate(log, ordr="SAF")
sm.simulate(log, backfilling="EASY")
sm.simulate(log, threshold_s=[1])
env = sm.Environment()
ours = sm.Cluster(env, "ours", machines=2, cores_per_machine=4)
sm.QueueScheduler(env, ours, order="SAF", backfilling="EASY")
sm.FirstFit(env, ours, fill_order=[1, 0], pack_size=3)
sm.Auctioneer(env, [ours], network="all")
sm.simulate_workflows([], clusters=[("a", 4)], ccr="a fifth")
sm.simulate_on_machines(log, [(0, 2)], cores_per_machine=8, heuristic="FirstFit", awar=True)
"""
FOUND = {
    7: 'Unexpected keyword argument "ordr" for "simulate"; did you mean "order"?',
    8: 'Argument "backfilling" to "simulate" has incompatible type',
    9: 'Argument "threshold_s" to "simulate" has incompatible type',
    12: 'Argument "backfilling" to "QueueScheduler" has incompatible type',
    13: 'Unexpected keyword argument "pack_size" for "FirstFit"',
    14: 'Argument "network" to "Auctioneer" has incompatible type',
    15: 'Argument "ccr" to "simulate_workflows" has incompatible type',
    16: 'Unexpected keyword argument "awar" for "simulate_on_machines"; did you mean "aware"?',
}


def test_a_type_checker_finds_an_editable_install_and_the_mistakes_of_a_script(source: Path, tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir()
    build = "import sys; from setuptools.build_meta import build_editable; build_editable(sys.argv[1])"
    run(sys.executable, "-c", build, tmp_path, cwd=source)
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    (built,) = tmp_path.glob("*.whl")
    (site,) = (tmp_path / "venv").glob("[Ll]ib/**/site-packages")
    zipfile.ZipFile(built).extractall(site)
    (empty / "script.py").write_text(SCRIPT)
    # Without the libraries, whose types are Any then: what they would add is time.
    options = ("--python-executable", next((tmp_path / "venv").glob("[bS]*/python*")), "--no-error-summary")
    command = [sys.executable, "-m", "mypy", "--strict", *options, "script.py"]
    done = subprocess.run(command, cwd=empty, stdout=subprocess.PIPE, text=True, check=False)
    found = {
        int(line.split(":")[1]): line.split(": error: ")[1] for line in done.stdout.splitlines() if ": error: " in line
    }
    assert {at: said[: len(FOUND.get(at, said))] for at, said in found.items()} == FOUND, done.stdout


def test_every_needed_package_has_an_exact_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    run_pins = pins_of(ROOT / "requirements" / "run.txt")
    dev_pins = pins_of(ROOT / "requirements" / "dev.txt")
    assert {name_of(line) for line in project["dependencies"]} <= set(run_pins)
    assert {name_of(line) for line in project["optional-dependencies"]["dev"]} <= set(dev_pins)
    assert not set(run_pins) & set(dev_pins)


def name_of(requirement: str) -> str:
    """Return the normal form of the name in a requirement."""
    return re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def pins_of(path: Path) -> dict[str, str]:
    """Return the versions of a file of pins, by name; each has hashes, which stand on the lines below it."""
    text = path.read_text("utf-8").replace("\\\n", "")
    pins = [line.strip() for line in text.splitlines() if line and not line.startswith(("#", "-r"))]
    assert all(re.fullmatch(r"[a-z0-9.-]+==\S+( ; [^\\]+)?( +--hash=sha256:[0-9a-f]{64})+", line) for line in pins), (
        pins
    )
    assert "//" not in text, "where packages come from is for pip to say"
    return {name_of(line): re.split(r"==| ", line)[1] for line in pins}


def test_only_what_has_the_hash_of_its_pin_is_installed() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", "")
    (line,) = [line for line in makefile.splitlines() if "requirements/dev.txt" in line and "pip install" in line]
    assert "--require-hashes" in line.split()
