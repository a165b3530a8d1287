"""The claims of the market study, on made-up results whose verdicts are known."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from experiments.campaigns.claims import Claim, in_scope
from experiments.campaigns.judging import judge
from experiments.campaigns.results import Results
from experiments.studies.market.claims import SENTENCES
from experiments.studies.market.measures import rank
from experiments.studies.market.paper import crossing, leads_up_to, printed_numbers
from experiments.studies.market.results import PROTOTYPE, MarketResults, grid
from experiments.studies.market.settings import LOADS
from experiments.studies.market.study import Market

Said: TypeAlias = Sequence[Claim]
KNOWN = (0.7, 0.9, 1.0, 1.1, 1.2, 1.4)
"""The loads of the prototype; between them, its means are taken to lie on a line."""
CUT = ", if runs are cut at the last submission"
PARAMETERS = {"jobs": 10_000, "clusters": "3x1000:Kind1,1x1000:Kind2", "ccr": 0.2}


def made(change: dict[tuple[str, str, float], float] | None = None, replications: int = 10) -> Results:
    """Return results that are the prototype's means, with a little noise and changes of some, of ten workloads."""
    rows: list[dict[str, object]] = []
    for replication, end, load in itertools.product(range(replications), ("drain", "submit"), LOADS):
        for bid in sm.TEN_BIDS:
            noise = 1e-5 * (replication - 4.5)
            row: dict[str, object] = {
                "load": load, "end": end, "rule": "plain", "bid": bid, "replication": replication,
                "tasks": 118_000, "effective_load": load, "median_slr": 1.0 + (bid != "PVR") + noise,
            }  # fmt: skip
            for measure in ("value", "starved"):
                value = prototype(end, load, bid, measure) + (change or {}).get((measure, bid, load), 0.0) + noise
                row[measure] = value
            row["starved_deadline"] = round(10_000 * prototype("drain", load, bid, "starved"))
            for tenth in range(1, 11):
                slr = (1.1 if tenth < 9 else 1.0 + 2.5 * load) + (bid != "PVR") * 0.2 + 1e-5 * replication
                row[f"slr_{tenth}"] = row[f"volume_slr_{tenth}"] = slr
                row[f"starved_{tenth}"] = row[f"volume_starved_{tenth}"] = 0.1 * (tenth == 10) + noise
            rows.append(row)
    factors = {"load": LOADS, "end": ("drain", "submit"), "rule": ("plain",), "bid": sm.TEN_BIDS}
    return Results(table=pd.DataFrame(rows), factors=factors, parameters=PARAMETERS)


def prototype(end: str, load: float, bid: str, measure: str) -> float:
    """Return a mean of the prototype; where it has none for an end, one made of the other end's."""

    def known(at: float) -> float:
        other = PROTOTYPE["drain", at, bid, measure]
        return PROTOTYPE.get((end, at, bid, measure), other - 0.05 if measure == "value" else other)

    return float(np.interp(load, KNOWN, [known(at) for at in KNOWN]))


def claim(results: Results, begin: str, *, cut: bool = False) -> Claim:
    """Return the paper's claim that begins so, as all of them have it, without the time that the others take."""
    said = [sentence for sentence in SENTENCES["paper"] if sentence.text.startswith(begin)]
    (found,) = in_scope(judge(MarketResults(results), said, "submit" if cut else "drain"), results)
    return found


@pytest.fixture(scope="module")
def as_they_are() -> Said:
    return [claim for claim in Market().claims(made()) if not claim.ours]


@pytest.fixture(scope="module")
def our_own() -> Said:
    return [claim for claim in Market().claims(made()) if claim.ours]


def found_in(these: Said, begin: str, *, cut: bool = False) -> Claim:
    """Return the one claim that begins so."""
    (found,) = [claim for claim in these if claim.text.startswith(begin) and claim.text.endswith(CUT) == cut]
    return found


def test_the_papers_sentences_are_judged_at_both_ends_and_ours_at_one(as_they_are: Said, our_own: Said) -> None:
    texts = {claim.text for claim in as_they_are}
    assert {text.removesuffix(CUT) for text in texts if text.endswith(CUT)} == {
        text for text in texts if not text.endswith(CUT)
    }
    assert our_own
    assert not any(claim.text.endswith(CUT) for claim in our_own)
    assert "prototype" not in {claim.source for claim in (*as_they_are, *our_own)}
    assert found_in(as_they_are, "Not all value is reached", cut=True).verdict == "holds", "only of runs that are cut"


def test_a_claim_that_is_judged_alone_is_the_one_that_is_judged_with_all(as_they_are: Said) -> None:
    for cut in (False, True):
        assert claim(made(), "FIFO is a long way", cut=cut) == found_in(as_they_are, "FIFO is a long way", cut=cut)


def test_what_the_prototype_denies_fails(as_they_are: Said) -> None:
    for begin in (
        "Under overload, LRTF never gets jobs finished",
        "FIFO is an improvement on Random",
        "FIFO is a long way",
        "At very high load PV is still beaten by PVR",
        "LRTF starves more jobs than PV",
        "PVDSQ and SRTF are almost indistinguishable",
        "EDF attains the second-highest value",
        "PVR attains the highest value of all policies below saturation",
        "PVD equals PVR in value",
        "At high overload PVDSQ gets slightly more value than PVR",
        "Above load 110 %, EDF falls behind PVR",
    ):
        assert found_in(as_they_are, begin).verdict == "fails", begin


@pytest.mark.parametrize(
    ("change", "begin"),
    [
        (("value", "PVR", 1.4, 0.5), "As load is increased"),
        (("value", "LRTF", 0.9, 0.2), "LRTF is worse in value than Random"),
        (("value", "PV", 0.9, 0.1), "Below saturation, PV is even worse"),
        (("value", "PV", 1.4, -0.5), "PV loses less value than other policies"),
        (("value", "PV", 1.4, 0.1), "At very high load PV is still beaten by PVDSQ"),
        (("starved", "P-SLR", 1.4, -0.1), "P-SLR starves many jobs"),
        (("value", "PVD", 1.1, -0.05), "PVD is clearly"),
        (("value", "PVDSQ", 1.1, -0.05), "PVDSQ gets more value than PVD"),
        (("starved", "PVDSQ", 1.2, 0.4), "PVDSQ starves many fewer jobs"),
        (("starved", "SRTF", 1.2, 0.4), "SRTF starves many fewer jobs"),
        (("value", "EDF", 1.2, 0.2), "The value under EDF falls steeply"),
        (("value", "EDF", 1.4, 0.2), "Above load 110 %, EDF falls behind SRTF"),
        (("starved", "EDF", 1.4, -0.02), "After load 120 %, starvation under EDF"),
        (("value", "EDF", 1.1, 0.1), "PVR attains the highest value of all policies from saturation"),
        (("value", "PVR", 1.4, 0.2), "At very high load PVR falls behind SRTF"),
        (("starved", "PVR", 1.0, 0.1), "PVR has the fewest starved jobs"),
        (("starved", "PVR", 1.4, 0.1), "Under PVR only 5 % of the jobs"),
        (("starved", "PVR", 1.4, 0.05), "At high overload PVDSQ starves hugely more"),
    ],
)
def test_a_claim_fails_if_what_it_says_is_not_so(
    as_they_are: Said, change: tuple[str, str, float, float], begin: str
) -> None:
    *where, by = change
    assert found_in(as_they_are, begin).verdict in {"holds", "undecided"}
    assert claim(made({tuple(where): by}), begin).verdict == "fails"  # type: ignore[dict-item]


def test_equal_to_within_a_margin_is_bounded_on_both_sides() -> None:
    level = {("value", "PVD", 1.4): PROTOTYPE["drain", 1.4, "PVR", "value"] - PROTOTYPE["drain", 1.4, "PVD", "value"]}
    begin = "PVD equals PVR in value"
    assert claim(made(level), begin).verdict == "holds"
    for off in (-0.02, 0.02):
        moved = {cell: by + off for cell, by in level.items()}
        assert claim(made(moved), begin).verdict == "fails"


def test_of_few_workloads_there_is_no_verdict_and_of_few_jobs_no_judgement() -> None:
    few = replace(made(), parameters={**PARAMETERS, "jobs": 9_999})
    for results, verdict in ((made(replications=9), "too few"), (few, "not judged")):
        assert {claim.verdict for claim in Market().claims(results) if not claim.ours} == {verdict}


# -- what was measured ----------------------------------------------------------------------------------


def test_a_rank_is_one_more_than_the_bids_with_a_larger_mean() -> None:
    found = MarketResults(made())
    for load, expected in ((1.0, 3), (0.7, 1)):  # equal ones share the best
        measured = rank(found, "EDF", "drain", load)
        assert measured is not None
        assert measured(1).estimate == expected


def test_a_measure_that_is_missing_of_one_bid_is_there_of_others() -> None:
    results = made()
    none = (results.table["bid"] == "LRTF") & (results.table["load"] == 1.2)
    results.table.loc[none, "slr_10"] = np.nan
    table = grid(results, "slr_10")
    assert len(table) == 10
    assert table[1.2, "LRTF"].isna().all()
    assert table[1.2, "PVR"].notna().all()
    results.table.loc[results.table.index[0], "value"] = np.nan
    assert len(grid(results, "slr_10")) == 9, "of a workload all cells are needed"


def test_a_crossing_lies_on_the_line_between_two_loads() -> None:
    found = MarketResults(made())
    ahead = {
        load: PROTOTYPE["drain", load, "PVR", "value"] - PROTOTYPE["drain", load, "PVD", "value"] for load in KNOWN
    }
    share = ahead[1.2] / (ahead[1.2] - ahead[1.4])
    crossed = crossing(found, "PVR", "PVD", "drain")
    assert crossed is not None
    np.testing.assert_allclose(crossed, 1.2 + 0.2 * share)
    assert crossing(found, "PVD", "LRTF", "drain") is None


def part(results: Results, **kept: tuple[object, ...]) -> Results:
    """Return the results of which some values of factors were run."""
    table = results.table
    for name, values in kept.items():
        table = table[table[name].isin(values)]
    return replace(results, table=table, factors={**results.factors, **kept})


@pytest.mark.parametrize(
    "begin",
    ["PVR has the fewest starved jobs", "PVR attains the highest value of all policies below", "PV loses less value",
     "EDF attains the second-highest"],
)  # fmt: skip
def test_a_sentence_on_all_policies_does_not_hold_of_a_few(begin: str) -> None:
    few = part(made(), bid=("PVR", "SRTF", "FIFO", "PV", "EDF"))
    needs = "undecided: needs --set bid=PVR,SRTF,FIFO,PV,EDF,Random,LRTF,P-SLR,PVD,PVDSQ"
    assert claim(few, begin).outcome == needs


@pytest.mark.parametrize("loads", [(0.7, 1.0), (1.0, 1.4), tuple(load for load in LOADS if load != 1.3)])
def test_a_sentence_across_the_loads_needs_all_of_them(loads: tuple[float, ...]) -> None:
    few = part(made(), load=loads)
    for begin in ("PVR has the fewest starved jobs", "LRTF is worse in value than Random", "PVDSQ gets more value"):
        assert claim(few, begin).outcome == "undecided: needs --set load=0.7,0.8,0.9,1.0,1.1,1.2,1.3,1.4"
    assert claim(few, "FIFO is an improvement on Random").verdict == ("fails" if 0.7 in loads else "undecided")


def test_one_counterexample_among_a_few_policies_at_a_few_loads_is_enough() -> None:
    ahead = part(made({("value", "SRTF", 0.9): 0.5}), bid=("PVR", "SRTF"), load=(0.9,), end=("drain",))
    found = claim(ahead, "PVR attains the highest value of all policies below saturation")
    assert found.verdict == "fails"
    assert claim(ahead, "LRTF starves more jobs than PV").outcome.startswith("undecided: needs --set load=")
    cut = claim(ahead, "PVR attains the highest value of all policies below saturation", cut=True)
    assert cut.outcome == "undecided: needs --set end=drain,submit"


def test_what_is_run_at_other_loads_than_the_papers_decides_nothing() -> None:
    results = made({("starved", "PVR", 1.0): 0.9})
    results.table["load"] = results.table["load"].replace(1.0, 1.05)
    found = claim(results, "PVR has the fewest starved jobs")
    assert found.verdict == "undecided"


def test_at_another_load_the_figure_of_slr_is_not_figure_7() -> None:
    assert "figure 7: SLR by execution time" in Market().figures(made())
    figures = Market().figures(part(made(), load=(0.9, 1.1)))
    assert "figure 7: SLR by execution time" not in figures
    assert "beyond the paper: SLR by execution time" in figures


def test_p_slr_as_section_iv_defines_it_is_the_papers_if_it_was_run(our_own: Said) -> None:
    begin = "Below saturation no job starves under P-SLR"
    assert found_in(our_own, begin).text.startswith(f"{begin} with the term")
    results = made()
    plain = results.table[results.table["bid"] == "P-SLR"].assign(bid="P-SLR:plain", starved_deadline=0)
    more = replace(results, table=pd.concat([results.table, plain]))
    found = found_in([each for each in Market().claims(more) if not each.ours], begin)
    assert found.text.startswith(f"{begin} without the term")
    assert found.verdict == "holds"


def test_how_far_a_bid_leads_has_ends_of_which_it_is_sure() -> None:
    plain, level = made(), made({("value", "P-SLR", load): -0.01 for load in (0.8, 0.9)})
    found = leads_up_to(MarketResults(level), "PVR", "drain")
    assert found is not None
    assert (found.estimate, found.low, found.high) == (1.1, 1.1, 1.1)
    found = leads_up_to(MarketResults(plain), "PVR", "drain")
    assert found is not None
    assert found.estimate == 0.7
    assert leads_up_to(MarketResults(plain), "LRTF", "drain") is None, "not at the lowest load"
    table = printed_numbers(plain)
    assert table.loc[table["what"].str.startswith("load up to which PVR"), "said"].tolist() == ["1.1", "1.1"]
