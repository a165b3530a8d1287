"""``simulate`` and ``compare``: their options, which are those of the models, and what is asked for by them."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from experiments import cli_options as options
from experiments import commands
from experiments.answering import answering
from experiments.cli_derived import PANELS, Derived, derived
from experiments.cli_options import of
from experiments.inputs import WorkloadFile, named_priority
from experiments.on_machines import TARGETED
from experiments.outputs import Outputs
from experiments.policy import AUCTION, HEURISTICS, ROUTERS, Kind, Policy, chosen_policies, policy
from experiments.scenario import ScenarioRequest
from experiments.setup import Setup
from experiments.supply import Supply, made_checkpoints
from experiments.workflow_inputs import WorkflowFolder, parse_clusters, parse_curve
from simmodels.errors import RequestError
from simmodels.ground.durations import seconds
from simmodels.policies.placement_options import PlacementOptions

IN: Final = options.MACHINE
WHERE: Final = "Where it runs"
SUPPLY: Final = "Machines that are switched on and off"
ROUTED: Final = "What stands before several clusters"
COMPARED: Final = "What is compared"
_ORDER: Final = (COMPARED, IN, WHERE, SUPPLY, *PANELS.values(), ROUTED, options.ANSWER, options.FILES)
"""The panels of the help, from above."""

commands_app = typer.Typer()


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
            supply=self._supply(),
            checkpoints=made_checkpoints(words["checkpoint_cost"], words["checkpoint_every"], words["restart"]),
            window=(timed.get("from"), timed.get("until")),
            one_scheduler=not any({"bid", "router", "forward"} & each.keys() for each in options),
            inside=any(each.get("heuristic") is not None for each in options),
            reference=words["reference"],
            targeted=any(each.get("heuristic") in TARGETED for each in options),
            seed=words["seed"],
        )

    def _log(self) -> WorkloadFile | None:
        words = self.words
        if words["workload"] is None:
            for name in ("cores", "clean", "drop_oversized", "flops_per_s", "partition", "timezone"):
                if words["workflows"] is not None and words[name]:
                    what = f"--{name.replace('_', '-')} with --workflows"
                    raise RequestError(what, "--clusters says where workflows run; the others are of logs")
            return None
        return WorkloadFile(
            path=words["workload"],
            cores=words["cores"],
            filters=options.parts(words["clean"]),
            drop_oversized=words["drop_oversized"],
            flops_per_s=words["flops_per_s"],
            partitions=options.parts(words["partition"]),
            timezone=words["timezone"],
        )

    def _folder(self) -> WorkflowFolder | None:
        words = self.words
        if words["workflows"] is None:
            given = [name for name in ("kind", "curve", "load", "gap", "jobs") if words[name] is not None]
            if given or words["poisson"]:
                raise RequestError(f"--{(given or ['poisson'])[0]}", "--workflows FOLDER is needed with it")
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

    def _supply(self) -> Supply | None:
        words = self.words
        given = {
            name: words[name]
            for name in ("walk", "series", "column", "min_machines", "max_machines", "per_machine", "repeat", "mode")
            if words[name] is not None and words[name] is not False
        }
        for name, option in (("series_from_s", "series_from"), ("notice_s", "notice")):
            if words[option] is not None:
                given[name] = seconds(words[option], f"--{option.replace('_', '-')}")
        return Supply(**given) if given else None


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Return a command of the options of `_shared`, of those of the models, and of its own, which are its parameters.

    Parameters
    ----------
    function
        Takes an `Asked`, and its own options.
    """
    own = [each for each in inspect.signature(function).parameters.values() if each.name != "asked"]
    shared = list(inspect.signature(_shared).parameters.values())
    models: dict[str, Derived] = derived([name for each in own for name in _option(each).param_decls or ()])

    def called(**given: Any) -> int:  # noqa: ANN401  what the command line says
        words = {each.name.rstrip("_"): given.pop(each.name) for each in shared}
        values = {name: given.pop(name) for name in models}
        chosen = {models[name].name: models[name].parse(value) for name, value in values.items() if value is not None}
        for kind in ("heuristic", "router"):
            if words[kind] is not None:
                own_options = policy(kind, words[kind]).options
                for name in sorted(own_options.keys() & chosen.keys()):
                    raise RequestError(f"--{name.replace('_', '-')} with --{kind} {words[kind]}", "it says that itself")
                chosen |= own_options
        if words["rebalance"] is not None:
            chosen["rebalance_s"] = seconds(words["rebalance"], "--rebalance")
        return function(Asked(words, chosen), **given)

    parameters = [*own, *shared, *(each.parameter for each in models.values())]
    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # read by inspect.signature
        sorted(parameters, key=lambda each: _ORDER.index(_panel(each)))
    )
    return answering(called)


def _panel(parameter: inspect.Parameter) -> str:
    """Return in which panel of the help a parameter stands."""
    return str(_option(parameter).rich_help_panel)


def _option(parameter: inspect.Parameter) -> Any:  # noqa: ANN401  typer's type is not public
    """Return the option that a parameter is annotated with."""
    return parameter.annotation.__metadata__[0]


def _shared(
    *,
    workload: options.MaybeWorkload = None,
    workflows: Annotated[
        Path | None,
        of(IN, "FOLDER", "Workflows: a folder of WfFormat (.json) or Pegasus DAX (.xml, .dax) files.", "none"),
    ] = None,
    clean: options.Clean = None,
    drop_oversized: options.DropOversized = False,
    partition: options.Partition = None,
    timezone: options.Timezone = None,
    flops_per_s: options.Flops = None,
    kind: Annotated[str | None, of(IN, "KIND", "The kind that all tasks need.", "what the files say")] = None,
    curve: Annotated[
        str | None,
        of(IN, "SLR:SLR", "The value falls from all at one SLR to nothing at another.", "what the files say, or never"),
    ] = None,
    load: Annotated[
        float | None, of(IN, "PART", "Submit workflows at this load, a share of all cores.", "all at once")
    ] = None,
    gap: Annotated[str | None, of(IN, "TIME", "Submit a workflow at this interval, instead of at a load.")] = None,
    poisson: Annotated[
        bool, typer.Option("--poisson", rich_help_panel=IN, help="Submit workflows at random intervals.")
    ] = False,
    jobs: Annotated[
        int | None, of(IN, "N", "The number of workflows drawn from the folder, at random.", "each once")
    ] = None,
    cores: options.Cores = None,
    clusters: Annotated[
        str | None,
        of(
            WHERE,
            "NxCORES:KIND,...",
            "The clusters, such as 3x1000:Kind1,2000; without a kind, a cluster takes any task.",
            "one, of --cores; of workflows 64",
        ),
    ] = None,
    cores_per_machine: Annotated[
        int | None, of(WHERE, "N", "Clusters are made of machines of this size.", "pools of cores")
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", rich_help_panel=WHERE, help="On machines: when the window begins: 7d."),
    ] = None,
    until: Annotated[str | None, of(WHERE, "TIME", "When the window ends.", "the last submission")] = None,
    walk: Annotated[
        str | None, of(SUPPLY, "MEAN:RADIUS:PERIOD", "A random walk of the number of machines: 24:8:20min.")
    ] = None,
    series: Annotated[Path | None, of(SUPPLY, "FILE", "Or a table in CSV: instants, then power or nodes.")] = None,
    column: Annotated[
        str | None, of(SUPPLY, "NAME", "Its column; several are added: 'A+B'.", "the only one there is")
    ] = None,
    per_machine: Annotated[
        float | None, of(SUPPLY, "X", "What a machine needs, in the unit of the series.", "1")
    ] = None,
    min_machines: Annotated[int | None, of(SUPPLY, "N", "Lower limit of the number of machines.", "0")] = None,
    max_machines: Annotated[
        int | None, of(SUPPLY, "N", "Upper limit of the number of machines.", "what the series allows")
    ] = None,
    series_from: Annotated[
        str | None, of(SUPPLY, "TIME", "Offset into the series at which the window begins.", "0")
    ] = None,
    repeat: Annotated[
        bool, typer.Option("--repeat", rich_help_panel=SUPPLY, help="The series starts again at its end.")
    ] = False,
    notice: Annotated[str | None, of(SUPPLY, "TIME", "Advance notice given of each change.", "0")] = None,
    mode: Annotated[
        str | None,
        of(SUPPLY, "kill|drain|checkpoint", "What happens to jobs on machines that are switched off.", "kill"),
    ] = None,
    checkpoint_cost: Annotated[
        str | None, of(SUPPLY, "TIME", "How long it takes to write a checkpoint.", "no checkpoints; on notice 0")
    ] = None,
    checkpoint_every: Annotated[
        str | None, of(SUPPLY, "TIME", "The work between two checkpoints.", "only on notice")
    ] = None,
    restart: Annotated[str, of(SUPPLY, "TIME", "How long it takes to restart from a checkpoint.")] = "0",
    reference: Annotated[
        Path | None,
        of(SUPPLY, "FILE", "Jobs from whose lengths the risk of each target is estimated.", "the week before --from"),
    ] = None,
    heuristic: Annotated[
        str | None,
        of(PANELS[PlacementOptions], "NAME", f"Jobs inside one machine each: {', '.join(HEURISTICS)}.", "a queue"),
    ] = None,
    router: Annotated[
        str | None, of(ROUTED, "NAME", f"Who sends jobs to the clusters: {', '.join(ROUTERS)}.", "none")
    ] = None,
    rebalance: Annotated[
        str | None,
        of(ROUTED, "TIME", "The interval at which an auction that forwards offers what waits again.", "never"),
    ] = None,
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    validate: options.Validate = False,
    tau: options.Tau = 10.0,
    attempts_out: Annotated[Path | None, options.file("The table of all attempts: .csv or .parquet.")] = None,
    gantt: Annotated[
        Path | None, options.file("The Gantt chart, a panel for each cluster: .svg, .png or .pdf.")
    ] = None,
    draw_from: Annotated[str | None, options.time("The figures begin there: 3600, 12h, 30d.")] = None,
    draw_to: Annotated[str | None, options.time("The figures end there.")] = None,
    json: options.Json = False,
) -> None:
    """Say which options both commands have."""


@commands_app.command()
@command
def simulate(
    asked: Asked,
    *,
    jobs_out: Annotated[
        Path | None, options.file("The table of jobs: .csv, .parquet, or (of a log) .swf (.swf.gz, ...).")
    ] = None,
    tasks_out: Annotated[Path | None, options.file("The table of tasks of workflows: .csv or .parquet.")] = None,
    batsim_out: Annotated[
        Path | None, options.file("The table of jobs as Batsim writes it (.csv), for evalys.")
    ] = None,
    figure: Annotated[Path | None, options.file("Cores in use and queue over time: .svg, .png or .pdf.")] = None,
    graph: Annotated[Path | None, options.file("A workflow's graph, drawn by rank: .svg, .png or .pdf.")] = None,
    graph_job: Annotated[int | None, of(options.FILES, "N", "The workflow whose graph is drawn.", "0")] = None,
    view: Annotated[Path | None, options.file("A page to pan, zoom and search the Gantt chart: .html.")] = None,
) -> int:
    """Replay a log, workflows, or both under one policy, and show the figures of merit."""
    words, chosen = asked.words, asked.chosen
    if words["workload"] is None and not {"order", "heuristic", "router", "forward"} & chosen.keys():
        chosen.setdefault("bid", named_priority("PVR", "bid"))  # workflows bid, unless another policy is named
    wanted = Outputs(
        jobs=jobs_out, tasks=tasks_out, attempts=words["attempts_out"], batsim=batsim_out, gantt=words["gantt"],
        figure=figure, graph=graph, graph_job=graph_job, view=view, window=(words["draw_from"], words["draw_to"]),
    )  # fmt: skip
    main = _main(chosen, words["heuristic"])
    return commands.simulate(asked.scenario([main]), asked.setup(), main, wanted, json=words["json"])


def _main(chosen: Mapping[str, Any], heuristic: str | None) -> Policy:
    """Return the policy that gives a simulation its name: what stands foremost."""
    if "router" in chosen or chosen.get("forward"):
        return policy("router", chosen.get("router", AUCTION))
    if "bid" in chosen:
        return policy("bid", chosen["bid"])
    return policy("order", chosen.get("order", "FCFS")) if heuristic is None else policy("heuristic", heuristic)


@commands_app.command()
@command
def compare(
    asked: Asked,
    *,
    orders: Annotated[
        list[str] | None,
        typer.Option(
            "--orders",
            "-o",
            metavar="ORDER,...",
            rich_help_panel=COMPARED,
            help="Orders: names (see list), or yours as path/to/file.py:name or path/to/fit.toml.",
        ),
    ] = None,
    heuristics: Annotated[
        list[str] | None, of(COMPARED, "NAME,...", f"Or heuristics on machines: {', '.join(HEURISTICS)}.")
    ] = None,
    bids: Annotated[list[str] | None, of(COMPARED, "BID,...", "Or bids: names (see list), or yours.")] = None,
    routers: Annotated[list[str] | None, of(COMPARED, "NAME,...", f"Or routers: {', '.join(ROUTERS)}.")] = None,
    out: Annotated[
        Path | None, of(options.FILES, "FOLDER", "The folder for tables, figures, provenance.", "none is written")
    ] = None,
) -> int:
    """Replay a log, workflows, or both under several policies, and compare them: table, Parquet files, figures."""
    words, chosen = asked.words, asked.chosen
    lists: dict[Kind, list[str] | None] = {"order": orders, "heuristic": heuristics, "bid": bids, "router": routers}
    given = {kind: options.parts(texts) for kind, texts in lists.items() if texts is not None}
    if len(given) != 1:
        what = f"{len(given)} lists of policies" if given else "a comparison of nothing"
        raise RequestError(what, "one of --orders, --heuristics, --bids and --routers is needed")
    ((kind, names),) = given.items()
    policies = chosen_policies(kind, names)
    for name in sorted({name for each in policies for name in each.options} & chosen.keys()):
        raise RequestError(f"--{name.replace('_', '-')} with --{kind}s", "one of them is allowed")
    wanted = Outputs(
        attempts=words["attempts_out"], gantt=words["gantt"], window=(words["draw_from"], words["draw_to"])
    )
    return commands.compare_policies(
        asked.scenario(policies), asked.setup(), policies, wanted,
        out=out, command=["schedlab", *sys.argv[1:]], json=words["json"],
    )  # fmt: skip
