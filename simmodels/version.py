"""The version of schedlab: the one place where it is written."""

from typing import Final

__version__: Final = "0.1.0"
"""The version, as in ``schedlab --version``."""
