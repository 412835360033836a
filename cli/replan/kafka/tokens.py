"""Tokens for SASL/OAUTHBEARER, by the OAuth 2 client credentials grant (RFC 6749, 4.4)."""

import base64
import http.client
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from replan.kafka.property_keys import Secretive

_LIMIT_SECONDS = 10.0
"""For a token, all of its answer and the wait for others that ask for it included."""
_SERVER_ERRORS = 500
_PASSING = frozenset({408, 429})
"""What a client is answered that may ask again: too slow, or too often."""
_USED_SHARE = 0.8
"""A token is renewed after this share of its life."""


class TokenEndpoint(Secretive, frozen=True):
    """Where tokens come from, and who asks."""

    url: str
    client_id: str
    client_secret: str
    scope: str | None = None
    ca_file: str | None = None


def token_provider(
    endpoint: TokenEndpoint,
    extensions: Mapping[str, str],
    *,
    limit_seconds: float = _LIMIT_SECONDS,
) -> Any:
    """Make kafka-python's token provider; it gives a token, or fails, within the limit."""
    return _Provider(endpoint, extensions, limit_seconds)


class _Provider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    def __init__(
        self, endpoint: TokenEndpoint, extensions: Mapping[str, str], limit_seconds: float
    ) -> None:
        super().__init__()
        self._endpoint, self._limit_seconds = endpoint, limit_seconds
        self._extensions = dict(extensions)
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def token(self) -> str:
        until = time.monotonic() + self._limit_seconds
        if not self._lock.acquire(timeout=self._limit_seconds):
            raise _late(self._endpoint)
        try:
            if time.monotonic() >= self._renew_at:
                self._token, lives_seconds = fetch_token(
                    self._endpoint, limit_seconds=until - time.monotonic()
                )
                self._renew_at = time.monotonic() + _USED_SHARE * lives_seconds
            return self._token
        finally:
            self._lock.release()

    def extensions(self) -> dict[str, str]:
        return self._extensions


class _NotElsewhere(urllib.request.HTTPRedirectHandler):
    """The secret goes to the address in the user's file, and to none that an answer names."""

    def redirect_request(self, *_asked: object) -> None:
        return None


def fetch_token(
    endpoint: TokenEndpoint, *, limit_seconds: float = _LIMIT_SECONDS
) -> tuple[str, float]:
    """Ask for a token; returns it and the seconds that it lives.

    A thread asks: a socket's own timeout is for each part of an answer, and parts may come one by one for ever.

    Raises:
        KafkaConnectionError: the endpoint does not answer, or not now, or not whole within the limit.
        SaslAuthenticationFailedError: it says no.
    """
    until = time.monotonic() + max(0.0, limit_seconds)
    told: Future[tuple[str, float]] = Future()

    def ask() -> None:
        try:
            told.set_result(_asked(endpoint, until))
        except BaseException as failure:  # noqa: BLE001  # raised where it is waited for
            told.set_exception(failure)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return told.result(max(0.0, limit_seconds))
    except TimeoutError as late:
        raise _late(endpoint) from late


def _late(endpoint: TokenEndpoint) -> KafkaConnectionError:
    return KafkaConnectionError(
        f"no token from {_without_secrets(endpoint.url)}: no whole answer in time"
    )


def _asked(endpoint: TokenEndpoint, until: float) -> tuple[str, float]:
    form = {"grant_type": "client_credentials"}
    if endpoint.scope is not None:
        form["scope"] = endpoint.scope
    credentials = f"{endpoint.client_id}:{endpoint.client_secret}".encode()
    request = urllib.request.Request(  # noqa: S310  # the scheme is the user's, from their own file
        endpoint.url,
        data=urllib.parse.urlencode(form).encode(),
        headers={
            "Authorization": f"Basic {base64.b64encode(credentials).decode()}",
            "Accept": "application/json",
        },
    )
    context = ssl.create_default_context(cafile=endpoint.ca_file)
    ask = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NotElsewhere)
    try:
        with ask.open(request, timeout=max(0.001, until - time.monotonic())) as answer:
            said = json.load(answer)
        return str(said["access_token"]), float(said.get("expires_in", 300))
    except urllib.error.HTTPError as problem:
        with problem:
            text = f"no token from {_without_secrets(endpoint.url)}: it answered {problem.code} {problem.reason}"
        passes = problem.code in _PASSING or problem.code >= _SERVER_ERRORS
        raise (KafkaConnectionError if passes else SaslAuthenticationFailedError)(text) from problem
    except OSError as problem:
        why = problem.reason if isinstance(problem, urllib.error.URLError) else problem
        raise KafkaConnectionError(
            f"no token from {_without_secrets(endpoint.url)}: {why}"
        ) from problem
    except (ValueError, KeyError, TypeError, http.client.HTTPException) as problem:
        missing = "its answer has no access_token"
        raise SaslAuthenticationFailedError(
            f"no token from {_without_secrets(endpoint.url)}: {missing}"
        ) from problem


def _without_secrets(url: str) -> str:
    """The address without user, password and query."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
