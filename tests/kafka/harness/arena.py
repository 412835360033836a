"""One test's own brokers and topics on a shared controller of fake brokers.

Ids and names here are the test's: broker 1 of one arena is not broker 1 of another, for every
arena has a range of real ids, in the same order. So thousands of traces run on one controller,
none seeing another. Codes are Kafka's; 0 is success.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from tests.kafka.harness.clients import until
from tests.kafka.harness.closing import Closing
from tests.kafka.harness.codec import Message
from tests.kafka.harness.fake_brokers import (
    ONE_DIRECTORY,
    FakeBroker,
    FakeBrokers,
    Refused,
    directory_id,
)
from tests.kafka.harness.metadata_log import BROKER_RESOURCE, TOPIC_RESOURCE, PartitionState
from tests.kafka.harness.names import IDS_PER_ARENA, Names

Partition = tuple[str, int]
TIMEOUT_MS = 15000
SHUTDOWN_SECONDS = 10.0
DIRECTORIES = "abcd"
NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


class Election(IntEnum):
    """Kafka's two election types."""

    PREFERRED = 0
    UNCLEAN = 1


class ConfigOperation(IntEnum):
    """IncrementalAlterConfigs' four operations."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Answer(Struct, frozen=True):
    """What the controller said to one partition's request."""

    code: int
    message: str | None = None


class Arena(Closing):
    """A trace's brokers and topics; closing it takes them off the controller again."""

    def __init__(
        self,
        controller: FakeBrokers,
        brokers: Iterable[int],
        *,
        directories: Callable[[int], Sequence[str]] = lambda _: ONE_DIRECTORY,
    ) -> None:
        self._controller = controller
        self._names = Names(controller.next_arena_number())
        self._topics: list[str] = []
        self._directories = directories
        self.brokers: tuple[int, ...] = ()
        for broker in sorted(brokers):
            if not 0 <= broker < IDS_PER_ARENA:
                raise ValueError(f"broker {broker} is not between 0 and {IDS_PER_ARENA - 1}")
            self.register(broker)
        self.unfence(*self.brokers)

    # --- brokers

    def register(self, broker: int) -> None:
        """Register one more broker, or one that was unregistered; it is fenced until `unfence`."""
        real = self._names.real_id(broker)
        self._controller.register(real, tuple(self._directories(broker)))
        self.brokers = tuple(sorted({*self.brokers, broker}))

    def fence(self, *brokers: int) -> None:
        """Fence brokers one after the other, as an expired session would."""
        for broker in brokers:
            self._controller.beat(replace(self._known(broker), fenced=True, shutting_down=False))

    def unfence(self, *brokers: int) -> None:
        """Bring fenced brokers back, in the same incarnation."""
        for broker in brokers:
            self._controller.beat(replace(self._known(broker), fenced=False, shutting_down=False))

    def shut_down(self, broker: int) -> None:
        """A controlled shutdown: leaderships are handed over, then the broker is fenced."""
        wanted = replace(self._known(broker), shutting_down=True)
        until(
            lambda: bool(self._controller.beat(wanted)["ShouldShutDown"]),
            f"the controlled shutdown of broker {broker}",
            limit_seconds=SHUTDOWN_SECONDS,
        )

    def restart(self, broker: int, *, cleanly: bool) -> None:
        """Fence a broker and register its next incarnation, fenced still (`FakeBrokers`)."""
        self._controller.restart(self._names.real_id(broker), cleanly=cleanly)

    def cordon(self, *brokers: int) -> None:
        """Cordon every log directory of unfenced brokers (KIP-1066, from 4.3 on)."""
        for broker in brokers:
            self._controller.beat(replace(self._known(broker), cordoned=True))

    def add_directory(self, broker: int, name: str) -> None:
        """Give a broker another log directory, or a lost one back; it names it when it registers next."""
        self._controller.add_directory(self._names.real_id(broker), name)

    def lose_directory(self, broker: int, *names: str) -> None:
        """Call log directories offline, one after the other, from then on with each heartbeat (KIP-858)."""
        for name in names:
            known = self._known(broker)
            self._controller.beat(replace(known, lost=known.lost | {name}))

    def assign_directory(self, broker: int, partition: Partition, name: str) -> Answer:
        """Say in which of a broker's log directories its replica lies (AssignReplicasToDirs)."""
        topic, index = partition
        known = self._known(broker)
        answer = self._ask(
            "AssignReplicasToDirs",
            BrokerId=known.id,
            BrokerEpoch=known.epoch,
            Directories=[
                {
                    "Id": directory_id(known.id, name),
                    "Topics": [
                        {
                            "TopicId": self._controller.log.topic_id(self._names.real_name(topic)),
                            "Partitions": [{"PartitionIndex": index}],
                        }
                    ],
                }
            ],
        )
        _refuse_if_any("assign directories", answer)
        return Answer(answer["Directories"][0]["Topics"][0]["Partitions"][0]["ErrorCode"])

    def directory_name(self, broker: int, directory: UUID) -> str:
        """What tests call a log directory of a broker; `-` where the controller does not know it."""
        known = {directory_id(self.real_id(broker), name): name for name in DIRECTORIES}
        return known.get(directory, "-")

    def unregister(self, *brokers: int) -> None:
        """Take brokers out of the cluster."""
        for broker in brokers:
            self._controller.unregister(self._names.real_id(broker))

    def _ask(self, request: str, **fields: Any) -> Any:
        """What the controller answers."""
        return self._controller.controller.ask(request, **fields)

    # --- topics

    def create_topic(
        self,
        topic: str,
        assignments: Sequence[Sequence[int]],
        configs: Mapping[str, str] = NO_CONFIGS,
    ) -> None:
        """Create a topic, partition i on `assignments[i]`.

        Raises:
            Refused: with Kafka's code, such as 39 for an assignment that cannot be.
        """
        answer = self._ask(
            "CreateTopics",
            timeoutMs=TIMEOUT_MS,
            Topics=[
                {
                    "Name": self._names.real_name(topic),
                    "NumPartitions": -1,
                    "ReplicationFactor": -1,
                    "Assignments": [
                        {"PartitionIndex": index, "BrokerIds": self._names.real_ids(replicas)}
                        for index, replicas in enumerate(assignments)
                    ],
                    "Configs": [{"Name": key, "Value": value} for key, value in configs.items()],
                }
            ],
        )
        (result,) = answer["Topics"]
        if result["ErrorCode"]:
            raise Refused(f"create {topic}", result["ErrorCode"], result["ErrorMessage"])
        self._topics.append(topic)

    def create_partitions(
        self, topic: str, count: int, assignments: Sequence[Sequence[int]]
    ) -> Answer:
        """Ask for `count` partitions in all, the additional ones on `assignments`."""
        answer = self._ask(
            "CreatePartitions",
            TimeoutMs=TIMEOUT_MS,
            Topics=[
                {
                    "Name": self._names.real_name(topic),
                    "Count": count,
                    "Assignments": [
                        {"BrokerIds": self._names.real_ids(replicas)} for replicas in assignments
                    ],
                }
            ],
        )
        (result,) = answer["Results"]
        return self._answer(result)

    def configure(
        self, topic: str, key: str, value: str | None, operation: ConfigOperation
    ) -> Answer:
        """Change one config of a topic."""
        return self._configure(TOPIC_RESOURCE, self._names.real_name(topic), key, value, operation)

    def configure_brokers(
        self, broker: int | None, key: str, value: str | None, operation: ConfigOperation
    ) -> Answer:
        """Change one dynamic config of a broker, or of all (None), the other arenas' too."""
        name = "" if broker is None else str(self.real_id(broker))
        return self._configure(BROKER_RESOURCE, name, key, value, operation)

    def _configure(
        self, resource: int, name: str, key: str, value: str | None, operation: ConfigOperation
    ) -> Answer:
        answer = self._ask(
            "IncrementalAlterConfigs",
            Resources=[
                {
                    "ResourceType": resource,
                    "ResourceName": name,
                    "Configs": [{"Name": key, "ConfigOperation": operation, "Value": value}],
                }
            ],
        )
        (result,) = answer["Responses"]
        return self._answer(result)

    # --- partitions

    def reassign(self, changes: Mapping[Partition, Sequence[int]]) -> dict[Partition, Answer]:
        """Ask for new assignments (AlterPartitionReassignments)."""
        return dict(self.reassign_in_order(list(changes.items())))

    def reassign_in_order(
        self, changes: Sequence[tuple[Partition, Sequence[int] | None]], **guard: bool
    ) -> list[tuple[Partition, Answer]]:
        """The same, where None cancels, and one request may name a partition twice.

        The guard, AllowReplicationFactorChange, is understood from 4.1 on (KIP-860).
        """
        answer = self._ask(
            "AlterPartitionReassignments",
            TimeoutMs=TIMEOUT_MS,
            Topics=[
                {
                    "Name": self._names.real_name(topic),
                    "Partitions": [
                        {
                            "PartitionIndex": index,
                            "Replicas": None if target is None else self._names.real_ids(target),
                        }
                    ],
                }
                for (topic, index), target in changes
            ],
            **guard,
        )
        _refuse_if_any("reassign", answer)
        return [
            (
                (self._names.own_name(each["Name"]), row["PartitionIndex"]),
                self._answer(row),
            )
            for each in answer["Responses"]
            for row in each["Partitions"]
        ]

    def elect(self, election: Election, *partitions: Partition) -> dict[Partition, Answer]:
        """Hold elections (ElectLeaders)."""
        topics = sorted({topic for topic, _ in partitions})
        answer = self._ask(
            "ElectLeaders",
            ElectionType=election,
            TimeoutMs=TIMEOUT_MS,
            TopicPartitions=[
                {
                    "Topic": self._names.real_name(topic),
                    "Partitions": [index for name, index in partitions if name == topic],
                }
                for topic in topics
            ],
        )
        _refuse_if_any("elect", answer)
        return {
            (self._names.own_name(each["Topic"]), row["PartitionId"]): self._answer(row)
            for each in answer["ReplicaElectionResults"]
            for row in each["PartitionResult"]
        }

    def alter_isr(self, partition: Partition, isr: Iterable[int]) -> Answer:
        """Say, as the partition's leader, who is in sync now (AlterPartition).

        Code 108 (new leader elected) is success too: the change completed a reassignment and
        took the leadership away.

        Raises:
            ValueError: the partition has no leader, so nobody could say so.
        """
        topic, index = partition
        now = self.state(partition)
        if now.leader < 0:
            raise ValueError(f"{topic}-{index} has no leader that could change its ISR")
        leader = self._controller.broker(self._names.real_id(now.leader))
        answer = self._ask(
            "AlterPartition",
            BrokerId=leader.id,
            BrokerEpoch=leader.epoch,
            Topics=[
                {
                    "TopicId": self._controller.log.topic_id(self._names.real_name(topic)),
                    "Partitions": [
                        {
                            "PartitionIndex": index,
                            "LeaderEpoch": now.leader_epoch,
                            "PartitionEpoch": now.partition_epoch,
                            "NewIsrWithEpochs": [
                                self._in_sync(self._names.real_id(each)) for each in isr
                            ],
                        }
                    ],
                }
            ],
        )
        _refuse_if_any("alter ISR", answer)
        return Answer(answer["Topics"][0]["Partitions"][0]["ErrorCode"])

    # --- what is

    def state(self, partition: Partition) -> PartitionState:
        """The controller's own state of a partition, from its log."""
        topic, index = partition
        return self._names.own(self._controller.log.partitions(self._names.real_name(topic))[index])

    def states(self, topic: str) -> dict[int, PartitionState]:
        """The controller's own state of a topic's partitions, from its log."""
        found = self._controller.log.partitions(self._names.real_name(topic))
        return {index: self._names.own(state) for index, state in found.items()}

    def configs(self, topic: str) -> dict[str, str]:
        """The topic's own configuration as the controller has stored it."""
        return self._controller.log.configs(self._names.real_name(topic))

    def broker_configs(self, broker: int | None) -> dict[str, str]:
        """The dynamic configuration of a broker, or of all (None), as the controller has stored it."""
        name = "" if broker is None else str(self.real_id(broker))
        return self._controller.log.broker_configs(name)

    def described(self, topic: str) -> list[Message]:
        """The topic as a broker describes it to clients, some ms late; ids are the real ones."""
        answer = self._controller.front.ask(
            "DescribeTopicPartitions", Topics=[{"Name": self._names.real_name(topic)}]
        )
        partitions: list[Message] = answer["Topics"][0]["Partitions"]
        return partitions

    def close(self) -> None:
        """Take the arena's brokers out and delete its topics, in this order.

        The other way round fells the controllers of 4.3.1 and 4.4.0 when an ELR was cleared by
        a write of min.insync.replicas: "Topic ID ... existed in isrMembers, but not in the
        topics map" (ReplicationControlManager.generateLeaderAndIsrUpdates).
        """
        for broker in self.brokers:
            if self._controller.is_registered(self._names.real_id(broker)):
                self.unregister(broker)
        names = [{"Name": self._names.real_name(topic)} for topic in self._topics]
        self._ask("DeleteTopics", Topics=names, TimeoutMs=TIMEOUT_MS)

    def real_id(self, broker: int) -> int:
        """The id by which the controller knows an arena's broker."""
        return self._names.real_id(broker)

    def _known(self, broker: int) -> FakeBroker:
        return self._controller.broker(self._names.real_id(broker))

    def _answer(self, row: Message) -> Answer:
        return Answer(row["ErrorCode"], self._names.own_text(row["ErrorMessage"]))

    def _in_sync(self, broker: int) -> Message:
        known = self._controller.is_registered(broker)
        epoch = self._controller.broker(broker).epoch if known else -1
        return {"BrokerId": broker, "BrokerEpoch": epoch}


def _refuse_if_any(what: str, answer: Message) -> None:
    if answer["ErrorCode"]:
        raise Refused(what, answer["ErrorCode"], answer.get("ErrorMessage"))
