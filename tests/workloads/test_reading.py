"""Read: one reader for every format, chosen by the name of a file and by how it begins."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from tests.attacks.files import Reader
from tests.refused import refused
from tests.work import written
from workloads.files import stem, write_whole

TABLE = "submit_s,runtime_s,cores\n0,10,1\n5,10,2\n"


@pytest.fixture
def jobs() -> sm.Workload:
    return wl.lublin(jobs=30, cores=16, seed=1, load=0.5)


def columns(log: sm.Workload) -> list[list[float]]:
    return [log.submit_s.tolist(), log.runtime_s.tolist(), log.cores.tolist()]


@pytest.mark.parametrize(
    ("format_name", "name"),
    [
        *(("swf", name) for name in ("log.txt", "log.swf", "log.swf.bz2")),
        *(("sacct", name) for name in ("jobs", "log.swf", "jobs.sacct.gz")),
        *(("borg", "slice.txt"), ("batsim", "jobs.json"), ("wfformat", "flow.json"), ("dax", "flow.xml")),
    ],
)
def test_a_file_is_known_by_its_name_and_by_how_it_begins(
    good: dict[str, Reader], format_name: str, name: str, tmp_path: Path
) -> None:
    reader = good[format_name]
    write_whole(tmp_path / name, reader.seeds[0])
    found, wanted = wl.read(tmp_path / name, name="mine"), reader.read(tmp_path / name)
    jobs = wanted if isinstance(wanted, sm.Workload) else sm.Workload.of_workflows([wanted])
    assert (found.name, wanted.name) == ("mine", "w" if format_name == "wfformat" else stem(Path(name)))
    assert columns(found) == columns(jobs)
    assert set(found.extras) == set(jobs.extras)
    assert len(found.workflows or ()) == (format_name in {"wfformat", "dax"})


def test_a_zone_is_for_what_sacct_printed(good: dict[str, Reader], tmp_path: Path) -> None:
    paths = {name: written(tmp_path, good[name].seeds[0], name) for name in ("sacct", "swf")}
    assert wl.read(paths["sacct"], timezone="Europe/Berlin").header == ("; TimeZoneString: Europe/Berlin",)
    with refused(f"timezone with {paths['swf']}; it is for what sacct printed; other files have times in seconds"):
        wl.read(paths["swf"], timezone="Europe/Berlin")


def test_a_folder_is_its_workflows(tmp_path: Path) -> None:
    for number in (1, 2):
        wl.write_wfformat(sm.Workflow(number, 0.0, [10.0], 2), tmp_path / f"{number}.json")
    assert len(wl.read(tmp_path).workflows) == 2


def test_a_table_is_known_by_the_columns_of_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(TABLE)
    (tmp_path / "mine.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tmp_path / "spaced.csv").write_text(TABLE.replace(",", ", "))
    for name in ("mine.txt", "mine.csv.gz", "spaced.csv"):
        assert columns(wl.read(tmp_path / name)) == [[0.0, 5.0], [10.0, 10.0], [1, 2]]


def test_a_table_says_which_jobs_have_no_limit_by_an_empty_field_or_by_no_such_column(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text(
        "submit_s,runtime_s,cores,estimate_s,partition\n0,7,1,9,a\n0,7,1,,a\n0,7,1,20,b\n"
    )
    some = wl.read(tmp_path / "some.csv")
    assert some.estimate_s.tolist() == [9, 9, 20]
    assert some.unlimited().tolist() == [False, True, False]
    assert some.counts["jobs without a time limit"] == 1
    some.to_frame().to_csv(tmp_path / "again.csv", index=False)
    assert wl.read(tmp_path / "again.csv").unlimited().tolist() == some.unlimited().tolist()
    (tmp_path / "none.csv").write_text(TABLE)
    none = wl.read(tmp_path / "none.csv")
    assert none.estimate_s.tolist() == none.runtime_s.tolist()
    assert none.unlimited().all()


def test_what_some_programs_write_for_nothing_is_a_name_of_a_table_with_names(tmp_path: Path) -> None:
    rows = "0,7,1,NA,9\n0,7,1,null,NA\n0,7,1,bob,\n0,7,1,,7\n"
    (tmp_path / "log.csv").write_text(f"submit_s,runtime_s,cores, user ,estimate_s\n{rows}")
    log = wl.read(tmp_path / "log.csv")
    assert (log.user_id.tolist(), log.names("user")) == ([1, 3, 2, -1], {"NA": 1, "bob": 2, "null": 3})
    assert log.unlimited().tolist() == [False, True, True, False]
    limits = pd.DataFrame({"by": ["user"], "value": ["NA"], "cores": [1]})
    limits.to_csv(tmp_path / "limits.csv", index=False)
    assert sm.simulate(log, cores=9, limits=tmp_path / "limits.csv").start_s.tolist() == [0.0] * 4
    log.to_frame().to_csv(tmp_path / "again.csv", index=False)
    assert wl.read(tmp_path / "again.csv").names("user") == log.names("user")


def test_a_schedule_written_as_a_table_is_a_workload_again(jobs: sm.Workload, tmp_path: Path) -> None:
    schedule = sm.simulate(jobs, cores=16)
    schedule.to_parquet(tmp_path / "jobs.parquet")
    schedule.to_csv(tmp_path / "jobs.csv")
    found = wl.read(tmp_path / "jobs.parquet")
    assert (columns(found), found.max_cores) == (columns(jobs), 16)
    assert np.allclose(wl.read(tmp_path / "jobs.csv").submit_s, jobs.submit_s)
    assert found.extras["start_s"].tolist() == schedule.start_s.tolist()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("submit_s,runtime_s,cores\n0,10\n0,1,2,3,4,5\n", "log.csv: Error tokenizing data"),
        ("submit_s,runtime_s,cores\n0,10,4,2\n", "log.csv: lines have more fields than there are names of columns; g"),
        ("submit_s,runtime_s,cores, cores\n0,10,4,2\n", "log.csv: column cores stands twice; name each column once"),
        ("submit_s,runtime_s,cores\n0,10,many\n", "log.csv, line 2: column cores must be a number (got 'many')"),
        ("submit_s,runtime,cores\n0,10,4\n", "cores (got submit_s, runtime and cores; runtime_s missing)"),
        ("submit_s;runtime_s;cores\n0;10;4\n", "(got submit_s;runtime_s;cores; submit_s, runtime_s and cores missing)"),
        ("submit_s,runtime_s,cores\n0,,1\n", "log.csv, line 2: column runtime_s must be a finite number (got nan)"),
        ('\nsubmit_s,runtime_s,cores,user\n0,1,1,"a\nb"\n\n0,1,?,c\n', "log.csv, line 6: column cores must be a nu"),
        ("submit_s,runtime_s,cores\n0,1,1\n0,1,1.5\n", "log.csv, line 3: column cores must be an integer of 64 bits"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_name(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    with refused(f"...{error}...", sm.FileFormatError):
        wl.read(tmp_path / "log.csv")


def test_a_parquet_file_that_is_damaged_or_no_table_of_jobs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    pd.DataFrame({"submit": [1]}).to_parquet(tmp_path / "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        with refused(f"...{name}...", sm.FileFormatError):
            wl.read(tmp_path / name)


def test_a_function_of_simmodels_reads_a_path_by_the_reader_that_is_installed(
    jobs: sm.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.swf.gz"
    wl.write_swf(jobs, path)
    wanted = sm.simulate(wl.read_swf(path), cores=16).start_s.tolist()
    assert sm.simulate(str(path), cores=16).start_s.tolist() == wanted
    assert sm.simulate(path, cores=16).start_s.tolist() == wanted
    monkeypatch.setattr("simmodels.work.frame.plugin", {}.get)
    with pytest.raises(sm.RequestError, match=r"no package that reads workloads is installed.*workloads\.read"):
        sm.simulate(path)
