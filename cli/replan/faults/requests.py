"""What befalls our requests: they get lost, come late or twice; nobody answers; brokers show what was."""

from collections.abc import Sequence

from replan.faults.kinds import Kind, Surroundings, lasting, once
from replan.faults.token_reader import Words
from replan.simulator.cluster.faults import (
    At,
    Disconnect,
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    RequestKind,
    Schedule,
)

REQUESTS = {
    "reassign": RequestKind.REASSIGN,
    "elect": RequestKind.ELECT,
    "configs": RequestKind.CONFIGURE,
}


def _unknown(words: Words, _around: Surroundings) -> Schedule:
    times, kind = _requests(words)
    return once(LoseRequests(kind, times, _effect(words)))


def _repeated(words: Words, _around: Surroundings) -> Schedule:
    times, kind = _requests(words)
    return once(RepeatRequests(kind, times))


def _controller(words: Words, _around: Surroundings) -> Schedule:
    effect = _effect(words)
    return tuple(At(0, LoseRequests(kind, 1, effect)) for kind in REQUESTS.values())


def _silence(words: Words, _around: Surroundings) -> Schedule:
    words.expect("for")
    return once(Disconnect(words.seconds()))


def _metadata(words: Words, _around: Surroundings) -> Schedule:
    seconds = words.seconds()
    words.expect("behind")
    return lasting(words, LagMetadata(seconds), LagMetadata(0.0))


def _requests(words: Words) -> tuple[int, RequestKind]:
    """How many of which kind: `reassign`, `2 reassign`, `3 elect`."""
    times = words.number("how many") if words.comes_number() else 1
    return times, words.choose("a kind of request", REQUESTS)


def _effect(words: Words) -> float | None:
    if words.phrase("with", "effect"):
        return 0.0
    if words.phrase("without", "effect"):
        return None
    words.expect("late", "by")
    return words.seconds()


KINDS: Sequence[Kind] = (
    Kind(
        "unknown outcome of [COUNT] reassign|elect|configs with effect|without effect|late by TIME",
        "our next such request times out: only its answer is lost, or it never arrives, or so much later",
        _unknown,
        3,
    ),
    Kind(
        "repeated [COUNT] reassign|elect|configs",
        "our next such request reaches the controller twice, and only the second answer comes back",
        _repeated,
    ),
    Kind(
        "controller moves with effect|without effect|late by TIME",
        "of each kind the request under way, or else the next one, has no known outcome",
        _controller,
        2,
    ),
    Kind("silence for TIME", "nobody answers us", _silence),
    Kind(
        "metadata TIME behind [for TIME]",
        "brokers show partitions as they were so long ago; the controller does not lag",
        _metadata,
    ),
)
