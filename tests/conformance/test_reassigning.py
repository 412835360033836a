"""AlterPartitionReassignments through the port: moves, cancels, and every refusal with Kafka's own words."""

import pytest
from tests.conformance.lab import (
    HELD_BYTES,
    Lab,
    hold_copies_to,
    partition_of,
    reassign,
    release_copies_to,
    until,
    until_listed,
)

from replan.model.api import Accepted, Answer, Rejected, TopicPartition, Wanted, replicas


def ask(lab: Lab, topic: str, *wanted: int, partition: int = 0, grows: bool = True) -> Answer:
    """The answer for one partition."""
    name = TopicPartition(topic, partition)
    asked = {name: replicas(*wanted)}
    return lab.control_plane.reassign(asked, allow_replication_factor_change=grows)[name]


def cancel(lab: Lab, topic: str, partition: int = 0) -> Answer:
    """The answer to cancelling what runs on one partition."""
    name = TopicPartition(topic, partition)
    return lab.control_plane.reassign({name: None}, allow_replication_factor_change=True)[name]


def test_a_replica_is_added_and_then_the_list_is_assigned(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    lab.write(topic, 300_000)

    reassign(lab, topic, 1, 2, 3, 4)
    until_listed(lab, topic, 1, 2, 3, 4)
    reassign(lab, topic, 4, 2, 3)
    until_listed(lab, topic, 4, 2, 3)

    until(lab, lambda: partition_of(lab, topic).leader == 4, "4 to lead")


def test_a_shrink_is_done_within_the_request(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    reassign(lab, topic, 2, 3)

    assert TopicPartition(topic, 0) not in lab.control_plane.look(Wanted()).running
    until_listed(lab, topic, 2, 3)


def test_a_reorder_moves_no_leader_and_is_never_listed_as_running(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    epoch = partition_of(lab, topic).leader_epoch

    assert ask(lab, topic, 3, 1, 2, grows=False) == Accepted()

    assert TopicPartition(topic, 0) not in lab.control_plane.look(Wanted()).running
    until_listed(lab, topic, 3, 1, 2)
    seen = partition_of(lab, topic)
    assert (seen.leader, seen.leader_epoch) == (1, epoch)


def test_a_held_copy_stays_open_until_it_is_let_go(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    lab.write(topic, HELD_BYTES)
    hold_copies_to(lab, topic, source=1, destination=4)
    reassign(lab, topic, 1, 2, 3, 4)
    lab.clock.sleep(1)

    assert lab.control_plane.look(Wanted()).running[TopicPartition(topic, 0)].adding == replicas(4)
    assert 4 not in partition_of(lab, topic).isr

    release_copies_to(lab, 4)
    until_listed(lab, topic, 1, 2, 3, 4)


def test_a_cancel_keeps_the_members_and_loses_the_order(lab: Lab) -> None:
    topic = lab.create_topic([[3, 1, 2]])
    lab.write(topic, HELD_BYTES)
    hold_copies_to(lab, topic, source=3, destination=4)
    reassign(lab, topic, 4, 1, 3)
    assert lab.control_plane.look(Wanted()).running[TopicPartition(topic, 0)].replicas == replicas(
        4, 1, 3, 2
    )

    assert cancel(lab, topic) == Accepted()

    until_listed(lab, topic, 1, 3, 2)


@pytest.mark.parametrize(
    ("wanted", "includes"),
    [
        ((1, 2, 99), "broker 99, but no such broker is registered."),
        ((), "an empty replica list."),
        ((1, 2, 2), "the broker 2 more than once."),
    ],
    ids=["unregistered", "empty", "twice"],
)
def test_a_list_that_cannot_be_is_refused(lab: Lab, wanted: tuple[int, ...], includes: str) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    assert ask(lab, topic, *wanted) == Rejected(
        39,
        "INVALID_REPLICA_ASSIGNMENT",
        f"The manual partition assignment includes {includes}",
    )
    assert partition_of(lab, topic).replicas == replicas(1, 2, 3)


def test_an_unknown_topic_or_partition_is_refused(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    assert ask(lab, "nowhere", 1, 2, 3) == Rejected(
        3, "UNKNOWN_TOPIC_OR_PARTITION", "Unable to find a topic named nowhere."
    )
    assert ask(lab, topic, 1, 2, 3, partition=7) == Rejected(
        3, "UNKNOWN_TOPIC_OR_PARTITION", f"Unable to find partition {topic}:7."
    )


def test_a_cancel_without_a_reassignment_is_refused(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    assert cancel(lab, topic) == Rejected(
        85, "NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress."
    )


def test_another_length_is_refused_where_it_is_forbidden(lab: Lab) -> None:
    if not lab.control_plane.features().replication_factor_guard:
        pytest.skip("this version has no guard; the plain request is sent")
    topic = lab.create_topic([[1, 2, 3]])

    assert ask(lab, topic, 1, 2, 3, 4, grows=False) == Rejected(
        38,
        "INVALID_REPLICATION_FACTOR",
        "The replication factor is changed from 3 to 4",
    )
    assert ask(lab, topic, 1, 3, 2, grows=False) == Accepted()


def test_without_the_guard_the_plain_request_is_sent(lab: Lab) -> None:
    if lab.control_plane.features().replication_factor_guard:
        pytest.skip("this version has the guard")
    topic = lab.create_topic([[1, 2, 3]])

    assert ask(lab, topic, 1, 2, grows=False) == Accepted()


def test_a_refused_partition_leaves_the_others_alone(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    first, second, third = (TopicPartition(topic, number) for number in range(3))

    answers = lab.control_plane.reassign(
        {first: replicas(2, 1, 3), second: replicas(1, 99), third: None},
        allow_replication_factor_change=True,
    )

    assert list(answers) == [first, second, third]
    assert answers[first] == Accepted()
    assert [getattr(answers[name], "code", None) for name in (second, third)] == [39, 85]
    until_listed(lab, topic, 2, 1, 3)


def test_many_partitions_are_asked_for_at_once(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]] * 60)
    names = [TopicPartition(topic, number) for number in range(60)]

    answers = lab.control_plane.reassign(
        dict.fromkeys(names, replicas(3, 2, 1)), allow_replication_factor_change=False
    )

    assert dict(answers) == dict.fromkeys(names, Accepted())
    until(
        lab,
        lambda: all(
            seen.replicas == replicas(3, 2, 1)
            for seen in lab.control_plane.look(Wanted(partitions=names)).partitions.values()
        ),
        "all reordered",
    )
