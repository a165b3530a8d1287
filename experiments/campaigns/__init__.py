"""Campaigns: designs of thousands of independent simulations, run on two cores or a cluster, resumed and reported.

This is the facade: the names a study needs.
"""

from simmodels.ground.facade import open_facade

open_facade(__name__)
