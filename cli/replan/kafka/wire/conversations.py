"""Many conversations with brokers at once, in the thread that asks: each is a generator that yields what it waits for.

There is no thread of its own and no event loop library: a tick is one round of conversations with a deadline, and what
cannot be waited for on a socket (a name server, a token endpoint) goes to a thread whose end is a socket again.
"""

import contextlib
import math
import os
import select
import selectors
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from kafka.errors import KafkaError, KafkaTimeoutError
from msgspec import Struct

# What a signal handler calls so that a wait ends early: a pipe, because a wait for sockets hears nothing else.


class Interrupt:
    """Cuts short what is waited for at this moment, and nothing later; a signal handler may call it."""

    def __init__(self) -> None:
        self.calls = 0
        """How often it was called: whoever waits in several parts compares."""
        self.file, self._calling = os.pipe()
        os.set_blocking(self.file, False)
        os.set_blocking(self._calling, False)
        weakref.finalize(self, _close, self.file, self._calling)

    def __call__(self) -> None:
        """End the wait."""
        self.calls += 1
        with contextlib.suppress(BlockingIOError):
            os.write(self._calling, b"!")

    def sleep(self, seconds: float) -> None:
        """Wait; a call ends it."""
        poll = select.poll()
        poll.register(self.file, select.POLLIN)
        if poll.poll(max(0.0, 1000 * seconds)):
            self.forget()

    def forget(self) -> None:
        """Take notice of all calls so far."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.file, 64)


def _close(*files: int) -> None:
    for file in files:
        os.close(file)


READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
HURRY_SECONDS = 1.0
"""How long a round may go on once somebody has asked the process to stop."""

_T = TypeVar("_T")
_K = TypeVar("_K")


class CutShort(KafkaTimeoutError):  # type: ignore[misc]  # kafka-python has no types
    """The round was over before a conversation had its time: somebody has asked the process to stop."""


class SocketWait(Struct, frozen=True):
    """What a conversation waits for: a socket, or the moment alone where there is none."""

    until: float
    """On the monotonic clock; a conversation that waits for a socket longer fails with KafkaTimeoutError."""
    socket: Any = None
    event: int = READ


Conversation = Generator[SocketWait, None, _T]


def pause_for(seconds: float) -> Conversation[None]:
    """Let some time pass."""
    yield SocketWait(time.monotonic() + seconds)


def in_background(work: Callable[[], _T], until: float) -> Conversation[_T]:
    """The result of what may block for seconds, from a thread; nobody waits for the thread after `until`."""
    ended, ends = socket.socketpair()
    results: list[_T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001  # raised where it is waited for
            failures.append(failure)
        finally:
            ends.close()

    threading.Thread(target=run, daemon=True).start()
    try:
        yield SocketWait(until, ended)
    finally:
        ended.close()
    if failures:
        raise failures[0]
    return results[0]


def converse(
    conversations: Mapping[_K, Conversation[_T]],
    *,
    until: float,
    interrupt: Interrupt | None = None,
    first_suffices: bool = False,
    at_once: int = 250,
    slow_seconds: float = math.inf,
) -> dict[_K, _T | KafkaError]:
    """Carry on all conversations until each has ended, failed, or run out of time; `at_once` of them together.

    One that has taken `slow_seconds` goes on, and another begins beside it. What was not begun in time is left out.
    With `first_suffices` the first that succeeds ends the others.
    """
    begun = _Round(
        conversations, until, interrupt, first_suffices=first_suffices, slow_seconds=slow_seconds
    )
    return begun.carry_on(at_once)


class _Round:
    def __init__(
        self,
        conversations: Mapping[Any, Conversation[Any]],
        until: float,
        interrupt: Interrupt | None,
        *,
        first_suffices: bool,
        slow_seconds: float,
    ) -> None:
        self._to_begin = deque(conversations.items())
        self._until, self._interrupt, self._first_suffices = until, interrupt, first_suffices
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[Any, tuple[Conversation[Any], SocketWait]] = {}
        self._ended: dict[Any, Any] = {}
        self._slow_seconds = slow_seconds
        self._quick: dict[Any, float] = {}
        """Until when those that run are not slow, in their order."""

    def carry_on(self, at_once: int) -> dict[Any, Any]:
        if self._interrupt is not None:
            self._selector.register(self._interrupt.file, READ, None)
        try:
            while self._waiting or (self._to_begin and time.monotonic() < self._until):
                while self._to_begin and self._running() < at_once:
                    key, conversation = self._to_begin.popleft()
                    self._quick[key] = time.monotonic() + self._slow_seconds
                    self._step(key, conversation)
                self._select()
        finally:
            self._give_up()
            self._selector.close()
        return self._ended

    def _running(self) -> int:
        """How many run, but for the slow ones."""
        now = time.monotonic()
        for key in [k for k, quick_until in self._quick.items() if quick_until <= now]:
            del self._quick[key]
        return len(self._quick)

    def _select(self) -> None:
        if not self._waiting:
            return
        now = time.monotonic()
        due = min(wait.until for _, wait in self._waiting.values())
        awake = min(
            due, self._until, next(iter(self._quick.values()), math.inf) if self._to_begin else due
        )
        for selected, _ in self._selector.select(max(0.0, awake - now)):
            if selected.data is None:
                self._hurry()
            else:
                (key,) = selected.data
                self._resume(key)
        now = time.monotonic()
        if due <= now or self._until <= now:
            for key in [
                k for k, (_, w) in self._waiting.items() if min(w.until, self._until) <= now
            ]:
                self._late(key)

    def _hurry(self) -> None:
        if self._interrupt is not None:
            self._interrupt.forget()
            self._until = min(self._until, time.monotonic() + HURRY_SECONDS)

    def _resume(self, key: Any) -> None:
        if key in self._waiting:
            self._step(key, self._taken(key)[0])

    def _late(self, key: Any) -> None:
        if key not in self._waiting:  # another one that was late has ended the round
            return
        conversation, wait = self._taken(key)
        if wait.socket is None and time.monotonic() < self._until:
            self._step(key, conversation)
        else:
            late = KafkaTimeoutError if wait.until <= time.monotonic() else CutShort
            self._step(key, conversation, late("no answer in time"))

    def _taken(self, key: Any) -> tuple[Conversation[Any], SocketWait]:
        conversation, wait = self._waiting.pop(key)
        if wait.socket is not None:
            self._selector.unregister(wait.socket)
        return conversation, wait

    def _step(
        self, key: Any, conversation: Conversation[Any], failure: KafkaError | None = None
    ) -> None:
        try:
            wait = conversation.send(None) if failure is None else conversation.throw(failure)
        except StopIteration as ended:
            self._quick.pop(key, None)
            self._ended[key] = ended.value
            if self._first_suffices:
                self._give_up()
        except KafkaError as problem:
            self._quick.pop(key, None)
            self._ended[key] = problem
        else:
            if wait.socket is not None:
                self._selector.register(wait.socket, wait.event, (key,))
            self._waiting[key] = conversation, wait

    def _give_up(self) -> None:
        """End what still runs, unheard."""
        for key in list(self._waiting):
            self._taken(key)[0].close()
        for _, conversation in self._to_begin:
            conversation.close()
        self._to_begin.clear()
