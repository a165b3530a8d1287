"""Docstrings: what the one of a class says of its parameters, for those who show it elsewhere."""

import inspect


def descriptions(kind: type) -> dict[str, str]:
    """Return what the docstring of a class says of each parameter, by name, in one line."""
    said: dict[str, list[str]] = {}
    found: list[str] = []
    for line in inspect.cleandoc(kind.__doc__ or "").splitlines():
        if line and not line.startswith(" "):
            found = []
            for name in line.split(", "):
                said[name] = found
        elif line:
            found.append(line.strip())
    return {name: " ".join(lines) for name, lines in said.items()}
