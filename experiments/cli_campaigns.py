"""The command line of campaigns: the commands and options of `run`, `report` and `new`; see `experiments.cli`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments import cli_options as options
from experiments.answering import answering
from experiments.cli_options import of, parts

_DESIGN, _WHERE, _ANSWER = "What is run", "Where it is run", "What comes out"

_Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=_ANSWER, help="Print one JSON object, and nothing else, to stdout.")
]


_Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "-j",
        metavar="N",
        rich_help_panel=_WHERE,
        help="How many processes; 0: in this one.",
        show_default="one a core",
    ),
]
_Scale = Annotated[str, typer.Option(metavar="NAME", rich_help_panel=_DESIGN, help="How large: smoke, small or paper.")]
_Seed = Annotated[int, typer.Option(metavar="N", rich_help_panel=_DESIGN, help="The seed of all that is drawn.")]

_Engine = Annotated[
    str | None,
    of(
        _DESIGN,
        "auto|simpy|compiled",
        "The clock of a study's simulations: --set engine=NAME. Both give the same rows.",
        "auto",
    ),
]


@answering
def run(
    *,
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="A name (see list), or a file: my_study.py, my_study.toml.")
    ],
    scale: _Scale = "small",
    seed: _Seed = 0,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            metavar="NAME=VALUE",
            rich_help_panel=_DESIGN,
            help="Another value of a parameter, others of a factor (comma-separated), or of replications.",
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            "-w",
            metavar="FILE,...",
            rich_help_panel=_DESIGN,
            help="The log, or logs, of a study that takes some: --set workload=FILE,...",
        ),
    ] = None,
    engine: _Engine = None,
    variant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            rich_help_panel=_DESIGN,
            help="The variant, or variants, of a study that has some: --set variant=NAME,...",
        ),
    ] = None,
    workers: _Workers = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", rich_help_panel=_WHERE, help="A running dask scheduler: tcp://host:8786."),
    ] = None,
    shard: Annotated[
        str, typer.Option(metavar="I/N", rich_help_panel=_WHERE, help="Only the I-th of N parts of the cells.")
    ] = "1/1",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", rich_help_panel=_DESIGN, help="Run cells again that failed before.")
    ] = False,
    cell_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            rich_help_panel=_WHERE,
            help="How long a cell may run; one that runs longer is ended, and recorded as failed.",
            show_default="as long as it takes",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            rich_help_panel=_ANSWER,
            help="The campaign's folder; what is there is not run again.",
            show_default="results/STUDY",
        ),
    ] = None,
    json: _Json = False,
) -> int:
    """Run a study's cells that are not done yet, then write its tables, figures, claims and report."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

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
        json=json,
    )


@answering
def reproduce(
    *,
    scale: _Scale = "small",
    seed: _Seed = 0,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            "-w",
            metavar="FILE,...",
            rich_help_panel=_DESIGN,
            help="Logs for regression and selection: those of the papers cannot be generated.",
        ),
    ] = None,
    borg: Annotated[
        list[str] | None,
        of(_DESIGN, "FILE,...", "Slices of Borg's trace for capacity, at least two: one says the risks of the next."),
    ] = None,
    engine: _Engine = None,
    workers: _Workers = None,
    out: Annotated[
        Path,
        of(_ANSWER, "FOLDER", "The folder for the page and the four campaigns."),
    ] = Path("results/reproduction"),
    json: _Json = False,
) -> int:
    """Reproduce the four papers: run their studies, then write a page that links the four reports."""
    from experiments import reproducing  # noqa: PLC0415  the help does not wait for the models

    return reproducing.reproduce(
        scale=scale,
        seed=seed,
        logs=parts(workload),
        borg=parts(borg),
        engine=engine,
        workers=workers,
        out=out,
        command=["schedlab", *sys.argv[1:]],
        json=json,
    )


@answering
def advise(
    *,
    workload: Annotated[
        Path,
        typer.Option(
            "--workload",
            "-w",
            metavar="FILE",
            rich_help_panel=_DESIGN,
            help="Your log: in the Standard Workload Format, or what sacct printed.",
        ),
    ],
    cores: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=_DESIGN,
            help="The size of the machine.",
            show_default="the one that the file says",
        ),
    ] = None,
    clean: Annotated[
        str | None,
        typer.Option(
            metavar="FILTER,...",
            rich_help_panel=_DESIGN,
            help="Drop or mend jobs by filters; see list.",
            show_default="strong,ends",  # the study's own; a test compares them
        ),
    ] = None,
    current: Annotated[
        str,
        typer.Option(
            metavar="ORDER", rich_help_panel=_DESIGN, help="The order that you have now; auto finds it in the waits."
        ),
    ] = "FCFS",
    partition: options.Partition = None,
    timezone: options.Timezone = None,
    node_cores: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=_DESIGN, help="The cores of a node, for Slurm's size factor.")
    ] = 1,
    scale: _Scale = "small",
    seed: _Seed = 0,
    workers: _Workers = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", rich_help_panel=_ANSWER, help="The folder for the page and its tables.")
    ] = Path("results/advice"),
    json: _Json = False,
) -> int:
    """Say which order and threshold would have been best on a log of yours, and how sure that is."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

    return campaigning.advise(
        workload,
        cores=cores,
        clean=clean,
        current=current,
        node_cores=node_cores,
        partition=options.parts(partition),
        timezone=timezone,
        scale=scale,
        seed=seed,
        workers=workers,
        out=out,
        command=["schedlab", *sys.argv[1:]],
        json=json,
    )


@answering
def report(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a campaign.")],
    study: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY", help="The study of the campaign, as for run.", show_default="the one that the folder names"
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run the code that the folder names, though it is not in the current folder or has changed."
        ),
    ] = False,
    json: _Json = False,
) -> int:
    """Write tables, figures, claims and the one-page report of a campaign, as far as it is done."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

    return campaigning.report_on(folder, study=study, trust=trust, json=json)


@answering
def new(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the study is called: letters, digits and _.")],
    toml: Annotated[bool, typer.Option("--toml", help="A TOML file instead, on the grounds of a study.")] = False,
) -> int:
    """Write the skeleton of a study, NAME.py or NAME.toml, that runs as it is."""
    from experiments import campaigning  # noqa: PLC0415  the help does not wait for the models

    return campaigning.new_study(name, toml=toml)
