"""The page of a campaign in a real browser: headless Chromium, of Debian's packages chromium and chromium-driver."""

import base64
import re
import textwrap
from pathlib import Path

import pytest

from experiments.campaigns.report import write_report
from experiments.campaigns.running import run
from tests.experiments.browsing import Driver, Element, emulate, require_quiet, scrolls_sideways, size

STUDY = """
    import matplotlib.figure
    import pandas as pd
    from experiments.campaigns import Claim, Scale, Study


    class Shown(Study):
        '''Does the page show <script>what</script> was found?'''

        parameters = {"jobs": 1000}
        factors = {"order": ["FCFS", "SPF", "a name that is rather long for a column"], "load": [0.7, 0.9]}
        scales = {"smoke": Scale(replications=5)}

        def run_cell(self, cell):
            if cell["load"] == 0.9 and cell["order"] == "SPF" and cell.replication == 4:
                raise ArithmeticError("</pre><script>document.title = 'broken'</script>")
            wait = 1000 * cell["load"] - 100 * len(cell["order"]) + cell.stream("w").random()
            return {"wait_s": wait, "text": "x"}

        def tables(self, results):
            mixed = {
                "number": [10.5, None, -3.0, 200.0, 1e6, 0.25],
                "count": [1, 10, 2, 30, 20, 3],
                "text": ["b", "a", "C", "é", "10", "9"],
                "wide": ["a column of words that go on for a while, to fill a line or two of a phone"] * 6,
            }
            return {**super().tables(results), "mixed": pd.DataFrame(mixed)}

        def figures(self, results):
            figure = matplotlib.figure.Figure()
            figure.subplots().plot([1, 2, 3])
            return {"A line": figure}

        def claims(self, results):
            one = results.difference("wait_s", {"order": "SPF"}, {"order": "FCFS"})
            two = results.difference("wait_s", {"order": "FCFS"}, {"order": "SPF"})
            return [
                Claim(text="SPF has longer waits", source="here, Fig. 1", measure="wait", effect=one, more_than=0),
                Claim(text="FCFS has longer waits", source="there", measure="wait", effect=two, less_than=0),
                Claim(text="nobody knows", source="nowhere", measure="nothing", effect=None, less_than=0),
            ]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a campaign with all that a page can show."""
    path = tmp_path_factory.mktemp("shown")
    (path / "shown.py").write_text(textwrap.dedent(STUDY), "utf-8")
    campaign = run(str(path / "shown.py"), out=path / "out", scale="smoke", workers=0)
    write_report(campaign)
    return path / "out"


@pytest.fixture
def page(driver: Driver, folder: Path) -> Driver:
    """Return the browser with the page freshly loaded in a wide window."""
    size(driver, 1200, 900)
    driver.get((folder / "report.html").as_uri())
    return driver


def unfold(page: Driver) -> None:
    page.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


def table(page: Driver, title: str) -> Element:
    return page.find_element("xpath", f"//h3[text()='{title}']/following::table[1]")


def column(found: Element, name: str) -> list[str]:
    """Return the texts of a column, from the top."""
    heads = [head.text for head in found.find_elements("css selector", "th")]
    place = next(place for place, head in enumerate(heads) if head.split("\n")[0].startswith(name))
    rows = found.find_elements("css selector", "tbody tr")
    return [row.find_elements("css selector", "td")[place].text for row in rows]


def button(found: Element, name: str) -> Element:
    return next(one for one in found.find_elements("css selector", "th button") if one.text.startswith(name))


def test_the_page_loads_from_its_file_without_an_error_and_without_the_network(page: Driver) -> None:
    assert page.title == "shown · schedlab", "and what a study says is text, and no script"
    require_quiet(page)
    assert all(
        page.execute_script("return arguments[0].complete && arguments[0].naturalWidth > 0", image)
        for image in page.find_elements("css selector", "figure img")
    )
    assert page.find_element("css selector", "h1").text == "Does the page show <script>what</script> was found?"
    assert "document.title = 'broken'" in page.page_source
    [details] = page.find_elements("css selector", "details:not(.fold)")
    details.find_element("css selector", "summary").click()
    assert "raise ArithmeticError" in details.find_element("css selector", "pre").text


@pytest.mark.parametrize(
    ("name", "rising"),
    [
        ("number", ["-3", "0.25", "10.5", "200", "1,000,000", "-"]),
        ("count", ["1", "2", "3", "10", "20", "30"]),
        ("text", ["10", "9", "a", "b", "C", "é"]),
    ],
)
def test_a_click_on_a_heading_sorts_and_another_turns_it_round(name: str, rising: list[str], page: Driver) -> None:
    """Numbers by size and texts by letter; what is missing stands last either way; rows stay whole."""
    found = table(page, "mixed")
    rows = set(zip(*(column(found, each) for each in ("number", "count", "text")), strict=True))
    head = button(found, name).find_element("xpath", "..")
    assert head.get_dom_attribute("aria-sort") is None
    there = [value for value in rising if value != "-"]
    falling = there[::-1] + ["-"] * (len(rising) - len(there))
    for expected, said in ((rising, "ascending"), (falling, "descending"), (rising, "ascending")):
        button(found, name).click()
        assert (column(found, name), head.get_dom_attribute("aria-sort")) == (expected, said)
    assert set(zip(*(column(found, each) for each in ("number", "count", "text")), strict=True)) == rows
    button(found, "wide").click()
    assert len(found.find_elements("css selector", "th[aria-sort]")) == 1, "of the heading that sorts"


def test_claims_are_sorted_by_what_was_found_and_those_that_found_nothing_stand_last(page: Driver) -> None:
    unfold(page)
    found = page.find_element("css selector", "table.claims")
    assert len(column(found, "verdict")) == 3
    for _ in range(2):
        button(found, "found").click()
        assert column(found, "claim")[-1] == "nobody knows"


@pytest.mark.parametrize("key", ["\ue007", " "], ids=["Enter", "space"])
def test_the_keyboard_sorts_too(key: str, page: Driver) -> None:
    found = table(page, "mixed")
    focused = button(found, "count")
    page.execute_script("arguments[0].focus()", focused)
    page.switch_to.active_element.send_keys(key)
    assert column(found, "count") == ["1", "2", "3", "10", "20", "30"]
    assert page.switch_to.active_element == focused


def test_all_that_sorts_can_be_reached_by_the_tab_key(page: Driver) -> None:
    unfold(page)
    buttons = len(page.find_elements("css selector", "th button"))
    reached = set()
    for _ in range(3 * buttons):
        page.switch_to.active_element.send_keys("\ue004")
        element = page.switch_to.active_element
        if element.tag_name == "button":
            reached.add(element.id)
    assert len(reached) == buttons


def test_the_page_does_not_scroll_sideways_and_can_be_printed(page: Driver) -> None:
    unfold(page)
    for width in (400, 800, 1200):
        size(page, width, 800)
        assert page.execute_script("return window.innerWidth") == width
        assert not scrolls_sideways(page)
    content = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
    assert content.startswith(b"%PDF-")
    assert len(content) > 10_000
    emulate(page, media="print")
    size(page, 700, 900)
    wider = scrolls_sideways(page)
    emulate(page)
    assert not wider


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_system_says(scheme: str, page: Driver) -> None:
    emulate(page, scheme=scheme)
    unfold(page)
    ground = luminance(page.find_element("css selector", "body").value_of_css_property("background-color"))
    assert (ground < 0.1) == (scheme == "dark")
    for what in ("body", "p.pale", "a", ".verdict", "p.warning", "dt", "figcaption", "summary"):
        ink = luminance(page.find_element("css selector", what).value_of_css_property("color"))
        contrast = (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05)
        assert contrast >= 4.5, what  # WCAG 2.2, level AA
    emulate(page)


def luminance(colour: str) -> float:
    """Return the relative luminance of a CSS colour, from 0 to 1 (WCAG 2.2)."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
