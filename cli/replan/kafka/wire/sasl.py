"""SASL on an open connection: the handshake and kafka-python's mechanisms (KIP-43, KIP-152, KIP-368).

A mechanism may look up hosts, ask a ticket server or a token endpoint, so each of its steps runs in the background.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    for_code,
)

from replan.kafka.messages import SaslAuthenticate, SaslHandshake
from replan.kafka.wire.connection import Connection
from replan.kafka.wire.conversations import Conversation, in_background
from replan.kafka.wire.frames import Question, unchecked

_USED_SHARE = 0.85
"""A session is left after this share of its life, before the broker ends it."""


def authenticate(
    connection: Connection, sasl: Mapping[str, object], until: float
) -> Conversation[None]:
    """Prove who asks.

    Raises:
        SaslAuthenticationFailedError, UnsupportedSaslMechanismError: the broker does not accept it.
    """
    from kafka.net.sasl import get_sasl_mechanism

    name = str(sasl["sasl_mechanism"])
    yield from _shake_hands(connection, name, until)
    host = connection.address.host
    make = get_sasl_mechanism(name)
    mechanism = yield from _step(lambda: make(host=host, **sasl), until)
    lifetime_milliseconds = 0
    while not mechanism.is_done():
        proof = yield from _step(mechanism.auth_bytes, until)
        found = yield from _ask(connection, SaslAuthenticate(auth_bytes=proof), until)
        if found.error_code:
            raise SaslAuthenticationFailedError(found.error_message or "no reason given")
        lifetime_milliseconds = found.session_lifetime_ms
        yield from _step(lambda: mechanism.receive(found.auth_bytes), until)  # noqa: B023  # at once
    if not mechanism.is_authenticated():
        raise SaslAuthenticationFailedError(f"{name} did not come to its end")
    if lifetime_milliseconds > 0:
        connection.ends_in(_USED_SHARE * lifetime_milliseconds / 1000)


def _shake_hands(connection: Connection, name: str, until: float) -> Conversation[None]:
    found = yield from _ask(connection, SaslHandshake(mechanism=name), until)
    if found.error_code == UnsupportedSaslMechanismError.errno:
        raise UnsupportedSaslMechanismError(
            f"the broker does not take {name}; it takes {', '.join(found.mechanisms)}"
        )
    if found.error_code:
        raise for_code(found.error_code)


def _ask(connection: Connection, message: Any, until: float) -> Conversation[Any]:
    (found,) = yield from connection.ask([Question(message, unchecked(message))], until)
    return found


def _step(work: Callable[[], Any], until: float) -> Conversation[Any]:
    """One step of a mechanism; libraries raise what they like, so it is reported as a failure of the proof."""
    try:
        return (yield from in_background(work, until))
    except (KafkaError, GeneratorExit):
        raise
    except OSError as problem:
        raise KafkaConnectionError(str(problem)) from problem
    except Exception as problem:
        raise SaslAuthenticationFailedError(f"{type(problem).__name__}: {problem}") from problem
