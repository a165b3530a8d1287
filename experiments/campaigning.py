"""Commands of campaigns: what ``run``, ``report`` and ``new`` do, once their options are read."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from rich.text import Text

from experiments.campaigns.against import Differences, Kept, kept_runs
from experiments.campaigns.claims import OPEN
from experiments.campaigns.planning.finding import find_study
from experiments.campaigns.report import PAGE, Report, claim_row, write_report
from experiments.campaigns.running import Campaign, Shard, opened, run
from experiments.campaigns.study import Study
from experiments.cli import output
from experiments.cli.advise import Advise
from experiments.cli.new import New
from experiments.cli.report import Report as ReportRequest
from experiments.cli.run import Run
from experiments.inputs import count_of, reason
from simmodels.errors import RequestError, must_be

INTERRUPTED = "interrupted; nothing finished is lost: the same command goes on where this one stopped"
_STYLES = {"holds": "green", "fails": "red"}
_ANSWERED = {"claim", "source", "number", "ours", "expected", "unit", "estimate", "low", "high", "verdict"}
_MOST_SHOWN = 3
_MOST_CHANGES = 40
_STUDY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAKEN = {"Cell", "Claim", "Results", "Scale", "Study", "True", "False", "None"}
_MORE = re.compile(r"[#\n\r]")


def run_study(asked: Run) -> int:
    """Run what is not done yet of a study, and report on it if it is complete; return the exit status."""
    named = {"variant": asked.variant, "engine": asked.engine}
    settings = [*asked.chosen, *(f"{name}={value}" for name, value in named.items() if value is not None)]
    chosen = _chosen(settings, _texts(find_study(asked.study)) if settings else ())
    if asked.workers is not None and asked.dask is not None:
        raise RequestError("--workers and --dask exclude each other", "omit --workers: dask has workers of its own")
    files = asked.workload
    if files is not None:
        if not files:  # as an empty variable of a script gives it: not what the study would take itself
            raise RequestError("--workload has no file", "give --workload FILE,..., or omit it")
        if "workload" in chosen:
            raise RequestError("--workload and --set workload= exclude each other", "omit one of them")
        chosen["workload"] = list(files) if len(files) > 1 else files[0]
    return _run(asked, chosen)


def advise(asked: Advise) -> int:
    """Say which order and threshold would have been best on a log; return the exit status."""
    log = asked.log
    chosen = {
        "workload": str(log.path),
        "cores": log.cores,
        "clean": ",".join(log.filters),
        "partition": ",".join(log.partitions),
        "queue": ",".join(log.queues),
        "timezone": log.timezone,
        "current": asked.current,
        "limits": asked.limits,
        "node_cores": asked.node_cores,
    }
    common = {name: getattr(asked, name) for name in ("scale", "seed", "workers", "out", "force", "json")}
    return _run(Run(study="advice", retry_failed=True, **common), chosen)


def _run(asked: Run, chosen: Mapping[str, Any]) -> int:
    """Run what is not done yet of a study, and report on it if it is complete; return the exit status."""
    Shard.parse(asked.shard)  # refused before logs are read
    name = find_study(asked.study, chosen).name
    folder = asked.out if asked.out is not None else Path("results") / name
    then = _kept(asked.against, name)
    campaign = run_cells(asked, folder, chosen)
    cells = len(campaign.plan.cells)
    ended = campaign.done + len(campaign.failed) == cells and not campaign.interrupted
    _report_damage(campaign)
    report = write_report(campaign, then) if ended and campaign.done else None
    if asked.json:
        output.print_json(_answer(campaign, report))
    elif report is not None:
        _show(campaign, report)
    output.print_note(
        f"{campaign.plan.study.name}: {campaign.done:,} of {cells:,} cells are done, {campaign.run:,} run just now"
    )
    _report_failures(campaign, retried=asked.retry_failed)
    if report is not None:
        output.print_note(f"wrote {folder / PAGE} and {len(report.files) - 1} tables and figures beside it")
    if campaign.interrupted:
        output.print_error(INTERRUPTED)
        return output.INTERRUPTED
    if not ended:
        more = "" if asked.against is None else f" --against {asked.against}"
        output.print_note(f"when the other shards are done: schedlab report {folder}{more}")
    return output.FAILED if campaign.failed or (report is not None and report.against) else output.DONE


def run_cells(asked: Run, folder: Path, chosen: Mapping[str, Any]) -> Campaign:
    """Run what is not done yet of a study, in a folder."""
    return run(
        asked.study,
        out=folder,
        scale=asked.scale,
        seed=asked.seed,
        workers=asked.workers,
        dask=asked.dask,
        shard=asked.shard,
        retry_failed=asked.retry_failed,
        cell_timeout_s=asked.cell_timeout_s,
        chosen=chosen,
        command=output.command_line(),
        quiet=output.is_quiet(),
        force=asked.force,
    )


def report_on(asked: ReportRequest) -> int:
    """Report on a campaign as it is; return the exit status."""
    folder = asked.folder
    campaign = opened(folder, study=asked.study, trust=asked.trust)
    _report_damage(campaign)
    then = _kept(asked.against, campaign.plan.study.name)
    report = write_report(campaign, then)
    if asked.json:
        output.print_json(_answer(campaign, report))
    else:
        _show(campaign, report)
    output.print_note(f"{campaign.plan.study.name}: {campaign.done:,} of {len(campaign.plan.cells):,} cells are done")
    if campaign.changed:
        output.print_warning(
            "the code has changed since these cells were run: running the study now would run them again"
        )
    _report_failures(campaign, retried=False)
    output.print_note(f"wrote {folder / PAGE} and {len(report.files) - 1} tables and figures beside it")
    return output.FAILED if campaign.failed or campaign.damaged or report.against else output.DONE


def new_study(asked: New) -> int:
    """Write the skeleton of a study; return the exit status."""
    name, toml = asked.name, asked.toml
    if not _STUDY_NAME.fullmatch(name):
        raise RequestError(must_be("the name of a study", "of letters, digits and _, with a letter first", name))
    class_name = "".join(part.capitalize() for part in name.split("_"))
    if class_name in _TAKEN and not toml:
        raise RequestError(
            f"a study cannot be named {name!r}", f"choose another name: its file imports, or Python has, {class_name}"
        )
    path = Path(f"{name}.toml" if toml else f"{name}.py")
    source = (resources.files("experiments.campaigns") / f"skeleton.{path.suffix[1:]}.txt").read_text("utf-8")
    names = {"NAME": name, "CLASS": class_name}
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(re.sub(r"NAME|CLASS", lambda found: names[found[0]], source))
    except FileExistsError:
        raise RequestError(f"{path} exists already", "choose another name") from None
    except OSError as error:
        raise RequestError(f"cannot write {path}: {reason(error)}") from error
    output.print_note(f"wrote {path}; try it: schedlab run {path} --scale smoke")
    return output.DONE


def _texts(study: Study) -> frozenset[str]:
    """Return the parameters and factors of a study with texts as their own values."""
    own = {name: (value,) for name, value in study.parameters.items()} | dict(study.factors)
    return frozenset(name for name, values in own.items() if all(isinstance(value, str) for value in values))


def _chosen(settings: Sequence[str], texts: Collection[str] = ()) -> dict[str, Any]:
    """Return what settings such as ``order=FCFS,SAF`` say, by name: values as TOML writes them, or plain texts.

    ``none`` is no value, except for the names of `texts`: there it is a text, as backfilling has it.
    """
    chosen: dict[str, Any] = {}
    for text in settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise RequestError(must_be("--set", "NAME=VALUE", text))
        if name in chosen:
            raise RequestError(f"--set gives {name} twice", "give several values as NAME=VALUE,VALUE")
        parts = [part.strip() for part in value.split(",")]
        values = [part if name in texts and part == "none" else _value(part) for part in parts]
        chosen[name] = values[0] if len(values) == 1 else values
    return chosen


def _value(text: str) -> Any:  # noqa: ANN401  a number, a bool, a text or none
    if text.lower() == "none":
        return None
    if _MORE.search(text):  # TOML would leave a comment out, and take a second line for another value
        return text
    try:
        found = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # also: a number of thousands of digits, brackets in brackets
        return text
    return found if isinstance(found, bool | int | float | str) else text


def _kept(path: Path | None, study: str) -> Kept | None:
    """Return the kept run of a study that is asked for: read before a run writes, perhaps to the same folder."""
    return None if path is None else kept_runs(path, [study])[study]


def _show(campaign: Campaign, report: Report) -> None:
    """Print the findings, and the claims, checked."""
    for finding in report.findings:
        output.print_line(finding)
    study = campaign.plan.study.name
    rows: list[Sequence[str | Text]] = []
    for claim in report.claims:
        outcome = Text(claim.outcome, style=_STYLES.get(claim.verdict, "yellow"))
        rows.append((claim.text, claim.place, claim.expected(), claim.found(), outcome))
    if rows:
        table = output.listing(("claim", "source", "expected", "found", "verdict"), rows)
        output.print_table(f"claims of {study}, scale {campaign.plan.scale}", table)
    if report.against is not None:
        show_differences({study: report.against})


def show_differences(found: Mapping[str, Differences]) -> None:
    """Print what differs from kept runs, by study, in one table; and how much of each."""
    changes: list[Sequence[str | Text]] = [
        (study, *map(Text, (change.kind, change.name, change.then, change.now)))
        for study, each in found.items()
        for change in each.changes
    ]
    if changes:
        table = output.listing(("study", "what", "which", "then", "now"), changes[:_MOST_CHANGES])
        table.caption = f"the first {_MOST_CHANGES} of {len(changes):,}" if len(changes) > _MOST_CHANGES else None
        output.print_table("what differs from the kept run", table)
    for study, each in found.items():
        output.print_line(f"{study}: {'; '.join(each.counts())}")


def _report_failures(campaign: Campaign, *, retried: bool) -> None:
    """Say which cells failed, and why."""
    failures = [campaign.failed[key] for key in campaign.plan.keys if key in campaign.failed]
    for failure in failures[:_MOST_SHOWN]:
        cell = ", ".join(f"{name} {value}" for name, value in failure["cell"].items())
        output.print_error(f"cell {cell} failed: {failure['error']}")
    if failures:
        more = f"{count_of(len(failures), 'cell')} failed; tracebacks are in {campaign.store.failures}"
        output.print_warning(more if retried else f"{more}; --retry-failed runs them again")


def _report_damage(campaign: Campaign) -> None:
    """Say which files are left out, because they are damaged."""
    for path, what in campaign.damaged.items():
        output.print_error(
            f"{path} is damaged, and left out: {what}; the command of the run sets it aside and repeats its cells"
        )


def _answer(campaign: Campaign, report: Report | None) -> dict[str, object]:
    """Return what came of a campaign, for JSON."""
    plan = campaign.plan
    return {
        "study": plan.study.name,
        "scale": plan.scale,
        "seed": plan.shipment.seed,
        "cells": {
            "planned": len(plan.cells),
            "done": campaign.done,
            "run": campaign.run,
            "failed": len(campaign.failed),
        },
        "interrupted": campaign.interrupted,
        "claims": [
            {name: value for name, value in claim_row(claim).items() if name in _ANSWERED}
            | ({"to_decide": claim.to_decide} if claim.verdict in OPEN else {})
            for claim in (report.claims if report is not None else ())
        ],
        "findings": list(report.findings) if report is not None else [],
        "answer": dict(report.answer) if report is not None else {},
        **({"against": report.against.answer()} if report is not None and report.against is not None else {}),
        "out": str(campaign.store.folder),
        "files": list(report.files) if report is not None else [],
    }
