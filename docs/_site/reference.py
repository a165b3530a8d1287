"""The reference of the Python API: a directive that documents public names, and references that find them.

A page of reference/api lists names under ``.. api:: PACKAGE``. Each becomes a line of a table and, below it, what its
docstring says. A public name is documented under the package that a user imports it from. Types and docstrings name it
by the module that defines it, or bare: both lead to the one place.
"""

import importlib
import inspect
import reprlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from docutils import nodes
from pages import cited
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import NumpyDocstring
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

FACADES = ("simmodels", "workloads", "experiments.campaigns")
# Classes that no user makes: their fields are the options that a page lists, and it has an anchor for each class.
OPTIONS = {"QueueOptions": "of-a-queue", "PlacementOptions": "of-a-placer", "AuctionOptions": "of-an-auction"}


class Api(SphinxDirective):
    """Documents names of a module, one on each line: a table of all, then each."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Put other directives in place of this one."""
        [module] = self.arguments
        values = {name: getattr(importlib.import_module(module), name) for name in " ".join(self.content).split()}
        table, described = list[str](), list[str]()
        for name, value in values.items():
            if inspect.isclass(value):
                table += [f"   {name}"]
                described += [f".. autoclass:: {module}.{name}", "   :members:", "   :show-inheritance:", ""]
            elif callable(value):
                table += [f"   {name}"]
                described += [f".. autofunction:: {module}.{name}", ""]
            else:
                described += constant(module, name, value)
        head = [f".. currentmodule:: {module}", ""]
        lines = [*head, *([".. autosummary::", "", *table, ""] if table else []), *described]
        self.state_machine.insert_input(lines, f"{self.env.docname} (api {module})")
        return []


def constant(module: str, name: str, value: object) -> list[str]:
    """Return the lines that document a constant, whose text stands below it in the module that a facade has it from."""
    home, there = importlib.import_module(module)._sources[name]  # noqa: SLF001  it knows where its names come from
    shown = reprlib.repr(dict(value) if isinstance(value, Mapping) else value)
    text = ModuleAnalyzer.for_module(home).find_attr_docs()["", there]
    return [f".. py:data:: {name}", f"   :value: {shown}", "", *(f"   {line}" for line in text), ""]


@cache
def public() -> dict[str, str]:
    """Return where the facades document what they export, by the name of its module and by its bare name."""
    found: dict[str, str] = {}
    for facade in FACADES:
        module = importlib.import_module(facade)
        for name in module.__all__:
            value = getattr(module, name)
            where = f"{facade}.{name}"
            found.setdefault(name, where)
            if hasattr(value, "__qualname__"):
                found.setdefault(f"{value.__module__}.{value.__qualname__}", where)
    return found


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | nodes.TextElement | None:
    """Return what a reference to a public name leads to, or that it is no reference."""
    if node.get("refdomain") != "py":
        return None
    domain = env.domains.python_domain
    target = str(node["reftarget"])
    head, _, member = target.rpartition(".")
    for name in (public().get(target), f"{public()[head]}.{member}" if head in public() else None):
        if name is not None and name in domain.objects:
            found: Any = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
            if found is not None:
                return found
    if anchor := OPTIONS.get(target.rpartition(".")[2]):
        page = app.builder.get_relative_uri(node["refdoc"], "reference/options")
        return nodes.reference("", "", content, refuri=f"{page}#{anchor}", internal=True)
    bare = node.get("reftype") == "obj" and "." not in target  # in single backticks: a parameter, a column, a term
    return content if bare or exists(target) else None


@cache
def exists(target: str) -> bool:
    """Return whether a dotted name names something of ours or of a library, down to an attribute of an instance."""
    first, _, rest = target.partition(".")
    parts = [*public().get(first, first).split("."), *rest.split(".")]
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
            for name in parts[length:]:
                fields = {**getattr(value, "__dataclass_fields__", {}), **getattr(value, "__annotations__", {})}
                value = getattr(value, name, None) if name in fields else getattr(value, name)
        except (ImportError, AttributeError):
            continue
        return True
    return False


def as_fields(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Make of the sections of a docstring what Sphinx reads.

    Napoleon does it, but would take the docstring of a property for "type: description" where it has a colon.
    """
    what = "method" if what in {"attribute", "data", "property"} else what
    lines[:] = [cited(line, r"`\g<0> <{}\g<0>>`__") for line in lines]
    lines[:] = NumpyDocstring(lines, app.config, app, what, name, obj, options).lines()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this with Sphinx."""
    app.add_directive("api", Api)
    app.setup_extension("sphinx.ext.napoleon")
    app.connect("autodoc-process-docstring", as_fields)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
