"""Fair state: what users and accounts have used of a cluster, and the fair-share factor of each user.

A *node* is an account or a user in the tree of shares; node 0 is the root, and each node comes after that of which it
is a part. What has run since the last tick of the period is kept apart: factors change at ticks alone.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MIN
from simmodels.structures.arrays import grown
from simmodels.structures.structure import Handle, Structure

PARENT: Final = -1.0
"""The shares of who is judged by the account above."""


class FairState(Handle):
    """A Python handle on usage and factors; made by `new_fair`."""


_F1 = types.float64[::1]
_I1 = types.int64[::1]
_B1 = types.boolean[::1]
FAIR_STATE: Final = Structure(
    FairState,
    [
        # by node
        ("parent", _I1),  # of which it is a part; -1 of the root
        ("above", _I1),  # among whose parts it is judged: its parent, or the next above that has shares of its own
        ("depth", _I1),  # how many steps that is below the root
        ("shares", _F1),
        ("is_user", _B1),
        ("counted", _B1),  # whether it counts among its siblings: a user whom no row names does from its first job on
        ("usage", _F1),  # core-seconds as of the last tick, of a user
        ("ran", _F1),  # core-seconds since then, up to `since`
        ("since", _F1),
        ("cores", _I1),  # what runs
        # the same, as of when factors were computed last
        ("norm", _F1),  # its part of the siblings' shares; with the classic algorithm of all shares
        ("effective", _F1),  # its part of the siblings' usage, or what stands for it
        ("level", _F1),  # the first divided by the second
        ("factor", _F1),
        ("nodes", types.int64),
        # by slot
        ("node", _I1),
        # how
        ("period", types.float64),
        ("decay", types.float64),  # by which usage is multiplied at a tick
        ("classic", types.boolean),
        ("damping", types.float64),
        # where it is
        ("tick", types.int64),  # the number of the last tick; before the first event the least number
        ("stale", types.boolean),  # whether factors are to be computed
        ("cell", _F1),  # the address of the factors, for orders that read them
    ],
)


@compiled
def new_fair(slots, nodes, period, decay, classic, damping):
    """Return the state of a tree with a root, with room for slots and nodes; the others as in `simmodels.Shares`."""
    made = structref.new(FAIR_STATE)
    made.parent = np.full(nodes, -1)
    made.above = np.full(nodes, -1)
    made.depth = np.zeros(nodes, np.int64)
    made.shares = np.zeros(nodes)
    made.is_user = np.zeros(nodes, np.bool_)
    made.counted = np.ones(nodes, np.bool_)
    made.usage = np.zeros(nodes)
    made.ran = np.zeros(nodes)
    made.since = np.zeros(nodes)
    made.cores = np.zeros(nodes, np.int64)
    made.norm = np.zeros(nodes)
    made.effective = np.zeros(nodes)
    made.level = np.full(nodes, np.inf)
    made.factor = np.ones(nodes)
    made.nodes = 1
    made.node = np.zeros(slots, np.int64)
    made.period, made.decay = period, decay
    made.classic, made.damping = classic, damping
    made.tick = INT64_MIN
    made.stale = True
    made.cell = np.empty(1)
    made.cell[0] = np.int64(made.factor.ctypes.data)
    return made


@compiled
def add_node(fair, parent, shares, is_user, counted, usage):
    """Add a node behind all others."""
    node = fair.nodes
    if node == fair.parent.size:
        room = 2 * node
        fair.parent, fair.above, fair.depth = grown(fair.parent, room), grown(fair.above, room), grown(fair.depth, room)
        fair.shares, fair.is_user, fair.counted = (
            grown(fair.shares, room),
            grown(fair.is_user, room),
            grown(fair.counted, room),
        )
        fair.usage, fair.ran, fair.since = grown(fair.usage, room), grown(fair.ran, room), grown(fair.since, room)
        fair.cores, fair.norm = grown(fair.cores, room), grown(fair.norm, room)
        fair.effective, fair.level = grown(fair.effective, room), grown(fair.level, room)
        fair.factor = grown(fair.factor, room)
        fair.cell[0] = np.int64(fair.factor.ctypes.data)
    above = parent
    while fair.shares[above] == PARENT:
        above = fair.parent[above]
    fair.parent[node], fair.above[node], fair.depth[node] = parent, above, fair.depth[above] + 1
    fair.shares[node], fair.is_user[node], fair.counted[node], fair.usage[node] = shares, is_user, counted, usage
    fair.ran[node], fair.since[node], fair.cores[node], fair.factor[node] = 0.0, 0.0, 0, 1.0
    fair.nodes += 1
    fair.stale = True
    return node


@compiled
def grow_nodes(fair, slots):
    """Make room for `slots` slots; return the node of each, which the caller fills in."""
    fair.node = grown(fair.node, slots)
    return fair.node


@compiled
def nodes_of(fair):
    """Return the node of each slot, and the cell with the address of the factors."""
    return fair.node, fair.cell


@compiled
def copy_fair(fair, old):
    """Be where another state of the same tree is, which stays as it is; the slots are others."""
    fair.parent, fair.above, fair.depth = old.parent.copy(), old.above.copy(), old.depth.copy()
    fair.shares, fair.is_user, fair.counted = old.shares.copy(), old.is_user.copy(), old.counted.copy()
    fair.usage, fair.ran, fair.since, fair.cores = old.usage.copy(), old.ran.copy(), old.since.copy(), old.cores.copy()
    fair.norm, fair.effective, fair.level = old.norm.copy(), old.effective.copy(), old.level.copy()
    fair.factor = old.factor.copy()
    fair.cell[0] = np.int64(fair.factor.ctypes.data)
    fair.nodes, fair.tick, fair.stale = old.nodes, old.tick, old.stale


@compiled
def used_with_parts(fair):
    """Return float64[nodes], what each node has used as of the last tick, with all its parts."""
    used = fair.usage[: fair.nodes].copy()
    for node in range(fair.nodes - 1, 0, -1):
        used[fair.parent[node]] += used[node]
    return used


@compiled
def export_nodes(fair):
    """Return norm, what was used with all parts, effective, factor and level of each node (copies)."""
    n = fair.nodes
    return (
        fair.norm[:n].copy(),
        used_with_parts(fair),
        fair.effective[:n].copy(),
        fair.factor[:n].copy(),
        fair.level[:n].copy(),
    )
