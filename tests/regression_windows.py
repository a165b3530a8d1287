"""The windows of the regression study's oracles: what both of its tests read."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

WINDOWS = ("W1_lublin1024_authors", "W2_lublin256_win5")
DEPTHS = {None: "emulator_delta0_full_queue", 32: "emulator_delta0_window32"}
ORDERS = ("FCFS", "SAF", "WFP3", "UNICEF", "F1", "F2", "F3", "F4", "LIN")


def read_window(folder: Path, name: str) -> tuple[pd.DataFrame, dict[str, Any], pd.DataFrame]:
    """Return the jobs of a window, what is said of it, and what the emulator found, by mode and policy."""
    jobs = pd.read_csv(folder / f"{name}.input.csv.gz")
    found = pd.read_csv(folder / f"{name}.avgbsld.csv").set_index(["mode", "policy"])
    return jobs, json.loads((folder / f"{name}.meta.json").read_text()), found
