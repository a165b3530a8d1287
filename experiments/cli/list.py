"""The command `list`: what can be chosen by name, in words."""

from experiments.choices import CHOICES, KINDS
from experiments.cli_output import DONE, print_json, print_table
from experiments.tables import listing
from simmodels.errors import require_known


def list_choices(*, kind: str | None, json: bool) -> int:
    """Print what can be chosen of one kind, with all that is known of it, or of all kinds; return the exit status.

    Raises
    ------
    UnknownNameError
        There is no such kind.
    """
    if kind is not None:
        require_known("kind of choice", kind, KINDS)
    found = {name: CHOICES[name] for name in (KINDS if kind is None else (kind,))}
    if json:
        print_json({name: list(each.rows()) for name, each in found.items()})
        return DONE
    for each in found.values():
        columns = each.columns if kind is not None else "name about"
        rows = [[_cell(row[name]) for name in columns.split()] for row in each.rows()]
        print_table(each.title + (each.letters if "formula" in columns else ""), listing(columns, rows))
    return DONE


def _cell(value: object) -> str:
    """Return a value as a table shows it."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
