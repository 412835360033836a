"""Preferred leaders that lead nothing: no replica of the partition that they shall lead.

Nothing can be planned for them. The author corrects the file (`cluster_check`), unless the cluster changed the list:
so it is drift as well (`planning.findings.drift`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from replan.model.columns import row
from replan.model.declared.placement import PreferredLeader
from replan.model.names import Replicas, TopicPartition, replicas
from replan.planning.comparison.alignment import Alignment, named_partitions, rows_of
from replan.planning.comparison.chosen import Chosen


@dataclass(frozen=True, slots=True)
class Absent:
    """A preferred leader that is no replica."""

    partition: TopicPartition
    preferred: PreferredLeader
    replicas: Replicas | None
    """The list that the partition has, or is to have; None where the cluster has no such partition."""


def absent_leaders(aligned: Alignment, made: Chosen) -> Iterator[Absent]:
    """Find them; one that is drained is warned of instead, since the drain wins."""
    preferences = aligned.placement.preferred_leaders
    if not preferences:
        return
    declared = rows_of(named_partitions(preferences), aligned.placement.explicit)
    drained = aligned.placement.drained
    refused = {at for reason in made.impossible for at in reason.partitions}
    places = zip(preferences.items(), aligned.leader_rows.tolist(), declared.tolist(), strict=True)
    for (name, preferred), at, line in places:
        if at < 0:
            yield Absent(name, preferred, None)
        elif preferred.broker not in drained and at not in refused:
            brokers = row(made.observed, at) if line < 0 else row(made.explicit, line)
            if preferred.broker not in brokers:
                yield Absent(name, preferred, replicas(*brokers))
