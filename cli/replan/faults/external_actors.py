"""What others do on the same cluster: other tools, other people. The controller may refuse it; that is told."""

from collections.abc import Sequence

from replan.faults.kinds import Kind, Surroundings, known_topic, once
from replan.faults.token_reader import Words
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


def _reassign(words: Words, _around: Surroundings) -> Schedule:
    name = words.partition()
    return once(Ask(AlterReassignments(((name, words.replicas()),))))


def _cancel(words: Words, _around: Surroundings) -> Schedule:
    return once(Ask(AlterReassignments(((words.partition(), None),))))


def _elect(words: Words, _around: Surroundings) -> Schedule:
    kinds = {"preferred": ElectionType.PREFERRED, "unclean": ElectionType.UNCLEAN}
    kind = words.choose("a kind of election", kinds)
    return once(Ask(ElectLeaders((words.partition(),), kind)))


def _config(words: Words, _around: Surroundings) -> Schedule:
    scope, name = ConfigScope.BROKER, ""
    if not words.phrase("brokers"):
        scope = words.choose("topic, broker or brokers", {s.value: s for s in ConfigScope})
        name = words.one("whose configuration")
    operation = words.choose("an operation", {o.name.lower(): o for o in ConfigOperation})
    key = words.one("a key")
    value = "" if operation is ConfigOperation.DELETE else words.one("a value")
    return once(Ask(AlterConfigs((ConfigChange(scope, name, key, operation, value),))))


def _min_isr(words: Words, around: Surroundings) -> Schedule:
    topic, minimum = known_topic(words, around), str(words.number("a minimum"))
    change = topic_change(topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, minimum)
    return once(Ask(AlterConfigs((change,))))


def _delete_topic(words: Words, _around: Surroundings) -> Schedule:
    return once(Ask(DeleteTopic(words.one("a topic"))))


def _recreate_topic(words: Words, around: Surroundings) -> Schedule:
    name, lists = known_topic(words, around), tuple(words.lists())
    minimum = around.cluster.topic_config(name, MIN_INSYNC_REPLICAS, "1")
    created = CreateTopic(name, around.new_topic_id(name), lists, {MIN_INSYNC_REPLICAS: minimum})
    return At(0, Ask(DeleteTopic(name))), At(AWAY_SECONDS, Ask(created))


def _add_partitions(words: Words, around: Surroundings) -> Schedule:
    name, lists = known_topic(words, around), tuple(words.lists())
    count = len(around.cluster.topics[name].partitions) + len(lists)
    return once(Ask(CreatePartitions(name, count, lists)))


KINDS: Sequence[Kind] = (
    Kind("foreign reassign PARTITION LIST", "another tool's reassignment", _reassign, 2),
    Kind("foreign cancel PARTITION", "it cancels what runs there, ours too", _cancel, 2),
    Kind("foreign elect preferred|unclean PARTITION", "its election", _elect, 2),
    Kind(
        "foreign config SCOPE set|append|subtract|delete KEY [VALUE]",
        "its configuration, throttles too; `delete` has no value",
        _config,
        2,
    ),
    Kind("foreign min-isr TOPIC COUNT", "somebody sets min.insync.replicas", _min_isr, 2),
    Kind("foreign delete-topic TOPIC", "it is gone", _delete_topic, 2),
    Kind(
        "foreign recreate-topic TOPIC LISTS",
        "it is deleted, and a second later there is another one of its name",
        _recreate_topic,
        2,
    ),
    Kind(
        "foreign add-partitions TOPIC LISTS",
        "more partitions, with these lists",
        _add_partitions,
        2,
    ),
)
