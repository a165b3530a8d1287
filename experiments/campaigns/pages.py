"""Pages: HTML that stands alone, with one style and tables that can be sorted."""

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from simmodels.errors import printable


def page(template: str, **values: Any) -> str:  # noqa: ANN401  what the template shows
    """Return a page.

    Parameters
    ----------
    template
        The name of a template of `experiments.campaigns` or `experiments.viewer`.
    values
        What it shows, by name.
    """
    return _templates().get_template(template).render(values)


@cache
def _templates() -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader("experiments", room) for room in ("campaigns", "viewer")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escaped,
    )


def _escaped(value: object) -> object:
    """Return what a page shows of a value: names come from files, and may hold control characters."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else printable(value, keep="\n")
