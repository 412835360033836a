"""The throttle rates of brokers while copies run, and how they are put back: pure.

During a move the lower of the standing rate and the move's rate holds: a broker that is slower already is left alone.
Only a broker's own dynamic value is what was there before (ConfigSource.BROKER): a value in its file is shown by Kafka
but not used, and the cluster's default stays where it is. A rate is put back only while it has a value that we set.

Kafka keeps the configuration of a broker that is unregistered, and refuses to change it (102,
QuorumController.ConfigResourceExistenceChecker): nobody uses it, until a broker registers with that id again. So it
keeps no application open; it stays written down, and whatever application comes next restores it once it can.

Which rates of replan's throttle give way to a replica that catches up: pure.

An entry of throttled replicas that replan did not set limits nothing until its broker has a rate, and replan sets rates
for its copies. A replica that falls out of the ISR would then come back at that rate, shared with the copies, though
without replan nothing held it. The entry belongs to whoever set it and stays; the rate is replan's own, and goes back
to what it was before until the replica is in sync. Meanwhile no copy begins that needs the rate; those that run stay
throttled on their other side. Fetches are limited by the leader's rate if the leader's list names the replica of the
leader, and by the follower's if the follower's list names that of the follower (ReplicaManager, ReplicaFetcherThread).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Forget, Record, SavedRate
from replan.applying.reasons.notes import RateChanged, RateKept, UnrestoredRate
from replan.applying.reasons.reason import Note
from replan.applying.throttles.replica_lists import Copy
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigChange,
    ConfigOperation,
    Configs,
    ConfigSource,
    TopicSettings,
    broker_change,
    elements,
    override_of,
    own_value,
)
from replan.model.control_plane import Look
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, TopicPartition

Rate = tuple[BrokerId, str]
"""A broker and one of its two rate keys."""


@dataclass(frozen=True, slots=True)
class RateStep:
    """What one tick does about one rate."""

    records: tuple[Record, ...] = ()
    change: ConfigChange | None = None
    in_place: bool = True
    """Nothing faster than wanted is in force."""
    wiped: bool = False
    """Our value was seen in place, and another tool removed it."""
    note: Note | None = None


def wanted_rates(copies: Iterable[Copy], throttle: MoveThrottle | None) -> dict[Rate, int]:
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
    found = configs.get(config)
    dynamic = (ConfigSource.BROKER, ConfigSource.CLUSTER_DEFAULT)
    return int(found.value) if found is not None and found.source in dynamic else None


def step_aside(
    where: Rate, rate: int, prior: SavedRate | None, configs: Configs, *, may_arrive: bool
) -> RateStep:
    """What to do about a rate that is wanted and gives way for now: what was there before holds."""
    if prior is not None:
        return replace(restore_step(prior, configs, may_arrive=may_arrive), in_place=False)
    standing = effective_rate(configs, where[1])
    return RateStep(in_place=standing is not None and standing <= rate)


def raise_step(
    where: Rate,
    rate: int,
    prior: SavedRate | None,
    configs: Configs,
    *,
    seen_in_place: bool,
    may_arrive: bool = False,
) -> RateStep:
    """What to do about a rate that is wanted; what was set before stays written down while a SET `may_arrive` yet."""
    found = own_value(configs, where[1])
    if prior is None:
        standing = effective_rate(configs, where[1])
        if standing is not None and standing <= rate:
            return RateStep()
        return _set(where, SavedRate(*where, found, (str(rate),)), known=None)
    wanted = str(rate if prior.before is None else min(rate, int(prior.before)))
    if found == wanted:
        return RateStep(() if may_arrive and wanted in prior.ours else _recorded(prior, wanted))
    if found is not None and found != prior.before and found not in prior.ours:
        return RateStep(note=RateChanged(*where, found))
    wiped = seen_in_place and found not in prior.ours
    ours = (*(v for v in prior.ours if v != wanted), wanted)
    step = _set(where, SavedRate(*where, prior.before, ours), known=prior)
    return RateStep(step.records, step.change, in_place=False, wiped=wiped)


def _set(where: Rate, record: SavedRate, *, known: SavedRate | None) -> RateStep:
    change = broker_change(*where, ConfigOperation.SET, record.ours[-1])
    return RateStep(() if record == known else (record,), change, in_place=False)


def _recorded(prior: SavedRate, wanted: str) -> tuple[Record, ...]:
    """Values that were ours earlier are dropped once the wanted one is seen."""
    return () if prior.ours == (wanted,) else (SavedRate(*_of(prior), prior.before, (wanted,)),)


def _of(prior: SavedRate) -> Rate:
    return prior.broker, prior.config


def restore_step(prior: SavedRate, configs: Configs, *, may_arrive: bool = False) -> RateStep:
    """What to do about a rate that is not wanted any more; it stays written down while a SET `may_arrive` yet."""
    found = own_value(configs, prior.config)
    if found == prior.before:
        return RateStep(() if may_arrive else (Forget(prior.key),))
    if found not in prior.ours:
        return RateStep(
            (Forget(prior.key),), note=RateKept(prior.broker, prior.config, found, prior.before)
        )
    if prior.before is None:
        change = broker_change(*_of(prior), ConfigOperation.DELETE)
    else:
        change = broker_change(*_of(prior), ConfigOperation.SET, prior.before)
    return RateStep(change=change, in_place=False)


def of_unregistered(
    rates: Mapping[Rate, SavedRate], wanted: Collection[Rate], unregistered: Collection[BrokerId]
) -> list[SavedRate]:
    """The rates that are to be restored, and that no broker uses."""
    return [
        prior
        for where, prior in sorted(rates.items())
        if where[0] in unregistered and where not in wanted
    ]


def leftovers(
    rates: Mapping[Rate, SavedRate],
    answered: Collection[BrokerId],
    unregistered: Collection[BrokerId] = (),
) -> tuple[UnrestoredRate, ...]:
    """The rates that cannot be put back because their broker, which is registered, does not answer."""
    return tuple(
        UnrestoredRate(prior.broker, prior.config, prior.before)
        for (broker, _), prior in sorted(rates.items())
        if broker not in answered and broker not in unregistered
    )


CatchingUp = tuple[Rate, TopicPartition]
"""A rate, and a partition of which a replica comes back at it because of an entry that replan did not set."""


def behind_entries_of_others(seen: Look, ledger: Ledger) -> Iterator[CatchingUp]:
    """The live replicas out of the ISR, new ones apart, whose fetches such an entry limits at a rate of replan's."""
    for name, state in seen.partitions.items():
        settings = seen.topics.get(name.topic)
        if settings is None or state.leader is None:
            continue
        out = set(state.replicas).difference(state.isr, state.adding)
        if not out:
            continue
        for broker in sorted(b for b in out if seen.live(b)):
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
