from simmodels.clusters.capacity import Capacity, CapacityChange
from simmodels.clusters.checkpoints import Checkpoints, young_daly_s
from simmodels.clusters.energy import Power, Signal
from simmodels.clusters.limit import Limit
from simmodels.clusters.limits import Limits
from simmodels.clusters.outages import FailureLaw, MaintenanceWindow
from simmodels.clusters.power_saving import SleepPolicy
from simmodels.clusters.shares import Share, Shares
from simmodels.clusters.site import Site
from simmodels.clusters.sizes import Machines
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.auctioneer import Auctioneer
from simmodels.entities.base_scheduler import Placement, Scheduler
from simmodels.entities.capacity_process import CapacityProcess, MarkovCapacity, TraceCapacity
from simmodels.entities.cluster import Cluster
from simmodels.entities.dependencies import Dependencies
from simmodels.entities.done import all_done
from simmodels.entities.environment import Environment
from simmodels.entities.events import (
    Backfilled,
    Ended,
    Lost,
    Powered,
    Priced,
    Reserved,
    Routed,
    Started,
    Submitted,
    WorkflowDone,
)
from simmodels.entities.heuristics import FirstFit, PackedTargetAsap, TargetAsap, TargetStretch
from simmodels.entities.job import TaskRun
from simmodels.entities.machine import Machine
from simmodels.entities.outages import Failures, Maintenance
from simmodels.entities.power_saving import SleepWhenIdle
from simmodels.entities.queue_scheduler import QueueScheduler
from simmodels.entities.recorder import Recorder
from simmodels.entities.router import ByColumn, EarliestStart, LeastLoaded, RoundRobin, Router
from simmodels.entities.source import Source
from simmodels.errors import (
    ColumnError,
    FileFormatError,
    IllegalScheduleError,
    ImpossibleJobError,
    RequestError,
    SimModelsError,
    StoppedError,
    UnknownNameError,
)
from simmodels.learning.pairs import Pair, draw_pairs
from simmodels.learning.regression import Fit, fit_polynomial
from simmodels.learning.trials import run_trials, score_jobs
from simmodels.policies.ahead import Ahead
from simmodels.policies.bids import TEN_BIDS, Bid, bid, bids
from simmodels.policies.order import Order
from simmodels.policies.orders import TWELVE_ORDERS, order, orders
from simmodels.policies.polynomial import Polynomial
from simmodels.policies.selection import EXP3, UCB1, EpsilonGreedy, FullFeedback, RandomOrder, Strategy
from simmodels.results.logged import as_logged
from simmodels.results.schedule import ClusterSpec, Schedule, Terms
from simmodels.results.static_scheduling import static_schedule
from simmodels.simulate import simulate, simulate_on_machines, simulate_workflows
from simmodels.simulate_many import simulate_many
from simmodels.tuning import Tuner, replay_tuned
from simmodels.units import DAY, HOUR, MINUTE, SECOND, WEEK
from simmodels.version import __version__
from simmodels.work.curve import FOREVER, ValueCurve
from simmodels.work.workflow import Task, Workflow
from simmodels.work.workload import Job, Workload

__all__ = [
    "DAY",
    "EXP3",
    "FOREVER",
    "HOUR",
    "MINUTE",
    "SECOND",
    "TEN_BIDS",
    "TWELVE_ORDERS",
    "UCB1",
    "WEEK",
    "Ahead",
    "Attempt",
    "Auctioneer",
    "Backfilled",
    "Bid",
    "ByColumn",
    "Capacity",
    "CapacityChange",
    "CapacityProcess",
    "Checkpoints",
    "Cluster",
    "ClusterSpec",
    "ColumnError",
    "Dependencies",
    "EarliestStart",
    "Ended",
    "Environment",
    "EpsilonGreedy",
    "FailureLaw",
    "Failures",
    "FileFormatError",
    "FirstFit",
    "Fit",
    "FullFeedback",
    "IllegalScheduleError",
    "ImpossibleJobError",
    "Job",
    "LeastLoaded",
    "Limit",
    "Limits",
    "Lost",
    "Machine",
    "Machines",
    "Maintenance",
    "MaintenanceWindow",
    "MarkovCapacity",
    "Order",
    "Outcome",
    "PackedTargetAsap",
    "Pair",
    "Placement",
    "Polynomial",
    "Power",
    "Powered",
    "Priced",
    "QueueScheduler",
    "RandomOrder",
    "Recorder",
    "RequestError",
    "Reserved",
    "RoundRobin",
    "Routed",
    "Router",
    "Schedule",
    "Scheduler",
    "Share",
    "Shares",
    "Signal",
    "SimModelsError",
    "Site",
    "SleepPolicy",
    "SleepWhenIdle",
    "Source",
    "Started",
    "StoppedError",
    "Strategy",
    "Submitted",
    "TargetAsap",
    "TargetStretch",
    "Task",
    "TaskRun",
    "Terms",
    "TraceCapacity",
    "Tuner",
    "UnknownNameError",
    "ValueCurve",
    "Workflow",
    "WorkflowDone",
    "Workload",
    "__version__",
    "all_done",
    "as_logged",
    "bid",
    "bids",
    "draw_pairs",
    "fit_polynomial",
    "order",
    "orders",
    "replay_tuned",
    "run_trials",
    "score_jobs",
    "simulate",
    "simulate_many",
    "simulate_on_machines",
    "simulate_workflows",
    "static_schedule",
    "young_daly_s",
]
