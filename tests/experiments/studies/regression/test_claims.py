"""The claims of the regression study, on made-up windows whose verdicts are known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.campaigns import Claim
from experiments.campaigns.judging import claim_on
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, compared
from experiments.studies.regression.claims import SENTENCES, fit_claims, least_of, over_workloads
from experiments.studies.regression.paper import FILE_OF, LOGS, SETS
from experiments.studies.regression.results import RegressionResults, rank_of_last, spread_rank_of_last
from experiments.studies.regression.settings import DRAW, FIT, METHODS, ONLINE, Method
from experiments.studies.regression.study import Regression
from simmodels.policies.polynomial import FORMS


def made(
    slowdowns: dict[str, dict[str, float]],
    windows: int = 12,
    workload: str = "generated",
    depth: float | None = None,
) -> pd.DataFrame:
    """Return rows of printed forms: by mode and order, how many times the window's slowdown each has."""
    own = dict.fromkeys(("generated", workload))
    rows = [
        {"part": ONLINE, "train": train, "scores": None, "order": order,
         "workload": workload, "mode": mode, "queue_depth": depth, "replication": number,
         "mean_bounded_slowdown": size * times}
        for mode, orders in slowdowns.items() for order, times in orders.items()
        for train in (own if order in FORMS else [None])
        for number, size in enumerate(np.geomspace(2.0, 9.0, windows))
    ]  # fmt: skip
    return pd.DataFrame(rows)


THREE = tuple(FILE_OF[name] for name in SETS)


def on_all(slowdowns: dict[str, dict[str, float]], workloads: Sequence[str] = THREE, **more: Any) -> pd.DataFrame:  # noqa: ANN401
    """Return the same rows on each of several workloads."""
    return pd.concat([made(slowdowns, workload=name, **more) for name in workloads])


def claims_on(table: pd.DataFrame, *workloads: str, **parameters: object) -> list[Claim]:
    factors = {"workload": workloads or ("generated",)}
    results = Results(table=table, factors=factors, parameters={"pairs": 1, **parameters})  # type: ignore[arg-type]
    return list(Regression().claims(results))


def verdicts(table: pd.DataFrame) -> dict[str, str]:
    found = claims_on(table, *table["workload"].unique())
    return {claim.text.removesuffix(" (forms as printed)"): claim.verdict for claim in found}


ACTUAL = {"FCFS": 100.0, "SPT": 9.0, "SAF": 1.0, "WFP3": 8.0, "UNICEF": 7.0, "F2": 1.1, "LIN": 1.5}


def test_as_inefficient_as_fcfs_is_bounded_below_and_above() -> None:
    for times, verdict in ((90.0, "holds"), (190.0, "holds"), (30.0, "fails"), (300.0, "fails")):
        found = verdicts(on_all({"actual": {**ACTUAL, "CUB": times}}))
        for text, wanted in (
            ("CUB is as inefficient as FCFS, within a factor of 2", verdict),
            ("CUB is worse than LIN", "holds"),
            ("LIN is comparable to SAF, within a factor of 2", "holds"),
        ):
            assert found[f"{text}, with actual runtimes, on all workloads"] == wanted


def test_a_sentence_on_all_workloads_fails_with_one() -> None:
    good = on_all({"actual": {**ACTUAL, "QUA": 90.0}})
    bad = made({"actual": {**ACTUAL, "QUA": 1.2}}, workload="lublin_256.swf")
    text = "QUA is worse than LIN, with actual runtimes, on all workloads"
    assert verdicts(good)[text] == "holds"
    assert verdicts(pd.concat([good, bad]))[text] == "fails"
    assert verdicts(bad)[text] == "fails", "one is enough"


def test_a_sentence_on_all_workloads_does_not_hold_with_one_of_them() -> None:
    one = made({"actual": {**ACTUAL, "QUA": 90.0}, "estimates": ACTUAL})
    found = {claim.text: claim for claim in claims_on(one)}
    claim = found["QUA is worse than LIN, with actual runtimes, on all workloads (forms as printed)"]
    assert claim.outcome == f"undecided: needs --workload {','.join(THREE)}"
    assert claim.note == "generated: 1.78 [1.78, 1.78] (holds). There it is 1 [1, 1]"
    logs = list(LOGS.values())
    text = "LIN's slowdowns vary little"
    for table in (on_all({"estimates": ACTUAL}, logs[:-1]), on_all({"estimates": ACTUAL}, logs)):
        (claim,) = [
            claim
            for claim in claims_on(table, *table["workload"].unique())
            if claim.text.startswith(text) and not claim.ours and claim.text.endswith("(forms as printed)")
        ]
        whole = set(table["workload"]) == set(logs)
        assert claim.outcome == ("holds" if whole else f"undecided: needs --workload {','.join(logs)}")


def test_few_windows_decide_nothing() -> None:
    found = verdicts(on_all({"actual": {**ACTUAL, "QUA": 90.0}}, windows=9))
    assert found["QUA is worse than LIN, with actual runtimes, on all workloads"] == "too few"
    text = "F2 is still among the three lowest of seven in the last third of the windows, with backfilling, on all "
    for windows, verdict in ((29, "too few"), (30, "holds")):  # nine windows are the last third, or ten
        assert verdicts(made({"backfilling": ACTUAL}, windows=windows))[f"{text}generated workloads"] == verdict


def test_nothing_is_claimed_where_no_job_waits() -> None:
    table = made({"estimates": dict.fromkeys(ACTUAL, 1.0)})
    table["mean_bounded_slowdown"] = 1.0
    results = Results(table=table, factors={"workload": ("generated",)}, parameters={"pairs": 1})
    assert not any(each.parts for each in over_workloads(results))
    assert "Hardly any job waits on generated (estimates)" in Regression().findings(results)[-1]


def test_the_text_sorts_the_whole_queue_and_the_depth_of_the_program_is_ours() -> None:
    rows = {"actual": {**ACTUAL, "QUA": 90.0}}
    for depth, ours in ((None, False), (32.0, True)):
        (claim,) = [
            claim
            for claim in claims_on(on_all(rows, depth=depth), *THREE)
            if claim.text.startswith("QUA is worse than LIN, with actual") and claim.verdict == "holds"
        ]
        assert claim.ours == ours
        assert ("32 waiting jobs" in claim.text) == ours


def test_other_settings_than_the_papers_are_ours() -> None:
    results = Results(table=pd.DataFrame(), factors={}, parameters={"tau_s": 10.0, "trials": 32_768})
    printed, again = METHODS[:2]

    def ours(method: Method, **parameters: object) -> bool:
        return RegressionResults(replace(results, parameters=parameters or results.parameters)).by(method).ours

    assert not ours(printed), "printed forms have no trials"
    assert ours(again)
    assert not ours(again, trials=256_000, initial_state="started")
    for name, value in (("tau_s", 1.0), ("window_days", 7.0), ("warm_jobs", 0)):
        assert ours(printed, **{name: value})


def test_what_is_generated_is_no_trace_of_a_real_machine() -> None:
    workloads = ("generated", "a.swf", "CTC-SP2.swf")
    claims = claims_on(on_all({"estimates": ACTUAL}, workloads), *workloads)
    text = "LIN's median is among the three lowest of seven, with estimates, on all"
    found = {claim.text: claim for claim in claims if claim.text.startswith(text) and "printed)" in claim.text}
    for name, ours, workload, verdict in (
        ("logs", False, "CTC-SP2", "undecided"),
        ("logs beside the paper's", True, "a", "holds"),
        ("generated workloads", True, "generated", "holds"),
    ):
        claim = found[f"{text} {name} (forms as printed)"]
        assert (claim.ours, claim.verdict) == (ours, verdict)
        assert claim.note.startswith(f"{workload}: ")


def test_that_an_order_does_well_in_each_window_is_said_of_mustang_only() -> None:
    table = made({"backfilling": ACTUAL}, workload="mustang.swf")
    text = "F2 does well throughout: among the three lowest of seven in each window, with backfilling, on Mustang"
    assert verdicts(table)[text] == "holds"
    assert verdicts(made({"backfilling": ACTUAL}, workload="a.swf"))[text] == "undecided"
    worst = (table["order"] == "F2") & (table["replication"] == 3)
    table["mean_bounded_slowdown"] = table["mean_bounded_slowdown"].mask(worst, 1e6)
    assert verdicts(table)[text] == "fails"


def test_windows_in_which_nobody_waits_say_nothing_of_an_order() -> None:
    table = made({"backfilling": ACTUAL}, windows=24)
    quiet = table["replication"] < 12
    table["mean_bounded_slowdown"] = table["mean_bounded_slowdown"].mask(quiet, 1.0)
    effect = share_of_f2(table)
    assert effect is not None
    assert (effect.estimate, effect.high, effect.replications) == (1.0, 1.0, 12)
    assert effect.low == pytest.approx(0.025 ** (1 / 12)), "Clopper and Pearson"
    table["mean_bounded_slowdown"] = 1.0
    assert share_of_f2(table) is None


def share_of_f2(table: pd.DataFrame) -> Effect | None:
    """Return the share of generated windows in which F2 does well, by forms as printed."""
    (said,) = [said for said in SENTENCES["windows"] if said.text.startswith("F2 does well") and said.ours]
    found = RegressionResults(Results(table=table, factors={"workload": ("generated",)}))
    return claim_on(found.by(METHODS[0]), said, ("generated",)).effect


def test_how_far_apart_errors_are_is_bounded_by_all_of_them() -> None:
    rows = [{"part": FIT, "train": "generated", "scores": "swap-any", "order": form, "mae": mae, "mae_error": 0.0,
             "rows": 640, "term": "q", "theta": 1.0, "error_by_pair": 0.1}
            for form, mae in zip(FORMS, (1.0, 1.5, 1.9, 8.0), strict=True)]  # fmt: skip
    claims = fit_claims(Results(table=pd.DataFrame(rows), factors={}, parameters={"pairs": 1}))
    (claim,) = [claim for claim in claims if "all forms but one" in claim.text and "published" in claim.text]
    assert claim.effect is not None
    assert claim.effect.low == pytest.approx(np.log10(1.9))
    assert claim.effect.replications == 20
    assert claim.verdict == "holds"


def test_every_sentence_is_the_papers_or_marked_and_bounded() -> None:
    found = [said for rows in SENTENCES.values() for said in rows]
    assert len({sentence.text for sentence in found}) == len(found)
    assert all(sentence.compared.bounds and sentence.source.startswith("section ") for sentence in found)
    assert compared(Effect.exact(1.0), {"at_least": -1.0, "at_most": 1.0})[0]
    assert not compared(Effect.exact(0.0), {"more_than": 0.0})[0]
    assert [least_of("all", 4), least_of("nearly all", 5), least_of("most", 4)] == [
        {"at_least": 4.0}, {"at_least": 4.0}, {"more_than": 2.0},
    ]  # fmt: skip


def test_the_rank_of_a_median_counts_those_that_are_smaller() -> None:
    values = np.array([[1.0, 5.0, 2.0], [1.0, 1.0, 2.0], [9.0, 7.0, 2.0]])
    assert rank_of_last(values) == 2  # medians 1, 5, 2
    assert rank_of_last(values[:, ::-1]) == 1
    assert rank_of_last(np.stack([values, values[:, ::-1]])).tolist() == [2.0, 1.0]
    assert spread_rank_of_last(values) == 1  # the last does not vary
    assert rank_of_last(np.ones((4, 7))) == 4, "equal orders have their mean rank"
    assert spread_rank_of_last(values[:, ::-1]) == 3  # the second one varies less: 1 to 7, against 1 to 9


def test_a_workload_beside_the_papers_is_ours() -> None:
    table = made({"actual": {**ACTUAL, "QUA": 90.0}}, workload="other.swf")
    table["train"] = table["train"].where(table["train"].isna(), "other.swf")
    table["scores"] = table["scores"].where(table["train"].isna(), "swap-any")
    found = claims_on(table, "other.swf")
    (claim,) = [c for c in found if c.text.startswith("QUA is worse than LIN") and c.verdict == "holds"]
    assert claim.ours
    assert "beside the paper's" in claim.text


def test_a_draw_without_a_factor_is_left_out() -> None:
    rows = [{"part": DRAW, "train": "generated", "replication": number, "form": "LIN",
             "vif_paper": np.nan if number == 5 else 2.0}
            for number in range(12)]  # fmt: skip
    claims = fit_claims(Results(table=pd.DataFrame(rows), factors={}))
    (claim,) = [claim for claim in claims if "factor of LIN is below 5" in claim.text]
    assert claim.effect is not None
    assert (claim.verdict, claim.effect.replications) == ("holds", 11)
