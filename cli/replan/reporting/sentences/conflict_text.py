"""Conflicts as lines: whom they concern and what is missing, then each constraint at its place."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from replan.planning.plans.conflicts import (
    Conflict,
    Constraint,
    ConstraintKind,
    Lack,
    Proof,
    Shortage,
)
from replan.reporting.table import columns
from replan.wording import count, left_out, listed, ranges, size

SHORTAGES: Mapping[Shortage, str] = {
    Shortage.BROKERS: "it needs {needed}, and {available} can hold it",
    Shortage.RACK_BROKERS: "rack {rack} must hold {needed}, and {available} of its brokers can",
    Shortage.RACKS_WITH_ONE_MORE: "{needed} must hold one replica more than the others, and {available} can",
    Shortage.BROKERS_IN_ONE_RACK: "it needs a rack with {needed}, and the largest has {available} that can hold it",
    Shortage.KNOWN_RACKS: "it goes by racks, and {needed} without a rack may hold it",
    Shortage.RACKS: "it needs {needed}, and its replicas can lie in {available}",
    Shortage.REPLICAS: "its list would be shortened to {available}, below {needed}",
    Shortage.PRESENT_REPLICAS: (
        "it needs {needed}, no other than the present ones may be added, and {available} of them can stay"
    ),
    Shortage.TOPIC_REPLICAS: "its topic has {needed} to place{of}, and the brokers there may hold {available} together",
    Shortage.BROKER_REPLICAS: "a broker would hold {needed}, and may hold {available}",
    Shortage.ROOM: "it needs room for {needed}, and {available} is the most there is",
}

NOUNS: Mapping[Shortage, str] = {
    Shortage.BROKERS: "broker",
    Shortage.RACK_BROKERS: "replica",
    Shortage.RACKS_WITH_ONE_MORE: "rack",
    Shortage.BROKERS_IN_ONE_RACK: "broker",
    Shortage.KNOWN_RACKS: "broker",
    Shortage.RACKS: "rack",
    Shortage.REPLICAS: "replica",
    Shortage.PRESENT_REPLICAS: "replica",
    Shortage.TOPIC_REPLICAS: "replica",
    Shortage.BROKER_REPLICAS: "replica",
}
"""What is counted; room is in bytes."""

SHOWN = 12
"""Constraints of one conflict that are listed; the rest is counted."""


def conflict_text(found: Conflict) -> str:
    """Whom it concerns, how sure it is, and what is missing: one sentence."""
    return f"{_whom(found)}: {PROOFS[found.proof](found)}: {'; '.join(map(lack_text, found.lacks))}"


def conflict_lines(found: Conflict) -> list[str]:
    """The sentence, and its constraints below, places first."""
    rows = [(c.where or "the cluster", text) for c, text in _constraints(found)]
    more = left_out(len(rows) - SHOWN, "constraint")
    return [conflict_text(found), *columns(rows[:SHOWN]), *more]


def conflict_with_constraints(found: Conflict) -> str:
    """All of it in one line."""
    return "; ".join([conflict_text(found), *constraint_texts(found)])


def constraint_texts(found: Conflict) -> list[str]:
    """Each constraint with its place in one line."""
    return [text + (f" ({c.where})" if c.where else "") for c, text in _constraints(found)]


def lack_text(lack: Lack) -> str:
    """What is missing, with its measure."""
    if lack.shortage is Shortage.ROOM:
        needed, available = size(lack.needed), size(lack.available)
    else:
        needed, available = count(lack.needed, NOUNS[lack.shortage]), str(lack.available)
    return SHORTAGES[lack.shortage].format(
        needed=needed,
        available=available,
        rack=lack.rack,
        of=f" in rack {lack.rack}" if lack.rack else "",
    )


def _whom(found: Conflict) -> str:
    if found.count == 1:
        return found.partitions[0]
    names = [*found.topics[:3], *left_out(len(found.topics) - 3)]
    return f"{count(found.count, 'partition')} of {listed(names)}"


def _impossible(_: Conflict) -> str:
    return "impossible while all of these hold"


def _not_found(found: Conflict) -> str:
    if not found.steps:
        return "no order of the moves was found that has room in time, which proves nothing"
    return f"no placement with room was found in {count(found.steps, 'step')}, which proves nothing"


PROOFS = {Proof.IMPOSSIBLE: _impossible, Proof.NOT_FOUND: _not_found}


def _constraints(found: Conflict) -> Iterator[tuple[Constraint, str]]:
    """Each with its text; facts of several brokers are one."""
    for _, alike in groupby(found.constraints, key=lambda c: (c.kind, c.where)):
        members = list(alike)
        if members[0].kind is ConstraintKind.LIST:
            yield from ((c, constraint_text([c])) for c in members)
        else:
            yield members[0], constraint_text(members)


CONSTRAINTS: Mapping[ConstraintKind, str] = {
    ConstraintKind.FENCED: "{brokers} {are} fenced",
    ConstraintKind.CORDONED: "{brokers} {are} cordoned",
    ConstraintKind.NO_ROOM: "{brokers} can take {available} at most, of {bytes}, with a tenth kept free",
    ConstraintKind.UNCLEAN_ELECTION: (
        "unclean.leader.election.enable is true, with {replicas} in sync and alive"
    ),
    ConstraintKind.MIN_INSYNC_REPLICAS: "min.insync.replicas is {number}",
    ConstraintKind.REQUIRED_RACKS: "`require` wants {racks}",
    ConstraintKind.WITHOUT_RACK: "no rack is known of {brokers}",
    ConstraintKind.DRAINED: "{brokers} {are} drained",
    ConstraintKind.APART: "apart: [{text}], and {brokers} {are} left to the other topics of it",
    ConstraintKind.BROKERS: "brokers: {named}",
    ConstraintKind.IN_RACK: "inRack: {text}",
    ConstraintKind.REPLICAS_PER_RACK: "replicasPerRack: {text}: {number}",
    ConstraintKind.MAX_REPLICAS_PER_BROKER: "maxReplicasPerBroker: {number}",
    ConstraintKind.PARTITION_COUNT: "partitionCount: {number}",
    ConstraintKind.SPREAD: "spread: {text}",
    ConstraintKind.REPLICATION_FACTOR: "replicationFactor: {number}",
    ConstraintKind.LIST: "the list {listed}",
}
UNDECLARED: Mapping[ConstraintKind, str] = {
    ConstraintKind.REPLICATION_FACTOR: "{replicas}, as many as it has",
    ConstraintKind.LIST: "its list of {replicas}, which no entry declares",
}
"""The same of keys that no entry has."""


TOGETHER: Mapping[ConstraintKind, str] = {
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
    sentence = CONSTRAINTS[first.kind] if first.where else None
    number = max(c.together for c in alike)
    sentence = sentence or UNDECLARED.get(first.kind, CONSTRAINTS[first.kind])
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
    return said if number < 2 else f"{said}; {TOGETHER[first.kind].format(number)}"
