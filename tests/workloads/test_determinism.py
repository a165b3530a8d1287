"""The same arguments make the same work, in another process and with another hash seed too."""

import hashlib

import simmodels as sm
import workloads as wl
from tests.processes import printed_elsewhere


def fingerprint() -> str:
    """Return a hash of what each maker of random work draws."""
    log = wl.tsafrir_estimates(wl.lublin(300, 128, seed=3, interactive=True), seed=3)
    flows = wl.arrivals(wl.market_workload(40, load=0.9, seed=5), 30, gap_s=9, poisson=True, seed=4)
    flows.append(sm.Workflow.from_graph(wl.layers(30, runtime_s=(1, 9), seed=2)))
    jobs = [log, sm.Workload.of_workflows(flows), wl.variable_capacity_jobs("LogScale", weeks=0.01, seed=1)]
    walk = wl.capacity_walk(until_s=50_000, seed=5)
    text = "".join(each.to_frame().to_csv() for each in jobs) + repr((walk.time_s.tolist(), walk.machines.tolist()))
    return hashlib.sha256(text.encode()).hexdigest()


def test_another_process_makes_the_same_work() -> None:
    code = "from tests.workloads.test_determinism import fingerprint; print(fingerprint())"
    assert printed_elsewhere(code) == fingerprint()
