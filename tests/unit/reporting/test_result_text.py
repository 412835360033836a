"""How a partition stands in the end, in words."""

import pytest

from replan.applying.api import (
    CopyingInBroker,
    Ending,
    LogMoveResult,
    NewBrokerFenced,
    OpenApplication,
    Outcome,
    PartitionResult,
    Result,
    Stopping,
)
from replan.errors import Exit
from replan.model.api import BrokerId, TopicPartition
from replan.reporting.api import application_lines, drawn, outcome_text, result_text

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


def test_what_waits_for_the_same_when_it_gives_up_stands_in_one_line() -> None:
    waiting = [
        PartitionResult(
            TopicPartition("orders", number),
            Result.WAITING,
            hold=NewBrokerFenced(BrokerId(4 if number else 5)),
            held_seconds=60.0 + number,
        )
        for number in range(6)
    ]
    said = outcome_text(Outcome(exit_code=Exit.HELD, ending=Ending.GAVE_UP, results=tuple(waiting)))
    fenced = "is to receive a replica and is fenced; start it"
    assert said.splitlines()[1:3] == [
        f"  orders-0: broker 5 {fenced} (for 1 min)",
        f"  5 not started: broker 4 {fenced} (for 1 min 5 s): orders-1, orders-2, orders-3, and 2 more",
    ]


def test_of_what_waits_alike_the_numbers_of_one_are_not_those_of_all() -> None:
    copying = [
        LogMoveResult(
            TopicPartition("orders", number),
            BrokerId(4),
            Result.RUNNING,
            hold=CopyingInBroker(1_000_000 * number, 16_000_000),
        )
        for number in (1, 1, 3)
    ]
    found = OpenApplication("a", "ann", "pid 12", tuple(copying), 0, {}, throttled=False)
    assert (
        drawn(application_lines(found, "replan resume"))
        .splitlines()[1]
        .startswith(
            "  3 running: its broker copies it: 1 MB of 16 MB, or like that (1 more): orders-1"
        )
    )
