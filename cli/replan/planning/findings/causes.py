"""Which entry of the placement a refusal comes from: the line that its author looks at first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from replan.model.declared.placement import Placement
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.plan import Refusal, RefusalRule


@dataclass(frozen=True, slots=True)
class Causes:
    """The places of a placement that concern some refusals."""

    placement: Placement
    listed: Mapping[TopicPartition, Where]
    entries: Mapping[str, str]

    @classmethod
    def of(cls, placement: Placement, refusals: Iterable[Refusal]) -> "Causes":
        """Look up the explicit lists and the entries of all topics that are concerned."""
        topics = sorted({refusal.partition.topic for refusal in refusals})
        table = placement.explicit
        chosen = table.filter(
            pc.is_in(table.column("topic").cast(pa.string()), pa.array(topics, pa.string()))
        )
        listed = {
            TopicPartition(row["topic"], row["partition"]): Where(
                placement.topics[row["topic"]].where.file, row["line"], row["column"]
            )
            for row in chosen.select(["topic", "partition", "line", "column"]).to_pylist()
        }
        return cls(placement, listed, placement.entries_of(topics))

    def where(self, refusal: Refusal) -> Where | None:
        """The drain that finds no substitute, else the list of the partition, else the entry of its topic."""
        drained = {entry.broker: entry.where for entry in self.placement.replica_blacklist}
        if refusal.rule is RefusalRule.NO_SUBSTITUTE:
            return self._drain(refusal, drained)
        if refusal.partition in self.listed:
            return self.listed[refusal.partition]
        name = self.entries.get(refusal.partition.topic)
        if name is None:
            return self._drain(refusal, drained)
        entry = self.placement.topics.get(name) or self.placement.rules[name]
        return entry.where

    def _drain(self, refusal: Refusal, drained: Mapping[BrokerId, Where]) -> Where | None:
        """The first drain of a broker that the refusal names, else the first of all."""
        named = refusal.facts.get("brokers", ())
        brokers = [b for b in named if isinstance(b, int)] if isinstance(named, tuple) else []
        places = [drained[BrokerId(b)] for b in brokers if b in drained]
        return next(
            iter([*places, *drained.values(), *(r.where for r in self.placement.replica_racks)]),
            None,
        )
