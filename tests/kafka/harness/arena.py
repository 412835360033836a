"""One test's own brokers and topics on a shared controller of fake brokers.

Ids and names here are the test's: broker 1 of one arena is not broker 1 of another, for every
arena has a range of real ids, in the same order. So thousands of traces run on one controller,
none seeing another. Codes are Kafka's; 0 is success.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType, TracebackType
from typing import Self

from tests.kafka.harness.codec import Message
from tests.kafka.harness.fake_brokers import FakeBrokers, Refused
from tests.kafka.harness.metadata_log import PartitionState

Partition = tuple[str, int]
IDS_PER_ARENA = 1000
TIMEOUT_MS = 15000
NO_CONFIGS: Mapping[str, str] = MappingProxyType({})
TOPIC_RESOURCE = 2


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


@dataclass(frozen=True, slots=True)
class Answer:
    """What the controller said to one partition's request."""

    code: int
    message: str | None = None


class Arena:
    """A trace's brokers and topics; closing it takes them off the controller again."""

    def __init__(self, controller: FakeBrokers, racks: Mapping[int, str | None]) -> None:
        self._controller = controller
        self._number = controller.next_arena_number()
        self._topics: list[str] = []
        self.brokers = tuple(sorted(racks))
        for broker in self.brokers:
            if not 0 <= broker < IDS_PER_ARENA:
                raise ValueError(f"broker {broker} is not between 0 and {IDS_PER_ARENA - 1}")
            controller.register(self.real_id(broker), racks[broker])
        self.unfence(*self.brokers)

    # --- brokers

    def fence(self, *brokers: int) -> None:
        """Fence brokers one after the other, as an expired session would."""
        for broker in brokers:
            known = self._controller.broker(self.real_id(broker))
            self._controller.beat(replace(known, fenced=True))

    def unfence(self, *brokers: int) -> None:
        """Bring fenced brokers back, in the same incarnation."""
        for broker in brokers:
            known = self._controller.broker(self.real_id(broker))
            self._controller.beat(replace(known, fenced=False))

    def shut_down(self, broker: int) -> None:
        """A controlled shutdown: leaderships are handed over, then the broker may go.

        A broker that nothing can take over from stays, shutting down, as Kafka lets it.
        """
        known = self._controller.broker(self.real_id(broker))
        wanted = replace(known, shutting_down=True)
        if not self._controller.beat(wanted)["ShouldShutDown"]:
            self._controller.beat(wanted)

    def restart(self, broker: int, *, cleanly: bool) -> None:
        """Fence a broker and register its next incarnation, fenced still (`FakeBrokers`)."""
        self._controller.restart(self.real_id(broker), cleanly=cleanly)

    def cordon(self, *brokers: int) -> None:
        """Cordon every log directory of unfenced brokers (KIP-1066, from 4.3 on)."""
        for broker in brokers:
            known = self._controller.broker(self.real_id(broker))
            self._controller.beat(replace(known, cordoned=True))

    def unregister(self, *brokers: int) -> None:
        """Take brokers out of the cluster."""
        for broker in brokers:
            self._controller.unregister(self.real_id(broker))

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
        answer = self._controller.controller.ask(
            "CreateTopics",
            timeoutMs=TIMEOUT_MS,
            Topics=[
                {
                    "Name": self.real_name(topic),
                    "NumPartitions": -1,
                    "ReplicationFactor": -1,
                    "Assignments": [
                        {"PartitionIndex": index, "BrokerIds": self._real_ids(replicas)}
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

    def configure(
        self, topic: str, key: str, value: str | None, operation: ConfigOperation
    ) -> Answer:
        """Change one config of a topic."""
        answer = self._controller.controller.ask(
            "IncrementalAlterConfigs",
            Resources=[
                {
                    "ResourceType": TOPIC_RESOURCE,
                    "ResourceName": self.real_name(topic),
                    "Configs": [{"Name": key, "ConfigOperation": operation, "Value": value}],
                }
            ],
        )
        (result,) = answer["Responses"]
        return Answer(result["ErrorCode"], result["ErrorMessage"])

    # --- partitions

    def reassign(
        self,
        changes: Mapping[Partition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[Partition, Answer]:
        """Ask for new assignments, or for a cancel with None (AlterPartitionReassignments).

        Forbidding a change of the replication factor is understood from 4.1 on (KIP-860).
        """
        guard = {} if allow_replication_factor_change else {"AllowReplicationFactorChange": False}
        return dict(self.reassign_in_order(list(changes.items()), **guard))

    def reassign_in_order(
        self, changes: Sequence[tuple[Partition, Sequence[int] | None]], **guard: bool
    ) -> list[tuple[Partition, Answer]]:
        """The same, where one request may name a partition twice."""
        answer = self._controller.controller.ask(
            "AlterPartitionReassignments",
            TimeoutMs=TIMEOUT_MS,
            Topics=[
                {
                    "Name": self.real_name(topic),
                    "Partitions": [
                        {
                            "PartitionIndex": index,
                            "Replicas": None if target is None else self._real_ids(target),
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
                (self._own_name(each["Name"]), row["PartitionIndex"]),
                Answer(row["ErrorCode"], row["ErrorMessage"]),
            )
            for each in answer["Responses"]
            for row in each["Partitions"]
        ]

    def elect(self, election: Election, *partitions: Partition) -> dict[Partition, Answer]:
        """Hold elections (ElectLeaders)."""
        topics = sorted({topic for topic, _ in partitions})
        answer = self._controller.controller.ask(
            "ElectLeaders",
            ElectionType=election,
            TimeoutMs=TIMEOUT_MS,
            TopicPartitions=[
                {
                    "Topic": self.real_name(topic),
                    "Partitions": [index for name, index in partitions if name == topic],
                }
                for topic in topics
            ],
        )
        _refuse_if_any("elect", answer)
        return {
            (self._own_name(each["Topic"]), row["PartitionId"]): Answer(
                row["ErrorCode"], row["ErrorMessage"]
            )
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
        leader = self._controller.broker(self.real_id(now.leader))
        answer = self._controller.controller.ask(
            "AlterPartition",
            BrokerId=leader.id,
            BrokerEpoch=leader.epoch,
            Topics=[
                {
                    "TopicId": self._controller.log.topic_id(self.real_name(topic)),
                    "Partitions": [
                        {
                            "PartitionIndex": index,
                            "LeaderEpoch": now.leader_epoch,
                            "PartitionEpoch": now.partition_epoch,
                            "NewIsrWithEpochs": [self._in_sync(self.real_id(each)) for each in isr],
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
        return self._own(self._controller.log.partitions(self.real_name(topic))[index])

    def states(self, topic: str) -> dict[int, PartitionState]:
        """The controller's own state of a topic's partitions, from its log."""
        found = self._controller.log.partitions(self.real_name(topic))
        return {index: self._own(state) for index, state in found.items()}

    def described(self, topic: str) -> list[Message]:
        """The topic as a broker describes it to clients, some ms late; ids are the real ones."""
        answer = self._controller.front.ask(
            "DescribeTopicPartitions", Topics=[{"Name": self.real_name(topic)}]
        )
        partitions: list[Message] = answer["Topics"][0]["Partitions"]
        return partitions

    def running(self, topic: str) -> dict[int, tuple[tuple[int, ...], ...]]:
        """The topic's running reassignments as listed: replicas, adding, removing."""
        indexes = list(self.states(topic))
        answer = self._controller.controller.ask(
            "ListPartitionReassignments",
            TimeoutMs=TIMEOUT_MS,
            Topics=[{"Name": self.real_name(topic), "PartitionIndexes": indexes}],
        )
        _refuse_if_any("list reassignments", answer)
        return {
            row["PartitionIndex"]: tuple(
                self._own_ids(row[name])
                for name in ("Replicas", "AddingReplicas", "RemovingReplicas")
            )
            for each in answer["Topics"]
            for row in each["Partitions"]
        }

    # --- names and ids

    def real_id(self, broker: int) -> int:
        """The id by which the controller knows an arena's broker."""
        return self._number * IDS_PER_ARENA + broker

    def real_name(self, topic: str) -> str:
        """The name by which the controller knows an arena's topic."""
        return f"arena-{self._number}-{topic}"

    def close(self) -> None:
        """Take the arena's brokers out and delete its topics, in this order.

        The other way round fells the controllers of 4.3.1 and 4.4.0 when an ELR was cleared by
        a write of min.insync.replicas: "Topic ID ... existed in isrMembers, but not in the
        topics map" (ReplicationControlManager.generateLeaderAndIsrUpdates).
        """
        for broker in self.brokers:
            if self._controller.is_registered(self.real_id(broker)):
                self.unregister(broker)
        names = [{"Name": self.real_name(topic)} for topic in self._topics]
        self._controller.controller.ask("DeleteTopics", Topics=names, TimeoutMs=TIMEOUT_MS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _real_ids(self, brokers: Iterable[int]) -> list[int]:
        return [self.real_id(broker) for broker in brokers]

    def _own_ids(self, brokers: Iterable[int]) -> tuple[int, ...]:
        return tuple(broker - self._number * IDS_PER_ARENA for broker in brokers)

    def _own_name(self, name: str) -> str:
        return name.removeprefix(f"arena-{self._number}-")

    def _own(self, state: PartitionState) -> PartitionState:
        return replace(
            state,
            replicas=self._own_ids(state.replicas),
            isr=self._own_ids(state.isr),
            adding=self._own_ids(state.adding),
            removing=self._own_ids(state.removing),
            leader=state.leader if state.leader < 0 else self._own_ids([state.leader])[0],
            elr=self._own_ids(state.elr),
            last_known_elr=self._own_ids(state.last_known_elr),
        )

    def _in_sync(self, broker: int) -> Message:
        known = self._controller.is_registered(broker)
        epoch = self._controller.broker(broker).epoch if known else -1
        return {"BrokerId": broker, "BrokerEpoch": epoch}


def _refuse_if_any(what: str, answer: Message) -> None:
    if answer["ErrorCode"]:
        raise Refused(what, answer["ErrorCode"], answer.get("ErrorMessage"))
