"""AlterReplicaLogDirs through the port: replicas that go to another directory of their broker, and every refusal."""

from tests.conformance.lab import Lab, until

from replan.model.api import Accepted, BrokerId, LogPlace, Rejected, TopicPartition, Wanted

TWO = BrokerId(2)


def place(lab: Lab, name: TopicPartition) -> LogPlace:
    """Where the replica of broker 2 lies."""
    return lab.control_plane.look(Wanted(places_of={TWO: [name]})).places[TWO][name]


def other(lab: Lab, path: str | None) -> str:
    """Another directory of broker 2."""
    dirs = (d.path for d in lab.control_plane.log_dirs() if d.broker == TWO)
    return next(d for d in sorted(dirs) if d != path)


def test_a_replica_goes_to_the_other_directory_and_the_same_again_changes_nothing(lab: Lab) -> None:
    name = TopicPartition(lab.create_topic([[1, 2, 3]]), 0)
    until(lab, lambda: place(lab, name).path is not None, "its log to be there")
    target = other(lab, place(lab, name).path)
    for _ in range(2):
        assert lab.control_plane.move_logs({(name, TWO): target}) == {(name, TWO): Accepted()}
        until(lab, lambda: place(lab, name) == LogPlace(target, 0), "it to lie there alone")
    lying = {
        d.path
        for d in lab.control_plane.observe().log_dirs
        if d.broker == TWO and 0 in d.replicas.get(name.topic, ())
    }
    assert lying == {target}


def test_what_a_broker_refuses(lab: Lab) -> None:
    name = TopicPartition(lab.create_topic([[1, 2, 3], [1, 3, 4]]), 0)
    until(lab, lambda: place(lab, name).path is not None, "its log to be there")
    plane, elsewhere = lab.control_plane, name._replace(partition=1)
    for replica, path, code in (
        (name, "/no/such/directory", 57),
        (elsewhere, other(lab, None), 9),
    ):
        answer = plane.move_logs({(replica, TWO): path})[replica, TWO]
        assert isinstance(answer, Rejected)
        assert answer.code == code


def test_of_a_replica_that_is_not_there_no_place_is_known(lab: Lab) -> None:
    name = TopicPartition(lab.create_topic([[1, 3, 4]]), 0)
    assert place(lab, name) == LogPlace(None)
