"""Conversations that are carried on together."""

import time

import pytest

from replan.kafka.api import Conversation, SocketWait, converse


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


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_more_go_on_together_than_are_allowed(at_once: int) -> None:
    going, seen = set[int](), list[int]()

    def counted(number: int) -> Conversation[int]:
        going.add(number)
        seen.append(len(going))
        yield SocketWait(time.monotonic() + 0.01)
        going.remove(number)
        return number

    ended = converse(
        {number: counted(number) for number in range(4)},
        until=time.monotonic() + 60,
        at_once=at_once,
    )

    assert len(ended) == 4
    assert max(seen) == at_once
