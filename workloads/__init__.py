"""Workloads: what goes into a simulation, read from files, cleaned or generated; and the formats of other programs.

This is the facade: the names a model script needs.
"""

from workloads.batsim import read_batsim
from workloads.batsim_jobs import batsim_jobs, write_batsim_jobs
from workloads.borg import read_borg_slice
from workloads.capacities import capacity_from, capacity_walk, read_series
from workloads.cleaning import FILTERS, clean
from workloads.lublin import LublinParameters, lublin
from workloads.resampling import resample
from workloads.risky import RISKY_FAMILIES, mean_length_s, risky_jobs
from workloads.sacct import read_sacct
from workloads.swf import read_swf, write_swf
from workloads.tsafrir import TsafrirParameters, tsafrir_estimates

__all__ = [
    "FILTERS",
    "RISKY_FAMILIES",
    "LublinParameters",
    "TsafrirParameters",
    "batsim_jobs",
    "capacity_from",
    "capacity_walk",
    "clean",
    "lublin",
    "mean_length_s",
    "read_batsim",
    "read_borg_slice",
    "read_sacct",
    "read_series",
    "read_swf",
    "resample",
    "risky_jobs",
    "tsafrir_estimates",
    "write_batsim_jobs",
    "write_swf",
]
