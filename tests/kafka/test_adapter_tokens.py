"""Tokens for SASL/OAUTHBEARER, from an endpoint on this machine."""

import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest
from tests.http_servers import served
from tests.kafka.harness.layout import free_ports

from replan.kafka.api import TokenEndpoint, fetch_token, retriable, token_provider

# "replan:hush" in base64, as RFC 6749 2.3.1 wants it.
BASIC = "Basic cmVwbGFuOmh1c2g="
ANSWERED_WITH = {"/elsewhere": 302, "/too-often": 429}


class Issuer(BaseHTTPRequestHandler):
    """Answers as the path says, and counts the tokens it issues."""

    issued = 0
    sent_on: ClassVar[list[str]] = []

    def do_POST(self) -> None:  # the base class's spelling
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if self.path in ANSWERED_WITH:
            self.send_response(ANSWERED_WITH[self.path])
            self.send_header("Location", "/token")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        right = self.headers["Authorization"] == BASIC
        right = right and form.get("grant_type") == ["client_credentials"]
        Issuer.issued += 1
        scope = form.get("scope", ["none"])[0]
        answers: dict[str, object] = {
            "/token": {"access_token": f"{scope}-{Issuer.issued}", "expires_in": 3600},
            "/short": {"access_token": f"{scope}-{Issuer.issued}", "expires_in": 0},
            "/odd": {"error": "nothing here"},
        }
        body = json.dumps(answers[self.path]).encode()
        self.send_response(200 if right else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Of one that was sent on."""
        Issuer.sent_on.append(self.headers["Authorization"])
        self.send_error(405)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def issuer() -> Iterator[str]:
    """The address of an endpoint."""
    Issuer.issued = 0
    with served(Issuer) as address:
        yield address


def endpoint(url: str, word: str = "hush") -> TokenEndpoint:
    return TokenEndpoint(url, "replan", word, scope="kafka")


def test_a_token_is_asked_for_with_the_clients_credentials(issuer: str) -> None:
    assert fetch_token(endpoint(f"{issuer}/token")) == ("kafka-1", 3600.0)


def test_a_token_is_used_until_it_is_old(issuer: str) -> None:
    lasting = token_provider(endpoint(f"{issuer}/token"), {})
    assert [lasting.token(), lasting.token()] == ["kafka-1", "kafka-1"]

    passing = token_provider(endpoint(f"{issuer}/short"), {})
    assert [passing.token(), passing.token()] == ["kafka-2", "kafka-3"]


@pytest.mark.parametrize(
    ("path", "word", "why"),
    [
        ("/token", "wrong", "it answered 401 Unauthorized"),
        ("/odd", "hush", "its answer has no access_token"),
        ("/elsewhere", "hush", "it answered 302 Found"),
    ],
)
def test_an_endpoint_that_gives_no_token_is_named(
    issuer: str, path: str, word: str, why: str
) -> None:
    from kafka.errors import SaslAuthenticationFailedError

    with pytest.raises(SaslAuthenticationFailedError) as refused:
        fetch_token(endpoint(issuer + path, word))

    assert refused.value.args[0] == f"no token from {issuer}{path}: {why}"
    assert not Issuer.sent_on


def test_an_endpoint_that_is_asked_too_often_may_answer_later(issuer: str) -> None:
    from kafka.errors import KafkaConnectionError

    with pytest.raises(KafkaConnectionError, match="429"):
        fetch_token(endpoint(f"{issuer}/too-often"))


def test_the_secret_does_not_show() -> None:
    assert "hush" not in repr(endpoint("https://id.example/token"))


def test_a_dead_endpoint_may_answer_later_and_is_named_without_its_secrets() -> None:
    from kafka.errors import KafkaConnectionError

    (port,) = free_ports(1)
    with pytest.raises(KafkaConnectionError) as failed:
        fetch_token(endpoint(f"http://user:hush@127.0.0.1:{port}/token?key=hush"))

    text = str(failed.value.args[0])
    assert text.startswith(f"no token from http://127.0.0.1:{port}/token: ")
    assert "hush" not in text
    assert retriable(failed.value)


@contextmanager
def dripping() -> Iterator[str]:
    """The address of an endpoint whose answer comes a byte at a time, and never ends."""
    over = threading.Event()

    class Drip(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the base class's spelling
            with suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nX: " + bytes(10_000):
                    if over.wait(0.05):
                        return
                    self.wfile.write(bytes([byte or 0x61]))

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with served(Drip) as address:
        try:
            yield f"{address}/token"
        finally:
            over.set()


def test_an_answer_that_comes_byte_by_byte_is_given_up_by_all_that_wait_for_it() -> None:
    from kafka.errors import KafkaConnectionError

    failures: list[tuple[float, str]] = []

    def ask(provider: Any) -> None:
        began = time.monotonic()
        with pytest.raises(KafkaConnectionError) as failed:
            provider.token()
        failures.append((time.monotonic() - began, str(failed.value.args[0])))

    with dripping() as url:
        provider = token_provider(endpoint(url), {}, limit_seconds=1)
        asking = [threading.Thread(target=ask, args=(provider,), daemon=True) for _ in range(3)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(5)

    assert [text for _, text in failures] == [f"no token from {url}: no whole answer in time"] * 3
    assert max(took for took, _ in failures) < 3
