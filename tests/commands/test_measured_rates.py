"""What producers write, from two readings: never less because retention or compaction takes bytes away meanwhile.

A rate that is too low lets a plan say that its copies end at their throttle, and they never do.
"""

import pytest

from replan.commands.api import bytes_added
from replan.model.api import LogEnd


@pytest.mark.parametrize(
    ("before", "after", "first", "last", "expected"),
    [
        (1000, 1500, LogEnd(10, 0, 0), LogEnd(15, 0, 0), 500),
        (1000, 1000, LogEnd(9_990, 0, 9_980), LogEnd(10_000, 0, 9_990), 1000),  # one per cent kept
        (1000, 400, LogEnd(10, 0, 0), LogEnd(14, 0, 10), 400),
        (1000, 1000, LogEnd(10, 0, 0), LogEnd(10, 0, 0), 0),
        (1000, 0, LogEnd(10, 0, 0), LogEnd(10, 0, 10), 0),  # all of it deleted, nothing written
        (1000, 0, LogEnd(10, 0, 0), LogEnd(20, 0, 20), None),  # written, and deleted already
        (1000, 1000, LogEnd(10, 0, 0), LogEnd(20, 0), None),
        (1000, 1000, None, LogEnd(20, 0, 0), None),
        (1000, 1000, LogEnd(10, 0, 0), None, None),
        (1000, 1000, LogEnd(10, 0, 0), LogEnd(5, 0, 0), None),  # truncated
    ],
)
def test_what_retention_takes_away_counts_as_written(
    before: int, after: int, first: LogEnd | None, last: LogEnd | None, expected: float | None
) -> None:
    assert bytes_added(before, after, first, last) == expected
