"""A plan as a value: what was read, what was decided, and nothing of when or by whom, so that two plans of one
state are the same bytes.

A partition whose list is refused has no move, and no move waits for another one: the moves are what can be done
without it.

The written form is in `plan_file`; its requests are derived by `preview`; safety and refusals by
`safety`, and what they say is in `reasons`.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec import field
from msgspec.structs import replace

from replan.documents.typed import Form, Int32, Text
from replan.errors import Exit
from replan.model.declared.placement import MoveThrottle
from replan.model.declared.policy import Measure
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.change import Change, PlannedStep
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.creates import Create
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move
from replan.planning.plans.reasons import PlanWarning, Refusal, WarningKind
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.planning.recovery.recovery import Recovery


class BesideMoves(Form, frozen=True, kw_only=True):
    """What a plan does beside moves, a field for each kind of step, in the order in which a plan file has them."""

    standing: tuple[ThrottleSetting, ...] = ()
    """Throttle settings that stay; before anything that needs one of them for a copy."""
    creates: tuple[Create, ...] = ()
    """By topic; each before the moves of its topic."""
    recoveries: tuple[Recovery, ...] = ()
    """By partition; of partitions that no move touches."""
    log_moves: tuple[LogMove, ...] = ()
    """Replicas that move to other log directories of their brokers."""

    @property
    def by_kind(self) -> dict[str, Any]:
        """The steps of each kind that there are some of, a tuple by its field."""
        kinds = {kind: getattr(self, kind) for kind in BesideMoves.__struct_fields__}
        return {kind: steps for kind, steps in kinds.items() if steps}

    @property
    def beside_moves(self) -> list[PlannedStep]:
        """All of them."""
        return [*chain.from_iterable(self.by_kind.values())]


class JudgedBy(Form, frozen=True):
    """By which rates it was judged that the copies of a plan come to an end."""

    digest: Text = field(name="rates")
    """sha256 of what the rates say."""
    unknown: Int32
    """Partitions that are copied and have no rate: they count as written by nobody."""


class Plan(BesideMoves, frozen=True):
    """Moves in the order in which they are admitted, and all that is needed to perform them safely."""

    cluster_id: str
    placement_digest: str
    racks: Mapping[BrokerId, str | None]
    """Registered brokers when planned; a target that is gone or has moved racks makes its moves stale."""
    moves: tuple[Move, ...]
    throttle: MoveThrottle | None = None
    refusals: tuple[Refusal, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    """What is behind the refusals of partitions that cannot be placed; in the order of their first partitions."""
    warnings: tuple[PlanWarning, ...] = ()
    cluster_name: str | None = None
    """What people call the cluster, from the placement; for its readers alone."""
    remember: frozenset[TopicPartition] = field(default_factory=frozenset)
    """Partitions whose original order only the leader blacklist changes: it is journalled before the change."""
    allowed: Mapping[Measure, int] = field(default_factory=dict)
    """Limits of the placement that were raised for this plan alone."""
    convergence: JudgedBy | None = None
    """None: it was not judged whether its copies end."""
    placement_commit: str = ""
    """The commit of git that the placement was read from; empty where it was read from files."""
    silent: Replicas = ()
    """Live brokers that did not say what they hold when planned: sizes of partitions are not known there."""

    @property
    def journal_replicas(self) -> Replicas:
        """Where the topic of the journal is to be made, where it does not exist; empty where nobody says."""
        made = [w.facts["replicas"] for w in self.warnings if w.kind is WarningKind.JOURNAL_MADE]
        return tuple(BrokerId(int(b)) for of in made if isinstance(of, tuple) for b in of)

    @property
    def sizes_known(self) -> bool:
        """Whether every live broker said what its log directories hold, so that 0 bytes are an empty partition."""
        return not self.silent

    @property
    def unclean(self) -> tuple[Recovery, ...]:
        """The recoveries that lose records, or may."""
        return tuple(r for r in self.recoveries if not r.clean)

    @property
    def left_out(self) -> Exit:
        """What leaving out the refused partitions means for an exit code, the same for each command.

        4 where other parties alone are in the way, 3 where a safety rule is, 0 where nothing is refused.
        """
        if any(not r.held for r in self.refusals):
            return Exit.REFUSED
        return Exit.HELD if self.refusals else Exit.OK

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.steps > 0

    @property
    def all_changes(self) -> Iterator[Change]:
        """Its steps of all kinds."""
        return chain(self.moves, self.beside_moves)

    @property
    def steps(self) -> int:
        """How many there are."""
        return len(self.moves) + len(self.beside_moves)

    @property
    def topics(self) -> frozenset[str]:
        """Those that it changes."""
        return frozenset(c.topic for c in self.all_changes if c.topic is not None)

    def only(self, keep: Callable[[Change], bool]) -> "Plan":
        """The same with those of its steps alone that are to be kept."""
        kept = {kind: tuple(filter(keep, steps)) for kind, steps in self.by_kind.items()}
        return replace(self, moves=tuple(filter(keep, self.moves)), **kept)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do and nothing was refused."""
        return not self.changes and not self.refusals
