"""ElectLeaders through the port."""

from tests.conformance.lab import (
    Lab,
    partition_of,
    reassign,
    until,
    until_fenced,
    until_listed,
)

from replan.model.api import Accepted, Answer, ElectionType, Rejected, TopicPartition

NOT_NEEDED = Rejected(84, "ELECTION_NOT_NEEDED", "Leader election not needed for topic partition.")


def elect(lab: Lab, topic: str, kind: ElectionType = ElectionType.PREFERRED) -> Answer:
    """The answer for partition 0."""
    name = TopicPartition(topic, 0)
    return lab.control_plane.elect([name], kind)[name]


def test_a_preferred_election_makes_the_first_replica_lead(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    reassign(lab, topic, 2, 1, 3)
    until_listed(lab, topic, 2, 1, 3)

    assert elect(lab, topic) == Accepted()

    until(lab, lambda: partition_of(lab, topic).leader == 2, "2 to lead")
    assert partition_of(lab, topic).leader_epoch == 1


def test_an_election_that_is_not_needed_is_answered_so(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    assert elect(lab, topic) == NOT_NEEDED
    assert elect(lab, topic, ElectionType.UNCLEAN) == NOT_NEEDED


def test_a_preferred_leader_out_of_sync_cannot_be_elected(lab: Lab) -> None:
    topic = lab.create_topic([[5, 2, 3]])
    lab.stop_broker(5)
    until(lab, lambda: partition_of(lab, topic).leader == 2, "2 to lead")

    assert elect(lab, topic) == Rejected(
        80, "PREFERRED_LEADER_NOT_AVAILABLE", "The preferred leader was not available."
    )


def test_a_partition_without_any_live_replica_cannot_be_elected_uncleanly(lab: Lab) -> None:
    topic = lab.create_topic([[5]])
    lab.stop_broker(5)
    until_fenced(lab, 5)
    until(lab, lambda: partition_of(lab, topic).leader is None, "nobody to lead")
    observed = lab.control_plane.observe().partition(TopicPartition(topic, 0))
    assert observed is not None
    assert observed.leader is None

    assert elect(lab, topic, ElectionType.UNCLEAN) == Rejected(
        83,
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "Eligible topic partition leaders are not available.",
    )


def test_elections_are_answered_one_by_one(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    known, unknown = TopicPartition(topic, 0), TopicPartition(topic, 7)
    nowhere = TopicPartition("nowhere", 0)

    answers = lab.control_plane.elect([known, unknown, nowhere], ElectionType.PREFERRED)

    assert set(answers) == {known, unknown, nowhere}
    assert answers[known] == NOT_NEEDED
    assert answers[unknown] == Rejected(
        3, "UNKNOWN_TOPIC_OR_PARTITION", f"No such partition as {topic}-7"
    )
    assert answers[nowhere] == Rejected(3, "UNKNOWN_TOPIC_OR_PARTITION", "No such topic as nowhere")
