"""The kept table of fitted limits: what `calibrate` prints of logs, and what the page of results shows of it."""

import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the site that keeps and shows them."""
    monkeypatch.syspath_prepend(DOCS / "_site")
    return importlib.import_module("limits")


def printed(name: str, *caps: tuple[str, int, bool], helped: bool) -> str:
    """Return what `calibrate --json` prints of a log, with its figures and caps for two values of each column."""
    waits = {"mean_h": 1.234, "median_h": 0.125, "p95_h": 9.87}
    steps = [
        {"by": by, "percentile": percentile, "taken": taken, "caps": [{"value": value, "cores": 4} for value in (1, 2)]}
        for by, percentile, taken in caps
    ]
    replays = {each: {**waits, "rank": 0.456, "agreement": "poor"} for each in ("without", "fitted")}
    return json.dumps(
        {"workload": name, "fitted": steps, "held_out": {"logged": waits, **replays}, "helped": helped, "before": 1.0}
    )


def test_what_was_printed_is_kept_a_row_per_log_and_shown(limits: ModuleType, tmp_path: Path) -> None:
    texts = {
        "a": printed("KTH-SP2-1996-2.1-cln", ("user", 90, True), ("queue", 97, False), helped=True),
        "b": printed("UniLu-Gaia", ("queue", 95, True), helped=False),
        "c": printed("SDSC", ("queue", 50, False), helped=False),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    kept = limits.keep([tmp_path / name for name in texts], tmp_path / "limits.csv")
    made = limits.made(kept)
    head, *rows = made["limits_caps"]().splitlines()
    replays = [f"{name}, {replay}" for name in ("median", "ranks") for replay in ("logged", "without", "fitted")]
    replays.remove("ranks, logged")
    assert head == f"| log | caps taken (percentile) | {' | '.join(replays)} |"
    assert rows == [
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| KTH-SP2-1996-2.1 | 2 users (90) | 0.12 | 0.12 | 0.12 | 0.46 | 0.46 |",
        "| UniLu-Gaia | 2 queues (95), not used | 0.12 | 0.12 | 0.12 | 0.46 | 0.46 |",
        "| SDSC | none | 0.12 | 0.12 | 0.12 | 0.46 | 0.46 |",
    ]
    assert made["limits_waits"]().splitlines()[2] == (
        "| KTH-SP2-1996-2.1 | 1.23 | 1.23 | 1.23 | 9.9 | 9.9 | 9.9 | poor | poor |"
    )


def test_the_page_shows_each_table_and_says_of_how_many_logs_it_holds(limits: ModuleType) -> None:
    page = (DOCS / "results" / "limits.md").read_text("utf-8")
    marks = re.findall(r"^<!-- made: (\w+) -->$", page, re.MULTILINE)
    assert sorted(marks) == sorted(limits.made())
    rows = limits.rows_of(limits.KEPT)
    matching = [sum(row[f"{replay}_agreement"] != "poor" for row in rows) for replay in ("fitted", "without")]
    assert (len(rows), matching) == (7, [6, 2])
    apart = [
        [abs(float(row[f"{replay}_mean_h"]) - float(row["logged_mean_h"])) for replay in ("fitted", "without")]
        for row in rows
    ]
    assert sum(fitted <= without / 2 for fitted, without in apart) == 5
