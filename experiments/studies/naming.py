"""What the workloads of studies are called."""

from pathlib import Path


def name_of(workload: str) -> str:
    """Return what a workload is called: its file's name without endings."""
    return Path(workload).name.split(".", maxsplit=1)[0].removesuffix("-cln")
