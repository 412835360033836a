"""What replicas say of their own logs through the port: ends, epochs, and where two logs part."""

from tests.conformance.lab import (
    RECORD_BYTES,
    Lab,
    answering,
    in_sync,
    leader_is,
    log,
    logs_of,
    stop,
)

from replan.model.api import (
    MIN_INSYNC_REPLICAS,
    NO_LEADER_EPOCH,
    Accepted,
    BrokerId,
    ElectionType,
    EpochEnd,
    LogEnd,
    ProbeFailure,
    ProbeProblem,
    TopicPartition,
)


def test_replicas_in_sync_say_the_same(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    lab.write(topic, 7 * RECORD_BYTES)

    found = logs_of(lab, topic, 1, 2, 3)

    assert {(log(found, b).last_epoch, log(found, b).end) for b in (1, 2, 3)} == {(0, 7)}


def test_every_replica_says_where_its_log_begins_and_ends(lab: Lab) -> None:
    """The bytes of a log by its records are the size of one; its end alone counts what retention has deleted."""
    topic = lab.create_topic([[1, 2, 3]])
    lab.write(topic, 7 * RECORD_BYTES)
    name, both = TopicPartition(topic, 0), (BrokerId(1), BrokerId(3))

    found = lab.control_plane.log_ends({broker: [name] for broker in both})

    ends = [one for broker in both if isinstance(one := found[broker][name], LogEnd)]
    assert [(one.start, one.end) for one in ends] == [(0, 7), (0, 7)]


def test_an_empty_log_has_no_epoch(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    found = logs_of(lab, topic, 2, 3)

    assert {(log(found, b).last_epoch, log(found, b).end) for b in (2, 3)} == {(NO_LEADER_EPOCH, 0)}


def test_a_broker_without_the_replica_says_so_and_one_that_is_down_says_nothing(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    stop(lab, 5)

    found = logs_of(lab, topic, 4, 5)

    problems = [one.problem for one in found.values() if isinstance(one, ProbeFailure)]
    assert problems == [ProbeProblem.NO_REPLICA, ProbeProblem.SILENT]


def test_an_epoch_beyond_the_last_record_is_not_in_a_log(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    lab.write(topic, 2 * RECORD_BYTES)
    name, two = TopicPartition(topic, 0), BrokerId(2)

    def asked(epoch: int) -> EpochEnd | ProbeFailure:
        return lab.control_plane.epoch_ends({two: {name: epoch}})[two][name]

    beyond, last = asked(1), asked(0)

    assert isinstance(beyond, EpochEnd)
    assert isinstance(last, EpochEnd)
    assert (beyond.epoch, last.epoch, last.end) == (NO_LEADER_EPOCH, 0, 2)


def test_two_logs_that_part_are_compared_without_a_leader(lab: Lab) -> None:
    """1 has more records, 2 those of a later leader: what each has beyond the common part is known exactly."""
    topic = lab.create_topic([[1, 2, 3]], {MIN_INSYNC_REPLICAS: "1"})
    lab.write(topic, 3 * RECORD_BYTES)
    stop(lab, 2, 3)
    lab.write(topic, 6 * RECORD_BYTES)
    stop(lab, 1)
    leader_is(lab, topic, None)
    lab.start_broker(2)
    lab.start_broker(3)
    name = TopicPartition(topic, 0)
    answering(lab, topic, 2)
    assert lab.control_plane.elect([name], ElectionType.UNCLEAN) == {name: Accepted()}
    in_sync(lab, topic, 2, 3)
    lab.write(topic, 2 * RECORD_BYTES)
    stop(lab, 2)
    leader_is(lab, topic, 3)
    stop(lab, 3)
    lab.start_broker(1)
    lab.start_broker(2)
    leader_is(lab, topic, None)
    answering(lab, topic, 1, 2)
    found = logs_of(lab, topic, 1, 2)

    one, two = log(found, 1), log(found, 2)
    assert (one.last_epoch, one.end) == (0, 9)
    assert (two.last_epoch, two.end) == (2, 5)
    assert two.rank > one.rank
    assert (one.epochs[0], two.epochs[0]) == (9, 3)
