"""Files: written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Hand out a temporary path beside `path`; on leaving, what was written there takes its place.

    A reader sees the old file or the whole new one, never a part. If the body fails, the temporary
    file is removed and the old one stands.

    Parameters
    ----------
    path
        The file to write; its folder must exist.

    Raises
    ------
    FileNotFoundError
        The folder does not exist.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: {target.parent} is not a folder")
    # The name ends as the target's does, because writers choose format and compression by it.
    temporary = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
