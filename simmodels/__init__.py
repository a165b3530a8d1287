"""schedlab's models: workloads, clusters, schedulers, and what they decide.

>>> import simmodels as sm
"""

from simmodels.facade import open_facade

open_facade(__name__)
