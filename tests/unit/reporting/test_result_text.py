"""How a partition stands in the end, in words."""

import pytest

from replan.applying.reasons.holds import Stopping
from replan.applying.views.outcome import PartitionResult, Result
from replan.model.names import TopicPartition
from replan.reporting.application.outcome_text import result_text

NAME = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (PartitionResult(NAME, Result.WAITING), "orders-0: not started"),
        (PartitionResult(NAME, Result.RUNNING), "orders-0: started"),
        (PartitionResult(NAME, Result.RUNNING, hold=Stopping()), "orders-0: stopping"),
        (PartitionResult(NAME, Result.STALE, "orders-0: gone"), "orders-0: gone"),
    ],
)
def test_a_partition_in_the_end_is_said_with_why(result: PartitionResult, text: str) -> None:
    assert result_text(result) == text
