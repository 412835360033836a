"""A real controller with scripted brokers as a driver of golden vectors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from tests.golden.language import BROKERS, Ids, Observed, directories
from tests.kafka.harness.arena import Answer, Arena, ConfigOperation, Election
from tests.kafka.harness.fake_brokers import FakeBrokers, Refused

TOPIC = "orders"
P0 = (TOPIC, 0)


class ControllerDriver:
    """One vector's own brokers and topic on a shared controller."""

    def __init__(self, controller: FakeBrokers) -> None:
        self.said: Sequence[str | None] = ()
        self._arena = Arena(controller, BROKERS, directories=directories)
        self._defaults = self.broker_configs(None)

    def close(self) -> None:
        """Take the topic and the brokers off the controller, and what was set for all brokers.

        Once an ELR has been cleared by a configuration, Kafka refuses to unregister its former members after their
        topic was deleted (-1, "existed in isrMembers, but not in the topics map"): they stay, and harm nobody.
        """
        for key, value in self.broker_configs(None).items():
            if (before := self._defaults.get(key)) is None:
                self.configure_brokers(None, "DELETE", key, "")
            elif before != value:
                self.configure_brokers(None, "SET", key, before)
        with suppress(Refused):
            self._arena.close()

    def create_topic(self, assignments: Sequence[Ids], configs: Mapping[str, str]) -> None:
        self._arena.create_topic(TOPIC, assignments, configs)

    def create_partitions(self, count: int, assignments: Sequence[Ids]) -> int:
        return self._told(self._arena.create_partitions(TOPIC, count, assignments))

    def register(self, broker: int) -> int:
        return _code(lambda: self._arena.register(broker))

    def fence(self, broker: int) -> int:
        return _code(lambda: self._arena.fence(broker))

    def unfence(self, broker: int) -> int:
        return _code(lambda: self._arena.unfence(broker))

    def shut_down(self, broker: int) -> int:
        return _code(lambda: self._arena.shut_down(broker))

    def restart(self, broker: int, *, cleanly: bool) -> int:
        return _code(lambda: self._arena.restart(broker, cleanly=cleanly))

    def cordon(self, broker: int) -> int:
        # The second heartbeat sends the metadata offset again, which the cordon made the controller forget; without it
        # no controlled shutdown is granted any more.
        return _code(lambda: self._arena.cordon(broker, broker))

    def assign_directory(self, broker: int, partition: int, directory: str) -> int:
        return self._arena.assign_directory(broker, (TOPIC, partition), directory).code

    def lose_directory(self, broker: int, directory: str) -> int:
        # Twice, for the same reason.
        return _code(lambda: self._arena.lose_directory(broker, directory, directory))

    def add_directory(self, broker: int, directory: str) -> int:
        return _code(lambda: self._arena.add_directory(broker, directory))

    def unregister(self, broker: int) -> int:
        return _code(lambda: self._arena.unregister(broker))

    def alter_isr(self, isr: Ids) -> int:
        return self._arena.alter_isr(P0, isr).code

    def reassign(self, targets: Sequence[Ids | None], *, guarded: bool = False) -> int:
        guard = {"AllowReplicationFactorChange": False} if guarded else {}
        answers = self._arena.reassign_in_order([(P0, target) for target in targets], **guard)
        return self._told(*(answer for _, answer in answers))

    def elect(self, *, unclean: bool) -> int:
        kind = Election.UNCLEAN if unclean else Election.PREFERRED
        try:
            return self._told(self._arena.elect(kind, P0)[P0])
        except Refused as refused:
            return refused.code

    def configure(self, operation: str, key: str, value: str) -> int:
        return self._told(self._arena.configure(TOPIC, key, value, ConfigOperation[operation]))

    def configure_brokers(self, broker: int | None, operation: str, key: str, value: str) -> int:
        kind = ConfigOperation[operation]
        return self._told(self._arena.configure_brokers(broker, key, value, kind))

    def broker_configs(self, broker: int | None) -> Mapping[str, str]:
        return self._arena.broker_configs(broker)

    def partitions(self) -> Collection[int]:
        return self._arena.states(TOPIC)

    def configs(self) -> Mapping[str, str]:
        return self._arena.configs(TOPIC)

    def observe(self, partition: int) -> Observed:
        found = self._arena.state((TOPIC, partition))
        return Observed(
            found.replicas,
            tuple(sorted(found.isr)),
            found.adding,
            found.removing,
            None if found.leader < 0 else found.leader,
            found.leader_epoch,
            found.partition_epoch,
            found.recovering,
            tuple(sorted(found.elr)),
            found.last_known_elr,
            tuple(map(self._arena.directory_name, found.replicas, found.directories)),
        )

    def _told(self, *answers: Answer) -> int:
        self.said = [answer.message for answer in answers]
        return max((answer.code for answer in answers), key=abs)


def _code(ask: Callable[[], None]) -> int:
    try:
        ask()
    except Refused as refused:
        return refused.code
    return 0
