"""What all tests share: the shared data beside the checkout, a browser, and how hypothesis draws its examples."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from simmodels.entities.environment import Environment

pytest.register_assert_rewrite("tests.on_machines")  # what its asserts found is reported as in a test

ROOT = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))

# Nothing here may depend on how fast the machine is. CI draws the same examples each time; elsewhere new ones are
# tried, and those that failed are kept in .hypothesis and tried first.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.register_profile("full", settings.get_profile("ci"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if IN_CI else "dev"))

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would the commands that they start, some
# of which are sent one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# To look for garbage in all that was imported, again and again, took an eighth of the time. The models of tests are
# small: hundreds of them fit into memory.
gc.set_threshold(20_000)
Environment.collects_every = 250

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="schedlab-tests-")  # not among the notes of who runs the tests
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
os.environ.setdefault("SCHEDLAB_QUIET", "1")  # which test is the first to need code compiled is chance
os.environ.setdefault("MPLBACKEND", "Agg")  # figures are drawn to files, on machines without a screen


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the pages of the documentation first, then the campaigns.

    The pages need most of what is compiled, the campaigns little: two workers do not compile the same at the same time.
    """
    places = [ROOT / "tests" / "test_docs.py", ROOT / "tests" / "experiments" / "campaigns"]
    items.sort(key=lambda item: [not item.path.is_relative_to(place) for place in places])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # noqa: ANN401  xdist is untyped here
    """Give whole files to a worker, in order, so that what the tests of a file share is made once."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415  who runs the tests without workers may not have it

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


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


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the files that hypothesis draws, each of which takes the place of the one before."""
    return tmp_path_factory.getbasetemp()


FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a headless Chromium; skip the test without it (Debian: chromium and chromium-driver), or fail in CI."""
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        message = "no chromium and chromedriver: Debian's packages are chromium and chromium-driver"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield started
    started.quit()
