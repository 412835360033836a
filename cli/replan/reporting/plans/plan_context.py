"""What is known beside a plan where it is shown: the cluster it was made from and what a rehearsal found."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from replan.model.declared.policy import Prices
from replan.model.names import Replicas, TopicPartition
from replan.model.snapshot import OwnApplication, Snapshot
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.reporting.sentences import price_lines
from replan.wording import count, size


class Pending(Struct, frozen=True):
    """What the placement before a change plans of the same cluster, so that a reader sees what the change causes."""

    since: str
    """What was named: a git revision, a file."""
    targets: Mapping[TopicPartition, Replicas] | None = None
    """What it makes of the partitions that it moves; None where it plans nothing, for `problem`."""
    problem: str = ""

    def divided(self, moves: Sequence[Move]) -> tuple[list[Move], list[Move]]:
        """The moves that the change causes, and those that were pending before it."""
        targets = self.targets or {}
        caused = [m for m in moves if targets.get(m.partition) != m.target]
        return caused, [m for m in moves if targets.get(m.partition) == m.target]

    def text(self, moves: Sequence[Move]) -> str:
        """How much of a plan the change causes, and what it takes back."""
        if self.targets is None:
            return f"What was pending at {self.since} is not known: {self.problem}."
        caused, before = self.divided(moves)
        now = {move.partition for move in moves}
        gone = sum(1 for name in self.targets if name not in now)
        back = f"; no longer needed: {count(gone, 'pending move')}" if gone else ""
        amounts = [size(sum(m.copies_bytes for m in of)) for of in (caused, before)]
        return (
            f"Since {self.since}: this change causes {count(len(caused), 'move')} ({amounts[0]} to copy); "
            f"{count(len(before), 'move')} ({amounts[1]}) pending before it{back}."
        )


class PlanContext(Struct, frozen=True):
    """All of it may be missing: a saved plan is shown without a cluster."""

    snapshot: Snapshot | None = None
    age_seconds: float | None = None
    """How old the snapshot was when the plan was made from it; None where the cluster itself was asked."""
    rehearsed: Sequence[str] = ()
    """What a rehearsal found, in sentences."""
    timeline: str = ""
    """The picture of that rehearsal, as SVG."""
    network: float | None = None
    """Bytes per second and direction that were assumed where a side of a broker has no throttle; None: nothing was."""
    prices: Prices | None = None
    pending: Pending | None = None
    """What was pending before the change of the placement, where that was asked for."""
    next_command: str = ""
    """What to type to apply the plan."""

    @property
    def notes(self) -> Sequence[str]:
        """What to know of where it was planned from, in sentences."""
        own = None if self.snapshot is None else self.snapshot.application
        return () if own is None or self.age_seconds is None else (own_text(own),)

    def findings(self, plan: Plan) -> Sequence[str]:
        """What the change causes, what the rehearsal found, and what copies and storage cost."""
        pending = [] if self.pending is None else [self.pending.text(plan.moves)]
        return [*pending, *self.rehearsed, *price_lines(plan, self.prices)]


NOTHING_BESIDE = PlanContext()


def own_text(own: OwnApplication) -> str:
    """What a snapshot says of the application that was open when it was taken."""
    state = "at work" if own.at_work else "interrupted"
    return (
        f"replan's application {own.id} of {own.owner} was open ({state}) when the snapshot was taken: "
        f"{count(len(own.targets), 'partition')} that it moves count as what it makes of them"
    )
