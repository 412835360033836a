"""What the port reports of a broker that is registered and not there."""

from tests.conformance.lab import Lab, partition_of, until, until_fenced, until_listed
from tests.readings import rates_of, sizes_of

from replan.model.api import (
    LEADER_RATE,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    Rejected,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
)


def test_a_stopped_broker_is_named_as_fenced_tells_nothing_and_comes_back(lab: Lab) -> None:
    topic = lab.create_topic([[5, 2, 3]])
    name = TopicPartition(topic, 0)
    lab.write(topic, 100_000)
    lab.stop_broker(5)
    until_fenced(lab, 5)

    fenced = lab.control_plane.look(Wanted()).brokers[BrokerId(5)]
    snapshot = lab.control_plane.observe()

    assert fenced.rack == "b" or lab.version < (4, 1)  # older clusters do not tell it
    assert [b.id for b in snapshot.brokers if b.fenced] == [5]
    assert len(snapshot.brokers) == 5
    assert snapshot.silent == ()
    assert 5 not in {d.broker for d in snapshot.log_dirs}
    assert sorted(sizes_of(lab.control_plane, [name])) == [(name, 2), (name, 3)]
    assert list(rates_of(lab.control_plane, 2, 5)) == [2]
    until(lab, lambda: set(partition_of(lab, topic).isr) == {2, 3}, "5 out of the ISR")
    assert partition_of(lab, topic).replicas == replicas(5, 2, 3)

    lab.start_broker(5)
    until_listed(lab, topic, 5, 2, 3)
    assert not lab.control_plane.look(Wanted()).brokers[BrokerId(5)].fenced


def test_the_rate_of_a_fenced_broker_is_refused_at_once_and_by_name(lab: Lab) -> None:
    lab.stop_broker(5)
    until_fenced(lab, 5)
    change = broker_change(BrokerId(5), LEADER_RATE, ConfigOperation.SET, "1000000")
    began = lab.clock.now()

    answers = lab.control_plane.alter_configs([change])

    assert answers == {
        (ConfigScope.BROKER, "5"): Rejected(
            42,
            "INVALID_REQUEST",
            "broker 5 is not live, and only a broker itself can change its configuration;"
            " ask again when it is back",
        )
    }
    assert lab.clock.now() - began < 5
