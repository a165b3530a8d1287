"""The docstrings run: every ``>>>`` example of every module; and every public name says all that a user needs.

Public is what the facades offer and what the pages of docs/reference/api list.

The examples of a public name stand alone, as a user would copy them; those of other names may use what their module
has.
"""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

from simmodels.policies.registry import BIDS, ORDERS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("simmodels", "workloads", "experiments")
API = ROOT / "docs" / "reference" / "api"
FACADES = ("simmodels", "workloads", "experiments.campaigns")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_BLANKLINE
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if re.search(r"^\s*>>> ", path.read_text("utf-8"), re.MULTILINE)
]


def listed() -> list[tuple[str, str]]:
    """Return the modules and names that the pages of the reference list, in their order."""
    found: list[tuple[str, str]] = []
    for page in sorted(API.glob("*.rst")):
        for block in page.read_text("utf-8").split(".. api:: ")[1:]:
            module, *names = block.split()
            found += [(module, name) for name in names]
    return found


def public() -> dict[str, object]:
    """Return all public names with what they name."""
    return {f"{module}.{name}": getattr(importlib.import_module(module), name) for module, name in listed()}


def test_the_reference_lists_each_name_of_the_facades_once() -> None:
    offered = [(facade, name) for facade in FACADES for name in importlib.import_module(facade).__all__]
    assert sorted(each for each in listed() if each[0] in FACADES) == sorted(offered)
    assert len(set(listed())) == len(listed())


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_the_module_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for registry in (ORDERS, BIDS):  # other tests do not meet what examples enter
        monkeypatch.setattr(registry, "users", dict(registry.users))
    module = importlib.import_module(name)
    offered = [f"{each.__module__}.{each.__qualname__}" for each in public().values() if hasattr(each, "__qualname__")]
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    for test in doctest.DocTestFinder().find(module, name):
        if any(test.name == each or test.name.startswith(f"{each}.") for each in offered):
            test.globs = {}
        printed: list[str] = []
        runner.run(test, out=printed.append)
        assert not printed, "".join(printed)


def sections(value: object) -> set[str]:
    """Return the headings of a docstring."""
    text = inspect.getdoc(value) or ""
    return set(re.findall(r"^([A-Z][A-Za-z ]+)\n-{3,}$", text, re.MULTILINE))


def test_every_public_name_has_an_example_that_runs() -> None:
    callables = {name: value for name, value in public().items() if callable(value)}
    without = [name for name, value in callables.items() if ">>> " not in (inspect.getdoc(value) or "")]
    assert not without


@pytest.mark.parametrize("section", ["Parameters", "Returns", "Raises"])
def test_every_public_function_says_what_it_takes_returns_and_raises(section: str) -> None:
    functions = {
        name: value
        for name, value in public().items()
        if inspect.isfunction(value) and (signature := inspect.signature(value)).parameters
        if section != "Returns" or signature.return_annotation not in {None, "None"}
    }
    assert [name for name, value in functions.items() if section not in sections(value)] == []


def test_every_public_class_says_what_it_takes() -> None:
    classes = {name: value for name, value in public().items() if inspect.isclass(value)}
    assert [name for name, value in classes.items() if not sections(value) & {"Parameters", "Attributes"}] == []
