"""The windows of the regression study's oracles: what both of its tests read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from simmodels.work.workload import Workload

WINDOWS = ("W1_lublin1024_authors", "W2_lublin256_win5")
DEPTHS = {None: "emulator_delta0_full_queue", 32: "emulator_delta0_window32"}
ORDERS = ("FCFS", "SAF", "WFP3", "UNICEF", "F1", "F2", "F3", "F4", "LIN")


class Window:
    """One window: its jobs by mode, what is said of it, and what the emulator found, by mode and policy."""

    def __init__(self, folder: Path, name: str) -> None:
        table = pd.read_csv(folder / f"{name}.input.csv.gz")
        self.jobs = {
            mode: Workload(np.arange(len(table)), table["r"], table["p"], table[estimate], table["q"])
            for mode, estimate in (("actual", "p"), ("est", "est"))
        }
        self.meta = json.loads((folder / f"{name}.meta.json").read_text())
        self.found = pd.read_csv(folder / f"{name}.avgbsld.csv").set_index(["mode", "policy"])
        self.options = {"cores": self.meta["m"], "warm_jobs": self.meta["state_jobs"]}
