"""``reproduce``: its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.option import IN, OUT, Against, Force, Json, Option, Scale, Seed, StudyEngine, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduce:
    """What `reproduce` is asked.

    Parameters
    ----------
    workload
        Logs for the studies regression and selection.
    borg
        Slices of Borg's trace for the study capacity, at least two: one gives the risks of the next.
    out
        The folder of the page and the four campaigns.
    """

    scale: Scale = "small"
    workload: Annotated[tuple[str, ...], Option(IN, "FILE,...", "generated workloads", ("--workload", "-w"))] = ()
    borg: Annotated[tuple[str, ...], Option(IN, "FILE,...", "generated workloads")] = ()
    seed: Seed = 0
    engine: StudyEngine = None
    workers: Workers = None
    out: Annotated[Path, Option(OUT, "FOLDER")] = Path("results/reproduction")
    force: Force = False
    against: Against = None
    json: Json = False


COMMAND: Final = command(
    Reproduce,
    "experiments.reproducing:reproduce",
    examples=("schedlab reproduce --scale smoke", "schedlab reproduce --scale smoke --workers 2"),
)
