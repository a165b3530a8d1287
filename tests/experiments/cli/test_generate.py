"""``generate``: each file read back is what the function of `workloads` makes, by every option."""

import inspect
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.cli.generate import COMMAND
from tests.command_line import Run

Generate = Callable[[str], str]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lublin": wl.lublin,
    "variable-capacity": wl.variable_capacity_jobs,
    "tsafrir": wl.tsafrir_estimates,
    "resample": wl.resample,
    "layers": wl.layers,
    "levels": wl.erdos_renyi_levels,
    "fork-join": wl.fork_join,
    "cholesky": wl.cholesky,
    "market": wl.market_workload,
    "arrivals": wl.arrivals,
    "walk": wl.capacity_walk,
}
PARAMETERS: dict[str, Any] = {
    "lublin": wl.LublinParameters,
    "tsafrir": wl.TsafrirParameters,
    "market": wl.MarketParameters,
}
NO_OPTIONS = {"name", "week", "begin_s", "notice_s", "mode", "popular", "kinds"}
"""Parameters that a file has no place for, or that no text stands for."""
RENAMED = {"instances": "workflows", "log": "workload"}


@pytest.fixture
def generate(run: Run) -> Generate:
    """Return what generates in a folder of its own, and returns what was said; it must succeed."""

    def answer(line: str) -> str:
        status, out, err = run("generate", *shlex.split(line))
        assert (status, out) == (0, ""), err
        return err

    return answer


@pytest.fixture
def refuse(run: Run) -> Generate:
    """Return what generates there and must not, and returns the sentence that says why."""

    def answer(line: str) -> str:
        before = sorted(Path().rglob("*"))
        status, out, err = run("generate", *shlex.split(line))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert sorted(Path().rglob("*")) == before, "nothing is written"
        return err.removeprefix("error: ").strip()

    return answer


def same(ours: sm.Workload, theirs: sm.Workload) -> bool:
    """Return whether two logs have the same jobs and the same machine."""
    columns = ("job_id", "submit_s", "runtime_s", "estimate_s", "cores", "user_id")
    equal = (np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in columns)
    return all(equal) and ours.max_cores == theirs.max_cores


def flows(folder: str) -> list[sm.Workflow]:
    """Return the workflows of a folder, by file."""
    return [wl.read_wfformat(path, tick_s=None) for path in sorted(Path(folder).glob("*.json"))]


def same_flows(ours: list[sm.Workflow], theirs: list[sm.Workflow]) -> bool:
    """Return whether workflows have the same numbers, submissions, tasks, edges and curves."""
    return len(ours) == len(theirs) and all(
        (a.job_id, a.submit_s, a.kind, a.curve.points) == (b.job_id, b.submit_s, b.kind, b.curve.points)
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("runtime_s", "cores"))
        and sorted(a.edges.tolist()) == sorted(b.edges.tolist())
        for a, b in zip(ours, theirs, strict=True)
    )


# -- options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_model_is_an_option_with_its_default(name: str) -> None:
    assert set(COMMAND.commands) == set(FUNCTIONS)
    options = {each.name: each for each in COMMAND.commands[name].params}
    for parameter in inspect.signature(FUNCTIONS[name]).parameters.values():
        if parameter.name in NO_OPTIONS:
            continue
        if parameter.name == "parameters":  # each is an option
            assert {each.name.removesuffix("_s") for each in fields(PARAMETERS[name])} - NO_OPTIONS <= set(options)
            continue
        option = options[RENAMED.get(parameter.name, parameter.name.removesuffix("_s"))]
        assert option.help
        assert option.required == (parameter.default is parameter.empty)
        if parameter.default is True:
            assert option.secondary_opts == [f"--no-{parameter.name}"]
        elif isinstance(parameter.default, int | str) and parameter.name != "seed":
            assert str(parameter.default) in (str(option.default), option.show_default)


# -- logs -------------------------------------------------------------------------------------------


def test_a_log_is_that_of_the_function(generate: Generate) -> None:
    said = generate("lublin --jobs 1200 --cores 64 --seed 3 --serial-probability 0.4 --load 0.9 --out model.swf.gz")
    assert said == "wrote 1,200 jobs to model.swf.gz\n"
    wanted = wl.lublin(1200, 64, load=0.9, seed=3, parameters=wl.LublinParameters(serial_probability=0.4))
    assert same(wl.read_swf("model.swf.gz"), wanted)
    generate("lublin --jobs 200 --cores 64 --seed 3 --interactive --out queues.swf")
    assert same(wl.read_swf("queues.swf"), wl.lublin(200, 64, seed=3, interactive=True))
    assert set(wl.read_swf("queues.swf").extras["queue"].tolist()) == {0, 1}
    generate("variable-capacity --family LogScale --weeks 0.05 --shares 1,1,1,0 --seed 3 --out jobs.swf")
    jobs = wl.variable_capacity_jobs("LogScale", weeks=0.05, shares=(1, 1, 1, 0), seed=3)
    assert same(wl.read_swf("jobs.swf"), jobs)


def test_estimates_may_be_those_of_users(generate: Generate) -> None:
    log = wl.lublin(300, 64, load=0.8, seed=3)
    wl.write_swf(log, "model.swf")
    generate("lublin --jobs 300 --cores 64 --load 0.8 --seed 3 --estimates tsafrir --out users.swf")
    assert same(wl.read_swf("users.swf"), wl.tsafrir_estimates(log, seed=3))
    generate("tsafrir --workload model.swf --seed 3 --out again.swf")
    assert Path("again.swf").read_bytes() == Path("users.swf").read_bytes()
    generate("tsafrir --workload model.swf --seed 3 --max-estimate 60h --head-share 0.8 --out other.swf")
    parameters = wl.TsafrirParameters(head_share=0.8)
    other = wl.tsafrir_estimates(log, seed=3, max_estimate_s=216_000, parameters=parameters)
    assert same(wl.read_swf("other.swf"), other)


def test_a_log_is_resampled_with_what_is_read_of_it(generate: Generate) -> None:
    log = wl.lublin(2000, 32, load=0.2, seed=4)
    log = replace(log, extras={**log.extras, "queue": np.arange(2000) % 2})
    wl.write_swf(log, "log.swf")
    generate("resample --workload log.swf --weeks 2 --seed 1 --index 3 --how permuted --no-monday --out new.swf")
    wanted = wl.resample(wl.read_swf("log.swf"), weeks=2, seed=1, index=3, how="permuted", monday=False)
    assert same(wl.read_swf("new.swf"), wanted)
    generate("resample --workload log.swf --cores 16 --drop-oversized --weeks 1 --out half.swf")
    half = wl.read_swf("half.swf")
    assert (half.max_cores, half.cores.max() <= 16 < log.cores.max()) == (16, True)
    assert set(half.extras["queue"].tolist()) == {-1}
    generate("resample --workload log.swf --weeks 1 --columns queue,partition --out queues.swf")
    assert set(wl.read_swf("queues.swf").extras["queue"].tolist()) == {0, 1}


# -- machines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["2d", "172800", "48h", "47.9h"])
def test_a_walk_is_read_as_a_series_in_any_unit_of_time(until: str, generate: Generate) -> None:
    asked = f"walk --mean 12 --radius 4 --step 2 --law two_way --period 30min --until {until} --seed 5 --out m.csv.gz"
    assert generate(asked).endswith("wrote 97 rows to m.csv.gz\n")
    series = wl.read_series("m.csv.gz")
    assert series["time_s"].tolist() == [1800.0 * row for row in range(97)], "it lasts as long as was asked for"
    walk = wl.capacity_walk(mean=12, radius=4, step=2, law="two_way", period_s=1800, until_s=172_800, seed=5)
    read = wl.capacity_from(series)
    assert read.time_s.tolist() == walk.time_s.tolist()
    assert read.machines.tolist() == walk.machines.tolist()


# -- workflows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "graph"),
    [
        ("layers --tasks 9", lambda seed: wl.layers(9, seed=seed)),
        (
            "layers --tasks 9 --shape 0.5 --out-degree 2 --runtime 5min:2h --cores 1:8 --kind GPU",
            lambda seed: wl.layers(
                9, shape=0.5, out_degree=2, runtime_s=(300, 7200), cores=(1, 8), kind="GPU", seed=seed
            ),
        ),
        (
            "levels --widths 1,3,2 --probability 0.5 --no-connected --runtime 90s",
            lambda seed: wl.erdos_renyi_levels((1, 3, 2), 0.5, connected=False, runtime_s=90, seed=seed),
        ),
        ("fork-join --width 3 --stages 2", lambda seed: wl.fork_join(3, stages=2, seed=seed)),
        ("cholesky --tiles 3", lambda seed: wl.cholesky(3, seed=seed)),
    ],
)
def test_graphs_are_workflows_each_of_the_next_seed(line: str, graph: Callable[[int], Any], generate: Generate) -> None:
    assert generate(f"{line} --seed 6 --count 3 --out flows") == "wrote 3 workflows to flows\n"
    wanted = [sm.Workflow.from_graph(graph(6 + number), job_id=number) for number in range(3)]
    assert same_flows(flows("flows"), wanted)


def test_a_stream_of_workflows_has_submissions_and_curves(generate: Generate, refuse: Generate) -> None:
    generate("market --jobs 4 --load 0.9 --seed 2 --curve-points 6,6 --out market")
    parameters = wl.MarketParameters(curve_points=(6, 6))
    assert same_flows(flows("market"), wl.market_workload(4, load=0.9, seed=2, parameters=parameters))
    generate("fork-join --width 3 --count 2 --out some")
    said = refuse("arrivals --workflows some --gap 5 --out ./some")
    assert re.fullmatch(r"cannot write to folder (./)?some: it is the one that is read; choose another folder", said)
    generate("arrivals --workflows some --jobs 5 --gap 10min --poisson --seed 2 --out stream")
    instances = wl.read_workflows("some")
    assert same_flows(flows("stream"), wl.arrivals(instances, jobs=5, gap_s=600, poisson=True, seed=2))


def test_only_what_was_generated_there_by_the_model_is_replaced(generate: Generate, refuse: Generate) -> None:
    generate("cholesky --tiles 2 --count 3 --out flows")
    generate("fork-join --width 2 --out flows")
    generate("cholesky --tiles 2 --count 2 --out flows")
    assert sorted(path.name for path in Path("flows").iterdir()) == [
        "cholesky-00000.json",
        "cholesky-00001.json",
        "fork-join-00000.json",
    ]
    own = Path("flows/cholesky-00001.json")
    own.write_text("mine")
    wanted = "flows/cholesky-00001.json was not written by generate; choose another folder, or use --force"
    assert refuse("cholesky --tiles 2 --out flows") == wanted
    generate("cholesky --tiles 2 --out flows --force")
    assert own.read_text() == "mine", "it was in nobody's way"
    generate("cholesky --tiles 2 --count 2 --out flows --force")
    assert len(wl.read_wfformat(own)) == 4


# -- all --------------------------------------------------------------------------------------------


EVERY = {
    "log.swf.gz": "lublin --jobs 100 --cores 32 --load 0.7 --estimates tsafrir",
    "jobs.swf.bz2": "variable-capacity --family 3types --weeks 0.01",
    "walk.csv.xz": "walk --until 1d",
    "flows": "layers --tasks 20 --count 2",
    "market": "market --jobs 3",
}


@pytest.mark.parametrize("out", EVERY)
def test_the_same_seed_gives_the_same_bytes_and_another_one_others(out: str, generate: Generate) -> None:
    def written(seed: int, folder: str) -> list[bytes]:
        Path(folder).mkdir()
        generate(f"{EVERY[out]} --seed {seed} --out {folder}/{out}")
        return [path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()]

    first = written(1, "a")
    assert first == written(1, "b")
    assert first != written(2, "c")


EVIL = "../../made by schedlab generate arrivals\r1 2 3\x1b[31m\u2028"
"""A name that would leave the folder, claim who wrote it, add a line, and colour a terminal."""


def test_a_name_of_a_log_stays_a_comment(generate: Generate) -> None:
    name = "x\x0b1 0 0 5 2\x1b[31m\x85\u20287 7"  # of what begins a line, for some readers
    Path("log.swf").write_bytes(f"; MaxProcs: 8\n; Note: {name}\n1 0 0 5 2 0 0 2 9\n".encode())
    assert generate("tsafrir --workload log.swf --out new.swf") == "wrote 1 job to new.swf\n"
    assert wl.read_swf("new.swf").job_id.tolist() == [1]
    assert wl.read_swf("new.swf").header == wl.read_swf("log.swf").header


def test_a_name_of_a_workflow_is_neither_a_files_name_nor_a_mark(generate: Generate, refuse: Generate) -> None:
    Path("some").mkdir()
    flow = sm.Workflow.from_graph(wl.cholesky(2), name=EVIL)
    wl.write_wfformat(flow, "some/flow.json")
    generate("arrivals --workflows some --jobs 2 --gap 5 --out stream")
    assert sorted(path.name for path in Path("stream").iterdir()) == ["arrivals-00000.json", "arrivals-00001.json"]
    assert all(json.loads(path.read_text())["name"] for path in Path("stream").iterdir())
    wl.write_wfformat(flow, "stream/arrivals-00001.json")  # ours no longer, whatever its name says
    before = Path("stream/arrivals-00001.json").read_bytes()
    assert "was not written by generate" in refuse("arrivals --workflows some --jobs 2 --gap 5 --out stream")
    assert Path("stream/arrivals-00001.json").read_bytes() == before


def test_files_that_are_generated_can_be_simulated(generate: Generate, run: Run) -> None:
    generate("lublin --jobs 60 --cores 16 --load 0.7 --out log.swf")
    generate("walk --mean 12 --radius 4 --until 30d --out m.csv")
    generate("market --jobs 3 --out market")
    for words in (
        ("-w", "log.swf", "--series", "m.csv", "--cores-per-machine", "16"),
        ("--workflows", "market", "--clusters", "100x128:Kind1,50x128:Kind2"),
    ):
        assert run("simulate", *words).status == 0


def test_the_progress_of_many_workflows_counts_to_the_last(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr("experiments.cli.generate.Steps.begin", lambda _, what: steps.append(what))
    generate("cholesky --tiles 2 --count 2 --out flows")
    assert steps == ["generating 1 of 2", "generating 2 of 2", "writing 1 of 2", "writing 2 of 2"]
