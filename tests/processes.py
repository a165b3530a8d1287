"""Processes: what tests and attacks look up of those that they start."""

from pathlib import Path


def session_of(leader: int) -> list[int]:
    """Return the processes of a session that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, *fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == leader and state not in "ZX":
            found.append(int(path.parent.name))
    return found
