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


def printed(name: str, *steps: dict[str, object]) -> str:
    """Return what `calibrate --json` prints of a log, with its figures and steps."""
    waits = {"mean_h": 1.234, "median_h": 0.125, "p95_h": 9.87}
    replays = {each: {**waits, "rank": 0.456, "agreement": "poor"} for each in ("without", "fitted")}
    return json.dumps({"workload": name, "fitted": steps, "held_out": {"logged": waits, **replays}, "before": 1.0})


def caps(by: str, percentile: int, *, taken: bool) -> dict[str, object]:
    """Return caps of two values of a column."""
    rows = [{"value": value, "cores": 4} for value in (1, 2)]
    return {"by": by, "percentile": percentile, "taken": taken, "caps": rows}


def test_what_was_printed_is_kept_a_row_per_log_and_shown(limits: ModuleType, tmp_path: Path) -> None:
    priorities = {"by": "queue", "taken": True, "priorities": [{"value": value, "ahead_h": value} for value in (1, 2)]}
    cores = {"by": "", "taken": True, "cores": 1760}
    texts = {
        "a": printed("KTH-SP2-1996-2.1-cln", caps("user", 90, taken=True), caps("queue", 97, taken=False)),
        "b": printed("UniLu-Gaia", cores, priorities),
        "c": printed("SDSC", caps("queue", 50, taken=False)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    kept = limits.keep([tmp_path / name for name in texts], tmp_path / "limits.csv")
    made = limits.made(kept)
    head, *rows = made["limits_taken"]().splitlines()
    replays = [f"{name}, {replay}" for name in ("median", "ranks") for replay in ("logged", "without", "fitted")]
    replays.remove("ranks, logged")
    assert head == f"| log | taken (percentile) | {' | '.join(replays)} |"
    assert rows == [
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| KTH-SP2-1996-2.1 | caps of 2 users (90) | 0.12 | 0.12 | 0.12 | 0.46 | 0.46 |",
        "| UniLu-Gaia | 1,760 cores in service, priorities of 2 queues | 0.12 | 0.12 | 0.12 | 0.46 | 0.46 |",
        "| SDSC | nothing | 0.12 | 0.12 | 0.12 | 0.46 | 0.46 |",
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
    assert (len(rows), matching) == (7, [7, 2])
    apart = [
        [abs(float(row[f"{replay}_mean_h"]) - float(row["logged_mean_h"])) for replay in ("fitted", "without")]
        for row in rows
    ]
    assert all(fitted <= without / 2 for fitted, without in apart)
