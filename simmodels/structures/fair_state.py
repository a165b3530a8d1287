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
from simmodels.structures.structure import B1, F1, I1, Handle, Structure, columns_by, copied

PARENT: Final = -1.0
"""The shares of who is judged by the account above."""


class FairState(Handle):
    """A Python handle on usage and factors; made by `new_fair`."""


FAIR_STATE: Final = Structure(
    FairState,
    [
        ("parent", I1, "node", -1),  # of which it is a part; -1 of the root
        # among whose parts it is judged: its parent, or the next above that has shares of its own
        ("above", I1, "node", -1),
        ("depth", I1, "node", 0),  # how many steps that is below the root
        ("shares", F1, "node", 0.0),
        ("is_user", B1, "node", False),
        # whether it counts among its siblings: a user whom no row names does from its first job on
        ("counted", B1, "node", True),
        ("usage", F1, "node", 0.0),  # core-seconds as of the last tick, of a user
        ("ran", F1, "node", 0.0),  # core-seconds since then, up to `since`
        ("since", F1, "node", 0.0),
        ("cores", I1, "node", 0),  # what runs
        # as of when factors were computed last
        ("norm", F1, "node", 0.0),  # its part of the siblings' shares; with the classic algorithm of all shares
        ("effective", F1, "node", 0.0),  # its part of the siblings' usage, or what stands for it
        ("level", F1, "node", np.inf),  # the first divided by the second
        ("factor", F1, "node", 1.0),
        ("nodes", types.int64),
        # by slot
        ("node", I1),
        # how
        ("period", types.float64),
        ("decay", types.float64),  # by which usage is multiplied at a tick
        ("classic", types.boolean),
        ("damping", types.float64),
        # where it is
        ("tick", types.int64),  # the number of the last tick; before the first event the least number
        ("stale", types.boolean),  # whether factors are to be computed
        ("cell", F1),  # the address of the factors, for orders that read them
    ],
)
_lengthen_nodes = columns_by(FAIR_STATE, "node")


@compiled
def new_fair(slots, nodes, period, decay, classic, damping):
    """Return the state of a tree with a root, with room for slots and nodes; the others as in `simmodels.Shares`."""
    made = structref.new(FAIR_STATE)
    _lengthen_nodes(made, nodes)
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
        _lengthen_nodes(fair, 2 * node)
        fair.cell[0] = np.int64(fair.factor.ctypes.data)
    above = parent
    while fair.shares[above] == PARENT:
        above = fair.parent[above]
    fair.parent[node], fair.above[node], fair.depth[node] = parent, above, fair.depth[above] + 1
    fair.shares[node], fair.is_user[node], fair.counted[node], fair.usage[node] = shares, is_user, counted, usage
    fair.nodes += 1
    fair.stale = True
    return node


@compiled
def grow_nodes(fair, slots):
    """Make room for `slots` slots; return the node of each, which the caller fills in."""
    fair.node = grown(fair.node, slots)
    return fair.node


@compiled
def copied_fair(fair, slots):
    """Return the same tree, which goes on by itself, with room for other slots."""
    made = copied(fair)
    made.node = np.zeros(slots, np.int64)
    made.cell[0] = np.int64(made.factor.ctypes.data)
    return made


@compiled
def used_with_parts(fair):
    """Return float64[nodes], what each node has used as of the last tick, with all its parts."""
    used = fair.usage[: fair.nodes].copy()
    for node in range(fair.nodes - 1, 0, -1):
        used[fair.parent[node]] += used[node]
    return used
