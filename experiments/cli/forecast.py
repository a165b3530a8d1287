"""``forecast``: its options, among them those of queues."""

import inspect
import sys
from typing import Annotated, Any, Final

from experiments import cli_options as options
from experiments.cli_derived import Derived, derived
from experiments.cli_help import Command, examples
from experiments.cli_options import of
from experiments.cli_output import cli_command
from experiments.cli_simulate import commands_app
from experiments.inputs import WorkloadFile
from simmodels.policies.queue_options import QueueOptions

__all__ = ["commands_app"]  # with `forecast` entered: see `cli.late_command`

_ASKED: Final = "What is asked"
_QUEUE: Final[dict[str, Derived]] = derived(kinds=(QueueOptions,))


@options.takes_log()
def _own(
    *,
    log: WorkloadFile,
    at: Annotated[str, of(_ASKED, "TIME", "The time of the forecast: since the log's zero (40d), or a date.")],
    job: Annotated[int | None, of(_ASKED, "ID", "A job that waits at this time.")] = None,
    new: Annotated[str | None, of(_ASKED, "CORES,LIMIT", "Or a job submitted at this time, such as 16,4h.")] = None,
    user: Annotated[int | None, of(_ASKED, "N", "The user of the new job, for orders that depend on it.")] = None,
    futures: Annotated[int, of(_ASKED, "N", "The number of futures drawn.")] = 1000,
    seed: options.Seed = 0,
    json: options.Json = False,
    **given: Any,  # noqa: ANN401  options of the queue
) -> int:
    """Forecast when a job will start, from the queue at one time and futures drawn from the log's past."""
    from experiments import forecast_answer  # noqa: PLC0415  the help does not wait for the models

    return forecast_answer.forecast(
        log,
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
    """Return a command with the options of the function and those of queues."""
    own = [each for each in inspect.signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    at = next(place for place, each in enumerate(own) if each.name == "seed")
    function.__signature__ = inspect.Signature([*own[:at], *(each.parameter for each in _QUEUE.values()), *own[at:]])
    return cli_command(function)


commands_app.command(
    "forecast",
    cls=Command,
    epilog=examples(
        "schedlab forecast --workload log.swf --at 1d --new 16,4h",
        "schedlab forecast --workload log.swf --at 1d --new 16,4h --order SAF --futures 200 --json",
    ),
)(_with_queue(_own))
