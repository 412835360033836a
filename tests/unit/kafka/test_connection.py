"""One connection: requests and responses in order, whatever their size."""

import socket
import struct
import threading
import time

from replan.kafka.api import (
    DESCRIBE_TOPIC_CONFIGS,
    Abilities,
    Address,
    BrokerConnection,
    ClientProperties,
    DescribeConfigs,
    Question,
    converse,
)

A_MEGABYTE = 1_000_000


def answer_in_order(broker: socket.socket, size: int) -> None:
    """As brokers work: the next request is read when the response to the last one is taken."""
    with broker, broker.makefile("rb") as requests:
        while header := requests.read(4):
            frame = requests.read(struct.unpack(">i", header)[0])
            broker.sendall(struct.pack(">i", size + 5) + frame[4:8] + bytes(1 + size))


def test_long_requests_with_long_responses_do_not_wait_for_each_other() -> None:
    resource = DescribeConfigs.DescribeConfigsResource(
        resource_type=2, resource_name="t" * A_MEGABYTE, configuration_keys=[]
    )
    question = Question(
        DESCRIBE_TOPIC_CONFIGS,
        DescribeConfigs(resources=[resource]),
        lambda body, _version: len(body),
    )
    ours, brokers = socket.socketpair()
    ours.setblocking(False)
    connection = BrokerConnection(
        Address("broker", 9092), ClientProperties((Address("broker", 9092),)), ours
    )
    connection.abilities = Abilities({DescribeConfigs.API_KEY: (4, 4)})
    threading.Thread(target=answer_in_order, args=(brokers, A_MEGABYTE), daemon=True).start()

    until = time.monotonic() + 10
    told = converse({1: connection.ask([question] * 5, until)}, until=until)

    connection.close()
    assert told == {1: [A_MEGABYTE] * 5}
