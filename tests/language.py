"""The lint of language: phrases and names that a reader would have to translate back; `python -m tests.language`.

A rule is a pattern, what to write instead, and a line that breaks it. Phrases are looked for in all text: prose,
docstrings, comments, errors and names; names only in Python. What a page quotes as code is not prose. A line that has
to break a rule ends with ``language: why``.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PLACES: Final = ("simmodels", "workloads", "experiments", "benchmarks", "tests", "docs", ".github", ".ci")
SUFFIXES: Final = frozenset({".py", ".md", ".csv", ".toml", ".cfg", ".yml", ".yaml", ".cff", ".txt", ".ipynb"})
ITSELF: Final = frozenset({"tests/language.py", "tests/test_language.py"})
CODE: Final = re.compile(r"`[^`]*`")
EXCUSE: Final = re.compile(r"\blanguage: \w")


@dataclass(frozen=True)
class Rule:
    """A pattern that no line may match, what to write instead, and a line that matches."""

    pattern: str
    instead: str
    planted: str


PHRASES: Final = (
    Rule(r"(?i)(\b|_)(told|tells?|telling)(\b|_)", "report, say, notify or distinguish", "what the user is told"),
    Rule(r"(?i)(\b|_)anew(\b|_)", "again", "the plan is made anew"),
    Rule(r"(?i)\bso many\b", "n, or this many", "the so many earliest jobs"),
    Rule(
        r"(?<![-._\"'])\b[Dd]ark(ness)?\b(?![-._\"']|,? (mode|scheme|page))(?<!light or dark)",
        "off",
        "a machine goes dark",
    ),
    Rule(r"(?i)(\b|_)shall(\b|_)", "must, will or is to", "what it shall be called"),
    Rule(r"(?i)(\b|_)for[ _]ever(\b|_)", "without end", "it waits for ever"),
    Rule(r"(?i)\bin the mean\b(?! time)", "on average", "3.5 cores in the mean"),
    Rule(r"(?i)\bbut for\b", "except", "all but for one"),
    Rule(r"(?i)\b(comes?|coming) and (go|goes|going)\b", "be switched on and off, vary", "machines that come and go"),
    Rule(r"(?i)\b(an?|one|the) (row|line|record|entry) an? [a-z]+", "one row per job", "a table with a row a job"),
    Rule(r"(?i)\b(leaves?|left|leaving) (it )?away\b", "omit", "leave it away for all"),
    Rule(r"(?i)(\b|_)(is|are)_?( )?allowed\b", "must be", "a number > 0 is allowed"),
    Rule(r"(?i)\bnot but\b", "only", "they are not but two"),
    Rule(r"(?i)\b(process|compiled|both|either|two) clocks?\b", "engine", "the process clock"),
    Rule(r"(?i)\b(jobs|rows|cores|events|trials|cells) an? (second|hour|day)\b", "per", "3,000 jobs a second"),
)

NAMES: Final = (
    Rule(r"\b(meeting|trading|powering|answering|risky|documents)\b(?= import|\.)", "a noun of the field", "trading.x"),
    Rule(r"\b(new_fleet|[Ff]leet)\b", "placement state, machines", "fleet = new_fleet()"),
    Rule(r"\b(powered_run|_Crew|advice_told|claims_of|figures_of|tables_of)\b", "what the module holds", "_Crew()"),
    Rule(r"\bhol\b(?!\")", "blocking", "options.hol"),
    Rule(r"\b_?(told_s|darkness|gained_until|plan_anew|run_at|begin_of|is_of)\b", "what it holds", "self._told_s = 1"),
    Rule(r"\b_?alike\(", "what it returns", "_alike(jobs)"),
    Rule(r"\bqueue\.(judged|admitted|due|fresh|stale|same)\b", "what it holds (see QueueState)", "queue.stale = True"),
    Rule(
        r"\b(weigh|settle|standing|tick|busy)\(state\b", "categorise, admit_arrivals, utilisation", "tick(state, now)"
    ),
)


def files(root: Path = ROOT) -> Iterator[Path]:
    """Hand out the files that people read: code, tests, pages and settings."""
    found = [each for place in PLACES for each in (root / place).rglob("*")]
    for path in sorted([*found, *root.glob("*")]):
        hidden = any(part.startswith(".ipynb") or part == "__pycache__" for part in path.parts)
        if path.is_file() and not hidden and (path.suffix in SUFFIXES or path.name == "Makefile"):
            yield path


def findings(root: Path = ROOT) -> list[str]:
    """Return one line per breach: file and line, the phrase or name, and what to write instead."""
    found = []
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if name in ITSELF:
            continue
        rules = (*PHRASES, *NAMES) if path.suffix == ".py" else PHRASES
        for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
            line = CODE.sub("", text) if path.suffix == ".md" else text
            if EXCUSE.search(line):
                continue
            broken = ((rule, re.search(rule.pattern, line)) for rule in rules)
            found += [
                f"{name}:{number}: {seen.group().strip('_')!r}: write {rule.instead}" for rule, seen in broken if seen
            ]
    return found


def main() -> int:
    """Print the breaches; return 1 where there are some."""
    found = findings()
    print("\n".join(found))
    print(f"{len(found)} phrases or names to replace" if found else "no phrase and no name to replace")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
