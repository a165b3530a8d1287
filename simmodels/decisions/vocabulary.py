"""Vocabulary: the words that an order or a bid may name as its parameters."""

from typing import Final

REGISTERS: Final = ("submit", "estimate", "runtime", "cores", "wait", "now", "draw")
"""The characteristics that a queue hands to its order as numbers; the others it keeps in a row for each job."""

OF_ROWS: Final = frozenset(
    {"user", "rank", "critical_path", "successor_work", "slr", "factor", "area", "value", "deadline", "soft_deadline"}
)
"""What the row of a job says beyond them, apart from further columns of its workload."""

IN_QUEUES: Final = (*REGISTERS, *sorted(OF_ROWS))
"""What a queue knows of a job."""

CHARACTERISTICS: Final = (
    "submit",  # when the job was submitted
    "now",
    "wait",  # since the job was submitted
    "runtime",  # of the task; of a rigid job its estimate
    "cores",  # of the task
    "rank",  # the longest way from the task's start to the job's end (T_R)
    "critical_path",  # of the job (CP)
    "slr",  # the SLR that the job gets if the task starts now and nothing waits after it (P-SLR)
    "factor",  # of the job's value curve at that SLR
    "area",  # under the curve from that SLR on
    "value",  # the most that the job can be worth (V_max)
    "successor_work",  # the work of the task and of what follows it (T_succ_sum)
    "deadline",  # of the job: submit + D_final CP
    "soft_deadline",  # submit + D_initial CP
    "longest",  # the longest critical path of the jobs in the queue that is auctioned
    "draw",  # a number in [0, 1) drawn for each task and instant from the simulation's seed
    "estimate",  # as `runtime`
    "start",  # when it would start at a place, as predicted; where tasks are forwarded
    "queue",  # how many jobs wait at the place; where tasks are forwarded
    "speed",  # of the place: how many seconds of a job its slowest machine does in a second; where tasks are forwarded
)
"""What an auction knows of a task, each a float; in the order in which it hands them over."""

OF_A_PLACE: Final = frozenset({"start", "queue", "speed"})
"""The characteristics that differ from place to place."""

OF_AUCTIONS: Final = OF_A_PLACE | {"longest"}
"""What a queue does not know."""

MOVING: Final = frozenset({"now", "wait", "slr", "factor", "area"})
"""The characteristics that change while a job waits."""

ALIASES: Final = {"successor_sum": "successor_work"}
"""Other names of characteristics."""


def plain_word(name: str) -> str:
    """Return the characteristic that a parameter of this name stands for."""
    return ALIASES.get(name, name)
