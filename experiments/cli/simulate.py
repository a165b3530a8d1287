"""``simulate`` and ``compare``: their options, which are those of the models, and what is asked for by them."""

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from experiments import cli_options as options
from experiments import commands
from experiments.cli_derived import PANELS, Derived, derived
from experiments.cli_help import command_of, examples
from experiments.cli_options import IN, OUT, POLICY, RUN, flag, of
from experiments.cli_output import cli_command
from experiments.cli_request import Asked
from experiments.inputs import named_priority, parts
from experiments.outputs import Outputs, parse_power
from experiments.policy import AUCTION, HEURISTICS, ROUTERS, Kind, Policy, chosen_policies, policy
from simmodels.errors import RequestError
from simmodels.ground.durations import seconds

WHERE: Final = "Where it runs"
SUPPLY: Final = "Machines that are switched on and off"
FLOWS: Final = "Workflows (with --workflows)"
_PANELS: Final = (IN, POLICY, WHERE, SUPPLY, FLOWS, *PANELS.values(), RUN, OUT)
"""The panels of the help, from above."""
_WORK: Final = ("workload", "workflows", "cores", "clean", "drop_oversized")
_SINGLE: Final = ("order", "heuristic", "bid", "router")
_SEVERAL: Final = ("orders", "heuristics", "bids", "routers")
_HOW: Final = ("backfilling", "threshold", "clusters", "cores_per_machine", "seed", "validate")
_COMMON: Final = (*_WORK, *_SINGLE, *_HOW, "jobs_out", "figure", "gantt", "view", "json", "quiet")
_COMMON_OF_COMPARE: Final = (*_WORK, *_SEVERAL, *_HOW, "out", "gantt", "json", "quiet")
_LISTED: Final = (*_COMMON_OF_COMPARE, *_COMMON)
"""The options that ``--help`` shows, in this order; ``--help-all`` shows all."""

commands_app = typer.Typer()


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Return a command of the options of `_shared`, of those of the models, and of its own, which are its parameters.

    Parameters
    ----------
    function
        Takes an `Asked`, and its own options.
    """
    own = [each for each in inspect.signature(function).parameters.values() if each.name != "asked"]
    shared = [*inspect.signature(_shared).parameters.values(), *options.OF_LOGS]
    models: dict[str, Derived] = derived([name for each in own for name in _option(each).param_decls or ()])

    def called(**given: Any) -> int:  # noqa: ANN401  what the command line says
        words = {each.name.rstrip("_"): given.pop(each.name) for each in shared}
        values = {name: given.pop(name) for name in models}
        chosen = {models[name].name: models[name].parse(value) for name, value in values.items() if value is not None}
        for kind in ("heuristic", "router"):
            if words[kind] is not None:
                own_options = policy(kind, words[kind]).options
                for name in sorted(own_options.keys() & chosen.keys()):
                    what = f"--{kind} {words[kind]} sets --{name.replace('_', '-')} itself"
                    raise RequestError(what, "omit one of them")
                chosen |= own_options
        if words["rebalance"] is not None:
            chosen["rebalance_s"] = seconds(words["rebalance"], "--rebalance")
        return function(Asked(words, chosen), **given)

    parameters = [*own, *shared, *(each.parameter for each in models.values())]
    called.__name__, called.__doc__ = function.__name__, function.__doc__
    parameters.sort(key=lambda each: (_PANELS.index(_panel(each)), _rank(each.name)))
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect.signature
    return cli_command(called)


def _panel(parameter: inspect.Parameter) -> str:
    """Return in which panel of the help a parameter stands."""
    return str(_option(parameter).rich_help_panel or RUN)


def _rank(name: str) -> int:
    """Return where a parameter stands in its panel: the common ones first."""
    return _LISTED.index(name) if name in _LISTED else len(_LISTED)


def _option(parameter: inspect.Parameter) -> Any:  # noqa: ANN401  typer's type is not public
    """Return the option that a parameter is annotated with."""
    return parameter.annotation.__metadata__[0]


def _help_all(context: typer.Context, asked: bool) -> bool:  # noqa: FBT001  typer calls it
    """Show all options and stop."""
    if asked:
        context.params["help_all"] = True
        typer.echo(context.get_help())
        raise typer.Exit
    return asked


def _shared(
    *,
    workload: options.MaybeWorkload = None,
    workflows: Annotated[
        Path | None, of(IN, "FOLDER", "A folder of workflows: WfFormat (.json) or Pegasus DAX (.xml, .dax).")
    ] = None,
    heuristic: Annotated[
        str | None,
        of(
            POLICY,
            "NAME",
            f"What places jobs on machines; see schedlab list heuristics: {', '.join(HEURISTICS)}.",
            "a queue",
            known="heuristics",
        ),
    ] = None,
    router: Annotated[
        str | None,
        of(
            POLICY,
            "NAME",
            f"How jobs are sent to several clusters; see schedlab list routers: {', '.join(ROUTERS)}.",
            known="routers",
        ),
    ] = None,
    rebalance: Annotated[
        str | None,
        of(POLICY, "TIME", "How often the router Auction offers waiting jobs again.", "never"),
    ] = None,
    kind: Annotated[
        str | None, of(FLOWS, "KIND", "The kind of cluster that all tasks need.", "what the files say")
    ] = None,
    curve: Annotated[
        str | None,
        of(
            FLOWS,
            "SLR:SLR",
            "The value of a workflow falls from the first schedule length ratio to zero at the second.",
            "what the files say, or never",
        ),
    ] = None,
    load: Annotated[
        float | None, of(FLOWS, "PART", "Submit workflows at this load, a share of all cores.", "all at once")
    ] = None,
    gap: Annotated[str | None, of(FLOWS, "TIME", "Submit workflows at this interval, instead of at a load.")] = None,
    poisson: Annotated[bool, flag(FLOWS, "Submit workflows at random intervals of that mean.", "--poisson")] = False,
    jobs: Annotated[
        int | None, of(FLOWS, "N", "The number of workflows to draw from the folder, at random.", "each file once")
    ] = None,
    clusters: Annotated[
        str | None,
        of(
            WHERE,
            "NxCORES:KIND,...",
            "The clusters, such as 3x1000:Kind1,2000; a cluster without a kind accepts any task.",
            "one of --cores, or of 64 for workflows",
        ),
    ] = None,
    cores_per_machine: Annotated[
        int | None, of(WHERE, "N", "Clusters consist of machines with this many cores.", "pools of cores")
    ] = None,
    from_: Annotated[
        str | None,
        of(
            WHERE,
            "TIME",
            "Where the simulated interval begins, such as 7d.",
            "the first submission",
            flags=("--from",),
        ),
    ] = None,
    until: Annotated[str | None, of(WHERE, "TIME", "Where the simulated interval ends.", "the last submission")] = None,
    walk: Annotated[
        str | None,
        of(SUPPLY, "MEAN:RADIUS:PERIOD", "The number of machines is a random walk, such as 24:8:20min."),
    ] = None,
    series: Annotated[
        Path | None, of(SUPPLY, "FILE", "Or it follows a table in CSV: times, then power or numbers of nodes.")
    ] = None,
    column: Annotated[
        str | None, of(SUPPLY, "NAME", "The column of the table; several are added: A+B.", "the only one there is")
    ] = None,
    per_machine: Annotated[
        float | None, of(SUPPLY, "X", "What a machine needs, in the unit of the series.", "1")
    ] = None,
    min_machines: Annotated[int | None, of(SUPPLY, "N", "Lower limit of the number of machines.", "0")] = None,
    max_machines: Annotated[
        int | None, of(SUPPLY, "N", "Upper limit of the number of machines.", "what the series allows")
    ] = None,
    series_from: Annotated[
        str | None, of(SUPPLY, "TIME", "Offset into the series at which the simulated interval begins.", "0")
    ] = None,
    repeat: Annotated[bool, flag(SUPPLY, "Start the series again at its end.", "--repeat")] = False,
    notice: Annotated[str | None, of(SUPPLY, "TIME", "Advance notice given of each change.", "0")] = None,
    mode: Annotated[
        str | None,
        of(SUPPLY, "kill|drain|checkpoint", "What happens to jobs on machines that are switched off.", "kill"),
    ] = None,
    checkpoint_cost: Annotated[
        str | None, of(SUPPLY, "TIME", "The time it takes to write a checkpoint.", "no checkpoints; on notice 0")
    ] = None,
    checkpoint_every: Annotated[
        str | None, of(SUPPLY, "TIME", "The work between two checkpoints.", "only on notice")
    ] = None,
    restart: Annotated[str, of(SUPPLY, "TIME", "The time it takes to restart from a checkpoint.")] = "0",
    reference: Annotated[
        Path | None,
        of(SUPPLY, "FILE", "Jobs from whose lengths the risk of each target is estimated.", "the week before --from"),
    ] = None,
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    validate: options.Validate = False,
    tau: options.Tau = 10.0,
    attempts_out: Annotated[Path | None, options.file("The table of all attempts: .csv or .parquet.")] = None,
    gantt: Annotated[Path | None, options.file("The Gantt chart, one panel per cluster: .svg, .png or .pdf.")] = None,
    draw_from: Annotated[
        str | None, of(OUT, "TIME", "Where the figures begin: 3600, 12h, 30d.", "the first submission")
    ] = None,
    draw_to: Annotated[str | None, of(OUT, "TIME", "Where the figures end.", "the last event")] = None,
    json: options.Json = False,
    help_all: Annotated[
        bool,
        typer.Option("--help-all", callback=_help_all, is_eager=True, help="Show all options and exit."),
    ] = False,
) -> None:
    """Say which options both commands have."""


@commands_app.command(
    cls=command_of(_COMMON),
    epilog=examples(
        "schedlab simulate --workload log.swf --order SAF",
        "schedlab simulate --workload log.swf --order SAF --threshold 40h --jobs-out jobs.csv --gantt gantt.svg",
        "schedlab simulate --workload log.swf --heuristic FirstFit --cores-per-machine 32",
    ),
)
@command
def simulate(
    asked: Asked,
    *,
    jobs_out: Annotated[
        Path | None, options.file("The table of jobs: .csv, .parquet, or (of a log) .swf (.swf.gz, ...).")
    ] = None,
    tasks_out: Annotated[Path | None, options.file("The table of tasks of workflows: .csv or .parquet.")] = None,
    batsim_out: Annotated[Path | None, options.file("The table of jobs in Batsim's format (.csv), for evalys.")] = None,
    figure: Annotated[Path | None, options.file("Cores in use and queue over time: .svg, .png or .pdf.")] = None,
    graph: Annotated[Path | None, options.file("The graph of a workflow, by rank: .svg, .png or .pdf.")] = None,
    graph_job: Annotated[int | None, of(OUT, "N", "The workflow whose graph is drawn.", "0")] = None,
    view: Annotated[Path | None, options.file("A page to pan, zoom and search the Gantt chart: .html.")] = None,
    trace: Annotated[
        Path | None, options.file("A trace for ui.perfetto.dev: .json (Chrome's format) or .pftrace, also with .gz.")
    ] = None,
    power: Annotated[
        str | None, of(OUT, "W:W", "The trace counts power: watts of a machine that is on, of a core in use.")
    ] = None,
) -> int:
    """Simulate a log, workflows, or both under one policy, and print the metrics."""
    words, chosen = asked.words, asked.chosen
    if words["workload"] is None and not {"order", "heuristic", "router", "forward"} & chosen.keys():
        chosen.setdefault("bid", named_priority("PVR", "bid"))  # workflows bid, unless another policy is named
    wanted = Outputs(
        jobs=jobs_out, tasks=tasks_out, attempts=words["attempts_out"], batsim=batsim_out, gantt=words["gantt"],
        figure=figure, graph=graph, graph_job=graph_job, view=view, trace=trace,
        power=None if power is None else parse_power(power), window=(words["draw_from"], words["draw_to"]),
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


@commands_app.command(
    cls=command_of(_COMMON_OF_COMPARE),
    epilog=examples(
        "schedlab compare --workload log.swf --orders FCFS,SAF,WFP3",
        "schedlab compare --workload log.swf --orders FCFS,SAF --threshold 40h --out results/orders",
        "schedlab compare --workload log.swf --clusters 2x64 --routers RoundRobin,EarliestStart --drop-oversized",
    ),
)
@command
def compare(
    asked: Asked,
    *,
    orders: Annotated[
        list[str] | None,
        of(
            POLICY,
            "ORDER,...",
            "Orders: names (see schedlab list orders), or yours as path/to/file.py:name or path/to/fit.toml.",
            flags=("--orders", "-o"),
            known="orders",
        ),
    ] = None,
    heuristics: Annotated[
        list[str] | None,
        of(POLICY, "NAME,...", f"Or heuristics on machines: {', '.join(HEURISTICS)}.", known="heuristics"),
    ] = None,
    bids: Annotated[
        list[str] | None,
        of(POLICY, "BID,...", "Or bids of workflows: names (see schedlab list bids), or yours.", known="bids"),
    ] = None,
    routers: Annotated[
        list[str] | None, of(POLICY, "NAME,...", f"Or routers: {', '.join(ROUTERS)}.", known="routers")
    ] = None,
    out: Annotated[Path | None, of(OUT, "FOLDER", "The folder of tables, figures and provenance.")] = None,
    force: options.Force = False,
) -> int:
    """Simulate a log, workflows, or both under several policies, and compare them: table, files, figures."""
    words, chosen = asked.words, asked.chosen
    lists: dict[Kind, list[str] | None] = {"order": orders, "heuristic": heuristics, "bid": bids, "router": routers}
    given = {kind: parts(texts) for kind, texts in lists.items() if texts is not None}
    if len(given) != 1:
        what = f"{len(given)} lists of policies exclude each other" if given else "there is nothing to compare"
        raise RequestError(what, "give one of --orders, --heuristics, --bids and --routers")
    ((kind, listed),) = given.items()
    policies = chosen_policies(kind, listed)
    for name in sorted({name for each in policies for name in each.options} & chosen.keys()):
        what = f"--{name.replace('_', '-')} and --{kind}s exclude each other"
        raise RequestError(what, "omit one of them")
    wanted = Outputs(
        attempts=words["attempts_out"], gantt=words["gantt"], window=(words["draw_from"], words["draw_to"])
    )
    return commands.compare_policies(
        asked.scenario(policies), asked.setup(), policies, wanted,
        out=out, command=["schedlab", *sys.argv[1:]], force=force, json=words["json"],
    )  # fmt: skip
