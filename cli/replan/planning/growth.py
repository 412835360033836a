"""Topics that are declared with more partitions than they have: what is to be created, and where.

A new partition lies where the placement wants it, as far as its list can have the length that the topic's lists have
now; whatever is left, another replication factor above all, is a move of the new partition. So the rest of planning
sees the topics as they are once the partitions are there (`Growth.snapshot`).

Not here: fewer partitions than a topic has, which Kafka cannot make of it. A topic whose records are found by the
number of its partitions (`has_fixed_count`) is refused.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import PAD, from_lists, list_in_row, take, to_matrix
from replan.model.declared.placement import Placement
from replan.model.declared.rules import BalanceMeasure, TopicRule
from replan.model.names import (
    Replicas,
    TopicId,
    TopicPartition,
    has_fixed_count,
    led_by,
    replicas,
)
from replan.model.snapshot import Snapshot, partitions_table, topic_codes
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.comparison.chosen import (
    among,
    broker_table,
    layout_of,
    rack_names,
    separated_in,
    without,
)
from replan.planning.comparison.leader_order import last_leaders
from replan.planning.comparison.overlays import WantedLists, lay_overlays
from replan.planning.placing.problem import (
    Elsewhere,
    Impossible,
    PartitionTable,
    PlacementProblem,
    Rule,
)
from replan.planning.plans.creates import Create
from replan.planning.plans.reasons import Facts, Refusal, RefusalRule, first_named
from replan.planning.safety.placing_refusals import refusal_of


class Growth(Struct, frozen=True):
    """The partitions that are to be created."""

    snapshot: Snapshot
    """With these partitions in it, empty and in sync."""
    creates: tuple[Create, ...] = ()
    """By topic."""
    refusals: tuple[Refusal, ...] = ()
    """One for each topic that cannot grow now, with the first partition that it lacks."""


class _Lack(Struct, frozen=True):
    """What one topic lacks."""

    topic: str
    topic_id: TopicId
    present: int
    count: int
    factor: int
    rule: TopicRule | None


def grown(aligned: Alignment) -> Growth:
    """Find what topics lack, and where it is to lie."""
    placement, snapshot, live = (
        aligned.placement,
        aligned.snapshot,
        aligned.snapshot.partition_counts(),
    )
    outcomes = [
        _fixed(topic, name, count, placement, snapshot)
        if has_fixed_count(topic)
        else _lack(topic, count, placement.rules.get(name), snapshot)
        for topic, name, count in aligned.intents.partition_counts()
        if count > live[topic]
    ]
    lacking = [k for k in outcomes if isinstance(k, _Lack)]
    refusals = [r for r in outcomes if isinstance(r, Refusal)]
    if not lacking:
        return Growth(snapshot, refusals=tuple(refusals))
    lists = _explicit(placement, lacking)
    chosen, impossible = _chosen(aligned, [k for k in lacking if k.rule])
    refusals += impossible
    lists |= chosen
    lacking = [k for k in lacking if k.topic in lists]
    lists = {k.topic: _fitted(lists[k.topic], k, placement, snapshot) for k in lacking}
    lists |= _led_evenly(aligned, [k for k in lacking if k.rule], lists)
    lists, homeless = _overlaid(aligned, lacking, lists)
    refusals += homeless
    lacking = [k for k in lacking if k.topic in lists]
    creates = tuple(Create(k.topic, k.topic_id, k.present, lists[k.topic]) for k in lacking)
    return Growth(_with(snapshot, lacking, lists), creates, tuple(refusals))


def fewer_partitions(aligned: Alignment) -> Iterator[Refusal]:
    """A refusal of each topic with more partitions than its `partitionCount`, or than its list form declares."""
    live = aligned.snapshot.partition_counts()
    for topic, name, count in aligned.intents.partition_counts():
        if count < live[topic]:
            facts = _counts(name, count, live[topic], aligned.placement)
            yield Refusal(topic, count, RefusalRule.FEWER_PARTITIONS, facts)


def _counts(name: str, declared: int, observed: int, placement: Placement) -> Facts:
    """The number of partitions, and the line of the entry of this name that declares another."""
    rule = placement.rules.get(name)
    where = placement.topics[name].where if rule is None else rule.place("partitionCount")
    return {"rule": f"{where}: {name}", "declared": declared, "observed": observed}


def _fixed(topic: str, name: str, count: int, placement: Placement, snapshot: Snapshot) -> Refusal:
    """Why a topic keeps the number of partitions that it has, whatever is declared by the entry of this name."""
    observed = snapshot.partition_counts()[topic]
    facts = _counts(name, count, observed, placement)
    return Refusal(topic, observed, RefusalRule.COUNT_IS_FIXED, facts)


def _lack(topic: str, count: int, rule: TopicRule | None, snapshot: Snapshot) -> _Lack | Refusal:
    """What a topic lacks, or why it cannot get it now."""
    states = list(snapshot.states(snapshot.topic_rows(topic)))
    first = TopicPartition(topic, len(states))
    if not states:
        return Refusal(*first, RefusalRule.NO_PARTITIONS, {})
    running = [str(s.partition) for s in states if s.adding or s.removing]
    if running:
        return Refusal(*first, RefusalRule.TOPIC_RUNNING, first_named("partitions", running))
    factors = sorted({len(s.replicas) for s in states})
    if len(factors) > 1:
        return Refusal(*first, RefusalRule.FACTORS_DIFFER, {"factors": tuple(factors)})
    return _Lack(topic, states[0].topic_id, len(states), count, factors[0], rule)


def _explicit(placement: Placement, lacking: Sequence[_Lack]) -> dict[str, tuple[Replicas, ...]]:
    """The declared lists of what is missing, of each topic in the list form."""
    names = placement.explicit.column("topic").to_pylist() if lacking else []
    matrix = to_matrix(placement.explicit.column("replicas"))
    starts = {k.topic: k for k in lacking if k.rule is None}
    at: dict[str, list[int]] = {topic: [] for topic in starts}
    for number, topic in enumerate(names):
        if topic in at:
            at[topic].append(number)
    return {
        topic: tuple(list_in_row(matrix, number) for number in rows[starts[topic].present :])
        for topic, rows in at.items()
    }


def _chosen(
    aligned: Alignment, lacking: Sequence[_Lack]
) -> tuple[dict[str, tuple[Replicas, ...]], list[Refusal]]:
    """Lists by rule, on the brokers that hold the least now; a refusal for each topic without any."""
    if not lacking:
        return {}, []
    placement, snapshot = aligned.placement, aligned.snapshot
    brokers, drained = sorted(snapshot.brokers, key=lambda b: b.id), placement.drained
    left_out = drained | snapshot.brokers_of_unknown_rack()
    able = np.array([b.id not in left_out for b in brokers], dtype=bool)
    entries = [k.rule for k in lacking if k.rule]
    racks = rack_names(brokers, placement)
    layouts = [layout_of(rule, racks) for rule in entries]
    apart = separated_in(aligned)
    rules = tuple(
        Rule(
            layout,
            able & among(brokers, rule) & without(brokers, apart.get(lack.topic, ())),
            per_rack,
            rule.max_replicas_per_broker,
        )
        for lack, rule, (layout, per_rack) in zip(lacking, entries, layouts, strict=True)
    )
    new = np.repeat(np.arange(len(lacking)), [k.count - k.present for k in lacking])
    factors = np.array(
        [r.replication_factor or k.factor for k, r in zip(lacking, entries, strict=True)]
    )
    topics = np.array([snapshot.topic_row(k.topic) for k in lacking], dtype=np.int64)
    nothing = np.full((len(new), 1), PAD, dtype=np.int32)
    from replan.planning.placing.choose import choose  # noqa: PLC0415 (few placements let a topic grow)

    held = to_matrix(snapshot.partitions["replicas"])
    sizes = np.asarray(snapshot.partitions["bytes"], dtype=np.int64)
    choice = choose(
        PlacementProblem(
            broker_table(brokers, drained, placement, held, sizes),
            PartitionTable(
                rule=new,
                factor=factors[new],
                base=nothing,
                current=nothing,
                leader=np.full(len(new), -1, dtype=np.int64),
                bytes=np.zeros(len(new), dtype=np.int64),
                topic=topics[new],
            ),
            rules,
            Elsewhere(held, topic_codes(snapshot.partitions).astype(np.int64)),
            drained,
        )
    )
    lists: dict[str, list[Replicas]] = {}
    for at, number in enumerate(new.tolist()):
        lists.setdefault(lacking[number].topic, []).append(list_in_row(choice.lists, at))
    refused = {
        lacking[new[at]].topic: _refused(lacking[new[at]], reason)
        for reason in choice.impossible
        for at in reason.partitions
    }
    placed = {topic: tuple(of) for topic, of in lists.items() if topic not in refused}
    return placed, list(refused.values())


def _refused(lack: _Lack, reason: Impossible) -> Refusal:
    return refusal_of(reason, TopicPartition(lack.topic, lack.present), lack.rule)


def _fitted(
    lists: Iterable[Replicas], lack: _Lack, placement: Placement, snapshot: Snapshot
) -> tuple[Replicas, ...]:
    """Lists of the length that Kafka takes: cut, or with brokers behind that are likely to serve and not drained.

    Of these, each time the one that holds least of the topic.
    """
    kept = [listed[: lack.factor] for listed in lists]
    gone, brokers = placement.drained, snapshot.brokers
    holds = Counter(broker for listed in kept for broker in listed)
    for state in snapshot.states(snapshot.topic_rows(lack.topic)[: lack.present]):
        holds.update(state.replicas)
    fitted = []
    for listed in kept:
        members = list(listed)
        while len(members) < min(lack.factor, len(brokers)):
            likely = min(
                (b for b in brokers if b.id not in members),
                key=lambda b: (b.fenced, b.cordoned, b.id in gone, holds[b.id], b.id),
            )
            holds[likely.id] += 1
            members.append(likely.id)
        fitted.append(replicas(*members))
    return tuple(fitted)


def _led_evenly(
    aligned: Alignment,
    lacking: Sequence[_Lack],
    lists: Mapping[str, tuple[Replicas, ...]],
) -> dict[str, tuple[Replicas, ...]]:
    """The same with who leads least of the topic first, and of all topics, since a rule leaves the order free.

    Where `preferredLeaders` balances topics together, of all of them: so the new ones do not make others change.
    """
    placement, snapshot = aligned.placement, aligned.snapshot
    matrix = to_matrix(snapshot.partitions["replicas"])
    entries, leaders = in_force(placement, snapshot), aligned.intents.leaders
    balanced = {topic: rule.pattern for topic, rule in leaders.items() if rule.balanced}
    led: dict[str, Counter[int]] = {}
    every = Counter(matrix[:, 0].tolist())
    by_topic: dict[str, tuple[Replicas, ...]] = {}
    for lack in lacking:
        group = balanced.get(lack.topic)
        if group is None or group not in led:
            alike = (
                [lack.topic] if group is None else [t for t, of in balanced.items() if of == group]
            )
            rows = [row for topic in alike for row in snapshot.topic_rows(topic)]
            led[group or lack.topic] = Counter(matrix[rows, 0].tolist() if rows else ())
        counts = led[group or lack.topic]
        listed = {e.broker for e in entries if blacklist_reaches(e, lack.topic)}
        last = listed | last_leaders(placement, snapshot).keys()
        ordered = []
        for members in lists[lack.topic]:
            head = min(members, key=lambda b: (b in last, counts[b], every[b]))
            counts[head] += 1
            every[head] += 1
            ordered.append(led_by(head, members))
        by_topic[lack.topic] = tuple(ordered)
    return by_topic


def _overlaid(
    aligned: Alignment,
    lacking: Sequence[_Lack],
    lists: Mapping[str, tuple[Replicas, ...]],
) -> tuple[dict[str, tuple[Replicas, ...]], list[Refusal]]:
    """The same under drains, preferred leaders and the leader blacklist: as planning would move them at once.

    A topic with a new partition that would lie on a drained broker, since nobody can take its place, is refused, and
    one with a new partition on a broker that holds more than `balance` lets it, whatever moves.
    """
    placement, snapshot = aligned.placement, aligned.snapshot
    aligned = aligned.over(_with(snapshot, lacking, lists))
    wanted = lay_overlays(aligned)
    without = {at: reason for reason in wanted.chosen.impossible for at in reason.partitions}
    crowded = _crowded(aligned, wanted)
    refusals: list[Refusal] = []
    matrix = to_matrix(wanted.table.column("replicas"))
    place = {int(at): number for number, at in enumerate(wanted.rows.tolist())}
    by_topic: dict[str, tuple[Replicas, ...]] = {}
    for lack in lacking:
        rows = aligned.snapshot.topic_rows(lack.topic)
        reason = next((without[at] for at in rows[lack.present :] if at in without), None)
        if reason is not None:
            refusals.append(_refused(lack, reason))
            continue
        wanted_lists = [
            list_in_row(matrix, place[at]) if at in place else listed
            for at, listed in zip(rows[lack.present :], lists[lack.topic], strict=True)
        ]
        if crowded and lack.rule and any(crowded.keys() & of for of in wanted_lists):
            refusals.append(_full(lack, lack.rule, crowded, placement))
            continue
        by_topic[lack.topic] = _fitted(wanted_lists, lack, placement, snapshot)
    return by_topic, refusals


def _crowded(aligned: Alignment, wanted: WantedLists) -> dict[int, int]:
    """Brokers that hold more than `balance` lets them, and how much; none where other moves might do."""
    most, snapshot = _most(aligned.placement), aligned.snapshot
    if most is None:
        return {}
    there = wanted.rows >= 0
    held = to_matrix(snapshot.partitions["replicas"])
    stays = np.ones(len(held), dtype=bool)
    stays[wanted.rows[there]] = False
    wanted_lists = to_matrix(wanted.table.column("replicas"))[there]
    every = np.concatenate([held[stays].ravel(), wanted_lists.ravel()])
    brokers, counts = np.unique(every[every != PAD], return_counts=True)
    able = snapshot.live_brokers() - aligned.placement.drained
    holds = dict(zip(brokers.tolist(), counts.tolist(), strict=True))
    proved = any(
        i.measure is BalanceMeasure.MAX_REPLICAS and i.steps is None
        for i in wanted.chosen.imbalances
    )
    if not proved and sum(holds.get(b, 0) for b in able) <= most * len(able):
        return {}
    return {broker: number for broker, number in holds.items() if number > most}


def _most(placement: Placement) -> int | None:
    """How many replicas of all topics a broker may hold."""
    tolerances = () if placement.balance is None else placement.balance.tolerances
    of = BalanceMeasure.MAX_REPLICAS
    return next((int(t.within) for t in tolerances if t.measure is of), None)


def _full(
    lack: _Lack, rule: TopicRule, crowded: Mapping[int, int], placement: Placement
) -> Refusal:
    """Why new partitions do not go where brokers hold too much already; an explicit list says where they go."""
    balance = placement.balance
    where = "" if balance is None else str(balance.place(BalanceMeasure.MAX_REPLICAS))
    facts: Facts = {
        "rule": f"{rule.place('partitionCount')}: {rule.pattern}",
        "where": where,
        "brokers": tuple(sorted(crowded)),
        "needed": max(crowded.values()),
        "available": _most(placement) or 0,
    }
    return Refusal(lack.topic, lack.present, RefusalRule.BROKERS_FULL, facts)


def _with(
    snapshot: Snapshot, lacking: Sequence[_Lack], lists: Mapping[str, tuple[Replicas, ...]]
) -> Snapshot:
    """The snapshot with the new partitions in it, as they are once they were created."""
    live = snapshot.live_brokers()
    new_lists = [listed for k in lacking for listed in lists[k.topic]]
    in_sync = [tuple(b for b in listed if b in live) or listed for listed in new_lists]
    topics = [(snapshot.topic_row(k.topic), k) for k in lacking]
    nothing = np.zeros(len(new_lists), dtype=np.int64)
    nobody = from_lists([()] * len(new_lists))
    new = partitions_table(
        snapshot.topics.column("name").combine_chunks(),
        pa.array([row for row, k in topics for _ in range(k.present, k.count)], pa.int32()),
        {
            "partition": pa.array(
                [n for k in lacking for n in range(k.present, k.count)], pa.int32()
            ),
            "leader": pa.array([first for first, *_ in in_sync], pa.int32()),
            "leader_epoch": pa.array(nothing, pa.int32()),
            "replicas": from_lists(new_lists),
            "isr": from_lists(in_sync),
            **dict.fromkeys(("adding", "removing", "elr", "last_known_elr"), nobody),
            "bytes": pa.array(nothing, pa.int64()),
        },
    )
    both = pa.concat_tables([snapshot.partitions, new]).unify_dictionaries().combine_chunks()
    numbers = np.asarray(both.column("partition"))
    order = np.lexsort((numbers, topic_codes(both)))
    return replace(snapshot, partitions=take(both, order))
