"""Setup: how one simulation of a comparison is run, and what came of it."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Final

import pandas as pd

from experiments.fitted import FIRST_COME, Used
from experiments.fitting import with_fitted
from experiments.inputs import describe_error
from experiments.option import FITTED, POLICY, RUN, Models, Option, Seed, Tau, flag_of
from experiments.policy import HEURISTICS, ROUTERS, TARGETED, Kind, Policy, policy_of, require_shares_used
from experiments.scenario import Scenario
from simmodels import ImpossibleJobError, RequestError, Schedule, SimModelsError, Site, Workload, simulate
from simmodels.clusters.limits import Limits
from simmodels.clusters.outages import MAX_REQUEUES, as_max_requeues
from simmodels.clusters.shares import Shares
from simmodels.engine import Engine, require_engine
from simmodels.errors import must_be
from simmodels.ground.durations import as_seconds
from simmodels.model import Model, RouterName, SchedulerOptions
from simmodels.policies.auction_options import TRAVEL, AuctionOptions
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions, has_option
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.rows import require_columns
from simmodels.simulate import policies_of

PANELS: Final[Mapping[type[Options], str]] = {
    QueueOptions: "Options of a queue",
    PlacementOptions: "Options of a placer (with --heuristic)",
    AuctionOptions: "Options of an auction (with --bid)",
}
"""The panels of the help with the options of the models."""
KINDS: Final[Mapping[type[Options], str]] = {
    QueueOptions: "a queue",
    PlacementOptions: "a placer (heuristic)",
    AuctionOptions: "an auction (bid)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How the cells of a comparison are run: all but the workload, its clusters and the policy.

    Parameters
    ----------
    heuristic
        What places jobs on machines; see schedlab list heuristics.
    router
        How jobs are sent to several clusters; see schedlab list routers.
    rebalance_s
        How often the router Auction offers waiting jobs again.
    options
        Options of queues, placers and auctions, by name, as `simmodels.simulate` takes them; with those that the three
        before stand for.
    engine
        Which engine simulates; all give the same schedule.
    seed
        The seed of all random numbers.
    max_requeues
        How often in succession a job may lose all its work before a simulation without a window is stopped.
    validate
        Check that each schedule is legal.
    tau_s
        The bound of the bounded slowdowns, in seconds, > 0.

    Raises
    ------
    UnknownNameError, RequestError
        A value is out of range, or the heuristic or router is given with an option that it sets itself.
    """

    heuristic: Annotated[
        str | None,
        Option(
            POLICY,
            "NAME",
            "a queue",
            known="heuristics",
            help=f"What places jobs on machines; see schedlab list heuristics: {', '.join(HEURISTICS)}.",
        ),
    ] = None
    router: Annotated[
        str | None,
        Option(
            POLICY,
            "NAME",
            known="routers",
            help=f"How jobs are sent to several clusters; see schedlab list routers: {', '.join(ROUTERS)}.",
        ),
    ] = None
    rebalance_s: Annotated[float | None, Option(POLICY, default="never")] = None
    options: Annotated[Mapping[str, Any], Models(PANELS)] = field(default_factory=dict)
    engine: Annotated[Engine, Option(RUN)] = "auto"
    seed: Seed = 0
    max_requeues: Annotated[int, Option(RUN)] = MAX_REQUEUES
    validate: Annotated[bool, Option(RUN)] = False
    tau_s: Tau = 10.0

    def __post_init__(self) -> None:
        """Check the values, before anything is run."""
        require_engine(self.engine, self.seed)
        as_max_requeues(self.max_requeues)
        object.__setattr__(self, "tau_s", as_seconds("tau_s", self.tau_s, above=0))
        chosen = dict(self.options)
        words: Mapping[Kind, str | None] = {"heuristic": self.heuristic, "router": self.router}
        for kind, name in words.items():
            own = {} if name is None else policy_of(kind, name).options
            for option in sorted(own.keys() & chosen.keys()):
                raise RequestError(f"--{kind} {name} sets {flag_of(option)} itself", "omit one of them")
            chosen |= own
        if self.rebalance_s is not None:
            chosen["rebalance_s"] = self.rebalance_s
        object.__setattr__(self, "options", chosen)

    def fitted_to(
        self, scenario: Scenario, policies: Sequence[Policy], note: Callable[[str], None]
    ) -> tuple[Scenario, "Setup", tuple[Policy, ...]]:
        """Return scenario, setup and policies in which limits that are to be fitted are those that the log shows.

        With them come what else the log shows: of one pool, how many cores are in service; and of queues that are
        first come, first served, priorities. Where partitions share a machine, limits replace the router to them.

        Raises
        ------
        RequestError
            See `experiments.fitting.fit`; or a placer is asked for where partitions share a machine.
        """
        options, limits = self.options, self.options.get("limits")
        placers = [each.name for each in policies if "heuristic" in {**options, **each.options}]
        if placers and scenario.shared is not None:
            what = f"a placer ({placers[0]}) where {scenario.shared.columns[0]}s share cores, under limits"
            raise RequestError(what, "use a queue")
        if limits == FITTED:
            if scenario.shared is not None:
                what = f"fitted limits beside the cores of each {scenario.shared.columns[0]}"
                raise RequestError(what, "omit the router: these are fitted, too")
            log = replace(scenario.workload, max_cores=scenario.cores)
            options, used = with_fitted(options, log, note, sizes=scenario.on is None)
            if used.cores is not None:
                scenario = replace(scenario, workload=used.on(log), where=f"{used.cores:,} of {log.max_cores:,} cores")
            policies = [_with_priorities(each, used, {**options, **each.options}) for each in policies]
            if used.ahead is not None and all(each.options.get("order") is not used.ahead for each in policies):
                note(f"Priorities change {FIRST_COME} alone: here they have no effect.")
        elif scenario.shared is not None:
            options = scenario.on_one_machine(options, limits)
            policies = [replace(each, options=scenario.on_one_machine(each.options, limits)) for each in policies]
        return scenario, self._with(options), tuple(policies)

    def _with(self, options: Mapping[str, Any]) -> "Setup":
        """Return the setup with other options, which have what heuristic and router stand for."""
        return replace(self, heuristic=None, router=None, options=options)

    def require(self, policies: Collection[Policy]) -> None:
        """Refuse options that none of the policies has, or that are out of range.

        Raises
        ------
        UnknownNameError, RequestError
            Naming the option.
        """
        resolved = [self._options(policy) for policy in policies]
        for name in self.options:
            if not any(name in each for each in resolved):
                owners = {kind: text for kind, text in KINDS.items() if name in {each.name for each in fields(kind)}}
                if name in {"heuristic", "bid"}:
                    hint = "omit one of them"
                elif any(kind in owners for each in resolved for kind in kinds_of(each)):
                    hint = "use it with another heuristic"  # one that has targets, or none
                else:
                    owner = " or ".join(owners.values()) or "an auction that forwards (router Auction)"
                    hint = f"use it with {owner}"
                asked = ", ".join(policy.name for policy in policies)
                raise RequestError(f"{name} has no effect on {asked}", hint)
        known = self._with({name: value for name, value in self.options.items() if value != FITTED})
        rules = [known._rules(policy, _ONE_JOB)[0] for policy in policies]  # noqa: SLF001  of this class
        require_shares_used(self.options, [each for each in rules if isinstance(each, QueueOptions)])

    def _rules(
        self, policy: Policy, reference: Workload | None
    ) -> tuple[SchedulerOptions, RouterName | AuctionOptions | None]:
        """Return what schedules under a policy; refuse as `simulate` does."""
        options = self._options(policy, reference)
        options.pop("rebalance_s", None)
        return policies_of(options.pop("heuristic", None), options.pop("router", None), options)

    def _options(self, policy: Policy, reference: Workload | None = None) -> dict[str, Any]:
        """Return the options of a policy: its own, and those of the setup that it has; with a reference, if it has."""
        found = {**self.options, **policy.options}
        if found.get("forward"):
            found.setdefault("bid", "PVR")
        elif "router" in policy.options:  # compared with an auction, which has a bid
            found.pop("bid", None)
        kinds, heuristic = kinds_of(found), found.get("heuristic")
        if policy.kind in {"order", "heuristic"} and kinds == (AuctionOptions,):
            raise RequestError(
                f"{policy.kind} {policy.name} and a bid exclude each other", "set forward=True to use both"
            )
        for name in self.options:
            if "router" in found and name in TRAVEL:
                continue
            if name == "router" or (name == "rebalance_s" and found.get("forward")) or name not in found:
                continue
            taken = [kind for kind in kinds if name in {each.name for each in fields(kind)}]
            if not taken or (taken == [PlacementOptions] and not has_option(str(heuristic), name)):
                del found[name]
        return found | ({"reference": reference} if heuristic in TARGETED else {})

    def with_one_network(self, scenario: Scenario, policies: Collection[Policy]) -> "Setup":
        """Return the setup in which data of workflows travel alike under all policies: as in an auction among them."""
        auction = any(policy.options.get("forward") for policy in policies)
        if scenario.workload.is_rigid or not auction:
            return self
        travel = {each.name: each.default for each in fields(AuctionOptions) if each.name in TRAVEL}
        return replace(self, options={**travel, **self.options})

    def check(self, scenario: Scenario, policies: Collection[Policy]) -> None:
        """Refuse a scenario that these policies cannot run, before anything is run.

        Raises
        ------
        RequestError
            A policy does not go together with the clusters, or all jobs would stand outside the metrics.
        """
        workload = scenario.workload
        jobs, warm = int(workload.known().sum()), self.options.get("warm_jobs") or 0
        if warm >= max(jobs, 1):
            raise RequestError(must_be("warm_jobs", f"less than the {jobs} jobs of {workload.name!r}", warm))
        sites = scenario.on or (Site(cores=workload.max_cores),)
        travel = [name for name in TRAVEL if name in self.options]
        if travel and workload.is_rigid:
            raise RequestError(f"{', '.join(travel)} without workflows", "leave it out, or add workflows")
        for policy in policies:
            options = self._options(policy)
            for name, each in options.items():
                if isinstance(each, Priority) and name != "bid":
                    require_columns(each.columns, workload)
            rules, before = self._rules(policy, scenario.reference)
            model = Model(workload, sites, rules, before, options.get("rebalance_s"), scenario.window_s, self.seed)
            model.require_runnable()
            if self.engine == "compiled" and model.uncovered is not None:
                what = f"the compiled engine does not cover {model.uncovered}"
                raise RequestError(what, "use engine='auto' or 'simpy'")

    def simulate(self, scenario: Scenario, policy: Policy) -> Schedule:
        """Return the schedule of a scenario under a policy."""
        options = self._options(policy, scenario.reference)
        if "router" in options and scenario.workload.is_rigid:  # compared with an auction, which has them
            options = {name: value for name, value in options.items() if name not in TRAVEL}
        schedule = simulate(
            scenario.workload,
            on=scenario.on,
            window_s=scenario.window_s,
            engine=self.engine,
            seed=self.seed,
            max_requeues=self.max_requeues,
            **options,
        )
        return schedule.validate() if self.validate else schedule

    def run(self, scenario: Scenario, policy: Policy) -> "Cell":
        """Run one policy; a failure of it is recorded in the cell, not raised.

        Raises
        ------
        ImpossibleJobError, RequestError
            No policy can run the scenario, or not this kind of policy.
        """
        try:
            schedule = self.simulate(scenario, policy)
            return Cell(policy, schedule, schedule.metrics(self.tau_s))
        except ImpossibleJobError:
            raise
        except Exception as error:
            files = self.files([policy])
            ours = isinstance(error, SimModelsError | MemoryError) and not isinstance(error, RequestError)
            if not (files or ours):
                raise  # a request that no policy of this kind can serve, or our own mistake
            return Cell(policy, error=describe_error(error, files))

    def files(self, policies: Collection[Policy]) -> list[str]:
        """Return the files in which the orders and bids that are no built-in ones are defined."""
        options = [each for policy in policies for each in self._options(policy).values()]
        asked = [each for each in options if isinstance(each, Priority)]
        return [inspect.getfile(inspect.unwrap(each.function)) for each in asked if not each.is_built_in]

    def shared(self, policies: Sequence[Policy]) -> dict[str, object]:
        """Return what `table` says alike of all these policies, and the engine."""
        first, *others = [self.table(policy) for policy in policies]
        alike = {name: value for name, value in first.items() if all(each.get(name, ...) == value for each in others)}
        return {**alike, "engine": self.engine}

    def table(self, policy: Policy) -> dict[str, object]:
        """Return all options of a policy by name, as tables and JSON hold them, and seed and tau."""
        options = self._options(policy)
        found: dict[str, object] = {}
        for kind in kinds_of(options):
            heuristic = options.get("heuristic")
            known = {name: default for name, default, _, _ in kind.described()}
            if kind is PlacementOptions:
                known = {name: default for name, default in known.items() if has_option(str(heuristic), name)}
            found |= known
        found |= {name: _as_held(value) for name, value in options.items() if name != policy.kind}
        for name in (policy.kind, "reference", "checkpoints"):
            found.pop(name, None)
        return found | {"seed": self.seed, "tau_s": self.tau_s}


def _as_held(value: Any) -> object:  # noqa: ANN401  of any option
    """Return the value of an option as tables and JSON hold it: the rows of limits and shares, the name of an order."""
    return value.table() if isinstance(value, Limits | Shares) else getattr(value, "name", value)


def _with_priorities(policy: Policy, used: Used, options: Mapping[str, Any]) -> Policy:
    """Return a policy, with all its options, that has the priorities read off a log if it is a queue under FCFS."""
    if kinds_of(options) != (QueueOptions,) or used.ordered(options) is options or used.ahead is None:
        return policy
    name = used.ahead.name if policy.kind == "order" else policy.name
    return replace(policy, name=name, options={**policy.options, "order": used.ahead})


def kinds_of(options: Mapping[str, Any]) -> tuple[type[Options], ...]:
    """Return which options `simmodels.simulate` takes beside these."""
    scheduler = PlacementOptions if options.get("heuristic") is not None else QueueOptions
    if "bid" not in options:
        return (scheduler,)
    return (AuctionOptions, scheduler) if options.get("forward") else (AuctionOptions,)


def column_types() -> Iterator[tuple[str, str]]:
    """Return the type of each option's column in a table: one with no value has its type all the same."""
    for kind in KINDS:
        for each in fields(kind):
            text = str(each.type)
            if "int" in text and "tuple" not in text:
                yield each.name, "Int64"
            elif "float" in text:
                yield each.name, "float64"
            elif "bool" in text:
                yield each.name, "boolean"
            else:
                yield each.name, "string"


_ONE_JOB: Final = Workload.from_frame(pd.DataFrame({"submit_s": [0], "runtime_s": [1], "cores": [1]}))
"""Stands for the reference that is read later, where only the other options are checked."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of one policy.

    Parameters
    ----------
    policy
        The policy.
    schedule
        Its schedule; None if it failed.
    metrics
        The schedule's figures of merit.
    error
        What went wrong; None if nothing did.
    """

    policy: Policy
    schedule: Schedule | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    error: str | None = None
