"""Units of time, in seconds: everything in schedlab is float seconds since the trace's zero."""

from typing import Final

SECOND: Final = 1.0
"""The unit of all times."""
MINUTE: Final = 60.0
"""Seconds in a minute."""
HOUR: Final = 3600.0
"""Seconds in an hour."""
DAY: Final = 86_400.0
"""Seconds in a day."""
WEEK: Final = 604_800.0
"""Seconds in a week."""
