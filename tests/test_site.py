"""The documentation site in a browser: built once, from its files, without network."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
Driver = Any

# Building takes 20 to 30 s.
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-d", folder / "doctrees"]
    built = subprocess.run(
        [*command, "docs", folder / "html"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=900
    )
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> list[Path]:
    return [page for page in sorted(site.rglob("*.html")) if "_modules" not in page.parts]


def size(driver: Driver, width: int) -> None:
    """Have pages seen as in a window of this width."""
    about = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", about)


def search(driver: Driver, site: Path, words: str) -> list[str]:
    """Return the pages that a search finds, best first: typed into the box of the index, as a reader does."""
    support = pytest.importorskip("selenium.webdriver.support.ui")
    driver.get((site / "index.html").as_uri())
    box = driver.find_element("css selector", "form.sidebar-search-container input[name=q]")
    box.send_keys(words, "\ue007")
    ended = "return document.querySelector('#search-results h2')?.innerText === 'Search Results'"
    support.WebDriverWait(driver, 60).until(lambda shown: shown.execute_script(ended))
    links = driver.find_elements("css selector", "#search-results ul.search > li > a")
    folder = site.as_uri() + "/"
    return [link.get_property("href").removeprefix(folder).partition("?")[0].partition("#")[0] for link in links]


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("QueueScheduler", "reference/api/schedulers.html"),
        ("read_sacct", "reference/api/logs.html"),
        ("conservative backfilling", "explanation/backfilling.html"),
        ("walltime", "reference/glossary.html"),
        ("wind power", "tutorials/a-cluster-on-wind-power.html"),
    ],
)
def test_a_search_finds_the_page_among_the_first_five(words: str, page: str, driver: Driver, site: Path) -> None:
    size(driver, 1200)
    assert page in search(driver, site, words)[:5]


def test_a_search_for_what_no_page_has_finds_nothing(driver: Driver, site: Path) -> None:
    size(driver, 1200)
    assert search(driver, site, "xylophone") == []


def test_no_page_scrolls_sideways(driver: Driver, pages: list[Path]) -> None:
    wide = []
    for page in pages:
        driver.get(page.as_uri())
        for width in (400, 800, 1000, 1200, 1600):
            size(driver, width)
            if driver.execute_script("return document.documentElement.scrollWidth") > width:
                wide.append((page.name, width))
    assert wide == []


def test_every_figure_is_there_and_is_described(driver: Driver, pages: list[Path]) -> None:
    shown = 0
    for page in pages:
        if "<img" in page.read_text("utf-8"):
            driver.get(page.as_uri())
            for image in driver.find_elements("css selector", "article img"):
                shown += 1
                assert driver.execute_script("return arguments[0].decode().then(() => true)", image), page
                assert image.get_property("alt"), page
    assert shown


def test_marks_for_the_tests_leave_no_trace(pages: list[Path]) -> None:
    assert [page.name for page in pages if "test: " in page.read_text("utf-8")] == []


def test_the_site_asks_the_network_for_nothing(pages: list[Path]) -> None:
    """Links lead out; scripts, styles, fonts and images are files of the site."""
    loads = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["'](?:https?:)?//""")
    assert [page.name for page in pages if loads.search(page.read_text("utf-8"))] == []
