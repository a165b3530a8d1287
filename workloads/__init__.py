"""Workloads: what goes into a simulation, read from files, cleaned or generated; and the formats of other programs.

This is the facade: the names a model script needs.
"""

from workloads.arrivals import arrivals, read_workflows
from workloads.batsim import read_batsim
from workloads.batsim_jobs import batsim_jobs, write_batsim_jobs
from workloads.cleaning import FILTERS, clean
from workloads.dax import read_dax
from workloads.lublin import LublinParameters, lublin
from workloads.market import MarketParameters, market_workload
from workloads.resampling import resample
from workloads.sacct import read_sacct
from workloads.submissions import WEEK_WEIGHTS, at_load
from workloads.swf import read_swf, write_swf
from workloads.tsafrir import TsafrirParameters, tsafrir_estimates
from workloads.wfformat import read_wfformat, write_wfformat

__all__ = [
    "FILTERS",
    "WEEK_WEIGHTS",
    "LublinParameters",
    "MarketParameters",
    "TsafrirParameters",
    "arrivals",
    "at_load",
    "batsim_jobs",
    "clean",
    "lublin",
    "market_workload",
    "read_batsim",
    "read_dax",
    "read_sacct",
    "read_swf",
    "read_wfformat",
    "read_workflows",
    "resample",
    "tsafrir_estimates",
    "write_batsim_jobs",
    "write_swf",
    "write_wfformat",
]
