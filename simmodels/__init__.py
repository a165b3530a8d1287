"""schedlab's models: workloads, clusters, schedulers, and what they decide.

>>> import simmodels as sm
"""

from simmodels.capacity import Capacity, CapacityChange
from simmodels.capacity_schedule import CapacitySchedule
from simmodels.decisions.checkpointing import Checkpoints, young_daly_s
from simmodels.decisions.order import Order
from simmodels.decisions.orders import TWELVE_ORDERS, order, orders
from simmodels.decisions.selection import EXP3, UCB1, EpsilonGreedy, FullFeedback, RandomOrder, Strategy
from simmodels.energy import Power, Signal
from simmodels.entities.cluster import Attempt, Cluster, Machine, Outcome
from simmodels.entities.environment import Environment
from simmodels.entities.placer import FirstFit, PackedTargetAsap, TargetAsap, TargetStretch
from simmodels.entities.powering import CapacityProcess, MarkovCapacity, TraceCapacity
from simmodels.entities.recorder import Recorder
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.errors import (
    FileFormatError,
    IllegalScheduleError,
    ImpossibleJobError,
    RequestError,
    SimModelsError,
    UnknownNameError,
)
from simmodels.schedule import Schedule
from simmodels.simulate import simulate
from simmodels.simulate_on_machines import simulate_on_machines
from simmodels.tuning import Tuner, replay_tuned
from simmodels.units import DAY, HOUR, MINUTE, SECOND, WEEK
from simmodels.version import __version__
from simmodels.workload import Job, Workload

__all__ = [
    "DAY",
    "EXP3",
    "HOUR",
    "MINUTE",
    "SECOND",
    "TWELVE_ORDERS",
    "UCB1",
    "WEEK",
    "Attempt",
    "Capacity",
    "CapacityChange",
    "CapacityProcess",
    "CapacitySchedule",
    "Checkpoints",
    "Cluster",
    "Environment",
    "EpsilonGreedy",
    "FileFormatError",
    "FirstFit",
    "FullFeedback",
    "IllegalScheduleError",
    "ImpossibleJobError",
    "Job",
    "Machine",
    "MarkovCapacity",
    "Order",
    "Outcome",
    "PackedTargetAsap",
    "Power",
    "QueueScheduler",
    "RandomOrder",
    "Recorder",
    "RequestError",
    "Schedule",
    "Signal",
    "SimModelsError",
    "Source",
    "Strategy",
    "TargetAsap",
    "TargetStretch",
    "TraceCapacity",
    "Tuner",
    "UnknownNameError",
    "Workload",
    "__version__",
    "order",
    "orders",
    "replay_tuned",
    "simulate",
    "simulate_on_machines",
    "young_daly_s",
]
