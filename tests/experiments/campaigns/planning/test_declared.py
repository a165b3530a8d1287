import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiments.campaigns import Results, Study
from experiments.campaigns.planning.declared import declared
from experiments.campaigns.planning.finding import find_class, find_study
from simmodels.errors import FileFormatError, SimModelsError
from tests.experiments.campaigns.conftest import Write
from tests.refused import refused

FILE = """
    study = "counting.py"
    title = "What is declared"
    measures = ["found"]

    [parameters]
    base = 5
    kind = "b"

    [factors]
    size = [3, 4, 5]

    [scales.smoke]
    replications = 1
    factors = { size = [3] }

    [scales.large]
    replications = 9

    [[claims]]
    text = "five is more than three"
    measure = "found"
    of = { size = 5 }
    against = { size = 3 }
    relative = true
    unit = "%"
    more_than = 0.5
    note = "by hand"

    [[claims]]
    text = "much is found"
    measure = "found"
    statistic = "median"
    at_least = 17
    source = "section 2"
    number = "V1"
    ours = true
    to_decide = "more"
"""


BOTH = FILE.replace('kind = "b"', "").replace("size = [3, 4, 5]", 'size = [3, 4, 5]\n    kind = ["a", "b"]')


@pytest.fixture
def study(write: Write) -> Study:
    write()
    return find_study(write(FILE, "mine.toml"))


@pytest.fixture
def both(study: Study, write: Write) -> Study:
    """Return the study of both kinds."""
    return find_study(write(BOTH, "both.toml"))


def results(study: Study, scale: str = "small") -> Results:
    rows = [
        {**cell.factors, "replication": cell.replication, **study.run_cell(cell)}  # type: ignore[dict-item]
        for cell in study.cells(scale, 0)
    ]
    return Results(table=pd.DataFrame(rows), factors=study.design(scale).factors)


def test_a_file_says_what_is_different_from_the_study_that_it_stands_on(study: Study, write: Write) -> None:
    assert (study.name, study.title, study.measures) == ("mine", "What is declared", ("found",))
    design = study.design("small")
    assert (design.parameters, design.factors) == ({"base": 5, "kind": "b"}, {"size": (3, 4, 5)})
    assert study.design("smoke").factors == {"size": (3,)}
    assert [study.design(scale).replications for scale in ("small", "smoke", "large")] == [10, 1, 9]
    other = find_study(write('study = "mine.toml"\n[parameters]\nbase = 7', "other.toml"))
    assert other.design("smoke").parameters == {"base": 7, "kind": "b"}
    assert find_study(write('study = "replay"\nname = "x"\nfactors = { load = [0.5, 0.7] }', "y.toml")).name == "x"


def test_its_claims_are_checked_on_the_results(both: Study) -> None:
    own, relative, median = both.claims(results(both))
    assert (own.text, own.verdict, own.found()) == ("b is more", "holds", "1 [1, 1]")
    assert relative.measure == "found of size 5 minus that of size 3, as a fraction of the latter"
    assert relative.effect is not None
    assert relative.effect.estimate == pytest.approx((10 / 15 + 10 / 16) / 2)
    assert (relative.verdict, relative.note, relative.unit) == ("holds", "by hand", "%")
    assert (median.effect.estimate, median.verdict) == (20.5, "holds")  # type: ignore[union-attr]
    assert [(claim.place, claim.to_decide) for claim in (relative, median)] == [
        ("", ""),
        ("ours, on section 2 (V1)", "more"),
    ]


def test_a_claim_that_cannot_be_measured_says_why_and_leaves_the_report_whole(both: Study) -> None:
    _, relative, median = both.claims(results(both, "smoke"))  # which has no such cells
    assert (relative.effect, relative.verdict) == (None, "undecided")
    assert median.effect is not None
    found = results(both)
    _, relative, _ = both.claims(Results(table=found.table.assign(found=0.0), factors=found.factors))
    assert (relative.effect, relative.verdict) == (None, "undecided")
    why = "'found' relative to size 3 is undefined, as that is 0 in a replication"
    assert relative.note == f"by hand; not measured: {why}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study = ", "no TOML: invalid value"),
        ("", "the file has no study; add one"),
        ("study = 3", "study of the file must be a text (got 3)"),
        ('study = "replya"', "unknown study 'replya'; did you mean replay? known: "),
        ('study = "replay"\nstuyd = 1', "unknown key of the file 'stuyd'; did you mean study? known: study, name"),
        ('study = "replay"\nfactors = 1', "factors of the file must be a table (got 1)"),
        ('study = "replay"\n[factors]\nordre = ["SAF"]', "unknown name under factors for study replay 'ordre'; did"),
        ('study = "replay"\n[factors]\norder = []', "factor 'order' has no values; give at least one"),
        ('study = "replay"\n[parameters]\njobs = [1]', "jobs must be None, a bool, a number or a text (got [1])"),
        ('study = "replay"\nscales = { smoke = 3 }', "scale 'smoke' must be a table (got 3)"),
        ('study = "replay"\n[scales.x]\nreplications = true', "replications of scale 'x' must be an integer"),
        ('study = "replay"\n[parameters]\njobs = 1\n[factors]\njobs = [1]', "'jobs' is both a parameter and a factor"),
        ('study = "replay"\nclaims = [1]', "claim 1 must be a table (got 1)"),
        ('study = "replay"\n[[claims]]\ntext = "x"', "claim 1 has no measure; add one"),
        ('study = "replay"\n[[claims]]\ntext = "x"\nmeasure = "y"', "claim 'x' has no bound; add more_than, less_than"),
        ('study = "replay"\n[[claims]]\ntext = "x"\nmeasure = "y"\nmore_than = "1"', "more_than of claim 1 must be a"),
        (
            'study = "replay"\n[[claims]]\ntext = "x"\nmeasure = "y"\nat_most = 1\nstatistic = "mode"',
            "unknown statistic of claim 1 'mode'; known: mean, median",
        ),
        (
            'study = "replay"\n[[claims]]\ntext = "x"\nmeasure = "y"\nat_most = 1\nof = { ordre = "SAF" }',
            "unknown factor under of of claim 1 'ordre'; did you mean order? known: order",
        ),
        ('study = "mine.toml"', "{path} is based on itself; base it on a study that does the work"),
        ("study = 0x" + "f" * 5000, "study of the file must be a text (got int with a number of thousands of digits)"),
        ("x = " + "[" * 5000, "no TOML that can be read: lists or tables are nested too deep"),
        ("x = " + "9" * 5000, "no TOML that can be read: a whole number must have at most 4300 digits"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_keep_to_the_format_is_refused_with_its_name(
    text: str, message: str, write: Write
) -> None:
    path = write(text, "mine.toml")
    with refused(f"{path}: {message.replace('{path}', path)}...", FileFormatError) as caught:
        find_study(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with refused(f"no study can be read from {tmp_path}/none.toml: no such file or directory"):
        find_study(str(tmp_path / "none.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with refused(f"{tmp_path}/bytes.toml: no TOML that can be read: it is no UTF-8...", FileFormatError):
        find_study(str(tmp_path / "bytes.toml"))
    os.mkfifo(tmp_path / "study.toml")
    with refused("...it is a pipe; only a regular file is read"):
        find_study(str(tmp_path / "study.toml"))


SCALARS = (
    st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3) | st.sampled_from(["SAF", "order", "F2"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["order", "jobs", "replications", "factors", "text", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = ["name", "title", "parameters", "factors", "scales", "measures", "claims", "x"]
CLAIM = st.dictionaries(
    st.sampled_from(["text", "measure", "of", "against", "relative", "statistic", "more_than", "at_most", "unit"]),
    ANYTHING,
)
CONTENT = st.fixed_dictionaries(
    {"study": st.sampled_from(["replay", "x"]) | ANYTHING},
    optional={
        **dict.fromkeys(KEYS, ANYTHING),
        "claims": st.lists(CLAIM.map(lambda said: {"text": "t", "measure": "m", **said}), max_size=2) | ANYTHING,
    },
)


def toml(value: Any) -> str:  # noqa: ANN401  what TOML has
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return f"{{ {', '.join(f'{toml(key)} = {toml(inner)}' for key, inner in value.items())} }}"


@given(CONTENT)
@example({"study": "replay", "measures": [["x"]]})
@example({"study": "replay", "factors": {"order": [{"x": 1}]}})
@example({"study": "replay", "scales": {"x": {"factors": {"order": {"x": 1}}}}})
def test_whatever_a_file_says_it_is_a_study_or_one_clear_error(scratch: Path, content: dict[str, Any]) -> None:
    path = scratch / "fuzzed.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in content.items()), "utf-8")
    try:
        made = declared(path, find_class)()
    except SimModelsError as error:
        assert re.match(rf"{re.escape(str(path))}: |no study can be read", str(error))  # noqa: PT017  any error of ours
    else:
        assert made.design("smoke").replications >= 1


@given(st.binary() | st.text().map(str.encode))
def test_whatever_bytes_a_file_has_there_is_one_clear_error(scratch: Path, content: bytes) -> None:
    path = scratch / "bytes.toml"
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        declared(path, find_class)
