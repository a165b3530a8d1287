"""``list``: what can be chosen by name, in words."""

from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.cli.output import DONE, listing, print_json, print_table
from experiments.option import Json, Option


def list_choices(
    *, topic: Annotated[str | None, Option("", "[TOPIC]", known="topics")] = None, json: Json = False
) -> int:
    """Print what can be chosen of one topic, with all that is known of it, or of all topics; return the exit status.

    Parameters
    ----------
    topic
        orders, bids, backfillings, heuristics, ...: one topic, with formulas and sources; by default all.

    Raises
    ------
    UnknownNameError
        There is no such topic.
    """
    from experiments.choices import CHOICES, TOPICS  # noqa: PLC0415  the help does not wait for the models
    from simmodels.errors import require_known  # noqa: PLC0415  the same

    if topic is not None:
        require_known("topic", topic, TOPICS)
    found = {name: CHOICES[name] for name in (TOPICS if topic is None else (topic,))}
    if json:
        print_json({name: list(each.rows()) for name, each in found.items()})
        return DONE
    for each in found.values():
        columns = each.columns if topic is not None else "name about"
        rows = [[_cell(row[name]) for name in columns.split()] for row in each.rows()]
        title = each.title + (each.letters if "formula" in columns else "")
        print_table(title, listing(columns.split(), rows, whole=["name"]))
    return DONE


def _cell(value: object) -> str:
    """Return a value as a table shows it."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


COMMAND: Final = command(
    list_choices,
    examples=("schedlab list", "schedlab list orders", "schedlab list --json"),
)
