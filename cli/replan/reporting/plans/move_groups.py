"""The moves of a plan as people take them in: by reason, then by topic, what is alike together.

Moves of a topic are alike where the same replicas come, go and change place, and the same leadership moves where
nothing else does.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from replan.model.names import BrokerId, Replicas
from replan.planning.plans.moves import Move


class Marks(Struct, frozen=True, order=True):
    """What becomes of the replicas of a partition."""

    come: Replicas
    go: Replicas
    change_place: Replicas
    led_by: tuple[BrokerId, ...] = ()
    """From whom to whom leadership goes, where the list stays as it is."""


class Alike(Struct, frozen=True):
    """Moves of one topic with the same marks, by partition."""

    topic: str
    marks: Marks
    moves: tuple[Move, ...]

    @property
    def copies_bytes(self) -> int:
        """Bytes that cross the network for them."""
        return sum(move.copies_bytes for move in self.moves)

    @property
    def leaders(self) -> int:
        """How many of them change their leader."""
        return sum(move.may_change_leader for move in self.moves)

    @property
    def lists(self) -> tuple[Replicas, Replicas] | None:
        """From which list to which; None where they differ."""
        pairs = {(move.original, move.target) for move in self.moves}
        return pairs.pop() if len(pairs) == 1 else None


class Group(Struct, frozen=True):
    """All moves for one reason; the topics with most bytes first."""

    reason: str
    alike: tuple[Alike, ...]

    @property
    def moves(self) -> int:
        """How many there are."""
        return sum(len(alike.moves) for alike in self.alike)

    @property
    def copies_bytes(self) -> int:
        """Bytes that cross the network for them."""
        return sum(alike.copies_bytes for alike in self.alike)

    @property
    def leaders(self) -> int:
        """How many of them change their leader."""
        return sum(alike.leaders for alike in self.alike)


def grouped(moves: Iterable[Move]) -> tuple[Group, ...]:
    """Every move once; the reason with most bytes first, then the one with most moves."""
    reasons: dict[str, dict[tuple[str, Marks], list[Move]]] = {}
    for move in sorted(moves, key=lambda m: m.partition):
        alike = reasons.setdefault(str(move.reason), {})
        alike.setdefault((move.partition.topic, marks(move)), []).append(move)
    groups = [Group(reason, tuple(_ordered(alike))) for reason, alike in reasons.items()]
    return tuple(sorted(groups, key=lambda g: (-g.copies_bytes, -g.moves, g.reason)))


def _ordered(alike: dict[tuple[str, Marks], list[Move]]) -> Sequence[Alike]:
    copied: dict[str, int] = {}
    for (topic, _), moves in alike.items():
        copied[topic] = copied.get(topic, 0) + sum(m.copies_bytes for m in moves)
    groups = [Alike(topic, of, tuple(moves)) for (topic, of), moves in alike.items()]
    return sorted(
        groups, key=lambda a: (-copied[a.topic], a.topic, -len(a.moves), a.moves[0].partition)
    )


def marks(move: Move) -> Marks:
    """What comes and goes, and what changes place among the replicas that stay."""
    if move.is_leader_only:
        led_by = tuple(b for b in (move.leader, move.target[0]) if b is not None)
        return Marks((), (), (), led_by)
    before = [b for b in move.original if b in move.kept]
    after = [b for b in move.target if b in move.kept]
    placed = tuple(new for old, new in zip(before, after, strict=True) if old != new)
    return Marks(move.new, move.leaving, placed)
