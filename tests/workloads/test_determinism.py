"""The same arguments make the same work, in another process too, and another seed makes other."""

import hashlib

import simmodels as sm
import workloads as wl
from tests.processes import printed_elsewhere


def made(seed: int) -> list[str]:
    """Return a hash of what each maker of random work draws."""
    log = wl.lublin(300, 128, seed=seed, interactive=True, load=0.002)
    market = wl.market_workload(40, load=0.9, seed=seed)
    layers = sm.Workflow.from_graph(wl.layers(30, runtime_s=(1, 9), seed=seed))
    works = {
        "lublin": log,
        "tsafrir": wl.tsafrir_estimates(wl.lublin(300, 128), seed=seed),
        "resample": wl.resample(log, seed=seed, weeks=2),
        "market": sm.Workload.of_workflows(market),
        "arrivals": sm.Workload.of_workflows(wl.arrivals(market, 30, gap_s=9, poisson=True, seed=seed)),
        "layers": sm.Workload.of_workflows([layers]),
        "variable capacity": wl.variable_capacity_jobs("LogScale", weeks=0.01, seed=seed),
    }
    walk = wl.capacity_walk(until_s=50_000, seed=seed)
    texts = [work.to_frame().to_csv() for work in works.values()] + [str(walk.time_s.tolist() + walk.machines.tolist())]
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def test_another_process_makes_the_same_work_and_another_seed_other() -> None:
    code = "from tests.workloads.test_determinism import made; print(made(5))"
    assert printed_elsewhere(code) == str(made(5))
    assert not set(made(5)) & set(made(6))
