"""Whether one partition can be placed under a part of its constraints, and what is missing where it cannot: exactly.

A constraint that is left out is taken as resolved: a fenced broker is back, a drain taken back, a rule names all
brokers, a number of replicas may be any. A broker without a rack is then none that a spread has to count.

What is asked is whether any list keeps the constraints; which is the cheapest is `placing`'s question.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from replan.model.declared.rules import Spread
from replan.planning.placing.problem import Obstacle
from replan.planning.placing.rack_counts import Racks, rack_counts
from replan.planning.plans.conflicts import Constraint, ConstraintKind, Lack, Shortage

CHOOSING = (ConstraintKind.BROKERS, ConstraintKind.IN_RACK)
"""Keys of a rule that choose the brokers it may use."""
CHOOSING_OR_COUNTING = (*CHOOSING, ConstraintKind.REPLICAS_PER_RACK)


RackOf = Mapping[int, str | None]
"""Of each registered broker; by id, ascending."""


class Case(Struct, frozen=True):
    """One partition, as far as it matters for where it may lie; partitions with equal ones share the answer."""

    held: tuple[int, ...] = ()
    """Its replicas; none before it is created."""
    base: tuple[int, ...] = ()
    """The list that stays but for drained brokers, where it has one."""
    below_min_isr: bool = False
    live_racks: int = 0
    """In how many racks its live replicas lie."""
    constraints: tuple[Constraint, ...] = ()
    """In the order in which they are tried to be spared."""
    of_topic: tuple[tuple[int, int], ...] = ()
    """Brokers, and how many replicas of its topic each holds; where a rule says how many it may."""
    shrinks: bool = True
    """Whether fewer replicas in fewer racks than `require` wants are a way out: nothing is copied then."""


class _Pool(Struct, frozen=True):
    """Where a partition may lie under some constraints."""

    able: frozenset[int]
    must: frozenset[int]
    """Members of a list that stay."""
    counted: frozenset[int]
    """The brokers whose racks a spread counts."""


def lacks(case: Case, rack_of: RackOf, under: Collection[Constraint]) -> list[Lack]:
    """What is missing for the partition under these constraints; nothing where it can be placed."""
    by_kind: dict[ConstraintKind, list[Constraint]] = {kind: [] for kind in ConstraintKind}
    for constraint in under:
        by_kind[constraint.kind].append(constraint)
    pool = _pool(case, rack_of, by_kind)
    fixed = [
        c.number
        for c in (*by_kind[ConstraintKind.LIST], *by_kind[ConstraintKind.REPLICATION_FACTOR])
    ]
    counted = by_kind[ConstraintKind.REPLICAS_PER_RACK]
    least = sum(c.number for c in counted)
    if counted and len(counted) == len(_per_rack(case)):
        fixed.append(least)
    factors = fixed[:1] or range(max(least, 1), max(len(pool.able), least, 1) + 1)
    first: list[Lack] = []
    for factor in factors:
        missing = list(_missing(case, rack_of, by_kind, pool, factor))
        if not missing:
            return []
        first = first or missing
    return first


def _per_rack(case: Case) -> list[Constraint]:
    """What its rule asks of each rack; of one that is spared it may have any number there."""
    return [c for c in case.constraints if c.kind is ConstraintKind.REPLICAS_PER_RACK]


_Found = Mapping[ConstraintKind, Sequence[Constraint]]


def _pool(case: Case, rack_of: RackOf, by_kind: _Found) -> _Pool:
    def named(*kinds: ConstraintKind) -> frozenset[int]:
        return frozenset(b for kind in kinds for c in by_kind[kind] for b in c.brokers)

    drained = named(ConstraintKind.DRAINED)
    closed = named(ConstraintKind.FENCED, ConstraintKind.CORDONED)
    full = named(ConstraintKind.NO_ROOM).difference(case.held)
    registered = frozenset(rack_of)
    listed = bool(by_kind[ConstraintKind.LIST])
    among = registered.intersection(*(c.brokers for kind in CHOOSING for c in by_kind[kind]))
    if per_rack := _per_rack(case):
        among = among.intersection(b for c in per_rack for b in c.brokers)
    others = named(ConstraintKind.APART)
    allowed = (registered if listed else among) - drained
    unknown = frozenset(b for b in allowed if rack_of[b] is None)
    if by_kind[ConstraintKind.SPREAD] and not listed:
        allowed -= unknown - named(ConstraintKind.WITHOUT_RACK)
    must = frozenset(case.base) - drained if listed else frozenset[int]()
    there = frozenset(case.held) - drained if listed else allowed.intersection(case.held) - others
    able = (must | there | (allowed - closed - others)) - full
    if by_kind[ConstraintKind.UNCLEAN_ELECTION] or any(
        0 < len(case.held) < c.number for c in by_kind[ConstraintKind.MIN_INSYNC_REPLICAS]
    ):
        able = able.intersection(case.held)
    return _Pool(able, must, allowed)


def _missing(
    case: Case, rack_of: RackOf, by_kind: _Found, pool: _Pool, factor: int
) -> Iterator[Lack]:
    """What is missing for so many replicas."""
    able, unable = pool.able, pool.must - pool.able
    counted = [] if by_kind[ConstraintKind.LIST] else by_kind[ConstraintKind.REPLICAS_PER_RACK]
    short = [c for c in counted if len(able.intersection(c.brokers)) < c.number]
    for c in short:
        there = len(able.intersection(c.brokers))
        yield Lack(Shortage.RACK_BROKERS, c.number, there, c.text)
    if short:
        return
    if len(able) < factor or unable:
        room = [c for c in by_kind[ConstraintKind.NO_ROOM] if c.brokers[0] not in case.held]
        grows = any(
            0 < len(case.held) < c.number for c in by_kind[ConstraintKind.MIN_INSYNC_REPLICAS]
        )
        if grows or by_kind[ConstraintKind.UNCLEAN_ELECTION]:
            yield Lack(Shortage.PRESENT_REPLICAS, factor, min(len(able), factor - len(unable)))
        elif room:
            best = max(room, key=lambda c: c.available)
            yield Lack(Shortage.ROOM, best.number, best.available)
        else:
            yield Lack(Shortage.BROKERS, factor, len(able))
        return
    for minimum in by_kind[ConstraintKind.MIN_INSYNC_REPLICAS]:
        if factor < min(minimum.number, len(case.held)) and not case.below_min_isr:
            yield Lack(Shortage.REPLICAS, minimum.number, factor)
    spread = by_kind[ConstraintKind.SPREAD][0].text if by_kind[ConstraintKind.SPREAD] else ""
    if by_kind[ConstraintKind.LIST]:
        spread = ""
    if spread:
        yield from _spread(spread, rack_of, pool, factor)
    yield from _too_few_racks(case, rack_of, by_kind, pool, factor, spread)
    yield from _crowded(case, rack_of, by_kind, pool, factor, spread)


def _spread(spread: str, rack_of: RackOf, pool: _Pool, factor: int) -> Iterator[Lack]:
    unknown = [b for b in pool.counted if rack_of[b] is None]
    if unknown:
        yield Lack(Shortage.KNOWN_RACKS, len(unknown), 0)
        return
    sizes = Counter(rack_of[b] for b in pool.able)
    if spread == Spread.IN_RACK:
        largest = max(sizes.values(), default=0)
        if largest < factor:
            yield Lack(Shortage.BROKERS_IN_ONE_RACK, factor, largest)
        return
    racks = sorted({rack_of[b] or "" for b in pool.counted})
    counts = rack_counts(
        Racks([0] * len(racks), [sizes[rack] for rack in racks]), factor, range(len(racks))
    )
    if isinstance(counts, list):
        return
    for lack in counts.lacks:
        if lack.obstacle is Obstacle.RACK_LACKS_BROKERS and lack.rack is not None:
            yield Lack(Shortage.RACK_BROKERS, lack.needed, lack.available, racks[lack.rack])
        else:
            yield Lack(Shortage.RACKS_WITH_ONE_MORE, lack.needed, lack.available)


def _too_few_racks(
    case: Case, rack_of: RackOf, by_kind: _Found, pool: _Pool, factor: int, spread: str
) -> Iterator[Lack]:
    """What copies must not take racks away that `require` wants; a broker without a rack counts as one of its own."""
    for required in by_kind[ConstraintKind.REQUIRED_RACKS]:
        least = min(required.number, case.live_racks)
        kept = {rack_of.get(b) or b for b in pool.must}
        every = {rack_of.get(b) or b for b in pool.able}
        most = (
            1
            if spread == Spread.IN_RACK
            else len(kept) + min(factor - len(pool.must), len(every - kept))
        )
        stays = len(pool.able.intersection(case.held)) >= factor and pool.must <= set(case.held)
        stays = stays and (case.shrinks or factor == len(case.held))
        if most < least and not stays:
            yield Lack(Shortage.RACKS, least, most)


def _crowded(
    case: Case, rack_of: RackOf, by_kind: _Found, pool: _Pool, factor: int, spread: str
) -> Iterator[Lack]:
    """What the topic has more than its brokers may hold, if all its partitions are like this one."""
    for ruled in by_kind[ConstraintKind.MAX_REPLICAS_PER_BROKER]:
        partitions, may = ruled.available, _may_hold(case, rack_of, by_kind, pool, ruled)
        wanted = {c.text: c.number for c in by_kind[ConstraintKind.REPLICAS_PER_RACK]}
        able = list(may.values())
        if spread == Spread.RACK and may:
            floor, extra = divmod(factor, len(may))
            wanted = dict.fromkeys(may, floor)
            able = [min(most, partitions * (floor + (extra > 0))) for most in able]
        short = [(rack, n) for rack, n in wanted.items() if may[rack] < partitions * n]
        for rack, number in short:
            yield Lack(Shortage.TOPIC_REPLICAS, partitions * number, may[rack], rack)
        needed = partitions * factor
        if any(not c.where for c in by_kind[ConstraintKind.REPLICATION_FACTOR]):
            needed = sum(number for _, number in case.of_topic)
        if not short and sum(able) < needed:
            yield Lack(Shortage.TOPIC_REPLICAS, needed, sum(able))


def _may_hold(
    case: Case, rack_of: RackOf, by_kind: _Found, pool: _Pool, ruled: Constraint
) -> Counter[str]:
    """How many replicas of the topic the brokers of each rack may hold together; those without one as of a rack."""
    kinds = (ConstraintKind.FENCED, ConstraintKind.CORDONED)
    closed = {b for kind in kinds for c in by_kind[kind] for b in c.brokers}
    others = {b for c in by_kind[ConstraintKind.APART] for b in c.brokers}
    holds, may = dict(case.of_topic), Counter[str]()
    for broker in pool.counted - others:
        takes = holds.get(broker, 0) if broker in closed else ruled.available
        may[rack_of[broker] or ""] += min(ruled.number, takes)
    return may


def simplified(case: Case, rack_of: RackOf) -> Case:
    """The same case for brokers that are alike: many partitions then share one, and its answer.

    Brokers are alike that no constraint names, of one rack where racks count, and that the same keys choose.
    """
    kinds = {c.kind for c in case.constraints}
    named = {b for c in case.constraints if c.kind not in CHOOSING_OR_COUNTING for b in c.brokers}
    choosing = [frozenset(c.brokers) for c in case.constraints if c.kind in CHOOSING_OR_COUNTING]
    by_rack = not kinds.isdisjoint((ConstraintKind.SPREAD, ConstraintKind.REQUIRED_RACKS))
    alike: dict[tuple[str | None, tuple[bool, ...]], list[int]] = {}
    for broker, rack in rack_of.items():
        if broker not in named:
            chosen = tuple(broker in of for of in choosing)
            alike.setdefault((rack if by_rack else None, chosen), []).append(broker)
    names: dict[int, int] = {}
    for members in alike.values():
        used = [b for b in members if b in case.held or b in case.base]
        used.sort(key=lambda b: (b not in case.held, b not in case.base))
        names.update(zip(used, members, strict=False))
    return replace(
        case,
        held=tuple(sorted(names.get(b, b) for b in case.held)),
        base=tuple(sorted(names.get(b, b) for b in case.base)),
        live_racks=case.live_racks if ConstraintKind.REQUIRED_RACKS in kinds else 0,
    )
