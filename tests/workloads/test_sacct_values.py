import math

import pytest

from workloads.sacct_values import BAD, UNLIMITED, duration, limit, limit_in_minutes, memory_mb, tres_cpus


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("00:00:00", 0), ("01:02:03", 3723), ("1-00:00:00", 86400), ("365-23:59:59", 365 * 86400 + 86399)],
        *[("02:03", 123), ("02:03.250", 123.25), ("00:00:01.5", 1.5), ("5", BAD), ("x", BAD), ("1-02:03", BAD)],
        *[("-1:00:00", BAD), ("1:2:3:4", BAD), ("01:00:00 ", BAD), ("\u0661:00", BAD)],
    ],
)
def test_a_duration_has_days_hours_minutes_and_seconds(text: str, seconds: float) -> None:
    assert duration(text) == seconds


def test_limits_come_in_minutes_or_as_durations_or_not_at_all() -> None:
    assert limit_in_minutes("90") == 5400
    assert limit("UNLIMITED") == limit_in_minutes("UNLIMITED") == UNLIMITED
    assert all(
        math.isnan(read(text)) for read in (limit, limit_in_minutes) for text in ("", "Partition_Limit", "INVALID")
    )
    assert math.isnan(limit("00:00:00"))
    assert math.isnan(limit_in_minutes("0"))
    assert limit("soon") == limit_in_minutes("soon") == BAD
    assert math.isnan(memory_mb("lots"))
    assert math.isnan(tres_cpus("mem=4G"))
