import sys
import textwrap
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
    FIRST, SECOND = 11, 12


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
            return cell["size"] + self.SHIFT + self.extra + scaled(1) + SECOND

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


CHANGES = {
    "FACTOR = 2": "FACTOR = 20",
    "FIRST, SECOND = 11, 12": "FIRST, SECOND = 11, 120",
    "SHIFT = 4": "SHIFT = 40",
    "self.extra = 5": "self.extra = 50",
    "return x * 7": "return x * 70",
    "return 8": "return 80",
    "return 1\n": "return 10\n",
    "self.score(cell) * FACTOR": "self.score(cell) + FACTOR",
    'return cell["size"] +': 'return cell["size"] -',
}
OTHERS = {
    "return [6]": "return [60]",
    "OTHER = 3": "OTHER = 30",
    "import math  # a comment": "import math",
    "'''Run it.'''": "'''Run it again.'''",
    "\n\n\nclass Mixin": "\n\n\n\n\nclass Mixin",
    'factors = {"size": [1, 2]}': 'factors = {"size": [1, 2, 3]}',
}


def test_a_change_of_what_a_cell_runs_changes_the_code_and_one_of_claims_comments_and_design_does_not(
    mine: str,
) -> None:
    path, before = Path(mine), code(mine)
    source = path.read_text("utf-8")
    for old, new in (CHANGES | OTHERS).items():
        assert source.count(old) == 1
        path.write_text(source.replace(old, new), "utf-8")
        assert (code(mine) != before) == (old in CHANGES), old


def test_so_does_a_change_of_a_module_beside_it_that_is_imported(mine: str) -> None:
    names = ("unused.py", "helper.py", "deeper.py", "helpers/tools.py", "helpers/inner.py", "stars.py")
    for name in names:
        before = code(mine)
        with (Path(mine).parent / name).open("a") as file:
            file.write("more = 1\n")
        assert (code(mine) != before) == (name != "unused.py"), name


def test_so_does_a_change_of_a_table_that_such_code_names(mine: str) -> None:
    path = Path(mine)
    helper = path.with_name("helper.py")
    helper.write_text(f"{helper.read_text()}table = 'shipped.csv'\n")
    source = path.read_text().replace("return 8", "return 'mine.csv'")
    path.write_text(f"{source}\n\n\ndef unused():\n    return 'own.csv'\n")
    for name in ("shipped.csv", "mine.csv", "own.csv", "other.csv"):
        before = code(mine)
        path.with_name(name).write_text("1\n")
        there = code(mine)
        path.with_name(name).write_text("2\n")
        assert (before != there != code(mine)) == (name in {"shipped.csv", "mine.csv"}), name


def test_raising_the_version_changes_the_code_and_a_toml_file_has_that_of_what_it_stands_on(write: Write) -> None:
    python = code_digest(find_study(write()))
    toml = find_study(write('study = "counting.py"\n[parameters]\nbase = 3', "x.toml"))
    assert code_digest(toml) == python
    newer = write(COUNTING.replace("parameters =", "version = 2\n        parameters ="))
    assert code_digest(find_study(newer)) != python


def test_what_lies_beside_us_is_not_taken_for_what_lies_beside_a_users_study(write: Write) -> None:
    # A user's study imports the standard library's statistics, and we have a module of that name.
    path = write("import statistics\n" + textwrap.dedent(COUNTING).replace("float(", "statistics.mean([1]) + float("))
    toml = find_study(write('study = "counting.py"', "x.toml"))
    assert code_digest(toml) == code_digest(find_study(path))


# -- cells ------------------------------------------------------------------------------------------

CELL = Cell({"size": 1, "kind": "a"}, 2, 3, {"base": 4})


def test_the_name_of_a_cell_depends_on_its_values_and_neither_on_order_nor_inputs_nor_what_is_varied() -> None:
    key = cell_key(CELL, "x")
    base = {"base": 4}
    for size in (2, "1", True, None):
        assert cell_key(Cell({"size": size, "kind": "a"}, 2, 3, base), "x") != key
    for replication, seed, parameters in (
        (1, 3, base),
        (2, 4, base),
        (2, 3, {"base": 5}),
        (2, 3, {**base, "more": None}),
    ):
        assert cell_key(Cell({"size": 1, "kind": "a"}, replication, seed, parameters), "x") != key
    assert cell_key(Cell({"kind": "a", "base": 4}, 2, 3, {"size": 1}, {"log": object()}), "x") == key
    assert cell_key(CELL, "y") != key


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


def test_inputs_have_their_bytes_and_those_that_cannot_be_shipped_are_refused(write: Write) -> None:
    study = find_study(write())
    assert pickled_inputs(study, {"x": 1}) == pickled_inputs(study, {"x": 1})
    assert pickled_inputs(study, {"x": 1}) != pickled_inputs(study, {"x": 2})
    with pytest.raises(RequestError, match="the inputs of study counting cannot be pickled: "):
        pickled_inputs(study, {"x": lambda: 1})
    with pytest.raises(RequestError, match=r"inputs of study counting must be a mapping from names \(got 3\)"):
        pickled_inputs(study, 3)
