"""``learn``: its options."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from experiments import cli_options as options
from experiments.cli_options import OUT, of
from experiments.cli_output import cli_command

if TYPE_CHECKING:
    from experiments.inputs import WorkloadFile

_LEARNING: Final = "How it is learned"


@cli_command
@options.takes_log()
def learn(
    *,
    log: "WorkloadFile",
    form: Annotated[
        str, of(_LEARNING, "FORM", "The polynomial to fit: lin, qdr, cub, qua, or monomials such as 1,p,q,pq.")
    ] = "lin",
    estimator: Annotated[
        str, of(_LEARNING, "NAME", "How the score of a job is estimated from its trials: stratified or published.")
    ] = "stratified",
    pairs: Annotated[int, of(_LEARNING, "N", "The number of pairs of job sets.")] = 440,
    trials: Annotated[int, of(_LEARNING, "N", "The number of trials of each pair.")] = 32_768,
    learn_on: Annotated[float, of(_LEARNING, "PART", "The share of the log, from its beginning, to learn from.")] = 0.5,
    window_days: Annotated[float, of(_LEARNING, "DAYS", "The length of the windows held out for the test.")] = 15.0,
    backfilling: options.Backfilling = "easy",
    warm_jobs: options.WarmJobs = 16,
    seed: options.Seed = 0,
    tau: options.Tau = 10.0,
    out: Annotated[Path, of(OUT, "FILE", "The file of the order: .toml or .json.")] = Path("fit.toml"),
    json: options.Json = False,
) -> int:
    """Learn an order from a log by permutation trials, and test it on windows held out."""
    from experiments import learning  # noqa: PLC0415  the help does not wait for the models

    return learning.learn(
        log,
        learning.learning_settings(
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
