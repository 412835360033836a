"""Why a rule or a drain has no placement, as refusals: one for each partition that it concerns, with its measures.

What concerns no single partition, a balance that cannot be reached, refuses the whole plan. Whether there is a
placement is decided by `placing`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from replan.errors import UnsafePlan
from replan.model.declared.rules import TopicRule
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.placing.problem import OF_THE_BALANCE, Impossible, Obstacle
from replan.planning.plans.plan import FACTS, Facts, Refusal, RefusalRule
from replan.wording import count

RULES = {
    Obstacle.TOO_FEW_BROKERS: RefusalRule.TOO_FEW_BROKERS,
    Obstacle.WITHOUT_RACK: RefusalRule.WITHOUT_RACK,
    Obstacle.RACK_LACKS_BROKERS: RefusalRule.RACK_LACKS_BROKERS,
    Obstacle.RACKS_LACK_BROKERS: RefusalRule.RACKS_LACK_BROKERS,
    Obstacle.NO_RACK_IS_LARGE_ENOUGH: RefusalRule.NO_RACK_IS_LARGE_ENOUGH,
    Obstacle.NO_SUBSTITUTE: RefusalRule.NO_SUBSTITUTE,
}


class BalanceUnreachable(UnsafePlan):
    """No placement that was found keeps the balance; the plan is refused whole."""

    def __init__(self, reasons: Sequence[Impossible]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("\n".join(map(balance_text, reasons)))


def placing_refusals(
    reasons: Sequence[Impossible],
    rows: Collection[int],
    rules: Mapping[str, TopicRule],
    snapshot: Snapshot,
) -> Iterator[Refusal]:
    """Refusals of those partitions that `rows` has; raises BalanceUnreachable where the balance cannot be reached."""
    whole = [reason for reason in reasons if reason.obstacle in OF_THE_BALANCE]
    if whole:
        raise BalanceUnreachable(whole)
    for reason in reasons:
        for seen in snapshot.states(at for at in reason.partitions if at in rows):
            yield refusal_of(reason, seen.partition, rules.get(seen.partition.topic))


def refusal_of(reason: Impossible, partition: TopicPartition, rule: TopicRule | None) -> Refusal:
    """The refusal of one partition for a reason that concerns it."""
    refused, facts = RULES[reason.obstacle], _facts(reason, rule)
    return Refusal(partition, refused, {name: facts[name] for name in FACTS[refused]})


def _facts(reason: Impossible, rule: TopicRule | None) -> Facts:
    return {
        "rule": "" if rule is None else f"{rule.where}: {rule.pattern}",
        "rack": reason.rack or "",
        "brokers": reason.brokers,
        "needed": reason.needed,
        "available": reason.available,
    }


def balance_text(reason: Impossible) -> str:
    """Why the balance cannot be reached, and what to do."""
    match reason.obstacle:
        case Obstacle.BYTES_IMPOSSIBLE:
            return (
                f"balance: {reason.needed:,} bytes cannot lie where {reason.available:,} may; raise the tolerance of "
                "`balance.bytes`"
            )
        case Obstacle.NOT_FOUND_WITHIN_BUDGET:
            return (
                f"balance: no placement was found in {count(reason.needed, 'step')}, which does not prove that there "
                "is none; raise the tolerance of `balance.bytes`"
            )
        case _:
            named = ", ".join(map(str, reason.brokers))
            several = len(reason.brokers) != 1
            who = f"brokers {named} are together" if several else f"broker {named} is"
            return (
                f"balance: {who} {count(reason.needed, 'replica')} out of {'their' if several else 'its'} bounds, and "
                "the rules leave no way to change that; raise the tolerance of `balance.replicas`, or name "
                "more `brokers`"
            )
