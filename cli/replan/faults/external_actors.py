"""What other tools and people do on the same cluster. The controller may refuse it, and the refusal is reported."""

from collections.abc import Sequence

from replan.faults.kinds import FaultContext, Kind, known_topic, once
from replan.faults.token_reader import TokenReader
from replan.model.configs import (
    MIN_INSYNC_REPLICAS,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    topic_change,
)
from replan.model.control_plane import ElectionType
from replan.simulator.cluster.faults import Ask, At, Schedule
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterReassignments,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
)

AWAY_SECONDS = 1.0
"""Between the deletion of a topic and the next one of its name."""


def _reassign(tokens: TokenReader, _around: FaultContext) -> Schedule:
    name = tokens.partition()
    return once(Ask(AlterReassignments(((name, tokens.replicas()),))))


def _cancel(tokens: TokenReader, _around: FaultContext) -> Schedule:
    return once(Ask(AlterReassignments(((tokens.partition(), None),))))


def _elect(tokens: TokenReader, _around: FaultContext) -> Schedule:
    kinds = {"preferred": ElectionType.PREFERRED, "unclean": ElectionType.UNCLEAN}
    kind = tokens.choose("a kind of election", kinds)
    return once(Ask(ElectLeaders((tokens.partition(),), kind)))


def _config(tokens: TokenReader, _around: FaultContext) -> Schedule:
    scope, name = ConfigScope.BROKER, ""
    if not tokens.phrase("brokers"):
        scope = tokens.choose("topic, broker or brokers", {s.value: s for s in ConfigScope})
        name = tokens.one("whose configuration")
    operation = tokens.choose("an operation", {o.name.lower(): o for o in ConfigOperation})
    key = tokens.one("a key")
    value = "" if operation is ConfigOperation.DELETE else tokens.one("a value")
    return once(Ask(AlterConfigs((ConfigChange(scope, name, key, operation, value),))))


def _min_isr(tokens: TokenReader, context: FaultContext) -> Schedule:
    topic, minimum = known_topic(tokens, context), str(tokens.number("a minimum"))
    change = topic_change(topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, minimum)
    return once(Ask(AlterConfigs((change,))))


def _delete_topic(tokens: TokenReader, _around: FaultContext) -> Schedule:
    return once(Ask(DeleteTopic(tokens.one("a topic"))))


def _recreate_topic(tokens: TokenReader, context: FaultContext) -> Schedule:
    name, lists = known_topic(tokens, context), tuple(tokens.lists())
    minimum = context.cluster.topic_config(name, MIN_INSYNC_REPLICAS, "1")
    created = CreateTopic(name, context.new_topic_id(name), lists, {MIN_INSYNC_REPLICAS: minimum})
    return At(0, Ask(DeleteTopic(name))), At(AWAY_SECONDS, Ask(created))


def _add_partitions(tokens: TokenReader, context: FaultContext) -> Schedule:
    name, lists = known_topic(tokens, context), tuple(tokens.lists())
    count = len(context.cluster.topics[name].partitions) + len(lists)
    return once(Ask(CreatePartitions(name, count, lists)))


KINDS: Sequence[Kind] = (
    Kind("foreign reassign PARTITION LIST", "another tool starts a reassignment", _reassign, 2),
    Kind(
        "foreign cancel PARTITION",
        "another tool cancels the running reassignment, also replan's",
        _cancel,
        2,
    ),
    Kind("foreign elect preferred|unclean PARTITION", "another tool elects a leader", _elect, 2),
    Kind(
        "foreign config SCOPE set|append|subtract|delete KEY [VALUE]",
        "another tool changes a configuration, throttles included; `delete` has no value",
        _config,
        2,
    ),
    Kind("foreign min-isr TOPIC COUNT", "another tool sets min.insync.replicas", _min_isr, 2),
    Kind("foreign delete-topic TOPIC", "another tool deletes the topic", _delete_topic, 2),
    Kind(
        "foreign recreate-topic TOPIC LISTS",
        "it is deleted, and a second later another topic of its name is created",
        _recreate_topic,
        2,
    ),
    Kind(
        "foreign add-partitions TOPIC LISTS",
        "another tool adds partitions with these lists",
        _add_partitions,
        2,
    ),
)
