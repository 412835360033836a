"""Small controllers for tests: brokers 1 to 6, one topic, and short ways to ask."""

from collections.abc import Mapping, Sequence

from replan.model.api import Accepted, Answer, BrokerId, TopicId, TopicPartition, replicas
from replan.simulator.api import (
    AlterIsr,
    AlterReassignments,
    ClusterState,
    ControllerCommand,
    ControllerResult,
    CreateTopic,
    FenceBroker,
    Partition,
    RegisterBroker,
    UnfenceBroker,
    decide_and_apply,
)

TOPIC = "orders"
P0 = TopicPartition(TOPIC, 0)


class Controller:
    """A simulated controller that is asked one thing after the other."""

    def __init__(
        self,
        *lists: Sequence[int],
        version: str = "4.3",
        elr: bool = False,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        self.state = ClusterState("test", version, elr)
        for broker in range(1, 7):
            self.ask(RegisterBroker(BrokerId(broker)))
            self.ask(UnfenceBroker(BrokerId(broker)))
        if lists:
            assignments = tuple(replicas(*ids) for ids in lists)
            created = self.ask(CreateTopic(TOPIC, TopicId("id"), assignments, configs or {}))
            assert created.whole == Accepted()

    def ask(self, command: ControllerCommand) -> ControllerResult:
        self.state, decision = decide_and_apply(self.state, command)
        return decision

    def answer(self, command: ControllerCommand) -> Answer:
        """The answer to a command about one thing."""
        decision = self.ask(command)
        return decision.each[0][1] if decision.each else decision.whole

    def partition(self, index: int = 0) -> Partition:
        return self.state.topics[TOPIC].partitions[index]

    def fence(self, *brokers: int) -> None:
        for broker in brokers:
            self.ask(FenceBroker(BrokerId(broker)))

    def isr(self, *ids: int, **changes: int | bool | Mapping[BrokerId, int]) -> AlterIsr:
        """A leader's request for this ISR, with the epochs as they are."""
        partition = self.partition()
        usual: dict[str, object] = {
            "broker": partition.leader,
            "partition": P0,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "isr": replicas(*ids),
        }
        return AlterIsr(**{**usual, **changes})  # type: ignore[arg-type]  # named as its fields


def named(index: int) -> TopicPartition:
    return TopicPartition(TOPIC, index)


def to(*ids: int, partition: TopicPartition = P0) -> AlterReassignments:
    """A request for this list."""
    return AlterReassignments(((partition, replicas(*ids)),))
