import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.campaigns import running
from experiments.campaigns.report import write_report
from experiments.campaigns.running import Campaign, Shard, cores, opened, run
from experiments.campaigns.store import WRITTEN, Store
from simmodels.errors import FileFormatError, RequestError, SimModelsError, StoppedError
from tests.experiments.campaigns.conftest import Write, command, results
from tests.refused import refused

Run = Callable[..., Campaign]
Ask = Callable[..., list[str]]

STUDY = """
    import os
    from pathlib import Path
    from experiments.campaigns import Claim, Scale, Study


    def helped(cell):
        return {"x": cell["number"] / 7, "u": cell.stream("u").random()}


    class Ran(Study):
        parameters = {"folder": "."}
        factors = {"kind": ["a", "b"], "number": list(range(6))}
        scales = {"smoke": Scale(replications=2), "small": Scale(replications=3)}

        def run_cell(self, cell):
            folder = Path(cell["folder"])
            with open(folder / "log.txt", "a") as log:
                log.write(f"{cell}\\n")
            if (folder / f"fail{cell['number']}").exists():
                raise ArithmeticError(f"bad {cell['number']}")
            return [helped(cell), {"set": str({"p", "q", "r", "s", "t"} & {cell["kind"], "q"}), "none": None}]

        def claims(self, results):
            effect = results.difference("x", {"kind": "b"}, {"kind": "a"})
            return [Claim(text="equal", source="here", measure="x", effect=effect, at_least=0.0)]
"""
CELLS = 24


@pytest.fixture
def study(write: Write) -> str:
    return write(STUDY, "ran.py")


@pytest.fixture
def chosen(tmp_path: Path) -> dict[str, str]:
    return {"folder": str(tmp_path)}


@pytest.fixture
def campaign(study: str, chosen: dict[str, str], tmp_path: Path) -> Run:
    """Run the campaign, in this process unless it is said otherwise."""

    def ran(out: str = "out", **options: Any) -> Campaign:  # noqa: ANN401  as `run` has them
        given = {"scale": "smoke", "workers": 0, "chosen": chosen, **options}
        return run(study, out=tmp_path / out, **given)

    return ran


def begun(tmp_path: Path) -> int:
    """Return how many cells were begun so far."""
    path = tmp_path / "log.txt"
    return len(path.read_text("utf-8").splitlines()) if path.exists() else 0


def ended(words: list[str], folder: Path, **options: Any) -> "subprocess.CompletedProcess[str]":  # noqa: ANN401
    """Run a command to its end."""
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def asked(study: str, chosen: dict[str, str]) -> Ask:
    """Return the command that runs the campaign, with these options."""
    return lambda *options: command(study, *options, **chosen)


# -- a run ------------------------------------------------------------------------------------------


def test_a_run_does_all_cells_and_the_next_none(campaign: Run, tmp_path: Path) -> None:
    first = campaign(command=["schedlab", "run"])
    assert (first.run, first.done, first.complete, first.failed, first.interrupted) == (CELLS, CELLS, True, {}, False)
    assert first.results().done == first.results().cells == CELLS
    second = campaign()
    assert (second.run, second.done, second.complete) == (0, CELLS, True)
    assert begun(tmp_path) == CELLS
    assert second.results().table.equals(first.results().table)
    [path] = (tmp_path / "out" / "runs").iterdir()  # a run that had nothing to do is none
    about = json.loads(path.read_text("utf-8"))
    assert about["state"] == "finished"
    assert about["command"] == ["schedlab", "run"]
    assert about["cells"] == {"planned": CELLS, "asked": CELLS, "run": CELLS, "failed": 0}
    assert {"numpy", "pyarrow", "python", "schedlab"} <= set(about["versions"])


def test_more_replications_run_only_what_is_new(campaign: Run, tmp_path: Path) -> None:
    campaign()
    larger = campaign(scale="small")
    assert (larger.run, larger.done) == (12, 36)
    assert begun(tmp_path) == 36
    again = campaign()
    assert (again.run, again.done, again.complete) == (0, CELLS, True)


def test_another_seed_runs_all_again_and_leaves_the_others(campaign: Run, tmp_path: Path) -> None:
    campaign()
    before = results(tmp_path / "out")
    assert campaign(seed=1).run == CELLS
    assert results(tmp_path / "out") != before
    assert campaign().run == 0
    assert results(tmp_path / "out") == before


def test_a_campaign_that_is_opened_is_as_it_is(campaign: Run, tmp_path: Path) -> None:
    campaign(shard="1/2")
    found = opened(tmp_path / "out", trust=True)
    assert (found.done, found.run, found.complete, found.changed) == (12, 0, False, False)
    assert begun(tmp_path) == 12


def test_a_run_puts_the_signals_back_and_leaves_them_alone_outside_the_main_thread(campaign: Run) -> None:
    before, done = signal.getsignal(signal.SIGTERM), []
    thread = threading.Thread(target=lambda: done.append(campaign().done))
    thread.start()
    thread.join()
    assert done == [CELLS]
    campaign("here")
    assert signal.getsignal(signal.SIGTERM) is before


def test_there_is_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == os.cpu_count()


# -- the same table, however it was run -------------------------------------------------------------


def test_any_number_of_workers_and_any_hash_seed_give_the_same_bytes(campaign: Run, asked: Ask, tmp_path: Path) -> None:
    campaign()
    expected = results(tmp_path / "out")
    for workers, seed in (("1", "0"), ("2", "random")):
        other = tmp_path / f"other{workers}"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        process = ended(asked(f"--workers={workers}", f"--out={other}"), tmp_path, env=environment)
        assert process.returncode == 0, process.stderr
        assert ((other / "results.csv").read_bytes(), (other / "results.parquet").read_bytes()) == expected
        assert {path.name for path in (other / "cells").iterdir()} != set()


@pytest.mark.parametrize("shards", [1, 2, 3, 24, 30])
def test_shards_have_each_cell_once(shards: int) -> None:
    parts = [Shard(number, shards) for number in range(1, shards + 1)]
    for place in range(CELLS):
        assert sum(place in part for part in parts) == 1
    sizes = [sum(place in part for place in range(CELLS)) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert [str(Shard.parse(f" {part} ")) for part in parts] == [str(part) for part in parts]


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1.0/2", "1 / 2"])
def test_what_is_no_shard_is_refused(text: str, campaign: Run, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="shard must be i/n with 1 <= i <= n, such as 3/100"):
        campaign(shard=text)
    assert begun(tmp_path) == 0


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_shards_one_after_the_other_give_the_same_bytes(order: tuple[int, ...], campaign: Run, tmp_path: Path) -> None:
    campaign()
    for number in order:
        assert campaign("parts", shard=f"{number}/3").run == CELLS // 3
    assert results(tmp_path / "parts") == results(tmp_path / "out")
    assert begun(tmp_path) == 2 * CELLS


def together(commands: list[list[str]], folder: Path) -> None:
    """Run commands at the same time, to their end."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    for process in [subprocess.Popen(words, cwd=folder, **pipes) for words in commands]:
        _, reported = process.communicate()
        assert "Traceback" not in reported
        assert process.returncode == 0, reported


def test_shards_at_the_same_time_give_the_same_bytes(campaign: Run, asked: Ask, tmp_path: Path) -> None:
    campaign()
    together([asked("--workers=0", "--out=parts", f"--shard={n}/3") for n in (1, 2, 3)], tmp_path)
    assert results(tmp_path / "parts") == results(tmp_path / "out")
    assert begun(tmp_path) == 2 * CELLS


def test_two_runners_of_the_same_campaign_do_no_harm(campaign: Run, asked: Ask, tmp_path: Path) -> None:
    campaign()
    together([asked(f"--workers={n}", "--out=both") for n in (0, 1)], tmp_path)
    both = tmp_path / "both"
    assert ((both / "results.csv").read_bytes(), (both / "results.parquet").read_bytes()) == results(tmp_path / "out")
    assert results(both) == results(tmp_path / "out")
    assert opened(both, trust=True).complete


# -- cells that fail --------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", ["0", "2"])
def test_cells_that_fail_are_recorded_and_run_again_only_if_asked(
    workers: str, campaign: Run, asked: Ask, tmp_path: Path
) -> None:
    (tmp_path / "fail3").touch()
    first = ended(asked(f"--workers={workers}", "--out=out", "--json"), tmp_path)
    assert first.returncode == 1, first.stderr
    assert json.loads(first.stdout)["cells"] == {"planned": CELLS, "done": 20, "run": CELLS, "failed": 4}
    assert "error: cell kind a, number 3, replication 0 failed: ArithmeticError: bad 3" in first.stderr
    assert "--retry-failed runs them again" in first.stderr
    records = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "out" / "failures").iterdir()]
    assert len(records) == 4
    assert {record["cell"]["number"] for record in records} == {3}
    assert all("raise ArithmeticError(" in record["traceback"] for record in records)
    assert len(opened(tmp_path / "out", trust=True).results().table) == 2 * 20
    second = campaign()
    assert (second.run, len(second.failed)) == (0, 4)
    assert begun(tmp_path) == CELLS
    third = campaign(retry_failed=True)
    assert (third.run, len(third.failed)) == (4, 4)
    (tmp_path / "fail3").unlink()
    last = campaign(retry_failed=True)
    assert (last.run, last.failed, last.complete) == (4, {}, True)
    assert list((tmp_path / "out" / "failures").iterdir()) == []
    campaign("other")
    assert results(tmp_path / "out") == results(tmp_path / "other")


def test_a_campaign_all_of_whose_cells_fail_has_no_report_and_says_so(asked: Ask, tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"fail{number}").touch()
    process = ended(asked("--workers=0", "--out=out"), tmp_path)
    assert process.returncode == 1
    assert "ran: 0 of 24 cells are done, 24 run just now" in process.stderr
    assert "Traceback" not in process.stderr
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("limit_s", [0.0, -1.0, float("nan"), float("inf"), 1e7])
def test_a_limit_of_a_cells_time_that_is_none_is_refused(limit_s: float, campaign: Run, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"cell_timeout_s must be a number of seconds > 0 and <= 1e\+06 \(got"):
        campaign(cell_timeout_s=limit_s, workers=1)
    assert not (tmp_path / "out").exists()


def test_a_limit_of_a_cells_time_needs_a_process_that_can_be_ended(campaign: Run) -> None:
    with pytest.raises(RequestError, match=r"cell_timeout_s has no effect with workers=0, .*; use workers=1 or more"):
        campaign(cell_timeout_s=1.0)


# -- folders that hold something else ---------------------------------------------------------------


def test_a_folder_with_the_campaign_of_another_study_is_refused_and_left_as_it_is(
    campaign: Run, write: Write, tmp_path: Path
) -> None:
    campaign()
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    other = write(STUDY.replace("class Ran", "class Other"), "other.py")
    with pytest.raises(RequestError, match="holds a campaign of study ran; choose another folder"):
        run(other, out=tmp_path / "out", scale="smoke", workers=0)
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before


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


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "it is no JSON..."),
        ("[]", "it holds no JSON object..."),
        ("{}", "it has no 'name'; remove it, and the command of the run..."),
    ],
)
def test_a_manifest_that_is_none_is_reported_by_its_name(
    content: str, what: str, campaign: Run, tmp_path: Path
) -> None:
    campaign()
    path = tmp_path / "out" / "manifest.json"
    path.write_text(content)
    with refused(f"{path}: {what}", FileFormatError):
        campaign()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, None) for name in ("study", "scale", "seed", "chosen", "code", "parameters", "factors", "schedlab")),
        *(("seed", "a"), ("chosen", 3), ("study", 3), ("scale", []), ("code", 1.5), ("factors", [])),
    ],
)
def test_a_manifest_that_lacks_something_or_has_something_else_is_reported(
    name: str, value: object, campaign: Run, tmp_path: Path
) -> None:
    campaign()
    path = tmp_path / "out" / "manifest.json"
    about = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**about, name: value}))
    with refused(f"{path}: its bytes are not those ...; remove it, and the command...", FileFormatError):
        opened(tmp_path / "out", trust=True)
    del about["digest"], about[name]
    path.write_text(json.dumps(about if value is None else {**about, name: value}))
    what = f"has no '{name}'" if value is None else f"has a '{name}' that is "
    with refused(f"{path} {what}...", SimModelsError):
        opened(tmp_path / "out", trust=True)


def test_a_folder_without_a_campaign_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"holds no campaign: it has no manifest\.json"):
        opened(tmp_path, trust=True)


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


RECORDS = {
    "an object of nothing": "{}",
    "garbage": "\x00\x01",
    "other kinds": '{"state": 1, "command": {}, "begun": [], "wall_s": "x", "cells_s": null, "cells": 3}',
    "huge": '{"wall_s": 1' + 400 * "0" + "}",
    "kinds of a failure": '{"cell": [], "error": {}, "worker": 3, "traceback": null}',
}


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


# -- full disks -------------------------------------------------------------------------------------


def test_a_disk_that_is_full_in_the_midst_of_a_campaign_is_reported_and_the_campaign_goes_on_later(
    campaign: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_bytes, left = Path.write_bytes, 2

    def filling(self: Path, content: bytes) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            write_bytes(self, content[:9])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(self, content)

    monkeypatch.setattr("experiments.campaigns.loop._BATCH_S", 0.0)  # each cell is a batch
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", filling)
        with pytest.raises(StoppedError, match="no space left on device; what was finished is kept, and the same"):
            campaign()
    [path] = (tmp_path / "out" / "runs").iterdir()
    assert json.loads(path.read_text("utf-8"))["state"] == "stopped by an error"
    found = opened(tmp_path / "out", trust=True)
    assert found.done == 2
    assert len(found.results().table) == 2 * found.done
    assert campaign().run == CELLS - found.done
    campaign("other")
    assert results(tmp_path / "out") == results(tmp_path / "other")


def test_a_limit_on_what_may_be_written_is_reported_in_a_line_with_status_1(
    study: str, campaign: Run, chosen: dict[str, str], tmp_path: Path
) -> None:
    """As a full disk is, by the system itself: a file of cells takes more than the manifest."""
    (tmp_path / "out").mkdir()
    text = tmp_path / "large.py"
    text.write_text(
        (tmp_path / "ran.py").read_text("utf-8").replace('"none": None', '"none": os.urandom(20_000).hex()'), "utf-8"
    )
    process = ended(
        command(str(text), "--workers=0", "--out=out", **chosen),
        tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000)),
    )
    assert process.returncode == 1
    assert process.stderr.splitlines() == [
        "error: cannot write to out/cells: file too large; what was finished is kept, and the same command goes on"
    ]
    assert list((tmp_path / "out" / "cells").iterdir()) == []
    assert campaign().complete


# -- code that changes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ('text="equal"', 'text="the same"', False),
        ("def claims(self, results):", "def claims(self, results):\n            # why", False),
        ("    class Ran(Study):", "    class Ran(Study):\n        '''What it is.'''", False),
        (
            "        def claims",
            "        def figures(self, results):\n            return {}\n\n        def claims",
            False,
        ),
        ('cell["number"] / 7', 'cell["number"] / 8', True),
        ('raise ArithmeticError(f"bad', 'raise ValueError(f"bad', True),
        ("class Ran(Study):", "class Ran(Study):\n        version = 2", True),
    ],
    ids=["a claim", "a comment", "a docstring", "a figure", "a helper", "run_cell", "the version"],
)
def test_cells_are_run_again_if_what_they_run_has_changed(
    old: str, new: str, again: bool, write: Write, campaign: Run, tmp_path: Path
) -> None:
    campaign()
    assert STUDY.count(old) == 1
    write(STUDY.replace(old, new), "ran.py")
    assert opened(tmp_path / "out", trust=True).changed is again
    assert opened(tmp_path / "out", trust=True).done == CELLS
    assert campaign().run == (CELLS if again else 0)
    write(STUDY, "ran.py")
    assert campaign().run == 0  # what was run with the code of before is still there


# -- files are put together -------------------------------------------------------------------------


def test_a_run_puts_what_killed_runs_left_together_before_it_reads_it(
    campaign: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps: list[str] = []
    compact, done = Store.compact, Store.done
    monkeypatch.setattr(Store, "compact", lambda *given: (steps.append("put together"), compact(*given))[1])
    monkeypatch.setattr(Store, "done", lambda *given: (steps.append("read"), done(*given))[1])
    campaign()
    assert steps[:2] == ["put together", "read"]
    assert steps[-2:] == ["put together", "read"]
    assert running.MANIFEST in {path.name for path in (tmp_path / "out").iterdir()}
