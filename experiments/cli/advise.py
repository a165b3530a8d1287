"""``advise``: its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.inputs import WorkloadFile
from experiments.option import FITTED, IN, OUT, Force, Group, Json, Option, Scale, Seed, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Advise:
    """What `advise` is asked.

    Parameters
    ----------
    current
        The policy that the cluster has now: an order with EASY backfilling, FCFS without backfilling (or with greedy or
        conservative backfilling), or auto, which infers it from the waits in the log.
    limits
        Limits under which the log is replayed: a file, fitted (to the log), none, or auto: fitted where that brings the
        replay nearer to the log.
    node_cores
        The cores of a node, for the size factor of Slurm's priority.
    out
        The folder of the page and its tables.
    """

    log: Annotated[
        WorkloadFile,
        Group(without=("drop_oversized", "flops_per_s"), defaults={"filters": "strong,ends"}),  # the study's
    ]
    current: Annotated[str, Option(IN, "ORDER")] = "FCFS"
    limits: Annotated[str, Option(IN, f"FILE|{FITTED}|none")] = "auto"
    node_cores: Annotated[int, Option(IN)] = 1
    scale: Scale = "small"
    seed: Seed = 0
    workers: Workers = None
    out: Annotated[Path, Option(OUT, "FOLDER")] = Path("results/advice")
    force: Force = False
    json: Json = False


COMMAND: Final = command(
    Advise,
    "experiments.campaigning:advise",
    examples=(
        "schedlab advise --workload log.swf",
        "schedlab advise --workload log.swf --current auto --out results/mine",
    ),
)
