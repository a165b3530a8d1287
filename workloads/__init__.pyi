from workloads.arrivals import arrivals, read_workflows
from workloads.batsim import read_batsim
from workloads.batsim_jobs import batsim_jobs, write_batsim_jobs
from workloads.borg import read_borg_slice
from workloads.capacities import capacity_from, capacity_walk, read_series
from workloads.cleaning import FILTERS, clean
from workloads.dax import read_dax
from workloads.graphs import cholesky, erdos_renyi_levels, fork_join, layers
from workloads.lublin import LublinParameters, lublin
from workloads.perotin import RISKY_FAMILIES, mean_length_s, variable_capacity_jobs
from workloads.reading import read
from workloads.resampling import resample
from workloads.sacct import read_sacct
from workloads.submissions import WEEK_WEIGHTS, at_load
from workloads.swf import read_swf, write_swf
from workloads.tsafrir import TsafrirParameters, tsafrir_estimates
from workloads.wfformat import read_wfformat, write_wfformat
from workloads.workflow_mix import MarketParameters, market_workload

__all__ = [
    "FILTERS",
    "RISKY_FAMILIES",
    "WEEK_WEIGHTS",
    "LublinParameters",
    "MarketParameters",
    "TsafrirParameters",
    "arrivals",
    "at_load",
    "batsim_jobs",
    "capacity_from",
    "capacity_walk",
    "cholesky",
    "clean",
    "erdos_renyi_levels",
    "fork_join",
    "layers",
    "lublin",
    "market_workload",
    "mean_length_s",
    "read",
    "read_batsim",
    "read_borg_slice",
    "read_dax",
    "read_sacct",
    "read_series",
    "read_swf",
    "read_wfformat",
    "read_workflows",
    "resample",
    "tsafrir_estimates",
    "variable_capacity_jobs",
    "write_batsim_jobs",
    "write_swf",
    "write_wfformat",
]
