"""Tables of sentences: what their cells stand for, and what is refused, with file and row."""

from pathlib import Path

import pytest

from experiments.campaigns.sentences import Compared, Sentence, read_sentences
from simmodels.errors import FileFormatError

NAMES = {"FEW": 0.25, "TEN": ("a", "b", "c"), "SWEEP": {"load": (0.5, 1.0)}, "MORE": "--set draws=N"}
HEAD = "group,text,source,values,bounds,"


def read(tmp_path: Path, table: str) -> tuple[Sentence, ...]:
    """Return the sentences of the group ``one`` of a table."""
    path = tmp_path / "claims.csv"
    path.write_text(table, "utf-8")
    return read_sentences(path, Sentence, ("one", "two"), NAMES)["one"]


def test_a_row_is_a_sentence_and_an_empty_cell_the_default(tmp_path: Path) -> None:
    (said,) = read(tmp_path, f'{HEAD}ours,on,of\none,"It waits, ""long""",section 1 (V2),wait_s,> 0,,,a\n')
    assert said == Sentence('It waits, "long"', "section 1 (V2)", Compared("wait_s", "a", more_than=0.0))


@pytest.mark.parametrize(
    ("column", "cell", "value"),
    [
        ("of", "a; @TEN; x", ("a", "a", "b", "c", "x")),
        ("of", "@TEN but b; c", ("a",)),
        ("against", "all but one", "all but one"),
        ("along", "load=0.5; own", {"load": (0.5, "own")}),
        ("along", "@SWEEP", NAMES["SWEEP"]),
        ("at", "machines=20; mode=actual, train=own", ({"machines": 20}, {"mode": "actual", "train": "own"})),
        ("mean", "of; along", ("of", "along")),
        ("mean", "along", ("along",)),
        ("chain", "yes", True),
        ("times", "0.5", 0.5),
        ("change", "drop", "drop"),
        ("on", "a", ("a",)),
        ("together", "yes", True),
        ("given", "variant=text", {"variant": "text"}),
        ("printed", "up to 10 %; 0; @FEW", ("up to 10 %", 0.0, 0.25)),
        ("decide", "@MORE", NAMES["MORE"]),
        ("note", "a note; of two parts", "a note; of two parts"),
    ],
)
def test_cells_are_values_of_a_sentence_or_of_what_it_compares(
    tmp_path: Path, column: str, cell: str, value: object
) -> None:
    (said,) = read(tmp_path, f'{HEAD}{column}\none,text,section 1,wait_s,> 0,"{cell}"\n')
    assert getattr(said.compared if hasattr(said.compared, column) else said, column) == value


def test_bounds(tmp_path: Path) -> None:
    for cell, bounds in (
        (">= 0.1; < @FEW", {"at_least": 0.1, "less_than": 0.25}),
        ("> -@FEW; <= 2", {"more_than": -0.25, "at_most": 2.0}),
        ("within @FEW", {"at_least": -0.25, "at_most": 0.25}),
    ):
        (said,) = read(tmp_path, f"{HEAD.rstrip(',')}\none,text,section 1,wait_s,{cell}\n")
        assert said.compared.bounds == bounds


@pytest.mark.parametrize(
    ("column", "row", "message"),
    [
        ("of", "three,text,section 1,wait_s,> 0,a", "unknown group 'three'"),
        ("of", "one,,section 1,wait_s,> 0,a", "text must be"),
        ("of", "one,text,section 1,wait_s,,a", "bounds must be"),
        ("of", "one,text,section 1,wait_s,=> 0,a", "unknown sign of a bound '=>'"),
        ("of", "one,text,section 1,wait_s,> little,a", "a number must be a number, or @NAME of one"),
        ("of", "one,text,section 1,wait_s,> @LITTLE,a", "unknown name 'LITTLE'"),
        ("of", "one,text,section 1,wait_s,> @TEN,a", "a number must be a number, or @NAME of one"),
        ("of", "one,text,section 1,wait_s,> 0,@TWO but a", "unknown name 'TWO'"),
        ("of", "one,text,section 1,wait_s,> 0,@TEN but d", "unknown name among @TEN 'd'"),
        ("of", "one,text,section 1,wait_s,> 0,a; ; b", "a list must be parts between semicolons, none of them empty"),
        ("of", "one,text,section 1,wait_s,> 0,a; ", "a list must be parts between semicolons, none of them empty"),
        ("of", "one,text,section 1,wait_s,>= 0.1; >= 0.3,a", "bounds must be at most one of a kind"),
        ("of", "one,text,section 1,wait_s,within 1; >= 0.3,a", "bounds must be at most one of a kind"),
        ("ours", "one,text,section 1,wait_s,> 0,no", "unknown ours 'no'"),
        ("judge", "one,text,section 1,wait_s,> 0,most", "unknown judge 'most'"),
        ("at", "one,text,section 1,wait_s,> 0,20", "a level must be of the form factor=level"),
    ],
)
def test_a_mistake_is_reported_with_its_row(tmp_path: Path, column: str, row: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message) as caught:
        read(tmp_path, f"{HEAD}{column}\none,text,section 1,wait_s,> 0,\n{row}\n")
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "claims.csv"), 3)


def test_an_unknown_column_is_refused(tmp_path: Path) -> None:
    for column in ("off", "at_most", "compared"):
        with pytest.raises(FileFormatError, match=f"line 2: unknown column '{column}'"):
            read(tmp_path, f"{HEAD}{column}\none,text,section 1,wait_s,> 0,\n")
