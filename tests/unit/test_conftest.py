"""The gate that keeps tests off the network."""

import socket

import pytest


def test_a_test_without_a_mark_reaches_no_network() -> None:
    with (
        socket.socket() as plug,
        pytest.raises(RuntimeError, match="this test has no network"),
    ):
        plug.connect(("127.0.0.1", 9))


@pytest.mark.kafka
def test_a_test_marked_kafka_may_listen() -> None:
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
