"""Configurations, changed: IncrementalAlterConfigs (KIP-339).

All changes of one topic or broker travel together and succeed or fail together. A broker's own configuration can be
changed only through that broker, so one that is fenced is answered here at once, and one that does not answer holds up
nobody: all requests of a call are one round.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kafka.errors import BrokerResponseError, KafkaError

from replan.kafka.failures import INVALID_REQUEST, answer, name_of, reason, unknown_after
from replan.kafka.messages import IncrementalAlterConfigs
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire
from replan.kafka.writes.send_once import ANSWER_SECONDS, chunks
from replan.model.configs import ConfigChange, ConfigOperation, ConfigScope
from replan.model.control_plane import Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId

RESOURCES_PER_REQUEST = 1000
BROKER_SECONDS = 3.0
"""For a broker that changes its own configuration."""
_KINDS = {ConfigScope.TOPIC: 2, ConfigScope.BROKER: 4}  # ConfigResource.Type
Resource = tuple[ConfigScope, str]


def alter(
    wire: Wire, changes: Sequence[ConfigChange], *, validate_only: bool = False
) -> dict[Resource, Answer]:
    """Apply the changes, or only ask whether Kafka would; one answer for each topic and broker among them."""

    def request(part: Collection[Resource]) -> Any:
        return _request({r: asked[r] for r in part}, validate_only=validate_only)

    answers = refused_unasked(changes, wire.addresses.keys())
    asked = {r: of for r, of in _by_resource(changes).items() if r not in answers}
    topics = [r for r in asked if r[0] is ConfigScope.TOPIC]
    parts = list(chunks(topics, RESOURCES_PER_REQUEST))
    own = {
        BrokerId(int(name)): (scope, name) for scope, name in asked if scope is ConfigScope.BROKER
    }
    of_home, of_brokers = wire.round(
        [Question(request(part), forwarded=True) for part in parts],
        {b: [Question(request([r]))] for b, r in own.items()},
        home_seconds=ANSWER_SECONDS,
        broker_seconds=BROKER_SECONDS,
    )
    for part, told in zip(parts, of_home, strict=True):
        answers |= _answers(part, told)
    for broker, found in of_brokers.items():
        answers |= _answers([own[broker]], found[0])
    return answers


def _by_resource(changes: Sequence[ConfigChange]) -> dict[Resource, list[ConfigChange]]:
    grouped: dict[Resource, list[ConfigChange]] = {}
    for change in changes:
        grouped.setdefault((change.scope, change.name), []).append(change)
    return grouped


def _request(grouped: Mapping[Resource, Sequence[ConfigChange]], *, validate_only: bool) -> Any:
    resource = IncrementalAlterConfigs.AlterConfigsResource
    return IncrementalAlterConfigs(
        resources=[
            resource(
                resource_type=_KINDS[scope],
                resource_name=name,
                configs=[
                    resource.AlterableConfig(
                        name=change.key,
                        config_operation=int(change.operation),
                        value=None if change.operation is ConfigOperation.DELETE else change.value,
                    )
                    for change in of
                ],
            )
            for (scope, name), of in grouped.items()
        ],
        validate_only=validate_only,
    )


def refused_unasked(
    changes: Sequence[ConfigChange], live: Collection[BrokerId]
) -> dict[Resource, Answer]:
    """The topics and brokers whose answer is known without asking."""
    answers: dict[Resource, Answer] = {}
    for (scope, name), of in _by_resource(changes).items():
        if scope is ConfigScope.BROKER and not (name.isdecimal() and BrokerId(int(name)) in live):
            answers[scope, name] = _invalid(
                f"broker {name} is not live, and only a broker itself can change its configuration;"
                " ask again when it is back"
            )
        elif len({change.key for change in of}) < len(of):
            answers[scope, name] = _invalid("Error due to duplicate config keys")  # as Kafka says
    return answers


def _invalid(message: str) -> Rejected:
    return Rejected(INVALID_REQUEST, name_of(INVALID_REQUEST), message)


def _answers(asked: Sequence[Resource], told: Any) -> dict[Resource, Answer]:
    if isinstance(told, BrokerResponseError):
        return dict.fromkeys(asked, answer(int(told.errno), reason(told)))
    if isinstance(told, KafkaError):
        return dict.fromkeys(asked, unknown_after(told))
    found: dict[tuple[int, str], Answer] = {
        (row.resource_type, row.resource_name): answer(row.error_code, row.error_message)
        for row in told.responses
    }
    missing = OutcomeUnknown("the answer leaves it out")
    return {(scope, name): found.get((_KINDS[scope], name), missing) for scope, name in asked}
