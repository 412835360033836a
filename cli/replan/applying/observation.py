"""What a tick reads of the cluster, and what only several readings show.

What is concluded from it is in `partitions` and `decide`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.records import Command, MoveRecord
from replan.applying.reasons.holds import MetadataBehind, NotPermitted, Stalled
from replan.applying.request_memory import held_since
from replan.applying.settings import Settings
from replan.model.configs import Configs
from replan.model.control_plane import Look, ReplicaName, Wanted, listed_by_broker
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.partition import effective_min_isr
from replan.model.replica_logs import ProbedLogs
from replan.model.snapshot import Snapshot
from replan.planning.findings.health import health_of
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan


class Readings(Struct, frozen=True):
    """What was read last of what is not read in every tick, and when.

    A throttle rate costs a request to its broker, and so do the sizes of replicas. They are read at once where
    something waits for them (a change of this process is to be read back, a copy is about to begin), and else now and
    then. What was read last stands in for what is not read.
    """

    rates: Mapping[BrokerId, Configs] = field(default_factory=dict)
    rates_at: float = float("-inf")
    sizes_at: float = float("-inf")
    disks_at: float = float("-inf")
    """When the log directories were last asked about."""

    @property
    def answering(self) -> frozenset[BrokerId]:
        """The brokers whose rates are known."""
        return frozenset(self.rates)

    def wanted(
        self,
        every_tick: Wanted,
        now: float,
        settings: Settings,
        *,
        urgent: Collection[BrokerId],
        copying: Mapping[TopicPartition, Collection[BrokerId]],
    ) -> Wanted:
        """What to read now.

        The rates of `urgent` brokers are, and of those that are new; `copying` has its replicas.
        """
        due = now - self.rates_at >= settings.rates_seconds
        rates_of = [b for b in every_tick.rates_of if due or b in urgent or b not in self.rates]
        period = settings.sizes_period(len(set().union(*copying.values())))
        sizes_of = {} if now - self.sizes_at < period else listed_by_broker(copying)
        return replace(every_tick, rates_of=rates_of, sizes_of=sizes_of)

    def after(
        self, every_tick: Wanted, wanted: Wanted, look: Look, now: float
    ) -> tuple["Readings", Look]:
        """What is known after a look, and the look with it; a broker that did not answer has no rates."""
        live = {b for b in every_tick.rates_of if look.live(b)} - (
            look.silent.keys() & set(wanted.rates_of)
        )
        rates = {b: configs for b, configs in {**self.rates, **look.rates}.items() if b in live}
        read = set(wanted.rates_of) >= set(every_tick.rates_of)
        readings = replace(
            self,
            rates=rates,
            rates_at=now if read else self.rates_at,
            sizes_at=now if wanted.sizes_of else self.sizes_at,
        )
        return readings, replace(look, rates=rates)


def unshown(look: Look, name: TopicPartition) -> MetadataBehind | NotPermitted | None:
    """Why nothing can be concluded of a partition now; None where what a look shows of it is all there is.

    What is not shown is not gone.
    """
    missing = look.forbidden.get(name.topic)
    if missing is not None:
        return NotPermitted(name.topic, missing)
    return MetadataBehind() if name in look.unclear else None


def runs_own(look: Look, own: MoveRecord | None) -> bool:
    """Whether what runs on a partition is a list that was asked for of it; `own`: its record, where it has one."""
    if own is None or not own.began(look.running.get(own.partition)):
        return False
    return not made_again(look, own.partition, own.topic_id)


def made_again(look: Look, name: TopicPartition, topic_id: TopicId) -> bool:
    """Whether the topic of this id was deleted, and another one has its name: what runs there is another tool's."""
    state = look.partitions.get(name)
    return state is not None and state.topic_id != topic_id


def brings_in(
    look: Look, name: TopicPartition, topic_id: TopicId, new: Collection[BrokerId]
) -> bool:
    """Whether what runs on a partition brings one of these brokers into sync.

    Another tool's reassignment may list it as there already.
    """
    running, state = look.running.get(name), look.partitions.get(name)
    if running is None or made_again(look, name, topic_id):
        return False
    in_sync = () if state is None else state.isr
    return not set(new).difference(in_sync, running.removing).isdisjoint(running.replicas)


SHARE = 20
"""A reading may take up to a twentieth of the time; one that takes longer is made less often."""


class Neighbours(Struct, frozen=True):
    """What readings of the whole cluster showed.

    Of the partitions that are not replan's to move: which of them have fallen under their min ISR. Read now and then
    while copies wait, since it costs a reading of the whole cluster.
    """

    due: float = float("-inf")
    """When the next reading may be made, by the clock of the application."""
    before: frozenset[TopicPartition] | None = None
    """Those that were under their min ISR when this process first looked: no copy of its own is the cause."""
    fallen: Mapping[TopicPartition, Replicas] = field(default_factory=dict)
    """Those that have fallen under it since, and their replicas."""

    def after(
        self,
        snapshot: Snapshot,
        ours: Collection[TopicPartition],
        began: float,
        ended: float,
        period: float,
    ) -> "Neighbours":
        """What is known after one more reading."""
        under = {
            unhealthy.state.partition: unhealthy.state.replicas
            for unhealthy in health_of(snapshot).unhealthy
            if unhealthy.health.stops_writes and unhealthy.state.partition not in ours
        }
        before = frozenset(under) if self.before is None else self.before & under.keys()
        fallen = {name: listed for name, listed in under.items() if name not in before}
        return Neighbours(ended + max(period, SHARE * (ended - began)), before, fallen)

    def later(self, now: float, period: float) -> "Neighbours":
        """After a reading that failed: the next one is tried after as long."""
        return replace(self, due=now + period)

    def suffering(self, loaded: Collection[BrokerId]) -> tuple[TopicPartition, ...]:
        """Those that have fallen under their min ISR and have a replica on one of these brokers."""
        return tuple(sorted(n for n, of in self.fallen.items() if not set(of).isdisjoint(loaded)))


class InSyncLoss(Struct, frozen=True):
    """An in-sync replica that was lost where the ISR is at or under the minimum."""

    partition: TopicPartition
    lost: Replicas
    loaded: frozenset[BrokerId]
    """The brokers that this partition's copy loads."""


ROUNDING_SECONDS = 1e-6
"""Seconds by which a sum of shares may miss the whole."""
MISSES = 3
"""Readings in a row in which a live broker shows no log that it should have; longer than a dead one lives."""


class Size(Struct, frozen=True):
    """How much of one new replica is there."""

    bytes: int
    at: float
    moved_at: float
    """When it last changed."""
    bytes_per_second: float | None = None


Since = Mapping[TopicPartition, float]


AGREEING_LOOKS = 4
"""How many looks in a row show that replicas stay in sync, at least; however long each of them takes."""


class PartitionHistory(Struct, frozen=True):
    """What earlier looks of this process showed of the partitions that it moves.

    How long replicas have stayed in sync counts in seconds that looks vouch for. A look vouches for the time since the
    one before, up to a share of the settle time: so it takes enough looks over enough time, and a look that takes long,
    or a journal that does, delays the end and never prevents it.
    """

    target_in_sync: Since = field(default_factory=dict)
    """Since when, in vouched seconds."""
    new_in_sync: Since = field(default_factory=dict)
    vouched: float = 0.0
    """The seconds that all looks so far vouch for."""
    isr: Mapping[TopicPartition, Replicas] = field(default_factory=dict)
    """Of the last clear look."""
    looked_at: float | None = None
    """When the last look began."""
    sizes: Mapping[ReplicaName, Size] = field(default_factory=dict)
    """Of new replicas."""
    totals: Mapping[TopicPartition, int] = field(default_factory=dict)
    """How big each partition is, as of the last reading."""
    misses: Mapping[ReplicaName, int] = field(default_factory=dict)

    def after(
        self,
        moves: Mapping[TopicPartition, Move],
        look: Look,
        began: float,
        ended: float,
        settle_seconds: float,
    ) -> "PartitionHistory":
        """The history after one look at the moves in flight, which began and ended then; others are forgotten."""
        share = settle_seconds / (AGREEING_LOOKS - 1)
        vouched = self.vouched + min(self.gap(began), share)
        looked_at = vouched + min(ended - began, share)
        shown = {n: _live_isr(n, look) for n in moves if n not in look.unclear}
        unclear = [n for n in moves if n in look.unclear]
        return PartitionHistory(
            _since(self.target_in_sync, unclear, shown, lambda n: moves[n].target, looked_at),
            _since(self.new_in_sync, unclear, shown, lambda n: moves[n].new, looked_at),
            vouched,
            {n: isr for n in moves if (isr := self._isr_after(n, look)) is not None},
            began,
            {r: size for r, size in self.sizes.items() if r[0] in moves},
            {n: total for n, total in self.totals.items() if n in moves},
            {r: n for r, n in self.misses.items() if n and r[0] in moves and look.live(r[1])},
        )

    def moved(self, before: "PartitionHistory") -> bool:
        """Whether bytes have come since the look before, or an ISR is another one."""
        if any(size.moved_at > (before.looked_at or 0.0) for size in self.sizes.values()):
            return True
        return any(before.isr.get(name, isr) != isr for name, isr in self.isr.items())

    def gap(self, began: float) -> float:
        """How many seconds before this the last look began."""
        return 0.0 if self.looked_at is None else began - self.looked_at

    def without_a_look(self) -> "PartitionHistory":
        """The history after a look that failed: nothing is known of what held meanwhile, so agreeing starts again."""
        return replace(self, target_in_sync={}, new_in_sync={})

    def _isr_after(self, name: TopicPartition, look: Look) -> Replicas | None:
        state = look.partitions.get(name)
        return self.isr.get(name) if state is None or name in look.unclear else state.isr

    def losses(self, moves: Iterable[Move], look: Look) -> list[InSyncLoss]:
        """The in-sync replicas that a look shows to be lost since the one before."""
        losses = [self._loss(move, look) for move in moves if move.partition not in look.unclear]
        return [loss for loss in losses if loss is not None]

    def _loss(self, move: Move, look: Look) -> InSyncLoss | None:
        state = look.partitions.get(move.partition)
        if state is None:
            return None
        before = self.isr.get(move.partition, ())
        if before == state.isr:
            return None
        lost = tuple(b for b in before if b not in state.isr and b in state.replicas)
        settings = look.topics.get(move.partition.topic)
        m = move.min_insync_replicas if settings is None else settings.min_insync_replicas
        if not lost or len(state.isr) > effective_min_isr(m, len(state.replicas)):
            return None
        loaded = {*move.new} if state.leader is None else {state.leader, *move.new}
        return InSyncLoss(move.partition, lost, frozenset(loaded))

    def settled(self, name: TopicPartition, seconds: float) -> bool:
        """Whether the whole target has been in sync in all looks that vouch for the last seconds."""
        return self._held(self.target_in_sync, name, seconds)

    def copied(self, name: TopicPartition, seconds: float) -> bool:
        """Whether all new replicas have been in sync in all looks that vouch for the last seconds."""
        return self._held(self.new_in_sync, name, seconds)

    def _held(self, times: Since, name: TopicPartition, seconds: float) -> bool:
        since = times.get(name)
        return since is not None and self.vouched - since >= seconds - ROUNDING_SECONDS

    def with_sizes(
        self,
        moves: Mapping[TopicPartition, Move],
        read: Mapping[BrokerId, Mapping[TopicPartition, int]],
        now: float,
    ) -> "PartitionHistory":
        """Take in the sizes of the replicas of running copies, and who shows none of a partition that others show."""
        if not read:
            return self
        sizes, totals, misses = dict(self.sizes), dict(self.totals), dict(self.misses)
        for name in {name for of in read.values() for name in of if name in moves}:
            for broker in moves[name].target:
                if broker in read:  # one that does not answer shows nothing of anything
                    shown = name in read[broker]
                    misses[name, broker] = 0 if shown else misses.get((name, broker), 0) + 1
        for broker, of in read.items():
            for name, size in of.items():
                if name not in moves:
                    continue
                if broker in moves[name].new:
                    sizes[name, broker] = _resized(sizes.get((name, broker)), size, now)
                else:
                    totals[name] = max(size, totals.get(name, 0))
        return replace(self, sizes=sizes, totals=totals, misses=misses)

    def shows_no_log(self, name: TopicPartition, broker: BrokerId) -> bool:
        """Whether a broker showed no log of this partition in several readings: that disk may be lost (KIP-858)."""
        return self.misses.get((name, broker), 0) >= MISSES

    def stalled(self, move: Move, look: Look, now: float, stalled_seconds: float) -> Stalled | None:
        """Where a copy does not move, if so."""
        state = look.partitions.get(move.partition)
        for broker in move.new:
            if state is not None and broker in state.isr:
                continue
            if not look.live(broker):
                return Stalled(broker)
            size = self.sizes.get((move.partition, broker))
            if size is not None and now - size.moved_at >= stalled_seconds:
                return Stalled(broker, size.bytes, now - size.moved_at)
        return None


def _live_isr(name: TopicPartition, look: Look) -> frozenset[BrokerId]:
    state = look.partitions.get(name)
    return frozenset() if state is None else frozenset(state.live_isr(look.live))


def _since(
    before: Since,
    unclear: Iterable[TopicPartition],
    in_sync: Mapping[TopicPartition, frozenset[BrokerId]],
    wanted: Callable[[TopicPartition], Replicas],
    looked_at: float,
) -> Since:
    """Since when the wanted replicas of partitions are in sync; one that is unclear is as it was."""
    holding = [n for n in unclear if n in before]
    holding += (n for n, members in in_sync.items() if members.issuperset(wanted(n)))
    return held_since(before, holding, looked_at)


def _resized(before: Size | None, size: int, now: float) -> Size:
    if before is None:
        return Size(size, now, now)
    if now <= before.at:
        return before
    speed = max(0.0, (size - before.bytes) / (now - before.at))
    if before.bytes_per_second is not None:
        speed = 0.5 * speed + 0.5 * before.bytes_per_second
    return Size(size, now, now if size != before.bytes else before.moved_at, speed)


class Job(Struct, frozen=True):
    """What never changes while a plan is performed."""

    plan: Plan
    settings: Settings
    moves: Mapping[TopicPartition, Move]
    """The plan's moves by partition."""
    places: Mapping[TopicPartition, int]
    """Where each stands in the plan."""

    @classmethod
    def of(cls, plan: Plan, settings: Settings) -> "Job":
        """The job of performing a plan."""
        return cls(
            plan,
            settings,
            {m.partition: m for m in plan.moves},
            {m.partition: place for place, m in enumerate(plan.moves)},
        )


class TickInput(Struct, frozen=True, kw_only=True):
    """One tick's input."""

    job: Job
    look: Look
    now: float
    """When the look began, in seconds of the application's clock: what it shows is no older than this."""
    ended: float
    """When it ended: what it shows may be as young as this."""
    candidates: tuple[TopicPartition, ...] = ()
    """Waiting moves to look at, in plan order."""
    admitting: bool = True
    """False when the application is to stop: nothing new begins, what runs goes on by itself."""
    logs: Mapping[TopicPartition, ProbedLogs] = field(default_factory=dict)
    """What replicas said of their logs in this tick, of recoveries that something may be asked for."""
    commands: tuple[Command, ...] = ()
    """What has arrived for the open application, in the order in which it was sent."""
    moment: str = ""
    """The date and time, for people who read the journal; nothing is decided by it."""
    overslept: float = 0.0
    """Seconds that the pause before it was longer than wanted: a rehearsal skips time in which nothing happens."""

    @property
    def settings(self) -> Settings:
        """The numbers of the job."""
        return self.job.settings
