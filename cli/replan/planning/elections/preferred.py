"""The plan of `replan elect preferred`: an election for each partition that its preferred replica does not lead.

The preferred replica is the first of a partition's list. A partition that it leads needs nothing; one whose preferred
replica cannot be elected now is refused with the reason, as Kafka would answer 80. The rest become moves that change
nothing but the leader, so an application performs, records and resumes them as it does any other.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from replan.model.columns import take, to_matrix
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Measure
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.elections.election_plan import election_plan, kept_placement
from replan.planning.elections.selection import Selection, choose_partitions, leading_moves
from replan.planning.plans.moves import StandaloneElection
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Refusal, RefusalRule


class PreferredElections(Struct, frozen=True):
    """What was found: the plan, and the partitions that need no election."""

    plan: Plan
    not_needed: tuple[TopicPartition, ...]
    """Named one by one, or by topic."""
    at_rest: int = 0
    """The same, of all partitions of the cluster: how many they are is enough."""


def request_digest(selection: Selection, placement: Placement | None) -> str:
    """What was asked for, in a digest: the same command again goes on with its own application."""
    text = repr(
        (
            StandaloneElection.PREFERRED.value,
            selection,
            "" if placement is None else placement.digest,
        )
    )
    return hashlib.sha256(text.encode()).hexdigest()


def preferred_elections(
    selection: Selection,
    snapshot: Snapshot,
    placement: Placement | None,
    allowed: Mapping[Measure, int],
) -> PreferredElections:
    """Plan them. A placement adds its cluster id, its limits and its leader blacklist.

    Raises BadUsage where a topic or pattern matches nothing, WrongCluster, and LimitExceeded.
    """
    placement = kept_placement(placement, snapshot)
    chosen = choose_partitions(selection, snapshot)
    rows = take(snapshot.partitions, chosen.rows)
    leaders = np.asarray(rows.column("leader"))
    needed = to_matrix(rows.column("replicas"))[:, 0] != leaders if len(leaders) else leaders < 0
    done = rows.filter(~needed).select(["topic", "partition"]).to_pylist()
    not_needed = tuple(TopicPartition(r["topic"], r["partition"]) for r in done)
    if selection.everything:
        not_needed = ()
    states = snapshot.states(chosen.rows[needed].tolist())
    moves, unable = leading_moves(((s, s.replicas[0]) for s in states), snapshot, placement)
    missing = (Refusal(*n, RefusalRule.NO_SUCH_PARTITION, {}) for n in chosen.missing)
    plan = election_plan(
        snapshot,
        placement,
        allowed,
        digest=request_digest(selection, placement),
        moves=moves,
        refusals=(*missing, *unable),
        not_needed=not_needed,
    )
    at_rest = len(done) - len(not_needed)
    return PreferredElections(plan, not_needed, at_rest)
