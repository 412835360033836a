"""The laws of a run, whatever fails, whoever else acts, and wherever the process is killed.

In words, for one partition of a plan from its original O to its target T:

1. No worse: as long as nobody else changes its replica list, it is never worse off than the worse of the same partition
   at O and at T under the same faults: in live in-sync replicas and min ISR beyond 5 s, in leadership beyond 15 s, in
   committed log at all (`harms_nobody`). Where copies are throttled and nobody can lift that (no process runs, or none
   that sees and writes), a replica that is out of sync comes back later, by so long at most (`slack`). A copy that
   stops writes as another tool raised min.insync.replicas is taken back once no earlier request may arrive (`allowed`).
2. Nothing is dropped that was not replaced: Kafka is asked to drop a replica of O only when all of T had been in sync
   for the settle time, as far as it can be known (`drops_only_what_was_replaced`, `Blindness`).
3. Written before sent: at every moment the journal knows every throttle setting that differs from what was there before
   and that nobody else has touched (`throttles_are_known`); after the end none differs.
4. Blames nobody falsely: a partition ends as changed by another tool only if another tool touched its list or topic,
   stale or rejected only if somebody changed what the plan rests on; a throttle counts as removed by another tool only
   if another tool touched that setting.
5. It ends: once everything is healthy and nobody else acts, an application ends within `ends_within` seconds; what has
   not ended by then has a reason, and something outside that explains it.
6. Leaves nothing: once the application is closed, no reassignment of its own runs that the journal does not know.
7. Kafka's own topics keep the number of partitions by which their records are found (`keeps_its_count`).
"""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.properties.clusters import OFFSETS
from tests.properties.hostile import Case, Run, as_found, cancelled, cases, performed

from replan.applying.api import (
    LONGEST_PAUSE,
    EntriesRemoved,
    Order,
    Outcome,
    PartitionResult,
    RateRemoved,
    Result,
    SavedRate,
    Settings,
)
from replan.errors import Exit
from replan.model.api import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    BrokerId,
    TopicPartition,
)
from replan.planning.api import (
    Blindness,
    Broken,
    Ends,
    Move,
    Slack,
    Trajectory,
    UncleanElection,
    arrived,
    drops_only_what_was_replaced,
    harms_nobody,
    throttles_are_known,
)
from replan.rehearsal.api import journalled_throttles, throttles_of, untouched, with_plan_applied
from replan.simulator.api import (
    AlterConfigs,
    At,
    CordonDirs,
    Disconnect,
    DropFromIsr,
    Forbid,
    LagMetadata,
    LoseRequests,
    Permission,
    Produce,
    SendRequest,
    SlowLooks,
    rules_of,
    scheduled,
)

HARD = as_found(fast=10, full=250, nightly=20_000)
SLACK = Slack(in_sync_seconds=5, leaderless_seconds=15)
SETTLE_SECONDS = Settings().settle_seconds


def ends_within(case: Case) -> float:
    """Seconds after the last fault within which an application ends: its bound.

    Each move may need an unclean election or a rebalance (300 s), two quarantines (85 s: of a request before and of a
    throttle change), a copy at the slowest rate, and three settle times; all of them may have to wait for one slot.
    """
    rate = 1_000_000.0 if case.plan.throttle is None else 3_000_000.0
    copies = sum(m.bytes * len(m.new) for m in case.plan.moves) / rate
    return 300 + 2 * 90 + copies + 60 * len(case.plan.moves)


@HARD
@given(cases(others=False))
def test_a_run_keeps_the_laws_whatever_fails(case: Case) -> None:
    assert list(broken_by(case)) == []


@HARD
@given(cases())
def test_a_run_keeps_the_laws_whatever_fails_and_whoever_else_acts(case: Case) -> None:
    assert list(broken_by(case)) == []


@HARD
@given(cases(others=False, kinds=("metadata", "home changes")))
def test_a_run_keeps_the_laws_where_brokers_show_what_is_old(case: Case) -> None:
    """Old metadata at the wrong moment is rare among all the other faults."""
    assert list(broken_by(case)) == []


@HARD
@given(cases(others=False, kinds=("slow looks", "away", "flaps"), kills=False))
def test_a_run_keeps_the_laws_where_what_was_seen_is_old_before_anything_is_asked(
    case: Case,
) -> None:
    """A replica that falls out of sync just then is rare among all the other faults."""
    assert list(broken_by(case)) == []


@as_found(fast=5, full=60, nightly=4_000)  # each goes on until its bound
@given(cases(others=False, kinds=("away", "slow looks"), kills=False), st.data())
def test_a_topic_that_may_not_be_read_keeps_no_other_one_from_its_end(
    case: Case, data: st.DataObject
) -> None:
    """From some moment on, for good: all others end within their bound, and their throttles are restored."""
    lost = data.draw(st.sampled_from(sorted(case.stage.cluster.topics)))
    permission = data.draw(st.sampled_from([Permission.DESCRIBE, Permission.DESCRIBE_CONFIGS]))
    at = data.draw(st.sampled_from([0.5, 1.5, 4.0, 12.0, 30.0]))
    forbidden = At(at, Forbid(lost, frozenset({permission})))
    case = replace(case, schedule=(*case.schedule, forbidden), steering=(), journal={})

    run = performed(case, ends_within(case), processes=1)

    (outcome,) = run.outcomes
    others = [r for r in outcome.partitions if r.partition.topic != lost]
    assert [r for r in others if r.result is Result.RUNNING or r.result is Result.WAITING] == []
    known = journalled_throttles(run.lab.journal.read())
    assert {name for scope, name, _ in known if scope == "topic"} <= {lost}


def broken_by(case: Case) -> Iterator[Broken]:
    before = throttles_of(case.stage.cluster)
    run = performed(case, ends_within(case))
    ended = run.lab.clock.now()
    run.recorder.note(run.cluster)
    histories = run.recorder.trajectories()
    stage = replace(case.stage, world=scheduled(case.stage.world, case.schedule))
    there_already = with_plan_applied(stage, case.plan, run.cluster.world.placed)
    still, there = untouched(case.plan, stage, ended), untouched(case.plan, there_already, ended)
    for move in case.plan.moves:
        name, ours_until = move.partition, case.list_changed_at(move.partition)
        if name not in histories:  # its topic was deleted before anything began
            continue
        ours_until = min(ours_until, blocked_from(case, move, histories[name]))
        ours_until = min(ours_until, raised_from(case, move, histories[name]))
        ours = before_second(histories[name], ours_until)
        ends = Ends(
            at_original=before_second(still[name], ours_until),
            at_target=before_second(there[name], ours_until),
        )
        yield from harms_nobody(ours, ends, allowed(case, run, move))
        yield from drops_only_what_was_replaced(
            move, ours, SETTLE_SECONDS, blindness(case), unnameable(case, move)
        )
    yield from run.forgotten
    known = journalled_throttles(run.lab.journal.read())
    theirs = frozenset(case.configured())
    yield from throttles_are_known(before, throttles_of(run.cluster.cluster), known | theirs)
    for outcome in run.outcomes:
        yield from falsely_blamed(case, outcome)
    yield from not_ended(case, run, histories)
    yield from left_running(case, run)
    yield from keeps_its_count(case, run)


def left_running(case: Case, run: Run) -> Iterator[Broken]:
    """What runs at the end although no application is open; where no other tool touched a list, it is replan's own.

    A target whose new replicas are in sync may run on: Kafka waits for a replica that was there before and is away.
    """
    ledger = run.lab.ledger
    if ledger.application is not None:
        return
    known = {r.partition: r.left for r in ledger.records.values() if isinstance(r, Order)}
    targets = {m.partition: m.target for m in case.plan.moves}
    for name, found in run.cluster.cluster.reassigning():
        running = tuple(b for b in found.replicas if b not in found.removing)
        if running == targets.get(name) and set(found.adding) <= set(found.isr):
            continue
        if case.list_changed_at(name) == float("inf") and known.get(name) != running:
            yield Broken("leaves-nothing", str(name), f"{name}: {found} runs on after the end")


def keeps_its_count(case: Case, run: Run) -> Iterator[Broken]:
    """The topic of committed offsets has as many partitions as before, unless somebody deleted it."""
    before, after = (each.cluster.topics.get(OFFSETS) for each in (case.stage, run.cluster))
    if before is None or after is None or before.id != after.id:
        return
    if len(after.partitions) != len(before.partitions):
        yield Broken("keeps-its-count", OFFSETS, f"{len(after.partitions)} partitions")


def before_second(history: Trajectory, seconds: float) -> Trajectory:
    """What was before; at least the first sample."""
    samples = tuple(s for i, s in enumerate(history.samples) if i == 0 or s.at < seconds)
    return Trajectory(history.partition, samples, min(history.ended, seconds))


def blocked_from(case: Case, move: Move, ours: Trajectory) -> float:
    """From when on Kafka elects nobody by itself, although what was in sync last returns; infinite if it does.

    Where min.insync.replicas is larger than the list, it keeps who left the list as eligible leaders (golden vectors
    34 to 36), and with one of those it does not fall back to the last known leader when all others died.
    """
    set_by_others = [int(c.value) for _, c in case.changes() if c.key == MIN_INSYNC_REPLICAS]
    least = max([move.min_insync_replicas, *set_by_others])
    keeps = case.stage.cluster.elr_enabled and least > len(move.target) and bool(move.leaving)
    gone = (s.at for s in ours.samples if not {*s.in_sync, *s.not_serving})
    return next(gone, float("inf")) if keeps else float("inf")


def raised_from(case: Case, move: Move, ours: Trajectory) -> float:
    """From when on writes need more replicas than the original has, while the copies are over and still listed.

    Another tool raised min.insync.replicas above their number. A copy that runs is taken back then; what is in sync
    already stays in the list, and stops writes if it falls out of sync later.
    """
    since = min(raised_at(case, move), default=float("inf"))
    whole = (
        s.at
        for s in ours.samples
        if s.at >= since and not s.adding and {*s.replicas} - {*move.original}
    )
    return next(whole, float("inf"))


def raised_at(case: Case, move: Move) -> Iterator[float]:
    """When another tool raises min.insync.replicas above the number of replicas of the original."""
    return (
        at
        for at, c in case.changes()
        if (c.name, c.key) == (move.partition.topic, MIN_INSYNC_REPLICAS)
        and int(c.value) > len(move.original)
    )


def blocked(case: Case, move: Move, ours: Trajectory | None) -> bool:
    return ours is not None and blocked_from(case, move, ours) < float("inf")


def unnameable(case: Case, move: Move) -> frozenset[BrokerId]:
    """Whom the cluster allowed no list to name: their replicas Kafka drops with the copy."""
    refused = rules_of(case.stage.cluster.version).refuses_cordoned
    cordoned = case.cordoned() if refused else case.cordoned() & move.unnameable
    return cordoned | case.unregistered()


def allowed(case: Case, run: Run, move: Move) -> Slack:
    """How long a partition may be worse off, and what may be lost of it."""
    found = slack(case, run)
    more = felt_here_alone(case, move) + beside_copies(case, move) + taken_back_late(case, move)
    return replace(
        found,
        in_sync_seconds=found.in_sync_seconds + more,
        unclean=unclean_election(case, run, move),
    )


def felt_here_alone(case: Case, move: Move) -> float:
    """How long a follower that fell behind catches up that would lead, or hold nothing, at either end of the move."""
    speed = case.stage.world.speeds.network_bytes_per_second
    drops = (at.fault for at in case.schedule if isinstance(at.fault, DropFromIsr))
    return max(
        (
            d.lag_bytes / speed
            for d in drops
            if d.partition == move.partition
            and (d.broker not in move.original or d.broker in {move.original[0], move.leader})
            and (d.broker not in move.target or d.broker == move.target[0])
        ),
        default=0.0,
    )


def beside_copies(case: Case, move: Move) -> float:
    """How much sooner a follower falls behind what is produced, and how much later it is back, beside copies.

    Nobody throttles them: the slow network is shared, and afterwards that of the leader.
    """
    produced, outrun, rate, since = 0.0, 0.0, 0.0, 0.0
    for at in case.schedule:
        match at.fault:
            case Produce(partition, bytes_per_second) if partition == move.partition:
                produced += rate * (at.seconds - since)
                outrun += at.seconds - since if rate else 0.0
                rate, since = bytes_per_second, at.seconds
    speed = case.stage.world.speeds.network_bytes_per_second
    return outrun + (move.bytes + produced) * len(move.new) / speed if produced else 0.0


def taken_back_late(case: Case, move: Move) -> float:
    """How much later a copy is taken back that stops writes, while an earlier request may arrive once more."""
    raised = any(True for _ in raised_at(case, move))
    unknown = case.kills or loses_requests(case)
    return Settings().quarantine_seconds if raised and unknown else 0.0


def loses_requests(case: Case) -> bool:
    return any(isinstance(at.fault, LoseRequests) for at in case.schedule)


def slack(case: Case, run: Run) -> Slack:
    """Where copies are throttled, nobody lifts that while no process runs, or while it sees and writes nothing."""
    if case.plan.throttle is None:
        return SLACK
    unseen = blindness(case).unseen_seconds - Blindness().unseen_seconds + inactive(case)
    return replace(
        SLACK,
        in_sync_seconds=SLACK.in_sync_seconds + unseen,
        unattended=(*run.alone, *disconnected(case)),
    )


def unclean_election(case: Case, run: Run, move: Move) -> UncleanElection:
    """A copy is taken back when a session is over, looks have agreed, and no earlier request may arrive any more."""
    blind, settings = blindness(case), Settings()
    changes = [
        (seconds, change.value == "true")
        for seconds, change in case.changes()
        if (change.name, change.key) == (move.partition.topic, UNCLEAN_ELECTION)
    ]
    seconds = (
        case.stage.world.speeds.session_seconds
        + settings.agreeing_seconds
        + blind.unseen_seconds
        + blind.unknown_seconds
        + inactive(case)
        + (settings.quarantine_seconds if loses_requests(case) else 0.0)
    )
    return UncleanElection(
        switched=((0.0, move.unclean_election), *changes),
        noticed_seconds=seconds,
        unattended=(*run.alone, *disconnected(case)),
    )


def disconnected(case: Case) -> list[tuple[float, float]]:
    """When the cluster answers nothing, or something is forbidden; a process that has left for that is not back yet."""
    silent = [
        (at.seconds, at.seconds + at.fault.seconds)
        for at in case.schedule
        if isinstance(at.fault, Disconnect)
    ]
    acts = [(at.seconds, at.fault) for at in case.schedule if isinstance(at.fault, Forbid)]
    for seconds, lost in acts:
        again = (s for s, act in acts if act.topic == lost.topic and not act.permissions)
        if lost.permissions:
            silent.append((seconds, min(s for s in again if s > seconds) + LONGEST_PAUSE))
    return silent


def blindness(case: Case) -> Blindness:
    """What the applier cannot know: metadata lags, requests take effect late, appends and looks take their time."""
    faults = [at.fault for at in case.schedule]
    lag = max((f.seconds for f in faults if isinstance(f, LagMetadata)), default=0.0)
    late = max(
        (f.effect_after_seconds or 0.0 for f in faults if isinstance(f, LoseRequests)), default=0.0
    )
    slow = min(stands_still(case), Settings().look_seconds)
    return Blindness(
        unseen_seconds=2.5 + lag + slow,
        unknown_seconds=Blindness().unknown_seconds + lag + late + slow,
    )


def stands_still(case: Case) -> float:
    """For how long a process may do nothing between two looks; what it asks for rests on a younger one."""
    looks = (at.fault.seconds for at in case.schedule if isinstance(at.fault, SlowLooks))
    return max((t.seconds for t in case.journal.values()), default=0.0) + max(looks, default=0.0)


def inactive(case: Case) -> float:
    """By how much later than what it may not know it acts: on too old a look it asks for nothing at all."""
    return 2 * max(0.0, stands_still(case) - Settings().look_seconds)


def falsely_blamed(case: Case, outcome: Outcome) -> Iterator[Broken]:
    """What is said of others, and nobody did."""
    for result in outcome.partitions:
        name = result.partition
        listed = case.list_changed_at(name) < float("inf")
        others = [act for _, act in case.by_others()]
        planned_otherwise = (
            listed
            or any(rests_on(case, act, name) for act in others)
            or any(case.list_changed_at(n) < float("inf") for n in grown_beside(case, name))
        )
        blamed = (result.result is Result.FOREIGN and not listed) or (
            result.result in {Result.STALE, Result.REJECTED} and not planned_otherwise
        )
        if blamed:
            yield Broken("blames-nobody", str(name), f"{name}: {result}")
    for note in outcome.notes:
        touched = {(name, key) for _, name, key in case.configured()}
        match note:
            case EntriesRemoved() if (note.topic, note.config) not in touched:
                yield Broken("blames-nobody", note.topic, str(note))
            case RateRemoved() if (str(note.broker), note.config) not in touched:
                yield Broken("blames-nobody", str(note.broker), str(note))
            case _:
                pass


def grown_beside(case: Case, name: TopicPartition) -> list[TopicPartition]:
    """The partitions that a new one is created beside: it gets their replication factor."""
    grown = [c for c in case.plan.creates if name in c.partitions]
    return [TopicPartition(c.topic, p) for c in grown for p in range(c.present)]


def rests_on(case: Case, act: SendRequest, name: TopicPartition) -> bool:
    """Whether what another tool does changes what the plan of a partition rests on."""
    match act.command:
        case AlterConfigs(changes):
            return any(
                c.name == name.topic and c.key in {MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION}
                for c in changes
            )
        case CordonDirs():
            return True
        case _:
            return bool(case.unregistered())


def not_ended(
    case: Case, run: Run, histories: dict[TopicPartition, Trajectory]
) -> Iterator[Broken]:
    """What is not at its end although nothing keeps it, or does not say what does."""
    if not run.outcomes:
        if not cancelled(run.lab):
            yield Broken("it-ends", "", "no process came to an outcome")
        return
    last = run.outcomes[-1]
    moves = {m.partition: m for m in case.plan.moves}
    opened = run.lab.ledger.application
    over = cancelled(run.lab) and opened is None
    begins_nothing = over or (opened is not None and bool(opened.cancelled_by))
    for result in last.partitions:
        if begins_nothing and result.result is Result.WAITING:
            continue
        if over and result.result is Result.RUNNING and result.partition in moves:
            # The process that took it back was killed at the very end, so the last word is that of an earlier one.
            yield from went_back(moves[result.partition], histories[result.partition])
            continue
        if result.partition in moves:
            yield from not_there(case, run, moves[result.partition], result, histories)
        else:
            yield from not_created(case, run, result)
    if last.exit_code is Exit.OK or over:
        after, before = throttles_of(run.cluster.cluster), throttles_of(case.stage.cluster)
        theirs = frozenset(case.configured())
        yield from throttles_are_known(before, after, theirs | of_unregistered(case, run))
    elif last.exit_code is Exit.HELD and not held_by_others(case, histories):
        yield Broken("it-ends", "", f"it ended with {last}")


def held_by_others(case: Case, histories: dict[TopicPartition, Trajectory]) -> bool:
    """Whether another tool, or what Kafka elects nobody for, may hold an application."""
    stuck = (blocked(case, m, histories.get(m.partition)) for m in case.plan.moves)
    return any(True for _ in case.by_others()) or any(stuck)


def of_unregistered(case: Case, run: Run) -> frozenset[tuple[str, str, str]]:
    """The rates of brokers that are gone, which the journal keeps until they are registered again."""
    return frozenset(
        ("broker", str(r.broker), r.config)
        for r in run.lab.journal.read()
        if isinstance(r, SavedRate) and r.kept and r.broker in case.unregistered()
    )


def not_created(case: Case, run: Run, result: PartitionResult) -> Iterator[Broken]:
    """New partitions that are not as wanted although nobody else acts, or do not say what they wait for."""
    name, acts = result.partition, [*case.by_others()]
    create = next(c for c in case.plan.creates if c.first == name)
    if result.result is Result.DONE and not acts:
        for new, listed in create.partitions.items():
            found = run.cluster.cluster.partition(new)
            if found is None or found.replicas != listed:
                yield Broken("arrives", str(new), f"{new}: {listed} is done, and is {found}")
    elif result.result in {Result.WAITING, Result.RUNNING}:
        if result.hold is None:
            yield Broken("says-why", str(name), f"{name}: {result}")
        elif not acts:
            yield Broken("it-ends", str(name), f"{name}: {result}")


def not_there(
    case: Case,
    run: Run,
    move: Move,
    result: PartitionResult,
    histories: dict[TopicPartition, Trajectory],
) -> Iterator[Broken]:
    name = result.partition
    match result.result:
        case Result.CANCELLED if not cancelled(run.lab):
            pass  # still on its way back, which whoever holds the application holds (`held_by_others`)
        case Result.DONE | Result.CANCELLED:
            refused = (
                {r.partition for r in run.outcomes[-1].refusals} if cancelled(run.lab) else set()
            )
            if case.list_changed_at(name) == float("inf") and name not in refused:
                there = went_back if cancelled(run.lab) else arrived
                yield from there(move, histories[name])
        case Result.WAITING | Result.RUNNING:
            if result.hold is None:
                yield Broken("says-why", str(name), f"{name}: {result}")
            elif not explained(case, run, move) and not blocked(case, move, histories.get(name)):
                yield Broken("it-ends", str(name), f"{name}: {result}")
        case _:
            pass


def went_back(move: Move, ours: Trajectory) -> Iterator[Broken]:
    """What is done when its application is cancelled stays, the rest has its original list again."""
    found = ours.samples[-1].replicas
    if found not in {move.original, move.target}:
        yield Broken(
            "goes-back",
            str(move.partition),
            f"{move.partition}: it is cancelled, and its list is {found}",
        )


def explained(case: Case, run: Run, move: Move) -> bool:
    """Whether something that never ends keeps a partition: others' reassignments, brokers that are gone, throttles."""
    lists = {LEADER_REPLICAS, FOLLOWER_REPLICAS}
    contested = any(key in lists or "rate" in key for _, _, key in case.configured())
    others_run = any(True for _ in run.cluster.cluster.reassigning())
    beside = (c for c in case.plan.creates if c.topic == move.partition.topic)
    new = {b for create in beside for b in create.brokers}  # they come first
    gone = case.unregistered() & {*move.original, *move.target, *new}
    return contested or others_run or bool(gone)
