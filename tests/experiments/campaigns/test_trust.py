import importlib.util
import json
import marshal
import os
import py_compile
import struct
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import NoReturn

import pytest

from experiments.campaigns.records import write_record
from tests.command_line import Answer, Run
from tests.experiments.conftest import STUDY, smoke

pytestmark = pytest.mark.usefixtures("counting")

MARKS = "\n\nfrom pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"
"""What a test's file leaves if it is run."""
CLAIMS = "    def claims(self, results):\n"
NAMING = f"{CLAIMS}        from experiments.inputs import named_priority\n        named_priority('order.py')\n"
ORDER = "import simmodels as sm\n\n\n@sm.order\ndef mine(submit):\n    return submit\n"


def test_a_report_runs_only_code_that_this_user_has_run_as_it_is(run: Run, tmp_path: Path) -> None:
    """Though it lies in the current folder, and the manifest vouches for it: such a folder comes from anyone."""
    smoke(run)
    manifest = Path("results/counting/manifest.json")
    about = json.loads(manifest.read_text("utf-8"))
    del about["digest"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "counting.py").write_text(STUDY + MARKS)
    (tmp_path / "hidden.py").write_text(STUDY + ORDER + MARKS)
    (tmp_path / "other" / "based.toml").write_text('study = "../hidden.py"\nname = "counting"\n')
    parts = ("parameters", "factors", "scales.smoke.factors")
    for part in parts:
        order = '["hidden.py:mine"]' if part.endswith("factors") else '"hidden.py:mine"'
        (tmp_path / f"{part}.toml").write_text(f'study = "replay"\nname = "counting"\n[{part}]\norder = {order}\n')
    replay = {"study": "replay", "name": "replay", "chosen": {"order": ["FCFS", "hidden.py:mine"]}}
    hidden = "hidden.py"
    for said, file in (
        ({"study": str(tmp_path / "other" / "counting.py")}, "other/counting.py"),
        ({"study": "other/based.toml"}, hidden),
        ({"study": str(tmp_path / hidden)}, hidden),
        ({"study": "hidden.py:Counting", "sources": {str(tmp_path / hidden): "0"}}, hidden),
        *(({"study": f"{part}.toml"}, hidden) for part in parts),
        (replay, hidden),
    ):
        write_record(manifest, {**about, **said})
        answer = run("report", "results/counting")
        assert (answer.status, answer.out) == (2, "")
        [line] = answer.err.splitlines()
        what = f"names {tmp_path / file}, a file of code that you have not run as it is; name the study yourself with "
        assert f"results/counting/manifest.json {what}--study, or use --trust if you trust the folder" in line
        assert not list(tmp_path.rglob("*.ran"))
    write_record(manifest, {**about, "study": str(tmp_path / "other" / "counting.py")})
    assert run("report", "results/counting", "--study", "counting.py").status == 0
    assert not list(tmp_path.rglob("*.ran"))
    assert run("report", "results/counting", "--trust").status == 0
    assert len(list(tmp_path.rglob("*.ran"))) == 1
    (tmp_path / "another.py").write_text(STUDY.replace("Counting", "Another"))
    answer = run("report", "results/counting", "--study", "another.py")
    what = "holds a campaign of study 'counting', and another.py is study another"
    assert (answer.status, what in answer.err) == (2, True)


def test_code_that_a_report_first_meets_as_it_is_written_is_not_run_either(run: Run, tmp_path: Path) -> None:
    """A study's own code may run a file by a name that is relative: in another folder, that is another's."""
    Path("counting.py").write_text(STUDY.replace(CLAIMS, NAMING))
    Path("order.py").write_text(ORDER)
    assert smoke(run).status == 0
    assert run("report", "results/counting").status == 0
    Path("order.py").write_text(ORDER + MARKS)
    answer = run("report", "results/counting")
    assert (answer.status, "order.py, a file of code that you have not run as it is" in answer.err) == (2, True)
    assert not list(tmp_path.rglob("*.ran"))


WHERE = {
    "at its head": ("beside_it", "import beside_it\n", STUDY),
    "in a package": ("kit.beside_it", "import kit.beside_it\n", STUDY),
    "in its claims": ("beside_it", "", STUDY.replace(CLAIMS, f"{CLAIMS}        import beside_it\n")),
    "in a file of an order": ("beside_it", "", STUDY.replace(CLAIMS, NAMING)),
}
"""The module's name, what the study begins with, and the study."""


@pytest.mark.parametrize("where", WHERE)
def test_what_code_imports_from_beside_it_is_compared_too(where: str, run: Run, tmp_path: Path) -> None:
    """Byte for byte, as what is run: compiled code that lies there under its name is not."""
    name, head, study = WHERE[where]
    helper = Path(f"{name.replace('.', '/')}.py")
    helper.parent.mkdir(exist_ok=True)
    Path("order.py").write_text(f"import {name}\n{ORDER}")
    Path("counting.py").write_text(head + study)
    helper.write_text("n = 1\n")
    shards = [smoke(run, "--shard", f"{number}/2").status for number in (1, 2)]

    def report(*words: object) -> Answer:
        for module in (name, name.partition(".")[0]):
            sys.modules.pop(module, None)
        return run("report", "results/counting", *words)

    answer = report()
    assert (shards, answer.status) == ([0, 0], 0), answer.err
    py_compile.compile(str(helper), dfile=str(tmp_path / helper))
    good = helper.read_bytes(), helper.stat()
    compiled = Path(cache_from_source(str(helper)))
    helper.write_text("n = 1\n" + MARKS)
    answer = report()
    what = f"names {tmp_path / helper}, a file of code that you have not run as it is; name the study yourself"
    assert (answer.status, what in answer.err, list(tmp_path.rglob("*.ran"))) == (2, True, [])
    other = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(good[1].st_mtime), good[1].st_size)
    compiled.write_bytes(other + marshal.dumps(compile(helper.read_text(), str(tmp_path / helper), "exec")))
    helper.write_bytes(good[0])
    os.utime(helper, ns=(good[1].st_atime_ns, good[1].st_mtime_ns))
    assert (report().status, list(tmp_path.rglob("*.ran"))) == (0, [])
    helper.write_text("n = 1\n" + MARKS)
    words = ("--trust",) if where == "in a file of an order" else ("--study", "counting.py")
    assert report(*words).status == 0
    assert len(list(tmp_path.rglob("*.ran"))) == 1


def test_a_report_of_what_one_has_run_asks_nothing_in_any_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("based.toml").write_text('study = "counting.py"\n')
    Path("order.py").write_text(ORDER)
    for study in ("counting.py", "counting.py:Counting", "based.toml", "replay"):
        folder = f"results/{study.partition('.')[0]}{study.count(':')}"
        options = ("-s", "jobs=60", "-s", "order=FCFS,order.py") if study == "replay" else ()
        assert run("run", study, "--scale", "smoke", "--workers", 0, "--out", folder, *options).status == 0
        assert run("report", folder).status == 0
    monkeypatch.chdir("results")
    assert run("report", "counting0").status == 0


@pytest.mark.parametrize(
    ("home", "why"),
    [
        ("counting.py", "no note of what you run can be kept in {}: not a directory"),
        ("none", "no note of what you run can be kept: there is no home, and no XDG_STATE_HOME"),
    ],
)
def test_where_no_note_can_be_kept_a_run_runs_and_a_report_asks(
    home: str, why: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_home() -> NoReturn:
        raise RuntimeError("could not determine home directory")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setenv("XDG_STATE_HOME", "none" if home == "none" else str(tmp_path / home))
    assert smoke(run).status == 0
    answer = run("report", "results/counting")
    [line] = answer.err.splitlines()
    assert (answer.status, why.format(tmp_path / home / "schedlab" / "code") in line) == (2, True)
    assert run("report", "results/counting", "--trust").status == 0
