"""``report``: its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from experiments.cli.derive import command
from experiments.option import DESIGN, Against, Json, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `report` is asked.

    Parameters
    ----------
    folder
        The folder of a campaign.
    study
        The study of the campaign, as for run.
    trust
        Run the code that the folder names, even if you have not run it before as it is.
    """

    folder: Annotated[Path, Option("", "FOLDER")]
    study: Annotated[str | None, Option(DESIGN, "STUDY", "the one that the folder names")] = None
    trust: Annotated[bool, Option(DESIGN)] = False
    against: Against = None
    json: Json = False


COMMAND: Final = command(
    Report,
    "experiments.campaigning:report_on",
    examples=("schedlab report results/selection", "schedlab report results/selection --json"),
)
