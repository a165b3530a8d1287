"""The claims of the cross study as rows: whether orders keep their rank, whether risk matters more, who routes best."""

from collections.abc import Iterator
from typing import Final

from experiments.campaigns.claims import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Compared, Sentence
from experiments.studies.cross.measures import SLOWDOWN
from experiments.studies.cross.results import CrossResults
from experiments.studies.cross.settings import AUCTION, AWARE, ONE_QUEUE, ROUTERS, TARGETED, UNAWARE

KEPT: Final = 0.8
"""Kendall's tau from which on a ranking counts as kept: of four orders, one swap of neighbours leaves 0.67."""

RANKING: Final = (
    Sentence(
        "The ranking of the orders on steady machines is kept {on}",
        "question 1",
        Compared("rankings", at_least=KEPT),
        "Kendall's tau of the rankings of the fixed orders",
    ),
    Sentence(
        "The order learned on a steady machine keeps its rank {on}",
        "question 1",
        Compared("rank", "learned", within=0.5),
        "its rank there less that on steady machines",
    ),
    *(
        Sentence(
            f"The learned order is better than {other} {{on}}",
            "question 1",
            Compared(SLOWDOWN, "learned", other, how="over", mean=["along"], less_than=1.0),
            f"its bounded slowdown over that of {other}, geometric mean of the workloads and deciders",
        )
        for other in ("FCFS", "SAF")
    ),
)
"""On the orders, at each capacity that changes."""

RISK: Final = tuple(
    Sentence(
        f"Knowing the risk matters more for {about} than the order, on {{on}}: {what}",
        "question 2",
        Compared(f"risk in {about}", knows, without, more_than=1.0),
        f"reduction of the {reduced}, over the difference of the best and the worst fixed order under "
        f"{without if knows == TARGETED else knows}",
        note="a negative value: knowing the risk made it worse",
    )
    for what, knows, without in (
        ("First fit that knows the risk against first fit that does not, under the same order", AWARE, UNAWARE),
        ("TargetASAP against EASY, both first come, first served", TARGETED, "EASY"),
        ("TargetASAP against first fit that does not know the risk, both first come, first served", TARGETED, UNAWARE),
    )
    for about, reduced in (("slowdown", "logarithm of the bounded slowdown"), ("lost work", "lost share"))
)
"""On knowing the risk, on each workload."""

ROUTING: Final = tuple(
    Sentence(
        f"An auction before two queues beats {named}, on {{on}}",
        "question 3",
        Compared(SLOWDOWN, AUCTION, other, how="over", mean=["along"], less_than=1.0),
        "its bounded slowdown over the other's, geometric mean of all capacities and orders",
    )
    for other, named in (
        (ONE_QUEUE, "one queue of all machines"),
        *((router, f"{router} before two queues") for router in ROUTERS[1:]),
    )
)
"""On the auction before queues, on each workload."""


def make_claims(found: CrossResults) -> Iterator[Claim]:
    """Hand out the claims for which the design has cells."""
    known = [said for said in RANKING if set(said.compared.alternatives) <= set(found.fixed)]
    for capacity in found.changing:
        yield from judge(found, known, capacity)
    for rows in (RISK, ROUTING):
        for workload in found.factor("workload"):
            yield from judge(found, rows, workload)
