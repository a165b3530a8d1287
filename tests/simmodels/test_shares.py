# ruff: noqa: ANN401  options of any type are handed through
"""Fair share: factors as Slurm's own tests have them, and queues that go by them, on both engines."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import simmodels as sm
from simmodels.policies.associations import Associations
from tests import naive, naive_shares
from tests.examples import tries
from tests.naive_shares import Tree
from tests.simmodels.replay.test_snapshot import assert_forks_go_on
from tests.simmodels.test_properties import SEED, Machine, by_rank, machines, options

PARENTS: Final = {"aAA": "aA", "aAB": "aA", "aBA": "aB", "aBB": "aB", "aDA": "aD", "aGA": "aG"}
CLASSIC: Final = [
    sm.Share(account=f"Account{name}", parent=parent, shares=shares)
    for name, parent, shares in (
        *(("A", "root", 40), ("B", "AccountA", 30), ("C", "AccountA", 10), ("D", "root", 60)),
        *(("E", "AccountD", 25), ("F", "AccountD", 35), ("G", "root", 0)),
    )
]
LOG: Final = sm.Workload([1, 2], [0, 1], [5, 5], [5, 5], [4, 4], [1, 2])
both_engines = pytest.mark.parametrize("engine", ["compiled", "simpy"])


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


def number(text: str) -> float:
    return float(text) if text not in {"", "parent"} else np.nan


def assert_as_printed(shares: sm.Shares, rows: list[dict[str, str]], names: dict[str, int]) -> None:
    """Compare a table with rows that `sshare` printed; a number with all its digits."""
    table = Associations(shares, 0).table(0.0).set_index(["account", "user"])
    for row in rows:
        mine = table.loc[row["account"], names.get(row["user"])] if row["user"] else None
        if mine is None:
            mine = table[table.index.get_level_values("user").isna()].droplevel("user").loc[row["account"]]
        for name in ("norm_shares", "raw_usage", "norm_usage", "effective_usage", "fairshare", "level_fs"):
            expected = number(row.get(name) or "")
            if not np.isnan(expected):
                assert mine[name] == pytest.approx(expected, abs=5.1e-7), (row, name)


def test_fair_tree_gives_what_slurms_own_test_expects(shared: Path) -> None:
    _, *rows = rows_of(shared / "slurm/sshare/fair_tree.csv")
    names = {name: number for number, name in enumerate(row["user"] for row in rows if row["user"])}
    made = []
    for row in rows:
        given_: Any = row["raw_shares"] if row["raw_shares"] == "parent" else int(row["raw_shares"])
        if row["user"]:
            usage = float(row["raw_usage"])
            made.append(sm.Share(account=row["account"], user=names[row["user"]], shares=given_, raw_usage=usage))
        else:
            made.append(sm.Share(account=row["account"], parent=PARENTS.get(row["account"], "root"), shares=given_))
    assert len(rows) == 34  # beside the root
    assert_as_printed(sm.Shares(made), rows, names)


def test_the_classic_algorithm_gives_what_slurms_own_test_expects(shared: Path) -> None:
    rows = rows_of(shared / "slurm/sshare/classic.csv")
    names = {row["user"]: number for number, row in enumerate(rows)}
    made = [
        sm.Share(account=row["account"], user=names[row["user"]], raw_usage=float(row["raw_usage"])) for row in rows
    ]
    other = sm.Share(account="AccountG", user=99, shares=0, raw_usage=30)
    assert len(rows) == 5
    assert_as_printed(sm.Shares([*CLASSIC, *made, other], algorithm="classic"), rows, names)


# -- snapshots, changes, refusals ---------------------------------------------------------------------


@settings(max_examples=60)
@given(machines(most=14), options(orders=("FairShare", "SAF")), st.integers(0, 30))
def test_a_fork_knows_what_was_used(machine: Machine, how: dict[str, Any], at_s: int) -> None:
    cores, jobs = machine
    jobs = replace(jobs, user_id=np.arange(len(jobs)) % 3)
    assert_forks_go_on(jobs, cores, float(at_s), **how, shares=sm.Shares(period_s=2, half_life_s=3))


def test_a_queue_goes_over_to_fair_share_if_usage_was_counted() -> None:
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4), shares=sm.Shares(period_s=10))
    jobs = sm.Workload([1, 2, 3], [0, 1, 2], [100, 10, 10], [100, 10, 10], [4, 4, 4], [1, 1, 2])
    sm.Source(env, jobs, into=queue)
    recorder = sm.Recorder(env)
    env.run(until=50)
    queue.reconfigure(order="FairShare")
    table = queue.fair_share()
    assert table[["user", "fairshare", "level_fs"]].to_numpy().tolist() == [[1, 0.5, 0.5], [2, 1, np.inf]]
    assert table["raw_usage"].tolist() == [pytest.approx(200, rel=1e-3), 0]
    env.run()
    assert recorder.schedule().start_s.tolist() == [0, 110, 100]
    other = sm.QueueScheduler(env, sm.Cluster(env, "d", cores=4))
    with pytest.raises(sm.RequestError, match="an order that names fairshare, in a queue that has not counted"):
        other.reconfigure(order="FairShare")
    with pytest.raises(sm.RequestError, match="a queue without shares has counted nothing"):
        other.fair_share()


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        ([{"account": "a", "shares": -1}], r"shares of account 'a' must be an integer from 0 to .*, or 'parent' \(got"),
        ([{"account": "a", "user": 1}], "unknown account of user 1 'a'; known: root"),
        ([{"account": "a", "parent": "b"}], "unknown parent of account 'a' 'b'; known: root, a"),
        ([{"account": "a", "parent": "b"}, {"account": "b", "parent": "a"}], "account 'a' is a part of itself; let"),
        ([{"account": "root", "user": 1}] * 2, "two rows are of user 1; put them into one; a user is in one account"),
        ([{"account": "root"}], "account 'root' has a row; leave it out"),
        ([{"account": "a", "raw_usage": 5}], "raw_usage of account 'a'; give it for its users"),
        ([{"account": "a", "depth": 5}], "unknown column of shares 'depth'"),
        ([{"user": 1, "shares": 3}], r"account of a share must be the name of an account \(got None\)"),
        ([3], r"a row of shares must be a mapping such as \{'account': 'physics', 'shares': 3\}, or a Share"),
        ({"account": "a"}, "shares must be a list of rows, such as "),
    ],
)
def test_shares_that_make_no_sense_are_refused_in_one_sentence(given_: Any, text: str) -> None:
    with pytest.raises(sm.RequestError, match=text):
        sm.Shares(given_)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(sm.RequestError, match="shares 'parent' with algorithm 'classic'"):
        sm.Shares([sm.Share(account="a", shares="parent")], algorithm="classic")
    with pytest.raises(sm.RequestError, match="order 'FairShare' names fairshare, which FirstFit does not count"):
        sm.simulate(LOG, machines=1, cores_per_machine=4, heuristic="FirstFit", order="FairShare")


def test_shares_are_read_from_a_table_and_from_a_file(tmp_path: Path) -> None:
    table = tmp_path / "shares.csv"
    table.write_text("account,parent,user,shares\nphysics,,,3\nbio,,,1\nphysics,,17,parent\nbio,,4,2\n")
    document = tmp_path / "shares.toml"
    document.write_text('half_life_s = 60\nshare = [{account = "bio"}, {account = "bio", user = 4, shares = 2}]\n')
    shares = sm.Shares.read(table)
    assert [row.shares for row in shares.rows] == [3, 1, "parent", 2]
    assert [row.user for row in shares.rows] == [None, None, 17, 4]
    assert sm.Shares.read(document).half_life_s == 60
    assert sm.simulate(LOG, cores=4, order="FairShare", shares=str(document)).about["shares"]["half_life_s"] == 60
    document.write_text("half_life = 60\n")
    with pytest.raises(sm.FileFormatError, match="unknown entry of shares 'half_life'"):
        sm.Shares.read(document)


# -- queues ---------------------------------------------------------------------------------------


@both_engines
@pytest.mark.parametrize("decide", ["instant", "event"])
def test_an_order_may_name_the_factor_among_other_things(engine: Any, decide: Any) -> None:
    order = sm.Order("mixed", lambda fairshare, wait: -(1000.0 * fairshare + wait))
    jobs = sm.Workload([1, 2, 3, 4], [0, 1, 1, 350], [400, 10, 10, 10], [400, 10, 10, 10], [4] * 4, [1, 1, 2, 2])
    schedule = sm.simulate(jobs, cores=4, order=order, decide=decide, engine=engine)
    assert schedule.start_s.tolist() == [0, 420, 400, 410]


@both_engines
def test_users_count_in_the_account_of_each_job_and_may_have_names(engine: Any) -> None:
    """Job 1 is of physics, which has three shares of four. Job 4 is ann's, too, but of biology, which used nothing."""
    log = {
        "submit_s": [0, 10, 20, 30], "runtime_s": [4000, 10, 10, 10], "cores": [4] * 4,
        "user": ["ann", "ann", "ben", "ann"], "account": [2, 2, 2, 1],
        "account_name": ["physics", "physics", "physics", "biology"],
    }  # fmt: skip
    how: dict[str, Any] = {"cores": 4, "order": "FairShare", "engine": engine}
    assert sm.simulate(log, **how).start_s.tolist() == [0, 4010, 4000, 4020]
    rows: list[Any] = [{"account": "physics", "shares": 3}, {"account": "biology"}]
    assert sm.simulate(log, **how, shares=rows).start_s.tolist() == [0, 4020, 4010, 4000]
    schedule = sm.simulate(log, **how, shares=[*rows, {"account": "physics", "user": "ann"}])  # in all of her jobs
    assert schedule.start_s.tolist() == [0, 4010, 4000, 4020]
    assert schedule.about["shares"]["share"][-1]["user"] == "ann"
    numbered = sm.simulate(log, **how, shares=[*rows, {"account": "physics", "user": 1}])
    assert numbered.start_s.tolist() == [0, 4010, 4000, 4020]
    assert numbered.about == schedule.about
    text = "shares name user 'anne', and no job is of it; there are 'ann' and 'ben'"
    with pytest.raises(sm.RequestError, match=text):
        sm.simulate(log, **how, shares=[*rows, {"account": "physics", "user": "anne"}])
    with pytest.raises(sm.RequestError, match=r"shares name account 'chemistry', .* there are 'biology' and 'physics'"):
        sm.simulate(log, **how, shares=[*rows, {"account": "chemistry"}])
    with pytest.raises(sm.RequestError, match="two rows are of user 1; put them into one"):
        sm.simulate(
            log, **how, shares=[*rows, {"account": "physics", "user": 1}, {"account": "biology", "user": "ann"}]
        )


def test_the_table_of_shares_shows_names() -> None:
    env = sm.Environment()
    shares: Any = [{"account": "physics", "user": "ann"}, {"account": "physics"}]
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4), shares=shares)
    sm.Source(env, {"submit_s": [0, 1], "runtime_s": 2 * [9], "cores": [1, 1], "user": ["ben", "ann"]}, into=queue)
    env.run(until=5)
    table = queue.fair_share()[["account", "user"]].values.tolist()
    assert table == [["physics", None], ["physics", "ann"], ["root", "ben"]]
    other = sm.QueueScheduler(env, sm.Cluster(env, "d", cores=4), shares=[{"account": "root", "user": "ann"}])
    other.submit(sm.Job(9, 5.0, 1.0, 1.0, 1, 7))
    with pytest.raises(sm.RequestError, match="shares name user 'ann', and no job is of it; the jobs have no names"):
        env.run()


TREES: Final = [
    Tree({}, {}),
    Tree({"a": ("root", 3), "b": ("root", 1)}, {0: ("a", 1), 1: ("b", 2), 7: ("b", 1)}),
    Tree({"a": ("root", 2), "b": ("a", 1), "c": ("a", "parent")}, {0: ("b", 1), 1: ("c", 2), 2: ("a", "parent")}),
    Tree({"a": ("root", 2), "b": ("root", 2)}, {0: ("a", 1), 1: ("b", 1), 2: ("b", 0), 3: ("root", 2)}),
]


ACCOUNTS: Final = ("a", "c", "z")  # of jobs, from number 1 on


@st.composite
def rules(draw: st.DrawFn, unit: float) -> naive_shares.Rules:
    tree = draw(st.sampled_from(TREES))
    algorithm = draw(st.sampled_from(["fair_tree", "fair_tree", "classic"]))
    if algorithm == "classic" and "parent" in {shares for _, shares in (*tree.accounts.values(), *tree.users.values())}:
        algorithm = "fair_tree"
    period = draw(st.sampled_from([1.0, 2.0, 4.0])) * unit
    return naive_shares.Rules(tree, period, period * draw(st.sampled_from([1.0, 0.5])), algorithm, ACCOUNTS)


def as_shares(chosen: naive_shares.Rules) -> sm.Shares:
    rows = [sm.Share(account=name, parent=parent, shares=n) for name, (parent, n) in chosen.tree.accounts.items()]
    rows += [sm.Share(account=account, user=user, shares=n) for user, (account, n) in chosen.tree.users.items()]
    return sm.Shares(
        rows,
        period_s=chosen.period_s,
        half_life_s=chosen.half_life_s,
        algorithm=chosen.algorithm,  # type: ignore[arg-type]
    )


@st.composite
def models(draw: st.DrawFn) -> tuple[Machine, dict[str, Any], naive_shares.Rules]:
    """Jobs of four users at whole or half seconds, so that what users use is exact, perhaps of accounts, and trees."""
    cores, jobs = draw(machines(most=14))
    jobs = replace(jobs, **{name: np.round(getattr(jobs, name)) for name in ("submit_s", "runtime_s", "estimate_s")})
    users = np.array(draw(st.lists(st.integers(0, 3), min_size=len(jobs), max_size=len(jobs))), np.int64)
    how = draw(options(orders=("FairShare",)))
    if how.get("backfill_order"):
        how["backfill_order"] = draw(st.sampled_from(["FairShare", "SPF"]))
    accounts = np.array(draw(st.lists(st.integers(-1, 3), min_size=len(jobs), max_size=len(jobs))), np.int64)
    names = np.array(["" if number < 1 else ACCOUNTS[number - 1] for number in accounts.tolist()], object)
    named = {"account": accounts, "account_name": names} if draw(st.booleans()) else {}
    return (cores, replace(jobs, user_id=users, extras=named)), how, draw(rules(1.0))


@given(models())
@tries(200, full=10_000)
def test_both_engines_are_as_the_slow_simulator(model: tuple[Machine, dict[str, Any], naive_shares.Rules]) -> None:
    (cores, jobs), how, chosen = model
    expected = naive.simulate(jobs, cores=cores, **how, shares=chosen)  # type: ignore[arg-type]
    for engine in ("compiled", "simpy"):
        schedule = sm.simulate(jobs, cores=cores, seed=SEED, engine=engine, **how, shares=as_shares(chosen))
        rank = by_rank(jobs)
        assert schedule.start_s[rank].tolist() == np.array(expected[0])[rank].tolist()
        schedule.validate()
