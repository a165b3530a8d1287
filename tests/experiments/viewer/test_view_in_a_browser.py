"""The page of a schedule in a real browser: what is shown at a place, found, coloured, and said."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.support.ui import Select, WebDriverWait

import simmodels as sm
import workloads as wl
from experiments.viewer.view import summary, write_view
from tests.experiments.browsing import Driver, emulate, require_quiet, scrolls_sideways, size

WIDTH, HEIGHT = 1200, 800
DRAWN = "return document.documentElement.dataset.ready === 'yes' && {0}"
RESTS = DRAWN.format("(({chart}) => chart.raster && !chart.busy && !chart.waiting && chart.covered())(window.schedlab)")


@pytest.fixture(scope="module")
def schedule() -> sm.Schedule:
    """Return a schedule of jobs of five users, some killed, with dates."""
    jobs = wl.lublin(jobs=300, cores=64, seed=4, load=1.2)
    users = np.arange(300) % 5 + 10
    estimate_s = np.where(np.arange(300) % 7 == 0, jobs.runtime_s / 2, jobs.runtime_s * 3)
    dated = replace(
        jobs, user_id=users, estimate_s=estimate_s, extras={"partition": np.arange(300) % 3},
        start_unix_s=1_296_571_124, header=("; TimeZoneString: Europe/Paris",),
    )  # fmt: skip
    return sm.simulate(dated, backfilling="easy", overrun="kill", warm_jobs=3)


@pytest.fixture(scope="module")
def path(schedule: sm.Schedule, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("view") / "view.html"
    write_view(schedule, made)
    return made


def opened(driver: Driver, path: Path, scheme: str = "light") -> Driver:
    """Return the browser with a page that is drawn."""
    size(driver, WIDTH, HEIGHT)
    emulate(driver, scheme=scheme)
    driver.get(path.as_uri())
    return rested(driver)


def rested(driver: Driver) -> Driver:
    WebDriverWait(driver, 60).until(lambda one: one.execute_script(RESTS))
    return driver


@pytest.fixture
def page(driver: Driver, path: Path) -> Driver:
    return opened(driver, path)


def seen(page: Driver) -> list[float]:
    """Return the window that is seen: from, to, and the part of the height."""
    window: list[float] = page.execute_script(
        "const {chart} = window.schedlab; return [chart.a, chart.b, chart.ya, chart.yb]"
    )
    return window


def middle(page: Driver, row: int) -> tuple[float, float]:
    """Return the place on the screen of the middle of a job's first rectangle."""
    x, y = page.execute_script(
        """
        const {chart} = window.schedlab, {runs} = chart, run = runs.row.indexOf(arguments[0]), k = runs.first[run];
        const box = document.getElementById("canvas").getBoundingClientRect();
        const time = (runs.start[run] + runs.end[run]) / 2, part = (runs.upper[k] + runs.lower[k]) / 2;
        return [box.left + chart.x(time), box.top + chart.y(part)];
        """,
        row,
    )
    return x, y


def point(page: Driver, row: int) -> None:
    """Move the pointer to a job."""
    canvas = page.find_element("id", "canvas")
    (x, y), box = middle(page, row), canvas.rect
    offset = round(x - box["x"] - box["width"] / 2), round(y - box["y"] - box["height"] / 2)
    ActionChains(page).move_to_element_with_offset(canvas, *offset).perform()


def require_said(page: Driver, element: str, schedule: sm.Schedule, row: int) -> dict[str, str]:
    """See that the page says of a job what is to be said; return all that it says, by name."""
    assert page.find_element("css selector", f"#{element} b").text == f"job {schedule.workload.job_id[row]}"
    dds = page.find_elements("css selector", f"#{element} dd")
    found = {one.get_dom_attribute("data-what"): one.text for one in dds}
    for name, text in wanted(schedule, row).items():
        assert text in found[name], name
    return found


def search(page: Driver, text: str) -> None:
    field = page.find_element("id", "job")
    field.clear()
    field.send_keys(text + "\ue007")
    rested(page)


def largest(schedule: sm.Schedule) -> int:
    """Return the row with the most core-seconds: it can be seen at any zoom."""
    return int(np.argmax(np.nan_to_num((schedule.end_s - schedule.start_s) * schedule.workload.cores)))


def wanted(schedule: sm.Schedule, row: int) -> dict[str, str]:
    """Return what is to be said of a job."""
    work = schedule.workload
    wait_s, ran_s = schedule.start_s[row] - work.submit_s[row], schedule.end_s[row] - schedule.start_s[row]
    earlier = (work.submit_s < work.submit_s[row]) | (
        (work.submit_s == work.submit_s[row]) & (np.arange(len(work)) < row)
    )
    overtook = int((earlier & (schedule.start_s > schedule.start_s[row])).sum())
    return {
        "user": str(work.user_id[row]),
        "wait": f"({wait_s:,.6f}".rstrip("0").rstrip(".") + " s)",
        "ran for": f"({ran_s:,.6f}".rstrip("0").rstrip(".") + " s)",
        "overtook": f"{overtook} job" + ("" if overtook == 1 else "s"),
        "outcome": "killed at its estimate" if schedule.outcome[row] == 1 else "completed",
    }


def test_the_page_opens_without_an_error_and_without_the_network(driver: Driver, path: Path) -> None:
    driver.get_log("performance")
    require_quiet(opened(driver, path))


def test_the_script_unpacks_the_schedules_numbers(page: Driver, schedule: sm.Schedule) -> None:
    work = schedule.workload
    found = page.execute_script(
        """
        const {columns, runs} = window.schedlab, start = new Array(columns.job_id.length), end = [...start];
        runs.row.forEach((row, run) => { start[row] = runs.start[run]; end[row] = runs.end[run]; });
        return {start, end, job_id: [...columns.job_id], submit_s: [...columns.submit_s],
          estimate_s: [...columns.estimate_s],
          sorted: runs.start.every((each, run) => run === 0 || runs.start[run - 1] <= each)};
        """
    )
    assert found["sorted"]
    assert found["job_id"] == work.job_id.tolist()
    assert found["submit_s"] == work.submit_s.tolist()
    assert found["estimate_s"] == work.estimate_s.tolist()
    assert found["start"] == schedule.start_s.tolist()
    assert found["end"] == schedule.end_s.tolist()


def test_pointing_at_a_job_says_its_numbers_and_a_click_picks_it(page: Driver, schedule: sm.Schedule) -> None:
    row = largest(schedule)
    point(page, row)
    found = require_said(page, "tip", schedule, row)
    assert found["cores"].startswith(f"{schedule.workload.cores[row]} (core ")
    since_ms = round(schedule.workload.submit_s[row] * 1000)
    submitted = np.datetime64(1_296_571_124 + 3600, "s") + np.timedelta64(since_ms, "ms")
    assert found["submitted"][:19] == str(submitted).replace("T", " ")[:19]
    ActionChains(page).click().perform()
    require_said(page, "picked", schedule, row)
    ActionChains(page).send_keys("\ue00c").perform()  # Escape
    assert page.find_elements("css selector", "#picked b") == []


def test_a_search_shows_and_frames_the_job(page: Driver, schedule: sm.Schedule) -> None:
    for row in (17, 140, 250):
        search(page, str(schedule.workload.job_id[row]))
        a, b, _, _ = seen(page)
        assert a <= schedule.start_s[row] <= schedule.end_s[row] <= b
        require_said(page, "picked", schedule, row)
        assert page.execute_script("return window.schedlab.chart.picked.length") == 1
    for nobody in ("999999", "x"):
        search(page, nobody)
        assert page.find_element("id", "found").text == f"no job {nobody}"


def test_what_ran_when_a_window_began_has_not_waited(driver: Driver, tmp_path: Path) -> None:
    jobs = {"submit_s": [0, 50], "runtime_s": [100, 10], "cores": [1, 1]}
    write_view(sm.simulate(jobs, cores=1, window_s=(40, 200)), tmp_path / "window.html")
    page = opened(driver, tmp_path / "window.html")
    for job, wait in (("1", "(0 s)"), ("2", "(50 s)")):
        search(page, job)
        assert wait in page.find_element("css selector", '#picked dd[data-what="wait"]').text


def test_a_search_for_a_user_shows_all_that_ran(page: Driver, schedule: sm.Schedule) -> None:
    search(page, "user 12")
    mine = schedule.workload.user_id == 12
    assert page.find_element("id", "found").text == f"user 12: {mine.sum()} attempts"
    picked = page.execute_script(
        "const {chart, runs} = window.schedlab; return chart.picked.map((run) => runs.row[run])"
    )
    assert sorted(picked) == np.flatnonzero(mine).tolist()
    a, b, _, _ = seen(page)
    assert a <= schedule.start_s[mine].min() < schedule.end_s[mine].max() <= b
    search(page, "user 99")
    assert page.find_element("id", "found").text == "no user 99"


def test_the_queue_is_scaled_to_what_is_seen(page: Driver) -> None:
    """Labels of the axes are text on the canvas: what is drawn there is listened to."""
    listen = """
        const pen = document.getElementById("canvas").getContext("2d"), {chart} = window.schedlab, found = [];
        const write = pen.fillText; pen.fillText = (text, x, y) => found.push([text, y]);
        chart.look(arguments[0], arguments[1]); chart.draw(); pen.fillText = write;
        const {area} = chart, low = area.y + area.height + area.low + 30;
        const numbers = found.filter(([text, y]) => y > low && /^[0-9,]+$/.test(text));
        return numbers.map(([text]) => Number(text.replace(",", "")));
        """
    begin, end, _, _ = seen(page)
    assert max(page.execute_script(listen, begin, begin + (end - begin) / 50)) < max(
        page.execute_script(listen, begin, end)
    )


def test_labels_of_the_axis_of_time_are_whole_and_lie_side_by_side(page: Driver) -> None:
    """Wherever midnight lies: the zone stands left of the axis, and dates are the widest labels."""
    drawn = page.execute_script(
        """
        const {chart} = window.schedlab, pens = CanvasRenderingContext2D.prototype, fill = pens.fillText, drawn = [];
        pens.fillText = function (text, x, y) {
          const wide = this.measureText(text).width, left = x - wide / (this.textAlign === "center" ? 2 : 1);
          if (y === chart.height - 6) drawn.at(-1).push([left, left + wide]);
        };
        for (let quarter = 0; quarter < 96; quarter++) {
          drawn.push([[chart.width]]);
          chart.look(900 * quarter, 900 * quarter + 100000);
          chart.draw();
        }
        pens.fillText = fill;
        return drawn;
        """
    )
    for labels in map(sorted, drawn):
        assert len(labels) > 5
        assert all(one[1] <= other[0] for one, other in pairwise(labels))


def test_the_wheel_zooms_at_the_pointer_and_dragging_moves(page: Driver) -> None:
    canvas = page.find_element("id", "canvas")
    all_ = seen(page)
    before = page.execute_script("return window.schedlab.chart.time(arguments[0])", 500)
    x = round(500 - canvas.rect["width"] / 2)
    ActionChains(page).scroll_from_origin(ScrollOrigin.from_element(canvas, x, 0), 0, -500).perform()
    zoomed = seen(page)
    assert zoomed[1] - zoomed[0] < 0.6 * (all_[1] - all_[0])
    assert page.execute_script("return window.schedlab.chart.time(arguments[0])", 500) == pytest.approx(before, abs=2.0)
    ActionChains(page).move_to_element_with_offset(canvas, 0, 0).click_and_hold().move_by_offset(
        -200, 0
    ).release().perform()
    moved = seen(page)
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0])
    area = page.execute_script("return window.schedlab.chart.area.width")
    assert moved[0] - zoomed[0] == pytest.approx(200 / area * (zoomed[1] - zoomed[0]), rel=0.02)
    page.find_element("id", "fit").click()
    assert seen(page) == all_


def test_keys_move_zoom_and_step_through_the_jobs(page: Driver, schedule: sm.Schedule) -> None:
    all_, canvas = seen(page), page.find_element("id", "canvas")
    canvas.send_keys("+")
    zoomed = seen(page)
    assert zoomed[1] - zoomed[0] == pytest.approx((all_[1] - all_[0]) / 1.5)
    canvas.send_keys("\ue014")
    assert seen(page)[0] > zoomed[0]
    canvas.send_keys("]]")
    assert seen(page)[3] - seen(page)[2] == pytest.approx(1 / 1.5**2)
    canvas.send_keys("\ue011")
    assert seen(page) == all_
    by_start = np.lexsort((np.arange(len(schedule)), schedule.start_s))
    for place in range(3):
        canvas.send_keys("n")
        name = page.find_element("css selector", "#picked b").text
        assert schedule.start_s[int(name.split()[1]) - 1] == schedule.start_s[by_start[place]]


def test_each_colouring_has_a_legend_and_paints_with_it(page: Driver, schedule: sm.Schedule) -> None:
    row = largest(schedule)
    select = Select(page.find_element("id", "colour"))
    inks = set()
    for option in [one.get_dom_attribute("value") for one in select.options]:
        select.select_by_value(option)
        rested(page)
        assert page.find_element("id", "legend").text
        x, y = middle(page, row)
        ink, painted = page.execute_script(
            """
            const {chart} = window.schedlab, run = chart.runs.row.indexOf(arguments[0]);
            const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
            const place = [arguments[1] - box.left + 1, arguments[2] - box.top + 1].map(Math.round);
            const [r, g, b] = canvas.getContext("2d").getImageData(...place, 1, 1).data;
            return [chart.inks[run], r | (g << 8) | (b << 16)];
            """,
            row, x, y,
        )  # fmt: skip
        assert painted == ink, option
        inks.add(ink)
    assert len(inks) > 2
    select.select_by_value("user")
    legend = page.find_element("id", "legend").text
    assert all(f"user {user}" in legend for user in range(10, 15))
    assert "outside the metrics" in legend
    select.select_by_value("partition")
    legend = page.find_element("id", "legend").text
    assert all(f"partition {number}" in legend for number in range(3))
    assert "hatched: killed" in legend


def test_all_controls_can_be_reached_by_the_tab_key_and_the_chart_is_described(
    page: Driver, schedule: sm.Schedule
) -> None:
    canvas = page.find_element("id", "canvas")
    text = page.find_element("id", canvas.get_dom_attribute("aria-describedby")).get_property("textContent")
    assert all(sentence in text for sentence in summary(schedule))
    assert canvas.get_dom_attribute("aria-label")
    reached = set()
    for _ in range(14):
        page.switch_to.active_element.send_keys("\ue004")
        reached.add(page.switch_to.active_element.get_dom_attribute("id"))
    assert {"in", "out", "fit", "higher", "lower", "colour", "job", "canvas"} <= reached


def test_it_is_light_or_dark_as_the_system_says_and_does_not_scroll_sideways(driver: Driver, path: Path) -> None:
    corner = "return [...document.getElementById('canvas').getContext('2d').getImageData(2, 2, 1, 1).data]"
    for scheme in ("light", "dark"):
        ground = opened(driver, path, scheme).execute_script(corner)
        assert (sum(ground[:3]) < 3 * 64) == (scheme == "dark")
    for width in (400, 800, 1200):
        size(driver, width, 800)
        assert not scrolls_sideways(rested(driver))
