import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import simmodels as sm
import workloads as wl
from experiments.comparing import Comparison, calibration_of, compare, steps
from experiments.policy import Policy, chosen_policies
from experiments.scenario import Scenario
from experiments.setup import Setup
from experiments.tables import comparison_table, number
from simmodels.errors import RequestError
from tests.command_line import Run

FIGURES = ("wait_s.svg", "wait_s.png", "bounded_slowdown.svg", "bounded_slowdown.png")
TABLES = ("metrics.parquet", "metrics.csv", "provenance.json")


@pytest.fixture(scope="module")
def trace() -> sm.Workload:
    return wl.tsafrir_estimates(wl.lublin(jobs=150, cores=32, seed=3), seed=3)


@pytest.fixture
def figures() -> None:
    """Let figures be drawn: for what looks at them. All else needs their names only, and drawing takes a second."""


@pytest.fixture(autouse=True)
def drawn_if_looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "figures" not in request.fixturenames:
        monkeypatch.setattr("experiments.figures.distributions", lambda *_, **__: None)
        monkeypatch.setattr("experiments.figures.save", lambda _, path: path.write_text(path.name))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "results" / "one"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fails(cores: float) -> float:
    return math.nan * cores


def compared(
    work: sm.Workload | Scenario,
    orders: Sequence[str | sm.Order | Policy],
    *,
    out: Path | None = None,
    setup: Setup | None = None,
    provenance: Mapping[str, object] | None = None,
    begin: Callable[[str], None] = lambda _: None,
    force: bool = False,
) -> Comparison:
    """Return a comparison of orders, or of other policies, on a workload or a scenario."""
    scenario = work if isinstance(work, Scenario) else Scenario(workload=work)
    policies = chosen_policies("order", orders)
    return compare(scenario, policies, setup or Setup(), out=out, provenance=provenance or {}, begin=begin, force=force)


@pytest.mark.parametrize("given", [{}, {"ccr": 0.5, "tick_s": 2.0}])
@pytest.mark.parametrize(
    "names", [["RoundRobin", "Auction"], ["Auction", "EarliestStart"], ["RoundRobin", "LeastLoaded"]]
)
def test_data_travel_alike_under_all_routers(given: dict[str, float], names: list[str], out: Path) -> None:
    """As in the auction, if one is among them, or as asked."""
    flows = [sm.Workflow(k, 5.0 * k, [10, 20, 30, 5], 2, [(0, 1), (0, 2), (1, 3), (2, 3)]) for k in range(1, 9)]
    work = sm.Workload.of_workflows(flows)
    scenario = Scenario(workload=work, on=[sm.Site(name="a", cores=4), sm.Site(name="b", cores=4)])
    made = compared(scenario, chosen_policies("router", names), out=out, setup=Setup(options=given, validate=True))
    travel = ("cluster", given.get("ccr", 0.2), given.get("tick_s", 1.0))
    nothing = not given and "Auction" not in names
    found = [cell.schedule.terms.travel for cell in made.cells if cell.schedule is not None]
    assert found == [None if nothing else travel] * len(names)
    if not nothing:
        assert pd.read_csv(out / "metrics.csv")["ccr"].tolist() == [travel[1]] * len(names)


@pytest.mark.usefixtures("figures")
def test_a_comparison_writes_tables_figures_and_where_they_come_from(trace: sm.Workload, out: Path) -> None:
    reported: list[str] = []
    comparison = compared(trace, ["SAF", "FCFS"], out=out, provenance={"command": ["x"]}, begin=reported.append)
    assert len(reported) == steps([cell.policy for cell in comparison.cells])
    assert set(files(out)) == set(comparison.files) == {"jobs/SAF.parquet", "jobs/FCFS.parquet", *FIGURES, *TABLES}
    about = json.loads((out / "provenance.json").read_text("utf-8"))
    assert (about["schedlab"], about["command"], about["failed"]) == (sm.__version__, ["x"], {})
    assert about["files"] == list(comparison.files)
    assert about["workload"]["counts"] == dict(trace.counts)


def test_limits_and_shares_are_kept_as_the_rows_that_are_read_again(trace: sm.Workload, out: Path) -> None:
    limits, shares = (
        sm.Limits([sm.Limit(cores=32), sm.Limit(value=1, jobs=1)]),
        sm.Shares([sm.Share(account="root", user=1, shares=9)]),
    )
    setup = Setup(options={"limits": limits, "shares": shares})
    made = compared(replace(trace, user_id=trace.job_id % 2), ["FairShare"], out=out, setup=setup)
    kept = json.loads((out / "provenance.json").read_text("utf-8"))["setup"]
    for found in (kept, {name: json.loads(pd.read_csv(out / "metrics.csv")[name][0]) for name in ("limits", "shares")}):
        assert sm.Limits.of(found["limits"]) == limits
        assert found["shares"] == json.loads(json.dumps(shares.table()))
    about = made.schedules["FairShare"].about
    assert (about["limits"], about["shares"]) == (kept["limits"], kept["shares"])


def test_the_tables_hold_what_the_schedules_say_in_the_order_given(trace: sm.Workload, out: Path) -> None:
    setup = Setup(options={"backfill_order": "SJBF", "threshold_s": 3600.0}, seed=2, tau_s=60.0, validate=True)
    compared(trace, ["RANDOM", "F1", "FCFS"], out=out, setup=setup)
    table = pd.read_parquet(out / "metrics.parquet")
    assert table["order"].tolist() == pd.read_csv(out / "metrics.csv")["order"].tolist() == ["RANDOM", "F1", "FCFS"]
    for row in table.itertuples():
        schedule = sm.simulate(trace, order=row.order, backfill_order="SJBF", threshold_s=3600.0, seed=2)
        metrics = schedule.metrics(tau_s=60.0)
        assert {name: getattr(row, name) for name in metrics} == metrics
        assert pd.read_parquet(out / "jobs" / f"{row.order}.parquet").equals(schedule.jobs)
    assert table[["backfill_order", "threshold_s", "tau_s", "cores"]].iloc[0].tolist() == ["SJBF", 3600.0, 60.0, 32]
    assert table["queue_depth"].isna().all()


def with_waits(log: sm.Workload) -> sm.Workload:
    """Return the log as a machine under SAF leaves it, half as fast to start: its waits are twice as long."""
    schedule = sm.simulate(log, order="SAF")
    return replace(log, extras={"wait_s": 2 * (schedule.start_s - log.submit_s)})


def test_what_the_log_itself_records_comes_first(trace: sm.Workload, out: Path) -> None:
    comparison = compared(with_waits(trace), ["SAF", "FCFS"], out=out)
    assert comparison.logged is not None
    mean_s = sm.simulate(trace, order="SAF").metrics()["mean_wait_s"]
    assert comparison.logged.metrics["mean_wait_s"] == pytest.approx(2 * mean_s)
    table = pd.read_parquet(out / "metrics.parquet")
    assert table["order"].tolist() == ["as logged", "SAF", "FCFS"]
    assert table["mean_wait_s"].iloc[0] == comparison.logged.metrics["mean_wait_s"]
    assert table["backfilling"].isna().tolist() == [True, False, False]
    assert table["seed"].tolist() == [0, 0, 0]
    shown = comparison_table([comparison.logged, *comparison.cells])
    firsts = [row.split()[0] for row in printed(shown) if row.split() and row.split()[0] in {"as", "SAF", "FCFS"}]
    assert firsts == ["as", "SAF", "FCFS"]
    calibration = calibration_of(comparison.cells)
    assert calibration is not None
    assert (calibration.factor(), calibration.rank_correlation) == (pytest.approx(2), pytest.approx(1))
    without = compared(trace, ["SAF"], out=out)
    assert (without.logged, calibration_of(without.cells)) == (None, None)
    assert list(table.columns) == list(pd.read_parquet(out / "metrics.parquet").columns)


def test_what_does_not_count_in_replays_does_not_count_in_the_log(trace: sm.Workload, out: Path) -> None:
    log = with_waits(trace)
    comparison = compared(log, ["SAF"], out=out, setup=Setup(options={"warm_jobs": 100}))
    assert comparison.logged is not None
    assert comparison.logged.metrics["jobs"] == comparison.cells[0].metrics["jobs"] == 50
    assert comparison.logged.metrics["mean_wait_s"] == pytest.approx(log.extras["wait_s"][100:].mean())


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_what_the_log_records_is_never_the_best(part: float, trace: sm.Workload, out: Path) -> None:
    """Also where its waits are those of the best."""
    log = replace(trace, extras={"wait_s": part * with_waits(trace).extras["wait_s"]})
    comparison = compared(log, ["SAF", "FCFS"], out=out)
    assert comparison.logged is not None
    [mean, *_] = comparison_table([comparison.logged, *comparison.cells]).columns[1:]
    assert [str(getattr(cell, "style", "")) for cell in mean.cells].count("bold") == 1
    assert getattr(next(iter(mean.cells)), "style", "") == ""


@pytest.mark.usefixtures("figures")
def test_the_same_request_makes_the_same_bytes_and_both_engines_the_same_metrics(trace: sm.Workload, out: Path) -> None:
    made = []
    for engine in ("simpy", "compiled", "compiled"):
        compared(trace, ["SAF", "WFP3", "RANDOM"], out=out, setup=Setup(engine=engine))
        made.append(files(out))
        shutil.rmtree(out)
    assert made[1] == made[2]
    for name in ("metrics.parquet", "metrics.csv", *FIGURES):
        assert made[0][name] == made[1][name]


def test_an_order_that_fails_does_not_stop_the_others(trace: sm.Workload, out: Path) -> None:
    failing = sm.Order("fails", fails)
    comparison = compared(trace, ["FCFS", failing, "SAF"], out=out)
    assert list(comparison.failed) == ["fails"]
    assert "gives no number (NaN) for job 1" in comparison.failed["fails"]
    assert pd.read_csv(out / "metrics.csv")["order"].tolist() == ["FCFS", "SAF"]
    assert json.loads((out / "provenance.json").read_text("utf-8"))["failed"] == comparison.failed
    assert not (out / "jobs" / "fails.parquet").exists()
    nothing = compared(trace, [failing], out=out)
    assert set(files(out)) == set(nothing.files) == {"provenance.json"}


def test_our_own_mistakes_are_not_taken_for_failures(
    trace: sm.Workload, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> sm.Schedule:
        raise ZeroDivisionError

    monkeypatch.setattr("experiments.setup.simulate", broken)
    with pytest.raises(ZeroDivisionError):
        compared(trace, ["FCFS"], out=out)
    assert compared(trace, [sm.Order("mine", fails)], out=out).failed["mine"].endswith(": ZeroDivisionError")


def test_the_files_of_an_earlier_comparison_go_and_all_others_stay(trace: sm.Workload, out: Path) -> None:
    compared(trace, ["SAF", "FCFS"], out=out)
    (out / "notes.txt").write_text("mine")
    (out.parent / "outside.txt").write_text("mine")
    about = json.loads((out / "provenance.json").read_text("utf-8"))
    about["files"] += ["../outside.txt", "jobs", 3, None]
    (out / "provenance.json").write_text(json.dumps(about))
    comparison = compared(trace, ["SPF"], out=out)
    assert set(files(out)) == {*comparison.files, "notes.txt"}
    assert (out.parent / "outside.txt").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3}', "\x00"])
def test_a_provenance_that_is_none_of_ours_is_not_written_over_unless_asked(
    content: str, trace: sm.Workload, out: Path
) -> None:
    out.mkdir(parents=True)
    (out / "provenance.json").write_text(content)
    with pytest.raises(RequestError, match=r"provenance\.json was not written by a comparison; .* use --force"):
        compared(trace, ["SPF"], out=out)
    assert (out / "provenance.json").read_text() == content
    assert set(files(out)) < set(compared(trace, ["SPF"], out=out, force=True).files)


@pytest.mark.parametrize("name", ["metrics.csv", "wait_s.svg", "jobs/SPF.parquet"])
def test_files_of_others_are_not_written_over_whatever_the_provenance_says_of_other_files(
    name: str, trace: sm.Workload, out: Path
) -> None:
    compared(trace, ["SAF"], out=out)
    about = json.loads((out / "provenance.json").read_text("utf-8"))
    about["files"] = [each for each in about["files"] if each != name] + ["notes.txt"]
    (out / "provenance.json").write_text(json.dumps(about))
    for file in (name, "notes.txt"):
        (out / file).write_text("mine")
    with pytest.raises(RequestError, match=rf"{name} was not written by a comparison; choose another folder, or use"):
        compared(trace, ["SPF"], out=out)
    assert (out / name).read_text() == "mine"
    compared(trace, ["SPF"], out=out, force=True)
    assert (out / "notes.txt").read_text() == "mine"


def test_a_comparison_that_is_cut_short_can_be_made_again(
    trace: sm.Workload, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> list[str]:
        raise OSError("no space left on device")

    compared(trace, ["SAF"], out=out)
    with monkeypatch.context() as patched:
        patched.setattr("experiments.comparing._write_figures", full)
        with pytest.raises(OSError, match="no space left"):
            compared(trace, ["FCFS"], out=out)
    comparison = compared(trace, ["SPF"], out=out)
    assert set(files(out)) == set(comparison.files)


def test_a_link_is_not_followed(trace: sm.Workload, out: Path) -> None:
    (out.parent / "elsewhere").mkdir(parents=True)
    out.mkdir()
    (out / "jobs").symlink_to(out.parent / "elsewhere")
    for force in (False, True):
        with pytest.raises(RequestError, match="jobs is a link, which is not followed; remove it, or choose another"):
            compared(trace, ["SPF"], out=out, force=force)
    assert not list((out.parent / "elsewhere").iterdir())


def test_a_name_that_is_no_file_name_is_made_one(trace: sm.Workload, out: Path) -> None:
    comparison = compared(trace, [sm.Order("../a b/ü", lambda cores: cores)], out=out)
    assert comparison.files[0] == "jobs/_a_b_ü.parquet"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a b", "A_b"], "orders 'a b' and 'A_b' would have one file; choose another name"),
        (["as logged"], "the name 'as logged' stands for what a log records; choose another name"),
    ],
)
def test_orders_that_cannot_be_distinguished_are_refused_before_anything_is_made(
    names: list[str], text: str, trace: sm.Workload, out: Path
) -> None:
    with pytest.raises(RequestError, match=text):
        compared(trace, [sm.Order(name, fails) for name in names], out=out)
    assert not out.exists()


# -- the table, and the command ---------------------------------------------------------------------


def printed(table: object) -> list[str]:
    console = Console(file=StringIO(), width=80)
    console.print(table)
    return console.file.getvalue().splitlines()


def test_the_table_fits_a_terminal_and_keeps_the_order_given(trace: sm.Workload, out: Path) -> None:
    comparison = compared(trace, ["SAF", "FCFS", sm.Order("fails", fails), "F2"], out=out)
    lines = printed(comparison_table(comparison.cells))
    rows = [line.split() for line in lines if line.split() and line.split()[0] in {"SAF", "FCFS", "F2", "fails"}]
    assert [row[0] for row in rows] == ["SAF", "FCFS", "fails", "F2"]
    assert rows[2] == ["fails", "failed"]
    assert rows[0][4].rstrip("*") == number(comparison.cells[0].metrics["mean_bounded_slowdown"])
    assert max(map(len, lines)) <= 80


def test_the_table_is_in_hours_and_has_changes_against_the_first_policy(trace: sm.Workload) -> None:
    figures = [(7200.0, 0.5), (3600.0, 0.5), (7164.0, 0.6), (14_400.0, 0.5)]
    cells = [
        replace(cell, metrics={**cell.metrics, "mean_wait_s": wait_s, "utilisation": used})
        for cell, (wait_s, used) in zip(compared(trace, ["FCFS", "SAF", "SPF", "LPF"]).cells, figures, strict=True)
    ]
    table = comparison_table(cells)
    mean, used = ([str(cell) for cell in table.columns[place].cells] for place in (1, -1))
    assert mean == ["2 ", "1*\n-50 % ", "1.990 \n-0.5 % ", "4 \n+100 % "]
    assert used == ["50 ", "50 \n0 % ", "60*\n+20 % ", "50 \n0 % "]
    assert str(table.caption) == "* the best; below each figure: its change against FCFS"


def test_nothing_is_the_best_where_all_are_equal(trace: sm.Workload) -> None:
    cells = compared(trace, ["FCFS"]).cells * 2
    assert "*" not in "".join(printed(comparison_table(cells))[:-2])


@pytest.fixture
def run(run: Run, trace: sm.Workload) -> Run:
    """Run ``compare`` on log.swf with some words more."""
    wl.write_swf(trace, "log.swf")
    Path("mine.py").write_text("def mine(cores):\n    return cores\n\ndef bad(cores):\n    return float('nan')\n")
    return partial(run, "compare", "--workload", "log.swf")


def test_the_command_says_how_far_the_replay_is_from_the_log(run: Run, trace: sm.Workload) -> None:
    schedule = sm.simulate(trace, order="SAF")
    wl.write_swf(schedule, "log.swf")
    status, out, _ = run("--orders", "SAF,FCFS", "--cores", "32")
    assert status == 0
    lines = out.splitlines()
    rule = next(number for number, line in enumerate(lines) if line.strip().startswith("─"))
    assert [line.split()[0] for line in lines[rule + 1 : rule + 4]] == ["as", "SAF", "FCFS"]
    text = " ".join(out.split())
    assert "under SAF (the first is taken for what you have)" in text
    assert "the ranks of the waits correlate by 1.00: this replay is close to the log, and where" in text
    answer = json.loads(run("--orders", "SAF,FCFS", "--cores", "32", "--json")[1])
    assert [cell["order"] for cell in answer["cells"]] == ["SAF", "FCFS"]
    assert answer["as_logged"]["jobs"] == 150
    calibration = answer["calibration"]
    assert (calibration["agreement"], calibration["jobs"], calibration["peak_cores"]) == ("close", 150, 32)
    assert calibration["logged"]["mean_wait_s"] == pytest.approx(schedule.metrics()["mean_wait_s"], abs=1)


def test_a_window_of_a_log_is_compared_on_a_pool_with_the_figures_of_a_pool(run: Run, trace: sm.Workload) -> None:
    wl.write_swf(sm.simulate(trace, order="SAF"), "log.swf")
    begin_s, end_s = (float(each) for each in np.quantile(trace.submit_s, (0.2, 0.8)))
    asked = ("--orders", "SAF,FCFS", "--cores", "32", "--from", str(begin_s), "--until", str(end_s))
    status, out, err = run(*asked)
    assert status == 0, err
    assert "bsld" in out
    assert "goodput" not in out
    answer = json.loads(run(*asked, "--json")[1])
    whole = sm.simulate("log.swf", cores=32, order="SAF", window_s=(begin_s, end_s)).metrics()
    assert answer["cells"][0]["metrics"]["mean_wait_s"] == whole["mean_wait_s"]
    assert answer["as_logged"]["jobs"] == whole["jobs"] < 150


def test_the_command_says_which_order_failed_and_ends_with_status_1(run: Run) -> None:
    status, out, err = run("--orders", "mine.py:bad,SAF", "--out", "o", "--json")
    assert status == 1
    reported = json.loads(out)
    assert [cell["order"] for cell in reported["cells"]] == ["bad", "SAF"]
    assert "gives no number" in reported["cells"][0]["error"]
    assert reported["cells"][1]["metrics"]["jobs"] == 150
    assert "error: order 'bad' failed" in err
    assert set(reported["files"]) == set(files(Path("o")))
