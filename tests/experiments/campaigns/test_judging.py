"""Rows and their evaluator, on results whose every value is known: a base by alternative, more by level."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.campaigns.claims import Claim, Scope
from experiments.campaigns.families import Evidence
from experiments.campaigns.judging import Family, StudyResults, Values, by_replication, judge
from experiments.campaigns.results import Results
from experiments.campaigns.sentences import Compared, Sentence
from experiments.campaigns.statistics import Effect

BASE = {"a": 1.0, "b": 2.0, "c": 4.0}
LOADS = (1, 2, 3)
ALONG = {"load": LOADS}


def none_of_it(_found: object, _said: Sentence, on: Sequence[str]) -> Family | Evidence | None:
    return None if on == ("y",) else Evidence(Effect.exact(7.0))


class Made(StudyResults):
    """The value of an alternative is its base and its load; on subject y, ten times that."""

    order = ("c", "b", "a")
    planned = MappingProxyType({"load": 2, "reading": "ours"})
    measures = MappingProxyType({"own": none_of_it})
    subjects = ("x", "y")

    @property
    def centre(self) -> Mapping[str, Any]:
        return self.planned

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401, ARG002  as there
        load = moved.get("load", 2)
        if alternative not in BASE or load not in self.levels("load", subject):
            return pd.Series(dtype=float, index=pd.Index([], name="replication"))
        values = (BASE[alternative] + load) * (10.0 if subject == "y" else 1.0) + 1e-6 * np.arange(12)
        return pd.Series(values, index=pd.RangeIndex(12, name="replication"))

    def levels(self, factor: str, subject: str) -> Sequence[int]:  # noqa: ARG002  as there
        return self.results.factors[factor]  # type: ignore[return-value]  # loads

    def scope(self, said: Sentence, on: Sequence[str]) -> Scope:
        along = {**self.moved(said.compared), "who": self.named(said.compared)}
        return Scope(at_each={"subject": on}, along=along, a_part_may=said.compared.a_part_may)

    def text(self, said: Sentence, on: Sequence[str]) -> str:
        return f"{said.text} on {' and '.join(on)}"


def judged(compared: Compared, loads: tuple[int, ...] = LOADS, **more: Any) -> list[Claim]:  # noqa: ANN401  any field
    found = Made(Results(table=pd.DataFrame(), factors={"load": loads}))
    return list(judge(found, [Sentence("it is so", "section 1 (V2)", compared, "what it is", **more)]))


@pytest.mark.parametrize(
    ("compared", "estimate"),
    [
        (Compared("value", "b", at_least=0.0), 4.0),
        (Compared("value", "b", "a", at_least=0.0), 1.0),
        (Compared("value", "b", "a", times=2.0, at_most=0.0), -2.0),
        (Compared("value", "b", "a", how="over", at_least=1.0), 4 / 3),
        (Compared("value", "b", "a", how="quotient", at_least=1.0), 4 / 3),
        (Compared("value", "b", "a", how="increase", at_least=0.0), 1 / 3),
        (Compared("value", "c", ("a", "b"), at_least=0.0), 2.0),  # the nearest to the bound
        (Compared("value", ("a", "b", "c"), chain=True, at_most=0.0), -1.0),
        (Compared("value", "c", ("a", "b"), mean=["against"], at_least=0.0), 2.5),
        (Compared("value", "c", ("a", "b", "c"), mean=["against"], at_least=0.0), 5 / 3),  # of itself, too
        (Compared("value", "b", along=ALONG, at_least=0.0), 3.0),
        (Compared("value", "b", along=ALONG, mean=["along"], at_least=0.0), 4.0),
        (Compared("value", "b", at=[{"load": 3}], at_least=0.0), 5.0),
        (Compared("value", "b", along=ALONG, judge="largest", at_least=0.0), 5.0),
        (Compared("value", "b", along=ALONG, change="rise", at_least=0.0), 1.0),
        (Compared("value", "b", along=ALONG, change="drop", at_most=0.0), -1.0),
        (Compared("value", "b", along=ALONG, change="rise", between="first", at_most=2.0), 2.0),
        (Compared("value", "b", along=ALONG, change="rise", between="ends", at_least=2.0), 2.0),
        (Compared("own", "b", at_least=7.0), 7.0),
    ],
)
def test_what_is_measured_follows_from_the_row(compared: Compared, estimate: float) -> None:
    (claim,) = judged(compared, on=("x",))
    assert claim.effect is not None
    assert claim.effect.estimate == pytest.approx(estimate, abs=1e-4)
    assert (claim.text, claim.source, claim.number) == ("it is so on x", "section 1", "V2")


def test_a_sentence_is_on_each_subject_or_on_all_together_or_compares_them() -> None:
    rise = Compared("value", "b", at_least=0.0)
    assert [claim.text for claim in judged(rise)] == ["it is so on x", "it is so on y"]
    (both,) = judged(rise, together=True)
    assert both.text == "it is so on x and y"
    (less,) = judged(rise, on=("y",), than_on="x")
    assert less.effect is not None
    assert less.effect.estimate == pytest.approx(36.0)


@pytest.mark.parametrize(
    ("compared", "may"),
    [
        (Compared("value", "b", along=ALONG, more_than=0.0), "fail"),
        (Compared("value", "b", along=ALONG, mean=["along"], more_than=0.0), "neither"),
        (Compared("value", "b", along=ALONG, change="rise", between="ends", more_than=0.0), "neither"),
        (Compared("value", "b", along=ALONG, judge="largest", more_than=0.0), "hold"),
        (Compared("value", "b", along=ALONG, judge="largest", less_than=9.0), "fail"),
        (Compared("value", "b", along=ALONG, judge="largest", more_than=0.0, less_than=9.0), "neither"),
        (Compared("own", "b", along=ALONG, judge="least", less_than=9.0), "hold"),
        (Compared("own", "b", along=ALONG, judge="share", at_least=0.9), "neither"),
    ],
)
def test_the_scope_follows_from_the_row(compared: Compared, may: str) -> None:
    scope = judged(compared)[0].scope
    assert scope is not None
    assert (scope.at_each, scope.a_part_may) == ({"subject": ("x",)}, may)
    assert scope.along == {"load": LOADS, "who": ("b",)}


def test_alternatives_and_points_are_in_the_scope_and_of_points_all_are_needed_of_a_sweep_what_was_run() -> None:
    scope = judged(Compared("value", "a", ("b", "c"), at=[{"load": 1}, {"other": 5}], more_than=0.0))[0].scope
    assert scope is not None
    assert scope.along == {"load": (1, 2), "other": (None, 5), "who": ("c", "b", "a")}, "in the order of the study"
    assert judged(Compared("value", "b", along=ALONG, at_least=0.0), loads=(2, 3))[0].effect is not None
    assert judged(Compared("value", "b", at=[{"load": 1}], at_least=0.0), loads=(2, 3))[0].effect is None
    assert judged(Compared("value", ("b", "d"), at_least=0.0))[0].effect is None, "one that was not run"
    assert judged(Compared("own", "b", at_least=0.0), on=("y",))[0].effect is None


def test_the_member_that_decides_is_noted_before_the_rows_own_note() -> None:
    (claim,) = judged(Compared("value", "c", ("a", "b"), ALONG, within=9.0), on=("x",), note="by us")
    assert claim.note == "c against a at the centre, of 6 comparisons: the one that decides; by us"
    assert claim.bounds() == {"at_least": -9.0, "at_most": 9.0}


def test_by_another_reading_a_papers_sentence_is_undecided_and_one_of_ours_left_out() -> None:
    above = Compared("value", "b", at_least=0.0)
    (claim,) = judged(above, on=("x",), given={"reading": "text"})
    assert (claim.outcome, claim.scope) == ("undecided: needs --reading text", None)
    assert not judged(above, given={"reading": "text"}, ours=True)
    assert len(judged(above, given={"reading": "ours"}, ours=True)) == 2


def test_members_are_averaged_together_as_each_is_alone() -> None:
    places = pd.MultiIndex.from_product([range(2), range(3)], names=["trace", "replication"])
    whole = pd.Series([1.0, 2.0, 3.0, 5.0, np.nan, 8.0], index=places)
    part = whole.iloc[[0, 2, 3]]
    assert by_replication({"": whole})[""].tolist() == [3.0, pytest.approx(np.nan, nan_ok=True), 5.5]
    assert by_replication({"": part})[""].to_dict() == {0: 3.0, 2: 3.0}
    for family in ({"a": whole, "b": 2.0 * whole}, {"a": whole, "b": part}, {"a": part, "b": whole, "c": part}):
        alone = {name: by_replication({name: each})[name] for name, each in family.items()}
        pd.testing.assert_frame_equal(by_replication(family), pd.DataFrame(alone))
    assert by_replication({}).empty
