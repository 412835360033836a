"""`foreign …`: other tools and other people at work on the same cluster."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from replan.model.configs import ConfigChange, ConfigOperation, ConfigScope
from replan.model.control_plane import ElectionType
from replan.scenarios.story import Story
from replan.scenarios.words import Words
from replan.simulator.commands import (
    AlterConfigs,
    AlterReassignments,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
)
from replan.simulator.faults import Ask, At, Schedule


def foreign(story: Story, words: Words) -> Schedule:
    """Somebody else's request; see the functions below."""
    return words.choose("something that others do", DEEDS)(story, words)


def _reassign(_story: Story, words: Words) -> Schedule:
    """`foreign reassign orders-0 [1,2,5]`."""
    name = words.partition()
    return (At(0, Ask(AlterReassignments(((name, words.replicas()),)))),)


def _cancel(_story: Story, words: Words) -> Schedule:
    """`foreign cancel orders-0`."""
    return (At(0, Ask(AlterReassignments(((words.partition(), None),)))),)


def _elect(_story: Story, words: Words) -> Schedule:
    """`foreign elect preferred|unclean orders-0`."""
    kinds = {"preferred": ElectionType.PREFERRED, "unclean": ElectionType.UNCLEAN}
    kind = words.choose("a kind of election", kinds)
    return (At(0, Ask(ElectLeaders((words.partition(),), kind))),)


def _config(_story: Story, words: Words) -> Schedule:
    """`foreign config topic orders|broker 3|brokers set|append|subtract KEY VALUE`, or `delete KEY`."""
    scope, name = ConfigScope.BROKER, ""
    if not words.phrase("brokers"):
        scope = words.choose("topic, broker or brokers", {s.value: s for s in ConfigScope})
        name = words.one("whose configuration")
    operations = {o.name.lower(): o for o in ConfigOperation}
    operation = words.choose("an operation", operations)
    key = words.one("a key")
    value = "" if operation is ConfigOperation.DELETE else words.one("a value")
    return (At(0, Ask(AlterConfigs((ConfigChange(scope, name, key, operation, value),)))),)


def _delete_topic(_story: Story, words: Words) -> Schedule:
    """`foreign delete-topic orders`."""
    return (At(0, Ask(DeleteTopic(words.one("a topic")))),)


def _recreate_topic(story: Story, words: Words) -> Schedule:
    """`foreign recreate-topic orders [1,2,3]`: deleted, and a second later another one of that name."""
    name = words.one("a topic")
    lists = tuple(words.lists())
    created = CreateTopic(name, story.topic_id(name), lists, {"min.insync.replicas": "2"})
    return At(0, Ask(DeleteTopic(name))), At(1, Ask(created))


def _add_partitions(story: Story, words: Words) -> Schedule:
    """`foreign add-partitions orders [2,3,4]`: more partitions, with these lists."""
    name = words.one("a topic")
    lists = tuple(words.lists())
    topic = story.plane.simulation.cluster.topics.get(name)
    if topic is None:
        raise words.wrong(f"there is no topic {name}")
    return (At(0, Ask(CreatePartitions(name, len(topic.partitions) + len(lists), lists))),)


DEEDS: Mapping[str, Callable[[Story, Words], Schedule]] = MappingProxyType(
    {
        "reassign": _reassign,
        "cancel": _cancel,
        "elect": _elect,
        "config": _config,
        "delete-topic": _delete_topic,
        "recreate-topic": _recreate_topic,
        "add-partitions": _add_partitions,
    }
)
