"""What one tick does about all throttles. Pure.

Lists of topics (`ListStep`), rates of brokers (`RateStep`), which rates give way to a replica that catches up, and who
took what away (`ThrottleHistory`).
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Forget, Record, SavedRate, SavedReplicaList
from replan.applying.reasons.holds import ThrottleContested
from replan.applying.reasons.notes import (
    EntriesRemoved,
    RateChanged,
    RateGivesWay,
    RateKept,
    RateRemoved,
    RateUnused,
    UnreadList,
    UnrestoredRate,
)
from replan.applying.reasons.reason import Note
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    Configs,
    ConfigScope,
    ConfigSource,
    TopicSettings,
    broker_change,
    elements,
    override_of,
    own_value,
    topic_change,
)
from replan.model.control_plane import Look, TopicPermission
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.plans.standing_throttles import by_number

ListKey = tuple[str, str]
"""A topic and one of its two throttled-replicas keys."""
ListEntries = Mapping[ListKey, frozenset[str]]


class RunningCopy(Struct, frozen=True):
    """A reassignment of another tool: from where to where it copies."""

    partition: TopicPartition
    original: Replicas
    new: Replicas


class ThrottledCopy(Struct, frozen=True):
    """A move in expand, or another tool's reassignment, as far as throttles are concerned."""

    move: Move | RunningCopy
    leader_throttle_suspended: bool = False
    """A replica catches up beside it: the leader side is left free, or that one would starve behind the copy."""

    @property
    def sources(self) -> Replicas:
        """Whose leader side is throttled: all original replicas, since leadership may move while it copies.

        On the follower side only new replicas are: one that is in sync is never slowed, but its bytes would be counted.
        """
        return () if self.leader_throttle_suspended else self.move.original


def catches_up_beside(
    original: Replicas, stays: Collection[BrokerId], isr: Replicas, look: Look
) -> bool:
    """Whether a replica of the original list is out of the ISR that needs what the leader sends.

    Any that stays; and one that leaves, on a live broker: while it is listed it counts for min ISR.
    """
    out = set(original).difference(isr)
    return not out.isdisjoint(stays) or any(look.live(b) for b in out)


class ListStep(Struct, frozen=True):
    """What one tick does about one list.

    Ours is what was absent from the list in the reading just before. The journal holds a superset of what is ours at
    every moment: an entry is written down before it is appended, and forgotten only after the list was seen without it.

    Kafka's ways that this rests on (ConfigurationControlManager, IncrementalAlterConfigs): SUBTRACT on an absent key
    makes an empty override, so only what is there is subtracted; APPEND of an empty string adds an empty element, so it
    is never done; one key may appear once in a request; `*` stands alone, and appending to it is refused.
    """

    records: tuple[Record, ...] = ()
    removals: tuple[ConfigChange, ...] = ()
    additions: tuple[ConfigChange, ...] = ()
    wiped: frozenset[str] = frozenset()
    """Entries that were in place and that another tool removed."""
    in_place: frozenset[str] = frozenset()
    """Entries set by replan, and wanted, that are there."""


def wanted_entries(copies: Iterable[ThrottledCopy], throttle: MoveThrottle | None) -> ListEntries:
    """All entries that should be there now, by list."""
    wanted: dict[ListKey, set[str]] = {}
    if throttle is None:
        return {}
    leaders, followers = dict[BrokerId, bool](), dict[BrokerId, bool]()
    for copy in copies:
        topic, number = copy.move.partition
        for side, limited, config, brokers in (
            (Side.LEADER, leaders, LEADER_REPLICAS, copy.sources),
            (Side.FOLLOWER, followers, FOLLOWER_REPLICAS, copy.move.new),
        ):
            entries = wanted.setdefault((topic, config), set())
            for broker in brokers:
                if broker not in limited:
                    limited[broker] = throttle.rate_of(broker, side) is not None
                if limited[broker]:
                    entries.add(f"{number}:{broker}")
    return {where: frozenset(entries) for where, entries in wanted.items() if entries}


def unread_lists(
    entries: Iterable[ListKey], forbidden: Mapping[str, TopicPermission]
) -> tuple[UnreadList, ...]:
    """The lists that cannot be put back because this user may not read them."""
    return tuple(
        UnreadList(topic, config, forbidden[topic])
        for topic, config in sorted(entries)
        if topic in forbidden
    )


def covers(override: str | None, wanted: Collection[str]) -> bool:
    """Whether all wanted entries are in force."""
    present = elements(override)
    return "*" in present or set(wanted) <= set(present)


def list_step(
    where: ListKey,
    wanted: frozenset[str],
    prior: SavedReplicaList | None,
    override: str | None,
    *,
    seen_in_place: frozenset[str] = frozenset(),
    may_raise: bool = True,
    may_arrive: bool = False,
) -> ListStep:
    """What to do about one list: at most one SUBTRACT or DELETE, and one APPEND.

    `seen_in_place` are entries set by replan that an earlier reading showed. Without `may_raise` nothing is
    appended. While an earlier APPEND `may_arrive` yet, what replan set stays written down although it is gone.
    """
    present = set(elements(override))
    ours = frozenset(prior.ours) if prior else frozenset()
    if wanted and wanted == ours and wanted <= present:
        return ListStep(in_place=wanted)
    missing = wanted - present if "*" not in present else frozenset()
    added = missing if may_raise else frozenset()
    surplus = (ours - wanted) & present
    kept = (ours if may_arrive else ours & (present | wanted)) | added
    step = _Draft(where, override, prior, kept)
    return ListStep(
        records=step.records(),
        removals=step.removals(surplus),
        additions=(_change(where, ConfigOperation.APPEND, added),) if added else (),
        wiped=missing & seen_in_place & ours,
        in_place=ours & present & wanted,
    )


class _Draft(Struct, frozen=True):
    """One list on its way: what is there, what was there, and what stays ours."""

    where: ListKey
    override: str | None
    prior: SavedReplicaList | None
    ours: frozenset[str]

    def records(self) -> tuple[Record, ...]:
        if self.prior is None:
            return (self._record(overridden=self.override is not None),) if self.ours else ()
        if self.ours or self._leaves_empty_override():
            unchanged = self.ours == frozenset(self.prior.ours)
            return () if unchanged else (self._record(overridden=self.prior.overridden),)
        return (Forget(self.prior.key),)

    def removals(self, surplus: frozenset[str]) -> tuple[ConfigChange, ...]:
        if surplus:
            return (_change(self.where, ConfigOperation.SUBTRACT, surplus),)
        if self.prior is not None and not self.ours and self._leaves_empty_override():
            return (topic_change(*self.where, ConfigOperation.DELETE),)
        return ()

    def _leaves_empty_override(self) -> bool:
        """Kafka keeps an empty override after the last SUBTRACT; it was not there before us."""
        return self.prior is not None and not self.prior.overridden and self.override == ""

    def _record(self, *, overridden: bool) -> SavedReplicaList:
        return SavedReplicaList(*self.where, overridden, tuple(sorted(self.ours, key=by_number)))


def _change(where: ListKey, operation: ConfigOperation, entries: Iterable[str]) -> ConfigChange:
    return topic_change(*where, operation, ",".join(sorted(entries, key=by_number)))


RateKey = tuple[BrokerId, str]
"""A broker and one of its two rate keys."""


class RateStep(Struct, frozen=True):
    """What one tick does about one rate.

    During a move the lower of the standing rate and the move's rate holds: a broker that is slower already is left
    alone. Only a broker's own dynamic value is what was there before (ConfigSource.BROKER): a value in its file is
    shown by Kafka but not used, and the cluster's default stays where it is. A rate is put back only while it has a
    value that we set.

    Kafka keeps the configuration of a broker that is unregistered, and refuses to change it (102,
    QuorumController.ConfigResourceExistenceChecker): nobody uses it, until a broker registers with that id again. So it
    keeps no application open; it stays written down, and whatever application comes next restores it once it can.
    """

    records: tuple[Record, ...] = ()
    change: ConfigChange | None = None
    in_place: bool = True
    """Nothing faster than wanted is in force."""
    wiped: bool = False
    """Our value was seen in place, and another tool removed it."""
    note: Note | None = None


def wanted_rates(
    copies: Iterable[ThrottledCopy], throttle: MoveThrottle | None
) -> dict[RateKey, int]:
    """The rates of brokers that have entries, bytes per second; leader and follower side apart."""
    if throttle is None:
        return {}
    leaders, followers = set[BrokerId](), set[BrokerId]()
    for copy in copies:
        leaders.update(copy.sources)
        followers.update(copy.move.new)
    sides = ((Side.LEADER, LEADER_RATE, leaders), (Side.FOLLOWER, FOLLOWER_RATE, followers))
    return {
        (broker, config): rate
        for side, config, brokers in sides
        for broker in brokers
        if (rate := throttle.rate_of(broker, side)) is not None
    }


def effective_rate(configs: Configs, config: str) -> int | None:
    """The rate that is in force: dynamic values count, those of files do not; None is no limit."""
    setting = configs.get(config)
    dynamic = (ConfigSource.BROKER, ConfigSource.CLUSTER_DEFAULT)
    return int(setting.value) if setting is not None and setting.source in dynamic else None


def step_aside(
    where: RateKey, rate: int, prior: SavedRate | None, configs: Configs, *, may_arrive: bool
) -> RateStep:
    """What to do about a rate that is wanted and gives way for now: what was there before holds."""
    if prior is not None:
        return replace(restore_step(prior, configs, may_arrive=may_arrive), in_place=False)
    standing = effective_rate(configs, where[1])
    return RateStep(in_place=standing is not None and standing <= rate)


def raise_step(
    where: RateKey,
    rate: int,
    prior: SavedRate | None,
    configs: Configs,
    *,
    seen_in_place: bool,
    may_arrive: bool = False,
) -> RateStep:
    """What to do about a rate that is wanted; what was set before stays written down while a SET `may_arrive` yet."""
    value = own_value(configs, where[1])
    if prior is None:
        standing = effective_rate(configs, where[1])
        if standing is not None and standing <= rate:
            return RateStep()
        return _set(where, SavedRate(*where, value, (str(rate),)), written=None)
    wanted = str(rate if prior.before is None else min(rate, int(prior.before)))
    if value == wanted:
        return RateStep(() if may_arrive and wanted in prior.ours else _recorded(prior, wanted))
    if value is not None and value != prior.before and value not in prior.ours:
        return RateStep(note=RateChanged(*where, value))
    wiped = seen_in_place and value not in prior.ours
    ours = (*(v for v in prior.ours if v != wanted), wanted)
    step = _set(where, SavedRate(*where, prior.before, ours), written=prior)
    return RateStep(step.records, step.change, in_place=False, wiped=wiped)


def _set(where: RateKey, record: SavedRate, *, written: SavedRate | None) -> RateStep:
    change = broker_change(*where, ConfigOperation.SET, record.ours[-1])
    return RateStep(() if record == written else (record,), change, in_place=False)


def _recorded(prior: SavedRate, wanted: str) -> tuple[Record, ...]:
    """Values that were ours earlier are dropped once the wanted one is seen."""
    return () if prior.ours == (wanted,) else (SavedRate(*_of(prior), prior.before, (wanted,)),)


def _of(prior: SavedRate) -> RateKey:
    return prior.broker, prior.config


def restore_step(prior: SavedRate, configs: Configs, *, may_arrive: bool = False) -> RateStep:
    """What to do about a rate that is not wanted any more; it stays written down while a SET `may_arrive` yet."""
    value = own_value(configs, prior.config)
    if value == prior.before:
        return RateStep(() if may_arrive else (Forget(prior.key),))
    if value not in prior.ours:
        return RateStep(
            (Forget(prior.key),), note=RateKept(prior.broker, prior.config, value, prior.before)
        )
    if prior.before is None:
        change = broker_change(*_of(prior), ConfigOperation.DELETE)
    else:
        change = broker_change(*_of(prior), ConfigOperation.SET, prior.before)
    return RateStep(change=change, in_place=False)


def of_unregistered(
    rates: Mapping[RateKey, SavedRate],
    wanted: Collection[RateKey],
    unregistered: Collection[BrokerId],
) -> list[SavedRate]:
    """The rates that are to be restored, and that no broker uses."""
    return [
        prior
        for where, prior in sorted(rates.items())
        if where[0] in unregistered and where not in wanted
    ]


def leftovers(
    rates: Mapping[RateKey, SavedRate],
    answered: Collection[BrokerId],
    unregistered: Collection[BrokerId] = (),
) -> tuple[UnrestoredRate, ...]:
    """The rates that cannot be put back because their broker, which is registered, does not answer."""
    return tuple(
        UnrestoredRate(prior.broker, prior.config, prior.before)
        for (broker, _), prior in sorted(rates.items())
        if broker not in answered and broker not in unregistered
    )


CatchingUp = tuple[RateKey, TopicPartition]
"""A rate, and a partition of which a replica comes back at it because of an entry that replan did not set."""


def behind_entries_of_others(look: Look, ledger: Ledger) -> Iterator[CatchingUp]:
    """The live replicas out of the ISR, new ones apart, whose fetches such an entry limits at a rate of replan's.

    An entry of throttled replicas that replan did not set limits nothing until its broker has a rate, and replan sets
    rates for its copies. A replica that falls out of the ISR would then come back at that rate, shared with the copies,
    though without replan nothing held it. The entry belongs to whoever set it and stays; the rate is replan's own, and
    goes back to what it was before until the replica is in sync. Meanwhile no copy begins that needs the rate; those
    that run stay throttled on their other side. Fetches are limited by the leader's rate if the leader's list names the
    replica of the leader, and by the follower's if the follower's list names that of the follower (ReplicaManager,
    ReplicaFetcherThread).
    """
    for name, state in look.partitions.items():
        settings = look.topics.get(name.topic)
        if settings is None or state.leader is None:
            continue
        out = set(state.replicas).difference(state.isr, state.adding)
        if not out:
            continue
        for broker in sorted(b for b in out if look.live(b)):
            for config, of, limit in (
                (LEADER_REPLICAS, state.leader, LEADER_RATE),
                (FOLLOWER_REPLICAS, broker, FOLLOWER_RATE),
            ):
                if _named_by_others(name, of, config, settings, ledger):
                    yield (of, limit), name


def _named_by_others(
    name: TopicPartition, broker: BrokerId, config: str, settings: TopicSettings, ledger: Ledger
) -> bool:
    present, prior = (
        elements(override_of(settings, config)),
        ledger.entries.get((name.topic, config)),
    )
    ours = () if prior is None else prior.ours
    entry = f"{name.partition}:{broker}"
    return "*" in present or (entry in present and entry not in ours)


ListOrRate = ListKey | RateKey


class ThrottleHistory(Struct, frozen=True):
    """What earlier readings of this process showed.

    What another tool removes is set again once, and reported; when it is removed again nothing new is admitted, because
    two tools on one throttle end with a copy that runs free. What replan itself takes away is not expected to be there,
    and while a change of its own may still arrive nobody else is blamed.
    """

    entries: Mapping[ListKey, frozenset[str]] = field(default_factory=dict)
    """Entries set by replan that were seen in place."""
    rates: frozenset[RateKey] = frozenset()
    """Rates set by replan that were seen in place."""
    wiped: Mapping[ListOrRate, int] = field(default_factory=dict)
    """How often another tool removed what replan had set."""
    gone: frozenset[str] = frozenset()
    """Topics that agreeing readings did not find."""
    unregistered: frozenset[BrokerId] = frozenset()
    """Brokers that agreeing readings did not find."""
    catching_up: Mapping[CatchingUp, float] = field(default_factory=dict)
    """What gives way to which partition, and since when (`behind_entries_of_others`)."""
    giving_way: frozenset[RateKey] = frozenset()
    """Rates that two agreeing looks found in the way of a replica that catches up."""
    may_arrive: frozenset[ConfigResource] = frozenset()
    """Topics and brokers that an earlier change may still reach: what replan set there stays written down."""


class ThrottleInput(Struct, frozen=True):
    """What is read of throttles in one tick."""

    topics: Mapping[str, TopicSettings]
    brokers: Mapping[BrokerId, Configs]
    """Of the brokers that answered."""
    history: ThrottleHistory = field(default_factory=ThrottleHistory)
    live: Collection[BrokerId] = frozenset()
    """The brokers that are not fenced, whether they answered or not."""


class WantedThrottles(Struct, frozen=True):
    """What should be set now."""

    entries: ListEntries = field(default_factory=dict)
    rates: Mapping[RateKey, int] = field(default_factory=dict)
    """Bytes per second."""

    @classmethod
    def of(
        cls, copies: Sequence[ThrottledCopy], throttle: MoveThrottle | None
    ) -> "WantedThrottles":
        """What these copies need."""
        return cls(wanted_entries(copies, throttle), wanted_rates(copies, throttle))


class ThrottleTick(Struct, frozen=True):
    """What one tick does about all throttles."""

    records: tuple[Record, ...] = ()
    removals: tuple[ConfigChange, ...] = ()
    """SUBTRACT and DELETE of entries; sent before `additions`, in a request of its own."""
    additions: tuple[ConfigChange, ...] = ()
    """APPEND of entries; SET and DELETE of rates."""
    later: tuple[ConfigChange, ...] = ()
    """Changes that pause: they were asked for before, without an answer."""
    wiped: frozenset[ListOrRate] = frozenset()
    notes: tuple[Note, ...] = ()
    entries: ListEntries = field(default_factory=dict)
    """What is wanted."""
    entries_in_place: ListEntries = field(default_factory=dict)
    """Of the lists that replan has changed: what is wanted, was set by replan, and is there."""
    rates_in_force: frozenset[RateKey] = frozenset()
    """Rates that are wanted and in force."""

    @property
    def quiet(self) -> bool:
        """Whether nothing is left to do."""
        return not (self.records or self.removals or self.additions or self.later)

    def without(self, early: Container[object]) -> "ThrottleTick":
        """The same while these changes pause."""
        later = tuple(c for c in (*self.removals, *self.additions) if c in early)
        return replace(
            self,
            removals=tuple(c for c in self.removals if c not in early),
            additions=tuple(c for c in self.additions if c not in early),
            later=later,
        )


def with_kept(
    wanted: WantedThrottles,
    copies: Sequence[ThrottledCopy],
    ledger: Ledger,
    view: ThrottleInput,
    released: Collection[ConfigResource],
) -> WantedThrottles:
    """What is wanted, and the entries that are to stay although their copy is over.

    Not those of a copy whose leader side is free for now, nor those of `released` topics; what another tool has removed
    is not set again.
    """
    free = {c.move.partition for c in copies if c.leader_throttle_suspended}
    entries = dict(wanted.entries)
    for where, prior in ledger.entries.items():
        settings = view.topics.get(where[0])
        if settings is None or (ConfigScope.TOPIC, where[0]) in released:
            continue
        present = elements(override_of(settings, where[1]))
        suspended = {p.partition for p in free if p.topic == where[0]}
        stay = {
            e
            for e in set(prior.ours).intersection(present)
            if where[1] != LEADER_REPLICAS or int(e.partition(":")[0]) not in suspended
        }
        entries[where] = entries.get(where, frozenset()) | stay
    return replace(wanted, entries={where: of for where, of in entries.items() if of})


def throttle_tick(
    wanted: WantedThrottles,
    ledger: Ledger,
    view: ThrottleInput,
    *,
    keep_rates: bool,
    released: Collection[ConfigResource] = (),
) -> ThrottleTick:
    """What to do about throttles; with `keep_rates` rates stay although no copy runs now, except of `released`."""
    lists = dict(_list_steps(wanted.entries, ledger, view))
    kept = frozenset(
        rate
        for rate in (ledger.rates if keep_rates else ())
        if (ConfigScope.BROKER, str(rate[0])) not in released
    )
    rates = dict(_rate_steps(wanted.rates, ledger, view, kept))
    forgotten = tuple(
        Forget(prior.key)
        for (topic, _), prior in sorted(ledger.entries.items())
        if topic in view.history.gone
    )
    unused = of_unregistered(ledger.rates, wanted.rates, view.history.unregistered)
    wiped: set[ListOrRate] = {where for where, step in lists.items() if step.wiped}
    wiped |= {where for where, step in rates.items() if step.wiped}
    return ThrottleTick(
        records=forgotten
        + tuple(replace(prior, kept=True) for prior in unused if not prior.kept)
        + tuple(r for step in lists.values() for r in step.records)
        + tuple(r for step in rates.values() for r in step.records),
        removals=tuple(c for step in lists.values() for c in step.removals),
        additions=tuple(c for step in lists.values() for c in step.additions)
        + tuple(step.change for step in rates.values() if step.change is not None),
        wiped=frozenset(wiped),
        notes=_notes(lists, rates, view.history)
        + tuple(RateUnused(prior.broker, prior.config, prior.before) for prior in unused),
        entries=wanted.entries,
        entries_in_place={
            where: step.in_place for where, step in lists.items() if where in ledger.entries
        },
        rates_in_force=frozenset(
            where for where, step in rates.items() if step.in_place and where in wanted.rates
        ),
    )


def _list_steps(
    wanted: ListEntries, ledger: Ledger, view: ThrottleInput
) -> Iterable[tuple[ListKey, ListStep]]:
    for where in sorted({*wanted, *ledger.entries}):
        settings = view.topics.get(where[0])
        if settings is None:
            continue
        yield (
            where,
            list_step(
                where,
                wanted.get(where, frozenset()),
                ledger.entries.get(where),
                override_of(settings, where[1]),
                seen_in_place=frozenset()
                if (late := (ConfigScope.TOPIC, where[0]) in view.history.may_arrive)
                else view.history.entries.get(where, frozenset()),
                may_raise=_may_raise(where, view.history),
                may_arrive=late,
            ),
        )


def _rate_steps(
    wanted: Mapping[RateKey, int], ledger: Ledger, view: ThrottleInput, kept: Collection[RateKey]
) -> Iterable[tuple[RateKey, RateStep]]:
    for where in sorted({*wanted, *ledger.rates}):
        configs, prior = view.brokers.get(where[0]), ledger.rates.get(where)
        if configs is None:
            continue
        late = (ConfigScope.BROKER, str(where[0])) in view.history.may_arrive
        gives_way = where in view.history.giving_way
        if where in wanted and gives_way:
            yield where, step_aside(where, wanted[where], prior, configs, may_arrive=late)
        elif where in wanted:
            expected = where in view.history.rates and not late
            step = raise_step(
                *(where, wanted[where], prior, configs), seen_in_place=expected, may_arrive=late
            )
            if step.wiped and not _may_raise(where, view.history):
                step = RateStep(in_place=False, wiped=True)
            yield where, step
        elif prior is not None and (where not in kept or gives_way):
            yield where, restore_step(prior, configs, may_arrive=late)


def _may_raise(where: ListOrRate, history: ThrottleHistory) -> bool:
    return history.wiped.get(where, 0) < 2


def _notes(
    lists: Mapping[ListKey, ListStep], rates: Mapping[RateKey, RateStep], history: ThrottleHistory
) -> tuple[Note, ...]:
    notes: list[Note] = [step.note for step in rates.values() if step.note is not None]
    for where, step in lists.items():
        if step.wiped:
            again = history.wiped.get(where, 0) > 0
            notes.append(EntriesRemoved(*where, tuple(sorted(step.wiped)), again))
    notes += [
        RateGivesWay(*rate, name)
        for rate, name in history.catching_up
        if rate in rates and rate in history.giving_way and rates[rate].change is not None
    ]
    for rate, rated in rates.items():
        if rated.wiped:
            notes.append(RateRemoved(*rate, history.wiped.get(rate, 0) > 0))
    return tuple(notes)


def admission_closed(history: ThrottleHistory) -> ThrottleContested | None:
    """Why nothing new may be admitted because of throttles, if so."""
    contested = [place for place, times in history.wiped.items() if times > 1]
    places = tuple(sorted(contested, key=lambda place: (str(place[0]), place[1])))
    return ThrottleContested(places) if places else None


def throttle_in_place(
    copy: ThrottledCopy, throttle: MoveThrottle | None, tick: ThrottleTick, view: ThrottleInput
) -> bool:
    """Whether entries and rates of a copy were read back, so that it may begin; only a dead broker is left out."""
    for where, wanted in wanted_entries([copy], throttle).items():
        settings = view.topics.get(where[0])
        if settings is None or not covers(override_of(settings, where[1]), wanted):
            return False
    return all(
        rate in tick.rates_in_force
        for rate in wanted_rates([copy], throttle)
        if rate[0] in view.brokers or rate[0] in view.live
    )


def gives_way_to(
    copy: ThrottledCopy, throttle: MoveThrottle | None, view: ThrottleInput
) -> tuple[TopicPartition, ...]:
    """The partitions that catch up at a rate which this copy needs, so that it is not set now."""
    needed = wanted_rates([copy], throttle).keys() & view.history.giving_way
    return tuple(sorted({n for rate, n in view.history.catching_up if rate in needed}))


def unread(copy: ThrottledCopy, throttle: MoveThrottle | None, view: ThrottleInput) -> Replicas:
    """The live brokers of a copy whose rate could not be read."""
    brokers = {broker for broker, _ in wanted_rates([copy], throttle)}
    return tuple(sorted(b for b in brokers if b in view.live and b not in view.brokers))


def history_after(tick: ThrottleTick, view: ThrottleInput, ledger: Ledger) -> ThrottleHistory:
    """The history after a tick; `ledger` as it was read for it."""
    wiped = dict(view.history.wiped)
    for place in tick.wiped:
        wiped[place] = wiped.get(place, 0) + 1
    rates = frozenset(rate for rate in tick.rates_in_force if rate in ledger.rates)
    return replace(view.history, entries=tick.entries_in_place, rates=rates, wiped=wiped)
