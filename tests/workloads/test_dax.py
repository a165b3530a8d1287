import gzip
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import simmodels as sm
from tests import work
from tests.refused import refused
from workloads import read_dax

DRAWN = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a drawn one -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test" jobCount="4">
  <file name="x"><pfn url="y" site="z"/></file>
  <job id="a" name="cut" runtime="61.5">
    <uses file="x" link="input" size="304"/>
    <profile namespace="pegasus" key="cores">2</profile>
  </job>
  <job id="b" name="work">
    <argument>-x <file name="x"/></argument>
    <profile namespace="pegasus" key="runtime">60</profile>
    <profile namespace="pegasus" key="cores">1.5</profile>
    <profile namespace="env" key="runtime">9</profile>
  </job>
  <job id="c" name="work" runtime="0.2"><profile namespace="pegasus" key="runtime">5</profile></job>
  <dax id="d" file="merge" runtime="0"/>
  <child ref="b"><parent ref="a"/></child>
  <child ref="c">
    <parent ref="a"/>
    <parent ref="a"/>
  </child>
  <child ref="d"><parent ref="b"/><parent ref="c"/></child>
</adag>
"""


def written(folder: Path, text: str | bytes) -> Path:
    return work.written(folder, text, "drawn.dax")


@pytest.mark.parametrize("space", ["default", "none", "prefix"])
def test_each_value_goes_where_it_belongs(tmp_path: Path, space: str) -> None:
    text = DRAWN.replace(' xmlns="http://pegasus.isi.edu/schema/DAX"', "") if space == "none" else DRAWN
    if space == "prefix":
        text = re.sub(r"<(/?)(\w)", r"<\1p:\2", DRAWN).replace("xmlns=", "xmlns:p=")
    job = read_dax(written(tmp_path, text))
    assert job.task_names == ("a", "b", "c", "d")
    assert job.runtime_s.tolist() == [62, 60, 1, 1]
    assert job.cores.tolist() == [2, 2, 1, 1]
    assert job.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    assert job.kind == (None,) * 4
    assert (job.job_id, job.submit_s, job.name) == (1, 0, "drawn")
    assert job.curve is sm.FOREVER


def test_options_are_those_of_the_other_reader(tmp_path: Path) -> None:
    path = tmp_path / "week.xml.gz"
    path.write_bytes(gzip.compress(DRAWN.encode()))
    curve = sm.ValueCurve.linear(2, 6)
    kinds = {"cut": "cpu", "work": "gpu", "merge": "cpu"}
    job = read_dax(str(path), tick_s=60, kind=kinds, cores=len, curve=curve, job_id=7, submit_s=120)
    assert job.runtime_s.tolist() == [120, 60, 60, 60]
    assert job.kind == ("cpu", "gpu", "gpu", "cpu")
    assert job.cores.tolist() == [3, 4, 4, 5]
    assert (job.curve, job.job_id, job.submit_s, job.name) == (curve, 7, 120, "week")
    with pytest.raises(sm.FileFormatError, match="line 16: task 'd' has a runtime of 0 s; give tick_s to round it up"):
        read_dax(path, tick_s=None)
    with pytest.raises(sm.RequestError, match="kind has no category 'work', of task 'b'; known: cut"):
        read_dax(path, kind={"cut": "cpu"})


NO_TYPE = "the file must have no document type (<!DOCTYPE>), which can define entities"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<!DOCTYPE adag [<!ENTITY l0 "ha">{LAUGHS}]><adag><job id="a" runtime="1" name="&l9;"/></adag>'


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (DRAWN, "no XML", "line 1: no XML that can be read: syntax error"),
        ("</adag>", "</job>", "line 23: no XML that can be read: mismatched tag"),
        (DRAWN, "<dag/>", "line 1: the root must be <adag> (got '<dag>')"),
        (DRAWN, "<adag/>", "the file has no job"),
        ("<!-- a drawn one -->", '<!DOCTYPE adag [<!ENTITY x "y">]>', f"line 2: {NO_TYPE}"),
        ("<!-- a drawn one -->", '<!DOCTYPE adag SYSTEM "http://localhost/x.dtd">', f"line 2: {NO_TYPE}"),
        (DRAWN, BOMB, f"line 1: {NO_TYPE}"),
        ('runtime="0.2"', 'runtime="&x;"', "line 15: no XML that can be read: undefined entity"),
        ('encoding="UTF-8"', 'encoding="x-none"', "no XML that can be read: "),
        ('id="a" ', 'id="" ', "line 5: <job> has no id"),
        ('id="b"', 'id="a"', "line 9: tasks 1 and 2 are both called 'a'; a name must be unique"),
        ('runtime="0.2"', 'runtime="soon"', "line 15: runtime of task 'c' must be a number (got 'soon')"),
        ('runtime="0.2"', 'runtime="-1"', "line 15: runtime of task 'c' must be a finite number >= 0 (got -1.0)"),
        ('runtime="0.2"', 'runtime="1e999"', "line 15: runtime of task 'c' must be a finite number >= 0 (got inf)"),
        (">2<", "> <", "line 7: cores of task 'a' must be a number (got ' ')"),
        (">2<", ">0<", "line 5: cores of task 'a' must be a finite number > 0 (got 0.0)"),
        ('<child ref="b">', "<child>", "line 17: <child> has no ref"),
        ('<child ref="b">', '<child ref="z">', "line 17: edge 'a' -> 'z': there is no job 'z'"),
        ('<parent ref="b"/>', '<parent ref="z"/>', "line 22: edge 'z' -> 'd': there is no job 'z'"),
        ('<parent ref="b"/>', "<parent/>", "line 22: <parent> has no ref"),
        ('<child ref="b"><parent ref="a"/>', '<child ref="a"><parent ref="d"/>', "its tasks wait for each other: "),
    ],
)
def test_what_is_no_such_workflow_is_refused_with_line_and_job(tmp_path: Path, old: str, new: str, what: str) -> None:
    assert old in DRAWN
    path = written(tmp_path, DRAWN.replace(old, new, 1))
    with refused(f"{path}...{what}...", sm.FileFormatError):
        read_dax(path)


def test_every_real_workflow_is_read(shared: Path) -> None:
    paths = sorted((shared / "workflows" / "dax").glob("*.xml"))
    assert len(paths) >= 7
    for path in paths:
        root = ET.parse(path).getroot()  # noqa: S314  files that we know
        space = root.tag.removesuffix("adag")
        runtimes = {job.attrib["id"]: float(job.attrib["runtime"]) for job in root.iter(f"{space}job")}
        edges = {
            (parent.attrib["ref"], child.attrib["ref"])
            for child in root.iter(f"{space}child")
            for parent in child.iter(f"{space}parent")
        }
        job = read_dax(path)
        assert job.task_names == tuple(runtimes), path.name
        assert job.runtime_s.tolist() == [max(1.0, np.ceil(runtime)) for runtime in runtimes.values()], path.name
        names = job.task_names
        assert {(names[a], names[b]) for a, b in job.edges.tolist()} == edges, path.name
        assert len(job.edges) == len(edges) == path.read_text().count("<parent "), path.name


def test_the_ten_tasks_of_the_heft_paper_are_those(shared: Path) -> None:
    job = read_dax(shared / "workflows" / "dax" / "HEFT_paper.xml")
    edges = {(job.label(a)[-2:], job.label(b)[-2:]) for a, b in job.edges.tolist()}
    table = {1: (2, 3, 4, 5, 6), 2: (8, 9), 3: (7,), 4: (8, 9), 5: (9,), 6: (8,), 7: (10,), 8: (10,), 9: (10,)}
    assert edges == {(f"{a:02}", f"{b:02}") for a, following in table.items() for b in following}


def test_a_profile_of_a_hundred_thousand_lines_is_a_number_all_the_same(tmp_path: Path) -> None:
    blank = "\n" * 100_000
    text = f'<adag><job id="A"><profile namespace="pegasus" key="runtime">{blank}7{blank}</profile></job></adag>'
    (tmp_path / "long.xml").write_text(text)
    assert read_dax(tmp_path / "long.xml").runtime_s.tolist() == [7.0]


def test_nesting_has_no_limit_but_memory(tmp_path: Path) -> None:
    deep = "<a>" * 20_000 + "</a>" * 20_000
    (tmp_path / "deep.xml").write_text(f'<adag>{deep}<job id="A" runtime="1"/></adag>')
    assert len(read_dax(tmp_path / "deep.xml")) == 1
