"""What replan, Kafka's --generate and topicmappr's rebuild by count make of one cluster: copies, and how even it is.

The other two are written again from their sources: Kafka's assignment with racks
(`AdminUtils.assignReplicasToBrokersRackAware`), and topicmappr's placement by position, where the broker with the
fewest replicas whose rack the partition does not lie in comes for one that leaves. Rebuilding takes nothing to brokers
that join unless it is forced to place everything again.

python benchmarks/placing_peers.py
"""

from fractions import Fraction
from itertools import zip_longest

import numpy as np

from replan.model.columns import PAD
from replan.model.declared.rules import BalanceMeasure, Tolerance
from replan.planning.placing.choose import choose
from replan.planning.placing.problem import (
    NO_LIMIT,
    BrokerTable,
    Elsewhere,
    Lie,
    PartitionTable,
    PlacementProblem,
    Rule,
)

BROKERS, RACKS, TOPICS, FACTOR = 15, 3, 100, 3
DRAINED, JOINED = 5, frozenset({13, 14, 15})
EVERY = frozenset(range(1, BROKERS + 1))
Lists = list[list[int]]


def rack(broker: int) -> int:
    """Brokers lie in the racks in turn."""
    return (broker - 1) % RACKS


def kafka(
    topics: list[int], brokers: frozenset[int], factor: int, chance: np.random.Generator
) -> Lists:
    """Each topic again, from a random broker on."""
    racks = [sorted(b for b in brokers if rack(b) == r) for r in range(RACKS)]
    order = [b for some in zip_longest(*racks) for b in some if b is not None]
    size, lists = len(order), []
    for count in topics:
        start, shift = int(chance.integers(size)), int(chance.integers(size))
        for number in range(count):
            shift += number > 0 and number % size == 0
            first = (number + start) % size
            found, k = [order[first]], 0
            while len(found) < factor:
                broker = order[(first + 1 + (shift * RACKS + k) % (size - 1)) % size]
                k += 1
                if rack(broker) not in map(rack, found):
                    found.append(broker)
            lists.append(found)
    return lists


def topicmappr(
    had: Lists, brokers: frozenset[int], factor: int, chance: np.random.Generator
) -> Lists:
    """By position: those who stay keep theirs, for the others who holds fewest comes, and any of these."""
    used = {b: sum(b in found for found in had) for b in brokers}
    lists: Lists = [[] for _ in had]
    for position in range(factor):
        for found, before in zip(lists, had, strict=True):
            if position < len(before) and before[position] in brokers:
                found.append(before[position])
                continue
            there = {*found, *(b for b in before if b in brokers)}
            racks = set(map(rack, there))
            able = [b for b in brokers if rack(b) not in racks]
            new = min(able, key=lambda b: (used[b], chance.random()))
            used[new] += 1
            found.append(new)
    return lists


def replan(
    topics: list[int],
    had: Lists,
    sizes: np.ndarray,
    brokers: frozenset[int],
    tolerance: tuple[Tolerance, ...],
) -> Lists:
    """By rule: three replicas over racks."""
    ids = np.array(sorted(EVERY), dtype=np.int64)
    open_ = np.isin(ids, list(brokers))
    lists = np.full((len(had), FACTOR), PAD, dtype=np.int32)
    for row, before in enumerate(had):
        lists[row, : len(before)] = before
    nothing = np.zeros(BROKERS, dtype=np.int64)
    found = choose(
        PlacementProblem(
            BrokerTable(
                ids,
                rack=(ids - 1) % RACKS,
                racks=tuple("abc"),
                open=open_,
                fenced=np.zeros(BROKERS, dtype=bool),
                weight=np.ones(BROKERS, dtype=np.int64),
                replicas=nothing,
                bytes=nothing,
                room=np.full(BROKERS, NO_LIMIT),
            ),
            PartitionTable(
                rule=np.zeros(len(had), dtype=np.int64),
                factor=np.full(len(had), FACTOR, dtype=np.int64),
                base=lists,
                current=lists,
                leader=lists[:, 0].astype(np.int64),
                bytes=sizes,
                topic=np.repeat(np.arange(len(topics)), topics),
            ),
            (Rule(Lie.RACK, open_),),
            Elsewhere(lists[:0], np.zeros(0, dtype=np.int64)),
            drained=EVERY - brokers,
            balance=tolerance,
        )
    )
    assert not found.impossible
    assert not found.imbalances
    return [[int(b) for b in row] for row in found.lists]


def report(
    job: str, by: str, topics: list[int], had: Lists, lists: Lists, sizes: np.ndarray
) -> None:
    """One row of the table."""
    bytes_, got = np.zeros(BROKERS), np.zeros(BROKERS)
    held = np.zeros((len(topics), BROKERS))
    led = np.zeros(BROKERS)
    copies = 0
    of = np.repeat(np.arange(len(topics)), topics)
    for topic, before, found, size in zip(of, had, lists, sizes, strict=True):
        led[found[0] - 1] += 1
        for broker in found:
            bytes_[broker - 1] += size
            held[topic, broker - 1] += 1
            if broker not in before:
                got[broker - 1] += size
                copies += 1
    on = bytes_ > 0
    racks = [got[(np.arange(BROKERS) % RACKS == r) & on] for r in range(RACKS)]
    busiest = max(some.max() / some[some > 0].mean() for some in racks if some.any())
    wide = held[held.sum(axis=1) >= on.sum()]
    worst = (wide / (wide.sum(axis=1) / on.sum())[:, None]).max()
    evens = [float(of_[on].max() / of_[on].mean()) for of_ in (bytes_, held.sum(axis=0), led)]
    print(
        f"| {job} | {by} | {copies:,} | {got.sum() / 1e12:.2f} | "
        + " | ".join(f"{even:.2f}" for even in (*evens, busiest, worst))
        + " |"
    )


def within(replicas: Fraction, bytes_: Fraction | None = None) -> tuple[Tolerance, ...]:
    """A balance of replicas, and then of bytes."""
    found = [Tolerance(BalanceMeasure.REPLICAS, replicas)]
    return (*found, *([Tolerance(BalanceMeasure.BYTES, bytes_)] if bytes_ is not None else ()))


def main() -> None:
    """Three jobs, three ways each."""
    chance, sized = np.random.default_rng(2), np.random.default_rng(1)
    topics = [int(n) for n in np.minimum(np.ceil(sized.lognormal(2.5, 1.2, TOPICS)), 200)]
    scale = np.repeat(sized.lognormal(0, 2, TOPICS), topics)
    sizes = np.floor(2e9 * scale * sized.lognormal(0, 0.5, len(scale))).astype(np.int64)
    print("| job | by | copies | TB | bytes | replicas | leaders | busiest | topic |")
    every: Lists = kafka(topics, EVERY, FACTOR, chance)
    few: Lists = kafka(topics, EVERY - JOINED, FACTOR, chance)
    two: Lists = kafka(topics, EVERY, FACTOR - 1, chance)
    ten = Fraction(1, 10)
    for job, had, brokers, tolerances in (
        ("drain 1", every, EVERY - {DRAINED}, {"": ()}),
        (
            "add 3",
            few,
            EVERY,
            {", replicas 10 %": within(ten), ", both 10 %": within(ten, ten)},
        ),
        ("RF 2 to 3", two, EVERY, {"": ()}),
    ):
        for name, tolerance in tolerances.items():
            found = replan(topics, had, sizes, brokers, tolerance)
            report(job, f"replan{name}", topics, had, found, sizes)
        forced = job == "add 3"
        found = topicmappr([[] for _ in had] if forced else had, brokers, FACTOR, chance)
        report(job, f"topicmappr rebuild{', forced' * forced}", topics, had, found, sizes)
        found = kafka(topics, brokers, FACTOR, chance)
        report(job, "Kafka --generate", topics, had, found, sizes)


if __name__ == "__main__":
    main()
