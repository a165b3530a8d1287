"""``calibrate``: what a log shows of its queue, and how near replays with and without that are to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import pandas as pd
from rich.table import Table

from experiments.cli.derive import command
from experiments.cli.output import DONE, Steps, command_line, listing, print_json, print_line, print_note, print_table
from experiments.fitted import Fitted, Used
from experiments.fitting import fit
from experiments.inputs import WorkloadFile, introduced
from experiments.option import FITTED, OUT, Group, Json, Models, Option
from experiments.outputs import require_writable
from experiments.policy import require_shares_used
from simmodels.errors import RequestError
from simmodels.ground.cards import number
from simmodels.ground.files import ending_of, write_csv
from simmodels.policies.queue_options import QueueOptions
from simmodels.results.logged import AS_LOGGED


def calibrate(
    *,
    file: Annotated[WorkloadFile, Group(defaults={"filters": "strong,ends"})],
    chosen: Annotated[Mapping[str, Any], Models({QueueOptions: "Options of a queue"})],
    out: Annotated[Path | None, Option(OUT, "FILE")] = None,
    json: Json = False,
) -> int:
    """Fit a queue to a log, say what was taken and how much nearer the replay came; return the exit status.

    Parameters
    ----------
    out
        A file for the limits that were taken, .csv, as --limits reads it.
    """
    if "limits" in chosen:
        raise RequestError("--limits has no effect where limits are fitted", "omit it")
    options = QueueOptions.checked(**chosen)
    require_shares_used(chosen, [options])
    if out is not None:
        ending_of(out, (".csv",), "the name of the limits")
        require_writable([out], sources=[file.path])
    with Steps(None) as shown:
        shown.begin("reading the workload")
        log = file.read()
        fitted = fit(log, options, begin=shown.begin)
        for line in introduced(log, f"{log.max_cores:,} cores"):
            shown.print_note(line)
    if json:
        print_json({"workload": log.name, "command": command_line(), **options.about(), **fitted.table()})
    else:
        print_table(f"{log.name}: waits of the odd weeks (h)", _table(fitted))
        for sentence in fitted.sentences():
            print_line(sentence)
    limits, used = fitted.limits, fitted.used
    if out is not None and limits is None:
        print_note(f"no limits were taken, and nothing was written to {out}")
    elif out is not None and limits is not None:
        write_csv(pd.DataFrame(limits.table()), out)
        print_note(f"wrote {out}; use it as --limits {out}")
    if out is not None and used != Used(rows=used.rows):
        print_note(f"cores in service and priorities are not limits: --limits {FITTED} uses them, too")
    return DONE


def _table(fitted: Fitted) -> Table:
    """Return the waits as logged, and of replays without what was fitted, and with it."""
    figures, rows = ("mean", "median", "95 %", "ranks"), []
    for name, found in fitted.table()["held_out"].items():
        waits = (number(found[f"{each}_h"]) for each in ("mean", "median", "p95"))
        near = (number(found["rank"]), str(found["agreement"])) if "rank" in found else ("", "")
        rows.append((AS_LOGGED if name == "logged" else name, *waits, *near))
    return listing(("", *figures, "the replay is"), rows, figures=figures)


COMMAND: Final = command(
    calibrate,
    examples=(
        "schedlab calibrate --workload log.swf",
        "schedlab calibrate --workload log.swf --out limits.csv",
    ),
)
