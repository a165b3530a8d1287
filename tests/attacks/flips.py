"""Single flipped bits in the files of a campaign's folder: each is noticed and named, or it changes nothing.

All in this process: a campaign is made once, then each case flips a bit of one of its files, looks at the folder as
`report` does, and in one of ten cases runs the campaign again as `run` does. Files that a report writes and nothing
reads (`results.csv`, the page) are left out.
"""

import random
import shutil
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from experiments.campaigns.running import Campaign, opened, run
from experiments.campaigns.store import Store
from simmodels.errors import SimModelsError
from tests.attacks.attack import Broken, Case

CASES = 5_000
REPEATED = 10  # one case of this many runs the campaign again
STUDY = """
    from experiments.campaigns import Claim, Scale, Study


    class Attacked(Study):
        '''Cells with rows of all kinds, of which some fail.'''

        parameters = {"base": 10, "fails": True}
        factors = {"kind": ["a", "b"], "number": list(range(9))}
        scales = {"smoke": Scale(replications=2)}

        def run_cell(self, cell):
            if cell["fails"] and cell["number"] == 7:
                raise ArithmeticError("seven")
            drawn = cell.stream("drawn").random()
            rows = [{"x": cell["number"] / 7, "drawn": drawn, "count": part} for part in range(cell["number"] % 4)]
            return [*rows, {"text": f"t{cell['number']}", "holds": drawn < 0.5}]

        def claims(self, results):
            effect = results.difference("x", {"kind": "b"}, {"kind": "a"})
            return [Claim(text="equal", source="here", measure="x", effect=effect, at_least=0.0)]
"""
NAME = "attacked"


def write_study(folder: Path) -> str:
    """Write the study that is attacked to a folder; return its path."""
    path = folder / f"{NAME}.py"
    path.write_text(textwrap.dedent(STUDY), "utf-8")
    return str(path)


def make_campaigns(folder: Path) -> tuple[str, list[Path]]:
    """Make a campaign of several files of cells, and one whose files were put together; return study and folders."""
    study, loose, compact = write_study(folder), folder / "loose", folder / "compact"
    for out in (loose, compact):
        for number in range(1, 7):
            run(study, out=out, scale="smoke", workers=0, shard=f"{number}/6")
    Store(compact).compact(0)
    return study, [loose, compact]


def seen(campaign: Campaign) -> tuple[object, ...]:
    """Return what a campaign shows: its table, byte for byte, and what is recorded of its failures and runs."""
    results = campaign.results()
    return results.table.to_csv().encode(), results.table.dtypes.to_dict(), campaign.failed, campaign.store.history()


def cases(seed: int) -> Iterator[Case]:
    """Hand out the cases: a file of a folder, chosen evenly among the kinds of files, and a bit of it."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="schedlab-flips-") as made:
        study, folders = make_campaigns(Path(made))
        whole = {folder: seen(opened(folder, trust=True)) for folder in folders}
        while True:
            folder = drawn.choice(folders)
            kind = drawn.choice(
                ["cells/*.parquet", "cells/*.parquet", "manifest.json", "runs/*.json", "failures/*.json"]
            )
            path = drawn.choice(sorted(folder.glob(kind)))
            bit = drawn.randrange(8 * path.stat().st_size)
            repeated = not drawn.randrange(REPEATED)
            yield lambda: _flip(study, folder, path, bit, whole[folder], repeated=repeated)  # noqa: B023  called at once


def _flip(study: str, folder: Path, path: Path, bit: int, whole: tuple[object, ...], *, repeated: bool) -> str:
    """Flip a bit of a file, look what comes of it, and mend the file."""
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[bit // 8] ^= 1 << bit % 8
    path.write_bytes(flipped)
    where = f"bit {bit} of {path.relative_to(folder.parent)} ({len(content)} bytes)"
    try:
        return f"{path.parent.name if path.parent != folder else path.name}: {_look(folder, path, whole, where)}"
    finally:
        if repeated:
            _repeat(study, folder, whole, where)
        path.write_bytes(content)


def _look(folder: Path, path: Path, whole: tuple[object, ...], where: str) -> str:
    """Return what a look at a folder finds of a flipped bit."""
    try:
        campaign = opened(folder, trust=True)
        if path in campaign.damaged:
            return "named and left out"
        if _same(seen(campaign), whole):
            return "changes nothing"
    except SimModelsError as error:
        if str(path) in str(error):
            return "named and refused"
        raise Broken(f"{where}: an error that does not name the file: {error}") from error
    except Exception as error:
        raise Broken(f"{where}: {type(error).__name__}: {error}") from error
    raise Broken(f"{where}: it is believed")


def _same(found: tuple[object, ...], whole: tuple[object, ...]) -> bool:
    """Return whether a folder shows what it showed; a record may have a name more, as where its digest lost its own."""
    (*tables, failed, history), (*tables_whole, failed_whole, history_whole) = found, whole
    return tables == tables_whole and _within(failed_whole, failed) and _within(history_whole, history)


def _within(less: object, more: object) -> bool:
    """Return whether all that one value of JSON holds is in another, too."""
    if isinstance(less, dict) and isinstance(more, dict):
        return all(name in more and _within(value, more[name]) for name, value in less.items())
    if isinstance(less, list) and isinstance(more, list):
        return len(less) == len(more) and all(map(_within, less, more))
    return less == more


def _repeat(study: str, folder: Path, whole: tuple[object, ...], where: str) -> None:
    """Run the campaign again in a copy of a damaged folder: its table must be the undamaged one."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    try:
        campaign = run(study, out=copy, scale="smoke", workers=0)
        if seen(campaign)[:2] != whole[:2] or campaign.failed.keys() != whole[2].keys():  # type: ignore[attr-defined]
            raise Broken(f"{where}: another table after it was run again")
    except SimModelsError as error:
        if "manifest.json" not in str(error):
            raise Broken(f"{where}: it cannot be run again: {error}") from error
    finally:
        shutil.rmtree(copy)
