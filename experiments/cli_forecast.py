"""``forecast``: its options, among them those of queues."""

import inspect
import sys
from typing import Annotated, Any, Final

import typer

from experiments import cli_options as options
from experiments.answering import answering
from experiments.cli_derived import Derived, derived
from experiments.cli_simulate import commands_app
from simmodels.policies.queue_options import QueueOptions

__all__ = ["commands_app"]  # with `forecast` entered: see `cli.late_command`

_ASKED: Final = "What is asked"
_QUEUE: Final[dict[str, Derived]] = derived(kinds=(QueueOptions,))


def _own(
    *,
    workload: options.Workload,
    at: Annotated[
        str,
        typer.Option(
            metavar="TIME", rich_help_panel=_ASKED, help="The instant: since the log's zero, as 40d, or a date."
        ),
    ],
    job: Annotated[
        int | None, typer.Option(metavar="ID", rich_help_panel=_ASKED, help="Which job: one that waits then.")
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(metavar="CORES,LIMIT", rich_help_panel=_ASKED, help="Or one that is submitted then, as 16,4h."),
    ] = None,
    user: Annotated[
        int | None,
        typer.Option(metavar="N", rich_help_panel=_ASKED, help="Whose the new one is, for orders that name the user."),
    ] = None,
    futures: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=_ASKED, help="How many futures are drawn.")
    ] = 1000,
    cores: options.Cores = None,
    clean: options.Clean = None,
    drop_oversized: options.DropOversized = False,
    partition: options.Partition = None,
    timezone: options.Timezone = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    **given: Any,  # noqa: ANN401  options of the queue
) -> int:
    """Say when a job will start: from the state of the queue at an instant, and futures drawn from the log's past."""
    from experiments import forecast_answer, inputs  # noqa: PLC0415  the help does not wait for the models

    return forecast_answer.forecast(
        inputs.WorkloadFile(
            path=workload,
            cores=cores,
            filters=options.parts(clean),
            drop_oversized=drop_oversized,
            partitions=options.parts(partition),
            timezone=timezone,
        ),
        at=at,
        job=job,
        new=new,
        user=user,
        futures=futures,
        options={_QUEUE[name].name: _QUEUE[name].parse(value) for name, value in given.items() if value is not None},
        seed=seed,
        command=["schedlab", *sys.argv[1:]],
        json=json,
    )


def _with_queue(function: Any) -> Any:  # noqa: ANN401  typer reads the signature
    """Return a command whose options are those of the function, and those of queues."""
    own = [each for each in inspect.signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    function.__signature__ = inspect.Signature([*own, *(each.parameter for each in _QUEUE.values())])
    return answering(function)


commands_app.command("forecast")(_with_queue(_own))
