"""What happened, and how each event changes the state: `evolve(state, event) -> state`.

Here belong the events (Kafka's metadata records) and their replay. Nothing here decides: an event is applied as it
stands, field by field, as the controllers replay records (ReplicationControlManager.replay,
PartitionRegistration.merge). `evolve_all` copies each touched mapping once per batch, so ten thousand events cost ten
thousand small steps.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from replan.model.configs import ConfigResource
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.simulator.controller.state import (
    BrokerRegistration,
    ClusterState,
    Directories,
    Partition,
    Topic,
    slots_after_replacing,
)

_T = TypeVar("_T")


class NewLeader(Struct, frozen=True):
    """The leader field of a change; naming it raises the leader epoch, also where the broker stays the same."""

    broker: BrokerId | None


class PartitionChanged(Struct, frozen=True):
    """PartitionChangeRecord: only the fields that are not None change."""

    partition: TopicPartition
    leader: NewLeader | None = None
    replicas: Replicas | None = None
    isr: Replicas | None = None
    adding: Replicas | None = None
    removing: Replicas | None = None
    elr: Replicas | None = None
    last_known_elr: Replicas | None = None
    recovering: bool | None = None
    directories: Directories | None = None


class BrokerRegistered(Struct, frozen=True):
    """RegisterBrokerRecord: the registration takes the place of an earlier one."""

    registration: BrokerRegistration


class BrokerChanged(Struct, frozen=True):
    """BrokerRegistrationChangeRecord: only the fields that are not None change."""

    broker: BrokerId
    fenced: bool | None = None
    shutting_down: bool | None = None
    cordoned_dirs: frozenset[str] | None = None
    log_dirs: tuple[str, ...] = ()
    """Those that stay online; none at all is no change: the controller takes an empty list for an absent one."""


class BrokerUnregistered(Struct, frozen=True):
    """UnregisterBrokerRecord."""

    broker: BrokerId


class TopicCreated(Struct, frozen=True):
    """TopicRecord; its partitions follow."""

    name: str
    id: TopicId


class PartitionCreated(Struct, frozen=True):
    """PartitionRecord."""

    partition: TopicPartition
    registration: Partition


class TopicDeleted(Struct, frozen=True):
    """RemoveTopicRecord: its partitions and its configuration go with it."""

    name: str


class ConfigChanged(Struct, frozen=True):
    """ConfigRecord; None removes the value."""

    resource: ConfigResource
    key: str
    value: str | None


class ElrCleared(Struct, frozen=True):
    """ClearElrRecord: of one topic, or of all where `topic` is None."""

    topic: str | None


Event = (
    PartitionChanged
    | BrokerRegistered
    | BrokerChanged
    | BrokerUnregistered
    | TopicCreated
    | PartitionCreated
    | TopicDeleted
    | ConfigChanged
    | ElrCleared
)


def evolve_all(state: ClusterState, events: Iterable[Event]) -> ClusterState:
    """The state after all events, in their order; the same state where there are none."""
    draft = _Draft(state)
    for event in events:
        draft.apply(event)
    return draft.finished()


class _Draft:
    """A state under change: a mapping is copied when it is first touched, and only then."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._brokers: dict[BrokerId, BrokerRegistration] | None = None
        self._topics: dict[str, Topic] | None = None
        self._open: dict[str, dict[int, Partition]] = {}
        self._slots: dict[str, int] = {}
        self._configs: dict[ConfigResource, Mapping[str, str]] | None = None
        self._epoch = state.next_broker_epoch

    def apply(self, event: Event) -> None:
        match event:
            case PartitionChanged() | PartitionCreated() | ElrCleared():
                self._apply_to_partitions(event)
            case BrokerRegistered() | BrokerChanged() | BrokerUnregistered():
                self._apply_to_brokers(event)
            case TopicCreated(name, topic_id):
                self._all_topics()[name] = Topic(topic_id, {})
            case TopicDeleted(name):
                self._delete_topic(name)
            case ConfigChanged(resource, key, value):
                self._configure(resource, key, value)
            case _:
                assert_never(event)

    def finished(self) -> ClusterState:
        topics = self._state.topics if self._topics is None and not self._open else self._merged()
        unchanged = topics is self._state.topics and self._brokers is None and self._configs is None
        if unchanged:
            return self._state
        return replace(
            self._state,
            brokers=self._state.brokers if self._brokers is None else self._brokers,
            topics=topics,
            configs=self._state.configs if self._configs is None else self._configs,
            next_broker_epoch=self._epoch,
        )

    def _merged(self) -> dict[str, Topic]:
        topics = self._all_topics()
        for name, partitions in self._open.items():
            slots = max(topics[name].slots, self._slots.get(name, 0))
            topics[name] = Topic(topics[name].id, partitions, slots)
        return topics

    def _apply_to_partitions(self, event: PartitionChanged | PartitionCreated | ElrCleared) -> None:
        match event:
            case PartitionChanged(name):
                self._change(event)
            case PartitionCreated(name, registration):
                self._partitions(name.topic)[name.partition] = registration
            case ElrCleared(topic):
                for cleared in [topic] if topic is not None else sorted(self._topics_now):
                    self._clear_elr(cleared)
            case _:
                assert_never(event)

    def _apply_to_brokers(
        self, event: BrokerRegistered | BrokerChanged | BrokerUnregistered
    ) -> None:
        if self._brokers is None:
            self._brokers = dict(self._state.brokers)
        match event:
            case BrokerRegistered(registration):
                self._brokers[registration.id] = registration
                self._epoch = max(self._epoch, registration.epoch + 1)
            case BrokerChanged(broker):
                self._brokers[broker] = _changed(self._brokers[broker], event)
            case BrokerUnregistered(broker):
                del self._brokers[broker]
            case _:
                assert_never(event)

    def _change(self, event: PartitionChanged) -> None:
        topic, index = event.partition
        partitions = self._partitions(topic)
        partitions[index] = merge_change(partitions[index], event)
        self._slots[topic] = max(self._slots.get(topic, 0), slots_after_replacing(len(partitions)))

    def _clear_elr(self, topic: str) -> None:
        for index, partition in self._partitions(topic).items():
            if partition.elr or partition.last_known_elr:
                cleared = PartitionChanged(TopicPartition(topic, index), elr=(), last_known_elr=())
                self._change(cleared)

    def _delete_topic(self, name: str) -> None:
        self._open.pop(name, None)
        self._slots.pop(name, None)
        del self._all_topics()[name]
        for resource in [r for r in self._all_configs() if r[0] == "topic" and r[1] == name]:
            del self._all_configs()[resource]

    def _configure(self, resource: ConfigResource, key: str, value: str | None) -> None:
        values = dict(self._all_configs().get(resource, {}))
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
        self._all_configs()[resource] = values
        if not values:
            del self._all_configs()[resource]

    def _partitions(self, topic: str) -> dict[int, Partition]:
        if topic not in self._open:
            self._open[topic] = dict(self._topics_now[topic].partitions)
        return self._open[topic]

    @property
    def _topics_now(self) -> Mapping[str, Topic]:
        return self._state.topics if self._topics is None else self._topics

    def _all_topics(self) -> dict[str, Topic]:
        if self._topics is None:
            self._topics = dict(self._state.topics)
        return self._topics

    def _all_configs(self) -> dict[ConfigResource, Mapping[str, str]]:
        if self._configs is None:
            self._configs = dict(self._state.configs)
        return self._configs


def merge_change(partition: Partition, change: PartitionChanged) -> Partition:
    """The partition after a change: the partition epoch always rises (PartitionRegistration.merge)."""
    led = change.leader is not None
    return Partition(
        replicas=_or(change.replicas, partition.replicas),
        isr=_or(change.isr, partition.isr),
        leader=partition.leader if change.leader is None else change.leader.broker,
        adding=_or(change.adding, partition.adding),
        removing=_or(change.removing, partition.removing),
        leader_epoch=partition.leader_epoch + (1 if led else 0),
        partition_epoch=partition.partition_epoch + 1,
        elr=_or(change.elr, partition.elr),
        last_known_elr=_or(change.last_known_elr, partition.last_known_elr),
        recovering=_or(change.recovering, partition.recovering),
        directories=_or(change.directories, partition.directories),
    )


def _changed(registration: BrokerRegistration, change: BrokerChanged) -> BrokerRegistration:
    return replace(
        registration,
        fenced=_or(change.fenced, registration.fenced),
        shutting_down=_or(change.shutting_down, registration.shutting_down),
        cordoned_dirs=_or(change.cordoned_dirs, registration.cordoned_dirs),
        log_dirs=change.log_dirs or registration.log_dirs,
    )


def _or(written: _T | None, kept: _T) -> _T:
    return kept if written is None else written
