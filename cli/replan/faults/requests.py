"""Faults of requests: lost, late or sent twice; an unresponsive cluster; brokers with stale metadata.

The controller's answers in words, and what it refuses of a fault.
"""

from collections.abc import Sequence

from replan.faults.kinds import FaultContext, Kind, known_topic, lasting, once
from replan.faults.token_reader import TokenReader
from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.simulator.cluster.faults import (
    Ask,
    At,
    Disconnect,
    Fault,
    Forbid,
    LagMetadata,
    LoseRequests,
    Permission,
    RepeatRequests,
    RequestKind,
    Schedule,
    SlowLooks,
)
from replan.simulator.controller.decide import perform
from replan.simulator.controller.state import ClusterState

REQUESTS = {
    "reassign": RequestKind.REASSIGN,
    "elect": RequestKind.ELECT,
    "configs": RequestKind.CONFIGURE,
    "create": RequestKind.CREATE,
    "log-dirs": RequestKind.MOVE_LOGS,
}


def _unknown(tokens: TokenReader, _around: FaultContext) -> Schedule:
    times, kind = _requests(tokens)
    return once(LoseRequests(kind, times, _effect(tokens)))


def _repeated(tokens: TokenReader, _around: FaultContext) -> Schedule:
    times, kind = _requests(tokens)
    return once(RepeatRequests(kind, times))


def _controller(tokens: TokenReader, _around: FaultContext) -> Schedule:
    effect = _effect(tokens)
    return tuple(At(0, LoseRequests(kind, 1, effect)) for kind in REQUESTS.values())


def _silence(tokens: TokenReader, _around: FaultContext) -> Schedule:
    tokens.expect("for")
    return once(Disconnect(tokens.seconds()))


def _metadata(tokens: TokenReader, _around: FaultContext) -> Schedule:
    seconds = tokens.seconds()
    tokens.expect("behind")
    return lasting(tokens, LagMetadata(seconds), LagMetadata(0.0))


def _slow_looks(tokens: TokenReader, _around: FaultContext) -> Schedule:
    return lasting(tokens, SlowLooks(tokens.seconds()), SlowLooks(0.0))


def _forbid(tokens: TokenReader, around: FaultContext) -> Schedule:
    permission = tokens.choose("a permission", {p.value: p for p in Permission})
    tokens.expect("on")
    topic = known_topic(tokens, around) if tokens.phrase("topic") else None
    if topic is None:
        tokens.expect("cluster")
    return lasting(tokens, Forbid(topic, frozenset({permission})), Forbid(topic, frozenset()))


def _requests(tokens: TokenReader) -> tuple[int, RequestKind]:
    """How many of which kind: `reassign`, `2 reassign`, `3 elect`."""
    times = tokens.number("how many") if tokens.comes_number() else 1
    return times, tokens.choose("a kind of request", REQUESTS)


def _effect(tokens: TokenReader) -> float | None:
    if tokens.phrase("with", "effect"):
        return 0.0
    if tokens.phrase("without", "effect"):
        return None
    tokens.expect("late", "by")
    return tokens.seconds()


KINDS: Sequence[Kind] = (
    Kind(
        "unknown outcome of [COUNT] reassign|elect|configs|create|log-dirs with effect|without effect|late by TIME",
        "the next such request of replan times out: only its answer is lost, or it never arrives, or it arrives later",
        _unknown,
        3,
    ),
    Kind(
        "repeated [COUNT] reassign|elect|configs|create|log-dirs",
        "the next such request of replan reaches the controller twice, and only the second answer comes back",
        _repeated,
    ),
    Kind(
        "controller moves with effect|without effect|late by TIME",
        "the controller fails over: of each kind, the request under way or the next one has an unknown outcome",
        _controller,
        2,
    ),
    Kind(
        "looks take TIME [for TIME]",
        "every look of replan at the cluster takes so long",
        _slow_looks,
        2,
    ),
    Kind(
        "forbid describe|describe-configs|alter|alter-configs on topic TOPIC|cluster [for TIME]",
        "replan's user loses this ACL, as the last one that it lost there; everybody else keeps it",
        _forbid,
    ),
    Kind("silence for TIME", "no broker answers replan", _silence),
    Kind(
        "metadata TIME behind [for TIME]",
        "brokers show partitions as they were that long ago; the controller is up to date",
        _metadata,
    ),
)


def answer_in_words(answer: Answer) -> str | None:
    """An answer that is not simply yes."""
    match answer:
        case Accepted():
            return None
        case Rejected(code, name, message):
            return f"{code} {name}{': ' + message if message else ''}"
        case OutcomeUnknown(reason):
            return f"outcome unknown, {reason}"


def refusals(cluster: ClusterState, fault: Fault) -> list[str]:
    """What the controller would refuse of a fault now, with its codes and words."""
    if not isinstance(fault, Ask):
        return []
    _, decision = perform(cluster, fault.command)
    answers = [decision.whole, *(answer for _, answer in decision.each)]
    return [text for answer in answers if (text := answer_in_words(answer)) is not None]
