"""Units of time, in seconds: everything in schedlab is float seconds since the trace's zero."""

from typing import Final

SECOND: Final = 1.0
MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86_400.0
WEEK: Final = 604_800.0
