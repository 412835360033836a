"""One partition under constraints as integer programs, from the meaning of the constraints alone.

One binary variable for each broker says whether it holds the partition. No line of the product but its nouns is used.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import highspy

from replan.planning.api import Case, Constraint, ConstraintKind, RackOf

Variables = "dict[int, highspy.highs.highs_var]"


@dataclass(frozen=True)
class Question:
    """A partition, and the constraints that hold."""

    case: Case
    racks: RackOf
    under: Collection[Constraint]

    def of(self, kind: ConstraintKind) -> list[Constraint]:
        return [c for c in self.under if c.kind is kind]

    def named(self, *kinds: ConstraintKind) -> set[int]:
        return {b for kind in kinds for c in self.of(kind) for b in c.brokers}

    @property
    def listed(self) -> bool:
        return bool(self.of(ConstraintKind.LIST))

    @property
    def drained(self) -> set[int]:
        return self.named(ConstraintKind.DRAINED)

    def allowed(self) -> set[int]:
        """Registered brokers that the rule names and that are not drained."""
        found = set(self.racks) - self.drained
        named = self.of(ConstraintKind.BROKERS)
        return found & set(named[0].brokers) if named and not self.listed else found

    def may_hold(self, broker: int, allowed: set[int]) -> bool:
        held = broker in self.case.held
        stays = held or (self.listed and broker in self.case.base)
        may = broker in allowed or (self.listed and stays and broker not in self.drained)
        closed = broker in self.named(ConstraintKind.FENCED, ConstraintKind.CORDONED)
        full = not held and broker in self.named(ConstraintKind.NO_ROOM)
        return may and not full and (stays or not closed)

    def number(self, kind: ConstraintKind) -> int | None:
        found = self.of(kind)
        return found[0].number if found else None


def can_be_placed(case: Case, racks: RackOf, under: Collection[Constraint]) -> bool:
    """Whether there is a list of any length that keeps the constraints, with or without a new replica."""
    asked = Question(case, racks, under)
    most = len({*racks, *case.held, *case.base})
    return any(
        _solved(asked, factor, grows=grows)
        for factor in range(1, most + 1)
        for grows in (True, False)
    )


def _solved(asked: Question, factor: int, *, grows: bool) -> bool:
    case, racks = asked.case, asked.racks
    if not _long_enough(asked, factor):
        return False
    minimum = asked.number(ConstraintKind.MIN_INSYNC_REPLICAS)
    stuck = minimum is not None and 0 < len(case.held) < minimum
    grows = grows and not stuck and not asked.of(ConstraintKind.UNCLEAN_ELECTION)
    spread = "".join(c.text for c in asked.of(ConstraintKind.SPREAD)) if not asked.listed else ""
    allowed = asked.allowed()
    if spread:
        unknown = {b for b in allowed if racks[b] is None}
        if unknown & asked.named(ConstraintKind.WITHOUT_RACK):
            return False
        allowed -= unknown
    model = highspy.Highs()  # type: ignore[no-untyped-call]
    model.silent()
    on = {b: model.addBinary() for b in {*racks, *case.held, *case.base}}
    for broker, holds in on.items():
        if not asked.may_hold(broker, allowed) or (not grows and broker not in case.held):
            model.addConstr(holds <= 0)
        if asked.listed and broker in case.base and broker not in asked.drained:
            model.addConstr(holds >= 1)
    model.addConstr(model.qsum(on.values()) == factor)
    if spread and not _spread_over(model, on, racks, allowed, spread, factor):
        return False
    least = asked.number(ConstraintKind.REQUIRED_RACKS)
    if least is not None and grows:
        every = {racks.get(b) or b for b in on}
        reached = {rack: model.addBinary() for rack in every}
        for rack, yes in reached.items():
            model.addConstr(model.qsum([on[b] for b in on if (racks.get(b) or b) == rack]) >= yes)
        model.addConstr(model.qsum(reached.values()) >= min(least, case.live_racks))
    model.minimize(model.qsum(on.values()))
    return bool(model.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def _long_enough(asked: Question, factor: int) -> bool:
    """Whether a list may have so many members, wherever they are."""
    number = ConstraintKind.LIST if asked.listed else ConstraintKind.REPLICATION_FACTOR
    wanted, minimum = asked.number(number), asked.number(ConstraintKind.MIN_INSYNC_REPLICAS)
    shrinks = factor < min(minimum or 0, len(asked.case.held))
    return wanted in {None, factor} and (asked.case.below_min_isr or not shrinks)


def _spread_over(
    model: highspy.Highs,
    on: "dict[int, highspy.highs.highs_var]",
    racks: Mapping[int, str | None],
    allowed: set[int],
    spread: str,
    factor: int,
) -> bool:
    every = sorted({racks[b] or "" for b in allowed})
    if not every:
        return False
    here = {rack: [on[b] for b in allowed if racks[b] == rack] for rack in every}
    if spread == "rack":
        for some in here.values():
            model.addConstr(model.qsum(some) >= factor // len(every))
            model.addConstr(model.qsum(some) <= -(-factor // len(every)))
        return True
    chosen = {rack: model.addBinary() for rack in every}
    model.addConstr(model.qsum(chosen.values()) == 1)
    for rack, some in here.items():
        model.addConstr(model.qsum(some) - factor * chosen[rack] == 0)
    return True
