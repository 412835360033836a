"""One write, sent once, and what is known of it afterwards: an answer for everything that it asked.

A write is never sent again here. The broker that forwards it may do so for a minute, so whoever asks must
look at the cluster before asking for anything else.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from kafka.errors import (
    AuthorizationError,
    BrokerResponseError,
    KafkaError,
    UnsupportedVersionError,
)

from replan.kafka.failures import Operation, answer, reason, refusal, unknown_after
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import TopicPartition

TIMEOUT_MS = 15_000
"""How long the controller may take; later it drops the request unseen (7 is not always proof of that)."""
ANSWER_SECONDS = 20.0
_T = TypeVar("_T")
_Subject = TypeVar("_Subject", bound=Hashable)
Row = tuple[TopicPartition, int, str | None]


def send_once(
    wire: Wire,
    operation: Operation,
    message: Any,
    asked: Collection[_Subject],
    rows: Callable[[Any], Iterable[tuple[_Subject, int, str | None]]],
) -> dict[_Subject, Answer]:
    """Send a request and answer for every partition or topic that it asks for.

    Raises:
        ClusterRefused: the user may not do this, or the cluster does not know the request.
    """
    try:
        response = wire.ask(Question(message, forwarded=True), limit_seconds=ANSWER_SECONDS)
    except (AuthorizationError, UnsupportedVersionError) as failure:
        raise refusal(operation, failure) from failure
    except BrokerResponseError as failure:
        found = answer(int(failure.errno), reason(failure))
        whole = replace(found, whole=True) if isinstance(found, Rejected) else found
        return dict.fromkeys(asked, whole)
    except KafkaError as failure:
        return dict.fromkeys(asked, unknown_after(failure))
    told = {name: answer(code, message) for name, code, message in rows(response)}
    missing = OutcomeUnknown(f"the answer to {operation.name} leaves it out")
    return {name: told.get(name, missing) for name in asked}


def chunks(wanted: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """The items in order, at most `size` at a time."""
    items = iter(wanted)
    while chunk := list(islice(items, size)):
        yield chunk
