"""One placement beside one snapshot, compared once: what contradicts the cluster, what differs, what is acknowledged.

`plan` makes moves of it, `drift` reports it, `explain` shows what concerns one partition, and a fleet writes it as
rows: so all of them say the same of one placement. Topics are compared as they are once the partitions are there that
they lack (`growth`). Not here: what to do about a difference (`making`), and who must act (`findings`).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import Flags, list_lengths, take
from replan.model.declared.placement import Placement
from replan.model.declared.where import Mistake, MistakenPlacement
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.rates import Rates, check_rates
from replan.model.snapshot import Snapshot, topic_codes
from replan.planning.comparison.acknowledged import Unacknowledged, without_acknowledged
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.blacklist import (
    empty_rack_warnings,
    with_brokers_of_racks,
    without_ended,
)
from replan.planning.comparison.cluster_check import (
    check_cluster,
    mistaken_leaders,
    mistaken_whatever_is_chosen,
    mistakes_of,
)
from replan.planning.comparison.diff import DifferenceKind, compare_lists
from replan.planning.comparison.overlays import WantedLists, lay_overlays
from replan.planning.comparison.remembered import goes_on
from replan.planning.comparison.without_effect import without_effect
from replan.planning.growth import Growth, grown
from replan.planning.placing.problem import Imbalance, Impossible
from replan.planning.plans.moves import MoveReason, ReasonKind, move_of
from replan.planning.plans.reasons import PlanWarning, Refusal, WarningKind, first_named
from replan.planning.safety.placing_refusals import OutOfBalance, out_of_balance
from replan.planning.safety.refusals import SafetyRules

BALANCED_KINDS = (DifferenceKind.REPLICAS, DifferenceKind.ORDER)
"""What a balance makes of a partition."""
COMPARISON_ROUNDS = 4
"""How often it is chosen again around partitions that cannot move; those of the last round are refused by name."""


class Comparison(Struct, frozen=True):
    """All that a placement says of a cluster at one moment."""

    declared: Placement
    """As it is written, with the brokers of racks on blacklists; that of `aligned` has no entries that have ended."""
    observed: Snapshot
    """As it was taken; that of `aligned` has the partitions that are to be created."""
    growth: Growth
    aligned: Alignment
    wanted: WantedLists
    unacknowledged: Unacknowledged
    """What differs."""
    mistakes: tuple[Mistake, ...]
    """What the author has to correct before anything is planned."""
    without: tuple[Refusal, ...]
    """Why partitions could not move for the balance, which does without them."""
    warnings: tuple[PlanWarning, ...]
    """What is declared and does nothing, and what goes on without being declared."""

    def required(self) -> "Comparison":
        """The same; raises MistakenPlacement where the author has to correct something."""
        if self.mistakes:
            raise MistakenPlacement(self.mistakes)
        return self

    @property
    def off_balance(self) -> tuple[OutOfBalance, ...]:
        """Each measure that comes no nearer its shares than this."""
        placement, snapshot = self.aligned.placement, self.aligned.snapshot
        return out_of_balance(
            self.wanted.chosen.imbalances, self.wanted.chosen, placement, snapshot, self.without
        )

    def log_dirs_off_balance(self, imbalance: Imbalance | None) -> tuple[OutOfBalance, ...]:
        """Directories that are no nearer their shares than this."""
        placement, snapshot = self.aligned.placement, self.aligned.snapshot
        far = () if imbalance is None else (imbalance,)
        return tuple(
            replace(reason, rules=(), held=())
            for reason in out_of_balance(far, self.wanted.chosen, placement, snapshot, ())
        )

    def without_limits(self) -> "Comparison":
        """The same, for a plan of any size, however near its balance comes."""
        placement = self.aligned.placement
        aimed = None if placement.balance is None else replace(placement.balance, required=False)
        unlimited = replace(placement, limits={}, balance=aimed)
        return replace(self, aligned=replace(self.aligned, placement=unlimited))


@garbage_collection_paused()  # it makes values by the hundred thousand, and no cycles
def compared(placement: Placement, snapshot: Snapshot, rates: Rates | None = None) -> Comparison:
    """Compare; `rates`: what producers write, where the balance goes by it.

    A placement with mistakes is planned by nobody: no partitions are added and nothing is balanced, which may take
    long.

    Raises WrongCluster where the placement names another cluster, or the rates are of another one.
    """
    check_cluster(placement, snapshot)
    if rates is not None:
        check_rates(rates, snapshot.cluster_id)
    written, placement = placement, with_brokers_of_racks(placement, snapshot)
    in_force = without_ended(placement, snapshot)
    aligned = Alignment.of(in_force, snapshot, rates)
    mistakes = tuple(mistakes_of(aligned))
    mistaken = bool(mistakes) or mistaken_whatever_is_chosen(aligned)
    growth = Growth(snapshot) if mistaken else grown(aligned)
    if growth.creates:
        aligned = aligned.over(growth.snapshot)
    unbalanced = replace(aligned, placement=replace(in_force, balance=None))
    wanted, unacknowledged = _differing(unbalanced if mistaken else aligned)
    without: dict[int, Refusal] = {}
    for _ in range(COMPARISON_ROUNDS):
        cannot_move = _cannot_move(aligned, wanted, unacknowledged)
        if not cannot_move:
            break
        without |= cannot_move
        wanted, unacknowledged = _differing(aligned, sorted(without))
    mistakes += tuple(mistaken_leaders(aligned, wanted.chosen))
    warnings = (
        *_hidden(snapshot),
        *empty_rack_warnings(written, snapshot),
        *without_effect(aligned),
        *goes_on(aligned),
    )
    refused = tuple(without.values())
    return Comparison(
        placement, snapshot, growth, aligned, wanted, unacknowledged, mistakes, refused, warnings
    )


def _hidden(snapshot: Snapshot) -> Iterator[PlanWarning]:
    if snapshot.hidden:
        yield PlanWarning(WarningKind.HIDDEN, first_named("topics", snapshot.hidden))


def _differing(aligned: Alignment, fixed: Sequence[int] = ()) -> tuple[WantedLists, Unacknowledged]:
    """What is wanted, and what differs from it."""
    placement, snapshot = aligned.placement, aligned.snapshot
    wanted = lay_overlays(aligned, fixed)
    differs = compare_lists(wanted.table, snapshot.partitions, wanted.rows)
    stuck = unplaceable(wanted.chosen.impossible)
    return wanted, without_acknowledged(differs, wanted.rows, placement, snapshot, stuck)


def _cannot_move(
    aligned: Alignment, wanted: WantedLists, unacknowledged: Unacknowledged
) -> dict[int, Refusal]:
    """Why partitions that are to move cannot, by their rows: the balance does without them.

    Of those that keep their rule another one may do as well; of others only who has too few in sync is refused.
    """
    if aligned.placement.balance is None:
        return {}
    snapshot = aligned.snapshot
    chosen = wanted.chosen.for_balance | (wanted.chosen.changed & _too_few_in_sync(snapshot))
    differs = unacknowledged.differences
    table, rows = differs.table, wanted.rows[differs.positions]
    moved = (rows >= 0) & np.isin(table.column("kind"), BALANCED_KINDS)
    moved[moved] = chosen[rows[moved]]
    if not moved.any():
        return {}
    settings, rules = snapshot.all_settings(), SafetyRules.of(snapshot)
    lists = take(table.column("wanted"), np.flatnonzero(moved)).to_pylist()
    refusals: dict[int, Refusal] = {}
    for row, target, state in zip(
        rows[moved].tolist(), lists, snapshot.states(rows[moved].tolist()), strict=True
    ):
        of_topic, reason = settings[state.partition.topic], MoveReason(ReasonKind.BALANCE)
        move = move_of(state, tuple(target), of_topic, reason, rules.nameable)
        for refusal in rules.refusals(move, state)[:1]:
            refusals[row] = refusal
    return refusals


def _too_few_in_sync(snapshot: Snapshot) -> Flags:
    """Of each observed row whether a replica is not in sync, or fewer are than the topic's minimum."""
    in_sync, replicas = (list_lengths(snapshot.partitions.column(c)) for c in ("isr", "replicas"))
    minimum = np.asarray(snapshot.topics.column("min_insync_replicas"))
    too_few: Flags = in_sync < np.maximum(replicas, minimum[topic_codes(snapshot.partitions)])
    return too_few


def unplaceable(reasons: Sequence[Impossible]) -> list[int]:
    """The observed rows of all partitions that no list can place."""
    return sorted({row for reason in reasons for row in reason.partitions})
