"""Which entry of the placement a refusal comes from: the line that its author looks at first."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement, TopicEntry
from replan.model.declared.rules import TopicRule
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition
from replan.planning.comparison.alignment import DeclaredList, declared_lists
from replan.planning.plans.reasons import Refusal, RefusalRule


class Causes(Struct, frozen=True):
    """The places of a placement that concern some refusals."""

    placement: Placement
    listed: Mapping[TopicPartition, DeclaredList]
    entries: Mapping[str, TopicEntry | TopicRule]

    @classmethod
    def of(cls, placement: Placement, refusals: Iterable[Refusal]) -> "Causes":
        """Look up the explicit lists and the entries of all topics that are concerned."""
        names = sorted({refusal.partition for refusal in refusals})
        entries = Intents.of(placement, {name.topic for name in names}).entries
        return cls(placement, declared_lists(placement, names), entries)

    def where(self, refusal: Refusal) -> Where | None:
        """The drain that finds no substitute, else the list of the partition, else the entry of its topic."""
        drained = {entry.broker: entry.where for entry in self.placement.replica_blacklist}
        if refusal.rule is RefusalRule.NO_SUBSTITUTE:
            return self._drain(refusal, drained)
        if refusal.partition in self.listed:
            return self.listed[refusal.partition].where
        entry = self.entries.get(refusal.partition.topic)
        return self._drain(refusal, drained) if entry is None else entry.where

    def _drain(self, refusal: Refusal, drained: Mapping[BrokerId, Where]) -> Where | None:
        """The first drain of a broker that the refusal names, else the first of all."""
        named = refusal.facts.get("brokers", ())
        brokers = [b for b in named if isinstance(b, int)] if isinstance(named, tuple) else []
        places = [drained[BrokerId(b)] for b in brokers if b in drained]
        return next(
            iter([*places, *drained.values(), *(r.where for r in self.placement.replica_racks)]),
            None,
        )
