"""Pegasus DAX: workflows as XML, of the versions 2.1 to 3.6.

References
----------
E. Deelman et al., "Pegasus, a workflow management system for science automation", Future Generation Computer Systems
46, 2015, pp. 17-35, doi:10.1016/j.future.2014.10.008; the format is that of Pegasus' documentation, "DAX XML schema".
The synthetic workflows in it: G. Juve et al., "Characterizing and profiling scientific workflows", Future Generation
Computer Systems 29(3), 2013, pp. 682-692, doi:10.1016/j.future.2012.08.015.
"""

from os import PathLike
from pathlib import Path
from typing import Final, NoReturn
from xml.parsers import expat

from simmodels.errors import FileFormatError, must_be
from simmodels.ground.durations import as_seconds
from simmodels.ground.files import as_path
from simmodels.units import SECOND
from simmodels.work.curve import ValueCurve
from simmodels.work.workflow import Workflow
from workloads.files import read_whole, stem
from workloads.workflow_builder import Choice, DescribedTask, numbered, workflow_of

_JOBS: Final = ("job", "dag", "dax")


def read_dax(
    path: str | PathLike[str],
    *,
    tick_s: float | None = SECOND,
    kind: Choice[str] = None,
    cores: Choice[int] = None,
    curve: ValueCurve | None = None,
    job_id: int = 1,
    submit_s: float = 0.0,
    name: str | None = None,
) -> Workflow:
    """Return the workflow of a Pegasus DAX file, its tasks in the order of the file.

    Each ``job`` is a task, called by its ``id``; its category is its ``name``. The runtime is the attribute
    ``runtime``, else the profile ``runtime`` of the namespace pegasus; the cores are that namespace's profile
    ``cores``, else 1. Edges are what the elements ``child`` and ``parent`` say; the files that tasks use
    are not looked at. With or without XML namespaces.

    Parameters
    ----------
    path
        The file: plain or compressed by gzip, bzip2 or xz.
    tick_s
        Runtimes become whole multiples of this many seconds, rounded up, and one at least: 60 for a
        simulation in minutes. None: they stay as they are.
    kind
        The kind of cluster that tasks need: one for all, a mapping by category, or a function of it. None: any.
    cores
        The cores that tasks need, in the same three ways; None: as the file says, fractions rounded up.
    curve
        What the job is worth by its SLR; None: all it can be, whenever it is done.
    job_id, submit_s
        The job's number, and when it is submitted, in seconds.
    name
        What the workflow is called; None for the file's name without suffixes.

    Returns
    -------
    Workflow
        Runtimes in seconds; dependencies as ``edges``.

    Raises
    ------
    FileFormatError
        The file cannot be read, is no such XML, or has a document type (no entity is ever expanded); two jobs
        have the same id; an edge names a job that is not there; a job has no runtime, or one that cannot be; jobs
        wait for each other. The text names line and job.
    RequestError
        `tick_s` is no finite number > 0; `kind` or `cores` has nothing, or nothing that can be, for a category.

    See Also
    --------
    workloads.read_wfformat : the same for WfFormat.

    Examples
    --------
    >>> from pathlib import Path
    >>> import workloads as wl
    >>> text = '''<adag name="two"><job id="a" name="split" runtime="10"/><job id="b" name="merge" runtime="5"/>
    ... <child ref="b"><parent ref="a"/></child></adag>'''
    >>> _ = Path("two.dax").write_text(text)
    >>> wl.read_dax("two.dax").critical_path_s(ccr=0)
    15.0
    """
    if tick_s is not None:
        tick_s = as_seconds("tick_s", tick_s, above=0, also="None")
    where = as_path(path)
    found = _Document(where)
    found.parse(read_whole(where))
    if not found.tasks:
        raise FileFormatError(str(where), None, "the file has no job")
    numbers = numbered(where, [(task.name, task.line) for task in found.tasks])
    for line, child, parent in found.edges:
        for ref in (child, parent):
            if ref not in numbers:
                what = f"edge {parent!r} -> {child!r}: there is no job {ref!r}"
                raise FileFormatError(str(where), line, what)
        found.tasks[numbers[child]].before.add(numbers[parent])
    asked = {"curve": curve, "job_id": job_id, "submit_s": submit_s, "name": name}
    return workflow_of(where, found.tasks, {"name": stem(where)}, asked, tick_s=tick_s, kind=kind, cores=cores)


class _Document:
    """What a DAX file says, gathered element by element.

    Parameters
    ----------
    path
        The file, for errors.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[str] = []
        self._child = ""
        self._profile = ""
        self._text: list[str] = []
        self._parser = expat.ParserCreate(namespace_separator="\n")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._document_type
        self.tasks: list[DescribedTask] = []
        self.edges: list[tuple[int, str, str]] = []

    def parse(self, data: bytes) -> None:
        """Read the whole document."""
        try:
            self._parser.Parse(data, True)  # noqa: FBT003  expat takes it by position
        except expat.ExpatError as error:
            what = f"no XML that can be read: {expat.ErrorString(error.code)}"
            raise FileFormatError(str(self._path), error.lineno, what) from error
        except (LookupError, ValueError) as error:  # an encoding that is unknown, or that expat cannot use
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(str(self._path), None, f"no XML that can be read: {error}") from error

    def _refuse(self, what: str) -> NoReturn:
        raise FileFormatError(str(self._path), self._parser.CurrentLineNumber, what)

    def _document_type(self, *_: object) -> None:
        self._refuse("the file must have no document type (<!DOCTYPE>), which can define entities")

    def _start(self, name: str, given: dict[str, str]) -> None:
        tag = name.rpartition("\n")[2]
        within = self._open[-1] if self._open else ""
        self._open.append(tag)
        if not within and tag != "adag":
            self._refuse(must_be("the root", "<adag>", f"<{tag}>"))
        if within == "adag" and tag in _JOBS:
            self._job(tag, given)
        elif within == "adag" and tag == "child":
            self._child = self._attribute(tag, given, "ref")
        elif within == "child" and tag == "parent":
            self.edges.append((self._parser.CurrentLineNumber, self._child, self._attribute(tag, given, "ref")))
        elif within in _JOBS and len(self._open) == 3 and tag == "profile" and given.get("namespace") == "pegasus":
            self._profile = given.get("key", "")
            self._text = []

    def _job(self, tag: str, given: dict[str, str]) -> None:
        name = self._attribute(tag, given, "id")
        task = DescribedTask(
            name=name, category=given.get("name", given.get("file", "")), line=self._parser.CurrentLineNumber
        )
        if "runtime" in given:
            task.runtime_s = self._number(task, "runtime", given["runtime"])
        self.tasks.append(task)

    def _attribute(self, tag: str, given: dict[str, str], key: str) -> str:
        if not given.get(key):
            self._refuse(f"<{tag}> has no {key}")
        return given[key]

    def _characters(self, text: str) -> None:
        if self._profile:
            self._text.append(text)  # a line at a time: a text that grows would be copied as often

    def _end(self, _: str) -> None:
        if self._open.pop() != "profile" or not self._profile:
            return
        task = self.tasks[-1]
        if self._profile == "cores":
            task.cores = self._number(task, "cores", "".join(self._text))
        elif self._profile == "runtime" and task.runtime_s is None:
            task.runtime_s = self._number(task, "runtime", "".join(self._text))
        self._profile = ""

    def _number(self, task: DescribedTask, key: str, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            self._refuse(must_be(f"{key} of task {task.name!r}", "a number", text))
