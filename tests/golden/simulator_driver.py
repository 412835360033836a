"""The simulator's rules as a driver of golden vectors."""

from collections.abc import Collection, Mapping, Sequence

from tests.golden.language import BROKERS, Ids, Observed, directories

from replan.model.api import (
    MIN_INSYNC_REPLICAS,
    Accepted,
    Answer,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    ElectionType,
    Rejected,
    TopicId,
    TopicPartition,
    replicas,
    topic_change,
)
from replan.simulator.api import (
    CLUSTER_DEFAULT,
    AlterConfigs,
    AlterIsr,
    AlterReassignments,
    AssignDirs,
    ClusterState,
    ControllerCommand,
    ControllerResult,
    CordonDirs,
    CreatePartitions,
    CreateTopic,
    ElectLeaders,
    FenceBroker,
    LoseDirs,
    Partition,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
    decide_and_apply,
)

TOPIC = "orders"
P0 = TopicPartition(TOPIC, 0)


class SimulatorDriver:
    """A simulated controller in which nothing happens by itself."""

    def __init__(self, version: str, *, elr: bool) -> None:
        # With ELR a controller writes its own minimum as the default of all brokers.
        defaults = {CLUSTER_DEFAULT: {MIN_INSYNC_REPLICAS: "1"}} if elr else {}
        self.state = ClusterState("golden", version, elr, configs=defaults)
        self.said: Sequence[str | None] = ()
        self._added: dict[int, tuple[str, ...]] = {}
        for broker in BROKERS:
            self.register(broker)
            self.unfence(broker)

    def ask(self, command: ControllerCommand) -> ControllerResult:
        """Perform a command."""
        self.state, decision = decide_and_apply(self.state, command)
        return decision

    def create_topic(self, assignments: Sequence[Ids], configs: Mapping[str, str]) -> None:
        lists = tuple(replicas(*ids) for ids in assignments)
        assert self.ask(CreateTopic(TOPIC, TopicId("golden"), lists, configs)).whole == Accepted()

    def create_partitions(self, count: int, assignments: Sequence[Ids]) -> int:
        lists = tuple(replicas(*ids) for ids in assignments)
        return self._told(self.ask(CreatePartitions(TOPIC, count, lists)).whole)

    def register(self, broker: int) -> int:
        return _code(self.ask(RegisterBroker(BrokerId(broker), log_dirs=directories(broker))).whole)

    def fence(self, broker: int) -> int:
        return _code(self.ask(FenceBroker(BrokerId(broker))).whole)

    def unfence(self, broker: int) -> int:
        return _code(self.ask(UnfenceBroker(BrokerId(broker))).whole)

    def shut_down(self, broker: int) -> int:
        return max(_code(self.ask(ShutDownBroker(BrokerId(broker))).whole) for _ in range(2))

    def restart(self, broker: int, *, cleanly: bool) -> int:
        self.fence(broker)
        known = self.state.brokers[BrokerId(broker)]
        epoch = known.epoch if cleanly else -1
        dirs = dict.fromkeys((*known.log_dirs, *self._added.pop(broker, ())))
        return _code(self.ask(RegisterBroker(known.id, known.rack, epoch, tuple(dirs))).whole)

    def cordon(self, broker: int) -> int:
        known = self.state.brokers[BrokerId(broker)]
        return _code(self.ask(CordonDirs(known.id, frozenset(known.log_dirs))).whole)

    def assign_directory(self, broker: int, partition: int, directory: str) -> int:
        named = ((TopicPartition(TOPIC, partition), directory),)
        decision = self.ask(AssignDirs(BrokerId(broker), named))
        return _code(dict(decision.each).get(named[0][0], decision.whole))

    def lose_directory(self, broker: int, directory: str) -> int:
        return _code(self.ask(LoseDirs(BrokerId(broker), frozenset({directory}))).whole)

    def add_directory(self, broker: int, directory: str) -> int:
        self._added[broker] = (*self._added.get(broker, ()), directory)
        return 0

    def unregister(self, broker: int) -> int:
        self._added.pop(broker, None)
        return _code(self.ask(UnregisterBroker(BrokerId(broker))).whole)

    def alter_isr(self, isr: Ids) -> int:
        partition = self._partition(0)
        assert partition.leader is not None
        return _code(
            self.ask(
                AlterIsr(
                    partition.leader,
                    P0,
                    partition.leader_epoch,
                    partition.partition_epoch,
                    replicas(*isr),
                )
            ).whole
        )

    def reassign(self, targets: Sequence[Ids | None], *, guarded: bool = False) -> int:
        items = tuple((P0, None if t is None else replicas(*t)) for t in targets)
        decision = self.ask(AlterReassignments(items, not guarded))
        return self._told(*[answer for _, answer in decision.each] or [decision.whole])

    def elect(self, *, unclean: bool) -> int:
        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        decision = self.ask(ElectLeaders((P0,), kind))
        return self._told(dict(decision.each).get(P0, decision.whole))

    def configure(self, operation: str, key: str, value: str) -> int:
        change = topic_change(TOPIC, key, ConfigOperation[operation], value)
        ((_, answer),) = self.ask(AlterConfigs((change,))).each
        return self._told(answer)

    def configure_brokers(self, broker: int | None, operation: str, key: str, value: str) -> int:
        name = "" if broker is None else str(broker)
        change = ConfigChange(ConfigScope.BROKER, name, key, ConfigOperation[operation], value)
        ((_, answer),) = self.ask(AlterConfigs((change,))).each
        return self._told(answer)

    def broker_configs(self, broker: int | None) -> Mapping[str, str]:
        name = "" if broker is None else str(broker)
        return self.state.configs.get((ConfigScope.BROKER, name), {})

    def partitions(self) -> Collection[int]:
        return self.state.topics[TOPIC].partitions

    def configs(self) -> Mapping[str, str]:
        return self.state.configs.get((ConfigScope.TOPIC, TOPIC), {})

    def observe(self, partition: int) -> Observed:
        found = self._partition(partition)
        return Observed(
            found.replicas,
            tuple(sorted(found.isr)),
            found.adding,
            found.removing,
            found.leader,
            found.leader_epoch,
            found.partition_epoch,
            found.recovering,
            tuple(sorted(found.elr)),
            found.last_known_elr,
            tuple(d or "-" for d in found.directories),
        )

    def _told(self, *answers: Answer) -> int:
        self.said = [a.message if isinstance(a, Rejected) else None for a in answers]
        return max(map(_code, answers), key=abs)

    def _partition(self, index: int) -> Partition:
        return self.state.topics[TOPIC].partitions[index]


def _code(answer: Answer) -> int:
    return answer.code if isinstance(answer, Rejected) else 0
