"""Limits fitted to logs: a CSV file of the repository, and what the page of results shows of it.

``schedlab calibrate --json`` prints what was fitted to a log; ``python docs/_site/limits.py FILE...`` keeps that of
several logs, one row each, as ``docs/results/limits.csv``. The page shows it at ``<!-- made: limits_waits -->`` and
``<!-- made: limits_taken -->``.
"""

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from claims import line_of, rows_of

from experiments.inputs import count_of
from experiments.studies.naming import log_name

KEPT = Path(__file__).resolve().parent.parent / "results" / "limits.csv"
_REPLAYS = ("logged", "without", "fitted")
_TABLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "waits": (("mean_h", ".2f"), ("p95_h", ".1f"), ("agreement", "")),
    "taken": (("taken", ""), ("median_h", ".2f"), ("rank", ".2f")),
}
"""What each table shows, with the format of its numbers."""
_HEADINGS = {"mean_h": "mean", "p95_h": "95 %", "median_h": "median", "rank": "ranks", "agreement": "the replay is"}
_TEXTS = ("taken", "agreement")


def keep(files: Sequence[Path], kept: Path = KEPT) -> Path:
    """Write what `calibrate` printed of several logs to a table of the repository, and return its path."""
    rows = [_row(json.loads(file.read_text("utf-8"))) for file in files]
    with kept.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return kept


def _row(found: Mapping[str, Any]) -> dict[str, object]:
    """Return the row of a log: what was taken, and waits and nearness by replay."""
    taken = ", ".join(_named(step) for step in found["fitted"] if step["taken"]) or "nothing"
    held_out = {f"{replay}_{name}": value for replay in _REPLAYS for name, value in found["held_out"][replay].items()}
    return {"log": log_name(found["workload"]), "taken": taken, **held_out}


def _named(step: Mapping[str, Any]) -> str:
    """Return what was taken, in a few words."""
    if "cores" in step:
        return f"{step['cores']:,} cores in service"
    if "priorities" in step:
        return f"priorities of {count_of(len(step['priorities']), step['by'])}"
    return f"caps of {count_of(len(step['caps']), step['by'])} ({step['percentile']})"


def made(kept: Path = KEPT) -> dict[str, Callable[[], str]]:
    """Return what makes the tables, by the names of their marks."""
    return {f"limits_{name}": partial(_shown, kept, name) for name in _TABLES}


def _shown(kept: Path, name: str) -> str:
    """Return a table of the kept rows."""
    rows = rows_of(kept)
    columns = [(column, form) for part, form in _TABLES[name] for column in rows[0] if column.endswith(part)]
    lines = [line_of(["log", *(_heading(column) for column, _ in columns)])]
    lines.append(line_of(["---", *("---" if column.endswith(_TEXTS) else "---:" for column, _ in columns)]))
    lines += [line_of([row["log"], *(_cell(row[column], form) for column, form in columns)]) for row in rows]
    return "\n".join(lines)


def _heading(column: str) -> str:
    """Return what heads a column."""
    replay, _, part = column.partition("_")
    return f"{_HEADINGS[part]}, {replay}" if part else "taken (percentile)"


def _cell(text: str, form: str) -> str:
    """Return a value as the tables show it."""
    return f"{float(text):{form}}" if form and text else text


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python docs/_site/limits.py FILE...: what `schedlab calibrate --json` printed of each log")
    print(f"wrote {keep([Path(name) for name in sys.argv[1:]])}")
