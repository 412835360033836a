"""From what was recorded of a run to what a person wants to know: a pure function.

That includes who waited for what, and for how long, from what the application reports while it runs; what belongs to
every copy (waiting until it is in sync, and stays so) is left out. And it includes the faults that the controller
refuses, as Kafka would: such a fault has no effect, and the report says so.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.reasons.holds import NoSlot
from replan.applying.reasons.reason import HoldReason
from replan.applying.views.outcome import Outcome, Result
from replan.applying.views.progress import Progress
from replan.faults.kinds import fault_refusals as refusals_of
from replan.faults.read import FaultSpec, schedule_of
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.safety.plan_laws import Broken
from replan.planning.safety.run_invariants import (
    Blindness,
    Crowding,
    Ends,
    Slack,
    ThrottleSettings,
    Trajectory,
    arrived,
    drops_only_what_was_replaced,
    harms_nobody,
    led_again,
    throttles_are_known,
)
from replan.rehearsal.recording import Recorder, throttles_of
from replan.rehearsal.result import (
    BrokerLoad,
    Copied,
    Harm,
    Headroom,
    HeadroomFrom,
    InjectedFault,
    LeaderChange,
    Outage,
    Recovered,
    Rehearsal,
    Waited,
)
from replan.simulator.cluster.apply_fault import apply_fault
from replan.simulator.cluster.faults import Produce, SendRequest, SlowBroker, SlowLooks
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.commands import AlterReassignments
from replan.wording import NAMES_SHOWN, capped, duration

Trajectories = Mapping[TopicPartition, Trajectory]


class RecordedRun(Struct, frozen=True, kw_only=True):
    """One run as it was recorded."""

    outcome: Outcome
    text: str
    """How it ended, in words."""
    given_up: bool
    ended: float
    recorder: Recorder
    histories: Trajectories
    waits: tuple[Waited, ...]
    throttles: ThrottleSettings
    """What is set in the end."""
    journalled: frozenset[tuple[str, str, str]]
    refused: Mapping[int, Sequence[str]]
    """What the controller answered to faults, by their number, where it refused."""
    unnameable: frozenset[BrokerId]
    """The brokers that no list could name at some moment of the run."""
    done_before: frozenset[TopicPartition]
    """What the journal counted as done before the run; its leader may have changed since."""
    unattended: tuple[tuple[float, float], ...]
    """When nobody could lift the throttle of the copies: no process was at work, or no broker answered it."""
    longest_look_seconds: float
    """The most between two looks while copies ran; 0 where the applier looked when it would."""
    places: Mapping[ReplicaName, str]
    """The log directories of the replicas that were made."""


class ComparedRun(Struct, frozen=True):
    """A run beside what it was made from and what it is compared with."""

    plan: Plan
    stage: Simulation
    faults: tuple[FaultSpec, ...]
    settle_seconds: float
    run: RecordedRun
    at_original: Trajectories
    """Nothing is done."""
    at_target: Trajectories
    """Everything was done before."""

    @property
    def began(self) -> float:
        """The virtual second in which everything begins."""
        return self.stage.world.now


def rehearsal_of_run(finding: ComparedRun) -> Rehearsal:
    """Put everything together; times count from the beginning."""
    run, began, copies = finding.run, finding.began, tuple(_copies(finding))
    stopped = tuple(r for r in run.outcome.results if r.result is not Result.DONE)
    return Rehearsal(
        completed=not stopped and run.outcome.exit_code is finding.plan.left_out,
        exit_code=run.outcome.exit_code,
        given_up=run.given_up,
        text=run.text,
        stopped=stopped,
        seconds=run.ended - began,
        moves=len(finding.plan.moves),
        changes=finding.plan.steps,
        copied_bytes=round(sum(c.bytes for c in copies)),
        throttled_seconds=run.recorder.throttled_seconds,
        longest_look_seconds=run.longest_look_seconds,
        smallest_headroom=_smallest_headroom(run.histories, began),
        headroom=tuple(_headroom(run.histories, began)),
        harm=_harm(run.histories),
        without=_harm(finding.at_original),
        brokers=tuple(_brokers(run.recorder)),
        copies=copies,
        recovered=tuple(_recovered(finding)),
        absent=tuple(
            Outage(b, at - began, None if until is None else until - began)
            for b, at, until in run.recorder.absent
        ),
        leaders=tuple(_leaders(run.histories, began)),
        waits=run.waits,
        faults=tuple(injected_faults(finding.faults, run.refused)),
        notes=(
            *map(str, run.outcome.notes),
            *_held_back(finding),
            *_full(finding),
            *_growth(finding),
        ),
        broken=tuple(_broken(finding, copies)),
    )


def injected_faults(
    faults: Sequence[FaultSpec], refused: Mapping[int, Sequence[str]]
) -> list[InjectedFault]:
    """The faults by their time; `refused`: what the controller answered, by their place."""
    injected = list[InjectedFault]()
    for number, fault in enumerate(faults):
        begins, ends = fault.at_seconds, fault.schedule[-1].seconds
        answers = tuple(refused.get(number, ()))
        injected.append(InjectedFault(begins, ends if ends > begins else None, fault.text, answers))
    return sorted(injected, key=lambda h: h.at_seconds)


def _harm(histories: Trajectories) -> Harm:
    return Harm(
        sum(t.under_min_isr_seconds for t in histories.values()),
        sum(t.leaderless_seconds for t in histories.values()),
        round(sum(t.lost_bytes for t in histories.values())),
    )


def _smallest_headroom(histories: Trajectories, began: float) -> Headroom | None:
    """The smallest headroom; where several share it, one that had more before, then the earliest, then by name."""
    headrooms = [
        (sample.margin, -history.samples[0].margin, sample.at, name)
        for name, history in histories.items()
        for sample in history.samples
    ]
    if not headrooms:
        return None
    margin, before, at, name = min(headrooms)
    sample = histories[name].at(at)
    return Headroom(margin, name, at - began, len(sample.in_sync), sample.min_in_sync, -before)


def _headroom(histories: Trajectories, began: float) -> Iterator[HeadroomFrom]:
    """The least of all partitions over time, without moments that change nothing."""
    samples = sorted(
        (sample.at, name, sample.margin)
        for name, history in histories.items()
        for sample in history.samples
    )
    now: dict[TopicPartition, int] = {}
    margins, before = Counter[int](), None
    for at, at_once in groupby(samples, key=itemgetter(0)):
        for _, name, margin in at_once:
            if name in now:
                margins[now[name]] -= 1
            now[name] = margin
            margins[margin] += 1
        least = min(margin for margin, number in margins.items() if number)
        if least != before:
            yield HeadroomFrom(max(0.0, at - began), least)
        before = least


def _brokers(recorder: Recorder) -> Iterator[BrokerLoad]:
    load = recorder.load
    final = load.final_held()
    for broker in sorted({*load.peak_out, *load.peak_in, *final}):
        yield BrokerLoad(
            broker,
            load.peak_out.get(broker, 0.0),
            load.peak_in.get(broker, 0.0),
            round(load.peak_held.get(broker, 0.0)),
            round(final.get(broker, 0.0)),
            round(load.sent.get(broker, 0.0)),
            round(load.received.get(broker, 0.0)),
            load.busiest.get(broker),
        )


def _copies(finding: ComparedRun) -> Iterator[Copied]:
    """Each new replica of each move that began, in order of its beginning."""
    copies = [
        copied
        for move in finding.plan.moves
        if (history := finding.run.histories.get(move.partition)) is not None
        for broker in move.new
        if (copied := _copied(finding, move, broker, history)) is not None
    ]
    return iter(sorted(copies, key=lambda c: (c.began, c.partition, c.broker)))


def _copied(
    finding: ComparedRun, move: Move, broker: BrokerId, history: Trajectory
) -> Copied | None:
    listed = next((s for s in history.samples if broker in s.replicas), None)
    if listed is None:
        return None
    joined = next((s.at for s in history.samples if broker in s.in_sync), None)
    fetched = finding.run.recorder.load.replica_bytes.get((move.partition, broker), 0.0)
    return Copied(
        move.partition,
        listed.leader,
        broker,
        round(fetched),
        listed.at - finding.began,
        None if joined is None else joined - finding.began,
    )


def _recovered(finding: ComparedRun) -> Iterator[Recovered]:
    lost = {r.partition: r.lost for r in finding.run.outcome.partitions}
    for recovery in finding.plan.recoveries:
        name, history = recovery.partition, finding.run.histories.get(recovery.partition)
        yield Recovered(
            name,
            recovery.chosen,
            None if history is None else history.samples[-1].leader,
            recovery.clean,
            recovery.loss.records,
            lost.get(name),
        )


def _leaders(histories: Trajectories, began: float) -> Iterator[LeaderChange]:
    changes = [
        LeaderChange(name, after.at - began, before.leader, after.leader)
        for name, history in histories.items()
        for before, after in zip(history.samples, history.samples[1:], strict=False)
        if before.leader != after.leader
    ]
    return iter(sorted(changes, key=lambda c: (c.at_seconds, c.partition)))


def _broken(finding: ComparedRun, copies: Sequence[Copied]) -> Iterator[Broken]:
    """The invariants of a run, of every partition that no other tool has changed."""
    run = finding.run
    span = finding.began, run.ended
    crowding = _crowding_by_broker(finding.stage, finding.faults, copies, span)
    late, usual = _longest_look(finding.faults), Blindness()
    blind = Blindness(
        unseen_seconds=usual.unseen_seconds + late, unknown_seconds=usual.unknown_seconds + late
    )
    slack = _slack(finding)
    slack = replace(slack, in_sync_seconds=slack.in_sync_seconds + 2 * late)
    results = {r.partition: r.result for r in run.outcome.partitions}
    reassigned = _reassigned_by_others(finding.faults)
    for move in finding.plan.moves:
        name, history = move.partition, run.histories.get(move.partition)
        result = results.get(name)
        foreign = name in reassigned or result in {Result.FOREIGN, Result.STALE, Result.REJECTED}
        if history is None or foreign:
            continue
        yield from drops_only_what_was_replaced(
            move, history, finding.settle_seconds, blind, run.unnameable
        )
        if (ends := _ends(finding, name)) is not None:
            crowded = [crowding.get(b, ()) for b in (*move.original, *move.new)]
            yield from harms_nobody(history, ends, replace(slack, crowded=crowded))
        if result is Result.DONE and name not in run.done_before:
            yield from arrived(move, history)
    for recovery in finding.plan.recoveries:
        history = run.histories.get(recovery.partition)
        if history is not None and results.get(recovery.partition) is Result.DONE:
            yield from led_again(recovery, history)
    if not finding.faults:
        before = dict(throttles_of(finding.stage.cluster))
        for wanted in finding.plan.standing:
            where = wanted.setting.scope.value, wanted.setting.name, wanted.setting.key
            before.pop(where, None)
            if wanted.after is not None:
                before[where] = wanted.after
        yield from throttles_are_known(before, run.throttles, run.journalled)


def _reassigned_by_others(faults: Sequence[FaultSpec]) -> frozenset[TopicPartition]:
    """The partitions of which another tool asks for a list, or cancels one: it may be the plan's own."""
    requests = (at.fault.command for at in schedule_of(faults) if isinstance(at.fault, SendRequest))
    return frozenset(
        name
        for request in requests
        if isinstance(request, AlterReassignments)
        for name, _ in request.items
    )


def _crowding_by_broker(
    stage: Simulation,
    faults: Sequence[FaultSpec],
    copies: Sequence[Copied],
    span: tuple[float, float],
) -> Mapping[BrokerId, Sequence[Crowding]]:
    """The copies that each broker sent or received; `span`: the seconds when the run began and ended.

    Replicas that come back share the networks with them, and are late by so much. What is written and replicated has
    its part of a network in any case, whoever leads; copies are counted with what that leaves of the slowest network or
    disk that there was.
    """
    began, ended = span
    speeds = stage.world.speeds
    slowed = [
        at.fault.bytes_per_second
        for at in schedule_of(faults)
        if isinstance(at.fault, SlowBroker) and at.fault.bytes_per_second
    ]
    slowest = min(speeds.network_bytes_per_second, speeds.disk_bytes_per_second, *slowed)
    taken = _taken_by_producing(stage, faults, copies)
    by_broker: dict[BrokerId, list[Crowding]] = {}
    for copy in copies:
        until = ended if copy.in_sync is None else began + copy.in_sync
        for broker in (copy.broker, copy.source):
            if broker is not None:
                left = slowest - taken[broker]
                seconds = copy.bytes / left if left > 0 else math.inf
                by_broker.setdefault(broker, []).append(
                    Crowding(began + copy.began, until, seconds)
                )
    return by_broker


def _taken_by_producing(
    stage: Simulation, faults: Sequence[FaultSpec], copies: Sequence[Copied]
) -> Counter[BrokerId]:
    """Bytes per second that each broker at most sends, or receives, of what is written."""
    most = dict(stage.world.produce)
    for fault in (at.fault for at in schedule_of(faults)):
        if isinstance(fault, Produce):
            most[fault.partition] = max(most.get(fault.partition, 0.0), fault.bytes_per_second)
    new: dict[TopicPartition, set[BrokerId]] = {}
    for copy in copies:
        new.setdefault(copy.partition, set()).add(copy.broker)
    taken = Counter[BrokerId]()
    for name, rate in most.items():
        partition = stage.cluster.partition(name)
        members = new.get(name, set()) | set(() if partition is None else partition.replicas)
        for broker in members:
            taken[broker] += math.ceil(rate * max(1, len(members) - 1))
    return taken


def _ends(finding: ComparedRun, name: TopicPartition) -> Ends | None:
    if name not in finding.at_original or name not in finding.at_target:
        return None
    return Ends(at_original=finding.at_original[name], at_target=finding.at_target[name])


def _slack(finding: ComparedRun) -> Slack:
    return Slack(unattended=() if finding.plan.throttle is None else finding.run.unattended)


def _longest_look(faults: Sequence[FaultSpec]) -> float:
    """Seconds by which what a look shows may be old, and what follows from it late."""
    slow = (at.fault.seconds for at in schedule_of(faults) if isinstance(at.fault, SlowLooks))
    return max(slow, default=0.0)


def _held_back(finding: ComparedRun) -> Iterator[str]:
    """What the throttle of copies has cost replicas that were out of sync, while nobody could lift it."""
    slack, names = _slack(finding), list[str]()
    for name, history in finding.run.histories.items() if slack.unattended else ():
        ends = _ends(finding, name)
        if ends is not None and [*harms_nobody(history, ends, Slack())] != [
            *harms_nobody(history, ends, slack)
        ]:
            names.append(str(name))
    if names:
        yield (
            "while no process was at work, or no broker answered it, replicas that were out of sync caught up under "
            f"the copies' throttle, later than without the plan: {', '.join(capped(sorted(names), limit=NAMES_SHOWN))}"
        )


def _full(finding: ComparedRun) -> Iterator[str]:
    for broker, path, at in finding.run.recorder.full:
        yield (
            f"log directory {path} of broker {broker} was full after {duration(at - finding.began)}: Kafka takes it "
            "offline, with all replicas in it"
        )


def _growth(finding: ComparedRun) -> Iterator[str]:
    """The brokers whose disks have less room than is written to them meanwhile, which fills no disk of a rehearsal."""
    world, written = finding.stage.world, defaultdict[BrokerId, float](float)
    for name, rate in world.produce.items():
        partition = finding.stage.cluster.partition(name)
        for broker in () if partition is None else partition.replicas:
            written[broker] += rate * (finding.run.ended - finding.began)
    room = defaultdict[BrokerId, int](int)
    for d in world.log_dirs:
        room[d.broker] += d.usable_bytes or 0
    short = [str(b) for b in sorted(room) if written[b] > room[b]]
    if short:
        yield (
            "what producers write meanwhile is more than the disks have room for, unless retention deletes as much, "
            f"which a rehearsal takes for granted: brokers {', '.join(capped(short, limit=NAMES_SHOWN))}"
        )


class ReportedWaits:
    """Takes in the reports of an application."""

    def __init__(self, own: Collection[TopicPartition] = ()) -> None:
        """`own`: what an application of replan's moves that is open before the rehearsal begins."""
        self._own = own
        self._mentions: dict[TopicPartition, list[tuple[float, HoldReason]]] = defaultdict(list)

    def __call__(self, progress: Progress) -> None:
        """Take in one report."""
        at = progress.now  # a second run of the command counts its own seconds from its beginning
        for name, reason in (progress.holds or {}).items():
            mentions = self._mentions.get(name)
            if mentions is None or mentions[-1][1] is not reason:
                self._note(name, at, reason)
        if progress.admission is not None and progress.holds is not None:
            for name in progress.holds:
                self._note(name, at, progress.admission)

    def _note(self, name: TopicPartition, at: float, reason: HoldReason) -> None:
        mentions = self._mentions[name]
        if not mentions or mentions[-1][1] != reason:
            mentions.append((at, reason))

    def by_kind(self, histories: Mapping[TopicPartition, Trajectory], ended: float) -> list[Waited]:
        """All kinds of reasons, the longest wait first; a wait ends with another reason, or when the list changes."""
        longest: dict[type[HoldReason], dict[TopicPartition, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        first: dict[tuple[type[HoldReason], TopicPartition], HoldReason] = {}
        for name, mentions in sorted(self._mentions.items()):
            ends = [*(at for at, _ in mentions[1:]), ended]
            for (at, reason), end in zip(mentions, ends, strict=True):
                if reason.routine:
                    continue
                over = min(end, _changed_after(histories.get(name), at, ended))
                longest[type(reason)][name] += over - at
                first.setdefault((type(reason), name), reason)
        waited = []
        for kind, of in longest.items():
            name = min(of, key=lambda n: (-of[n], n))
            waited.append(Waited(with_own(first[kind, name], self._own), len(of), name, of[name]))
        return sorted(waited, key=lambda w: (-w.longest_seconds, w.reason.kind))


def with_own(reason: HoldReason, own: Collection[TopicPartition]) -> HoldReason:
    """A reason that does not call the reassignments of replan's open application another tool's."""
    if not isinstance(reason, NoSlot):
        return reason
    ours = tuple(name for name in reason.others if name in own)
    return replace(reason, others=tuple(n for n in reason.others if n not in ours), own=ours)


def _changed_after(history: Trajectory | None, at: float, ended: float) -> float:
    """When the list of a partition next changes."""
    if history is None:
        return ended
    replicas = history.at(at).replicas
    return next((s.at for s in history.samples if s.at > at and s.replicas != replicas), ended)


class RefusedFaults:
    """Looks at the cluster right before each fault happens."""

    def __init__(self, faults: Sequence[FaultSpec], stage: Simulation) -> None:
        """The faults count from the present of the stage."""
        self.refusals: dict[int, list[str]] = defaultdict(list)
        """By the place of the fault in the order in which they were asked for."""
        began = stage.world.now
        due_faults = [
            (began + at.seconds, number, at.fault)
            for number, fault in enumerate(faults)
            for at in fault.schedule
        ]
        self._ahead = sorted(due_faults, key=lambda due: due[0])
        self.look(stage, began)

    def look(self, simulation: Simulation, until: float) -> None:
        """Take in the cluster up to a moment; nothing but bytes has happened to it before that."""
        while self._ahead and self._ahead[0][0] <= until:
            _, number, fault = self._ahead.pop(0)
            self.refusals[number] += refusals_of(simulation.cluster, fault)
            simulation = apply_fault(simulation, fault)
