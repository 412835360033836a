"""One placement beside one snapshot, compared once: what contradicts the cluster, what differs, what is acknowledged.

`plan` makes moves of it, `drift` reports it, `explain` shows what concerns one partition, and a fleet writes it as
rows: so all of them say the same of one placement. Topics are compared as they are once the partitions are there that
they lack (`growth`). Not here: what to do about a difference (`making`), and who must act (`findings`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from replan.model.declared.placement import Placement
from replan.model.declared.where import Mistake, MistakenPlacement
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.snapshot import Snapshot
from replan.planning.comparison.acknowledged import Unacknowledged, without_acknowledged
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.blacklist import without_ended
from replan.planning.comparison.cluster_check import check_cluster, mistakes_of
from replan.planning.comparison.diff import compare
from replan.planning.comparison.overlays import Wanted, wanted
from replan.planning.comparison.remembered import goes_on
from replan.planning.comparison.without_effect import without_effect
from replan.planning.growth import Growth, grown
from replan.planning.placing.problem import Impossible
from replan.planning.plans.plan import PlanWarning


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that a placement says of a cluster at one moment."""

    declared: Placement
    """As it is written; that of `aligned` is without the entries that have ended."""
    observed: Snapshot
    """As it was taken; that of `aligned` has the partitions that are to be created."""
    growth: Growth
    aligned: Alignment
    wanted: Wanted
    left: Unacknowledged
    """What differs."""
    mistakes: tuple[Mistake, ...]
    """What the author has to correct before anything is planned."""
    warnings: tuple[PlanWarning, ...]
    """What is declared and does nothing, and what goes on without being declared."""

    def required(self) -> "Comparison":
        """The same; raises MistakenPlacement where the author has to correct something."""
        if self.mistakes:
            raise MistakenPlacement(self.mistakes)
        return self

    def without_limits(self) -> "Comparison":
        """The same, for a plan of any size, however near its balance comes."""
        placement = self.aligned.placement
        aimed = None if placement.balance is None else replace(placement.balance, required=False)
        unlimited = replace(placement, limits={}, balance=aimed)
        return replace(self, aligned=replace(self.aligned, placement=unlimited))


@garbage_collection_paused()  # it makes values by the hundred thousand, and no cycles
def compared(placement: Placement, snapshot: Snapshot) -> Comparison:
    """Compare; raises WrongCluster where the placement names another cluster."""
    check_cluster(placement, snapshot)
    in_force = without_ended(placement, snapshot)
    growth = grown(in_force, snapshot)
    aligned = Alignment.of(in_force, growth.snapshot)
    asked = wanted(aligned)
    left = without_acknowledged(
        compare(asked.table, growth.snapshot.partitions, asked.rows),
        asked.rows,
        in_force,
        growth.snapshot,
        unplaceable(asked.chosen.impossible),
    )
    mistakes = tuple(mistakes_of(aligned, asked.chosen))
    warnings = (*without_effect(in_force, growth.snapshot), *goes_on(aligned))
    return Comparison(placement, snapshot, growth, aligned, asked, left, mistakes, warnings)


def unplaceable(reasons: Sequence[Impossible]) -> list[int]:
    """The observed rows of all partitions that no list can place."""
    return sorted({row for reason in reasons for row in reason.partitions})
