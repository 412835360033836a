"""Configurations, changed: IncrementalAlterConfigs (KIP-339) through confluent-kafka.

All changes of one topic or broker travel together and succeed or fail together. A broker's own
configuration can be changed only through that broker, so one that is fenced is answered here at once.
confluent-kafka is imported by the first change, not before: most commands only read.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replan.errors import BadFile
from replan.kafka.failures import INVALID_REQUEST, UNKNOWN_OUTCOMES, answer, name_of
from replan.kafka.writes.send_once import chunks
from replan.model.configs import ConfigChange, ConfigOperation, ConfigScope
from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId

if TYPE_CHECKING:
    from concurrent.futures import Future

RESOURCES_PER_REQUEST = 1000
ANSWER_SECONDS = 10.0
"""Also how long librdkafka goes on trying to reach a broker that has just died."""
_GRACE_SECONDS = 5.0
Resource = tuple[ConfigScope, str]


class ConfigWriter:
    """Changes configurations of one cluster; connects at the first change."""

    def __init__(self, librdkafka: Mapping[str, str]) -> None:
        self._properties = librdkafka
        self._admin: Any = None

    def alter(
        self, changes: Sequence[ConfigChange], live: Collection[BrokerId]
    ) -> dict[Resource, Answer]:
        """Apply the changes; one answer for each topic and broker among them."""
        grouped = _by_resource(changes)
        answers: dict[Resource, Answer] = {
            resource: refused
            for resource, of in grouped.items()
            if (refused := _refused_unasked(resource, of, live)) is not None
        }
        asked = {r: of for r, of in grouped.items() if r not in answers}
        pending = {r: f for part in _requests(asked) for r, f in self._send(part).items()}
        return answers | {resource: _outcome(future) for resource, future in pending.items()}

    def close(self) -> None:
        """Let librdkafka end its threads and connections."""
        self._admin = None

    def _send(
        self, changes: Mapping[Resource, Sequence[ConfigChange]]
    ) -> "dict[Resource, Future[None]]":
        from confluent_kafka.admin import ConfigResource

        kinds = {
            ConfigScope.TOPIC: ConfigResource.Type.TOPIC,
            ConfigScope.BROKER: ConfigResource.Type.BROKER,
        }
        resources = {
            ConfigResource(kinds[scope], name, incremental_configs=_entries(of)): (scope, name)
            for (scope, name), of in changes.items()
        }
        futures = self._connected().incremental_alter_configs(
            list(resources), request_timeout=ANSWER_SECONDS
        )
        return {resources[resource]: future for resource, future in futures.items()}

    def _connected(self) -> Any:
        if self._admin is None:
            from confluent_kafka import KafkaException
            from confluent_kafka.admin import AdminClient

            try:
                # log_level 0: what it has to say comes as errors of the requests.
                self._admin = AdminClient(dict(self._properties) | {"log_level": 0})
            except KafkaException as problem:
                raise BadFile(
                    f"client properties: confluent-kafka does not take them: {problem.args[0].str()}"
                ) from problem
        return self._admin


def _by_resource(changes: Sequence[ConfigChange]) -> dict[Resource, list[ConfigChange]]:
    grouped: dict[Resource, list[ConfigChange]] = {}
    for change in changes:
        grouped.setdefault((change.scope, change.name), []).append(change)
    return grouped


def _requests(
    grouped: Mapping[Resource, Sequence[ConfigChange]],
) -> list[dict[Resource, Sequence[ConfigChange]]]:
    """Topics together, each broker alone: its request goes to the broker itself."""
    topics = [r for r in grouped if r[0] is ConfigScope.TOPIC]
    together = [*chunks(topics, RESOURCES_PER_REQUEST)]
    alone = [[r] for r in grouped if r[0] is ConfigScope.BROKER]
    return [{r: grouped[r] for r in request} for request in (*together, *alone)]


def _entries(changes: Sequence[ConfigChange]) -> list[Any]:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

    return [
        ConfigEntry(
            change.key,
            None if change.operation is ConfigOperation.DELETE else change.value,
            incremental_operation=AlterConfigOpType(int(change.operation)),
        )
        for change in changes
    ]


def _refused_unasked(
    resource: Resource, changes: Sequence[ConfigChange], live: Collection[BrokerId]
) -> Rejected | None:
    """What need not be asked; None where it must."""
    scope, name = resource
    if scope is ConfigScope.BROKER and not (name.isdecimal() and BrokerId(int(name)) in live):
        return _invalid(
            f"broker {name} is not live, and only a broker itself can change its configuration;"
            " ask again when it is back"
        )
    if len({change.key for change in changes}) < len(changes):
        # Kafka's own answer; librdkafka would refuse the other resources of the request with it.
        return _invalid("Error due to duplicate config keys")
    return None


def _invalid(message: str) -> Rejected:
    return Rejected(INVALID_REQUEST, name_of(INVALID_REQUEST), message)


def _outcome(future: "Future[None]") -> Answer:
    from confluent_kafka import KafkaException

    try:
        future.result(ANSWER_SECONDS + _GRACE_SECONDS)
    except KafkaException as failure:
        error = failure.args[0]
        code = int(error.code())
        # librdkafka's own codes are below -1: timeouts, lost connections, no brokers.
        if code < 0 or code in UNKNOWN_OUTCOMES:
            return OutcomeUnknown(f"{error.name()}: {error.str()}")
        return answer(code, error.str())
    except TimeoutError:
        return OutcomeUnknown(f"no answer within {ANSWER_SECONDS + _GRACE_SECONDS:.0f} s")
    return Accepted()
