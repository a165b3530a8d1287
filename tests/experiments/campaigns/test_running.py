import errno
import json
import math
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from experiments.campaigns import running
from experiments.campaigns.running import Shard, cores, opened
from experiments.campaigns.store import Store
from simmodels.errors import RequestError, StoppedError
from tests.experiments.campaigns.conftest import CELLS, RAN, Ask, Run, Write, begun, ended, results
from tests.refused import refused

# -- a run ------------------------------------------------------------------------------------------


def test_a_run_does_all_cells_the_next_none_and_more_replications_only_what_is_new(
    campaign: Run, tmp_path: Path
) -> None:
    first = campaign(command=["schedlab", "run"])
    assert (first.run, first.done, first.complete, first.failed, first.interrupted) == (CELLS, CELLS, True, {}, False)
    assert first.results().done == first.results().cells == CELLS
    second = campaign()
    assert (second.run, second.done, second.complete) == (0, CELLS, True)
    assert second.results().table.equals(first.results().table)
    [path] = (tmp_path / "out" / "runs").iterdir()  # a run that had nothing to do is none
    about = json.loads(path.read_text("utf-8"))
    assert (about["state"], about["command"]) == ("finished", ["schedlab", "run"])
    assert about["cells"] == {"planned": CELLS, "asked": CELLS, "run": CELLS, "failed": 0}
    assert {"numpy", "pyarrow", "python", "schedlab"} <= set(about["versions"])
    larger = campaign(scale="small")
    assert (larger.run, larger.done, begun(tmp_path)) == (12, 36, 36)
    again = campaign()
    assert (again.run, again.done, again.complete) == (0, CELLS, True)


def test_a_campaign_that_is_opened_is_as_it_is(campaign: Run, tmp_path: Path) -> None:
    campaign(shard="1/2")
    found = opened(tmp_path / "out", trust=True)
    assert (found.done, found.run, found.complete, found.changed) == (12, 0, False, False)
    assert begun(tmp_path) == 12
    with refused("...holds no campaign: it has no manifest.json..."):
        opened(tmp_path, trust=True)


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


def test_shards_have_each_cell_once_and_are_equally_large() -> None:
    for shards in (1, 2, 3, 24, 30):
        parts = [Shard(number, shards) for number in range(1, shards + 1)]
        for place in range(CELLS):
            assert sum(place in part for part in parts) == 1
        sizes = [sum(place in part for place in range(CELLS)) for part in parts]
        assert max(sizes) - min(sizes) <= 1
        assert [str(Shard.parse(f" {part} ")) for part in parts] == [str(part) for part in parts]


def test_what_is_no_shard_is_refused(campaign: Run, tmp_path: Path) -> None:
    for text in ("", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1.0/2", "1 / 2", "²/³"):
        with pytest.raises(RequestError, match="shard must be i/n with 1 <= i <= n, such as 3/100"):
            campaign(shard=text)
    assert begun(tmp_path) == 0


def together(commands: list[list[str]], folder: Path) -> None:
    """Run commands at the same time, to their end."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(words, cwd=folder, **pipes) for words in commands]
    reports = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(commands), reports
    assert "Traceback" not in "".join(reports)


def test_shards_and_runners_at_the_same_time_give_the_same_bytes(campaign: Run, asked: Ask, tmp_path: Path) -> None:
    campaign()
    expected = results(tmp_path / "out")
    together([asked("--workers=0", "--out=parts", f"--shard={n}/3") for n in (1, 2, 3)], tmp_path)
    assert results(tmp_path / "parts") == expected
    assert begun(tmp_path) == 2 * CELLS
    together([asked(f"--workers={n}", "--out=both") for n in (0, 1)], tmp_path)  # each does all that it can
    both = tmp_path / "both"
    assert ((both / "results.csv").read_bytes(), (both / "results.parquet").read_bytes()) == expected
    assert results(both) == expected
    assert opened(both, trust=True).complete


def test_a_shard_begins_while_another_makes_the_folder(
    campaign: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign()
    parts = tmp_path / "parts"
    for name in ("cells", "failures"):
        (parts / name).mkdir(parents=True)
    (parts / "failures" / ".probe1").touch()
    require_own = running.require_own

    def late(*given: Any) -> None:  # noqa: ANN401  as there
        monkeypatch.undo()
        campaign("parts", shard="1/2")  # that other one has even ended before this one looks
        require_own(*given)

    monkeypatch.setattr(running, "require_own", late)
    assert campaign("parts", shard="2/2").complete
    assert results(parts) == results(tmp_path / "out")


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


def test_a_limit_of_a_cells_time_that_is_none_or_cannot_be_kept_is_refused(campaign: Run, tmp_path: Path) -> None:
    none = "must be a number of seconds > 0 and <= 1e+06 (got ..."
    no_worker = "has no effect with workers=0, ...; use workers=1 or more..."
    for limit_s, workers, what in ((0.0, 1, none), (math.nan, 1, none), (1e7, 1, none), (1.0, 0, no_worker)):
        with refused(f"cell_timeout_s {what}"):
            campaign(cell_timeout_s=limit_s, workers=workers)
    assert not (tmp_path / "out").exists()


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

    monkeypatch.setattr("experiments.campaigns.execution.loop._BATCH_S", 0.0)  # each cell is a batch
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


# -- code that changes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("def claims(self, results):", "def claims(self, results):\n            # why", False),
        ('cell["number"] / 7', 'cell["number"] / 8', True),
    ],
    ids=["a claim", "a helper"],
)
def test_cells_are_run_again_if_what_they_run_has_changed(
    old: str, new: str, again: bool, write: Write, campaign: Run, tmp_path: Path
) -> None:
    campaign()
    assert RAN.count(old) == 1
    write(RAN.replace(old, new), "ran.py")
    found = opened(tmp_path / "out", trust=True)
    assert (found.changed, found.done) == (again, CELLS)
    assert campaign().run == (CELLS if again else 0)
    write(RAN, "ran.py")
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
