from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch, Rectangle

from experiments.campaigns.charts import Areas, Axis, Bars, Boxes, Chart, Heat, Lines, draw_all, in_order
from experiments.drawing import Figure

LOADS = pd.DataFrame(
    {
        "load": [0.5, 0.9, 0.5, 0.9],
        "wait": [1.0, 7.0, 1.0, 3.0],
        "order": ["FCFS", "FCFS", "SAF", "SAF"],
        "log": ["KTH", "KTH", "KTH", "NASA"],
    }
)
BY_LOAD = Chart(mark=Lines(), x=Axis("load", "load"), y=(Axis("wait", "wait (h)"),), by="order")
BY_ORDER = Chart(mark=Bars(), x=Axis("order"), y=(Axis("wait"),))


def lines(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    found = {}
    for line in axes.lines:
        x, y = np.asarray(line.get_data(), dtype=float)
        found[str(line.get_label())] = list(zip(x.tolist(), y.tolist(), strict=True))
    return found


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def x_names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_each_series_is_a_line_through_its_rows_in_one_style_in_all_panels() -> None:
    (axes,) = BY_LOAD.draw(LOADS).axes
    assert lines(axes) == {"FCFS": [(0.5, 1.0), (0.9, 7.0)], "SAF": [(0.5, 1.0), (0.9, 3.0)]}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("load", "wait (h)")
    figure = replace(BY_LOAD, panels="log").draw(LOADS)
    kth, nasa = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["KTH", "NASA"]
    assert (list(lines(kth)), list(lines(nasa))) == (["FCFS", "SAF"], ["SAF"])
    assert kth.lines[1].get_color() == nasa.lines[0].get_color() != kth.lines[0].get_color()
    assert legend(figure) == ["FCFS", "SAF"]
    # A panel without values is left out, and each vertical axis has one.
    table = LOADS.assign(lost=np.where(LOADS["log"] == "KTH", 0.1, np.nan))
    figure = replace(BY_LOAD, y=(*BY_LOAD.y, Axis("lost", "lost")), panels="log").draw(table)
    assert [axes.get_ylabel() for axes in figure.axes] == ["wait (h)", "lost", "wait (h)"]


def test_a_style_is_that_of_the_row_over_what_all_have_over_the_next_colour() -> None:
    look, styles = {"marker": "", "linewidth": 5.0}, {"SAF": {"color": "red", "linewidth": 1.0}}
    fcfs, saf = replace(BY_LOAD, look=look, styles=styles).draw(LOADS).axes[0].lines
    assert (fcfs.get_color(), fcfs.get_linewidth(), fcfs.get_marker()) == (in_order(["FCFS"])["FCFS"]["color"], 5.0, "")
    assert (saf.get_color(), saf.get_linewidth(), saf.get_marker()) == ("red", 1.0, "")


def test_lines_have_gaps_intervals_side_by_side_texts_and_areas_below() -> None:
    table = pd.DataFrame({"load": [1, 2, 3], "wait": [1.0, np.nan, 2.0]})
    (line,) = replace(BY_LOAD, by="").draw(table).axes[0].lines
    assert np.isnan(np.asarray(line.get_ydata(), dtype=float)).tolist() == [False, True, False]
    table = pd.DataFrame(
        {"log": "KTH", "times": [2.0, 3.0], "low": [1.0, None], "high": [4.0, None], "what": ["a", "b"]}
    )
    chart = Chart(mark=Lines(ends=("low", "high"), spread=0.5), x=Axis("log"), y=(Axis("times"),), by="what")
    axes = chart.draw(table).axes[0]
    assert lines(axes) == {"a": [(-0.125, 2.0)], "b": [(0.125, 3.0)]}
    assert [path.vertices.tolist() for path in axes.collections[0].get_paths()] == [[[-0.125, 1.0], [-0.125, 4.0]]]
    mark = Lines(text="said", filled=("SAF",))
    axes = replace(BY_LOAD, mark=mark).draw(LOADS.assign(said=["here", "", "", ""])).axes[0]
    assert [(text.get_text(), text.xy) for text in axes.texts if text.get_text()] == [("here", (0.5, 1.0))]
    corners = axes.collections[0].get_paths()[0].vertices
    assert {tuple(corner) for corner in corners.tolist()} == {(0.5, 0.0), (0.5, 1.0), (0.9, 0.0), (0.9, 3.0)}


def test_bars_of_a_category_touch_neither_each_other_nor_the_next_ones() -> None:
    table = LOADS.assign(load=LOADS["load"].map("{:g}".format))
    axes = Chart(mark=Bars(), x=Axis("load"), y=(Axis("wait"),), by="order").draw(table).axes[0]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars)
    assert sorted(bar.get_height() for bar in bars) == [1.0, 1.0, 3.0, 7.0]
    assert all(one[1] < other[0] for one, other in pairwise(ends))
    assert x_names(axes) == ["0.5", "0.9"]


@pytest.mark.parametrize(("whiskers", "ends", "means"), [((10, 90), (1.0, 9.0), [5.0]), (None, (0.0, 10.0), [])])
def test_a_box_has_quartiles_and_whiskers(
    whiskers: tuple[float, float] | None, ends: tuple[float, float], means: list[float]
) -> None:
    table = pd.DataFrame({"log": "KTH", "wait": np.arange(11.0)})
    axes = Chart(mark=Boxes(whiskers=whiskers), x=Axis("log"), y=(Axis("wait"),)).draw(table).axes[0]
    (box,) = [patch.get_path().vertices[:, 1] for patch in axes.patches if isinstance(patch, PathPatch)]
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    assert (box.min(), box.max(), drawn.min(), drawn.max()) == (2.5, 7.5, *ends)
    stars = [line for line in axes.lines if line.get_marker() == "*"]
    assert [y for star in stars for y in np.asarray(star.get_ydata(), dtype=float)] == means


def test_areas_lie_on_each_other_in_the_order_of_the_series() -> None:
    table = pd.DataFrame({"week": [1, 2, 1], "share": [0.25, 1.0, 0.75], "order": ["FCFS", "FCFS", "SAF"]})
    axes = Chart(mark=Areas(), x=Axis("week"), y=(Axis("share"),), by="order").draw(table).axes[0]
    lower, upper = (area.get_paths()[0].vertices for area in axes.collections)
    assert lower[lower[:, 0] == 1.0, 1].max() == 0.25
    assert upper[upper[:, 0] == 1.0, 1].max() == 1.0
    assert upper[upper[:, 0] == 2.0, 1].tolist() == pytest.approx([1.0] * len(upper[upper[:, 0] == 2.0]))


def test_a_map_shows_its_values_where_they_lie_and_writes_on_strong_ones_in_white() -> None:
    table = pd.DataFrame(
        {"capacity": ["steady", "steady", "walk"], "policy": ["EASY", "FCFS", "EASY"], "above": [0.0, 1.0, 0.2],
         "shown": ["1", "9", "2"]}
    )  # fmt: skip
    mark = Heat(value="above", label="above", colours="cividis_r", text="shown", ticks={0: "best"})
    figure = Chart(mark=mark, x=Axis("capacity"), y=(Axis("policy"),)).draw(table)
    axes, bar = figure.axes
    shown = np.ma.filled(axes.collections[0].get_array(), np.nan)
    assert np.nan_to_num(shown, nan=-1.0).tolist() == [[0.0, 0.2], [1.0, -1.0]]
    written = {text.get_text(): (text.get_position(), to_hex(text.get_color()) == "#ffffff") for text in axes.texts}
    assert written == {"1": ((0, 0), False), "9": ((0, 1), True), "2": ((1, 0), False)}
    assert [text.get_text() for text in bar.get_yticklabels()] == ["best"]
    assert axes.get_ylim() == (1.5, -0.5), "the first category is on top"


def test_rows_of_panels_are_named_at_their_left_and_columns_above() -> None:
    table = pd.DataFrame({"x": [1, 1, 2], "wait": 1.0, "log": ["KTH", "NASA", "NASA"], "form": ["LIN", "LIN", "QDR"]})
    chart = Chart(mark=Lines(), x=Axis("x", "x"), y=(Axis("wait", "wait"),), panels="form", rows="log", share="both")
    axes = chart.draw(table).axes
    assert [each.get_ylabel() for each in axes] == ["KTH\nwait", "", "NASA\nwait", ""]
    assert [each.get_title(loc="left") for each in axes] == ["LIN", "QDR", "", ""]
    assert [len(each.lines) for each in axes] == [1, 0, 1, 1]


def test_named_values_stand_in_the_order_of_their_names_and_numbers_may_be_categories() -> None:
    names = {"order": {"SAF": "smallest first", "LAF": "largest first", "FCFS": "in turn"}}
    table = pd.concat([LOADS, LOADS.assign(order="random")])  # which has no name, and is left out
    assert legend(replace(BY_LOAD, names=names).draw(table)) == ["smallest first", "in turn"]
    assert x_names(replace(BY_ORDER, names=names).draw(table).axes[0]) == ["smallest first", "in turn"]
    table = pd.DataFrame({"period": [1200, 400], "wait": [1.0, 2.0]})
    axes = replace(BY_ORDER, x=Axis("period", each=True)).draw(table).axes[0]
    assert x_names(axes) == ["400", "1,200"]
    assert [round(patch.get_x() + patch.get_width() / 2) for patch in axes.patches] == [1, 0]


def test_an_axis_is_logarithmic_unless_some_value_is_not_positive() -> None:
    logarithmic = Chart(mark=Lines(), x=Axis("load"), y=(Axis("wait", log=10),))
    assert logarithmic.draw(LOADS).axes[0].get_yscale() == "log"
    assert logarithmic.draw(LOADS.assign(wait=[0.0, 1.0, 2.0, 3.0])).axes[0].get_yscale() == "linear"


def test_an_axis_ends_where_it_should_and_shows_what_it_must() -> None:
    def ends(axis: Axis) -> tuple[float, float]:
        return Chart(mark=Lines(), x=Axis("load"), y=(axis,)).draw(LOADS).axes[0].get_ylim()

    free = ends(Axis("wait"))
    assert ends(Axis("wait", limits=(0.0, None))) == (0.0, free[1])
    assert ends(Axis("wait", limits=(9.0, 0.0))) == (9.0, 0.0)
    assert ends(Axis("wait", shows=(-5.0, 2.0))) == (-5.0, free[1])
    assert ends(Axis("wait", ticks=(2, 400))) == free


def test_panels_that_share_an_axis_all_show_what_one_of_them_needs() -> None:
    chart = Chart(mark=Lines(), x=Axis("load"), y=(Axis("wait", limits=(0.0, None)),), panels="log", share="y")
    (end,) = {axes.get_ylim() for axes in chart.draw(LOADS).axes}
    assert max(end) > 7.0


def test_a_line_of_reference_is_drawn_where_it_is_in_sight() -> None:
    for at, drawn in ((0.5, [0.5]), (99.0, [])):
        axes = replace(BY_ORDER, y=(Axis("wait", at=at),)).draw(LOADS.head(1)).axes[0]
        assert [np.asarray(line.get_ydata())[0] for line in axes.lines] == drawn


def test_a_short_logarithmic_axis_has_more_ticks_than_its_powers_of_ten() -> None:
    figure = replace(BY_LOAD, y=(Axis("wait", log=10, limits=(0.8, 1.7)),)).draw(LOADS)
    figure.draw_without_rendering()
    assert {"1", "1.5"} <= {text.get_text() for text in figure.axes[0].get_yticklabels()}


def test_the_legend_is_read_row_by_row_without_hidden_series() -> None:
    names = [f"a policy with a long name, {number}" for number in range(5)]
    table = pd.concat([LOADS.assign(order=name) for name in [*names, "_hidden"]])
    figure = replace(BY_LOAD, note="what it is").draw(table)
    (shown,) = figure.legends
    figure.draw_without_rendering()
    boxes = {text.get_text(): text.get_window_extent() for text in shown.get_texts()}
    assert sorted(boxes, key=lambda name: (-round(boxes[name].y0), boxes[name].x0)) == names
    assert shown.get_title().get_text() == "what it is"
    extent = shown.get_window_extent()
    assert figure.bbox.x0 <= extent.x0 <= extent.x1 <= figure.bbox.x1


def test_names_of_categories_that_would_touch_are_set_aslant() -> None:
    table = pd.DataFrame({"order": [f"a long name, {number}" for number in range(9)], "wait": 1.0})
    assert BY_ORDER.draw(table).axes[0].get_xticklabels()[0].get_rotation() == 40.0
    assert BY_ORDER.draw(LOADS.head(1)).axes[0].get_xticklabels()[0].get_rotation() == 0.0


def test_charts_that_show_no_rows_are_not_drawn() -> None:
    other = replace(BY_LOAD, names={"order": {"LAF": "largest first"}})
    charts = [("other", other, LOADS), ("one", BY_LOAD, LOADS), ("none", BY_LOAD, LOADS.head(0))]
    assert list(draw_all([*charts, ("nothing", BY_LOAD, pd.DataFrame())])) == ["one"]


def test_names_may_contain_what_mathematics_means_elsewhere() -> None:
    table = LOADS.assign(order="$x", log="a$b$")
    figure = replace(BY_ORDER, x=Axis("log"), by="order", panels="order").draw(table)
    figure.draw_without_rendering()
    assert x_names(figure.axes[0]) == [r"a\$b\$"]
