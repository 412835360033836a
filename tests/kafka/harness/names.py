"""The controller's ids and names for an arena's brokers and topics, and back again."""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace
from tests.kafka.harness.metadata_log import PartitionState

IDS_PER_ARENA = 1000


class Names(Struct, frozen=True):
    """One arena's range of ids, which keeps their order, and its prefix of topics."""

    arena: int

    def real_id(self, broker: int) -> int:
        """The id by which the controller knows an arena's broker."""
        return self.arena * IDS_PER_ARENA + broker

    def real_ids(self, brokers: Iterable[int]) -> list[int]:
        """The same for several."""
        return [self.real_id(broker) for broker in brokers]

    def real_name(self, topic: str) -> str:
        """The name by which the controller knows an arena's topic."""
        return f"arena-{self.arena}-{topic}"

    def own_ids(self, brokers: Iterable[int]) -> tuple[int, ...]:
        """The arena's ids of the controller's."""
        return tuple(broker - self.arena * IDS_PER_ARENA for broker in brokers)

    def own_name(self, name: str) -> str:
        """The arena's name of a topic of the controller."""
        return name.removeprefix(self.real_name(""))

    def own_text(self, text: str | None) -> str | None:
        """A message of the controller with the arena's ids and names."""
        if text is None:
            return None
        real_id = rf"\b{self.arena}(\d{{3}})\b"
        return re.sub(real_id, lambda id_: str(int(id_[1])), text.replace(self.real_name(""), ""))

    def own(self, state: PartitionState) -> PartitionState:
        """A partition's state in the arena's ids."""
        return replace(
            state,
            replicas=self.own_ids(state.replicas),
            isr=self.own_ids(state.isr),
            adding=self.own_ids(state.adding),
            removing=self.own_ids(state.removing),
            leader=state.leader if state.leader < 0 else self.own_ids([state.leader])[0],
            elr=self.own_ids(state.elr),
            last_known_elr=self.own_ids(state.last_known_elr),
        )
