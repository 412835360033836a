"""The laws of a small world: what no step may do, and that everything ends when nothing more goes wrong."""

from collections.abc import Iterator

from tests.smallworld.process import Process, Sent
from tests.smallworld.settings import SETTLE_LOOKS
from tests.smallworld.steps import THROTTLES, Steps
from tests.smallworld.world import Ghost, SmallWorld, State

from replan.applying.api import EntriesRemoved, NeverEnding, RateRemoved, Status, fold
from replan.errors import Exit
from replan.model.api import FOLLOWER_RATE, FOLLOWER_REPLICAS, Look, Replicas, effective_min_isr
from replan.planning.api import Move
from replan.rehearsal.api import journalled_throttles
from replan.simulator.api import AlterReassignments, ClusterState


def broken_by_tick(steps: Steps, before: State, sent: Sent) -> Iterator[str]:
    """What the process breaks in a tick."""
    for command in sent.commands:
        if isinstance(command, AlterReassignments):
            for name, wanted in command.items:
                plan = steps.world.plans[steps.process(before).plan]
                move = next(m for m in plan.moves if m.partition == name)
                yield from _asked(steps, before, sent.shown, move, wanted)
    yield from _blamed(sent, before.ghost)
    if not before.ghost.throttles_changed:
        for note in sent.notes:
            if isinstance(note, EntriesRemoved | RateRemoved):
                yield f"{note}, and no other tool touched a throttle"


def broken_in(steps: Steps, state: State) -> Iterator[str]:
    """What is not as it should be in a state."""
    world, process, cluster = steps.world, steps.process(state), steps.cluster(state)
    yield from _unknown_throttles(world, process, cluster, state.ghost)
    yield from _ended(world, process, cluster, state)


def _asked(
    steps: Steps, before: State, shown: Look | None, move: Move, wanted: Replicas | None
) -> Iterator[str]:
    """A list that replan asks for, or a cancel."""
    name = move.partition
    assert shown is not None
    found = shown.partitions[name]
    owned = fold(steps.process(before).records).owned.get(name)
    past = () if owned is None else owned.past
    if found.running is not None and found.running.target not in {*past, wanted}:
        yield f"{name}: {wanted} overwrites {found.running.target}, which replan never asked for"
    for late in before.late:
        command = steps.commands[late.command]
        if isinstance(command, AlterReassignments):
            for other, list_ in command.items:
                if other == name and list_ != wanted:
                    yield f"{name}: {wanted} is asked for while {list_} may still take effect"
    if wanted is None:
        return
    added = set(wanted) - set(found.replicas)
    if added:
        yield from _added(steps, before, shown, move, wanted)
    dropped = set(move.original) & set(found.replicas) - set(wanted) - set(found.removing)
    plan = steps.world.plans[steps.process(before).plan]
    settled = before.ghost.settled[plan.moves.index(move)]
    settled = settled if set(move.target) <= set(found.isr) else 0
    if dropped and settled < SETTLE_LOOKS and not steps.world.lags:
        yield f"{name}: {sorted(dropped)} dropped, and the target was in sync in {settled} looks before"


def _added(steps: Steps, before: State, shown: Look, move: Move, wanted: Replicas) -> Iterator[str]:
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
    throttle = steps.world.plans[steps.process(before).plan].throttle
    if throttle is not None and not before.ghost.throttles_changed:
        now = _throttles(steps.cluster(before))
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


def _unknown_throttles(
    world: SmallWorld, process: Process, cluster: ClusterState, ghost: Ghost
) -> Iterator[str]:
    """Whatever differs from the beginning is in the journal."""
    if ghost.throttles_changed:
        return
    initial, now = _throttles(world.cluster), _throttles(cluster)
    if initial == now:
        return
    known = journalled_throttles(process.records)
    for where in {*initial, *now} - known:
        if initial.get(where) != now.get(where):
            yield f"{where} is {now.get(where)!r} and was {initial.get(where)!r}, and the journal does not know"


def _blamed(sent: Sent, ghost: Ghost) -> Iterator[str]:
    """Nobody is blamed for what nobody did."""
    for record in sent.moves:
        if record.status is Status.FOREIGN and not ghost.lists_changed:
            yield f"{record.partition} ended as changed by another tool, and none did"
        others = ghost.lists_changed or ghost.settings_changed
        if record.status in {Status.STALE, Status.REJECTED} and not others:
            yield f"{record.partition} ended {record.status}, and nobody changed anything"


def _ended(
    world: SmallWorld, process: Process, cluster: ClusterState, state: State
) -> Iterator[str]:
    """An application that has ended well has done what it said, and left nothing."""
    ended, ghost = process.ended, state.ghost
    if ended is None or ended.interrupted:
        return
    if not ghost.throttles_changed and ended.exit_code in {Exit.OK, Exit.REFUSED}:
        for where in _throttles(cluster).items() ^ _throttles(world.cluster).items():
            yield f"{where} stays behind"
    if ended.exit_code is not Exit.OK or ghost.lists_changed:
        return
    for move in world.plans[process.plan].moves:
        partition = cluster.partition(move.partition)
        if (partition is None or partition.replicas != move.target) and not state.late:
            yield f"{move.partition} is done, and is {partition}"


def may_wait(sent: Sent, state: State) -> bool:
    """Whether a process may wait for people, and says so: another tool contests the throttles, or its lists have left
    a broker both adding and removing, which nothing but a cancel ends.
    """
    contested = state.ghost.throttles_changed and not sent.admits
    stuck = any(isinstance(hold, NeverEnding) for hold in sent.holds)
    return contested or (stuck and state.ghost.lists_changed)
