"""``run``: its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.option import DESIGN, OUT, RUN, Against, Force, Json, Option, Scale, Seed, StudyEngine, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What `run` is asked.

    Parameters
    ----------
    study
        A name (see schedlab list studies), or a file: my_study.py (my_study.py:Class if it has several), my_study.toml.
    workload
        The log, or logs, of a study that needs some: --set workload=FILE,...; cross takes --set log=FILE, borg=,
        workflow_files= and series= instead.
    variant
        The variants of a study that has some: --set variant=NAME,...
    chosen
        Change a parameter, the levels of a factor (separated by commas), or the replications; repeatable.
    retry_failed
        Run cells again that failed before.
    dask
        A dask scheduler to run the cells: tcp://host:8786.
    shard
        Run only the I-th of N parts of the cells.
    cell_timeout_s
        The time limit of a cell; a longer one is stopped and recorded as failed. The first one on a machine may compile
        for 20 s. Not with --workers 0.
    out
        The campaign's folder; cells that are done there are not run again.
    """

    study: Annotated[str, Option("", "STUDY", known="studies")]
    scale: Scale = "small"
    workload: Annotated[tuple[str, ...] | None, Option(DESIGN, "FILE,...", flags=("--workload", "-w"))] = None
    variant: Annotated[str | None, Option(DESIGN, "NAME,...", "the study's own")] = None
    chosen: Annotated[
        tuple[str, ...], Option(DESIGN, "NAME=VALUE", "the study's own", ("--set", "-s"), parse=tuple)
    ] = ()
    retry_failed: Annotated[bool, Option(DESIGN)] = False
    seed: Seed = 0
    engine: StudyEngine = None
    workers: Workers = None
    dask: Annotated[str | None, Option(RUN, "ADDRESS")] = None
    shard: Annotated[str, Option(RUN, "I/N")] = "1/1"
    cell_timeout_s: Annotated[float | None, Option(RUN, "SECONDS")] = None
    out: Annotated[Path | None, Option(OUT, "FOLDER", "results/STUDY")] = None
    force: Force = False
    against: Against = None
    json: Json = False


COMMAND: Final = command(
    Run,
    "experiments.campaigning:run_study",
    examples=(
        "schedlab run selection --scale smoke",
        "schedlab run replay --scale smoke --workload log.swf -s order=FCFS,SAF -s window_days=7",
        "schedlab run my_study.py --scale smoke --out results/first",
    ),
)
