"""Reproducing: the four papers with one command, a page that links their reports, and the table of the reference."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from experiments.campaigning import INTERRUPTED, run_cells, show_differences
from experiments.campaigns import Claim, Element, Paper, Study
from experiments.campaigns.against import kept_runs
from experiments.campaigns.claims import Verdict
from experiments.campaigns.pages import page
from experiments.campaigns.planning.finding import find_class, find_study
from experiments.campaigns.report import PAGE, Report, elements_of, write_report
from experiments.campaigns.running import Campaign
from experiments.cli import output
from experiments.cli.reproduce import Reproduce
from experiments.cli.run import Run
from experiments.inputs import reason
from experiments.outputs import made_folder
from simmodels import RequestError
from simmodels.ground.files import replacing
from workloads.files import read_whole

PAPERS: Final = ("regression", "selection", "market", "capacity")
INDEX: Final = "index.html"
_TEMPLATE: Final = "reproduction.html.j2"
_VERDICTS: Final = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came of one paper.

    Parameters
    ----------
    study, paper
        The study, and what it reproduces.
    campaign, report
        Its cells, and what was written of them: an empty report if no cell is done.
    wall_s
        How long its runs took, in seconds, all together.
    """

    study: Study
    paper: Paper
    campaign: Campaign
    report: Report
    wall_s: float

    def failing(self) -> list[Claim]:
        """Return the paper's claims that fail."""
        return [claim for claim in self.report.claims if claim.verdict == "fails" and not claim.ours]

    def verdicts(self, *, ours: bool) -> dict[str, int]:
        """Return how many claims have each verdict: the paper's, or ours."""
        counted = Counter(claim.verdict for claim in self.report.claims if claim.ours == ours)
        return {verdict: counted[verdict] for verdict in _VERDICTS}

    def elements(self) -> list[tuple[Element, list[str], str]]:
        """Return the paper's figures and tables, see `elements_of`."""
        return elements_of(self.study, self.report.files, self.report.claims)


def reproduce(asked: Reproduce) -> int:
    """Run the studies of all papers, write their reports and a page that links them; return the exit status."""
    scale, out = asked.scale, asked.out
    chosen = {
        name: settings_of(name, scale, logs=asked.workload, borg=asked.borg, engine=asked.engine) for name in PAPERS
    }
    for name in PAPERS:
        find_study(name, chosen[name]).design(scale)  # what is out of range is refused before hours are spent
    for path in (*asked.workload, *asked.borg):
        read_whole(Path(path))
    kept = {} if asked.against is None else kept_runs(asked.against, [find_class(name).name for name in PAPERS])
    if asked.against is not None and len(kept) < len(PAPERS):
        output.print_note(f"{asked.against} has a kept run of {', '.join(kept)}; the others are not compared")
    found = []
    for name in PAPERS:
        output.print_note(f"{name}: {paper_of(find_class(name))}")
        own = Run(study=name, scale=scale, seed=asked.seed, workers=asked.workers, force=asked.force)
        campaign = run_cells(own, out / find_class(name).name, chosen[name])
        if campaign.interrupted:
            output.print_error(INTERRUPTED)
            return output.INTERRUPTED
        for failure in list(campaign.failed.values())[:1]:
            output.print_error(f"{len(campaign.failed):,} cells of {name} failed, such as: {failure['error']}")
        study = campaign.plan.study
        report = write_report(campaign, kept.get(study.name)) if campaign.done else Report()
        wall_s = sum(float(each["wall_s"]) for each in campaign.store.history())
        found.append(Reproduced(study, paper_of(type(study)), campaign, report, wall_s))
    _write_index(out, found, scale=scale, seed=asked.seed, command=output.command_line())
    if asked.json:
        output.print_json(_answer(found, out, scale=scale, seed=asked.seed))
    else:
        _show(found, scale)
    output.print_note(f"wrote {out / INDEX}, and a report for each paper beside it")
    return output.FAILED if any(each.campaign.failed or each.report.against for each in found) else output.DONE


def settings_of(
    name: str, scale: str, *, logs: Sequence[str], borg: Sequence[str], engine: str | None
) -> dict[str, Any]:
    """Return the settings of a study for the files that there are.

    Parameters
    ----------
    name
        One of `PAPERS`.
    scale
        The scale of its workloads that are generated.
    logs
        Logs in the Standard Workload Format: selection runs on them instead of a generated one, regression on them too.
    borg
        Slices of Borg's trace, which capacity runs on too.
    engine
        The engine; None for the studies' own.
    """
    generated = find_study(name).design(scale).factors.get("workload", ())
    chosen: dict[str, Any] = {} if engine is None else {"engine": engine}
    if name == "selection" and logs:
        chosen["workload"] = list(logs)
    elif (more := {"regression": logs, "capacity": borg}.get(name)) is not None and more:
        chosen["workload"] = [*generated, *more]
    return chosen


def paper_of(study: type[Study]) -> Paper:
    """Return the paper of a study that has one."""
    if study.paper is None:
        raise RequestError(f"study {study.name} reproduces no paper")
    return study.paper


def _write_index(out: Path, found: Sequence[Reproduced], *, scale: str, seed: int, command: Sequence[str]) -> None:
    """Write the page."""
    text = page(
        _TEMPLATE,
        found=found,
        rows=list(_rows(found)),
        verdicts=_VERDICTS,
        scale=scale,
        seed=seed,
        command=" ".join(command),
        report=PAGE,
    )
    try:
        with replacing(made_folder(out) / INDEX) as temporary:
            temporary.write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise RequestError(f"cannot write {out / INDEX}: {reason(error)}") from error


def _rows(found: Sequence[Reproduced]) -> Iterator[tuple[Reproduced, str, dict[str, int]]]:
    """Hand out each paper, the origin of claims, and their verdicts; ours only where there are some."""
    for each in found:
        for ours in (False, True):
            counted = each.verdicts(ours=ours)
            if not ours or any(counted.values()):
                yield each, "ours" if ours else "the paper", counted


def _show(found: Sequence[Reproduced], scale: str) -> None:
    """Print how many claims hold, and which of the papers' fail."""
    figures = (*_VERDICTS, "wall time (s)")
    rows = [
        (each.study.name, origin, *(str(counted[verdict]) for verdict in _VERDICTS), f"{each.wall_s:,.0f}")
        for each, origin, counted in _rows(found)
    ]
    table = output.listing(("study", "claims of", *figures), rows, figures=figures)
    output.print_table(f"the claims of four papers, scale {scale}", table)
    failing = [
        (each.study.name, claim.text, claim.place, claim.expected(), claim.found())
        for each in found
        for claim in each.failing()
    ]
    if failing:
        output.print_table(
            "what fails", output.listing(("study", "claim that fails", "source", "expected", "found"), failing)
        )
    show_differences({each.study.name: each.report.against for each in found if each.report.against is not None})


def _answer(found: Sequence[Reproduced], out: Path, *, scale: str, seed: int) -> Mapping[str, object]:
    """Return what came of the papers, for JSON."""
    return {
        "scale": scale,
        "seed": seed,
        "papers": [
            {
                "study": each.study.name,
                "paper": str(each.paper),
                "url": each.paper.url,
                "cells": {"planned": len(each.campaign.plan.cells), "done": each.campaign.done},
                "claims": each.verdicts(ours=False),
                "ours": each.verdicts(ours=True),
                "fails": [claim.text for claim in each.failing()],
                "missing": [element.number for element, files, _ in each.elements() if not files],
                "wall_s": each.wall_s,
                "report": str(out / each.study.name / PAGE),
                **({} if each.report.against is None else {"against": each.report.against.answer()}),
            }
            for each in found
        ],
        "out": str(out),
    }
