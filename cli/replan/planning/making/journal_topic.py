"""Where the topic of the journal is to be made, so that the placement has nothing to change about it afterwards.

A plan that changes something makes the topic when it is applied, where there is none. So it is planned as if the topic
were there, on brokers of different racks, and what the plan would change about it is where it is made.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from replan.model.broker import Broker
from replan.model.columns import BROKER_LIST
from replan.model.configs import ConfigSource
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Measure
from replan.model.names import JOURNAL_REPLICAS, JOURNAL_TOPIC, Replicas, TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import (
    PARTITIONS_SCHEMA,
    TOPICS_SCHEMA,
    Snapshot,
    partitions_table,
    topic_codes,
)
from replan.planning.making.planner import NOTHING_ALLOWED, make_plan
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Facts, PlanWarning, WarningKind

JOURNAL = TopicPartition(JOURNAL_TOPIC, 0)
_NO_ID = "A" * 22


def plan_with_journal(
    placement: Placement,
    snapshot: Snapshot,
    allowed: Mapping[Measure, int] = NOTHING_ALLOWED,
    *,
    only: Sequence[str] = (),
    rates: Rates | None = None,
    within_limits: bool = False,
) -> Plan:
    """As `make_plan`, for a cluster whose journal is a topic; where that is to be made, the plan says where."""
    live = [b for b in snapshot.brokers if b.live]
    if snapshot.topic_row(JOURNAL_TOPIC) is not None or not live:
        return make_plan(
            placement, snapshot, allowed, only=only, rates=rates, within_limits=within_limits
        )
    first = _apart(live)
    made = make_plan(
        placement,
        snapshot_with_journal(snapshot, first),
        allowed,
        only=[*only, JOURNAL_TOPIC] if only else (),
        rates=rates,
        within_limits=within_limits,
        unmade=JOURNAL_TOPIC,
    )
    wanted = next((m.target for m in made.moves if m.partition == JOURNAL), first)
    without = replace(
        made,
        moves=tuple(m for m in made.moves if m.partition != JOURNAL),
        remember=made.remember - {JOURNAL},
    )
    if not without.changes:
        return without
    facts: Facts = {"topic": JOURNAL_TOPIC, "replicas": tuple(wanted)}
    return replace(without, warnings=(*made.warnings, PlanWarning(WarningKind.JOURNAL_MADE, facts)))


def _apart(live: Sequence[Broker]) -> Replicas:
    """Brokers for the replicas, each from the rack that has the fewest of them."""
    chosen: list[Broker] = []
    for _ in range(min(JOURNAL_REPLICAS, len(live))):
        used = Counter(b.rack for b in chosen)
        candidates = [b for b in live if b not in chosen]
        chosen.append(min(candidates, key=lambda b: (b.cordoned, used[b.rack], b.id)))
    return tuple(b.id for b in chosen)


def snapshot_with_journal(snapshot: Snapshot, replicas: Replicas) -> Snapshot:
    """The cluster with the topic of the journal, all of whose replicas are in sync."""
    names = snapshot.topics.column("name").to_pylist()
    at = bisect_left(names, JOURNAL_TOPIC)
    row = {
        "name": JOURNAL_TOPIC,
        "id": _NO_ID,
        "min_insync_replicas": max(1, len(replicas) - 1),
        "min_insync_source": int(ConfigSource.TOPIC),
        "unclean_election": False,
    }
    topics = _inserted(snapshot.topics, at, pa.Table.from_pylist([row], schema=TOPICS_SCHEMA))
    codes = topic_codes(snapshot.partitions)
    codes = codes + (codes >= at).astype(np.int32)
    before = int(np.searchsorted(codes, at))
    own = {
        "partition": 0,
        "leader": replicas[0],
        "leader_epoch": 0,
        "replicas": list(replicas),
        "isr": list(replicas),
        "bytes": 0,
    }
    columns = {
        field.name: pa.concat_arrays(
            [
                *(snapshot.partitions.column(field.name).slice(0, before).chunks),
                pa.array(
                    [own.get(field.name, [] if field.type == BROKER_LIST else None)], field.type
                ),
                *(snapshot.partitions.column(field.name).slice(before).chunks),
            ]
        )
        for field in list(PARTITIONS_SCHEMA)[1:]
    }
    names_array = topics.column("name").combine_chunks()
    return replace(
        snapshot,
        topics=topics,
        partitions=partitions_table(names_array, np.insert(codes, before, at), columns),
    )


def _inserted(table: pa.Table, at: int, row: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, at), row, table.slice(at)]).combine_chunks()
