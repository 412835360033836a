"""What one tick does about all throttles: lists of topics, rates of brokers, and who took what away. Pure.

`ThrottleHistory` is what earlier readings showed. What another tool removes is set again once, and reported; when it is
removed again nothing new is admitted, because two tools on one throttle end with a copy that runs free. What replan
itself takes away is not expected to be there, and while a change of its own may still arrive nobody else is blamed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Forget, Record, changed
from replan.applying.reasons.holds import ThrottleContested
from replan.applying.reasons.notes import EntriesRemoved, RateGivesWay, RateRemoved, RateUnused
from replan.applying.reasons.reason import Note
from replan.applying.throttles.broker_rates import (
    CatchingUp,
    Rate,
    RateStep,
    of_unregistered,
    raise_step,
    restore_step,
    step_aside,
    wanted_rates,
)
from replan.applying.throttles.replica_lists import (
    Copy,
    Entries,
    List,
    ListStep,
    covers,
    list_step,
    wanted_entries,
)
from replan.model.configs import (
    LEADER_REPLICAS,
    ConfigChange,
    Configs,
    ConfigScope,
    TopicSettings,
    elements,
    override_of,
)
from replan.model.declared.placement import MoveThrottle
from replan.model.names import BrokerId, Replicas, TopicPartition

Place = List | Rate


@dataclass(frozen=True, slots=True)
class ThrottleHistory:
    """What earlier readings of this process showed."""

    entries: Mapping[List, frozenset[str]] = field(default_factory=dict)
    """Entries set by replan that were seen in place."""
    rates: frozenset[Rate] = frozenset()
    """Rates set by replan that were seen in place."""
    wiped: Mapping[Place, int] = field(default_factory=dict)
    """How often another tool removed what replan had set."""
    gone: frozenset[str] = frozenset()
    """Topics that two agreeing readings did not find."""
    unregistered: frozenset[BrokerId] = frozenset()
    """Brokers that agreeing readings did not find."""
    catching_up: Mapping[CatchingUp, float] = field(default_factory=dict)
    """What gives way to which partition, and since when (`broker_rates`)."""
    giving_way: frozenset[Rate] = frozenset()
    """Rates that two agreeing looks found in the way of a replica that catches up."""
    may_arrive: frozenset[tuple[ConfigScope, str]] = frozenset()
    """Topics and brokers that an earlier change may still reach: what replan set there stays written down."""


@dataclass(frozen=True, slots=True)
class ThrottleInput:
    """What is read of throttles in one tick."""

    topics: Mapping[str, TopicSettings]
    brokers: Mapping[BrokerId, Configs]
    """Of the brokers that answered."""
    history: ThrottleHistory = field(default_factory=ThrottleHistory)
    live: Collection[BrokerId] = frozenset()
    """The brokers that are not fenced, whether they answered or not."""


@dataclass(frozen=True, slots=True)
class WantedThrottles:
    """What should be set now."""

    entries: Entries = field(default_factory=dict)
    rates: Mapping[Rate, int] = field(default_factory=dict)
    """Bytes per second."""

    @classmethod
    def of(cls, copies: Sequence[Copy], throttle: MoveThrottle | None) -> "WantedThrottles":
        """What these copies need."""
        return cls(wanted_entries(copies, throttle), wanted_rates(copies, throttle))


@dataclass(frozen=True, slots=True)
class ThrottleTick:
    """What one tick does about all throttles."""

    records: tuple[Record, ...] = ()
    removals: tuple[ConfigChange, ...] = ()
    """SUBTRACT and DELETE of entries; sent before `additions`, in a request of its own."""
    additions: tuple[ConfigChange, ...] = ()
    """APPEND of entries; SET and DELETE of rates."""
    wiped: frozenset[Place] = frozenset()
    notes: tuple[Note, ...] = ()
    entries: Entries = field(default_factory=dict)
    """What is wanted."""
    seen_entries: Entries = field(default_factory=dict)
    """Of the lists that replan has changed: what is wanted, was set by replan, and is there."""
    rates_in_force: frozenset[Rate] = frozenset()
    """Rates that are wanted and in force."""

    @property
    def quiet(self) -> bool:
        """Whether nothing is left to do."""
        return not self.records and not self.removals and not self.additions


def with_kept(
    wanted: WantedThrottles,
    copies: Sequence[Copy],
    ledger: Ledger,
    view: ThrottleInput,
    released: Collection[tuple[ConfigScope, str]],
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
    released: Collection[tuple[ConfigScope, str]] = (),
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
    wiped: set[Place] = {where for where, step in lists.items() if step.wiped}
    wiped |= {where for where, step in rates.items() if step.wiped}
    return ThrottleTick(
        records=forgotten
        + tuple(changed(prior, kept=True) for prior in unused if not prior.kept)
        + tuple(r for step in lists.values() for r in step.records)
        + tuple(r for step in rates.values() for r in step.records),
        removals=tuple(c for step in lists.values() for c in step.removals),
        additions=tuple(c for step in lists.values() for c in step.additions)
        + tuple(step.change for step in rates.values() if step.change is not None),
        wiped=frozenset(wiped),
        notes=_notes(lists, rates, view.history)
        + tuple(RateUnused(prior.broker, prior.config, prior.before) for prior in unused),
        entries=wanted.entries,
        seen_entries={
            where: step.in_place for where, step in lists.items() if where in ledger.entries
        },
        rates_in_force=frozenset(
            where for where, step in rates.items() if step.in_place and where in wanted.rates
        ),
    )


def _list_steps(
    wanted: Entries, ledger: Ledger, view: ThrottleInput
) -> Iterable[tuple[List, ListStep]]:
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
    wanted: Mapping[Rate, int], ledger: Ledger, view: ThrottleInput, kept: Collection[Rate]
) -> Iterable[tuple[Rate, RateStep]]:
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


def _may_raise(where: Place, history: ThrottleHistory) -> bool:
    return history.wiped.get(where, 0) < 2


def _notes(
    lists: Mapping[List, ListStep], rates: Mapping[Rate, RateStep], history: ThrottleHistory
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


def in_place(
    copy: Copy, throttle: MoveThrottle | None, tick: ThrottleTick, view: ThrottleInput
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
    copy: Copy, throttle: MoveThrottle | None, view: ThrottleInput
) -> tuple[TopicPartition, ...]:
    """The partitions that catch up at a rate which this copy needs, so that it is not set now."""
    needed = wanted_rates([copy], throttle).keys() & view.history.giving_way
    return tuple(sorted({n for rate, n in view.history.catching_up if rate in needed}))


def unread(copy: Copy, throttle: MoveThrottle | None, view: ThrottleInput) -> Replicas:
    """The live brokers of a copy whose rate could not be read."""
    brokers = {broker for broker, _ in wanted_rates([copy], throttle)}
    return tuple(sorted(b for b in brokers if b in view.live and b not in view.brokers))


def history_after(tick: ThrottleTick, view: ThrottleInput, ledger: Ledger) -> ThrottleHistory:
    """The history after a tick; `ledger` as it was read for it."""
    wiped = dict(view.history.wiped)
    for place in tick.wiped:
        wiped[place] = wiped.get(place, 0) + 1
    rates = frozenset(rate for rate in tick.rates_in_force if rate in ledger.rates)
    return replace(view.history, entries=tick.seen_entries, rates=rates, wiped=wiped)
