"""What each broker holds before a plan, at most while it is performed, and after it: replicas, leaders, bytes."""

from collections import defaultdict

import numpy as np
from msgspec import Struct

from replan.model.columns import as_list_array
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan


class Holding(Struct, frozen=True):
    """Replicas, leaders and bytes of one broker; or how much they change."""

    replicas: int = 0
    leaders: int = 0
    bytes: int = 0

    def __add__(self, other: "Holding") -> "Holding":
        return Holding(
            self.replicas + other.replicas, self.leaders + other.leaders, self.bytes + other.bytes
        )


class BrokerShare(Struct, frozen=True):
    """One broker's part of a plan."""

    broker: BrokerId
    rack: str | None
    before: Holding | None
    """None where there is no snapshot, and only the change is known."""
    change: Holding
    incoming: int
    """Bytes that are copied to it."""

    @property
    def changes(self) -> bool:
        """Whether the plan touches what it holds."""
        return self.change != Holding() or self.incoming > 0

    @property
    def after(self) -> Holding | None:
        """What it holds once the plan is done."""
        return None if self.before is None else self.before + self.change

    @property
    def peak_bytes(self) -> int | None:
        """The most bytes in any order of the moves: all copies have come and nothing has gone."""
        return None if self.before is None else self.before.bytes + self.incoming


def broker_shares(plan: Plan, snapshot: Snapshot | None = None) -> tuple[BrokerShare, ...]:
    """Every registered broker, and those that the plan names beyond, by id."""
    change: dict[int, Holding] = defaultdict(Holding)
    incoming: dict[int, int] = defaultdict(int)
    for move in plan.moves:
        for broker in move.new:
            change[broker] += Holding(replicas=1, bytes=move.bytes)
            incoming[broker] += move.bytes
        for broker in move.leaving:
            change[broker] += Holding(replicas=-1, bytes=-move.bytes)
        if move.changes_leader:
            change[move.target[0]] += Holding(leaders=1)
            if move.leader is not None:
                change[move.leader] += Holding(leaders=-1)
    for create in plan.creates:
        for listed in create.lists:
            change[listed[0]] += Holding(leaders=1)
            for broker in listed:
                change[broker] += Holding(replicas=1)
    before = None if snapshot is None else _holdings(snapshot)
    return tuple(
        BrokerShare(
            BrokerId(broker),
            plan.racks.get(BrokerId(broker)),
            None if before is None else before.get(broker, Holding()),
            change[broker],
            incoming[broker],
        )
        for broker in sorted({*plan.racks, *change})
    )


def _holdings(snapshot: Snapshot) -> dict[int, Holding]:
    """What each broker holds; every replica counts as large as the largest of its partition."""
    table = snapshot.partitions
    lists = as_list_array(table.column("replicas"))
    offsets = np.asarray(lists.offsets)
    members = np.asarray(lists.values)[offsets[0] : offsets[-1]]
    sizes = np.repeat(np.asarray(table.column("bytes"), dtype=np.int64), np.diff(offsets))
    leaders = np.asarray(table.column("leader"))
    ids, where = np.unique(members, return_inverse=True)
    held = np.zeros(len(ids), dtype=np.int64)
    np.add.at(held, where, sizes)
    led = dict(zip(*(x.tolist() for x in np.unique(leaders, return_counts=True)), strict=True))
    replicas = np.bincount(where, minlength=len(ids))
    return {
        broker: Holding(replicas_of, led.get(broker, 0), held_bytes)
        for broker, replicas_of, held_bytes in zip(
            ids.tolist(), replicas.tolist(), held.tolist(), strict=True
        )
    }
