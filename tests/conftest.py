"""What all tests share: the shared data beside the checkout, and how hypothesis draws its examples."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))

# Nothing here may depend on how fast the machine is. CI draws the same examples each time; elsewhere new ones are
# tried, and those that failed are kept in .hypothesis and tried first.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.register_profile("full", settings.get_profile("ci"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if IN_CI else "dev"))

os.environ.setdefault("MPLBACKEND", "Agg")  # figures are drawn to files, on machines without a screen


def pytest_configure(config: pytest.Config) -> None:
    """Drop compiled code when any source has changed, before a test or a worker is started.

    numba looks for a change only in the file of the function that it has compiled, not in those of the functions
    which that calls: without this, a test could run the decisions of yesterday.
    """
    if hasattr(config, "workerinput"):
        return
    packages = [ROOT / name for name in ("simmodels", "workloads", "experiments")]
    sources = sorted(path for package in packages for path in package.rglob("*.py"))
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    cache = getattr(config, "cache", None)  # `-p no:cacheprovider` takes it away
    if cache is not None and cache.get("schedlab/compiled", None) == digest:
        return
    for package in packages:
        for compiled in package.rglob("__pycache__/*.nb[ic]"):
            compiled.unlink(missing_ok=True)
    if cache is not None:
        cache.set("schedlab/compiled", digest)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared data (traces, oracles); skip the test without it, or fail in CI."""
    named = os.environ.get("SCHEDLAB_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if folder.is_dir():
        return folder
    message = f"no shared data at {folder}: put it there, or name its folder in SCHEDLAB_SHARED"
    if IN_CI:
        pytest.fail(message)
    pytest.skip(message)
