"""``generate``: each file read back is what the function of `workloads` makes, by every option."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from experiments.cli.generate import COMMAND
from experiments.cli.main import main

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
def generate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Generate:
    """Return what generates here, in a folder of its own, and returns what was said; it must succeed."""
    monkeypatch.chdir(tmp_path)

    def answer(line: str) -> str:
        monkeypatch.setattr(sys, "argv", ["schedlab", "generate", *shlex.split(line)])
        status, (out, err) = main(), capsys.readouterr()
        assert (status, out) == (0, ""), err
        return err

    return answer


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Generate:
    """Return what generates here and must not, and returns the sentence that says why."""
    monkeypatch.chdir(tmp_path)

    def answer(line: str) -> str:
        monkeypatch.setattr(sys, "argv", ["schedlab", "generate", *shlex.split(line)])
        before = sorted(Path().rglob("*"))
        assert main() == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
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


def test_all_models_are_commands() -> None:
    assert set(COMMAND.commands) == set(FUNCTIONS)


# -- logs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_a_log_has_the_load_that_is_asked_for(load: float, generate: Generate) -> None:
    said = generate(f"lublin --jobs 1500 --cores 64 --load {load} --seed 2 --out log.swf.gz")
    assert said == "wrote 1,500 jobs to log.swf.gz\n"
    log = wl.read_swf("log.swf.gz")
    work = float((log.cores * log.runtime_s).sum())
    assert work / (64 * float(log.submit_s.max())) == pytest.approx(load, rel=1e-3)
    assert (len(log), log.max_cores) == (1500, 64)


def test_a_log_is_that_of_the_function(generate: Generate) -> None:
    generate("lublin --jobs 200 --cores 64 --seed 3 --serial-probability 0.4 --out model.swf")
    wanted = wl.lublin(200, 64, seed=3, parameters=wl.LublinParameters(serial_probability=0.4))
    assert same(wl.read_swf("model.swf"), wanted)
    generate("lublin --jobs 200 --cores 64 --seed 3 --interactive --out queues.swf")
    assert same(wl.read_swf("queues.swf"), wl.lublin(200, 64, seed=3, interactive=True))
    assert set(wl.read_swf("queues.swf").extras["queue"].tolist()) == {0, 1}
    generate("variable-capacity --family LogScale --weeks 0.05 --shares 1,1,1,0 --seed 3 --out jobs.swf")
    jobs = wl.variable_capacity_jobs("LogScale", weeks=0.05, shares=(1, 1, 1, 0), seed=3)
    assert same(wl.read_swf("jobs.swf"), jobs)


def test_estimates_may_be_those_of_users(generate: Generate) -> None:
    generate("lublin --jobs 300 --cores 64 --load 0.8 --seed 3 --out model.swf")
    generate("lublin --jobs 300 --cores 64 --load 0.8 --seed 3 --estimates tsafrir --out users.swf")
    log = wl.lublin(300, 64, load=0.8, seed=3)
    assert np.array_equal(wl.read_swf("model.swf").estimate_s, log.runtime_s)
    assert same(wl.read_swf("users.swf"), wl.tsafrir_estimates(log, seed=3))
    generate("tsafrir --workload model.swf --seed 3 --out again.swf")
    assert Path("again.swf").read_bytes() == Path("users.swf").read_bytes()
    generate("tsafrir --workload model.swf --seed 3 --max-estimate 60h --head-share 0.8 --out other.swf")
    parameters = wl.TsafrirParameters(head_share=0.8)
    other = wl.tsafrir_estimates(log, seed=3, max_estimate_s=216_000, parameters=parameters)
    assert same(wl.read_swf("other.swf"), other)


def test_a_log_is_resampled_with_what_is_read_of_it(generate: Generate) -> None:
    generate("lublin --jobs 2000 --cores 32 --load 0.2 --seed 4 --out log.swf")
    generate("resample --workload log.swf --weeks 2 --seed 1 --index 3 --how permuted --no-monday --out new.swf")
    log = wl.read_swf("log.swf")
    assert same(wl.read_swf("new.swf"), wl.resample(log, weeks=2, seed=1, index=3, how="permuted", monday=False))
    generate("resample --workload log.swf --cores 16 --drop-oversized --weeks 1 --out half.swf")
    half = wl.read_swf("half.swf")
    assert half.max_cores == 16
    assert half.cores.max() <= 16 < log.cores.max()


# -- machines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["2d", "172800", "48h", "47.9h"])
def test_a_walk_is_read_as_a_series_in_any_unit_of_time(until: str, generate: Generate) -> None:
    assert generate(f"walk --mean 12 --radius 4 --period 30min --until {until} --seed 5 --out m.csv.gz").endswith(
        "wrote 97 rows to m.csv.gz\n"
    )
    series = wl.read_series("m.csv.gz")
    assert series["time_s"].tolist() == [1800.0 * row for row in range(97)], "it lasts as long as was asked for"
    walk = wl.capacity_walk(mean=12, radius=4, period_s=1800, until_s=172_800, seed=5)
    read = wl.capacity_from(series)
    assert read.time_s.tolist() == walk.time_s.tolist()
    assert read.machines.tolist() == walk.machines.tolist()


def test_a_walk_has_the_law_that_is_asked_for(generate: Generate) -> None:
    generate("walk --mean 12 --radius 4 --step 2 --law two_way --until 1d --out m.csv")
    walk = wl.capacity_walk(mean=12, radius=4, step=2, law="two_way", until_s=86_400)
    assert wl.capacity_from(wl.read_series("m.csv")).machines.tolist() == walk.machines.tolist()


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


def test_a_stream_of_workflows_has_submissions_and_curves(generate: Generate) -> None:
    generate("market --jobs 4 --load 0.9 --seed 2 --curve-points 6,6 --out market")
    parameters = wl.MarketParameters(curve_points=(6, 6))
    assert same_flows(flows("market"), wl.market_workload(4, load=0.9, seed=2, parameters=parameters))
    generate("fork-join --width 3 --count 2 --out some")
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


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("lubin", "unknown model 'lubin'; did you mean lublin? see schedlab generate --help"),
        ("lublin --jobs 9 --cores 8", "--out is needed; see schedlab generate lublin --help"),
        ("lublin --jobs 0 --cores 8 --out a.swf", "jobs must be an integer from 1 to 2**53 (got 0)"),
        ("lublin --jobs 9 --cores 8 --load 0 --out a.swf", "load must be a finite number > 0, or None (got 0.0)"),
        ("lublin --jobs 9 --cores 8 --seed -1 --out a.swf", "seed must be an integer >= 0 (got -1)"),
        (
            "lublin --jobs 9 --cores 8 --serial-probability 2 --out a.swf",
            "serial_probability must be a number from 0 to 1 (got 2.0)",
        ),
        (
            "lublin --jobs 9 --cores 8 --out a.csv",
            "the file's name must be one that ends in .swf, .swf.gz, .swf.bz2, .swf.xz (got 'a.csv')",
        ),
        ("lublin --jobs 9 --cores 8 --out no/a.swf", "cannot write no/a.swf: no is not a folder"),
        (
            "lublin --jobs 9 --cores 8 --estimates real --out a.swf",
            "unknown estimates 'real'; known: model, tsafrir",
        ),
        (
            "variable-capacity --family Log --out a.swf",
            "unknown family 'Log'; known: Uniform, LogScale, LogScaleU, 3types",
        ),
        (
            "walk --until 1d --out a.swf",
            "the file's name must be one that ends in .csv, .csv.gz, .csv.bz2, .csv.xz (got 'a.swf')",
        ),
        ("walk --until 1d --radius 2 --out a.csv", "radius must be 0 or at least 4, unless step= is given (got 2)"),
        (
            "layers --tasks 3 --runtime 5min:1h:2h --out a",
            "--runtime must be a time or a range of times, such as 5min:2h (got '5min:1h:2h')",
        ),
        (
            "layers --tasks 3 --cores 1.5 --out a",
            "--cores must be an integer or a range, such as 1:8 (got '1.5')",
        ),
        ("layers --tasks 3 --count 0 --out a", "--count must be an integer from 1 to 2**53 (got 0)"),
        ("levels --widths 1,x --probability 1 --out a", "--widths must be integers separated by commas (got '1,x')"),
        ("arrivals --workflows a --out b", "a: the folder cannot be read: no such file or directory"),
    ],
)
def test_a_mistake_is_refused_in_a_sentence_before_anything_is_written(
    line: str, wanted: str, refuse: Generate
) -> None:
    assert refuse(line) == wanted


def test_what_is_read_is_not_written_over(generate: Generate, refuse: Generate) -> None:
    generate("lublin --jobs 9 --cores 8 --out log.swf")
    said = "cannot write log.swf: it is one of the files that are read; choose another file"
    assert refuse("tsafrir --workload log.swf --out log.swf") == said
    generate("cholesky --tiles 2 --out flows")
    said = "cannot write to folder ./flows: it is the one that is read; choose another folder"
    assert refuse("arrivals --workflows flows --gap 5 --out ./flows").replace("folder flows", "folder ./flows") == said


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


def test_files_that_are_generated_can_be_simulated(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    generate("lublin --jobs 60 --cores 16 --load 0.7 --out log.swf")
    generate("walk --mean 12 --radius 4 --until 30d --out m.csv")
    generate("market --jobs 3 --out market")
    for line in (
        "-w log.swf --series m.csv --cores-per-machine 16",
        "--workflows market --clusters 100x128:Kind1,50x128:Kind2",
    ):
        monkeypatch.setattr(sys, "argv", ["schedlab", "simulate", *shlex.split(line)])
        assert main() == 0


def test_the_progress_of_many_workflows_counts_to_the_last(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr("experiments.cli.generate.Steps.begin", lambda _, what: steps.append(what))
    generate("cholesky --tiles 2 --count 2 --out flows")
    assert steps == ["generating 1 of 2", "generating 2 of 2", "writing 1 of 2", "writing 2 of 2"]
