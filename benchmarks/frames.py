"""Measure how smoothly a page of `simulate --view` moves in Chromium: print the intervals between frames.

`python -m benchmarks.frames PAGE.html`

Chromium runs without a window and without a GPU. For 600 frames each, the script drags the chart and turns the wheel
over it, at several depths of zoom and widths of the page, and reads the times of ``requestAnimationFrame``. A display
of 60 Hz shows a frame every 16.7 ms; a longer interval is a frame that came late.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

FRAMES: Final = 600
SIZES: Final = ((1200, 800), (1600, 1000))
ZOOMS: Final = (1, 20, 400)
RESTS: Final = """
if (document.documentElement.dataset.ready !== "yes") return false;
const {chart} = window.schedlab;
return Boolean(chart.raster && !chart.busy && !chart.waiting && chart.covered());
"""
SHOW: Final = """
const {chart} = window.schedlab;
chart.fit();
chart.zoom(arguments[0], (chart.begin + chart.end) / 2);
"""
MOVE: Final = """
const [way, frames, done] = arguments, canvas = document.getElementById("canvas");
const {left, top, width, height} = canvas.getBoundingClientRect(), clientY = top + 0.4 * height;
const begin = left + 0.6 * width, found = [];
canvas.setPointerCapture = () => {};  // there is no pointer to capture
const send = (kind, name, more) => canvas.dispatchEvent(
  new kind(name, {pointerId: 1, clientX: x, clientY, bubbles: true, cancelable: true, ...more}));
let x = begin, last = null;
if (way === "pan") send(PointerEvent, "pointerdown");
const step = (time) => {
  if (last !== null) found.push(time - last);
  last = time;
  if (found.length === frames) {
    if (way === "pan") send(PointerEvent, "pointerup");
    return done(found);
  }
  const forth = found.length % 120 < 60;
  if (way === "pan") { x += forth ? -12 : 12; send(PointerEvent, "pointermove"); }
  else send(WheelEvent, "wheel", {deltaY: forth ? -60 : 60});
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def browser() -> Any:  # noqa: ANN401  selenium's type has no types for its options
    """Return Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or ""))
    started.set_script_timeout(300)
    return started


def main() -> None:
    """Measure a page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.frames", description="Measure how smoothly a page moves."
    )
    parser.add_argument("page", type=Path, help="the page that `simulate --view` wrote")
    page = parser.parse_args().page.resolve(strict=True)
    driver = browser()
    try:
        for width, height in SIZES:
            screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            driver.get(page.as_uri())
            for zoom in ZOOMS:
                for way in ("pan", "zoom"):
                    WebDriverWait(driver, 60).until(lambda one: one.execute_script(RESTS))
                    driver.execute_script(SHOW, zoom)
                    WebDriverWait(driver, 60).until(lambda one: one.execute_script(RESTS))
                    found = driver.execute_async_script(MOVE, way, FRAMES)
                    median, p95, most = np.percentile(found, [50, 95, 100])
                    print(f"{width} px, {zoom:3d}x, {way:4}: median {median:.1f} ms, p95 {p95:.1f}, max {most:.1f}")
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
