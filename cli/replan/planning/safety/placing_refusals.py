"""Why a rule or a drain has no placement, as refusals: one for each partition that it concerns, with its measures.

A balance that cannot be reached concerns no single partition: it refuses the whole plan where it is required, and is
said otherwise. Whether there is a placement is decided by `placing`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from replan.errors import UnsafePlan
from replan.model.declared.placement import Placement
from replan.model.declared.rules import TopicRule, measure_text
from replan.model.declared.where import Where
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.acknowledged import acknowledging_entries
from replan.planning.comparison.chosen import BaseLists
from replan.planning.placing.problem import Imbalance, Impossible
from replan.planning.plans.reasons import (
    CAUSES_SHOWN,
    Facts,
    PlanWarning,
    Refusal,
    RefusalRule,
    WarningKind,
    fact_names,
)
from replan.wording import capped, count


class OutOfBalance(Struct, frozen=True):
    """A balance that is not as near as is asked for, with what is in the way."""

    where: Where
    imbalance: Imbalance
    rules: tuple[str, ...]
    """Entries of `assignments` that place replicas on the brokers concerned, with their places."""
    closed: tuple[str, ...]
    """Brokers that get nothing new, or no more, and why."""
    held: tuple[str, ...] = ()
    """What keeps partitions where they are: entries of `acknowledged`, with their places, and refusals."""
    log_moves: int = 0
    """Of log directories as they are now: how many replicas a plan brings to others, and so nearer."""

    def __str__(self) -> str:
        """How near the balance comes, what is in the way, and what to do; or how near it is, and what a plan does."""
        if not self.log_moves:
            return str(PlanWarning(WarningKind.BALANCE, self.facts))
        named = ", ".join(capped(self.imbalance.brokers, str, limit=CAUSES_SHOWN))
        return (
            f"balance: {self.where} asks that logDirs lie within {self.facts['asked']} of the brokers' shares, and "
            f"they lie within {self.facts['reached']} now (brokers {named}); a plan brings "
            f"{count(self.log_moves, 'replica')} to other log directories"
        )

    @property
    def facts(self) -> Facts:
        """By name, as plan files have them."""
        imbalance = self.imbalance
        return {
            "where": str(self.where),
            "measure": imbalance.measure.value,
            "asked": measure_text(imbalance.measure, imbalance.within),
            "reached": measure_text(imbalance.measure, imbalance.reached),
            "brokers": imbalance.brokers,
            "proved": "yes" if imbalance.steps is None else "no",
            "rules": self.rules,
            "closed": self.closed,
            "held": self.held,
        }


class BalanceUnreachable(UnsafePlan):
    """No placement that was found keeps the balance, and it is required; the plan is refused whole."""

    def __init__(self, reasons: Sequence[OutOfBalance]) -> None:
        self.reasons = tuple(reasons)
        way_out = "; or take `required` out, and the plan comes as near as that"
        super().__init__("\n".join(f"{reason}{way_out}" for reason in reasons))


def out_of_balance(
    imbalances: Sequence[Imbalance],
    chosen: BaseLists,
    placement: Placement,
    snapshot: Snapshot,
    without: Sequence[Refusal],
) -> tuple[OutOfBalance, ...]:
    """Each measure that is not as near its shares as `balance` asks for; `without`: whom it had to do without."""
    balance = placement.balance
    if balance is None or not imbalances:
        return ()
    held = [*_acknowledged(chosen, placement, snapshot), *_refused(without)]
    drained = placement.drained
    closed = [
        f"{b.id} is {why}"
        for b in sorted(snapshot.brokers, key=lambda b: b.id)
        for why in [
            "drained"
            if b.id in drained
            else "fenced"
            if b.fenced
            else "cordoned"
            if b.cordoned
            else ""
        ]
        if why
    ]
    return tuple(
        OutOfBalance(
            balance.place(far.measure),
            far,
            tuple(capped(_rules_of(far, placement, snapshot), str, limit=CAUSES_SHOWN)),
            tuple(capped([*closed, *_full(far, placement)], str, limit=CAUSES_SHOWN)),
            tuple(capped(held, str, limit=CAUSES_SHOWN)),
        )
        for far in imbalances
    )


def _acknowledged(chosen: BaseLists, placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    """The entries that keep partitions where they are, and how many."""
    entries, by_row = acknowledging_entries(placement, snapshot)
    numbers, counts = np.unique(by_row[chosen.staying], return_counts=True)
    for number, partitions in zip(numbers.tolist(), counts.tolist(), strict=True):
        entry = entries[number]
        yield f"{count(partitions, 'partition')} acknowledged by `{entry}` ({entry.where})"


def _full(imbalance: Imbalance, placement: Placement) -> Iterator[str]:
    """The brokers that have no more room, or none before the policy empties them again."""
    share = placement.reconcile.log_dir_share
    of = f" below the {measure_text(imbalance.measure, share)} of logDirFull" if share else ""
    for broker in imbalance.full:
        yield f"{broker} has no more room{of}"


def _refused(without: Sequence[Refusal]) -> Iterator[str]:
    for rule, partitions in sorted(Counter(refusal.rule for refusal in without).items()):
        yield f"{count(partitions, 'partition')} refused ({rule})"


def _rules_of(imbalance: Imbalance, placement: Placement, snapshot: Snapshot) -> list[str]:
    """The rules that name their brokers or racks, and may place replicas on these brokers."""
    named = [b for b in snapshot.brokers if b.id in imbalance.brokers]
    return [
        f"`{pattern}` ({rule.where})"
        for pattern, rule in sorted(placement.rules.items())
        if (rule.spread or rule.brokers or rule.replicas_per_rack)
        and any(rule.may_use(b.id, b.rack) for b in named)
    ]


def placing_refusals(
    reasons: Sequence[Impossible],
    rows: Collection[int],
    rules: Mapping[str, TopicRule],
    snapshot: Snapshot,
) -> Iterator[Refusal]:
    """Refusals of those partitions that `rows` has."""
    for reason in reasons:
        for state in snapshot.states(at for at in reason.partitions if at in rows):
            yield refusal_of(reason, state.partition, rules.get(state.partition.topic))


def refusal_of(reason: Impossible, partition: TopicPartition, rule: TopicRule | None) -> Refusal:
    """The refusal of one partition for a reason that concerns it."""
    refused, facts = RefusalRule(reason.obstacle), _facts(reason, rule)
    return Refusal(
        *partition, refused, {name: facts[name] for name in facts if name in fact_names(refused)}
    )


def _facts(reason: Impossible, rule: TopicRule | None) -> Facts:
    return {
        "rule": "" if rule is None else f"{rule.where}: {rule.pattern}",
        "rack": reason.rack or "",
        "brokers": reason.brokers,
        "needed": reason.needed,
        "available": reason.available,
    }
