"""``demo``: its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.option import IN, OUT, Force, Json, Option, Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What `demo` is asked.

    Parameters
    ----------
    jobs
        The number of jobs.
    cores
        The cores of the machine.
    load
        The load of the workload, a share of all cores, such as 0.9.
    out
        The folder of tables, figures and provenance.
    """

    jobs: Annotated[int, Option(IN)] = 10_000
    cores: Annotated[int, Option(IN)] = 256
    load: Annotated[float | None, Option(IN, "PART", "that of the model")] = None
    seed: Seed = 0
    out: Annotated[Path, Option(OUT, "FOLDER")] = Path("results/demo")
    force: Force = False
    json: Json = False


COMMAND: Final = command(
    Demo,
    "experiments.cli.compare:demo",
    examples=("schedlab demo", "schedlab demo --jobs 500 --cores 64 --seed 1 --out demo"),
)
