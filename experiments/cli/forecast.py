"""``forecast``: when a job will start, and how certain that is."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final

import numpy as np

from experiments.cli.derive import command
from experiments.cli.output import DONE, command_line, print_json, print_line, print_note, print_warning
from experiments.dates import instant_of, seconds_of
from experiments.fitting import with_fitted, without_effect
from experiments.forecasting import Futures, Present
from experiments.inputs import WorkloadFile, count_of, notes_of
from experiments.levels import ENDS, LEAST, Levels
from experiments.option import Json, Models, Option, Seed
from experiments.policy import require_shares_used
from simmodels import HOUR, RequestError, Workload
from simmodels.clusters.rows import as_value, require_named
from simmodels.errors import must_be
from simmodels.ground.durations import seconds, span
from simmodels.ground.numbers import as_integer, as_number
from simmodels.policies.queue_options import QueueOptions

_PANEL: Final = "What is asked"
_MOST_FUTURES: Final = 100_000


def forecast(
    *,
    file: WorkloadFile,
    at: Annotated[float | datetime, Option(_PANEL)],
    job: Annotated[int | None, Option(_PANEL, "ID")] = None,
    new: Annotated[str | None, Option(_PANEL, "CORES,LIMIT[,COLUMN=VALUE]")] = None,
    futures: Annotated[int, Option(_PANEL)] = 1000,
    past: Annotated[int, Option(_PANEL)] = 100,
    options: Annotated[Mapping[str, Any], Models({QueueOptions: "Options of a queue"})],
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Say when a job will start; return the exit status.

    Parameters
    ----------
    at
        The time of the forecast: since the log's zero (40d), or a date (2026-11-24T12:00, in the log's time zone).
    job
        A job that waits at this time.
    new
        Or a job submitted at this time, such as 16,4h; with what orders or limits name of it: 16,4h,user=3,queue=1.
    futures
        The number of futures drawn.
    past
        The number of jobs of the past by whose forecasts intervals are corrected; 0 for none.
    """
    if (job is None) == (new is None):
        what = "there is no job to forecast" if job is None else "--job and --new exclude each other"
        raise RequestError(what, "give --job ID or --new CORES,LIMIT")
    as_integer("--futures", futures, 1, _MOST_FUTURES)
    as_integer("--past", past, 0, _MOST_FUTURES)
    log = file.read()
    for line in notes_of(log.counts):
        print_note(line)
    log = log.take(np.argsort(log.submit_s, kind="stable"))
    at_s = _instant(at, log)
    options, used = with_fitted(options, log, print_note, until_s=at_s)
    cores = used.cores or log.max_cores or 1
    chosen = QueueOptions.checked(**used.ordered(options))
    for line in without_effect(options.get("limits"), [chosen.order], log):
        print_warning(line)
    require_shares_used(options, [chosen])
    present = Futures(log, cores=cores, options=chosen, seed=seed).go_to(at_s)
    workers = os.cpu_count() or 1
    answer: dict[str, object]
    if job is not None:
        place = present.place_of(job)
        one = _Asked(
            f"job {job}", int(present.snapshot.jobs.cores[place]), float(present.snapshot.jobs.estimate_s[place])
        )
        found = present.forecast(job, futures=futures, workers=workers)
        by_limits_h = (present.by_limits(job) - at_s) / HOUR
        compared = f"If all ran as long as their limits, and no further job came: in {span(by_limits_h)}."
        answer = {"by_limits_h": by_limits_h}
    else:
        one = _new(str(new), cores, log)
        found, shorter = (
            present.forecast_new(one.cores, limit_s, columns=one.columns, futures=futures, workers=workers)
            for limit_s in (one.limit_s, one.limit_s / 2)
        )
        earlier_h = float(np.median(found.starts_s - shorter.starts_s)) / HOUR
        way = "earlier" if earlier_h > 0 else "later"
        sooner = f"{span(abs(earlier_h))} {way}" if earlier_h else "no earlier"
        compared = f"With a limit of {span(one.limit_s / 2 / HOUR)} it would start {sooner} (median)."
        answer = {"earlier_with_half_the_limit_h": earlier_h}
    levels = present.past_forecasts(past, workers=workers).levels(at_s)
    waits_s = found.waits_s(*levels.of(*ENDS))
    waits_h = {level: wait_s / HOUR for level, wait_s in zip(ENDS, waits_s, strict=True)}
    said = [_state(present, cores, str(chosen.about()["order"])), _when(one, waits_h, futures, levels), compared]
    if past:
        said.append(_correction(levels))
    if not present.past.weeks:
        said.append("No further jobs come in these futures: less than a week of the log has passed.")
    if json:
        about = {
            **chosen.about(),
            "counts": dict(log.counts),
            "workload": log.name,
            "command": command_line(),
            "at_s": at_s,
            "job": job,
            "cores": one.cores,
        }
        waits = {f"{100 * level:g} %": wait_h for level, wait_h in waits_h.items()}
        print_json(
            {**about, "limit_h": one.limit_s / HOUR, "futures": futures, "seed": seed, "waits_h": waits, **answer}
            | {"corrected": levels.count > 0, "past_forecasts": levels.count, "findings": said}
        )
    else:
        for sentence in said:
            print_line(sentence)
    return DONE


@dataclass(frozen=True, slots=True)
class _Asked:
    """The job that is asked about."""

    name: str
    cores: int
    limit_s: float
    columns: Mapping[str, float] = field(default_factory=dict)


def _state(present: Present, cores: int, order: str) -> str:
    """Say what waits and what runs."""
    runs = ~np.isnan(present.snapshot.start_s)
    used = int(present.snapshot.jobs.cores[runs].sum())
    return (
        f"At {span(present.at_s / HOUR)} of {present.past.log.name}, under {order}: {count_of(int(runs.sum()), 'job')} "
        f"on {used:,} of {cores:,} cores, and {count_of(int((~runs).sum()), 'job')} waiting."
    )


def _when(one: _Asked, waits_h: Mapping[float, float], futures: int, levels: Levels) -> str:
    """Say when the job starts."""
    least, low, middle, high, most = (span(waits_h[level]) for level in ENDS)
    asks = f"{count_of(one.cores, 'core')} with a limit of {span(one.limit_s / HOUR)}"
    by, half = f"the median of {count_of(futures, 'future')}", "half of them"
    if levels.count:
        by, half = f"{by}, corrected by {count_of(levels.count, 'forecast')} of the past", "half of such cases"
    return (
        f"{one.name.capitalize()}, of {asks}, starts in {middle}: {by}. In {half} it starts in {low} to {high}, in 90 "
        f"of 100 in {least} to {most}."
    )


def _correction(levels: Levels) -> str:
    """Say how right forecasts of the past were, or why they correct nothing."""
    if not levels.count:
        return (
            f"The intervals are not corrected: {count_of(levels.started, 'job')} had to wait before and "
            f"{'has' if levels.started == 1 else 'have'} started, and {LEAST} are needed."
        )
    low, *_, high = (levels.share_of(level) for level in ENDS)
    return (
        f"Without correction {100 * (high - low):.0f} of 100 such jobs of the past would have started within the "
        "interval for 90."
    )


def _instant(time: float | datetime, log: Workload) -> float:
    """Return a time in seconds since the log's zero; refuse what is not within the log (`RequestError`)."""
    at_s = seconds_of(log, time, "--at")
    first_s, last_s = float(log.submit_s.min()), float(log.submit_s.max())
    if not first_s <= at_s <= last_s:
        raise RequestError(
            f"--at {instant_of(log, at_s)} is not within {log.name}",
            f"choose a time from {instant_of(log, first_s)} to {instant_of(log, last_s)}",
        )
    return at_s


def _new(text: str, cores: int, log: Workload) -> _Asked:
    """Return a new job, from ``16,4h`` or ``16,4h,queue=1``; a value is a number, or a name that the log has.

    Raises
    ------
    RequestError
        The text is no such job, it is wider than the machine, or the log has not the name.
    """
    asks = must_be("--new", f"CORES,LIMIT[,COLUMN=VALUE], such as 16,4h, with 1 to {cores:,} cores", text)
    width, *others = (part.strip() for part in text.split(","))
    if not others or not width.isdecimal() or not 1 <= int(width) <= cores:
        raise RequestError(asks)
    limit, *given = others
    limit_s = seconds(limit, "the limit of --new")
    if limit_s <= 0:
        raise RequestError(must_be("--new", "CORES,LIMIT with a limit > 0", text))
    columns = dict[str, float]()
    for name, equals, value in (part.partition("=") for part in given):
        if not equals or name in columns:
            raise RequestError(asks)
        columns[name] = _value(name, value, log)
    return _Asked("a new job", int(width), limit_s, columns)


def _value(column: str, text: str, log: Workload) -> float:
    """Return the number that a text stands for in a column: that of the name, or the number itself."""
    names = {column: log.names(column)}
    if not names[column]:
        with suppress(ValueError):
            return as_number(f"{column} of --new", float(text))
    return require_named("parts of --new", names, column, as_value(f"{column} of --new", text))


COMMAND: Final = command(
    forecast,
    examples=(
        "schedlab forecast --workload log.swf --at 1d --new 16,4h",
        "schedlab forecast --workload log.swf --at 1d --new 16,4h --order SAF --futures 200 --json",
    ),
)
