import pytest

from experiments.studies.regression.figures import PRIORITIES, priorities
from simmodels import Polynomial


@pytest.mark.parametrize("sets", [1, 2, 4])
def test_the_colour_bar_of_a_map_of_priorities_is_not_clipped(sets: int) -> None:
    order = Polynomial([1.0, 2.0, 3.0], ["p", "q", "r"])
    orders = {f"set-{number}": {"LIN": order, "QDR": order} for number in range(sets)}
    figure = PRIORITIES.draw(priorities(orders))
    figure.draw_without_rendering()
    bar = figure.axes[-1]
    assert bar.get_ylabel() == "place: 0 first, 1 last"
    label, ground = bar.yaxis.label.get_window_extent(), bar.get_window_extent()
    assert ground.y0 <= label.y0 <= label.y1 <= ground.y1
    shown = bar.get_tightbbox()
    assert shown is not None
    assert figure.bbox.x0 <= shown.x0 <= shown.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= shown.y0 <= shown.y1 <= figure.bbox.y1
