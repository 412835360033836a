"""What the journal says of a cluster, for those who only look: nothing is asked or written.

The open application (`open_application_view`); a snapshot as it is planned from (`as_planned_from`); every throttle
setting, and whose it is (`owned_throttles`). Every command that plans or reports imports this, so it imports nothing of
what decides. What partitions wait for is in `waiting`.

Throttles that moves have set are neither drift nor anything that a plan is to change: planning sees what was there
before them, which is what they are restored to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.originals import standing_settings
from replan.applying.journal.records import Application, StandingRecord
from replan.applying.reasons.reason import HoldReason
from replan.applying.views.outcome import (
    AnyResult,
    PartitionResult,
    Result,
    plan_results,
    results_of,
)
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    SettingName,
    elements,
    own_value,
)
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.snapshot import OwnApplication, Snapshot
from replan.planning.plans.plan import Plan
from replan.wording import WordedName

NOT_LOOKED_UP: Mapping[RequestSubject, HoldReason] = {}


class OpenApplication(Struct, frozen=True):
    """The application that is open on a cluster."""

    id: str
    owner: str
    process: str | None
    """What performs it now: `pid 12 on host since …`; None where it is interrupted."""
    unfinished: tuple[AnyResult, ...]
    """Of all that its plan asks for, in plan order; what each waits for only where it was looked up."""
    ended: int
    targets: Mapping[TopicPartition, Replicas]
    """Where the unfinished partitions go."""
    throttled: bool
    """Whether throttle settings of replan are in the cluster."""
    paused_by: str = ""
    cancelled_by: str = ""
    takes_back: str = ""
    """The cancelled application that it takes back."""


def open_application_view(
    ledger: Ledger,
    plan: Plan | None,
    process: str | None,
    waits: Mapping[RequestSubject, HoldReason] = NOT_LOOKED_UP,
) -> OpenApplication | None:
    """The open application of a journal; `waits`: what its steps wait for, where that was looked up.

    `plan` is its plan; None where the journal does not hold one that can be read.
    """
    application = ledger.application
    if application is None:
        return None
    targets = {name: record.target for name, record in ledger.open.items()}
    targets |= {m.partition: m.target for m in (() if plan is None else plan.moves)}
    results = _results(ledger, plan, waits)
    unfinished = tuple(
        replace(r, last_step_at=application.opened_at)
        if isinstance(r, PartitionResult) and not r.last_step_at
        else r
        for r in results
        if r.result in {Result.RUNNING, Result.WAITING}
    )
    return OpenApplication(
        id=application.id,
        owner=application.owner,
        process=process,
        unfinished=unfinished,
        ended=len(results) - len(unfinished),
        targets={n: targets[n] for r in unfinished if (n := r.subject) in targets},
        throttled=bool(ledger.throttles),
        paused_by=application.paused_by,
        cancelled_by=application.cancelled_by,
        takes_back=application.takes_back,
    )


def _results(
    ledger: Ledger, plan: Plan | None, waits: Mapping[RequestSubject, HoldReason]
) -> tuple[AnyResult, ...]:
    """How each step of the plan stands; without a plan, each partition that the journal knows of."""
    if plan is None:
        return results_of(ledger.owned, ledger, waits)
    return plan_results(plan, ledger, waits)


def knows_nothing(ledger: Ledger) -> bool:
    """Whether a journal has never had an application: it is new, or another one was lost."""
    return not any(isinstance(record, Application) for record in ledger.records.values())


def as_planned_from(
    snapshot: Snapshot, ledger: Ledger, application: OpenApplication | None = None
) -> Snapshot:
    """The snapshot as it is planned from; `application`: the open one of that journal.

    With the orders that are remembered and where the application moves partitions to, without its throttles.
    """
    remembered = {**snapshot.remembered, **ledger.remembered()}
    return replace(
        snapshot,
        remembered=remembered,
        application=None if application is None else _own(application, snapshot, ledger),
        topics=_without_entries(snapshot.topics, ledger),
        broker_configs={
            broker: _without_rates(broker, configs, ledger)
            for broker, configs in snapshot.broker_configs.items()
        },
    )


def _own(application: OpenApplication, snapshot: Snapshot, ledger: Ledger) -> OwnApplication:
    """What it has not finished, but for what another tool reassigns: that is judged by where the other one leads it."""
    running = snapshot.states(np.flatnonzero(snapshot.moving).tolist())
    others = {reassignment.partition for reassignment in running if not ledger.began(reassignment)}
    return OwnApplication(
        application.id,
        application.owner,
        at_work=application.process is not None,
        targets={n: to for n, to in application.targets.items() if n not in others},
        rates=_own_rates(snapshot, ledger),
    )


def _own_rates(snapshot: Snapshot, ledger: Ledger) -> dict[BrokerId, int]:
    """The rates of replan's throttle that are set; the lower one of a broker where its two sides differ."""
    rates: dict[BrokerId, int] = {}
    for (broker, key), saved in ledger.rates.items():
        value = own_value(snapshot.broker_configs.get(broker, {}), key)
        if key in (FOLLOWER_RATE, LEADER_RATE) and value in saved.ours and int(value) > 0:
            rates[broker] = min(int(value), rates.get(broker, int(value)))
    return rates


def _without_entries(topics: pa.Table, ledger: Ledger) -> pa.Table:
    columns = {LEADER_REPLICAS: "leader_throttled", FOLLOWER_REPLICAS: "follower_throttled"}
    names = topics.column("name").to_pylist() if ledger.entries else []
    for key, column in columns.items():
        saved_of = {
            topic: saved for (topic, config), saved in ledger.entries.items() if config == key
        }
        if not saved_of:
            continue
        at = topics.schema.get_field_index(column)
        values = topics.column(column).to_pylist()
        for row, name in enumerate(names):
            if name in saved_of:
                kept = [e for e in elements(values[row]) if e not in saved_of[name].ours]
                empty = "" if saved_of[name].overridden else None
                values[row] = ",".join(kept) if kept else empty
        topics = topics.set_column(at, topics.schema.field(at), pa.array(values, pa.string()))
    return topics


def _without_rates(broker: BrokerId, configs: Configs, ledger: Ledger) -> Configs:
    kept = dict(configs)
    for key in configs:
        saved = ledger.rates.get((broker, key))
        if saved is not None and own_value(configs, key) in saved.ours:
            del kept[key]
            if saved.before is not None:
                kept[key] = ConfigValue(saved.before, ConfigSource.BROKER)
    return kept


Stay = Mapping[SettingName, str | None]
"""The settings that ended applications have set to stay."""


class Owner(WordedName):
    """Whose a throttle setting is."""

    COPIES = ("replan", "replan's, while copies run")
    """replan's, for the copies of an application."""
    RUNNING = ("replan-running", "replan's, for reassignments of other tools")
    """replan's, for reassignments of other tools (`throttle RATE --running`)."""
    SILENT = ("replan-silent", "replan's, when it was set; the broker is down")
    """replan's, as it was set: the broker is down, and does not say whether it still is."""
    KEPT = ("kept", "replan's, kept on purpose")
    """replan's, left in place on purpose."""
    DECLARED = ("declared", "replan's, declared to stay")
    """replan's, declared to stay."""
    OTHER = ("other", "not in the journal: another tool's, or declared to stay a long time ago")
    """Not in the journal: another tool's, or declared to stay a long time ago."""
    DEFAULT = ("cluster-default", "default of all brokers")
    """The dynamic default of all brokers."""
    UNUSED = ("not-used", "from the broker's file; Kafka does not use it")
    """A value of a broker's file: shown by Kafka, and not used (ConfigHelper)."""


class OwnedThrottle(Struct, frozen=True):
    """A rate, or a part of a list of throttled replicas."""

    setting: SettingName
    value: str
    owner: Owner
    before: str | None = None
    """Of replan's rates: what it was, and is to be again; None where it was not set."""


def owned_throttles(snapshot: Snapshot, ledger: Ledger) -> list[OwnedThrottle]:
    """All of them: rates by broker, then lists by topic."""
    stay = standing_settings(ledger)
    return [*_rates(snapshot, ledger, stay), *_lists(snapshot, ledger, stay)]


def unknown_throttles(snapshot: Snapshot, ledger: Ledger) -> list[OwnedThrottle]:
    """Those that the journal does not know: nobody can say whose they are."""
    return nobodys(owned_throttles(snapshot, ledger))


def nobodys(throttles: Iterable[OwnedThrottle]) -> list[OwnedThrottle]:
    """Those of them that the journal does not know."""
    return [f for f in throttles if f.owner is Owner.OTHER]


def throttles_seen_twice(
    snapshot: Snapshot, again: Callable[[], Snapshot], ledger: Ledger
) -> list[OwnedThrottle]:
    """All of them, as `owned_throttles`; those that the journal does not know only where a second look shows them, too.

    `ledger`: the journal as it was read after the first look.

    A process at work that restores a throttle between a look at the cluster and the reading of the journal forgets it
    in both: it is nobody's only in the look that came first. What is set since is not in that one.
    """
    throttles = owned_throttles(snapshot, ledger)
    if not nobodys(throttles):
        return throttles
    there = {f.setting: elements(f.value) for f in unknown_throttles(again(), ledger)}
    confirmed = [
        replace(f, value=",".join(e for e in elements(f.value) if e in there.get(f.setting, ())))
        if f.owner is Owner.OTHER
        else f
        for f in throttles
    ]
    return [f for f in confirmed if f.value or f.owner is not Owner.OTHER]


def _rates(snapshot: Snapshot, ledger: Ledger, stay: Stay) -> Iterator[OwnedThrottle]:
    of_others = ledger.throttles_others
    answering = {b.id for b in snapshot.brokers if b.live} | snapshot.broker_configs.keys()
    for (broker, key), saved_rate in sorted(ledger.rates.items()):
        if broker not in answering:
            setting = SettingName(ConfigScope.BROKER, str(broker), key)
            yield OwnedThrottle(setting, saved_rate.ours[-1], Owner.SILENT, saved_rate.before)
    for setting, config in snapshot.throttle_rates():
        saved = ledger.rates.get((BrokerId(int(setting.name)), setting.key))
        match config.source:
            case ConfigSource.BROKER if saved is not None and config.value in saved.ours:
                copies = Owner.RUNNING if of_others and not ledger.open else Owner.COPIES
                owner = Owner.KEPT if saved.kept else copies
                yield OwnedThrottle(setting, config.value, owner, saved.before)
            case ConfigSource.BROKER:
                declared = setting in ledger.steps_of(StandingRecord) or config.value == stay.get(
                    setting
                )
                yield OwnedThrottle(setting, config.value, _not_of_moves(declared=declared))
            case ConfigSource.CLUSTER_DEFAULT:
                yield OwnedThrottle(setting, config.value, Owner.DEFAULT)
            case _:
                yield OwnedThrottle(setting, config.value, Owner.UNUSED)


def _not_of_moves(*, declared: bool) -> Owner:
    return Owner.DECLARED if declared else Owner.OTHER


def _lists(snapshot: Snapshot, ledger: Ledger, stay: Stay) -> Iterator[OwnedThrottle]:
    for setting, listed in snapshot.throttled_lists():
        parts: dict[Owner, list[str]] = {}
        for entry in elements(listed):
            parts.setdefault(_owner(setting, entry, ledger, stay), []).append(entry)
        for owner, part in sorted(parts.items(), key=lambda part_of: part_of[0] is Owner.OTHER):
            yield OwnedThrottle(setting, ",".join(part), owner)


def _owner(setting: SettingName, entry: str, ledger: Ledger, stay: Stay) -> Owner:
    """Whose an entry of a list is."""
    saved, number = ledger.entries.get((setting.name, setting.key)), entry.partition(":")[0]
    if saved is None or entry not in saved.ours:
        declared = setting in ledger.steps_of(StandingRecord) or entry in elements(
            stay.get(setting)
        )
        return _not_of_moves(declared=declared)
    if saved.kept:
        return Owner.KEPT
    own = TopicPartition(setting.name, int(number)) in ledger.open
    return Owner.COPIES if own or not ledger.throttles_others else Owner.RUNNING
