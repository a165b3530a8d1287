import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Cell
from experiments.campaigns.planning.finding import find_study
from experiments.campaigns.planning.fingerprint import cell_key, code_digest, pickled_inputs
from experiments.campaigns.planning.plan import Plan
from experiments.campaigns.records import digest
from simmodels.errors import RequestError
from tests.experiments.campaigns.conftest import COUNTING, Write
from tests.processes import printed_elsewhere

MINE = """
    import math  # a comment
    from experiments.campaigns import Study
    import helper
    from helpers import tools
    from stars import *

    FACTOR = 2
    OTHER = 3


    class Mixin:
        def weight(self):
            return 1


    class Base(Study):
        SHIFT = 4

        def run_cell(self, cell):
            '''Run it.'''
            return {"found": self.score(cell) * FACTOR + helper.value + tools.value + starred + self.weight()}

        def score(self, cell):
            return 0

        def unused(self):
            return OTHER


    class Mine(Mixin, Base):
        factors = {"size": [1, 2]}

        def __init__(self, **chosen):
            self.extra = 5
            super().__init__(**chosen)

        def score(self, cell):
            return cell["size"] + self.SHIFT + self.extra + scaled(1)

        def inputs(self, scale):
            return {"x": shipped()}

        def claims(self, results):
            return [6]


    def scaled(x):
        return x * 7


    def shipped():
        return 8
"""


@pytest.fixture
def mine(write: Write) -> str:
    write("import deeper\nvalue = deeper.value\n", "helper.py")
    write("value = 1\n", "deeper.py")
    write("", "helpers/__init__.py")
    write("from . import inner\nvalue = 1\n", "helpers/tools.py")
    write("value = 1\n", "helpers/inner.py")
    write("starred = 1\n", "stars.py")
    write("value = 1\n", "unused.py")
    return write(MINE, "mine.py")


def code(path: str) -> str:
    for name in ("helper", "deeper", "helpers", "helpers.tools", "helpers.inner", "stars"):
        sys.modules.pop(name, None)
    return code_digest(find_study(f"{path}:Mine"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "FACTOR = 20"),
        ("SHIFT = 4", "SHIFT = 40"),
        ("self.extra = 5", "self.extra = 50"),
        ("return x * 7", "return x * 70"),
        ("return 8", "return 80"),
        ("return 1\n", "return 10\n"),
        ("self.score(cell) * FACTOR", "self.score(cell) + FACTOR"),
        ('return cell["size"] +', 'return cell["size"] -'),
    ],
)
def test_a_change_of_what_a_cell_runs_changes_the_code(old: str, new: str, mine: str) -> None:
    before, source = code(mine), Path(mine).read_text("utf-8")
    assert source.count(old) == 1
    Path(mine).write_text(source.replace(old, new), "utf-8")
    assert code(mine) != before


@pytest.mark.parametrize("name", ["helper.py", "deeper.py", "helpers/tools.py", "helpers/inner.py", "stars.py"])
def test_so_does_a_change_of_a_module_beside_it_that_is_imported(name: str, mine: str) -> None:
    before = code(mine)
    with (Path(mine).parent / name).open("a") as file:
        file.write("more = 1\n")
    assert code(mine) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return [6]", "return [60]"),
        ("OTHER = 3", "OTHER = 30"),
        ("import math  # a comment", "import math"),
        ("'''Run it.'''", "'''Run it again.'''"),
        ("\n\n\n    class Mixin", "\n\n\n\n\n    class Mixin".replace("    ", "")),
        ('factors = {"size": [1, 2]}', 'factors = {"size": [1, 2, 3]}'),
    ],
)
def test_a_change_of_claims_comments_and_design_leaves_the_code_as_it_is(old: str, new: str, mine: str) -> None:
    before, source = code(mine), Path(mine).read_text("utf-8")
    old = old.replace("    class", "class")
    assert source.count(old) == 1
    Path(mine).write_text(source.replace(old, new), "utf-8")
    with (Path(mine).parent / "unused.py").open("a") as file:
        file.write("more = 1\n")
    assert code(mine) == before


def test_raising_the_version_changes_the_code(write: Write) -> None:
    before = code_digest(find_study(write()))
    assert (
        code_digest(find_study(write(COUNTING.replace("parameters =", "version = 2\n        parameters =")))) != before
    )


def test_a_toml_file_has_the_code_of_the_study_that_it_stands_on(write: Write) -> None:
    python = find_study(write())
    assert code_digest(find_study(write('study = "counting.py"\n[parameters]\nbase = 3', "x.toml"))) == code_digest(
        python
    )


def test_what_lies_beside_us_is_not_taken_for_what_lies_beside_a_users_study(write: Write) -> None:
    # A user's study imports the standard library's statistics, and we have a module of that name.
    path = write(
        "import statistics\n" + COUNTING.replace("\n    ", "\n").replace("float(", "statistics.mean([1]) + float(")
    )
    toml = find_study(write('study = "counting.py"', "x.toml"))
    assert code_digest(toml) == code_digest(find_study(path))


# -- cells ------------------------------------------------------------------------------------------

CELL = Cell({"size": 1, "kind": "a"}, 2, 3, {"base": 4})


@pytest.mark.parametrize(
    "other",
    [
        Cell({"size": 2, "kind": "a"}, 2, 3, {"base": 4}),
        Cell({"size": "1", "kind": "a"}, 2, 3, {"base": 4}),
        Cell({"size": True, "kind": "a"}, 2, 3, {"base": 4}),
        Cell({"size": None, "kind": "a"}, 2, 3, {"base": 4}),
        Cell({"size": 1, "kind": "a"}, 1, 3, {"base": 4}),
        Cell({"size": 1, "kind": "a"}, 2, 4, {"base": 4}),
        Cell({"size": 1, "kind": "a"}, 2, 3, {"base": 5}),
        Cell({"size": 1, "kind": "a"}, 2, 3, {"base": 4, "more": None}),
    ],
)
def test_cells_that_differ_have_different_names(other: Cell) -> None:
    assert cell_key(other, "x") != cell_key(CELL, "x")


def test_the_name_of_a_cell_depends_on_neither_order_nor_inputs_nor_what_is_varied() -> None:
    same = Cell({"kind": "a", "base": 4}, 2, 3, {"size": 1}, {"log": object()})
    assert cell_key(same, "x") == cell_key(CELL, "x")
    assert cell_key(CELL, "y") != cell_key(CELL, "x")


@given(st.lists(st.binary(max_size=3), max_size=3), st.lists(st.binary(max_size=3), max_size=3))
def test_a_digest_distinguishes_sequences_however_they_are_cut(one: list[bytes], other: list[bytes]) -> None:
    assert (digest(one) == digest(other)) == (one == other)
    assert len(digest(one)) == 32


def test_names_and_digests_are_the_same_in_another_process_with_another_hash_seed(write: Write) -> None:
    program = (
        "import sys; from experiments.campaigns.planning.plan import Plan; plan = Plan.of(sys.argv[1], 'smoke', 7);"
        "print(plan.shipment.code, *plan.keys)"
    )
    plan = Plan.of(write(), "smoke", 7)
    assert printed_elsewhere(program, write()).split() == [plan.shipment.code, *plan.keys]


# -- inputs -----------------------------------------------------------------------------------------


def test_inputs_that_cannot_be_shipped_are_refused(write: Write) -> None:
    study = find_study(write())
    with pytest.raises(RequestError, match="the inputs of study counting cannot be pickled: "):
        pickled_inputs(study, {"x": lambda: 1})
    with pytest.raises(RequestError, match=r"inputs of study counting must be a mapping from names \(got 3\)"):
        pickled_inputs(study, 3)


def test_other_inputs_have_another_digest(write: Write) -> None:
    study = find_study(write())
    assert pickled_inputs(study, {"x": 1}) == pickled_inputs(study, {"x": 1})
    assert pickled_inputs(study, {"x": 1}) != pickled_inputs(study, {"x": 2})
