"""Heuristics: the placers that have a name, first fit and the targeted ones."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.placer import Placer
from simmodels.policies.options import Taker, takes_options
from simmodels.policies.placement_options import Heuristic, PlacementOptions, has_option

if TYPE_CHECKING:
    from simmodels.policies.option_types import (
        FirstFitOptions,
        PackedTargetAsapOptions,
        TargetAsapOptions,
        TargetStretchOptions,
    )


def _takes_options_of(heuristic: Heuristic) -> Callable[[Taker], Taker]:
    """Let the signature of a class name the options of its heuristic."""
    return takes_options(PlacementOptions, only=lambda name: name != "heuristic" and has_option(heuristic, name))


@_takes_options_of("FirstFit")
class FirstFit(Placer):
    """A queue in order of submission, or in another ``order``, and machines filled in an order of their own.

    `aware`: from the safest machine on; else in a random order.

    Parameters
    ----------
    env, cluster
        As for `Placer`.
    options
        ``order``, ``aware``, ``unaware``, ``fill_order``, ``fit``, ``dispatch`` and ``checkpoints``; see
        `PlacementOptions`.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> placer = sm.FirstFit(env, sm.Cluster(env, "ours", machines=2, cores_per_machine=4))
    >>> log = {"submit_s": [0, 0, 0], "runtime_s": [10, 10, 10], "cores": [3, 2, 1]}
    >>> source = sm.Source(env, log, into=placer)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().runs["machine"].tolist()
    [0, 1, 0]
    """

    heuristic = "FirstFit"

    def __init__(self, env: Environment, cluster: Cluster, **options: "Unpack[FirstFitOptions]") -> None:
        super().__init__(env, cluster, **options)


@_takes_options_of("TargetStretch")
class TargetStretch(Placer):
    """Long jobs on safe machines: each waits for its target while its stretch stays below the longest so far.

    Parameters
    ----------
    env, cluster
        As for `Placer`.
    options
        ``reference`` (needed) and the options of targets; see `PlacementOptions`.

    Examples
    --------
    >>> import simmodels as sm
    >>> before = sm.Workload.of({"submit_s": [0] * 4, "runtime_s": [10, 100, 1000, 10_000], "cores": [4] * 4})
    >>> env = sm.Environment()
    >>> placer = sm.TargetStretch(env, sm.Cluster(env, "ours", machines=4, cores_per_machine=4), reference=before)
    >>> source = sm.Source(env, {"submit_s": [0, 0], "runtime_s": [10, 9000], "cores": [4, 4]}, into=placer)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().runs[["job_id", "machine"]].to_numpy().tolist()
    [[1, 3], [2, 2]]
    """

    heuristic = "TargetStretch"

    def __init__(self, env: Environment, cluster: Cluster, **options: "Unpack[TargetStretchOptions]") -> None:
        super().__init__(env, cluster, **options)


@_takes_options_of("TargetAsap")
class TargetAsap(Placer):
    """Long jobs on safe machines, or near there, as soon as possible.

    Parameters
    ----------
    env, cluster
        As for `Placer`.
    options
        ``reference`` (needed) and the options of targets; see `PlacementOptions`.

    Examples
    --------
    >>> import simmodels as sm
    >>> before = sm.Workload.of({"submit_s": [0] * 4, "runtime_s": [10, 100, 1000, 10_000], "cores": [4] * 4})
    >>> env = sm.Environment()
    >>> placer = sm.TargetAsap(env, sm.Cluster(env, "ours", machines=4, cores_per_machine=4), reference=before)
    >>> source = sm.Source(env, {"submit_s": [0, 0], "runtime_s": [10, 9000], "cores": [4, 4]}, into=placer)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().runs[["job_id", "machine"]].to_numpy().tolist()
    [[1, 3], [2, 2]]
    """

    heuristic = "TargetAsap"

    def __init__(self, env: Environment, cluster: Cluster, **options: "Unpack[TargetAsapOptions]") -> None:
        super().__init__(env, cluster, **options)


@_takes_options_of("PackedTargetAsap")
class PackedTargetAsap(Placer):
    """As `TargetAsap`, with the first machines of packs as targets.

    Parameters
    ----------
    env, cluster
        As for `Placer`.
    options
        ``reference`` (needed), the options of targets, ``packing`` and ``pack_size``; see `PlacementOptions`.

    Examples
    --------
    >>> import simmodels as sm
    >>> before = sm.Workload.of({"submit_s": [0] * 4, "runtime_s": [10, 100, 1000, 10_000], "cores": [4] * 4})
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=4, cores_per_machine=4)
    >>> placer = sm.PackedTargetAsap(env, cluster, reference=before, pack_size=2)
    >>> source = sm.Source(env, {"submit_s": [0, 0], "runtime_s": [9000, 10], "cores": [4, 4]}, into=placer)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().runs[["job_id", "machine"]].to_numpy().tolist()
    [[1, 2], [2, 3]]
    """

    heuristic = "PackedTargetAsap"

    def __init__(self, env: Environment, cluster: Cluster, **options: "Unpack[PackedTargetAsapOptions]") -> None:
        super().__init__(env, cluster, **options)
