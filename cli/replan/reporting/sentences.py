"""Conflicts and risks of plans as sentences, each rendered once; reports put them in place."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from replan.model.declared.policy import GB, Prices
from replan.model.names import TopicPartition
from replan.planning.findings.risks import Risk
from replan.planning.plans.conflicts import (
    Conflict,
    Constraint,
    ConstraintKind,
    Lack,
    Proof,
    Shortage,
)
from replan.planning.plans.plan import Plan
from replan.reporting.lines import aligned_lines
from replan.wording import (
    LINES_LISTED,
    NAMES_SHOWN,
    capped,
    count,
    left_out,
    listed,
    ranges,
    size,
)


def unclean_text(topics: Sequence[str]) -> str:
    """Topics where unclean election is on, and what that means."""
    return (
        f"unclean.leader.election.enable is true for {count(len(topics), 'topic')} "
        f"({', '.join(capped(topics, limit=LINES_LISTED))}): Kafka itself may elect a replica that lost records"
    )


def elr_gone_text(partitions: Sequence[TopicPartition]) -> str:
    """Partitions whose ELR has been cleared, and by what."""
    named = ", ".join(capped(partitions, str, limit=LINES_LISTED))
    return (
        f"no eligible replica although under min ISR: {count(len(partitions), 'partition')} ({named}): a change of "
        "min.insync.replicas clears the ELR of a topic, as an unclean election or unclean restarts do"
    )


_CONSTRAINTS_SHOWN = 12
"""Constraints of one conflict that are listed; the rest is counted."""


def conflict_text(conflict: Conflict) -> str:
    """Whom it concerns, how sure it is, and what is missing: one sentence."""
    return f"{_whom(conflict)}: {_proof(conflict)}: {'; '.join(map(lack_text, conflict.lacks))}"


def conflict_lines(conflict: Conflict) -> list[str]:
    """The sentence, and its constraints below, places first."""
    rows = [(c.where or "the cluster", text) for c, text in _constraints(conflict)]
    more = left_out(len(rows) - _CONSTRAINTS_SHOWN, "constraint")
    return [conflict_text(conflict), *aligned_lines(rows[:_CONSTRAINTS_SHOWN]), *more]


def conflict_with_constraints(conflict: Conflict) -> str:
    """All of it in one line."""
    return "; ".join([conflict_text(conflict), *constraint_texts(conflict)])


def constraint_texts(conflict: Conflict) -> list[str]:
    """Each constraint with its place in one line."""
    return [text + (f" ({c.where})" if c.where else "") for c, text in _constraints(conflict)]


def lack_text(lack: Lack) -> str:
    """What is missing, with its measure."""
    if lack.shortage is Shortage.ROOM:
        needed, available = size(lack.needed), size(lack.available)
    else:
        needed, available = count(lack.needed, lack.shortage.noun), str(lack.available)
    return lack.shortage.words.format(
        needed=needed,
        available=available,
        rack=lack.rack,
        of=f" in rack {lack.rack}" if lack.rack else "",
    )


def _whom(conflict: Conflict) -> str:
    if conflict.count == 1:
        return conflict.partitions[0]
    names = [*conflict.topics[:3], *left_out(len(conflict.topics) - 3)]
    return f"{count(conflict.count, 'partition')} of {listed(names)}"


def _proof(conflict: Conflict) -> str:
    if conflict.proof is Proof.IMPOSSIBLE:
        return "impossible while all of these hold"
    if not conflict.steps:
        return "no order of the moves was found that has room in time, which proves nothing"
    return (
        f"no placement with room was found in {count(conflict.steps, 'step')}, which proves nothing"
    )


def _constraints(conflict: Conflict) -> Iterator[tuple[Constraint, str]]:
    """Each with its text; facts of several brokers are one."""
    for _, alike in groupby(conflict.constraints, key=lambda c: (c.kind, c.where)):
        members = list(alike)
        if members[0].kind is ConstraintKind.LIST:
            yield from ((c, constraint_text([c])) for c in members)
        else:
            yield members[0], constraint_text(members)


UNDECLARED: Mapping[ConstraintKind, str] = {
    ConstraintKind.REPLICATION_FACTOR: "{replicas}, as many as it has",
    ConstraintKind.LIST: "its list of {replicas}, which no entry declares",
}
"""The same of keys that no entry has."""


TOGETHER_WORDS: Mapping[ConstraintKind, str] = {
    ConstraintKind.FENCED: "{} of them must be back",
    ConstraintKind.CORDONED: "{} of them must be uncordoned",
    ConstraintKind.DRAINED: "{} of these drains must be taken back together",
    ConstraintKind.NO_ROOM: "{} of them need more",
    ConstraintKind.WITHOUT_RACK: "{} of them need one",
}
"""What is said where several brokers have to change together."""


def constraint_text(alike: Sequence[Constraint]) -> str:
    """What constraints of one kind at one place say."""
    first, named = alike[0], sorted({b for c in alike for b in c.brokers})
    words = first.kind.words
    number = max(c.together for c in alike)
    sentence = words if first.where else UNDECLARED.get(first.kind, words)
    one = len(named) == 1
    noun = f"broker {named[0]}" if one else f"brokers {ranges(named)}" if named else "all disks"
    said = sentence.format(
        brokers=noun,
        are="is" if one else "are",
        named=ranges(named),
        listed=list(first.brokers),
        number=first.number,
        text=first.text,
        replicas=count(first.number, "replica"),
        racks=count(first.number, "rack"),
        bytes=size(first.number),
        available=size(max(c.available for c in alike)),
    )
    return said if number < 2 else f"{said}; {TOGETHER_WORDS[first.kind].format(number)}"


def cross_rack_bytes(plan: Plan) -> int:
    """Bytes that are copied from one rack to another; where a rack is not known, nothing crosses."""
    return sum(
        move.bytes
        for move in plan.moves
        for broker in move.new
        if (to := plan.racks.get(broker)) is not None
        and (source := plan.racks.get(move.source)) is not None
        and source != to
    )


def stored_bytes(plan: Plan) -> int:
    """How many more bytes are stored afterwards; negative where there are fewer."""
    return sum(move.bytes * (len(move.target) - len(move.original)) for move in plan.moves)


def price_lines(plan: Plan, prices: Prices | None) -> Iterator[str]:
    """One line for copies, one for storage; none without a price or without bytes."""
    if prices is None:
        return
    crossing, stored = cross_rack_bytes(plan), stored_bytes(plan)
    if prices.cross_rack_per_gb is not None and crossing:
        cost = _money(crossing * prices.cross_rack_per_gb / GB, prices.currency)
        yield f"Copies between racks: {size(crossing)}, {cost}."
    if prices.per_gb_month is not None and stored:
        sign = "more" if stored > 0 else "less"
        cost = _money(abs(stored) * prices.per_gb_month / GB, prices.currency)
        yield f"Stored afterwards: {size(abs(stored))} {sign}, {cost} a month {sign}."


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount.quantize(Decimal('0.01')):,} {currency}"


def risk_text(risk: Risk, named: int = NAMES_SHOWN) -> str:
    """One line: what happens, how many it concerns, and the first of them."""
    total = len(risk.names) + risk.more
    shown = risk.names[:named]
    return f"{risk.kind.words}: {count(total, risk.kind.noun)} ({', '.join([*shown, *left_out(total - len(shown))])})."
