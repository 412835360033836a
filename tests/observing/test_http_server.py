"""What is served, to whom, and what a client can not do to the process that serves."""

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from replan.commands.api import (
    CONNECTIONS_AT_ONCE,
    HttpResponse,
    ListenAddress,
    Respond,
    listen_address,
    serving,
)
from replan.errors import BadUsage, ReplanError

ANY = ListenAddress("127.0.0.1", 0)


def respond(path: str) -> HttpResponse | None:
    return HttpResponse(b"it stands\n") if path == "/healthz" else None


@contextmanager
def served(respond: Respond = respond, at: ListenAddress = ANY) -> Iterator[tuple[str, int]]:
    with serving(at, respond) as url:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        yield parts.hostname, parts.port


def ask(where: tuple[str, int], path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(*where, timeout=5)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", ListenAddress("127.0.0.1", 9464)),
        ("[::1]:0", ListenAddress("::1", 0)),
        (":9464", ListenAddress("", 9464)),
        ("kafka-ops:80", ListenAddress("kafka-ops", 80)),
    ],
)
def test_an_address_is_read_and_written(text: str, address: ListenAddress) -> None:
    assert listen_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "9464", "::1:9464", "a:b", "a:70000", "a:-1", "[::1:2", "a:٣"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadUsage, match=r"write HOST:PORT, e\.g\. 127\.0\.0\.1:9464"):
        listen_address(text)


def test_paths_are_answered_by_get_and_head_alone() -> None:
    with served() as where:
        assert ask(where, "/healthz") == (200, "it stands\n")
        assert ask(where, "/healthz?a=b") == (200, "it stands\n")
        assert ask(where, "/healthz", "HEAD") == (200, "")
        assert ask(where, "/other") == (404, "There is nothing here.\n")
        assert ask(where, "/healthz", "POST")[0] == 501
        assert ask(where, "/<script>", "DEL<b>")[0] == 501


def test_no_page_of_another_site_reads_the_answers() -> None:
    with served() as where:
        assert ask(where, "/healthz", Host="evil.example:9464")[0] == 421
        assert ask(where, "/healthz", Host="[")[0] == 421
        for name in ("localhost:1234", "127.0.0.1", "[::1]:9464"):
            assert ask(where, "/healthz", Host=name)[0] == 200
    with served(at=ListenAddress("0.0.0.0", 0)) as (_, port):  # noqa: S104 - what others may reach answers to any name
        assert ask(("127.0.0.1", port), "/healthz", Host="replan.kafka.svc")[0] == 200


def test_a_port_in_use_is_named() -> None:
    with (
        served() as (host, port),
        pytest.raises(ReplanError) as problem,
        served(at=ListenAddress(host, port)),
    ):
        pass
    first = str(problem.value).partition("\n")[0]
    assert first == f"--listen 127.0.0.1:{port}: cannot listen there: Address already in use"
    assert problem.value.exit_code == 1


@pytest.mark.parametrize("name", ["no.such.invalid", "no..such.invalid"])
def test_a_name_that_nobody_knows_is_an_error(name: str) -> None:
    with (
        pytest.raises(ReplanError, match=f"--listen {re.escape(name)}:1: cannot listen there: "),
        served(at=ListenAddress(name, 1)),
    ):
        pass


def test_clients_that_say_nothing_hold_up_nobody_and_are_not_more_than_so_many() -> None:
    with served() as where:
        before = set(threading.enumerate())

        def until_held(connections: int) -> None:
            _until(lambda: len(set(threading.enumerate()) - before) == connections)

        silent = [socket.create_connection(where) for _ in range(CONNECTIONS_AT_ONCE - 1)]
        until_held(CONNECTIONS_AT_ONCE - 1)
        assert ask(where, "/healthz")[0] == 200
        until_held(CONNECTIONS_AT_ONCE - 1)
        silent.append(socket.create_connection(where))
        until_held(CONNECTIONS_AT_ONCE)
        one_more = socket.create_connection(where)
        one_more.settimeout(5)
        assert one_more.recv(10) == b"", "closed without an answer"
        for connection in (*silent, one_more):
            connection.close()
        _until(lambda: ask_or_none(where) == 200)


def test_who_asks_byte_by_byte_loses_the_connection() -> None:
    """Each byte is in time, the request never."""
    with serving(ANY, respond, slow_seconds=1.0) as url:
        parts = urlsplit(url)
        where = str(parts.hostname), parts.port or 0
        with (
            socket.create_connection(where) as dripping,
            pytest.raises(OSError, match=r"Broken pipe|reset"),
        ):
            drip(dripping, 20)
        assert ask(where, "/healthz")[0] == 200


def drip(connection: socket.socket, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        connection.sendall(b"G")
        time.sleep(0.1)


def ask_or_none(where: tuple[str, int]) -> int | None:
    try:
        return ask(where, "/healthz")[0]
    except (OSError, http.client.HTTPException):
        return None


def test_an_answer_that_fails_ends_its_connection_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(path: str) -> HttpResponse | None:
        if path == "/":
            raise ValueError("no page today")
        return respond(path)

    with served(fails) as where:
        with pytest.raises(http.client.HTTPException):
            ask(where, "/")
        assert ask(where, "/healthz")[0] == 200
    assert "an answer failed: ValueError: no page today" in capsys.readouterr().err


def test_an_end_waits_for_no_client() -> None:
    begun = time.monotonic()
    with served() as where:
        silent = socket.create_connection(where)
    assert time.monotonic() - begun < 5
    silent.close()
    assert ask_or_none(where) is None


def _until(holds: object) -> None:
    assert callable(holds)
    for _ in range(500):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("it did not come to that in five seconds")
