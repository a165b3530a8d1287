"""Vocabulary: the words that an order or a bid may name as its parameters."""

from typing import Final, NamedTuple


class Word(NamedTuple):
    """A word: what it says of a task of a workflow, and of a rigid job if that is another thing."""

    of_task: str
    of_rigid: str = ""


WORDS: Final = {
    "submit": Word("when its job was submitted; in a queue, when the task came there"),
    "now": Word("the instant of the decision"),
    "wait": Word("how long it has waited: now - submit"),
    "runtime": Word("its runtime", "its real runtime, which nobody knows in practice; in an auction its estimate"),
    "cores": Word("its cores"),
    "rank": Word("the longest way from its start to the end of its job (upward rank)", "its estimate"),
    "critical_path": Word("the longest way through its job", "its estimate"),
    "slr": Word(
        "(rank + time since its job was submitted) / critical path", "(wait + estimate) / estimate; 1 for 0 / 0"
    ),
    "factor": Word("the share of its value that its job has at that SLR", "1"),
    "area": Word("the area under the value curve of its job from that SLR on", "infinity"),
    "value": Word("the most that its job can be worth", "its estimate times its cores"),
    "successor_work": Word(
        "its work and that of all that follows it, in cores times time", "its estimate times its cores"
    ),
    "deadline": Word("when the worth of its job reaches 0", "infinity"),
    "soft_deadline": Word("when the worth of its job begins to fall", "infinity"),
    "longest": Word("the longest critical path of the jobs in the queue, of all kinds"),
    "longest_of_kind": Word("the longest critical path of the jobs in the queue of its kind"),
    "draw": Word("a number in [0, 1) from the seed: in a queue one for each job, in an auction one for each auction"),
    "estimate": Word("its runtime", "its estimate"),
    "start": Word("when it would start at a place, as predicted; where tasks are forwarded"),
    "queue": Word("how many jobs wait at the place; where tasks are forwarded", "for an order, its queue in the log"),
    "speed": Word("the speed of the place; where tasks are forwarded"),
    "user": Word("-1", "the number of its user; -1 when unknown"),
    "fairshare": Word("1", "the fair-share factor of its user, from 0 to 1, by the shares of the queue"),
}
"""Every word, each a float. Times are in seconds; in an auction, those of a bid are in ticks (of `tick_s` seconds)."""

REGISTERS: Final = ("submit", "estimate", "runtime", "cores", "wait", "now", "draw")
"""The words that a queue hands to its order as numbers; the others it keeps in a row for each job."""

OF_A_PLACE: Final = frozenset({"start", "queue", "speed"})
"""The words for what differs from place to place."""

LONGEST: Final = frozenset({"longest", "longest_of_kind"})
"""The words for the longest critical path in a queue: a bid may name one of them."""

OF_AUCTIONS: Final = OF_A_PLACE | LONGEST
"""The words for what a queue does not know."""

IN_QUEUES: Final = (*REGISTERS, *(word for word in WORDS if word not in {*REGISTERS, *OF_AUCTIONS}))
"""The words for what a queue knows of a job; it also knows the further columns of its workload."""

OF_USERS: Final = frozenset({"user", "fairshare"})
"""The words for what is known of the user of a rigid job."""

CHARACTERISTICS: Final = tuple(word for word in WORDS if word not in OF_USERS)
"""The words for what an auction knows of a task, in the order in which `bidding.key_of` hands them over."""

MOVING: Final = frozenset({"now", "wait", "slr", "factor", "area", "fairshare"})
"""The words for what changes while a job waits."""

ALIASES: Final = {"successor_sum": "successor_work"}
"""Other names of words."""


def plain_word(name: str) -> str:
    """Return the word that a parameter of this name stands for."""
    return ALIASES.get(name, name)
