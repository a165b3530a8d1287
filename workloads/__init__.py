"""Workloads: what goes into a simulation, read from files, cleaned or generated; and the formats of other programs.

This is the facade: the names a model script needs.
"""

from simmodels.ground.facade import open_facade

open_facade(__name__)
