"""Report: what came of a campaign, as tables, figures, checked claims, and one page that needs nothing else."""

import base64
import math
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from experiments.campaigns.against import CLAIMS, RESULTS, Differences, Kept, differences, kept_runs
from experiments.campaigns.claims import OPEN, Claim, verdicts_on
from experiments.campaigns.hours import in_hours
from experiments.campaigns.pages import in_words, page
from experiments.campaigns.paper import Element
from experiments.campaigns.records import read_manifest
from experiments.campaigns.results import Results
from experiments.campaigns.running import RUNNING, Campaign
from experiments.campaigns.statistics import ENOUGH
from experiments.campaigns.store import MANIFEST
from experiments.campaigns.study import Study, asked
from experiments.inputs import code_shown_to, reason
from experiments.outputs import made_part
from simmodels.errors import RequestError, must_be
from simmodels.ground.files import replacing, write_csv

PAGE: Final = "report.html"
_TEMPLATE: Final = "report.html.j2"
_MOST_ROWS: Final = 200
"""A table of more rows is shown by its first ones, with a link to all."""
_MOST_OPEN_ROWS: Final = 40
"""A table of more rows is folded."""
_MOST_CSV_ROWS: Final = 500_000
"""Of more rows there is no CSV: it would be slow to write, and too long for what opens it."""
_MOST_FAILURES: Final = 20
_OF_EFFECT: Final = ("estimate", "low", "high", "confidence", "replications")
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*")
_TO_DECIDE: Final = "more replications: a larger --scale, or --set replications=N"


@dataclass(frozen=True, slots=True)
class Report:
    """What was written.

    Parameters
    ----------
    claims
        The claims, checked.
    files
        The files, as paths within the campaign's folder.
    findings
        What the study concludes, in sentences.
    answer
        The same for programs, by name.
    against
        What differs from a kept run; None if it was compared with none.
    """

    claims: tuple[Claim, ...] = ()
    files: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict)
    against: Differences | None = None


def write_report(campaign: Campaign, then: Kept | None = None) -> Report:
    """Write what came of a campaign to its folder.

    The folder gets ``results.parquet`` and ``results.csv`` (all rows; no CSV of more than 500,000),
    ``tables/NAME.csv``, ``figures/NAME.svg``, ``files/NAME`` (what the study writes beside them), ``claims.csv``, and
    ``report.html`` with all of it: one page that needs no other file and no network.

    Parameters
    ----------
    campaign
        The campaign; at least one of its cells is done.
    then
        A kept run of the study; the report shows what differs from it. Read before the run, which may be to its folder.

    Raises
    ------
    RequestError
        No cell is done, or the folder cannot be written to.
    """
    folder, study = campaign.store.folder, campaign.plan.study
    if not campaign.done:
        raise RequestError(f"{folder}: no cell of study {study.name} is done", "run at least one before the report")
    results = campaign.results()
    with code_shown_to(campaign.gate):
        return _written(campaign, folder, study, results, then)


def _written(campaign: Campaign, folder: Path, study: Study, results: Results, then: Kept | None) -> Report:
    """Write what came of a campaign to its folder."""
    files: list[str] = []
    try:
        files += _write_results(folder, results.table)
        tables, claims = _tables(study, results), _claims(study, results)
        figures = _by_name(study, "figures", results, "Figures by name", lambda each: hasattr(each, "savefig"))
        findings = tuple(map(str, asked(study, "findings", results)))
        for slug, table in zip(_slugs(tables), tables.values(), strict=True):
            write_csv(table, made_part(folder, "tables") / f"{slug}.csv")
            files.append(f"tables/{slug}.csv")
        drawn = []
        for slug, (name, figure) in zip(_slugs(figures), figures.items(), strict=True):
            from experiments.drawing import save  # noqa: PLC0415  matplotlib is slow to import: only where it draws

            files.append(f"figures/{slug}.svg")
            made_part(folder, "figures")
            save(figure, folder / files[-1])
            image = base64.b64encode((folder / files[-1]).read_bytes()).decode()
            drawn.append((name, files[-1], f"data:image/svg+xml;base64,{image}"))
        if claims:
            files.append(f"{CLAIMS}.csv")
            write_csv(claims_table(claims), folder / files[-1])
        now = None if then is None else kept_runs(folder, [study.name])[study.name]
        against = None if now is None or then is None else differences(now, then, list(results.factors))
        texts = _texts(study, results)
        files += _write_texts(folder, texts)
        text = _page(campaign, tables, drawn, claims, findings, files, texts, against)
        with replacing(folder / PAGE) as temporary:
            temporary.write_text(text, "utf-8", errors="backslashreplace")  # a command's words may be no text
    except OSError as error:
        what = error.filename2 or folder  # the name that a whole file was to get
        raise RequestError(f"cannot write the report to {what}: {reason(error)}") from error
    return Report(claims, (*files, PAGE), findings, _by_name(study, "answer", results, "values by name"), against)


def _by_name(
    study: Study, what: str, results: Results, kind: str, fits: Callable[[Any], bool] = lambda _: True
) -> dict[str, Any]:
    """Return what a study makes of its results, by name; refuse what is no mapping, or has what does not fit."""
    found = asked(study, what, results)
    if not isinstance(found, Mapping) or not all(map(fits, found.values())):
        raise RequestError(must_be(f"{what} of study {study.name}", kind, found))
    return {str(name): each for name, each in found.items()}


def _tables(study: Study, results: Results) -> dict[str, pd.DataFrame]:
    """Return the tables that a study makes of its results; an index that has a name, as of groups, becomes columns."""
    tables = _by_name(study, "tables", results, "DataFrames by name", lambda each: isinstance(each, pd.DataFrame))
    return {name: table if table.index.names == [None] else table.reset_index() for name, table in tables.items()}


def _texts(study: Study, results: Results) -> dict[str, str]:
    """Return the further texts of a study, by the name of the file."""
    expected = "texts by names of files"
    texts = _by_name(study, "files", results, expected, lambda each: isinstance(each, str))
    if not all(map(_FILE_NAME.fullmatch, texts)):
        raise RequestError(must_be(f"files of study {study.name}", expected, texts))
    return texts


def _claims(study: Study, results: Results) -> tuple[Claim, ...]:
    """Return the claims that a study makes, checked on its results."""
    found = asked(study, "claims", results)
    if not isinstance(found, Sequence) or not all(isinstance(one, Claim) for one in found):
        raise RequestError(must_be(f"claims of study {study.name}", "a list of Claims", found))
    return tuple(found) if results.judged else tuple(replace(claim, judged=False) for claim in found)


def claim_row(claim: Claim) -> dict[str, Any]:
    """Return a claim as a row of the table of claims."""
    return {
        "claim": claim.text,
        "source": claim.source,
        "number": claim.number,
        "ours": claim.ours,
        "measure": claim.measure,
        "expected": claim.expected(),
        "unit": claim.unit_of_effect,
        **{name: getattr(claim.effect, name, None) for name in _OF_EFFECT},
        "verdict": claim.verdict,
        "to_decide": (claim.to_decide or _TO_DECIDE) if claim.verdict in OPEN else "",
        "note": claim.note,
    }


def claims_table(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return claims as a table, one row per claim."""
    return pd.DataFrame(map(claim_row, claims))


def _slugs(names: Iterable[str]) -> list[str]:
    """Return names as names of files, each another."""
    slugs: list[str] = []
    for name in names:
        slug = wanted = re.sub(r"[^\w.-]+", "-", name.lower()).strip("-.") or "unnamed"
        number = 1
        while slug in slugs:
            number += 1
            slug = f"{wanted}-{number}"
        slugs.append(slug)
    return slugs


def _write_results(folder: Path, table: pd.DataFrame) -> list[str]:
    """Write all rows, as Parquet, and as CSV if they are not too many; return the files' names."""
    with replacing(folder / f"{RESULTS}.parquet") as temporary:
        table.to_parquet(temporary, engine="pyarrow", index=False)
    if len(table) > _MOST_CSV_ROWS:
        (folder / f"{RESULTS}.csv").unlink(missing_ok=True)  # of a smaller scale
        return [f"{RESULTS}.parquet"]
    write_csv(table, folder / f"{RESULTS}.csv")
    return [f"{RESULTS}.csv", f"{RESULTS}.parquet"]


def _write_texts(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Write texts to a folder of their own, in which no text of an earlier report stays; return the files' names."""
    if not texts and not os.path.lexists(folder / "files"):
        return []
    place = made_part(folder, "files")
    for old in place.glob("*"):
        if old.name not in texts:
            old.unlink()
    for name, content in texts.items():
        with replacing(place / name) as temporary:
            temporary.write_text(content, "utf-8")
    return [f"files/{name}" for name in texts]


# -- the page ---------------------------------------------------------------------------------------


def _page(
    campaign: Campaign,
    tables: Mapping[str, pd.DataFrame],
    figures: Sequence[tuple[str, str, str]],
    claims: Sequence[Claim],
    findings: Sequence[str],
    files: Sequence[str],
    texts: Mapping[str, str],
    against: Differences | None,
) -> str:
    """Return the page."""
    manifest = read_manifest(campaign.store.folder / MANIFEST)
    runs = [{**run, "state": _state(run)} for run in campaign.store.history()]
    failures = [campaign.failed[key] for key in campaign.plan.keys if key in campaign.failed]
    return page(
        _TEMPLATE,
        study=campaign.plan.study,
        manifest=manifest,
        campaign=campaign,
        cells=len(campaign.plan.cells),
        claims=claims,
        findings=findings,
        against=against,
        most_rows=_MOST_ROWS,
        texts=texts,
        results=[name for name in files if name.startswith(RESULTS)],
        to_decide=_TO_DECIDE,
        undecided=OPEN,
        enough=ENOUGH,
        most_open=_MOST_OPEN_ROWS,
        elements=elements_of(campaign.plan.study, files, claims),
        figures=figures,
        tables=[_shown(name, slug, table) for slug, (name, table) in zip(_slugs(tables), tables.items(), strict=True)],
        runs=runs,
        failures=failures[:_MOST_FAILURES],
        more_failures=max(0, len(failures) - _MOST_FAILURES),
        cells_s=sum(float(run.get("cells_s", 0.0)) for run in runs),
    )


def elements_of(study: Study, files: Sequence[str], claims: Sequence[Claim]) -> list[tuple[Element, list[str], str]]:
    """Return what the paper of a study shows, with the files that show it, and how the sentences on it are judged."""
    return [(each, each.among(files), verdicts_on((each.number, each.said_in), claims)) for each in study.elements]


def _state(run: Mapping[str, Any]) -> str:
    """Return how a run ended. One that recorded no end was killed, if its process is not on its machine any more."""
    if run["state"] != RUNNING:
        return str(run["state"])
    process = run["machine"].get("process")
    if not isinstance(process, int) or not 0 < process < 2**31 or run["machine"]["name"] != platform.node():
        return "no end recorded: running, or killed"
    try:
        os.kill(process, 0)  # sends nothing: it asks whether there is such a process
    except ProcessLookupError:
        return "killed"
    except PermissionError:
        return RUNNING  # as another user
    return "killed" if process == os.getpid() else RUNNING  # this process runs no cells while it writes a report


def _shown(name: str, slug: str, table: pd.DataFrame) -> dict[str, Any]:
    """Return a table as the page shows it: of each value its text, and what it is sorted by if it is a number."""
    written, table = table, in_hours(table)
    rows = [[_cell(value) for value in row] for row in table.head(_MOST_ROWS).itertuples(index=False, name=None)]
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    return {
        "name": name,
        "path": f"tables/{slug}.csv",
        "columns": [(str(name).replace("_", " "), is_number) for name, is_number in zip(table, numeric, strict=True)],
        "rows": rows,
        "all": len(table),
        "hours": not table.equals(written),
    }


def _cell(value: object) -> tuple[str, object]:
    """Return a value as text, and what it is sorted by."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "-", ""
    if isinstance(value, bool):
        return in_words(value), int(value)
    if isinstance(value, int):
        return f"{value:,}", value
    if isinstance(value, float):
        if math.isinf(value):
            return f"{value}", f"{value}inity".title()  # as JavaScript has it
        text = f"{value:,.0f}" if abs(value) >= 9_999.5 or value.is_integer() else f"{value:,.4g}"
        return text, value
    return str(value), str(value)
