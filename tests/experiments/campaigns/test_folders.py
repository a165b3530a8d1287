"""Folders that hold something else than the campaign that is run there, or a campaign that was damaged."""

import json
import sys
from pathlib import Path

import pytest

from experiments.campaigns.records import CAMPAIGN, write_record
from experiments.campaigns.report import write_report
from experiments.campaigns.running import opened, run
from experiments.campaigns.store import WRITTEN
from simmodels.errors import FileFormatError, RequestError
from tests.experiments.campaigns.conftest import RAN, Ask, Run, Write, ended, results
from tests.refused import refused


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("manifest", ["whole", "damaged"])
def test_a_folder_with_the_campaign_of_another_study_is_refused_and_left_as_it_is(
    manifest: str, force: bool, campaign: Run, write: Write, tmp_path: Path
) -> None:
    campaign()
    path = tmp_path / "out" / "manifest.json"
    what = "holds a campaign of study ran; choose another folder"
    if manifest == "damaged":
        path.write_text(path.read_text("utf-8").replace('"ran"', '"run"'))
        what = "its bytes are not those that were written"
    before = path.read_bytes()
    other = write(RAN.replace("class Ran", "class Other"), "other.py")
    with pytest.raises((RequestError, FileFormatError), match=what):
        run(other, out=tmp_path / "out", scale="smoke", workers=0, force=force)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("content", ["file", "link"])
def test_what_no_campaign_has_written_is_not_overwritten_unless_asked(
    name: str, content: str, campaign: Run, tmp_path: Path
) -> None:
    path = tmp_path / "out" / name
    path.parent.mkdir()
    if content == "file":
        path.write_text('{"name": "ran", "schedlab": "1"}')
    else:
        path.symlink_to(tmp_path)
    with pytest.raises(RequestError, match=rf"{name} was not written by a campaign; choose another folder, or use --f"):
        campaign()
    assert list(path.parent.iterdir()) == [path]
    if name in {"cells", "failures", "runs"}:
        what = "is a link, which is not followed" if content == "link" else "is not a folder"
        with pytest.raises(RequestError, match=rf"{name} {what}"):
            campaign(force=True)
    elif content == "file":
        assert campaign(force=True).complete


def test_a_campaign_goes_on_without_its_manifest_and_writes_nothing_but_its_own(campaign: Run, tmp_path: Path) -> None:
    write_report(campaign())
    (tmp_path / "out" / "manifest.json").unlink()
    assert campaign().run == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {*WRITTEN}


def test_a_manifest_that_is_none_or_lacks_something_or_has_something_else_is_reported(
    campaign: Run, tmp_path: Path
) -> None:
    campaign()
    out, path = tmp_path / "out", tmp_path / "out" / "manifest.json"
    about = json.loads(path.read_text("utf-8"))
    again = "; remove it, and the command of the run writes it again"
    for content, what in (
        ("", "it is no JSON..."),
        ("[]", "it holds no JSON object..."),
        ("{}", f"its bytes are not those that were written: it has no digest{again}"),
        (json.dumps({**about, "seed": None}), f"its bytes are not those that ... another digest{again}"),
    ):
        path.write_text(content)
        with refused(f"{path}: {what}", FileFormatError):
            opened(out, trust=True)
    del about["digest"]
    lacking = [(name, None) for name in CAMPAIGN]
    for name, value in (*lacking, ("seed", "a"), ("chosen", 3), ("study", 3), ("code", 1.5), ("factors", [])):
        others = {other: what for other, what in about.items() if other != name}
        write_record(path, others if value is None else {**others, name: value})
        what = f"it has no '{name}'" if value is None else f"it has a '{name}' that is "
        with refused(f"{path}: {what}...", FileFormatError):
            opened(out, trust=True)


def test_the_cells_of_a_damaged_file_are_run_again_and_the_file_is_named(
    campaign: Run, asked: Ask, tmp_path: Path
) -> None:
    campaign()
    expected = results(tmp_path / "out")
    path = min((tmp_path / "out" / "cells").iterdir())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    why = f"{tmp_path}/out/cells/{path.name} is damaged"
    looked = ended([sys.executable, "-m", "experiments", "report", str(tmp_path / "out")], tmp_path)
    assert looked.returncode in {1, 2}
    assert looked.stderr.startswith(f"error: {why}, and left out: its bytes are not those that were written")
    assert "Traceback" not in looked.stderr
    process = ended(asked("--workers=0", f"--out={tmp_path / 'out'}"), tmp_path)
    assert process.returncode == 0, process.stderr
    assert process.stderr.startswith(f"{why}: its bytes are not those that were written")
    assert "it is set aside, and its cells are run again" in process.stderr.splitlines()[0]
    assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    assert results(tmp_path / "out") == expected
    assert opened(tmp_path / "out", trust=True).damaged == {}


RECORDS = {"an object of nothing": "{}", "garbage": "\x00\x01", "huge": '{"wall_s": 1' + 400 * "0" + "}"}


@pytest.mark.parametrize("content", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("folder", ["runs", "failures"])
def test_a_damaged_record_is_named_and_does_not_stop_what_can_be_done_without_it(
    folder: str, content: str, campaign: Run, tmp_path: Path
) -> None:
    (tmp_path / "fail3").touch()
    campaign()
    expected = results(tmp_path / "out")
    path = min((tmp_path / "out" / folder).iterdir())
    path.write_text(content)
    found = opened(tmp_path / "out", trust=True)
    write_report(found)
    assert list(found.damaged) == [path]
    assert len(found.failed) == (3 if folder == "failures" else 4)
    assert f"{path.name} is damaged, and left out" in (tmp_path / "out" / "report.html").read_text("utf-8")
    again = campaign()
    assert again.damaged == {}
    assert (again.run, len(again.failed)) == (1 if folder == "failures" else 0, 4)
    assert path.with_name(f"{path.name}.damaged").exists()
    assert results(tmp_path / "out") == expected
