"""The command line of campaigns: the options of `run`, `reproduce`, `advise`, `report` and `new`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from experiments import cli_options as options
from experiments.cli_options import IN, OUT, RUN, flag, of
from experiments.cli_output import cli_command

if TYPE_CHECKING:
    from experiments.inputs import WorkloadFile

_DESIGN: Final = "What is run"

_Workers = Annotated[
    int | None,
    of(RUN, "N", "The number of processes; 0: none but this one.", "one per core", flags=("--workers", "-j")),
]
_Scale = Annotated[
    str,
    of(_DESIGN, "NAME", "The size of the design: smoke, small or paper.", known=("smoke", "small", "paper")),
]
_Engine = Annotated[
    str | None,
    of(RUN, "auto|simpy|compiled", "The engine of a study's simulations; all give the same rows.", "auto"),
]


@cli_command
def run(
    *,
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A name (see schedlab list studies), or a file: my_study.py, my_study.toml.",
            autocompletion=options.completion("studies"),
        ),
    ],
    scale: _Scale = "small",
    workload: Annotated[
        list[str] | None,
        of(
            _DESIGN,
            "FILE,...",
            "The log, or logs, of a study that needs some: --set workload=FILE,...",
            flags=("--workload", "-w"),
        ),
    ] = None,
    variant: Annotated[
        str | None,
        of(_DESIGN, "NAME,...", "The variants of a study that has some: --set variant=NAME,...", "the study's own"),
    ] = None,
    chosen: Annotated[
        list[str] | None,
        of(
            _DESIGN,
            "NAME=VALUE",
            "Change a parameter, the levels of a factor (separated by commas), or the replications; repeatable.",
            "the study's own",
            flags=("--set", "-s"),
        ),
    ] = None,
    retry_failed: Annotated[bool, flag(_DESIGN, "Run cells again that failed before.", "--retry-failed")] = False,
    seed: options.Seed = 0,
    engine: _Engine = None,
    workers: _Workers = None,
    dask: Annotated[str | None, of(RUN, "ADDRESS", "A dask scheduler to run the cells: tcp://host:8786.")] = None,
    shard: Annotated[str, of(RUN, "I/N", "Run only the I-th of N parts of the cells.")] = "1/1",
    cell_timeout: Annotated[
        float | None,
        of(RUN, "SECONDS", "The time limit of a cell; a longer one is stopped and recorded as failed."),
    ] = None,
    out: Annotated[
        Path | None,
        of(OUT, "FOLDER", "The campaign's folder; cells that are done there are not run again.", "results/STUDY"),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> int:
    """Run a study: the cells that are not done yet, then tables, figures, claims and a report."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models
    from experiments.inputs import parts  # noqa: PLC0415  the same

    return campaigning.run_study(
        study,
        scale=scale,
        seed=seed,
        settings=[
            *(chosen or ()),
            *(f"{name}={value}" for name, value in {"variant": variant, "engine": engine}.items() if value is not None),
        ],
        workloads=None if workload is None else parts(workload),
        workers=workers,
        dask=dask,
        shard=shard,
        retry_failed=retry_failed,
        cell_timeout_s=cell_timeout,
        out=out,
        command=["schedlab", *sys.argv[1:]],
        force=force,
        json=json,
    )


@cli_command
def reproduce(
    *,
    scale: _Scale = "small",
    workload: Annotated[
        list[str] | None,
        of(
            IN,
            "FILE,...",
            "Logs for the studies regression and selection.",
            "generated workloads",
            flags=("--workload", "-w"),
        ),
    ] = None,
    borg: Annotated[
        list[str] | None,
        of(
            IN,
            "FILE,...",
            "Slices of Borg's trace for the study capacity, at least two: one gives the risks of the next.",
            "generated workloads",
        ),
    ] = None,
    seed: options.Seed = 0,
    engine: _Engine = None,
    workers: _Workers = None,
    out: Annotated[Path, of(OUT, "FOLDER", "The folder of the page and the four campaigns.")] = Path(
        "results/reproduction"
    ),
    force: options.Force = False,
    json: options.Json = False,
) -> int:
    """Reproduce the four papers: run their studies, then write one page that links the four reports."""
    from experiments import reproducing  # noqa: PLC0415  the help does not wait for the models
    from experiments.inputs import parts  # noqa: PLC0415  the same

    return reproducing.reproduce(
        scale=scale,
        seed=seed,
        logs=parts(workload),
        borg=parts(borg),
        engine=engine,
        workers=workers,
        out=out,
        command=["schedlab", *sys.argv[1:]],
        force=force,
        json=json,
    )


@cli_command
@options.takes_log(clean="strong,ends", without=("drop_oversized", "flops_per_s"))  # the study's; a test compares
def advise(
    *,
    log: "WorkloadFile",
    current: Annotated[
        str, of(IN, "ORDER", "The order that the cluster has now; auto infers it from the waits in the log.")
    ] = "FCFS",
    node_cores: Annotated[int, of(IN, "N", "The cores of a node, for the size factor of Slurm's priority.")] = 1,
    scale: _Scale = "small",
    seed: options.Seed = 0,
    workers: _Workers = None,
    out: Annotated[Path, of(OUT, "FOLDER", "The folder of the page and its tables.")] = Path("results/advice"),
    force: options.Force = False,
    json: options.Json = False,
) -> int:
    """Find the order and the threshold that would have been best on your log, and how certain that is."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

    return campaigning.advise(
        log,
        current=current,
        node_cores=node_cores,
        scale=scale,
        seed=seed,
        workers=workers,
        out=out,
        command=["schedlab", *sys.argv[1:]],
        force=force,
        json=json,
    )


@cli_command
def report(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a campaign.")],
    study: Annotated[
        str | None, of(_DESIGN, "STUDY", "The study of the campaign, as for run.", "the one that the folder names")
    ] = None,
    trust: Annotated[
        bool,
        flag(
            _DESIGN,
            "Run the code that the folder names, even if you have not run it before as it is.",
            "--trust",
        ),
    ] = False,
    json: options.Json = False,
) -> int:
    """Write tables, figures, claims and the report of a campaign, from the cells that are done."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

    return campaigning.report_on(folder, study=study, trust=trust, json=json)


@cli_command
def new(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the study: letters, digits and _.")],
    toml: Annotated[
        bool, flag(_DESIGN, "Write a TOML file that extends a study, instead of Python.", "--toml")
    ] = False,
) -> int:
    """Write the skeleton of a study, NAME.py or NAME.toml, that runs as it is."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

    return campaigning.new_study(name, toml=toml)
