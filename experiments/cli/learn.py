"""``learn``: an order learned from a log, and how it does on windows held out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from rich.table import Table

from experiments.calibration import doubt_of_limits
from experiments.campaigns.statistics import Effect, bootstrap, compared
from experiments.cli.derive import command
from experiments.cli.output import DONE, Steps, command_line, listing, print_json, print_note, print_table
from experiments.inputs import WorkloadFile, introduced, named_priority
from experiments.learning import LearningSettings
from experiments.option import OUT, Json, Option
from experiments.outputs import require_writable
from simmodels.clusters.limits import Limits
from simmodels.ground.cards import number
from simmodels.ground.files import ending_of
from simmodels.ground.toml_json import SUFFIXES
from simmodels.learning.regression import Fit
from simmodels.results.logged import AS_LOGGED

AGAINST: Final = ("FCFS", "SAF", "F2")
"""What the order that is learned is compared with."""


def learn(
    *,
    log: WorkloadFile,
    lesson: LearningSettings,
    out: Annotated[Path, Option(OUT, "FILE")] = Path("fit.toml"),
    json: Json = False,
) -> int:
    """Learn an order from a log, write it to a file, say how it does on windows held out; return the exit status.

    Parameters
    ----------
    out
        The file of the order: .toml or .json.
    """
    ending_of(out, SUFFIXES, "the fit's name")
    require_writable([out], sources=[log.path])
    with Steps(3 + len(AGAINST)) as shown:
        shown.begin("reading the workload")
        workload = log.read()
        for line in introduced(workload, f"{workload.max_cores:,} cores"):
            shown.print_note(line)
        lesson, workload = lesson.fitted_to(workload, shown.print_note)
        jobs, held_out = lesson.parts(workload)
        shown.begin(f"{lesson.pairs:,} pairs of {lesson.trials:,} trials")
        fit = lesson.fit(jobs)
        orders = [fit.order, *map(named_priority, AGAINST)]
        found = {}
        for order in orders:
            shown.begin(order.name)
            found[order.name] = lesson.slowdowns(held_out, order)
        fit.write(out)
    logged = lesson.logged(held_out)
    as_it_was = None if np.isnan(logged).any() else float(np.median(logged))
    judged = {name: _judged(found[fit.name], values, lesson.seed) for name, values in found.items()}
    learned = (
        f"Learned from the first {len(jobs):,} jobs: {fit.rows:,} scores, mean absolute error {fit.mae:.3g}, condition "
        f"number {fit.condition:.3g}."
    )
    findings = [learned, _verdict(judged, fit.name, len(held_out))]
    findings += filter(None, [doubt_of_limits(workload)])
    if json:
        answer = {
            name: {"median": median, **({} if effect is None else _times(effect).columns("times"))}
            for name, (median, effect) in judged.items()
        }
        document = {**fit.to_document(), "windows": len(held_out), "orders": answer, "findings": findings}
        if isinstance(lesson.limits, Limits):
            document["limits"] = lesson.limits.table()
        if as_it_was is not None:
            document["as_logged"] = {"median": as_it_was}
        print_json({"workload": workload.name, "command": command_line(), "file": str(out), **document})
    else:
        print_table(f"{fit.name}: {fit}", _terms(fit))
        under = "" if lesson.limits is None else ", under limits"
        title = f"median AVGbsld of {len(held_out)} windows held out, {lesson.backfilling} backfilling{under}"
        print_table(title, _orders(judged, fit.name, as_it_was))
        for sentence in findings:
            print_note(sentence)
    print_note(f"wrote {out}; use it as --order {out}")
    return DONE


_Judged = Mapping[str, tuple[float, Effect | None]]


def _judged(mine: np.ndarray, others: np.ndarray, seed: int) -> tuple[float, Effect | None]:
    """Return the median of an order, and that of log10 of how many times mine is of it; None for my own."""
    same = mine is others
    return float(np.median(others)), None if same else bootstrap(np.log10(mine / others), statistic="median", seed=seed)


def _times(effect: Effect) -> Effect:
    """Return how many times, of its logarithm."""
    return effect.through(lambda log10: 10.0**log10)


def _terms(fit: Fit) -> Table:
    """Return the coefficients as a table."""
    figures, rows = ("coefficient", "standard error", "by pair", "VIF (paper)", "VIF (centred)"), []
    errors = zip(fit.standard_error, fit.error_by_pair, strict=True)
    factors = zip(fit.vif_paper, fit.vif_centred, strict=True)
    for term, theta, both, two in zip(fit.terms, fit.theta, errors, factors, strict=True):
        shown = ["" if error is None else f"{error:.2g}" for error in both]
        rows.append((term, f"{theta:.6g}", *shown, *("" if factor is None else number(factor) for factor in two)))
    return listing(("term", *figures), rows, figures=figures)


def _orders(judged: _Judged, mine: str, as_it_was: float | None) -> Table:
    """Return how the orders do as a table, after what the log itself records."""
    figures = ("median AVGbsld", f"{mine} as a multiple", "interval (95 %)")
    rows = [] if as_it_was is None else [(AS_LOGGED, number(as_it_was), "", "")]
    for name, (median, effect) in judged.items():
        if effect is None:
            rows.append((name, number(median), "", ""))
            continue
        found = _times(effect)
        times, low, high = found.estimate, found.low, found.high
        interval = "too few windows" if low is None or high is None else f"{number(low)} to {number(high)}"
        rows.append((name, number(median), number(times), interval))
    return listing(("order", *figures), rows, figures=figures)


def _verdict(judged: _Judged, mine: str, count: int) -> str:
    """Say against which orders the one that was learned does better, and how sure that is."""
    effects = {name: effect for name, (_, effect) in judged.items() if effect is not None}
    better, worse = (
        [name for name, effect in effects.items() if compared(effect, {bound: 0.0})[0]]
        for bound in ("less_than", "more_than")
    )
    others = [name for name in effects if name not in {*better, *worse}]
    said = {"better than": better, "worse than": worse, "not clearly different from": others}
    parts = [f"{kind} {', '.join(names)}" for kind, names in said.items() if names]
    return f"On {count} windows held out, {mine} is {'; '.join(parts)}."


COMMAND: Final = command(
    learn,
    examples=(
        "schedlab learn --workload log.swf --pairs 40 --trials 4096 --out fit.toml",
        "schedlab compare --workload log.swf --orders FCFS,SAF,fit.toml",
    ),
)
