"""Advice: sentences that follow from simulations, on a log of one's own."""

import contextlib
import io
import json
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import run
from experiments.campaigns.report import Report, write_report
from experiments.campaigns.running import Campaign
from experiments.cli.output import print_json
from experiments.studies.advice.results import _settled, front_table, options_of
from experiments.studies.advice.settings import LOG, RESAMPLE, Replays
from experiments.studies.advice.study import Advice
from experiments.studies.advice.verdict import Option, front, judge
from simmodels.errors import RequestError

PRIORITY = "priority: smallest limit x cores first, in classes; 160 h"
SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "reference" / "advice.schema.json").read_text())
TUNED = ("simulating tuner, by week", "bandit tuner, by day")


def a_log(jobs: int = 3000) -> sm.Workload:
    return wl.tsafrir_estimates(wl.lublin(jobs=jobs, cores=64, seed=5, load=1.0), seed=5)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("advice")
    wl.write_swf(a_log(), folder / "mine.swf.gz")
    few = ["FCFS", "SPF", "SAF", PRIORITY, "FCFS without backfilling", *TUNED]
    chosen = {"workload": str(folder / "mine.swf.gz"), "policy": few, "threshold_h": [40.0, None], "weeks": 3}
    return run("advice", out=folder / "out", scale="smoke", workers=0, chosen=chosen)


def cleaned(campaign: Campaign) -> sm.Workload:
    """Return the log as it was run."""
    return wl.clean(wl.read_swf(campaign.plan.shipment.chosen["workload"]), "strong")


def test_the_log_is_run_once_and_resamples_in_each_replication(campaign: Campaign) -> None:
    table = campaign.results().table.dropna(subset=["mean_wait_s"])
    counts = table.groupby(["trace", "policy"]).size().to_dict()
    assert counts[LOG, "SPF"] == 2
    assert counts[RESAMPLE, "SPF"] == 2 * 5
    assert counts[RESAMPLE, "simulating tuner, by week"] == 5, "at the first threshold only"
    assert (counts[LOG, PRIORITY], counts[RESAMPLE, PRIORITY]) == (1, 5), "without a threshold"
    assert "FCFS without backfilling" not in set(table["policy"]), "asked for by --current only"
    assert (LOG, "bandit tuner, by day") not in counts


def test_an_order_on_the_log_is_the_direct_simulation_and_no_threshold_changes_fcfs(campaign: Campaign) -> None:
    """So that first come, first served is simulated once for all of them."""
    for policy, threshold_h in (("SPF", 40.0), ("FCFS", 40.0), ("FCFS", None)):
        threshold_s = None if threshold_h is None else threshold_h * sm.HOUR
        direct = sm.simulate(cleaned(campaign), order=policy, threshold_s=threshold_s).metrics()
        rows = campaign.results().where(trace=LOG, policy=policy)
        rows = rows[rows["threshold_h"] == 40.0] if policy == "SPF" else rows
        for name in ("mean_wait_s", "max_wait_s"):
            assert rows[name].tolist() == [direct[name]] * (1 if policy == "SPF" else 2)


def test_the_page_begins_with_the_verdict_in_ten_rows_at_most(campaign: Campaign) -> None:
    report = write_report(campaign)
    study, results = Advice(**campaign.plan.shipment.chosen), campaign.results()
    options, now = options_of(results)
    assert now is not None
    assert (now.policy, now.threshold_h) == ("FCFS", None)
    assert len(options) == 3 * 2 + 1
    log = cleaned(campaign)
    verdict = judge(options, now, None, mean_runtime_h=float(log.runtime_s.mean()) / sm.HOUR)
    begins = {"change": "Consider ", "do not change": "Do not change: ", "hardly matters": "As far as"}
    assert report.findings[0].startswith(begins[verdict.kind])
    direct = Replays(log=log).schedule(verdict.shortest.policy, verdict.shortest.threshold_h)
    assert verdict.shortest.p99_h == pytest.approx(np.percentile(direct.start_s - log.submit_s, 99) / sm.HOUR)
    assert len(report.findings) <= 6
    assert sum(len(textwrap.wrap(finding, 78)) for finding in report.findings) <= 10
    assert {"all that was tried", "tuners", "who asks for how much more than is used"} <= set(study.tables(results))
    full = study.tables(results)["this answer in full"]
    assert full["in full"][full["about"] == "the log"].iloc[0].startswith("mine: 3,")
    assert full["about"].iloc[-1] == "what this cannot know"


def advised(folder: Path, log: sm.Workload, name: str = "log.swf", **chosen: object) -> tuple[Campaign, Report]:
    wl.write_swf(log, folder / name)
    few = {"policy": ["FCFS", "SPF"], "threshold_h": [40.0, None], "workload": str(folder / name), "weeks": 2}
    found = run("advice", out=folder / "out", scale="smoke", workers=0, chosen=few | chosen)
    report = write_report(found)
    assert sum(len(textwrap.wrap(line, 78)) for line in report.findings) <= 10
    return found, report


def in_full(campaign: Campaign) -> list[str]:
    """Return what the page has beside its findings."""
    study = Advice(**campaign.plan.shipment.chosen)
    return list(study.tables(campaign.results())["this answer in full"]["in full"])


def some(jobs: int, weeks: float, runtime_s: float, cores: int = 8) -> sm.Workload:
    submit_s = np.linspace(0.0, weeks * sm.WEEK, jobs)
    runtimes_s = runtime_s * (1.0 + np.arange(jobs) % 3)
    return sm.Workload(np.arange(jobs), submit_s, runtimes_s, 2 * runtimes_s, np.full(jobs, 5), max_cores=cores)


@pytest.mark.parametrize(("weeks", "said"), [(0.4, "2.8 days"), (1.4, "9.8 days")])
def test_a_log_of_fewer_than_two_whole_weeks_gets_a_page_that_says_that_it_cannot_know(
    weeks: float, said: str, tmp_path: Path
) -> None:
    """Of one whole week all resamples are equal."""
    campaign, report = advised(tmp_path, some(200, weeks, 3000.0))
    assert set(campaign.results().table["trace"]) == {LOG}
    assert "no resample says how far this is luck" in report.findings[-1]
    assert any(said in text for text in in_full(campaign))
    assert any("the log has fewer than two whole weeks" in text for text in in_full(campaign))


def test_a_machine_on_which_nobody_waits_gets_a_page_that_says_so(tmp_path: Path) -> None:
    campaign, report = advised(tmp_path, some(200, 3.0, 60.0))
    assert not campaign.failed
    assert "the order hardly matters here: jobs wait 0 h" in report.findings[0], "nothing is better than nothing"
    assert not any("more work" in text for text in report.findings)


def test_a_log_of_more_work_than_the_machine_can_do_is_reported(tmp_path: Path) -> None:
    _, report = advised(tmp_path, some(400, 3.0, 40_000.0))
    assert any("more work than the machine can do" in text for text in report.findings)


def test_jobs_that_are_left_out_are_reported_with_their_reason(tmp_path: Path) -> None:
    log = some(200, 3.0, 3000.0)
    cores = np.where(np.arange(200) % 4 == 0, 9, 5)
    campaign, report = advised(tmp_path, replace(log, cores=cores), cores=8)
    assert "25 % of the jobs were left out" in report.findings[-1]
    full = in_full(campaign)
    assert any("dropped: allocated or requested cores exceed the machine: 50" in text for text in full)
    assert any(text.startswith("50 of 200 jobs were left out, which is much") for text in full)


def test_a_log_without_limits_is_reported(tmp_path: Path) -> None:
    log = some(200, 3.0, 3000.0)
    campaign, report = advised(
        tmp_path, replace(log, estimate_s=log.runtime_s, extras={"requested_s": np.full(200, -1.0)})
    )
    assert report.findings[0].endswith(" No order by limits is considered: 100 % of the jobs have no limit.")
    said = " ".join(in_full(campaign))
    assert "with runtimes for limits: the log has none." in said
    assert "their runtimes, which no scheduler knows, stand for limits" in said


def test_where_two_thirds_of_the_jobs_have_no_limit_no_order_by_limits_is_advised(tmp_path: Path) -> None:
    """As on LLNL-Thunder. With the runtimes, SAF is much better than LAF; the machine does not know them."""
    log = a_log()
    none = np.arange(len(log)) % 100 < 68
    asked = replace(log, extras={"requested_s": np.where(none, -1.0, log.estimate_s)})
    read = replace(asked, estimate_s=np.where(none, log.estimate_s[~none].max(), log.estimate_s))
    few = ["LAF", "SAF", "SQF", PRIORITY, "priority: fewest cores first; 160 h"]
    campaign, report = advised(tmp_path, read, current="LAF", policy=few, threshold_h=[None])
    assert report.findings[0].endswith(" No order by limits is considered: 68 % of the jobs have no limit.")
    answer = as_printed(report.answer)
    require_fits(answer)
    tried = {
        answer[name]["policy"]
        for name in ("change_to", "to_enter", "cannot_be_entered", "shortest_mean")
        if answer[name]
    }
    assert {option["policy"] for option in answer["front"]} | tried <= {"LAF", "SQF", few[-1]}
    assert any("is used instead: orders by limit say little" in text for text in answer["warnings"])
    rows = campaign.results().where(trace=LOG, policy="SAF")
    assert rows["mean_wait_s"].tolist() == [sm.simulate(read, order="SAF").metrics()["mean_wait_s"]]


def test_a_job_held_for_months_does_not_thin_out_the_resamples(tmp_path: Path) -> None:
    log = some(300, 3.0, 3000.0)
    held = replace(log, submit_s=np.concatenate([[0.0], log.submit_s[1:] + 300 * sm.DAY]))
    campaign, _ = advised(tmp_path, held)
    assert any("299 jobs in 3 weeks" in text for text in in_full(campaign))
    assert any("in a week at an end of the log with hardly a job: 1" in text for text in in_full(campaign))


def test_the_dates_of_the_log_are_shown_where_they_are_known(tmp_path: Path) -> None:
    log = some(200, 3.0, 3000.0)
    dated = replace(log, submit_s=log.submit_s - log.submit_s[0], start_unix_s=1_296_571_124)
    campaign, _ = advised(tmp_path, dated)
    last = np.datetime64(1_296_571_124, "s") + np.timedelta64(int(dated.submit_s.max()), "s")
    assert any(f" (2011-02-01 to {str(last)[:10]}) on " in text for text in in_full(campaign))


@pytest.mark.parametrize(
    ("good", "settled"),
    [("0111", 2), ("1101", 4), ("0001", 4), ("0000", np.nan), ("11110000", np.nan), ("0" * 39 + "1", np.nan)],
)
def test_a_tuner_has_settled_where_most_of_what_is_left_is_good_and_much_is_left(good: str, settled: float) -> None:
    assert _settled(np.array([each == "1" for each in good])) == pytest.approx(settled, nan_ok=True)


def test_the_log_as_it_was_stands_beside_its_replay(tmp_path: Path) -> None:
    log = a_log(600)
    lived = sm.simulate(log, order="SPF", threshold_s=160 * sm.HOUR)
    wl.write_swf(lived, tmp_path / "lived.swf")
    again = wl.read_swf(tmp_path / "lived.swf")
    campaign, _ = advised(tmp_path, again, cores=64)
    assert any(
        text.startswith("The log's own mean wait is ")
        and "under FCFS (first come, first served) without a threshold" in text
        for text in in_full(campaign)
    )
    table = Advice(**campaign.plan.shipment.chosen).tables(campaign.results())["as logged, and replayed"]
    assert table[""].tolist() == ["as logged", "replayed, FCFS (first come, first served) without a threshold"]
    logged = sm.as_logged(wl.clean(again, ["strong", "ends"])).metrics()
    assert table["mean wait (h)"].iloc[0] == pytest.approx(logged["mean_wait_s"] / sm.HOUR)
    assert "Waits, as logged and replayed" in Advice(**campaign.plan.shipment.chosen).figures(campaign.results())


def logged(jobs: int, policy: str) -> sm.Workload:
    """Return a log whose waits are those of a policy."""
    log = wl.tsafrir_estimates(wl.lublin(jobs=jobs, cores=64, seed=5, load=1.0), seed=5)
    replayed = Replays(log=log).schedule(policy)
    return replace(log, extras={**log.extras, "wait_s": replayed.start_s - log.submit_s})


@pytest.mark.parametrize("policy", ["FCFS", "SAF", "FCFS without backfilling", PRIORITY])
def test_the_current_policy_is_found_in_the_waits_of_the_log(tmp_path: Path, policy: str) -> None:
    """The log was made by it, so that its replay is the log; what is nearest has a file and a line of the answer."""
    few = ["FCFS", "SAF", "SPF", "FCFS without backfilling", PRIORITY]
    campaign, report = advised(tmp_path, logged(3000, policy), current="Auto", policy=few)
    _, now = options_of(campaign.results())
    assert now is not None
    assert (now.policy, now.threshold_h) == (policy, None)
    assert now.apart < 0.01, "the format has whole seconds"
    assert any(f"{now} gives waits nearest to the log's" in text for text in in_full(campaign))
    assert report.findings
    table = campaign.results().table
    assert policy == few[3] or (table["policy"] == few[3]).sum() == 1 + 5


@pytest.mark.parametrize("current", ["FCFS without backfilling", PRIORITY])
def test_what_has_no_threshold_is_found_whatever_thresholds_are_tried(tmp_path: Path, current: str) -> None:
    chosen = {"policy": ["FCFS", "FCFS without backfilling", PRIORITY], "threshold_h": [40.0]}
    campaign, report = advised(tmp_path, logged(300, "FCFS"), current=current.lower(), **chosen)
    _, now = options_of(campaign.results())
    assert now is not None
    assert (now.policy, now.threshold_h) == (current, None)
    assert report.findings


@pytest.mark.parametrize(("name", "given"), [("clean", -1), ("clean", True), ("partition", 1.5), ("queue", 3)])
def test_names_that_are_no_text_are_refused(tmp_path: Path, name: str, given: object) -> None:
    with pytest.raises(RequestError, match=rf"{name} must be a text, names between commas \(got {given}\)"):
        advised(tmp_path, some(200, 3.0, 3000.0), **{name: given})


def test_auto_needs_waits_in_the_log(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="the log does not say when its jobs started"):
        advised(tmp_path, some(200, 3.0, 3000.0), current="auto")


def test_what_can_be_entered_is_written_beside_the_page_and_is_in_the_answer(tmp_path: Path) -> None:
    """SAF is much better than LAF; a priority can do most of it."""
    log = a_log()
    few = ["LAF", "SAF", PRIORITY]
    campaign, report = advised(tmp_path, log, current="LAF", policy=few, threshold_h=[None])
    assert report.findings[0].startswith("Consider a priority ("), "no wait in the log says if the replay is like it"
    names = {"files/slurm.conf.txt", "files/job_submit.lua", "files/pbs.txt"}
    assert names <= set(report.files)
    assert all((campaign.store.folder / name).stat().st_size for name in names)
    page = (campaign.store.folder / "report.html").read_text()
    assert "PriorityWeightAge=" in page
    answer = report.answer
    assert answer["verdict"] == "change"
    assert answer["to_enter"]["policy"] == PRIORITY
    assert answer["to_enter"]["priority"]["span_h"] == 160
    assert answer["now"]["policy"] == "LAF"
    assert answer["change_to"]["mean_wait_h"] < answer["now"]["mean_wait_h"]
    require_fits(as_printed(answer))


def as_printed(answer: object) -> Any:  # noqa: ANN401  what JSON has
    """Return an answer as it is read by who gets what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_json({"answer": answer})
    return json.loads(printed.getvalue())["answer"]


def require_fits(answer: object) -> None:
    """Fail where an answer is not as the documented schema says."""
    jsonschema.validate(answer, SCHEMA)


def test_the_answer_is_as_its_schema_says(tmp_path: Path) -> None:
    _, report = advised(tmp_path, logged(600, "SAF"), policy=["FCFS", "SAF"])
    answer = as_printed(report.answer)
    require_fits(answer)
    assert answer["calibration"]["logged"]["mean_wait_s"] > 0
    for wrong in ({"verdict": "perhaps"}, {"now": {**answer["now"], "mean_wait_h": "long"}}):
        with pytest.raises(jsonschema.ValidationError):
            require_fits({**answer, **wrong})


def test_files_of_an_earlier_report_do_not_stay_and_name_their_log_in_one_line(tmp_path: Path) -> None:
    log = a_log()
    chosen = {"policy": ["LAF", "SAF", PRIORITY], "threshold_h": [None]}
    campaign, _ = advised(tmp_path, log, "a\nos.execute('id')\r\u2028log.swf", current="LAF", **chosen)
    folder = campaign.store.folder / "files"
    assert {path.name for path in folder.iterdir()} == {"slurm.conf.txt", "job_submit.lua", "pbs.txt"}
    for path in folder.iterdir():
        named = [line for line in path.read_text().splitlines() if "os.execute" in line]
        assert [line[2:].strip().split(";")[0] for line in named] == [
            r"Advice of schedlab for a\nos.execute('id')\r\u2028log"
        ]
    advised(tmp_path, log, current="SAF", **chosen)
    assert not list(folder.iterdir())


def test_the_front_has_what_is_not_worse_in_all_three_respects() -> None:
    now, better, longer, worse, twin, starving = (
        Option(policy="SAF", threshold_h=None, mean_h=mean_h, p99_h=p99_h, longest_h=longest_h, changes=np.zeros(0))
        for mean_h, p99_h, longest_h in (
            (4, 40, 100), (3, 40, 90), (2, 50, 200), (3, 41, 95), (3, 40, 90), (1, 50, 501),
        )
    )  # fmt: skip
    assert front([now, better, longer, worse, twin]) == [longer, better]
    table = front_table([now, better, longer], now)
    assert table["mean wait (h)"].tolist() == [2, 3, 4]
    assert table["policy"].iloc[-1].endswith("(now)")
    assert table["starves"].tolist() == ["", "", ""]
    assert front_table([now, starving], now)["starves"].tolist() == ["some jobs", ""]


def test_tables_and_figures_are_in_hours(campaign: Campaign) -> None:
    study, results = Advice(**campaign.plan.shipment.chosen), campaign.results()
    for table in study.tables(results).values():
        assert not [name for name in map(str, table.columns) if name.endswith(("_s", "(s)"))]
        assert not table.astype(str).apply(lambda column: column.str.contains("threshold None")).any(axis=None)
    figures = study.figures(results)
    labels = [axes.get_ylabel() for figure in figures.values() for axes in figure.axes]
    assert {"mean wait (h)", "longest wait (h)"} <= set(labels)
    legends = [text.get_text() for legend in figures["Mean wait on resamples"].legends for text in legend.texts]
    assert legends == ["with a threshold of 40 h", "with no threshold"]
