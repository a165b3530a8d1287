"""``learn``: its options."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from experiments import cli_options as options
from experiments.answering import answering

_PANEL: Final = "How it is learned"


@answering
def learn(
    *,
    workload: options.Workload,
    form: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            rich_help_panel=_PANEL,
            help="What is fitted: lin, qdr, cub, qua, or monomials such as 1,p,q,pq.",
        ),
    ] = "lin",
    out: Annotated[
        Path, typer.Option(metavar="FILE", rich_help_panel=options.FILES, help="The file of the order: .toml or .json.")
    ] = Path("fit.toml"),
    cores: options.Cores = None,
    clean: options.Clean = None,
    drop_oversized: options.DropOversized = False,
    partition: options.Partition = None,
    timezone: options.Timezone = None,
    estimator: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=_PANEL, help="How scores are made: stratified, published.")
    ] = "stratified",
    pairs: Annotated[int, typer.Option(metavar="N", rich_help_panel=_PANEL, help="How many pairs of job sets.")] = 440,
    trials: Annotated[int, typer.Option(metavar="N", rich_help_panel=_PANEL, help="Trials of each pair.")] = 32_768,
    learn_on: Annotated[
        float, typer.Option(metavar="PART", rich_help_panel=_PANEL, help="The part of the log that is learned from.")
    ] = 0.5,
    window_days: Annotated[
        float, typer.Option(metavar="DAYS", rich_help_panel=_PANEL, help="The length of the windows held out.")
    ] = 15.0,
    backfilling: options.Backfilling = "easy",
    warm_jobs: options.WarmJobs = 16,
    seed: options.Seed = 0,
    tau: options.Tau = 10.0,
    json: options.Json = False,
) -> int:
    """Learn an order from a log by permutation trials, and say how it does on windows held out."""
    from experiments import inputs, learning  # noqa: PLC0415  the help does not wait for the models

    return learning.learn(
        inputs.WorkloadFile(
            path=workload,
            cores=cores,
            filters=options.parts(clean),
            drop_oversized=drop_oversized,
            partitions=options.parts(partition),
            timezone=timezone,
        ),
        learning.made_lesson(
            form=form,
            estimator=estimator,
            pairs=pairs,
            trials=trials,
            learn_on=learn_on,
            window_days=window_days,
            backfilling=backfilling,
            warm_jobs=warm_jobs,
            tau_s=tau,
            seed=seed,
        ),
        out=out,
        command=["schedlab", *sys.argv[1:]],
        json=json,
    )
