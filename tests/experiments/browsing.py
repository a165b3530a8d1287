"""Pages in a browser: how they are seen, and what they ask for."""

import json
from typing import Any

Driver = Any
Element = Any
"""Of selenium."""

LOCAL = ("file:", "data:", "about:", "chrome:", "chrome-untrusted:", "blob:")  # chrome: the browser's own first page


def size(driver: Driver, width: int, height: int) -> None:
    """Have pages seen as on a screen of this size."""
    about = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", about)


def emulate(driver: Driver, *, scheme: str = "", media: str = "") -> None:
    """Have pages seen in a colour scheme, or on a medium; by default as on any screen."""
    features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features, "media": media})


def scrolls_sideways(page: Driver) -> bool:
    """Return whether a page is wider than its window."""
    wider: bool = page.execute_script("return document.documentElement.scrollWidth > window.innerWidth")
    return wider


def require_quiet(page: Driver) -> None:
    """See that a page has loaded without an error, and has asked the network for nothing."""
    assert [line for line in page.get_log("browser") if line["level"] in {"SEVERE", "WARNING"}] == []
    messages = [json.loads(line["message"])["message"] for line in page.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [url for url in asked if not url.startswith(LOCAL)] == []
