"""Tables of claims: CSV files of the repository, and what the pages of results show of them.

``python docs/_site/claims.py FOLDER...`` keeps the claims of runs, each as ``docs/results/claims/STUDY.csv``. Where a
run was not kept, the file holds the sentences of the page instead: with columns ``table`` and ``case``, and ``found``
as text. A page shows them at its mark, ``<!-- made: claims_STUDY -->``, or ``claims_STUDY_TABLE`` if there are several,
and at ``<!-- made: verdicts_STUDY -->`` how many have each verdict.
"""

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from experiments.campaigns.claims import rounded

BAR = "\\|"
KEPT = Path(__file__).resolve().parent.parent / "results" / "claims"
COLUMNS = ("claim", "number", "source", "ours", "expected", "unit", "estimate", "low", "high", "verdict")
"""What is kept of a run's claims.csv; the same claims as there, each known by the first four."""
_CASES: Mapping[str, str] = {
    "capacity": r"(?P<claim>.+?)(?:, on (?P<case>\S+))?",
    "cross": (
        r"(?P<claim>.+?),? (?P<case>on (?:log|Borg|workflows|mixed)|with a change .+ s|on machines that .+)"
        r"(?P<rest>: .+)?"
    ),
    "market": r"(?P<claim>.+?)(?:, (?P<case>if runs are cut at the last submission))?",
    "selection": r"(?P<claim>.+?)(?:,? on (?P<case>\S+))? \(text\)",
}
"""How the sentences of a study end with what they are about, the case; of others with it in parentheses."""
_CASE = r"(?P<claim>.+?)(?: \((?P<case>[^()]+)\))?"
_APART = ("market",)
"""Studies of which the verdicts are counted case by case."""
_COUNTED = {
    "holds": "hold",
    "fails": "fail",
    "undecided": "undecided",
    "too few": "too few",
    "not judged": "not judged",
}
_MOST_INTERVALS = 3
"""A table on more cases shows estimates without intervals: it would be too wide."""

Row = Mapping[str, str]


def keep(folder: Path, kept: Path = KEPT) -> Path:
    """Write the claims of a campaign's folder to a table of the repository, and return its path."""
    study = json.loads((folder / "manifest.json").read_text("utf-8"))["name"]
    with (folder / "claims.csv").open(encoding="utf-8", newline="") as source:
        rows = [{name: row[name] for name in COLUMNS} for row in csv.DictReader(source)]
    with (kept / f"{study}.csv").open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return kept / f"{study}.csv"


def made(kept: Path = KEPT) -> dict[str, Callable[[], str]]:
    """Return what makes the tables and the counts of all kept claims, by the names of their marks."""
    found: dict[str, Callable[[], str]] = {}
    for path in sorted(kept.glob("*.csv")):
        found[f"verdicts_{path.stem}"] = partial(counted, path)
        for table in dict.fromkeys(row.get("table", "") for row in rows_of(path)):
            found[f"claims_{path.stem}{table and f'_{table}'}"] = partial(shown, path, table)
    return found


def rows_of(path: Path) -> list[Row]:
    """Return the rows of a kept table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _of_source(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the claims of the source, or ours if there are no others."""
    return [row for row in rows if row.get("ours") != "True"] or rows


def counted(path: Path) -> str:
    """Return how many kept claims of the source, or of ours if there are no others, have each verdict."""
    verdicts: dict[str, Counter[str]] = {}
    for row in _of_source(rows_of(path)):
        case = _split(row["claim"], path.stem)[1] if path.stem in _APART else ""
        verdicts.setdefault(case, Counter())[row["verdict"]] += 1
    texts = []
    for case, found in verdicts.items():
        listed = ", ".join(f"{found[verdict]} {said}" for verdict, said in _COUNTED.items() if found[verdict])
        texts.append(f"{case or f'{found.total()} verdicts'}: {listed}")
    return f"{'; '.join(texts)}."


def shown(path: Path, table: str = "") -> str:
    """Return the kept claims as tables: those of the source, or ours if there are no others.

    Sentences on the same cases (kinds of scores, workloads, ends) share a table with a column for each.
    """
    rows = _of_source([row for row in rows_of(path) if row.get("table", "") == table])
    sentences: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        claim, case = (row["claim"], row["case"]) if "case" in row else _split(row["claim"], path.stem)
        sentences.setdefault((claim, row["expected"]), {}).setdefault(case, []).append(row)
    tables: list[tuple[list[str], list[tuple[str, str]]]] = []  # of each its cases, and its sentences
    for key, by_case in sentences.items():
        for cases, keys in tables:
            if by_case.keys() <= set(cases) or set(cases) <= by_case.keys():
                cases += [case for case in by_case if case not in cases]
                keys.append(key)
                break
        else:
            tables.append((list(by_case), [key]))
    lines = list[str]()
    for cases, keys in tables:
        known = ["sentence", "expected"] if any(expected for _, expected in keys) else ["sentence"]
        lines += ["", line_of([*known, *(case or "found" for case in cases)])]
        lines.append(line_of(["---"] * (len(known) + len(cases))))
        brief = len(cases) > _MOST_INTERVALS
        for key in keys:
            found = (_found(sentences[key].get(case, ()), brief=brief) for case in cases)
            lines.append(line_of([*key[: len(known)], *found]))
    return "\n".join(lines)


def _split(claim: str, study: str) -> tuple[str, str]:
    """Return a sentence of a run, and the case at its end, or before a colon and what is compared."""
    found = re.fullmatch(_CASES.get(study, _CASE), claim)
    if found is None:
        return claim, ""
    return found["claim"] + (found.groupdict().get("rest") or ""), found["case"] or ""


def line_of(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def _found(rows: Sequence[Row], *, brief: bool) -> str:
    """Return the verdict on a sentence with what was found; of a sentence on several, each verdict once in a row."""
    texts = []
    for verdict, group in groupby(rows, key=lambda row: row["verdict"]):
        what = "; ".join(text for row in group if (text := row.get("found") or _effect(row, brief=brief)))
        texts.append(", ".join(filter(None, (f"**{verdict}**" if verdict == "fails" else verdict, what))))
    return "; ".join(texts)


def _effect(row: Row, *, brief: bool) -> str:
    """Return the estimate of a run, with its interval unless in brief, in the unit in which the bounds are."""
    factor = 100 if row["unit"] == "fraction" else 1
    estimate, low, high = (
        rounded(float(row[name]) * factor) if row[name] else "" for name in ("estimate", "low", "high")
    )
    return estimate if brief or low == high else f"{estimate} [{low}, {high}]"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python docs/_site/claims.py FOLDER...: the folders of runs, with their reports")
    for name in sys.argv[1:]:
        try:
            print(f"wrote {keep(Path(name))}")
        except (OSError, KeyError, ValueError) as error:
            sys.exit(f"{name} is no folder of a run with its report: {error}")
