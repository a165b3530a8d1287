"""What the workloads of studies are called."""

from pathlib import Path

from workloads.files import stem


def log_name(workload: str) -> str:
    """Return what a workload is called: its file's name without its format, its compression and ``-cln`` (cleaned)."""
    return stem(Path(workload)).removesuffix("-cln")
