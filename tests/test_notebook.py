"""The notebook of the tutorials runs, each object in it is shown, and it is kept without outputs."""

import re
from pathlib import Path
from typing import Any, Final

import nbformat
import pytest
from nbclient import NotebookClient

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
NOTEBOOKS: Final = sorted(DOCS.rglob("*.ipynb"))


def code_cells(notebook: Any) -> list[Any]:  # noqa: ANN401  nbformat has no types
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    for cell in code_cells(nbformat.read(path, 4)):
        assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_the_last_line_of_a_cell_names(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, 4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell in code_cells(notebook):
        said = [each.text for each in cell.outputs if each.output_type == "stream"]
        assert all(text.startswith("compiling code for ") for text in said), said
        (shown,) = (each.data for each in cell.outputs if each.output_type == "execute_result")
        wanted = "image/png" if ".plot." in cell.source or "distributions" in cell.source else "text/html"
        assert wanted in shown, cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    text = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)#:\s]+)", text)
    assert links
    assert all((path.parent / link).is_file() for link in links), links


def test_the_map_of_the_documentation_leads_to_each_notebook() -> None:
    pages = (DOCS / "README.md").read_text()
    assert NOTEBOOKS
    assert all(f"]({path.relative_to(DOCS).as_posix()})" in pages for path in NOTEBOOKS)
