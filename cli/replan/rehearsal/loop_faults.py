"""What happens in drawn weeks: the same faults and releases for the same cluster, placement, length and seed.

In 30 days each broker is restarted once; one broker of twenty dies for minutes or days, one of forty loses a disk, a
rack goes away for up to an hour; a person moves two partitions by hand, a tool leaves a throttle behind, and two
changed placements are released. One accident at a time: the next one begins once the one before is over.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from replan.faults.kinds import FaultContext
from replan.faults.read import FaultSpec, read_fault
from replan.model.columns import from_lists, with_column
from replan.model.configs import FOLLOWER_RATE, LEADER_RATE
from replan.model.declared.placement import Placement
from replan.model.declared.rules import ReplicaBlacklist
from replan.model.declared.where import Where
from replan.model.names import BrokerId
from replan.rehearsal.reconcile import Release
from replan.wording import DAY_SECONDS

MONTH_SECONDS = 30 * DAY_SECONDS
MINUTE, HOUR = 60.0, 3600.0
SOME_HOURS = 3
"""From so many on, what lasts is drawn in whole hours."""
BETWEEN_ACCIDENTS_SECONDS = 120.0
"""From the end of one accident to the next: brokers catch up."""
LAST_PART = 0.9
"""Of the time, within which accidents begin: the rest shows whether it comes to rest."""
DRAWN_PLACE = Where("(drawn)", 1, 1)


class Drawn(Struct, frozen=True):
    """What a seed draws."""

    faults: tuple[FaultSpec, ...]
    releases: tuple[tuple[Release, str], ...]
    """Each with what is new in it."""


def drawn_weeks(seed: int, seconds: float, placement: Placement, context: FaultContext) -> Drawn:
    """Draw them; all times count from the beginning of the rehearsal."""
    chance = Random(seed)  # noqa: S311 - a rehearsal is no secret
    faults = tuple(read_fault(text, context) for text in _faults(chance, seconds, context))
    return Drawn(faults, tuple(_releases(chance, seconds, placement, context)))


def _faults(chance: Random, seconds: float, context: FaultContext) -> Iterator[str]:
    free = 0.0
    for moment, name in _moments(chance, seconds, _often(context)):
        at = math.ceil(max(moment, free))
        if at > seconds * LAST_PART:
            continue
        what, minutes = _accident(chance, name, context)
        hours = round(minutes / 60)
        lasts = minutes * MINUTE if hours < SOME_HOURS else hours * HOUR
        long = f"{minutes}m" if hours < SOME_HOURS else f"{hours}h"
        yield f"{what} at {at}s" + (f" for {long}" if minutes else "")
        free = max(free, at + lasts + BETWEEN_ACCIDENTS_SECONDS if lasts else free)


def _often(context: FaultContext) -> Mapping[str, float]:
    """How often each happens in a month."""
    brokers = context.cluster.brokers
    racks = {broker.rack for broker in brokers.values() if broker.rack is not None}
    return {
        "restart": float(len(brokers)),
        "dies": max(1.0, len(brokers) / 20),
        "disk": max(1.0, len(brokers) / 40),
        "rack": 1.0 if len(racks) > 2 else 0.0,
        "person": 2.0 if any(True for _ in context.cluster.partitions()) else 0.0,
        "throttle": 1.0,
    }


def _moments(
    chance: Random, seconds: float, often: Mapping[str, float]
) -> Sequence[tuple[float, str]]:
    """When what happens; of what happens less than once in the time, sometimes one."""
    drawn = [
        (chance.uniform(0, seconds * LAST_PART), name)
        for name, times in often.items()
        for _ in range(int(times * seconds / MONTH_SECONDS + chance.random()))
    ]
    return sorted(drawn)


def _accident(chance: Random, name: str, context: FaultContext) -> tuple[str, int]:
    """In the words of a fault, and for how many minutes."""
    brokers = context.cluster.brokers
    broker = chance.choice(sorted(brokers))
    match name:
        case "restart":
            return f"restart {broker}", chance.randint(2, 10)
        case "dies":
            return f"kill {broker}", _minutes(chance, 2, 3 * 1_440)
        case "disk":
            return f"lose disk {broker}", _minutes(chance, 60, 1_440)
        case "rack":
            racks = sorted({of.rack for of in brokers.values() if of.rack is not None})
            return f"kill rack {chance.choice(racks)}", _minutes(chance, 5, 60)
        case "person":
            return _moved_by_hand(chance, context), 0
        case _:
            key = chance.choice([LEADER_RATE, FOLLOWER_RATE])
            return f"foreign config broker {broker} set {key} 10000000", 0


def _minutes(chance: Random, least: float, most: float) -> int:
    """As often between one and two hours as between two and four."""
    return round(math.exp(chance.uniform(math.log(least), math.log(most))))


def _moved_by_hand(chance: Random, context: FaultContext) -> str:
    """One replica of a partition goes to another broker."""
    name, partition = chance.choice(list(context.cluster.partitions()))
    changed = _with_another(chance, partition.replicas, sorted(context.cluster.brokers))
    return f"foreign reassign {name} [{','.join(map(str, changed))}]"


def _with_another(
    chance: Random, listed: Sequence[int], brokers: Sequence[BrokerId]
) -> tuple[int, ...]:
    """A list with another broker at one of its places; as it is, where there is no other broker."""
    others = [b for b in brokers if b not in listed]
    if not others:
        return tuple(listed)
    place = chance.randrange(len(listed))
    return (*listed[:place], chance.choice(others), *listed[place + 1 :])


def _releases(
    chance: Random, seconds: float, placement: Placement, context: FaultContext
) -> Iterator[tuple[Release, str]]:
    """A broker is drained for two days, or one declared list is another one; each is on top of the one before."""
    changes: list[tuple[float, str, BrokerId]] = []
    for moment, _ in _moments(chance, seconds, {"release": 2.0}):
        drained = _may_be_drained(placement, context)
        if (
            placement.rules
            and drained
            and (not placement.explicit.num_rows or chance.random() < 0.5)
        ):
            broker = chance.choice(drained)
            changes += [
                (moment, "drains broker", broker),
                (moment + 2 * DAY_SECONDS, "drains no more", broker),
            ]
        elif placement.explicit.num_rows:
            changes.append((moment, "changes a list", BrokerId(0)))
    now = placement
    for number, (moment, what, broker) in enumerate(sorted(changes)):
        now, said = _changed(chance, now, what, broker, context)
        digest = hashlib.sha256(f"{placement.digest} {number} {said}".encode()).hexdigest()
        if moment < seconds:
            now = replace(now, digest=digest)
            yield Release(float(round(moment)), now, digest[:12]), f"release: {said}"


def _may_be_drained(placement: Placement, context: FaultContext) -> list[BrokerId]:
    """Brokers that no list names, and that are not drained already."""
    named = {b for listed in placement.explicit.column("replicas").to_pylist() for b in listed}
    drained = {entry.broker for entry in placement.replica_blacklist}
    return [b for b in sorted(context.cluster.brokers) if b not in named | drained]


def _changed(
    chance: Random, placement: Placement, what: str, broker: BrokerId, context: FaultContext
) -> tuple[Placement, str]:
    entries = placement.replica_blacklist
    match what:
        case "drains broker":
            entries = (*entries, ReplicaBlacklist(broker, DRAWN_PLACE, reason="drawn"))
            return replace(placement, replica_blacklist=entries), f"drains broker {broker}"
        case "drains no more":
            entries = tuple(
                e for e in entries if not (e.broker == broker and e.where == DRAWN_PLACE)
            )
            return replace(placement, replica_blacklist=entries), f"broker {broker} is back"
        case _:
            table = placement.explicit
            at = chance.randrange(table.num_rows)
            lists = table.column("replicas").to_pylist()
            lists[at] = list(_with_another(chance, lists[at], sorted(context.cluster.brokers)))
            table = with_column(table, "replicas", from_lists(lists))
            name = f"{table.column('topic')[at].as_py()}-{table.column('partition')[at].as_py()}"
            return replace(placement, explicit=table), f"{name} is {lists[at]}"
