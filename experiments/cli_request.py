"""What the options of ``simulate`` and ``compare`` ask for: which work, on which machines, and how it is run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments import cli_options as options
from experiments.capacity_source import CapacitySource, made_checkpoints
from experiments.inputs import WorkloadFile
from experiments.on_machines import TARGETED
from experiments.policy import Policy
from experiments.scenario import ScenarioRequest
from experiments.setup import Setup
from experiments.workflow_inputs import WorkflowFolder, parse_clusters, parse_curve
from simmodels.errors import RequestError
from simmodels.ground.durations import seconds


class Asked(NamedTuple):
    """What both commands ask for."""

    words: dict[str, Any]
    """What was given, by the names of the parameters."""
    chosen: dict[str, Any]
    """Of the options of queues, placers and auctions, those that were given, by their names."""

    def setup(self) -> Setup:
        """Return how it is run."""
        words = self.words
        return Setup(
            options=self.chosen,
            engine=words["engine"],
            seed=words["seed"],
            tau_s=words["tau"],
            validate=words["validate"],
        )

    def scenario(self, policies: Sequence[Policy]) -> ScenarioRequest:
        """Return what is simulated under these policies, and where."""
        words = self.words
        options = [{**self.chosen, **each.options} for each in policies]
        timed = {name: seconds(words[name], f"--{name}") for name in ("from", "until") if words[name] is not None}
        return ScenarioRequest(
            log=self._log(),
            folder=self._folder(),
            clusters=None if words["clusters"] is None else parse_clusters(words["clusters"]),
            cores_per_machine=words["cores_per_machine"],
            capacity_source=self._supply(),
            checkpoints=made_checkpoints(words["checkpoint_cost"], words["checkpoint_every"], words["restart"]),
            window=(timed.get("from"), timed.get("until")),
            one_scheduler=not any({"bid", "router", "forward"} & each.keys() for each in options),
            inside=any(each.get("heuristic") is not None for each in options),
            reference=words["reference"],
            targeted=any(each.get("heuristic") in TARGETED for each in options),
            seed=words["seed"],
        )

    def _log(self) -> WorkloadFile | None:
        given = {each.name: self.words[each.name] for each in options.OF_LOGS}
        if self.words["workload"] is not None:
            return options.workload_file(workload=self.words["workload"], **given)
        for name, value in given.items():
            if self.words["workflows"] is not None and value:
                what = f"--{name.replace('_', '-')} is an option of logs, not of --workflows"
                raise RequestError(what, "omit it, or choose where workflows run with --clusters")
        return None

    def _folder(self) -> WorkflowFolder | None:
        words = self.words
        if words["workflows"] is None:
            given = [name for name in ("kind", "curve", "load", "gap", "jobs") if words[name] is not None]
            if given or words["poisson"]:
                raise RequestError(
                    f"--{(given or ['poisson'])[0]} has no effect without workflows", "add --workflows FOLDER"
                )
            return None
        return WorkflowFolder(
            path=words["workflows"],
            jobs=words["jobs"],
            load=words["load"],
            gap_s=None if words["gap"] is None else seconds(words["gap"], "--gap"),
            poisson=words["poisson"],
            tick_s=self.chosen.get("tick_s", 1.0),
            kind=words["kind"],
            curve=None if words["curve"] is None else parse_curve(words["curve"]),
            seed=words["seed"],
        )

    def _supply(self) -> CapacitySource | None:
        words = self.words
        given = {
            name: words[name]
            for name in ("walk", "series", "column", "min_machines", "max_machines", "per_machine", "repeat", "mode")
            if words[name] is not None and words[name] is not False
        }
        for name, option in (("series_from_s", "series_from"), ("notice_s", "notice")):
            if words[option] is not None:
                given[name] = seconds(words[option], f"--{option.replace('_', '-')}")
        return CapacitySource(**given) if given else None
