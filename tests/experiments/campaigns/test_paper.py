"""Tables of a paper's figures and tables."""

from pathlib import Path

import pytest

from experiments.campaigns.paper import Element, read_elements
from simmodels.errors import FileFormatError


def test_a_row_is_an_element_and_needs_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "elements.csv"
    path.write_text("number,shows,file,needs\nfig. 1,waits,figures/1.svg,@ALL\ntable 2,logs,tables/2.csv,\n", "utf-8")
    assert read_elements(path, {"ALL": "--workload a,b"}) == (
        Element(number="fig. 1", shows="waits", file="figures/1.svg", needs="--workload a,b"),
        Element(number="table 2", shows="logs", file="tables/2.csv"),
    )
    with pytest.raises(FileFormatError, match="line 2: unknown name 'ALL'"):
        read_elements(path, {"THREE": ""})
    path.write_text("number,shows,file,whys\nfig. 1,waits,figures/1.svg,\n", "utf-8")
    with pytest.raises(FileFormatError, match="line 2: unknown column 'whys'"):
        read_elements(path)
