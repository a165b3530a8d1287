"""Tables of a paper's figures and tables."""

from pathlib import Path

import pytest

from experiments.campaigns.paper import Element, read_elements, read_numbers
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


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        (b"number,shows,file,needs\nfig. 1,waits,a.svg\n", 2, "the number of cells must be 4, that of columns"),
        (b"number,shows,file\nfig. 1,waits,a.svg,b\n", 2, "the number of cells must be 3, that of columns"),
        (b"number,shows,file,file\nfig. 1,waits,a.svg,b.svg\n", 1, "columns must be different"),
        (b'number,shows,file\nfig. 1,waits,"a.svg\nfig. 2,waits,b.svg\n', 3, "close quotation marks"),
        (b"number,shows,file\nfig. 1,\xe9,a.svg\n", 0, "save it as UTF-8"),
        (b"number,shows\nfig. 1,waits\n", 2, "file must be a text"),
        (b"number,shows,file\n", 1, "the table has no rows"),
        (b"", 0, "the table has no rows"),
    ],
)
def test_a_damaged_table_is_refused_with_its_row(tmp_path: Path, table: bytes, line: int, message: str) -> None:
    path = tmp_path / "elements.csv"
    path.write_bytes(table)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_elements(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_numbers_are_named_by_their_row_and_column_and_stay_whole_if_they_are(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("log,load,FCFS,SAF\nKTH,0.7,3,2.50\nCTC,0.7,,1.5\n")
    found = read_numbers(path, 2)
    assert found == {("KTH", "0.7", "FCFS"): 3, ("KTH", "0.7", "SAF"): 2.5, ("CTC", "0.7", "SAF"): 1.5}
    assert isinstance(found["KTH", "0.7", "FCFS"], int)
