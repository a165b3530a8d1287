"""Cards: what a notebook shows of an object."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.campaigns import Results
from experiments.studies.replay import Replay
from simmodels.ground.cards import SLICES, bars, card, levels, line_chart, number, share, sliced, tiles

NAME = "<script>alert('x')</script> & co"


def objects() -> dict[str, object]:
    """Return one of each class that a notebook shows, with a name that must be escaped where it has one."""
    jobs = wl.lublin(jobs=60, cores=16, seed=1, load=0.9)
    named = sm.Workload.from_frame(jobs.to_frame(), name=NAME, max_cores=16)
    flow = sm.Workflow(1, 0.0, [10, 20, 5], 2, [(0, 1), (0, 2)], name=NAME)
    env = sm.Environment()
    cluster = sm.Cluster(env, NAME, machines=3, cores_per_machine=4)
    cluster.machines[2].power_off()
    sm.QueueScheduler(env, cluster)
    env.run()
    return {
        "workload": named,
        "empty workload": named.take(np.empty(0, np.int64)),
        "workload of workflows": sm.Workload.of(flow),
        "schedule": sm.simulate(named),
        "empty schedule": sm.simulate(named.take(np.empty(0, np.int64))),
        "schedule of workflows": sm.simulate([flow], on=[("a", 4)], bid="SRTF"),
        "schedule on machines": sm.simulate(
            named.take(named.cores <= 4), capacity=[(0, 4), (9000, 2)], cores_per_machine=4
        ),
        "workflow": flow,
        "large workflow": sm.Workflow(1, 0.0, [1.0] * 200, 1),
        "cluster": cluster,
        "pool": sm.Cluster(sm.Environment(), "pool", cores=8),
        "capacity": sm.Capacity.of([(0, 4), (3600, 2)]),
        "constant capacity": sm.Capacity.of([(0, 4)]),
        "study": Replay(),
        "results": Results(table=sm.simulate(named).jobs.assign(replication=0), factors={"cores": (1, 2)}),
        "no results": Results(table=sm.simulate(named).jobs.head(0), factors={}),
    }


@pytest.mark.parametrize(("name", "shown"), objects().items(), ids=objects())
def test_an_object_is_shown_as_well_formed_html_with_its_names_escaped(name: str, shown: object) -> None:
    html = shown._repr_html_()  # type: ignore[attr-defined]
    page = ET.fromstring(html)  # noqa: S314  our own
    assert "script" not in {each.tag.rpartition("}")[2] for each in page.iter()}
    text = " ".join(" ".join(page.itertext()).split())
    assert " ".join(repr(shown).strip("<>").split(";")[0].split()) in text
    assert "nan" not in text
    if not name.startswith(("empty", "no ", "study")):
        assert "<svg" in html


def test_a_schedule_is_shown_with_its_figures_and_a_cluster_with_the_machines_that_are_off_by_dashes() -> None:
    table = {"submit_s": [0.0, 0.0], "runtime_s": [3600.0, 3600.0], "cores": [2, 2]}
    html = sm.simulate(table, cores=2)._repr_html_()
    for name, value in (("mean wait", "30 min"), ("longest wait", "1 h"), ("cores used", "100.0 %")):
        assert re.search(f">{name}</div><div[^>]*>{value}</div>", html), (name, html)
    assert "jobs waiting (at most 1)" in html
    warm = {"submit_s": [0, 0, 0, 50, 51], "runtime_s": [10] * 5, "cores": [2] * 5}
    assert "jobs waiting (at most 1)" in sm.simulate(warm, cores=2, warm_jobs=3)._repr_html_()
    html = objects()["cluster"]._repr_html_()  # type: ignore[attr-defined]
    assert ">2 of 3</div>" in html
    assert html.count("stroke-dasharray") == 1
    assert ">QueueScheduler</div>" in html


def test_slices_of_a_step_function_have_its_mean() -> None:
    time_s, value = np.array([0.0, 25.0, 75.0]), np.array([4.0, 1.0, 3.0])
    found = sliced(time_s, value, (0.0, 100.0))
    assert len(found) == SLICES
    assert found.mean() == pytest.approx((4 * 25 + 1 * 50 + 3 * 25) / 100)
    assert sliced(time_s, value, (-100.0, 0.0)).tolist() == [0.0] * SLICES
    assert sliced(np.empty(0), np.empty(0), (0.0, 1.0)).tolist() == [0.0] * SLICES


@pytest.mark.parametrize("zero_s", [0.0, 1.7e15])
def test_cards_draw_instants_that_are_close_to_each_other_and_far_from_zero(zero_s: float) -> None:
    found = sliced(zero_s + np.array([0.0, 0.5]), np.array([4.0, 2.0]), (zero_s, zero_s + 1))
    assert found.tolist() == pytest.approx([4.0] * (SLICES // 2) + [2.0] * (SLICES // 2))
    assert "<svg" in sm.Capacity.of([(zero_s, 1), (zero_s + 0.5, 2)])._repr_html_()
    # Half of the work is submitted in each of the first and the last slice, on a machine of as many cores.
    for span_s in (0.5, 1.0):
        jobs = {"submit_s": [zero_s, zero_s + span_s], "runtime_s": [span_s / SLICES] * 2, "cores": [3, 3]}
        card_of = sm.Workload.from_frame(jobs, max_cores=3)._repr_html_()
        path = re.search(r'd="M0,72(H0.0V16.0.*?H717.0V16.0)H720V72Z"', card_of)
        assert path is not None, card_of
        assert path[1].count("V72.0") == SLICES - 2
    assert "<svg" in sm.simulate(jobs, cores=3)._repr_html_()


@pytest.mark.parametrize(
    "chart",
    [
        line_chart(np.array([1.0, np.nan]), "a < b"),
        line_chart(np.zeros(3), "zeros", line=2.0, ends=("0 s", "1 h")),
        tiles([], "no machines"),
        tiles([0.5] * 130, "three rows"),
        bars({"a": 1.0, "b": float("nan"), "c": 0.0}, "of three"),
        bars({}, "none"),
        bars({"a": 1.0, "b": float("inf")}, "one without end"),
        bars({"a": -1.0, "b": float("inf")}, "none that is finite and above 0"),
        levels([[0], [1, 2]], [(0, 1), (0, 2)], "graph"),
    ],
)
def test_a_chart_is_well_formed_whatever_it_shows(chart: str) -> None:
    drawing = ET.fromstring(chart)  # noqa: S314  our own
    assert "nan" not in chart
    assert all(0 <= float(each.get("width", 0)) <= 720 for each in drawing.iter())
    _, _, width, height = map(float, drawing.attrib["viewBox"].split())
    assert width > 0
    assert height > 0


def test_numbers_are_short_and_what_is_not_there_is_none() -> None:
    texts = {
        0: "0", 7.0: "7", 0.5: "0.5000", 99.999: "100.00", 123.456: "123.5", 1234.5: "1,234", 1e7: "10,000,000",
        -12.345: "-12.35", 0.00123: "0.00123", np.nan: "none", np.inf: "inf",
    }  # fmt: skip
    assert {value: number(value) for value in texts} == texts
    assert [share(each) for each in (0.5, np.nan)] == ["50.0 %", "none"]
    assert card("a & b", {"c": "<d>"}).count("&lt;d&gt;") == 1
