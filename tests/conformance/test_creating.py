"""CreatePartitions through the port: where new partitions lie, and every refusal with Kafka's own words."""

import pytest
from tests.conformance.lab import Lab, partition_of, reassign, until, until_listed

from replan.model.api import (
    Accepted,
    Answer,
    NewPartitions,
    Rejected,
    TopicPartition,
    Wanted,
    replicas,
)


def add(lab: Lab, topic: str, count: int, *lists: tuple[int, ...]) -> Answer:
    """The answer for one topic."""
    new = NewPartitions(count, tuple(replicas(*listed) for listed in lists))
    return lab.control_plane.create_partitions({topic: new})[topic]


def exists(lab: Lab, topic: str, partition: int) -> bool:
    """Whether brokers show a partition."""
    name = TopicPartition(topic, partition)
    return name in lab.control_plane.look(Wanted(partitions=[name])).partitions


def test_new_partitions_have_the_replicas_that_were_asked_for(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    assert add(lab, topic, 3, (2, 3, 4), (5, 1, 3)) == Accepted()

    until(lab, lambda: exists(lab, topic, 1) and exists(lab, topic, 2), "both to be there")
    for number, listed in ((1, (2, 3, 4)), (2, (5, 1, 3))):
        seen = partition_of(lab, topic, number)
        assert (seen.replicas, seen.leader) == (replicas(*listed), listed[0])
        assert seen.topic_id == partition_of(lab, topic).topic_id


def test_the_same_request_again_changes_nothing(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    assert add(lab, topic, 2, (2, 3, 4)) == Accepted()

    until(lab, lambda: exists(lab, topic, 1), "the new one to be there")
    assert add(lab, topic, 2, (2, 3, 4)) == Rejected(
        37, "INVALID_PARTITIONS", "Topic already has 2 partition(s)."
    )
    assert not exists(lab, topic, 2)


def test_whether_partitions_would_be_taken_is_answered_without_any(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    def would(count: int, *lists: tuple[int, ...]) -> Answer:
        new = NewPartitions(count, tuple(replicas(*listed) for listed in lists))
        return lab.control_plane.would_create({topic: new})[topic]

    assert would(2, (2, 3, 4)) == Accepted()
    assert not exists(lab, topic, 1)
    assert would(2, (2, 3, 77)) == add(lab, topic, 2, (2, 3, 77))
    assert add(lab, topic, 2, (2, 3, 4)) == Accepted()


REFUSED: dict[str, tuple[int, list[tuple[int, ...]], str]] = {
    "fewer": (1, [], "The topic {} currently has 2 partition(s); 1 would not be an increase."),
    "another length": (
        3,
        [(2, 3)],
        (
            "The manual partition assignment includes a partition with 2 replica(s), "
            "but this is not consistent with previous partitions, which have 3 replica(s)."
        ),
    ),
    "not registered": (
        3,
        [(2, 3, 9)],
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    "a list missing": (
        4,
        [(2, 3, 4)],
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused(lab: Lab, what: str) -> None:
    count, lists, said = REFUSED[what]
    topic = lab.create_topic([[1, 2, 3], [2, 3, 4]])

    code = (39, "INVALID_REPLICA_ASSIGNMENT") if lists else (37, "INVALID_PARTITIONS")
    assert add(lab, topic, count, *lists) == Rejected(*code, said.format(topic))


def test_the_replicas_of_a_partition_that_was_changed_count_as_they_are(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    reassign(lab, topic, 2, 3)
    until_listed(lab, topic, 2, 3)

    assert add(lab, topic, 2, (4, 5)) == Accepted()


def test_a_topic_that_does_not_exist_is_answered_so(lab: Lab) -> None:
    answer = add(lab, "nowhere", 2, (2, 3, 4))

    assert isinstance(answer, Rejected)
    assert answer.code == 3
