"""Conversations that are carried on together."""

import time

from replan.kafka.wire.conversations import Conversation, SocketWait, converse


def waking(at: float, word: str) -> Conversation[str]:
    yield SocketWait(at)
    return word


def test_of_those_that_wake_together_the_first_ends_the_others() -> None:
    soon = time.monotonic() + 0.01

    ended = converse(
        {word: waking(soon, word) for word in ("one", "two", "three")},
        until=soon + 60,
        first_suffices=True,
    )

    assert ended == {"one": "one"}
