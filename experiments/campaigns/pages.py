"""Pages: HTML that stands alone, with one style and tables that can be sorted."""

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from simmodels.errors import printable
from simmodels.ground.durations import duration


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
    made = Environment(
        loader=ChoiceLoader([PackageLoader("experiments", room) for room in ("campaigns", "viewer")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escaped,
    )
    made.filters.update(in_words=in_words, duration=duration)
    return made


def in_words(value: object) -> str:
    """Return a value of a study as a reader writes it: ``none``, ``yes``, ``0.5, 2``."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.15g}"
    return ", ".join(map(in_words, value)) if isinstance(value, list | tuple) else str(value)


def _escaped(value: object) -> object:
    """Return what a page shows of a value: names come from files, and may hold control characters."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else printable(value, keep="\n")
