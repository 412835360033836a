"""The plan of `replan elect unclean`, `best-log` and `designated`: who is to lead partitions without a leader.

The chosen one is found by `recovery.choose`, from what their replicas said of their logs, which the snapshot has. A
partition that is led needs nothing, unless a replica was named for it that does not lead: that one comes first in its
list and is elected, cleanly or not at all.
"""

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from replan.model.declared.placement import Placement
from replan.model.declared.policy import Measure
from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import ProbedLogs
from replan.model.snapshot import Snapshot
from replan.planning.elections.election_plan import election_plan, kept_placement
from replan.planning.elections.selection import (
    SelectedPartitions,
    Selection,
    choose_partitions,
    leading_moves,
)
from replan.planning.making.recoveries import recoveries
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Refusal, RefusalRule
from replan.planning.recovery.candidates import Candidate
from replan.planning.recovery.choose import RecoveryWish
from replan.planning.recovery.recovery import RecoveryMethod

NOTHING_KNOWN: Mapping[TopicPartition, ProbedLogs] = {}


class RecoveryRequest(Struct, frozen=True):
    """What a person asks for."""

    selection: Selection
    method: RecoveryMethod
    leaders: tuple[tuple[TopicPartition, BrokerId], ...] = ()
    """Of DESIGNATED: who is to lead each partition that is named."""
    given_up: frozenset[BrokerId] = frozenset()
    moves_led: bool = False
    """Of DESIGNATED: whether partitions that are led are meant as well."""

    def wish(
        self, name: TopicPartition, leaders: Mapping[TopicPartition, BrokerId]
    ) -> RecoveryWish:
        """What is asked for one partition; `leaders` are those of the request."""
        return RecoveryWish(self.method, leaders.get(name), self.given_up)

    def digest(self, placement: Placement | None) -> str:
        """What was asked for, in a digest: the same command again goes on with its own application."""
        parts = self.method.value, self.selection, self.leaders, sorted(self.given_up)
        text = repr((parts, self.moves_led, "" if placement is None else placement.digest))
        return hashlib.sha256(text.encode()).hexdigest()


class RecoveryElections(Struct, frozen=True):
    """What was found: the plan, the partitions that need no election, and the candidates of the others."""

    plan: Plan
    not_needed: tuple[TopicPartition, ...]
    """Named one by one, or by topic; and led."""
    candidates: Mapping[TopicPartition, tuple[Candidate, ...]]


def partitions_to_probe(selection: Selection, snapshot: Snapshot) -> tuple[TopicPartition, ...]:
    """The partitions of a selection that have no leader."""
    rows = _rows(choose_partitions(selection, snapshot), snapshot, led=False)
    return tuple(state.partition for state in snapshot.states(rows))


def recovery_elections(
    request: RecoveryRequest,
    snapshot: Snapshot,
    placement: Placement | None,
    allowed: Mapping[Measure, int],
    earlier_logs: Mapping[TopicPartition, ProbedLogs] = NOTHING_KNOWN,
) -> RecoveryElections:
    """Plan them; `earlier_logs`: logs that an earlier snapshot knew, for what is lost.

    Raises BadUsage where a topic or pattern matches nothing, WrongCluster, and LimitExceeded.
    """
    placement = kept_placement(placement, snapshot)
    chosen = choose_partitions(request.selection, snapshot)
    leaders = dict(request.leaders)
    led = [*snapshot.states(_rows(chosen, snapshot, led=True))]
    elsewhere = [s for s in led if request.moves_led and leaders.get(s.partition) != s.leader]
    moved = ((s, leaders[s.partition]) for s in elsewhere)
    moves, unable = leading_moves(moved, snapshot, placement)
    at_rest = {s.partition for s in led}.difference(s.partition for s in elsewhere)
    not_needed = () if request.selection.everything else tuple(sorted(at_rest))
    names = [s.partition for s in snapshot.states(_rows(chosen, snapshot, led=False))]
    made = recoveries(snapshot, {n: request.wish(n, leaders) for n in names}, earlier_logs)
    missing = (Refusal(*n, RefusalRule.NO_SUCH_PARTITION, {}) for n in chosen.missing)
    plan = election_plan(
        snapshot,
        placement,
        allowed,
        digest=request.digest(placement),
        moves=moves,
        recoveries=made.chosen,
        refusals=(*missing, *unable, *made.refused),
        not_needed=not_needed,
    )
    return RecoveryElections(plan, not_needed, made.candidates)


def _rows(chosen: SelectedPartitions, snapshot: Snapshot, *, led: bool) -> list[int]:
    rows: list[int] = chosen.rows[snapshot.without_leader[chosen.rows] != led].tolist()
    return rows
