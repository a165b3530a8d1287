import copy
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError
from simmodels.work.curve import FOREVER, ValueCurve
from simmodels.work.workflow import Workflow
from tests import work
from tests.refused import refused
from workloads import read_wfformat, write_wfformat
from workloads.files import read_whole

APART: dict[str, Any] = {
    "name": "drawn",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "split_ID01", "id": "a", "parents": [], "children": ["b"]},
                {"name": "work", "id": "b", "parents": ["a"], "children": []},
                {"name": "work", "id": "c", "parents": ["a"], "children": ["d"]},
                {"name": "merge_4", "id": "d", "parents": ["b"], "children": [], "inputFiles": ["x"]},
            ],
            "files": [{"id": "x", "sizeInBytes": 7}],
        },
        "execution": {
            "makespanInSeconds": 100,
            "executedAt": "2020-04-01T15:10:53-08:00",
            "tasks": [
                {"id": "d", "runtimeInSeconds": 0, "machines": ["m"]},
                {"id": "a", "runtimeInSeconds": 61.5, "coreCount": 2, "command": {"program": "cut"}},
                {"id": "b", "runtimeInSeconds": 60, "coreCount": 1.5, "command": {"program": "echo 'a b'"}},
                {"id": "c", "runtimeInSeconds": 0.2},
            ],
            "machines": [{"nodeName": "m", "cpu": {"coreCount": 8}}],
        },
    },
}

TOGETHER: dict[str, Any] = {
    "name": "drawn",
    "schemaVersion": "1.3",
    "wms": {"name": "Pegasus", "version": "4"},
    "workflow": {
        "makespan": 100,
        "executedAt": "20200401T151053",
        "tasks": [
            {"name": "split_ID01", "id": "ID01", "type": "compute", "category": "cut", "runtime": 61.5, "cores": 2},
            {"name": "b", "type": "compute", "parents": ["ID01"], "runtime": 60, "cores": 1.5, "files": []},
            {"name": "c", "type": "compute", "parents": ["split_ID01"], "children": ["d"], "runtime": 0.2},
            {"name": "d", "type": "compute", "parents": ["b"], "runtime": 0},
        ],
    },
}


def written(folder: Path, content: object) -> Path:
    return work.written(folder, content if isinstance(content, str) else json.dumps(content), "drawn.json")


def apart(where: str, value: object) -> object:
    """Return the newer file with another value at a place such as ``specification/tasks/0/name``."""
    way = [int(step) if step.isdigit() else step for step in where.split("/")]
    return work.changed(APART, ["workflow", *way], value)


def together(key: str, value: object) -> object:
    """Return the older file with another value of its second task."""
    return work.changed(TOGETHER, ["workflow", "tasks", 1, key], value)


def same(one: Workflow, other: Workflow) -> bool:
    columns = all(
        np.array_equal(getattr(one, name), getattr(other, name))
        and getattr(one, name).dtype == getattr(other, name).dtype
        for name in ("runtime_s", "cores", "edges")
    )
    about = ("job_id", "submit_s", "kind", "curve", "max_value", "task_names", "name")
    return columns and all(getattr(one, name) == getattr(other, name) for name in about)


# -- read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.3", "1.4", "1.5", "1.6"])
def test_each_value_goes_where_it_belongs_and_older_files_say_the_same_in_one_place(
    tmp_path: Path, version: str
) -> None:
    content = {**copy.deepcopy(TOGETHER if version < "1.5" else APART), "schemaVersion": version}
    for task in content["workflow"]["tasks"] if version == "1.4" else ():
        task["runtimeInSeconds"] = task.pop("runtime")
    job = read_wfformat(written(tmp_path, content))
    assert job.task_names == ("split_ID01" if version < "1.5" else "a", "b", "c", "d")
    assert job.runtime_s.tolist() == [62, 60, 1, 1]
    assert job.cores.tolist() == [2, 2, 1, 1]
    assert job.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    assert job.kind == (None,) * 4
    assert (job.job_id, job.submit_s, job.name) == (1, 0, "drawn")
    assert job.curve is FOREVER


def test_older_tasks_that_share_a_name_are_distinguished_by_their_ids(tmp_path: Path) -> None:
    content = copy.deepcopy(TOGETHER)
    for number, task in enumerate(content["workflow"]["tasks"]):
        task.update(name="work", id=f"t{number}", parents=["t0"] if number else [], children=[])
    job = read_wfformat(written(tmp_path, content))
    assert job.task_names == ("t0", "t1", "t2", "t3")
    assert job.edges.tolist() == [[0, 1], [0, 2], [0, 3]]


def test_a_simulation_in_minutes_rounds_up(tmp_path: Path) -> None:
    path = written(tmp_path, APART)
    assert read_wfformat(path, tick_s=60).runtime_s.tolist() == [120, 60, 60, 60]
    assert read_wfformat(path, tick_s=0.1).runtime_s.tolist() == [61.5, 60, 0.2, 0.1]
    with pytest.raises(FileFormatError, match="task 'd' has a runtime of 0 s; give tick_s to round it up"):
        read_wfformat(path, tick_s=None)
    exactly = apart("execution/tasks/0/runtimeInSeconds", 0.125)
    assert read_wfformat(written(tmp_path, exactly), tick_s=None).runtime_s.tolist() == [61.5, 60, 0.2, 0.125]


@pytest.mark.parametrize("content", [APART, TOGETHER])
def test_kinds_and_cores_are_by_category(tmp_path: Path, content: dict[str, Any]) -> None:
    path = written(tmp_path, content)
    seen: list[str] = []
    read_wfformat(path, kind=lambda category: seen.append(category) or "any")  # type: ignore[func-returns-value]
    others = ["work", "work", "merge"] if content is APART else ["b", "c", "d"]
    assert seen == ["cut", *others]
    kinds = dict.fromkeys(others, "gpu") | {"cut": "cpu"}
    job = read_wfformat(path, kind=kinds, cores={"cut": 9} | dict.fromkeys(others, 3))
    assert job.kind == ("cpu", "gpu", "gpu", "gpu")
    assert job.cores.tolist() == [9, 3, 3, 3]
    assert read_wfformat(path, kind="cpu", cores=4).kind == ("cpu",) * 4
    with refused(f"kind has no category '{others[0]}', of task 'b'; known: cut"):
        read_wfformat(path, kind={"cut": "cpu"})
    with refused("cores of task ... (category 'cut') must be an integer >= 1 (got 0)"):
        read_wfformat(path, cores=lambda _: 0)
    with refused("kind of task ... must be a text (got 3)"):
        read_wfformat(path, kind=3)  # type: ignore[arg-type]


def test_what_is_asked_for_has_the_last_word(tmp_path: Path) -> None:
    path = tmp_path / "week.json.gz"
    path.write_bytes(gzip.compress(json.dumps(APART).encode()))
    curve = ValueCurve.linear(2, 6)
    job = read_wfformat(str(path), curve=curve, job_id=7, submit_s=60, name="other")
    assert (job.curve, job.job_id, job.submit_s, job.name) == (curve, 7, 60, "other")
    assert read_wfformat(path).name == "week"
    with refused("tick_s must be a finite number of seconds > 0, or None (got 0)"):
        read_wfformat(path, tick_s=0)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([], "the file must be a JSON object with an object workflow (got [])"),
        ('{"workflow": {\n},,', "line 2: no JSON: ..."),
        ({**APART, "schemaVersion": "1.2"}, "schemaVersion must be one of 1.3, 1.4, 1.5, 1.6 (got '1.2')"),
        ({**APART, "workflow": {}}, "workflow.tasks must be a list of at least one task (got None)"),
        (apart("specification/tasks", []), "workflow.specification.tasks must be a list of at least one task (got [])"),
        (apart("specification/tasks/2", 5), "workflow.specification.tasks[2] must be an object (got 5)"),
        (apart("specification/tasks/1/id", None), "id of tasks[1] must be a text (got None)"),
        (apart("specification/tasks/1/id", "a"), "tasks 1 and 2 are both called 'a'; a name must be unique"),
        (apart("specification/tasks/1/parents", ["z"]), "task 'b': 'z' of its parents is no task of the file"),
        (apart("specification/tasks/1/children", [["z"]]), "task 'b': ['z'] of its children is no task of the file"),
        (apart("specification/tasks/1/children", "d"), "children of task 'b' must be a list (got 'd')"),
        (apart("specification/tasks/0/parents", ["d"]), "its tasks wait for each other: a -> ..."),
        (apart("execution", None), "task 'a' has no runtime"),
        (apart("execution/tasks/2", None), "task 'b' has no runtime"),
        (apart("execution/tasks/2/id", "z"), "execution.tasks[2]: there is no task 'z'"),
        (apart("execution/tasks/2/id", "a"), "task 'a' must be executed once (got twice)"),
        *(
            (
                apart("execution/tasks/2/runtimeInSeconds", seconds),
                f"runtime of task 'b' must be a finite number >= 0 (got {seconds!r})",
            )
            for seconds in ("9", -1, float("nan"), True)
        ),
        (apart("execution/tasks/2/coreCount", 0), "cores of task 'b' must be a finite number > 0 (got 0)"),
        (together("name", "c"), "tasks 2 and 3 are both called 'c'; a name must be unique"),
        (together("runtime", None), "task 'b' has no runtime"),
        (together("id", 5), "id of tasks[1] must be a text (got 5)"),
    ],
)
def test_what_is_no_such_workflow_is_refused_with_the_task(tmp_path: Path, content: object, what: str) -> None:
    path = written(tmp_path, content)
    with refused(f"{path}...{what}", FileFormatError):
        read_wfformat(path)


# -- written ------------------------------------------------------------------------------------------

CURVES = st.sampled_from([FOREVER, ValueCurve.linear(2, 6), ValueCurve([(1.5, 1), (2.25, 0.1), (2.25, 0), (9, 0)])])


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    tasks = draw(st.integers(1, 8))
    pairs = [(a, b) for a in range(tasks) for b in range(tasks) if a < b]
    order = draw(st.permutations(range(tasks)))  # tasks need not be listed before those that need them
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    names = draw(st.just([]) | st.lists(st.text(max_size=6), min_size=tasks, max_size=tasks))
    return Workflow(
        draw(st.integers(-5, 2**60)),
        draw(st.floats(-1e12, 1e12)),
        np.array(draw(st.lists(st.floats(1e-6, 1e9), min_size=tasks, max_size=tasks))),
        np.array(draw(st.lists(st.integers(1, 10**6), min_size=tasks, max_size=tasks))),
        np.array(sorted((order[a], order[b]) for a, b in chosen), dtype=np.int64).reshape(-1, 2),
        tuple(draw(st.lists(st.none() | st.text(max_size=4), min_size=tasks, max_size=tasks))),
        draw(CURVES),
        draw(st.none() | st.floats(1e-3, 1e12)),
        tuple(names),
        draw(st.text(max_size=5)),
    )


@given(workflows(), st.sampled_from(["job.json", "job.json.gz"]))
def test_what_is_written_keeps_to_the_schema_and_is_read_as_it_was(
    scratch: Path, job: Workflow, file_name: str
) -> None:
    path = scratch / file_name
    write_wfformat(job, path, description="drawn")
    assert same(read_wfformat(path, tick_s=None), job)
    content = json.loads(read_whole(path))
    keeps_to_the_schema(content)
    assert len(content["workflow"]["specification"]["tasks"]) == len(job)
    before = path.read_bytes()
    write_wfformat(job, path, description="drawn")
    assert path.read_bytes() == before


def keeps_to_the_schema(content: dict[str, Any]) -> None:
    """Assert what the schema of WfFormat 1.5 asks for: the required properties, their types and their limits."""

    def texts(values: list[Any]) -> bool:
        return isinstance(values, list) and all(re.fullmatch(r"[0-9a-zA-Z-_.]*", value) for value in values)

    assert content["schemaVersion"] == "1.5"
    assert isinstance(content["name"], str)
    assert content["name"]
    assert content.get("description", "x")
    workflow = content["workflow"]
    specified, executed = workflow["specification"]["tasks"], workflow["execution"]["tasks"]
    assert isinstance(workflow["execution"]["makespanInSeconds"], int | float)
    assert workflow["execution"]["executedAt"]
    assert specified
    for task in specified:
        assert task["name"]
        assert re.fullmatch(r"[0-9a-zA-Z-_.]+", task["id"])
        assert texts(task["parents"])
        assert texts(task["children"])
    for task in executed:
        assert isinstance(task["runtimeInSeconds"], int | float)
        assert task["coreCount"] >= 1
    ids = [task["id"] for task in specified]
    assert len(set(ids)) == len(ids)
    assert [task["id"] for task in executed] == ids
    down = {(task["id"], child) for task in specified for child in task["children"]}
    up = {(parent, task["id"]) for task in specified for parent in task["parents"]}
    assert down == up


def test_the_file_says_what_is_given(tmp_path: Path) -> None:
    job = Workflow(3, 5.0, [10, 20], [1, 2], [(0, 1)], task_names=("one", "two words"))
    path = tmp_path / "job.json"
    write_wfformat(job, path, makespan_s=42, executed_at="2020-01-01T00:00:00Z", description="drawn")
    content = json.loads(path.read_text())
    assert content["description"] == "drawn"
    executed, specified = content["workflow"]["execution"], content["workflow"]["specification"]["tasks"]
    assert (executed["makespanInSeconds"], executed["executedAt"]) == (42, "2020-01-01T00:00:00Z")
    assert [(task["id"], task["name"]) for task in specified] == [("ID0000001", "one"), ("ID0000002", "two words")]
    write_wfformat(job, path)
    assert json.loads(path.read_text())["workflow"]["execution"]["makespanInSeconds"] == 30


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for name, options, what in (
        ("nowhere/job.json", {}, f"cannot write {tmp_path}/nowhere/job.json: {tmp_path}/nowhere is not a folder"),
        ("job.json", {"makespan_s": -1}, "makespan_s must be a finite number of seconds >= 0, or None (got -1)"),
        ("job.json", {"executed_at": ""}, "executed_at must be a date of ISO 8601 (got '')"),
    ):
        with refused(what):
            write_wfformat(Workflow(1, 0.0, [1.0]), tmp_path / name, **options)  # type: ignore[arg-type]


def test_a_worth_beyond_the_whole_numbers_of_floats_is_read_again(tmp_path: Path) -> None:
    job = Workflow(1, 0.0, [1.0], max_value=1e300)
    write_wfformat(job, tmp_path / "job.json")
    assert same(read_wfformat(tmp_path / "job.json"), job)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("job_id", None, "schedlab.job_id must be an integer (got 'missing')"),
        ("submit_s", "0", "schedlab.submit_s must be a finite number (got '0')"),
        ("name", 4, "schedlab.name must be a text (got 4)"),
        ("max_value", 0, "schedlab.max_value must be a finite number > 0, or null (got 0)"),
        ("max_value", 10**400, "schedlab.max_value must be a finite number > 0, or null (got 1...)"),
        ("kinds", ["x"], "schedlab.kinds must be a text or null for each task (got ['x'])"),
        ("task_names", [3, 4], "schedlab.task_names must be a text for each task, or none (got [3, 4])"),
        ("curve", [[1, 1]], "schedlab: curve: the number of points of a value curve must be at least 2 (got 1)"),
    ],
)
def test_what_a_file_of_ours_cannot_say_is_refused(tmp_path: Path, key: str, value: object, what: str) -> None:
    path = tmp_path / "job.json"
    write_wfformat(Workflow(1, 0.0, [1.0, 2.0]), path)
    path.write_text(json.dumps(work.changed(json.loads(path.read_text()), ["schedlab", key], value)))
    with refused(f"{path}: {what}", FileFormatError):
        read_wfformat(path)


# -- real ones ----------------------------------------------------------------------------------------


def test_every_real_instance_is_read_and_written_again(shared: Path, tmp_path: Path) -> None:
    paths = sorted((shared / "workflows" / "wfformat").glob("*.json"))
    assert len(paths) >= 11
    for path in paths:
        text = path.read_text()
        content = json.loads(text)["workflow"]
        specified, executed = content["specification"]["tasks"], content["execution"]["tasks"]
        edges = {(parent, task["id"]) for task in specified for parent in task["parents"]}
        edges |= {(task["id"], child) for task in specified for child in task["children"]}
        job = read_wfformat(path)
        assert len(job) == text.count('"runtimeInSeconds"') == len(specified), path.name
        names = job.task_names
        assert {(names[a], names[b]) for a, b in job.edges.tolist()} == edges, path.name
        by_hand = {task["id"]: task["runtimeInSeconds"] for task in executed}
        assert job.runtime_s.tolist() == [max(1.0, np.ceil(by_hand[name])) for name in names], path.name
        write_wfformat(job, tmp_path / "again.json.gz")
        assert same(read_wfformat(tmp_path / "again.json.gz"), job)
        keeps_to_the_schema(json.loads(read_whole(tmp_path / "again.json.gz")))
