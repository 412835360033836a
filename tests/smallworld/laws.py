"""The laws of a small world: what no step may do, and that everything ends when nothing more goes wrong."""

from collections.abc import Iterator

from tests.smallworld.steps import THROTTLES, SmallWorld, Step
from tests.smallworld.world import State

from replan.applying.journal.ledger import fold
from replan.applying.journal.records import SavedRate, SavedReplicaList
from replan.applying.journal.steps import MoveRecord, Status
from replan.applying.reasons.notes import EntriesRemoved, RateRemoved
from replan.errors import Exit
from replan.model.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS
from replan.model.control_plane import Look
from replan.model.names import Replicas
from replan.model.partition import effective_min_isr
from replan.planning.plans.moves import Move
from replan.simulator.controller.commands import AlterReassignments
from replan.simulator.controller.state import ClusterState

SETTLE_LOOKS = 3
"""The looks before this one that 15 s have, at one in 5 s."""


def broken(world: SmallWorld, before: State, step: Step) -> Iterator[str]:
    """What a step breaks."""
    for command in step.sent.commands:
        if isinstance(command, AlterReassignments):
            for name, wanted in command.items:
                move = next(m for m in world.plans[before.plan].moves if m.partition == name)
                yield from _asked(world, before, step.sent.shown, move, wanted)
    yield from _unknown_throttles(world, step.after)
    yield from _blamed(step)
    yield from _ended(world, step.after)


def _asked(
    world: SmallWorld, before: State, shown: Look | None, move: Move, wanted: Replicas | None
) -> Iterator[str]:
    """A list that replan asks for, or a cancel."""
    name = move.partition
    assert shown is not None
    found = shown.partitions[name]
    owned = fold(before.records).owned.get(name)
    past = () if owned is None else owned.past
    if found.running is not None and found.running.target not in {*past, wanted}:
        yield f"{name}: {wanted} overwrites {found.running.target}, which replan never asked for"
    for late in before.late:
        if isinstance(late.command, AlterReassignments):
            for other, list_ in late.command.items:
                if other == name and list_ != wanted:
                    yield f"{name}: {wanted} is asked for while {list_} may still take effect"
    if wanted is None:
        return
    added = set(wanted) - set(found.replicas)
    if added:
        yield from _added(world, before, shown, move, wanted)
    dropped = set(move.original) & set(found.replicas) - set(wanted) - set(found.removing)
    settled = before.ghost.settled.get(name, 0)
    settled = settled if set(move.target) <= set(found.isr) else 0
    if dropped and settled < SETTLE_LOOKS and not world.lags:
        yield f"{name}: {sorted(dropped)} dropped, and the target was in sync in {settled} looks before"


def _added(
    world: SmallWorld, before: State, shown: Look, move: Move, wanted: Replicas
) -> Iterator[str]:
    """Every list that adds a replica passes the gates, as the look shows them."""
    name, found = move.partition, shown.partitions[move.partition]
    live = [b for b in found.isr if shown.live(b)]
    settings = shown.topics[name.topic]
    if settings.unclean_election and len(live) < 2:
        yield f"{name}: {wanted} is asked for with unclean election and {live} in sync"
    m = move.min_insync_replicas
    least = effective_min_isr(m, len({*move.original, *move.new}))
    if len(live) < least and effective_min_isr(m, len(move.original)) != least:
        yield f"{name}: {wanted} is asked for with {live} in sync, and min ISR would be {least}"
    dead = [b for b in move.new if not shown.live(b)]
    if dead:
        yield f"{name}: {wanted} is asked for while {dead} are fenced"
    if world.plans[before.plan].throttle is not None and not before.ghost.throttles_changed:
        now = _throttles(before.cluster)
        entries = now.get(("topic", name.topic, FOLLOWER_REPLICAS), "").split(",")
        for broker in move.new:
            if f"{name.partition}:{broker}" not in entries:
                yield f"{name}: {wanted} is asked for, and {FOLLOWER_REPLICAS} lacks {broker}"
            if ("broker", str(broker), FOLLOWER_RATE) not in now:
                yield f"{name}: {wanted} is asked for, and {broker} has no rate"


def _throttles(cluster: ClusterState) -> dict[tuple[str, str, str], str]:
    return {
        (str(scope), name, key): value
        for (scope, name), values in cluster.configs.items()
        for key, value in values.items()
        if key in THROTTLES
    }


def _unknown_throttles(world: SmallWorld, after: State) -> Iterator[str]:
    """Whatever differs from the beginning is in the journal."""
    if after.ghost.throttles_changed:
        return
    initial, now = _throttles(world.cluster), _throttles(after.cluster)
    if initial == now:
        return
    known = {
        ("topic", r.topic, r.config)
        if isinstance(r, SavedReplicaList)
        else ("broker", str(r.broker), r.config)
        for r in after.records
        if isinstance(r, SavedReplicaList | SavedRate)
    }
    for where in {*initial, *now} - known:
        if initial.get(where) != now.get(where):
            yield f"{where} is {now.get(where)!r} and was {initial.get(where)!r}, and the journal does not know"


def _blamed(step: Step) -> Iterator[str]:
    """Nobody is blamed for what nobody did."""
    ghost = step.after.ghost
    for record in step.after.records:
        if not isinstance(record, MoveRecord):
            continue
        if record.status is Status.FOREIGN and not ghost.lists_changed:
            yield f"{record.partition} ended as changed by another tool, and none did"
        others = ghost.lists_changed or ghost.settings_changed
        if record.status in {Status.STALE, Status.REJECTED} and not others:
            yield f"{record.partition} ended {record.status}, and nobody changed anything"
    progress = step.sent.progress
    if progress is not None and not ghost.throttles_changed:
        for note in progress.notes:
            if isinstance(note, EntriesRemoved | RateRemoved):
                yield f"{note}, and no other tool touched a throttle"


def _ended(world: SmallWorld, after: State) -> Iterator[str]:
    """An application that has ended well has done what it said, and left nothing."""
    if after.ended is None or after.ended.interrupted:
        return
    ghost = after.ghost
    if not ghost.throttles_changed and after.ended.exit_code in {Exit.OK, Exit.REFUSED}:
        for where in _throttles(after.cluster).items() ^ _throttles(world.cluster).items():
            yield f"{where} stays behind"
    if after.ended.exit_code is not Exit.OK or ghost.lists_changed:
        return
    for move in world.plans[after.plan].moves:
        partition = after.cluster.partition(move.partition)
        if (partition is None or partition.replicas != move.target) and not after.late:
            yield f"{move.partition} is done, and is {partition}"
